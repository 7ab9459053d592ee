"""Losses of fused members: the members' mean, less what they gain by differing."""

from __future__ import annotations

import numpy as np

from covey._core.arrays import FloatArray, IntArray

# A probability of 0 counts as this, as in scikit-learn's log-loss.
_LEAST = float(np.finfo(np.float64).eps)


def possible_probabilities(values: FloatArray) -> FloatArray:
    """Probabilities (n, K, C) that rule nothing out; they sum to one."""
    values = np.maximum(values, _LEAST)
    found: FloatArray = values / values.sum(axis=2, keepdims=True)
    return found


def log_losses(values: FloatArray, codes: IntArray) -> FloatArray:
    """The log-losses (n, ...) of probabilities (n, ..., C)."""
    rows = np.arange(len(codes))
    return -np.log(np.maximum(values[rows, ..., codes], _LEAST))


def log_pooled(values: FloatArray, importance: FloatArray) -> FloatArray:
    """Eq. (10), ``prod_k p_k ** i_k / Z``, of probabilities (n, K, C) and importances (n, K)."""
    logs = np.einsum("nkc,nk->nc", np.log(values), importance)
    logs -= logs.max(axis=1, keepdims=True)
    pooled: FloatArray = np.exp(logs)
    pooled /= pooled.sum(axis=1, keepdims=True)
    return pooled


def linear_pooled(values: FloatArray, importance: FloatArray) -> FloatArray:
    """The mixture ``sum_k i_k p_k`` of probabilities (n, K, C) and importances (n, K)."""
    pooled: FloatArray = np.einsum("nkc,nk->nc", values, importance)
    return pooled
