"""The columns that members see of a sample: its features, ramps of each, products of two.

A linear member on features is a plane. On ramps, which rise from 0 to 1 between two quantiles of a
feature and are constant elsewhere, it bends along each feature and stays bounded beyond the data;
on products of centered features it has interactions. It remains linear in its coefficients, and so
readable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from covey._core.arrays import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    is_on_host,
    like,
    namespace_of,
)
from covey._core.limits import LARGEST
from covey._state import Array as Numbers
from covey._state import Index, Whole, refuse

# The fields that have an entry for each column.
_COLUMNS = ("feature", "partner", "low", "high")


@dataclass(frozen=True)
class Basis:
    """The columns that members see: every feature, then ramps, then products.

    With ``seen``, no value of a new row counts as farther out than its ``reach``, which extends
    the range of the training rows by its own length on both sides, and values are multiplied as if
    they lay within that range: without bounds, one row that is far out gets a prediction beyond
    all reason. (Of 34 tables of numbers, linear ones lost much where values were held at the
    range's end; none lost with this reach: ``python -m benchmarks.regression.limits``.)
    """

    n_features: Annotated[int, Whole(1, letter="D")]
    # For each column: the feature that it is made of, and its partner in a product; -1 for none.
    feature: Annotated[IntArray, Index("P", "D")]
    partner: Annotated[IntArray, Index("P", "D", none=True)]
    # Where its ramp begins and ends; NaN for none.
    low: Annotated[FloatArray, Numbers("P", nan=True)]
    high: Annotated[FloatArray, Numbers("P", nan=True)]
    # What features are centered by before multiplying, and their least and greatest values.
    center: Annotated[FloatArray, Numbers("D")]
    seen: Annotated[FloatArray | None, Numbers("2 D")] = None

    def _restored(self) -> None:
        n_features, ramps = self.n_features, ~np.isnan(self.low)
        own = np.array_equal(self.feature[:n_features], np.arange(n_features))
        refuse("feature", "does not begin with all features.", own)
        refuse("high", "belongs to no ramp.", np.array_equal(ramps, ~np.isnan(self.high)))
        products = self.partner >= 0
        special = ramps | products
        plain = not special[:n_features].any() and special[n_features:].all()
        refuse("low", "is not a column.", plain and not (ramps & products).any())
        with np.errstate(over="ignore", divide="ignore"):
            rises = 1.0 / (self.high[ramps] - self.low[ramps])
        refuse("high", "is not above low.", np.isfinite(rises).all() and (rises > 0).all())
        in_order = self.seen is None or (self.seen[0] <= self.seen[1]).all()
        refuse("seen", "is not a range.", in_order)

    @classmethod
    def plain(cls, n_features: int) -> Basis:
        """Return the features alone."""
        none = np.full(n_features, np.nan)
        return cls(
            n_features,
            np.arange(n_features),
            np.full(n_features, -1),
            none,
            none,
            np.zeros(n_features),
        )

    def _with(
        self, feature: IntArray, partner: IntArray, low: FloatArray, high: FloatArray, **known: Any
    ) -> Basis:
        """Return this basis with more columns, made of features (and partners) or ramps."""
        return replace(
            self,
            feature=np.concatenate([self.feature, feature]),
            partner=np.concatenate([self.partner, partner]),
            low=np.concatenate([self.low, low]),
            high=np.concatenate([self.high, high]),
            **known,
        )

    @classmethod
    def ramps(cls, knots: list[FloatArray]) -> Basis:
        """Return features, and ramps between the knots of each column that has three or more."""
        with np.errstate(over="ignore", divide="ignore"):
            # A ramp that is steeper than floats can represent is left out.
            rises = [np.isfinite(1.0 / np.diff(found)).all() for found in knots]
        knots = [
            found if len(found) > 2 and finite else found[:0]
            for found, finite in zip(knots, rises, strict=True)
        ]
        of = np.repeat(np.arange(len(knots)), [max(0, len(found) - 1) for found in knots])
        low = np.concatenate([np.empty(0), *[found[:-1] for found in knots]])
        high = np.concatenate([np.empty(0), *[found[1:] for found in knots]])
        return cls.plain(len(knots))._with(of, np.full(len(of), -1), low, high)

    @classmethod
    def products(
        cls,
        two_valued: BoolArray,
        center: FloatArray,
        seen: FloatArray | None = None,
        used: BoolArray | None = None,
        pairs: BoolArray | None = None,
    ) -> Basis:
        """Return features, their products, and the squares of those with more than two values.

        With ``used`` (D,), only these features are multiplied, and with ``pairs`` (D, D) only by
        those that they are paired with.
        """
        multiplied = np.arange(len(two_valued)) if used is None else np.flatnonzero(used)
        first, second = (multiplied[place] for place in np.triu_indices(len(multiplied)))
        kept = (first != second) | ~two_valued[first]
        if pairs is not None:
            kept &= pairs[first, second]
        none = np.full(int(kept.sum()), np.nan)
        plain = cls.plain(len(two_valued))
        return plain._with(first[kept], second[kept], none, none, center=center, seen=seen)

    def union(self, other: Basis) -> Basis:
        """Return the columns of both: the features once, then the columns special to each."""
        new = slice(other.n_features, None)
        known = {}
        if (other.partner >= 0).any():
            known = {"center": other.center, "seen": other.seen}
        return self._with(
            other.feature[new], other.partner[new], other.low[new], other.high[new], **known
        )

    @property
    def n_columns(self) -> int:
        """Return how many columns members see."""
        return len(self.feature)

    @cached_property
    def is_plain(self) -> bool:
        """Return whether the columns are the features themselves, of all rows within reach."""
        return len(self.feature) == self.n_features

    @cached_property
    def reach(self) -> FloatArray | None:
        """The least and the greatest value that counts of each feature, (2, n_features)."""
        if self.seen is None:
            return None
        with np.errstate(over="ignore"):
            length = self.seen[1] - self.seen[0]
            return np.stack([self.seen[0] - length, self.seen[1] + length])

    def expand(self, columns: Array) -> Array:
        """Return the columns (n_columns, n) of features (D, n), of their device and precision.

        Single precision is for features that are standardized: of others it may lose ramps.
        """
        if self.is_plain and self.seen is None:
            return columns
        xp = namespace_of(columns)
        # The shared functions make masks of NumPy's arrays, which takes longer.
        clip = np.clip if is_on_host(columns) else xp.clip
        reach = self.reach
        if reach is not None and columns.shape[1]:
            low, high = like(columns, reach[0]), like(columns, reach[1])
            # Mostly all rows are within reach, and need no copy; often all columns are even within
            # that of each, and their ends together are found in a tenth of the time.
            if not (xp.min(columns) >= xp.max(low) and xp.max(columns) <= xp.min(high)):
                beyond = (xp.min(columns, axis=1) < low) | (xp.max(columns, axis=1) > high)
                if bool(xp.any(beyond)):
                    columns = clip(columns, low[:, None], high[:, None])
        if self.is_plain:
            return columns

        def taken(source: Array, positions: IntArray) -> Array:
            return xp.take(source, like(columns, positions, xp.int64), axis=0)

        expanded = taken(columns, self.feature)
        # Ramps, and products, lie next to each other: slices are changed in place.
        for ramps in _runs(~np.isnan(self.low)):
            of_ramps = expanded[ramps]
            of_ramps -= like(columns, self.low[ramps, None])
            of_ramps *= like(columns, 1.0 / (self.high[ramps] - self.low[ramps])[:, None])
            clip(of_ramps, 0.0, 1.0, out=of_ramps)
        for pairs in _runs(self.partner >= 0):
            inside = columns
            if self.seen is not None:
                inside = clip(columns, *(like(columns, end[:, None]) for end in self.seen))
            centered = inside - like(columns, self.center[:, None])
            of_pairs = expanded[pairs]
            of_pairs[...] = taken(centered, self.feature[pairs])
            with np.errstate(over="ignore"):
                of_pairs *= taken(centered, self.partner[pairs])
            if float(xp.finfo(columns.dtype).max) > LARGEST:
                # Far beyond all training rows; but infinities have no difference.
                clip(of_pairs, -LARGEST, LARGEST, out=of_pairs)
        return expanded

    def rows(self, X: Any) -> Any:
        """Return the columns (n, n_columns) of rows (n, D), sparse if rows and basis allow it."""
        reach = self.reach
        if self.is_plain:
            if reach is None:
                return X
            if hasattr(X, "tocsr") and ((reach[0] <= 0) & (reach[1] >= 0)).all():
                X = X.tocsr(copy=True)
                X.data = np.clip(X.data, reach[0][X.indices], reach[1][X.indices])
                return X
        columns = (X.toarray() if hasattr(X, "toarray") else X).T
        return self.expand(np.asarray(columns, dtype=np.float64)).T

    def of_standardized(self, mean: FloatArray, scale: FloatArray) -> tuple[Basis, FloatArray]:
        """Return the basis for features (x - mean) / scale, and the divisors of its columns (P,).

        A product of two is divided by the scale of both, a ramp by 1, a feature by its scale; a
        feature is shifted, too.
        """
        both = mean[self.feature], scale[self.feature]
        basis = replace(
            self,
            low=(self.low - both[0]) / both[1],
            high=(self.high - both[0]) / both[1],
            center=(self.center - mean) / scale,
            seen=None if self.seen is None else (self.seen - mean) / scale,
        )
        divided = np.where(np.isnan(self.low), both[1], 1.0)
        paired = self.partner >= 0
        divided[paired] *= scale[self.partner[paired]]
        return basis, divided

    def only(self, columns: BoolArray) -> tuple[Basis, IntArray]:
        """Return some of the columns and their positions; the features themselves all stay."""
        kept = np.flatnonzero(columns | (np.arange(self.n_columns) < self.n_features))
        basis = replace(self, **{name: getattr(self, name)[kept] for name in _COLUMNS})
        return basis, kept

    def widened(self, places: IntArray, n_features: int) -> tuple[Basis, IntArray]:
        """Return these columns where the features are at these places (D,) among more.

        The positions (n_columns,) of the columns are returned, too; others are unused features.
        """
        made = slice(self.n_features, None)
        partner = self.partner[made]
        plain = Basis.plain(n_features)
        plain.center[places] = self.center
        seen = self.seen
        if seen is not None:
            seen = np.zeros((2, n_features))
            seen[:, places] = self.seen
        basis = plain._with(
            places[self.feature[made]],
            np.where(partner < 0, -1, places[partner]),
            self.low[made],
            self.high[made],
            seen=seen,
        )
        return basis, np.concatenate([places, np.arange(n_features, basis.n_columns)])

    def without(
        self, gone: BoolArray, values: FloatArray
    ) -> tuple[Basis, IntArray, FloatArray, FloatArray]:
        """Return the basis of the other features where some (D,) always have these values (D,).

        Each old column is a factor times a new one, plus a constant; positions (-1 for none),
        factors and constants (n_columns,) are returned, too. A product with such a feature is a
        ramp of its partner, over the range in which it is multiplied.
        """
        assert self.seen is not None
        paired, one = self.partner >= 0, gone[self.feature]
        two = paired & gone[self.partner]
        whole, half = one & (two | ~paired), paired & (one ^ two)
        constant = np.where(whole, self.expand(values[:, None])[:, 0], 0.0)
        at = np.where(one, self.partner, self.feature)[half]
        by = np.where(one, self.feature, self.partner)[half]
        rise, (low, high) = np.clip(values, *self.seen)[by] - self.center[by], self.seen[:, at]
        kept, factor = ~whole, np.ones(self.n_columns)
        kept[half], factor[half] = high > low, rise * (high - low)
        constant[half] = rise * (low - self.center[at])
        parts: dict[str, Any] = {name: getattr(self, name).copy() for name in _COLUMNS}
        for name, new in zip(_COLUMNS, (at, -1, low, high), strict=True):
            parts[name][half] = new
        parts = {name: part[kept] for name, part in parts.items()}
        number = np.append(np.cumsum(~gone) - 1, -1)  # -1 stays
        parts |= {name: number[parts[name]] for name in ("feature", "partner")}
        rest: dict[str, Any] = {"center": self.center[~gone], "seen": self.seen[:, ~gone]}
        place = np.where(kept, np.cumsum(kept) - 1, -1)
        return Basis(int((~gone).sum()), **parts, **rest), place, factor, constant

    def features_of(self, columns: BoolArray) -> BoolArray:
        """Return which features (..., D) are in use, given which columns (..., n_columns) are."""
        used = np.zeros((*columns.shape[:-1], self.n_features), dtype=bool)
        for column, (feature, partner) in enumerate(zip(self.feature, self.partner, strict=True)):
            used[..., feature] |= columns[..., column]
            if partner >= 0:
                used[..., partner] |= columns[..., column]
        return used

    def on_features(self, values: FloatArray) -> FloatArray:
        """Return columns' values (n_columns,) summed by feature (D,), halved between partners."""
        alone = self.partner < 0
        share = np.where(alone, values, values / 2)
        total = np.zeros(self.n_features)
        np.add.at(total, self.feature, share)
        np.add.at(total, self.partner[~alone], share[~alone])
        return total

    def names(self, features: Sequence[str]) -> list[str]:
        """Return the columns' names, in terms of the features'."""

        def centered(which: int) -> str:
            by = self.center[which]
            if not by:
                return str(features[which])
            return f"({features[which]} {'-' if by > 0 else '+'} {abs(by):.4g})"

        names = []
        for column, feature in enumerate(self.feature):
            partner = self.partner[column]
            if partner == feature:
                names.append(f"{centered(feature)}**2")
            elif partner >= 0:
                names.append(f"{centered(feature)}*{centered(partner)}")
            elif np.isnan(self.low[column]):
                names.append(str(features[feature]))
            else:
                low, high = self.low[column], self.high[column]
                names.append(f"ramp({features[feature]}, {low:.4g}, {high:.4g})")
        return names


@dataclass(frozen=True)
class ScaledBasis:
    """A basis, and the means and scales that standardize its columns; all (P,)."""

    basis: Basis
    mean: FloatArray
    scale: FloatArray
    usable: BoolArray

    def in_units_of_X(
        self, theta: FloatArray, intercept: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return coefficients (..., P) and intercepts (...) for columns in the units of X."""
        coef = theta * self.usable / self.scale
        return coef, intercept - coef @ self.mean

    def only(self, columns: BoolArray) -> tuple[ScaledBasis, IntArray]:
        """Return some of the columns and their positions; the features themselves all stay."""
        basis, kept = self.basis.only(columns)
        return ScaledBasis(basis, self.mean[kept], self.scale[kept], self.usable[kept]), kept


def _runs(which: BoolArray) -> list[slice]:
    """Return the slices of positions that are true, one after another."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], which, [False]]).astype(np.int8)))
    return [slice(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]
