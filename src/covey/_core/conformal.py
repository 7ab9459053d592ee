"""Conformal prediction: how far predictions of rows held out are off bounds those of new rows."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

from covey._core.arrays import FloatArray

# Sums of weights that are this much below a bound reach it.
_ROUNDING = 1e-9


def effective_weights(weight: FloatArray) -> FloatArray:
    """Weights that sum to how many rows of equal weight say as much (Kish's number).

    All of them are above zero, however small they are beside others.
    """
    shares = weight / weight.sum()
    found: FloatArray = np.maximum(shares / np.square(shares).sum(), np.finfo(np.float64).tiny)
    return found


def upper_bound(scores: FloatArray, weight: FloatArray, level: float) -> float:
    r"""The score that a new row exceeds with a chance of at most ``1 - level``.

    It is the :math:`\lceil (n + 1) \, level \rceil`-th smallest of n scores, and infinite if there
    are fewer. If the new row and these can be exchanged, its score is equally likely at every
    rank among the n + 1, so that the chance holds exactly. Weights sum to n.
    """
    order = np.argsort(scores, kind="stable")
    below = np.cumsum(weight[order])
    wanted = level * (weight.sum() + 1.0)
    position = int(np.searchsorted(below, wanted - _ROUNDING * max(1.0, wanted)))
    return float(scores[order[position]]) if position < len(scores) else np.inf


def least_accuracy(n_right: float, n_rows: float, chance: float) -> float:
    """What an accuracy is above but for this chance, by Clopper and Pearson's exact limit."""
    if n_right <= 0:
        return 0.0
    return float(betaincinv(n_right, n_rows - n_right + 1.0, chance))
