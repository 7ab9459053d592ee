"""The calls that bring a lost block of a search to where it stood."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from covey._core.algorithm1.rows import RowBlock
from covey._core.rows import call
from covey._core.search.block import SearchBlock

Method = Callable[..., Any]
Call = tuple[Method, tuple[Any, ...]]

# The methods that change a `SearchBlock`, by how many arguments identify what is changed: a
# later call with the same ones makes an earlier one superfluous. None: all calls are needed.
_CHANGES: dict[Method, int | None] = {
    SearchBlock.set_weight_unit: 0,
    SearchBlock.standardize: 1,
    SearchBlock.set_folds: 0,
    SearchBlock.assign_folds: 0,
    SearchBlock.set_totals: 2,
    SearchBlock.begin_growing: 1,
    SearchBlock.predict_held_out: None,
}
# The same of a `RowBlock`: which earlier ones each makes superfluous.
_STEP = (RowBlock.slopes, RowBlock.objective)
_GROWN_CHANGES: dict[Method, tuple[Method, ...]] = {
    RowBlock.see: (),
    RowBlock.trust: (),
    RowBlock.boost: (),
    RowBlock.weigh: (RowBlock.weigh, RowBlock.rescale, RowBlock.evaluate, *_STEP),
    RowBlock.rescale: (),
    RowBlock.evaluate: (RowBlock.evaluate, *_STEP),
    RowBlock.slopes: _STEP,
    RowBlock.objective: _STEP,
}


class ReplayLog:
    """The calls of `SearchBlock` to be repeated, in order, if a block is lost and made anew."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def note(self, method: Method, args: tuple[Any, ...]) -> None:
        """Take note of a call of all blocks."""
        if method is SearchBlock.grown:
            name, inner = args[:2]
            if inner not in _GROWN_CHANGES:
                return
            over = _GROWN_CHANGES[inner]
            self._drop(lambda called, of: called is method and of[0] == name and of[1] in over)
        elif method is SearchBlock.drop_layouts:
            self._drop(lambda called, of: called is SearchBlock.standardize)
            return
        elif method in _CHANGES:
            n_identifying = _CHANGES[method]
            if n_identifying is not None:
                same = args[:n_identifying]
                self._drop(lambda called, of: called is method and of[:n_identifying] == same)
            if method is SearchBlock.begin_growing:
                self._drop(lambda called, of: called is SearchBlock.grown and of[0] == args[0])
        else:
            return
        self.calls.append((method, _copied(args)))

    def replay(self, block: SearchBlock) -> None:
        """Bring a block that was just made to the state of the lost one."""
        for method, args in self.calls:
            call(block, method, *args)

    def _drop(self, superfluous: Callable[[Method, tuple[Any, ...]], bool]) -> None:
        self.calls = [call for call in self.calls if not superfluous(*call)]


def _copied(args: Any) -> Any:
    """Arguments as they are now: the caller may change an array later."""
    if isinstance(args, np.ndarray):
        return args.copy()
    if type(args) is tuple:
        return tuple(_copied(part) for part in args)
    return args
