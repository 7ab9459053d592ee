"""Algorithm 1 of the paper, over a stack of independent runs that share one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np

from covey._core.algorithm1.rates import LearningRates
from covey._core.algorithm1.rows import NONE, RowBlock
from covey._core.algorithm1.settings import DivergedError, TrainingSettings
from covey._core.algorithm1.step import (
    Candidates,
    FlipProposals,
    Scales,
    State,
    Step,
    beats,
    observed,
)
from covey._core.arrays import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    Positions,
    like,
    namespace_of,
    to_host,
)
from covey._core.blocks import Blocks
from covey._core.journal import Journal, arrays_of, restored
from covey._core.lbfgs import minimise
from covey._core.limits import FAR, TIE
from covey._core.losses import ValueLoss
from covey._core.quantiles import quantiles_by_sums
from covey._core.random import Purpose, normals_of
from covey._state import Array as Numbers
from covey._state import Flags, Wholes


@dataclass
class History:
    """What one member of one run went through; entry 0 is the random start.

    A step that ends a member judged by accuracy is not taken: the entry before it is repeated.
    """

    objective: Annotated[FloatArray, Numbers("T", nan=True, infinite=True)]
    subset_size: Annotated[IntArray, Wholes("T")]
    accepted_flip: Annotated[BoolArray, Flags("T")]


@dataclass
class AccuracyHistory(History):
    """The history of a member of classes; ``objective`` is eq. (9)."""

    weighted_accuracy: Annotated[FloatArray, Numbers("T", nan=True, infinite=True)]


@dataclass
class LossHistory(History):
    """The history of a member of values, before it was finished.

    ``objective`` is F, ``weighted_loss`` is F without its penalties; the loss of a quantile has a
    band of 0.05 or more there.
    """

    weighted_loss: Annotated[FloatArray, Numbers("T", nan=True, infinite=True)]


@dataclass
class GrownMembers:
    """One member of every run."""

    theta: Array  # (C, R, D), zero where the subset leaves a feature out; C is 1 for values
    intercept: Array  # (C, R)
    support: BoolArray  # (R, D), Lambda
    n_iter: IntArray  # (R,), steps evaluated, the one that ended the member included
    n_taken: IntArray  # (R,), steps taken
    weight_sum: FloatArray  # (R,), the sum of the sample weights it was trained with
    criterion: FloatArray  # (R,), weighted accuracy or minus weighted loss of the state kept
    converged: BoolArray  # (R,), False where the iterations to finish it did not suffice
    recorded: FloatArray  # (4, R, steps), see `record`

    def record(self, kind: int, values: Array, runs: Any, step: int) -> None:
        """Record 0 accuracy or loss, 1 objective, 2 size, 3 whether a flip was accepted."""
        while step >= self.recorded.shape[2]:
            self.recorded = np.append(self.recorded, np.zeros_like(self.recorded), axis=2)
        self.recorded[kind, runs, step] = to_host(values)

    def keep(self, state: State, runs: IntArray, chosen: IntArray, at: Positions) -> None:
        """Make the states at the positions ``chosen`` those of their members."""
        if not len(chosen):
            return
        to, of = at(runs[chosen]), at(chosen)
        mask = state.mask[of, :]
        self.support[runs[chosen]] = to_host(mask) > 0
        self.criterion[runs[chosen]] = state.value[chosen]
        self.theta[:, to, :] = state.theta[:, of, :] * mask
        self.intercept[:, to] = state.intercept[:, of]

    @property
    def history(self) -> list[History]:
        """The history of each run."""
        found: list[History] = []
        for run, (evaluated, taken) in enumerate(zip(self.n_iter, self.n_taken, strict=True)):
            # What a refused last step shows is the state before it.
            steps = np.minimum(np.arange(evaluated + 1), taken)
            criterion, objective, size, flip = self.recorded[:, run, steps]
            flip[taken + 1 :] = 0.0
            # The criterion of values, which have one output, is a loss.
            kind = LossHistory if self.theta.shape[0] == 1 else AccuracyHistory
            found.append(kind(objective, size.astype(np.int64), flip.astype(bool), criterion))
        return found


@dataclass
class StackProgress:
    """All that the next step of a member needs; what a journal keeps."""

    step: int
    candidates: Candidates  # those that the rows evaluated last
    accepted: IntArray  # the flipped ones among them that runs continued with
    active: IntArray  # the positions of its runs that are active still
    state: State
    result: GrownMembers
    best: FloatArray
    waited: IntArray


class StackTrainer:
    """Grows members one after another, for all runs of a stack at once.

    The runs' numbers are what their random draws are a function of. Features of one unit flip
    together; unit -1 never flips. ``usable`` (D,) is the start of Lambda, all ones in the paper;
    False bars a feature for good (its unit must be -1); without ``draws_all``, random starts are
    drawn for the others alone. Steps are kept in ``journal``, to continue from after an
    interruption.
    """

    def __init__(
        self,
        rows: Blocks[RowBlock],
        settings: TrainingSettings,
        *,
        seed: int,
        runs: Sequence[int],
        flip_probability: FloatArray,
        unit_of_feature: IntArray,
        usable: BoolArray,
        journal: Journal | None = None,
        draws_all: bool = True,
    ) -> None:
        self.rows = rows
        self._xp = namespace_of(rows.like)
        self._settings = settings
        self._seed = seed
        self._runs = list(runs)
        self.n_runs = len(self._runs)
        self._to_device = partial(like, rows.like)
        self._flip_probability = flip_probability
        self._unit_of_feature = unit_of_feature
        self._usable = usable
        self._journal = journal
        self._drawn = np.ones_like(usable) if draws_all else usable
        self._rates = LearningRates(rows, settings, self.n_runs, usable, self._drawn)
        self.step = Step(rows, settings, self._rates, seed, self._runs)
        self.n_grown = 0

    # -- between members -------------------------------------------------------------------

    def see(self, theta: Array, intercept: Array) -> None:
        """Let the weights of later members depend on one already grown: lines 3 and 4."""
        see(self.rows, self._settings, self._to_device(theta), self._to_device(intercept))
        self.n_grown += 1
        self.step.member = self.n_grown

    def grow(self) -> GrownMembers:
        """Train the next member of every run: lines 3 to 22."""
        settings = self._settings
        weight_sum, total = reweigh(self.rows, settings)
        task = None if self._journal is None else self._journal.begin()
        if task is not None and task.result is not None:
            members: GrownMembers = restored(self._unborn(weight_sum), task.result)
        else:
            rates = self._rates.of_member(is_first=self.n_grown == 0)
            if settings.loss.is_criterion:
                # The weights of values have a sum of one, and losses are measured by that of the
                # guess 0.
                nothing = self._to_device(np.zeros((1, self.n_runs, self.rows.n_features)))
                (total,) = self.rows.sum(
                    RowBlock.evaluate, np.arange(self.n_runs), NONE, nothing, nothing[:, :, 0]
                )
                unit = np.maximum(-observed(total), np.finfo(np.float64).tiny)
                total, cost = self._xp.ones_like(total), np.ones(self.n_runs)
            else:
                cost = unit = observed(weight_sum / total)
            scales = Scales(total, unit, settings.subset_penalty * cost, rates)
            progress = self._begun(weight_sum, scales, task)
            members = progress.result
            self._take_steps(progress, scales, task)
            if len(progress.active) and not settings.loss.is_criterion:
                runs = progress.candidates.runs[progress.active]
                if not settings.keeps_best:
                    members.keep(progress.state, runs, np.arange(len(runs)), self.step.at)
                settled = progress.accepted, progress.active
                (objective,) = self.rows.sum(RowBlock.slopes, *settled, None, None)
                members.record(1, objective, runs, progress.step)
            largest = float(to_host(self._xp.max(self._xp.abs(members.theta))))
            if not (np.isfinite(members.recorded[1]).all() and largest <= FAR):
                raise DivergedError(self.n_grown + 1)
            if task is not None:
                task.finish(arrays_of(members))
        if settings.finish:
            self._finish(members)
        self.see(members.theta, members.intercept)
        return members

    # -- one member ------------------------------------------------------------------------

    def _unborn(self, weight_sum: Array) -> GrownMembers:
        """Members of all runs before any step: none of their numbers are known."""
        shape = self.rows.n_classes, self.n_runs
        return GrownMembers(
            self._to_device(np.zeros((*shape, self.rows.n_features))),
            self._to_device(np.zeros(shape)),
            np.tile(self._usable, (self.n_runs, 1)),
            np.zeros(self.n_runs, dtype=np.int64),
            np.zeros(self.n_runs, dtype=np.int64),
            observed(weight_sum),
            np.zeros(self.n_runs),
            np.ones(self.n_runs, dtype=bool),
            np.zeros((4, self.n_runs, 64)),
        )

    def _begun(self, weight_sum: Array, scales: Scales, task: Any) -> StackProgress:
        """Line 3, the random start of each run; or where an earlier process stopped."""
        settings, everyone = self._settings, np.arange(self.n_runs)
        # Standard normal draws of coefficients and intercepts, zero on features that are barred.
        at, shape = np.append(self._drawn, True), (self._seed, Purpose.START)
        draws = np.stack(
            [normals_of(at, *shape, run, self.n_grown, self.rows.n_classes) for run in self._runs],
            axis=1,
        )
        draws *= settings.init_scale * np.append(self._usable, settings.fit_intercept)
        theta = self._to_device(np.ascontiguousarray(draws[:, :, :-1]))
        intercept = self._to_device(np.ascontiguousarray(draws[:, :, -1]))
        mask = self._to_device(np.tile(self._usable * 1.0, (self.n_runs, 1)))
        (total,) = self.rows.sum(RowBlock.evaluate, everyone, NONE, theta * mask, intercept)
        candidates = self.step.judged(total, everyone, NONE, theta, intercept, mask, scales)
        first = slice(self.n_runs)
        result = self._unborn(weight_sum)
        result.keep(candidates, everyone, everyone, self.step.at)
        progress = StackProgress(
            0,
            candidates,
            NONE,
            everyone,
            candidates.select(first, first),
            result,
            observed(candidates.score),
            np.zeros(self.n_runs, dtype=np.int64),
        )
        self._record(result, progress.state, everyone, 0)
        if task is not None and task.state is not None:
            progress = restored(progress, task.state)
            last = progress.candidates
            masked = last.theta * last.mask
            self.rows.sum(RowBlock.evaluate, last.runs, last.flipping, masked, last.intercept)
        return progress

    def _take_steps(self, progress: StackProgress, scales: Scales, task: Any) -> None:
        """Take step after step: lines 5 to 22."""
        settings, result = self._settings, progress.result
        by_loss = settings.loss.is_criterion
        proposals = FlipProposals(
            self._seed, self.n_grown, self._runs, self._flip_probability, self._unit_of_feature
        )
        for number in range(progress.step, settings.max_iter):
            runs, before = progress.candidates.runs[progress.active], progress.state
            flips = proposals.at(number, runs)
            flipping = np.flatnonzero(flips.any(axis=1))
            objective, progress.candidates, state, progress.accepted, highest = self.step(
                before,
                (progress.accepted, progress.active),
                runs,
                flipping,
                self._to_device(flips[flipping]),
                scales,
                number,
            )
            if not by_loss:
                result.record(1, objective, runs, number)
            if len(flipping):
                flipped = runs[flipping[progress.accepted]]
                result.record(3, np.array(1.0), flipped, number + 1)
            tie = TIE * scales.unit[runs]
            best = progress.best[runs]
            if not settings.can_stop:
                stopped = np.zeros(len(runs), dtype=bool)
            elif settings.patience is None:
                stopped = highest - before.score - settings.tol < -tie
            else:
                if by_loss:
                    idle = ~(state.score - best > settings.tol)
                else:
                    idle = highest - best - settings.tol <= tie
                progress.waited[runs] = np.where(idle, progress.waited[runs] + 1, 0)
                stopped = progress.waited[runs] >= settings.patience
            result.n_iter[runs] += 1

            active = np.flatnonzero(~stopped)
            # Judged by accuracy, a step that ends its run is not taken.
            taking = np.arange(len(runs)) if by_loss else active
            if len(taking) < len(runs):
                if not settings.keeps_best:
                    result.keep(before, runs, np.flatnonzero(stopped), self.step.at)
                state, runs, tie = (
                    state.select(taking, self.step.at(taking)),
                    runs[taking],
                    tie[taking],
                )
            if len(runs):
                result.n_taken[runs] += 1
                self._record(result, state, runs, number + 1)
                if settings.keeps_best:
                    best = progress.best[runs]
                    # The latest of equally accurate states is kept: its likelihood is higher.
                    better = state.score > best if by_loss else ~beats(best, state.score, tie)
                    progress.best[runs] = np.maximum(best, state.score)
                    result.keep(state, runs, np.flatnonzero(better), self.step.at)
            if len(active) < len(state.value):
                state = state.select(active, self.step.at(active))
            progress.active, progress.state, progress.step = active, state, number + 1
            if not len(active):
                break
            if task is not None:
                task.step(partial(arrays_of, progress))

    def _record(self, result: GrownMembers, state: State, runs: Any, step: int) -> None:
        """Add the states of some runs to their histories."""
        by_loss = self._settings.loss.is_criterion
        result.record(0, -state.value if by_loss else state.value, runs, step)
        result.record(2, self._xp.sum(state.mask, axis=1, dtype=self._xp.float64), runs, step)
        if by_loss:
            result.record(1, -state.score, runs, step)

    def _finish(self, members: GrownMembers) -> None:
        """Take members to the minimum of loss and penalty with the subsets that they have."""
        xp, alpha, n_classes = self._xp, self._settings.alpha, self.rows.n_classes
        mask = self._to_device(members.support * 1.0)

        def split(x: Array) -> tuple[Array, Array]:
            parts = xp.reshape(x, (x.shape[0], n_classes, -1))
            parts = xp.permute_dims(parts, (1, 0, 2))
            return parts[:, :, :-1], parts[:, :, -1]

        def joined(theta: Array, intercept: Array) -> Array:
            parts = xp.concat([theta, intercept[:, :, None]], axis=2)
            return xp.reshape(xp.permute_dims(parts, (1, 0, 2)), (theta.shape[1], -1))

        def objective(x: Array, runs: IntArray) -> tuple[Array, Array]:
            of_runs = mask[self.step.at(runs), :]
            theta, intercept = split(x)
            theta = theta * of_runs
            value, slope, total = self.rows.sum(RowBlock.loss_gradient, runs, theta, intercept)
            value = value + 0.5 * alpha * xp.sum(theta * theta, axis=(0, 2))
            return value, joined((slope + alpha * theta) * of_runs, total)

        most = self._settings.finish
        start = joined(members.theta, members.intercept)
        found = minimise(objective, start, max_iter=most, journal=self._journal)
        theta, members.intercept = split(found.x)
        members.theta = theta * mask
        members.converged = found.converged | (found.n_iter < most)


def see(
    rows: Blocks[RowBlock], settings: TrainingSettings, theta: Array, intercept: Array
) -> None:
    """Let all rows take note of a member: lines 3 and 4 of Algorithm 1."""
    rows.broadcast(RowBlock.see, theta, intercept)
    if isinstance(settings.loss, ValueLoss):
        rows.broadcast(RowBlock.trust, typical_loss(rows, settings.loss))
    elif settings.reweighting == "adaboost":
        wrong, whole = rows.sum(RowBlock.errors, rows.max(RowBlock.peak))
        rows.broadcast(RowBlock.boost, wrong / whole)


def typical_loss(rows: Blocks[RowBlock], loss: ValueLoss) -> FloatArray:
    """The loss of the member seen last that rows are compared with: see `MemberLosses`.

    A member without any loss is trusted with everything.
    """
    lost, weight = (to_host(sums) for sums in rows.sum(RowBlock.loss_sums))
    typical: FloatArray = lost / weight
    if loss.robust:
        highest, lowest = rows.max(RowBlock.loss_extent)
        median = quantiles_by_sums(
            rows, RowBlock.loss_weight_up_to, -lowest, highest, np.array([0.5])
        )[:, 0]
        typical = np.where(median > 0, median / np.log(2.0), typical)
    return np.where(typical > 0, typical, 1.0)


def reweigh(rows: Blocks[RowBlock], settings: TrainingSettings) -> tuple[Array, Array]:
    """Set the weights of the next member on all rows; their sums (R,), and the user's."""
    weight_sum, total = rows.sum(RowBlock.weigh, rows.max(RowBlock.peak))
    if settings.loss.is_criterion:
        # Losses are means over the weights.
        rows.broadcast(RowBlock.rescale, weight_sum)
    elif settings.reweighting in ("divergence", "adaboost"):
        # Only their proportions have a meaning.
        rows.broadcast(RowBlock.rescale, weight_sum / total)
        weight_sum = total
    return weight_sum, total
