"""Algorithm 1 of the paper, over a stack of independent runs that share one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np

from covey._core.algorithm1.rates import LearningRates
from covey._core.algorithm1.rows import NONE, RowBlock
from covey._core.algorithm1.settings import DivergedError, TrainingSettings
from covey._core.algorithm1.step import (
    LARGEST,
    TIE,
    Candidates,
    FlipProposals,
    Outcome,
    Scales,
    State,
    Step,
    beats,
)
from covey._core.arrays import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    like,
    namespace_of,
    to_host,
)
from covey._core.journal import Arrays, Journal, Task
from covey._core.lbfgs import minimise
from covey._core.quantiles import quantiles_by_sums
from covey._core.random import Purpose, normals_of
from covey._core.rows import Rows
from covey._core.value_losses import ValueLoss
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


def history_of(columns: FloatArray, is_criterion: bool) -> History:
    """The history that columns of a `Recorder`, (4, n_steps + 1), hold."""
    criterion, objective, size, flip = columns
    kind = LossHistory if is_criterion else AccuracyHistory
    return kind(objective, size.astype(np.int64), flip.astype(bool), criterion)


@dataclass
class Members:
    """One member of every run."""

    theta: Array  # (C, R, D), zero where the subset leaves a feature out; C is 1 for values
    intercept: Array  # (C, R)
    support: BoolArray  # (R, D), Lambda
    n_iter: IntArray  # (R,), steps evaluated, the one that ended the member included
    history: list[History]  # one a run
    weight_sum: FloatArray  # (R,), the sum of the sample weights it was trained with
    criterion: FloatArray  # (R,), weighted accuracy or minus weighted loss of the state kept
    converged: BoolArray  # (R,), False where the iterations to finish it did not suffice

    def arrays(self) -> Arrays:
        """All of it as arrays on the host, for a journal."""
        arrays: Arrays = {
            "theta": to_host(self.theta),
            "intercept": to_host(self.intercept),
            "support": self.support,
            "n_iter": self.n_iter,
            "weight_sum": self.weight_sum,
            "criterion": self.criterion,
        }
        for run, history in enumerate(self.history):
            arrays.update({f"{name} {run}": values for name, values in vars(history).items()})
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays, beside: Array, is_criterion: bool) -> Members:
        """A member that an earlier process grew; its arrays where ``beside`` lives."""
        n_runs = len(arrays["n_iter"])
        quality = "weighted_loss" if is_criterion else "weighted_accuracy"
        fields = (quality, "objective", "subset_size", "accepted_flip")
        return cls(
            like(beside, arrays["theta"]),
            like(beside, arrays["intercept"]),
            arrays["support"].astype(bool),
            arrays["n_iter"].astype(np.int64),
            [
                history_of(
                    np.stack([arrays[f"{name} {run}"].astype(np.float64) for name in fields]),
                    is_criterion,
                )
                for run in range(n_runs)
            ],
            arrays["weight_sum"].astype(np.float64),
            arrays["criterion"].astype(np.float64),
            np.ones(n_runs, dtype=bool),
        )


class Recorder:
    """Collects the histories of a stack, one column a step."""

    def __init__(self, n_runs: int) -> None:
        self.columns: FloatArray = np.zeros((4, n_runs, 64))

    def add(self, kind: int, values: Array, runs: Any, step: int) -> None:
        """Kinds: 0 accuracy or loss, 1 objective, 2 size, 3 whether a flip was accepted."""
        while step >= self.columns.shape[2]:
            self.columns = np.append(self.columns, np.zeros_like(self.columns), axis=2)
        self.columns[kind, runs, step] = to_host(values)

    def histories(self, n_iter: IntArray, n_taken: IntArray, is_criterion: bool) -> list[History]:
        """The history of each run, from how many steps it evaluated and how many it took."""
        histories = []
        for run, (evaluated, taken) in enumerate(zip(n_iter, n_taken, strict=True)):
            # What a refused last step shows is the state before it.
            past = self.columns[:, run, np.minimum(np.arange(evaluated + 1), taken)]
            past[3, taken + 1 :] = 0.0
            histories.append(history_of(past, is_criterion))
        return histories


@dataclass
class Progress:
    """All that the next step of a member needs; what a journal keeps."""

    step: int
    candidates: Candidates  # those that the rows evaluated last
    accepted: IntArray  # the flipped ones among them that runs continued with
    active: IntArray  # the positions of its runs that are active still
    state: State
    result: Members
    best: FloatArray
    waited: IntArray
    n_taken: IntArray
    recorder: Recorder

    @property
    def runs(self) -> IntArray:
        """The active runs."""
        return self.candidates.runs[self.active]

    def arrays(self) -> Arrays:
        """All of it as arrays on the host."""
        candidates, result = self.candidates, self.result
        arrays: Arrays = {
            "step": np.array(self.step),
            # The outputs of other candidates would differ by rounding.
            "candidate theta": to_host(candidates.theta),
            "candidate intercept": to_host(candidates.intercept),
            "candidate mask": to_host(candidates.mask),
            "candidate runs": candidates.runs,
            "candidate flipping": candidates.flipping,
            "accepted": self.accepted,
            "active": self.active,
            "kept theta": to_host(result.theta),
            "kept intercept": to_host(result.intercept),
            "kept support": result.support,
            "kept n_iter": result.n_iter,
            "kept criterion": result.criterion,
            "best": self.best,
            "waited": self.waited,
            "n_taken": self.n_taken,
            "recorded": self.recorder.columns,
        }
        arrays.update({f"state {name}": to_host(x) for name, x in vars(self.state).items()})
        return arrays

    def restore(self, arrays: Arrays, candidates: Candidates, beside: Array) -> None:
        """Take over the progress of an earlier process, whose last candidates are evaluated."""
        self.step = int(arrays["step"])
        self.candidates = candidates
        self.accepted = arrays["accepted"].astype(np.int64)
        self.active = arrays["active"].astype(np.int64)
        self.state = State(
            like(beside, arrays["state theta"]),
            like(beside, arrays["state intercept"]),
            like(beside, arrays["state mask"]),
            arrays["state value"],
            arrays["state score"],
        )
        result = self.result
        result.theta[...] = like(beside, arrays["kept theta"])
        result.intercept[...] = like(beside, arrays["kept intercept"])
        result.support[...] = arrays["kept support"]
        result.n_iter[...] = arrays["kept n_iter"]
        result.criterion[...] = arrays["kept criterion"]
        self.best[...] = arrays["best"]
        self.waited[...] = arrays["waited"]
        self.n_taken[...] = arrays["n_taken"]
        self.recorder.columns = arrays["recorded"].astype(np.float64)


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
        rows: Rows[RowBlock],
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
        self._everyone: IntArray = np.arange(self.n_runs)
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
        see(self.rows, self._settings, theta, intercept)
        self.n_grown += 1
        self.step.member = self.n_grown

    def grow(self, on_step: Callable[[int], None] | None = None) -> Members:
        """Train the next member of every run: lines 3 to 22."""
        weight_sum, total = reweigh(self.rows, self._settings)
        task = None if self._journal is None else self._journal.begin()
        if task is not None and task.result is not None:
            is_criterion = self._settings.loss.is_criterion
            members = Members.from_arrays(task.result, self.rows.like, is_criterion)
        else:
            members = self._train(weight_sum, total, on_step, task)
            if task is not None:
                task.finish(members.arrays())
        if self._settings.finish:
            self._finish(members)
        self.see(members.theta, members.intercept)
        return members

    def _scales(self, weight_sum: Array, total: Array) -> Scales:
        settings, observed = self._settings, self.step.observed
        rates = self._rates.of_member(is_first=self.n_grown == 0)
        if not settings.loss.is_criterion:
            unit = observed(weight_sum / total)
            return Scales(total, unit, settings.subset_penalty * unit, rates)
        # The weights of values have a sum of one, and losses are measured by that of the guess 0.
        nothing = self._to_device(np.zeros((1, self.n_runs, self.rows.n_features)))
        (guess,) = self.rows.sum(
            RowBlock.evaluate, self._everyone, NONE, nothing, nothing[:, :, 0]
        )
        unit = np.maximum(-observed(guess), np.finfo(np.float64).tiny)
        cost = np.full(self.n_runs, settings.subset_penalty)
        return Scales(self._xp.ones_like(guess), unit, cost, rates)

    # -- one member ------------------------------------------------------------------------

    def _start(self) -> tuple[Array, Array]:
        """Line 3: the random start of each run, zero on features that are barred."""
        settings, n_classes = self._settings, self.rows.n_classes
        at = np.append(self._drawn, True)
        # Standard normal draws of coefficients and intercepts, (C, R, D + 1).
        draws = np.stack(
            [
                normals_of(at, self._seed, Purpose.START, run, self.n_grown, n_classes)
                for run in self._runs
            ],
            axis=1,
        )
        draws *= settings.init_scale * np.append(self._usable, settings.fit_intercept)
        theta = self._to_device(np.ascontiguousarray(draws[:, :, :-1]))
        return theta, self._to_device(np.ascontiguousarray(draws[:, :, -1]))

    def _train(
        self,
        weight_sum: Array,
        total: Array,
        on_step: Callable[[int], None] | None,
        task: Task | None,
    ) -> Members:
        settings, xp = self._settings, self._xp
        scales = self._scales(weight_sum, total)
        progress = self._begun(weight_sum, scales)
        result, recorder = progress.result, progress.recorder
        if task is not None and task.state is not None:
            self._restore(progress, task.state, scales)

        self._take_steps(progress, scales, on_step, task)
        if len(progress.active) and not settings.loss.is_criterion:
            runs = progress.runs
            if not settings.keeps_best:
                self._keep(result, progress.state, runs, np.arange(len(runs)))
            (objective,) = self.rows.sum(RowBlock.objective, progress.accepted, progress.active)
            recorder.add(1, objective, runs, progress.step)
        result.history = recorder.histories(
            result.n_iter, progress.n_taken, settings.loss.is_criterion
        )
        finite = all(np.isfinite(past.objective).all() for past in result.history)
        if not finite or not float(to_host(xp.max(xp.abs(result.theta)))) <= LARGEST:
            raise DivergedError(self.n_grown + 1)
        return result

    def _begun(self, weight_sum: Array, scales: Scales) -> Progress:
        """Where all runs are before the first step."""
        n_runs = self.n_runs
        theta, intercept = self._start()
        mask = self._to_device(np.tile(self._usable * 1.0, (n_runs, 1)))
        candidates = self.step.evaluate(self._everyone, NONE, theta, intercept, mask, scales)
        result = Members(
            theta * mask,
            intercept + 0.0,
            np.tile(self._usable, (n_runs, 1)),
            np.zeros(n_runs, dtype=np.int64),
            [],
            np.array(to_host(weight_sum), dtype=np.float64),
            np.array(to_host(candidates.value), dtype=np.float64),
            np.ones(n_runs, dtype=bool),
        )
        progress = Progress(
            0,
            candidates,
            NONE,
            self._everyone,
            candidates.unflipped(),
            result,
            np.array(to_host(candidates.score), dtype=np.float64),
            np.zeros(n_runs, dtype=np.int64),
            np.zeros(n_runs, dtype=np.int64),
            Recorder(n_runs),
        )
        self._record(progress, progress.state, slice(None), 0)
        return progress

    def _take_steps(
        self,
        progress: Progress,
        scales: Scales,
        on_step: Callable[[int], None] | None,
        task: Task | None,
    ) -> None:
        """Take step after step: lines 5 to 22."""
        settings, result, recorder = self._settings, progress.result, progress.recorder
        by_loss = settings.loss.is_criterion
        proposals = FlipProposals(
            self._seed, self.n_grown, self._runs, self._flip_probability, self._unit_of_feature
        )
        for number in range(progress.step, settings.max_iter):
            runs, before = progress.runs, progress.state
            flips = proposals.at(number, runs)
            flipping = np.flatnonzero(flips.any(axis=1))
            outcome = self.step(
                before,
                (progress.accepted, progress.active),
                runs,
                flipping,
                self._to_device(flips[flipping]),
                scales,
                number,
            )
            if not by_loss:
                recorder.add(1, outcome.objective, runs, number)
            if len(flipping):
                recorder.add(3, np.array(1.0), runs[flipping[outcome.accepted]], number + 1)
            stopped = self._stopped(progress, outcome, before, runs, scales)
            result.n_iter[runs] += 1
            if on_step is not None:
                on_step(number + 1)

            active, state = np.flatnonzero(~stopped), outcome.state
            # Judged by accuracy, a step that ends its run is not taken.
            taking = np.arange(len(runs)) if by_loss else active
            if len(taking) < len(runs):
                if not settings.keeps_best:
                    self._keep(result, before, runs, np.flatnonzero(stopped))
                state, runs = state.select(taking, self.step.at(taking)), runs[taking]
            if len(runs):
                progress.n_taken[runs] += 1
                self._record(progress, state, runs, number + 1)
                self._keep_best(progress, state, runs, scales)
            if len(active) < len(state.value):
                state = state.select(active, self.step.at(active))
            progress.candidates, progress.accepted = outcome.candidates, outcome.accepted
            progress.active, progress.state, progress.step = active, state, number + 1
            if not len(active):
                break
            if task is not None:
                task.step(progress.arrays)

    def _stopped(
        self,
        progress: Progress,
        outcome: Outcome,
        before: State,
        runs: IntArray,
        scales: Scales,
    ) -> BoolArray:
        """Which of the active runs this step ends."""
        settings = self._settings
        # Accuracies are sums over M rows; so are the ties between them.
        tie, best = TIE * scales.unit[runs], progress.best[runs]
        if not settings.can_stop:
            return np.zeros(len(runs), dtype=bool)
        if settings.patience is None:
            ends: BoolArray = outcome.highest - before.score - settings.tol < -tie
            return ends
        if settings.loss.is_criterion:
            idle = ~(outcome.state.score - best > settings.tol)
        else:
            idle = outcome.highest - best - settings.tol <= tie
        progress.waited[runs] = np.where(idle, progress.waited[runs] + 1, 0)
        return progress.waited[runs] >= settings.patience

    def _record(self, progress: Progress, state: State, runs: Any, step: int) -> None:
        """Add the states of some runs to their histories."""
        by_loss, recorder = self._settings.loss.is_criterion, progress.recorder
        recorder.add(0, -state.value if by_loss else state.value, runs, step)
        recorder.add(2, self._xp.sum(state.mask, axis=1, dtype=self._xp.float64), runs, step)
        if by_loss:
            recorder.add(1, -state.score, runs, step)

    def _keep_best(self, progress: Progress, state: State, runs: IntArray, scales: Scales) -> None:
        """Keep the states that are the best of their runs so far."""
        if not self._settings.keeps_best:
            return
        best, score = progress.best[runs], state.score
        if self._settings.loss.is_criterion:
            kept = score > best
        else:
            # The latest of equally accurate states is kept: its likelihood is higher.
            kept = ~beats(best, score, TIE * scales.unit[runs])
        progress.best[runs] = np.maximum(best, score)
        self._keep(progress.result, state, runs, np.flatnonzero(kept))

    def _keep(self, result: Members, state: State, runs: IntArray, chosen: IntArray) -> None:
        """Make the states at the positions ``chosen`` those of their members."""
        if not len(chosen):
            return
        at, of = self.step.at(runs[chosen]), self.step.at(chosen)
        mask = state.mask[of, :]
        result.support[runs[chosen]] = to_host(mask) > 0
        result.criterion[runs[chosen]] = to_host(state.value)[chosen]
        result.theta[:, at, :] = state.theta[:, of, :] * mask
        result.intercept[:, at] = state.intercept[:, of]

    def _restore(self, progress: Progress, arrays: Arrays, scales: Scales) -> None:
        """Continue from where an earlier process stopped."""
        candidates = self.step.evaluate(
            arrays["candidate runs"].astype(np.int64),
            arrays["candidate flipping"].astype(np.int64),
            self._to_device(arrays["candidate theta"]),
            self._to_device(arrays["candidate intercept"]),
            self._to_device(arrays["candidate mask"]),
            scales,
        )
        progress.restore(arrays, candidates, self.rows.like)

    def _finish(self, members: Members) -> None:
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


def see(rows: Rows[RowBlock], settings: TrainingSettings, theta: Array, intercept: Array) -> None:
    """Let all rows take note of a member: lines 3 and 4 of Algorithm 1."""
    rows.broadcast(RowBlock.see, theta, intercept)
    if isinstance(settings.loss, ValueLoss):
        rows.broadcast(RowBlock.trust, typical_loss(rows, settings.loss))
    elif settings.reweighting == "adaboost":
        wrong, whole = rows.sum(RowBlock.errors, rows.max(RowBlock.peak))
        rows.broadcast(RowBlock.boost, wrong / whole)


def typical_loss(rows: Rows[RowBlock], loss: ValueLoss) -> FloatArray:
    """The loss of the member seen last that rows are compared with: see `MemberLosses`.

    A member without any loss is trusted with everything.
    """
    lost, weight = (to_host(sums) for sums in rows.sum(RowBlock.loss_sums))
    typical: FloatArray = lost / weight
    if loss.robust:
        highest, lowest = rows.max(RowBlock.loss_extent)
        median = quantiles_by_sums(
            lambda values: rows.sum(RowBlock.loss_weight_up_to, values)[0],
            -lowest,
            highest,
            np.array([0.5]),
        )[:, 0]
        typical = np.where(median > 0, median / np.log(2.0), typical)
    return np.where(typical > 0, typical, 1.0)


def reweigh(rows: Rows[RowBlock], settings: TrainingSettings) -> tuple[Array, Array]:
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
