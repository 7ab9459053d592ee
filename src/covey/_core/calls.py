"""How blocks of rows are called: by a method of their class, which type checkers can follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def name_of(method: str | Callable[..., Any]) -> str:
    """The name by which a block finds its method, which a subclass may have replaced."""
    return method if isinstance(method, str) else method.__name__
