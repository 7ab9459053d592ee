"""Maxima and sums of the columns of one block of rows, of which moments are made.

Columns are dense, features first ``(D, n)``, or a CSC matrix ``(n, D)`` without duplicate entries;
rows of weight 0 do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from covey._core.arrays import FloatArray, IntArray, in_parts

# How many numbers, or columns of a block, are reduced together: this bounds the memory.
_NUMBERS_AT_ONCE = 1 << 17
_COLUMNS_AT_ONCE = 64

# The columns of a block: a function, and its arguments beside the block.
_Columns = tuple[Callable[..., Any], tuple[Any, ...]]


def total_weight(block: Any) -> tuple[FloatArray]:
    """Return the sum of the weights."""
    return (np.array([block.weight.sum()]),)


def extent(block: Any, columns_of: _Columns) -> FloatArray:
    """Return the largest absolute value, value and negated value of each column, (3, D)."""
    columns, weight = columns_of[0](block, *columns_of[1]), block.weight
    used = weight > 0
    if hasattr(columns, "tocsc"):
        highest, lowest = (np.full(columns.shape[1], -np.inf) for _ in range(2))
        for which, row, column, data in _stored(columns):
            counts = used[row]
            # A column with fewer entries than rows holds zeros too.
            sparse = np.bincount(column[counts], minlength=which.stop - which.start) < used.sum()
            for end, values in ((highest, data), (lowest, -data)):
                end[which][sparse] = 0.0
                np.maximum.at(end[which], column[counts], values[counts])
    else:
        highest, lowest = np.empty(len(columns)), np.empty(len(columns))
        for which, part in _dense(columns, used):
            highest[which] = part.max(axis=1, initial=-np.inf)
            lowest[which] = -part.min(axis=1, initial=np.inf)
    return np.stack([np.maximum(np.maximum(highest, lowest), 0.0), highest, lowest])


def scaled_means(
    block: Any, columns_of: _Columns, size: FloatArray, total: FloatArray
) -> tuple[FloatArray]:
    """Return ``sum_m w_m x_m / (size total)`` of each column, (D,)."""
    columns, weight = columns_of[0](block, *columns_of[1]), block.weight
    means = np.empty(len(size))
    if hasattr(columns, "tocsc"):
        for which, row, column, data in _stored(columns):
            scaled = np.where(weight[row] > 0, data / size[which][column], 0.0)
            share = weight[row] / total
            means[which] = np.bincount(column, share * scaled, minlength=len(means[which]))
        return (means,)
    used = weight > 0
    share = weight[used] / total
    for which, part in _dense(columns, used):
        means[which] = (part / size[which, None]) @ share
    return (means,)


def scaled_squares(
    block: Any, columns_of: _Columns, size: FloatArray, center: FloatArray, total: FloatArray
) -> tuple[FloatArray]:
    """Return ``sum_m w_m (x_m / size - center)^2 / total`` of each column, (D,)."""
    columns, weight = columns_of[0](block, *columns_of[1]), block.weight
    squares = np.empty(len(size))
    used = weight > 0
    if hasattr(columns, "tocsc"):
        for which, row, column, data in _stored(columns):
            counts, share = used[row], weight[row] / total
            apart = np.where(counts, data / size[which][column], 0.0) - center[which][column]
            n_columns = which.stop - which.start
            stored = np.bincount(column, share, minlength=n_columns)
            zeros = np.bincount(column[counts], minlength=n_columns) < used.sum()
            implicit = np.where(zeros, np.maximum(weight.sum() / total - stored, 0.0), 0.0)
            squares[which] = np.bincount(column, share * apart**2, minlength=n_columns)
            squares[which] += implicit * center[which] ** 2
        return (squares,)
    share = weight[used] / total
    for which, part in _dense(columns, used):
        squares[which] = np.square(part / size[which, None] - center[which, None]) @ share
    return (squares,)


def _dense(columns: FloatArray, used: npt.NDArray[np.bool_]) -> Iterator[tuple[slice, FloatArray]]:
    """Yield some dense columns at a time, without the rows that have no weight."""
    every = bool(used.all())
    for which in in_parts(len(columns), _COLUMNS_AT_ONCE):
        yield which, columns[which] if every else columns[which][:, used]


def _stored(X: Any) -> Iterator[tuple[slice, IntArray, IntArray, FloatArray]]:
    """Yield some columns of a CSC matrix at a time: rows, columns and values of their entries."""
    start, n_features = 0, X.shape[1]
    while start < n_features:
        stop = int(np.searchsorted(X.indptr, X.indptr[start] + _NUMBERS_AT_ONCE, side="right"))
        stop = min(max(stop - 1, start + 1), n_features)
        entries = slice(X.indptr[start], X.indptr[stop])
        column = np.repeat(np.arange(stop - start), np.diff(X.indptr[start : stop + 1]))
        yield slice(start, stop), X.indices[entries], column, X.data[entries]
        start = stop
