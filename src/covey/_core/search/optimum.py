"""The optimum of a stack of runs: gated members of one family, on folds or on all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from covey._core.algorithm1.trainer import StackTrainer
from covey._core.arrays import Array, BoolArray, FloatArray, IntArray, like, namespace_of, to_host
from covey._core.gating.gate import GatedObjective, Parts, contrast, of_two_classes
from covey._core.gating.paths import FeatureColumns
from covey._core.journal import ProgressJournal
from covey._core.lbfgs import minimise
from covey._core.search.block import Kind, SearchBlock
from covey._core.search.families import Family
from covey._core.search.rows import SearchRows


class Starts:
    """Members that Algorithm 1 grew on the features, for all runs at once; more on demand.

    The runs are the folds and then the restarts on all rows. A larger group starts from the
    members of a smaller one and some more, so that each member is grown once. All bases begin
    with the features, so that groups on any of them can start from the same members: their ramps
    and products have the coefficient 0 at first. The members were grown on some columns (None:
    all) of the ``features``.
    """

    def __init__(
        self, trainer: StackTrainer, columns: IntArray | None, features: FeatureColumns
    ) -> None:
        self._trainer = trainer
        self._columns, self._features = columns, features
        self._theta: list[FloatArray] = []
        self._intercept: list[FloatArray] = []
        self._units: list[BoolArray] = []
        self._grown: list[list[tuple[int, Any]]] = []

    def of(
        self, n_members: int, runs: IntArray, basis: FeatureColumns
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Theta (R, K, C, P), intercepts (R, K, C) and subsets (R, K, P) of some runs.

        They are those of members on the columns of a basis.
        """
        while len(self._theta) < n_members:
            grown = self._trainer.grow()
            theta, support = to_host(grown.theta), grown.support
            if self._columns is not None:
                theta, support = (
                    widened(values, self._columns, self._features.n_columns)
                    for values in (theta, support)
                )
            self._theta.append(theta)
            self._intercept.append(to_host(grown.intercept))
            self._units.append(self._features.units(support))
            self._grown.append(
                [(int(n), past) for n, past in zip(grown.n_iter, grown.history, strict=True)]
            )
        theta = np.stack([part[:, runs] for part in self._theta[:n_members]])
        intercept = np.stack([part[:, runs] for part in self._intercept[:n_members]])
        units = np.stack([part[runs] for part in self._units[:n_members]], axis=1)
        first = np.arange(self._features.n_columns)
        return (
            widened(theta.transpose(2, 0, 1, 3), first, basis.n_columns),
            intercept.transpose(2, 0, 1),
            basis.columns(units),
        )

    def history(self, n_members: int, run: int) -> list[tuple[int, Any]]:
        """How the members of one run were grown."""
        return [grown[run] for grown in self._grown[:n_members]]


def widened(values: Array, columns: IntArray, n_columns: int) -> Array:
    """Values (..., p) of some columns, among all of them; zero elsewhere."""
    wide = np.zeros((*values.shape[:-1], n_columns), dtype=values.dtype)
    wide[..., columns] = values
    return wide


# Products with a copy of the columns in use are worth it where at least so many numbers, rows
# times columns, are left out.
_LEFT_OUT = 1 << 17
# And they take memory: where more than this share of the columns is in use, all are.
_MOST_COPIED = 0.75

#: `Parts` as arrays of NumPy.
HostParts = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True)
class FitPlan:
    """What all fits of candidates to one table have in common.

    The rows are split into ``n_parts`` folds, and a candidate is fitted ``n_restarts`` times on
    all rows, each time from a start of its own. Members keep ``sizes`` units of features along a
    path, and at most ``most_features`` features. With ``ends_early``, a path ends where fewer
    features have become hopeless. With ``single``, folds are fitted in single precision where the
    data allows it. With ``keeps_folds``, the groups of all folds are kept, for others to be
    compared with. ``toward_mean`` is how much the members of a group are drawn to a common model:
    see `GatedObjective`. Penalties are multiplied with ``penalty_factor``.
    """

    n_parts: int
    n_restarts: int
    max_iter: int  # iterations at the first point of a path
    path_iter: int  # and at later ones
    sizes: Sequence[int]
    most_features: int
    ends_early: bool
    fit_intercept: bool
    toward_mean: float = 0.0
    penalty_factor: float = 1.0
    single: bool = True
    keeps_folds: bool = False
    on_iteration: Callable[[], None] | None = None
    journal: ProgressJournal | None = None


class Optimum:
    """Finds where runs of a family end, from where they start.

    A block of the rows has at most ``n_rows``.
    """

    def __init__(self, rows: SearchRows, n_rows: int, plan: FitPlan) -> None:
        self._rows, self._n_rows, self._plan = rows, n_rows, plan
        self._with_totals: set[tuple[bool, bool]] = set()

    def __call__(
        self,
        family: Family,
        kind: Kind,
        runs: IntArray,
        alpha: FloatArray,
        start: HostParts,
        support: BoolArray,
        gate_support: BoolArray | None,
        max_iter: int,
        restricts: bool = True,
    ) -> tuple[Parts, IntArray]:
        """Where runs (r,) of a family end, and after how many iterations.

        With ``restricts``, the columns in use may be copied for products that take less time.
        """
        rows, plan, of_runs = self._rows, self._plan, (kind.folds, kind.single)
        if of_runs not in self._with_totals:
            (total,) = rows.sum(SearchBlock.run_totals, *of_runs)
            rows.broadcast(SearchBlock.set_totals, *of_runs, total)
            self._with_totals.add(of_runs)
        shape = start[0].shape[3], start[2].shape[2]
        used = None
        if restricts and rows.restricts:
            used = self._used(family, shape, support, gate_support)
        if used is not None:
            columns, gate_columns = used
            kind = replace(kind, restricted=True)
            rows.broadcast(SearchBlock.restrict, kind, *used)
            theta, intercept, gate, gate_intercept = start
            start = theta[..., columns], intercept, gate[..., gate_columns], gate_intercept
            support = support[..., columns]
            gate_support = None if gate_support is None else gate_support[..., gate_columns]
        n_outputs = rows.n_classes
        if n_outputs == 2:
            # One number for both classes takes half of the products, and finds the same.
            n_outputs = 1
            start = contrast(start[0], 2), contrast(start[1], 2), *start[2:]
        xp = namespace_of(rows.like)
        dtype = xp.float32 if kind.single else xp.float64
        objective = GatedObjective(
            lambda parts, which: rows.sum(
                SearchBlock.value_and_gradient, kind, runs[which], parts
            ),
            like(rows.like, alpha * plan.penalty_factor, dtype),
            family.n_members,
            n_outputs,
            start[0].shape[3],
            start[2].shape[2],
            support=None if support.all() else like(rows.like, support, dtype),
            gate_support=None
            if gate_support is None or gate_support.all()
            else like(rows.like, gate_support, dtype),
            fit_intercept=plan.fit_intercept,
            toward_mean=plan.toward_mean if family.n_members > 1 else 0.0,
        )
        packed = np.concatenate([part.reshape(len(runs), -1) for part in start], axis=1)
        found = minimise(
            objective,
            like(rows.like, packed, dtype),
            max_iter=max_iter,
            tol=1e-4,
            memory=6,
            journal=plan.journal,
            on_iteration=plan.on_iteration,
        )
        parts = objective.within(found.x, np.arange(len(runs)))
        if n_outputs < rows.n_classes:
            parts = of_two_classes(parts[0], 2), of_two_classes(parts[1], 2), *parts[2:]
        if used is not None:
            of_members, of_gate = (
                widened(part, columns, n_columns)
                for part, columns, n_columns in zip(parts[::2], used, shape, strict=True)
            )
            parts = of_members, parts[1], of_gate, parts[3]
        return parts, found.n_iter

    def _used(
        self,
        family: Family,
        shape: tuple[int, int],
        support: BoolArray,
        gate_support: BoolArray | None,
    ) -> tuple[IntArray, IntArray] | None:
        """The columns of members and gate that any run uses, if it is worth to copy them."""
        columns = np.flatnonzero(support.any(axis=(0, 1)))
        gate_columns = np.arange(shape[1])
        if family.n_members == 1:
            # One member is always asked.
            gate_columns = gate_columns[:0]
        elif gate_support is not None:
            gate_columns = np.flatnonzero(gate_support.any(axis=0))
        columns, gate_columns = (
            np.arange(n_columns) if len(used) > _MOST_COPIED * n_columns else used
            for used, n_columns in zip((columns, gate_columns), shape, strict=True)
        )
        left_out = shape[0] - len(columns) + shape[1] - len(gate_columns)
        return None if left_out * self._n_rows < _LEFT_OUT else (columns, gate_columns)


def on_host(parts: Parts) -> HostParts:
    """Parts as arrays of NumPy in double precision."""
    theta, intercept, gate, gate_intercept = (
        np.asarray(to_host(part), dtype=np.float64) for part in parts
    )
    return theta, intercept, gate, gate_intercept
