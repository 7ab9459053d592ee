"""What members predict of rows that they were not grown on, on plain NumPy arrays.

Shapes: ``n`` rows, ``K`` members, ``C`` classes. ``available`` is (n, K) bool: where a member was
grown without the row, so that its prediction counts. Rows without any available member are NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from covey._core.arrays import BoolArray, FloatArray, IntArray
from covey._core.fusion.rules import vote_shares


def outside_bags(bags: Sequence[npt.NDArray[Any]], n_rows: int) -> BoolArray:
    """Which rows are in which member's bag (a row may be in it twice) not even once, as (n, K)."""
    outside = np.ones((n_rows, len(bags)), dtype=bool)
    for k, bag in enumerate(bags):
        outside[bag, k] = False
    return outside


def mean_in_order(values: FloatArray, available: BoolArray | None = None) -> FloatArray:
    """The mean of the values (n, K, C) of the available members (n, K), as (n, C); None: of all.

    Values are added member by member and divided once, so that the last bits are those of anyone
    who adds them in the same order.
    """
    total = np.zeros((values.shape[0], values.shape[2]))
    for k in range(values.shape[1]):
        if available is None:
            total += values[:, k]
        else:
            total += np.where(available[:, k, None], values[:, k], 0.0)
    if available is None:
        mean: FloatArray = total / values.shape[1]
        return mean
    count = np.maximum(available.sum(axis=1), 1)
    return _nan_where_none(total / count[:, None], available)


def median_of_available(values: FloatArray, available: BoolArray) -> FloatArray:
    """The median of the available members, as (n, C); of an even number, the middle two's mean."""
    count = np.maximum(available.sum(axis=1), 1)
    # Members that are not available are sorted behind all others.
    ordered = np.sort(np.where(available[:, :, None], values, np.inf), axis=1)
    rows = np.arange(len(values))
    low, high = ordered[rows, (count - 1) // 2], ordered[rows, count // 2]
    return _nan_where_none((low + high) / 2, available)


def votes_of_available(labels: IntArray, available: BoolArray, n_classes: int) -> FloatArray:
    """The share of the available members that votes for each class, as (n, C)."""
    shares = vote_shares(labels, available.astype(np.float64), n_classes)
    return _nan_where_none(shares, available)


def with_means_of_available(values: FloatArray, available: BoolArray) -> FloatArray:
    """Values in which the mean of the available members replaces all others', as (n, K, C).

    It is evidence neither for nor against a member. Every row needs an available member.
    """
    return np.where(available[:, :, None], values, mean_in_order(values, available)[:, None, :])


def held_out_rows(
    codes: IntArray, weight: FloatArray, draws: FloatArray, fraction: float
) -> BoolArray:
    """A share of each class: the rows of its lowest uniform draws, as (n,).

    A class keeps at least one row and, if it has two, gives at least one. Rows of weight 0 are not
    held out: nothing can be learnt from them.
    """
    held_out = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes):
        rows = np.flatnonzero((codes == code) & (weight > 0))
        if len(rows) > 1:
            count = min(max(1, round(fraction * len(rows))), len(rows) - 1)
            held_out[rows[np.argsort(draws[rows], kind="stable")[:count]]] = True
    return held_out


def _nan_where_none(values: FloatArray, available: BoolArray) -> FloatArray:
    return np.where(available.any(axis=1, keepdims=True), values, np.nan)
