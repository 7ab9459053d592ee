"""What is wrong with a model file."""

from __future__ import annotations

from typing import NoReturn


class ModelFileError(ValueError):
    """A model file that cannot, or must not, be loaded; or a model that cannot be saved."""


class NotCoveredError(TypeError):
    """An object that covey's own format does not hold."""


def damaged(where: str, what: str) -> NoReturn:
    """Refuse a file for one of its parts."""
    raise ModelFileError(f"it is damaged: {where} {what}")
