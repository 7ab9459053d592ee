"""Tests of which features members keep more often than chance would, on plain NumPy arrays.

Shapes: ``K`` members are grown on each of ``R`` resamples of ``n`` rows with ``D`` features. A
*shadow* is a column whose rows were shuffled, which only chance can keep in a subset.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse, stats

from covey._core.arrays import BoolArray, FloatArray, IntArray
from covey._core.random import Purpose, UniformRows

# More shadows than this add cost and no knowledge of chance.
_MOST_SHADOWS = 30
# The halves of a regression hold as many rows of each tenth of y.
_N_STRATA = 10


# -- resamples and shadows -----------------------------------------------------------------------


def columns_and_shadows(
    X: Any, seed: int, feature_of: IntArray, n_features: int
) -> tuple[Any, IntArray]:
    """Return features and their shadows as columns: (P + S, n) if dense, or a CSC (n, P + S).

    ``X`` of shape (n, P) is dense or sparse, and ``feature_of`` (P,) the feature that each of its
    columns is made of, of ``n_features``: a shadow has them all, with the same rows. The second
    array is the same for all columns; shadows are features beyond those of X.
    """
    n_rows = X.shape[0]
    rng = np.random.default_rng([seed, 1])
    copied = rng.choice(n_features, min(n_features, _MOST_SHADOWS), replace=False)
    own = [np.flatnonzero(feature_of == feature) for feature in copied]
    shadow_of = np.repeat(n_features + np.arange(len(copied)), [len(which) for which in own])
    every = np.concatenate([feature_of, shadow_of])
    if hasattr(X, "tocsr"):
        shuffled = [X.tocsc()[:, which][rng.permutation(n_rows)] for which in own]
        columns = sparse.hstack([X, *shuffled], format="csc")
        columns.sum_duplicates()
        return columns, every
    shuffled = [X[rng.permutation(n_rows)[:, None], which].T for which in own]
    return np.concatenate([X.T, np.ascontiguousarray(np.concatenate(shuffled))]), every


def first_columns(feature_of: IntArray, usable: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the features that have usable columns, and the position of each one's first."""
    places = np.flatnonzero(usable)
    features, first = np.unique(feature_of[places], return_index=True)
    return features, places[first]


def strata_of_values(y: FloatArray) -> IntArray:
    """Return the tenth of the sorted values that each value is in, (n,); equal ones share one."""
    cuts = np.quantile(y, np.arange(1, _N_STRATA) / _N_STRATA)
    return np.searchsorted(cuts, y, side="left").astype(np.intp)


def halves(strata: IntArray, weight: FloatArray, n_resamples: int, seed: int) -> FloatArray:
    """Return weights (R, n) of resamples: half of every stratum, in the next the other half."""
    weights = np.zeros((n_resamples, len(strata)))
    for run in range(n_resamples):
        draws = UniformRows(seed, Purpose.FOLD, run // 2, 0, 1).read(0, len(strata))[:, 0]
        for stratum in np.unique(strata):
            rows = np.flatnonzero((strata == stratum) & (weight > 0))
            rows = rows[np.argsort(draws[rows], kind="stable")]
            half = -(-len(rows) // 2)
            rows = rows[:half] if run % 2 == 0 else rows[len(rows) - half :]
            weights[run, rows] = weight[rows]
    return weights


# -- frequencies ---------------------------------------------------------------------------------


def frequency_intervals(by_resample: FloatArray) -> FloatArray:
    """Return 95 % intervals (D, 2) of the mean of frequencies (R, D), by Student's t."""
    n_resamples = len(by_resample)
    mean = by_resample.mean(axis=0)
    error = by_resample.std(axis=0, ddof=1) / np.sqrt(n_resamples)
    half = stats.t.ppf(0.975, n_resamples - 1) * error
    return np.clip(np.stack([mean - half, mean + half], axis=1), 0.0, 1.0)


def null_probabilities(frequency: FloatArray, shadows: FloatArray, grain: float) -> FloatArray:
    """Return how probable it is that chance keeps a feature as often, (D,); NaN below 2 shadows.

    The frequencies of the shadows (S,) show what chance does: that of one more shadow is a Student
    t about their mean, whose spread is assumed to be ``grain`` at least.
    """
    if len(shadows) < 2:
        return np.full(len(frequency), np.nan)
    spread = max(shadows.std(ddof=1), grain)
    distance = (frequency - shadows.mean()) / (spread * np.sqrt(1 + 1 / len(shadows)))
    return stats.t.sf(distance, len(shadows) - 1)


def number_rejected(probabilities: FloatArray, level: float) -> int:
    """Return how many hypotheses Benjamini and Hochberg's step-up procedure rejects."""
    n_tests = len(probabilities)
    limits = level * np.arange(1, n_tests + 1) / n_tests
    below = np.flatnonzero(np.sort(probabilities) <= limits)
    return int(below[-1]) + 1 if len(below) else 0


def threshold_below(falling: FloatArray, wanted: int) -> float:
    """Return a threshold that only the first ``wanted`` of falling values exceed, as eq. (13)."""
    if wanted == len(falling):
        return 0.0
    if wanted == 0:
        return float(falling[0])
    return float((falling[wanted - 1] + falling[wanted]) / 2)


def stability(by_resample: FloatArray, sizes: FloatArray, wanted: int) -> float:
    """Return how much resamples agree on the ``wanted`` features they keep most often.

    It is 1 if wholly, 0 as much as chance would (Nogueira, Sechidis and Brown, 2018); NaN if none
    or all are wanted. ``sizes`` (D,) of coefficients decide between equal frequencies.
    """
    n_resamples, n_features = by_resample.shape
    if not 0 < wanted < n_features:
        return float("nan")
    chosen = np.zeros_like(by_resample, dtype=bool)
    for resample, kept in enumerate(by_resample):
        chosen[resample, np.lexsort((-sizes, -kept))[:wanted]] = True
    share = wanted / n_features
    mean = chosen.mean(axis=0)
    variance = mean * (1 - mean) * n_resamples / (n_resamples - 1)
    return float(1 - variance.mean() / (share * (1 - share)))
