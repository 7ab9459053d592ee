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
from dataclasses import dataclass, replace

import numpy as np

from covey._core.algorithm1.settings import TrainingSettings
from covey._core.algorithm1.trainer import StackTrainer
from covey._core.arrays import FloatArray
from covey._core.basis import Basis
from covey._core.gating.paths import FeatureColumns, path_sizes
from covey._core.journal import Journal
from covey._core.search.assembly import Flock, assembled
from covey._core.search.bases import Features, standardized_bases
from covey._core.search.cross_fit import Candidate, CrossFit, Group
from covey._core.search.families import Family, Task
from covey._core.search.folds import FoldAssignment
from covey._core.search.rows import Folds, GrowingRows, SearchBlock, SearchRows
from covey._core.search.selection import Budget, thrifty_weights

# More let rounding grow until weights and repeated rows no longer agree, and gain nothing.
_MAX_ITER = 50
# Iterations at each later point of a path, which starts from the point before it.
_PATH_ITER = 12
# Steps of Algorithm 1 that give a search its starts; the refinement goes on from there.
_MAX_STEPS = 30


@dataclass(frozen=True)
class Limits:
    """What a person is willing to read, at most: features of a member, terms and members of all.

    A term is one column in one member, or in the gate of one group.
    """

    features: int
    terms: float = np.inf
    members: float = np.inf


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
        self._columns = {
            name: FeatureColumns(scaled.basis, features.unit, scaled.usable)
            for name, scaled in self._bases.items()
        }

    @property
    def bases(self) -> tuple[str, ...]:
        """The names of what members can see."""
        return tuple(self._bases)

    def run(
        self,
        families: Sequence[Family],
        folds: FoldAssignment | Folds,
        *,
        limits: Limits,
        n_errors: float,
        n_restarts: int,
        fit_intercept: bool,
        on_family: Callable[[Family], AbstractContextManager[None]],
    ) -> Flock:
        """Cross-fit the families, select, fit what is selected on all rows.

        Folds are assigned, or pairs of row numbers in the order of the table. Without any folds,
        the first family within the limits is taken. ``n_errors`` is how many standard errors more
        loss fewer terms are worth; ``on_family`` gives the context in which a family is
        cross-fitted.
        """
        n_parts = self._split(folds, n_restarts)
        features = self._columns["features"]
        most_units = features.units_within(limits.features)
        fits = CrossFit(
            self._rows,
            self._columns,
            n_parts=n_parts,
            n_restarts=n_restarts,
            trainer=lambda name: self._trainer(name, n_parts + n_restarts),
            max_iter=_MAX_ITER,
            path_iter=_PATH_ITER,
            sizes=path_sizes(features.n_units, most_units, limits.terms),
            most_features=limits.features,
            # What is limited may have to be worse.
            ends_early=not np.isfinite(limits.terms),
            fit_intercept=fit_intercept,
            journal=self._journal,
            single=self._single,
        )
        if n_parts:
            for family in families:
                with on_family(family):
                    fits.hold_out(family)
            shares, losses = self._selected(fits, limits, n_restarts, n_errors)
        else:
            fits.candidates = [self._first_point(fits, families, limits)]
            shares, losses = np.ones(1), np.full(1, np.nan)
        known = fits.candidates
        results = {
            "basis": [one.family.basis for one in known],
            "n_members": [one.family.n_members for one in known],
            "pool": [one.family.pool for one in known],
            "gate": [one.family.gate for one in known],
            "alpha": [one.alpha for one in known],
            "n_features": [one.size for one in known],
            "n_terms": [one.n_terms for one in known],
            self._task.loss_name: losses,
            "weight": shares,
        }
        if self._task.numbers:
            del results["pool"]
        return assembled(
            self._refitted(fits, shares, n_restarts),
            self._bases,
            self._importance,
            {name: np.array(values) for name, values in results.items()},
        )

    def fewest_terms(self) -> int:
        """How many terms the smallest candidate can have: one member on one unit of features."""
        return self._columns["features"].most_columns(1, 1)

    def fewest_features(self) -> int:
        """How many features a member has at least."""
        return self._columns["features"].fewest_features

    def _first_point(
        self, fits: CrossFit, families: Sequence[Family], limits: Limits
    ) -> Candidate:
        """The largest point within the limits: without folds nothing is known of smaller ones."""
        return next(
            point
            for family in families
            for point in fits.points(family)
            if point.n_terms <= limits.terms and point.family.n_members <= limits.members
        )

    def _selected(
        self, fits: CrossFit, limits: Limits, n_restarts: int, n_errors: float
    ) -> tuple[FloatArray, FloatArray]:
        """The weight of each candidate and its mean held-out loss, (M,)."""
        losses, weight = self._rows.sum(SearchBlock.candidate_losses)
        total = float(weight[0])
        budget = Budget(
            n_restarts * np.array([one.n_terms for one in fits.candidates]),
            n_restarts * np.array([one.family.n_members for one in fits.candidates]),
            limits.terms,
            limits.members,
        )
        shares = thrifty_weights(
            lambda picked, allowed: self._rows.sum(
                SearchBlock.pick_losses, picked, allowed, total
            )[0],
            lambda weights, best: self._rows.sum(SearchBlock.compare, weights, best)[0],
            budget,
            n_errors,
        )
        return shares, losses / total

    def _refitted(
        self, fits: CrossFit, shares: FloatArray, n_restarts: int
    ) -> list[tuple[float, Group]]:
        """What has a weight, on all rows; the heaviest first, for a reader may stop early."""
        paths: dict[tuple[Family, float], dict[int, float]] = {}
        for one, share in zip(fits.candidates, shares, strict=True):
            if share > 0:
                paths.setdefault((one.family, one.alpha), {})[one.size] = share
        groups = []
        for (family, alpha), points in paths.items():
            for size, found in fits.fitted(family, alpha, list(points)).items():
                groups += [(points[size] / n_restarts, group) for group in found]
        groups.sort(key=lambda pair: -pair[0])
        return groups

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
