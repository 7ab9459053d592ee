"""scikit-learn's callbacks where the installed version has them, and interruptions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self

from covey._typing import Method

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn before 1.9

    class _NoCallbacks:
        def subcontext(self, *args: Any, **kwargs: Any) -> Self:
            return self

        def call_on_fit_task_begin(self, **kwargs: Any) -> Self:
            return self

        def call_on_fit_task_end(self, **kwargs: Any) -> bool:
            return False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """A replacement for scikit-learn's mixin; there are no callbacks to call."""

        def _init_callback_context(self, **kwargs: Any) -> _NoCallbacks:
            return _NoCallbacks()

    def _with_callbacks(fit: Method) -> Method:
        return fit


def with_callbacks(fit: Method) -> Method:
    """Tear down the callbacks of a fit when it ends, if there are some."""
    return _with_callbacks(fit)


# -- interruptions --------------------------------------------------------------------------------


_KEEPS = ContextVar("covey_keeps_what_is_found", default=False)


@contextmanager
def keeping_what_is_found() -> Iterator[None]:
    """Let fits in this block end with their best result so far if Ctrl-C interrupts them."""
    token = _KEEPS.set(True)
    try:
        yield
    finally:
        _KEEPS.reset(token)


def keeps_what_is_found() -> bool:
    """Return whether interrupted fits end in this way."""
    return _KEEPS.get()
