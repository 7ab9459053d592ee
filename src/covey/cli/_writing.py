"""Tables out: CSV, TSV or Parquet, piece by piece, completely or not at all."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from covey._files import replacing
from covey.cli._console import CommandError
from covey.cli._sources import PARQUET

if TYPE_CHECKING:
    import pandas as pd

TABLE_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".pq")


def check_writable(
    path: str | None, endings: Sequence[str] | None = None, inputs: Sequence[str] = ()
) -> None:
    """Refuse a file that cannot be written, or is an input, before anything slow happens."""
    if path is None:
        return
    if endings and not path.lower().endswith(tuple(endings)):
        raise CommandError(
            f"{path} has an ending that covey does not know; write to {', '.join(endings)}."
        )
    file = Path(path)
    for given in inputs:
        if file.exists() and Path(given).exists() and file.samefile(given):
            raise CommandError(f"{path} is what is read, and would be replaced; choose another.")
        if file.resolve() == Path(given).resolve():
            raise CommandError(f"{path} would be written twice; choose another.")
    folder = file.resolve().parent
    if file.is_dir():
        raise CommandError(f"{path} is a folder; name a file.")
    if not folder.is_dir():
        raise CommandError(f"there is no folder {folder} to write {file.name} in; make it first.")
    if not os.access(folder, os.W_OK) or (file.exists() and not os.access(file, os.W_OK)):
        raise CommandError(f"{path} may not be written; choose another place.")


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Errors of the system in this block become a sentence about the file."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror or error}.", 1) from None


@contextmanager
def table_writer(path: str | None, raw: bool = False) -> Iterator[Callable[[pd.DataFrame], None]]:
    """A function that writes data frames one after another; to stdout as CSV without a path.

    Text that a spreadsheet would run is quoted in CSV, unless it is to be ``raw``.
    """
    if path is None:
        yield _CsvPieces(sys.stdout, raw=raw).write
        sys.stdout.flush()
        return
    lower = path.lower()
    with writing(path), replacing(path) as draft:
        if lower.endswith(PARQUET):
            pieces = _ParquetPieces(draft)
            try:
                yield pieces.write
            finally:
                pieces.close()
            return
        separator = "\t" if lower.endswith((".tsv", ".tsv.gz")) else ","
        opened: Any = gzip.open if lower.endswith(".gz") else open
        with opened(draft, "wt", encoding="utf-8", newline="") as file:
            yield _CsvPieces(file, separator, raw).write


def _harmless(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with an apostrophe before text that spreadsheets take for a formula."""
    import pandas as pd

    frame = frame.rename(columns=lambda name: _quoted(str(name)))
    for name in frame.columns[[not pd.api.types.is_numeric_dtype(x) for x in frame.dtypes]]:
        values = frame[name]
        texts = values.map(lambda one: isinstance(one, str) and _quoted(one) != one)
        if texts.any():
            frame[name] = values.where(~texts, values[texts].map(_quoted))
    return frame


def _quoted(text: str) -> str:
    """Text as a spreadsheet may have it; a number, or a single sign, stays as it is."""
    if len(text) < 2 or text[0] not in "=+-@\t\r":
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


class _CsvPieces:
    def __init__(self, file: TextIO, separator: str = ",", raw: bool = False):
        self._file = file
        self._raw = raw
        self._separator = separator
        self._begun = False

    def write(self, frame: pd.DataFrame) -> None:
        if not self._raw:
            frame = _harmless(frame)
        frame.to_csv(
            self._file,
            sep=self._separator,
            index=False,
            header=not self._begun,
            lineterminator="\n",
        )
        self._begun = True


class _ParquetPieces:
    def __init__(self, path: Path):
        self._path = path
        self._writer: Any = None

    def write(self, frame: pd.DataFrame) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        schema = None if self._writer is None else self._writer.schema
        table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
        # The types are those of the file, not of the library that wrote it.
        table = table.replace_schema_metadata(None)
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
