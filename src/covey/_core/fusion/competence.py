"""How competent members are near a sample: dynamic selection on plain NumPy arrays.

``right`` is what members did on the samples that the fusion learns from: (n_known, K) bool;
``available`` is where they have predicted them (None: everywhere); nothing counts elsewhere.
``region`` names the nearest of those for each sample, the nearest first: (n, k).
"""

from __future__ import annotations

import numpy as np

from covey._core.arrays import BoolArray, FloatArray, IntArray


def local_accuracy(
    right: BoolArray, region: IntArray, available: BoolArray | None = None
) -> FloatArray:
    """The share of the region on which each member is right, as (n, K)."""
    count = (
        region.shape[1] if available is None else np.maximum(local_hits(available, region), 1.0)
    )
    return local_hits(right, region) / count


def local_hits(right: BoolArray, region: IntArray) -> FloatArray:
    """On how many samples of the region each member is right, as (n, K)."""
    hits = np.zeros((len(region), right.shape[1]))
    for neighbor in region.T:
        hits += right[neighbor]
    return hits


def local_class_accuracy(
    right: BoolArray,
    truth: IntArray,
    region: IntArray,
    labels: IntArray,
    available: BoolArray | None = None,
) -> FloatArray:
    """Accuracy of each member on neighbors of the class that it predicts, as (n, K).

    Zero where no neighbor is of that class.
    """
    hits = np.zeros(labels.shape)
    count = np.zeros(labels.shape)
    for neighbor in region.T:
        same = truth[neighbor][:, None] == labels
        if available is not None:
            same &= available[neighbor]
        hits += same & right[neighbor]
        count += same
    return hits / np.maximum(count, 1.0)


def oracle_reach(
    right: BoolArray, region: IntArray, available: BoolArray | None = None
) -> FloatArray:
    """How many of the nearest neighbors a member gets right before its first error, (n, K)."""
    reach = np.zeros((len(region), right.shape[1]))
    unbroken = np.ones(reach.shape, dtype=bool)
    for neighbor in region.T:
        if available is None:
            unbroken &= right[neighbor]
            reach += unbroken
        else:
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
        n_failed = failed.sum(axis=1, keepdims=True)
        together += np.where(failed, n_failed - 1, 0)
    faults: FloatArray = together / region.shape[1]
    return faults


def keep_highest(competence: FloatArray, count: int) -> BoolArray:
    """The ``count`` members of highest competence; of equals the first, as (n, K) bool."""
    order = np.argsort(-competence, axis=1, kind="stable")[:, :count]
    kept = np.zeros(competence.shape, dtype=bool)
    np.put_along_axis(kept, order, True, axis=1)
    return kept
