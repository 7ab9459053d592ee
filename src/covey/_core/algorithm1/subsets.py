"""Feature subsets: how candidates are proposed (Algorithm 1, lines 6-8) and taken (14-21)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey._core.arrays import Array, BoolArray, FloatArray, IntArray, namespace_of
from covey._core.random import Purpose, UniformRows

# Weighted accuracies closer than this share of the sum of weights are ties: the order in
# which a sum is taken must not decide which subset wins.
TIE = 1e-12

# Each step of "metropolis" multiplies the temperature by this.
COOLING = 0.98

# How many draws are made at once; a matter of speed only.
_DRAWS_AHEAD = 1 << 15


class FlipProposals:
    """Lines 6 and 7: which features each run would flip at each step, with its own probability.

    A feature flips when its *unit* does: a group of columns that flip together, or a column of its
    own; unit -1 never flips. One uniform number is drawn per unit and step, as a function of the
    seed, the member, the run's number and the step.
    """

    def __init__(
        self,
        seed: int,
        member: int,
        runs: Sequence[int],
        probability: FloatArray,
        unit_of_feature: IntArray,
    ) -> None:
        self._probability = probability
        self._unit_of_feature = unit_of_feature
        n_units = int(unit_of_feature.max(initial=-1)) + 1
        self.idle = n_units == 0 or not probability.any()
        self._streams = [UniformRows(seed, Purpose.FLIP, run, member, n_units) for run in runs]
        # Where every feature is a unit of its own, in order, units are features.
        self._alone = bool(np.array_equal(unit_of_feature, np.arange(len(unit_of_feature))))
        self._ahead = max(1, _DRAWS_AHEAD // max(1, n_units * len(runs)))
        self._start = 0
        self._block: BoolArray | None = None

    def at(self, step: int, active: IntArray) -> BoolArray:
        """The features that flip at ``step``, as (len(active), D); ``active`` are positions."""
        if self.idle:
            return np.zeros((len(active), len(self._unit_of_feature)), dtype=bool)
        if self._block is None or not self._start <= step < self._start + self._ahead:
            self._start = step
            self._block = np.stack(
                [
                    stream.read(step, self._ahead) < probability
                    for stream, probability in zip(self._streams, self._probability, strict=True)
                ]
            )
        flips: BoolArray = self._block[active, step - self._start]
        if not self._alone:
            flips = flips[:, self._unit_of_feature] & (self._unit_of_feature >= 0)
        return flips


def beats(challenger: Array, holder: Array, tie: Array) -> Array:
    """Whether accuracies are strictly higher, rounding aside."""
    return challenger - holder > tie


def metropolis(
    challenger: Array,
    holder: Array,
    mean_weight: Array,
    temperature: float,
    step: int,
    draw: Array,
) -> Array:
    """Whether a flipped candidate is taken although it may be worse.

    The energy of a state is its weighted error as a share of the weights,
    ``E = 1 - A / mean(w)``. At step t (from 0) a candidate that raises the energy by
    ``dE`` is taken with probability ``exp(-dE / T_t)``, ``T_t = temperature * 0.98**t``.
    """
    xp = namespace_of(challenger)
    rise = (holder - challenger) / mean_weight
    with np.errstate(under="ignore"):
        # A temperature of zero would make ties undecidable.
        cooled = max(temperature * COOLING**step, np.finfo(np.float64).tiny)
        chance = xp.exp(-xp.clip(rise, 0.0, None) / cooled)
    return draw < chance
