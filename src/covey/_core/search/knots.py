"""Quantiles of columns whose rows lie in several blocks, by counting.

The weight of a column's rows up to a value is a sum over blocks, and so a quantile is found by
bisection: not of the values, but of the floats between the least and the greatest one, in their
order. There are fewer than 2^64 of them, so that it ends, and it ends at the very value.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from covey._core.search.rows import SearchBlock, SearchRows

FloatArray = npt.NDArray[np.float64]
UintArray = npt.NDArray[np.uint64]

# Columns that blocks keep sorted at the same time: bounds the memory that this needs.
_COLUMNS_AT_ONCE = 16
# Parts into which a round divides what is left.
_PARTS = 16
_SIGN = np.uint64(1 << 63)
# Rounding in the sums must not move a quantile to the next value.
_HAIR = 1e-12


def in_order(values: FloatArray) -> UintArray:
    """Floats as whole numbers that rise with them, without gaps.

    Examples
    --------
    >>> import numpy as np
    >>> a, b, c = in_order(np.array([-1e300, 0.0, 5e-324]))
    >>> bool(a < b), int(c - b)
    (True, 1)
    """
    bits = (values + 0.0).view(np.uint64)  # a zero has one sign
    return np.where(bits & _SIGN, ~bits + np.uint64(1), bits | _SIGN)


def in_floats(numbers: UintArray) -> FloatArray:
    """The inverse of `in_order`."""
    bits = np.where(numbers & _SIGN, numbers ^ _SIGN, ~(numbers - np.uint64(1)))
    return bits.view(np.float64)


def knots_by_sums(rows: SearchRows, n_features: int, n_ramps: int) -> list[FloatArray]:
    """The values of each column of a table at evenly spaced quantiles, its ends included.

    Parameters
    ----------
    rows : SearchRows
    n_features : int
    n_ramps : int
        The most intervals between them.

    Returns
    -------
    knots : list of ndarray
    """
    highest, lowest = rows.max(SearchBlock.extremes, True)
    knots = []
    for first in range(0, n_features, _COLUMNS_AT_ONCE):
        which = slice(first, min(first + _COLUMNS_AT_ONCE, n_features))
        values = np.concatenate(rows.gather(SearchBlock.lowest_values, which, n_ramps + 2), axis=1)
        few = [np.unique(column[~np.isnan(column)]) for column in values]
        quantiles = _quantiles(rows, which, -lowest[which], highest[which], n_ramps)
        knots += [
            found if len(found) <= n_ramps + 1 else np.unique(column)
            for found, column in zip(few, quantiles, strict=True)
        ]
    return knots


def _quantiles(
    rows: SearchRows, which: slice, lowest: FloatArray, highest: FloatArray, n_ramps: int
) -> FloatArray:
    """Columns' evenly spaced quantiles, (D, n_ramps + 1), the least value included."""
    (total,) = rows.sum(SearchBlock.weight_up_to, which, highest[:, None])
    wanted = np.arange(1, n_ramps + 1) / n_ramps * total * (1.0 - _HAIR)
    # The weight of rows up to `below` is less than wanted; that of rows up to `at` is as much.
    below = np.repeat(in_order(lowest)[:, None] - np.uint64(1), n_ramps, axis=1)
    at = np.repeat(in_order(highest)[:, None], n_ramps, axis=1)
    steps = np.arange(1, _PARTS, dtype=np.uint64)
    while (at - below > 1).any():
        length = np.maximum((at - below) // np.uint64(_PARTS), np.uint64(1))
        tried = np.minimum(below[:, :, None] + length[:, :, None] * steps, at[:, :, None])
        (weight,) = rows.sum(
            SearchBlock.weight_up_to, which, in_floats(tried.reshape(len(tried), -1))
        )
        enough = weight.reshape(tried.shape) >= wanted[:, :, None]
        at = np.where(enough, tried, at[:, :, None]).min(axis=2)
        below = np.where(enough, below[:, :, None], tried).max(axis=2)
    return np.concatenate([lowest[:, None], in_floats(at)], axis=1)
