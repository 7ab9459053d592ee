"""Losses of a predicted value, and weighted quantiles.

An ``error`` is the truth less the prediction. All functions take arrays of any shape.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from covey._core.arrays import Array, FloatArray, namespace_of
from covey._state import Number, OneOf

# A step is about as long as the band in which a quantile's slope turns; through a narrower one
# than this it would take for ever.
_STEP_BAND = 0.05


@dataclass(frozen=True)
class ValueLoss:
    r"""The loss of an error ``e``.

    ========  =====================================================================
    squared   ``e**2 / 2``
    huber     ``e**2 / 2`` up to ``threshold``, beyond it ``threshold (|e| - threshold / 2)``
    quantile  ``quantile e`` above zero, ``(quantile - 1) e`` below, its corner rounded
    ========  =====================================================================
    """

    name: Annotated[Literal["squared", "huber", "quantile"], OneOf("squared", "huber", "quantile")]
    threshold: Annotated[float, Number(0)] = 1.0  # of "huber"
    quantile: Annotated[float, Number(0, 1)] = (
        0.5  # the share of rows that shall lie below the prediction
    )
    # Of "quantile". Its loss has a corner, where no gradient tells how far to go: within so much
    # on either side of it the slope rises evenly instead. The share of rows below hardly moves if
    # few errors are that small.
    band: Annotated[float, Number(0)] = 0.05

    is_criterion: ClassVar[bool] = True  # subsets are compared by the loss itself
    has_steepest: ClassVar[bool] = False  # steps do not depend on the steepest loss of any row

    @property
    def for_steps(self) -> ValueLoss:
        """The loss by which steps are taken: its band is wide enough for a step to cross it."""
        return replace(self, band=max(self.band, _STEP_BAND))

    @property
    def robust(self) -> bool:
        """Whether an outlier pulls no more than other rows do."""
        return self.name != "squared"

    @property
    def curvature(self) -> float:
        """The largest second derivative."""
        return 1.0 / (2.0 * self.band) if self.name == "quantile" else 1.0

    def pace(self, steepest: Array | None) -> float:
        """The share of a step, as long as the curvature allows, that is taken: all of it."""
        return 1.0

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
        """The derivative of each loss by the prediction (not by the error)."""
        if self.name == "squared":
            return -error
        xp = namespace_of(error)
        if self.name == "huber":
            return -xp.clip(error, -self.threshold, self.threshold)
        return (0.5 - self.quantile) - xp.clip(error / (2.0 * self.band), -0.5, 0.5)


def weighted_quantile(values: FloatArray, weight: FloatArray, share: float) -> float:
    """The least value that ``share`` of the weight does not exceed.

    A weight of 2 is the value given twice.
    """
    order = np.argsort(values, kind="stable")
    carried = np.cumsum(weight[order])
    # A hair below, so that rounding in the sums does not move it to the next value.
    place = np.searchsorted(carried, share * carried[-1] * (1.0 - 1e-12))
    return float(values[order][min(int(place), len(values) - 1)])
