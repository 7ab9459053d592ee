"""One step of Algorithm 1, lines 6 to 21, for the active runs of a stack.

Kinds of work that the printed algorithm does not need are skipped; all are exact. A step that
draws no flip has no second candidate. The outputs of the accepted candidate are the next step's
"old" ones. The outputs of a flipped subset are the current ones plus or minus the flipped columns.
And both candidates of a step share its two products with the matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from covey._core.algorithm1.rates import LearningRates
from covey._core.algorithm1.rows import NONE, RowBlock
from covey._core.algorithm1.settings import DivergedError, TrainingSettings
from covey._core.arrays import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    Positions,
    is_on_host,
    namespace_of,
    to_host,
)
from covey._core.blocks import Blocks
from covey._core.limits import FAR, TIE
from covey._core.random import Purpose, UniformRows

# Each step of "metropolis" multiplies the temperature by this.
COOLING = 0.98

# How many draws are made at once; a matter of speed only.
_DRAWS_AHEAD = 1 << 15


class FlipProposals:
    """Lines 6 and 7: which features each run would flip at each step, with its own probability.

    A feature flips when its *unit* does: a group of columns that flip together, or a column of its
    own; unit -1 never flips. One uniform number is drawn per unit and step, as a function of the
    seed, the member, the run's number and the step.
    """

    def __init__(
        self,
        seed: int,
        member: int,
        runs: Sequence[int],
        probability: FloatArray,
        unit_of_feature: IntArray,
    ) -> None:
        self._probability = probability
        self._unit_of_feature = unit_of_feature
        n_units = int(unit_of_feature.max(initial=-1)) + 1
        self.idle = n_units == 0 or not probability.any()
        self._streams = [UniformRows(seed, Purpose.FLIP, run, member, n_units) for run in runs]
        # Where every feature is a unit of its own, in order, units are features.
        self._alone = bool(np.array_equal(unit_of_feature, np.arange(len(unit_of_feature))))
        self._ahead = max(1, _DRAWS_AHEAD // max(1, n_units * len(runs)))
        self._start = 0
        self._block: BoolArray | None = None

    def at(self, step: int, active: IntArray) -> BoolArray:
        """The features that flip at ``step``, as (len(active), D); ``active`` are positions."""
        if self.idle:
            return np.zeros((len(active), len(self._unit_of_feature)), dtype=bool)
        if self._block is None or not self._start <= step < self._start + self._ahead:
            self._start = step
            self._block = np.stack(
                [
                    stream.read(step, self._ahead) < probability
                    for stream, probability in zip(self._streams, self._probability, strict=True)
                ]
            )
        flips: BoolArray = self._block[active, step - self._start]
        if not self._alone:
            flips = flips[:, self._unit_of_feature] & (self._unit_of_feature >= 0)
        return flips


def beats(challenger: Array, holder: Array, tie: Array) -> Array:
    """Whether accuracies are strictly higher, rounding aside."""
    return challenger - holder > tie


def metropolis(
    challenger: Array,
    holder: Array,
    mean_weight: Array,
    temperature: float,
    step: int,
    draw: Array,
) -> Array:
    """Whether a flipped candidate is taken although it may be worse.

    The energy of a state is its weighted error as a share of the weights,
    ``E = 1 - A / mean(w)``. At step t (from 0) a candidate that raises the energy by
    ``dE`` is taken with probability ``exp(-dE / T_t)``, ``T_t = temperature * 0.98**t``.
    """
    xp = namespace_of(challenger)
    rise = (holder - challenger) / mean_weight
    with np.errstate(under="ignore"):
        # A temperature of zero would make ties undecidable.
        cooled = max(temperature * COOLING**step, np.finfo(np.float64).tiny)
        chance = xp.exp(-xp.clip(rise, 0.0, None) / cooled)
    return draw < chance


@dataclass
class State:
    """Where the active runs are; R counts only those."""

    theta: Array  # (C, R, D), entries outside the subset keep their last value
    intercept: Array  # (C, R)
    mask: Array  # (R, D), the subset as ones and zeros
    value: Array  # (R,), the weighted accuracy, or minus the weighted loss
    score: Array  # (R,), the criterion: the same less the penalties

    def select(self, positions: IntArray | slice, at: Any) -> State:
        """The runs at these positions, on the host and on the device of the arrays."""
        return State(
            self.theta[:, at, :],
            self.intercept[:, at],
            self.mask[at, :],
            self.value[positions],
            self.score[positions],
        )


@dataclass
class Candidates(State):
    """The candidates of a step, as the rows evaluated them last.

    The first R are those of the active runs with the subsets that they have, the others those
    with a flipped subset. The fields of `State` are of L candidates.
    """

    runs: IntArray  # (R,)
    flipping: IntArray  # the positions of the runs with a flipped candidate


@dataclass
class Scales:
    """What the numbers of a member are measured by; of each run, (R,)."""

    total: Array  # what sums over rows are divided by; where the rows are
    unit: Array  # of the criterion: ties and temperatures are shares of it
    cost: Array  # of a feature, in the criterion
    rates: Array  # the learning rates; where the rows are


class Step:
    """The step that all members of a stack take, on the host and on a device.

    ``member`` is the one that takes the steps, counted from 0. Criteria come to the host.
    """

    def __init__(
        self,
        rows: Blocks[RowBlock],
        settings: TrainingSettings,
        rates: LearningRates,
        seed: int,
        runs: Sequence[int],
    ) -> None:
        self._rows, self._settings, self._rates = rows, settings, rates
        self._xp, self._on_host = namespace_of(rows.like), is_on_host(rows.like)
        self._seed, self._runs = seed, runs
        self.at = Positions(rows.like)
        self.member = 0

    def judged(
        self,
        total: Array,
        runs: IntArray,
        flipping: IntArray,
        theta: Array,
        intercept: Array,
        mask: Array,
        scales: Scales,
    ) -> Candidates:
        """Candidates by the ``total`` of what rows say of them: see `RowBlock.evaluate`."""
        xp, settings = self._xp, self._settings
        # A sum over all rows divided by M, as eq. (7) has it.
        value = observed(total / self._of_candidates(scales.total, runs, flipping))
        if not np.isfinite(value).all():
            raise DivergedError(self.member + 1)
        score = value
        if settings.alpha and settings.loss.is_criterion:
            squares = xp.sum((theta * mask) ** 2, axis=(0, 2))
            score = score - 0.5 * settings.alpha * observed(squares)
        if settings.subset_penalty:
            size = observed(xp.sum(mask, axis=1))
            score = score - self._of_candidates(scales.cost, runs, flipping) * size
        return Candidates(theta, intercept, mask, value, score, runs, flipping)

    def __call__(
        self,
        state: State,
        settled: tuple[IntArray, IntArray],
        runs: IntArray,
        flipping: IntArray,
        flips: Array,
        scales: Scales,
        number: int,
    ) -> tuple[Array, Candidates, State, IntArray, FloatArray]:
        """Take the step of this ``number``, counted from 0.

        ``settled`` is which flipped candidates of the last evaluation became the state, and which
        of its runs are active still. Of the active ``runs``, those at the positions ``flipping``
        try a subset that differs by ``flips`` (len(flipping), D), ones and zeros.

        Returns the objective (R,) before the step; the candidates; the state of the active runs
        after the step; which of the flipped candidates runs continue with; and the higher score
        (R,) of each run's candidates.
        """
        xp, settings = self._xp, self._settings
        theta, intercept, mask = state.theta, state.intercept, state.mask
        at, flipped, change = self.at(flipping), None, None
        if len(flipping):  # lines 6 to 8
            current = mask[at, :]
            flipped = xp.abs(current - flips)
            change = theta[:, at, :] * (flipped - current)
        # Lines 9, 10, 12 and 13: a gradient step, with the old subset and a flipped one.
        objective, slope, level = self._rows.sum(RowBlock.slopes, *settled, flipping, change)
        if self._on_host and not np.isfinite(objective).all():
            raise DivergedError(self.member + 1)
        rate = self._of_active(scales.rates, runs)
        if isinstance(settings.learning_rate, str):
            # As long as the loss allows in this state; a number of the user's stays as it is.
            steepest = self._rows.max(RowBlock.steepest) if settings.loss.has_steepest else None
            rate = rate * settings.loss.pace(steepest)
        if settings.learning_rate == "newton":
            slope, level = self._rates.directed(slope, level, mask, flipped, runs, flipping)
        if flipped is not None:
            theta = xp.concat([theta, theta[:, at, :]], axis=1)
            intercept = xp.concat([intercept, intercept[:, at]], axis=1)
            mask = xp.concat([mask, flipped])
            rate = xp.concat([rate, rate[at]])
        if settings.alpha:
            slope -= settings.alpha * theta
        slope *= mask
        slope *= rate[:, None]
        theta = theta + slope
        if self._on_host and not np.abs(theta).max() <= FAR:
            raise DivergedError(self.member + 1)
        if settings.fit_intercept:
            intercept = intercept + rate * level
        (total,) = self._rows.sum(RowBlock.evaluate, runs, flipping, theta * mask, intercept)
        candidates = self.judged(total, runs, flipping, theta, intercept, mask, scales)
        first = slice(len(runs))
        following = candidates.select(first, first)
        if flipped is None:
            return objective, candidates, following, NONE, following.score
        # Line 17, or its annealed relative.
        unit = self._of_active(scales.unit, runs)[flipping]
        held, tried = following.score[flipping], candidates.score[len(runs) :]
        highest = following.score.copy()
        highest[flipping] = np.maximum(held, tried)
        if settings.acceptance == "greedy":
            takes = beats(tried, held, TIE * unit)
        else:
            draws = [
                UniformRows(self._seed, Purpose.ACCEPT, self._runs[run], self.member, 1)
                for run in runs[flipping]
            ]
            draw = np.array([one.read(number, 1)[0, 0] for one in draws])
            takes = metropolis(tried, held, unit, settings.temperature, number, draw)
        accepted = np.flatnonzero(takes)
        if len(accepted):
            to, of = flipping[accepted], len(runs) + accepted
            following.value[to], following.score[to] = candidates.value[of], candidates.score[of]
            to, of = self.at(to), self.at(of)
            following.theta[:, to] = candidates.theta[:, of]
            following.intercept[:, to] = candidates.intercept[:, of]
            following.mask[to] = candidates.mask[of]
        return objective, candidates, following, accepted, highest

    def _of_active(self, values: Array, runs: IntArray) -> Array:
        """Numbers of all runs, (R,), as those of the active ones."""
        if len(runs) == len(self._runs):
            return values
        return values[runs if is_on_host(values) else self.at(runs)]

    def _of_candidates(self, values: Array, runs: IntArray, flipping: IntArray) -> Array:
        """Numbers of all runs, (R,), as those of candidates."""
        values = self._of_active(values, runs)
        if not len(flipping):
            return values
        flipped = values[flipping if is_on_host(values) else self.at(flipping)]
        return namespace_of(values).concat([values, flipped])


def observed(values: Array) -> FloatArray:
    """Numbers of runs where they are compared."""
    return np.array(to_host(values), dtype=np.float64)
