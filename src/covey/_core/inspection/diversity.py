"""Measures of how members differ, on plain NumPy arrays.

Shapes: ``n`` samples, ``K`` members, ``C`` classes. First come sums over samples, which add up
over blocks of rows; then the measures, each a formula of such sums.

Sums over pairs of members are matrix products. Each factor carries the root of the weight, so
that the product of a matrix with itself is symmetric to the last bit, and a sum of nothing is
exactly zero.
"""

from __future__ import annotations

import numpy as np

from covey._core.arrays import BoolArray, FloatArray, IntArray

# Smaller probabilities count as this one in divergences: a veto costs 28 nats, not infinity.
LOWEST_PROBABILITY = 1e-12

# Smaller differences than this count as none; rounding decides nothing.
_TOLERANCE = 1e-12


# -- sums over samples ---------------------------------------------------------------------------


def correctness_pairs(right: BoolArray, weight: FloatArray) -> FloatArray:
    """Return the 2x2 tables of all pairs of members, (3, K, K), from where each is right (n, K).

    They hold the weight of the samples on which both are right, only the first, and neither.
    (Only the second: the transpose of the middle one.)
    """
    root = np.sqrt(weight)
    hits = np.where(right.T, root, 0.0)
    faults = np.where(right.T, 0.0, root)
    return np.stack([hits @ hits.T, hits @ faults.T, faults @ faults.T])


def failure_weights(right: BoolArray, weight: FloatArray) -> FloatArray:
    """Return the weight of the samples on which 0, 1, ..., K members fail, as (K + 1,)."""
    n_members = right.shape[1]
    n_failures = n_members - right.sum(axis=1)
    return np.bincount(n_failures, weight, minlength=n_members + 1).astype(np.float64)


def same_label_weights(labels: IntArray, weight: FloatArray, n_classes: int) -> FloatArray:
    """Return the weight of the samples to which two members give the same label, as (K, K)."""
    root = np.sqrt(weight)
    columns = np.ascontiguousarray(labels.T)
    same = np.zeros((len(columns), len(columns)))
    for label in np.flatnonzero(np.bincount(columns.ravel(), minlength=n_classes)):
        given = np.where(columns == label, root, 0.0)
        same += given @ given.T
    return same


def label_weights(labels: IntArray, weight: FloatArray, n_classes: int) -> FloatArray:
    """Return the weight of the samples to which each member gives each label, as (K, C)."""
    n_members = labels.shape[1]
    bins = (labels + n_classes * np.arange(n_members)).ravel()
    mass = np.bincount(bins, np.repeat(weight, n_members), minlength=n_members * n_classes)
    return mass.astype(np.float64).reshape(n_members, n_classes)


def posterior_products(
    probabilities: FloatArray, weight: FloatArray, center: float = 0.0
) -> FloatArray:
    """Return ``sum_n w_n sum_c (p_jc - center) (p_kc - center)``, as (K, K)."""
    rows = _member_rows((probabilities - center) * np.sqrt(weight)[:, None, None])
    return rows @ rows.T


def posterior_log_products(probabilities: FloatArray, weight: FloatArray) -> FloatArray:
    """Return ``sum_n w_n sum_c p_jc log p_kc``, as (K, K).

    Probabilities below `LOWEST_PROBABILITY` count as that.
    """
    floored = np.maximum(probabilities, LOWEST_PROBABILITY)
    logs = _member_rows(np.log(floored))
    return _member_rows(floored * weight[:, None, None]) @ logs.T


def _member_rows(values: FloatArray) -> FloatArray:
    """Return values (n, K, C) with each member's predictions in one row, as (K, n * C)."""
    return values.transpose(1, 0, 2).reshape(values.shape[1], -1)


# -- measures of pairs: (K, K) from the sums above -----------------------------------------------


def q_statistic(pairs: FloatArray) -> FloatArray:
    """Return Yule's Q, ``(ad - bc) / (ad + bc)``."""
    a, b, c, d = _tables(pairs)
    return _ratio_of_tables(a * d - b * c, a * d + b * c, pairs)


def correctness_correlation(pairs: FloatArray) -> FloatArray:
    """Return the correlation of being right: ``(ad - bc) / sqrt((a+b)(c+d)(a+c)(b+d))``."""
    a, b, c, d = _tables(pairs)
    # Roots first, since a product of four small numbers may vanish; and in pairs that swap with
    # the members, so that the matrix is symmetric.
    spread = (np.sqrt(a + b) * np.sqrt(a + c)) * (np.sqrt(c + d) * np.sqrt(b + d))
    return np.clip(_ratio_of_tables(a * d - b * c, spread, pairs), -1.0, 1.0)


def disagreement(pairs: FloatArray) -> FloatArray:
    """Return the share of samples on which just one of two is right."""
    _, b, c, _ = _tables(pairs)
    return b + c


def double_fault(pairs: FloatArray) -> FloatArray:
    """Return the share of samples on which both are wrong."""
    return _tables(pairs)[3]


def _tables(pairs: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the shares of both right, only the first, only the second, and neither."""
    total = pairs[0, 0, 0] + pairs[2, 0, 0]
    a, b, d = pairs / total
    return a, b, b.T, d


def _ratio_of_tables(above: FloatArray, below: FloatArray, pairs: FloatArray) -> FloatArray:
    """Return the ratio; for 0/0, 1 for two that always agree, -1 for two that never do."""
    both, first, neither = pairs
    agree = (first + first.T == 0).astype(np.float64)
    differ = (both + neither == 0).astype(np.float64)
    return np.divide(above, below, out=agree - differ, where=below > 0)


def label_kappa(same: FloatArray, labels: FloatArray) -> FloatArray:
    """Return Cohen's kappa of two members' labels, their agreement beyond chance.

    It is computed from `same_label_weights` (K, K) and `label_weights` (K, C).
    """
    share = labels / labels.sum(axis=1, keepdims=True)
    # Chance of a difference, not of agreement: what is nearly zero is then exact.
    by_chance = share @ (1.0 - share).T
    observed = np.maximum(1.0 - same / same.diagonal()[:, None], 0.0)
    ratio = np.divide(observed, by_chance, out=np.zeros_like(same), where=by_chance > _TOLERANCE)
    kappa: FloatArray = 1.0 - (ratio + ratio.T) / 2.0
    np.fill_diagonal(kappa, 1.0)
    return kappa


def symmetric_divergence(log_products: FloatArray) -> FloatArray:
    """Return half of KL(p_j || p_k) + KL(p_k || p_j), from mean `posterior_log_products`."""
    own = log_products.diagonal()
    divergence = (own[:, None] + own - log_products - log_products.T) / 2.0
    np.fill_diagonal(divergence, 0.0)
    return np.maximum(divergence, 0.0)


def posterior_correlation(centered: FloatArray) -> FloatArray:
    """Return the correlation of posteriors, from mean `posterior_products` about 1 / C.

    A member whose posteriors are all even has none; it counts as 0, or as 1 with another such
    member.
    """
    spread = np.sqrt(centered.diagonal())
    even = spread <= _TOLERANCE
    scale = np.where(even, 1.0, spread)
    correlation: FloatArray = np.clip(centered / np.outer(scale, scale), -1.0, 1.0)
    correlation[even] = 0.0
    correlation[:, even] = 0.0
    correlation[np.ix_(even, even)] = 1.0
    np.fill_diagonal(correlation, 1.0)
    return correlation


# -- measures of the whole: one number from the shares of samples on which 0, ..., K fail --------


def interrater_kappa(failures: FloatArray) -> float:
    """Return Kuncheva and Whitaker's kappa of being right; 1 if all are right, or all wrong."""
    n_members, fails = _n_members(failures)
    wrong = float(failures @ fails) / n_members
    right = float(failures @ (n_members - fails)) / n_members
    if wrong * right <= _TOLERANCE:
        return 1.0
    mixed = float(failures @ (fails * (n_members - fails)))
    return 1.0 - mixed / (n_members * (n_members - 1) * wrong * right)


def entropy(failures: FloatArray) -> float:
    """Return the entropy measure E: 1 where every sample splits the members in halves."""
    n_members, fails = _n_members(failures)
    minority = np.minimum(fails, n_members - fails)
    return float(failures @ minority) / (n_members // 2)


def kohavi_wolpert_variance(failures: FloatArray) -> float:
    """Return the variance of being right over members, averaged over samples."""
    n_members, fails = _n_members(failures)
    return float(failures @ (fails * (n_members - fails))) / n_members**2


def generalized_diversity(failures: FloatArray) -> float:
    """Return ``1 - p(2) / p(1)``, how often a second member makes up for the first one's failure.

    ``p(1)`` is the chance that a member drawn at random fails, ``p(2)`` that two do. It is 0
    if no member ever fails.
    """
    n_members, fails = _n_members(failures)
    one = float(failures @ fails) / n_members
    two = float(failures @ (fails * (fails - 1))) / (n_members * (n_members - 1))
    return 1.0 - two / one if one > 0 else 0.0


def coincident_failure_diversity(failures: FloatArray) -> float:
    """Return 1 where members fail one at a time, 0 where all fail together or none ever does."""
    n_members, fails = _n_members(failures)
    any_fails = float(failures[1:].sum())
    if any_fails <= 0:
        return 0.0
    others_right = float(failures[1:] @ (n_members - fails[1:])) / (n_members - 1)
    return others_right / any_fails


def _n_members(failures: FloatArray) -> tuple[int, FloatArray]:
    """Return how many members there are, and 0, 1, ..., K."""
    return len(failures) - 1, np.arange(len(failures), dtype=np.float64)
