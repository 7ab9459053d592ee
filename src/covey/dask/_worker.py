"""What runs where the rows are: blocks of them are loaded, kept, and reduced.

Blocks change with every reduction, so they are no results of Dask's, which may be computed twice
and anywhere. They are kept in this module, in the store of the worker that loaded them, and each
counts the requests that it has carried out. The result of the last one is kept: a request that
comes twice has one effect. A block that missed a request, or is not in the store at all, is
*lost*: the fit has it loaded again, and replays the calls that made the lost one what it was.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import psutil
from distributed import get_worker
from distributed.system import MEMORY_LIMIT

from covey._core.rows import call
from covey.dask._blocks import changes, table_block
from covey.dask._loading import Facts, checked_rows, facts_of
from covey.dask._spill import SCRATCH, SpillBuffer

# The address of blocks that are kept in this process, by no worker.
THIS_PROCESS = "this process"

# Of the memory that a worker has left, the share for blocks of rows; the rest is for work on
# them, and for Dask, which pauses a worker at 80 % and ends it at 95 %.
_SHARE_OF_MEMORY = 0.5

# A fit that sends no request for so many seconds is taken for dead. If it is not, its blocks
# are loaded again.
_PATIENCE = 3600.0

Call = tuple[Callable[..., Any], tuple[Any, ...]]
Key = tuple[str, int]  # which fit, and which of its blocks


class Request(NamedTuple):
    """Calls that blocks carry out; the result of the last one is sent back."""

    fit: str
    number: int  # counts the requests of a fit
    calls: list[Call]
    blocks: dict[str, list[int]]  # the blocks concerned, by the address of their worker
    past: list[Call] | None  # what blocks that were loaded again must carry out before


@dataclass
class _Entry:
    n_requests: int = 0
    result: Any = None  # of the last request
    used: float = field(default_factory=time.monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)


class BlockStore:
    """The blocks of one worker, or of this process; ``n_threads`` are reduced at the same time."""

    def __init__(self, buffer: SpillBuffer, n_threads: int = 1) -> None:
        self.buffer = buffer
        self.n_threads = n_threads
        self.pool = ThreadPoolExecutor(n_threads, "covey")
        self._entries: dict[Key, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, key: Key, block: Any) -> None:
        """Keep a block that was just loaded."""
        self._drop_old()
        self.buffer.put(key, block)
        self._entries[key] = _Entry()

    def reduced(self, request: Request, numbers: Sequence[int]) -> dict[int, tuple[str, Any]]:
        """Carry out a request; ("reduced", result), ("lost", None) or ("failed", error) each."""
        return {number: self._reduced(request, (request.fit, number)) for number in numbers}

    def _reduced(self, request: Request, key: Key) -> tuple[str, Any]:
        entry = self._entries.get(key)
        if entry is None:
            return "lost", None
        with entry.lock:
            entry.used = time.monotonic()
            if entry.n_requests == request.number:
                return "reduced", entry.result
            calls = request.calls
            if entry.n_requests == 0 and request.past is not None:
                calls = [*request.past, *calls]
            elif entry.n_requests != request.number - 1:
                return "lost", None
            try:
                block = self.buffer.get(key)
                with np.errstate(over="ignore", invalid="ignore"):
                    for method, args in calls:
                        if method is table_block:
                            block = method(block, key[1], *args)
                        else:
                            entry.result = call(block, method, *args)
                if self._entries.get(key) is entry:
                    self.buffer.put(key, block, any(changes(*call) for call in calls))
            except Exception as error:
                # Some of the calls may have been carried out.
                self.drop(key)
                return "failed", error
            entry.n_requests = request.number
            return "reduced", entry.result

    def drop(self, key: Key) -> None:
        """Forget a block."""
        if self._entries.pop(key, None) is not None:
            self.buffer.drop(key)

    def drop_fit(self, fit: str) -> None:
        """Forget all blocks of a fit."""
        for key in [key for key in list(self._entries) if key[0] == fit]:
            self.drop(key)

    def _drop_old(self) -> None:
        now = time.monotonic()
        for key, entry in list(self._entries.items()):
            if now - entry.used > _PATIENCE:
                self.drop(key)


_STORES: dict[str, BlockStore] = {}  # by the address of their worker
_FINISHED: deque[str] = deque(maxlen=1000)  # fits
_LOCK = threading.Lock()


def _store(address: str) -> BlockStore:
    with _LOCK:
        if address not in _STORES:
            limit, folder, n_threads = MEMORY_LIMIT, None, 1
            if address != THIS_PROCESS:
                worker = get_worker()
                limit = worker.memory_manager.memory_limit or MEMORY_LIMIT
                folder, n_threads = worker.local_directory, worker.state.nthreads
            left = max(0, limit - psutil.Process().memory_info().rss)
            _STORES[address] = BlockStore(SpillBuffer(_SHARE_OF_MEMORY * left, folder), n_threads)
        return _STORES[address]


def load(
    X: Any,
    y: Any,
    weight: Any,
    fit: str,
    number: int,
    names: Sequence[str] | None,
    numeric: bool,
    wants_digest: bool,
    address: str | None = None,
) -> Facts:
    """Check a block of rows and keep it, in the store of the worker that runs this.

    ``numeric`` is whether y holds numbers instead of labels, ``address`` another store.
    """
    address = get_worker().address if address is None else address
    rows = checked_rows(X, y, weight, number, names, numeric)
    if len(rows.weight):
        store = _store(address)
        store.add((fit, number), rows)
        if fit in _FINISHED:
            # It was over before this block was loaded.
            store.drop((fit, number))
    return facts_of(rows, address, wants_digest)


async def reduce_blocks(request: Request, dask_worker: Any) -> dict[int, tuple[str, Any]]:
    """Have all blocks of a worker carry out a request: the outcomes, by the blocks' numbers."""
    address = dask_worker.address
    numbers = request.blocks.get(address, [])
    store = _STORES.get(address)
    if store is None:
        return dict.fromkeys(numbers, ("lost", None))
    # Not in the worker's own thread, which tells the scheduler that the worker is alive.
    parts = await asyncio.gather(
        *(
            asyncio.wrap_future(store.pool.submit(store.reduced, request, share))
            for share in (numbers[first :: store.n_threads] for first in range(store.n_threads))
        )
    )
    return {number: outcome for part in parts for number, outcome in part.items()}


def reduce_in_this_process(request: Request) -> dict[int, tuple[str, Any]]:
    """The same for the blocks that are kept in this process."""
    return _store(THIS_PROCESS).reduced(request, request.blocks.get(THIS_PROCESS, []))


def finish(fit: str) -> None:
    """Drop all blocks of a fit, also those that are loaded later."""
    _FINISHED.append(fit)
    for store in list(_STORES.values()):
        store.drop_fit(fit)
    if not n_blocks():
        SCRATCH.clear()


def n_blocks() -> int:
    """How many blocks are kept in this process."""
    return sum(len(store) for store in _STORES.values())
