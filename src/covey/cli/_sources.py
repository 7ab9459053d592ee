"""Where tables come from: which kind of file it is, and its rows as Arrow's record batches."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from covey.cli._cells import BATCH_ROWS
from covey.cli._console import CommandError
from covey.cli._databases import DATABASES, duckdb_batches, is_duckdb, is_sqlite, sqlite_batches
from covey.cli._json_tables import JSON, json_batches
from covey.cli._options import PART
from covey.cli._sheets import SHEETS, sheet_batches
from covey.cli._text_tables import Note, csv_batches, csv_sentence

if TYPE_CHECKING:
    import pyarrow as pa

_TEXT = {".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}
PARQUET = (".parquet", ".pq")


class Rows(NamedTuple):
    """Some rows of a table."""

    batch: pa.RecordBatch
    words: bool  # whether words such as NA are gaps: people wrote it, not a program
    decimal: str | None = "."  # the decimal mark where a column shows none; None: who knows


def called(path: str) -> str:
    """A table in a sentence."""
    return "standard input" if path == "-" else path


def located(path: str) -> tuple[str, str | None]:
    """A file, and the sheet or table in it that is meant, if one is named."""
    file, mark, part = path.rpartition(PART)
    return (path, None) if not mark or not file or os.path.exists(path) else (file, part)


def batches(
    path: str, columns: Collection[str] | None = None, note: Note | None = None
) -> Iterator[Rows]:
    """The rows of a file, some at a time; other columns may be left unread.

    Errors become sentences.
    """
    import pyarrow as pa

    name = called(path)
    try:
        yield from _batches(path, columns, note)
    except pa.ArrowInvalid as error:
        raise CommandError(csv_sentence(name, str(error))) from None
    except (gzip.BadGzipFile, zlib.error, EOFError):
        raise CommandError(f"{name} is a damaged gzip file; copy or download it again.") from None
    except pa.ArrowException as error:
        raise CommandError(f"{name} cannot be read: {str(error).splitlines()[0]}") from None


def _batches(path: str, columns: Collection[str] | None, note: Note | None) -> Iterator[Rows]:
    file, part = located(path)
    with opened(file) as (source, head):
        if is_sqlite(head) or is_duckdb(head):
            if not isinstance(source, str):
                raise CommandError(f"{called(file)} is a database; give it as a file, unpacked.")
            read = sqlite_batches if is_sqlite(head) else duckdb_batches
            for batch in read(source, part, columns, note):
                yield Rows(batch, True)
            return
        if head[:2] == b"PK" or head[:4] == b"\xd0\xcf\x11\xe0":
            book = source if not isinstance(source, str) else io.BytesIO(Path(source).read_bytes())
            for batch in sheet_batches(_whole(book), called(file), part, columns, note):
                yield Rows(batch, True)
            return
        if part is not None:
            raise CommandError(
                f"--sheet: {called(file)} is neither a spreadsheet nor a database; leave it out."
            )
        if head[:4] == b"PAR1":
            for batch in _parquet_batches(source, columns):
                yield Rows(batch, False)
        elif _ending(file) in JSON or (file == "-" and head.lstrip()[:1] in (b"{", b"[")):
            for batch in json_batches(source, called(file), columns, note):
                yield Rows(batch, True)
        else:
            for batch, separator in csv_batches(source, called(file), separator_of(file), note):
                # Where commas separate fields, one within a number sets thousands apart.
                yield Rows(batch, True, "." if separator == "," else None)


def _whole(source: Any) -> io.BytesIO:
    return source if isinstance(source, io.BytesIO) else io.BytesIO(source.read())


@contextmanager
def opening(path: str, what: str, hint: str = "") -> Iterator[None]:
    """Errors of the system in this block become a sentence about the file."""
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
    """The bytes of a file, unpacked, and the first of them.

    Files that are not read from their begin to their end are given by their path.
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
        if (
            path != "-"
            and source is raw
            and (head[:4] == b"PAR1" or is_sqlite(head) or is_duckdb(head))
        ):
            yield path, head
        elif head[:4] == b"PAR1":
            # Its index is at the end, so that a stream has to be read whole.
            yield io.BytesIO(source.read()), head
        else:
            yield source, head
    finally:
        if path != "-":
            raw.close()


def _ending(path: str) -> str:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    last = suffixes[-1] if suffixes else ""
    if last == ".gz":
        last = suffixes[-2] if len(suffixes) > 1 else ".csv"
    return last


def separator_of(path: str) -> str | None:
    """What separates fields by the file's name; None if the header decides."""
    if path == "-":
        return None
    last = _ending(path)
    if last in (*PARQUET, *SHEETS, *DATABASES, *JSON):
        return None
    if last not in _TEXT:
        raise CommandError(
            f"{path} has an ending that covey does not know; give a .csv, .tsv, .parquet, .xlsx, "
            ".jsonl, .sqlite or .duckdb file (.gz is fine), or '-' for standard input."
        )
    return _TEXT[last]


def _parquet_batches(source: Any, columns: Collection[str] | None) -> Iterator[pa.RecordBatch]:
    from pyarrow import parquet

    # Without a buffer a row group is read whole, and a file may be one group.
    with parquet.ParquetFile(source, buffer_size=1 << 16, pre_buffer=False) as file:
        names = file.schema_arrow.names
        wanted = None if columns is None else [name for name in names if name in set(columns)]
        yield from file.iter_batches(BATCH_ROWS, columns=wanted, use_threads=False)


@contextmanager
def parquet_columns(path: str) -> Iterator[Any | None]:
    """A Parquet file of which columns are read one by one; None for files of other kinds."""
    import pyarrow as pa
    from pyarrow import parquet

    if not _is_parquet(path):
        yield None
        return
    try:
        with parquet.ParquetFile(path, pre_buffer=False) as columns:
            yield columns
    except pa.ArrowException as error:
        raise CommandError(f"{path} cannot be read: {str(error).splitlines()[0]}") from None


def _is_parquet(path: str) -> bool:
    if path == "-" or not os.path.isfile(path):
        return False
    separator_of(path)  # refuses an unknown ending before the file is opened
    with opening(path, "table"), open(path, "rb") as file:
        return file.read(4) == b"PAR1"
