"""Weighted mean, standard deviation and extent of columns, as reductions over blocks of rows.

Three passes over the rows give the moments of a whole table: maxima (`extent`), then sums
(`scaled_means`), then sums again (`scaled_squares`), each of a block's own rows.
`moments_of_blocks` makes them, `moments` does so of columns in memory. Columns are dense, features
first ``(D, n)``, or a CSC matrix ``(n, D)`` without duplicate entries; rows of weight 0 do not
count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from covey._core.arrays import FloatArray, IntArray, in_parts
from covey._core.blocks import Blocks, MemoryBlocks

# Numbers, or columns of a block, that are reduced together: bounds the memory that this needs.
_NUMBERS_AT_ONCE = 1 << 17
_COLUMNS_AT_ONCE = 64
_ROWS_AT_ONCE = 1 << 13


def moments(columns: Any, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted mean and standard deviation of columns, (D,) each; the weights are not all zero.

    A column that is constant over the rows of positive weight has the deviation 0, exactly,
    and no other column has.
    """
    parts = [_Part(columns=columns, weight=weight)]
    if len(weight) > 2 * _ROWS_AT_ONCE and not hasattr(columns, "tocsc"):
        # The rows of a long table lie next to each other: some of them at a time.
        some = in_parts(len(weight), _ROWS_AT_ONCE)
        parts = [_Part(columns=columns[:, rows], weight=weight[rows]) for rows in some]
    rows = MemoryBlocks(parts, side_by_side=True)
    mean, deviation, _ = moments_of_blocks(rows, attrgetter("columns"))
    return mean, deviation


class _Part(SimpleNamespace):
    """A block of ``columns`` and of the ``weight`` of rows."""

    n_features, n_classes, like = 0, 0, None


def moments_of_blocks(
    rows: Blocks[Any], columns_of: Callable[..., Any], *args: Any
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, standard deviation and largest absolute value of columns of all blocks' rows.

    ``columns_of(block, *args)`` are the columns of a block, whose weights are ``block.weight``.
    """
    columns = columns_of, args
    (total,) = rows.sum(_total)
    largest, highest, lowest = rows.max(extent, columns)
    # Squares of very large or very small numbers leave the range of floats.
    size = np.where(largest > 0, largest, 1.0)
    (center,) = rows.sum(scaled_means, columns, size, total)
    # A constant column deviates by exactly 0, whatever rounding makes of it.
    constant = highest / size == -lowest / size
    (squares,) = rows.sum(scaled_squares, columns, size, center, total)
    deviation = np.where(constant, 0.0, np.sqrt(squares))
    return center * size, deviation * size, largest


# The columns of a block: a function, and what it takes beside the block.
_Columns = tuple[Callable[..., Any], tuple[Any, ...]]


def _total(block: Any) -> tuple[FloatArray]:
    return (np.array([block.weight.sum()]),)


def extent(block: Any, columns_of: _Columns) -> FloatArray:
    """The largest absolute value, value and negated value of each column, (3, D)."""
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
    """``sum_m w_m x_m / (size total)`` of each column, (D,)."""
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
    """``sum_m w_m (x_m / size - center)^2 / total`` of each column, (D,)."""
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
    """Some dense columns at a time, without the rows that have no weight."""
    every = bool(used.all())
    for which in in_parts(len(columns), _COLUMNS_AT_ONCE):
        yield which, columns[which] if every else columns[which][:, used]


def _stored(X: Any) -> Iterator[tuple[slice, IntArray, IntArray, FloatArray]]:
    """Some columns of a CSC matrix at a time: rows, columns and values of their entries."""
    start, n_features = 0, X.shape[1]
    while start < n_features:
        stop = int(np.searchsorted(X.indptr, X.indptr[start] + _NUMBERS_AT_ONCE, side="right"))
        stop = min(max(stop - 1, start + 1), n_features)
        entries = slice(X.indptr[start], X.indptr[stop])
        column = np.repeat(np.arange(stop - start), np.diff(X.indptr[start : stop + 1]))
        yield slice(start, stop), X.indices[entries], column, X.data[entries]
        start = stop
