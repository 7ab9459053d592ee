"""Alarms and thresholds: how well probabilities find one class.

All functions take the labels ``y`` (n,), the ``probabilities`` (n,) of one class, and the
``label`` of this class. An *alarm* is a row that is called this class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from covey._decisions import Alarms, Decision
from covey._intervals import (
    Interval,
    accuracy_interval,
    mean_interval,
    mean_interval_from_sums,
    proportion_interval,
)

# A curve has thresholds at even steps, and at quantiles of the probabilities.
_STEPS, _QUANTILES = 50, 100


@dataclass(frozen=True, eq=False)
class ThresholdCurve:
    """Counts of alarms at rising thresholds.

    Attributes
    ----------
    thresholds, found, alarms, right : ndarray of shape (n_thresholds,)
        The rows of the class that are called, all rows that are called, and the share of these
        that is of the class (NaN if there are none).
    n_class, n_rows : int
    """

    thresholds: np.ndarray
    found: np.ndarray
    alarms: np.ndarray
    right: np.ndarray
    n_class: int
    n_rows: int


def placements(of_class: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return how often rows of the class are above others, and others below rows of the class.

    The mean of either side is the area under the curve.
    """
    from scipy.stats import rankdata

    ranks, found = rankdata(scores), np.empty(len(scores))
    for side in (of_class, ~of_class):
        above = (ranks[side] - rankdata(scores[side])) / max((~side).sum(), 1)
        found[side] = above if side is of_class else 1.0 - above
    return found


def at_threshold(
    y: ArrayLike,
    probabilities: ArrayLike,
    label: Any,
    threshold: float,
    groups: np.ndarray | None = None,
    weight: np.ndarray | None = None,
) -> Alarms:
    """Count the rows whose probability is at least a threshold.

    Examples
    --------
    >>> import numpy as np
    >>> found = at_threshold(np.array([0, 1, 0, 1]), [0.1, 0.3, 0.6, 0.7], 1, 0.5)
    >>> found.n_alarms, found.n_found, found.n_class
    (2.0, 1.0, 2.0)
    """
    of_class, p = _of_class(y, probabilities, label)
    called, count = p >= threshold, np.ones(len(p)) if weight is None else weight
    n_alarms, n_found = float(called @ count), float((called & of_class) @ count)
    n_class = float(of_class @ count)
    found = _share(n_found, n_class, called, of_class, groups)
    right = _share(n_found, n_alarms, of_class, called, groups)
    return Alarms(float(threshold), n_alarms, n_found, n_class, float(count.sum()), found, right)


def threshold_finding(
    y: ArrayLike,
    probabilities: ArrayLike,
    label: Any,
    share: float,
    weight: np.ndarray | None = None,
) -> float:
    """Return the highest threshold that finds at least a share of the rows of a class.

    It lies half way between the probability of the last row that is called and the next lower one,
    so that rounding does not lose a row.

    Examples
    --------
    >>> import numpy as np
    >>> y, chance = np.array([0, 1, 1, 1, 1, 1]), [0.9, 0.1, 0.2, 0.3, 0.4, 0.5]
    >>> round(threshold_finding(y, chance, 1, 0.8), 9)
    0.15
    """
    of_class, p = _of_class(y, probabilities, label)
    order = np.flatnonzero(of_class)[np.argsort(-p[of_class], kind="stable")]
    found = np.cumsum(np.ones(len(order)) if weight is None else weight[order])
    # A sum of weights that is this close to the wanted one reaches it.
    position = np.searchsorted(found, share * found[-1] * (1 - 1e-9))
    last = p[order[position]]
    return float((last + p[p < last].max(initial=0.0)) / 2)


def threshold_curve(
    y: ArrayLike, probabilities: ArrayLike, label: Any, thresholds: ArrayLike | None = None
) -> ThresholdCurve:
    """Count alarms at many thresholds, by default at some 150 of them from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> curve = threshold_curve(np.array([0, 1, 0, 1]), [0.1, 0.3, 0.6, 0.7], 1, [0, 0.5, 0.9])
    >>> curve.found.tolist(), curve.alarms.tolist(), curve.right.tolist()
    ([2, 1, 0], [4, 2, 0], [0.5, 0.5, nan])
    """
    of_class, p = _of_class(y, probabilities, label)
    if thresholds is None:
        even = np.linspace(0.0, 1.0, _STEPS + 1)
        wanted = np.append(even, np.quantile(p, np.linspace(0.0, 1.0, _QUANTILES + 1)))
        thresholds = np.unique(np.round(np.clip(wanted, 0.0, 1.0), 4))
    at = np.asarray(thresholds, dtype=np.float64)
    found, alarms = (len(some) - np.searchsorted(np.sort(some), at) for some in (p[of_class], p))
    right = np.where(alarms > 0, found / np.maximum(alarms, 1), np.nan)
    return ThresholdCurve(at, found, alarms, right, int(of_class.sum()), len(p))


def measured(
    decision: Decision,
    codes: np.ndarray | None = None,
    probabilities: np.ndarray | None = None,
    weight: np.ndarray | None = None,
    source: str | None = None,
    groups: np.ndarray | None = None,
) -> Decision:
    """Count the results of a decision on rows held out, and find the threshold asked for.

    ``codes`` (n,) are the positions of the true classes in ``probabilities`` (n, n_classes).
    """
    if codes is None or probabilities is None:
        if decision.kind == "find":
            raise ValueError(
                "find needs predictions of rows held out, and this model has none; give decide "
                "rows that it was not fitted on as X and y, or fit with effort='balanced'."
            )
        return decision
    alarms = cost = cost_without = None
    if decision.code is not None:
        given = codes, probabilities[:, decision.code], decision.code
        threshold = decision.threshold
        if threshold is None:
            if not (codes == decision.code).any():
                raise ValueError(f"find: no row held out is of the class {decision.label!r}.")
            threshold = threshold_finding(*given, decision.asked, weight)
        decision = replace(decision, threshold=threshold)
        alarms = at_threshold(*given, threshold, groups, weight)
    if decision.kind == "costs":
        costs = np.asarray(decision.asked)
        chosen = decision.codes(probabilities), probabilities.argmax(axis=1)
        cost, cost_without = (_mean_cost(costs[codes, one], weight, groups) for one in chosen)
    return replace(decision, alarms=alarms, cost=cost, cost_without=cost_without, source=source)


def _mean_cost(
    costs: np.ndarray, weight: np.ndarray | None, groups: np.ndarray | None
) -> Interval:
    if weight is None:
        return mean_interval(costs, groups)
    mean = float(np.average(costs, weights=weight))
    squares = float(weight @ (costs - mean) ** 2)
    n_rows = max(2, round(float(weight.sum())))
    return mean_interval_from_sums(mean, squares, n_rows, n_rows)


def _of_class(y: ArrayLike, probabilities: ArrayLike, label: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(y) == label, np.asarray(probabilities, dtype=np.float64)


def _share(
    part: float, whole: float, hits: np.ndarray, rows: np.ndarray, groups: np.ndarray | None
) -> Interval | None:
    """Return a share of rows with its interval, by rows or by groups; None without rows."""
    if round(whole) < 1:
        return None
    if groups is None:
        _, low, high = proportion_interval(min(round(part), round(whole)), round(whole))
    else:
        _, low, high = accuracy_interval(hits[rows], groups[rows])
    return Interval(part / whole, low, high)
