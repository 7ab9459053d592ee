"""How competent members are near a sample: dynamic selection on plain NumPy arrays.

``right`` is what members did on the samples that the fusion learns from: (n_known, K) bool;
``spoken`` says where they have spoken of them (None: everywhere), and nothing counts elsewhere.
``region`` names the nearest of those for each sample, the nearest first: (n, k).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]


def local_accuracy(
    right: BoolArray, region: IntArray, spoken: BoolArray | None = None
) -> FloatArray:
    """The share of the region on which each member is right, as (n, K)."""
    count = region.shape[1] if spoken is None else np.maximum(local_hits(spoken, region), 1.0)
    accuracy: FloatArray = local_hits(right, region) / count
    return accuracy


def local_hits(right: BoolArray, region: IntArray) -> FloatArray:
    """On how many samples of the region each member is right, as (n, K)."""
    hits = np.zeros((len(region), right.shape[1]))
    for neighbour in region.T:
        hits += right[neighbour]
    return hits


def local_class_accuracy(
    right: BoolArray,
    truth: IntArray,
    region: IntArray,
    labels: IntArray,
    spoken: BoolArray | None = None,
) -> FloatArray:
    """Accuracy of each member on neighbours of the class that it predicts, as (n, K).

    Zero where no neighbour is of that class.
    """
    hits = np.zeros(labels.shape)
    count = np.zeros(labels.shape)
    for neighbour in region.T:
        same = truth[neighbour][:, None] == labels
        if spoken is not None:
            same &= spoken[neighbour]
        hits += same & right[neighbour]
        count += same
    accuracy: FloatArray = hits / np.maximum(count, 1.0)
    return accuracy


def oracle_reach(
    right: BoolArray, region: IntArray, spoken: BoolArray | None = None
) -> FloatArray:
    """How many of the nearest neighbours a member gets right before its first error, (n, K)."""
    reach = np.zeros((len(region), right.shape[1]))
    unbroken = np.ones(reach.shape, dtype=bool)
    for neighbour in region.T:
        if spoken is None:
            unbroken &= right[neighbour]
            reach += unbroken
        else:
            unbroken &= right[neighbour] | ~spoken[neighbour]
            reach += unbroken & spoken[neighbour]
    return reach


def double_faults(
    right: BoolArray, region: IntArray, spoken: BoolArray | None = None
) -> FloatArray:
    """How often each member fails together with another one, summed over the others, (n, K)."""
    wrong = ~right if spoken is None else spoken & ~right
    together = np.zeros((len(region), right.shape[1]))
    for neighbour in region.T:
        failed = wrong[neighbour]
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
