"""Files out: whole or not at all; tables as CSV, TSV or Parquet, piece by piece."""

import gzip
import os
import sys
import uuid
from contextlib import contextmanager
from pathlib import Path

from covey.cli._console import CommandError
from covey.cli._reading import PARQUET


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
        separator = "\t" if path.lower().endswith((".tsv", ".tsv.gz")) else ","
        if path.lower().endswith(PARQUET):
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
        # The types are those of the file, not of the library that wrote it.
        table = table.replace_schema_metadata(None)
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)

    def close(self):
        if self._writer is not None:
            self._writer.close()
