"""Largest eigenvalues of matrices that are known by their products alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from covey._core.arrays import FloatArray

# A value has converged when what is left of its vector is this share of it. The error is then
# no more than that share, and in general its square.
_RESIDUAL = 1e-9
# Steps at most; hundreds are needed only where many eigenvalues are nearly the largest one.
_MOST_STEPS = 300


def largest_eigenvalues(
    product: Callable[[FloatArray], FloatArray], start: FloatArray
) -> FloatArray:
    """``lambda_max(A_r)`` of positive semi-definite matrices, (R,), by Lanczos' method.

    ``product`` maps a vector for each matrix, (R, N), to ``A_r v_r``; ``start`` is (R, N). Each
    value ends where its own vector has converged, so that it is the same whatever other matrices
    are beside it.
    """
    n_runs, size = start.shape
    vector = start / np.linalg.norm(start, axis=1, keepdims=True)
    basis: list[FloatArray] = []
    diagonal, beside = np.zeros((n_runs, 0)), np.zeros((n_runs, 0))
    found, ended = np.zeros(n_runs), np.zeros(n_runs, dtype=bool)
    for _ in range(min(size, _MOST_STEPS)):
        basis.append(vector)
        new = product(vector)
        diagonal = np.column_stack([diagonal, np.sum(vector * new, axis=1)])
        # Rounding would bring back what was there before; twice is enough to remove it.
        for _ in range(2):
            for known in basis:
                new = new - np.sum(known * new, axis=1, keepdims=True) * known
        length = np.linalg.norm(new, axis=1)
        for run in np.flatnonzero(~ended):
            found[run], last = _top(diagonal[run], beside[run])
            ended[run] = length[run] * abs(last) <= _RESIDUAL * found[run]
        if ended.all():
            break
        beside = np.column_stack([beside, length])
        # A vector of length zero has nothing left to find; its row of the small matrix is zero.
        vector = new / np.where(length > 0, length, 1.0)[:, None]
    return found


def _top(diagonal: FloatArray, beside: FloatArray) -> tuple[float, float]:
    """The largest eigenvalue of a tridiagonal matrix, and the last entry of its vector."""
    values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, -1))
    return float(values[-1]), float(vectors[-1, -1])
