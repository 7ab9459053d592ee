"""The search for a flock: families of gated candidates, cross-fitted as stacks of runs.

A candidate is a group of members on one basis with a gate over them. Candidates that differ in
their penalty only are a family; its penalties and folds are the runs of one stack, since they
share every matrix. What a candidate says of the rows that it was not fitted on decides, by
`greedy_selection`, how much it weighs; those that weigh something are fitted again on all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from covey._core.arrays import Array
from covey._core.design import Design
from covey._core.gate import GatedLikelihood, Pool
from covey._core.journal import Journal
from covey._core.lbfgs import minimise
from covey._core.softmax_linear import Blocks

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

# Numbers (members x classes x runs x rows) that are worked on at once: runs beyond that wait.
# Larger stacks do not fit the cache and are slower for it.
_STACK_SIZE = 1 << 19


@dataclass(frozen=True)
class Family:
    """Candidates that differ in their penalty only.

    Attributes
    ----------
    basis : str
        What the members see, a key of ``CrossFit``'s designs.
    n_members : int
        With one there is no gate, and no subset: regularised softmax regression.
    alphas : tuple of float
    pool : {"linear", "log"}
    gate : str
        What the gate sees, also a key of those designs.
    """

    basis: str
    n_members: int
    alphas: tuple[float, ...]
    pool: Pool = "linear"
    gate: str = "features"


@dataclass
class Group:
    """A candidate fitted on all rows.

    Attributes
    ----------
    family : Family
    alpha : float
    theta : ndarray of shape (K, C, P), zero outside a member's subset
    intercept : ndarray of shape (K, C)
    support : ndarray of shape (K, P), bool
    gate : ndarray of shape (K, G)
        Coefficients of what the gate sees.
    gate_intercept : ndarray of shape (K,)
    n_iter : int
        Iterations of the optimiser.
    grown : list of (int, object)
        How each member was grown: its steps and its history. Empty for a member alone.
    """

    family: Family
    alpha: float
    theta: FloatArray
    intercept: FloatArray
    support: BoolArray
    gate: FloatArray
    gate_intercept: FloatArray
    n_iter: int
    grown: list[tuple[int, Any]]


class Grown(Protocol):
    """One member of every run, as a trainer gives it."""

    theta: Array  # (C, R, D)
    intercept: Array  # (C, R)
    support: BoolArray  # (R, D)
    n_iter: IntArray  # (R,)
    history: list[Any]  # one a run


class Trainer(Protocol):
    """What grows the members that the optimiser starts from, such as a `StackTrainer`."""

    def grow(self) -> Grown:
        """The next member of every run."""


class _Starts:
    """Members that Algorithm 1 grew on one basis, for all runs at once; more on demand.

    The runs are the folds and then the restarts on all rows. A larger group starts from the
    members of a smaller one and some more, so that each member is grown once.
    """

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
        self._theta: list[Array] = []
        self._intercept: list[Array] = []
        self._support: list[BoolArray] = []
        self._grown: list[list[tuple[int, Any]]] = []

    def of(self, n_members: int, runs: IntArray) -> tuple[Array, Array, Array]:
        """Theta (R, K, C, P), intercepts (R, K, C) and subsets (R, K, P) of some runs."""
        while len(self._theta) < n_members:
            grown = self._trainer.grow()
            self._theta.append(grown.theta)
            self._intercept.append(grown.intercept)
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


class CrossFit:
    """Fits families of candidates, on folds and on all rows.

    Parameters
    ----------
    designs : dict of Design
        The bases by name; rows sorted by class.
    blocks : Blocks
    weight : ndarray of shape (n,)
        Row weights.
    parts : list of (ndarray, ndarray)
        The folds: rows to fit on, and rows that are held out.
    n_restarts : int
        How often a candidate is fitted on all rows, each time from a start of its own.
    trainer : callable
        ``trainer(basis, weight)`` gives a `Trainer` for runs of those weights (R, n).
    max_iter : int
        The most iterations of the optimiser.
    fit_intercept : bool
    journal : Journal, optional
        Where iterations are kept, to go on from after an interruption.
    """

    def __init__(
        self,
        designs: dict[str, Design],
        blocks: Blocks,
        weight: FloatArray,
        parts: Sequence[tuple[IntArray, IntArray]],
        *,
        n_restarts: int,
        trainer: Callable[[str, FloatArray], Trainer],
        max_iter: int,
        fit_intercept: bool,
        journal: Journal | None = None,
    ) -> None:
        self._designs = designs
        self._journal = journal
        # Folds are for comparing candidates; single precision is enough, and twice as fast.
        self._rough = (
            {name: design.in_single_precision() for name, design in designs.items()}
            if parts
            else {}
        )
        self._blocks = blocks
        self._parts = parts
        self._weight = np.zeros((len(parts) + n_restarts, len(weight)))
        for run, (rows, _) in enumerate(parts):
            self._weight[run, rows] = weight[rows]
        self._weight[len(parts) :] = weight
        self._n_restarts = n_restarts
        self._trainer = trainer
        self._starts: dict[str, _Starts] = {}
        self._max_iter = max_iter
        self._fit_intercept = fit_intercept

    def held_out(self, family: Family) -> FloatArray:
        """What each penalty's candidate says of rows that it was not fitted on.

        For classes that is what it gives to the true one.

        Returns
        -------
        said : ndarray of shape (A, E)
            For the held-out rows of all folds, one fold after the other.
        """
        n_alphas, n_parts = len(family.alphas), len(self._parts)
        ends = np.cumsum([0] + [len(rows) for _, rows in self._parts])
        said = np.empty((n_alphas, ends[-1]))
        runs = np.tile(np.arange(n_parts), n_alphas)
        alpha = np.repeat(np.array(family.alphas), n_parts)
        for chunk, likelihood, x, _ in self._fits(self._rough, family, runs, alpha):
            for place, run in zip(chunk, self._says(likelihood, x), strict=True):
                part = runs[place]
                rows = self._parts[part][1]
                said[place // n_parts, ends[part] : ends[part + 1]] = run[rows]
        return said

    def fitted(self, family: Family, alpha: float) -> list[Group]:
        """A candidate on all rows, once for each restart."""
        runs = np.arange(len(self._parts), len(self._parts) + self._n_restarts)
        groups = []
        for chunk, likelihood, x, n_iter in self._fits(
            self._designs, family, runs, np.full(len(runs), float(alpha))
        ):
            theta, intercept, gate, gate_intercept = likelihood.unpack(x)
            assert theta is not None
            assert intercept is not None
            if likelihood.support is None:
                support = np.ones((len(chunk), family.n_members, theta.shape[3]))
            else:
                support = likelihood.support
            for place, run in enumerate(runs[chunk]):
                grown = []
                if family.n_members > 1:
                    grown = self._starts[family.basis].history(family.n_members, int(run))
                groups.append(
                    Group(
                        family,
                        alpha,
                        theta[place] * support[place][:, None, :],
                        intercept[place],
                        support[place] > 0,
                        gate[place],
                        gate_intercept[place],
                        int(n_iter[place]),
                        grown,
                    )
                )
        return groups

    def _fits(
        self, designs: dict[str, Design], family: Family, runs: IntArray, alpha: FloatArray
    ) -> list[tuple[IntArray, GatedLikelihood, Array, IntArray]]:
        """The family's optimum for each run and penalty, a part of the stack at a time."""
        design = designs[family.basis]
        kind = design.like.dtype
        size = family.n_members * len(self._blocks) * design.n_rows
        at_once = max(1, _STACK_SIZE // size)
        results = []
        for first in range(0, len(runs), at_once):
            chunk = np.arange(first, min(first + at_once, len(runs)))
            theta, intercept, support = self._start(family, runs[chunk])
            likelihood = self._likelihood(
                design,
                [designs[family.gate]],
                self._blocks,
                self._weight[runs[chunk]].astype(kind),
                alpha[chunk].astype(kind),
                family.pool,
                family.n_members,
                support=None if support is None else support.astype(kind),
                fit_intercept=self._fit_intercept,
            )
            gate = np.zeros((len(chunk), family.n_members, likelihood.n_gate_columns))
            start = likelihood.pack(theta, intercept, gate, gate[:, :, 0])
            found = minimise(
                likelihood,
                start.astype(kind),
                max_iter=self._max_iter,
                tol=1e-4,
                memory=6,
                journal=self._journal,
            )
            results.append((chunk, likelihood, found.x, found.n_iter))
        return results

    def _likelihood(self, *args: Any, **kwargs: Any) -> GatedLikelihood:
        """What is climbed; of numbers it is another one."""
        return GatedLikelihood(*args, **kwargs)

    def _says(self, likelihood: GatedLikelihood, x: Array) -> Array:
        """What candidates are compared by, as (R, n)."""
        return likelihood.true_probability(x)

    def _start(self, family: Family, runs: IntArray) -> tuple[Array, Array, Array | None]:
        design = self._designs[family.basis]
        if family.n_members == 1:
            shape = (len(runs), 1, len(self._blocks))
            return np.zeros((*shape, design.n_features)), np.zeros(shape), None
        if family.basis not in self._starts:
            self._starts[family.basis] = _Starts(self._trainer(family.basis, self._weight))
        return self._starts[family.basis].of(family.n_members, runs)
