"""Buffers for what is needed only while a block is reduced."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from covey._core.arrays import Workspace


class ThreadsScratch(Workspace):
    """A workspace for each thread: the blocks that it reduces share its buffers."""

    def __init__(self) -> None:
        self.clear()

    def take(self, name: str, *shape: int) -> np.ndarray:
        """See `Workspace`."""
        if not hasattr(self._own, "workspace"):
            self._own.workspace = Workspace(np.empty(0))
        return self._own.workspace.take(name, *shape)

    def clear(self) -> None:
        """Drop all buffers."""
        self._own = threading.local()

    def __reduce__(self) -> tuple[Any, ...]:
        # A block that comes back from disk uses the buffers of the process that read it.
        return _scratch, ()


SCRATCH = ThreadsScratch()


def _scratch() -> ThreadsScratch:
    return SCRATCH
