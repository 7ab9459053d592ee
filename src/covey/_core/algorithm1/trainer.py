"""Algorithm 1 of the paper, over a stack of independent runs that share one table.

Kinds of work that the printed algorithm does not need are skipped; all are exact. A
step that draws no flip has no second candidate. The logits of the accepted candidate are the
next step's "old" ones. The logits of a flipped subset are the current ones plus or minus the
flipped columns. And both candidates of a step share its two products with the matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from covey._core.algorithm1.ascent import Ascent, DivergedError, History, Members
from covey._core.algorithm1.curvature import STRETCH, Curvature
from covey._core.algorithm1.progress import (
    Candidates,
    Progress,
    Recorder,
    State,
    as_arrays,
    select,
)
from covey._core.algorithm1.rows import RowBlock, reweigh, see
from covey._core.algorithm1.subsets import TIE, FlipProposals, beats, metropolis
from covey._core.arrays import Array, Positions, is_on_host, like, namespace_of, to_host
from covey._core.device.device_loop import DeviceLoop
from covey._core.journal import Arrays, Journal, Task
from covey._core.losses import Loss
from covey._core.random import Purpose, UniformRows, normals
from covey._core.rows import Rows

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

# Power iterations for the Lipschitz bound. They approach it from below, and ascent stays
# monotone up to twice the step that the bound allows, so a rough value is enough.
_POWER_ITERATIONS = 16


# The same for "newton": in units of a good bound eigenvalues lie close to each other.
_RELATIVE_ITERATIONS = 3


# The "constant" learning rate, in units of the inverse curvature of eq. (9) at Theta = 0, where
# every class has probability 1/C. The largest that is stable there is 2.
_CONSTANT_RATE = 1.5


_NOBODY: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)

# Coefficients beyond this have left what floating point can make logits of.
_LARGEST = 1e100


class StackTrainer:
    """Grows members one after another, for all runs of a stack at once.

    Parameters
    ----------
    rows : Rows
        The table that the runs share, with the weights of its rows.
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
        rows: Rows[RowBlock],
        ascent: Ascent,
        *,
        seed: int,
        runs: Sequence[int],
        flip_probability: FloatArray,
        unit_of_feature: IntArray,
        usable: BoolArray,
        journal: Journal | None = None,
    ) -> None:
        self.rows = rows
        self.xp = namespace_of(rows.like)
        self._on_host = is_on_host(rows.like)
        self._ascent = ascent
        self._loss = Loss(ascent.loss, ascent.focal_gamma)
        self._seed = seed
        self._runs = list(runs)
        self.n_runs = len(self._runs)
        self._flip_probability = flip_probability
        self._unit_of_feature = unit_of_feature
        self._usable = usable
        self._constant_rate: Array | None = None
        self._curvature: Curvature | None = None
        self._journal = journal
        self.at = Positions(rows.like)
        self.n_grown = 0
        self.flipping = np.flatnonzero(flip_probability > 0)
        if self.proposals(0).idle:
            self.flipping = _NOBODY
        self._march: DeviceLoop | None = None
        if not (self._on_host or ascent.can_stop or ascent.acceptance != "greedy"):
            self._march = DeviceLoop(self, ascent.max_iter)

    # -- between members -------------------------------------------------------------------

    def see(self, theta: Array, intercept: Array) -> None:
        """Let later members know of one already grown: lines 3 and 4's eq. (8)."""
        see(self.rows, self._ascent.reweighting, theta, intercept)
        self.n_grown += 1

    def grow(self, on_step: Callable[[int], None] | None = None) -> Members:
        """Train the next member of every run: lines 3 to 22."""
        weight_sum, total = reweigh(self.rows, self._ascent.reweighting)
        task = None if self._journal is None else self._journal.begin()
        if task is not None and task.result is not None:
            members = self._from_arrays(task.result)
        else:
            members = self._train(weight_sum, total, self._learning_rates(), on_step, task)
            if task is not None:
                task.finish(as_arrays(members))
        self.see(members.theta, members.intercept)
        return members

    def _everyone(self) -> IntArray:
        return np.arange(len(self._runs))

    def _to_device(self, host: npt.NDArray[Any]) -> Array:
        return like(self.rows.like, host)

    def _learning_rates(self) -> Array:
        rate = self._ascent.learning_rate
        if rate == "auto":
            return 1.0 / self._lipschitz(base=False)
        if rate == "newton":
            return self._shares_of_curvature()
        if rate == "constant":
            if self._constant_rate is None:
                share = _CONSTANT_RATE * self.rows.n_classes / 2.0
                self._constant_rate = share / self._lipschitz(base=True)
            return self._constant_rate
        return self._to_device(np.full(len(self._runs), float(rate)))

    def _lipschitz(self, base: bool) -> Array:
        """``lambda_max(sum_m w_m z_m z_m^T) / 2``, z with the intercept's 1, as (R,).

        The Hessian of eq. (9) is at most ``(I - 11^T/C) / 2`` (Bohning 1992) times that matrix.
        """
        xp = self.xp
        n_runs, n_features = len(self._runs), self.rows.n_features
        start = normals(0, Purpose.POWER_ITERATION, 0, 0, (1, 1, n_features + 1))
        vector = self._to_device(np.broadcast_to(start, (1, n_runs, n_features + 1)).copy())
        usable = self._to_device(np.append(self._usable, self._ascent.fit_intercept) * 1.0)
        norm = xp.ones_like(vector[0, :, 0])
        heaviest = self.rows.max(RowBlock.heaviest, base)
        for _ in range(_POWER_ITERATIONS):
            vector = vector * usable
            vector = vector / xp.sqrt(xp.sum(vector * vector, axis=2))[:, :, None]
            slope, total = self.rows.sum(RowBlock.spread, vector, heaviest, base)
            vector = xp.concat([slope, total[:, :, None]], axis=2)
            norm = xp.sqrt(xp.sum(vector * vector * usable, axis=2))[0]
        return norm * heaviest / 2.0

    def _shares_of_curvature(self) -> Array:
        """By how much the bound of `Curvature` is to be divided for these sample weights."""
        if self._curvature is None:
            (gram,) = self.rows.sum(RowBlock.gram)
            self._curvature = Curvature(
                np.asarray(gram, dtype=float), self._usable, self._ascent.fit_intercept
            )
        longest = 2.0 * STRETCH * np.ones(len(self._runs))
        if self.n_grown == 0 or self._ascent.reweighting is None:
            return longest
        # The bound is that of the user's weights; how far these fall short of it is the largest
        # eigenvalue of the one in units of the other.
        curvature, n_runs = self._curvature, len(self._runs)
        start = normals(0, Purpose.POWER_ITERATION, 0, 0, (self.rows.n_features + 1,))
        start *= np.append(self._usable, self._ascent.fit_intercept)
        vectors = np.stack([start / curvature.norm(run, start) for run in range(n_runs)])
        heaviest = self.rows.max(RowBlock.heaviest, False)
        share = np.ones(n_runs)
        for _ in range(_RELATIVE_ITERATIONS):
            slope, total = self.rows.sum(RowBlock.spread, vectors[None], heaviest, False)
            spread = np.concatenate([slope[0], total[0][:, None]], axis=1) * heaviest[:, None]
            for run in range(n_runs):
                new = curvature.inverse(run, self._usable) @ spread[run]
                share[run] = curvature.norm(run, new)
                vectors[run] = new / share[run]
        return longest / share

    def _uphill(
        self,
        state: State,
        flipped: Array | None,
        runs: IntArray,
        moving: IntArray,
        slope: Array,
        total: Array,
    ) -> tuple[Array, Array]:
        """The slopes of all lanes (C, L, D) and (C, L) in units of the curvature."""
        assert self._curvature is not None
        steep = np.concatenate([slope, total[:, :, None]], axis=2)
        if not self._ascent.fit_intercept:
            steep[:, :, -1] = 0.0
        support = state.mask > 0
        for position, run in enumerate(runs):
            steep[:, position] = self._curvature.direction(
                int(run), support[position], steep[:, position].T
            ).T
        for place, position in enumerate(moving):
            lane = len(runs) + place
            assert flipped is not None
            steep[:, lane] = self._curvature.direction(
                int(runs[position]), support[position], steep[:, lane].T, flipped[place] > 0
            ).T
        return steep[:, :, :-1], steep[:, :, -1]

    # -- one member ------------------------------------------------------------------------

    def _start(self) -> tuple[Array, Array]:
        """Line 3: the random start of each run, zero on features that are barred."""
        march, member = self._march, self.n_grown
        draws = self.drawn_start(member) if march is None else march.start(member)
        draws *= self._ascent.init_scale * np.append(self._usable, self._ascent.fit_intercept)
        theta = self._to_device(np.ascontiguousarray(draws[:, :, :-1]))
        return theta, self._to_device(np.ascontiguousarray(draws[:, :, -1]))

    def drawn_start(self, member: int) -> FloatArray:
        shape = self.rows.n_classes, self.rows.n_features + 1
        return np.stack(
            [normals(self._seed, Purpose.START, run, member, shape) for run in self._runs], axis=1
        )

    def proposals(self, member: int) -> FlipProposals:
        return FlipProposals(
            self._seed, member, self._runs, self._flip_probability, self._unit_of_feature
        )

    def evaluate(
        self,
        runs: IntArray,
        moving: IntArray,
        theta: Array,
        intercept: Array,
        mask: Array,
        total: Array,
    ) -> Candidates:
        (won,) = self.rows.sum(RowBlock.evaluate, runs, moving, theta * mask, intercept)
        # A sum over all rows divided by M, as eq. (7) has it.
        accuracy = won / self._of_lanes(total, runs, moving)
        return Candidates(theta, intercept, mask, accuracy, runs, moving)

    def _of_lanes(self, values: Array, runs: IntArray, moving: IntArray) -> Array:
        """Numbers of all runs, (R,), as numbers of lanes."""
        if len(runs) < len(self._runs):
            values = values[self.at(runs)]
        if not len(moving):
            return values
        return self.xp.concat([values, values[self.at(moving)]])

    def climbed(
        self,
        state: State,
        flipped: Array | None,
        slope: Array,
        total: Array,
        rate: Array,
        runs: IntArray,
        moving: IntArray,
        sum_of_weights: Array,
    ) -> Candidates:
        """Lines 9, 10, 12 and 13: a gradient step, with the old subset and a flipped one."""
        xp = self.xp
        theta, intercept, mask = state.theta, state.intercept, state.mask
        if self._curvature is not None:
            slope, total = self._uphill(state, flipped, runs, moving, slope, total)
        if flipped is not None:
            at = self.at(moving)
            theta = xp.concat([theta, theta[:, at, :]], axis=1)
            intercept = xp.concat([intercept, intercept[:, at]], axis=1)
            mask = xp.concat([mask, flipped])
            rate = xp.concat([rate, rate[at]])
        slope *= mask
        slope *= rate[:, None]
        theta = theta + slope
        if self._on_host and not np.abs(theta).max() <= _LARGEST:
            raise DivergedError(self.n_grown + 1)
        if self._ascent.fit_intercept:
            intercept = intercept + rate * total
        return self.evaluate(runs, moving, theta, intercept, mask, sum_of_weights)

    def score(self, accuracy: Array, mask: Array, mean_weight: Array) -> Array:
        """What subsets are compared by: the accuracy, less what the features cost."""
        if not self._ascent.subset_penalty:
            return accuracy
        size = namespace_of(mask).sum(mask, axis=1)
        if is_on_host(accuracy):
            size = to_host(size)
        return accuracy - self._ascent.subset_penalty * mean_weight * size

    def _takes_flip(
        self,
        flipped: Array,
        plain: Array,
        tie: Array,
        mean_weight: Array,
        step: int,
        runs: IntArray,
    ) -> Array:
        """Line 17, or its annealed relative."""
        if self._ascent.acceptance == "greedy":
            return beats(flipped, plain, tie)
        draw = np.array(
            [
                UniformRows(self._seed, Purpose.ACCEPT, self._runs[run], self.n_grown, 1).read(
                    step, 1
                )[0, 0]
                for run in runs
            ]
        )
        return metropolis(
            flipped, plain, mean_weight, self._ascent.temperature, step, like(flipped, draw)
        )

    def _train(
        self,
        weight_sum: Array,
        total: Array,
        rates: Array,
        on_step: Callable[[int], None] | None,
        task: Task | None,
    ) -> Members:
        ascent, xp, rows = self._ascent, self.xp, self.rows
        n_runs = len(self._runs)
        # Where a step can end a run, someone must look at every one. Where none can, nothing
        # need leave the device.
        looks = self._march is None or task is not None

        def seen(values: Array) -> Array:
            return np.array(to_host(values), dtype=np.float64) if looks else values

        theta, intercept = self._start()
        mask = self._to_device(np.tile(self._usable * 1.0, (n_runs, 1)))
        told = self.evaluate(self._everyone(), _NOBODY, theta, intercept, mask, total)
        state = State(theta, intercept, mask, seen(told.accuracy))

        mean_weight = seen(weight_sum / total)
        result = Members(
            theta * mask,
            intercept + 0.0,
            np.tile(self._usable, (n_runs, 1)),
            np.zeros(n_runs, dtype=np.int64),
            [],
            np.array(to_host(weight_sum), dtype=np.float64),
            np.array(to_host(state.accuracy), dtype=np.float64),
        )
        best = np.array(to_host(self.score(state.accuracy, mask, mean_weight)))
        recorder = Recorder(n_runs, mean_weight)
        recorder.add(0, state.accuracy, slice(None), 0)
        recorder.add(2, xp.sum(mask, axis=1, dtype=xp.float64), slice(None), 0)
        progress = Progress(
            0,
            told,
            _NOBODY,
            self._everyone(),
            state,
            result,
            best,
            np.zeros(n_runs, dtype=np.int64),
            np.zeros(n_runs, dtype=np.int64),
            recorder,
        )
        if task is not None and task.state is not None:
            self._restore(progress, task.state, total)

        if looks:
            self._walk(progress, rates, total, mean_weight, on_step, task)
        else:
            march = self._march
            assert march is not None
            told = march.member(state, recorder, rates, total, mean_weight, on_step)
            progress.told, progress.taken = told, march.taken
            progress.step = ascent.max_iter
            result.n_iter[:] = progress.n_taken[:] = ascent.max_iter
        active = progress.told.runs[progress.going]
        if len(active):
            if not ascent.keeps_best:
                self._keep(result, progress.state, active, np.arange(len(active)))
            (objective,) = rows.sum(
                RowBlock.objective, (progress.told.moving, progress.taken), progress.going
            )
            self._check_finite(objective)
            recorder.add(1, objective, active if looks else slice(None), progress.step)
        recorder.reserve(progress.step + 1)
        result.history = recorder.histories(result.n_iter, progress.n_taken)
        finite = all(np.isfinite(past.objective).all() for past in result.history)
        if not finite or not float(to_host(xp.max(xp.abs(result.theta)))) <= _LARGEST:
            raise DivergedError(self.n_grown + 1)
        return result

    def _walk(
        self,
        progress: Progress,
        rates: Array,
        total: Array,
        mean_weight: FloatArray,
        on_step: Callable[[int], None] | None,
        task: Task | None,
    ) -> None:
        """Step by step, each looked at: lines 5 to 22."""
        ascent, xp, rows = self._ascent, self.xp, self.rows
        result, best, recorder = progress.result, progress.best, progress.recorder
        n_runs = len(self._runs)
        # Accuracies are sums over M rows; so are the ties between them.
        tie = TIE * mean_weight
        proposals = self.proposals(self.n_grown)
        for step in range(progress.step, ascent.max_iter):
            state = progress.state
            active = progress.told.runs[progress.going]
            # Of all runs those that are active, here and where the rows are.
            here: Any = slice(None) if len(active) == n_runs else active
            there: Any = here if len(active) == n_runs else self.at(active)
            flips = proposals.at(step, active)
            moving = np.flatnonzero(flips.any(axis=1))
            flipped, change = self.flipped(state, moving, self._to_device(flips[moving]))
            objective, slope, slope0 = rows.sum(
                RowBlock.slopes,
                (progress.told.moving, progress.taken),
                progress.going,
                moving,
                change,
            )
            self._check_finite(objective)
            recorder.add(1, objective, here, step)
            rate = self.paced(rates[there])
            told = self.climbed(state, flipped, slope, slope0, rate, active, moving, total)
            accuracy = np.array(to_host(told.accuracy), dtype=np.float64)
            plain = told.plain(accuracy)
            weight = mean_weight[here]
            before = self.score(state.accuracy, state.mask, weight)
            highest = unflipped = self.score(plain.accuracy, plain.mask, weight)
            taken: Any = _NOBODY
            if flipped is not None:
                score = self.score(accuracy[len(active) :], flipped, weight[moving])
                took = self._takes_flip(
                    score,
                    unflipped[moving],
                    tie[here][moving],
                    weight[moving],
                    step,
                    active[moving],
                )
                highest = unflipped.copy()
                highest[moving] = np.maximum(unflipped[moving], score)
                recorder.add(3, took, active[moving], step + 1)
                taken = np.flatnonzero(took)
                self.go_on_with(plain, told, accuracy, taken)

            stopped = np.zeros(len(active), dtype=bool)
            if ascent.can_stop and ascent.patience is None:
                stopped = highest - before - ascent.tol < -tie[active]
            elif ascent.can_stop and ascent.patience is not None:
                idle = highest - best[active] - ascent.tol <= tie[active]
                progress.waited[active] = np.where(idle, progress.waited[active] + 1, 0)
                stopped = progress.waited[active] >= ascent.patience
            result.n_iter[active] += 1
            if on_step is not None:
                on_step(step + 1)

            # A step that ends its run is not taken.
            going = np.flatnonzero(~stopped)
            if len(going) < len(active):
                if not ascent.keeps_best:
                    self._keep(result, state, active, np.flatnonzero(stopped))
                plain = select(plain, going, self.at(going))
                here = active = active[going]
            progress.told, progress.taken, progress.going = told, taken, going
            progress.state, progress.step = plain, step + 1
            if not len(going):
                break
            progress.n_taken[active] += 1
            recorder.add(0, plain.accuracy, here, step + 1)
            recorder.add(2, xp.sum(plain.mask, axis=1, dtype=xp.float64), here, step + 1)
            if ascent.keeps_best:
                # The latest of equals is kept: its likelihood is higher.
                score = self.score(plain.accuracy, plain.mask, mean_weight[active])
                kept = ~beats(best[active], score, tie[active])
                best[active] = np.maximum(best[active], score)
                self._keep(result, plain, active, np.flatnonzero(kept))
            if task is not None:
                task.step(progress.arrays)

    def flipped(
        self, state: State, moving: IntArray, flips: Array
    ) -> tuple[Array | None, Array | None]:
        """Lines 6 to 8: the flipped subsets, and what they change in the coefficients."""
        if not len(moving):
            return None, None
        at = self.at(moving)
        current = state.mask[at, :]
        flipped = self.xp.abs(current - flips)
        return flipped, state.theta[:, at, :] * (flipped - current)

    def paced(self, rate: Array) -> Array:
        """Steps as long as the loss allows where it stands; the user's as they are."""
        if not isinstance(self._ascent.learning_rate, str):
            return rate
        steepest = self.rows.max(RowBlock.steepest) if self._loss.has_steepest else None
        return rate * self._loss.pace(steepest)

    def _check_finite(self, objective: Array) -> None:
        if self._on_host and not np.isfinite(objective).all():
            raise DivergedError(self.n_grown + 1)

    def go_on_with(self, plain: State, told: Candidates, accuracy: Array, which: Array) -> None:
        """Let runs go on with their second lane: those at ``which`` of the moving, or a mask."""
        n_runs, xp = plain.mask.shape[0], self.xp
        if is_on_host(which):
            if len(which):
                to, of = self.at(told.moving[which]), self.at(n_runs + which)
                plain.theta[:, to, :] = told.theta[:, of, :]
                plain.intercept[:, to] = told.intercept[:, of]
                plain.mask[to, :] = told.mask[of, :]
                plain.accuracy[told.moving[which]] = accuracy[n_runs + which]
            return
        to, took = self.at(told.moving), which[:, None]
        theta, intercept, mask = plain.theta, plain.intercept, plain.mask
        theta[:, to, :] = xp.where(took, told.theta[:, n_runs:, :], theta[:, to, :])
        intercept[:, to] = xp.where(which, told.intercept[:, n_runs:], intercept[:, to])
        mask[to, :] = xp.where(took, told.mask[n_runs:, :], mask[to, :])
        plain.accuracy[to] = xp.where(which, accuracy[n_runs:], plain.accuracy[to])

    def _restore(self, progress: Progress, arrays: Arrays, total: Array) -> None:
        """Where an earlier process stood; what it kept is written over what is here."""
        progress.step = int(arrays["step"])
        progress.told = self.evaluate(
            arrays["told runs"].astype(np.int64),
            arrays["told moving"].astype(np.int64),
            self._to_device(arrays["told theta"]),
            self._to_device(arrays["told intercept"]),
            self._to_device(arrays["told mask"]),
            total,
        )
        progress.taken = arrays["taken"]
        progress.going = arrays["going"].astype(np.int64)
        progress.state = State(
            self._to_device(arrays["theta"]),
            self._to_device(arrays["intercept"]),
            self._to_device(arrays["mask"]),
            arrays["accuracy"],
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
        progress.recorder.reserve(progress.step + 1)

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

    def _keep(self, result: Members, state: State, active: IntArray, chosen: IntArray) -> None:
        if not len(chosen):
            return
        runs, at, of = active[chosen], self.at(active[chosen]), self.at(chosen)
        mask = state.mask[of, :]
        result.support[runs] = to_host(mask) > 0
        result.accuracy[runs] = to_host(state.accuracy)[chosen]
        result.theta[:, at, :] = state.theta[:, of, :] * mask
        result.intercept[:, at] = state.intercept[:, of]
