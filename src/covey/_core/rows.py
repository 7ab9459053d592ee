"""How the blocks of rows of a table are called: by a method of their class.

A table is one or more blocks of rows, in memory, on a GPU or on the workers of a cluster. Each
holds all that depends on a row. What passes between the blocks and the code that uses them is
small: parameters are broadcast to them, and what their methods return is reduced over them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Concatenate, Generic, ParamSpec, TypeVar, cast

from covey._core.arrays import Array, namespace_of
from covey._core.threads import in_order

Block = TypeVar("Block")
P = ParamSpec("P")
Result = TypeVar("Result")
Arrays = TypeVar("Arrays", bound=tuple[Array, ...])


class Rows(ABC, Generic[Block]):
    """The rows of a table, as blocks of a class.

    In every call ``method`` is a function of that class, such as ``RowBlock.evaluate``, and the
    arguments are those that the method takes.
    """

    n_features: int
    n_classes: int
    like: Array  # of the namespace, dtype and device that parameters must have

    @abstractmethod
    def _each(
        self, method: Callable[Concatenate[Block, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> Iterable[Result]:
        """What a method of every block returns, in the order of the blocks."""

    def broadcast(
        self, method: Callable[Concatenate[Block, P], object], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Call a method of every block."""
        for _ in self._each(method, *args, **kwargs):
            pass

    def sum(
        self, method: Callable[Concatenate[Block, P], Arrays], *args: P.args, **kwargs: P.kwargs
    ) -> Arrays:
        """Call a method of every block, and add up what they return, entry by entry."""
        results = iter(self._each(method, *args, **kwargs))
        total = next(results)
        for result in results:
            for one, other in zip(total, result, strict=True):
                one += other
        return total

    def max(
        self, method: Callable[Concatenate[Block, P], Array], *args: P.args, **kwargs: P.kwargs
    ) -> Array:
        """Call a method of every block, and take the maximum of what they return."""
        largest, *others = self._each(method, *args, **kwargs)
        for other in others:
            largest = namespace_of(largest).maximum(largest, other)
        return largest

    def gather(
        self, method: Callable[Concatenate[Block, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> list[Result]:
        """Call a method of every block; what each returns, in the order of the blocks."""
        return list(self._each(method, *args, **kwargs))


def call(
    block: Block,
    method: Callable[Concatenate[Block, P], Result],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Result:
    """Call a method of a block, which a subclass of the block may have overridden."""
    return cast(Result, getattr(block, method.__name__)(*args, **kwargs))


class BlocksInMemory(Rows[Block]):
    """Blocks of rows that are called one after another, or side by side if nothing is shared."""

    def __init__(self, blocks: Sequence[Block], *, side_by_side: bool = False) -> None:
        self._blocks = blocks
        self._side_by_side = side_by_side and len(blocks) > 1

    def _each(
        self, method: Callable[Concatenate[Block, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> Iterator[Result]:
        def called(block: Block) -> Result:
            return call(block, method, *args, **kwargs)

        return in_order(called, self._blocks) if self._side_by_side else map(called, self._blocks)
