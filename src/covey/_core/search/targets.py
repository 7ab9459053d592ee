"""The target of a search, classes or numbers.

All that differs between classification and regression in a block of rows: the order in which
its rows lie, what members are fitted to, and the losses by which candidates are compared.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from covey._core.arrays import FloatArray, IntArray
from covey._core.gating.gate import ClassLikelihood, ValueLikelihood
from covey._core.losses import ValueLoss
from covey._core.search.selection import log_losses, possible
from covey._core.softmax_linear import class_blocks

# Beyond so many spreads of y, single precision loses in a sum what all other rows add to it.
_FARTHEST = 10.0


class ClassTarget:
    """Classes, given as numbers; rows are sorted by class and predictions probabilities.

    ``order`` holds the positions of the rows in the order in which a block keeps them; in that
    order ``codes`` are the classes that folds are stratified by, ``truth`` is what members are
    grown to predict, and ``likelihood`` what they are fitted to. ``needs_double`` is whether
    single precision is not enough to compare candidates.
    """

    needs_double = False

    def __init__(self, codes: IntArray, n_classes: int) -> None:
        self.order = np.argsort(codes, kind="stable")
        self.codes = codes[self.order]
        self.truth = self.blocks = class_blocks(np.bincount(codes, minlength=n_classes))
        self.likelihood = ClassLikelihood(self.blocks)

    def comparable(self, predictions: FloatArray) -> FloatArray:
        """Predictions (M, E) of held-out rows as they may be averaged over candidates."""
        return possible(predictions)

    def row_losses(self, rows: IntArray) -> Callable[[FloatArray], FloatArray]:
        """The losses (..., E) of predictions of these rows, up to a constant of each row."""
        return log_losses

    def constants(self, rows: IntArray) -> FloatArray:
        """These constants, (E,): zeros, for log-losses are compared as they are."""
        return np.zeros(len(rows))


class ValueTarget:
    """Numbers, standardized, under a loss; rows keep their order."""

    def __init__(self, values: FloatArray, loss: ValueLoss) -> None:
        self.truth = self.values = values
        self.loss = loss
        self.order = np.arange(len(values))
        self.codes = np.zeros(len(values), dtype=np.int64)
        self.likelihood = ValueLikelihood(values, loss)

    @property
    def needs_double(self) -> bool:
        """Whether there are outliers that only the loss keeps from mattering."""
        return self.loss.robust and bool(np.abs(self.values).max(initial=0.0) > _FARTHEST)

    def comparable(self, predictions: FloatArray) -> FloatArray:
        """The predictions themselves."""
        return predictions

    def row_losses(self, rows: IntArray) -> Callable[[FloatArray], FloatArray]:
        """The losses, less those of the constant 0: one outlier must not hide the others."""
        values, constants = self.values[rows], self.constants(rows)

        def relative(predictions: FloatArray) -> FloatArray:
            return self.loss.value(values - predictions) - constants

        return relative

    def constants(self, rows: IntArray) -> FloatArray:
        """The losses of the constant 0."""
        return self.loss.value(self.values[rows])


Target = ClassTarget | ValueTarget
