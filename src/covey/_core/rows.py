"""How the blocks of rows of a table are called: by a method of their class.

A table is one or more blocks of rows, in memory, on a GPU or on the workers of a cluster. Each
holds all that depends on a row. What passes between the blocks and the code that uses them is
small: parameters are broadcast to them, and what their methods return is reduced over them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar, cast

from covey._core.arrays import Array

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
