"""The rows of a table that is searched: blocks, and sums over them.

A table is one or more blocks of rows, as for Algorithm 1 (`covey._core.algorithm1.rows`), each a
`covey._core.search.block.SearchBlock`. A table in memory has one or several (`SearchInMemory`);
blocks on workers, which may be lost, are made again from their rows and from a
`covey.dask._blocks.ReplayLog`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate

import numpy as np
import numpy.typing as npt

from covey._core.algorithm1.rows import RowBlock, TrainingSettings
from covey._core.arrays import Array, FloatArray, IntArray
from covey._core.blocks import Arrays, Blocks, MemoryBlocks, P, Result
from covey._core.search.block import SearchBlock, Target
from covey._core.search.folds import (
    FoldAssignment,
    Folds,
    assigned_folds,
    possible_folds,
    ranked_classes,
)

# A longer table is searched in blocks of this many rows: their columns stay in the cache, and
# cores work side by side.
_MOST_IN_A_BLOCK, _ROWS_OF_A_BLOCK = 10_000, 4_096


class SearchRows(Blocks[SearchBlock]):
    """The rows of a table that is searched; ``n_classes`` is 1 for numbers.

    ``restricts`` is whether copying the columns in use saves time.
    """

    is_sparse: bool
    restricts = False

    def growing(self, name: str, n_columns: int, settings: TrainingSettings) -> Blocks[RowBlock]:
        """Return the rows on which members of a basis grow: see `SearchBlock.begin_growing`."""
        self.broadcast(SearchBlock.begin_growing, name, settings)
        return GrowingRows(self, name, n_columns)


class SearchInMemory(MemoryBlocks[SearchBlock], SearchRows):
    """A table that is searched, with all of its rows in memory, in one block or several."""

    def __init__(self, blocks: Sequence[SearchBlock]) -> None:
        super().__init__(blocks, side_by_side=True)
        self.restricts, self.is_sparse = blocks[0].beside is None, blocks[0].is_sparse


def in_blocks(
    X: Any,
    y: npt.NDArray[Any],
    target_of: Callable[[npt.NDArray[Any]], Target],
    weight: FloatArray,
    rows: slice,
    beside: Array | None = None,
) -> list[SearchBlock]:
    """Return rows of a table in memory as blocks; ``target_of`` makes the target of some y."""
    at_once = rows.stop - rows.start
    if beside is None and at_once > _MOST_IN_A_BLOCK:
        at_once = _ROWS_OF_A_BLOCK
    blocks = []
    for start in range(rows.start, rows.stop, max(1, at_once)):
        which = slice(start, min(start + at_once, rows.stop))
        blocks.append(SearchBlock(X[which], target_of(y[which]), weight[which], start, beside))
    return blocks


class GrowingRows(Blocks[RowBlock]):
    """The rows, after ``begin_growing``, on which members are grown on the basis of this name."""

    def __init__(self, rows: SearchRows, name: str, n_columns: int) -> None:
        self._rows, self._name = rows, name
        self.n_features, self.n_classes, self.like = n_columns, rows.n_classes, rows.like

    def _each(
        self, method: Callable[Concatenate[RowBlock, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> Iterable[Result]:
        return self._rows._each(SearchBlock.grown, self._name, method, *args, **kwargs)

    def broadcast(
        self, method: Callable[Concatenate[RowBlock, P], object], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Call a method of every `RowBlock`, as the table broadcasts."""
        self._rows.broadcast(SearchBlock.grown, self._name, method, *args, **kwargs)

    def sum(
        self, method: Callable[Concatenate[RowBlock, P], Arrays], *args: P.args, **kwargs: P.kwargs
    ) -> Arrays:
        """Call a method of every `RowBlock`, and add up as the table does."""
        return self._rows.sum(SearchBlock.grown, self._name, method, *args, **kwargs)


def folds_of_rows(
    rows: SearchRows, n_folds: int, classes: npt.NDArray[Any], *, seed: int, n_repeats: int
) -> FoldAssignment:
    """Return stratified folds by the rows' own draws, whichever blocks they lie in."""
    (counts,) = rows.sum(SearchBlock.class_counts)
    n_folds = possible_folds(n_folds, counts, classes)
    known = rows.gather(SearchBlock.fold_draws, seed, n_repeats, ranked_classes(counts))
    return assigned_folds(counts, seed, n_folds, known)


# The most rows of the first rung, and of the second. A table of no more than the first has none.
_FEWEST, _MOST = 5_000, 20_000


@dataclass(frozen=True)
class Rung:
    """Some rows of a long table, or all of them, and the folds on which candidates are compared.

    ``n_rows`` is the number of rows to fit on; penalties, which are given for those of the first
    rung, are multiplied by ``factor``.
    """

    rows: SearchRows
    folds: FoldAssignment | Folds
    n_rows: int
    factor: float = 1.0
    #: The numbers of its rows in the table, where they are known, and how much each counts.
    sample: tuple[IntArray, FloatArray] | None = None

    @classmethod
    def whole(
        cls, rows: SearchRows, folds: FoldAssignment | Folds, n_rows: int, factor: float = 1.0
    ) -> Rung:
        """Return the rung of all rows."""
        return cls(rows, folds, n_rows, factor)


def rung_sizes(n_rows: int) -> list[int]:
    """Return how many rows each rung of a table fits on; none where the table is short."""
    if n_rows <= _FEWEST:
        return []
    if n_rows < 4 * _FEWEST:
        return [min(_FEWEST, n_rows // 2)]
    return [_FEWEST, min(_MOST, n_rows // 2)]


def sampled_rung(
    X: Any,
    y: npt.NDArray[Any],
    target_of: Callable[[npt.NDArray[Any]], Target],
    weight: FloatArray,
    n_fitted: int,
    factor: float,
    *,
    folds: Folds | None = None,
    beside: Array | None = None,
    numbers: IntArray | None = None,
) -> Rung:
    """Return a rung of sampled rows: the first of them are fitted on and the others held out.

    ``folds``, pairs of positions, say which are held out; without them none is.
    """
    n_rows = len(weight)
    fitted = in_blocks(X, y, target_of, weight, slice(0, n_fitted), beside)
    held_out = in_blocks(X, y, target_of, weight, slice(n_fitted, n_rows), beside)
    if folds is None:
        folds = [(np.arange(n_fitted), np.arange(n_fitted, n_rows))]
    blocks: Sequence[SearchBlock] = [*fitted, *held_out]
    sample = None if numbers is None else (numbers, weight)
    return Rung(SearchInMemory(blocks), folds, n_fitted, factor, sample)
