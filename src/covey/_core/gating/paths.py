"""Subset paths: gated members are fitted, drop their weakest features, and are fitted again.

A feature leaves with all of its columns: its ramps, its products. Features that flip together
(`unit`) leave together, and those that never flip stay. The strength of a feature in a member is
the sum of squares of its coefficients over its columns, which are standardized, and over the
classes, less their mean, which changes no probability. The members of a group lose features
jointly: the weakest pairs of member and feature leave first, so that some members end with many
features and some with few or none.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from covey._core.arrays import BoolArray, FloatArray, IntArray
from covey._core.basis import Basis

# The shares of features along a path.
SHARES = (1.0, 0.6, 0.35, 0.2, 0.1, 0.05, 0.02)
# A member has at most this many times the units that members have on average.
_TIMES = 2


def graded(strength: FloatArray) -> FloatArray:
    """Return grades of strengths, a hundredth apart, so that rounding decides nothing."""
    grades, positive = np.zeros_like(strength), strength > 0
    grades[positive] = 1.01 ** np.round(np.log(strength[positive]) / np.log(1.01))
    return grades


class FeatureColumns:
    """The columns of a basis, and the units of features that they are made of.

    ``unit`` (D,) says which features leave together, -1 for those that never leave; ``usable``
    (P,) which columns vary; ``counted`` (D,) which features are counted, by default all: of
    features that are made of one variable, one is. ``signs`` (D,) are 1 for features with which a
    decision never falls, -1 for those with which it never rises, 0 for others (None: all are 0).
    There are at most ``most_products`` of two features.
    """

    def __init__(
        self,
        basis: Basis,
        unit: IntArray,
        usable: BoolArray,
        counted: BoolArray | None = None,
        signs: IntArray | None = None,
        most_products: float = np.inf,
    ) -> None:
        self._made_of = basis, unit, usable, counted
        #: The sign that coefficients of each column (P,) may have; None: any.
        self.signs = None if signs is None else signs[basis.feature]
        self._most_products = most_products
        unit = np.where(usable[: basis.n_features], unit, -1)
        named, position = np.unique(unit[unit >= 0], return_inverse=True)
        unit_of_feature = np.full(len(unit), -1)
        unit_of_feature[unit >= 0] = position
        self.n_columns = basis.n_columns
        self.n_units = len(named)
        self.usable = usable
        self._first = unit_of_feature[basis.feature]
        paired = basis.partner >= 0
        self._second = np.where(paired, unit_of_feature[basis.partner], self._first)
        counted = np.ones(len(unit), dtype=bool) if counted is None else counted
        self._sizes = np.bincount(unit_of_feature[(unit >= 0) & counted], minlength=self.n_units)
        alone = usable & (self._first == self._second)
        self._always = int(np.sum(usable[: basis.n_features] & (unit < 0) & counted))
        self.n_features = self._always + int(self._sizes.sum())
        self.fewest_features = self._always or int(self._sizes.min(initial=len(unit)))
        self._n_always = int(np.sum(alone & (self._first < 0)))
        self._widths = np.bincount(self._first[alone & (self._first >= 0)], minlength=self.n_units)
        self._multiplies = bool((usable & (self._first != self._second)).any())
        # The units of columns, and of the features by which they are multiplied.
        self._units_of_columns = [
            (units[which], which)
            for units, counted in (
                (self._first, self._first >= 0),
                (self._second, (self._second >= 0) & (self._second != self._first)),
            )
            if len(which := np.flatnonzero(counted & usable))
        ]

    @cached_property
    def single(self) -> FeatureColumns:
        """Return these columns as if each were a feature of its own."""
        of_columns = Basis.plain(self.n_columns)
        return FeatureColumns(of_columns, np.arange(self.n_columns), self.usable)

    @cached_property
    def of_gate(self) -> FeatureColumns:
        """The columns that a gate may see: none of those that have a sign.

        A gate that moves with a feature would move the decision either way.
        """
        if self.signs is None:
            return self
        basis, unit, usable, counted = self._made_of
        return FeatureColumns(basis, unit, usable & (self.signs == 0), counted)

    def strength(self, squares: FloatArray) -> FloatArray:
        """Return the sums (R, K, U) of columns' values (R, K, P) over the units of each column."""
        flat = squares.reshape(-1, self.n_columns)
        total = np.zeros(len(flat) * self.n_units)
        for units, which in self._units_of_columns:
            # The units of all members, one member after the other.
            place = np.arange(len(flat))[:, None] * self.n_units + units
            total += np.bincount(place.ravel(), flat[:, which].ravel(), len(total))
        return total.reshape(*squares.shape[:-1], self.n_units)

    def columns(self, kept: BoolArray) -> BoolArray:
        """Return the columns (..., P) of units (..., U) that are kept, or that never leave."""
        always = np.concatenate([kept, np.ones((*kept.shape[:-1], 1), dtype=bool)], axis=-1)
        return always[..., self._first] & always[..., self._second] & self.usable

    def within_reach(self, kept: BoolArray) -> BoolArray:
        """Return the columns (..., P) that units (..., U) have, or would with one more unit."""
        always = np.concatenate([kept, np.ones((*kept.shape[:-1], 1), dtype=bool)], axis=-1)
        one_is_kept = always[..., self._first] | always[..., self._second]
        return (one_is_kept | (self._first == self._second)) & self.usable

    def most_columns(self, n_members: int, n_units: int) -> int:
        """Return how many columns members with this many units on average have at most, in all."""
        if not self._multiplies:
            widest = np.sort(self._widths)[::-1][:n_units].sum()
            return n_members * (self._n_always + int(widest))
        # Products are most when some members have all units and others have none.
        full, left = divmod(n_members * min(n_units, self.n_units), self.n_units)
        n_columns = 0
        for units in ([self.n_units] * full + [left] + [0] * n_members)[:n_members]:
            features = units + self._always
            widest = np.sort(self._widths)[::-1][:units].sum()
            products = min(features * (features - 1) // 2, self._most_products)
            n_columns += self._n_always + int(widest) + int(products)
        return n_columns

    def units_within(self, most_features: int) -> int:
        """Return how many units fit a member of at most this many features, the smallest first."""
        ends = np.cumsum(np.sort(self._sizes))
        return int(np.sum(ends <= most_features - self._always))

    def strongest(self, strength: FloatArray, n_units: int, most_features: int) -> BoolArray:
        """Return the units (R, K, U) that the members of each run keep, by strengths (R, K, U).

        The weakest of all pairs of member and unit leave until there are ``n_units`` for each
        member on average: members differ in size, up to twice that. None has more than
        ``most_features`` features, those that always stay included; units that do not fit are
        passed over.
        """
        n_runs, n_members, _ = strength.shape
        strength = graded(strength)
        allowed = self._within(strength, most_features - self._always)
        order = np.argsort(-strength, axis=2, kind="stable")
        np.put_along_axis(allowed, order[..., _TIMES * n_units :], False, axis=2)
        flat = np.where(allowed, strength, -1.0).reshape(n_runs, -1)
        order = np.argsort(-flat, axis=1, kind="stable")
        kept = np.zeros(flat.shape, dtype=bool)
        np.put_along_axis(kept, order[:, : n_units * n_members], True, axis=1)
        return kept.reshape(strength.shape) & allowed

    def _within(self, strength: FloatArray, room: int) -> BoolArray:
        """Return the strongest units of each member with at most this many features together."""
        allowed = np.ones(strength.shape, dtype=bool)
        if self._sizes.sum() <= room:
            return allowed
        order = np.argsort(-strength, axis=2, kind="stable")
        if (self._sizes == 1).all():
            np.put_along_axis(allowed, order[..., max(0, room) :], False, axis=2)
            return allowed
        for position in np.ndindex(*strength.shape[:2]):
            left = room
            for unit in order[position]:
                allowed[(*position, unit)] = self._sizes[unit] <= left
                left -= self._sizes[unit] * allowed[(*position, unit)]
        return allowed


def path_sizes(n_units: int, most_units: int, most_terms: float = np.inf) -> list[int]:
    """Return how many units members keep on average along a path, falling.

    ``most_units`` is among them; with a limit of terms, one unit is, and sizes between.
    """
    sizes = {max(1, int(np.ceil(share * n_units))) for share in SHARES} if n_units else set()
    sizes |= {n_units, min(n_units, most_units)}
    if np.isfinite(most_terms):
        left = min(int(most_terms), n_units)
        while left:
            sizes.add(left)
            left //= 2
    return sorted(sizes, reverse=True)


def member_squares(theta: FloatArray) -> FloatArray:
    """Return the squares (R, K, P) of coefficients (R, K, C, P), over classes less their mean."""
    if theta.shape[2] > 1:
        theta = theta - theta.mean(axis=2, keepdims=True)
    return np.sum(theta * theta, axis=2)


def gate_squares(gate: FloatArray) -> FloatArray:
    """Return the squares (R, P) of a gate's coefficients (R, K, P), over members."""
    centered = gate - gate.mean(axis=1, keepdims=True)
    return np.sum(centered * centered, axis=1)
