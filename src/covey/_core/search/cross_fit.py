"""Families of gated candidates, fitted as stacks of runs: on folds, and on all rows.

A candidate is a group of members on one basis with a gate over them. Candidates that differ in
their penalty, or in how many features members keep, are a family; its penalties and folds are the
runs of one stack, since they share every matrix. `thrifty_weights` weighs a candidate by what it
predicts for rows that it was not fitted on; those with a weight above zero are fitted again on all
rows. Only sums over the rows are needed (`covey._core.search.rows`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from covey._core.arrays import Array, BoolArray, FloatArray, IntArray, like, namespace_of, to_host
from covey._core.gating.gate import GatedObjective, Parts, contrast, of_two_classes, runs_at_once
from covey._core.gating.paths import FeatureColumns, gate_squares, member_squares, path_sizes
from covey._core.lbfgs import minimise
from covey._core.random import Purpose, normals_of
from covey._core.search.block import Kind, SearchBlock
from covey._core.search.plan import Candidate, Family, Group, Point, SearchPlan
from covey._core.search.rows import Rung, SearchRows
from covey._core.search.selection import mean_and_error
from covey._core.search.splicing import (
    LEAST_GAIN,
    MOST_UNITS,
    ONE_OF,
    TRIES,
    TRIES_ON_FOLDS,
    exchanged,
)

# A path ends where its loss is this many standard errors above that of its best point.
_FAR = 6.0
# It also ends where it is this many standard errors of their difference worse than another path,
# this many times in a row: some groups must lose features before they are good.
_WORSE, _TIMES = 2.0, 2
# Groups are compared after this share of their first iterations, if that is at least some. Those
# whose loss is clearly, and by a tenth, above that of another group of this size go no further.
_EARLY, _EARLIEST, _BEHIND = 0.4, 10, 0.1


class Contest:
    """Candidates, family after family, fitted on the folds; blocks keep what they predict.

    With ``ends_early``, paths that cannot win are ended. Each block knows a candidate by its
    number, its position in ``candidates``.
    """

    def __init__(
        self, rows: SearchRows, n_folds: int, ends_early: bool, numbers: bool = False
    ) -> None:
        self.candidates: list[Candidate] = []
        self._rows = rows
        self._n_folds = n_folds
        self.ends_early = ends_early
        self._numbers_are_predicted = numbers
        self._numbers: list[int] = []
        # By what leaves a path, and how much is left: the least loss so far, and the number of
        # the candidate that has it.
        self._best: dict[tuple[str, int], tuple[float, int]] = {}
        self._first = 0

    def begin(self, points: Sequence[Candidate]) -> None:
        """Let the points of a family's paths take part."""
        self._points = list(points)
        self._predicted = np.zeros(len(points), dtype=np.int64)
        self._sums = np.zeros((len(points), 5))
        # For each penalty, over the folds: the loss and error of its best point.
        self._best_of_path: dict[tuple[float, int], tuple[float, float]] = {}
        # And how often in a row it was clearly worse than the best of other families.
        self._worse: Counter[tuple[float, int]] = Counter()

    def hold_out(self, kind: Kind, points: IntArray, folds: IntArray, parts: Parts) -> BoolArray:
        """Predict the rows held out by these runs (r,), and return which runs need not go on.

        A run is a point of a path on a fold.
        """
        numbers = self._first + points
        self._rows.broadcast(SearchBlock.predict_held_out, kind, numbers, folds, parts)
        self._predicted += np.bincount(points, minlength=len(self._points))
        ended = np.zeros(len(points), dtype=bool)
        if not self.ends_early:
            return ended
        (sums,) = self._rows.sum(SearchBlock.held_out_losses, numbers, folds)
        np.add.at(self._sums, points, sums)
        rival = self._best.get(self._points[points[0]].left)
        apart = None
        if rival is not None:
            (apart,) = self._rows.sum(SearchBlock.held_out_losses, numbers, folds, rival[1])
        for point in np.unique(points):
            of_point = points == point
            path = self._points[point].alpha, int(folds[of_point][0])
            own = sums[of_point].sum(axis=0)
            worse = hopeless = False
            if own[0]:
                # Far above the path's own best point, or clearly above another path.
                now = mean_and_error(own)
                best, error = self._best_of_path[path] = min(
                    now, self._best_of_path.get(path, now)
                )
                hopeless = now[0] > best + _FAR * error
                if apart is not None:
                    more, error = mean_and_error(apart[of_point].sum(axis=0))
                    worse = more > _WORSE * error
            self._worse[path] = self._worse[path] + 1 if worse else 0
            ended[of_point] = hopeless or self._worse[path] >= _TIMES
        return ended

    def behind(self, kind: Kind, points: IntArray, folds: IntArray, parts: Parts) -> BoolArray:
        """Return which of these runs (r,), on their way to a first point, need not go on."""
        numbers, ended = self._first + points, np.zeros(len(points), dtype=bool)
        self._rows.broadcast(SearchBlock.predict_held_out, kind, numbers, folds, parts)
        (sums,) = self._rows.sum(SearchBlock.held_out_losses, numbers, folds)
        of_points = [points == point for point in np.unique(points)]
        # Without any weight there is no loss to compare.
        if all(sums[which, 0].any() for which in of_points):
            losses = [mean_and_error(sums[which].sum(axis=0))[0] for which in of_points]
            known = self._best.get(self._points[points[0]].left)
            # Numbers may be nearly a function of the features, to which the way is long: what has
            # ended is no rival of what is on it.
            rivals = [] if known is None or self._numbers_are_predicted else [known[1]]
            if len(points) == len(of_points) * self._n_folds:
                rivals.append(int(numbers[of_points[int(np.argmin(losses))]][0]))
            for rival in rivals:
                (apart,) = self._rows.sum(SearchBlock.held_out_losses, numbers, folds, rival)
                for which, loss in zip(of_points, losses, strict=True):
                    more, error = mean_and_error(apart[which].sum(axis=0))
                    ended[which] |= more > max(_WORSE * error, _BEHIND * (loss - more))
        ends = self._first + np.flatnonzero(self._predicted)
        self._rows.broadcast(SearchBlock.keep_candidates, [*self._numbers, *ends.tolist()])
        return ended

    def end(self) -> None:
        """Keep the points of the family that have been fitted on all folds."""
        for point, one in enumerate(self._points):
            if self._predicted[point] < self._n_folds:
                continue
            number = self._first + point
            self.candidates.append(one)
            self._numbers.append(number)
            if self._sums[point, 0]:
                loss = mean_and_error(self._sums[point])[0]
                self._best[one.left] = min(
                    (loss, number), self._best.get(one.left, (loss, number))
                )
        if (self._predicted % self._n_folds).any():
            self.forget_unfinished()
        self._first += len(self._points)

    def forget_unfinished(self) -> None:
        """Drop predictions of points that do not take part, or no longer do."""
        self._rows.broadcast(SearchBlock.keep_candidates, self._numbers)


def widened(values: Array, columns: IntArray, n_columns: int) -> Array:
    """Return values (..., p) of some columns among all of them; zero elsewhere."""
    wide = np.zeros((*values.shape[:-1], n_columns), dtype=values.dtype)
    wide[..., columns] = values
    return wide


def on_host(parts: Parts) -> HostParts:
    """Return parts as arrays of NumPy in double precision."""
    theta, intercept, gate, gate_intercept = (
        np.asarray(to_host(part), dtype=np.float64) for part in parts
    )
    return theta, intercept, gate, gate_intercept


# -- fits -----------------------------------------------------------------------------------------


# With more than twice this many units, groups see only the strongest ones of a member alone.
_SCREENED = 64
# Products with a copy of the columns in use gain time where at least this many numbers, rows times
# columns, are left out.
_LEFT_OUT = 1 << 17
# Copies take memory: where more than this share of the columns is in use, none is made.
_MOST_COPIED = 0.75
#: `Parts` as arrays of NumPy.
HostParts = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
#: The units of features that members (R, K, U) and gates (R, 1, U) keep.
Subsets = tuple[BoolArray, BoolArray]
# How far from zero the coefficients of groups start: members that start alike stay alike.
_SCALE = 0.1
# The gate's logit for a member that is dropped: its importance is zero, and so is its gradient.
_NEVER = -1e3


@dataclass(frozen=True)
class Stage:
    """A comparison of candidates, or the last fit: its rows, and how far fits go on them.

    Members keep ``sizes`` units of features along a path. A candidate is fitted to each fold, and
    ``n_restarts`` times to all rows, each time from another start.
    """

    rung: Rung
    n_restarts: int
    max_iter: int  # iterations at the first point of a path
    path_iter: int  # and at later ones
    sizes: Sequence[int]


@dataclass
class _Fit:
    """The end of some runs of a family, at one point of their path."""

    kind: Kind
    chunk: IntArray  # their positions among all runs
    size: int  # how many units of features each member keeps
    parts: Parts
    support: BoolArray  # (r, K, P)
    n_iter: IntArray
    ended: BoolArray  # (r,), set for runs that go no further
    early: bool = False  # whether they are still on their way to the first point


class CrossFit:
    """The fits of candidates, family by family, on folds and on all rows, along paths of subsets.

    The bases of the rows, given by name in ``columns``, are standardized. If candidates were
    fitted on fewer rows before, ``starts`` are the groups at which these fits ended.
    """

    def __init__(
        self,
        stage: Stage,
        columns: dict[str, FeatureColumns],
        plan: SearchPlan,
        starts: Mapping[Point, Group] | None = None,
        on_iteration: Callable[[], None] | None = None,
    ) -> None:
        self._rows = rows = stage.rung.rows
        self._stage, self._plan, self._n_parts = stage, plan, len(stage.rung.folds)
        self._columns = columns
        self._on_iteration = on_iteration
        self._ended_before = {} if starts is None else starts
        self._screens: dict[str, BoolArray] = {}
        self._is_limited = plan.most_features < columns["features"].n_features or np.isfinite(
            min(plan.most_terms, plan.most_members)
        )
        # Members lose features gradually, but not all points on the way are within the limit.
        most_units = columns["features"].units_within(plan.most_features)
        self._allowed = [size for size in stage.sizes if size <= most_units]
        # The more rows a block has, the fewer runs it can compute at once.
        self._n_rows = max(1, int(rows.max(SearchBlock.n_rows)[0]))
        self._with_totals: set[tuple[bool, bool]] = set()
        self._needs_double: dict[str, bool] = {}
        # A selection within limits may have to be worse.
        ends_early = not np.isfinite(plan.most_terms)
        self.contest = Contest(rows, self._n_parts, ends_early, plan.task.numbers)
        #: The candidates whose predictions of held-out rows the blocks have, in that order.
        self.candidates = self.contest.candidates
        #: Where candidates ended from which others start: on the first fold of a rung.
        self.ended: dict[Point, Group] = {}
        # The same for every fold, in single precision, so that groups can be made of it.
        self._kept: dict[Point, list[tuple[Family, _Fit, int, int]]] = {}

    def points(self, family: Family) -> list[Candidate]:
        """Return the candidates of a family: every penalty, and every size within the limits."""
        found = []
        for alpha in family.alphas:
            for size in self._sizes_of(family):
                found.append(Candidate(family, alpha, size, self._n_terms(family, size)))
        return found

    def _n_terms(self, family: Family, size: int) -> int:
        """Return how many columns members and gate have at most at a point of a path."""
        n_terms = self._members_of(family).most_columns(family.n_members, size)
        if family.n_members > 1:
            n_terms += self._columns[family.gate].of_gate.most_columns(1, size)
        return n_terms

    def hold_out(self, family: Family) -> None:
        """Fit each candidate of a family to every fold.

        The predictions of rows that they were not fitted on stay in the blocks, where they are
        compared.
        """
        n_parts, allowed = self._n_parts, self._sizes_of(family)
        runs = np.tile(np.arange(n_parts), len(family.alphas))
        alpha = np.repeat(np.array(family.alphas), n_parts)
        self.contest.begin(self.points(family))
        for fit in self._fits(family, runs, alpha, allowed, folds=True, single=True):
            of_runs = runs[fit.chunk]
            points = fit.chunk // n_parts * len(allowed) + allowed.index(fit.size)
            compared = self.contest.behind if fit.early else self.contest.hold_out
            fit.ended[:] = compared(fit.kind, points, of_runs, fit.parts)
            if fit.early:
                continue
            # Where runs ended is kept only as far as something uses it.
            ended = zip(alpha[fit.chunk].tolist(), of_runs.tolist(), strict=True)
            for position, (of_run, run) in enumerate(ended):
                point = family.kind, of_run, fit.size
                if run == 0 and not self._stage.n_restarts:
                    self.ended[point] = self._group(family, of_run, fit, position)
                    if n_parts == 1:
                        continue
                if self._plan.keeps_folds:
                    self._kept.setdefault(point, []).append((family, fit, position, run))
        self.contest.end()
        compared = {(one.family.kind, one.alpha, one.size) for one in self.candidates}
        self._kept = {point: kept for point, kept in self._kept.items() if point in compared}

    def _group(self, family: Family, alpha: float, fit: _Fit, position: int) -> Group:
        """Return one of the runs as a group."""
        # A copy of this run alone: a view would keep the parts of all runs.
        theta, intercept, gate, gate_intercept = (
            np.array(to_host(part)[position]) for part in fit.parts
        )
        n_iter, support = int(fit.n_iter[position]), fit.support[position]
        return Group(family, alpha, theta, intercept, support, gate, gate_intercept, n_iter)

    def on_folds(self, point: Point) -> list[Group]:
        """Return where a candidate ended on every fold, if that was kept."""
        if point not in self._kept:
            return [self.ended[point]]
        _, alpha, _ = point
        return [
            self._group(family, alpha, fit, position)
            for family, fit, position, run in self._kept[point]
        ]

    def _members_of(self, family: Family) -> FeatureColumns:
        """Return the columns that members see, in the units that leave together."""
        columns = self._columns[family.basis]
        return columns.single if family.drops == "columns" else columns

    def _path_of(self, family: Family) -> list[int]:
        """Return the sizes along a family's path; groups of a wide table begin later."""
        sizes = self._stage.sizes
        if family.drops == "columns":
            n_columns = self._members_of(family).n_units
            return path_sizes(n_columns, n_columns, self._plan.most_terms)
        if family.n_members == 1 or sizes[0] <= 2 * _SCREENED or not self._rows.restricts:
            return list(sizes)
        return [size for size in sizes if size <= _SCREENED] or [sizes[-1]]

    def _sizes_of(self, family: Family) -> list[int]:
        """Return the sizes of a family's path that are within the limits."""
        if family.drops == "columns":
            # With all of its columns, a member is one of another family.
            return self._path_of(family)[1:]
        return [size for size in self._path_of(family) if size in self._allowed]

    def fitted(
        self, family: Family, points: Mapping[float, Sequence[int]], *, single: bool = False
    ) -> dict[tuple[float, int], list[Group]]:
        """Fit points of paths, sizes by penalty, on all rows.

        They are returned by penalty and size, a group for each restart. Single precision is enough
        for groups that are averaged with those of the folds, which were fitted in it.
        """
        n_restarts, sizes = self._stage.n_restarts, sorted({*chain(*points.values())})
        runs = np.tile(np.arange(n_restarts), len(points))
        alpha = np.repeat(np.array([*points], dtype=np.float64), n_restarts)
        groups: dict[tuple[float, int], list[Group]] = {}
        for fit in self._fits(family, runs, alpha, sizes, folds=False, single=single):
            for position, of_run in enumerate(alpha[fit.chunk].tolist()):
                fit.ended[position] = fit.size <= min(points[of_run])
                if fit.size in points[of_run]:
                    group = self._group(family, of_run, fit, position)
                    groups.setdefault((of_run, fit.size), []).append(group)
                    self.ended[family.kind, of_run, fit.size] = group
        return groups

    def continued(
        self, points: Sequence[Point], columns: IntArray, gate_columns: IntArray, *, single: bool
    ) -> list[Group]:
        """Fit candidates of one kind on all rows, from where they ended, on the same features.

        The rows have laid out the named columns of members and gate.
        """
        family = points[0][0]
        before = [self._ended_before[point] for point in points]
        start: HostParts = (
            np.stack([one.theta[:, :, columns] for one in before]),
            np.stack([one.intercept for one in before]),
            np.stack([one.gate[:, gate_columns] for one in before]),
            np.stack([one.gate_intercept for one in before]),
        )
        support = np.stack([one.support[:, columns] for one in before])
        kind = Kind(family.basis, family.gate, family.pool, folds=False, single=single)
        alpha = np.array([alpha for _, alpha, _ in points])
        runs = np.zeros(len(points), dtype=np.int64)
        gate_support = (start[2] != 0).any(axis=1)
        most = self._stage.max_iter
        signs = self._columns[family.basis].signs
        signs = None if signs is None else signs[columns]
        parts, n_iter, _ = self._optimum(
            kind, runs, alpha, start, support, gate_support, most, signs, restricts=False
        )
        theta, intercept, gate, gate_intercept = on_host(parts)
        groups = []
        for number, one in enumerate(before):
            group = replace(
                one,
                theta=np.zeros(one.theta.shape),
                intercept=intercept[number],
                gate=np.zeros(one.gate.shape),
                gate_intercept=gate_intercept[number],
                n_iter=one.n_iter + int(n_iter[number]),
            )
            group.theta[:, :, columns] = theta[number]
            group.gate[:, gate_columns] = gate[number]
            groups.append(group)
        return groups

    def _fits(
        self,
        family: Family,
        runs: IntArray,
        alpha: FloatArray,
        sizes: Sequence[int],
        *,
        folds: bool,
        single: bool,
    ) -> Iterator[_Fit]:
        """Yield the family's optimum for each run and penalty, a part of the stack at a time.

        Only the points of a path in ``sizes`` are given, and groups on folds also on their way to
        the first one; runs that the caller marks as ended go no further. With ``single``, single
        precision is used unless a block needs double.
        """
        basis = family.basis
        if single and basis not in self._needs_double:
            self._needs_double[basis] = bool(self._rows.max(SearchBlock.needs_double, basis)[0])
        single = single and self._plan.single and not self._needs_double[basis]
        path = [size for size in self._path_of(family) if size >= min(sizes)]
        kind = Kind(family.basis, family.gate, family.pool, folds, single)
        n_columns, signs = self._columns[family.basis].n_columns, self._columns[family.basis].signs
        at_once = runs_at_once(family.n_members, self._rows.n_classes, self._n_rows, n_columns)
        steps = [(size, self._stage.path_iter, False) for size in path]
        first, early = self._stage.max_iter, int(_EARLY * self._stage.max_iter)
        compares = folds and family.n_members > 1 and self.contest.ends_early
        if not compares or early < _EARLIEST or path[0] not in sizes:
            early = 0
        steps[:1] = [(path[0], early, True)] * bool(early) + [(path[0], first - early, False)]
        for first in range(0, len(runs), at_once):
            chunk = np.arange(first, min(first + at_once, len(runs)))
            of_chunk, alphas = runs[chunk], alpha[chunk]
            start, support = self._start(
                family, of_chunk + (0 if folds else self._n_parts), alphas, path[0]
            )
            gate_support = None
            if signs is not None:
                gate_support = np.tile(self._columns[family.gate].of_gate.usable, (len(chunk), 1))
            n_iter = np.zeros(len(chunk), dtype=np.int64)
            for size, max_iter, is_early in steps:
                if size < path[0]:
                    kept = self._strongest(family, start, size)
                    start, support, gate_support = self._within(family, start, kept)
                parts, more, value = self._optimum(
                    kind, of_chunk, alphas, start, support, gate_support, max_iter, signs
                )
                n_iter += more
                start = on_host(parts)
                if size < path[0] and self._splices(family, size):
                    start, support, more = self._spliced(
                        family, kind, of_chunk, alphas, size, kept, start, support, value
                    )
                    n_iter += more
                    parts = self._on_device(kind, start)
                if size not in sizes:
                    continue
                ended = np.zeros(len(chunk), dtype=bool)
                yield _Fit(kind, chunk, size, parts, support, n_iter.copy(), ended, is_early)
                if ended.any():
                    going_on = ~ended
                    chunk, of_chunk, support = (
                        chunk[going_on],
                        of_chunk[going_on],
                        support[going_on],
                    )
                    alphas, n_iter = alphas[going_on], n_iter[going_on]
                    theta, intercept, gate, gate_intercept = (part[going_on] for part in start)
                    start = theta, intercept, gate, gate_intercept
                if not len(chunk):
                    break

    def _optimum(
        self,
        kind: Kind,
        runs: IntArray,
        alpha: FloatArray,
        start: HostParts,
        support: BoolArray,
        gate_support: BoolArray | None,
        max_iter: int,
        signs: IntArray | None = None,
        restricts: bool = True,
    ) -> tuple[Parts, IntArray, FloatArray]:
        """Return where runs (r,) end from where they start, and after how many iterations.

        Coefficients of columns with ``signs`` (P,) have these, for the second of two classes. With
        ``restricts``, the columns in use may be copied for products that take less time.
        """
        rows, plan, of_runs = self._rows, self._plan, (kind.folds, kind.single)
        if of_runs not in self._with_totals:
            (total,) = rows.sum(SearchBlock.run_totals, *of_runs)
            rows.broadcast(SearchBlock.set_totals, *of_runs, total)
            self._with_totals.add(of_runs)
        shape, n_members = (start[0].shape[3], start[2].shape[2]), start[0].shape[1]
        # The columns of members and gate that any run uses, where it is worth copying them.
        columns, gate_columns = np.flatnonzero(support.any(axis=(0, 1))), np.arange(shape[1])
        if n_members == 1:
            # A group of one member has no gate.
            gate_columns = gate_columns[:0]
        elif gate_support is not None:
            gate_columns = np.flatnonzero(gate_support.any(axis=0))
        columns, gate_columns = (
            np.arange(n_columns) if len(used) > _MOST_COPIED * n_columns else used
            for used, n_columns in zip((columns, gate_columns), shape, strict=True)
        )
        left_out = sum(shape) - len(columns) - len(gate_columns)
        restricts &= rows.restricts and left_out * self._n_rows >= _LEFT_OUT
        if restricts:
            kind = replace(kind, restricted=True)
            rows.broadcast(SearchBlock.restrict, kind, columns, gate_columns)
            theta, intercept, gate, gate_intercept = start
            start = theta[..., columns], intercept, gate[..., gate_columns], gate_intercept
            support = support[..., columns]
            signs = None if signs is None else signs[columns]
            gate_support = None if gate_support is None else gate_support[..., gate_columns]
        n_outputs = rows.n_classes
        if n_outputs == 2:
            # One number for both classes takes half of the products, and finds the same optimum.
            n_outputs = 1
            start = contrast(start[0], 2), contrast(start[1], 2), *start[2:]
        xp = namespace_of(rows.like)
        dtype = xp.float32 if kind.single else xp.float64
        objective = GatedObjective(
            lambda parts, which: rows.sum(
                SearchBlock.value_and_gradient, kind, runs[which], parts
            ),
            like(rows.like, alpha * self._stage.rung.factor, dtype),
            n_members,
            n_outputs,
            start[0].shape[3],
            start[2].shape[2],
            support=None if support.all() else like(rows.like, support, dtype),
            gate_support=None
            if gate_support is None or gate_support.all()
            else like(rows.like, gate_support, dtype),
            toward_mean=plan.task.toward_mean if n_members > 1 else 0.0,
        )
        packed = np.concatenate([part.reshape(len(runs), -1) for part in start], axis=1)
        if signs is not None:
            # Of the parameters of a run, the coefficients of members come first.
            of_members = np.tile(signs, n_members)
            signs = np.pad(of_members, (0, packed.shape[1] - len(of_members)))
        found = minimise(
            objective,
            like(rows.like, packed, dtype),
            max_iter=max_iter,
            tol=1e-4,
            memory=6,
            journal=plan.journal,
            on_iteration=self._on_iteration,
            signs=None if signs is None else like(rows.like, signs, dtype),
        )
        parts = objective.within(found.x, np.arange(len(runs)))
        if n_outputs < rows.n_classes:
            parts = of_two_classes(parts[0], 2), of_two_classes(parts[1], 2), *parts[2:]
        if restricts:
            of_members = widened(parts[0], columns, shape[0])
            of_gate = widened(parts[2], gate_columns, shape[1])
            parts = of_members, parts[1], of_gate, parts[3]
        return parts, found.n_iter, np.asarray(to_host(found.value), dtype=np.float64)

    def _strongest(self, family: Family, parts: HostParts, size: int) -> Subsets:
        """Return the units of features that members and gates keep at a point of a path."""
        theta, _, gate, _ = parts
        squares = member_squares(theta), gate_squares(gate)[:, None]
        members, gates, limit = self._seen(family, size)
        return (
            members.strongest(members.strength(squares[0]), size, limit),
            gates.strongest(gates.strength(squares[1]), size, limit),
        )

    def _seen(self, family: Family, size: int) -> tuple[FeatureColumns, FeatureColumns, int]:
        """Return the columns of members and of gates, and how many features each may have."""
        members = self._members_of(family)
        limit = self._plan.most_features if size in self._allowed else members.n_features
        return members, self._columns[family.gate].of_gate, limit

    def _within(
        self, family: Family, parts: HostParts, kept: Subsets
    ) -> tuple[HostParts, BoolArray, BoolArray]:
        """Return parts on the units of features that are kept, and the columns of these.

        A member that is left without features would be a constant, and the gate the classifier, so
        it is dropped.
        """
        theta, intercept, gate, gate_intercept = parts
        support = self._members_of(family).columns(kept[0])
        gate_support = self._columns[family.gate].of_gate.columns(kept[1])
        # A dropped member has no coefficients, and keeps none.
        dropped: BoolArray = ~(np.any(theta, axis=(2, 3)) & np.any(support, axis=2))
        # Where all coefficients are zero, members that need not be dropped have zeros, too.
        dropped &= ~dropped.all(axis=1, keepdims=True)
        gate = np.where(dropped[:, :, None], 0.0, gate * gate_support)
        gate_intercept = np.where(dropped, _NEVER, gate_intercept)
        return (
            (theta * support[:, :, None], intercept, gate, gate_intercept),
            support,
            gate_support[:, 0],
        )

    def _splices(self, family: Family, size: int) -> bool:
        """Return whether features are exchanged at a point of a limited flock's paths.

        Without rows held out, nothing would tell where that fits the training rows alone.
        """
        if size > MOST_UNITS or not self._is_limited or not self._n_parts:
            return False
        return self._n_terms(family, size) <= self._plan.most_terms

    def _spliced(
        self,
        family: Family,
        kind: Kind,
        runs: IntArray,
        alpha: FloatArray,
        size: int,
        kept: Subsets,
        parts: HostParts,
        support: BoolArray,
        value: FloatArray,
    ) -> tuple[HostParts, BoolArray, IntArray]:
        """Return where runs (r,) end after exchanges of features that lower their value (r,).

        The columns of members are returned, too, and how many more iterations it took.
        """
        members, gates, limit = self._seen(family, size)
        signs = self._columns[family.basis].signs
        # All that is known of each run, as it is so far.
        state: list[Any] = [np.array(part) for part in (*parts, support, *kept, value)]
        n_iter, step = np.zeros(len(runs), dtype=np.int64), np.zeros(len(runs), dtype=np.int64)
        for _ in range(TRIES_ON_FOLDS if kind.folds else TRIES):
            going = np.flatnonzero(step < len(ONE_OF))
            if not len(going):
                break
            theta, intercept, gate, gate_intercept, _, units, gate_units, before = (
                part[going] for part in state
            )
            now = theta, intercept, gate, gate_intercept
            sums = self._rows.sum(
                SearchBlock.value_and_gradient, kind, runs[going], self._on_device(kind, now)
            )
            by_gate, by_theta = (np.asarray(to_host(sums[at]), dtype=np.float64) for at in (1, 3))
            how = size, limit, ONE_OF[step[going]]
            if signs is not None:
                # A slope is of no use where a coefficient may not follow it.
                by_theta = np.where(by_theta[:, :, -1:] * signs < 0, 0.0, by_theta)
            squares, slopes = member_squares(theta), member_squares(by_theta)
            tried = exchanged(members, units, squares, slopes, *how)
            squares, slopes = gate_squares(gate)[:, None], gate_squares(by_gate)[:, None]
            gate_tried = exchanged(gates, gate_units, squares, slopes, *how)
            start, columns, gate_columns = self._within(family, now, (tried, gate_tried))
            ended, more, after = self._optimum(
                kind,
                runs[going],
                alpha[going],
                start,
                columns,
                gate_columns,
                self._stage.path_iter,
                signs,
            )
            n_iter[going] += more
            better = after < (1.0 - LEAST_GAIN) * before
            step[going] = np.where(better, 0, step[going] + 1)
            found = (*on_host(ended), columns, tried, gate_tried, after)
            for old, new in zip(state, found, strict=True):
                old[going[better]] = new[better]
        theta, intercept, gate, gate_intercept, support, *_ = state
        return (theta, intercept, gate, gate_intercept), support, n_iter

    def _on_device(self, kind: Kind, parts: HostParts) -> Parts:
        """Return parts as the arrays that rows compute with."""
        xp = namespace_of(self._rows.like)
        dtype = xp.float32 if kind.single else xp.float64
        theta, intercept, gate, gate_intercept = (
            like(self._rows.like, part, dtype) for part in parts
        )
        return theta, intercept, gate, gate_intercept

    def _start(
        self, family: Family, runs: IntArray, alpha: FloatArray, size: int
    ) -> tuple[HostParts, BoolArray]:
        """Return where the runs start, and the columns that their members may use."""
        before = [self._ended_before.get((family.kind, float(one), size)) for one in alpha]
        known = [one for one in before if one is not None]
        if known:
            theta, intercept, gate, gate_intercept, support = (
                np.stack([np.asarray(getattr(one, name)) for one in known])
                for name in ("theta", "intercept", "gate", "gate_intercept", "support")
            )
            return (theta, intercept, gate, gate_intercept), support
        n_columns = self._columns[family.basis].n_columns
        gate = np.zeros((len(runs), family.n_members, self._columns[family.gate].n_columns))
        if family.n_members == 1:
            theta = np.zeros((len(runs), 1, self._rows.n_classes, n_columns))
            support = np.ones((len(runs), 1, n_columns), dtype=bool)
            return (theta, theta[..., 0], gate, gate[..., 0]), support
        # All bases begin with the features; ramps and products have no coefficients at first.
        usable, n_outputs = self._columns["features"].usable, self._rows.n_classes
        at = usable, self._plan.seed, Purpose.START
        members = range(family.n_members)
        drawn = [[normals_of(*at, run, k, n_outputs) for k in members] for run in runs.tolist()]
        theta = widened(_SCALE * np.array(drawn), np.arange(len(usable)), n_columns)
        support = np.tile(self._columns[family.basis].usable, (*gate.shape[:2], 1))
        if size < self._stage.sizes[0]:
            support = support & self._screened(family, size)[runs][:, None]
            theta = theta * support[:, :, None]
        return (theta, np.zeros(theta.shape[:3]), gate, gate[..., 0]), support

    def _screened(self, family: Family, size: int) -> BoolArray:
        """Return the columns (R, P) of the strongest units of a member alone, in every run.

        Runs are the folds, each of which is fitted on its own rows only, and then the restarts.
        """
        if family.basis not in self._screens:
            alone = Family(family.basis, 1, (max(family.alphas),), family.pool)
            columns = self._columns[family.basis]
            found = []
            for folds, n_runs in ((True, self._n_parts), (False, self._stage.n_restarts)):
                alphas, widest = np.full(n_runs, alone.alphas[0]), self._stage.sizes[:1]
                for fit in self._fits(
                    alone, np.arange(n_runs), alphas, widest, folds=folds, single=True
                ):
                    strength = columns.strength(member_squares(on_host(fit.parts)[0]))
                    kept = columns.strongest(strength, size, columns.n_features)
                    found.append(columns.columns(kept)[:, 0])
            self._screens[family.basis] = np.concatenate(found)
        return self._screens[family.basis]
