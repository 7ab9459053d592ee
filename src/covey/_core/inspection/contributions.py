"""Shapley values of a prediction against a typical row: contributions that add up.

The game of one row: a column that is in the coalition has its own value, and one outside has its
typical value. The Shapley value of a column is what it adds to the prediction when columns join
one after another, averaged over all orders. The values of all columns sum to the prediction less
that of the typical row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import factorial
from typing import Any

import numpy as np

from covey._core.arrays import BoolArray, FloatArray, IntArray
from covey._core.random import Purpose, UniformRows

# With so many columns or fewer that differ from the typical row, all coalitions are predicted.
MOST_EXACT = 10
# Else orders are drawn in pairs, one and its reverse, until the standard errors are small: below
# this share of all contributions' sizes together, or until there are so many pairs. Smaller errors
# of probabilities than a quarter of a hundredth are small, too.
SMALL_ERROR, SMALL_SHARE = 0.01, 0.0025
FEWEST_PAIRS, MOST_PAIRS = 8, 128
# A row that differs in many hundred columns has fewer pairs: it is predicted about so often.
_MOST_COALITIONS = 1 << 15
# Coalitions, and numbers of them, that are predicted at once: bounds the memory.
_COALITIONS_AT_ONCE, _NUMBERS_AT_ONCE = 1 << 14, 1 << 22
_ROWS_AT_ONCE, _FLAGS_AT_ONCE = 1 << 10, 1 << 26

# Predictions (m, C) of rows, by their numbers (m,), whose columns outside of coalitions (m, D)
# have their typical values.
Value = Callable[[IntArray, BoolArray], FloatArray]


@dataclass(frozen=True)
class Contributions:
    """Contributions (n, D, C), their standard errors, and what they lead from and to."""

    values: FloatArray  # (n, D, C)
    standard_error: FloatArray  # (n, D, C), 0 where all coalitions were predicted
    baseline: FloatArray  # (C,), the prediction of the typical row
    prediction: FloatArray  # (n, C)


def contributions(
    predict: Callable[[FloatArray], FloatArray],
    rows: FloatArray,
    typical: FloatArray,
    units: IntArray | None = None,
    looked_at: BoolArray | None = None,
) -> Contributions:
    """Shapley values of ``predict(rows) -> (n, C)`` for rows (n, P) against a typical row (P,).

    ``units`` (P,) are the columns that the numbers are made of; those of one join together.
    ``looked_at`` (D,) tells which of them the model looks at: others get 0 and cost nothing.
    """
    units = np.arange(rows.shape[1]) if units is None else units
    n_units = int(units.max()) + 1 if looked_at is None else len(looked_at)

    def value(which: IntArray, coalitions: BoolArray) -> FloatArray:
        return predict(np.where(coalitions[:, units], rows[which], typical))

    same = (rows == typical) | (np.isnan(rows) & np.isnan(typical))
    differs = differing(same, units, n_units)
    if looked_at is not None:
        differs &= looked_at
    return shapley(value, differs, rows.shape[1])


def differing(same: BoolArray, units: IntArray, n_units: int) -> BoolArray:
    """In which units (n, D) rows differ from the typical row, given where numbers (n, P) do."""
    differs = np.zeros((len(same), n_units), dtype=bool)
    for unit in np.unique(units):
        differs[:, unit] = ~same[:, units == unit].all(axis=1)
    return differs


def shapley(
    value: Value, differs: BoolArray, width: int | None = None, small: float = 0.0
) -> Contributions:
    """Shapley values of rows that differ in some columns (n, D) from the typical one.

    Standard errors below ``small`` need not be smaller. A row of ``width`` numbers is predicted
    for each coalition. What is found for a row depends on this row alone: orders are the same for
    all.
    """
    n_rows, n_columns = differs.shape
    at_once = max(1, min(_COALITIONS_AT_ONCE, _NUMBERS_AT_ONCE // max(1, width or n_columns)))
    game = _Game(value, at_once)
    prediction = game(np.arange(n_rows), differs)
    baseline = game(np.zeros(1, dtype=np.intp), np.zeros((1, n_columns), dtype=bool))[0]
    shape = (n_rows, n_columns, len(baseline))
    values, errors = np.zeros(shape), np.zeros(shape)
    sizes = differs.sum(axis=1)
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        # So many rows at once that their coalitions are predicted together.
        step = max(1, at_once >> int(size)) if size <= MOST_EXACT else _ROWS_AT_ONCE
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            if size <= MOST_EXACT:
                values[some] = _enumerated(game, some, differs[some], int(size))
            else:
                ends = (baseline, prediction[some])
                values[some], errors[some] = _sampled(game, some, differs[some], ends, small)
    return Contributions(values, errors, baseline, prediction)


class _Game:
    """The value of coalitions, a bounded number of them at a time."""

    def __init__(self, value: Value, at_once: int) -> None:
        self._value, self.at_once = value, at_once

    def __call__(self, rows: IntArray, coalitions: BoolArray) -> FloatArray:
        found = [
            self._value(rows[start : start + self.at_once], coalitions[start:][: self.at_once])
            for start in range(0, len(rows), self.at_once)
        ]
        return found[0] if len(found) == 1 else np.concatenate(found)


@cache
def _coalitions(size: int) -> tuple[Any, Any]:
    """All coalitions (2^m, m) of so many columns, and their weights (m, 2^m) in the values.

    A coalition S of j's fellows counts with |S|! (m - |S| - 1)! / m!, before j joins with a minus.
    """
    joined = (np.arange(1 << size)[:, None] >> np.arange(size)) & 1 == 1
    count = joined.sum(axis=1)
    before = np.array(
        [factorial(k) * factorial(size - k - 1) / factorial(size) for k in range(size)] + [0.0]
    )
    weights = np.where(joined.T, before[count - 1], -before[count])
    return joined, weights


def _enumerated(game: _Game, rows: IntArray, differs: BoolArray, size: int) -> FloatArray:
    """The values of rows that all differ in so many columns, from all coalitions of these."""
    if not size:
        return np.zeros(())
    joined, weights = _coalitions(size)
    columns = np.nonzero(differs)[1].reshape(len(rows), size)
    coalitions = np.zeros((len(rows), len(joined), differs.shape[1]), dtype=bool)
    np.put_along_axis(
        coalitions, columns[:, None], np.broadcast_to(joined, (len(rows), *joined.shape)), axis=2
    )
    predicted = game(
        np.repeat(rows, len(joined)), coalitions.reshape(-1, differs.shape[1])
    ).reshape(len(rows), len(joined), -1)
    values = np.zeros((len(rows), differs.shape[1], predicted.shape[2]))
    values[np.arange(len(rows))[:, None], columns] = np.einsum(
        "js,rsc->rjc", weights, predicted, optimize=True
    )
    return values


def _sampled(
    game: _Game,
    rows: IntArray,
    differs: BoolArray,
    ends: tuple[FloatArray, FloatArray],
    small: float,
) -> tuple[FloatArray, FloatArray]:
    """The same by orders that are drawn, and standard errors.

    Along an order each column adds a difference of two predictions, so that the sum over columns
    is exact for each order, and for their mean.
    """
    baseline, prediction = ends
    shape = (*differs.shape, len(baseline))
    total, squares, count = np.zeros(shape), np.zeros(shape), np.zeros(len(rows))
    size = int(differs[0].sum())
    most = max(2, min(MOST_PAIRS, _MOST_COALITIONS // (2 * size)))
    left, done, draws = np.arange(len(rows)), 0, min(FEWEST_PAIRS, most)
    drawn = UniformRows(0, Purpose.EXPLAIN, 0, 0, differs.shape[1])
    while len(left):
        orders = np.argsort(drawn.read(done, draws), axis=1, kind="stable")
        # Some rows, and orders, at a time, whose coalitions are predicted together.
        step = max(1, game.at_once // (2 * draws * size))
        some_orders = max(1, _FLAGS_AT_ONCE // (step * size * differs.shape[1]))
        for start in range(0, len(left), step):
            some = left[start : start + step]
            for first in range(0, draws, some_orders):
                part = orders[first : first + some_orders]
                one, other = (
                    _along(game, rows[some], differs[some], path, baseline, prediction[some])
                    for path in (part, part[:, ::-1])
                )
                pairs = (one + other) / 2
                total[some] += pairs.sum(axis=0)
                squares[some] += (pairs**2).sum(axis=0)
        done += draws
        count[left] = done
        draws = min(done, most - done)
        mean = total[left] / done
        error = np.sqrt(np.maximum(squares[left] / done - mean**2, 0.0) / (done - 1))
        # The largest of all classes is what counts.
        enough = np.maximum(small, SMALL_ERROR * np.abs(mean).sum(axis=1).max(axis=1))
        left = left[(error.max(axis=(1, 2)) > enough) & (done < most)]
    count = count[:, None, None]
    mean = total / count
    return mean, np.sqrt(np.maximum(squares / count - mean**2, 0.0) / (count - 1))


def _along(
    game: _Game,
    rows: IntArray,
    differs: BoolArray,
    orders: IntArray,
    baseline: FloatArray,
    prediction: FloatArray,
) -> FloatArray:
    """What columns add when they join in each of some orders (k, D), for each row (k, n, D, C).

    All rows differ in the same number of columns.
    """
    n_orders, n_rows, n_columns = len(orders), *differs.shape
    size = int(differs[0].sum())
    # The place of each column among those that differ, from 1 on.
    joined = np.cumsum(differs[:, orders].transpose(1, 0, 2), axis=2)
    place = np.empty_like(joined)
    np.put_along_axis(place, np.broadcast_to(orders[:, None], joined.shape), joined, axis=2)
    step = np.arange(1, size)[:, None]
    coalitions = differs[None, :, None] & (place[:, :, None] <= step)
    which = np.broadcast_to(rows[None, :, None], coalitions.shape[:3]).reshape(-1)
    between = game(which, coalitions.reshape(-1, n_columns))
    path = np.empty((n_orders, n_rows, size + 1, len(baseline)))
    path[:, :, 0], path[:, :, size] = baseline, prediction
    path[:, :, 1:size] = between.reshape(n_orders, n_rows, size - 1, -1)
    added = np.diff(path, axis=2)
    own = np.take_along_axis(added, np.maximum(place - 1, 0)[..., None], axis=2)
    found: FloatArray = np.where(differs[None, :, :, None], own, 0.0)
    return found
