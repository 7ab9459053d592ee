"""Confidence intervals: of a proportion, of a mean over rows or groups, and of R2.

A proportion always gets the exact interval of Clopper and Pearson. So numbers that are shown
beside each other, and the bounds with a guarantee, are computed in one way.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

CONFIDENCE = 0.95
_N_BOOTSTRAP = 1_000
# A bootstrap draws at most this many units.
_MOST_DRAWN = 5_000


class Interval(NamedTuple):
    """An estimate and the limits of its confidence interval."""

    value: float
    low: float
    high: float


def proportion_interval(
    n_successes: int,
    n_trials: int,
    confidence: float = CONFIDENCE,
    alternative: Literal["two-sided", "less", "greater"] = "two-sided",
) -> Interval:
    """Return a proportion with Clopper and Pearson's exact interval.

    It covers the true proportion with a chance of at least ``confidence``. "less" gives an upper
    limit only (the low one is 0), "greater" a lower one.

    Examples
    --------
    >>> low, high = proportion_interval(81, 263)[1:]
    >>> round(low, 4), round(high, 4)
    (0.2527, 0.3676)
    """
    from scipy.stats import binomtest

    test = binomtest(int(n_successes), int(n_trials), alternative=alternative)
    limits = test.proportion_ci(confidence, method="exact")
    return Interval(float(test.statistic), float(limits.low), float(limits.high))


def accuracy_interval(
    correct: np.ndarray, groups: np.ndarray | None = None, confidence: float = CONFIDENCE
) -> Interval:
    """Return an accuracy with its interval, from ones for correct predictions, else zeros.

    Rows of one group are not independent of each other: the interval is then that of a mean over
    groups.
    """
    correct = np.asarray(correct, dtype=np.float64)
    if groups is None:
        return proportion_interval(round(correct.sum()), len(correct), confidence)
    accuracy = float(correct.mean())
    n_groups = len(np.unique(groups))
    if n_groups < 2:
        return Interval(accuracy, 0.0, 1.0)
    if accuracy in (0.0, 1.0):
        # Groups without differences have no variance from which to estimate the error.
        return proportion_interval(int(accuracy) * n_groups, n_groups, confidence)
    _, low, high = mean_interval(correct, groups, confidence)
    return Interval(accuracy, max(0.0, low), min(1.0, high))


def mean_interval(
    values: np.ndarray, groups: np.ndarray | None = None, confidence: float = CONFIDENCE
) -> Interval:
    """Return a mean with its interval by Student's t.

    With groups of rows it is the ratio estimator of a mean over clusters.
    """
    mean = float(np.mean(values))
    excess = np.asarray(values) - mean
    if groups is not None:
        excess = np.bincount(np.unique(groups, return_inverse=True)[1], excess)
    squares = float(np.sum(excess**2))
    return mean_interval_from_sums(mean, squares, len(excess), len(values), confidence)


def average_precision_interval(
    is_class: np.ndarray, scores: np.ndarray, groups: np.ndarray | None = None
) -> Interval:
    """Return a ranking's average precision, with a 95 % interval by a bootstrap over units."""
    order = np.argsort(-scores, kind="stable")
    truth = np.asarray(is_class, dtype=np.float64)[order]
    # Of rows with the same score, the last has the precision of all of them.
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)
    end_of = ends[np.searchsorted(ends, np.arange(len(order)))]
    units = np.arange(len(order)) if groups is None else np.unique(groups, return_inverse=True)[1]
    units = units[order] % _MOST_DRAWN
    n_units, rng = units.max() + 1, np.random.default_rng(0)

    def precision(weight: np.ndarray) -> float:
        found = weight * truth
        above = np.cumsum(found) / np.maximum(np.cumsum(weight), 1)
        return float(found @ above[end_of] / found.sum()) if found.any() else np.nan

    shares, tail = np.full(n_units, 1 / n_units), (1 - CONFIDENCE) / 2
    draws = [precision(rng.multinomial(n_units, shares)[units]) for _ in range(_N_BOOTSTRAP // 5)]
    low, high = np.nanquantile(draws, [tail, 1 - tail])
    return Interval(precision(np.ones(len(order))), float(low), float(high))


def mean_p_value(values: np.ndarray, groups: np.ndarray | None = None) -> float:
    """Return the chance of a mean at least this far from zero, by Student's t.

    See `mean_interval`.

    Examples
    --------
    >>> round(mean_p_value(np.array([1.0, 2.0, 3.0, 2.0])), 4)
    0.0163
    """
    from scipy.stats import t

    mean, _, high = mean_interval(values, groups)
    n_units = len(values) if groups is None else len(np.unique(groups))
    degrees = max(1, n_units - 1)
    error = (high - mean) / t.ppf((1 + CONFIDENCE) / 2, degrees)
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * t.sf(abs(mean) / error, degrees))


def holm(p_values: np.ndarray) -> np.ndarray:
    """Adjust p-values of several tests so that all together err as seldom as one (Holm 1979).

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    p_values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * p_values[order]))
    return adjusted


def mean_interval_from_sums(
    mean: float, squares: float, n_units: int, n_rows: int, confidence: float = CONFIDENCE
) -> Interval:
    """Return a mean with its interval, given only sums over the rows.

    ``squares`` is the sum, over units (rows, or groups of rows), of the squared deviations.
    """
    from scipy.stats import t

    degrees = max(1, n_units - 1)
    error = np.sqrt(n_units / degrees * squares) / n_rows
    half = float(t.ppf((1 + confidence) / 2, degrees) * error)
    return Interval(mean, mean - half, mean + half)


def r2_interval(
    y: np.ndarray,
    squared_errors: np.ndarray,
    groups: np.ndarray | None = None,
    weight: np.ndarray | None = None,
) -> Interval:
    """Return R2 with a 95 % interval by a bootstrap over rows, or over groups of rows.

    Rows count by ``weight``, with which the squared errors are multiplied already.
    """
    y, squared_errors = np.asarray(y, dtype=np.float64), np.asarray(squared_errors)
    units = np.arange(len(y)) if groups is None else np.unique(groups, return_inverse=True)[1]
    # A bootstrap over blocks of any units takes less time, with the same result.
    units = units % _MOST_DRAWN
    n_units = units.max() + 1
    # R2 needs the size and three sums of a unit, so that a draw is one product of matrices.
    weight = np.ones(len(y)) if weight is None else weight
    centered = y - np.average(y, weights=weight)
    parts = (weight, weight * centered, weight * centered**2, squared_errors)
    sums = np.stack([np.bincount(units, part) for part in parts])

    def r2(count: Any, first: Any, second: Any, errors: Any) -> Any:
        spread = second - first**2 / count
        return 1.0 - errors / np.where(spread > 0, spread, np.nan)

    draws = np.random.default_rng(0).multinomial(
        n_units, np.full(n_units, 1 / n_units), size=_N_BOOTSTRAP
    )
    tail = (1 - CONFIDENCE) / 2
    low, high = np.nanquantile(r2(*(draws @ sums.T).T), [tail, 1 - tail])
    return Interval(float(r2(*sums.sum(axis=1))), float(low), float(high))
