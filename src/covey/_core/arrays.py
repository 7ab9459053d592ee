"""Functions for arrays of any library, which every module of ``_core`` needs.

The mathematics is written once against the functions that NumPy, CuPy and PyTorch share.
Shapes are *classes first*: a stack of ``R`` runs over ``n`` rows and ``C`` classes is
``(C, R, n)``, so that reductions over the few classes run along whole contiguous rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
from array_api_compat import array_namespace, device, is_numpy_array, to_device

Array = Any
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Namespace = Any

# Positions that are kept on a device; a matter of speed only.
_MOST_SENT = 256


def _numpy() -> Namespace:
    """Return NumPy's namespace with direct functions for the most frequent calls.

    A fit of a small table is many thousand calls of a microsecond; NumPy spends half of each on
    finding out the types of its arguments.
    """
    found = SimpleNamespace(**vars(array_namespace(np.zeros(0))))
    found.sum = partial(np.add.reduce, axis=None)
    found.max = partial(np.maximum.reduce, axis=None)
    found.reshape, found.permute_dims = np.ndarray.reshape, np.ndarray.transpose
    found.matmul, found.zeros_like = np.matmul, np.zeros_like
    found.empty = lambda shape, *, dtype=None, device=None: np.empty(shape, dtype)
    return found


# Finding the namespace takes longer than many a product of a small table.
_NUMPY = _numpy()


def namespace_of(array: Array) -> Namespace:
    """Return the array-API namespace that ``array`` belongs to."""
    return _NUMPY if type(array) is np.ndarray else array_namespace(array)


def to_host(array: Array) -> Any:
    """Return the array as NumPy's, on whichever device it lives."""
    if type(array) is np.ndarray:
        return array
    return np.asarray(array if is_numpy_array(array) else to_device(array, "cpu"))


def is_on_host(array: Array) -> bool:
    """Return whether the array is NumPy's, so that reading a number of it costs nothing."""
    return type(array) is np.ndarray or bool(is_numpy_array(array))


def in_parts(count: int, at_once: int) -> Iterator[slice]:
    """Yield slices, one after another, that cover ``count`` numbers, ``at_once`` in each."""
    at_once = max(1, at_once)
    for start in range(0, count, at_once):
        yield slice(start, min(start + at_once, count))


def evenly(values: Any, most: int) -> Any:
    """Return at most this many of the values of an array, evenly spaced from first to last."""
    if len(values) <= most:
        return values
    return values[np.linspace(0, len(values) - 1, most).astype(np.intp)]


def as_slice(positions: Any) -> slice | None:
    """Return positions at equal distances as a slice, which need not be sent to a device."""
    if len(positions) < 2:
        return None
    first, step = int(positions[0]), int(positions[1] - positions[0])
    if step < 1 or (np.diff(positions) != step).any():
        return None
    return slice(first, int(positions[-1]) + 1, step)


class Positions:
    """Positions on the host in the form that indexes arrays beside another one.

    On a device they are sent once, since most are used again and again. Those at equal distances
    are a slice, which need not be sent at all.
    """

    def __init__(self, beside: Array) -> None:
        self._beside = beside
        self._on_host = is_on_host(beside)
        self._sent: dict[int, tuple[Any, Array]] = {}

    def __call__(self, positions: Any) -> Any:
        """Return the index for these positions, an array that its owner does not change."""
        if self._on_host:
            return positions
        stepped = as_slice(positions)
        if stepped is not None:
            return stepped
        known = self._sent.get(id(positions))
        if known is None:
            if len(self._sent) > _MOST_SENT:
                self._sent.clear()
            # The host's array is kept too: another one must not get its identity.
            known = positions, like(self._beside, positions, namespace_of(self._beside).int64)
            self._sent[id(positions)] = known
        return known[1]


def like(array: Array, host: Any, dtype: Any = None) -> Array:
    """Return NumPy's ``host`` on the device of ``array``, of its dtype or the one given."""
    xp = namespace_of(array)
    return xp.asarray(host, dtype=array.dtype if dtype is None else dtype, device=device(array))


class Workspace:
    """Named buffers that outlive a step, of the namespace, dtype and device of an array.

    A step's arrays are as large as ``C * R * n``; allocating them anew each time costs more in
    page faults than the arithmetic done on them.
    """

    def __init__(self, like: Array) -> None:
        self._xp = namespace_of(like)
        self._dtype = like.dtype
        self._device = device(like)
        self._buffers: dict[str, Array] = {}

    def take(self, name: str, *shape: int) -> Array:
        """Return a contiguous, uninitialised array: the same memory for the same ``name``."""
        size = prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.shape[0] < size:
            buffer = self._xp.empty(size, dtype=self._dtype, device=self._device)
            self._buffers[name] = buffer
        return self._xp.reshape(buffer[:size], shape)
