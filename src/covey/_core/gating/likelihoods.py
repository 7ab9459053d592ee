"""What gated members are fitted to: the classes of rows, or numbers under a loss.

A likelihood knows the target of some rows. From the members' logits ``(K, C, R, n)`` and the
gates ``(K, R, n)`` it gives the weighted mean log-likelihood of each run with its slopes, and what
the gated members predict of each row.
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
from array_api_compat import device

from covey._core.arrays import Array, like, namespace_of
from covey._core.softmax_linear import Blocks, true_class
from covey._core.value_losses import ValueLoss

Pool = Literal["linear", "log"]

# A probability of 0 counts as this where predictions are compared.
_LEAST = float(np.finfo(np.float64).eps)


class Likelihood(Protocol):
    """The target of some rows, and how well gated members predict it."""

    n_outputs: int  # how many logits a member has: the number of classes, or 1 for numbers

    def value_and_slopes(
        self, logits: Array, gates: Array, weight: Array, pool: Pool, frozen: bool
    ) -> tuple[Array, Array | None, Array]:
        """The log-likelihood (R,), and its slopes by the members' and by the gate's logits.

        ``weight`` is (R, n). Of frozen members there is no slope; logits of others may be written
        over.
        """

    def predictions(self, logits: Array, gates: Array, pool: Pool) -> Array:
        """What candidates are compared by, (R, n): a prediction of each row's own target."""

    def losses(self, predictions: Array) -> Array:
        """The loss of each of these predictions, (R, n)."""


def _odds(logits: Array) -> Array:
    """exp, but finite: beyond this, a probability is no other number any more."""
    xp = namespace_of(logits)
    most = float(np.log(float(xp.finfo(logits.dtype).max))) - 1.0
    return xp.exp(xp.minimum(logits, xp.asarray(most, dtype=logits.dtype, device=device(logits))))


def softmax_first(logits: Array) -> Array:
    """Softmax over the first axis, in place."""
    xp = namespace_of(logits)
    logits -= xp.max(logits, axis=0)
    xp.exp(logits, out=logits)
    logits /= xp.sum(logits, axis=0)
    return logits


def pooled(member_logits: Array, gates: Array, pool: Pool) -> Array:
    """Probabilities (C, R, n) of members' logits or log-probabilities (K, C, R, n), gated."""
    xp = namespace_of(gates)
    if pool == "log":
        return softmax_first(xp.sum(gates[:, None] * member_logits, axis=0))
    shape = member_logits.shape[1], *gates.shape[1:]
    total = xp.zeros(shape, dtype=member_logits.dtype, device=device(member_logits))
    for gate, logits in zip(gates, member_logits, strict=True):
        total += gate * softmax_first(xp.asarray(logits, copy=True))
    return total


def contrast(values: Array, axis: int) -> Array:
    """Values of two classes as one, which is all that probabilities depend on.

    It is the second less the first over sqrt(2), so that a sum of squares stays what it is where
    the two are opposite, as those of penalized members are at the optimum.
    """
    first, second = (slice(None),) * axis + (slice(0, 1),), (slice(None),) * axis + (slice(1, 2),)
    return (values[second] - values[first]) * float(np.sqrt(0.5))


def of_two_classes(values: Array, axis: int) -> Array:
    """The opposite values of two classes whose `contrast` this is."""
    half = values * float(np.sqrt(0.5))
    return namespace_of(values).concat([-half, half], axis=axis)


class ClassLikelihood:
    """Of rows sorted by class, whose classes are these blocks; a prediction is a probability.

    linear    p(c | x) = sum_k g_k(x) p_k(c | x)                    a mixture
    log       p(c | x) ~ prod_k p_k(c | x) ** g_k(x)                eq. (10) with i_k(x)

    To fit members of two classes, their logits can be the `contrast` of both, (K, 1, R, n): all
    that there is to do for a row is then done once, not for each class.
    """

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.n_outputs = len(blocks)

    def predictions(self, logits: Array, gates: Array, pool: Pool) -> Array:
        """The probability of each row's own class, (R, n)."""
        fused = pooled(logits, gates, pool)
        return true_class(fused, self.blocks, namespace_of(fused).empty_like(fused[0]))

    def losses(self, predictions: Array) -> Array:
        """Negative logarithms; a probability of 0 counts as the rounding of 1."""
        xp = namespace_of(predictions)
        least = xp.asarray(_LEAST, dtype=predictions.dtype, device=device(predictions))
        return -xp.log(xp.maximum(predictions, least))

    def value_and_slopes(
        self, logits: Array, gates: Array, weight: Array, pool: Pool, frozen: bool
    ) -> tuple[Array, Array | None, Array]:
        """See `Likelihood`."""
        if logits.shape[1] < self.n_outputs:
            margins = self._margins(logits[:, 0])
            of_two = self._linear_of_two if pool == "linear" else self._log_of_two
            return of_two(margins, gates, weight)
        of_pool = self._linear if pool == "linear" else self._log
        return of_pool(logits, gates, weight, frozen)

    def _margins(self, contrasts: Array) -> Array:
        """By how much the logit of the true class of two is above the other, (..., n)."""
        margins = contrasts * float(np.sqrt(2.0))
        margins[..., self.blocks[0]] *= -1.0
        return margins

    def _by_contrasts(self, by_margins: Array) -> Array:
        """The slopes (K, 1, R, n) by contrasts, of those by margins, in place."""
        by_margins *= float(np.sqrt(2.0))
        by_margins[..., self.blocks[0]] *= -1.0
        return by_margins[:, None]

    def _linear_of_two(
        self, margins: Array, gates: Array, weight: Array
    ) -> tuple[Array, Array, Array]:
        """Of log sum_k g_k p_k(y)."""
        xp = namespace_of(gates)
        wrong = _odds(-margins)
        true = 1.0 / (1.0 + wrong)
        responsibility = gates * (true + float(xp.finfo(true.dtype).tiny))
        likelihood = xp.sum(responsibility, axis=0)
        responsibility /= likelihood
        value = xp.sum(weight * xp.log(likelihood), axis=1)
        by_gates = weight * (responsibility - gates)
        responsibility *= weight
        responsibility *= wrong
        responsibility *= true
        return value, self._by_contrasts(responsibility), by_gates

    def _log_of_two(
        self, margins: Array, gates: Array, weight: Array
    ) -> tuple[Array, Array, Array]:
        """Of log softmax_y(sum_k g_k L_k)."""
        xp = namespace_of(gates)
        fused = xp.sum(gates * margins, axis=0)
        value = -xp.sum(weight * xp.logaddexp(xp.zeros_like(fused), -fused), axis=1)
        pull = weight / (1.0 + _odds(fused))
        by_gates = gates * pull * (margins - fused)
        return value, self._by_contrasts(gates * pull), by_gates

    def _linear(
        self, logits: Array, gates: Array, weight: Array, frozen: bool
    ) -> tuple[Array, Array | None, Array]:
        """Of log sum_k g_k p_k(y)."""
        xp = namespace_of(gates)
        highest = xp.max(logits, axis=1)[:, None]
        if frozen:
            p = xp.exp(logits - highest)
        else:
            # Nobody needs these logits any more.
            logits -= highest
            p = xp.exp(logits, out=logits)
        p /= xp.sum(p, axis=1)[:, None]
        true = xp.empty(gates.shape, dtype=gates.dtype, device=device(gates))
        for label, rows in enumerate(self.blocks):
            true[:, :, rows] = p[:, label, :, rows]
        # Tiny, not zero: a row that every member rules out still has a direction to go.
        responsibility = gates * (true + float(xp.finfo(true.dtype).tiny))
        likelihood = xp.sum(responsibility, axis=0)
        responsibility /= likelihood
        value = xp.sum(weight * xp.log(likelihood), axis=1)
        by_gates = weight * (responsibility - gates)
        if frozen:
            return value, None, by_gates
        responsibility *= weight
        p *= -responsibility[:, None]
        for label, rows in enumerate(self.blocks):
            p[:, label, :, rows] += responsibility[:, :, rows]
        return value, p, by_gates

    def _log(
        self, logits: Array, gates: Array, weight: Array, frozen: bool
    ) -> tuple[Array, Array | None, Array]:
        """Of log softmax_y(sum_k g_k L_k)."""
        xp = namespace_of(gates)
        fused = xp.sum(gates[:, None] * logits, axis=0)
        fused -= xp.max(fused, axis=0)
        log_true = true_class(fused, self.blocks, xp.empty_like(gates[0]))
        xp.exp(fused, out=fused)
        normalizer = xp.sum(fused, axis=0)
        value = xp.sum(weight * (log_true - xp.log(normalizer)), axis=1)
        fused *= -weight / normalizer
        for label, rows in enumerate(self.blocks):
            fused[label, :, rows] += weight[:, rows]
        pull = xp.sum(logits * fused, axis=1)  # (K, R, n)
        by_gates = gates * (pull - xp.sum(gates * pull, axis=0))
        return value, None if frozen else gates[:, None] * fused, by_gates


class ValueLikelihood:
    """Of rows whose target are numbers; a member's only logit is the number it predicts.

    Both pools are the mean ``f(x) = sum_k g_k(x) f_k(x)``, and the log-likelihood is the loss's
    negative. With one member this is a penalized linear model: ridge regression, if the loss
    is squared.
    """

    n_outputs = 1

    def __init__(self, target: npt.NDArray[np.float64], loss: ValueLoss) -> None:
        self.target = target
        self.loss = loss
        self._targets: dict[str, Array] = {}

    def predictions(self, logits: Array, gates: Array, pool: Pool) -> Array:
        """The number that the gated members predict of each row, (R, n)."""
        return namespace_of(gates).sum(gates * logits[:, 0], axis=0)

    def losses(self, predictions: Array) -> Array:
        """See `Likelihood`."""
        return self.loss.value(self._target_like(predictions) - predictions)

    def value_and_slopes(
        self, logits: Array, gates: Array, weight: Array, pool: Pool, frozen: bool
    ) -> tuple[Array, Array | None, Array]:
        """See `Likelihood`."""
        xp = namespace_of(gates)
        predicted = self.predictions(logits, gates, pool)
        error = self._target_like(predicted) - predicted
        value = -xp.sum(weight * self.loss.value(error), axis=1)
        by_members = -(weight * self.loss.slope(error)) * gates
        return value, by_members[:, None], by_members * (logits[:, 0] - predicted)

    def _target_like(self, array: Array) -> Array:
        """The target in the precision of an array, and where it lies; made once for each."""
        key = str(array.dtype)
        if key not in self._targets:
            self._targets[key] = like(array, self.target, array.dtype)
        return self._targets[key]
