"""Blocks of the rows of a table, and the four ways in which all of them are used.

Each block holds all that depends on a row. What passes between the blocks and the code that uses
them is small: parameters are broadcast to them, and what their methods return is added up, or its
maximum taken, or gathered. So blocks lie in memory, on a GPU, or on the workers of a cluster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from covey._core.arrays import Array, namespace_of
from covey._core.threads import in_order

Block = TypeVar("Block")
P = ParamSpec("P")
Result = TypeVar("Result")
Arrays = TypeVar("Arrays", bound=tuple[Array, ...])


class Blocks(ABC, Generic[Block]):
    """The rows of a table, as blocks of a class.

    In every call ``method`` is a function of a block, such as ``RowBlock.evaluate``, and the
    arguments are those that it takes beside the block.
    """

    n_features: int
    n_classes: int
    like: Array  # of the namespace, dtype and device that parameters must have

    @abstractmethod
    def _each(
        self, method: Callable[Concatenate[Block, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> Iterable[Result]:
        """Call a function of every block; what it returns, in the order of the blocks."""

    def broadcast(
        self, method: Callable[Concatenate[Block, P], object], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Call a function of every block."""
        for _ in self._each(method, *args, **kwargs):
            pass

    def sum(
        self, method: Callable[Concatenate[Block, P], Arrays], *args: P.args, **kwargs: P.kwargs
    ) -> Arrays:
        """Call a function of every block, and add up what it returns, entry by entry."""
        results = iter(self._each(method, *args, **kwargs))
        total = next(results)
        for result in results:
            for one, other in zip(total, result, strict=True):
                one += other
        return total

    def max(
        self, method: Callable[Concatenate[Block, P], Array], *args: P.args, **kwargs: P.kwargs
    ) -> Array:
        """Call a function of every block, and take the maximum of what it returns."""
        largest, *others = self._each(method, *args, **kwargs)
        for other in others:
            largest = namespace_of(largest).maximum(largest, other)
        return largest

    def gather(
        self, method: Callable[Concatenate[Block, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> list[Result]:
        """Call a function of every block; return what it gives of each, in their order."""
        return list(self._each(method, *args, **kwargs))


class MemoryBlocks(Blocks[Block]):
    """Blocks in memory, which are called one after another, or by threads if nothing is shared."""

    def __init__(self, blocks: Sequence[Block], *, side_by_side: bool = False) -> None:
        first: Any = blocks[0]
        self.blocks = blocks
        self.n_features, self.n_classes, self.like = first.n_features, first.n_classes, first.like
        self._side_by_side = side_by_side

    def _each(
        self, method: Callable[Concatenate[Block, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> Iterable[Result]:
        if len(self.blocks) == 1:
            return [method(self.blocks[0], *args, **kwargs)]
        run = in_order if self._side_by_side else map
        return run(lambda block: method(block, *args, **kwargs), self.blocks)

    def sum(
        self, method: Callable[Concatenate[Block, P], Arrays], *args: P.args, **kwargs: P.kwargs
    ) -> Arrays:
        """Call a function of every block, and add up what it returns; most have one block."""
        if len(self.blocks) == 1:
            return method(self.blocks[0], *args, **kwargs)
        return super().sum(method, *args, **kwargs)
