"""Families of gated candidates, fitted as stacks of runs: on folds, and on all rows.

A candidate is a group of members on one basis with a gate over them. Candidates that differ in
their penalty only are a family; its penalties and folds are the runs of one stack, since they
share every matrix. What a candidate predicts of the rows that it was not fitted on gives it, by
`greedy_weights`, its weight; those with a weight above zero are fitted again on all rows. Of the
rows only sums are needed (`covey._core.search.rows`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from covey._core.algorithm1.trainer import StackTrainer
from covey._core.arrays import Array, BoolArray, FloatArray, IntArray, like, namespace_of, to_host
from covey._core.gating.gate import GatedObjective, Parts
from covey._core.journal import Journal
from covey._core.lbfgs import minimise
from covey._core.search.families import Family
from covey._core.search.rows import Kind, SearchBlock, SearchRows
from covey._core.search.selection import greedy_weights

# Numbers (members x classes x runs x rows) that are computed at once: runs beyond that wait.
# Larger stacks do not fit the cache and are slower for it.
_STACK_SIZE = 1 << 19


@dataclass
class Group:
    """A candidate fitted on all rows."""

    family: Family
    alpha: float
    theta: FloatArray  # (K, C, P), zero outside a member's subset
    intercept: FloatArray  # (K, C)
    support: BoolArray  # (K, P)
    gate: FloatArray  # (K, G), coefficients of what the gate sees
    gate_intercept: FloatArray  # (K,)
    n_iter: int  # of the optimizer
    grown: list[tuple[int, Any]]  # steps and history of each member; empty for a member alone


class _Starts:
    """Members that Algorithm 1 grew on one basis, for all runs at once; more on demand.

    The runs are the folds and then the restarts on all rows. A larger group starts from the
    members of a smaller one and some more, so that each member is grown once.
    """

    def __init__(self, trainer: StackTrainer) -> None:
        self._trainer = trainer
        self._theta: list[FloatArray] = []
        self._intercept: list[FloatArray] = []
        self._support: list[BoolArray] = []
        self._grown: list[list[tuple[int, Any]]] = []

    def of(self, n_members: int, runs: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Theta (R, K, C, P), intercepts (R, K, C) and subsets (R, K, P) of some runs."""
        while len(self._theta) < n_members:
            grown = self._trainer.grow()
            self._theta.append(to_host(grown.theta))
            self._intercept.append(to_host(grown.intercept))
            self._support.append(grown.support)
            self._grown.append(
                [(int(n), past) for n, past in zip(grown.n_iter, grown.history, strict=True)]
            )
        theta = np.stack([part[:, runs] for part in self._theta[:n_members]])
        intercept = np.stack([part[:, runs] for part in self._intercept[:n_members]])
        support = np.stack([part[runs] for part in self._support[:n_members]], axis=1)
        return (
            theta.transpose(2, 0, 1, 3),
            intercept.transpose(2, 0, 1),
            support.astype(np.float64),
        )

    def history(self, n_members: int, run: int) -> list[tuple[int, Any]]:
        """How the members of one run were grown."""
        return [grown[run] for grown in self._grown[:n_members]]


@dataclass
class _Fit:
    """Where some runs of a family ended."""

    kind: Kind
    chunk: IntArray  # their positions among all runs
    parts: Parts
    support: BoolArray  # (r, K, P)
    n_iter: IntArray


class CrossFit:
    """Fits families of candidates, on folds and on all rows.

    The rows are split into ``n_parts`` folds, their bases, of ``n_columns`` by name, standardized.
    A candidate is fitted ``n_restarts`` times on all rows, each time from a start of its own;
    ``trainer(basis)`` gives what grows members for runs on the folds, and then on all rows. With
    ``single``, folds are fitted in single precision where the data allows it.
    """

    def __init__(
        self,
        rows: SearchRows,
        n_columns: dict[str, int],
        *,
        n_parts: int,
        n_restarts: int,
        trainer: Callable[[str], StackTrainer],
        max_iter: int,
        fit_intercept: bool,
        journal: Journal | None = None,
        single: bool = True,
    ) -> None:
        self._rows = rows
        self._single = single
        self._n_columns = n_columns
        self._n_parts = n_parts
        self._n_restarts = n_restarts
        self._trainer = trainer
        self._starts: dict[str, _Starts] = {}
        self._max_iter = max_iter
        self._fit_intercept = fit_intercept
        self._journal = journal
        # The more rows a block has, the fewer runs it can work on at once.
        self._n_rows = max(1, int(rows.max(SearchBlock.n_rows)[0]))
        self._needs_double: dict[str, bool] = {}
        self._with_totals: set[tuple[bool, bool]] = set()
        self.n_candidates = 0

    def hold_out(self, family: Family) -> None:
        """Fit each penalty's candidate to every fold.

        What they predict of the rows that they were not fitted on stays in the blocks, for
        ``selected``.
        """
        n_alphas, n_parts = len(family.alphas), self._n_parts
        runs = np.tile(np.arange(n_parts), n_alphas)
        alpha = np.repeat(np.array(family.alphas), n_parts)
        single = self._single and not self._is_precise(family.basis)
        for fit in self._fits(family, runs, alpha, folds=True, single=single):
            candidates = self.n_candidates + fit.chunk // n_parts
            self._rows.broadcast(
                SearchBlock.predict_held_out, fit.kind, candidates, runs[fit.chunk], fit.parts
            )
        self.n_candidates += n_alphas

    def _is_precise(self, basis: str) -> bool:
        """Whether any block needs double precision to compare candidates on a basis."""
        if basis not in self._needs_double:
            self._needs_double[basis] = bool(self._rows.max(SearchBlock.needs_double, basis)[0])
        return self._needs_double[basis]

    def selected(self) -> tuple[FloatArray, FloatArray]:
        """The weight of each candidate, by `greedy_weights`, and its mean held-out loss, (M,)."""
        losses, weight = self._rows.sum(SearchBlock.candidate_losses)
        total = float(weight[0])
        shares = greedy_weights(
            lambda picked, allowed: self._rows.sum(
                SearchBlock.pick_losses, picked, allowed, total
            )[0],
            self.n_candidates,
        )
        return shares, losses / total

    def fitted(self, family: Family, alpha: float) -> list[Group]:
        """A candidate on all rows, once for each restart."""
        alphas = np.full(self._n_restarts, float(alpha))
        groups = []
        for fit in self._fits(
            family, np.arange(self._n_restarts), alphas, folds=False, single=False
        ):
            theta, intercept, gate, gate_intercept = (to_host(part) for part in fit.parts)
            for position, run in enumerate(self._n_parts + fit.chunk):
                grown = []
                if family.n_members > 1:
                    grown = self._starts[family.basis].history(family.n_members, int(run))
                groups.append(
                    Group(
                        family,
                        alpha,
                        theta[position],
                        intercept[position],
                        fit.support[position],
                        gate[position],
                        gate_intercept[position],
                        int(fit.n_iter[position]),
                        grown,
                    )
                )
        return groups

    def _fits(
        self, family: Family, runs: IntArray, alpha: FloatArray, *, folds: bool, single: bool
    ) -> Iterator[_Fit]:
        """The family's optimum for each run and penalty, a part of the stack at a time."""
        n_classes, n_columns = self._rows.n_classes, self._n_columns[family.basis]
        n_gate_columns = self._n_columns[family.gate]
        kind = Kind(family.basis, family.gate, family.pool, folds, single)
        xp = namespace_of(self._rows.like)
        dtype = xp.float32 if single else xp.float64
        self._set_totals(folds, single)
        at_once = max(1, _STACK_SIZE // (family.n_members * n_classes * self._n_rows))
        for first in range(0, len(runs), at_once):
            chunk = np.arange(first, min(first + at_once, len(runs)))
            of_chunk = runs[chunk]
            theta, intercept, support = self._start(
                family, of_chunk + (0 if folds else self._n_parts)
            )
            objective = GatedObjective(
                partial(_reduced, self._rows, kind, of_chunk),
                like(self._rows.like, alpha[chunk], dtype),
                family.n_members,
                n_classes,
                n_columns,
                n_gate_columns,
                support=None if support is None else like(self._rows.like, support, dtype),
                fit_intercept=self._fit_intercept,
            )
            gate = np.zeros((len(chunk), family.n_members, n_gate_columns))
            parts = (theta, intercept, gate, gate[:, :, 0])
            start = np.concatenate([part.reshape(len(chunk), -1) for part in parts], axis=1)
            found = minimise(
                objective,
                like(self._rows.like, start, dtype),
                max_iter=self._max_iter,
                tol=1e-4,
                memory=6,
                journal=self._journal,
            )
            if support is None:
                support = np.ones((len(chunk), family.n_members, n_columns))
            every = np.arange(len(chunk))
            yield _Fit(kind, chunk, objective.within(found.x, every), support > 0, found.n_iter)

    def _set_totals(self, folds: bool, single: bool) -> None:
        """Let each block know the sums of all weights in each run."""
        if (folds, single) not in self._with_totals:
            (total,) = self._rows.sum(SearchBlock.run_totals, folds, single)
            self._rows.broadcast(SearchBlock.set_totals, folds, single, total)
            self._with_totals.add((folds, single))

    def _start(
        self, family: Family, runs: IntArray
    ) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        if family.n_members == 1:
            shape = (len(runs), 1, self._rows.n_classes)
            return np.zeros((*shape, self._n_columns[family.basis])), np.zeros(shape), None
        if family.basis not in self._starts:
            self._starts[family.basis] = _Starts(self._trainer(family.basis))
        return self._starts[family.basis].of(family.n_members, runs)


def _reduced(
    rows: SearchRows, kind: Kind, of_chunk: IntArray, parts: Parts, runs: IntArray
) -> tuple[Array, ...]:
    """The likelihood of some of the runs of a chunk, summed over all rows."""
    return rows.sum(SearchBlock.value_and_gradient, kind, of_chunk[runs], parts)
