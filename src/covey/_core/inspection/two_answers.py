"""Which units carry something about a target, and which few of them suffice: both answers at once.

See `covey._core.inspection.relevance` and `covey._core.inspection.sufficiency`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from covey._core.arrays import BoolArray, FloatArray, IntArray
from covey._core.inspection.frequencies import number_rejected
from covey._core.inspection.relevance import (
    UnitColumns,
    class_scores,
    combined_log_p,
    effective_rows,
    evidence,
    marginal_log_p,
    unit_columns,
    value_scores,
)
from covey._core.inspection.sufficiency import fewest
from covey._core.random import Purpose, UniformRows

# Tests see so many rows at most, drawn by chance.
_MOST_ROWS = 20_000
# Of so many features all are tested given others and in pairs; of more, the best alone.
_MOST_FEATURES = 500
# Folds are drawn twice below so many rows, and three times below so few.
_FEW_ROWS, _FEWER_ROWS = 350, 200
_N_FOLDS = 5


@dataclass(frozen=True)
class UnitAnswers:
    """What is known of the units.

    log_p : (U,) log p-values, 0 for units without columns.
    relevant : the units that carry something, from the most to the least needed.
    n_enough : how many of these suffice.
    twins : lists of units, the first of which suffices and may be replaced by any other.
    """

    log_p: FloatArray
    relevant: list[int]
    n_enough: int
    twins: list[list[int]]


class FeatureAnswers:
    """The same for features, where ``unit`` (D,) is the unit of each, -1 for constant ones.

    ``always`` (D,) are features that are selected whatever is known of them.
    """

    def __init__(self, answers: UnitAnswers, unit: IntArray, always: BoolArray) -> None:
        self._unit = unit
        self.log_p = np.append(answers.log_p, 0.0)[unit]
        needed = answers.relevant[: answers.n_enough]
        by_evidence = np.argsort(answers.log_p, kind="stable").tolist()
        others = [one for one in by_evidence if one not in set(answers.relevant)]
        self.masks = {
            "all": np.isin(unit, answers.relevant) | always,
            "smallest": np.isin(unit, needed) | always,
        }
        self.order = {
            "all": self._order(by_evidence, always),
            "smallest": self._order(answers.relevant + others, always),
        }
        self.twins = [self._features(group) for group in answers.twins]

    def first(self, order: IntArray, wanted: int) -> BoolArray:
        """The first so many features (D,) of an order; units that do not fit are passed over."""
        chosen = np.zeros(len(order), dtype=bool)
        for feature in order:
            own = self._unit == self._unit[feature]
            own = own if self._unit[feature] >= 0 else np.arange(len(order)) == feature
            if not chosen[feature] and chosen.sum() + own.sum() <= wanted:
                chosen |= own
        return chosen

    def _features(self, units: list[int]) -> list[int]:
        """The features of units, in their order."""
        return [int(one) for unit in units for one in np.flatnonzero(self._unit == unit)]

    def _order(self, units: list[int], always: BoolArray) -> IntArray:
        """All features in the order of their units; what is always kept first, constants last."""
        features = [*self._features(units), *np.flatnonzero(self._unit < 0)]
        return np.array(sorted(features, key=lambda feature: not always[feature]), dtype=np.intp)


def two_answers(
    X: Any,
    unit: IntArray,
    target: np.ndarray,
    weight: FloatArray,
    strata: IntArray,
    *,
    level: float,
    seed: int,
) -> UnitAnswers:
    """Both answers for the columns of X, (n, D) dense or sparse.

    ``unit`` (D,) is the unit of each column, -1 for those that do not count. ``target`` (n,) are
    classes if they are integers, else numbers; ``strata`` (n,) have equal shares of each fold.
    """
    rows = _drawn_rows(weight, seed)
    X = X.tocsc() if hasattr(X, "tocsc") else X
    target, weight, strata = target[rows], weight[rows], strata[rows]
    n_units = int(unit.max(initial=-1)) + 1
    n_rows = effective_rows(weight)
    numbers = np.issubdtype(target.dtype, np.floating)
    scores = value_scores(target, weight) if numbers else class_scores(target, weight)

    def columns_of(which: IntArray) -> UnitColumns:
        part = X[:, which][rows]
        part = part.toarray() if hasattr(part, "toarray") else part
        return unit_columns(part, unit[which], n_units, weight)

    parts = _parts(unit)
    marginal = np.zeros((2, n_units))
    for part in parts:
        columns = columns_of(part)
        marginal = np.minimum(marginal, marginal_log_p(columns, scores, n_rows))
    if not parts or not scores.shape[1]:
        return UnitAnswers(np.zeros(n_units), [], 0, [])
    if len(parts) > 1:
        columns = columns_of(_best_columns(unit, combined_log_p(marginal)))
    found = evidence(columns, scores, marginal, n_rows, level)
    log_p = np.round(found.log_p, 6)  # copies differ by rounding, which decides nothing
    order = np.argsort(log_p, kind="stable")
    candidates = order[: number_rejected(np.exp(log_p), level)].tolist()
    # Only a long table has relevant units beyond those that are compared.
    present = set(columns.unit.tolist())
    compared = [one for one in candidates if one in present]
    few = fewest(columns, scores, compared, found.pairs, _folds(strata, seed), n_rows)
    relevant = few.order + [one for one in candidates if one not in present]
    return UnitAnswers(log_p, relevant, few.n_enough, few.twins)


def _drawn_rows(weight: FloatArray, seed: int) -> IntArray:
    """The rows that have a weight; of many, some, in their order."""
    rows = np.flatnonzero(weight > 0)
    if len(rows) <= _MOST_ROWS:
        return rows
    draws = UniformRows(seed, Purpose.SAMPLE, 0, 0, 1).read(0, len(rows))[:, 0]
    return np.sort(rows[np.argsort(draws, kind="stable")[:_MOST_ROWS]])


def _parts(unit: IntArray) -> list[IntArray]:
    """Columns of whole units, about this many at a time."""
    order = np.argsort(unit, kind="stable")
    order = order[unit[order] >= 0]
    if not len(order):
        return []
    starts = np.flatnonzero(np.diff(unit[order], prepend=-1))
    first_of_part = np.diff(starts // _MOST_FEATURES, prepend=0) > 0
    return np.split(order, starts[first_of_part])


def _best_columns(unit: IntArray, log_p: FloatArray) -> IntArray:
    """The columns of the units of the least p-values, as many as are compared, in their order."""
    counts = np.bincount(unit[unit >= 0], minlength=len(log_p))
    order = np.argsort(log_p, kind="stable")
    best = order[np.cumsum(counts[order]) <= _MOST_FEATURES]
    best = best if len(best) else order[:1]
    return np.flatnonzero(np.isin(unit, best))


def _folds(strata: IntArray, seed: int) -> list[IntArray]:
    """The rows held out, stratified; of few rows folds are drawn more than once."""
    n_rows = len(strata)
    if n_rows < 2 * _N_FOLDS:
        return []
    folds = []
    for repeat in range(1 + (n_rows < _FEW_ROWS) + (n_rows < _FEWER_ROWS)):
        draws = UniformRows(seed, Purpose.FOLD, 0, repeat, 1).read(0, n_rows)[:, 0]
        turn = np.empty(n_rows, dtype=np.intp)
        turn[np.lexsort((draws, strata))] = np.arange(n_rows) % _N_FOLDS
        folds += [np.flatnonzero(turn == fold) for fold in range(_N_FOLDS)]
    return folds
