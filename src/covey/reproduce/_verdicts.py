"""A claim, the cases that it is about, and what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from covey.reproduce._results import Interval, interval, known_values, wilcoxon

# One setting in twenty disagrees by chance: fewer than this share of them decide nothing.
LEAST_SHARE = 0.2
# With fewer runs than this a claim gets no verdict: those of ten runs and of a hundred differ.
ENOUGH_RUNS = 50
TOO_FEW, RULE, STAND_INS = "not enough runs", "depends on the rule for K", "depends on stand-ins"
# What may become of a claim, in the order of a summary.
VERDICTS = (
    "holds",
    "depends on (thr, η)",
    RULE,
    STAND_INS,
    "not shown",
    "does not hold",
    TOO_FEW,
)


@dataclass(frozen=True)
class Case:
    """One comparison that a claim is about."""

    label: str
    # What should be positive, in points of relative improvement.
    difference: Interval
    # Of Wilcoxon's signed-rank test, or of Welch's for runs that are not paired; where runs are
    # splits that share rows, of Student's or Welch's test corrected for that.
    p: float
    # Whether it is about a table that stands in for one of the paper's.
    stand_in: bool = False

    @property
    def verdict(self) -> str:
        return {1: "holds", 0: "not shown", -1: "does not hold"}[self.difference.sign]


@dataclass(frozen=True)
class Evidence:
    """What speaks for a claim and against it, under one rule for K."""

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

    @property
    def on_own_tables(self) -> Evidence:
        """The same without tables that stand in for others."""
        left_out = {case.label for case in self.cases if case.stand_in}
        return Evidence(
            [case for case in self.cases if not case.stand_in],
            [one for one in self.grid if one[0] not in left_out],
        )

    @property
    def text(self) -> str:
        """The verdict, and what stand-ins have to do with it."""
        own = self.on_own_tables
        if len(own.cases) == len(self.cases):
            return self.verdict
        if not own.cases:
            return f"{self.verdict}, by stand-ins alone"
        if own.verdict == self.verdict:
            return self.verdict
        return f"{own.verdict} on the paper's own tables, {self.verdict} with stand-ins"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and what became of it."""

    text: str
    where: str
    by_rule: dict[str, Evidence]  # by the name of a rule for K; the first is that of the page
    enough_runs: bool = True

    @property
    def evidence(self) -> Evidence:
        """What there is under the rule of the page."""
        return next(iter(self.by_rule.values()))

    @property
    def kind(self) -> str:
        """The verdict, one of `VERDICTS`."""
        if not self.enough_runs:
            return TOO_FEW
        texts = {evidence.text for evidence in self.by_rule.values()}
        if len(texts) > 1:
            return RULE
        own = self.evidence.on_own_tables
        if own.cases and own.verdict != self.evidence.verdict:
            return STAND_INS
        return self.evidence.verdict

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if self.kind != RULE:
            return TOO_FEW if self.kind == TOO_FEW else self.evidence.text
        rules: dict[str, list[str]] = {}
        for rule, evidence in self.by_rule.items():
            rules.setdefault(evidence.text, []).append(rule)
        found = "; ".join(f"{text} ({', or '.join(named)})" for text, named in rules.items())
        return f"{RULE}: {found}"


def paired(
    label: str, differences: ArrayLike, overlap: float = 0.0, *, stand_in: bool = False
) -> Case:
    """A case of differences run by run.

    ``overlap`` is test rows / training rows where runs are splits of the same rows.
    """
    difference = interval(differences, overlap)
    if not overlap:
        return Case(label, difference, wilcoxon(differences), stand_in)
    # A rank test takes runs for independent, which these are not.
    values = known_values(differences)
    if len(values) < 2:
        return Case(label, difference, 1.0, stand_in)
    error = values.std(ddof=1) * np.sqrt(1 / len(values) + overlap)
    return Case(label, difference, _p(float(values.mean()), error, len(values) - 1), stand_in)


def unpaired(
    label: str,
    more: ArrayLike,
    less: ArrayLike,
    overlap: float = 0.0,
    *,
    stand_in: bool = False,
) -> Case:
    """A case of the difference of two means over different runs, by Welch's test."""
    more, less = known_values(more), known_values(less)
    if min(len(more), len(less)) < 3:
        return Case(label, Interval(np.nan, np.nan), 1.0, stand_in)
    apart = float(more.mean() - less.mean())
    shares, plain = (
        np.array([values.var(ddof=1) * (1 / len(values) + extra) for values in (more, less)])
        for extra in (overlap, 0.0)
    )
    if not shares.any():  # no run differs from another: nothing is left to chance
        return Case(label, Interval(apart, 0.0), float(apart == 0), stand_in)
    half, uncorrected = (
        float(stats.t.ppf(0.975, _freedom(part, more, less)) * np.sqrt(part.sum()))
        for part in (shares, plain)
    )
    p = _p(apart, np.sqrt(shares.sum()), _freedom(shares, more, less))
    return Case(label, Interval(apart, half, uncorrected if overlap else None), p, stand_in)


def _freedom(shares: np.ndarray, more: np.ndarray, less: np.ndarray) -> float:
    return shares.sum() ** 2 / (shares**2 / [len(more) - 1, len(less) - 1]).sum()


def _p(apart: float, error: float, freedom: float) -> float:
    if not error:
        return float(apart == 0)
    return float(2 * stats.t.sf(abs(apart) / error, freedom))
