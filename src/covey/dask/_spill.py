"""A store for blocks of rows between two reductions, in memory or on disk beyond a limit."""

from __future__ import annotations

import os
import pickle
import tempfile
import threading
from collections.abc import Hashable
from functools import partial
from typing import Any

import cloudpickle
import numpy as np
import zict

from covey._core.arrays import Workspace


class SpillBuffer:
    """Blocks by key, the first ``limit`` bytes in memory, those beyond it in files.

    All blocks are used in turn, again and again, so the block that was used least recently is the
    one that is needed next: `zict.Buffer`, which moves that one to disk, would read and write
    every block for every reduction. Here a block that does not fit into the rest of the memory
    goes to disk, and the others stay where they are.
    """

    def __init__(self, limit: float, folder: str | os.PathLike[str] | None = None) -> None:
        self._limit = limit
        self._folder = folder
        self._kept: dict[Hashable, Any] = {}
        self._sizes: dict[Hashable, int] = {}
        self._files: zict.Func[Any, Any, bytes] | None = None
        self._lock = threading.Lock()

    def put(self, key: Hashable, block: Any, changed: bool = True) -> None:
        """Keep a block; unless it has ``changed``, an earlier file of it is still valid."""
        size = int(block.n_bytes)
        with self._lock:
            left = self._limit - sum(self._sizes.values()) + self._sizes.get(key, 0)
            fits = size <= left
            if fits:
                self._kept[key], self._sizes[key] = block, size
            else:
                self._kept.pop(key, None)
                self._sizes.pop(key, None)
        if fits:
            self._drop_file(key)
        elif changed or not self._has_file(key):
            self._write(key, block)

    def get(self, key: Hashable) -> Any:
        """Return a block that was kept."""
        if key in self._kept:
            return self._kept[key]
        assert self._files is not None
        return self._files[str(key)]

    def drop(self, key: Hashable) -> None:
        """Forget a block, if there is one."""
        with self._lock:
            self._kept.pop(key, None)
            self._sizes.pop(key, None)
        self._drop_file(key)

    def _has_file(self, key: Hashable) -> bool:
        return self._files is not None and str(key) in self._files

    def _drop_file(self, key: Hashable) -> None:
        if self._has_file(key):
            assert self._files is not None
            del self._files[str(key)]

    def _write(self, key: Hashable, block: Any) -> None:
        try:
            with self._lock:
                if self._files is None:
                    # It is removed with all that is left in it when this buffer is.
                    self._own = tempfile.TemporaryDirectory(prefix="covey-", dir=self._folder)
                    # Dask's own serialization would give arrays that are not aligned, and other
                    # sums; a plain pickle cannot hold the module that arrays are of.
                    self._files = zict.Func(
                        partial(cloudpickle.dumps, protocol=5),
                        pickle.loads,
                        zict.File(self._own.name),
                    )
            self._files[str(key)] = block
        except OSError as error:
            raise OSError(
                error.errno,
                f"A block of rows does not fit into the folder {self._folder} "
                f"({os.strerror(error.errno or 0)}); make room, or set Dask's temporary-directory "
                "to another folder",
            ) from error

    def __len__(self) -> int:
        return len(self._kept) + self.n_files

    @property
    def n_files(self) -> int:
        """Return how many of the blocks are on disk."""
        return 0 if self._files is None else len(self._files)


def size_of(value: Any) -> int:
    """Return the bytes of an array, of a sparse matrix, or of those in a tuple or list."""
    if isinstance(value, tuple | list):
        return sum(size_of(part) for part in value)
    if hasattr(value, "indptr"):
        return int(value.data.nbytes + value.indices.nbytes + value.indptr.nbytes)
    return value.nbytes if isinstance(value, np.ndarray) else 0


class ThreadsScratch(Workspace):
    """A workspace for each thread: the blocks that it reduces share its buffers."""

    def __init__(self) -> None:
        self.clear()

    def take(self, name: str, *shape: int) -> np.ndarray:
        """Return a buffer of this thread's workspace."""
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
