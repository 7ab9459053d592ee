"""Losses of fused members, of the members alone, and without all that depends on the row."""

from __future__ import annotations

import math

import numpy as np

from covey._core.arrays import FloatArray, IntArray

# A probability of 0 counts as this, as in scikit-learn's log-loss.
_LEAST = float(np.finfo(np.float64).eps)


def possible_probabilities(values: FloatArray) -> FloatArray:
    """Return probabilities (n, K, C) that rule nothing out; they sum to one."""
    values = np.maximum(values, _LEAST)
    return values / values.sum(axis=2, keepdims=True)


def log_losses(values: FloatArray, codes: IntArray) -> FloatArray:
    """Return the log-losses (n, ...) of probabilities (n, ..., C)."""
    rows = np.arange(len(codes))
    return -np.log(np.maximum(values[rows, ..., codes], _LEAST))


# -- losses without all that depends on the row
# ----------------------------------------------------


def cross_entropy(truth: FloatArray, fused: FloatArray, weight: FloatArray) -> float:
    """Return the weighted mean of ``-sum_c truth_c log(fused_c)``, of probabilities (n, C).

    Where ``truth`` are ones and zeros this is the log-loss.
    """
    return float(np.average(_cross_entropies(truth, fused), weights=weight))


def _cross_entropies(truth: FloatArray, fused: FloatArray) -> FloatArray:
    return -np.sum(truth * np.log(np.maximum(fused, _LEAST)), axis=1)


def squared_error(truth: FloatArray, fused: FloatArray, weight: FloatArray) -> float:
    """Return the weighted mean of squared errors, of numbers (n,)."""
    return float(np.average((truth - fused) ** 2, weights=weight))


def divergences(fused: FloatArray, other: FloatArray) -> FloatArray:
    """Return the Kullback-Leibler divergence of each row of ``other`` from ``fused``, (n, C)."""
    return _cross_entropies(fused, other) - _cross_entropies(fused, fused)


def gate_shares(
    without_gate: FloatArray, without_members: FloatArray, unit: float = 1.0
) -> FloatArray:
    """Return how much of each prediction is the gate's, (n,), from 0 to 1.

    The arguments (n,) say how far a prediction moves without what the gate, or the members, know
    of the row; ``unit`` is the distance that counts as far. 0 where the gate moves nothing.
    """
    # Distances within rounding count as none.
    gate = np.where(without_gate > 1e-12 * unit, without_gate, 0.0)
    both = gate + np.maximum(without_members, 0.0)
    return np.divide(gate, both, out=np.zeros_like(gate), where=gate > 0)


def share_lost(loss: float, without: float, without_all: float) -> float:
    """Return the share of the loss's fall from ``without_all`` to ``loss`` lost at ``without``.

    NaN where the loss does not fall.
    """
    fall = without_all - loss
    # A fall that rounding can explain is none.
    if not fall > 1e-12 * max(1.0, abs(loss)):
        return math.nan
    return (without - loss) / fall
