"""The search for a flock: which gated groups, on which basis, with which penalty.

bases       the features, ramps of each, products of two        `bases`
families    candidates: members x basis x gate x penalty        `families`
cross-fit   each candidate on each fold, in stacks of runs      `cross_fit`
selection   weights by the loss of held-out rows                `selection`
refit       what has a weight, on all rows                      `cross_fit`
assembly    the groups as one flock on one basis                `assembly`
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

import numpy as np

from covey._core.algorithm1.settings import TrainingSettings
from covey._core.algorithm1.trainer import StackTrainer
from covey._core.arrays import FloatArray
from covey._core.basis import Basis
from covey._core.journal import Journal
from covey._core.search.assembly import Flock, assembled
from covey._core.search.bases import Features, standardized_bases
from covey._core.search.cross_fit import CrossFit
from covey._core.search.families import Family, Task
from covey._core.search.folds import FoldAssignment
from covey._core.search.rows import Folds, GrowingRows, SearchBlock, SearchRows

# More let rounding grow until weights and repeated rows no longer agree, and gain nothing.
_MAX_ITER = 50
# Steps of Algorithm 1 that give a search its starts; the refinement goes on from there.
_MAX_STEPS = 30


class Search:
    """One search, over one table, whose rows are in memory or in blocks.

    ``growth`` is how the members that a search starts from are grown; a journal keeps the steps,
    to continue from after an interruption. With ``single``, folds are fitted in single precision.
    That is twice as fast, but what rounding does then depends on how rows lie in blocks, and may
    decide between candidates that are nearly equal.
    """

    def __init__(
        self,
        rows: SearchRows,
        task: Task,
        features: Features,
        *,
        growth: TrainingSettings,
        flip_probability: float,
        seed: int,
        journal: Journal | None = None,
        single: bool = True,
    ) -> None:
        self._rows = rows
        self._task = task
        self._features = features
        self._growth = replace(growth, max_iter=min(growth.max_iter, _MAX_STEPS))
        self._flip_probability = flip_probability
        self._seed = seed
        self._journal = journal
        self._single = single
        rows.broadcast(SearchBlock.set_weight_unit, rows.max(SearchBlock.largest_weight))
        self._bases = standardized_bases(rows, features, bounds_products=task.numbers)

    @property
    def bases(self) -> tuple[str, ...]:
        """The names of what members can see."""
        return tuple(self._bases)

    def run(
        self,
        families: Sequence[Family],
        folds: FoldAssignment | Folds,
        *,
        n_restarts: int,
        fit_intercept: bool,
        on_family: Callable[[Family], AbstractContextManager[None]],
    ) -> Flock:
        """Cross-fit the families, select, fit what is selected on all rows.

        Folds are assigned, or pairs of row numbers in the order of the table; without any there
        must be one candidate. ``on_family`` gives the context in which a family is cross-fitted.
        """
        n_parts = self._split(folds, n_restarts)
        fits = CrossFit(
            self._rows,
            {name: scaled.basis.n_columns for name, scaled in self._bases.items()},
            n_parts=n_parts,
            n_restarts=n_restarts,
            trainer=lambda name: self._trainer(name, n_parts + n_restarts),
            max_iter=_MAX_ITER,
            fit_intercept=fit_intercept,
            journal=self._journal,
            single=self._single,
        )
        candidates = [(family, alpha) for family in families for alpha in family.alphas]
        shares, losses = np.ones(1), np.full(1, np.nan)
        if n_parts:
            for family in families:
                with on_family(family):
                    fits.hold_out(family)
            shares, losses = fits.selected()
        groups = [
            (share / n_restarts, group)
            for (family, alpha), share in zip(candidates, shares, strict=True)
            if share > 0
            for group in fits.fitted(family, alpha)
        ]
        # The heaviest first: a reader may stop early.
        groups.sort(key=lambda pair: -pair[0])
        results = {
            "basis": [family.basis for family, _ in candidates],
            "n_members": [family.n_members for family, _ in candidates],
            "pool": [family.pool for family, _ in candidates],
            "gate": [family.gate for family, _ in candidates],
            "alpha": [alpha for _, alpha in candidates],
            self._task.loss_name: losses,
            "weight": shares,
        }
        if self._task.numbers:
            del results["pool"]
        known = {name: np.array(values) for name, values in results.items()}
        return assembled(groups, self._bases, self._importance, known)

    def _split(self, folds: FoldAssignment | Folds, n_restarts: int) -> int:
        """Let the rows know their folds; how many there are."""
        if isinstance(folds, FoldAssignment):
            self._rows.broadcast(SearchBlock.assign_folds, folds, n_restarts)
            return folds.n_parts
        self._rows.broadcast(SearchBlock.set_folds, folds, n_restarts)
        return len(folds)

    def _trainer(self, name: str, n_runs: int) -> StackTrainer:
        """What grows members on a basis, for runs on the folds and then on all rows."""
        scaled = self._bases[name]
        self._rows.broadcast(SearchBlock.begin_growing, name, self._growth)
        return StackTrainer(
            GrowingRows(self._rows, name, scaled.basis.n_columns, n_runs),
            self._growth,
            seed=self._seed,
            runs=list(range(n_runs)),
            flip_probability=np.full(n_runs, self._flip_probability),
            unit_of_feature=scaled.units(self._features.unit),
            usable=scaled.usable,
            journal=self._journal,
        )

    def _importance(
        self,
        basis: Basis,
        coef: FloatArray,
        intercept: FloatArray,
        sizes: Sequence[int],
        weights: FloatArray,
    ) -> FloatArray:
        """The mean importance of each member over all rows, (K,)."""
        importance, weight = self._rows.sum(
            SearchBlock.importance, basis, coef, intercept, sizes, weights
        )
        return importance / weight
