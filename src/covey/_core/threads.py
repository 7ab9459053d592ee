"""How many cores a fit works on, and by whom: one BLAS thread a product, blocks of rows beside.

A fit is thousands of small products. Where a library of linear algebra splits each of them among
its threads, every product waits for the slowest, and on a busy machine one of them has no core to
run on: a fit then takes twenty times as long. So products have one thread each, and long tables
are worked on in blocks of rows, by as many threads of our own as there are cores.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from typing import Any, TypeVar

import joblib
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Shared:
    """What all fits of a process share: BLAS has one number of threads for all of them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n_users = 0
        self.limiter: Any = None
        self.pool: ThreadPoolExecutor | None = None


_shared = _Shared()
# Whether this thread is one of the pool's.
_own = threading.local()


@cache
def _libraries() -> ThreadpoolController:
    # NumPy and SciPy have loaded their libraries of linear algebra by now; to look for them
    # takes milliseconds.
    return ThreadpoolController().select(user_api="blas")


def n_cores() -> int:
    """The cores that this process may use: a quota counts, and so does a limit on BLAS."""
    found = [library["num_threads"] for library in _libraries().info()]
    return int(max(1, min([joblib.cpu_count(), *found])))


@contextmanager
def own_threads() -> Iterator[None]:
    """Let products have one thread each, and `in_order` the cores, while a fit runs.

    What was set before comes back when the last of the fits that run at once has ended.
    """
    with _shared.lock:
        if not _shared.n_users:
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
                    # A fit that was interrupted has left calls that nobody waits for.
                    _shared.pool.shutdown(wait=False, cancel_futures=True)
                _shared.limiter = _shared.pool = None


def _restore(limiter: Any) -> None:
    """Let products have the threads that they had, whichever thread has limited them."""
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
    """What the function returns of each item, in their order; by several threads in a fit."""
    pool = _shared.pool
    # A fit within a call of another fit: its threads would wait for calls that wait for them.
    if pool is None or getattr(_own, "is_in_pool", False):
        return map(function, items)
    # A thread has a context of its own, which says what NumPy does about overflows.
    return _results([pool.submit(copy_context().run, function, item) for item in items])


def _results(waiting: list[Future[Result]]) -> Iterator[Result]:
    """What was submitted, in order; whoever stops waiting finds nobody still at work."""
    try:
        for one in waiting:
            yield one.result()
    finally:
        for one in waiting:
            one.cancel()
        wait(waiting)
