"""Bounds on the errors of a vote and of an oracle, and on the mean of a loss.

``R`` is the Gibbs risk, the error of one member drawn by the weights; ``T`` the tandem loss, the
chance that two members, drawn one after the other, both err.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from covey._core.arrays import BoolArray, FloatArray

# How near the inverses of the divergence come; they err on the safe side.
_PRECISION = 1e-14


# -- the oracle ----------------------------------------------------------------------------------


def oracle_bounds(low: FloatArray, high: FloatArray) -> tuple[float, float]:
    """Return Frechet's bounds on the chance that all members err, from bounds (K,) on errors.

    For errors that are known, ``low`` and ``high`` are the same array.
    """
    return max(0.0, 1.0 - float((1.0 - low).sum())), float(high.min())


# -- from samples to the population --------------------------------------------------------------


def binary_divergence(q: float, p: float) -> float:
    """Return kl(q || p), of a coin that falls with chance ``q`` from one with chance ``p``."""
    divergence = 0.0
    for one, other in ((q, p), (1.0 - q, 1.0 - p)):
        if one > 0.0:
            divergence += one * math.log(one / other) if other > 0.0 else math.inf
    return max(divergence, 0.0)


def highest_chance(q: float, budget: float) -> float:
    """Return the largest p from q to 1 with kl(q || p) <= budget, by bisection."""
    return _farthest(q, 1.0, budget)


def lowest_chance(q: float, budget: float) -> float:
    """Return the smallest p from 0 to q with kl(q || p) <= budget, by bisection."""
    return _farthest(q, 0.0, budget)


def _farthest(q: float, end: float, budget: float) -> float:
    if binary_divergence(q, end) <= budget:
        return end
    inside, outside = q, end
    while abs(outside - inside) > _PRECISION:
        middle = (inside + outside) / 2.0
        if binary_divergence(q, middle) <= budget:
            inside = middle
        else:
            outside = middle
    return outside


def weight_divergence(weights: FloatArray, prior: FloatArray) -> float:
    """Return KL(weights || prior) of distributions over members; infinite for a prior of zero."""
    return max(float(special.rel_entr(weights, prior).sum()), 0.0)


def pac_bayes_budget(n_samples: int, delta: float, divergence: float) -> float:
    """Return a limit of kl(sample || population) for all weights at once, with chance 1 - delta.

    (KL + ln(2 sqrt(n) / delta)) / n, after Seeger and Maurer. ``divergence`` is KL for one
    member that is drawn, 2 KL for two.
    """
    return (divergence + math.log(2.0 * math.sqrt(n_samples) / delta)) / n_samples


def chernoff_budget(n_samples: int, delta: float) -> float:
    """Return such a limit on one side, ln(1 / delta) / n, for weights set before the samples."""
    return math.log(1.0 / delta) / n_samples


# -- the vote ------------------------------------------------------------------------------------


def gibbs_and_tandem(wrong: BoolArray, weights: FloatArray) -> tuple[float, float]:
    """Return the Gibbs risk and the tandem loss on samples.

    ``wrong`` (n, K) is true where a member errs; ``weights`` (K,) is a distribution over members.
    """
    share = np.minimum(wrong @ weights, 1.0)
    return float(share.mean()), float((share * share).mean())


def c_bound(gibbs: float, disagreement: float) -> float:
    """Return ``1 - (1 - 2 R)^2 / (1 - 2 d)`` for two classes; 1 where R is one half or more."""
    margin = 1.0 - 2.0 * gibbs
    if margin <= 0.0:
        return 1.0
    # The second moment of the margin is at least its mean squared, whatever rounding does.
    second_moment = max(1.0 - 2.0 * disagreement, margin * margin)
    return 1.0 - margin * margin / second_moment


def largest_c_bound(lowest_gibbs: float, highest_gibbs: float, highest_tandem: float) -> float:
    """Return the largest C-bound that limits of the Gibbs risk and of the tandem loss allow.

    With d = 2 (R - T) the bound is ``1 - (1 - 2 R)^2 / (1 - 4 R + 4 T)``. It grows with T; in R it
    grows up to 2 T, and falls from there on.
    """
    gibbs = min(max(2.0 * highest_tandem, lowest_gibbs), highest_gibbs)
    # Two err together no more often than one does.
    tandem = min(highest_tandem, gibbs)
    return 1.0 if highest_gibbs >= 0.5 else c_bound(gibbs, 2.0 * (gibbs - tandem))


# -- the mean of a loss ---------------------------------------------------------------------------


def highest_mean(losses: FloatArray, largest: float, delta: float) -> float:
    """Return what the mean of losses from 0 to ``largest`` exceeds with chance ``delta`` at most.

    The empirical Bernstein bound of Maurer and Pontil (2009, theorem 4) for n independent draws:
    ``mean + sqrt(2 V ln(2 / delta) / n) + 7 largest ln(2 / delta) / (3 (n - 1))``, where V is
    their variance. It is narrow where losses are mostly alike.
    """
    n = len(losses)
    if n < 2:
        return largest
    log = math.log(2.0 / delta)
    spread = math.sqrt(2.0 * float(np.var(losses, ddof=1)) * log / n)
    return min(float(losses.mean()) + spread + 7.0 * largest * log / (3.0 * (n - 1)), largest)
