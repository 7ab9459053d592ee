"""Linear members of a regression, each on a feature subset, over a stack of runs.

The counterpart of `covey._core.algorithm1.trainer`: Algorithm 1 of the paper with a loss of
numbers in the place of likelihood and accuracy. Member by member, gradient descent on

    F(theta, b, Lambda) = sum_m w_m loss(y_m - z_m Lambda theta - b) / sum_m w_m
                          + alpha / 2 |Lambda theta|^2 + subset_penalty |Lambda|

while annealed flips of Lambda propose other subsets: at each step one plain candidate and, if
a flip was drawn, one with the flipped subset, both a gradient step away from where the member
stands. Given its subset, L-BFGS can finish what the steps have begun. Row weights w come from
how far earlier members are off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from array_api_compat import device

from covey._core.algorithm1.ascent import DivergedError
from covey._core.algorithm1.subsets import TIE, FlipProposals, beats, metropolis
from covey._core.arrays import Array, to_host
from covey._core.design import Design
from covey._core.lbfgs import minimise
from covey._core.random import Purpose, UniformRows, normals
from covey._core.value_losses import ValueLoss, doubt_weights, trust

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

# They approach the largest eigenvalue from below, and descent stays monotone up to twice the
# step that it allows, so a rough value is enough.
_POWER_ITERATIONS = 16
# A step is about as long as the band in which a quantile's slope turns; through a narrower one
# than this it would take for ever.
_STEP_BAND = 0.05


@dataclass(frozen=True)
class Descent:
    """How a member is trained.

    Parameters
    ----------
    learning_rate : "auto" or float
        The step along the gradient of F. "auto" is the inverse of a bound of its curvature,
        for each member's own weights.
    tol : float
        The fall of F below which a step counts as no progress.
    patience : int
        So many steps in a row without progress end the member.
    max_iter : int
        The most steps.
    init_scale : float
        Standard deviation of the random start of theta.
    acceptance : "greedy" or "metropolis"
        A flipped candidate is taken if its F is lower than the plain one's; or also, by
        chance, if it is higher: `covey._core.algorithm1.subsets.metropolis`, with F in units of
        the weighted loss of the constant 0 as the energy.
    temperature : float
        Of "metropolis".
    alpha, subset_penalty : float
        The penalties in F.
    finish : int
        The most iterations of L-BFGS by which a member, its subset being found, goes on to the
        minimum of F; 0: it stays where the steps led.
    """

    learning_rate: Literal["auto"] | float
    tol: float
    patience: int
    max_iter: int
    init_scale: float
    acceptance: Literal["greedy", "metropolis"]
    temperature: float
    alpha: float = 0.0
    subset_penalty: float = 0.0
    finish: int = 0


@dataclass
class LossHistory:
    """What one member of one run went through before it was finished; entry 0 is the start.

    ``weighted_loss`` is F without its penalties, ``objective`` is F; a quantile's loss has a
    band of 0.05 or more there.
    """

    weighted_loss: FloatArray
    objective: FloatArray
    subset_size: IntArray
    accepted_flip: BoolArray


@dataclass
class ValueMembers:
    """One member of every run, as it was where F was lowest, or finished from there.

    Attributes
    ----------
    theta : array of shape (1, R, D)
        Zero where the subset leaves a feature out. The first axis is where classifiers have
        their classes: designs and gates are shared with them.
    intercept : array of shape (1, R)
    support : ndarray of shape (R, D), bool
        Lambda.
    n_iter : ndarray of shape (R,)
    history : list of R `LossHistory`
    converged : ndarray of shape (R,), bool
        False where the iterations to finish a member did not suffice.
    """

    theta: Array
    intercept: Array
    support: BoolArray
    n_iter: IntArray
    history: list[LossHistory]
    converged: BoolArray


@dataclass
class _State:
    """Where the active runs stand; R counts only those."""

    theta: Array  # (1, R, D), entries outside the subset keep their last value
    intercept: Array  # (1, R)
    support: BoolArray  # (R, D)
    said: Array  # (1, R, n)
    loss: FloatArray  # (R,)
    objective: FloatArray  # (R,)

    def of(self, which: IntArray) -> _State:
        """Some of the runs, copied."""
        return _State(
            self.theta[:, which, :],
            self.intercept[:, which],
            self.support[which],
            self.said[:, which, :],
            self.loss[which],
            self.objective[which],
        )

    def put(self, which: IntArray, other: _State, chosen: IntArray) -> None:
        """Overwrite some runs by runs of another state."""
        self.theta[:, which, :] = other.theta[:, chosen, :]
        self.intercept[:, which] = other.intercept[:, chosen]
        self.support[which] = other.support[chosen]
        self.said[:, which, :] = other.said[:, chosen, :]
        self.loss[which] = other.loss[chosen]
        self.objective[which] = other.objective[chosen]


class ValueTrainer:
    """Grows members one after another, for all runs of a stack at once.

    Parameters
    ----------
    design : Design
        The matrix that the runs share.
    target : array of shape (n,)
        y, standardised: 0 is a sensible guess, 1 a sensible error.
    base_weight : array of shape (R, n)
        The user's row weights; a row outside a run's fold weighs 0.
    loss : ValueLoss
    descent : Descent
    seed : int
    runs : sequence of int
        The runs' numbers: what their random draws are a function of.
    flip_probability : ndarray of shape (R,)
    unit_of_feature : ndarray of shape (D,)
        Which features flip together; -1 never flips.
    usable : ndarray of shape (D,), bool
        False bars a feature for good (its unit must be -1).
    """

    def __init__(
        self,
        design: Design,
        target: Array,
        base_weight: Array,
        loss: ValueLoss,
        descent: Descent,
        *,
        seed: int,
        runs: Sequence[int],
        flip_probability: FloatArray,
        unit_of_feature: IntArray,
        usable: BoolArray,
    ) -> None:
        self._design = design
        self._xp = design.xp
        self._target = target
        self._base_weight = base_weight
        self._loss = loss
        self._step_loss = replace(loss, band=max(loss.band, _STEP_BAND))
        self._descent = descent
        self._seed = seed
        self._runs = list(runs)
        self._flip_probability = flip_probability
        self._unit_of_feature = unit_of_feature
        self._usable = usable
        self._trust_sum = self._xp.zeros_like(base_weight)
        self.n_grown = 0

    # -- between members -------------------------------------------------------------------

    def see(self, theta: Array, intercept: Array) -> None:
        """Let later members know of one already grown."""
        said = self._say(theta, intercept, np.arange(len(self._runs)))
        loss = self._loss.value(self._target - said[0])
        self._trust_sum += trust(loss, self._base_weight, self._loss.robust)
        self.n_grown += 1

    def grow(self) -> ValueMembers:
        """Train the next member of every run."""
        weight = self._base_weight * doubt_weights(
            self._trust_sum, self.n_grown, self._base_weight
        )
        share = weight / self._xp.sum(weight, axis=1)[:, None]
        members = self._train(share, self._learning_rates(share))
        if self._descent.finish:
            self._finish(members, share)
        self.see(members.theta, members.intercept)
        return members

    def _to_device(self, host: npt.NDArray[Any]) -> Array:
        like = self._design.like
        return self._xp.asarray(host, dtype=like.dtype, device=device(like))

    def _learning_rates(self, share: Array) -> Array:
        rate = self._descent.learning_rate
        if rate == "auto":
            return 1.0 / (self._step_loss.curvature * self._largest(share) + self._descent.alpha)
        return self._to_device(np.full(len(self._runs), float(rate)))

    def _largest(self, share: Array) -> Array:
        """``lambda_max(sum_m share_m z_m z_m^T)``, z with the intercept's 1, as (R,)."""
        xp = self._xp
        everyone = np.arange(len(self._runs))
        start = normals(0, Purpose.POWER_ITERATION, 0, 0, (1, 1, self._design.n_features + 1))
        vector = self._to_device(np.repeat(start, len(everyone), axis=1))
        usable = self._to_device(np.append(self._usable, True) * 1.0)
        norm = xp.ones_like(share[:, 0])
        for _ in range(_POWER_ITERATIONS):
            vector = vector * usable
            vector = vector / xp.sqrt(xp.sum(vector * vector, axis=2))[:, :, None]
            product = self._say(vector[:, :, :-1], vector[:, :, -1], everyone) * share
            slope, total = self._design.gradient(product, everyone)
            vector = xp.concat([slope, total[:, :, None]], axis=2)
            norm = xp.sqrt(xp.sum(vector * vector * usable, axis=2))[0]
        return norm

    # -- one member ------------------------------------------------------------------------

    def _say(self, theta: Array, intercept: Array, runs: IntArray) -> Array:
        out = self._xp.empty(
            (1, theta.shape[1], self._design.n_rows), dtype=theta.dtype, device=device(theta)
        )
        return self._design.logits(theta, intercept, runs, out)

    def _masked(self, theta: Array, support: BoolArray) -> Array:
        return theta * self._to_device(support * 1.0)

    def _state(
        self, theta: Array, intercept: Array, support: BoolArray, runs: IntArray, share: Array
    ) -> _State:
        xp = self._xp
        masked = self._masked(theta, support)
        said = self._say(masked, intercept, runs)
        value = xp.sum(share * self._step_loss.value(self._target - said[0]), axis=1)
        loss = np.array(to_host(value), dtype=np.float64)
        squares = np.asarray(to_host(xp.sum(masked * masked, axis=2)[0]), dtype=np.float64)
        cost = self._descent.subset_penalty * support.sum(axis=1)
        objective = loss + 0.5 * self._descent.alpha * squares + cost
        if not np.isfinite(objective).all():
            raise DivergedError(self.n_grown + 1)
        return _State(theta, intercept, support, said, loss, objective)

    def _start(self, share: Array) -> _State:
        """The random start of each run, with all features that are usable."""
        n_features = self._design.n_features
        draws = np.stack(
            [
                normals(self._seed, Purpose.START, run, self.n_grown, (n_features + 1,))
                for run in self._runs
            ]
        )[None]
        draws *= self._descent.init_scale * np.append(self._usable, True)
        return self._state(
            self._to_device(np.ascontiguousarray(draws[:, :, :-1])),
            self._to_device(np.ascontiguousarray(draws[:, :, -1])),
            np.tile(self._usable, (len(self._runs), 1)),
            np.arange(len(self._runs)),
            share,
        )

    def _step(
        self,
        state: _State,
        support: BoolArray,
        said: Array,
        rate: Array,
        runs: IntArray,
        share: Array,
    ) -> _State:
        """One gradient step with the given subset, under which the member says ``said``."""
        pull = share * self._step_loss.slope(self._target - said[0])
        slope, total = self._design.gradient(pull[None], runs)
        slope = slope + self._descent.alpha * state.theta
        theta = state.theta - rate[:, None] * self._masked(slope, support)
        return self._state(theta, state.intercept - rate * total, support, runs, share)

    def _flipped(
        self, origin: _State, flips: BoolArray, rate: Array, runs: IntArray, share: Array
    ) -> _State:
        """The candidates with flipped subsets; ``origin`` is a copy and may be changed."""
        support = origin.support ^ flips
        for place, run in enumerate(runs):
            which = np.flatnonzero(flips[place])
            sign = self._to_device(np.where(support[place, which], 1.0, -1.0))
            self._design.add_columns(
                origin.said[:, place, :], origin.theta[:, place, which] * sign, which, int(run)
            )
        return self._step(origin, support, origin.said, rate, runs, share)

    def _takes_flip(
        self, flipped: FloatArray, plain: FloatArray, unit: FloatArray, step: int, runs: IntArray
    ) -> BoolArray:
        if self._descent.acceptance == "greedy":
            greedy: BoolArray = beats(-flipped, -plain, TIE * unit)
            return greedy
        draw = np.array(
            [
                UniformRows(self._seed, Purpose.ACCEPT, self._runs[run], self.n_grown, 1).read(
                    step, 1
                )[0, 0]
                for run in runs
            ]
        )
        annealed: BoolArray = metropolis(
            -flipped, -plain, unit, self._descent.temperature, step, draw
        )
        return annealed

    def _train(self, share: Array, rates: Array) -> ValueMembers:
        xp, descent = self._xp, self._descent
        n_runs = len(self._runs)
        active = np.arange(n_runs)
        state = self._start(share)
        best = state.of(active)
        constant = xp.sum(share * self._step_loss.value(self._target), axis=1)
        unit = np.maximum(np.asarray(to_host(constant), dtype=np.float64), np.finfo(float).tiny)
        proposals = FlipProposals(
            self._seed, self.n_grown, self._runs, self._flip_probability, self._unit_of_feature
        )
        waited = np.zeros(n_runs, dtype=np.int64)
        n_iter = np.zeros(n_runs, dtype=np.int64)
        records = np.zeros((4, n_runs, descent.max_iter + 1))
        records[:3, :, 0] = state.loss, state.objective, state.support.sum(axis=1)
        for step in range(descent.max_iter):
            following = self._step(
                state, state.support.copy(), state.said, rates[active], active, share
            )
            flips = proposals.at(step, active)
            moving = np.flatnonzero(flips.any(axis=1))
            taken = np.zeros(len(active), dtype=bool)
            if len(moving):
                runs = active[moving]
                flipped = self._flipped(
                    state.of(moving), flips[moving], rates[runs], runs, share[moving, :]
                )
                taken[moving] = self._takes_flip(
                    flipped.objective, following.objective[moving], unit[runs], step, runs
                )
                following.put(moving[taken[moving]], flipped, np.flatnonzero(taken[moving]))
            state = following
            n_iter[active] = step + 1
            records[:, active, step + 1] = (
                state.loss,
                state.objective,
                state.support.sum(axis=1),
                taken,
            )
            fall = best.objective[active] - state.objective
            waited[active] = np.where(fall > descent.tol, 0, waited[active] + 1)
            lower = np.flatnonzero(fall > 0)
            best.put(active[lower], state, lower)
            going = np.flatnonzero(waited[active] < descent.patience)
            if not len(going):
                break
            if len(going) < len(active):
                active, share, state = active[going], share[going, :], state.of(going)
        return ValueMembers(
            self._masked(best.theta, best.support),
            best.intercept,
            best.support,
            n_iter,
            [
                LossHistory(
                    records[0, run, : n + 1],
                    records[1, run, : n + 1],
                    records[2, run, : n + 1].astype(np.int64),
                    records[3, run, : n + 1].astype(bool),
                )
                for run, n in enumerate(n_iter)
            ],
            np.ones(n_runs, dtype=bool),
        )

    def _finish(self, members: ValueMembers, share: Array) -> None:
        """Take members to the minimum of F with the subsets that they have."""
        xp, alpha = self._xp, self._descent.alpha

        def objective(x: Array, runs: IntArray) -> tuple[Array, Array]:
            theta = self._masked(x[None, :, :-1], members.support[runs])
            error = self._target - self._say(theta, x[None, :, -1], runs)[0]
            value = xp.sum(share[runs, :] * self._loss.value(error), axis=1)
            pull = share[runs, :] * self._loss.slope(error)
            slope, total = self._design.gradient(pull[None], runs)
            slope = self._masked(slope + alpha * theta, members.support[runs])
            value = value + 0.5 * alpha * xp.sum(theta * theta, axis=2)[0]
            return value, xp.concat([slope[0], total[0][:, None]], axis=1)

        start = xp.concat([members.theta[0], members.intercept[0][:, None]], axis=1)
        found = minimise(objective, start, max_iter=self._descent.finish)
        members.theta = self._masked(found.x[None, :, :-1], members.support)
        members.intercept = found.x[None, :, -1]
        members.converged = found.converged | (found.n_iter < self._descent.finish)
