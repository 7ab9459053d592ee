"""Bounds on the mean of a loss, on plain numbers and NumPy arrays."""

from __future__ import annotations

import math

import numpy as np

from covey._core.arrays import FloatArray


def highest_mean(losses: FloatArray, largest: float, delta: float) -> float:
    """What the mean of losses from 0 to ``largest`` exceeds with chance ``delta`` at most.

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
