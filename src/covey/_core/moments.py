"""Weighted mean, standard deviation and extent of columns, as reductions over blocks of rows.

Three passes over the rows give the moments of a whole table: maxima (`extent`), then sums
(`scaled_means`), then sums again (`scaled_squares`), each of a block's own rows. `reduced_moments`
states how they follow from each other, `moments` is the case of a single block. Columns are dense,
features first ``(D, n)``, or a CSC matrix ``(n, D)`` without duplicate entries; rows of weight 0
do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from covey._core.arrays import FloatArray, IntArray
from covey._core.blocks import Blocks
from covey._core.threads import in_order

# Numbers, or columns of a block, that are reduced together: bounds the memory that this needs.
_NUMBERS_AT_ONCE = 1 << 17
_COLUMNS_AT_ONCE = 64
_ROWS_AT_ONCE = 1 << 13


def moments(columns: Any, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted mean and standard deviation of columns, (D,) each; the weights are not all zero.

    A column that is constant over the rows of positive weight has the deviation 0, exactly,
    and no other column has.
    """
    if hasattr(columns, "tocsc"):
        return _of_one_block(columns, weight)
    if len(weight) > 2 * _ROWS_AT_ONCE:
        return _of_many_rows(columns, weight)
    at_once = max(1, _NUMBERS_AT_ONCE // max(1, len(weight)))
    starts = range(0, len(columns), at_once)
    parts = [_of_one_block(columns[start : start + at_once], weight) for start in starts]
    mean, deviation = (np.concatenate(part) for part in zip(*parts, strict=True))
    return mean, deviation


def _of_one_block(columns: Any, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    total = np.array([weight.sum()])
    mean, deviation, _ = reduced_moments(
        extent(columns, weight),
        lambda size: scaled_means(columns, weight, size, total),
        lambda size, center: scaled_squares(columns, weight, size, center, total),
    )
    return mean, deviation


def _of_many_rows(columns: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same of a long table, whose rows lie next to each other: some of them at a time."""
    starts = range(0, len(weight), _ROWS_AT_ONCE)
    blocks = [slice(start, start + _ROWS_AT_ONCE) for start in starts]
    total = np.array([weight.sum()])

    def sums(of_block: Callable[..., FloatArray], *args: FloatArray) -> FloatArray:
        found = in_order(lambda rows: of_block(columns[:, rows], weight[rows], *args), blocks)
        total_of_blocks: FloatArray = np.sum(list(found), axis=0)
        return total_of_blocks

    extents = in_order(lambda rows: extent(columns[:, rows], weight[rows]), blocks)
    mean, deviation, _ = reduced_moments(
        np.max(list(extents), axis=0),
        lambda size: sums(scaled_means, size, total),
        lambda size, center: sums(scaled_squares, size, center, total),
    )
    return mean, deviation


def moments_of_blocks(
    rows: Blocks[Any], columns_of: Callable[..., Any], *args: Any
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, standard deviation and largest absolute value of columns of all blocks' rows.

    ``columns_of(block, *args)`` are the columns of a block, whose weights are ``block.weight``.
    """
    (total,) = rows.sum(_total)
    return reduced_moments(
        rows.max(_of_block, extent, columns_of, args),
        lambda size: rows.sum(_sums, scaled_means, columns_of, args, size, total)[0],
        lambda size, center: rows.sum(
            _sums, scaled_squares, columns_of, args, size, center, total
        )[0],
    )


def _total(block: Any) -> tuple[FloatArray]:
    return (np.array([block.weight.sum()]),)


def _of_block(
    block: Any,
    reduce: Callable[..., FloatArray],
    columns_of: Callable[..., Any],
    args: tuple[Any, ...],
    *known: FloatArray,
) -> FloatArray:
    return reduce(columns_of(block, *args), block.weight, *known)


def _sums(block: Any, *how: Any) -> tuple[FloatArray]:
    return (_of_block(block, *how),)


def reduced_moments(
    extent: FloatArray,
    means: Callable[[FloatArray], FloatArray],
    squares: Callable[[FloatArray, FloatArray], FloatArray],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, standard deviation and largest absolute value of columns, from their reductions.

    ``extent`` (3, D) holds the maxima of `extent` over all blocks; ``means(size)`` and
    ``squares(size, center)`` give the sums of `scaled_means` and `scaled_squares` over them.
    """
    largest, highest, lowest = extent
    # Squares of very large or very small numbers leave the range of floats.
    size = np.where(largest > 0, largest, 1.0)
    center = means(size)
    # A constant column deviates by exactly 0, whatever rounding makes of it.
    constant = highest / size == -lowest / size
    deviation = np.where(constant, 0.0, np.sqrt(squares(size, center)))
    return center * size, deviation * size, largest


def extent(columns: Any, weight: FloatArray) -> FloatArray:
    """The largest absolute value, value and negated value of each column, (3, D)."""
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
        for which, block in _dense(columns, used):
            highest[which] = block.max(axis=1, initial=-np.inf)
            lowest[which] = -block.min(axis=1, initial=np.inf)
    return np.stack([np.maximum(np.maximum(highest, lowest), 0.0), highest, lowest])


def scaled_means(
    columns: Any, weight: FloatArray, size: FloatArray, total: FloatArray
) -> FloatArray:
    """``sum_m w_m x_m / (size total)`` of each column, (D,)."""
    means = np.empty(len(size))
    if hasattr(columns, "tocsc"):
        for which, row, column, data in _stored(columns):
            scaled = np.where(weight[row] > 0, data / size[which][column], 0.0)
            share = weight[row] / total
            means[which] = np.bincount(column, share * scaled, minlength=len(means[which]))
        return means
    used = weight > 0
    share = weight[used] / total
    for which, block in _dense(columns, used):
        means[which] = (block / size[which, None]) @ share
    return means


def scaled_squares(
    columns: Any, weight: FloatArray, size: FloatArray, center: FloatArray, total: FloatArray
) -> FloatArray:
    """``sum_m w_m (x_m / size - center)^2 / total`` of each column, (D,)."""
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
        return squares
    share = weight[used] / total
    for which, block in _dense(columns, used):
        squares[which] = np.square(block / size[which, None] - center[which, None]) @ share
    return squares


def _dense(columns: FloatArray, used: npt.NDArray[np.bool_]) -> Iterator[tuple[slice, FloatArray]]:
    """Some dense columns at a time, without the rows that have no weight."""
    every = bool(used.all())
    for start in range(0, len(columns), _COLUMNS_AT_ONCE):
        which = slice(start, start + _COLUMNS_AT_ONCE)
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
