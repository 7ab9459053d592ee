"""A table in memory, or on a device, as blocks of rows that are worked on one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from covey._core.algorithm1.rows import RowBlock
from covey._core.algorithm1.settings import TrainingSettings
from covey._core.algorithm1.targets import target_of
from covey._core.arrays import Array, Workspace, is_on_host
from covey._core.design import Design
from covey._core.rows import BlocksInMemory

# A table is worked on in several blocks if it has twice the most rows of one, or if its outputs
# (classes x runs x rows) are more numbers than a cache holds; and how many a block then has.
_CACHED = 1 << 22
_NUMBERS_AT_ONCE = 1 << 19
_FEWEST_ROWS, _MOST_ROWS = 1 << 12, 1 << 15


def in_memory(
    design: Design, truth: Any, base_weight: Array, settings: TrainingSettings
) -> InMemory:
    """A table whose rows are all in memory; the arguments are those of `RowBlock`.

    Long tables have several blocks: what is made of a block's outputs then stays in the cache, and
    takes no more memory than one block needs.
    """
    target = target_of(truth, settings.loss)
    n_rows, n_outputs = design.n_rows, target.n_outputs * base_weight.shape[0]
    is_long = n_rows >= 2 * _MOST_ROWS or n_rows * n_outputs > _CACHED
    at_once = min(max(_NUMBERS_AT_ONCE // n_outputs, _FEWEST_ROWS), _MOST_ROWS)
    if design.is_sparse or not is_on_host(design.like) or not is_long or n_rows < 2 * at_once:
        return InMemory([RowBlock(design, truth, base_weight, settings)])
    scratch = Workspace(design.like)
    parts = []
    for start in range(0, n_rows, at_once):
        rows = slice(start, min(start + at_once, n_rows))
        part = target.rows(rows).truth
        weight = base_weight[:, rows]
        parts.append(RowBlock(design.rows(rows), part, weight, settings, scratch))
    return InMemory(parts)


class InMemory(BlocksInMemory[RowBlock]):
    """The rows of a table in memory: `covey._core.rows.Rows`."""

    def __init__(self, blocks: Sequence[RowBlock]) -> None:
        super().__init__(blocks)
        first = blocks[0]
        self.n_features = first.design.n_features
        self.n_classes = first.n_classes
        self.like = first.design.like
