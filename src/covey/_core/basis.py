"""What members see of a sample: its features, ramps of each, products of two.

A linear member on features is a plane. On ramps, which rise from 0 to 1 between two quantiles
of a feature and are constant elsewhere, it bends along each feature and does not run away
beyond the data; on products of centred features it knows of interactions. It stays linear in
its coefficients, and so readable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_LARGEST = 1e200


def quantile_knots(column: FloatArray, weight: FloatArray, n_ramps: int) -> FloatArray:
    """Values of a column at evenly spaced quantiles, its least and its greatest included.

    Parameters
    ----------
    column, weight : ndarrays of shape (n,)
    n_ramps : int
        The most intervals between them. A column of fewer values gives all of them.

    Returns
    -------
    knots : ndarray of shape (at most n_ramps + 1,)
        Rising.
    """
    used = weight > 0
    values: FloatArray
    values, place = np.unique(column[used], return_inverse=True)
    if len(values) <= n_ramps + 1:
        return values
    share = np.cumsum(np.bincount(place, weight[used]))
    wanted = np.arange(n_ramps + 1) / n_ramps * share[-1]
    # A hair below, so that rounding in the sums does not move a quantile to the next value.
    found = np.searchsorted(share, wanted * (1.0 - 1e-12))
    knots: FloatArray = values[np.unique(found)]
    return knots


@dataclass(frozen=True)
class Basis:
    """The columns that members see: every feature, then ramps, then products.

    Attributes
    ----------
    n_features : int
    feature : ndarray of shape (n_columns,)
        The feature that each column is made of.
    partner : ndarray of shape (n_columns,)
        The one that it is multiplied with; -1 for none.
    low, high : ndarrays of shape (n_columns,)
        Where its ramp begins and ends; NaN for none.
    center : ndarray of shape (n_features,)
        What features are centred by before they are multiplied.
    seen : ndarray of shape (2, n_features) or None
        The least and the greatest value of each feature: what lies beyond is multiplied as if
        it lay there. None: products have no bounds.
    """

    n_features: int
    feature: IntArray
    partner: IntArray
    low: FloatArray
    high: FloatArray
    center: FloatArray
    seen: FloatArray | None = None

    @classmethod
    def plain(cls, n_features: int) -> Basis:
        """The features alone."""
        none = np.full(n_features, np.nan)
        return cls(
            n_features,
            np.arange(n_features),
            np.full(n_features, -1),
            none,
            none,
            np.zeros(n_features),
        )

    @classmethod
    def ramps(cls, columns: FloatArray, weight: FloatArray, n_ramps: int) -> Basis:
        """Features, and ramps between the quantiles of columns (D, n) of three values or more."""
        return cls.between([quantile_knots(column, weight, n_ramps) for column in columns])

    @classmethod
    def between(cls, knots: list[FloatArray]) -> Basis:
        """The same, given the knots of each column."""
        n_features = len(knots)
        with np.errstate(over="ignore", divide="ignore"):
            # A ramp steeper than floats can be is none.
            rises = [np.isfinite(1.0 / np.diff(found)).all() for found in knots]
        knots = [
            found if len(found) > 2 and finite else found[:0]
            for found, finite in zip(knots, rises, strict=True)
        ]
        of = np.repeat(np.arange(n_features), [max(0, len(found) - 1) for found in knots])
        nothing = np.empty(0)
        plain = cls.plain(n_features)
        return Basis(
            n_features,
            np.concatenate([plain.feature, of]),
            np.concatenate([plain.partner, np.full(len(of), -1)]),
            np.concatenate([plain.low, *[found[:-1] for found in knots], nothing]),
            np.concatenate([plain.high, *[found[1:] for found in knots], nothing]),
            plain.center,
        )

    @classmethod
    def products(
        cls, columns: FloatArray, center: FloatArray, seen: FloatArray | None = None
    ) -> Basis:
        """Features, their products, and the squares of those with more than two values.

        ``seen`` is as in the attributes: a product of two values that are both far out is much
        farther, and without bounds one such row of new data is predicted beyond all sense.
        """
        two_valued = np.array(
            [bool(np.all((c == c.min()) | (c == c.max()))) for c in columns], dtype=bool
        )
        return cls.multiplied(two_valued, center, seen)

    @classmethod
    def multiplied(
        cls, two_valued: BoolArray, center: FloatArray, seen: FloatArray | None = None
    ) -> Basis:
        """The same, given which features have two values at most."""
        n_features = len(two_valued)
        first, second = np.triu_indices(n_features)
        kept = (first != second) | ~two_valued[first]
        first, second = first[kept], second[kept]
        none = np.full(len(first), np.nan)
        plain = cls.plain(n_features)
        return Basis(
            n_features,
            np.concatenate([plain.feature, first]),
            np.concatenate([plain.partner, second]),
            np.concatenate([plain.low, none]),
            np.concatenate([plain.high, none]),
            center,
            seen,
        )

    def union(self, other: Basis) -> Basis:
        """The columns of both; the features once, then what is special to each."""
        new = np.arange(other.n_features, other.n_columns)
        multiplies = bool((other.partner >= 0).any())
        return Basis(
            self.n_features,
            np.concatenate([self.feature, other.feature[new]]),
            np.concatenate([self.partner, other.partner[new]]),
            np.concatenate([self.low, other.low[new]]),
            np.concatenate([self.high, other.high[new]]),
            other.center if multiplies else self.center,
            other.seen if multiplies else self.seen,
        )

    @property
    def n_columns(self) -> int:
        """How many columns members see."""
        return len(self.feature)

    @property
    def is_plain(self) -> bool:
        """Whether the columns are the features themselves."""
        return self.n_columns == self.n_features

    def expand(self, columns: FloatArray) -> FloatArray:
        """The columns (n_columns, n) of features (D, n)."""
        if self.is_plain:
            return columns
        columns = np.asarray(columns, dtype=np.float64)
        expanded = np.take(columns, self.feature, axis=0)
        # Ramps, and products, lie next to each other: slices are changed in place.
        for ramps in _runs(~np.isnan(self.low)):
            of_ramps = expanded[ramps]
            of_ramps -= self.low[ramps, None]
            of_ramps *= 1.0 / (self.high[ramps] - self.low[ramps])[:, None]
            np.clip(of_ramps, 0.0, 1.0, out=of_ramps)
        for pairs in _runs(self.partner >= 0):
            inside = columns if self.seen is None else np.clip(columns, *self.seen[:, :, None])
            centered = inside - self.center[:, None]
            of_pairs = np.take(centered, self.feature[pairs], axis=0, out=expanded[pairs])
            with np.errstate(over="ignore"):
                of_pairs *= np.take(centered, self.partner[pairs], axis=0)
            if np.abs(centered).max(initial=0.0) > np.sqrt(_LARGEST):
                # Far beyond all training rows; but infinities have no difference.
                np.clip(of_pairs, -_LARGEST, _LARGEST, out=of_pairs)
        return expanded

    def rows(self, X: Any) -> Any:
        """The columns (n, n_columns) of rows (n, D); sparse rows stay so if the basis is plain."""
        if self.is_plain:
            return X
        return self.expand((X.toarray() if hasattr(X, "toarray") else X).T).T

    def only(self, columns: BoolArray) -> tuple[Basis, IntArray]:
        """Some of the columns, and their places; the features themselves all stay."""
        kept = np.flatnonzero(columns | (np.arange(self.n_columns) < self.n_features))
        basis = Basis(
            self.n_features,
            self.feature[kept],
            self.partner[kept],
            self.low[kept],
            self.high[kept],
            self.center,
            self.seen,
        )
        return basis, kept

    def features_of(self, columns: BoolArray) -> BoolArray:
        """Which features (..., D) are in use, given which columns (..., n_columns) are."""
        used = np.zeros((*columns.shape[:-1], self.n_features), dtype=bool)
        for place, (feature, partner) in enumerate(zip(self.feature, self.partner, strict=True)):
            used[..., feature] |= columns[..., place]
            if partner >= 0:
                used[..., partner] |= columns[..., place]
        return used

    def on_features(self, values: FloatArray) -> FloatArray:
        """Values (n_columns,) of columns summed over features (D,), halved between partners."""
        alone = self.partner < 0
        share = np.where(alone, values, values / 2)
        total = np.zeros(self.n_features)
        np.add.at(total, self.feature, share)
        np.add.at(total, self.partner[~alone], share[~alone])
        return total

    def names(self, features: Sequence[str]) -> list[str]:
        """The columns' names, in terms of the features'."""

        def centred(which: int) -> str:
            by = self.center[which]
            if not by:
                return str(features[which])
            return f"({features[which]} {'-' if by > 0 else '+'} {abs(by):.4g})"

        names = []
        for place, feature in enumerate(self.feature):
            partner = self.partner[place]
            if partner == feature:
                names.append(f"{centred(feature)}**2")
            elif partner >= 0:
                names.append(f"{centred(feature)}*{centred(partner)}")
            elif np.isnan(self.low[place]):
                names.append(str(features[feature]))
            else:
                low, high = self.low[place], self.high[place]
                names.append(f"ramp({features[feature]}, {low:.4g}, {high:.4g})")
        return names


def _runs(which: BoolArray) -> list[slice]:
    """The slices of positions that are true, one after another."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], which, [False]]).astype(np.int8)))
    return [slice(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]
