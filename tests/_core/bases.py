"""Bases of columns in memory, and the knots of a column written out."""

import numpy as np

from covey._core.basis import Basis


def quantile_knots(column, weight, n_ramps):
    """Values of a column at evenly spaced quantiles, its least and its greatest included.

    A column of fewer values gives all of them.
    """
    used = weight > 0
    values, position = np.unique(column[used], return_inverse=True)
    if len(values) <= n_ramps + 1:
        return values
    share = np.cumsum(np.bincount(position, weight[used]))
    wanted = np.arange(n_ramps + 1) / n_ramps * share[-1]
    # A hair below, so that rounding in the sums does not move a quantile to the next value.
    return values[np.unique(np.searchsorted(share, wanted * (1.0 - 1e-12)))]


def ramps_of(columns, weight, n_ramps):
    """Features, and ramps between the quantiles of columns (D, n)."""
    return Basis.ramps([quantile_knots(column, weight, n_ramps) for column in columns])


def products_of(columns, center, seen=None):
    """Features (D, n), their products, and the squares of those with more than two values."""
    two_valued = [np.all((c == c.min()) | (c == c.max())) for c in columns]
    return Basis.products(np.array(two_valued, dtype=bool), center, seen)
