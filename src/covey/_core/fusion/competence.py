"""The competence of members near a sample: dynamic selection on plain NumPy arrays.

``right`` says where members are right on the samples that the fusion learns from: (n_known, K)
bool; ``available`` is where they have predicted them (None: everywhere); nothing counts elsewhere.
``region`` names the nearest of those for each sample, the nearest first: (n, k), and ``weight``,
of the same shape, is how much each of these counts (None: all alike).

Sources of potential functions measure the competence of members at a sample whose class is known:
``values`` (n, K, C) are the members' probabilities, ``codes`` (n,) the true classes, and the
result is (n, K). Except in `reference_wins`, a member that guesses, with 1/C for every class, has
0, and one that is sure of the truth has 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import betainc, xlogy

from covey._core.arrays import BoolArray, FloatArray, IntArray, in_parts
from covey._core.limits import SQUARABLE


def local_mean(
    values: FloatArray | BoolArray,
    region: IntArray,
    weight: FloatArray | None = None,
    available: BoolArray | None = None,
    classes: tuple[IntArray, IntArray] | None = None,
) -> FloatArray:
    """Return the weighted mean of values (n_known, K) over the region, (n, K); 0 of nothing.

    With ``classes``, the known samples' true ones and those that members predict (n, K), neighbors
    count for a member only where they are of the class that it predicts.
    """
    sums = np.zeros((len(region), values.shape[1]))
    count = np.zeros(sums.shape)
    for place, neighbor in enumerate(region.T):
        counted = np.ones((len(region), 1)) if weight is None else weight[:, place, None]
        if classes is not None:
            counted = counted * (classes[0][neighbor][:, None] == classes[1])
        if available is not None:
            counted = counted * available[neighbor]
        sums += counted * values[neighbor]
        count += counted
    return sums / np.where(count > 0, count, 1.0)


def local_hits(right: BoolArray, region: IntArray) -> FloatArray:
    """Return on how many samples of the region each member is right, as (n, K)."""
    hits = np.zeros((len(region), right.shape[1]))
    for neighbor in region.T:
        hits += right[neighbor]
    return hits


def alike(
    known: IntArray,
    region: IntArray,
    labels: IntArray,
    threshold: float,
    known_available: BoolArray | None = None,
    available: BoolArray | None = None,
) -> FloatArray:
    """Return which neighbors most members decide as they do the sample, (n, k) as 0 and 1.

    A neighbor is alike if more than a share of the members decide it as they decide the sample.
    ``known`` (n_known, K) and ``labels`` (n, K) are the members' decisions for both; members count
    where they decide both. Where no neighbor is alike, all are.
    """
    similar = np.empty(region.shape)
    for place, neighbor in enumerate(region.T):
        same = known[neighbor] == labels
        both = np.ones(same.shape, dtype=bool) if available is None else available.copy()
        if known_available is not None:
            both &= known_available[neighbor]
        similar[:, place] = (same & both).sum(axis=1) / np.maximum(both.sum(axis=1), 1)
    kept = similar > threshold + 1e-12
    return np.where(kept.any(axis=1, keepdims=True), kept, True).astype(np.float64)


def rare_class_weights(truth: IntArray, region: IntArray, alpha: float) -> FloatArray:
    """Return weights (n, k) of neighbors, ``1 / (1 + exp(alpha * m))`` for m samples of a class.

    Rows are divided by their largest, in logarithms, so that no class is too large for it.
    """
    logs = -np.logaddexp(0.0, alpha * np.bincount(truth))[truth[region]]
    return np.exp(logs - logs.max(axis=1, keepdims=True))


def potentials(distance: FloatArray) -> FloatArray:
    """Return ``exp(-d^2)`` of distances (n, k), divided by each row's largest: none is all 0."""
    squared = np.minimum(distance, SQUARABLE) ** 2
    return np.exp(squared.min(axis=1, keepdims=True) - squared)


def oracle_reach(
    right: BoolArray, region: IntArray, available: BoolArray | None = None
) -> FloatArray:
    """Count the nearest neighbors that a member gets right before its first error, (n, K)."""
    available = np.ones_like(right) if available is None else available
    reach = np.zeros((len(region), right.shape[1]))
    unbroken = np.ones(reach.shape, dtype=bool)
    for neighbor in region.T:
        unbroken &= right[neighbor] | ~available[neighbor]
        reach += unbroken & available[neighbor]
    return reach


def double_faults(
    right: BoolArray, region: IntArray, available: BoolArray | None = None
) -> FloatArray:
    """Return how often each member fails together with others, summed over them, (n, K)."""
    wrong = ~right if available is None else available & ~right
    together = np.zeros((len(region), right.shape[1]))
    for neighbor in region.T:
        failed = wrong[neighbor]
        together += np.where(failed, failed.sum(axis=1, keepdims=True) - 1, 0)
    return together / region.shape[1]


def near_highest(competence: FloatArray, within: float) -> BoolArray:
    """Return the members less than ``within`` below the highest competence, (n, K)."""
    highest = competence.max(axis=1, keepdims=True)
    # Differences within rounding count as none.
    return (competence > highest - within + 1e-12) | (competence >= highest - 1e-12)


def keep_highest(competence: FloatArray, count: int) -> BoolArray:
    """Return the ``count`` members of highest competence, of equals the first, as (n, K) bool."""
    order = np.argsort(-competence, axis=1, kind="stable")[:, :count]
    kept = np.zeros(competence.shape, dtype=bool)
    np.put_along_axis(kept, order, True, axis=1)
    return kept


# The points at which the distributions of `reference_wins` are evaluated, and how many at once.
_POINTS = np.linspace(0.0, 1.0, 20)
_BLOCK = 1 << 20


def true_probability(values: FloatArray, codes: IntArray) -> FloatArray:
    """Return the members' probability of the true class, between 0 and 1."""
    return np.clip(values[np.arange(len(codes)), :, codes], 0.0, 1.0)


def exponential(values: FloatArray, codes: IntArray) -> FloatArray:
    """Return ``1 - 2^(1 - (C - 1) p / (1 - p))`` of the true class's p."""
    p = true_probability(values, codes)
    sure = p >= 1.0
    odds = (values.shape[2] - 1.0) * p / np.where(sure, 1.0, 1.0 - p)
    return np.where(sure, 1.0, 1.0 - 2.0 ** (1.0 - odds))


def logarithmic(values: FloatArray, codes: IntArray) -> FloatArray:
    """Return ``2 p^(log 2 / log C) - 1`` of the true class's p."""
    power = np.log(2.0) / np.log(max(2, values.shape[2]))
    return 2.0 * true_probability(values, codes) ** power - 1.0


def divergence(values: FloatArray, codes: IntArray) -> FloatArray:
    """Return the divergence from a guess, ``1 - H(p) / log C``, negative for a wrong member."""
    p = np.clip(values, 0.0, 1.0)
    p = p / np.maximum(p.sum(axis=2, keepdims=True), np.finfo(np.float64).tiny)
    entropy = -xlogy(p, p).sum(axis=2) / np.log(max(2, values.shape[2]))
    right = values.argmax(axis=2) == codes[:, None]
    return np.where(right, 1.0, -1.0) * np.maximum(1.0 - entropy, 0.0)


def least_difference(values: FloatArray, codes: IntArray) -> FloatArray:
    """Return the true class's p less the largest of the others'."""
    others = values.copy()
    others[np.arange(len(codes)), :, codes] = -np.inf
    highest = others.max(axis=2)
    p = values[np.arange(len(codes)), :, codes]
    return p - np.where(np.isfinite(highest), highest, 0.0)


def reference_wins(values: FloatArray, codes: IntArray) -> FloatArray:
    """Return the probability that a randomized reference classifier is right.

    It draws for class j a random number of the distribution ``beta(C p_j, C (1 - p_j))``, whose
    mean is p_j, and decides for the largest: the integral, by 19 trapezoids, of the true class's
    density times the others' distribution functions. A member that guesses has 1/C.
    """
    n_samples, n_members, n_classes = values.shape
    distribution = _distribution(n_classes, values.size)
    wins = np.empty((n_samples, n_members))
    for block in in_parts(n_samples, _BLOCK // (n_members * n_classes * len(_POINTS))):
        below = distribution(np.clip(values[block], 0.0, 1.0))
        middle = (below[..., 1:] + below[..., :-1]) / 2.0
        at = np.arange(len(below)), slice(None), codes[block]
        steps = np.diff(below[at], axis=-1)
        middle[at] = 1.0
        wins[block] = (steps * middle.prod(axis=2)).sum(axis=-1)
    return wins


def _distribution(n_classes: int, count: int) -> Callable[[FloatArray], FloatArray]:
    """Return the distribution functions of numbers around p, at the points: p (...) to (..., 20).

    They are smooth in p. For more p than a table of them has, a spline through the table takes a
    tenth of the time, and is within 1e-9 of them for up to 1,000 classes.
    """

    def exact(p: FloatArray) -> FloatArray:
        a = (n_classes * p)[..., None]
        return betainc(np.maximum(a, 1e-20), np.maximum(n_classes - a, 1e-20), _POINTS)

    n_tabled = 4096 if n_classes <= 100 else 16384
    if count <= n_tabled:
        return exact
    grid = np.linspace(0.0, 1.0, n_tabled + 1)
    return CubicSpline(grid, exact(grid))
