"""What the rows of a block are to be predicted as, classes or values, under a loss.

*Outputs* are what linear members give: the logits (C, L, n) of L candidates for classes, or
(1, L, n) numbers for values. A target judges candidates row by row, gives the gradient that they
climb, and how well a member does on each row, by which the rows are weighted for later ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import device

from covey._core.arrays import Array, Workspace, like, namespace_of
from covey._core.losses import ClassLoss
from covey._core.softmax_linear import Blocks, highest_and_right, true_class
from covey._core.value_losses import ValueLoss


class ClassTarget:
    """The classes of rows sorted by class."""

    def __init__(self, blocks: Blocks, loss: ClassLoss) -> None:
        self.truth = blocks
        self.n_outputs = len(blocks)
        self._loss = loss

    def rows(self, which: slice) -> ClassTarget:
        """The same of some of the rows."""
        start, stop = which.start, which.stop
        inside = tuple(
            slice(min(max(b.start, start), stop) - start, min(max(b.stop, start), stop) - start)
            for b in self.truth
        )
        return ClassTarget(inside, self._loss)

    def judge(self, outputs: Array, memo: Array) -> Array:
        """What each row adds to the criterion of each candidate, (L, n): whether it is right.

        ``memo`` (L, n) is filled with what `climb` can reuse, the highest logit of each row.
        """
        return highest_and_right(outputs, self.truth, memo)[1]

    def climb(
        self,
        outputs: Array,
        weight: Array,
        workspace: Workspace,
        out: Array,
        memo: Array | None = None,
    ) -> tuple[Array, Array | None]:
        """Eq. (9), or its counterpart of another loss, (L,), and the steepest loss of rows.

        It is to be maximized; ``out`` is filled with its derivative by the outputs, and may be
        ``outputs`` itself.
        """
        objective, _, steepest = self._loss(outputs, self.truth, weight, workspace, out, memo)
        return objective, steepest

    def loss_gradient(
        self, outputs: Array, weight: Array, workspace: Workspace, out: Array
    ) -> Array:
        """The loss (L,), to be minimized; ``out`` is filled with its derivative."""
        objective, _ = self.climb(outputs, weight, workspace, out)
        out *= -1.0
        return -objective

    def wrong(self, outputs: Array) -> Array:
        """1 where a row is wrong, 0 where it is right, (R, n)."""
        right = highest_and_right(outputs, self.truth)[1]
        return 1.0 - namespace_of(outputs).astype(right, outputs.dtype)

    def true_probability(self, outputs: Array) -> Array:
        """The probability of each row's true class, (R, n); the outputs are lost."""
        xp = namespace_of(outputs)
        outputs -= xp.max(outputs, axis=0)
        xp.exp(outputs, out=outputs)
        p_true = true_class(outputs, self.truth, xp.empty_like(outputs[0]))
        p_true /= xp.sum(outputs, axis=0)
        return p_true

    def labels(self, beside: Array) -> Array:
        """The class of each row as a number, where ``beside`` lives."""
        counts = [block.stop - block.start for block in self.truth]
        labels = np.repeat(np.arange(len(counts)), counts)
        return like(beside, labels, namespace_of(beside).int32)


class ValueTarget:
    """The values of rows, standardized: 0 is a sensible guess, 1 a sensible error."""

    n_outputs = 1

    def __init__(self, values: Array, loss: ValueLoss) -> None:
        self.truth = values
        self._loss = loss
        self._step_loss = loss.for_steps

    def rows(self, which: slice) -> ValueTarget:
        """The same of some of the rows."""
        return ValueTarget(self.truth[which], self._loss)

    def judge(self, outputs: Array, memo: Array) -> Array:
        """Minus the loss of rows; the memo is the error of each."""
        namespace_of(outputs).subtract(self.truth, outputs[0], out=memo)
        return -self._step_loss.value(memo)

    def climb(
        self,
        outputs: Array,
        weight: Array,
        workspace: Workspace,
        out: Array,
        memo: Array | None = None,
    ) -> tuple[Array, Array | None]:
        """See `ClassTarget`; the objective is the criterion, known already: zeros are returned."""
        error = self.truth - outputs[0] if memo is None else memo
        out[0] = -weight * self._step_loss.slope(error)
        xp = namespace_of(outputs)
        return xp.zeros(outputs.shape[1], dtype=outputs.dtype, device=device(outputs)), None

    def loss_gradient(
        self, outputs: Array, weight: Array, workspace: Workspace, out: Array
    ) -> Array:
        """See `ClassTarget`; by the loss itself, not by that of steps."""
        error = self.truth - outputs[0]
        out[0] = weight * self._loss.slope(error)
        return namespace_of(outputs).sum(weight * self._loss.value(error), axis=1)

    def losses(self, outputs: Array) -> Array:
        """The loss of each row, (R, n)."""
        return self._loss.value(self.truth - outputs[0])


def target_of(truth: Any, loss: ClassLoss | ValueLoss) -> ClassTarget | ValueTarget:
    """The target of rows: ``truth`` is their `Blocks` of classes, or their values (n,)."""
    if isinstance(loss, ClassLoss):
        return ClassTarget(truth, loss)
    return ValueTarget(truth, loss)
