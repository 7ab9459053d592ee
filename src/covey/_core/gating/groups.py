"""Groups of linear members, each with a gate of its own, averaged with fixed weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from covey._core.arrays import FloatArray
from covey._core.basis import Basis
from covey._core.gating.gate import Pool, softmax_first
from covey._core.softmax_linear import linear_logits

# Numbers (columns, logits and gates, of some rows) that are computed at once: what a cache holds.
_NUMBERS_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class Groups:
    """The gates of K members in G groups, one group after the other."""

    basis: Basis  # the columns, P of them, that all gates see
    coef: FloatArray  # (K, P)
    intercept: FloatArray  # (K,)
    sizes: Sequence[int]  # how many members each group has
    pools: Sequence[Pool]  # how probabilities of each group are fused; numbers are averaged
    weights: FloatArray  # (G,), sum to one

    def importance(self, X: Any) -> FloatArray:
        """The importance of each member for rows (n, D), as (K, n); columns sum to one."""
        return group_importance(
            linear_logits(self.basis.rows(X), self.coef, self.intercept), self.sizes, self.weights
        )

    def predict(
        self, X: Any, coef: FloatArray, intercept: FloatArray, *, numbers: bool
    ) -> FloatArray:
        """What members of these coefficients (K, C, P) and intercepts (K, C) predict, as (n, C).

        The members see the columns of the same basis, which are computed once. What is predicted
        are probabilities, or with ``numbers`` the number that is a member's only logit.
        """
        n_members, n_outputs, _ = coef.shape
        stacked = np.concatenate([coef.reshape(n_members * n_outputs, -1), self.coef])
        biases = np.concatenate([intercept.ravel(), self.intercept])
        predicted = np.empty((X.shape[0], n_outputs))
        at_once = max(1, _NUMBERS_AT_ONCE // sum(stacked.shape))
        for start in range(0, X.shape[0], at_once):
            rows = slice(start, start + at_once)
            logits = linear_logits(self.basis.rows(X[rows]), stacked, biases)
            members = logits[: -len(self.coef)].reshape(n_members, n_outputs, -1)
            fuse = self.mean if numbers else self.probabilities
            predicted[rows] = fuse(members, logits[-len(self.coef) :]).T
        return predicted

    def probabilities(self, member_logits: FloatArray, gate_logits: FloatArray) -> FloatArray:
        """Fused probabilities (C, n) of logits or log-probabilities (K, C, n)."""
        fused = np.zeros(member_logits.shape[1:])
        for members, pool, weight in zip(
            _members(self.sizes), self.pools, self.weights, strict=True
        ):
            logits, gates = member_logits[members], softmax_first(gate_logits[members])
            if pool == "log":
                fused += weight * softmax_first(np.sum(gates[:, None] * logits, axis=0))
                continue
            p = np.exp(logits - logits.max(axis=1, keepdims=True))
            p *= (weight * gates / p.sum(axis=1))[:, None]
            fused += p.sum(axis=0)
        # Sums of shares may be a rounding error above one, which scikit-learn's losses refuse.
        return np.minimum(fused, 1.0, out=fused)

    def mean(self, values: FloatArray, gate_logits: FloatArray) -> FloatArray:
        """The fused numbers (1, n) of members' (K, 1, n)."""
        importance = group_importance(gate_logits, self.sizes, self.weights)
        mean: FloatArray = np.sum(importance[:, None] * values, axis=0)
        return mean


def group_importance(
    gate_logits: FloatArray, sizes: Sequence[int], weights: FloatArray
) -> FloatArray:
    """The importance (K, n) of members: their gates, times the weight of their group; in place."""
    for members, weight in zip(_members(sizes), weights, strict=True):
        gates = softmax_first(gate_logits[members])
        gates *= weight
    return gate_logits


def _members(sizes: Sequence[int]) -> Iterator[slice]:
    """The members of each group."""
    for size, end in zip(sizes, np.cumsum(sizes), strict=True):
        yield slice(int(end - size), int(end))
