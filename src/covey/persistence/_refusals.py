"""The errors of model files."""

from __future__ import annotations

from typing import NoReturn


class ModelFileError(ValueError):
    """A model file that cannot, or must not, be loaded; or a model that cannot be saved.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import covey
    >>> from covey.persistence import ModelFileError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "flock.covey"
    ...     length = path.write_bytes(b"no model")
    ...     try:
    ...         covey.load(path)
    ...     except ModelFileError:
    ...         print("refused")
    refused
    """


class DamagedError(ModelFileError):
    """A part of a file, by its name, with another content than it must have."""

    def __init__(self, part: str, what: str) -> None:
        super().__init__(f"it is damaged: {part} {what}")
        self.part, self.what = part, what


class OutOfRangeError(DamagedError):
    """A number that is too large or too small for the computations with it."""


class NotCoveredError(TypeError):
    """An object that covey's own format does not hold."""


def damaged(where: str, what: str) -> NoReturn:
    """Refuse a file for one of its parts."""
    raise DamagedError(where, what)


def out_of_range(where: str, what: str) -> NoReturn:
    """Refuse a file for one of its numbers."""
    raise OutOfRangeError(where, what)
