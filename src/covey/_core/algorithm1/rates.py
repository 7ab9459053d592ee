"""How long the steps of Algorithm 1 are: learning rates, from the curvature of the objective."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from covey._core.algorithm1.rows import RowBlock
from covey._core.algorithm1.settings import TrainingSettings
from covey._core.arrays import Array, BoolArray, FloatArray, IntArray, like, namespace_of, to_host
from covey._core.blocks import Blocks
from covey._core.random import Purpose, normals_of

# A value has converged when what is left of its vector is this share of it. The error is then
# no more than that share, and in general its square.
_RESIDUAL = 1e-9
# Steps at most; hundreds are needed only where many eigenvalues are nearly the largest one.
_MOST_STEPS = 300


def largest_eigenvalues(
    product: Callable[[FloatArray], FloatArray], start: FloatArray
) -> FloatArray:
    """``lambda_max(A_r)`` of positive semi-definite matrices, (R,), by Lanczos' method.

    ``product`` maps a vector for each matrix, (R, N), to ``A_r v_r``; ``start`` is (R, N). Each
    value ends where its own vector has converged, so that it is the same whatever other matrices
    are beside it.
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
        # Rounding would bring back what was there before; twice is enough to remove it.
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
    """The largest eigenvalue of a tridiagonal matrix, and the last entry of its vector."""
    values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, -1))
    return float(values[-1]), float(vectors[-1, -1])


# A step of up to twice the bound's still climbs; the bound is C / 2 times too careful where every
# class is as likely.
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
        # What members start from comes again with every one of them.
        self._first: list[FloatArray | None] = [None] * len(gram)
        self._known: list[tuple[bytes, FloatArray] | None] = [None] * len(gram)

    def inverse(self, run: int, support: BoolArray) -> FloatArray:
        """The inverse of G on a subset (D,), zero elsewhere.

        A function of the subset alone, however it was come by.
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
            # What leaving columns out makes of an inverse: block inversion.
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
        """``sqrt(v^T G v)``."""
        return float(np.sqrt(vector @ self._gram[run] @ vector))

    def direction(
        self, run: int, support: BoolArray, slope: FloatArray, flipped: BoolArray | None = None
    ) -> FloatArray:
        """``G^-1 slope`` (D + 1, C) on a subset (D,), or on the ``flipped`` one after a flip."""
        inverse, gram = self.inverse(run, support), self._gram[run]
        if flipped is None:
            return inverse @ slope
        taken_out = np.flatnonzero(support & ~flipped)
        taken_in = np.flatnonzero(flipped & ~support)
        stays = np.append(support & flipped, self._intercept)[:, None]

        def solved(right: FloatArray) -> FloatArray:
            """On what stays of the subset: block inversion."""
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

# The same for "newton": in units of a good bound eigenvalues lie close to each other.
_RELATIVE_ITERATIONS = 3

# The "constant" learning rate, in units of the inverse curvature of eq. (9) at Theta = 0, where
# every class has probability 1/C. The largest that is stable there is 2.
_CONSTANT_RATE = 1.5


class LearningRates:
    """The learning rates of one member after another, for the features that members may use."""

    def __init__(
        self,
        rows: Blocks[RowBlock],
        settings: TrainingSettings,
        n_runs: int,
        usable: BoolArray,
        drawn: BoolArray,
    ) -> None:
        self._rows = rows
        self._settings = settings
        self._n_runs = n_runs
        self._usable = usable
        self._drawn = np.append(drawn, True)
        self._constant: Array | None = None
        self._curvature: Curvature | None = None

    def of_member(self, is_first: bool) -> Array:
        """The rate of each run for the next member, (R,), whose weights the rows have."""
        rate = self._settings.learning_rate
        if rate == "auto":
            curvature = self._settings.loss.for_steps.curvature
            return 1.0 / (curvature * self._largest() + self._settings.alpha)
        if rate == "newton":
            return self._shares_of_curvature(is_first)
        if rate == "constant":
            if self._constant is None:
                largest = like(self._rows.like, self._exactly_largest())
                self._constant = _CONSTANT_RATE * self._rows.n_classes / largest
            return self._constant
        return like(self._rows.like, np.full(self._n_runs, float(rate)))

    def _largest(self) -> Array:
        """``lambda_max(sum_m w_m z_m z_m^T)``, z with the intercept's 1, as (R,).

        The Hessian of eq. (9) is at most ``(I - 11^T/C) / 2`` (Bohning 1992) times that matrix.
        """
        xp = namespace_of(self._rows.like)
        start = normals_of(self._drawn, 0, Purpose.POWER_ITERATION, 0, 0, 1)
        vector = like(self._rows.like, np.repeat(start[None], self._n_runs, axis=1))
        usable = like(self._rows.like, np.append(self._usable, self._settings.fit_intercept) * 1.0)
        norm = xp.ones_like(vector[0, :, 0])
        heaviest = norm  # the weights of values have a sum of one
        if not self._settings.loss.is_criterion:
            heaviest = self._rows.max(RowBlock.heaviest, False)
        for _ in range(_POWER_ITERATIONS):
            vector = vector * usable
            vector = vector / xp.sqrt(xp.sum(vector * vector, axis=2))[:, :, None]
            slope, total = self._rows.sum(RowBlock.spread, vector, heaviest, False)
            vector = xp.concat([slope, total[:, :, None]], axis=2)
            norm = xp.sqrt(xp.sum(vector * vector * usable, axis=2))[0]
        return norm * heaviest

    def _exactly_largest(self) -> FloatArray:
        """The same of the user's weights, (R,), to the last digits: one rate for all members.

        A rate that is stated as a formula is that formula.
        """
        start = normals_of(self._drawn, 0, Purpose.POWER_ITERATION, 0, 0, 1)[0]
        usable = np.append(self._usable, self._settings.fit_intercept)
        heaviest = self._rows.max(RowBlock.heaviest, True)

        def product(vectors: FloatArray) -> FloatArray:
            given = like(self._rows.like, vectors[None])
            slope, total = self._rows.sum(RowBlock.spread, given, heaviest, True)
            spread = np.concatenate([to_host(slope)[0], to_host(total)[0][:, None]], axis=1)
            return np.where(usable, spread, 0.0)

        vectors = np.repeat((start * usable)[None], self._n_runs, axis=0)
        return largest_eigenvalues(product, vectors) * to_host(heaviest)

    def _shares_of_curvature(self, is_first: bool) -> Array:
        """By how much the bound of `Curvature` is to be divided for these sample weights."""
        fit_intercept = self._settings.fit_intercept
        if self._curvature is None:
            (gram,) = self._rows.sum(RowBlock.gram)
            self._curvature = Curvature(np.asarray(gram, dtype=float), self._usable, fit_intercept)
        longest = 2.0 * STRETCH * np.ones(self._n_runs)
        if is_first or self._settings.reweighting is None:
            return longest
        # The bound is that of the user's weights; how far these fall short of it is the largest
        # eigenvalue of the one in units of the other.
        curvature, runs = self._curvature, range(self._n_runs)
        start = normals_of(self._drawn, 0, Purpose.POWER_ITERATION, 0, 0, 1)[0]
        start *= np.append(self._usable, fit_intercept)
        vectors = np.stack([start / curvature.norm(run, start) for run in runs])
        heaviest = self._rows.max(RowBlock.heaviest, False)
        share = np.ones(self._n_runs)
        for _ in range(_RELATIVE_ITERATIONS):
            slope, total = self._rows.sum(RowBlock.spread, vectors[None], heaviest, False)
            spread = np.concatenate([slope[0], total[0][:, None]], axis=1) * heaviest[:, None]
            for run in runs:
                new = curvature.inverse(run, self._usable) @ spread[run]
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
        """The slopes (C, L, D) and (C, L) of all candidates, in units of the curvature.

        Without "newton" they are as they were.
        """
        if self._curvature is None:
            return slope, total
        steep = np.concatenate([slope, total[:, :, None]], axis=2)
        if not self._settings.fit_intercept:
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
