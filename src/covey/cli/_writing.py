"""Tables out: CSV, TSV or Parquet, piece by piece, completely or not at all."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from covey._files import replacing
from covey.cli._console import CommandError, printable
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
    """Turn errors of the system in this block into a sentence about the file."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror or error}.", 1) from None


@contextmanager
def table_writer(path: str | None, raw: bool = False) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Yield a function that writes data frames one after another; to stdout as CSV without a path.

    Text that a spreadsheet would run is quoted in CSV, unless it must be ``raw``; characters that
    a terminal would interpret are shown instead.
    """
    if path is None:
        yield _csv_writer(sys.stdout, ",", raw, shown=sys.stdout.isatty())
        sys.stdout.flush()
        return
    lower = path.lower()
    with writing(path), replacing(path) as draft, ExitStack() as stack:
        if lower.endswith(PARQUET):
            yield _parquet_writer(draft, stack)
        else:
            separator = "\t" if lower.endswith((".tsv", ".tsv.gz")) else ","
            opened: Any = gzip.open if lower.endswith(".gz") else open
            file = stack.enter_context(opened(draft, "wt", encoding="utf-8", newline=""))
            yield _csv_writer(file, separator, raw)


def _csv_writer(
    file: TextIO, separator: str, raw: bool, shown: bool = False
) -> Callable[[pd.DataFrame], None]:
    begun = False

    def write(frame: pd.DataFrame) -> None:
        nonlocal begun
        frame = frame if raw else _harmless(frame)
        if shown:
            frame = frame.rename(columns=lambda name: printable(str(name)))
            frame = frame.map(lambda one: printable(one) if isinstance(one, str) else one)
        frame.to_csv(file, sep=separator, index=False, header=not begun, lineterminator="\n")
        begun = True

    return write


def _parquet_writer(path: Path, stack: ExitStack) -> Callable[[pd.DataFrame], None]:
    import pyarrow as pa
    from pyarrow import parquet

    writer: Any = None

    def write(frame: pd.DataFrame) -> None:
        nonlocal writer
        table = pa.Table.from_pandas(frame, writer and writer.schema, preserve_index=False)
        # The types are those of the file, not of the library that wrote it.
        table = table.replace_schema_metadata(None)
        if writer is None:
            writer = stack.enter_context(parquet.ParquetWriter(path, table.schema))
        writer.write_table(table)

    return write


def _harmless(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with an apostrophe before text that spreadsheets treat as a formula."""
    import pandas as pd

    frame = frame.rename(columns=lambda name: _quoted(str(name)))
    for name in frame.columns[[not pd.api.types.is_numeric_dtype(x) for x in frame.dtypes]]:
        values = frame[name]
        texts = values.map(lambda one: isinstance(one, str) and _quoted(one) != one)
        if texts.any():
            frame[name] = values.where(~texts, values[texts].map(_quoted))
    return frame


def _quoted(text: str) -> str:
    """Return text in the form for a spreadsheet; a number, or a single sign, is unchanged."""
    if len(text) < 2 or text[0] not in "=+-@\t\r":
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
