"""Weighted mean, standard deviation and extent of columns, as reductions over blocks of rows.

Three passes over the rows compute the moments of a whole table: maxima, then sums, then sums
again, each of a block's own rows (`covey._core.block_sums`). `moments_of_blocks` does so for
blocks, `moments` for columns in memory. Columns are dense, features first ``(D, n)``, or a CSC
matrix ``(n, D)`` without duplicate entries; rows of weight 0 do not count.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import numpy as np

from covey._core.arrays import FloatArray, in_parts
from covey._core.block_sums import extent, scaled_means, scaled_squares, total_weight
from covey._core.blocks import Blocks, MemoryBlocks

# How many rows are reduced together: this bounds the memory.
_ROWS_AT_ONCE = 1 << 13


def moments(columns: Any, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return weighted mean and standard deviation of columns, (D,); not all weights are zero.

    A column that is constant over the rows of positive weight has the deviation 0, exactly,
    and no other column has.
    """
    parts = [_Part(columns=columns, weight=weight)]
    if len(weight) > 2 * _ROWS_AT_ONCE and not hasattr(columns, "tocsc"):
        # The rows of a long table lie next to each other: some of them at a time.
        some = in_parts(len(weight), _ROWS_AT_ONCE)
        parts = [_Part(columns=columns[:, rows], weight=weight[rows]) for rows in some]
    rows = MemoryBlocks(parts, side_by_side=True)
    return moments_of_blocks(rows, attrgetter("columns"))[:2]


class _Part(SimpleNamespace):
    """A block of ``columns`` and of the ``weight`` of rows."""

    n_features, n_classes, like = 0, 0, None


def moments_of_blocks(
    rows: Blocks[Any], columns_of: Callable[..., Any], *args: Any
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean, deviation and largest absolute value of columns over all blocks' rows.

    ``columns_of(block, *args)`` are the columns of a block, whose weights are ``block.weight``.
    """
    columns = columns_of, args
    (total,) = rows.sum(total_weight)
    largest, highest, lowest = rows.max(extent, columns)
    # Squares of very large or very small numbers leave the range of floats.
    size = np.where(largest > 0, largest, 1.0)
    (center,) = rows.sum(scaled_means, columns, size, total)
    # A constant column has a deviation of exactly 0, whatever rounding makes of it.
    constant = highest / size == -lowest / size
    (squares,) = rows.sum(scaled_squares, columns, size, center, total)
    deviation = np.where(constant, 0.0, np.sqrt(squares))
    return center * size, deviation * size, largest
