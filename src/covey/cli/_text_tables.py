"""Tables as text: CSV and its relatives, in UTF-8 or in what spreadsheets of old wrote.

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

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from covey.cli._console import CommandError

if TYPE_CHECKING:
    import pyarrow as pa

SEPARATORS = ",;\t|"
# How much of a file is read at a time.
_BLOCK_BYTES = 1 << 20
_LONGEST_LOOK = 1 << 12
_LONGEST_HEADER = 1 << 22
_LONGEST_RECORD = 1 << 26

Note = Callable[[str], None]


# -- encodings ------------------------------------------------------------------------------------


class Encoding:
    """Makes UTF-8 of a file's blocks; text that is none is taken for Windows-1252 (Latin-1)."""

    def __init__(self, name: str, note: Note | None = None):
        self._name, self._note = name, note
        self._western = self._beyond_ascii = False

    def utf8(self, block: bytes) -> bytes:
        """A block of whole lines in UTF-8."""
        if block.isascii():
            return block
        if not self._western and not self._is_utf8(block):
            self._western = True
            if self._note:
                self._note(
                    f"{self._name} is not UTF-8, so it is read as Windows-1252 (Latin-1); if "
                    "letters come out wrong, save it as UTF-8."
                )
        return block.decode("cp1252", "covey_latin1").encode() if self._western else block

    def _is_utf8(self, block: bytes) -> bool:
        try:
            block.decode()
        except UnicodeDecodeError as error:
            read = block.decode(errors="replace")
            wrong = read.count("\ufffd")
            right = sum(not one.isascii() for one in read) - wrong
            if self._beyond_ascii or right > wrong:
                before = block[max(0, error.start - 20) : error.start].decode(errors="replace")
                line = before.strip().splitlines()[-1:] or [""]
                raise CommandError(
                    f"{self._name} is UTF-8 text that is damaged after {line[0]!r}; save it again."
                ) from None
            return False
        self._beyond_ascii = True
        return True


# Five bytes mean nothing in Windows-1252; in Latin-1 each byte is a character.
codecs.register_error(
    "covey_latin1",
    lambda error: (error.object[error.start : error.end].decode("latin-1"), error.end),
)


class _Recoded(io.RawIOBase):
    """The bytes of a text in UTF-8, whatever it is in."""

    def __init__(self, source: Any, encoding: str, name: str):
        self._source, self._name = source, name
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        more = True
        while not self._left and more:
            data = self._source.read(1 << 16)
            more = bool(data)
            try:
                self._left = self._decoder.decode(data, final=not more).encode()
            except UnicodeError:
                raise CommandError(
                    f"{self._name} is UTF-16 text that is damaged; save it as UTF-8."
                ) from None
        count = min(len(buffer), len(self._left))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        return count


class _OldLines(io.RawIOBase):
    """The bytes of a text whose lines end as those of old Macs did, with the ends of today."""

    def __init__(self, source: Any):
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._source.read(len(buffer)).replace(b"\r", b"\n")
        buffer[: len(data)] = data
        return len(data)


def in_utf8(source: Any, name: str, note: Note | None = None) -> Any:
    """A stream of text; one in UTF-16, or with old ends of lines, is recoded.

    ``source`` can peek.
    """
    head = source.peek(400)[:400]
    encoding = None
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        encoding = "utf-16"
    elif len(head) >= 4:
        # Without its mark, half of the bytes of Western text are zero.
        for start, guess in ((0, "utf-16-be"), (1, "utf-16-le")):
            zeros, others = (head[place::2].count(0) / len(head) for place in (start, 1 - start))
            if zeros > 0.3 and not others:
                encoding = guess
    if encoding is None:
        look = source.peek(_LONGEST_LOOK)[:_LONGEST_LOOK]
        old = b"\r" in look and b"\n" not in look
        return io.BufferedReader(_OldLines(source)) if old else source
    if note:
        note(f"{name} is read as UTF-16.")
    return io.BufferedReader(_Recoded(source, encoding, name))


# -- records --------------------------------------------------------------------------------------


def csv_batches(
    source: BinaryIO, name: str, separator: str | None, note: Note | None = None
) -> Iterator[tuple[pa.RecordBatch, str]]:
    """Record batches of text with their separator, a block of whole records at a time."""
    from pyarrow import ArrowInvalid, BufferReader, string
    from pyarrow import csv as arrow_csv

    source, encoding = in_utf8(source, name, note), Encoding(name, note)
    if b"\0" in source.peek(_LONGEST_LOOK)[:_LONGEST_LOOK]:
        raise CommandError(_not_text(name))
    names, separator = read_header(source, name, separator, encoding)
    parse = arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, string()),
        strings_can_be_null=True,
        null_values=[""],
    )
    n_rows = 0
    for block in _blocks(source, separator):
        block = encoding.utf8(block)
        read = arrow_csv.ReadOptions(
            use_threads=False, block_size=len(block) + 1, column_names=names
        )
        try:
            table = arrow_csv.read_csv(BufferReader(block), read, parse, convert)
        except ArrowInvalid as error:
            raise CommandError(csv_sentence(name, str(error), n_rows + 1)) from None
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


def read_header(
    source: Any, name: str, separator: str | None = None, encoding: Encoding | None = None
) -> tuple[list[str], str]:
    """The names of the columns, and what separates them, from the first line of a text.

    Without an encoding it has to be UTF-8.
    """
    text = _header_line(source, name, encoding)
    if not text.strip():
        raise CommandError(f"{name} is empty; a table has a header line and rows.")
    if separator is None:
        separator = _likely_separator(text)
    return column_names(next(csv.reader(io.StringIO(text), delimiter=separator)), name), separator


def _header_line(source: Any, name: str, encoding: Encoding | None) -> str:
    """The header as text; a name in quotes may span lines."""
    first = b""
    while not first.endswith(b"\n") or _last_record_end(first, SEPARATORS) < len(first):
        line = source.readline(_LONGEST_HEADER)
        first += line
        if not line or len(first) >= _LONGEST_HEADER:
            break
    if b"\0" in first:
        raise CommandError(_not_text(name))
    try:
        return (encoding.utf8(first) if encoding else first).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CommandError(_encoding_sentence(name)) from None


def _likely_separator(header: str) -> str:
    outside = re.sub(r'"[^"]*"', "", header)
    return max(SEPARATORS, key=lambda mark: (outside.count(mark), mark == ","))


def column_names(fields: list[str], name: str) -> list[str]:
    """Names of columns without blanks around them, each of its own."""
    names = [field.strip() or f"unnamed {number}" for number, field in enumerate(fields, start=1)]
    for field, count in Counter(names).items():
        if count > 1:
            raise CommandError(f"{name} has two columns named {field!r}; rename one of them.")
    return names


def csv_sentence(name: str, message: str, rows_before: int = 0) -> str:
    """A sentence about a file that Arrow cannot read."""
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


def _not_text(name: str) -> str:
    return f"{name} is not text; save the table as CSV in UTF-8."


def _encoding_sentence(name: str) -> str:
    return f"{name} is not UTF-8 text; convert it, as by: iconv -f latin1 -t utf-8 {name}"
