"""How the blocks of rows of a table are called: by a method of their class.

A table is one or more blocks of rows, in memory, on a GPU or on the workers of a cluster. Each
holds all that depends on a row. What passes between the blocks and the code that uses them is
small: parameters are broadcast to them, and what their methods return is reduced over them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast

from covey._core.arrays import Array, namespace_of

Block = TypeVar("Block", covariant=True)
P = ParamSpec("P")
Result = TypeVar("Result")
Arrays = TypeVar("Arrays", bound=tuple[Array, ...])


class Rows(Protocol[Block]):
    """The rows of a table, as blocks of a class.

    In every call ``method`` is a function of that class, such as ``RowBlock.evaluate``, and the
    arguments are those that the method takes.
    """

    @property
    def n_features(self) -> int:
        """How many columns there are."""

    @property
    def n_classes(self) -> int:
        """How many classes there are."""

    @property
    def like(self) -> Array:
        """An array of the namespace, dtype and device that parameters must have."""

    def broadcast(
        self,
        method: Callable[Concatenate[Block, P], object],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        """Call a method of every block."""

    def sum(
        self,
        method: Callable[Concatenate[Block, P], Arrays],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Arrays:
        """Call a method of every block, and add up what they return, entry by entry."""

    def max(
        self,
        method: Callable[Concatenate[Block, P], Array],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Array:
        """Call a method of every block, and take the maximum of what they return."""

    def gather(
        self,
        method: Callable[Concatenate[Block, P], Result],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> list[Result]:
        """Call a method of every block; what each returns, in the order of the blocks."""


B = TypeVar("B")


def call(
    block: B,
    method: Callable[Concatenate[B, P], Result],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Result:
    """Call a method of a block, which a subclass of the block may have overridden."""
    return cast(Result, getattr(block, method.__name__)(*args, **kwargs))


class BlocksInMemory(Generic[B]):
    """Blocks of rows that are called one after another."""

    def __init__(self, blocks: Sequence[B]) -> None:
        self._blocks = blocks

    def broadcast(
        self,
        method: Callable[Concatenate[B, P], object],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        """Call a method of every block."""
        for block in self._blocks:
            call(block, method, *args, **kwargs)

    def sum(
        self,
        method: Callable[Concatenate[B, P], Arrays],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Arrays:
        """Call it, and add up what the blocks return, entry by entry."""
        blocks = iter(self._blocks)
        total = call(next(blocks), method, *args, **kwargs)
        for block in blocks:
            for one, other in zip(total, call(block, method, *args, **kwargs), strict=True):
                one += other
        return total

    def max(
        self,
        method: Callable[Concatenate[B, P], Array],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Array:
        """Call it, and take the maximum of what the blocks return."""
        largest, *others = self.gather(method, *args, **kwargs)
        for other in others:
            largest = namespace_of(largest).maximum(largest, other)
        return largest

    def gather(
        self,
        method: Callable[Concatenate[B, P], Result],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> list[Result]:
        """Call it; what each block returns."""
        return [call(block, method, *args, **kwargs) for block in self._blocks]
