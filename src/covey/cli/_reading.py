"""Tables in: CSV, TSV and Parquet, with or without gzip, whole or in pieces."""

import csv
import gzip
import io
import re
import sys
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

from covey.cli._console import CommandError

_TEXT = {".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}
PARQUET = (".parquet", ".pq")
_SEPARATORS = ",;\t|"
MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?"]
SURELY_MISSING = ["", "NaN", "nan"]
# Numbers with commas: any, those that may be thousands, those that must be.
_COMMA = r"^\s*([+-]?\d+),(\d+)\s*$"
_MAYBE_THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2},\d{3}\s*$"
_SURELY_THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2}(,\d{3})+(,\d{3}|\.\d+)\s*$"
# What of a file is read at a time, and how many rows of Parquet.
_BLOCK_BYTES = 1 << 20
_BLOCK_ROWS = 5_000
_LONGEST_HEADER = 1 << 22
_LONGEST_RECORD = 1 << 26


def read_table(path, numbers=None, *, answers=(), text=(), decimal_commas=(), note=None):
    """A table as a data frame, numbers as floats and everything else as text.

    Parameters
    ----------
    path : str
        "-" is standard input.
    numbers : collection of str, optional
        The columns of numbers, where they are known; by default those that hold nothing else.
    answers : collection of str, default=()
        Columns of classes, which may be called None or NA: unless all else in them are numbers,
        only an empty cell (or NaN) is a gap.
    text : collection of str, default=()
        Columns that stay as they are written.
    decimal_commas : collection of str, default=()
        Columns that are known to write 1,5; in others it has to be clear.
    note : callable, optional
        Where to say what is not clear.

    Returns
    -------
    table : data frame
        ``attrs["decimal_commas"]`` lists the columns that write 1,5.
    """
    import pyarrow as pa

    read = list(_batches(path))
    table = pa.Table.from_batches([batch for batch, _ in read]) if read else None
    if table is None or not table.num_rows:
        raise CommandError(f"{_called(path)} has a header but no rows.")
    separator = read[0][1]
    commas = _Commas(decimal_commas, note)

    def mend(name, column):
        if name in text or separator is None or not _is_text(column.type):
            return column
        column = _with_gaps(name, column, name in answers, note)
        return column if separator == "," else commas.as_points(name, column)

    frame = _frame(table, numbers, mend, text)
    frame.attrs["decimal_commas"] = sorted(commas.decimal)
    return frame


def read_pieces(path, numbers, columns=None, *, copy=(), decimal_commas=()):
    """Data frames that together are the table, each small enough for any memory.

    Parameters
    ----------
    path : str
    numbers : collection of str
        The columns of numbers.
    columns : collection of str, optional
        What is needed; others may be left unread.
    copy : sequence of str, default=()
        Columns to give as they are written.
    decimal_commas : collection of str, default=()
        Columns of numbers that are known to write 1,5; in others the first piece has to show it.

    Yields
    ------
    piece : data frame
    copies : data frame
        The columns to copy, those that there are, with the types of the file.
    """
    import pandas as pd

    commas = _Commas(decimal_commas)
    for batch, separator in _batches(path, columns):

        def mend(name, column, separator=separator):
            if separator is None or not _is_text(column.type):
                return column
            column = _with_gaps(name, column)
            # Where text is wanted, 1,5 is some.
            free = separator != "," and name in numbers
            return commas.as_points(name, column) if free else column

        if batch.num_rows:
            there = [name for name in copy if name in batch.schema.names]
            copies = batch.select(there).to_pandas(types_mapper=pd.ArrowDtype)
            yield _frame(batch, numbers, mend), copies


def _called(path):
    return "standard input" if path == "-" else path


def _batches(path, columns=None):
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
        separator_of(path)  # an unknown ending is better said before the file is opened
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


def separator_of(path):
    """What separates fields by the file's name: None if the header has to say."""
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


def _csv_batches(source, name, separator):
    """Record batches of text with their separator, a block of whole records at a time.

    Blocks are read here, not by Arrow: its threads do not let go of a stream when the process is
    interrupted.
    """
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


def _blocks(source, separator):
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


def _last_record_end(block, separators):
    """Behind the last line's end that is not within quotes; 0 if there is none.

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


def read_header(source, name, separator=None):
    """The names of the columns, and what separates them, from the first line of a text.

    Parameters
    ----------
    source : binary file
        Read on from where it is.
    name : str
        What the text is called.
    separator : str, optional
        Where it is known.

    Returns
    -------
    names : list of str
    separator : str
    """
    text = _header_line(source, name)
    if not text.strip():
        raise CommandError(f"{name} is empty; a table has a header line and rows.")
    if separator is None:
        separator = _likely_separator(text)
    return _column_names(next(csv.reader(io.StringIO(text), delimiter=separator)), name), separator


def _header_line(source, name):
    """The header as text; a name in quotes may go over lines."""
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


def _likely_separator(header):
    outside = re.sub(r'"[^"]*"', "", header)
    return max(_SEPARATORS, key=lambda mark: (outside.count(mark), mark == ","))


def _column_names(fields, name):
    names = [field.strip() or f"unnamed {place}" for place, field in enumerate(fields, start=1)]
    for field, count in Counter(names).items():
        if count > 1:
            raise CommandError(f"{name} has two columns named {field!r}; rename one of them.")
    return names


class _Commas:
    """Which columns write 1,5 for 1.5, where commas do not separate fields.

    1,234 may be either number. A column is taken to mean decimals if one of its values cannot
    be thousands, and none must be.
    """

    def __init__(self, decimal=(), note=None):
        self.decimal = set(decimal)
        self._thousands = set()
        self._note = note

    def as_points(self, name, column):
        """The column with decimal points, if it has decimals."""
        from pyarrow import compute

        if name not in self.decimal | self._thousands:
            self._decide(name, column)
        if name not in self.decimal:
            return column
        return compute.replace_substring_regex(column, _COMMA, r"\1.\2")

    def _decide(self, name, column):
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
        # Lists of places and the like are text without a question.
        plain = compute.match_substring_regex(column, r"^\s*[+-]?[\d.,]+\s*$")
        if self._note and compute.all(plain).as_py():
            example = (with_comma if len(with_comma) else column.drop_null())[0].as_py()
            self._note(
                f"{name}: {example!r} may have a decimal comma or thousands, so it is taken as "
                "text; write numbers without commas."
            )


def _is_text(kind):
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind)


def _with_gaps(name, column, answers=False, note=None):
    """A column with nothing in place of the words for it."""
    import pyarrow as pa
    from pyarrow import compute

    gaps = compute.is_in(column, value_set=pa.array(MISSING, column.type))
    if not compute.any(gaps).as_py():
        return column
    if answers and not _all_numbers(column.filter(compute.invert(gaps))):
        words = set(MISSING) - set(SURELY_MISSING)
        for word in sorted(words.intersection(column.unique().to_pylist())) if note else ():
            note(
                f"{name}: {word!r} is taken as a class; leave such cells empty if the answer is "
                "not known."
            )
        gaps = compute.is_in(column, value_set=pa.array(SURELY_MISSING, column.type))
    return compute.if_else(gaps, pa.scalar(None, column.type), column)


def _all_numbers(column):
    import pyarrow as pa
    from pyarrow import compute

    try:
        compute.utf8_trim_whitespace(column).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


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


def _frame(batch, numbers, mend, text=()):
    """A data frame of a batch or table, text columns of numbers as floats."""
    import pyarrow as pa
    from pyarrow import compute, types

    made = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if types.is_decimal(column.type):
            column = column.cast(pa.float64())
        column = mend(name, column)
        wanted = numbers is not None and name in numbers
        code = types.is_integer(column.type) and not wanted and not _survives(column)
        if name in text or code:
            column = column.cast(pa.string())
        elif _is_text(column.type) and (wanted or (numbers is None and not _is_code(column))):
            # Where one value is no number, all are looked at again, one by one.
            with suppress(pa.ArrowInvalid):
                column = compute.utf8_trim_whitespace(column).cast(pa.float64())
        made.append(column)
    return pa.Table.from_arrays(made, names=batch.schema.names).to_pandas()


def _is_code(column):
    """Whether what looks like numbers names things: 01234 is a place, 19 digits are an account."""
    from pyarrow import compute

    if compute.any(compute.match_substring_regex(column, r"^\s*[+-]?0\d")).as_py():
        return True
    long = column.filter(compute.match_substring_regex(column, r"^\s*[+-]?\d{16,}\s*$"))
    return any(int(float(value)) != int(value) for value in long.unique().to_pylist())


def _survives(column):
    """Whether whole numbers are the same as floats."""
    import pyarrow as pa
    from pyarrow import compute

    floats = column.cast(pa.float64(), safe=False)
    largest = compute.max(compute.abs(floats)).as_py()
    if largest is None or largest <= 2**53:
        return True
    return all(int(float(value)) == value for value in column.unique().to_pylist() if value)
