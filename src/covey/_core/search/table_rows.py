"""Some rows of a table, and what is known of them before a search: sums, extremes and columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey._core.arrays import BoolArray, FloatArray, IntArray
from covey._core.basis import Basis
from covey._core.moments import extent, scaled_means, scaled_squares
from covey._core.quantiles import WeightedRows
from covey._core.search.sampling import SampledRows, sampled_rows
from covey._core.search.targets import ClassTarget, Target

# Numbers that are copied, or computed, at once: bounds the memory that this needs.
NUMBERS_AT_ONCE = 1 << 18


def extremes(rows: Any) -> FloatArray:
    """Return the greatest value of each column, and of its negative, (2, D).

    A sparse column holds a 0, whether or not it has an empty entry.
    """
    if not hasattr(rows, "tocsr"):
        highest = np.max(rows, axis=0, initial=-np.inf)
        return np.stack([highest, -np.min(rows, axis=0, initial=np.inf)])
    if not rows.shape[0]:
        return np.zeros((2, rows.shape[1]))
    ends = rows.max(axis=0), -rows.min(axis=0)
    return np.maximum([end.toarray().ravel() for end in ends], 0.0)


class TableRows:
    """Rows of a table from row ``start`` on, in the order of their target, and their weights."""

    def __init__(self, X: Any, target: Target, weight: FloatArray, start: int) -> None:
        self.target = target
        self.n_classes = target.likelihood.n_outputs  # 1 for numbers
        self._order = target.order
        self._start = start
        # The rows as they came, since a copy of all takes much memory, and where in them lies each
        # row of the block's own order (None: they came in this order).
        self._given = X
        self._at: IntArray | None = self._order
        self.n_features = int(X.shape[1])
        self._raw_weight = self.weight = weight[self._order]
        self.is_sparse = hasattr(X, "tocsr")
        self._expanded: tuple[str, FloatArray] | None = None
        self._sorted: tuple[slice, WeightedRows] | None = None

    def _rows_in_order(self, which: slice | IntArray | BoolArray = slice(None)) -> Any:
        """The rows, all or some, in the order in which the block keeps them."""
        return self._given[which if self._at is None else self._at[which]]

    def sampled(self, n_fitted: int, counts: IntArray, seed: int) -> SampledRows:
        """The rows of a rung that lie in this block."""
        codes, used = self._as_given()
        sample = sampled_rows(n_fitted, counts, seed, self._start, codes, used)
        at = self._position()[sample.rows]
        target = self.target.codes if isinstance(self.target, ClassTarget) else self.target.values
        weight = self._raw_weight[at] * sample.factor
        X = self._rows_in_order(at)
        return SampledRows(X, target[at], weight, sample.n_fitted)

    def class_counts(self) -> tuple[IntArray, FloatArray]:
        """How many rows of each class have a weight, (C,), and the sum of all weights, (1,)."""
        counts = np.bincount(self.target.codes[self.weight > 0], minlength=self.n_classes)
        return counts, np.array([self._raw_weight.sum()])

    def n_rows(self) -> IntArray:
        """How many rows there are, (1,)."""
        return np.array([len(self.weight)])

    def largest_weight(self) -> FloatArray:
        """The weight of the heaviest row, (1,)."""
        return np.array([self._raw_weight.max(initial=0.0)])

    def set_weight_unit(self, unit: FloatArray) -> None:
        """Count weights in units of the largest one."""
        # Only their ratios matter; single precision has a smaller range.
        self.weight = self._raw_weight / unit[0]

    def weight_sum(self) -> tuple[FloatArray]:
        """The sum of all weights in these units, (1,)."""
        return (np.array([self.weight.sum()]),)

    def extremes(self, used: bool) -> FloatArray:
        """The greatest value of each feature, and of its negative, (2, D).

        With ``used``, over rows that have a weight.
        """
        rows = self._given
        if used and not (self.weight > 0).all():
            rows = self._rows_in_order(self.weight > 0)
        return extremes(rows)

    def count_between(self, low: FloatArray, high: FloatArray) -> tuple[IntArray]:
        """How many rows have a value of each feature that is neither, (D,)."""
        return (np.sum((low != self._given) & (high != self._given), axis=0),)

    def lowest_values(self, which: slice, most: int) -> FloatArray:
        """The lowest values of some features, as many as there are up to ``most``, then NaN."""
        found = np.full((which.stop - which.start, most), np.nan)
        for column, values in zip(found, self._in_order(which).values, strict=True):
            first = np.append(True, values[1:] != values[:-1])[: len(values)]
            lowest = values[np.flatnonzero(first)[:most]]
            column[: len(lowest)] = lowest
        return found

    def weight_up_to(self, which: slice, values: FloatArray) -> tuple[FloatArray]:
        """The weight of rows whose values of some features (d,) are at most ``values`` (d, m)."""
        return (self._in_order(which).up_to(values),)

    def _in_order(self, which: slice) -> WeightedRows:
        """Some columns in rising order; the last ones are kept: they are needed repeatedly."""
        if self._sorted is None or self._sorted[0] != which:
            used = self.weight > 0
            columns = self._given[:, which][used if self._at is None else self._at[used]].T
            weight = np.broadcast_to(self.weight[used], columns.shape)
            self._sorted = which, WeightedRows(columns, weight)
        return self._sorted[1]

    def extent(self, name: str, basis: Basis) -> FloatArray:
        """See `covey._core.moments.extent`; of the columns of a basis."""
        return extent(self._columns(name, basis), self.weight)

    def scaled_means(
        self, name: str, basis: Basis, size: FloatArray, total: FloatArray
    ) -> tuple[FloatArray]:
        """See `covey._core.moments.scaled_means`."""
        return (scaled_means(self._columns(name, basis), self.weight, size, total),)

    def scaled_squares(
        self, name: str, basis: Basis, size: FloatArray, center: FloatArray, total: FloatArray
    ) -> tuple[FloatArray]:
        """See `covey._core.moments.scaled_squares`."""
        return (scaled_squares(self._columns(name, basis), self.weight, size, center, total),)

    def _columns(self, name: str, basis: Basis) -> Any:
        """The columns of a basis: (P, n), or a CSC matrix; kept until they are standardized."""
        if self._expanded is None or self._expanded[0] != name:
            if self.is_sparse:
                self._expanded = name, self._rows_in_order().tocsc()
            else:
                self._expanded = name, basis.expand(self._features_first())
        return self._expanded[1]

    def _features_first(self) -> FloatArray:
        """The rows in order as columns (D, n), without a second copy of all of them."""
        columns = np.empty((self.n_features, len(self._order)))
        at_once = max(1, NUMBERS_AT_ONCE // max(1, self.n_features))
        for start in range(0, len(self._order), at_once):
            some = slice(start, start + at_once)
            columns[:, some] = self._rows_in_order(some).T
        return columns

    def _position(self) -> IntArray:
        """Where each row lies, in the order in which they came."""
        position = np.empty(len(self._order), dtype=np.int64)
        position[self._order] = np.arange(len(self._order))
        return position

    def _as_given(self) -> tuple[IntArray, BoolArray]:
        """The classes of rows in the order in which they came, and whether they have a weight."""
        codes, used = np.empty_like(self.target.codes), np.empty(len(self.weight), dtype=bool)
        codes[self._order], used[self._order] = self.target.codes, self.weight > 0
        return codes, used
