"""Tables as text: CSV and similar forms, in UTF-8 or in the encodings of old spreadsheets.

Arrow parses the text, a block of whole records at a time. No library that we tried does the rest
(`python -m benchmarks.readers` compares pandas, polars and DuckDB on odd files):

- DuckDB's sniffer assumes another dialect for a file with one record that is too short or too long
  (one column named "a,b"; the rows before the long record lost) where we name the record; it
  renames a second column of the same name, reads archives and NUL bytes as text, splits "3,147"
  in a TSV file at its commas, and returns no rows of a pipe. It is 68 MB.
- polars and pandas refuse text that is neither UTF-8 nor announced, and polars guesses no
  separator.
- ``pyarrow.csv.open_csv`` guesses no separator, keeps a thread in the stream, so that Ctrl-C does
  not end a command that reads a pipe, and fails at a record that is longer than its block.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

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


def ignored(sentence: str) -> None:
    """Ignore a note."""


# -- encodings ------------------------------------------------------------------------------------


# Five bytes mean nothing in Windows-1252; in Latin-1 each byte is a character.
def _as_latin1(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("covey_latin1", _as_latin1)


def utf8_blocks(
    source: Any, name: str, note: Note = ignored, longest: float = math.inf
) -> Iterator[bytes]:
    """Yield a text as blocks of whole lines in UTF-8.

    Bytes that are not UTF-8 are read as Windows-1252 (Latin-1), from there on. No line may have
    more bytes than the ``longest``.
    """
    western = beyond_ascii = False
    for block in _lines(source, name, note, longest):
        if not block.isascii() and not western:
            try:
                block.decode()
                beyond_ascii = True
            except UnicodeDecodeError as error:
                read = block.decode(errors="replace")
                wrong = read.count("\ufffd")
                right = sum(not one.isascii() for one in read) - wrong
                if beyond_ascii or right > wrong:
                    before = block[max(0, error.start - 20) : error.start].decode(errors="replace")
                    line = (before.strip().splitlines() or [""])[-1]
                    raise CommandError(
                        f"{name} is UTF-8 text that is damaged after {line!r}; save it again."
                    ) from None
                western = True
                note(
                    f"{name} is not UTF-8, so it is read as Windows-1252 (Latin-1); if letters "
                    "come out wrong, save it as UTF-8."
                )
        yield block.decode("cp1252", "covey_latin1").encode() if western else block


def _lines(source: Any, name: str, note: Note, longest: float) -> Iterator[bytes]:
    """Yield whole lines of a text; UTF-16 is recoded, and line ends of old Macs are replaced."""
    pieces: Iterator[bytes] = iter(lambda: source.read(_BLOCK_BYTES), b"")
    first = next(pieces, b"")
    pieces, look = chain([first], pieces), first[:_LONGEST_LOOK]
    encoding = _utf16(look[:400])
    if encoding:
        note(f"{name} is read as UTF-16.")
        pieces = (text.encode() for text in codecs.iterdecode(pieces, encoding))
    elif b"\0" in look:
        raise CommandError(f"{name} is not text; save the table as CSV in UTF-8.")
    elif b"\r" in look and b"\n" not in look:
        pieces = (piece.replace(b"\r", b"\n") for piece in pieces)
    begun: list[bytes] = []
    try:
        for piece in pieces:
            cut = piece.rfind(b"\n") + 1
            if cut:
                yield b"".join((*begun, piece[:cut]))
                begun = []
            begun.append(piece[cut:])
            if sum(map(len, begun)) > longest:
                raise CommandError(_too_long())
    except UnicodeError:
        raise CommandError(f"{name} is UTF-16 text that is damaged; save it as UTF-8.") from None
    yield b"".join(begun)


def _utf16(head: bytes) -> str | None:
    """Return the kind of UTF-16 in which a text begins, if it is any."""
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    # Without its mark, half of the bytes of Western text are zero.
    for start, guess in ((0, "utf-16-be"), (1, "utf-16-le")):
        zeros, others = head[start::2].count(0), head[1 - start :: 2].count(0)
        if len(head) >= 4 and zeros > 0.3 * len(head) and not others:
            return guess
    return None


# -- records --------------------------------------------------------------------------------------


def csv_batches(
    source: Any,
    name: str,
    separator: str | None = None,
    note: Note = ignored,
    names: list[str] | None = None,
) -> Iterator[tuple[pa.RecordBatch, str]]:
    """Yield record batches of text with their separator, a block of whole records at a time.

    The first line has the names of the columns, unless ``names`` are given.
    """
    from pyarrow import ArrowInvalid, BufferReader, string
    from pyarrow import csv as arrow_csv

    blocks = utf8_blocks(source, name, note, _LONGEST_RECORD)
    if names is None or separator is None:
        names, separator, begun = _header(blocks, name, separator)
        blocks = chain([begun], blocks)
    parse = arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, string()),
        strings_can_be_null=True,
        null_values=[""],
    )
    n_rows = 0
    for block in _records(blocks, separator):
        read = arrow_csv.ReadOptions(
            use_threads=False, block_size=len(block) + 1, column_names=names
        )
        try:
            table = arrow_csv.read_csv(BufferReader(block), read, parse, convert)
        except ArrowInvalid as error:
            raise CommandError(_sentence(name, str(error), n_rows + 1)) from None
        n_rows += len(table)
        for batch in table.to_batches():
            yield batch, separator


def _records(blocks: Iterable[bytes], separator: str) -> Iterator[bytes]:
    """Cut blocks of lines where records end: a line may end within quotes."""
    left = b""
    for block in blocks:
        left += block
        cut = _without_quotes(left, separator).rfind(b"\n") + 1
        if left[:cut].strip():
            yield left[:cut]
        left = left[cut:]
        if len(left) > _LONGEST_RECORD:
            raise CommandError(_too_long())
    if left.strip():
        yield left


def _too_long() -> str:
    return f"a record is longer than {_LONGEST_RECORD:,} bytes; is a quote left open?"


def _without_quotes(block: bytes, separators: str) -> bytes:
    """Blank out text within quotes.

    Quotes count if a field begins with one; others are inches.
    """
    if b'"' not in block:
        return block
    marks = re.escape(separators.encode())
    quoted = rb"(?:\A|(?<=[\r\n" + marks + rb']))"[^"]*(?:""[^"]*)*(?:"|\Z)'
    return re.sub(quoted, lambda found: b" " * len(found[0]), block)


def read_header(
    source: Any, name: str, separator: str | None = None, note: Note = ignored
) -> tuple[list[str], str]:
    """Return the names of the columns of a text, and their separator."""
    return _header(utf8_blocks(source, name, note), name, separator)[:2]


def _header(
    blocks: Iterator[bytes], name: str, separator: str | None
) -> tuple[list[str], str, bytes]:
    """Return the names in the first record, the separator, and the lines after it.

    A name in quotes may span lines.
    """
    begun = header = b""
    for block in blocks:
        begun = (begun + block).removeprefix(codecs.BOM_UTF8)
        outside = _without_quotes(begun, SEPARATORS)
        end = outside.find(b"\n") + 1
        header = begun[: end or None]
        if end or len(begun) >= _LONGEST_HEADER:
            break
    text = header.decode()
    if not text.strip():
        raise CommandError(f"{name} is empty; a table has a header line and rows.")
    if separator is None:
        line = outside[: len(header)].decode(errors="replace")
        separator = max(SEPARATORS, key=lambda mark: (line.count(mark), mark == ","))
    fields = next(csv.reader(io.StringIO(text), delimiter=separator))
    return column_names(fields, name), separator, begun[len(header) :]


def column_names(fields: list[str], name: str) -> list[str]:
    """Return names of columns without blanks around them; refuse two equal names."""
    names = [field.strip() or f"unnamed {number}" for number, field in enumerate(fields, start=1)]
    field, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise CommandError(f"{name} has two columns named {field!r}; rename one of them.")
    return names


def _sentence(name: str, message: str, rows_before: int) -> str:
    """Return a sentence about a record that Arrow cannot read."""
    ragged = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", message)
    if not ragged:
        return f"{name} cannot be read: {message.splitlines()[0]}"
    row, wanted, found = map(int, ragged.groups())
    return (
        f"{name}: record {row + rows_before} has {found} fields, but the header has {wanted}; "
        "quote fields that hold the separator, or mend the record."
    )
