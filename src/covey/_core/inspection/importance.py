"""The rise of the loss when a column is not known, by permutation among similar rows.

A unit is one column of the user's table, and one or several columns of numbers are made of it. A
row keeps all others and takes those of the unit from a few other rows that are similar in the
rest. The mean of the model's predictions then is what it can know without the unit: where its
probabilities, or numbers, are right, no other prediction without the unit is better. So the loss
rises by as much as it does when the model is fitted again without the unit, and a unit that others
can replace is worth little by itself. Such units are also measured together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.stats import rankdata

from covey._core.arrays import BoolArray, FloatArray, IntArray
from covey._core.gating.gate import Groups
from covey._core.random import Purpose, UniformRows

# From how many similar rows each row takes the values of a unit.
N_DRAWS = 4
# The least penalty of the regressions that say which rows are similar.
_RIDGE = 0.01
# Predictions of units that agree to this many digits are equal.
_DIGITS = 9
# Two units may replace each other if one of them explains this share of the other, and if none of
# a group is worth this share of the whole group by itself.
_ALIKE, _MOST_ALONE = 0.8, 0.5
# How many standard errors the worth of a group must be above zero.
_SURE = 2.0
# A probability of a true class below this counts as this.
_FLOOR = 1e-12


class Answers(Protocol):
    """A model's predictions of rows that it was not fitted on, (n, C); C is 1 for numbers."""

    @property
    def rows(self) -> IntArray:
        """The positions of these rows, (n,)."""

    def known(self) -> FloatArray:
        """Return the predictions of the rows as they are."""

    def without(self, units: IntArray, donors: IntArray) -> FloatArray:
        """Return mean predictions with the units of each of the donors (m, n) instead."""


@dataclass(frozen=True)
class PlainAnswers:
    """Answers of any function of rows; ``replaced(rows, units, donors)`` makes the rows."""

    predict: Callable[[Any], FloatArray]
    replaced: Callable[[IntArray, IntArray, IntArray], Any]
    rows: IntArray

    def known(self) -> FloatArray:
        """Return the predictions of the rows as they are."""
        nothing = np.zeros(0, dtype=np.int64)
        return self._of(self.replaced(self.rows, nothing, self.rows))

    def without(self, units: IntArray, donors: IntArray) -> FloatArray:
        """Return mean predictions with the units of each of the donors (m, n) instead."""
        rows = np.tile(self.rows, len(donors))
        predicted = self._of(self.replaced(rows, units, donors.ravel()))
        return predicted.reshape(*donors.shape, -1).mean(axis=0)

    def _of(self, table: Any) -> FloatArray:
        predicted = np.asarray(self.predict(table), dtype=np.float64)
        return predicted.reshape(len(predicted), -1)


def replaced_in(
    numbers: FloatArray, unit: IntArray
) -> Callable[[IntArray, IntArray, IntArray], FloatArray]:
    """Return the rows of an array (n, P) with columns of units (P,) from others."""

    def replaced(rows: IntArray, units: IntArray, donors: IntArray) -> FloatArray:
        table = numbers[rows]
        columns = np.flatnonzero(_among(unit, units))
        table[:, columns] = numbers[donors][:, columns]
        return table

    return replaced


class GatedAnswers:
    """Answers of gated groups of linear members: only columns of a changed unit are computed.

    ``numbers`` (n_rows, D) are the features of all rows and ``unit`` (D,) their units; members
    have coefficients (K, C, P) and intercepts (K, C) on the basis of the gates.
    """

    def __init__(
        self,
        groups: Groups,
        coef: FloatArray,
        intercept: FloatArray,
        numbers: FloatArray,
        unit: IntArray,
        rows: IntArray,
        *,
        is_value: bool,
    ) -> None:
        self.rows = rows
        self._groups, self._unit = groups, unit
        self._shape, self._is_value = coef.shape[:2], is_value
        basis, every = (
            groups.basis,
            np.concatenate([coef.reshape(-1, coef.shape[-1]), groups.coef]),
        )
        used = np.flatnonzero(every.any(axis=0))
        self._coef, self._feature, self._partner = (
            every[:, used],
            basis.feature[used],
            basis.partner[used],
        )
        # The columns of all rows, and the features as products see them.
        self._columns = np.asarray(basis.rows(numbers)).T[used]
        inside = numbers.T if basis.seen is None else np.clip(numbers.T, *basis.seen[:, :, None])
        self._factors = inside - basis.center[:, None]
        biases = np.concatenate([intercept.ravel(), groups.intercept])
        self._logits = self._coef @ self._columns[:, rows] + biases[:, None]

    def known(self) -> FloatArray:
        """Return the predictions of the rows as they are."""
        return self._fused(self._logits.copy()).T

    def without(self, units: IntArray, donors: IntArray) -> FloatArray:
        """Return mean predictions with the units of each of the donors (m, n) instead."""
        changed = _among(self._unit, units)
        paired = self._partner >= 0
        moved = np.flatnonzero(changed[self._feature] | (changed[self._partner] & paired))
        if not len(moved):
            return self.known()
        after = self._columns[moved][:, donors]
        for place in np.flatnonzero(paired[moved]):
            factors = [
                self._factors[of, donors] if changed[of] else self._factors[of, self.rows]
                for of in (self._feature[moved[place]], self._partner[moved[place]])
            ]
            after[place] = factors[0] * factors[1]
        after -= self._columns[moved][:, None, self.rows]
        logits = (self._coef[:, moved] @ after.reshape(len(moved), -1)).reshape(-1, *donors.shape)
        logits += self._logits[:, None]
        fused = self._fused(logits.reshape(len(logits), -1))
        return fused.reshape(-1, *donors.shape).mean(axis=1).T

    def _fused(self, logits: FloatArray) -> FloatArray:
        n_gates = len(self._groups.coef)
        members = logits[:-n_gates].reshape(*self._shape, -1)
        fuse = self._groups.mean if self._is_value else self._groups.probabilities
        return fuse(members, logits[-n_gates:])


def _among(unit: IntArray, units: IntArray) -> BoolArray:
    """Return which columns are made of these units."""
    chosen = np.zeros(max(unit.max(initial=0), units.max(initial=0)) + 1, dtype=bool)
    chosen[units] = True
    return chosen[unit]


class AlikeRows:
    """A search for rows that are similar in all units but some.

    The columns (n, P) are ranked and standardized to Z. Those of some units U are predicted from
    all others by ridge regression: with Omega the inverse of their penalized correlations, the
    residuals are ``Z Omega[:, U] Omega[U, U]^-1``. Rows that stand next to each other in the order
    of the prediction (of several columns, of its first principal component) are similar: their
    values of U are values that the other units allow.
    """

    def __init__(self, numbers: FloatArray, unit: IntArray, seed: int) -> None:
        n_rows, n_columns = numbers.shape
        ranks = rankdata(numbers, axis=0)
        ranks -= ranks.mean(axis=0)
        scale = ranks.std(axis=0)
        self._ranks = ranks / np.where(scale > 0, scale, 1.0)
        self._unit = unit
        # These order rows that are equally similar.
        self._draws = UniformRows(seed, Purpose.EXPLAIN, 1, 0, 1).read(0, n_rows)[:, 0]
        self._correlation = self._ranks.T @ self._ranks / n_rows
        self._penalty = max(_RIDGE, n_columns / n_rows)
        self._inverse = np.linalg.inv(self._correlation + self._penalty * np.eye(n_columns))
        self._pushed = self._ranks @ self._inverse

    def donors(self, units: IntArray) -> IntArray:
        """Return the rows (m, n) from which each row may take the columns of these units."""
        n_rows = len(self._ranks)
        order = np.lexsort((self._draws, self._expected(units)))
        n_draws = min(N_DRAWS, n_rows - 1)
        place = np.arange(n_rows)
        first = np.clip(place - n_draws // 2, 0, n_rows - 1 - n_draws)
        near = first + np.arange(n_draws)[:, None]
        near += near >= place  # a row is no donor of itself
        found = np.empty_like(near)
        found[:, order] = order[near]
        return found

    def _expected(self, units: IntArray) -> FloatArray:
        own = np.flatnonzero(_among(self._unit, units))
        residual = self._pushed[:, own] @ np.linalg.inv(self._inverse[np.ix_(own, own)])
        expected = self._ranks[:, own] - residual
        if len(own) > 1:
            _, axes = np.linalg.eigh(expected.T @ expected)
            axis = axes[:, -1] * np.sign(axes[np.abs(axes[:, -1]).argmax(), -1])
            expected = expected @ axis[:, None]
        return np.round(expected[:, 0], _DIGITS)

    def twins(self, units: Sequence[int]) -> list[list[int]]:
        """Return groups of units of which one explains most of another."""
        columns = {one: np.flatnonzero(self._unit == one) for one in units}
        group = {one: [one] for one in units}
        closest = np.abs(self._correlation) >= _ALIKE / 2
        for one in units:
            near = np.unique(self._unit[closest[columns[one]].any(axis=0)]).tolist()
            for other in near:
                if other == one or other not in group or group[other] is group[one]:
                    continue
                if self._explained(columns[one], columns[other]) >= _ALIKE:
                    both = sorted(group[one] + group[other])
                    group |= dict.fromkeys(both, both)
        found = {tuple(members) for members in group.values() if len(members) > 1}
        return [list(members) for members in sorted(found)]

    def _explained(self, one: IntArray, other: IntArray) -> float:
        """Return the share of the variance of some columns that others explain."""
        across = self._correlation[np.ix_(one, other)]
        within = self._correlation[np.ix_(other, other)] + _RIDGE * np.eye(len(other))
        total = np.trace(self._correlation[np.ix_(one, one)])
        return float(np.trace(across @ np.linalg.solve(within, across.T)) / max(total, 1e-12))


@dataclass(frozen=True)
class Rises:
    """The rise of the loss, row by row, without each of D units."""

    loss: FloatArray  # (D, n), the rise of the loss
    points: FloatArray  # (D, n), the fall of being right; for numbers the rise of the loss
    together: list[list[int]]  # units that may replace each other


def rises(
    answers: Sequence[Answers],
    alike: AlikeRows,
    n_units: int,
    used: Sequence[int],
    truth: FloatArray | IntArray,
    spread: float | None,
) -> Rises:
    """Measure the units that are in use, and those together that may replace each other.

    ``truth`` (n,) are the codes of classes or, with the variance ``spread``, numbers. The loss of
    numbers is the squared error as a share of it. The worth of units together that may replace
    each other, beyond the worth of each by itself, is divided among them in equal parts (for two,
    this is their Shapley value).
    """
    n_rows = len(truth)
    count = np.zeros(n_rows)
    for one in answers:
        count[one.rows] += 1

    known = [_judged(one.known(), truth[one.rows], spread) for one in answers]

    def rise(units: Sequence[int]) -> FloatArray:
        found, which = np.zeros((2, n_rows)), np.array(units, dtype=np.int64)
        donors = alike.donors(which)
        for one, before in zip(answers, known, strict=True):
            predicted = one.without(which, donors[:, one.rows])
            found[:, one.rows] += _judged(predicted, truth[one.rows], spread) - before
        return found / np.maximum(count, 1)

    both = np.zeros((2, n_units, n_rows))
    for unit in used:
        both[:, unit] = rise([unit])
    together = []
    for group in alike.twins(used):
        whole = rise(group)
        alone = both[:, group].sum(axis=1)
        least = _SURE * whole[0].std() * np.sqrt(n_rows)
        if whole[0].sum() > max(least, alone[0].sum() / _MOST_ALONE):
            both[:, group] += ((whole - alone) / len(group))[:, None]
            together.append(group)
    return Rises(both[0], both[1], together)


def _judged(
    predicted: FloatArray, truth: FloatArray | IntArray, spread: float | None
) -> FloatArray:
    """Return the loss of each row and how far it is from being right, (2, n)."""
    if spread is not None:
        loss = (truth - predicted[:, 0]) ** 2 / spread
        return np.stack([loss, loss])
    of_truth = predicted[np.arange(len(truth)), truth]
    wrong = predicted.argmax(axis=1) != truth
    return np.stack([-np.log(np.maximum(of_truth, _FLOOR)), wrong.astype(np.float64)])
