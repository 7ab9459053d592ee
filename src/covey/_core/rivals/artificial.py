"""Artificial examples: rows like those of a table, and labels unlike those predicted.

What DECORATE (Melville and Mooney, 2003) makes its members disagree with. Columns are drawn
one by one, as if they were independent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covey._core.arrays import BoolArray, FloatArray, IntArray
from covey._core.moments import moments
from covey._core.random import Purpose, UniformRows, normals

# What a probability of zero counts as before it is inverted.
SMALL_PROBABILITY = 1e-6

# An iteration draws three matrices of its own, distinguished by the number of the run.
_NUMERIC, _NOMINAL, _LABELS = 0, 1, 2


@dataclass
class ColumnModel:
    """The Gaussians of numeric columns; the values of nominal ones with cumulative shares."""

    mean: FloatArray
    deviation: FloatArray
    nominal: dict[int, tuple[FloatArray, FloatArray]]

    @classmethod
    def of(cls, X: FloatArray, weight: FloatArray, nominal: list[int]) -> ColumnModel:
        """Describe the columns of a table, whose weights are above zero.

        A value of a nominal column that counts ``n_v`` of ``n`` rows, and is one of ``V``, has the
        probability ``(n_v + 1) / (n + V)`` (Laplace). Row weights are read as shares of the ``n``
        rows.
        """
        mean, deviation = moments(np.ascontiguousarray(X.T), weight)
        share = weight * (len(X) / weight.sum())
        described = {}
        for column in nominal:
            values, codes = np.unique(X[:, column], return_inverse=True)
            counts = np.bincount(codes.ravel(), share, minlength=len(values)) + 1.0
            described[column] = (values, np.cumsum(counts) / counts.sum())
        return cls(mean, deviation, described)

    def draw(self, seed: int, iteration: int, n_rows: int) -> FloatArray:
        """The artificial rows of one iteration, of shape (n_rows, D)."""
        n_features = len(self.mean)
        rows = normals(seed, Purpose.START, _NUMERIC, iteration, (n_rows, n_features))
        rows *= self.deviation
        rows += self.mean
        if self.nominal:
            draws = UniformRows(seed, Purpose.START, _NOMINAL, iteration, len(self.nominal))
            uniform = draws.read(0, n_rows)
            for place, (column, (values, cumulative)) in enumerate(self.nominal.items()):
                rows[:, column] = values[_positions(uniform[:, place, None], cumulative[None, :])]
        return rows


def inverted(probabilities: FloatArray, allowed: BoolArray) -> FloatArray:
    """Probabilities (n, C) that are inversely proportional to those given.

    ``(1 / p_c) / sum_c' (1 / p_c')``, where a ``p`` of zero counts as `SMALL_PROBABILITY`; classes
    that are not ``allowed`` (C,) get 0.

    >>> import numpy as np
    >>> inverted(np.array([[0.8, 0.2]]), np.array([True, True]))
    array([[0.2, 0.8]])
    """
    inverse: FloatArray = np.where(
        allowed, 1.0 / np.maximum(probabilities, SMALL_PROBABILITY), 0.0
    )
    inverse /= inverse.sum(axis=1, keepdims=True)
    return inverse


def opposed_labels(
    probabilities: FloatArray, allowed: BoolArray, seed: int, iteration: int
) -> IntArray:
    """A class for each row, drawn from the `inverted` probabilities."""
    uniform = UniformRows(seed, Purpose.START, _LABELS, iteration, 1).read(0, len(probabilities))
    return _positions(uniform, np.cumsum(inverted(probabilities, allowed), axis=1))


def _positions(uniform: FloatArray, cumulative: FloatArray) -> IntArray:
    """Where uniform draws (n, 1) fall among cumulative probabilities (n or 1, V)."""
    # Rounding may leave the last sum below one; the last value with any probability is meant.
    ends = cumulative < cumulative[:, -1:]
    passed: IntArray = np.sum((uniform >= cumulative) & ends, axis=1, dtype=np.int64)
    return passed
