"""Algorithm 1 of the paper, over a stack of independent runs that share one design matrix.

Three kinds of work that the printed algorithm does not need are skipped; all are exact. A
step that draws no flip has no second candidate. The logits of the accepted candidate are the
next step's "old" ones. The logits of a flipped subset are the current ones plus or minus the
flipped columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from array_api_compat import device

from covey._core.arrays import Array, Workspace, to_host
from covey._core.ascent import Ascent, DivergedError, History, Members
from covey._core.design import Design
from covey._core.journal import Arrays, Journal, Task
from covey._core.losses import Loss
from covey._core.random import Purpose, UniformRows, normals
from covey._core.reweighting import Reweighting
from covey._core.softmax_linear import Blocks, weighted_accuracy
from covey._core.subsets import TIE, FlipProposals, beats, metropolis

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

# Power iterations for the Lipschitz bound. They approach it from below, and ascent stays
# monotone up to twice the step that the bound allows, so a rough value is enough.
_POWER_ITERATIONS = 16


# The "constant" learning rate, in units of the inverse curvature of eq. (9) at Theta = 0, where
# every class has probability 1/C. The largest that is stable there is 2.
_CONSTANT_RATE = 1.5


# Coefficients beyond this have left what floating point can make logits of.
_LARGEST = 1e100


@dataclass
class _State:
    """Where the active runs stand; R counts only those."""

    theta: Array  # (C, R, D), entries outside the subset keep their last value
    intercept: Array  # (C, R)
    support: BoolArray  # (R, D)
    logits: Array  # (C, R, n)
    accuracy: FloatArray  # (R,)


class _Recorder:
    """Collects the histories of a stack, one column a step."""

    def __init__(self, n_runs: int) -> None:
        self.columns = np.zeros((4, n_runs, 64))

    def add(
        self, state: _State, objective: Array, active: IntArray, taken: BoolArray, step: int
    ) -> None:
        if step >= self.columns.shape[2]:
            self.columns = np.concatenate([self.columns, np.zeros_like(self.columns)], axis=2)
        self.columns[0, active, step] = state.accuracy
        self.columns[1, active, step] = to_host(objective)
        self.columns[2, active, step] = state.support.sum(axis=1)
        self.columns[3, active, step] = taken

    def histories(self, n_iter: IntArray, n_taken: IntArray) -> list[History]:
        histories = []
        for run, (evaluated, taken) in enumerate(zip(n_iter, n_taken, strict=True)):
            # What a refused last step shows is the state before it.
            steps = np.minimum(np.arange(evaluated + 1), taken)
            accuracy, objective, size, flip = self.columns[:, run, steps]
            flip[taken + 1 :] = 0.0
            histories.append(
                History(accuracy, objective, size.astype(np.int64), flip.astype(bool))
            )
        return histories


@dataclass
class _Progress:
    """All that the next step of a member needs; what a journal keeps."""

    step: int
    active: IntArray
    weight: Array  # of the active runs
    state: _State
    result: Members
    best: FloatArray
    waited: IntArray
    n_taken: IntArray
    recorder: _Recorder

    def arrays(self) -> Arrays:
        state, result = self.state, self.result
        return {
            "step": np.array(self.step),
            "active": self.active,
            "weight": to_host(self.weight),
            "theta": to_host(state.theta),
            "intercept": to_host(state.intercept),
            "support": state.support,
            # Flips change them column by column: made anew they would differ by rounding.
            "logits": to_host(state.logits),
            "accuracy": state.accuracy,
            "kept theta": to_host(result.theta),
            "kept intercept": to_host(result.intercept),
            "kept support": result.support,
            "kept n_iter": result.n_iter,
            "kept accuracy": result.accuracy,
            "best": self.best,
            "waited": self.waited,
            "n_taken": self.n_taken,
            "recorded": self.recorder.columns,
        }


def _as_arrays(members: Members) -> Arrays:
    arrays: Arrays = {
        "theta": to_host(members.theta),
        "intercept": to_host(members.intercept),
        "support": members.support,
        "n_iter": members.n_iter,
        "weight_sum": members.weight_sum,
        "accuracy": members.accuracy,
    }
    for run, history in enumerate(members.history):
        arrays.update({f"{name} {run}": values for name, values in vars(history).items()})
    return arrays


class StackTrainer:
    """Grows members one after another, for all runs of a stack at once.

    Parameters
    ----------
    design : Design
        The matrix that the runs share, its rows sorted by class.
    blocks : tuple of slices
        The rows of each class.
    base_weight : array of shape (R, n)
        The user's sample weights; a row outside a run's split weighs 0.
    ascent : Ascent
    seed : int
    runs : sequence of int
        The runs' numbers: what their random draws are a function of.
    flip_probability : ndarray of shape (R,)
        p_lambda of each run.
    unit_of_feature : ndarray of shape (D,)
        Which features flip together; -1 never flips.
    usable : ndarray of shape (D,), bool
        The start of Lambda: all ones in the paper; False bars a feature for good (its unit
        must be -1).
    journal : Journal, optional
        Where steps are kept, to go on from after an interruption.
    """

    def __init__(
        self,
        design: Design,
        blocks: Blocks,
        base_weight: Array,
        ascent: Ascent,
        *,
        seed: int,
        runs: Sequence[int],
        flip_probability: FloatArray,
        unit_of_feature: IntArray,
        usable: BoolArray,
        journal: Journal | None = None,
    ) -> None:
        self._design = design
        self._xp = design.xp
        self._blocks = blocks
        self._base_weight = base_weight
        self._total = self._xp.sum(base_weight, axis=1)
        self._ascent = ascent
        self._seed = seed
        self._runs = list(runs)
        self._flip_probability = flip_probability
        self._unit_of_feature = unit_of_feature
        self._usable = usable
        self._workspace = Workspace(design.like)
        self._loss = Loss(ascent.loss, ascent.focal_gamma)
        self._reweighting = Reweighting(base_weight, ascent.reweighting)
        self._constant_rate: Array | None = None
        self._journal = journal
        self.n_grown = 0

    # -- between members -------------------------------------------------------------------

    def see(self, theta: Array, intercept: Array) -> None:
        """Let later members know of one already grown: lines 3 and 4's eq. (8)."""
        self._reweighting.see(
            self._logits(theta, intercept, self._everyone(), "seen"), self._blocks
        )
        self.n_grown += 1

    def grow(self, on_step: Callable[[int], None] | None = None) -> Members:
        """Train the next member of every run: lines 3 to 22."""
        weight = self._base_weight * self._reweighting.weights()
        task = None if self._journal is None else self._journal.begin()
        if task is not None and task.result is not None:
            members = self._from_arrays(task.result)
        else:
            members = self._train(weight, self._learning_rates(weight), on_step, task)
            if task is not None:
                task.finish(_as_arrays(members))
        self.see(members.theta, members.intercept)
        return members

    def _everyone(self) -> IntArray:
        return np.arange(len(self._runs))

    def _to_device(self, host: npt.NDArray[Any]) -> Array:
        like = self._design.like
        return self._xp.asarray(host, dtype=like.dtype, device=device(like))

    def _learning_rates(self, weight: Array) -> Array:
        rate = self._ascent.learning_rate
        if rate == "auto":
            return 1.0 / self._lipschitz(weight)
        if rate == "constant":
            if self._constant_rate is None:
                share = _CONSTANT_RATE * len(self._blocks) / 2.0
                self._constant_rate = share / self._lipschitz(self._base_weight)
            return self._constant_rate
        return self._to_device(np.full(len(self._runs), float(rate)))

    def _paced(self, rate: Array, pace: Array | None) -> Array:
        """Steps as long as the loss allows where it stands; a number of the user's as it is."""
        if pace is None or not isinstance(self._ascent.learning_rate, str):
            return rate
        return rate * pace

    def _lipschitz(self, weight: Array) -> Array:
        """``lambda_max(sum_m w_m z_m z_m^T) / 2``, z with the intercept's 1, as (R,).

        The Hessian of eq. (9) is at most ``(I - 11^T/C) / 2`` (Bohning 1992) times that matrix.
        """
        xp = self._xp
        everyone = self._everyone()
        n_runs, n_features = len(self._runs), self._design.n_features
        start = normals(0, Purpose.POWER_ITERATION, 0, 0, (1, 1, n_features + 1))
        vector = self._to_device(np.broadcast_to(start, (1, n_runs, n_features + 1)).copy())
        usable = self._to_device(np.append(self._usable, self._ascent.fit_intercept) * 1.0)
        norm = xp.ones_like(vector[0, :, 0])
        largest = xp.max(weight, axis=1)[:, None]
        weight = weight / largest  # squares of very large or small weights would be lost
        for _ in range(_POWER_ITERATIONS):
            vector = vector * usable
            vector = vector / xp.sqrt(xp.sum(vector * vector, axis=2))[:, :, None]
            product = self._logits(vector[:, :, :-1], vector[:, :, -1], everyone, "power")
            product *= weight
            slope, total = self._design.gradient(product, everyone)
            vector = xp.concat([slope, total[:, :, None]], axis=2)
            norm = xp.sqrt(xp.sum(vector * vector * usable, axis=2))[0]
        return norm * largest[:, 0] / 2.0

    # -- one member ------------------------------------------------------------------------

    def _logits(self, theta: Array, intercept: Array, runs: IntArray, name: str) -> Array:
        n_classes, n_runs, _ = theta.shape
        out = self._workspace.take(name, n_classes, n_runs, self._design.n_rows)
        return self._design.logits(theta, intercept, runs, out)

    def _accuracy(self, logits: Array, weight: Array, runs: IntArray) -> FloatArray:
        accuracy = weighted_accuracy(logits, self._blocks, weight, self._total[runs])
        return np.array(to_host(accuracy), dtype=np.float64)

    def _start(self) -> tuple[Array, Array]:
        """Line 3: the random start of each run, zero on features that are barred."""
        n_classes, n_features = len(self._blocks), self._design.n_features
        draws = np.stack(
            [
                normals(self._seed, Purpose.START, run, self.n_grown, (n_classes, n_features + 1))
                for run in self._runs
            ],
            axis=1,
        )
        draws *= self._ascent.init_scale * np.append(self._usable, self._ascent.fit_intercept)
        theta = self._to_device(np.ascontiguousarray(draws[:, :, :-1]))
        return theta, self._to_device(np.ascontiguousarray(draws[:, :, -1]))

    def _masked(self, theta: Array, support: BoolArray) -> Array:
        return theta * self._to_device(support * 1.0)

    def _step(
        self,
        state: _State,
        support: BoolArray,
        residual: Array,
        rate: Array,
        runs: IntArray,
        weight: Array,
        name: str,
    ) -> _State:
        """Lines 9 and 12, or 10 and 13: one gradient step with the given subset."""
        xp = self._xp
        slope, total = self._design.gradient(residual, runs)
        theta = state.theta + rate[:, None] * self._masked(slope, support)
        if not float(to_host(xp.max(xp.abs(theta)))) <= _LARGEST:
            raise DivergedError(self.n_grown + 1)
        intercept = state.intercept
        if self._ascent.fit_intercept:
            intercept = intercept + rate * total
        logits = self._logits(self._masked(theta, support), intercept, runs, name)
        accuracy = self._accuracy(logits, weight, runs)
        return _State(theta, intercept, support, logits, accuracy)

    def _flipped(
        self,
        state: _State,
        moving: IntArray,
        flips: BoolArray,
        rate: Array,
        runs: IntArray,
        weight: Array,
    ) -> _State:
        """Lines 8, 10 and 13: the candidates of the runs ``moving``, with flipped subsets."""
        logits = self._workspace.take("flipped", len(self._blocks), *weight.shape)
        origin = _select(state, moving, logits)
        support = origin.support ^ flips
        for position, run in enumerate(runs):
            logits[:, position, :] = state.logits[:, moving[position], :]
            which = np.flatnonzero(flips[position])
            sign = self._to_device(np.where(support[position, which], 1.0, -1.0))
            theta = origin.theta[:, position, which] * sign
            self._design.add_columns(logits[:, position, :], theta, which, int(run))
        _, residual, _ = self._loss(
            logits, self._blocks, weight, self._workspace, "flipped residual"
        )
        return self._step(origin, support, residual, rate, runs, weight, "flipped")

    def _score(self, state: _State, mean_weight: FloatArray) -> FloatArray:
        """What subsets are compared by: the accuracy, less what the features cost."""
        if not self._ascent.subset_penalty:
            return state.accuracy
        cost: FloatArray = self._ascent.subset_penalty * mean_weight * state.support.sum(axis=1)
        return state.accuracy - cost

    def _takes_flip(
        self,
        flipped: FloatArray,
        plain: FloatArray,
        tie: FloatArray,
        mean_weight: FloatArray,
        step: int,
        positions: IntArray,
    ) -> BoolArray:
        """Line 17, or its annealed relative."""
        if self._ascent.acceptance == "greedy":
            return beats(flipped, plain, tie)
        draw = np.array(
            [
                UniformRows(
                    self._seed, Purpose.ACCEPT, self._runs[position], self.n_grown, 1
                ).read(step, 1)[0, 0]
                for position in positions
            ]
        )
        return metropolis(flipped, plain, mean_weight, self._ascent.temperature, step, draw)

    def _train(
        self,
        weight: Array,
        rates: Array,
        on_step: Callable[[int], None] | None,
        task: Task | None,
    ) -> Members:
        xp, ascent = self._xp, self._ascent
        n_runs = len(self._runs)
        active = self._everyone()
        # Two buffers take turns: one holds the current logits, the other the next step's.
        current, following = "logits", "next logits"
        theta, intercept = self._start()
        support = np.tile(self._usable, (n_runs, 1))
        logits = self._logits(self._masked(theta, support), intercept, active, current)
        state = _State(theta, intercept, support, logits, self._accuracy(logits, weight, active))
        objective, residual, pace = self._loss(
            logits, self._blocks, weight, self._workspace, "residual"
        )

        # Accuracies are sums over M rows; so are the ties between them.
        weight_sum = np.asarray(to_host(xp.sum(weight, axis=1)), dtype=np.float64)
        mean_weight = weight_sum / np.asarray(to_host(self._total), dtype=np.float64)
        tie = TIE * mean_weight
        proposals = FlipProposals(
            self._seed, self.n_grown, self._runs, self._flip_probability, self._unit_of_feature
        )
        result = Members(
            xp.zeros_like(theta),
            xp.zeros_like(intercept),
            support.copy(),
            np.zeros(n_runs, dtype=np.int64),
            [],
            weight_sum,
            state.accuracy.copy(),
        )
        best = self._score(state, mean_weight).copy()
        waited = np.zeros(n_runs, dtype=np.int64)
        n_taken = np.zeros(n_runs, dtype=np.int64)
        recorder = _Recorder(n_runs)
        recorder.add(state, objective, active, np.zeros(n_runs, dtype=bool), 0)
        self._keep(result, state, active, np.ones(n_runs, dtype=bool))
        progress = _Progress(0, active, weight, state, result, best, waited, n_taken, recorder)
        if task is not None and task.state is not None:
            progress = self._restored(task.state, progress, current)
            active, weight, state = progress.active, progress.weight, progress.state
            objective, residual, pace = self._loss(
                state.logits, self._blocks, weight, self._workspace, "residual"
            )

        for step in range(progress.step, ascent.max_iter):
            rate = self._paced(rates[active], pace)
            plain = self._step(state, state.support, residual, rate, active, weight, following)
            before = self._score(state, mean_weight[active])
            unflipped = self._score(plain, mean_weight[active])
            highest = unflipped.copy()
            flips = proposals.at(step, active)
            moving = np.flatnonzero(flips.any(axis=1))
            taken = np.zeros(len(active), dtype=bool)
            if len(moving):
                runs = active[moving]
                flipped = self._flipped(
                    state, moving, flips[moving], rate[moving], runs, weight[moving, :]
                )
                score = self._score(flipped, mean_weight[runs])
                highest[moving] = np.maximum(unflipped[moving], score)
                taken[moving] = self._takes_flip(
                    score,
                    unflipped[moving],
                    tie[runs],
                    mean_weight[runs],
                    step,
                    runs,
                )
                _replace(plain, moving[taken[moving]], flipped, np.flatnonzero(taken[moving]))

            if ascent.patience is None:
                stopped = highest - before - ascent.tol < -tie[active]
            else:
                idle = highest - best[active] - ascent.tol <= tie[active]
                waited[active] = np.where(idle, waited[active] + 1, 0)
                stopped = waited[active] >= ascent.patience
            result.n_iter[active] += 1
            if on_step is not None:
                on_step(step + 1)

            # A step that ends its run is not taken.
            going = np.flatnonzero(~stopped)
            if len(going) == len(active):
                state = plain
                current, following = following, current
            elif len(going):
                active, taken, weight = active[going], taken[going], weight[going, :]
                logits = self._workspace.take(current, len(self._blocks), *weight.shape)
                logits[...] = plain.logits[:, going, :]
                state = _select(plain, going, logits)
            else:
                break
            objective, residual, pace = self._loss(
                state.logits, self._blocks, weight, self._workspace, "residual"
            )
            if not np.isfinite(to_host(objective)).all():
                raise DivergedError(self.n_grown + 1)
            n_taken[active] += 1
            recorder.add(state, objective, active, taken, step + 1)
            if ascent.keeps_best:
                # The latest of equals is kept: its likelihood is higher.
                score = self._score(state, mean_weight[active])
                kept = ~beats(best[active], score, tie[active])
                best[active] = np.maximum(best[active], score)
            else:
                kept = np.ones(len(active), dtype=bool)
            self._keep(result, state, active, kept)
            if task is not None:
                progress.step, progress.active, progress.weight = step + 1, active, weight
                progress.state = state
                task.step(progress.arrays)
        result.history = recorder.histories(result.n_iter, n_taken)
        return result

    def _restored(self, arrays: Arrays, progress: _Progress, name: str) -> _Progress:
        """Where an earlier process stood; what it kept is written over what is here."""
        logits = self._workspace.take(name, *arrays["logits"].shape)
        logits[...] = self._to_device(arrays["logits"])
        progress.step = int(arrays["step"])
        progress.active = arrays["active"].astype(np.int64)
        progress.weight = self._to_device(arrays["weight"])
        progress.state = _State(
            self._to_device(arrays["theta"]),
            self._to_device(arrays["intercept"]),
            arrays["support"].astype(bool),
            logits,
            arrays["accuracy"].astype(np.float64),
        )
        result = progress.result
        result.theta[...] = self._to_device(arrays["kept theta"])
        result.intercept[...] = self._to_device(arrays["kept intercept"])
        result.support[...] = arrays["kept support"]
        result.n_iter[...] = arrays["kept n_iter"]
        result.accuracy[...] = arrays["kept accuracy"]
        progress.best[...] = arrays["best"]
        progress.waited[...] = arrays["waited"]
        progress.n_taken[...] = arrays["n_taken"]
        progress.recorder.columns = arrays["recorded"].astype(np.float64)
        return progress

    def _from_arrays(self, arrays: Arrays) -> Members:
        """A member that an earlier process grew."""
        n_runs = len(self._runs)
        fields = ("weighted_accuracy", "objective", "subset_size", "accepted_flip")
        return Members(
            self._to_device(arrays["theta"]),
            self._to_device(arrays["intercept"]),
            arrays["support"].astype(bool),
            arrays["n_iter"].astype(np.int64),
            [History(*(arrays[f"{name} {run}"] for name in fields)) for run in range(n_runs)],  # type: ignore[arg-type]
            arrays["weight_sum"].astype(np.float64),
            arrays["accuracy"].astype(np.float64),
        )

    def _keep(self, result: Members, state: _State, active: IntArray, which: BoolArray) -> None:
        chosen = np.flatnonzero(which)
        runs = active[chosen]
        result.support[runs] = state.support[chosen]
        result.accuracy[runs] = state.accuracy[chosen]
        result.theta[:, runs, :] = self._masked(state.theta[:, chosen, :], state.support[chosen])
        result.intercept[:, runs] = state.intercept[:, chosen]


def _select(state: _State, positions: IntArray, logits: Array | None = None) -> _State:
    """The runs at these positions; their logits copied, unless they are given."""
    return _State(
        state.theta[:, positions, :],
        state.intercept[:, positions],
        state.support[positions],
        state.logits[:, positions, :] if logits is None else logits,
        state.accuracy[positions],
    )


def _replace(target: _State, positions: IntArray, source: _State, chosen: IntArray) -> None:
    """Overwrite runs of ``target`` by runs of ``source``."""
    if len(positions):
        target.theta[:, positions, :] = source.theta[:, chosen, :]
        target.intercept[:, positions] = source.intercept[:, chosen]
        target.support = target.support.copy()
        target.support[positions] = source.support[chosen]
        target.logits[:, positions, :] = source.logits[:, chosen, :]
        target.accuracy[positions] = source.accuracy[chosen]
