"""Losses of a predicted number, and what is built on them: weights of rows, quantiles.

An ``error`` is the truth less what is said. All functions take arrays of any shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from array_api_compat import device

from covey._core.arrays import Array, namespace_of, to_host

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ValueLoss:
    r"""The loss of an error ``e``.

    ========  =====================================================================
    squared   ``e**2 / 2``
    huber     ``e**2 / 2`` up to ``threshold``, beyond it ``threshold (|e| - threshold / 2)``
    quantile  ``quantile e`` above zero, ``(quantile - 1) e`` below, its corner rounded
    ========  =====================================================================

    Parameters
    ----------
    name : {"squared", "huber", "quantile"}
    threshold : float
        Of "huber".
    quantile : float
        Of "quantile": the share of rows that shall lie below what is said.
    band : float
        Of "quantile". Its loss has a corner, where no gradient tells how far to go: within so
        much on either side of it the slope rises evenly instead. The share of rows below
        hardly moves if few errors are that small.
    """

    name: Literal["squared", "huber", "quantile"]
    threshold: float = 1.0
    quantile: float = 0.5
    band: float = 0.05

    @property
    def robust(self) -> bool:
        """Whether an outlier pulls no more than other rows do."""
        return self.name != "squared"

    @property
    def curvature(self) -> float:
        """The largest second derivative."""
        return 1.0 / (2.0 * self.band) if self.name == "quantile" else 1.0

    def value(self, error: Array) -> Array:
        """The loss of each error."""
        if self.name == "squared":
            return 0.5 * error * error
        xp = namespace_of(error)
        size = xp.abs(error)
        if self.name == "huber":
            near = xp.clip(size, 0.0, self.threshold)
            return near * (size - 0.5 * near)
        band = self.band
        rounded = xp.where(size < band, error * error / (4.0 * band) + band / 4.0, 0.5 * size)
        return (self.quantile - 0.5) * error + rounded

    def slope(self, error: Array) -> Array:
        """The derivative of each loss by what is said (not by the error)."""
        if self.name == "squared":
            return -error
        xp = namespace_of(error)
        if self.name == "huber":
            return -xp.clip(error, -self.threshold, self.threshold)
        return (0.5 - self.quantile) - xp.clip(error / (2.0 * self.band), -0.5, 0.5)


def trust(loss: Array, base_weight: Array, robust: bool = False) -> Array:
    r"""How far a member is trusted with each row: ``exp(-loss / mean loss)``, as (R, n).

    The counterpart of the probability that a classifier gives the true class. The mean loss is
    the member's own, over rows of the user's weights, so that neither the unit of y nor how
    hard the problem is matters. A member without any loss is trusted with everything.

    Parameters
    ----------
    loss, base_weight : arrays of shape (R, n)
    robust : bool
        Whether the median stands for the mean (divided by log 2, which makes it the mean of
        exponentially distributed losses). Next to an outlier's loss, as a mean has it, no other
        row would matter: all members but the first would be fitted to that outlier.
    """
    xp = namespace_of(loss)
    unit = xp.sum(loss * base_weight, axis=1) / xp.sum(base_weight, axis=1)
    if robust:
        pairs = zip(to_host(loss), to_host(base_weight), strict=True)
        middle = np.array([weighted_quantile(lost, weight, 0.5) for lost, weight in pairs])
        typical = xp.asarray(middle / np.log(2.0), dtype=unit.dtype, device=device(unit))
        unit = xp.where(typical > 0, typical, unit)
    unit = xp.where(unit > 0, unit, xp.ones_like(unit))
    return xp.exp(-loss / unit[:, None])


def doubt_weights(trust_sum: Array, n_earlier: int, base_weight: Array) -> Array:
    r"""The analogue of eq. (8): one minus the mean trust that earlier members earn.

    .. math:: w_m = 1 - \frac{1}{k} \sum_{k'} \exp(-\ell_{k'}(m) / \bar\ell_{k'})

    Parameters
    ----------
    trust_sum : array of shape (R, n)
    n_earlier : int
        Without any earlier member all weights are one.
    base_weight : array of shape (R, n)
        The user's weights; rows of weight 0 have no say in what is left to learn.

    Returns
    -------
    weight : array of shape (R, n)
        Between 0 and 1. Where nothing is left to learn, ones.
    """
    xp = namespace_of(trust_sum)
    if n_earlier == 0:
        return xp.ones_like(trust_sum)
    weight = xp.clip(1.0 - trust_sum / n_earlier, 0.0, 1.0)
    left = xp.max(weight * (base_weight > 0), axis=1)[:, None] > 0
    return xp.where(left, weight, xp.ones_like(weight))


def weighted_quantile(values: FloatArray, weight: FloatArray, share: float) -> float:
    """The least value that ``share`` of the weight does not exceed.

    A weight of 2 is the value given twice.
    """
    order = np.argsort(values, kind="stable")
    carried = np.cumsum(weight[order])
    # A hair below, so that rounding in the sums does not move it to the next value.
    place = np.searchsorted(carried, share * carried[-1] * (1.0 - 1e-12))
    return float(values[order][min(int(place), len(values) - 1)])
