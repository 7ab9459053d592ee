"""Sources of tables: the kind of a file, and its rows as Arrow's record batches."""

from __future__ import annotations

import contextlib
import datetime
import gzip
import io
import json
import os
import sqlite3
import sys
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from covey._names import extra
from covey._plain_words import first_line
from covey.cli._console import CommandError
from covey.cli._options import PART
from covey.cli._text_tables import Note, column_names, csv_batches, ignored, utf8_blocks
from covey.tables._kinds import without_point

_TEXT = {".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}
PARQUET = (".parquet", ".pq")
_SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb", ".ddb")
_JSON = (".jsonl", ".ndjson", ".json")
# How many rows are one batch.
_BATCH_ROWS = 5_000
_LARGEST_EXACT = 2**53
# An archive of a few kilobytes may unpack to more than any memory.
_MOST_BYTES = 1 << 31


class Rows(NamedTuple):
    """Some rows of a table."""

    batch: pa.RecordBatch
    words: bool = True  # whether words such as NA are gaps: people wrote it, not a program
    decimal: str | None = "."  # the decimal mark if a column shows none; None: unknown


def called(path: str) -> str:
    """Return the name of a table in a sentence."""
    return "standard input" if path == "-" else path


def located(path: str) -> tuple[str, str | None]:
    """Return a file, and the named sheet or table in it, if one is named."""
    file, mark, part = path.rpartition(PART)
    return (path, None) if not mark or not file or os.path.exists(path) else (file, part)


def batches(
    path: str, columns: Collection[str] | None = None, note: Note = ignored
) -> Iterator[Rows]:
    """Yield the rows of a file, some at a time; other columns may be left unread.

    Errors become sentences.
    """
    file, part = located(path)
    name = called(file)
    with sentences(name), opened(file) as (source, head):
        if _is_database(head):
            if not isinstance(source, str):
                raise CommandError(f"{name} is a database; give it as a file, unpacked.")
            kind = "SQLite" if head.startswith(b"SQLite") else "DuckDB"
            yield from _database_rows(source, kind, part, columns)
        elif head[:2] == b"PK" or head[:4] == b"\xd0\xcf\x11\xe0":
            yield from _sheet_rows(io.BytesIO(source.read()), name, part, columns, note)
        elif part is not None:
            raise CommandError(
                f"--sheet: {name} is neither a spreadsheet nor a database; leave it out."
            )
        elif head[:4] == b"PAR1":
            yield from _parquet_rows(source, columns)
        elif _ending(file) in _JSON or (file == "-" and head.lstrip()[:1] in (b"{", b"[")):
            yield from rows_of(_records(source, name, note), columns)
        else:
            for batch, separator in csv_batches(source, name, separator_of(file), note):
                # If commas separate fields, a comma within a number separates thousands.
                yield Rows(batch, True, "." if separator == "," else None)


# -- files ----------------------------------------------------------------------------------------


@contextmanager
def sentences(name: str) -> Iterator[None]:
    """Turn errors in the content of a file into a sentence about it."""
    try:
        yield
    except (gzip.BadGzipFile, zlib.error, EOFError):
        raise CommandError(f"{name} is a damaged gzip file; copy or download it again.") from None
    except pa.ArrowException as error:
        raise CommandError(f"{name} cannot be read: {first_line(error)}") from None


@contextmanager
def opening(path: str, what: str, hint: str = "") -> Iterator[None]:
    """Turn errors of the system in this block into a sentence about the file."""
    try:
        yield
    except FileNotFoundError:
        raise CommandError(f"there is no file {path}{hint}.") from None
    except IsADirectoryError:
        raise CommandError(f"{path} is a folder, not a {what}.") from None
    except PermissionError:
        raise CommandError(f"{path} may not be read; ask for the right to.") from None


@contextmanager
def opened(path: str) -> Iterator[tuple[Any, bytes]]:
    """Yield the bytes of a file, unpacked, and the first of them.

    Files that are not read from beginning to end are given by their path.
    """
    if path == "-":
        if sys.stdin.isatty():
            raise CommandError("standard input is a terminal; pipe a table into it.")
        raw = sys.stdin.buffer
    else:
        separator_of(path)  # refuses an unknown ending before the file is opened
        with opening(path, "table"):
            raw = open(path, "rb")  # noqa: SIM115 (closed below, but stdin is not)
    try:
        source: Any = raw if hasattr(raw, "peek") else io.BufferedReader(raw)
        if source.peek(2)[:2] == b"\x1f\x8b":
            source = gzip.GzipFile(fileobj=source)
        head = source.peek(16)[:16]
        parquet = head[:4] == b"PAR1"
        if path != "-" and source is raw and (parquet or _is_database(head)):
            source = path
        elif parquet:
            # Its index is at the end, so that a stream must be read whole.
            source = io.BytesIO(source.read())
        yield source, head
    finally:
        if path != "-":
            raw.close()


def _is_database(head: bytes) -> bool:
    return head.startswith(b"SQLite format 3\0") or head[8:12] == b"DUCK"


def _ending(path: str) -> str:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes] or [""]
    if suffixes[-1] == ".gz":
        return suffixes[-2] if len(suffixes) > 1 else ".csv"
    return suffixes[-1]


def separator_of(path: str) -> str | None:
    """Return the separator of fields by the file's name; None if the header decides."""
    ending = _ending(path)
    if path == "-" or ending in (*PARQUET, *_SHEETS, *_DATABASES, *_JSON):
        return None
    if Path(path).is_dir():
        raise CommandError(f"{path} is a folder; name a table in it.")
    if ending not in _TEXT:
        raise CommandError(
            f"{path} has an ending that covey does not know; give a .csv, .tsv, .parquet, .xlsx, "
            ".jsonl, .sqlite or .duckdb file (.gz is fine), or '-' for standard input."
        )
    return _TEXT[ending]


# -- Parquet --------------------------------------------------------------------------------------


def _parquet_rows(source: Any, columns: Collection[str] | None) -> Iterator[Rows]:
    # Without a buffer a row group is read whole, and a file may be one group.
    with parquet.ParquetFile(source, buffer_size=1 << 16, pre_buffer=False) as file:
        names = file.schema_arrow.names
        wanted = None if columns is None else [name for name in names if name in columns]
        for batch in file.iter_batches(_BATCH_ROWS, columns=wanted, use_threads=False):
            yield Rows(batch, False)


@contextmanager
def parquet_columns(path: str) -> Iterator[Any | None]:
    """Yield a Parquet file, of which columns are read one by one; None for other files."""
    if path == "-" or not os.path.isfile(path):
        yield None
        return
    with sentences(path), opened(path) as (source, head):
        if source == path and head[:4] == b"PAR1":
            with parquet.ParquetFile(path, pre_buffer=False) as columns:
                yield columns
        else:
            yield None


# -- JSON: one object per line, or a list of objects ----------------------------------------------


def _records(source: Any, name: str, note: Note) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file."""
    blocks = utf8_blocks(source, name, note)
    first = next(blocks)
    if first.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"[":
        text = b"".join((first, *blocks))
        rows = ((f"record {k}", row) for k, row in enumerate(_parsed(text, name), start=1))
    else:
        lines = chain.from_iterable(map(io.BytesIO, chain([first], blocks)))
        rows = (
            (f"line {k}", _parsed(line, f"{name}, line {k}"))
            for k, line in enumerate(lines, start=1)
            if line.strip()
        )
    empty = True
    for where, row in rows:
        empty = False
        if not isinstance(row, dict):
            raise CommandError(
                f"{name}: {where} is not an object; a table in JSON has one object a row, such as "
                '{"age": 31, "town": "Oslo"}.'
            )
        yield row
    if empty:
        raise CommandError(f"{name} is empty; a table in JSON has one object a row.")


def _parsed(text: bytes, where: str) -> Any:
    try:
        return json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        said = getattr(error, "msg", "a value in it is too long or too deep")
        raise CommandError(f"{where} is not JSON: {said}.") from None


# -- spreadsheets ---------------------------------------------------------------------------------


def _sheet_rows(
    source: Any, name: str, sheet: str | None, columns: Collection[str] | None, note: Note
) -> Iterator[Rows]:
    """Yield the rows of one sheet, by its name or its number from 1 on."""
    rows = _cells(source, name, sheet, note)
    filled = [sum(cell != "" for cell in row) for row in rows]
    used = sorted(filter(None, filled))
    if not used:
        raise CommandError(f"{name} is empty; a table has a header line and rows.")
    # A title above a table has fewer cells than most rows.
    typical = used[len(used) // 2]
    first = next(place for place, count in enumerate(filled) if count > typical // 2)
    if any(filled[:first]):
        note(
            f"{name}: row {first + 1} is taken as the names of columns, what is above as a title."
        )
    header, *body = (row for row, count in zip(rows[first:], filled[first:], strict=True) if count)
    # Columns that are empty from top to bottom are margins.
    places = [k for k in range(len(header)) if any(row[k] != "" for row in (header, *body))]
    names = column_names([str(without_point(header[place])) for place in places], name)
    cells = ([_cell(row[place]) for place in places] for row in body)
    yield from rows_of((dict(zip(names, row, strict=True)) for row in cells), columns)


def _cells(source: Any, name: str, sheet: str | None, note: Note) -> list[list[Any]]:
    """Return the rows of a sheet, by default of the first one that has any.

    python-calamine reads xlsx, xls and ods, ten times as fast as openpyxl does xlsx, in one small
    package, and returns the values that were last shown: no formula is run, no link followed.
    """
    with extra(f"{name} is a spreadsheet (CSV is read without), which needs", "cli"):
        import python_calamine
    _check_archive(source, name)
    rows: list[list[Any]] = []
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(source)
        names = book.sheet_names
        for chosen in names if sheet is None else [_sheet_of(names, sheet, name)]:
            rows = book.get_sheet_by_name(chosen).to_python(skip_empty_area=True)
            if rows:
                break
    except python_calamine.CalamineError as error:
        raise CommandError(
            f"{name} cannot be read as a spreadsheet ({first_line(error)}); save the table as CSV."
        ) from None
    if rows and sheet is None and len(names) > 1:
        note(f"{name} has {len(names)} sheets, and {chosen!r} is read; --sheet names another one.")
    return rows


def _check_archive(source: Any, name: str) -> None:
    """Refuse a file that is not a spreadsheet, or too large, before it is unpacked."""
    if zipfile.is_zipfile(source):
        try:
            with zipfile.ZipFile(source) as archive:
                listed = {entry.filename: entry.file_size for entry in archive.infolist()}
        except (zipfile.BadZipFile, OSError, ValueError):
            raise CommandError(f"{name} is a damaged spreadsheet; copy it again.") from None
        if not any(entry.startswith("xl/") or entry == "content.xml" for entry in listed):
            raise CommandError(f"{name} is an archive, not a spreadsheet; unpack it.")
        size = sum(listed.values())
        if size > _MOST_BYTES:
            raise CommandError(
                f"{name} unpacks to {size / 1e9:.1f} GB; save the table as CSV or Parquet."
            )
    source.seek(0)


def _sheet_of(names: list[str], sheet: str, name: str) -> str:
    if sheet in names:
        return sheet
    if sheet.isdecimal() and 1 <= int(sheet) <= len(names):
        return names[int(sheet) - 1]
    raise CommandError(f"--sheet: {name} has no sheet {sheet!r}; it has {_listed(names)}.")


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (" and more" if len(names) > 8 else "")


def _cell(cell: Any) -> Any:
    if isinstance(cell, str):
        return cell.strip() or None
    return cell.total_seconds() if isinstance(cell, datetime.timedelta) else cell


# -- databases ------------------------------------------------------------------------------------

# A foreign file is data, not a program. So it is opened for reading only, only tables are read (a
# view is SQL that the file brings), only columns that are stored, and every name is quoted.


# Tables and views with their kinds, and the stored columns of a table.
_LISTS = {
    "SQLite": (
        "SELECT name, type FROM pragma_table_list WHERE schema = 'main' "
        "AND substr(name, 1, 7) <> 'sqlite_'",
        "SELECT name FROM pragma_table_info(?)",
    ),
    "DuckDB": (
        "SELECT table_name, CASE table_type WHEN 'BASE TABLE' THEN 'table' ELSE 'view' END "
        "FROM information_schema.tables WHERE table_schema = 'main'",
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'main' "
        "AND table_name = ? AND coalesce(is_generated, '') <> 'ALWAYS' ORDER BY ordinal_position",
    ),
}


def _database_rows(
    path: str, kind: str, part: str | None, columns: Collection[str] | None
) -> Iterator[Rows]:
    """Yield the rows of a table in an SQLite or a DuckDB file."""
    tables, stored = _LISTS[kind]
    with _connection(path, kind) as database:
        table = _table_of(path, part, dict(database.execute(tables).fetchall()))
        found = [name for (name,) in database.execute(stored, [table]).fetchall()]
        names = column_names(found, path)
        if kind == "SQLite":
            allowed = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
            database.set_authorizer(
                lambda action, *_: sqlite3.SQLITE_OK if action in allowed else sqlite3.SQLITE_DENY
            )
        result = database.execute(
            f"SELECT {', '.join(map(_quoted, found))} FROM main.{_quoted(table)}"
        )
        # One by one: the way to get whole batches differs between versions of DuckDB.
        rows = chain.from_iterable(iter(lambda: result.fetchmany(_BATCH_ROWS), []))
        yield from rows_of((dict(zip(names, row, strict=True)) for row in rows), columns)


@contextmanager
def _connection(path: str, kind: str) -> Iterator[Any]:
    """Yield a connection that only reads."""
    if kind == "SQLite":
        failure: type[Exception] = sqlite3.Error
        connect = partial(sqlite3.connect, f"{Path(path).resolve().as_uri()}?mode=ro", uri=True)
    else:
        with extra(f"{path} is a DuckDB file, which needs", "tables"):
            import duckdb
        off = "enable_external_access", "autoload_known_extensions", "autoinstall_known_extensions"
        failure = duckdb.Error
        connect = partial(duckdb.connect, path, read_only=True, config=dict.fromkeys(off, "false"))
    try:
        with contextlib.closing(connect()) as database:
            if kind == "SQLite":
                database.execute("PRAGMA trusted_schema = OFF")
                database.execute("PRAGMA query_only = ON")
            yield database
    except failure as error:
        what = "an SQLite" if kind == "SQLite" else "a DuckDB"
        raise CommandError(f"{path} cannot be read as {what} file: {first_line(error)}.") from None


def _table_of(path: str, table: str | None, kinds: dict[str, str]) -> str:
    """Return the wanted table; if the file has only one, it is that."""
    tables = sorted(name for name, kind in kinds.items() if kind == "table")
    if table is None:
        if len(tables) == 1:
            return tables[0]
        if not tables:
            raise CommandError(f"{path} holds no table.")
        raise CommandError(
            f"{path} holds {len(tables)} tables; name one with --sheet, or as "
            f"{path}::{tables[0]} (it has {_listed(tables)})."
        )
    if kinds.get(table) == "table":
        return table
    if table in kinds:
        raise CommandError(
            f"--sheet: {table!r} of {path} is a {kinds[table]}, which would run what is written "
            "in the file; store its rows as a table."
        )
    raise CommandError(
        f"--sheet: {path} has no table {table!r}; it has {_listed(tables) or 'none'}."
    )


def _quoted(name: str) -> str:
    if "\0" in name:
        raise CommandError(f"{name!r} is not a name of a table or column.")
    return '"' + name.replace('"', '""') + '"'


# -- columns of Arrow -----------------------------------------------------------------------------


def rows_of(
    records: Iterator[dict[str, Any]], columns: Collection[str] | None = None
) -> Iterator[Rows]:
    """Yield records as batches, with gaps for columns that a record lacks.

    Each batch names its columns.
    """
    while part := list(islice(records, _BATCH_ROWS)):
        names = dict.fromkeys(name for record in part for name in record)
        made = {
            name: arrow_column([record.get(name) for record in part])
            for name in names
            if columns is None or name in columns
        }
        yield Rows(pa.RecordBatch.from_pydict(made))


def arrow_column(values: Sequence[Any]) -> pa.Array:
    """Return values as one column: numbers, dates or truths where all are, otherwise text."""
    values = [float(value) if isinstance(value, Decimal) else value for value in values]
    kinds = {type(value) for value in values} - {type(None)}
    if not kinds:
        return pa.nulls(len(values))
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    zones = any(getattr(value, "tzinfo", None) is not None for value in values)
    if kinds <= {datetime.datetime, datetime.date} and not zones:
        return pa.array([_text(value) for value in values], pa.string()).cast(pa.timestamp("us"))
    exact = all(abs(value) <= _LARGEST_EXACT for value in values if type(value) is int)
    if kinds <= {int, float} and exact:
        return pa.array(values, pa.float64())
    if kinds & {list, dict, tuple, set, bytes, bytearray, memoryview}:
        return _lists(values)
    return pa.array([_text(value) for value in values], pa.string())


def _lists(values: Sequence[Any]) -> pa.Array:
    """Return values as lists, so that a reader sees that they are not single, and leaves them."""
    lists = [None if value is None else [str(value)] for value in values]
    return pa.array(lists, pa.list_(pa.string()))


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return str(without_point(value))


def joined(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    """Return one table of batches whose columns may be of different types, or absent from some."""
    if all(batch.schema == batches[0].schema for batch in batches):
        return pa.Table.from_batches(batches)
    made = {}
    for name in dict.fromkeys(name for batch in batches for name in batch.schema.names):
        parts = [
            batch.column(name) if name in batch.schema.names else pa.nulls(batch.num_rows)
            for batch in batches
        ]
        kinds = {part.type for part in parts} - {pa.null()}
        kind = kinds.pop() if len(kinds) == 1 else pa.string() if kinds else pa.null()
        if any(map(pa.types.is_nested, kinds)) or pa.types.is_nested(kind):
            kind = pa.list_(pa.string())
            parts = [part if part.type == kind else _lists(part.to_pylist()) for part in parts]
        made[name] = pa.chunked_array([part.cast(kind) for part in parts], kind)
    return pa.table(made)
