"""Linear members of a regression under a gate, refined together.

Member k says ``f_k(x) = x theta_k + b_k``, the gate ``g(x) = softmax(phi(x) V + v)``, and both
together ``f(x) = sum_k g_k(x) f_k(x)``. What is minimised is the weighted mean loss of ``f``
plus ``alpha / 2`` times the sum of squares of all coefficients (intercepts are free). With one
member the gate says nothing, and this is a penalised linear model: ridge regression, if the
loss is squared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from covey._core.arrays import Array
from covey._core.gating.gate import GatedLikelihood, GatedRows, Parts
from covey._core.search.rows import SearchBlock
from covey._core.search.selection import RowLoss
from covey._core.value_losses import ValueLoss

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Beyond so many spreads of y that outliers do not move, single precision loses in a sum what
# other rows have to say.
_FARTHEST = 10.0


@dataclass(kw_only=True)
class GatedValueRows(GatedRows):
    """Some rows, what gated members say of them, and what their loss sums up over them.

    `GatedRows` of a single class, whose logit is the number that is said; the log-likelihood
    is the loss's negative.

    Parameters
    ----------
    target : array of shape (n,)
    loss : ValueLoss
    """

    target: Array
    loss: ValueLoss

    def says(self, parts: Parts, runs: IntArray) -> Array:
        """What each run says of every row, as (R, n)."""
        theta, intercept, gate, gate_intercept = parts
        values = self.member_logits(theta, intercept, runs)
        return self._xp.sum(self.gates(gate, gate_intercept, runs) * values[:, 0], axis=0)

    def _log(self, logits: Array, gates: Array, weight: Array) -> tuple[Array, Array, Array]:
        """The negative loss, and its slopes by what members say and by the gate's logits."""
        xp = self._xp
        said = xp.sum(gates * logits[:, 0], axis=0)
        error = self.target - said
        value = -xp.sum(weight * self.loss.value(error), axis=1)
        by_members = -(weight * self.loss.slope(error)) * gates
        return value, by_members[:, None], by_members * (logits[:, 0] - said)


class GatedValues(GatedLikelihood):
    """The penalised loss of gated members, for a stack of runs.

    Parameters
    ----------
    *args, **kwargs
        As `GatedLikelihood`'s; ``blocks`` is one slice of all rows, ``pool`` is "log".
    target : array of shape (n,)
    loss : ValueLoss
    """

    def __init__(self, *args: Any, target: Array, loss: ValueLoss, **kwargs: Any) -> None:
        self._target = target
        self._loss = loss
        super().__init__(*args, **kwargs)

    def _rows(self, *args: Any) -> GatedRows:
        return GatedValueRows(*args, target=self._target, loss=self._loss)

    def said(self, x: Array) -> Array:
        """What each run (its parameters a row of ``x``) says of every row, as (R, n)."""
        return self.says(x)


class ValueSearchBlock(SearchBlock):
    """The rows of a table that is searched for members that predict numbers.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, D)
    target : ndarray of shape (n,)
    weight : ndarray of shape (n,)
    loss : ValueLoss
    """

    def __init__(self, X: Any, target: FloatArray, weight: FloatArray, loss: ValueLoss) -> None:
        # There is one class, so that the rows keep their order.
        super().__init__(X, np.zeros(len(target), dtype=np.int64), weight, 0, 1)
        self.target = target
        self._loss = loss

    def digits(self, name: str) -> IntArray:
        """See `SearchBlock`; outliers need more."""
        if self._loss.robust and np.abs(self.target).max() > _FARTHEST:
            return np.array([64])
        return super().digits(name)

    def candidate_losses(self) -> tuple[FloatArray, FloatArray]:
        """See `SearchBlock`."""
        said, weight = self._held_out()
        constant = self._loss.value(self.target[self._rows_held_out()])
        losses = self._row_loss()(said) @ weight + constant @ weight
        return losses, np.array([weight.sum()])

    def _gated_rows(self, *args: Any) -> GatedRows:
        share = args[3]
        target = self.target.astype(share.dtype)
        return GatedValueRows(*args, target=target, loss=self._loss)

    def _comparable(self, said: FloatArray) -> FloatArray:
        return said

    def _row_loss(self) -> RowLoss:
        target = self.target[self._rows_held_out()]
        # Less the loss of a constant, lest one outlier swamp what candidates differ by.
        constant = self._loss.value(target)

        def row_gain(said: FloatArray) -> FloatArray:
            gain: FloatArray = self._loss.value(target - said) - constant
            return gain

        return row_gain
