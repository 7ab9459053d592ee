"""Algorithm 1 of the paper, over a stack of independent runs that share one table.

Some work of the printed algorithm is skipped where the result is the same. A step that draws no
flip has no second candidate. The outputs of the accepted candidate are the next step's "old" ones.
The outputs of a flipped subset are the current ones plus or minus the flipped columns. And both
candidates of a step share its two products with the matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np

from covey._core.algorithm1.rows import NONE, DivergedError, RowBlock, TrainingSettings
from covey._core.arrays import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    Positions,
    is_on_host,
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
from covey._core.random import Purpose, UniformRows, normals
from covey._state import Array as Numbers
from covey._state import Flags, Wholes

# A value has converged when the rest of its vector is at most this share of it. The error is then
# no more than that share, and in general its square.
_RESIDUAL = 1e-9
# Steps at most; hundreds are needed only where many eigenvalues are nearly the largest one.
_MOST_STEPS = 300


def largest_eigenvalues(
    product: Callable[[FloatArray], FloatArray], start: FloatArray
) -> FloatArray:
    """Return ``lambda_max(A_r)`` of positive semi-definite matrices, (R,), by Lanczos' method.

    ``product`` maps a vector for each matrix, (R, N), to ``A_r v_r``; ``start`` is (R, N). Each
    value ends where its own vector has converged, so that it does not depend on the other
    matrices.
    """
    n_runs, size = start.shape
    vector = start / np.linalg.norm(start, axis=1, keepdims=True)
    basis: list[FloatArray] = []
    diagonal, beside = np.zeros((n_runs, 0)), np.zeros((n_runs, 0))
    found, ended = np.zeros(n_runs), np.zeros(n_runs, dtype=bool)
    for _ in range(min(size, _MOST_STEPS)):
        basis.append(vector)
        new = product(vector)
        diagonal = np.column_stack([diagonal, np.sum(vector * new, axis=1)])
        # Rounding would bring back the earlier vectors; removing them twice is enough.
        for _ in range(2):
            for known in basis:
                new = new - np.sum(known * new, axis=1, keepdims=True) * known
        length = np.linalg.norm(new, axis=1)
        for run in np.flatnonzero(~ended):
            found[run], last = _top(diagonal[run], beside[run])
            ended[run] = length[run] * abs(last) <= _RESIDUAL * found[run]
        if ended.all():
            break
        beside = np.column_stack([beside, length])
        # A vector of length zero has nothing left to find; its row of the small matrix is zero.
        vector = new / np.where(length > 0, length, 1.0)[:, None]
    return found


def _top(diagonal: FloatArray, beside: FloatArray) -> tuple[float, float]:
    """Return the largest eigenvalue of a tridiagonal matrix, and the last entry of its vector."""
    values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, -1))
    return float(values[-1]), float(vectors[-1, -1])


# A step of up to twice the bound's length still climbs; the bound is C / 2 times too careful where
# all classes are equally likely.
STRETCH = 1.5

# Added to the diagonal of G, as a share of it: columns may depend on each other.
_RIDGE = 1e-3


class Curvature:
    """The bound G of each run, and its inverse on subsets.

    ``gram`` is `gram_of` the rows under the user's weights, and ``usable`` the subset that members
    start from.
    """

    def __init__(self, gram: FloatArray, usable: BoolArray, fit_intercept: bool) -> None:
        diagonal = np.einsum("rdd->rd", gram)
        ridge = _RIDGE * np.maximum(diagonal, np.finfo(np.float64).tiny)
        self._gram = gram + ridge[:, :, None] * np.eye(gram.shape[1])
        self._usable = usable
        self._intercept = np.array([fit_intercept])
        # The subset that members start from returns with every one of them.
        self._first: list[FloatArray | None] = [None] * len(gram)
        self._known: list[tuple[bytes, FloatArray] | None] = [None] * len(gram)

    def inverse(self, run: int, support: BoolArray) -> FloatArray:
        """Return the inverse of G on a subset (D,), zero elsewhere.

        It depends on the subset alone, whichever flips led to it.
        """
        if self._first[run] is None:
            self._first[run] = self._inverted(run, self._usable)
        first, known = self._first[run], self._known[run]
        assert first is not None
        left_out = np.flatnonzero(self._usable & ~support)
        strange = bool((support & ~self._usable).any())
        if not len(left_out) and not strange:
            return first
        key = support.tobytes()
        if known is not None and known[0] == key:
            return known[1]
        if strange or 3 * len(left_out) > len(support):
            inverse = self._inverted(run, support)
        else:
            # The change of an inverse when columns are left out: block inversion.
            inner = first[np.ix_(left_out, left_out)]
            inverse = first - first[:, left_out] @ np.linalg.solve(inner, first[left_out])
            inverse[left_out] = 0.0
            inverse[:, left_out] = 0.0
        self._known[run] = key, inverse
        return inverse

    def _inverted(self, run: int, support: BoolArray) -> FloatArray:
        # NumPy's and not SciPy's: two libraries of threads would wait for each other.
        inside = np.flatnonzero(np.append(support, self._intercept))
        inverse: FloatArray = np.zeros_like(self._gram[run])
        part = np.linalg.inv(self._gram[run][np.ix_(inside, inside)])
        inverse[np.ix_(inside, inside)] = (part + part.T) / 2.0
        return inverse

    def norm(self, run: int, vector: FloatArray) -> float:
        """Return ``sqrt(v^T G v)``."""
        return float(np.sqrt(vector @ self._gram[run] @ vector))

    def direction(
        self, run: int, support: BoolArray, slope: FloatArray, flipped: BoolArray | None = None
    ) -> FloatArray:
        """Return ``G^-1 slope`` (D + 1, C) on a subset (D,), or on the ``flipped`` one."""
        inverse, gram = self.inverse(run, support), self._gram[run]
        if flipped is None:
            return inverse @ slope
        taken_out = np.flatnonzero(support & ~flipped)
        taken_in = np.flatnonzero(flipped & ~support)
        stays = np.append(support & flipped, self._intercept)[:, None]

        def solved(right: FloatArray) -> FloatArray:
            """Solve on the columns that remain of the subset, by block inversion."""
            x: FloatArray = inverse @ (right * stays)
            if len(taken_out):
                inner = inverse[np.ix_(taken_out, taken_out)]
                x -= inverse[:, taken_out] @ np.linalg.solve(inner, x[taken_out])
            return x

        if not len(taken_in):
            return solved(slope)
        across = solved(gram[:, taken_in])
        rest = gram[np.ix_(taken_in, taken_in)] - gram[taken_in] @ across
        new = np.linalg.solve(rest, slope[taken_in] - across.T @ slope)
        x = solved(slope) - across @ new
        x[taken_in] = new
        return x


# Power iterations for the largest eigenvalue. They approach it from below, and steps stay
# monotone up to twice the length that it allows, so a rough value is enough.
_POWER_ITERATIONS = 16

# The same number for "newton": in units of a good bound, eigenvalues lie close to each other.
_RELATIVE_ITERATIONS = 3

# The "constant" learning rate, in units of the inverse curvature of eq. (9) at Theta = 0, where
# every class has probability 1/C. The largest that is stable there is 2.
_CONSTANT_RATE = 1.5


@dataclass(eq=False)
class LearningRates:
    """The learning rates of one member after another, for the features that members may use."""

    rows: Blocks[RowBlock]
    settings: TrainingSettings
    n_runs: int
    usable: BoolArray
    _constant: Array | None = None
    _curvature: Curvature | None = None

    def of_member(self, is_first: bool) -> Array:
        """Return the rate of each run for the next member, (R,), whose weights the rows have."""
        rate = self.settings.learning_rate
        if rate == "auto":
            curvature = self.settings.loss.for_steps.curvature
            return 1.0 / (curvature * self._largest() + self.settings.alpha)
        if rate == "newton":
            return self._shares_of_curvature(is_first)
        if rate == "constant":
            if self._constant is None:
                largest = like(self.rows.like, self._exactly_largest())
                self._constant = _CONSTANT_RATE * self.rows.n_classes / largest
            return self._constant
        return like(self.rows.like, np.full(self.n_runs, float(rate)))

    def _drawn(self) -> FloatArray:
        """Return where power iterations start, (1, D + 1)."""
        return normals(0, Purpose.POWER_ITERATION, 0, 0, (1, len(self.usable) + 1))

    def _largest(self) -> Array:
        """Return ``lambda_max(sum_m w_m z_m z_m^T)``, z with the intercept's 1, as (R,).

        The Hessian of eq. (9) is at most ``(I - 11^T/C) / 2`` (Bohning 1992) times that matrix.
        """
        xp = namespace_of(self.rows.like)
        start = self._drawn()
        vector = like(self.rows.like, np.repeat(start[None], self.n_runs, axis=1))
        usable = like(self.rows.like, np.append(self.usable, self.settings.fit_intercept) * 1.0)
        norm = xp.ones_like(vector[0, :, 0])
        heaviest = norm  # the weights of values have a sum of one
        if not self.settings.loss.is_criterion:
            heaviest = self.rows.max(RowBlock.heaviest, False)
        for _ in range(_POWER_ITERATIONS):
            vector = vector * usable
            vector = vector / xp.sqrt(xp.sum(vector * vector, axis=2))[:, :, None]
            slope, total = self.rows.sum(RowBlock.spread, vector, heaviest, False)
            vector = xp.concat([slope, total[:, :, None]], axis=2)
            norm = xp.sqrt(xp.sum(vector * vector * usable, axis=2))[0]
        return norm * heaviest

    def _exactly_largest(self) -> FloatArray:
        """Return that eigenvalue for the user's weights, (R,), to the last digits.

        All members have one rate, which equals the stated formula.
        """
        start = self._drawn()[0]
        usable = np.append(self.usable, self.settings.fit_intercept)
        heaviest = self.rows.max(RowBlock.heaviest, True)

        def product(vectors: FloatArray) -> FloatArray:
            given = like(self.rows.like, vectors[None])
            slope, total = self.rows.sum(RowBlock.spread, given, heaviest, True)
            spread = np.concatenate([to_host(slope)[0], to_host(total)[0][:, None]], axis=1)
            return np.where(usable, spread, 0.0)

        vectors = np.repeat((start * usable)[None], self.n_runs, axis=0)
        return largest_eigenvalues(product, vectors) * to_host(heaviest)

    def _shares_of_curvature(self, is_first: bool) -> Array:
        """Return the divisor of the bound of `Curvature` for these sample weights."""
        fit_intercept = self.settings.fit_intercept
        if self._curvature is None:
            (gram,) = self.rows.sum(RowBlock.gram)
            self._curvature = Curvature(np.asarray(gram, dtype=float), self.usable, fit_intercept)
        longest = 2.0 * STRETCH * np.ones(self.n_runs)
        if is_first or self.settings.reweighting is None:
            return longest
        # The bound is that of the user's weights. The largest eigenvalue of the present weights'
        # matrix, in units of the other, says how far they fall short of it.
        curvature, runs = self._curvature, range(self.n_runs)
        start = self._drawn()[0]
        start *= np.append(self.usable, fit_intercept)
        vectors = np.stack([start / curvature.norm(run, start) for run in runs])
        heaviest = self.rows.max(RowBlock.heaviest, False)
        share = np.ones(self.n_runs)
        for _ in range(_RELATIVE_ITERATIONS):
            slope, total = self.rows.sum(RowBlock.spread, vectors[None], heaviest, False)
            spread = np.concatenate([slope[0], total[0][:, None]], axis=1) * heaviest[:, None]
            for run in runs:
                new = curvature.inverse(run, self.usable) @ spread[run]
                share[run] = curvature.norm(run, new)
                vectors[run] = new / share[run]
        return longest / share

    def directed(
        self,
        slope: Array,
        total: Array,
        mask: Array,
        flipped: Array | None,
        runs: IntArray,
        flipping: IntArray,
    ) -> tuple[Array, Array]:
        """Return the slopes (C, L, D) and (C, L) of all candidates, in units of the curvature.

        Without "newton" they are unchanged.
        """
        if self._curvature is None:
            return slope, total
        steep = np.concatenate([slope, total[:, :, None]], axis=2)
        if not self.settings.fit_intercept:
            steep[:, :, -1] = 0.0
        support = mask > 0
        for position, run in enumerate(runs):
            steep[:, position] = self._curvature.direction(
                int(run), support[position], steep[:, position].T
            ).T
        for place, position in enumerate(flipping):
            candidate = len(runs) + place
            assert flipped is not None
            steep[:, candidate] = self._curvature.direction(
                int(runs[position]), support[position], steep[:, candidate].T, flipped[place] > 0
            ).T
        return steep[:, :, :-1], steep[:, :, -1]


# -- a step: lines 6 to 21 ------------------------------------------------------------------------


# Each step of "metropolis" multiplies the temperature by this.
COOLING = 0.98

# How many draws are made at once; a matter of speed only.
_DRAWS_AHEAD = 1 << 15


class FlipProposals:
    """Lines 6 and 7: the features that each run would flip at each step, with its probability.

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
        """Return the features that flip at ``step``, (len(active), D), of positions ``active``."""
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
    """Return whether accuracies are strictly higher, rounding aside."""
    return challenger - holder > tie


def metropolis(
    challenger: Array,
    holder: Array,
    mean_weight: Array,
    temperature: float,
    step: int,
    draw: Array,
) -> Array:
    """Return whether a flipped candidate is taken although it may be worse.

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
    """The states of the active runs; R counts only those."""

    theta: Array  # (C, R, D), entries outside the subset keep their last value
    intercept: Array  # (C, R)
    mask: Array  # (R, D), the subset as ones and zeros
    value: Array  # (R,), the weighted accuracy, or minus the weighted loss
    score: Array  # (R,), the criterion: the same less the penalties

    def select(self, positions: IntArray | slice, at: Any) -> State:
        """Return the runs at these positions, on the host and on the device of the arrays."""
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
    """The units in which the numbers of a member are measured, for each run, (R,)."""

    total: Array  # the divisor of sums over rows, on the device of the rows
    unit: Array  # of the criterion: ties and temperatures are shares of it
    cost: Array  # of a feature, in the criterion
    rates: Array  # the learning rates, on the device of the rows


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
        """Return candidates by the ``total`` of the rows' criteria: see `RowBlock.evaluate`."""
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

        ``settled`` says which flipped candidates of the last evaluation became the state, and
        which of its runs are still active. Of the active ``runs``, those at the positions
        ``flipping`` try a subset that differs by ``flips`` (len(flipping), D), ones and zeros.

        It returns the objective (R,) before the step; the candidates; the state of the active runs
        after the step; the flipped candidates with which runs continue; and the higher score (R,)
        of each run's candidates.
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
            # The rate is as long as the loss allows in this state; a number of the user's is not
            # changed.
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
        """Return the active runs' numbers out of those of all runs, (R,)."""
        if len(runs) == len(self._runs):
            return values
        return values[runs if is_on_host(values) else self.at(runs)]

    def _of_candidates(self, values: Array, runs: IntArray, flipping: IntArray) -> Array:
        """Return the candidates' numbers out of those of all runs, (R,)."""
        values = self._of_active(values, runs)
        if not len(flipping):
            return values
        flipped = values[flipping if is_on_host(values) else self.at(flipping)]
        return namespace_of(values).concat([values, flipped])


def observed(values: Array) -> FloatArray:
    """Return numbers of runs on the host, where they are compared."""
    return np.array(to_host(values), dtype=np.float64)


# -- members --------------------------------------------------------------------------------------


@dataclass
class History:
    """The history of one member of one run; entry 0 is the random start.

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
        """Record accuracy or loss (0), objective (1), size (2), or an accepted flip (3)."""
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
            # The entry of a refused last step repeats the state before it.
            steps = np.minimum(np.arange(evaluated + 1), taken)
            criterion, objective, size, flip = self.recorded[:, run, steps]
            flip[taken + 1 :] = 0.0
            # The criterion of values, which have one output, is a loss.
            kind = LossHistory if self.theta.shape[0] == 1 else AccuracyHistory
            found.append(kind(objective, size.astype(np.int64), flip.astype(bool), criterion))
        return found


@dataclass
class StackProgress:
    """The whole state that the next step of a member needs, and that a journal keeps."""

    step: int
    candidates: Candidates  # those that the rows evaluated last
    accepted: IntArray  # the flipped ones among them that runs continued with
    active: IntArray  # the positions of its runs that are still active
    state: State
    result: GrownMembers
    best: FloatArray
    waited: IntArray


@dataclass(eq=False)
class StackTrainer:
    """Grows members one after another, for all runs of a stack at once.

    The runs' random draws are functions of their numbers. Features of one unit flip together; unit
    -1 never flips. ``usable`` (D,) is the start of Lambda, all ones in the paper; False bars a
    feature for good (its unit must be -1). Steps are kept in ``journal``, so that an interrupted
    fit can continue.
    """

    rows: Blocks[RowBlock]
    settings: TrainingSettings
    _: KW_ONLY
    seed: int
    runs: Sequence[int]
    flip_probability: FloatArray
    unit_of_feature: IntArray
    usable: BoolArray
    journal: Journal | None = None

    def __post_init__(self) -> None:
        rows, settings = self.rows, self.settings
        self._xp, self._to_device = namespace_of(rows.like), partial(like, rows.like)
        self.n_runs, self.n_grown = len(self.runs), 0
        self._rates = LearningRates(rows, settings, self.n_runs, self.usable)
        self.step = Step(rows, settings, self._rates, self.seed, self.runs)

    # -- between members -------------------------------------------------------------------

    def see(self, theta: Array, intercept: Array) -> None:
        """Let the weights of later members depend on one already grown: lines 3 and 4."""
        see(self.rows, self.settings, self._to_device(theta), self._to_device(intercept))
        self.n_grown += 1
        self.step.member = self.n_grown

    def grow(self) -> GrownMembers:
        """Train the next member of every run: lines 3 to 22, step after step from line 5 on."""
        settings, by_loss = self.settings, self.settings.loss.is_criterion
        weight_sum, total = reweigh(self.rows, settings)
        task = None if self.journal is None else self.journal.begin()
        if task is not None and task.result is not None:
            members: GrownMembers = restored(self._unborn(weight_sum), task.result)
        else:
            rates = self._rates.of_member(is_first=self.n_grown == 0)
            if by_loss:
                # The weights of values have a sum of one, and losses are measured in units of the
                # loss of predicting 0.
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
            proposals = FlipProposals(
                self.seed, self.n_grown, self.runs, self.flip_probability, self.unit_of_feature
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
                    members.record(1, objective, runs, number)
                if len(flipping):
                    flipped = runs[flipping[progress.accepted]]
                    members.record(3, np.array(1.0), flipped, number + 1)
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
                members.n_iter[runs] += 1

                active = np.flatnonzero(~stopped)
                # If steps are judged by accuracy, one that ends its run is not taken.
                taking = np.arange(len(runs)) if by_loss else active
                if len(taking) < len(runs):
                    if not settings.keeps_best:
                        members.keep(before, runs, np.flatnonzero(stopped), self.step.at)
                    state, runs, tie = (
                        state.select(taking, self.step.at(taking)),
                        runs[taking],
                        tie[taking],
                    )
                if len(runs):
                    members.n_taken[runs] += 1
                    self._record(members, state, runs, number + 1)
                    if settings.keeps_best:
                        best = progress.best[runs]
                        # The latest of equally accurate states is kept: its likelihood is higher.
                        better = state.score > best if by_loss else ~beats(best, state.score, tie)
                        progress.best[runs] = np.maximum(best, state.score)
                        members.keep(state, runs, np.flatnonzero(better), self.step.at)
                if len(active) < len(state.value):
                    state = state.select(active, self.step.at(active))
                progress.active, progress.state, progress.step = active, state, number + 1
                if not len(active):
                    break
                if task is not None:
                    task.step(partial(arrays_of, progress))
            if len(progress.active) and not by_loss:
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
        """Return members of all runs before any step, with all of their numbers unknown."""
        shape = self.rows.n_classes, self.n_runs
        return GrownMembers(
            self._to_device(np.zeros((*shape, self.rows.n_features))),
            self._to_device(np.zeros(shape)),
            np.tile(self.usable, (self.n_runs, 1)),
            np.zeros(self.n_runs, dtype=np.int64),
            np.zeros(self.n_runs, dtype=np.int64),
            observed(weight_sum),
            np.zeros(self.n_runs),
            np.ones(self.n_runs, dtype=bool),
            np.zeros((4, self.n_runs, 64)),
        )

    def _begun(self, weight_sum: Array, scales: Scales, task: Any) -> StackProgress:
        """Return the random start of each run (line 3), or the state where a process stopped."""
        settings, everyone = self.settings, np.arange(self.n_runs)
        # Standard normal draws of coefficients and intercepts, zero on features that are barred.
        shape = self.rows.n_classes, len(self.usable) + 1
        draws = np.stack(
            [normals(self.seed, Purpose.START, run, self.n_grown, shape) for run in self.runs],
            axis=1,
        )
        draws *= settings.init_scale * np.append(self.usable, settings.fit_intercept)
        theta = self._to_device(np.ascontiguousarray(draws[:, :, :-1]))
        intercept = self._to_device(np.ascontiguousarray(draws[:, :, -1]))
        mask = self._to_device(np.tile(self.usable * 1.0, (self.n_runs, 1)))
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

    def _record(self, result: GrownMembers, state: State, runs: Any, step: int) -> None:
        """Add the states of some runs to their histories."""
        by_loss = self.settings.loss.is_criterion
        result.record(0, -state.value if by_loss else state.value, runs, step)
        result.record(2, self._xp.sum(state.mask, axis=1, dtype=self._xp.float64), runs, step)
        if by_loss:
            result.record(1, -state.score, runs, step)

    def _finish(self, members: GrownMembers) -> None:
        """Take members to the minimum of loss and penalty on their subsets."""
        xp, alpha, n_classes = self._xp, self.settings.alpha, self.rows.n_classes
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

        most = self.settings.finish
        start = joined(members.theta, members.intercept)
        found = minimise(objective, start, max_iter=most, journal=self.journal)
        theta, members.intercept = split(found.x)
        members.theta = theta * mask
        members.converged = found.converged | (found.n_iter < most)


def see(
    rows: Blocks[RowBlock], settings: TrainingSettings, theta: Array, intercept: Array
) -> None:
    """Let all rows record a member: lines 3 and 4 of Algorithm 1."""
    rows.broadcast(RowBlock.see, theta, intercept)
    if isinstance(settings.loss, ValueLoss):
        rows.broadcast(RowBlock.trust, typical_loss(rows, settings.loss))
    elif settings.reweighting == "adaboost":
        wrong, whole = rows.sum(RowBlock.errors, rows.max(RowBlock.peak))
        rows.broadcast(RowBlock.boost, wrong / whole)


def typical_loss(rows: Blocks[RowBlock], loss: ValueLoss) -> FloatArray:
    """Return the typical loss of the member seen last: see `RowBlock.trust`.

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
    """Set the weights of the next member on all rows; return their sums (R,), and the user's."""
    weight_sum, total = rows.sum(RowBlock.weigh, rows.max(RowBlock.peak))
    if settings.loss.is_criterion:
        # Losses are means over the weights.
        rows.broadcast(RowBlock.rescale, weight_sum)
    elif settings.reweighting in ("divergence", "adaboost"):
        # Only their ratios matter.
        rows.broadcast(RowBlock.rescale, weight_sum / total)
        weight_sum = total
    return weight_sum, total
