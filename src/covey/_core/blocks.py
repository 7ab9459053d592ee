"""Blocks of the rows of a table, and the four ways in which they are used.

Each block holds all that depends on a row. Little passes between the blocks and the code that uses
them: parameters are broadcast to them, and the results of their methods are added up, gathered, or
their maximum is taken. So blocks can lie in memory, on a GPU, or on the workers of a cluster.

Threads: one BLAS thread computes a product, and blocks of rows are computed side by side.

A fit is thousands of small products. Where a library of linear algebra splits each of them among
its threads, every product waits for the slowest, and on a busy machine one of them has no core to
run on: a fit then takes twenty times as long. So products have one thread each, and long tables
are computed in blocks of rows, by as many threads of covey's own as there are cores.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import joblib
import numpy as np
from threadpoolctl import ThreadpoolController

from covey._core.arrays import Array, namespace_of

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
        """Call a function of every block; return the results in the order of the blocks."""

    def broadcast(
        self, method: Callable[Concatenate[Block, P], object], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Call a function of every block."""
        for _ in self._each(method, *args, **kwargs):
            pass

    def sum(
        self, method: Callable[Concatenate[Block, P], Arrays], *args: P.args, **kwargs: P.kwargs
    ) -> Arrays:
        """Call a function of every block, and add up the results, entry by entry."""
        results = iter(self._each(method, *args, **kwargs))
        total = next(results)
        for result in results:
            for one, other in zip(total, result, strict=True):
                one += other
        return total

    def max(
        self, method: Callable[Concatenate[Block, P], Array], *args: P.args, **kwargs: P.kwargs
    ) -> Array:
        """Call a function of every block, and take the maximum of the results."""
        largest, *others = self._each(method, *args, **kwargs)
        for other in others:
            largest = namespace_of(largest).maximum(largest, other)
        return largest

    def gather(
        self, method: Callable[Concatenate[Block, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> list[Result]:
        """Call a function of every block; return the results in the order of the blocks."""
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
        """Call a function of every block, and add up the results: at once, where there is one."""
        if len(self.blocks) == 1:
            return method(self.blocks[0], *args, **kwargs)
        return super().sum(method, *args, **kwargs)


# -- threads --------------------------------------------------------------------------------------


Item = TypeVar("Item")


class _Shared:
    """The state that all fits of a process share: BLAS has one number of threads for all."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n_users = 0
        self.limiter: Any = None
        self.pool: ThreadPoolExecutor | None = None


_shared = _Shared()
# The C library of Linux gives the memory of large arrays back when they are freed, and to be
# given it again, page by page, can take as long as the arithmetic. It keeps what is smaller than
# an array that was freed before: one of this many bytes.
_KEPT = 8 << 20
# Whether this thread is one of the pool's.
_own = threading.local()


@cache
def _libraries() -> ThreadpoolController:
    # NumPy and SciPy have loaded their libraries of linear algebra by now; looking for them takes
    # milliseconds.
    return ThreadpoolController().select(user_api="blas")


def n_cores() -> int:
    """Return how many cores this process may use, by its quota and by a limit on BLAS."""
    found = [library["num_threads"] for library in _libraries().info()]
    return int(max(1, min([joblib.cpu_count(), *found])))


@contextmanager
def own_threads() -> Iterator[None]:
    """Let products have one thread each, and `in_order` the cores, while a fit runs.

    The earlier settings return when the last of the fits that run at once has ended.
    """
    with _shared.lock:
        if not _shared.n_users:
            np.empty(_KEPT, dtype=np.int8)
            cores, libraries = n_cores(), _libraries()
            before = libraries.info()
            # None where there is nothing to restore: products had one each, or another thread of
            # this process limits them, whose limit threadpoolctl keeps.
            _shared.limiter = None
            if any(library["num_threads"] != 1 for library in before):
                limiter = libraries.limit(limits=1)
                _shared.limiter = limiter if libraries.info() != before else None
            _shared.pool = (
                ThreadPoolExecutor(cores, initializer=setattr, initargs=(_own, "is_in_pool", True))
                if cores > 1
                else None
            )
        _shared.n_users += 1
    try:
        yield
    finally:
        with _shared.lock:
            _shared.n_users -= 1
            if not _shared.n_users:
                _restore(_shared.limiter)
                if _shared.pool is not None:
                    # A fit that was interrupted has left calls whose results nobody needs.
                    _shared.pool.shutdown(wait=False, cancel_futures=True)
                _shared.limiter = _shared.pool = None


def _restore(limiter: Any) -> None:
    """Give products the threads that they had, whichever thread has limited them."""
    if limiter is None:
        return
    _release()
    limiter.restore_original_limits()
    _release()


def _release() -> None:
    """Let any thread change the number of threads, where only the one that did so last may."""
    for library in _libraries().lib_controllers:
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release(force=True)


def _begin_anew() -> None:
    """Forget the fits of the parent in a forked process: none of their threads exists here."""
    global _shared
    limiter, _shared = _shared.limiter, _Shared()
    _restore(limiter)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def in_order(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield the function's result for each item, in order; in a fit, threads compute them."""
    pool = _shared.pool
    # A fit within a call of another fit: its threads would wait for calls that wait for them.
    if pool is None or getattr(_own, "is_in_pool", False):
        return map(function, items)
    # A thread has a context of its own, which says what NumPy does about overflows.
    return _results([pool.submit(copy_context().run, function, item) for item in items])


def _results(waiting: list[Future[Result]]) -> Iterator[Result]:
    """Yield the results in order; if the caller stops early, wait for running calls to end."""
    try:
        for one in waiting:
            yield one.result()
    finally:
        for one in waiting:
            one.cancel()
        wait(waiting)
