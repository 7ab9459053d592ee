"""The search for a flock: which gated groups, on which basis, with which penalty.

bases       the features, ramps of each, products of two        `bases`
plan        candidates: members x basis x gate x penalty        `plan`
cross-fit   each candidate on each fold, in stacks of runs      `cross_fit`
selection   weights by the loss of held-out rows                `selection`
refit       what has a weight, on all rows                      `cross_fit`
assembly    the groups as one flock on one basis                `assembly`
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from covey._core.arrays import BoolArray, FloatArray, IntArray, is_on_host
from covey._core.basis import ScaledBasis
from covey._core.gating.gate import Groups
from covey._core.gating.paths import path_sizes
from covey._core.search.assembly import FoundFlock, OnFolds, assembled
from covey._core.search.bases import (
    Features,
    standardize_single,
    standardized_bases,
)
from covey._core.search.block import SearchBlock
from covey._core.search.cross_fit import CrossFit, Stage
from covey._core.search.folds import ROWS_FOR_MEANS, FoldAssignment
from covey._core.search.plan import (
    Candidate,
    Family,
    Group,
    Point,
    SearchPlan,
    Task,
    Watch,
    on_bases,
)
from covey._core.search.rows import Rung, SearchRows
from covey._core.search.selection import Budget, thrifty_weights

# How many candidates, with all points of their path, go on to the next rung.
_MOST_PATHS = 5


@dataclass(frozen=True)
class Compared:
    """Candidates of a rung, the weight of each in a selection, and its held-out loss, (M,)."""

    rung: Rung
    candidates: list[Candidate]
    shares: FloatArray
    losses: FloatArray
    #: Where a candidate ended on each fold, if that is kept.
    on_folds: Callable[[Point], list[Group]]
    #: The weights of the best selection that a person can read; None: there is no other.
    readable: FloatArray | None = None

    def groups_on_folds(self, shares: FloatArray) -> list[list[tuple[float, Group]]]:
        """Return the groups that these shares select, with the shares, as fitted on each fold."""
        selected = [
            [(share, group) for group in self.on_folds((one.family.kind, one.alpha, one.size))]
            for one, share in zip(self.candidates, shares, strict=True)
            if share > 0
        ]
        return [list(groups) for groups in zip(*selected, strict=True)]

    def flocks_of_folds(self, bases: dict[str, ScaledBasis]) -> OnFolds:
        """Return the selected flock as it was fitted on each fold, and the rows of the folds."""
        assert not isinstance(self.rung.folds, FoldAssignment)
        folds = list(self.rung.folds)

        def flocks(shares: FloatArray | None) -> list[FoundFlock]:
            found = [] if shares is None else self.groups_on_folds(shares)
            return [assembled(groups, bases) for groups in found]

        found = OnFolds(folds, flocks(self.shares), self.rung.sample, flocks(self.readable))
        if self.rung.sample is not None:
            numbers, _ = self.rung.sample
            found.folds = [(numbers[train], numbers[test]) for train, test in folds]
        return found

    def surviving(self, families: Sequence[Family]) -> list[Family]:
        """Return the families, with the penalties whose path may win on more rows.

        Those that are selected come first, then those of the least loss.
        """
        paths: dict[tuple[Family, float], tuple[bool, float]] = {}
        for one, share, loss in zip(self.candidates, self.shares, self.losses, strict=True):
            path = one.family.kind, one.alpha
            selected, least = paths.get(path, (False, np.inf))
            paths[path] = selected or share > 0, min(least, loss)
        kept = sorted(paths, key=lambda path: (not paths[path][0], paths[path][1]))[:_MOST_PATHS]
        found = [
            replace(one, alphas=tuple(alpha for alpha in one.alphas if (one.kind, alpha) in kept))
            for one in families
        ]
        return [one for one in found if one.alphas]


def results(found: Sequence[Compared], task: Task) -> dict[str, Any]:
    """Return a record of the comparison: the rows, the candidates, their losses and weights."""
    known = [one for compared in found for one in compared.candidates]
    per_rung = [len(compared.candidates) for compared in found]
    n_rows = np.repeat([compared.rung.n_rows for compared in found], per_rung)
    factor = np.repeat([compared.rung.factor for compared in found], per_rung)
    shares = [np.zeros_like(compared.shares) for compared in found]
    shares[-1] = found[-1].shares
    columns = {
        "basis": [one.family.basis for one in known],
        "n_members": [one.family.n_members for one in known],
        "pool": [one.family.pool for one in known],
        "gate": [one.family.gate for one in known],
        "alpha": factor * [one.alpha for one in known],
        "n_features": [one.size for one in known],
        "n_terms": [one.n_terms for one in known],
        "n_rows": n_rows,
        task.loss_name: np.concatenate([compared.losses for compared in found]),
        "weight": np.concatenate(shares),
    }
    if task.numbers:
        del columns["pool"]
    return {name: np.array(values) for name, values in columns.items()}


# Flocks of folds that are averaged with the one of all rows; folds may be drawn several times.
_MOST_AVERAGED = 5
# Iterations of fits that are not compared with others.
_MAX_ITER = 50
# Groups of a flock that is searched on several rungs: fitting more on all rows takes long and
# gains little.
_MOST_GROUPS = 4
# How many numbers of all rows are kept in single precision, 4 bytes each; more are made again.
_MOST_NUMBERS = 1 << 24
_STOPPED_EARLY = (
    "Interrupted: {} of {} families of candidates were compared, and the flock is the best of "
    "these. Interrupt once more to have none."
)
_STOPPED_LATE = (
    "Interrupted: not every group of the flock was fitted to all rows; the others are as the last "
    "comparison of candidates left them."
)


class Search:
    """One search by a plan, over one table, whose rows are in memory or in blocks."""

    def __init__(self, rows: SearchRows, features: Features, plan: SearchPlan) -> None:
        self._rows = rows
        self._features = features
        self.plan, self._rungs = plan, plan.rungs
        rungs = plan.rungs
        for table in (rows, *(rung.rows for rung in rungs)):
            table.broadcast(SearchBlock.set_weight_unit, table.max(SearchBlock.largest_weight))
        # The last rung has enough rows to show where ramps begin and end. It compares candidates
        # that were grown before if there is another rung, for which single precision is enough.
        last = rungs[-1].rows if rungs else rows
        self._bases = standardized_bases(
            last,
            features,
            plan.task.n_ramps,
            sampled=bool(rungs),
            single=len(rungs) > 1 and self._bears_single(last),
        )
        for rung in rungs[:-1]:
            for name, scaled in self._bases.items():
                rung.rows.broadcast(SearchBlock.standardize, name, scaled)
        self.plan = replace(plan, families=on_bases(plan.families, self._bases))
        self._columns = {
            name: features.columns_of(scaled.basis, scaled.usable)
            for name, scaled in self._bases.items()
        }

    def _bears_single(self, rows: SearchRows) -> bool:
        """Return whether rows may be laid out in single precision: none are sparse or far out."""
        if not self.plan.single or rows.is_sparse:
            return False
        return not rows.max(SearchBlock.needs_double)[0]

    def run(self, watch: Watch) -> FoundFlock:
        """Cross-fit the families, select, fit what is selected on all rows."""
        plan, n_restarts = self.plan, self.plan.n_restarts
        families = plan.families
        found: list[Compared] = []
        starts: dict[Point, Group] = {}
        rungs = self._rungs or [Rung.whole(self._rows, plan.folds, plan.n_rows)]
        stopped = False
        for rung, before_it in zip(rungs, [None, *rungs], strict=False):
            if before_it is not None:
                before_it.rows.broadcast(SearchBlock.drop_layouts)
            # A candidate that wins on a rung is continued on all rows, and not first fitted to the
            # rung's.
            n_fitted = 0 if self._rungs and rung.folds else n_restarts
            fits = self._cross_fit(rung, n_fitted, watch, starts)
            if rung.folds:
                for number, family in enumerate(families):
                    # This needs something to continue, from here or from fewer rows.
                    known = bool(fits.candidates or found)
                    if watch.is_late is not None and known and watch.is_late():
                        stopped = True
                        break
                    try:
                        with watch.on_family(family):
                            fits.hold_out(family)
                    except KeyboardInterrupt:
                        if not watch.may_stop or not (fits.candidates or found):
                            raise
                        fits.contest.forget_unfinished()
                        warnings.warn(_STOPPED_EARLY.format(number, len(families)), stacklevel=6)
                        if watch.on_stop is not None:
                            watch.on_stop()
                        stopped = True
                        break
                if stopped and not fits.candidates:
                    break
                found.append(self._compared(rung, fits))
            else:
                found = [self._only(rung, fits, families)]
            families = found[-1].surviving(families)
            starts = fits.ended
            if stopped:
                break
        if watch.on_refit is not None:
            watch.on_refit()
        groups = (
            self._continued(starts, found[-1], watch, watch.may_stop and not stopped)
            if self._rungs
            else self._refitted(fits, found[-1], n_restarts)
        )
        candidates = results(found, plan.task)
        flock = assembled(groups, self._bases, candidates, self._importance)
        if not plan.keeps_folds:
            return flock
        if flock.n_terms > plan.averaged_beyond and not self._rungs:
            flocks = [groups, *found[-1].groups_on_folds(found[-1].shares)[:_MOST_AVERAGED]]
            flock = assembled(
                list(chain(*flocks)), self._bases, candidates, self._importance, len(flocks)
            )
        flock.on_folds = found[-1].flocks_of_folds(self._bases)
        return flock

    def _cross_fit(
        self,
        rung: Rung,
        n_restarts: int,
        watch: Watch,
        starts: Mapping[Point, Group],
    ) -> CrossFit:
        """Assign the folds to the rows; return the object that fits candidates."""
        rung.rows.broadcast(SearchBlock.set_folds, rung.folds, n_restarts)
        features, plan, n_parts = self._columns["features"], self.plan, len(rung.folds)
        pace = plan.task.rung_pace if self._rungs else plan.task.pace
        max_iter = pace.max_iter if n_parts else _MAX_ITER
        most_units = features.units_within(plan.most_features)
        sizes = path_sizes(features.n_units, most_units, plan.most_terms)
        stage = Stage(rung, n_restarts, max_iter, pace.path_iter, sizes)
        # Each fold begins anew: rows that one fold fits on are held out by others.
        known = starts if n_parts <= 1 else {}
        return CrossFit(stage, self._columns, plan, known, watch.on_iteration)

    def _continued(
        self,
        starts: Mapping[Point, Group],
        compared: Compared,
        watch: Watch,
        may_stop: bool,
    ) -> list[tuple[float, Group]]:
        """Fit the candidates with a weight on all rows, from where they ended on some of them."""
        points: dict[Family, list[tuple[float, Point]]] = {}
        for one, share in zip(compared.candidates, compared.shares, strict=True):
            if share > 0:
                kind = one.family.kind
                points.setdefault(kind, []).append((share, (kind, one.alpha, one.size)))
        single = self._bears_single(self._rows)
        for rung in self._rungs:
            rung.rows.broadcast(SearchBlock.drop_layouts)
        whole = Rung.whole(self._rows, [], self.plan.n_rows, self.plan.factor)
        fits = self._cross_fit(whole, 1, watch, starts)
        groups: list[tuple[float, Group]] = []
        stopped = False
        for of_kind in points.values():
            shares, wanted = zip(*of_kind, strict=True)
            found = [starts[point] for point in wanted]
            try:
                if not stopped:
                    columns = self._lay_out(found, single)
                    found = fits.continued(wanted, *columns, single=single)
            except KeyboardInterrupt:
                if not may_stop:
                    raise
                warnings.warn(_STOPPED_LATE, UserWarning, stacklevel=6)
                if watch.on_stop is not None:
                    watch.on_stop()
                stopped = True
            groups += list(zip(shares, found, strict=True))
        groups.sort(key=lambda pair: -pair[0])
        return groups

    def _lay_out(self, groups: Sequence[Group], single: bool) -> tuple[IntArray, IntArray]:
        """Let all rows lay out the columns of members and gates that groups of one kind use."""
        family = groups[0].family
        used: dict[str, BoolArray] = {}
        for group in groups:
            for name, columns in (
                (family.basis, group.support.any(axis=0)),
                (family.gate, (group.gate != 0).any(axis=0)),
            ):
                used[name] = used.get(name, np.zeros_like(columns)) | columns
        self._rows.broadcast(SearchBlock.drop_layouts)
        positions = {}
        for name, columns in used.items():
            scaled, positions[name] = self._bases[name].only(columns)
            if single:
                # A device has memory enough, and sending columns to it takes time.
                keep = self.plan.n_rows * len(positions[name]) <= _MOST_NUMBERS
                keep |= not is_on_host(self._rows.like)
                standardize_single(self._rows, name, scaled, self._features, keep=keep)
            else:
                self._rows.broadcast(SearchBlock.standardize, name, scaled)
        return positions[family.basis], positions[family.gate]

    def _only(self, rung: Rung, fits: CrossFit, families: Sequence[Family]) -> Compared:
        """Return the largest point within the limits: without folds, none can be compared."""
        only = next(
            point
            for family in families
            for point in fits.points(family)
            if point.n_terms <= self.plan.most_terms
            and point.family.n_members <= self.plan.most_members
        )
        if self._rungs:
            fits.fitted(only.family, {only.alpha: [only.size]})
        return Compared(rung, [only], np.ones(1), np.full(1, np.nan), fits.on_folds)

    def _compared(self, rung: Rung, fits: CrossFit) -> Compared:
        """Return the candidates, the weight of each, and its mean held-out loss, (M,)."""
        rows = rung.rows
        losses, weight = rows.sum(SearchBlock.candidate_losses)
        total = float(weight[0])
        budget = Budget(
            self.plan.n_restarts * np.array([one.n_terms for one in fits.candidates]),
            self.plan.n_restarts * np.array([one.family.n_members for one in fits.candidates]),
            self.plan.most_terms,
            self.plan.most_members,
            min(self.plan.most_groups, _MOST_GROUPS if len(self._rungs) > 1 else np.inf),
        )
        shares, readable = thrifty_weights(
            lambda picked, allowed: rows.sum(SearchBlock.pick_losses, picked, allowed, total)[0],
            lambda weights, best: rows.sum(SearchBlock.compare, weights, best)[0],
            budget,
            self.plan.n_errors,
        )
        return Compared(rung, fits.candidates, shares, losses / total, fits.on_folds, readable)

    def _refitted(
        self, fits: CrossFit, compared: Compared, n_restarts: int
    ) -> list[tuple[float, Group]]:
        """Return fits on all rows of the candidates with a weight, the heaviest first."""
        single = self._is_averaged(compared)
        if not single:
            self._rows.broadcast(SearchBlock.drop_single_precision)
        families: dict[Family, dict[float, dict[int, float]]] = {}
        for one, share in zip(compared.candidates, compared.shares, strict=True):
            if share > 0:
                families.setdefault(one.family, {}).setdefault(one.alpha, {})[one.size] = share
        groups = []
        for family, points in families.items():
            wanted = {alpha: list(of_alpha) for alpha, of_alpha in points.items()}
            for (alpha, size), found in fits.fitted(family, wanted, single=single).items():
                groups += [(points[alpha][size] / n_restarts, group) for group in found]
        groups.sort(key=lambda pair: -pair[0])
        return groups

    def _is_averaged(self, compared: Compared) -> bool:
        """Return whether the flock has so many terms on a fold that it is to be averaged."""
        beyond = self.plan.averaged_beyond
        if not self.plan.keeps_folds or not np.isfinite(beyond):
            return False
        of_fold, *_ = compared.groups_on_folds(compared.shares)
        return assembled(of_fold, self._bases).n_terms > beyond

    def _importance(self, groups: Groups) -> FloatArray:
        """Return the mean importance of each member over the rows, (K,)."""
        (counts,) = self._rows.sum(SearchBlock.class_counts)
        every = max(1, int(counts.sum()) // ROWS_FOR_MEANS)
        importance, weight = self._rows.sum(SearchBlock.importance, every, groups)
        return importance / weight
