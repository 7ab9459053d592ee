"""Members that are constant, and what an oracle reaches without them.

A member that predicts the same for every row knows nothing of the rows; what is right then is
the choice of the row. One constant member for each class would let an oracle be right on every
row for nothing, and so an oracle does not choose among constant members.
"""

from __future__ import annotations

import numpy as np

from covey._core.arrays import BoolArray, FloatArray, IntArray

# A constant member varies at most so much, as a share of how much all members together vary.
_SHARE = 0.01
# Numbers that differ by so much of their size differ by rounding alone.
_ROUNDING = 1e-12


def decision_counts(labels: IntArray, available: BoolArray | None, n_classes: int) -> IntArray:
    """How often each member decides for each class, (K, C), of decisions (n, K)."""
    counts = np.empty((labels.shape[1], n_classes), dtype=np.int64)
    for member, decided in enumerate(labels.T):
        here = decided if available is None else decided[available[:, member]]
        counts[member] = np.bincount(here, minlength=n_classes)
    return counts


def constant_by_counts(counts: IntArray) -> BoolArray:
    """Which members are constant, (K,), by how often each decides for each class, (K, C).

    Let c be the class that a member decides for most often. It is constant if the share of its
    decisions that are for another class is at most a hundredth of that share among the decisions
    of all members. One that always decides for c is constant; one of a flock whose members all
    decide for a rare class now and then is not.
    """
    together = counts.sum(axis=0)
    own = np.maximum(counts.sum(axis=1), 1)
    others = (own - counts.max(axis=1)) / own
    others_of_all = 1.0 - together[counts.argmax(axis=1)] / max(together.sum(), 1)
    constant: BoolArray = (others <= _SHARE * others_of_all) | (counts.max(axis=1) == 0)
    return constant


def constant_by_spread(
    values: FloatArray, available: BoolArray | None, spread: float = 0.0
) -> BoolArray:
    """Which members are constant, (K,), by the numbers (n, K) that they predict.

    A member is constant if the standard deviation of its predictions is at most a hundredth of
    that of all members' predictions together, or of ``spread``, that of the truth, where it is
    known; or no more than rounding.
    """
    known = np.ones(values.shape) if available is None else available.astype(np.float64)
    total = known.sum(axis=0)
    share = known / np.where(total > 0, total, 1.0)
    mean = (share * values).sum(axis=0)
    deviation = np.sqrt((share * (values - mean) ** 2).sum(axis=0))
    constant = constant_by_moments(mean, deviation, total, spread)
    constant[total == 0] = True
    return constant


def constant_by_moments(
    mean: FloatArray, deviation: FloatArray, weight: FloatArray | None = None, spread: float = 0.0
) -> BoolArray:
    """The same from mean and standard deviation of each member's predictions, (K,).

    ``weight`` (K,) is how many predictions a member makes; None: all make the same number.
    """
    weight = np.ones(len(mean)) if weight is None else weight
    share = weight / max(weight.sum(), 1.0)
    together = np.sqrt(share @ deviation**2 + share @ (mean - share @ mean) ** 2)
    rounding = _ROUNDING * np.abs(mean).max()
    constant: BoolArray = deviation <= max(_SHARE * together, _SHARE * spread, rounding)
    return constant


def oracle_members(right: BoolArray, constant: BoolArray) -> BoolArray:
    """Among which members an oracle chooses, (K,); ``right`` (n, K) says where each is right.

    It chooses among those that vary. If a constant member is right more often than it would then
    be, it is that member alone: no member is more accurate than the oracle.
    """
    if not constant.any():
        return ~constant
    alone = np.where(constant, right.mean(axis=0), -1.0)
    best = int(alone.argmax())
    if constant.all() or alone[best] > right[:, ~constant].any(axis=1).mean():
        chosen: BoolArray = np.arange(len(constant)) == best
        return chosen
    return ~constant


def staged_oracle(right: BoolArray, constant: BoolArray, weight: FloatArray) -> FloatArray:
    """The accuracies (K,) of an oracle over the first 1, ..., K members.

    ``right`` (n, K) says where each member is right, ``constant`` (K,) which of all are constant.
    """
    together = weight @ np.logical_or.accumulate(right & ~constant, axis=1)
    alone = np.where(constant, weight @ right, 0.0)
    accuracy: FloatArray = np.maximum(together, np.maximum.accumulate(alone)) / weight.sum()
    return accuracy
