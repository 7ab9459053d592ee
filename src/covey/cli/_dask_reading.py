"""Tables for Dask: a file, a folder, a pattern or an address, as a frame that is read later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from covey.cli._console import CommandError
from covey.cli._sources import PARQUET, separator_of
from covey.cli._text_tables import read_header

# Of text, about so much is one block.
_BLOCK_SIZE = "64MiB"


def read_frame(path: str) -> tuple[Any, bool]:
    """A table as a Dask frame, and whether its cells are text as in a CSV file.

    ``path`` is a file, a folder of files, a pattern such as "rows/*.parquet", or an address of
    those such as "s3://bucket/rows/*.parquet".
    """
    import dask.dataframe as dd

    files = _files(path)
    separators = [separator_of(file) for file in files]
    parquet = [file.lower().endswith(PARQUET) for file in files]
    if len(set(parquet)) > 1:
        raise CommandError(
            f"{path} holds Parquet files and text files; give a pattern for one kind, such as "
            "'rows/*.parquet'."
        )
    if not parquet[0]:
        return _text_frame(files, separators[0]), True
    # A column that pandas has stored as the index is a column like others.
    frame = dd.read_parquet(files, index=False)
    _check_columns(files, list(frame.columns), _parquet_columns)
    return frame.rename(columns={name: str(name) for name in frame.columns}), False


def _files(path: str) -> list[str]:
    """The files of a path, in order."""
    import fsspec

    if path == "-":
        raise CommandError(
            "--engine dask reads its table more than once, and standard input is gone after the "
            "first time; give a file."
        )
    _check_protocol(path)
    try:
        system, location = fsspec.url_to_fs(path)
        if system.isdir(location):
            found = [file for file in system.find(location) if _is_table(file)]
            if not found:
                raise CommandError(f"the folder {path} holds no Parquet or CSV file.")
        elif system.isfile(location):
            found = [location]  # even if its name looks like a pattern
        else:
            found = system.glob(location)
    except PermissionError:
        raise CommandError(f"{path} may not be read; ask for the right to.") from None
    if not found:
        raise CommandError(f"there is no file {path}.")
    return [system.unstrip_protocol(file) if "://" in path else file for file in sorted(found)]


def _check_protocol(path: str) -> None:
    """Name what has to be installed to read from such an address."""
    from fsspec import get_filesystem_class
    from fsspec.registry import known_implementations

    protocol, mark, _ = path.partition("://")
    if not mark:
        return
    if protocol not in known_implementations:
        raise CommandError(
            f"{path} begins with {protocol}://, which is no kind of address that fsspec knows; "
            "s3://, gs:// and https:// are some."
        )
    try:
        get_filesystem_class(protocol)
    except ImportError:
        package = known_implementations[protocol]["class"].partition(".")[0]
        raise CommandError(
            f"reading from {protocol}:// needs {package}; install it with: pip install {package}.",
            1,
        ) from None


def _is_table(file: str) -> bool:
    name = file.rpartition("/")[2]
    if name.startswith(("_", ".")):
        return False  # other programs keep such files beside their tables
    try:
        separator_of(file)
    except CommandError:
        return False
    return True


def _parquet_columns(file: str) -> list[str]:
    import fsspec
    import pyarrow.parquet as pq

    with fsspec.open(file, "rb") as source:
        return pq.read_schema(source).names


def _check_columns(
    files: Sequence[str], names: Sequence[str], names_of: Callable[[str], Sequence[str]]
) -> None:
    """Refuse files that lack a column of the first one."""
    for file in files[1:]:
        try:
            lacking = [name for name in names if name not in names_of(file)]
        except CommandError:
            continue  # an empty file has no rows either
        if lacking:
            raise CommandError(
                f"{file} has no column {lacking[0]!r}, but {files[0]} has; give files of the same "
                "columns."
            )


def _text_frame(files: Sequence[str], separator: str | None) -> Any:
    import dask.dataframe as dd
    import fsspec

    def header(file: str) -> tuple[list[str], str]:
        with fsspec.open(file, "rb", compression="infer") as source:
            return read_header(source, file, separator)

    try:
        names, separator = header(files[0])
    except FileNotFoundError:
        raise CommandError(f"there is no file {files[0]}.") from None
    _check_columns(files, names, lambda file: header(file)[0])
    packed = any(file.lower().endswith(".gz") for file in files)
    frame = dd.read_csv(
        files,
        sep=separator,
        index_col=False,
        # Kinds inferred from the first rows are wrong for some later ones.
        dtype=str,
        keep_default_na=False,
        blocksize=None if packed else _BLOCK_SIZE,
    )
    return frame.rename(columns=dict(zip(frame.columns, names, strict=True)))
