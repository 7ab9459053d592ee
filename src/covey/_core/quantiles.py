"""Weighted quantiles of numbers whose rows lie in several blocks, and bounds by quantiles.

The weight of the rows up to a value is a sum over blocks, and so a quantile is found by bisection:
not of the values, but of the floats between the least and the greatest one, in their order. There
are fewer than 2^64 of them, so that it ends, and it ends at the very value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from covey._core.arrays import FloatArray
from covey._core.blocks import Blocks
from covey._core.limits import TIE

UintArray = npt.NDArray[np.uint64]

# The number of parts into which a round divides the remaining range.
_PARTS = 16
_SIGN = np.uint64(1 << 63)


def in_order(values: FloatArray) -> UintArray:
    """Return floats as whole numbers that rise with them, without gaps.

    >>> import numpy as np
    >>> a, b, c = in_order(np.array([-1e300, 0.0, 5e-324]))
    >>> bool(a < b), int(c - b)
    (True, 1)
    """
    bits = (values + 0.0).view(np.uint64)  # a zero has one sign
    return np.where(bits & _SIGN, ~bits + np.uint64(1), bits | _SIGN)


def in_floats(numbers: UintArray) -> FloatArray:
    """Return the floats of such whole numbers, as the inverse of `in_order`."""
    bits = np.where(numbers & _SIGN, numbers ^ _SIGN, ~(numbers - np.uint64(1)))
    return bits.view(np.float64)


def quantiles_by_sums(
    rows: Blocks[Any],
    weight_up_to: Callable[..., tuple[FloatArray]],
    lowest: FloatArray,
    highest: FloatArray,
    shares: FloatArray,
    *args: Any,
) -> FloatArray:
    """Return the least values that shares (m,) or (D, m) of the weight do not exceed, (D, m).

    ``weight_up_to(block, *args, values)`` gives, for values (D, k), the weight of the rows of a
    block whose number is at most each; ``lowest`` and ``highest`` (D,) are bounds of the numbers.
    """
    (total,) = rows.sum(weight_up_to, *args, highest[:, None])
    # Rounding in the sums must not move a quantile to the next value.
    wanted = shares * total * (1.0 - TIE)
    # The rows up to `below` weigh less than wanted; those up to `at` weigh as much.
    below = np.repeat(in_order(lowest)[:, None] - np.uint64(1), shares.shape[-1], axis=1)
    at = np.repeat(in_order(highest)[:, None], shares.shape[-1], axis=1)
    steps = np.arange(1, _PARTS, dtype=np.uint64)
    while (at - below > 1).any():
        length = np.maximum((at - below) // np.uint64(_PARTS), np.uint64(1))
        tried = np.minimum(below[:, :, None] + length[:, :, None] * steps, at[:, :, None])
        values = in_floats(tried.reshape(len(tried), -1))
        (weight,) = rows.sum(weight_up_to, *args, values)
        enough = weight.reshape(tried.shape) >= wanted[:, :, None]
        at = np.where(enough, tried, at[:, :, None]).min(axis=2)
        below = np.where(enough, below[:, :, None], tried).max(axis=2)
    return in_floats(at)


class WeightedRows:
    """Sorted numbers (D, n) of rows with the weight up to each, for `quantiles_by_sums`."""

    def __init__(self, values: FloatArray, weight: FloatArray) -> None:
        if (weight == 1.0).all():
            # Sorting takes less time than finding the order.
            self.values = np.sort(values, axis=1)
            self._weight = np.broadcast_to(
                np.arange(values.shape[1] + 1.0), (len(values), values.shape[1] + 1)
            )
            return
        order = np.argsort(values, axis=1)
        self.values = np.take_along_axis(values, order, axis=1)
        weight = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1)
        self._weight = np.concatenate([np.zeros((len(values), 1)), weight], axis=1)

    def up_to(self, values: FloatArray) -> FloatArray:
        """Return the weight of the rows whose numbers are at most ``values`` (D, k)."""
        return np.stack(
            [
                weight[np.searchsorted(column, wanted, side="right")]
                for column, weight, wanted in zip(self.values, self._weight, values, strict=True)
            ]
        )


# -- bounds on the errors of new rows
# --------------------------------------------------------------


# Sums of weights that are this much below a bound reach it.
_ROUNDING = 1e-9


def effective_weights(weight: FloatArray) -> FloatArray:
    """Return weights that sum to the number of equally weighted rows worth as much (Kish).

    All of them are above zero, however small they are compared with others.
    """
    shares = weight / weight.sum()
    return np.maximum(shares / np.square(shares).sum(), np.finfo(np.float64).tiny)


def upper_bound(scores: FloatArray, weight: FloatArray, level: float) -> float:
    r"""Return the score that a new row exceeds with a chance of at most ``1 - level``.

    It is the :math:`\lceil (n + 1) \, level \rceil`-th smallest of n scores, and infinite if there
    are fewer. If the new row and these can be exchanged, its score is equally likely at every
    rank among the n + 1, so that the chance holds exactly. Weights sum to n.
    """
    order = np.argsort(scores, kind="stable")
    below = np.cumsum(weight[order])
    wanted = level * (weight.sum() + 1.0)
    position = int(np.searchsorted(below, wanted - _ROUNDING * max(1.0, wanted)))
    return float(scores[order[position]]) if position < len(scores) else np.inf


def least_accuracy(n_right: float, n_rows: float, chance: float) -> float:
    """Return the least accuracy, except for this chance, by Clopper and Pearson's exact limit."""
    if n_right <= 0:
        return 0.0
    return float(betaincinv(n_right, n_rows - n_right + 1.0, chance))
