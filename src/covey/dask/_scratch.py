"""Buffers for what is needed only while a question is answered."""

import threading

import numpy as np

from covey._core.arrays import Workspace


class ThreadsScratch(Workspace):
    """A workspace for each thread: blocks that one thread answers for share its buffers."""

    def __init__(self):
        self.clear()

    def take(self, name, *shape):
        """See `Workspace`."""
        if not hasattr(self._own, "workspace"):
            self._own.workspace = Workspace(np.empty(0))
        return self._own.workspace.take(name, *shape)

    def clear(self):
        """Drop all buffers."""
        self._own = threading.local()

    def __reduce__(self):
        # What goes to disk and comes back uses what is here.
        return _scratch, ()


SCRATCH = ThreadsScratch()


def _scratch():
    return SCRATCH
