"""Rungs of a long table: on how many of its rows candidates are compared, and then on more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from covey._core.arrays import Array, FloatArray, IntArray
from covey._core.search.block import SearchBlock
from covey._core.search.folds import FoldAssignment, Folds
from covey._core.search.rows import SearchInMemory, SearchRows, in_blocks
from covey._core.search.targets import Target

# The most rows of the first rung, and of the second. A table of no more than the first has none.
_FEWEST, _MOST = 5_000, 20_000


@dataclass(frozen=True)
class Rung:
    """Some rows of a long table, or all of them, and the folds by which candidates are compared.

    ``n_rows`` is how many there are to fit on; penalties, which are given for those of the first
    rung, are multiplied with ``factor``. Members are grown on ``growing``.
    """

    rows: SearchRows
    folds: FoldAssignment | Folds
    n_rows: int
    growing: SearchRows
    factor: float = 1.0
    #: The numbers of its rows in the table, where they are known, and how much each counts.
    sample: tuple[IntArray, FloatArray] | None = None

    @classmethod
    def whole(
        cls, rows: SearchRows, folds: FoldAssignment | Folds, n_rows: int, factor: float = 1.0
    ) -> Rung:
        """All rows."""
        return cls(rows, folds, n_rows, rows, factor)


def rung_sizes(n_rows: int) -> list[int]:
    """On how many rows of so long a table the rungs fit; none where all are few enough."""
    if n_rows <= _FEWEST:
        return []
    if n_rows < 4 * _FEWEST:
        return [min(_FEWEST, n_rows // 2)]
    return [_FEWEST, min(_MOST, n_rows // 2)]


def sampled_rung(
    X: Any,
    target_of: Callable[[slice], Target],
    weight: FloatArray,
    n_fitted: int,
    factor: float,
    *,
    folds: Folds | None = None,
    beside: Array | None = None,
    numbers: IntArray | None = None,
) -> Rung:
    """A rung of sampled rows, of which the first are fitted on and the others held out.

    With ``folds``, pairs of positions, these say which are held out; without any, none is.
    """
    n_rows = len(weight)
    fitted = in_blocks(X, target_of, weight, slice(0, n_fitted), beside)
    held_out = in_blocks(X, target_of, weight, slice(n_fitted, n_rows), beside)
    if folds is None:
        folds = [(np.arange(n_fitted), np.arange(n_fitted, n_rows))]
    blocks: Sequence[SearchBlock] = [*fitted, *held_out]
    sample = None if numbers is None else (numbers, weight)
    return Rung(SearchInMemory(blocks), folds, n_fitted, SearchInMemory(fitted), factor, sample)
