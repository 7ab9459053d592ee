"""Softmax-linear members: eqs. (4) to (7) and (9) of the paper, for a stack of runs.

Shapes: ``C`` classes, ``R`` runs, ``n`` rows, ``D`` features; logits are ``(C, R, n)`` and weights
``(R, n)``. Rows are *sorted by class*, so that the rows of a true class are a slice and need no
gather.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import device

from covey._core.arrays import Array, Workspace, namespace_of

Blocks = tuple[slice, ...]


def class_blocks(counts: Any) -> Blocks:
    """Return the slice of rows of each class, for rows sorted by class.

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
    """Return ``log p(c | x)`` of eq. (5), over the first axis; safe for logits of any size."""
    xp = namespace_of(logits)
    shifted = logits - xp.max(logits, axis=0)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=0))


def finite_exp(logits: Array) -> Array:
    """Return exp(logits), kept finite: beyond the bound a probability is 0 or 1."""
    xp = namespace_of(logits)
    # The inverse of the bound, multiplied by a gate, is still a normal number.
    most = 0.9 * float(np.log(float(xp.finfo(logits.dtype).max)))
    return xp.exp(xp.clip(logits, None, most))


def true_class(values: Array, blocks: Blocks, out: Array) -> Array:
    """Return the entries of ``values`` (C, R, n) of each row's own class, as (R, n)."""
    for label, rows in enumerate(blocks):
        out[:, rows] = values[label, :, rows]
    return out


def highest_and_right(
    logits: Array, blocks: Blocks, highest: Array | None = None
) -> tuple[Array, Array]:
    """Return each row's highest logit, and whether it is that of its class; both (R, n).

    This is the argmax of eq. (4), the first class where several tie. ``highest`` may be given,
    to be filled.
    """
    xp = namespace_of(logits)
    if highest is None:
        highest = xp.empty_like(logits[0])
    highest[...] = logits[0]
    right = xp.ones(highest.shape, dtype=xp.bool, device=device(logits))
    for label in range(1, logits.shape[0]):
        # A later class must exceed all before it, the highest of which ``highest`` holds.
        rows = blocks[label]
        right[:, rows] = logits[label, :, rows] > highest[:, rows]
        xp.maximum(highest, logits[label], out=highest)
    for label, rows in enumerate(blocks):
        right[:, rows] &= logits[label, :, rows] == highest[:, rows]
    return highest, right


def weight_of(right: Array, weight: Array) -> Array:
    """Return the total weight of the rows that are right, (R,), added up in double precision."""
    xp = namespace_of(weight)
    return xp.sum(weight * right, axis=1, dtype=xp.float64)


def objective_and_residual(
    logits: Array,
    blocks: Blocks,
    weight: Array,
    workspace: Workspace,
    out: Array,
    highest: Array | None = None,
) -> tuple[Array, Array]:
    """Return eq. (9), ``sum_m w_m log p(y_m | x_m)`` in double precision (R,), and its residual.

    The residual ``w_m ([c = y_m] - p(c | x_m))`` is the derivative by the logits (C, R, n); it
    fills ``out``, which may be ``logits`` itself. ``highest`` is the highest logit of each row (R,
    n), where it is known already.
    """
    xp = namespace_of(logits)
    n_classes, n_runs, n_rows = logits.shape
    if highest is None:
        highest = xp.max(logits, axis=0)
    xp.subtract(logits, highest, out=out)
    log_true = true_class(out, blocks, workspace.take("log true", n_runs, n_rows))
    xp.exp(out, out=out)
    normaliser = workspace.take("normaliser", n_runs, n_rows)
    normaliser[...] = out[0]
    for label in range(1, n_classes):
        normaliser += out[label]
    share = workspace.take("share", n_runs, n_rows)
    log_true -= xp.log(normaliser, out=share)
    log_true *= weight
    objective = xp.sum(log_true, axis=1, dtype=xp.float64)
    xp.divide(weight, normaliser, out=share)
    xp.negative(share, out=share)
    out *= share
    for label, rows in enumerate(blocks):
        out[label, :, rows] += weight[:, rows]
    return objective, out


def linear_logits(X: Any, coef: Any, intercept: Any) -> Any:
    """Return logits (..., n) of linear models (..., D), on dense or sparse rows (n, D)."""
    flat = coef.reshape(-1, coef.shape[-1])
    product = (X @ flat.T).T if hasattr(X, "tocsr") else flat @ X.T
    logits = np.ascontiguousarray(product).reshape(*coef.shape[:-1], X.shape[0])
    logits += intercept[..., None]
    return logits
