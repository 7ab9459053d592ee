"""Tables in: CSV, TSV and Parquet, with or without gzip, whole or in pieces.

Arrow parses the text, a block of whole records at a time. What stands around it is not in a
library that we tried:

- DuckDB's sniffer takes a file of which one record is too short or too long for another dialect
  (one column named "a,b"; the rows before the long record lost) where we name the record; it
  renames a second column of the same name, reads archives and NUL bytes as text, splits "3,147"
  in a TSV file at its commas, and gives no rows of a pipe. It is 68 MB.
- ``pyarrow.csv.open_csv`` guesses no separator, keeps a thread in the stream, so that Ctrl-C does
  not end a command that reads a pipe, and fails at a record that is longer than its block.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from covey._kinds import as_numbers, kind_of_text
from covey.cli._console import CommandError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_TEXT = {".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}
PARQUET = (".parquet", ".pq")
_SEPARATORS = ",;\t|"
MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?"]
SURELY_MISSING = ["", "NaN", "nan"]
# Numbers with commas: any, those that may be thousands, those that must be.
_COMMA = r"^\s*([+-]?\d+),(\d+)\s*$"
_MAYBE_THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2},\d{3}\s*$"
_SURELY_THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2}(,\d{3})+(,\d{3}|\.\d+)\s*$"
# How much of a file is read at a time, and how many rows of Parquet.
_BLOCK_BYTES = 1 << 20
_BLOCK_ROWS = 5_000
_LONGEST_HEADER = 1 << 22
_LONGEST_RECORD = 1 << 26

Note = Callable[[str], None]


def read_table(
    path: str,
    numbers: Collection[str] | None = None,
    *,
    labels: Collection[str] = (),
    text: Collection[str] = (),
    decimal_commas: Collection[str] = (),
    note: Note | None = None,
) -> pd.DataFrame:
    """A table as a data frame, numbers as floats and everything else as text.

    ``path`` may be "-", standard input. ``numbers`` are the columns of numbers, where they are
    known; by default those that hold nothing else. ``labels`` are columns of classes, which may
    be called None or NA: unless all else in them are numbers, only an empty cell (or NaN) is a
    gap. Columns of ``text`` stay as they are written. ``decimal_commas`` are known to write 1,5;
    in other columns it has to be clear, and ``attrs["decimal_commas"]`` lists them all.
    """
    import pyarrow as pa

    read = list(_batches(path))
    table = pa.Table.from_batches([batch for batch, _ in read]) if read else None
    if table is None or not table.num_rows:
        raise CommandError(f"{_called(path)} has a header but no rows.")
    separator = read[0][1]
    commas = _Commas(decimal_commas, note)

    def mend(name: str, column: Any) -> Any:
        if name in text or separator is None or not _is_text(column.type):
            return column
        column = _with_gaps(name, column, name in labels, note)
        return column if separator == "," else commas.as_points(name, column)

    frame = _frame(table, numbers, mend, text)
    frame.attrs["decimal_commas"] = sorted(commas.decimal)
    return frame


def read_pieces(
    path: str,
    numbers: Collection[str],
    columns: Collection[str] | None = None,
    *,
    copy: Sequence[str] = (),
    decimal_commas: Collection[str] = (),
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Data frames that together are the table, each small enough for any memory.

    Each comes with a frame of the columns to ``copy``, as far as the table has them, in the types
    of the file. Other ``columns`` may be left unread. Unless it is known, the first piece has to
    show whether a column of numbers writes 1,5.
    """
    import pandas as pd

    commas = _Commas(decimal_commas)
    for batch, separator in _batches(path, columns):

        def mend(name: str, column: Any, separator: str | None = separator) -> Any:
            if separator is None or not _is_text(column.type):
                return column
            column = _with_gaps(name, column)
            # In a column of text, 1,5 is text.
            free = separator != "," and name in numbers
            return commas.as_points(name, column) if free else column

        if batch.num_rows:
            found = [name for name in copy if name in batch.schema.names]
            copies = batch.select(found).to_pandas(types_mapper=pd.ArrowDtype)
            yield _frame(batch, numbers, mend), copies


def _called(path: str) -> str:
    return "standard input" if path == "-" else path


def _batches(
    path: str, columns: Collection[str] | None = None
) -> Iterator[tuple[pa.RecordBatch, str | None]]:
    """Record batches of a file, and what separates fields, None in Parquet.

    Errors become sentences.
    """
    import pyarrow as pa

    name = _called(path)
    try:
        with _opened(path) as (source, parquet):
            if parquet:
                for batch in _parquet_batches(source, columns):
                    yield batch, None
            else:
                yield from _csv_batches(source, name, separator_of(path))
    except pa.ArrowInvalid as error:
        raise CommandError(_csv_sentence(name, str(error))) from None
    except (gzip.BadGzipFile, zlib.error, EOFError):
        raise CommandError(f"{name} is a damaged gzip file; copy or download it again.") from None
    except pa.ArrowException as error:
        raise CommandError(f"{name} cannot be read: {str(error).splitlines()[0]}") from None


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
def _opened(path: str) -> Iterator[tuple[Any, bool]]:
    """The bytes of a file, unpacked, and whether they are Parquet."""
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
        head = source.peek(4)[:4]
        if head == b"PAR1":
            # Its index is at the end, so that a stream has to be read whole.
            on_disk = path != "-" and source is raw
            yield path if on_disk else io.BytesIO(source.read()), True
        elif head[:2] == b"PK":
            raise CommandError(f"{_called(path)} is a spreadsheet or an archive; save it as CSV.")
        else:
            yield source, False
    finally:
        if path != "-":
            raw.close()


def separator_of(path: str) -> str | None:
    """What separates fields by the file's name; None if the header decides."""
    if path == "-":
        return None
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    last = suffixes[-1] if suffixes else ""
    if last == ".gz":
        last = suffixes[-2] if len(suffixes) > 1 else ".csv"
    if last in PARQUET:
        return None
    if last not in _TEXT:
        raise CommandError(
            f"{path} has an ending that covey does not know; give a .csv, .tsv or .parquet file "
            "(.gz is fine), or '-' for standard input."
        )
    return _TEXT[last]


def _csv_batches(
    source: BinaryIO, name: str, separator: str | None
) -> Iterator[tuple[pa.RecordBatch, str]]:
    """Record batches of text with their separator, a block of whole records at a time."""
    from pyarrow import ArrowInvalid, BufferReader, string
    from pyarrow import csv as arrow_csv

    names, separator = read_header(source, name, separator)
    parse = arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, string()),
        strings_can_be_null=True,
        null_values=[""],
    )
    n_rows = 0
    for block in _blocks(source, separator):
        read = arrow_csv.ReadOptions(
            use_threads=False, block_size=len(block) + 1, column_names=names
        )
        try:
            table = arrow_csv.read_csv(BufferReader(block), read, parse, convert)
        except ArrowInvalid as error:
            raise CommandError(_csv_sentence(name, str(error), n_rows + 1)) from None
        n_rows += len(table)
        for batch in table.to_batches():
            yield batch, separator


def _blocks(source: BinaryIO, separator: str) -> Iterator[bytes]:
    """Whole records of a text, about as many bytes at a time as a block has."""
    left = b""
    while True:
        more = source.read(_BLOCK_BYTES)
        block = left + more
        cut = _last_record_end(block, separator) if more else len(block)
        left = block[cut:]
        if cut and block[:cut].strip():
            yield block[:cut]
        if not more:
            return
        if len(left) > _LONGEST_RECORD:
            raise CommandError(
                f"a record is longer than {_LONGEST_RECORD:,} bytes; is a quote left open?"
            )


def _last_record_end(block: bytes, separators: str) -> int:
    """The position after the last end of a line that is not within quotes; 0 if there is none.

    Quotes count where a field begins with one; others are inches.
    """
    marks = re.escape(separators.encode())
    quoted = re.compile(rb"(?:\A|(?<=[\r\n" + marks + rb']))"[^"]*(?:""[^"]*)*(?:"|\Z)')
    spans = [match.span() for match in quoted.finditer(block)] if b'"' in block else []
    newline = block.rfind(b"\n")
    while spans and newline >= 0:
        start, end = spans.pop()
        if newline >= end:
            break
        if newline > start:
            newline = block.rfind(b"\n", 0, start)
    return newline + 1


def read_header(source: Any, name: str, separator: str | None = None) -> tuple[list[str], str]:
    """The names of the columns, and what separates them, from the first line of a text."""
    text = _header_line(source, name)
    if not text.strip():
        raise CommandError(f"{name} is empty; a table has a header line and rows.")
    if separator is None:
        separator = _likely_separator(text)
    return _column_names(next(csv.reader(io.StringIO(text), delimiter=separator)), name), separator


def _header_line(source: Any, name: str) -> str:
    """The header as text; a name in quotes may span lines."""
    first = b""
    while not first.endswith(b"\n") or _last_record_end(first, _SEPARATORS) < len(first):
        line = source.readline(_LONGEST_HEADER)
        first += line
        if not line or len(first) >= _LONGEST_HEADER:
            break
    if b"\0" in first:
        raise CommandError(f"{name} is not text; save the table as CSV in UTF-8.")
    try:
        return first.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CommandError(_encoding_sentence(name)) from None


def _likely_separator(header: str) -> str:
    outside = re.sub(r'"[^"]*"', "", header)
    return max(_SEPARATORS, key=lambda mark: (outside.count(mark), mark == ","))


def _column_names(fields: list[str], name: str) -> list[str]:
    names = [field.strip() or f"unnamed {number}" for number, field in enumerate(fields, start=1)]
    for field, count in Counter(names).items():
        if count > 1:
            raise CommandError(f"{name} has two columns named {field!r}; rename one of them.")
    return names


class _Commas:
    """Which columns write 1,5 for 1.5, where commas do not separate fields.

    1,234 may be either number. A column is taken to mean decimals if one of its values cannot
    be thousands, and none must be.
    """

    def __init__(self, decimal: Collection[str] = (), note: Note | None = None):
        self.decimal = set(decimal)
        self._thousands: set[str] = set()
        self._note = note

    def as_points(self, name: str, column: Any) -> Any:
        """The column with decimal points, if it has decimals."""
        from pyarrow import compute

        if name not in self.decimal | self._thousands:
            self._decide(name, column)
        if name not in self.decimal:
            return column
        return compute.replace_substring_regex(column, _COMMA, r"\1.\2")

    def _decide(self, name: str, column: Any) -> None:
        from pyarrow import compute

        with_comma = column.filter(compute.match_substring_regex(column, _COMMA))
        sure = compute.any(compute.match_substring_regex(column, _SURELY_THOUSANDS)).as_py()
        if not len(with_comma) and not sure:
            return
        maybe = compute.match_substring_regex(with_comma, _MAYBE_THOUSANDS)
        if not sure and not compute.all(maybe).as_py():
            self.decimal.add(name)
            return
        self._thousands.add(name)
        # Lists of numbers and the like are text without a doubt.
        plain = compute.match_substring_regex(column, r"^\s*[+-]?[\d.,]+\s*$")
        if self._note and compute.all(plain).as_py():
            example = (with_comma if len(with_comma) else column.drop_null())[0].as_py()
            self._note(
                f"{name}: {example!r} may have a decimal comma or thousands, so it is taken as "
                "text; write numbers without commas."
            )


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind)


def _with_gaps(name: str, column: Any, labels: bool = False, note: Note | None = None) -> Any:
    """A column with null in place of the words for a missing value."""
    import pyarrow as pa
    from pyarrow import compute

    gaps = compute.is_in(column, value_set=pa.array(MISSING, column.type))
    if not compute.any(gaps).as_py():
        return column
    rest = column.filter(compute.invert(gaps)).drop_null()
    if labels and len(rest) and compute.any(compute.is_null(as_numbers(rest))).as_py():
        words = set(MISSING) - set(SURELY_MISSING)
        for word in sorted(words.intersection(column.unique().to_pylist())) if note else ():
            note(
                f"{name}: {word!r} is taken as a class; leave such cells empty if the class is "
                "not known."
            )
        gaps = compute.is_in(column, value_set=pa.array(SURELY_MISSING, column.type))
    return compute.if_else(gaps, pa.scalar(None, column.type), column)


def _csv_sentence(name: str, message: str, rows_before: int = 0) -> str:
    ragged = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", message)
    if ragged:
        row, wanted, found = ragged.groups()
        where = f"record {int(row) + rows_before}" if row else "a record"
        return (
            f"{name}: {where} has {found} fields, but the header has {wanted}; quote fields that "
            "hold the separator, or mend the record."
        )
    if "UTF8" in message:
        return _encoding_sentence(name)
    return f"{name} cannot be read: {message.splitlines()[0]}"


def _encoding_sentence(name: str) -> str:
    return f"{name} is not UTF-8 text; convert it, as by: iconv -f latin1 -t utf-8 {name}"


def _parquet_batches(source: Any, columns: Collection[str] | None) -> Iterator[pa.RecordBatch]:
    from pyarrow import parquet

    # Without a buffer a row group is read whole, and a file may be one group.
    with parquet.ParquetFile(source, buffer_size=1 << 16, pre_buffer=False) as file:
        names = file.schema_arrow.names
        wanted = None if columns is None else [name for name in names if name in set(columns)]
        yield from file.iter_batches(_BLOCK_ROWS, columns=wanted, use_threads=False)


def _frame(
    batch: Any,
    numbers: Collection[str] | None,
    mend: Callable[[str, Any], Any],
    text: Collection[str] = (),
) -> pd.DataFrame:
    """A data frame of a batch or table, text columns of numbers as floats."""
    import pyarrow as pa
    from pyarrow import compute, types

    made = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if types.is_decimal(column.type):
            column = column.cast(pa.float64())
        known = numbers is not None and name in numbers
        if name in text or (types.is_integer(column.type) and not known and _is_long(column)):
            column = column.cast(pa.string())
        column = mend(name, column)
        if _is_text(column.type) and known:
            # Where one value is no number, the preparation looks at them one by one.
            with suppress(pa.ArrowInvalid):
                column = compute.utf8_trim_whitespace(column).cast(pa.float64())
        elif numbers is None and name not in text and _holds_numbers(column):
            column = as_numbers(column)
        made.append(column)
    return pa.Table.from_arrays(made, names=batch.schema.names).to_pandas()


def _holds_numbers(column: Any) -> bool:
    """Whether all of a column of text are numbers."""
    return _is_text(column.type) and kind_of_text(column.drop_null(), 1.0)[0] == "number"


def _is_long(column: Any) -> bool:
    """Whether some whole numbers have more digits than every float holds."""
    import pyarrow as pa

    try:
        column.cast(pa.float64())
    except pa.ArrowInvalid:
        return True
    return False
