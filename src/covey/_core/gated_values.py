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

from covey._core.arrays import Array
from covey._core.gate import GatedLikelihood
from covey._core.search import CrossFit
from covey._core.value_losses import ValueLoss

# Beyond so many spreads of y that outliers do not move, single precision loses in a sum what
# other rows have to say.
_FARTHEST = 10.0


@dataclass(kw_only=True)
class GatedValues(GatedLikelihood):
    """The penalised loss of gated members, for a stack of runs.

    A `GatedLikelihood` of a single class, whose logit is the number that is said; the
    log-likelihood is the loss's negative.

    Parameters
    ----------
    target : array of shape (n,)
    loss : ValueLoss
    """

    target: Array
    loss: ValueLoss

    def said(self, x: Array) -> Array:
        """What each run (its parameters a row of ``x``) says of every row, as (R, n)."""
        runs = np.arange(x.shape[0])
        _, _, gate, gate_intercept = self.unpack(x)
        _, values = self._members(x, runs)
        return self._xp.sum(self.gates(gate, gate_intercept, runs) * values[:, 0], axis=0)

    def _log(self, logits: Array, gates: Array, weight: Array) -> tuple[Array, Array, Array]:
        """The negative loss, and its slopes by what members say and by the gate's logits."""
        xp = self._xp
        said = xp.sum(gates * logits[:, 0], axis=0)
        error = self.target - said
        value = -xp.sum(weight * self.loss.value(error), axis=1)
        by_members = -(weight * self.loss.slope(error)) * gates
        return value, by_members[:, None], by_members * (logits[:, 0] - said)


class ValueCrossFit(CrossFit):
    """Fits families of candidates for numbers, on folds and on all rows.

    Parameters
    ----------
    *args, **kwargs
        As `CrossFit`'s; ``blocks`` is one slice of all rows, families have ``pool="log"``.
    target : ndarray of shape (n,)
    loss : ValueLoss
    """

    def __init__(self, *args: Any, target: Array, loss: ValueLoss, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._target = target
        self._loss = loss
        if loss.robust and np.abs(target).max() > _FARTHEST:
            self._rough = self._designs

    def _likelihood(self, *args: Any, **kwargs: Any) -> GatedValues:
        kind = args[0].like.dtype
        return GatedValues(*args, target=self._target.astype(kind), loss=self._loss, **kwargs)

    def _says(self, likelihood: GatedLikelihood, x: Array) -> Array:
        assert isinstance(likelihood, GatedValues)
        return likelihood.said(x)
