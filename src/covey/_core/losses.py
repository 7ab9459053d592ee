"""The losses that members minimize: eq. (9) of the paper, alternatives to it, those of values.

Each function of classes takes logits ``(C, R, n)`` of rows sorted by class and the rows' weights,
and returns

- the objective of each run, ``- sum_m w_m loss_m``, to be maximised;
- its derivative by the logits, ``(C, R, n)``, in ``out``;
- the steepest loss of each run's rows, or None where steps do not depend on it.

Below, q is the probability of a row's true class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, get_args

import numpy as np

from covey._core.arrays import Array, FloatArray, Workspace, namespace_of
from covey._core.limits import TIE
from covey._core.softmax_linear import Blocks, log_softmax, true_class
from covey._state import Number, OneOf

LossName = Literal["log", "exponential", "focal"]
LOSSES: tuple[str, ...] = get_args(LossName)

# The largest loss of a row: logits beyond 1000 are as wrong as any.
_LARGEST_LOG = 500.0


@dataclass(frozen=True)
class ClassLoss:
    """A loss of a row's true class, by name.

    - "log": ``-log q``, eq. (9).
    - "exponential": ``sqrt((1 - q) / q)``, which is ``exp(-f)`` for f half the log-odds of the
      true class against all others: for two classes AdaBoost's.
    - "focal": ``-(1 - q)^gamma log q`` (Lin et al. 2017), which gives little weight to rows that
      are already right; gamma 0 is "log".
    """

    name: LossName = "log"
    gamma: float = 2.0

    # Subsets are compared by accuracy, not by the loss.
    is_criterion: ClassVar[bool] = False
    # A bound of the second derivative of eq. (9) by the logits of a row (Bohning 1992).
    curvature: ClassVar[float] = 0.5

    @property
    def for_steps(self) -> ClassLoss:
        """Return the loss by which steps are taken: the loss itself."""
        return self

    @property
    def has_steepest(self) -> bool:
        """Return whether steps depend on the steepest loss of any row."""
        return self.name == "exponential"

    def pace(self, steepest: Array | None) -> Array | float:
        """Return the share of eq. (9)'s step length that this loss allows each run.

        ``steepest`` (R,) is the steepest loss of all rows, if the loss needs it.
        """
        if steepest is not None:
            # The curvature of a row's loss is at most half of it; that of eq. (9) at most 1/2.
            return 1.0 / namespace_of(steepest).clip(steepest, 1.0, None)
        if self.name == "focal":
            # Its curvature is at most 1.15 sqrt(1 + gamma) times that of eq. (9), for gamma up
            # to 10.
            return 1.0 / math.sqrt(1.0 + self.gamma)
        return 1.0

    def of_uniform_guess(self, n_classes: int) -> float:
        """Return the loss of a row for which every class is equally likely."""
        if self.name == "exponential":
            return math.sqrt(n_classes - 1)
        gamma = self.gamma if self.name == "focal" else 0.0
        return float((1 - 1 / n_classes) ** gamma * math.log(n_classes))


def exponential(
    logits: Array, blocks: Blocks, weight: Array, workspace: Workspace, out: Array
) -> tuple[Array, Array, Array]:
    # With s_c the softmax over the wrong classes alone, the loss's derivative by the logits is
    # -loss / 2 for the true class and s_c loss / 2 for the others.
    xp = namespace_of(logits)
    _, n_runs, n_rows = logits.shape
    own = true_class(logits, blocks, workspace.take("own logit", n_runs, n_rows))
    residual = out
    residual[...] = logits
    for label, rows in enumerate(blocks):
        residual[label, :, rows] = -xp.inf
    highest = xp.max(residual, axis=0)
    residual -= highest
    xp.exp(residual, out=residual)
    normaliser = xp.sum(residual, axis=0)
    log_loss = (highest + xp.log(normaliser) - own) / 2.0
    loss = xp.exp(xp.clip(log_loss, -_LARGEST_LOG, _LARGEST_LOG))
    weighted = weight * loss
    residual *= -0.5 * weighted / normaliser
    for label, rows in enumerate(blocks):
        residual[label, :, rows] = 0.5 * weighted[:, rows]
    steepest = xp.max(xp.where(weight > 0, loss, xp.zeros_like(loss)), axis=1)
    return -xp.sum(weighted, axis=1, dtype=xp.float64), residual, steepest


def focal(
    logits: Array, blocks: Blocks, weight: Array, gamma: float, workspace: Workspace, out: Array
) -> tuple[Array, Array]:
    xp = namespace_of(logits)
    _, n_runs, n_rows = logits.shape
    residual = out
    residual[...] = log_softmax(logits)
    log_true = true_class(residual, blocks, workspace.take("log true", n_runs, n_rows))
    xp.exp(residual, out=residual)
    wrong = -xp.expm1(log_true)  # 1 - q, also where q is almost 1
    focus = wrong**gamma
    # d focal / d log q = -((1 - q)^gamma - gamma q (1 - q)^(gamma - 1) log q); with q almost 1
    # log q is about -(1 - q), so that the second term vanishes like (1 - q)^gamma.
    ratio = xp.where(wrong > 0, -log_true / xp.where(wrong > 0, wrong, 1.0), 1.0)
    slope = weight * focus * (1.0 + gamma * xp.exp(log_true) * ratio)
    residual *= -slope
    for label, rows in enumerate(blocks):
        residual[label, :, rows] += slope[:, rows]
    return xp.sum(weight * focus * log_true, axis=1, dtype=xp.float64), residual


# -- losses of a predicted value ------------------------------------------------------------------


# A step is about as long as the band in which a quantile's slope turns; in a narrower one than
# this, convergence would take far too long.
_STEP_BAND = 0.05

ValueLossName = Literal["squared", "huber", "quantile", "poisson", "gamma", "tweedie"]
VALUE_LOSSES: tuple[str, ...] = get_args(ValueLossName)
# The losses of a prediction on a logarithmic scale, and their powers; that of "tweedie" is given.
POWERS: dict[str, float | None] = {"poisson": 1.0, "gamma": 2.0, "tweedie": None}
# Beyond this, an exponential goes on evenly: no mean of rows is that far from all others.
_HIGHEST_LOG = 30.0


@dataclass(frozen=True)
class ValueLoss:
    r"""The loss of a prediction f of a number y, by the error ``e = y - f`` or by ``mu = exp(f)``.

    ========  =====================================================================
    squared   ``e**2 / 2``
    huber     ``e**2 / 2`` up to ``threshold``, beyond it ``threshold (|e| - threshold / 2)``
    quantile  ``quantile e`` above zero, ``(quantile - 1) e`` below, its corner rounded
    poisson   ``y log(y / mu) - y + mu``, half the deviance of a count
    gamma     ``y / mu - log(y / mu) - 1``, half that of a gamma distribution
    tweedie   half that of a variance ``mu**power``; the two above have the powers 1 and 2
    ========  =====================================================================
    """

    name: Annotated[ValueLossName, OneOf(*VALUE_LOSSES)]
    threshold: Annotated[float, Number(0)] = 1.0  # of "huber"; of "tweedie" the power
    quantile: Annotated[float, Number(0, 1)] = (
        0.5  # the share of rows that shall lie below the prediction
    )
    # Of "quantile". Its loss has a corner, where no gradient shows how far to go: within this
    # distance on either side of it the slope rises evenly instead. The share of rows below hardly
    # changes if few errors are that small.
    band: Annotated[float, Number(0)] = 0.05

    is_criterion: ClassVar[bool] = True  # subsets are compared by the loss itself
    has_steepest: ClassVar[bool] = False  # steps do not depend on the steepest loss of any row

    @property
    def for_steps(self) -> ValueLoss:
        """Return the loss by which steps are taken: its band is wide enough for them to cross."""
        return replace(self, band=max(self.band, _STEP_BAND))

    @property
    def robust(self) -> bool:
        """Return whether an outlier pulls no more than other rows do."""
        return self.name in ("huber", "quantile")

    @property
    def is_log(self) -> bool:
        """Return whether a prediction is the logarithm of a mean."""
        return self.name in POWERS

    @property
    def power(self) -> float:
        """Return the power of the mean that the variance is."""
        return POWERS.get(self.name) or self.threshold

    @property
    def curvature(self) -> float:
        """The largest second derivative."""
        return 1.0 / (2.0 * self.band) if self.name == "quantile" else 1.0

    def pace(self, steepest: Array | None) -> float:
        """Return the share of the step that the curvature allows: all of it."""
        return 1.0

    def value(self, target: Array, prediction: Array | float = 0.0) -> Array:
        """Return the loss of each prediction."""
        if self.is_log:
            xp = namespace_of(target)
            above = target > 0
            # A loss of 0 is that of mu = y, which for y = 0 is a limit.
            at_best = xp.log(xp.where(above, target, xp.ones_like(target)))
            least = self._relative(target, at_best)
            if self.power < 2:
                least = xp.where(above, least, xp.full_like(target, -1.0 / (2.0 - self.power)))
            return self._relative(target, target * 0.0 + prediction) - least
        error = target - prediction
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

    def slope(self, target: Array, prediction: Array | float = 0.0) -> Array:
        """Return the derivative of each loss by the prediction."""
        if self.is_log:
            xp, logs = namespace_of(target), target * 0.0 + prediction
            powers = 2.0 - self.power, 1.0 - self.power
            one, other = (xp.exp(xp.clip(a * logs, None, _HIGHEST_LOG)) for a in powers)
            return one - target * other
        error = target - prediction
        if self.name == "squared":
            return -error
        xp = namespace_of(error)
        if self.name == "huber":
            return -xp.clip(error, -self.threshold, self.threshold)
        return (0.5 - self.quantile) - xp.clip(error / (2.0 * self.band), -0.5, 0.5)

    def _relative(self, target: Array, prediction: Array) -> Array:
        """Return what the loss is above that of ``mu = 1``: the integral of its slope."""
        xp = namespace_of(prediction)

        def integral(a: float) -> Array:
            if a == 0:
                return prediction
            near = xp.clip(a * prediction, None, _HIGHEST_LOG)
            return (xp.expm1(near) + xp.exp(near) * (a * prediction - near)) / a

        return integral(2.0 - self.power) - target * integral(1.0 - self.power)


def weighted_quantile(values: FloatArray, weight: FloatArray, share: float) -> float:
    """Return the least value that ``share`` of the weight does not exceed.

    A weight of 2 is the same as the value given twice.
    """
    order = np.argsort(values, kind="stable")
    carried = np.cumsum(weight[order])
    # A hair below, so that rounding in the sums does not move it to the next value.
    place = np.searchsorted(carried, share * carried[-1] * (1.0 - TIE))
    return float(values[order][min(int(place), len(values) - 1)])
