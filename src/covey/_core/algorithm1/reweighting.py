"""How a member is drawn to what its predecessors get wrong: eq. (8) of the paper, and others."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from covey._core.arrays import Array, FloatArray, like, namespace_of, to_host
from covey._core.quantiles import WeightedRows

ReweightingName = Literal["mean_probability", "divergence", "adaboost"]
REWEIGHTINGS: tuple[str, ...] = get_args(ReweightingName)

# What AdaBoost's member of no error at all counts as.
_SMALLEST_ERROR = 1e-3


class Reweighting:
    """The sample weights of the next member, for a stack of runs and a block of rows.

    Rows whose ``base_weight`` (R, n), the user's, is 0 do not count in what is left to learn. With
    p the mean probability that earlier members gave a row's true class, the names are:

    - "mean_probability": ``1 - p``, eq. (8).
    - "divergence": ``-log p``, the Kullback-Leibler divergence of the truth from the
      earlier members' mean. It is drawn harder to what all of them get wrong.
    - "adaboost": a row that a member gets wrong weighs ``(1 - e) / e (C - 1)`` times as
      much afterwards, e being the member's weighted error (SAMME, Zhu et al. 2009). A
      member no better than chance changes nothing.
    - None: all rows weigh the same.

    For values p is `MemberLosses.trust`. Weights of "divergence" and "adaboost" have a mean of one
    (over the user's weights): only their proportions have a meaning.
    """

    def __init__(
        self,
        base_weight: Array,
        name: ReweightingName | None = "mean_probability",
        n_classes: int = 2,
    ) -> None:
        self._xp = namespace_of(base_weight)
        self._base_weight = base_weight
        self._name = name
        self._n_classes = n_classes
        self._true_probability_sum: Array | None = None
        self._wrong: Array | None = None
        self._log_weight: Array | None = None
        self._n_seen = 0
        self.weight = base_weight  # of the member that is grown, the user's weight included

    def see(self, noted: Array) -> None:
        """Take note of a member by what it makes of each row, (R, n).

        This is the probability of the true class, or its counterpart for values; for "adaboost"
        1 where the member is wrong and 0 where it is right.
        """
        self._n_seen += 1
        if self._name == "adaboost":
            self._wrong = noted
            if self._log_weight is None:
                self._log_weight = self._xp.zeros_like(self._base_weight)
        elif self._true_probability_sum is None:
            self._true_probability_sum = noted
        else:
            self._true_probability_sum += noted

    # The methods below are called on every block of rows; what is known of all blocks together,
    # a peak or a sum, is passed to each.

    def peak(self) -> Array:
        """The largest weight (of "adaboost" its logarithm) of rows that count, as (R,)."""
        xp = self._xp
        if self._n_seen == 0 or self._name is None:
            return xp.ones_like(self._base_weight[:, 0])
        lowest = -xp.inf if self._name == "adaboost" else 0.0
        nothing = xp.full_like(self._base_weight, lowest)
        return xp.max(xp.where(self._base_weight > 0, self._unscaled(), nothing), axis=1)

    def errors(self, peak: Array) -> tuple[Array, Array]:
        """For "adaboost": the weight of rows that the last member gets wrong, and of all."""
        xp = self._xp
        weight = self._base_weight * self._below(peak)
        return (
            xp.sum(weight * self._wrong, axis=1, dtype=xp.float64),
            xp.sum(weight, axis=1, dtype=xp.float64),
        )

    def boost(self, error: Array) -> None:
        """For "adaboost": make the last member's errors heavier, by its error (R,)."""
        xp, n_classes = self._xp, self._n_classes
        error = xp.clip(error, _SMALLEST_ERROR, 1.0 - 1.0 / n_classes)
        factor = xp.log((1.0 - error) * (n_classes - 1) / error)
        assert self._wrong is not None
        assert self._log_weight is not None
        self._log_weight += xp.astype(factor, self._wrong.dtype)[:, None] * self._wrong

    def weigh(self, peak: Array) -> tuple[Array, Array]:
        """Set the weights of the next member; their sum (R,), and that of the user's.

        A run whose earlier members are certain of every row has nothing left to learn from;
        its weights are ones again, since zeros would leave the next member at its random
        start.
        """
        xp = self._xp
        if self._n_seen == 0 or self._name is None:
            self.weight = self._base_weight
        elif self._name == "adaboost":
            self.weight = self._base_weight * self._below(peak)
        else:
            weight = self._unscaled()
            weight = xp.where(peak[:, None] > 0, weight, xp.ones_like(weight))
            self.weight = self._base_weight * weight
        return (
            xp.sum(self.weight, axis=1, dtype=xp.float64),
            xp.sum(self._base_weight, axis=1, dtype=xp.float64),
        )

    def rescale(self, divisor: Array) -> None:
        """Divide the weights of each run by a number."""
        self.weight = self.weight / self._xp.astype(divisor, self.weight.dtype)[:, None]

    def _unscaled(self) -> Array:
        xp = self._xp
        if self._name == "adaboost":
            return self._log_weight
        assert self._true_probability_sum is not None
        p = self._true_probability_sum / self._n_seen
        if self._name == "mean_probability":
            return xp.clip(1.0 - p, 0.0, 1.0)
        return -xp.log(xp.clip(p, 1e-15, 1.0))

    def _below(self, peak: Array) -> Array:
        # A row of weight 0 may be wrong for ever: what it weighs must not dwarf the others.
        assert self._log_weight is not None
        return self._xp.exp(self._xp.clip(self._log_weight - peak[:, None], None, 0.0))


class MemberLosses:
    r"""The losses (R, n) of the rows of a block under a member of values, with the user's weights.

    A member is trusted with a row as far as ``exp(-loss / typical loss)``: the counterpart of the
    probability that a classifier gives the true class. The typical loss is the member's own, over
    rows of the user's weights, so that neither the unit of y nor how hard the problem is matters.
    It is the mean; or, for robust losses, the median divided by log 2, which is the mean of
    exponentially distributed losses. Next to an outlier's loss, as a mean has it, no other row
    would matter: all members but the first would be fitted to that outlier.
    """

    def __init__(self, loss: Array, weight: Array) -> None:
        self._loss = loss
        self._weight = weight
        self._sorted: WeightedRows | None = None

    def sums(self) -> tuple[Array, Array]:
        """The weighted sum of the losses, and the sum of the weights, both (R,)."""
        xp = namespace_of(self._loss)
        return xp.sum(self._loss * self._weight, axis=1), xp.sum(self._weight, axis=1)

    def extent(self) -> FloatArray:
        """The largest loss, and the largest of minus the losses, (2, R)."""
        loss = to_host(self._loss).astype(np.float64)  # as its quantiles are found
        return np.stack([loss.max(axis=1, initial=-np.inf), -loss.min(axis=1, initial=np.inf)])

    def weight_up_to(self, values: FloatArray) -> tuple[FloatArray]:
        """The weight of the rows whose losses are at most ``values`` (R, k)."""
        if self._sorted is None:
            loss, weight = (to_host(x).astype(np.float64) for x in (self._loss, self._weight))
            self._sorted = WeightedRows(loss, weight)
        return (self._sorted.up_to(values),)

    def trust(self, typical: FloatArray) -> Array:
        """How far the member is trusted with each row, (R, n)."""
        unit = like(self._loss, typical)
        return namespace_of(self._loss).exp(-self._loss / unit[:, None])
