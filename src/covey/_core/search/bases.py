"""The bases of a search: the features, ramps of each, products of two, standardized."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covey._core.arrays import BoolArray, FloatArray, IntArray, in_parts
from covey._core.basis import Basis, ScaledBasis
from covey._core.gating.paths import FeatureColumns
from covey._core.limits import SQUARABLE
from covey._core.moments import moments_of_blocks
from covey._core.quantiles import quantiles_by_sums
from covey._core.search.block import SearchBlock
from covey._core.search.rows import SearchRows

# Beyond this many columns, ramps cost more than they gain.
_MOST_RAMP_COLUMNS = 1_000
# All products of two of this many features are 210.
_MOST_FEATURES_TO_MULTIPLY = 20
# Columns that blocks keep sorted at the same time: bounds the memory that this needs.
_COLUMNS_AT_ONCE = 16


@dataclass(frozen=True)
class Features:
    """The facts about the features of a table that a search uses."""

    mean: FloatArray  # (D,)
    scale: FloatArray  # (D,)
    usable: BoolArray  # (D,)
    unit: IntArray  # (D,), which features flip together; -1: never
    grouped: bool = False  # whether some do: then there are no products
    seen: FloatArray | None = None  # (2, D), the range in which values are multiplied
    # Columns that are made of one variable: one of each counts, and some are not multiplied.
    counted: BoolArray | None = None  # (D,)
    multiplied: BoolArray | None = None  # (D,)
    # 1: with more of it no decision falls, -1: none rises, 0: either; None: all are 0.
    signs: IntArray | None = None  # (D,)
    # Which may be multiplied by which; None: every one by every other, and by itself.
    pairs: BoolArray | None = None  # (D, D), symmetric

    @property
    def are_alone(self) -> bool:
        """Whether there is one member alone: a gate would let columns meet, or has none to see."""
        unbound = self.usable if self.signs is None else self.usable & (self.signs == 0)
        return self.pairs is not None or not unbound.any()

    def columns_of(self, basis: Basis, usable: BoolArray) -> FeatureColumns:
        """Return the columns of a basis, of which some are ``usable``, as what members see."""
        most = np.inf if self.pairs is None else int(self.pairs.sum()) // 2
        return FeatureColumns(basis, self.unit, usable, self.counted, self.signs, most)

    def columns(self) -> FeatureColumns:
        """The features alone, as what members see."""
        return self.columns_of(Basis.plain(len(self.unit)), self.usable)


def standardized_bases(
    rows: SearchRows,
    features: Features,
    n_ramps: int,
    *,
    sampled: bool = False,
    single: bool = False,
) -> dict[str, ScaledBasis]:
    """Make the bases that the table allows, and let the rows standardize their columns.

    With ``sampled``, the rows are some of a table; its features are known from all of them. With
    ``single``, the columns are kept in single precision only.
    """
    n_features = rows.n_features
    plain = Basis.plain(n_features)
    bases: dict[str, ScaledBasis] = {}

    def add(name: str, basis: Basis) -> None:
        bases[name] = _scaled(rows, name, basis, features)
        rows.broadcast(SearchBlock.standardize, name, bases[name], single)

    if rows.is_sparse or sampled:
        bases["features"] = ScaledBasis(plain, features.mean, features.scale, features.usable)
        rows.broadcast(SearchBlock.standardize, "features", bases["features"], single)
    else:
        add("features", plain)
    if rows.is_sparse:
        # Neither ramps nor products of centered features are sparse.
        return bases
    # Constant columns do not count: what a flock is must not depend on how many there are.
    n_used = int(np.sum(features.usable))
    n_constant = n_features - n_used
    ramps = Basis.ramps(knots_by_sums(rows, n_features, n_ramps))
    if n_used < ramps.n_columns - n_constant <= max(_MOST_RAMP_COLUMNS, n_used):
        add("ramps", ramps)
    # A product belongs to two features, which may be of two groups: it could not flip with
    # either.
    multiplied = features.usable
    if features.signs is not None:
        # A product with another feature rises or falls, by the values of the other.
        multiplied = multiplied & (features.signs == 0)
    if features.pairs is not None:
        multiplied = multiplied & features.pairs.any(axis=0)
    elif features.multiplied is not None:
        multiplied = multiplied & features.multiplied
    few = np.sum(multiplied) <= _MOST_FEATURES_TO_MULTIPLY or features.pairs is not None
    if np.sum(multiplied) > 1 and few and not features.grouped:
        highest, lowest = rows.max(SearchBlock.extremes, False)
        two_valued = rows.sum(SearchBlock.count_between, -lowest, highest)[0] == 0
        how = {"used": multiplied, "pairs": features.pairs}
        products = Basis.products(two_valued, features.mean, features.seen, **how)
        # One member has all that may be multiplied, and bends along each feature.
        alone = features.pairs is None or "ramps" not in bases
        add("products", products if alone else ramps.union(products))
    return bases


def standardize_single(
    rows: SearchRows, name: str, scaled: ScaledBasis, features: Features, *, keep: bool
) -> None:
    """Let the rows lay out the columns of a basis in single precision only.

    Without ``keep``, they are made anew whenever they are needed.
    """
    basis, divided = scaled.basis.of_standardized(features.mean, features.scale)
    plain = np.arange(basis.n_columns) < basis.n_features
    mean = np.where(plain, scaled.mean - features.mean[basis.feature], scaled.mean) / divided
    rows.broadcast(SearchBlock.keep_features, features.mean, features.scale)
    scaled = ScaledBasis(basis, mean, scaled.scale / divided, scaled.usable)
    rows.broadcast(SearchBlock.lay_out, name, scaled, keep)


def _scaled(rows: SearchRows, name: str, basis: Basis, features: Features) -> ScaledBasis:
    mean, deviation, size = moments_of_blocks(rows, SearchBlock.columns, name, basis)
    usable = features.usable[basis.feature] & (deviation > 0)
    usable[: basis.n_features] = features.usable
    paired = basis.partner >= 0
    usable[paired] &= features.usable[basis.partner[paired]]
    finite = np.isfinite(mean) & np.isfinite(deviation) & (deviation < SQUARABLE)
    usable &= finite
    # A ramp or product that is constant, but for rounding, would have a coefficient beyond all
    # sense, and so would be the prediction for a new row where it is not constant.
    varies = deviation > np.maximum(1.0 / SQUARABLE, 1e-6 * size)
    usable[basis.n_features :] &= varies[basis.n_features :]
    mean = np.where(finite, mean, 0.0)
    deviation = np.where(finite, deviation, 0.0)
    return ScaledBasis(basis, mean, np.where(deviation > 0, deviation, 1.0), usable)


def knots_by_sums(rows: SearchRows, n_features: int, n_ramps: int) -> list[FloatArray]:
    """Return the values of each column at evenly spaced quantiles, its ends included.

    There are at most ``n_ramps`` intervals between them; a column with fewer values gives all.
    """
    highest, lowest = rows.max(SearchBlock.extremes, True)
    knots, shares = [], np.arange(1, n_ramps + 1) / n_ramps
    for which in in_parts(n_features, _COLUMNS_AT_ONCE):
        values = np.concatenate(rows.gather(SearchBlock.lowest_values, which, n_ramps + 2), axis=1)
        few = [np.unique(column[~np.isnan(column)]) for column in values]
        low = -lowest[which]
        inner = quantiles_by_sums(
            rows, SearchBlock.weight_up_to, low, highest[which], shares, which
        )
        quantiles = np.concatenate([low[:, None], inner], axis=1)
        knots += [
            found if len(found) <= n_ramps + 1 else np.unique(column)
            for found, column in zip(few, quantiles, strict=True)
        ]
    return knots
