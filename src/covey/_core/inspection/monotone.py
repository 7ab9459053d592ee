"""How far gated linear members may fall along one feature, piece by piece.

Between the knots of its ramps a member is linear in a feature, and its slope there is a sum of
coefficients. A product with another feature adds what depends on the other; values are multiplied
as if they were within the range of training rows, so that the least slope is at one of its ends.
A square adds a slope that is linear in the feature itself, and least at an end of the piece.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey._core.arrays import BoolArray, FloatArray
from covey._core.basis import Basis
from covey._core.gating.gate import Groups, softmax_first


def involved(basis: Basis, feature: int) -> BoolArray:
    """Return which columns (P,) are made of a feature."""
    return (basis.feature == feature) | (basis.partner == feature)


def ends_of_pieces(basis: Basis, feature: int) -> FloatArray:
    """Return the values (Q + 1,) of a feature between which members are linear or quadratic."""
    own = basis.feature == feature
    ends = [basis.low[own], basis.high[own]]
    if basis.seen is not None and basis.reach is not None:
        ends += [basis.seen[:, feature], basis.reach[:, feature]]
    else:
        ends.append(np.array([-np.inf, np.inf]))
    known = np.unique(np.concatenate(ends))
    return known[~np.isnan(known)]


def least_slopes(basis: Basis, coef: FloatArray, feature: int) -> tuple[FloatArray, FloatArray]:
    """Return the ends of pieces, and the least slope (K, Q) of members (K, P) in each of them.

    It is the least for any values of the other features. Beyond the ends nothing changes.
    """
    ends = ends_of_pieces(basis, feature)
    left, right = ends[:-1], ends[1:]
    least = np.repeat(coef[:, feature, None], len(left), axis=1)
    inside = np.ones(len(left), dtype=bool)
    if basis.reach is not None and basis.seen is not None:
        low, high = basis.reach[:, feature]
        least[:, (left < low) | (right > high)] = 0.0
        inside = (left >= basis.seen[0, feature]) & (right <= basis.seen[1, feature])
    for column in np.flatnonzero(involved(basis, feature) & coef.any(axis=0)):
        of_members, one, other = coef[:, column], basis.feature[column], basis.partner[column]
        if other == one:
            used = of_members[:, None] != 0
            steepest = np.where(used, 2.0 * (ends - basis.center[feature]), 0.0)
            at_ends = of_members[:, None] * steepest
            least += np.where(inside, np.minimum(at_ends[:, :-1], at_ends[:, 1:]), 0.0)
        elif other >= 0:
            partner = int(other if one == feature else one)
            seen = np.array([-np.inf, np.inf]) if basis.seen is None else basis.seen[:, partner]
            factor = np.where(of_members[:, None] == 0, 0.0, seen - basis.center[partner])
            lowest = (of_members[:, None] * factor).min(axis=1)
            least += np.where(inside, lowest[:, None], 0.0)
        elif not np.isnan(basis.low[column]):
            on_it = (left >= basis.low[column]) & (right <= basis.high[column])
            rise = of_members / (basis.high[column] - basis.low[column])
            least += np.where(on_it, rise[:, None], 0.0)
    return ends, least


def largest_fall(ends: FloatArray, slopes: FloatArray) -> tuple[float, float, float]:
    """Return the largest fall along pieces with these slopes (Q,), and where it begins and ends.

    That is the largest sum of neighbours (Kadane's algorithm); without a fall the ends are NaN.
    """
    most, begin, end = 0.0, np.nan, np.nan
    running, start = 0.0, float(ends[0])
    for place, slope in enumerate(slopes):
        length = ends[place + 1] - ends[place]
        running += -slope * length if slope else 0.0
        if not running > 0:
            running, start = 0.0, float(ends[place + 1])
        elif running > most:
            most, begin, end = running, start, float(ends[place + 1])
    return float(most), begin, end


def parts_of(
    groups: Groups, coef: FloatArray, *, numbers: bool
) -> list[tuple[float, FloatArray, FloatArray]]:
    """Return the weight of each group, its members' coefficients (K, P) and its gate's, (K, P).

    ``coef`` (K, P) are those of one logit, or of the number. Members whose linear functions are
    averaged by a gate that sees nothing are one member, and so are groups of numbers of that kind.
    """
    found: list[tuple[float, FloatArray, FloatArray]] = []
    ends = np.cumsum(groups.sizes)
    for weight, size, end, pool in zip(
        groups.weights, groups.sizes, ends, groups.pools, strict=True
    ):
        own, gate = coef[end - size : end], groups.coef[end - size : end]
        # A softmax depends on differences between members only.
        gate = gate - gate[:1]
        if not gate.any() and (numbers or pool == "log"):
            shares = softmax_first(groups.intercept[end - size : end].copy())
            own, gate = (shares @ own)[None], gate[:1]
        found.append((float(weight), own, gate))
    if numbers and all(len(own) == 1 for _, own, _ in found):
        own = np.sum([weight * own for weight, own, _ in found], axis=0)
        return [(1.0, own, np.zeros_like(own))]
    return found


def bound_of_fall(
    basis: Basis,
    parts: Sequence[tuple[float, FloatArray, FloatArray]],
    feature: int,
    *,
    numbers: bool,
) -> tuple[float, float, float]:
    """Return how far a decision can fall along a feature at most, and where, as `largest_fall`.

    It is infinite if a gate sees the feature, for which pieces say nothing. Of classes it is a
    bound on how far the probability can fall: that of a logit by d lowers it by tanh(d / 4) at
    most.
    """
    own = involved(basis, feature)
    if any(gate[:, own].any() for _, _, gate in parts):
        return np.inf, np.nan, np.nan
    slopes, ends = [], np.zeros(0)
    for _, coef, _ in parts:
        ends, least = least_slopes(basis, coef, feature)
        slopes.append(least.min(axis=0))
    weights = np.array([weight for weight, _, _ in parts])
    if numbers:
        return largest_fall(ends, weights @ np.array(slopes))
    falls = [largest_fall(ends, least) for least in slopes]
    total = sum(
        weight * float(np.tanh(fall / 4))
        for weight, (fall, _, _) in zip(weights, falls, strict=True)
    )
    _, begin, end = max(falls, key=lambda fall: fall[0])
    return float(total), begin, end
