"""Tables in and out: CSV, TSV and Parquet, with or without gzip, whole or in pieces."""

import csv
import gzip
import io
import os
import re
import sys
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path

from covey.cli._console import CommandError

_TEXT = {".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}
_PARQUET = (".parquet", ".pq")
_MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?"]
# What of a file is read at a time, and how many rows of Parquet.
_BLOCK_BYTES = 1 << 20
_BLOCK_ROWS = 5_000
_LONGEST_HEADER = 1 << 22
_LONGEST_RECORD = 1 << 26


# -- read -----------------------------------------------------------------------------------


def read_table(path, numbers=None):
    """A table as a data frame, numbers as floats and everything else as text.

    Parameters
    ----------
    path : str
        "-" is standard input.
    numbers : collection of str, optional
        The columns of numbers, where they are known; by default those that hold nothing else.
    """
    import pyarrow as pa

    batches = list(_batches(path))
    table = pa.Table.from_batches(batches) if batches else None
    if table is None or not table.num_rows:
        raise CommandError(f"{_called(path)} has a header but no rows.")
    return _frame(table, numbers)


def read_pieces(path, numbers, columns=None):
    """Data frames that together are the table, each small enough for any memory.

    Parameters
    ----------
    path : str
    numbers : collection of str
        The columns of numbers.
    columns : collection of str, optional
        What is needed; others may be left unread.
    """
    for batch in _batches(path, columns):
        if batch.num_rows:
            yield _frame(batch, numbers)


def _called(path):
    return "standard input" if path == "-" else path


def _batches(path, columns=None):
    """Record batches of a file, errors as sentences."""
    import pyarrow as pa

    name = _called(path)
    try:
        with _opened(path) as (source, parquet):
            if parquet:
                yield from _parquet_batches(source, columns)
            else:
                yield from _csv_batches(source, name, _separator(path))
    except pa.ArrowInvalid as error:
        raise CommandError(_csv_sentence(name, str(error))) from None
    except (gzip.BadGzipFile, EOFError):
        raise CommandError(f"{name} is a damaged gzip file; copy or download it again.") from None
    except pa.ArrowException as error:
        raise CommandError(f"{name} cannot be read: {str(error).splitlines()[0]}") from None


@contextmanager
def _opened(path):
    """The bytes of a file, unpacked, and whether they are Parquet."""
    if path == "-":
        if sys.stdin.isatty():
            raise CommandError("standard input is a terminal; pipe a table into it.")
        raw = sys.stdin.buffer
    else:
        _separator(path)  # an unknown ending is better said before the file is opened
        try:
            raw = open(path, "rb")  # noqa: SIM115 (closed below, but stdin is not)
        except FileNotFoundError:
            raise CommandError(f"there is no file {path}.") from None
        except IsADirectoryError:
            raise CommandError(f"{path} is a folder, not a table.") from None
        except PermissionError:
            raise CommandError(f"{path} may not be read; ask for the right to.") from None
    try:
        source = raw
        head = _head(source, 4)
        if head[:2] == b"\x1f\x8b":
            source = gzip.GzipFile(fileobj=_Rewound(head, source))
            head = _head(source, 4)
        if head == b"PAR1":
            # Its index is at the end.
            on_disk = path != "-" and source is raw
            yield path if on_disk else io.BytesIO(head + source.read()), True
        elif head[:2] == b"PK":
            raise CommandError(f"{_called(path)} is a spreadsheet or an archive; save it as CSV.")
        else:
            yield io.BufferedReader(_Rewound(head, source), 1 << 16), False
    finally:
        if path != "-":
            raw.close()


class _Rewound(io.RawIOBase):
    """A stream with its first bytes put back."""

    def __init__(self, head, rest):
        self._head = head
        self._rest = rest

    def readable(self):
        return True

    def readinto(self, buffer):
        data = self._head[: len(buffer)] or self._rest.read(len(buffer))
        self._head = self._head[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def _head(stream, size):
    """The first bytes, as many as there are; a pipe gives fewer at a time."""
    head = b""
    while len(head) < size:
        more = stream.read(size - len(head))
        if not more:
            break
        head += more
    return head


def _separator(path):
    """What separates fields by the file's name: None if the header has to say."""
    if path == "-":
        return None
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    last = suffixes[-1] if suffixes else ""
    if last == ".gz":
        last = suffixes[-2] if len(suffixes) > 1 else ".csv"
    if last in _PARQUET:
        return None
    if last not in _TEXT:
        raise CommandError(
            f"{path} has an ending that covey does not know; give a .csv, .tsv or .parquet file "
            "(.gz is fine), or '-' for standard input."
        )
    return _TEXT[last]


def _csv_batches(source, name, separator):
    """Record batches of text, a block of whole records at a time.

    Blocks are read here, not by Arrow: its threads do not let go of a stream when the process is
    interrupted.
    """
    from pyarrow import ArrowInvalid, BufferReader, string
    from pyarrow import csv as arrow_csv

    text = _header_line(source, name)
    if not text.strip():
        raise CommandError(f"{name} is empty; a table has a header line and rows.")
    if separator is None:
        separator = _likely_separator(text)
    names = _column_names(next(csv.reader(io.StringIO(text), delimiter=separator)), name)
    parse = arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, string()),
        strings_can_be_null=True,
        null_values=_MISSING,
    )
    n_rows = 0
    for block in _blocks(source):
        read = arrow_csv.ReadOptions(
            use_threads=False, block_size=len(block) + 1, column_names=names
        )
        try:
            table = arrow_csv.read_csv(BufferReader(block), read, parse, convert)
        except ArrowInvalid as error:
            raise CommandError(_csv_sentence(name, str(error), n_rows + 1)) from None
        n_rows += len(table)
        for batch in table.to_batches():
            yield _with_points(batch) if separator != "," else batch


def _blocks(source):
    """Whole records of a text, about as many bytes at a time as a block has."""
    left = b""
    while True:
        more = source.read(_BLOCK_BYTES)
        block = left + more
        cut = _last_record_end(block) if more else len(block)
        left = block[cut:]
        if cut and block[:cut].strip():
            yield block[:cut]
        if not more:
            return
        if len(left) > _LONGEST_RECORD:
            raise CommandError(
                f"a record is longer than {_LONGEST_RECORD:,} bytes; is a quote left open?"
            )


def _last_record_end(block):
    """Behind the last line's end that is not within quotes; 0 if there is none."""
    n_quotes = block.count(b'"')
    end = len(block)
    while True:
        newline = block.rfind(b"\n", 0, end)
        if newline < 0:
            return 0
        n_quotes -= block.count(b'"', newline, end)
        if n_quotes % 2 == 0:
            return newline + 1
        end = newline


def _header_line(source, name):
    """The header as text; a name in quotes may go over lines."""
    first = b""
    while first.count(b'"') % 2 or not first.endswith(b"\n"):
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


def _likely_separator(header):
    outside = re.sub(r'"[^"]*"', "", header)
    return max(",;\t|", key=lambda mark: (outside.count(mark), mark == ","))


def _column_names(fields, name):
    names = [field.strip() or f"unnamed {place}" for place, field in enumerate(fields, start=1)]
    twice = [field for field in names if names.count(field) > 1]
    if twice:
        raise CommandError(f"{name} has two columns named {twice[0]!r}; rename one of them.")
    return names


def _with_points(batch):
    """Where commas do not separate fields, 1,5 is a number."""
    import pyarrow as pa
    from pyarrow import compute

    pattern = r"^\s*([+-]?\d+),(\d+)\s*$"
    columns = [
        compute.replace_substring_regex(column, pattern, r"\1.\2") for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _csv_sentence(name, said, rows_before=0):
    ragged = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", said)
    if ragged:
        row, wanted, found = ragged.groups()
        where = f"record {int(row) + rows_before}" if row else "a record"
        return (
            f"{name}: {where} has {found} fields, but the header has {wanted}; quote fields that "
            "hold the separator, or mend the record."
        )
    if "UTF8" in said:
        return _encoding_sentence(name)
    return f"{name} cannot be read: {said.splitlines()[0]}"


def _encoding_sentence(name):
    return f"{name} is not UTF-8 text; convert it, as by: iconv -f latin1 -t utf-8 {name}"


def _parquet_batches(source, columns):
    from pyarrow import parquet

    # Without a buffer a row group is read whole, and a file may be one group.
    with parquet.ParquetFile(source, buffer_size=1 << 16, pre_buffer=False) as file:
        names = file.schema_arrow.names
        wanted = None if columns is None else [name for name in names if name in set(columns)]
        yield from file.iter_batches(_BLOCK_ROWS, columns=wanted, use_threads=False)


def _frame(batch, numbers):
    """A data frame of a batch or table, text columns of numbers as floats."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow import compute, types

    made = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if types.is_decimal(column.type):
            column = column.cast(pa.float64())
        text = types.is_string(column.type) or types.is_large_string(column.type)
        if text and (numbers is None or name in numbers):
            # 01234 is the name of a place, not a number.
            codes = compute.any(compute.match_substring_regex(column, r"^\s*[+-]?0\d"))
            if numbers is not None or not codes.as_py():
                # Where one value is no number, all are looked at again, one by one.
                with suppress(pa.ArrowInvalid):
                    column = compute.utf8_trim_whitespace(column).cast(pa.float64())
        made[name] = column.to_pandas()
    return pd.DataFrame(made)


# -- write ----------------------------------------------------------------------------------


def check_writable(path, endings=None):
    """Say before anything slow happens that a file cannot be written."""
    if path is None:
        return
    if endings and not path.lower().endswith(tuple(endings)):
        raise CommandError(
            f"{path} has an ending that covey does not know; write to {', '.join(endings)}."
        )
    place = Path(path)
    folder = place.resolve().parent
    if place.is_dir():
        raise CommandError(f"{path} is a folder; name a file.")
    if not folder.is_dir():
        raise CommandError(f"there is no folder {folder} to write {place.name} in; make it first.")
    if not os.access(folder, os.W_OK) or (place.exists() and not os.access(place, os.W_OK)):
        raise CommandError(f"{path} may not be written; choose another place.")


@contextmanager
def whole_file(path):
    """A place to write to that becomes the file when all is written, and not before."""
    place = Path(path)
    if place.exists() and not place.is_file():
        # A device or a pipe has no half of a file to protect.
        yield place
        return
    place = place.resolve()
    # Beside its place: only within one file system is a move one step. The ending stays.
    beside = place.with_name(f".{uuid.uuid4().hex}.part{''.join(place.suffixes)}")
    try:
        yield beside
        os.replace(beside, place)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror or error}.", 1) from None
    finally:
        beside.unlink(missing_ok=True)


TABLE_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".pq")


@contextmanager
def table_writer(path):
    """A function that writes data frames one after another; to stdout as CSV without a path."""
    if path is None:
        yield _CsvPieces(sys.stdout).write
        sys.stdout.flush()
        return
    with whole_file(path) as beside:
        separator = "\t" if ".tsv" in path.lower() else ","
        if path.lower().endswith(_PARQUET):
            pieces = _ParquetPieces(beside)
            try:
                yield pieces.write
            finally:
                pieces.close()
        elif path.lower().endswith(".gz"):
            with gzip.open(beside, "wt", encoding="utf-8", newline="") as file:
                yield _CsvPieces(file, separator).write
        else:
            with open(beside, "w", encoding="utf-8", newline="") as file:
                yield _CsvPieces(file, separator).write


class _CsvPieces:
    def __init__(self, file, separator=","):
        self._file = file
        self._separator = separator
        self._begun = False

    def write(self, frame):
        frame.to_csv(
            self._file,
            sep=self._separator,
            index=False,
            header=not self._begun,
            lineterminator="\n",
        )
        self._begun = True


class _ParquetPieces:
    def __init__(self, path):
        self._path = path
        self._writer = None

    def write(self, frame):
        import pyarrow as pa
        from pyarrow import parquet

        schema = None if self._writer is None else self._writer.schema
        table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)

    def close(self):
        if self._writer is not None:
            self._writer.close()
