"""Fixed fusion rules on plain NumPy arrays, and members that are constant.

Shapes: ``n`` samples, ``K`` members, ``C`` classes. Weights are ``(n, K)``, non-negative; a
member that is not available for a sample weighs 0 there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from covey._core.arrays import BoolArray, FloatArray, IntArray


def normalized(mass: FloatArray, fallback: FloatArray) -> FloatArray:
    """Return rows divided by their sum; rows without mass are taken from ``fallback``."""
    total = mass.sum(axis=1, keepdims=True)
    return np.where(total > 0, mass / np.where(total > 0, total, 1.0), fallback)


def settled(fused: FloatArray) -> FloatArray:
    """Return probabilities whose ties are exact, and of which none is above one.

    Sums depend on their order in the last bits. Probabilities within 1e-13 of a row's largest one
    are made equal to it, so that the order of members never decides. Weights that sum to a little
    more than one would give sure members more than one, which scikit-learn's measures refuse.
    """
    highest = np.minimum(fused.max(axis=1, keepdims=True), 1.0)
    return np.where(fused >= highest - 1e-13, highest, fused)


def uniform(n_samples: int, n_classes: int) -> FloatArray:
    """Return equal probabilities for all classes."""
    return np.full((n_samples, n_classes), 1.0 / n_classes)


def vote_shares(labels: IntArray, weight: FloatArray | None, n_classes: int) -> FloatArray:
    """Return the (weighted) share of members that vote for each class, as (n, C).

    ``weight=None`` counts every member once.
    """
    n_samples, n_members = labels.shape
    # One count over all rows at once: each row has its own C bins.
    bins = (labels + n_classes * np.arange(n_samples)[:, None]).ravel()
    if weight is None:
        votes = np.bincount(bins, minlength=n_samples * n_classes)
        return votes.reshape(n_samples, n_classes) / n_members
    mass = np.bincount(bins, weight.ravel(), minlength=n_samples * n_classes).astype(np.float64)
    return normalized(mass.reshape(n_samples, n_classes), uniform(n_samples, n_classes))


def weighted_order_statistic(
    values: FloatArray, weight: FloatArray, threshold: float
) -> FloatArray:
    """Return the largest t that members of weight ``threshold`` or more reach, as (n,).

    With weights of one this is the ``threshold``-th largest value. Where all members together
    weigh less than the threshold it is 0.
    """
    order = np.argsort(-values, axis=1, kind="stable")
    carried = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1)
    # Weights are sums of the user's numbers: rounding must not cost a vote.
    reached = carried >= threshold - 1e-9 * max(1.0, abs(threshold))
    first = np.argmax(reached, axis=1)[:, None]
    taken = np.take_along_axis(values, np.take_along_axis(order, first, axis=1), axis=1)[:, 0]
    return np.where(reached[:, -1], taken, 0.0)


def k_of_n(
    values: FloatArray, labels: IntArray, weight: FloatArray, threshold: float, positive: int
) -> FloatArray:
    """Accept the positive class if members of weight ``threshold`` or more vote for it.

    For two classes, p(pos) is the weighted order statistic of the members' p(pos), which is above
    one half exactly if enough members' are. For more classes, on acceptance p(pos) is that
    statistic, but more than one half, and on rejection it is 0; the other classes share the rest
    as in the mean rule.
    """
    n_samples, _, n_classes = values.shape
    statistic = weighted_order_statistic(values[:, :, positive], weight, threshold)
    if n_classes == 2:
        fused = np.empty((n_samples, 2))
        fused[:, positive] = statistic
        fused[:, 1 - positive] = 1.0 - statistic
        return fused
    support = (weight * (labels == positive)).sum(axis=1)
    accepted = support >= threshold - 1e-9 * max(1.0, abs(threshold))
    p_positive = np.where(accepted, np.maximum(statistic, 0.5 + 1e-9), 0.0)
    others = np.einsum("nkc,nk->nc", values, weight)
    others[:, positive] = 0.0
    even = np.full((n_samples, n_classes), 1.0 / (n_classes - 1))
    even[:, positive] = 0.0
    fused = normalized(others, even) * (1.0 - p_positive)[:, None]
    fused[:, positive] = p_positive
    return fused


def borda_counts(values: FloatArray) -> FloatArray:
    """Return how many classes each member scores strictly below each class, as (n, K, C)."""
    counts = np.zeros(values.shape)
    n_classes = values.shape[2]
    for one in range(n_classes):
        for other in range(one + 1, n_classes):
            counts[:, :, one] += values[:, :, one] > values[:, :, other]
            counts[:, :, other] += values[:, :, other] > values[:, :, one]
    return counts


def weighted_mean(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Return ``sum_k w_k p_k``, normalized."""
    fused: FloatArray = np.einsum("nkc,nk->nc", values, weight)
    return normalized(fused, uniform(*fused.shape))


def masked(values: FloatArray, available: Any, replacement: float) -> FloatArray:
    """Return values with those of members that are not available replaced."""
    return values if available is None else np.where(available, values, replacement)


def trimmed_mean(values: FloatArray, available: Any, proportion: float) -> FloatArray:
    """Return the mean of each class without the lowest and highest ``proportion`` of members.

    ``proportion=0.5`` is the median: the middle member, or the mean of the middle two.
    """
    n_samples, n_members, n_classes = values.shape
    ordered = np.sort(masked(values, available, np.inf), axis=1)
    count = (
        np.full((n_samples, 1, n_classes), n_members)
        if available is None
        else np.broadcast_to(available, values.shape).sum(axis=1, keepdims=True)
    )
    cut = np.minimum(np.floor(proportion * count), np.maximum((count - 1) // 2, 0))
    rank = np.arange(n_members)[None, :, None]
    kept = (rank >= cut) & (rank < count - cut)
    return np.where(kept, ordered, 0.0).sum(axis=1) / np.maximum(kept.sum(axis=1), 1)


def trimmed_shares(
    values: FloatArray, available: BoolArray | None, proportion: float
) -> FloatArray:
    """Return how much each member's number counts in a `trimmed_mean`, as (n, K); rows sum to one.

    Members with equal predictions have equal shares, so that their order decides nothing.
    """
    known = np.ones(values.shape, dtype=bool) if available is None else available
    count = known.sum(axis=1, keepdims=True)
    cut = np.minimum(np.floor(proportion * count), np.maximum((count - 1) // 2, 0))
    # Members that are not available come last.
    order = (
        np.argsort(values, axis=1) if available is None else np.lexsort((values, ~known), axis=1)
    )
    below, end = _runs(np.take_along_axis(values, order, axis=1), count)
    # Equals take the ranks from ``below`` to ``end``; some of these may be left out.
    within = np.maximum(np.minimum(end, count - cut) - np.maximum(below, cut), 0)
    kept = np.empty(values.shape)
    np.put_along_axis(kept, order, within / (end - below), axis=1)
    return normalized(np.where(known, kept, 0.0), uniform(*values.shape))


def _runs(ordered: FloatArray, count: IntArray) -> tuple[IntArray, IntArray]:
    """Return where the run of equals of each entry of sorted rows begins and ends, both as (n, K).

    Entries from ``count`` (n, 1) on belong to no run of those before.
    """
    n_samples, n_members = ordered.shape
    rank = np.broadcast_to(np.arange(n_members), ordered.shape)
    edge = np.ones((n_samples, n_members + 1), dtype=bool)
    edge[:, 1:-1] = (ordered[:, 1:] != ordered[:, :-1]) | (rank[:, 1:] == count)
    begin = np.maximum.accumulate(np.where(edge[:, :-1], rank, 0), axis=1)
    last = np.where(edge[:, 1:], rank + 1, n_members)
    end = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    return begin, end


def share_among(agrees: BoolArray, weight: FloatArray) -> FloatArray:
    """Return importance shared by weight among the members that agree, or all if none does."""
    agreeing = np.where(agrees, weight, 0.0)
    return normalized(agreeing, normalized(weight, uniform(*weight.shape)))


# -- members that are constant, and what an oracle reaches without them ---------------------------
# A member that predicts the same for every row knows nothing of the rows; the choice of the row
# alone makes it right. One constant member for each class would make an oracle right on every row,
# and so an oracle does not choose among constant members.


# A constant member varies at most by this share of the variation of all members together.
_SHARE = 0.01
# Numbers that differ by this share of their size differ by rounding alone.
_ROUNDING = 1e-12


def decision_counts(labels: IntArray, available: BoolArray | None, n_classes: int) -> IntArray:
    """Return how often each member decides for each class, (K, C), of decisions (n, K)."""
    counts = np.empty((labels.shape[1], n_classes), dtype=np.int64)
    for member, decided in enumerate(labels.T):
        here = decided if available is None else decided[available[:, member]]
        counts[member] = np.bincount(here, minlength=n_classes)
    return counts


def constant_by_counts(counts: IntArray) -> BoolArray:
    """Return which members are constant, (K,), by how often each decides for each class, (K, C).

    Let c be the class that a member decides for most often. It is constant if the share of its
    decisions for another class is at most a hundredth of that share among the decisions of all
    members. One that always decides for c is constant; one of a flock whose members all decide for
    a rare class now and then is not.
    """
    together = counts.sum(axis=0)
    own = np.maximum(counts.sum(axis=1), 1)
    others = (own - counts.max(axis=1)) / own
    others_of_all = 1.0 - together[counts.argmax(axis=1)] / max(together.sum(), 1)
    return (others <= _SHARE * others_of_all) | (counts.max(axis=1) == 0)


def constant_by_spread(
    values: FloatArray, available: BoolArray | None, spread: float = 0.0
) -> BoolArray:
    """Return which members are constant, (K,), by the numbers (n, K) that they predict.

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
    """Return which members are constant, given mean and deviation of their predictions, (K,).

    ``weight`` (K,) is how many predictions a member makes; None: all make the same number.
    """
    weight = np.ones(len(mean)) if weight is None else weight
    share = weight / max(weight.sum(), 1.0)
    together = np.sqrt(share @ deviation**2 + share @ (mean - share @ mean) ** 2)
    rounding = _ROUNDING * np.abs(mean).max()
    return deviation <= max(_SHARE * together, _SHARE * spread, rounding)


def oracle_members(right: BoolArray, constant: BoolArray) -> BoolArray:
    """Return the members among which an oracle chooses, (K,), by where each is right, (n, K).

    It chooses among those that vary. If a constant member is right more often than the oracle
    would then be, it is that member alone: no member is more accurate than the oracle.
    """
    if not constant.any():
        return ~constant
    alone = np.where(constant, right.mean(axis=0), -1.0)
    best = int(alone.argmax())
    if constant.all() or alone[best] > right[:, ~constant].any(axis=1).mean():
        return np.arange(len(constant)) == best
    return ~constant


def staged_oracle(right: BoolArray, constant: BoolArray, weight: FloatArray) -> FloatArray:
    """Return the accuracies (K,) of an oracle over the first 1, ..., K members.

    ``right`` (n, K) says where each member is right, ``constant`` (K,) which of all are constant.
    """
    together = weight @ np.logical_or.accumulate(right & ~constant, axis=1)
    alone = np.where(constant, weight @ right, 0.0)
    return np.maximum(together, np.maximum.accumulate(alone)) / weight.sum()
