"""A mean over tables with its interval."""

import numpy as np
from scipy.stats import t


def mean_with_interval(values):
    """The mean and half of its 95 % interval (Student's t)."""
    values = np.asarray(values, dtype=float)
    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return values.mean(), half
