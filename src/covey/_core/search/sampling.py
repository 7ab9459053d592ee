"""Some rows of a long table: to fit on, and to compare candidates by.

What a row is for is decided by its own draw, whichever block it lies in: in each class the lowest
draws are fitted on, the highest held out. So a sample is a part of a larger one, and no row that
is fitted on is ever held out. Of a small class more rows are taken than its share, and each counts
for less. The only row of a class is fitted on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from covey._core.arrays import BoolArray, FloatArray, IntArray
from covey._core.random import Purpose, UniformRows

# Rows of a class that a rung fits on, if there are twice as many.
_LEAST_OF_CLASS = 100
# What members predict, and how much they matter, is known well enough on average of so many rows.
ROWS_FOR_MEANS = 50_000


@dataclass(frozen=True)
class RowSample:
    """Some rows of a table, and what the weight of each is multiplied with."""

    rows: IntArray  # rows that are fitted on come first
    n_fitted: int
    factor: FloatArray

    @property
    def fitted(self) -> RowSample:
        """Those that are fitted on."""
        return RowSample(self.rows[: self.n_fitted], self.n_fitted, self.factor[: self.n_fitted])


@dataclass(frozen=True)
class SampledRows:
    """Some rows of a block, with their codes or values; those to fit on come first."""

    X: Any
    target: npt.NDArray[Any]
    weight: FloatArray
    n_fitted: int


def sampled_rows(
    n_fitted: int, counts: IntArray, seed: int, start: int, codes: IntArray, used: BoolArray
) -> RowSample:
    """The sample of rows from number ``start`` on that fits on about ``n_fitted`` of the table.

    As many are held out. ``counts`` (C,) are the rows with a weight of each class in the table,
    ``codes`` (n,) the classes of these rows, ``used`` (n,) whether they have a weight.
    """
    share = n_fitted / counts.sum()
    taken = np.minimum(0.5, np.maximum(share, _LEAST_OF_CLASS / np.maximum(counts, 1)))
    taken[counts == 1] = 1.0
    draws = UniformRows(seed, Purpose.SAMPLE, 0, 0, 1).read(start, len(codes))[:, 0]
    of_class = taken[codes]
    fitted = np.flatnonzero(used & (draws < of_class))
    held_out = np.flatnonzero(used & (draws >= 1.0 - of_class) & (counts[codes] > 1))
    rows = np.concatenate([fitted, held_out])
    return RowSample(rows, len(fitted), share / of_class[rows])
