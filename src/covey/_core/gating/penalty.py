"""The penalty of a gate and its members, chosen by the rows that folds hold out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from covey._core.arrays import Array, FloatArray, IntArray
from covey._core.gating.gate import GatedObjective, Parts, runs_at_once
from covey._core.journal import Journal
from covey._core.lbfgs import minimise

# Penalties are for up to so many rows. Where there are more, each coefficient is better known.
_FEW_ROWS = 500

N_FOLDS = 3


def shrinkage(n_rows: float) -> float:
    """What a penalty is multiplied with, for so many rows or such a sum of their weights."""
    return float(min(1.0, (_FEW_ROWS / n_rows) ** 0.8))


def penalties(n_rows: float, *, numbers: bool, single: bool = False) -> FloatArray:
    """The penalties to choose from, falling, for so many rows or such a sum of their weights.

    They are against the mean log-likelihood of a row, or its mean loss in units of y's variance.
    A single member of few rows and many columns may need stronger ones than a gate does.
    """
    shrunk = (0.3 if numbers else 0.03) * shrinkage(n_rows)
    factors = np.array([1.0, 0.1, 0.01, 0.001])
    return shrunk * (np.concatenate([[30.0, 10.0, 3.0], factors]) if single else factors)


def best_penalty(
    value_and_gradient: Callable[[Parts, IntArray], tuple[Array, ...]],
    held_out_loss: Callable[[Parts, IntArray], tuple[Array]],
    alphas: FloatArray,
    start: FloatArray,
    shape: tuple[int, int, int | None, int],
    *,
    n_folds: int,
    n_rows: int,
    max_iter: int,
    support: FloatArray | None = None,
    journal: Journal | None = None,
    **how: Any,
) -> float:
    """The penalty with the lowest loss over the rows that folds hold out; of equals the highest.

    Both functions take parameters and the folds that these are of, and are sums over all rows, as
    those of `GatedRows` are. ``start`` (1, N) is where each fit starts, ``shape`` and ``how`` are
    `GatedObjective`'s; ``n_rows`` is how many rows are worked on at once.
    """
    folds = np.tile(np.arange(n_folds), len(alphas))
    of_run = np.repeat(alphas, n_folds)
    at_once = runs_at_once(shape[0], shape[1], n_rows)
    losses = np.empty(len(folds))
    for first in range(0, len(folds), at_once):
        chunk = slice(first, min(first + at_once, len(folds)))
        of_chunk = folds[chunk]

        def reduce(parts: Parts, runs: IntArray, of: IntArray = of_chunk) -> tuple[Array, ...]:
            return value_and_gradient(parts, of[runs])

        many = None if support is None else np.repeat(support, len(of_chunk), axis=0)
        objective = GatedObjective(reduce, of_run[chunk], *shape, support=many, **how)
        starts = np.repeat(start, len(of_chunk), axis=0)
        found = minimise(objective, starts, max_iter=max_iter, journal=journal)
        parts = objective.within(found.x, np.arange(len(of_chunk)))
        (losses[chunk],) = held_out_loss(parts, of_chunk)
    return float(alphas[losses.reshape(len(alphas), n_folds).sum(axis=1).argmin()])
