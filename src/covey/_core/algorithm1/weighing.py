"""The sample weights of members, over all blocks of rows: lines 3 and 4 of Algorithm 1."""

from __future__ import annotations

import numpy as np

from covey._core.algorithm1.rows import RowBlock
from covey._core.algorithm1.settings import TrainingSettings
from covey._core.arrays import Array, FloatArray, to_host
from covey._core.quantiles import quantiles_by_sums
from covey._core.rows import Rows
from covey._core.value_losses import ValueLoss


def see(rows: Rows[RowBlock], settings: TrainingSettings, theta: Array, intercept: Array) -> None:
    """Let all rows take note of a member."""
    rows.broadcast(RowBlock.see, theta, intercept)
    if isinstance(settings.loss, ValueLoss):
        rows.broadcast(RowBlock.trust, typical_loss(rows, settings.loss))
    elif settings.reweighting == "adaboost":
        wrong, whole = rows.sum(RowBlock.errors, rows.max(RowBlock.peak))
        rows.broadcast(RowBlock.boost, wrong / whole)


def typical_loss(rows: Rows[RowBlock], loss: ValueLoss) -> FloatArray:
    """The loss of the member seen last that rows are compared with: see `MemberLosses`.

    A member without any loss is trusted with everything.
    """
    lost, weight = (to_host(sums) for sums in rows.sum(RowBlock.loss_sums))
    typical: FloatArray = lost / weight
    if loss.robust:
        highest, lowest = rows.max(RowBlock.loss_extent)
        median = quantiles_by_sums(
            lambda values: rows.sum(RowBlock.loss_weight_up_to, values)[0],
            -lowest,
            highest,
            np.array([0.5]),
        )[:, 0]
        typical = np.where(median > 0, median / np.log(2.0), typical)
    return np.where(typical > 0, typical, 1.0)


def reweigh(rows: Rows[RowBlock], settings: TrainingSettings) -> tuple[Array, Array]:
    """Set the weights of the next member on all rows; their sums (R,), and the user's."""
    weight_sum, total = rows.sum(RowBlock.weigh, rows.max(RowBlock.peak))
    if settings.loss.is_criterion:
        # Losses are means over the weights.
        rows.broadcast(RowBlock.rescale, weight_sum)
    elif settings.reweighting in ("divergence", "adaboost"):
        # Only their proportions have a meaning.
        rows.broadcast(RowBlock.rescale, weight_sum / total)
        weight_sum = total
    return weight_sum, total
