"""A proof that gated linear members never fall along one feature, piece by piece.

Between the knots of its ramps a member is linear in a feature, and its slope there is a sum of
coefficients. A product with another feature adds what depends on the other; values are multiplied
as if they were within the range of training rows, so that the least slope is at one of its ends.
A square adds a slope that is linear in the feature itself, and least at an end of the piece.
"""

from __future__ import annotations

import numpy as np

from covey._core.arrays import BoolArray, FloatArray
from covey._core.basis import Basis
from covey._core.gating.gate import Groups, softmax_first


def involved(basis: Basis, feature: int) -> BoolArray:
    """Return which columns (P,) are made of a feature."""
    return (basis.feature == feature) | (basis.partner == feature)


def least_slopes(basis: Basis, coef: FloatArray, feature: int) -> tuple[FloatArray, FloatArray]:
    """Return the ends (Q + 1,) of pieces, and the least slope (K, Q) of members (K, P) in each.

    It is the least for any values of the other features. Beyond the ends nothing changes.
    """
    everywhere = np.repeat([[-np.inf], [np.inf]], basis.n_features, axis=1)
    seen = everywhere if basis.seen is None else basis.seen
    reach = everywhere if basis.reach is None else basis.reach
    own = basis.feature == feature
    knots = [basis.low[own], basis.high[own], seen[:, feature], reach[:, feature]]
    ends = np.unique(np.concatenate(knots))
    ends = ends[~np.isnan(ends)]
    left, right = ends[:-1], ends[1:]
    least = np.repeat(coef[:, feature, None], len(left), axis=1)
    multiplied = (left >= seen[0, feature]) & (right <= seen[1, feature])
    for column in np.flatnonzero(involved(basis, feature) & coef.any(axis=0)):
        of_members, partner = coef[:, column, None], basis.partner[column]
        if partner < 0:
            # The feature itself is on no ramp.
            where = (left >= basis.low[column]) & (right <= basis.high[column])
            rise = of_members / (basis.high[column] - basis.low[column])
        else:
            where, other = multiplied, int(partner + basis.feature[column] - feature)
            at = ends if other == feature else seen[:, other]
            slopes = of_members * np.where(of_members, at - basis.center[other], 0.0)
            rise = slopes.min(axis=1, keepdims=True)
            if other == feature:
                rise = 2.0 * np.minimum(slopes[:, :-1], slopes[:, 1:])
        least += np.where(where, rise, 0.0)
    # Values beyond reach count as if they were there.
    least[:, (left < reach[0, feature]) | (right > reach[1, feature])] = 0.0
    return ends, least


def never_falls(groups: Groups, coef: FloatArray, feature: int, *, numbers: bool) -> bool | None:
    """Return whether it is proved that a decision never falls along a feature.

    ``coef`` (K, P) are of the members' numbers, or of their log-odds. None: a gate sees the
    feature, so that pieces of members say nothing.
    """
    own, least = involved(groups.basis, feature), []
    for size, end, pool in zip(groups.sizes, np.cumsum(groups.sizes), groups.pools, strict=True):
        members, place = coef[end - size : end], slice(end - size, end)
        # A softmax depends on differences between members only.
        gate = groups.coef[place] - groups.coef[end - 1]
        if gate[:, own].any():
            return None
        if not gate.any() and (numbers or pool == "log"):
            # A fixed mean of linear functions is one of them.
            members = softmax_first(groups.intercept[place].copy())[None] @ members
        least.append(least_slopes(groups.basis, members, feature)[1].min(axis=0))
    slopes = groups.weights @ np.array(least) if numbers else np.array(least)
    return bool((slopes >= 0).all())
