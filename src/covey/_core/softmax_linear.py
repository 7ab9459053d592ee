"""Softmax-linear members: eqs. (4) to (7) and (9) of the paper, for a stack of runs.

Shapes: ``C`` classes, ``R`` runs, ``n`` rows, ``D`` features; logits are ``(C, R, n)`` and
weights ``(R, n)``. Rows are *sorted by class*: everything that asks for the true class of a
row is then a slice and needs no gather.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from covey._core.arrays import Array, Workspace, namespace_of

Blocks = tuple[slice, ...]


def class_blocks(counts: Any) -> Blocks:
    """The slice of rows of each class, for rows sorted by class.

    Examples
    --------
    >>> class_blocks([2, 0, 3])
    (slice(0, 2, None), slice(2, 2, None), slice(2, 5, None))
    """
    blocks = []
    start = 0
    for count in counts:
        blocks.append(slice(start, start + int(count)))
        start += int(count)
    return tuple(blocks)


def log_softmax(logits: Array) -> Array:
    """``log p(c | x)`` of eq. (5), over the first axis; safe for logits of any size."""
    xp = namespace_of(logits)
    shifted = logits - xp.max(logits, axis=0)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=0))


def true_class(values: Array, blocks: Blocks, out: Array) -> Array:
    """What ``values`` (C, R, n) say of each row's own class, as (R, n)."""
    for label, rows in enumerate(blocks):
        out[:, rows] = values[label, :, rows]
    return out


def weighted_accuracy(logits: Array, blocks: Blocks, weight: Array, total: Any) -> Array:
    """Eq. (7): ``sum_m w_m [f(x_m) = y_m] / M`` for each run.

    ``f`` is the argmax of eq. (4), the first class where several tie. ``total`` is ``M``: the
    number of rows, or the sum of the user's sample weights.
    """
    xp = namespace_of(logits)
    highest = xp.max(logits, axis=0)
    won = xp.zeros_like(highest)
    for label, rows in enumerate(blocks):
        own = logits[label, :, rows]
        right = own == highest[:, rows]
        if label > 0:
            right &= own > xp.max(logits[:label, :, rows], axis=0)
        won[:, rows] = weight[:, rows] * right
    return xp.sum(won, axis=1) / total


def objective_and_residual(
    logits: Array, blocks: Blocks, weight: Array, workspace: Workspace, name: str
) -> tuple[Array, Array]:
    """Eq. (9) and what its gradient is made of.

    Returns
    -------
    objective : array of shape (R,)
        ``sum_m w_m log p(y_m | x_m)``.
    residual : array of shape (C, R, n)
        ``w_m ([c = y_m] - p(c | x_m))``: the derivative by the logits. It lives in the
        buffer ``name`` of the workspace.
    """
    xp = namespace_of(logits)
    n_classes, n_runs, n_rows = logits.shape
    highest = xp.max(logits, axis=0)
    residual = workspace.take(name, n_classes, n_runs, n_rows)
    xp.subtract(logits, highest, out=residual)
    log_true = true_class(residual, blocks, workspace.take("log true", n_runs, n_rows))
    xp.exp(residual, out=residual)
    normaliser = xp.sum(residual, axis=0)
    log_true -= xp.log(normaliser)
    log_true *= weight
    objective = xp.sum(log_true, axis=1)
    residual *= -weight / normaliser
    for label, rows in enumerate(blocks):
        residual[label, :, rows] += weight[:, rows]
    return objective, residual


def linear_logits(X: Any, coef: Any, intercept: Any) -> Any:
    """Logits of linear models on dense or sparse rows, classes first.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, D)
    coef : ndarray of shape (..., D)
    intercept : ndarray of shape (...)

    Returns
    -------
    logits : ndarray of shape (..., n)
    """
    flat = coef.reshape(-1, coef.shape[-1])
    product = (X @ flat.T).T if hasattr(X, "tocsr") else flat @ X.T
    logits = np.ascontiguousarray(product).reshape(*coef.shape[:-1], X.shape[0])
    logits += intercept[..., None]
    return logits
