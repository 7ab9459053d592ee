"""Tests of which units are related to a target, on plain NumPy arrays.

The null hypothesis of a unit is that it carries nothing: the target does not depend on it,
whichever of the other units are known, or none. A unit that is correlated with a relevant one
carries something, so it is no false discovery. There are four kinds of tests, each of which
detects what another one misses:

marginal      the unit alone, straight (a column each) and bent (three)
all at once   its straight columns beyond those of all others, where there are rows enough
given found   all of its columns beyond an additive model of the units that were found before
pairs         its product with another unit, beyond that additive model

Columns are made of ranks: no single row decides, and the unit of measurement of a feature changes
nothing. A *unit* is a feature, or several columns that belong together. Shapes: ``n`` rows, ``P``
columns of all units, ``q`` of a target. Columns are centred, multiplied by the square root of
their rows' share of the weight, and of length one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from covey._core.arrays import BoolArray, FloatArray, IntArray
from covey._core.inspection.frequencies import number_rejected
from covey._core.limits import TINY

NumberArray = npt.NDArray[np.number[Any]]

# Columns of a model that units are tested against: at most this share of the rows, or this many.
_MOST_SHARE, _MOST_COLUMNS = 0.2, 500
# The rest of a column beyond others is tested if it is at least this share of its square: few rows
# decide the small difference of two columns that are nearly equal.
_LEAST_LEFT = 0.02
# Products are made of the best units, as long as they take at most this many multiplications.
_MOST_PRODUCTS = 4e9
_FEWEST_ROWS = 20
# The product with a unit whose ranks are this similar counts as the unit squared.
_ALIKE = 0.9
# How many pairs are returned at most.
_MOST_PAIRS = 10
# How often units are tested given those found before.
_N_ROUNDS = 2
# Tails below this are computed by their leading term.
_TINY = 1e-290
# A test without a result counts as if its p-value were this: it is no evidence against others.
_NOTHING = 0.9


@dataclass(frozen=True)
class Evidence:
    """The log p-values (U,) of units, and the pairs of units whose products are significant."""

    log_p: FloatArray
    pairs: list[tuple[int, int]]


def marginal_log_p(units: UnitColumns, target: FloatArray, n_rows: float) -> FloatArray:
    """Return log p-values (2, U) of units alone: of their straight columns, and of all.

    Straight columns rise with their features.
    """
    squares = np.sum((units.columns.T @ target) ** 2, axis=1)
    found = []
    for used in (units.straight, np.ones(len(units.unit), dtype=bool)):
        trace = np.bincount(units.unit[used], squares[used], minlength=units.n_units)
        width = np.bincount(units.unit[used], minlength=units.n_units)
        found.append(pillai_log_p(trace, width, target.shape[1], n_rows - 1 - width))
    return np.stack(found)


def evidence(
    units: UnitColumns, target: FloatArray, marginal: FloatArray, n_rows: float, level: float
) -> Evidence:
    """Return the evidence for each unit, given log p-values ``marginal`` (2, U) of all units."""
    fixed = [*marginal]
    straight = np.flatnonzero(units.straight)
    if len(straight) <= min(_MOST_SHARE * n_rows, _MOST_COLUMNS):
        fixed.append(_blocks(units, straight, target, n_rows))
    log_p = combined_log_p(np.stack(fixed))
    pairs: list[tuple[int, int]] = []
    for _ in range(_N_ROUNDS):
        inside = units.of(_significant(units, log_p, level, n_rows))
        basis = orthonormal(units.columns[:, inside])
        left = orthonormal_beyond(target, basis)
        beyond = np.minimum(
            _blocks(units, inside, target, n_rows), _beyond(units, inside, basis, left, n_rows)
        )
        products, pairs = _products(units, left, n_rows - len(inside), log_p, level)
        log_p = combined_log_p(np.stack([*fixed, beyond, products]))
    return Evidence(log_p, pairs)


# -- p-values ------------------------------------------------------------------------------------


def pillai_log_p(
    trace: NumberArray, n_columns: NumberArray, n_targets: int, n_left: NumberArray | float
) -> FloatArray:
    """Return log p-values of Pillai's traces of this many columns and targets; 0 without a test.

    ``n_left`` are the rows less one for the constant and one for each column of the model.
    """
    width = np.minimum(n_columns, n_targets)
    second = n_left - n_targets + width
    possible = (width > 0) & (second > 0)
    share = np.clip(np.where(possible, trace / np.maximum(width, 1), 0.0), 0.0, 1.0)
    a = np.where(possible, width * np.maximum(n_columns, n_targets) / 2, 1.0)
    b = np.where(possible, width * second / 2, 1.0)
    return np.where(possible, _log_beta_tail(share, a, b), 0.0)


def _log_beta_tail(share: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the log probability that a Beta(a, b) variable is above ``share``, however small."""
    with np.errstate(all="ignore"):
        tail = special.betainc(b, a, 1.0 - share)
        leading = b * np.log(np.maximum(1.0 - share, TINY)) + (a - 1) * np.log(share)
        leading -= np.log(b) + special.betaln(a, b)
        found = np.where(tail > _TINY, np.log(np.maximum(tail, _TINY)), leading)
    return np.minimum(np.where(np.isnan(found), 0.0, found), 0.0)


def combined_log_p(log_p: FloatArray) -> FloatArray:
    """Return one log p-value (U,) of several tests (T, U), by the mean of Cauchy variables.

    Liu and Xie (2020).
    """
    p = np.clip(np.exp(log_p), 1e-15, _NOTHING)
    usual = np.log(0.5 - np.arctan(np.tan((0.5 - p) * np.pi).mean(axis=0)) / np.pi)
    # For small p-values, this is the harmonic mean.
    small = np.log(len(log_p)) - special.logsumexp(-log_p, axis=0)
    found: FloatArray = np.where(log_p.min(axis=0) < np.log(1e-12), small, usual)
    return np.minimum(found, 0.0)


# -- tests beyond others -------------------------------------------------------------------------


def _significant(units: UnitColumns, log_p: FloatArray, level: float, n_rows: float) -> IntArray:
    """Return the significant units, best first, as many as a model of these rows may have."""
    order = np.argsort(log_p, kind="stable")[: number_rejected(np.exp(log_p), level)]
    width = np.bincount(units.unit, minlength=units.n_units)[order]
    most = min(_MOST_SHARE * n_rows, _MOST_COLUMNS)
    return order[(width > 0) & (np.cumsum(width) <= most)]


def _blocks(units: UnitColumns, inside: IntArray, target: FloatArray, n_rows: float) -> FloatArray:
    """Return log p-values (U,) of units among these columns beyond the others; 0 for others."""
    columns = units.columns[:, inside]
    sums = columns.T @ columns, columns.T @ target, target.T @ target
    named = np.unique(units.unit[inside])
    blocks = [units.unit[inside] == unit for unit in named]
    trace, width = block_traces(*sums, blocks, least_left=_LEAST_LEFT)
    log_p = np.zeros(units.n_units)
    log_p[named] = pillai_log_p(trace, width, target.shape[1], n_rows - 1 - len(inside))
    return log_p


def block_traces(
    gram: FloatArray,
    moments: FloatArray,
    squares: FloatArray,
    blocks: list[np.ndarray],
    ridge: float = 1e-8,
    least_left: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Return Pillai's trace and the number of columns of each block (B,) beyond all others.

    ``gram`` (P, P), ``moments`` (P, q) and ``squares`` (q, q) are the products of columns and
    target; ``blocks`` are masks (P,). Because of the ridge, a repeated column is worth nothing
    beyond its copy. The rest of a block beyond others counts along axes on which it is at least
    this share of the whole.
    """
    trace, width = np.zeros(len(blocks)), np.zeros(len(blocks))
    inverse = np.linalg.inv(gram + ridge * np.eye(len(gram)))
    coef = inverse @ moments
    error = squares - moments.T @ coef + 1e-12 * np.eye(len(squares))
    for number, block in enumerate(blocks):
        own = np.flatnonzero(block)
        # The inverse of the rest of the block's columns, along their own axes.
        inverted, axes = np.linalg.eigh(inverse[np.ix_(own, own)])
        there = inverted * least_left < 1.0
        along = axes[:, there].T @ coef[own] / np.sqrt(inverted[there])[:, None]
        gain = along.T @ along
        trace[number] = np.trace(np.linalg.solve(gain + error, gain))
        width[number] = there.sum()
    return trace, width


def _beyond(
    units: UnitColumns, inside: IntArray, basis: FloatArray, left: FloatArray, n_rows: float
) -> FloatArray:
    """Return log p-values (U,) of units beyond a model of others; 0 for those of the model.

    ``basis`` spans the columns of the model, and ``left`` is the rest of the target.
    """
    trace, width = np.zeros(units.n_units), np.zeros(units.n_units)
    known, moments = basis.T @ units.columns, units.columns.T @ left
    outside = np.flatnonzero(~np.isin(units.unit, units.unit[inside]))
    outside = outside[np.argsort(units.unit[outside], kind="stable")]
    named, starts, counts = np.unique(units.unit[outside], return_index=True, return_counts=True)
    for n_columns in np.unique(counts):
        same = counts == n_columns
        own = outside[starts[same][:, None] + np.arange(n_columns)]
        shadow = known[:, own].transpose(1, 2, 0)
        # The squared lengths of the rest of each unit's columns along their own axes.
        lengths, axes = np.linalg.eigh(np.eye(n_columns) - shadow @ shadow.transpose(0, 2, 1))
        there = lengths > _LEAST_LEFT
        along = np.sum((axes.transpose(0, 2, 1) @ moments[own]) ** 2, axis=2)
        trace[named[same]] = np.sum(
            np.where(there, along / np.where(there, lengths, 1), 0), axis=1
        )
        width[named[same]] = there.sum(axis=1)
    return pillai_log_p(trace, width, left.shape[1], n_rows - 1 - len(inside) - width)


def _products(
    units: UnitColumns, left: FloatArray, n_rows: float, log_p: FloatArray, level: float
) -> tuple[FloatArray, list[tuple[int, int]]]:
    """Return log p-values (U,) of each unit's best product, times all tried, and the best pairs.

    The variance of a product's sum is the larger one of two estimates: for a target that depends
    on neither unit, and for one whose spread depends on them.
    """
    n_targets = left.shape[1]
    most = int(np.sqrt(_MOST_PRODUCTS / max(1, len(left) * n_targets)))
    chosen = np.argsort(log_p[units.rank_unit], kind="stable")[:most]
    chosen.sort()
    ranks, of = units.ranks[:, chosen], units.rank_unit[chosen]
    if len(of) < 2 or n_rows < _FEWEST_ROWS or not n_targets:
        return np.zeros(units.n_units), []
    share = units.root[:, None] ** 2
    mean = (ranks * share).T @ ranks
    plain = (ranks**2 * share).T @ ranks**2 - mean**2
    total = np.zeros_like(mean)
    for part in left.T[:, :, None]:
        moment = (ranks * units.root[:, None] * part).T @ ranks
        robust = (ranks**2 * share * part**2).T @ ranks**2
        robust -= 2 * mean * ((ranks * share * part**2).T @ ranks)
        robust += mean**2 * np.sum(share * part**2)
        total += moment**2 / np.maximum(np.maximum(n_rows * robust, plain), TINY)
    same = of[:, None] == of
    total[same | (np.abs(mean) > _ALIKE)] = 0.0
    total = np.maximum(total, total.T)
    best = np.zeros(units.n_units)
    np.maximum.at(best, of, total.max(axis=1))
    one = np.ones(1)
    tried = np.bincount(of, weights=len(of) - same.sum(axis=1), minlength=units.n_units)
    found = pillai_log_p(best, one, n_targets, n_rows - 2) + np.log(np.maximum(tried, 1))
    return np.minimum(found, 0.0), _best_pairs(total, of, n_targets, n_rows, level)


def _best_pairs(
    total: FloatArray, of: IntArray, n_targets: int, n_rows: float, level: float
) -> list[tuple[int, int]]:
    """Return the pairs of units whose products are significant among all, by Bonferroni."""
    first, second = np.triu_indices(len(of), 1)
    values = total[first, second]
    order = np.argsort(-values, kind="stable")[:_MOST_PAIRS]
    log_p = pillai_log_p(values[order], np.ones(1), n_targets, n_rows - 2)
    order = order[log_p <= np.log(level / len(values))]
    return list(dict.fromkeys((int(of[first[one]]), int(of[second[one]])) for one in order))


# -- columns made of ranks: the form in which tests use features and a target
# -----------------------


# A class with fewer rows has no sums that are nearly normal; such classes are merged.
_FEWEST_OF_A_CLASS = 5
# The least rest of a column beyond others, as a share of its square, that counts as its own.
_LEAST_OF_ITS_OWN = 1e-6
# Squared lengths that are nothing but rounding.
_ZERO = 1e-20
# The columns of one unit: at most this share of the rows.
_MOST_OF_THE_ROWS = 0.2


def effective_rows(weight: FloatArray) -> float:
    """Return how many rows of equal weight tell as much as these."""
    return float(weight.sum() ** 2 / (weight**2).sum())


def class_scores(codes: IntArray, weight: FloatArray) -> FloatArray:
    """Return an orthonormal basis (n, q) of the classes' indicators; small classes are merged."""
    counts = np.bincount(codes)
    if (counts >= _FEWEST_OF_A_CLASS).sum() > 1:
        codes = np.where(counts[codes] >= _FEWEST_OF_A_CLASS, codes, -1)
    indicators = (codes[:, None] == np.unique(codes)).astype(np.float64)
    return orthonormal(_weighted(indicators, weight))


def value_scores(y: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the normal scores (n, 1) of numbers."""
    return orthonormal(_weighted(special.ndtri(_shares_below(y[:, None], weight)), weight))


@dataclass(frozen=True)
class UnitColumns:
    """Columns (n, P) of units, orthonormal within each unit.

    ``unit`` (P,) is the unit of each column, ``straight`` (P,) says which columns rise with their
    features; the rest bend. Products are made of ``ranks`` (n, Q), standardized, with
    ``rank_unit`` (Q,) their units. ``root`` (n,) are the square roots of the rows' shares of the
    weight. Units are numbered from 0 to ``n_units``, and some of them may be missing here.
    """

    columns: FloatArray
    unit: IntArray
    straight: BoolArray
    ranks: FloatArray
    rank_unit: IntArray
    root: FloatArray
    n_units: int

    def of(self, units: Sequence[int] | IntArray, *, straight: bool = False) -> IntArray:
        """Return the positions of the columns of some units, or of the straight ones of these."""
        inside = np.isin(self.unit, units)
        return np.flatnonzero(inside & self.straight if straight else inside)


def unit_columns(X: FloatArray, unit: IntArray, n_units: int, weight: FloatArray) -> UnitColumns:
    """Return straight and bent columns of X (n, D); ``unit`` (D,) is the unit of each column.

    Straight columns are normal scores; bent ones are Legendre polynomials of degree 2 and 3 of
    ranks.
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
    most = max(1, int(_MOST_OF_THE_ROWS * effective_rows(weight)))
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
    """Return Gram and Schmidt's columns of features that are units of their own, all at once."""
    made: list[FloatArray] = []
    present = []
    for part in parts:
        left = part.copy()
        for _ in range(2):  # once more, against rounding
            for earlier in made:
                left -= earlier * np.sum(earlier * left, axis=0)
        size, length = np.sum(part**2, axis=0), np.sqrt(np.sum(left**2, axis=0))
        there = length**2 > np.maximum(_LEAST_OF_ITS_OWN * size, _ZERO)
        made.append(np.where(there, left / np.where(there, length, 1.0), 0.0))
        present.append(there)
    kept = np.concatenate(present)
    straight = np.arange(len(kept)) < len(unit)
    return np.hstack(made)[:, kept], np.tile(unit, len(parts))[kept], straight[kept]


def _columns_of_group(
    parts: list[FloatArray], unit: int, most: int
) -> tuple[FloatArray, IntArray, BoolArray]:
    """Return columns of several features that are one unit, at most this many."""
    lines = orthonormal(parts[0])[:, :most]
    bent = orthonormal_beyond(np.hstack(parts[1:]), lines)[:, : most - lines.shape[1]]
    columns = np.hstack([lines, bent])
    n_columns = columns.shape[1]
    return columns, np.full(n_columns, unit), np.arange(n_columns) < lines.shape[1]


def orthonormal(columns: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the columns' span."""
    return orthonormal_beyond(columns, columns[:, :0])


def orthonormal_beyond(columns: FloatArray, others: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the rest of columns beyond orthonormal others."""
    longest = np.sqrt(np.sum(columns**2, axis=0)).max(initial=0.0)
    left = columns - others @ (others.T @ columns)
    basis, values, _ = np.linalg.svd(left, full_matrices=False)
    return basis[:, values**2 > max(_LEAST_OF_ITS_OWN * longest**2, _ZERO)]


def _weighted(columns: FloatArray, weight: FloatArray) -> FloatArray:
    """Return columns less their weighted mean, times the roots of the rows' weight shares."""
    share = weight / weight.sum()
    return (columns - share @ columns) * np.sqrt(share)[:, None]


def _shares_below(columns: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the share of the weight below each entry of its column, and half of its ties'."""
    if (weight == weight[0]).all():
        return (stats.rankdata(columns, axis=0) - 0.5) / len(columns)
    shares = np.empty(columns.shape)
    for column, values in enumerate(columns.T):
        _, tied = np.unique(values, return_inverse=True)
        sums = np.bincount(tied, weights=weight)
        shares[:, column] = ((np.cumsum(sums) - sums / 2) / sums.sum())[tied]
    return shares
