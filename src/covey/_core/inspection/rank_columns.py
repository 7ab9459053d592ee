"""Columns made of ranks: what tests of relevance see of features and of a target.

Ranks alone count, so that no single row decides, and the unit of a feature changes nothing. A
*unit* is a feature, or several columns that belong together. Shapes: ``n`` rows, ``P`` columns of
all units, ``q`` of a target. Columns are centred, multiplied by the square root of their rows'
share of the weight, and of length one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from covey._core.arrays import BoolArray, FloatArray, IntArray

# A class of fewer rows has no sums that are nearly normal; such classes are taken as one.
_FEWEST_ROWS = 5
# What must be left of a column beyond others, as a share of its square, to be one of its own.
_LEAST_LEFT = 1e-6
# Squared lengths that are nothing but rounding.
_ZERO = 1e-20
# The columns of one unit: at most this share of the rows.
_MOST_COLUMNS = 0.2


def effective_rows(weight: FloatArray) -> float:
    """How many rows of equal weight tell as much as these."""
    return float(weight.sum() ** 2 / (weight**2).sum())


def class_scores(codes: IntArray, weight: FloatArray) -> FloatArray:
    """An orthonormal basis (n, q) of the classes' indicators; classes of few rows are one."""
    counts = np.bincount(codes)
    if (counts >= _FEWEST_ROWS).sum() > 1:
        codes = np.where(counts[codes] >= _FEWEST_ROWS, codes, -1)
    indicators = (codes[:, None] == np.unique(codes)).astype(np.float64)
    return orthonormal(_weighted(indicators, weight))


def value_scores(y: FloatArray, weight: FloatArray) -> FloatArray:
    """The normal scores (n, 1) of numbers."""
    return orthonormal(_weighted(special.ndtri(_shares_below(y[:, None], weight)), weight))


@dataclass(frozen=True)
class UnitColumns:
    """Columns (n, P) of units, orthonormal within each unit.

    ``unit`` (P,) is the unit of each column, ``straight`` (P,) which columns rise with their
    features; the rest bend. ``ranks`` (n, Q), standardized, are what products are made of, and
    ``rank_unit`` (Q,) their units. ``root`` (n,) are the square roots of the rows' shares of the
    weight. Units are numbered from 0 to ``n_units``, and not all of them need to be here.
    """

    columns: FloatArray
    unit: IntArray
    straight: BoolArray
    ranks: FloatArray
    rank_unit: IntArray
    root: FloatArray
    n_units: int

    def of(self, units: Sequence[int] | IntArray, *, straight: bool = False) -> IntArray:
        """The positions of the columns of some units, or of the straight ones of these."""
        inside = np.isin(self.unit, units)
        return np.flatnonzero(inside & self.straight if straight else inside)


def unit_columns(X: FloatArray, unit: IntArray, n_units: int, weight: FloatArray) -> UnitColumns:
    """Straight and bent columns of X (n, D); ``unit`` (D,) is the unit of each of its columns.

    Straight are normal scores, bent are Legendre polynomials of degree 2 and 3 of the ranks.
    """
    shares = _shares_below(X, weight)
    ranks = 2 * shares - 1
    parts = [
        _weighted(special.ndtri(shares), weight),
        _weighted(1.5 * ranks**2, weight),
        _weighted(2.5 * ranks**3 - 1.5 * ranks, weight),
    ]
    counts = np.bincount(unit, minlength=n_units)
    alone = counts[unit] == 1
    made = [_columns_of_singles([part[:, alone] for part in parts], unit[alone])]
    most = max(1, int(_MOST_COLUMNS * effective_rows(weight)))
    for group in np.flatnonzero(counts > 1).tolist():
        made.append(_columns_of_group([part[:, unit == group] for part in parts], group, most))
    columns, of_column, straight = zip(*made, strict=True)
    centred = ranks - weight @ ranks / weight.sum()
    spread = np.sqrt(weight @ centred**2 / weight.sum())
    return UnitColumns(
        np.hstack(columns),
        np.concatenate(of_column),
        np.concatenate(straight),
        centred / np.where(spread > 0, spread, 1.0),
        unit,
        np.sqrt(weight / weight.sum()),
        n_units,
    )


def _columns_of_singles(
    parts: list[FloatArray], unit: IntArray
) -> tuple[FloatArray, IntArray, BoolArray]:
    """Gram and Schmidt's columns of features that are units of their own, all at once."""
    made: list[FloatArray] = []
    present = []
    for part in parts:
        left = part.copy()
        for _ in range(2):  # once more, against rounding
            for earlier in made:
                left -= earlier * np.sum(earlier * left, axis=0)
        size, length = np.sum(part**2, axis=0), np.sqrt(np.sum(left**2, axis=0))
        there = length**2 > np.maximum(_LEAST_LEFT * size, _ZERO)
        made.append(np.where(there, left / np.where(there, length, 1.0), 0.0))
        present.append(there)
    kept = np.concatenate(present)
    straight = np.arange(len(kept)) < len(unit)
    return np.hstack(made)[:, kept], np.tile(unit, len(parts))[kept], straight[kept]


def _columns_of_group(
    parts: list[FloatArray], unit: int, most: int
) -> tuple[FloatArray, IntArray, BoolArray]:
    """Columns of several features that are one unit, at most so many."""
    lines = orthonormal(parts[0])[:, :most]
    bent = orthonormal_beyond(np.hstack(parts[1:]), lines)[:, : most - lines.shape[1]]
    columns = np.hstack([lines, bent])
    n_columns = columns.shape[1]
    return columns, np.full(n_columns, unit), np.arange(n_columns) < lines.shape[1]


def orthonormal(columns: FloatArray) -> FloatArray:
    """An orthonormal basis of the columns' span."""
    return orthonormal_beyond(columns, columns[:, :0])


def orthonormal_beyond(columns: FloatArray, others: FloatArray) -> FloatArray:
    """An orthonormal basis of what columns have beyond orthonormal others."""
    longest = np.sqrt(np.sum(columns**2, axis=0)).max(initial=0.0)
    left = columns - others @ (others.T @ columns)
    basis, values, _ = np.linalg.svd(left, full_matrices=False)
    return basis[:, values**2 > max(_LEAST_LEFT * longest**2, _ZERO)]


def _weighted(columns: FloatArray, weight: FloatArray) -> FloatArray:
    """Columns less their weighted mean, times the roots of the rows' shares of the weight."""
    share = weight / weight.sum()
    centred: FloatArray = (columns - share @ columns) * np.sqrt(share)[:, None]
    return centred


def _shares_below(columns: FloatArray, weight: FloatArray) -> FloatArray:
    """The share of the weight below each entry of its column, and half of its ties'."""
    if (weight == weight[0]).all():
        shares: FloatArray = (stats.rankdata(columns, axis=0) - 0.5) / len(columns)
        return shares
    shares = np.empty(columns.shape)
    for column, values in enumerate(columns.T):
        _, tied = np.unique(values, return_inverse=True)
        sums = np.bincount(tied, weights=weight)
        shares[:, column] = ((np.cumsum(sums) - sums / 2) / sums.sum())[tied]
    return shares
