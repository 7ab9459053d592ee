"""Losses with and without what depends on the row, on NumPy arrays."""

from __future__ import annotations

import math

import numpy as np

from covey._core.arrays import FloatArray

# A probability of 0 counts as this, as in scikit-learn's log-loss.
_LEAST = float(np.finfo(np.float64).eps)


def cross_entropy(truth: FloatArray, fused: FloatArray, weight: FloatArray) -> float:
    """The weighted mean of ``-sum_c truth_c log(fused_c)``, of probabilities (n, C).

    Where ``truth`` are ones and zeros this is the log-loss.
    """
    each = -np.sum(truth * np.log(np.maximum(fused, _LEAST)), axis=1)
    return float(np.average(each, weights=weight))


def squared_error(truth: FloatArray, fused: FloatArray, weight: FloatArray) -> float:
    """The weighted mean of squared errors, of numbers (n,)."""
    return float(np.average((truth - fused) ** 2, weights=weight))


def share_lost(loss: float, without: float, without_all: float) -> float:
    """Which share of a fall of the loss, from ``without_all`` to ``loss``, is lost at ``without``.

    NaN where the loss does not fall.
    """
    fall = without_all - loss
    # A fall that rounding can explain is none.
    if not fall > 1e-12 * max(1.0, abs(loss)):
        return math.nan
    return (without - loss) / fall
