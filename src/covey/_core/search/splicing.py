"""Splicing: a member's features and its boundary are chosen together, by gradient.

Along a path of subsets (`covey._core.gating.paths`) features only leave, the weakest first, and
what has left does not come back. Where few are left, a third of them, the weakest ones, is
therefore exchanged for those that the likelihood wants most. Members and gates are fitted again
from there, and an exchange that does not lower the objective is undone. Algorithm 1 flips features
by coin while it climbs; this is its joint choice of subset and boundary, by gradient.

What a feature would gain is the sum of the squared slopes of the likelihood by its coefficients,
over its columns and the classes: at zero the penalty has no slope of its own.
"""

from __future__ import annotations

import numpy as np

from covey._core.arrays import BoolArray, FloatArray, IntArray
from covey._core.gating.paths import FeatureColumns, graded

#: Members of more features on average gain nothing by an exchange.
MOST_UNITS = 10
#: A third of the pairs of member and feature leave, a sixth, or a single one: where an exchange of
#: many does not lower the objective, one of fewer is tried.
ONE_OF = np.array([3, 6, 1 << 30])
#: The objective has to fall by more than this share.
LEAST_GAIN = 1e-3
#: Exchanges that are tried on folds, and on all rows, where only what is selected is fitted.
TRIES_ON_FOLDS, TRIES = 1, 8


def exchanged(
    columns: FeatureColumns,
    kept: BoolArray,
    squares: FloatArray,
    slopes: FloatArray,
    n_units: int,
    most_features: int,
    one_of: IntArray,
) -> BoolArray:
    """Return the units (R, K, U) that members keep after one in ``one_of`` (R,) is exchanged.

    ``kept`` (R, K, U) are those that they have; ``squares`` and ``slopes`` (R, K, P) are the
    squares of their coefficients and of the likelihood's slopes by these. The limits are those of
    `FeatureColumns.strongest`.
    """
    strength = graded(columns.strength(squares))
    by_strength = np.argsort(
        np.where(kept, strength, np.inf).reshape(len(kept), -1), kind="stable"
    )
    rank = np.argsort(by_strength, axis=1).reshape(kept.shape)
    n_leaving = np.maximum(1, n_units * kept.shape[1] // one_of)
    stays = kept & (rank >= n_leaving[:, None, None])
    # A product is of no use to a member without its other feature.
    wanted = columns.strength(slopes * columns.within_reach(kept))
    wanted[kept] = 0.0
    # What stays is stronger than all that is wanted, what leaves is weaker.
    least = 2.0 * wanted.max(axis=(1, 2), keepdims=True) + 1.0
    return columns.strongest(np.where(stays, least + strength, wanted), n_units, most_features)
