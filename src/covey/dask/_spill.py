"""Where the rows of blocks lie between two questions: in memory, or on disk beyond a limit."""

import os
import pickle
import tempfile
import threading
from pathlib import Path

import cloudpickle
import numpy as np


class SpillBuffer:
    """Tuples of arrays by key; those beyond a limit go to files.

    Parameters
    ----------
    limit : float
        Bytes to keep in memory.
    folder : path or None
        Where files go; None: where the system keeps what is temporary.
    """

    def __init__(self, limit, folder=None):
        self._limit = limit
        self._folder = folder
        self._kept = {}
        self._sizes = {}
        self._files = {}
        self._lock = threading.Lock()

    def put(self, key, value, beside=0):
        """Keep a value.

        Parameters
        ----------
        key : object
        value : tuple of arrays
        beside : int
            Bytes that its owner needs in memory, even if the value goes to disk.

        Returns
        -------
        fits : bool
            Whether there is memory for what is beside.
        """
        self.drop(key)
        size = size_of(value)
        with self._lock:
            left = self._limit - sum(self._sizes.values())
            if beside + size <= left:
                self._kept[key], self._sizes[key] = value, beside + size
                return True
            fits = beside <= left
            self._sizes[key] = beside if fits else 0
        self.write(key, value)
        return fits

    def write(self, key, value):
        """Keep a value on disk."""
        handle, path = tempfile.mkstemp(prefix="covey-", dir=self._folder)
        try:
            with os.fdopen(handle, "wb") as file:
                # A plain pickle cannot hold the library that arrays are of.
                cloudpickle.dump(value, file, protocol=5)
        except OSError as error:
            Path(path).unlink(missing_ok=True)
            raise OSError(
                error.errno,
                f"A block of rows does not fit into the folder {self._folder} "
                f"({os.strerror(error.errno or 0)}); make room, or set Dask's temporary-directory "
                "to another folder",
            ) from error
        except BaseException:
            Path(path).unlink(missing_ok=True)
            raise
        old = self._files.get(key)
        self._files[key] = Path(path)
        if old is not None:
            old.unlink(missing_ok=True)

    def get(self, key):
        """A value that was kept."""
        if key in self._kept:
            return self._kept[key]
        with self._files[key].open("rb") as file:
            return pickle.load(file)

    def drop(self, key):
        """Forget a value, if there is one."""
        with self._lock:
            self._kept.pop(key, None)
            self._sizes.pop(key, None)
            path = self._files.pop(key, None)
        if path is not None:
            path.unlink(missing_ok=True)

    def __len__(self):
        return len(self._kept) + len(self._files)

    @property
    def n_files(self):
        """How many of the values lie on disk."""
        return len(self._files)


def size_of(value):
    """Bytes of the arrays in nested tuples."""
    if isinstance(value, tuple):
        return sum(size_of(part) for part in value)
    if hasattr(value, "indptr"):
        return value.data.nbytes + value.indices.nbytes + value.indptr.nbytes
    return value.nbytes if isinstance(value, np.ndarray) else 0
