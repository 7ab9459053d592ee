"""How competent members are at a sample whose class is known: sources of potential functions.

``values`` (n, K, C) are the members' probabilities, ``codes`` (n,) the true classes, and what is
returned is (n, K). But for `reference_wins`, a member that guesses, with 1/C for every class, has
0, and one that is sure of the truth has 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import betainc, xlogy

from covey._core.arrays import FloatArray, IntArray

# Where the distributions of `reference_wins` are evaluated, and how many numbers are at once.
_POINTS = np.linspace(0.0, 1.0, 20)
_BLOCK = 1 << 20


def true_probability(values: FloatArray, codes: IntArray) -> FloatArray:
    """What members give to the true class, between 0 and 1."""
    true: FloatArray = np.clip(values[np.arange(len(codes)), :, codes], 0.0, 1.0)
    return true


def exponential(values: FloatArray, codes: IntArray) -> FloatArray:
    """``1 - 2^(1 - (C - 1) p / (1 - p))`` of the true class's p."""
    p = true_probability(values, codes)
    sure = p >= 1.0
    odds = (values.shape[2] - 1.0) * p / np.where(sure, 1.0, 1.0 - p)
    return np.where(sure, 1.0, 1.0 - 2.0 ** (1.0 - odds))


def logarithmic(values: FloatArray, codes: IntArray) -> FloatArray:
    """``2 p^(log 2 / log C) - 1`` of the true class's p."""
    power = np.log(2.0) / np.log(max(2, values.shape[2]))
    source: FloatArray = 2.0 * true_probability(values, codes) ** power - 1.0
    return source


def divergence(values: FloatArray, codes: IntArray) -> FloatArray:
    """The divergence from a guess, ``1 - H(p) / log C``, negative where the member is wrong."""
    p = np.clip(values, 0.0, 1.0)
    p = p / np.maximum(p.sum(axis=2, keepdims=True), np.finfo(np.float64).tiny)
    entropy = -xlogy(p, p).sum(axis=2) / np.log(max(2, values.shape[2]))
    right = values.argmax(axis=2) == codes[:, None]
    source: FloatArray = np.where(right, 1.0, -1.0) * np.maximum(1.0 - entropy, 0.0)
    return source


def least_difference(values: FloatArray, codes: IntArray) -> FloatArray:
    """The true class's p less the largest of the others'."""
    others = values.copy()
    others[np.arange(len(codes)), :, codes] = -np.inf
    highest = others.max(axis=2)
    p = values[np.arange(len(codes)), :, codes]
    return p - np.where(np.isfinite(highest), highest, 0.0)


def reference_wins(values: FloatArray, codes: IntArray) -> FloatArray:
    """The probability that a randomized reference classifier is right.

    It gives class j a random number of the distribution ``beta(C p_j, C (1 - p_j))``, whose mean
    is p_j, and decides for the largest: the integral, by 19 trapezoids, of the true class's
    density times the others' distribution functions. One that guesses has 1/C.
    """
    n_samples, n_members, n_classes = values.shape
    rows = max(1, _BLOCK // (n_members * n_classes * len(_POINTS)))
    distribution = _distribution(n_classes, values.size)
    wins = np.empty((n_samples, n_members))
    for start in range(0, n_samples, rows):
        block = slice(start, start + rows)
        below = distribution(np.clip(values[block], 0.0, 1.0))
        middle = (below[..., 1:] + below[..., :-1]) / 2.0
        at = np.arange(len(below)), slice(None), codes[block]
        steps = np.diff(below[at], axis=-1)
        middle[at] = 1.0
        wins[block] = (steps * middle.prod(axis=2)).sum(axis=-1)
    return wins


def _distribution(n_classes: int, count: int) -> Callable[[FloatArray], FloatArray]:
    """The distribution functions of numbers around p, at the points: p (...) to (..., 20).

    They are smooth in p. For more p than a table of them has, a spline through the table takes a
    tenth of the time, and is within 1e-9 of them for up to 1,000 classes.
    """

    def exact(p: FloatArray) -> FloatArray:
        a = (n_classes * p)[..., None]
        below: FloatArray = betainc(
            np.maximum(a, 1e-20), np.maximum(n_classes - a, 1e-20), _POINTS
        )
        return below

    n_tabled = 4096 if n_classes <= 100 else 16384
    if count <= n_tabled:
        return exact
    grid = np.linspace(0.0, 1.0, n_tabled + 1)
    spline: Callable[[FloatArray], FloatArray] = CubicSpline(grid, exact(grid))
    return spline
