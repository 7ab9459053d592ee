"""Archives of one JSON document and plain arrays, which are read within limits.

A model file is a zip archive. Its entry ``model.json`` is a JSON document; ``0.npy``, ``1.npy``,
... are arrays of numbers as NumPy writes them, which the document refers to by their number. There
is nothing else in it. The size of the archive, the length and depth of the document and the size
of each array are checked before any of it is unpacked, and again while it is.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np

from covey.persistence._refusals import ModelFileError, damaged, out_of_range

DOCUMENT = "model.json"

# The most that a file may unpack to: a bomb shrinks a thousandfold. So does a mask of a million
# features, but no large model does as a whole.
_LARGEST_SIZE = 4 << 30
_LARGE = 256 << 20
_LARGEST_RATIO = 200
_MOST_ENTRIES = 20_000
# The limits of the document; its objects take far more memory than its text.
_LARGEST_DOCUMENT = 32 << 20
_MOST_PARTS = 1 << 20
_MOST_ESCAPES = 4 << 20
_DEEPEST = 64

# Entries of more bytes than this are packed if pieces of them shrink to this share.
_SMALL = 500
_PIECE = 512
_PIECES = 8
_WORTH_PACKING = 0.9

_KINDS = {
    "float": "<f8",
    "single": "<f4",
    "whole": "<i8",
    "unsigned": "<u8",
    "flag": "|b1",
    "byte": "|u1",
}
# The header of an array just as NumPy writes it. NumPy would evaluate any expression of literals.
_HEADER = re.compile(
    rb"\{'descr': '([<|][a-z]\d)', 'fortran_order': False, "
    rb"'shape': \((|\d{1,15},|\d{1,15}(?:, \d{1,15}){1,4})\), \} *\n"
)
_MAGIC = b"\x93NUMPY\x01\x00"
_LONGEST_HEADER = 512
# How much of an array is unpacked before its type and shape are seen.
_AT_ONCE = 1 << 16
# The last record of an archive, without a comment, and the mark of one that is larger than 4 GiB.
_END = struct.Struct("<4s4H2LH")
_LARGE_ARCHIVE = b"PK\x06\x07"
_LARGE_ARCHIVE_SIZE = 20
# An unterminated string reaches to the end, so that each character is read once.
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)


# -- write --------------------------------------------------------------------------------------


def write_archive(document: Any, arrays: Sequence[np.ndarray]) -> memoryview:
    """Return the bytes of an archive."""
    try:
        # Escaped, so that text without a valid encoding is kept, too.
        text = json.dumps(document, allow_nan=False).encode()
    except ValueError:
        out_of_range("one of its numbers", "is NaN or infinite.")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        _add(archive, DOCUMENT, text)
        for number, values in enumerate(arrays):
            _add(archive, f"{number}.npy", _array_bytes(np.ascontiguousarray(values)))
    return buffer.getbuffer()


def _array_bytes(values: np.ndarray) -> bytes:
    """Return an array as NumPy writes it, in a quarter of the time."""
    header = (
        f"{{'descr': {values.dtype.str!r}, 'fortran_order': False, 'shape': {values.shape}, }}"
    )
    begin = len(_MAGIC) + 2
    # Spaces and a line's end, so that the numbers start at a multiple of 64.
    header += " " * (-(begin + len(header) + 1) % 64) + "\n"
    length = len(header).to_bytes(2, "little")
    return b"".join((_MAGIC, length, header.encode(), values.tobytes()))


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    # Without the time of writing, the same model makes the same file.
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED if _shrinks(data) else zipfile.ZIP_STORED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, data, compresslevel=1)


def _shrinks(data: bytes) -> bool:
    """Return whether packing is worthwhile, judged by pieces: most numbers hardly shrink."""
    if len(data) < _SMALL:
        return False
    step = max(_PIECE, len(data) // _PIECES)
    sample = b"".join(data[start : start + _PIECE] for start in range(0, len(data), step))
    return len(zlib.compress(sample, 1)) < _WORTH_PACKING * len(sample)


def stored_as(kind: str) -> np.dtype:
    """Return the type that arrays of a kind have in a file."""
    return np.dtype(_KINDS[kind])


# -- read ---------------------------------------------------------------------------------------


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open an ordinary file for reading; a pipe would make the reader wait forever."""
    if path.is_dir():
        raise ModelFileError("it is a folder; name a file.")
    # A pipe is opened without waiting, to see what it is.
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(file, "rb") as opened_file:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise ModelFileError("it is a pipe or a device; name an ordinary file.")
        yield opened_file


@contextmanager
def archive_of(file: BinaryIO, size: int, max_size: int | None) -> Iterator[zipfile.ZipFile]:
    """Yield the archive in a file of some size, after checks of its entries and their sizes."""
    _check_size(size, None, max_size)
    _check_end(file, size)
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error):
        _no_model_file()
    with archive:
        entries = archive.infolist()
        _check_size(sum(entry.file_size for entry in entries), size, max_size)
        for entry in entries:
            packed = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            if entry.flag_bits & 0x1 or not packed:
                damaged(f"its entry {entry.filename[:40]!r}", "is encrypted or packed otherwise.")
        if len({entry.filename for entry in entries}) < len(entries):
            damaged("it", "has two entries of one name.")
        yield archive


def _no_model_file() -> NoReturn:
    raise ModelFileError(
        "it is not a model file, or only a part of one; covey.load takes what covey.save writes, "
        "and no pickles."
    )


def _check_size(total: int, packed: int | None, max_size: int | None) -> None:
    largest = _LARGEST_SIZE if max_size is None else max_size
    if total > largest:
        raise ModelFileError(
            f"it unpacks to {total:,} bytes, more than max_size={largest:,}; if you trust whoever "
            "made it, pass a larger max_size."
        )
    if max_size is None and packed and total > max(_LARGE, _LARGEST_RATIO * packed):
        raise ModelFileError(
            f"it unpacks to {total:,} bytes from {packed:,}, as no model does; if you trust "
            "whoever made it, pass max_size."
        )


def _check_end(file: BinaryIO, size: int) -> None:
    """Refuse an archive that declares more entries than a model file, before they are listed."""
    if size < _END.size:
        _no_model_file()
    behind = min(size, _END.size + _LARGE_ARCHIVE_SIZE)
    file.seek(size - behind)
    tail = file.read(behind)
    mark, *_, n_entries, listed, start, comment = _END.unpack(tail[-_END.size :])
    if mark != b"PK\x05\x06" or comment or start + listed + _END.size != size:
        _no_model_file()
    if n_entries > _MOST_ENTRIES or listed > 100 * n_entries or tail.startswith(_LARGE_ARCHIVE):
        raise ModelFileError("it has more entries than any model file.")


class Contents:
    """The document and the arrays of an archive, each of which is read once."""

    def __init__(self, archive: zipfile.ZipFile, max_size: int | None) -> None:
        self._archive = archive
        self._entries = {entry.filename: entry for entry in archive.infolist()}
        # Headers may lie about sizes, so unpacked bytes are counted, too.
        self._left = _LARGEST_SIZE if max_size is None else max_size

    def document(self) -> Any:
        """Return the JSON document, within its limits; no name occurs twice in an object."""
        entry = self._take(DOCUMENT)
        if entry.file_size > _LARGEST_DOCUMENT:
            damaged(DOCUMENT, "is longer than that of any model.")
        with self._reading(entry) as stream:
            text = self._read(stream, entry.file_size)
        # A parser makes a piece of every backslash in a string. Each part has two strings at most.
        if text.count(b"\\") > _MOST_ESCAPES or text.count(b'"') > 4 * _MOST_PARTS + _MOST_ESCAPES:
            damaged(DOCUMENT, "has more parts than that of any model.")
        outside = _STRING.sub(b"", text)
        marks = np.frombuffer(outside, dtype=np.uint8)
        opens = (marks == ord("[")) | (marks == ord("{"))
        closes = (marks == ord("]")) | (marks == ord("}"))
        if opens.sum() + outside.count(b",") > _MOST_PARTS:
            damaged(DOCUMENT, "has more parts than that of any model.")
        if np.cumsum(opens.astype(np.int8) - closes, dtype=np.int64).max(initial=0) > _DEEPEST:
            damaged(DOCUMENT, "is nested deeper than that of any model.")
        try:
            return json.loads(text.decode(), object_pairs_hook=_once, parse_constant=_no_number)
        except (ValueError, RecursionError):
            damaged(DOCUMENT, "is not a JSON document.")

    def array(self, number: int, kind: str, shape: Sequence[int | None], where: str) -> np.ndarray:
        """Return an array of a kind and shape, in which None is any length."""
        entry = self._take(f"{number}.npy")
        with self._reading(entry) as stream:
            begun = self._read(stream, min(entry.file_size, _AT_ONCE))
            dtype, found, length = _header(begun, where)
            if dtype != stored_as(kind):
                damaged(where, f"is not an array of the kind {kind!r}.")
            fits = len(found) == len(shape) and all(
                wanted in (None, given) for wanted, given in zip(shape, found, strict=True)
            )
            if not fits:
                wanted = ", ".join("any" if size is None else str(size) for size in shape)
                damaged(where, f"has the shape {found} instead of ({wanted}).")
            size = math.prod(found) * dtype.itemsize
            if entry.file_size != length + size:
                damaged(where, "has another size than it says.")
            rest = entry.file_size - len(begun)
            data = self._read(stream, rest, begun) if rest else begun
        values = np.frombuffer(data, dtype=dtype, offset=length).reshape(found)
        if kind == "flag" and values.size and values.view(np.uint8).max() > 1:
            damaged(where, "holds a flag that is neither true nor false.")
        return values

    def close(self) -> None:
        """Refuse parts that nobody has read."""
        if self._entries:
            name = next(iter(self._entries))
            damaged(f"its entry {name[:40]!r}", "belongs to nothing.")

    def _take(self, name: str) -> zipfile.ZipInfo:
        if name not in self._entries:
            damaged(f"its entry {name!r}", "is missing, or is read twice.")
        return self._entries.pop(name)

    @contextmanager
    def _reading(self, entry: zipfile.ZipInfo) -> Iterator[Any]:
        try:
            with self._archive.open(entry) as stream:
                yield stream
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            OSError,
            NotImplementedError,
            struct.error,
            UnicodeError,
            RuntimeError,
        ):
            damaged(f"its entry {entry.filename!r}", "cannot be unpacked.")

    def _read(self, stream: Any, size: int, begun: bytes | bytearray = b"") -> bytearray:
        """Return ``size`` bytes with those begun; writable, since some are changed in place."""
        if size > self._left:
            damaged("it", "unpacks to more bytes than it says.")
        self._left -= size
        data = bytearray(len(begun) + size)
        data[: len(begun)] = begun
        view, filled = memoryview(data), len(begun)
        while filled < len(data):
            count = stream.readinto(view[filled:])
            if not count:
                raise EOFError
            filled += count
        return data


def _header(begun: bytearray, where: str) -> tuple[np.dtype, tuple[int, ...], int]:
    """Return the type and shape of an array, and where its numbers start, from its first bytes."""
    begin = len(_MAGIC) + 2
    if len(begun) < begin:
        damaged(where, "is not an array.")
    end = begin + int.from_bytes(begun[begin - 2 : begin], "little")
    # Numbers are in place for compiled code if they start at a multiple of 64.
    if not begun.startswith(_MAGIC) or end > min(begin + _LONGEST_HEADER, len(begun)) or end % 64:
        damaged(where, "is not an array as covey.save writes them.")
    found = _type_and_shape(bytes(begun[begin:end]))
    if found is None:
        damaged(where, "is not an array of plain numbers.")
    return *found, end


@lru_cache(maxsize=256)
def _type_and_shape(header: bytes) -> tuple[np.dtype, tuple[int, ...]] | None:
    """Return what a header says, or None; most arrays of a model have one of a few."""
    found = _HEADER.fullmatch(header)
    if found is None or found[1].decode() not in _KINDS.values():
        return None
    shape = tuple(int(size) for size in found[2].split(b",") if size.strip())
    return np.dtype(found[1].decode()), shape


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice.")
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON.")
