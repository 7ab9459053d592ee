"""How competent members are near a sample: dynamic selection on plain NumPy arrays.

``right`` is what members did on the samples that the fusion learns from: (n_known, K) bool;
``available`` is where they have predicted them (None: everywhere); nothing counts elsewhere.
``region`` names the nearest of those for each sample, the nearest first: (n, k), and ``weight``,
of the same shape, is how much each of these counts (None: all alike).
"""

from __future__ import annotations

import numpy as np

from covey._core.arrays import BoolArray, FloatArray, IntArray


def local_mean(
    values: FloatArray | BoolArray,
    region: IntArray,
    weight: FloatArray | None = None,
    available: BoolArray | None = None,
    classes: tuple[IntArray, IntArray] | None = None,
) -> FloatArray:
    """The weighted mean of values (n_known, K) over the region, as (n, K); 0 of nothing.

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
    mean: FloatArray = sums / np.where(count > 0, count, 1.0)
    return mean


def local_hits(right: BoolArray, region: IntArray) -> FloatArray:
    """On how many samples of the region each member is right, as (n, K)."""
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
    """Which neighbors more than a share of the members decide as the sample, (n, k) as 0 and 1.

    ``known`` (n_known, K) and ``labels`` (n, K) are what members decide of either; members count
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
    """Weights (n, k) of neighbors, ``1 / (1 + exp(alpha * m))`` for a class of m known samples.

    Rows are divided by their largest, in logarithms, so that no class is too large for it.
    """
    logs = -np.logaddexp(0.0, alpha * np.bincount(truth))[truth[region]]
    weight: FloatArray = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weight


def potentials(distance: FloatArray) -> FloatArray:
    """``exp(-d^2)`` of distances (n, k), divided by each row's largest, so that none is all 0."""
    squared = np.minimum(distance, 1e150) ** 2
    weight: FloatArray = np.exp(squared.min(axis=1, keepdims=True) - squared)
    return weight


def oracle_reach(
    right: BoolArray, region: IntArray, available: BoolArray | None = None
) -> FloatArray:
    """How many of the nearest neighbors a member gets right before its first error, (n, K)."""
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
    """How often each member fails together with another one, summed over the others, (n, K)."""
    wrong = ~right if available is None else available & ~right
    together = np.zeros((len(region), right.shape[1]))
    for neighbor in region.T:
        failed = wrong[neighbor]
        together += np.where(failed, failed.sum(axis=1, keepdims=True) - 1, 0)
    faults: FloatArray = together / region.shape[1]
    return faults


def near_highest(competence: FloatArray, within: float) -> BoolArray:
    """The members of the highest competence, and those less than ``within`` below it, (n, K)."""
    highest = competence.max(axis=1, keepdims=True)
    # Differences of rounding are none.
    near: BoolArray = (competence > highest - within + 1e-12) | (competence >= highest - 1e-12)
    return near


def keep_highest(competence: FloatArray, count: int) -> BoolArray:
    """The ``count`` members of highest competence; of equals the first, as (n, K) bool."""
    order = np.argsort(-competence, axis=1, kind="stable")[:, :count]
    kept = np.zeros(competence.shape, dtype=bool)
    np.put_along_axis(kept, order, True, axis=1)
    return kept
