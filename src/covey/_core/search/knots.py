"""The knots of columns whose rows lie in several blocks: `covey._core.quantiles` of each."""

from __future__ import annotations

import numpy as np

from covey._core.arrays import FloatArray
from covey._core.quantiles import quantiles_by_sums
from covey._core.search.rows import SearchBlock, SearchRows

# Columns that blocks keep sorted at the same time: bounds the memory that this needs.
_COLUMNS_AT_ONCE = 16


def knots_by_sums(rows: SearchRows, n_features: int, n_ramps: int) -> list[FloatArray]:
    """The values of each column at evenly spaced quantiles, its ends included.

    There are at most ``n_ramps`` intervals between them; a column of fewer values gives all.
    """
    highest, lowest = rows.max(SearchBlock.extremes, True)
    knots = []
    for first in range(0, n_features, _COLUMNS_AT_ONCE):
        which = slice(first, min(first + _COLUMNS_AT_ONCE, n_features))
        values = np.concatenate(rows.gather(SearchBlock.lowest_values, which, n_ramps + 2), axis=1)
        few = [np.unique(column[~np.isnan(column)]) for column in values]
        quantiles = _quantiles(rows, which, -lowest[which], highest[which], n_ramps)
        knots += [
            found if len(found) <= n_ramps + 1 else np.unique(column)
            for found, column in zip(few, quantiles, strict=True)
        ]
    return knots


def _quantiles(
    rows: SearchRows, which: slice, lowest: FloatArray, highest: FloatArray, n_ramps: int
) -> FloatArray:
    """Columns' evenly spaced quantiles, (D, n_ramps + 1), the least value included."""
    inner = quantiles_by_sums(
        lambda values: rows.sum(SearchBlock.weight_up_to, which, values)[0],
        lowest,
        highest,
        np.arange(1, n_ramps + 1) / n_ramps,
    )
    return np.concatenate([lowest[:, None], inner], axis=1)
