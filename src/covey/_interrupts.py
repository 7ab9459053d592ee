"""Whether a search that is interrupted ends with the best that it has found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_KEEPS = ContextVar("covey_keeps_what_is_found", default=False)


@contextmanager
def keeping_what_is_found() -> Iterator[None]:
    """Let fits in this block end with what they have found, where Ctrl-C interrupts them."""
    token = _KEEPS.set(True)
    try:
        yield
    finally:
        _KEEPS.reset(token)


def keeps_what_is_found() -> bool:
    """Whether fits are to end in this way."""
    return _KEEPS.get()
