"""Two answers about the units of a table: which are related to a target, and which few suffice.

The tests are in `covey._core.inspection.relevance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from covey._core.arrays import BoolArray, FloatArray, IntArray
from covey._core.inspection.frequencies import number_rejected
from covey._core.inspection.relevance import (
    UnitColumns,
    block_traces,
    class_scores,
    combined_log_p,
    effective_rows,
    evidence,
    marginal_log_p,
    orthonormal,
    orthonormal_beyond,
    pillai_log_p,
    unit_columns,
    value_scores,
)
from covey._core.random import Purpose, UniformRows

# Tests use at most this many rows, drawn by chance.
_MOST_ROWS = 20_000
# Up to this many features are all tested given others and in pairs; of more, the best alone.
_MOST_FEATURES = 500
# Folds are drawn twice below this many rows, and three times below that many.
_FEW_ROWS, _FEWER_ROWS = 350, 200
_N_FOLDS = 5


@dataclass(frozen=True)
class UnitAnswers:
    """The two answers for units.

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
    """The two answers for features, where ``unit`` (D,) is the unit of each, -1 for constants.

    ``always`` (D,) are features that are selected in any case.
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
        """Return the first ``wanted`` features (D,) of an order, less units that do not fit."""
        chosen = np.zeros(len(order), dtype=bool)
        for feature in order:
            own = self._unit == self._unit[feature]
            own = own if self._unit[feature] >= 0 else np.arange(len(order)) == feature
            if not chosen[feature] and chosen.sum() + own.sum() <= wanted:
                chosen |= own
        return chosen

    def _features(self, units: list[int]) -> list[int]:
        """Return the features of units, in their order."""
        return [int(one) for unit in units for one in np.flatnonzero(self._unit == unit)]

    def _order(self, units: list[int], always: BoolArray) -> IntArray:
        """Return all features in the order of their units; ``always`` first, constants last."""
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
    """Return both answers for the columns of X, (n, D) dense or sparse.

    ``unit`` (D,) is the unit of each column, -1 for those that do not count. ``target`` (n,) holds
    classes if they are integers, else numbers; each fold has equal shares of the ``strata`` (n,).
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
    """Return the rows that have a weight, in their order; if they are many, some of them."""
    rows = np.flatnonzero(weight > 0)
    if len(rows) <= _MOST_ROWS:
        return rows
    draws = UniformRows(seed, Purpose.SAMPLE, 0, 0, 1).read(0, len(rows))[:, 0]
    return np.sort(rows[np.argsort(draws, kind="stable")[:_MOST_ROWS]])


def _parts(unit: IntArray) -> list[IntArray]:
    """Return columns of whole units, about this many at a time."""
    order = np.argsort(unit, kind="stable")
    order = order[unit[order] >= 0]
    if not len(order):
        return []
    starts = np.flatnonzero(np.diff(unit[order], prepend=-1))
    first_of_part = np.diff(starts // _MOST_FEATURES, prepend=0) > 0
    return np.split(order, starts[first_of_part])


def _best_columns(unit: IntArray, log_p: FloatArray) -> IntArray:
    """Return the columns of the units of the least p-values, as many as are compared, in order."""
    counts = np.bincount(unit[unit >= 0], minlength=len(log_p))
    order = np.argsort(log_p, kind="stable")
    best = order[np.cumsum(counts[order]) <= _MOST_FEATURES]
    best = best if len(best) else order[:1]
    return np.flatnonzero(np.isin(unit, best))


def _folds(strata: IntArray, seed: int) -> list[IntArray]:
    """Return the rows held out, stratified; with few rows, folds are drawn more than once."""
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


# -- The fewest units that suffice, and which may replace which, on plain NumPy arrays --------

# The share of the units that leaves at a step; at least one does.
_LEAVING = 1 / 6
# Columns of the model: at most this share of the rows, or this many.
_MOST_SHARE, _MOST_COLUMNS = 1 / 3, 500
# A unit bends if its bent columns are this improbable beyond all straight ones.
_BENDING = 0.05
# Units less similar than this (by their largest canonical correlation) are no twins.
_LEAST_ALIKE = 0.7
# How many units are tried that one may replace: the most similar ones.
_MOST_TRIED = 3
# One may replace another if the loss rises by at most this many standard errors.
_TWIN_ERRORS = 2.0
# A thousandth of the explained part is nothing: where fits are perfect, the ridge does as much.
_NOTHING = 1e-3


@dataclass(frozen=True)
class Sufficient:
    """Units from the most to the least needed, how many suffice, and which may replace them.

    Each list of ``twins`` begins with one that is needed; each of the others may take its place.
    """

    order: list[int]
    n_enough: int
    twins: list[list[int]]


def fewest(
    units: UnitColumns,
    target: FloatArray,
    candidates: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    folds: Sequence[IntArray],
    n_rows: float,
) -> Sufficient:
    """Return how many of the candidates (best first) suffice, in which order, and their twins.

    ``folds`` are rows held out. Without folds, all candidates are needed.
    """
    if len(candidates) < 2 or not folds:
        return Sufficient(list(candidates), len(candidates), [])
    model = _Model(units, _columns_used(units, target, candidates, n_rows), pairs, n_rows)
    path = model.path(_Sums.of(model.columns, target), candidates)
    held_out = [_Fold(model, target, rows) for rows in folds]
    paths = [model.path(fold.sums, candidates) for fold in held_out]
    losses = [_losses(held_out, [one[step] for one in paths]) for step in range(len(path))]
    best = min(losses, key=np.sum)
    held = np.concatenate(folds)
    nothing = _NOTHING * max(0.0, float(np.sum(target[held] ** 2) - np.sum(best)))
    n_enough = min(
        len(kept)
        for kept, loss in zip(path, losses, strict=True)
        if _is_within(loss - best, 1.0, nothing)
    )
    order = _needed_first(path)
    return Sufficient(order, n_enough, _twins(units, held_out, order, n_enough, nothing))


def _columns_used(
    units: UnitColumns, target: FloatArray, candidates: Sequence[int], n_rows: float
) -> IntArray:
    """Return the straight columns of the candidates, and the bent ones of units that do bend.

    Columns that explain nothing would hide which of several correlated units is needed.
    """
    straight = units.of(candidates, straight=True)
    basis = orthonormal(units.columns[:, straight])
    left = orthonormal_beyond(target, basis)
    trace, width = np.zeros(len(candidates)), np.zeros(len(candidates))
    for position, unit in enumerate(candidates):
        bent = np.setdiff1d(units.of([unit]), straight)
        own = orthonormal_beyond(units.columns[:, bent], basis)
        trace[position], width[position] = np.sum((own.T @ left) ** 2), own.shape[1]
    n_left = n_rows - 1 - len(straight) - width
    bends = pillai_log_p(trace, width, left.shape[1], n_left) < np.log(_BENDING)
    used = np.union1d(
        straight, units.of([unit for unit, yes in zip(candidates, bends, strict=True) if yes])
    )
    return used if len(used) <= min(_MOST_SHARE * n_rows, _MOST_COLUMNS) else straight


def _needed_first(path: list[list[int]]) -> list[int]:
    order: list[int] = []
    for kept in reversed(path):
        order += [unit for unit in kept if unit not in order]
    return order


def _is_within(difference: FloatArray, n_errors: float, nothing: float) -> bool:
    """Return whether differences (n,) sum to nothing, or to a few of their standard errors."""
    error = np.sqrt(len(difference)) * difference.std()
    return bool(difference.sum() <= max(n_errors * error, nothing))


# -- paths ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sums:
    """The sums over rows that least squares needs: products of columns, and with the target."""

    gram: FloatArray
    moments: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, columns: FloatArray, target: FloatArray) -> _Sums:
        return cls(columns.T @ columns, columns.T @ target, target.T @ target)


class _Model:
    """A linear model of units, whose columns leave with either unit that they are made of."""

    def __init__(
        self, units: UnitColumns, inside: IntArray, pairs: Sequence[tuple[int, int]], n_rows: float
    ) -> None:
        columns, first, second = [units.columns[:, inside]], [units.unit[inside]], []
        second.append(first[0])
        there = set(first[0].tolist())
        for one, other in pairs:
            if one in there and other in there:
                columns.append(_product(units, one, other))
                first.append(np.full(columns[-1].shape[1], one))
                second.append(np.full(columns[-1].shape[1], other))
        # The constant is a column too, for the folds have means of their own.
        self.columns = np.hstack([units.root[:, None], *columns])
        self.ridge = 1.0 / n_rows
        self._n_rows = n_rows
        self._first = np.concatenate([[-1], *first])
        self._second = np.concatenate([[-1], *second])

    def inside(self, kept: Sequence[int]) -> IntArray:
        """Return the constant, and the columns that are made of these units alone."""
        allowed = [-1, *kept]
        return np.flatnonzero(np.isin(self._first, allowed) & np.isin(self._second, allowed))

    def path(self, sums: _Sums, candidates: Sequence[int]) -> list[list[int]]:
        """Return falling subsets of the units; within each, what matters more comes first."""
        kept, path = list(candidates), []
        while len(kept) > 1:
            # Copies differ by rounding, which decides nothing.
            order = np.argsort(np.round(self._log_p(sums, kept), 4), kind="stable")
            path.append([kept[one] for one in order])
            staying = set(path[-1][: len(kept) - max(1, int(_LEAVING * len(kept)))])
            kept = [unit for unit in kept if unit in staying]
        return [*path, kept]

    def _log_p(self, sums: _Sums, kept: Sequence[int]) -> FloatArray:
        """Return the log p-value of each unit beyond the others that are kept."""
        inside = self.inside(kept)
        first, second = self._first[inside], self._second[inside]
        trace, width = block_traces(
            sums.gram[np.ix_(inside, inside)],
            sums.moments[inside],
            sums.squares,
            [(first == unit) | (second == unit) for unit in kept],
            self.ridge,
        )
        return pillai_log_p(trace, width, len(sums.squares), self._n_rows - len(inside))


def _product(units: UnitColumns, one: int, other: int) -> FloatArray:
    first = units.ranks[:, units.rank_unit == one]
    second = units.ranks[:, units.rank_unit == other]
    product = (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)
    product = (product - units.root**2 @ product) * units.root[:, None]
    length = np.sqrt(np.sum(product**2, axis=0))
    return product[:, length > 0] / length[length > 0]


# -- rows held out -------------------------------------------------------------------------------


class _Fold:
    """Fits without some rows, and the losses of these."""

    def __init__(self, model: _Model, target: FloatArray, rows: IntArray) -> None:
        others = np.setdiff1d(np.arange(len(target)), rows)
        self.rows, self.n_rows = rows, len(target)
        self.sums = _Sums.of(model.columns[others], target[others])
        self._model = model
        self._columns, self._target = model.columns[rows], target[rows]

    def losses(self, kept: Sequence[int]) -> FloatArray:
        """Return the squared errors of the rows held out, times their weights."""
        inside = self._model.inside(kept)
        gram = self.sums.gram[np.ix_(inside, inside)] + self._model.ridge * np.eye(len(inside))
        coef = np.linalg.solve(gram, self.sums.moments[inside])
        return np.sum((self._target - self._columns[:, inside] @ coef) ** 2, axis=1)


def _losses(folds: Sequence[_Fold], kept: Sequence[Sequence[int]]) -> FloatArray:
    """Return the losses (n,) of all rows, summed over the folds that hold them out."""
    total = np.zeros(folds[0].n_rows)
    for fold, units in zip(folds, kept, strict=True):
        total[fold.rows] += fold.losses(units)
    return total


def _twins(
    units: UnitColumns, folds: Sequence[_Fold], order: list[int], n_enough: int, nothing: float
) -> list[list[int]]:
    """Return lists of a needed unit and all those that may replace it, where there are any."""
    needed = order[:n_enough]
    groups = {unit: [unit] for unit in needed}
    here = _losses(folds, [needed] * len(folds))
    for other in order[n_enough:]:
        alike = {unit: _likeness(units, unit, other) for unit in needed}
        nearest = sorted(needed, key=lambda unit: -alike[unit])[:_MOST_TRIED]
        rises: dict[int, float] = {}
        for unit in nearest:
            swapped = [other if one == unit else one for one in needed]
            if alike[unit] >= _LEAST_ALIKE:
                rise = _losses(folds, [swapped] * len(folds)) - here
                if _is_within(rise, _TWIN_ERRORS, nothing):
                    rises[unit] = float(rise.sum())
        if rises:
            groups[min(rises, key=lambda unit: rises[unit])].append(other)
    return [group for group in groups.values() if len(group) > 1]


def _likeness(units: UnitColumns, one: int, other: int) -> float:
    """Return the largest canonical correlation of two units' columns."""
    product = units.columns[:, units.unit == one].T @ units.columns[:, units.unit == other]
    return float(np.linalg.norm(product, 2)) if product.size else 0.0
