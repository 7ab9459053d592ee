"""Shapley values of a prediction against background rows: contributions that add up.

The game of one row and one background row: a column that is in the coalition has the row's value,
and one outside has the background row's. The Shapley value of a column is what it adds to the
prediction when columns join one after another, averaged over all orders and background rows. The
values of all columns sum to the prediction less the mean prediction of the background.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import factorial
from typing import Any

import numpy as np

from covey._core.arrays import BoolArray, FloatArray, IntArray, in_parts
from covey._core.random import Purpose, UniformRows

# If at most this many coalitions of columns differ from the background, for all of its rows
# together, all are predicted.
MOST_EXACT = 1 << 10
# Otherwise orders are drawn in pairs, one and its reverse, until the standard errors are below
# this share of all contributions' sizes together, or until this many pairs are drawn. Errors of
# probabilities below a quarter of a hundredth are small enough, too.
SMALL_ERROR, SMALL_SHARE = 0.01, 0.0025
FEWEST_PAIRS, MOST_PAIRS = 8, 128
# A row that differs in many hundred columns has fewer pairs: it is predicted about this often.
_MOST_COALITIONS = 1 << 15
# How many coalitions, and numbers in them, are predicted at once: this bounds the memory.
_COALITIONS_AT_ONCE, _NUMBERS_AT_ONCE = 1 << 14, 1 << 21
_FLAGS_AT_ONCE = 1 << 26

# Predictions (m, C) of rows, by their numbers (m,), whose columns outside of coalitions (m, D)
# have the values of background rows, by theirs (m,).
Value = Callable[[IntArray, IntArray, BoolArray], FloatArray]


@dataclass(frozen=True)
class ShapleyValues:
    """Shapley values (n, D, C), their standard errors, the baseline and the predictions."""

    values: FloatArray  # (n, D, C)
    standard_error: FloatArray  # (n, D, C), 0 where all coalitions were predicted
    baseline: FloatArray  # (C,), the mean prediction of the background
    prediction: FloatArray  # (n, C)


def same_as_all(rows: FloatArray, background: FloatArray) -> BoolArray:
    """Return where rows (n, P) equal the one number of the background (R, P); gaps are equal."""
    same: BoolArray = np.ones(rows.shape, dtype=bool)
    for other in background:
        same &= (rows == other) | ((rows != rows) & (other != other))
    return same


def differing(same: BoolArray, units: IntArray, n_units: int) -> BoolArray:
    """Return in which units (n, D) rows differ from the background, by whether numbers do."""
    differs = np.zeros((len(same), n_units), dtype=bool)
    for unit in np.unique(units):
        differs[:, unit] = ~same[:, units == unit].all(axis=1)
    return differs


def shapley(
    value: Value,
    differs: BoolArray,
    n_background: int = 1,
    width: int | None = None,
    small: float = 0.0,
) -> ShapleyValues:
    """Return Shapley values of rows that differ in some columns (n, D) from the background.

    Draws end once standard errors are below ``small``. A row of ``width`` numbers is predicted for
    each coalition. The result for a row depends on this row alone: orders are the same for all.
    """
    n_rows, n_columns = differs.shape
    at_once = max(1, min(_COALITIONS_AT_ONCE, _NUMBERS_AT_ONCE // max(1, width or n_columns)))
    game = _Game(value, at_once)
    every = np.arange(n_background)
    first = np.zeros_like(every)
    prediction = game(np.arange(n_rows), np.zeros(n_rows, dtype=np.intp), differs)
    ends = game(first, every, np.zeros((n_background, n_columns), dtype=bool))
    shape = (n_rows, n_columns, ends.shape[1])
    values, errors = np.zeros(shape), np.zeros(shape)
    sizes = differs.sum(axis=1)
    for size in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == size)
        is_exact = n_background << size <= max(MOST_EXACT, n_background)
        # As many rows at once as have coalitions that are predicted together.
        fewest = 2 * max(FEWEST_PAIRS, n_background) * max(1, size)
        for part in in_parts(len(rows), at_once // (n_background << size if is_exact else fewest)):
            some = rows[part]
            if is_exact:
                values[some] = _enumerated(game, some, differs[some], size, n_background)
            else:
                found = _sampled(game, some, differs[some], ends, prediction[some], small)
                values[some], errors[some] = found
    return ShapleyValues(values, errors, ends.mean(axis=0), prediction)


class _Game:
    """The value of coalitions, a bounded number of them at a time."""

    def __init__(self, value: Value, at_once: int) -> None:
        self._value, self._at_once = value, at_once

    def __call__(self, rows: IntArray, beside: IntArray, coalitions: BoolArray) -> FloatArray:
        parts = in_parts(len(rows), self._at_once)
        found = [self._value(rows[one], beside[one], coalitions[one]) for one in parts]
        return found[0] if len(found) == 1 else np.concatenate(found)


@cache
def _coalitions(size: int) -> tuple[Any, Any]:
    """Return all coalitions (2^m, m) of m columns, and their weights (m, 2^m) in the values.

    A coalition S of j's fellows counts with |S|! (m - |S| - 1)! / m!, before j joins with a minus.
    """
    joined = (np.arange(1 << size)[:, None] >> np.arange(size)) & 1 == 1
    count = joined.sum(axis=1)
    before = np.array(
        [factorial(k) * factorial(size - k - 1) / factorial(size) for k in range(size)] + [0.0]
    )
    weights = np.where(joined.T, before[count - 1], -before[count])
    return joined, weights


def _enumerated(
    game: _Game, rows: IntArray, differs: BoolArray, size: int, n_background: int
) -> FloatArray:
    """Return the values of rows that all differ in this many columns, from all coalitions."""
    if not size:
        return np.zeros(())
    joined, weights = _coalitions(size)
    columns = np.nonzero(differs)[1].reshape(len(rows), size)
    coalitions = np.zeros((len(rows), len(joined), differs.shape[1]), dtype=bool)
    np.put_along_axis(
        coalitions, columns[:, None], np.broadcast_to(joined, (len(rows), *joined.shape)), axis=2
    )
    count = len(rows) * len(joined)
    predicted = game(
        np.repeat(rows, len(joined) * n_background),
        np.tile(np.arange(n_background), count),
        np.repeat(coalitions.reshape(count, -1), n_background, axis=0),
    )
    predicted = predicted.reshape(len(rows), len(joined), n_background, -1).mean(axis=2)
    values = np.zeros((len(rows), differs.shape[1], predicted.shape[2]))
    values[np.arange(len(rows))[:, None], columns] = np.einsum(
        "js,rsc->rjc", weights, predicted, optimize=True
    )
    return values


def _sampled(
    game: _Game,
    rows: IntArray,
    differs: BoolArray,
    ends: FloatArray,
    prediction: FloatArray,
    small: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the values from orders that are drawn, and their standard errors.

    Along an order each column adds a difference of two predictions, so that the sum over columns
    is exact for each order, and for their mean. Each background row has equally many orders.
    Standard errors are estimated from the variation over orders alone, not over background rows;
    if a background row has a single pair, from the difference between an order and its reverse.
    """
    n_background, size = len(ends), int(differs[0].sum())
    shape = (len(rows), n_background, differs.shape[1], ends.shape[1])
    total, squares = np.zeros(shape), np.zeros((len(rows), *shape[2:]))
    errors, count = np.zeros_like(squares), np.zeros(len(rows), dtype=np.intp)
    most = max(2, min(MOST_PAIRS, _MOST_COALITIONS // (2 * size)) // n_background)
    draws = max(1, FEWEST_PAIRS // n_background)
    drawn = UniformRows(0, Purpose.EXPLAIN, 0, 0, differs.shape[1])
    left, done = np.arange(len(rows)), 0
    while len(left):
        # Some orders at a time, whose coalitions are predicted together.
        at_once = max(1, _FLAGS_AT_ONCE // (len(left) * size * differs.shape[1]))
        first, stop = done * n_background, (done + draws) * n_background
        for start in range(first, stop, at_once):
            number = min(at_once, stop - start)
            orders = np.argsort(drawn.read(start, number), axis=1, kind="stable")
            beside = np.arange(start, start + number) % n_background
            one, other = (
                _along(game, rows[left], differs[left], path, beside, ends, prediction[left])
                for path in (orders, orders[:, ::-1])
            )
            pairs = (one + other) / 2
            for k, row in enumerate(beside):
                total[left, row] += pairs[k]
            squares[left] += (pairs**2).sum(axis=0)
            if done + draws == 1:
                errors[left] += ((one - other) ** 2).sum(axis=0) / 4
        done += draws
        count[left] = done
        if done > 1:
            within = squares[left] - (total[left] ** 2).sum(axis=1) / done
            errors[left] = np.maximum(within, 0.0) / ((done - 1) * done)
        draws = min(done, most - done)
        mean = total[left].mean(axis=1) / done
        error = np.sqrt(errors[left]) / n_background
        # The largest error of all classes counts.
        enough = np.maximum(small, SMALL_ERROR * np.abs(mean).sum(axis=1).max(axis=1))
        left = left[(error.max(axis=(1, 2)) > enough) & (done < most)]
    return total.mean(axis=1) / count[:, None, None], np.sqrt(errors) / n_background


def _along(
    game: _Game,
    rows: IntArray,
    differs: BoolArray,
    orders: IntArray,
    beside: IntArray,
    ends: FloatArray,
    prediction: FloatArray,
) -> FloatArray:
    """Return what columns add when they join in some orders (k, D), for each row (k, n, D, C).

    All rows differ in the same number of columns. Each order has a background row ``beside`` (k,)
    it, whose prediction is among the ``ends`` (R, C).
    """
    n_orders, n_rows, n_columns = len(orders), *differs.shape
    size = int(differs[0].sum())
    # The place of each column among those that differ, from 1 on.
    joined = np.cumsum(differs[:, orders].transpose(1, 0, 2), axis=2)
    place = np.empty_like(joined)
    np.put_along_axis(place, np.broadcast_to(orders[:, None], joined.shape), joined, axis=2)
    step = np.arange(1, size)[:, None]
    coalitions = differs[None, :, None] & (place[:, :, None] <= step)
    shape = coalitions.shape[:3]
    which = np.broadcast_to(rows[None, :, None], shape).reshape(-1)
    others = np.broadcast_to(beside[:, None, None], shape).reshape(-1)
    between = game(which, others, coalitions.reshape(-1, n_columns))
    path = np.empty((n_orders, n_rows, size + 1, ends.shape[1]))
    path[:, :, 0], path[:, :, size] = ends[beside][:, None], prediction
    path[:, :, 1:size] = between.reshape(n_orders, n_rows, size - 1, -1)
    added = np.diff(path, axis=2)
    own = np.take_along_axis(added, np.maximum(place - 1, 0)[..., None], axis=2)
    return np.where(differs[None, :, :, None], own, 0.0)
