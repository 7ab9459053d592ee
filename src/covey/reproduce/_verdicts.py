"""A claim, the cases that it is about, and what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from covey.reproduce._results import Interval, interval, known_values, wilcoxon

# One setting in twenty disagrees by chance: fewer than this share of them decide nothing.
LEAST_SHARE = 0.2


@dataclass(frozen=True)
class Case:
    """One comparison that a claim is about."""

    label: str
    # What should be positive, in points of relative improvement.
    difference: Interval
    # Of Wilcoxon's signed-rank test, or of Welch's for runs that are not paired; where runs are
    # splits that share rows, of Student's or Welch's test corrected for that.
    p: float

    @property
    def verdict(self) -> str:
        return {1: "holds", 0: "not shown", -1: "does not hold"}[self.difference.sign]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and what became of it."""

    text: str
    where: str
    cases: list[Case]  # at the common constants
    # For each setting of (thr, eta) that was tried and each data set: its name, and 1 where the
    # claim holds beyond its interval, -1 where its opposite does, else 0.
    grid: list[tuple[str, int]] = field(default_factory=list)

    def _elsewhere(self, sign: int) -> set[str]:
        """The cases that have this sign at no less than a fifth of the settings tried."""
        labels = {label for label, _ in self.grid}
        return {
            label
            for label in labels
            if np.mean([found == sign for name, found in self.grid if name == label])
            >= LEAST_SHARE
        }

    @property
    def verdict(self) -> str:
        """Holds, not shown, does not hold, or depends on (thr, eta)."""
        if not self.cases:
            return "not shown"
        failing = {case.label for case in self.cases if case.difference.sign <= 0}
        if failing & self._elsewhere(1) or (not failing and self._elsewhere(-1)):
            return "depends on (thr, η)"
        if not failing:
            return "holds"
        against = any(case.difference.sign < 0 for case in self.cases)
        return "does not hold" if against else "not shown"


def paired(label: str, differences: ArrayLike, overlap: float = 0.0) -> Case:
    """A case of differences run by run.

    ``overlap`` is test rows / training rows where runs are splits of the same rows.
    """
    difference = interval(differences, overlap)
    if not overlap:
        return Case(label, difference, wilcoxon(differences))
    # A rank test takes runs for independent, which these are not.
    values = known_values(differences)
    if len(values) < 2:
        return Case(label, difference, 1.0)
    error = values.std(ddof=1) * np.sqrt(1 / len(values) + overlap)
    return Case(label, difference, _p(float(values.mean()), error, len(values) - 1))


def unpaired(label: str, more: ArrayLike, less: ArrayLike, overlap: float = 0.0) -> Case:
    """A case of the difference of two means over different runs, by Welch's test."""
    more, less = known_values(more), known_values(less)
    if min(len(more), len(less)) < 3:
        return Case(label, Interval(np.nan, np.nan), 1.0)
    apart = float(more.mean() - less.mean())
    shares, plain = (
        np.array([values.var(ddof=1) * (1 / len(values) + extra) for values in (more, less)])
        for extra in (overlap, 0.0)
    )
    if not shares.any():  # no run differs from another: nothing is left to chance
        return Case(label, Interval(apart, 0.0), float(apart == 0))
    half, uncorrected = (
        float(stats.t.ppf(0.975, _freedom(part, more, less)) * np.sqrt(part.sum()))
        for part in (shares, plain)
    )
    p = _p(apart, np.sqrt(shares.sum()), _freedom(shares, more, less))
    return Case(label, Interval(apart, half, uncorrected if overlap else None), p)


def _freedom(shares: np.ndarray, more: np.ndarray, less: np.ndarray) -> float:
    return shares.sum() ** 2 / (shares**2 / [len(more) - 1, len(less) - 1]).sum()


def _p(apart: float, error: float, freedom: float) -> float:
    if not error:
        return float(apart == 0)
    return float(2 * stats.t.sf(abs(apart) / error, freedom))
