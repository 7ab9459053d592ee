"""What members say of rows that they were not grown on, on plain NumPy arrays.

Shapes: ``n`` rows, ``K`` members, ``C`` classes. ``spoken`` is (n, K) bool: where a member was
grown without the row, and what it says of the row counts. Rows of which nobody speaks are NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from covey._core.fusion.rules import vote_shares

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]


def outside_bags(bags: Sequence[npt.NDArray[Any]], n_rows: int) -> BoolArray:
    """Which rows are in which member's bag not even once, as (n, K).

    Parameters
    ----------
    bags : sequence of K arrays
        The rows that each member was grown on; a row may be there twice.
    n_rows : int
    """
    outside = np.ones((n_rows, len(bags)), dtype=bool)
    for k, bag in enumerate(bags):
        outside[bag, k] = False
    return outside


def mean_in_order(values: FloatArray, spoken: BoolArray | None = None) -> FloatArray:
    """The mean of those who speak, as (n, C).

    Values are added member by member and divided once, so that the last bits are those of
    anyone who adds them in the same order.

    Parameters
    ----------
    values : array of shape (n, K, C)
    spoken : array of shape (n, K), optional
        None: everyone speaks of every row.
    """
    total = np.zeros((values.shape[0], values.shape[2]))
    for k in range(values.shape[1]):
        if spoken is None:
            total += values[:, k]
        else:
            total += np.where(spoken[:, k, None], values[:, k], 0.0)
    if spoken is None:
        mean: FloatArray = total / values.shape[1]
        return mean
    count = np.maximum(spoken.sum(axis=1), 1)
    return _silent_is_nan(total / count[:, None], spoken)


def median_of_spoken(values: FloatArray, spoken: BoolArray) -> FloatArray:
    """The median of those who speak, as (n, C); of an even number, the middle two's mean."""
    count = np.maximum(spoken.sum(axis=1), 1)
    # Who does not speak is sorted behind all who do.
    ordered = np.sort(np.where(spoken[:, :, None], values, np.inf), axis=1)
    rows = np.arange(len(values))
    low, high = ordered[rows, (count - 1) // 2], ordered[rows, count // 2]
    return _silent_is_nan((low + high) / 2, spoken)


def votes_of_spoken(labels: IntArray, spoken: BoolArray, n_classes: int) -> FloatArray:
    """The share of those who speak that votes for each class, as (n, C)."""
    shares = vote_shares(labels, spoken.astype(np.float64), n_classes)
    return _silent_is_nan(shares, spoken)


def with_stand_ins(values: FloatArray, spoken: BoolArray) -> FloatArray:
    """Values in which the mean of those who speak stands for each who does not, as (n, K, C).

    It speaks neither for nor against a member. Somebody must speak of every row.
    """
    return np.where(spoken[:, :, None], values, mean_in_order(values, spoken)[:, None, :])


def held_out_rows(
    codes: IntArray, weight: FloatArray, draws: FloatArray, fraction: float
) -> BoolArray:
    """A share of each class, by each row's own draw, as (n,).

    A class keeps at least one row and, if it has two, gives at least one. Rows of weight 0
    are not held out: they can teach nothing.

    Parameters
    ----------
    codes : array of shape (n,)
        The rows' classes, as positions.
    weight : array of shape (n,)
    draws : array of shape (n,)
        Uniform draws; the rows of the lowest ones are held out.
    fraction : float
        Between 0 and 1.
    """
    held_out = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes):
        rows = np.flatnonzero((codes == code) & (weight > 0))
        if len(rows) > 1:
            count = min(max(1, round(fraction * len(rows))), len(rows) - 1)
            held_out[rows[np.argsort(draws[rows], kind="stable")[:count]]] = True
    return held_out


def _silent_is_nan(values: FloatArray, spoken: BoolArray) -> FloatArray:
    return np.where(spoken.any(axis=1, keepdims=True), values, np.nan)
