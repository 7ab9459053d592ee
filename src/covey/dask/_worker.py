"""Work where the rows are: blocks of them are loaded, kept, and reduced.

Blocks change with every reduction, so they are no results of Dask's, which may be computed twice
and anywhere. They are kept in this module, in the store of the worker that loaded them, and each
counts the requests that it has carried out. The result of the last one is kept: a request that
comes twice has one effect. A block that missed a request, or is not in the store at all, is
*lost*: the fit loads it again, and replays the calls that had changed the lost one.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import dask
import numpy as np
import psutil
from distributed import Client, fire_and_forget, futures_of, get_client, get_worker
from distributed.scheduler import KilledWorker
from distributed.system import MEMORY_LIMIT

from covey._core.search.rows import SearchRows
from covey.dask._blocks import ReplayLog, changes, table_block
from covey.dask._loading import Facts, checked_rows, facts_of
from covey.dask._spill import SCRATCH, SpillBuffer

# The address of blocks that are kept in this process, by no worker.
THIS_PROCESS = "this process"

# The share for blocks of rows of the memory that a worker has left; the rest is for work on them,
# and for Dask, which pauses a worker at 80 % and ends it at 95 %.
_SHARE_OF_MEMORY = 0.5

# A fit that sends no request for this many seconds is assumed dead. If it is not, its blocks are
# loaded again.
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
        """Carry out a request; return ("reduced", result), ("lost", None) or ("failed", error)."""
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
                            entry.result = method(block, *args)
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
            # The fit was over before this block was loaded.
            store.drop((fit, number))
    return facts_of(rows, address, wants_digest)


async def reduce_blocks(request: Request, dask_worker: Any) -> dict[int, tuple[str, Any]]:
    """Have all blocks of a worker carry out a request; return the outcomes, by block numbers."""
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


def finish(fit: str) -> None:
    """Drop all blocks of a fit, also those that are loaded later."""
    _FINISHED.append(fit)
    for store in list(_STORES.values()):
        store.drop_fit(fit)
    if not n_blocks():
        SCRATCH.clear()


def n_blocks() -> int:
    """Return how many blocks are kept in this process."""
    return sum(len(store) for store in _STORES.values())


# The errors with which a call ends when the connection is lost while it waits.
_LOST = (OSError, TimeoutError, asyncio.CancelledError, concurrent.futures.CancelledError)

# The number and the X, y and weights of each block, as Delayed.
Blocks = Sequence[tuple[int, tuple[Any, ...]]]


class LocalBlocks:
    """Blocks in this process, reduced one after another; beyond a limit they are on disk."""

    def computing(self) -> Any:
        """Return a context in which Dask computes in this process."""
        return dask.config.set(scheduler="threads")

    def load(self, blocks: Blocks, attempt: int, fit: str, *how: Any) -> list[Facts]:
        """Load blocks; see `Cluster.load`."""
        facts = []
        for number, parts in blocks:
            X, y, weight = dask.compute(*parts, scheduler="threads")
            names, numeric, digest = how
            facts.append(load(X, y, weight, fit, number, names, numeric, digest, THIS_PROCESS))
        return facts

    def reduce(self, request: Request) -> dict[int, tuple[str, Any]]:
        """Carry out a request; return the outcomes, by the number of the block."""
        return _store(THIS_PROCESS).reduced(request, request.blocks.get(THIS_PROCESS, []))

    def show(self, part: str, number: int, fit: str) -> None:
        """Do nothing: there is no dashboard."""

    def finish(self, fit: str) -> None:
        """Drop all blocks of a fit."""
        finish(fit)


class Cluster:
    """Blocks on the workers of a Dask cluster."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._shown: list[Any] = []  # kept, so that the dashboard counts them during the fit

    def computing(self) -> Any:
        """Return a context in which Dask computes on this cluster."""
        return dask.config.set(scheduler=self._client)

    def load(self, blocks: Blocks, attempt: int, fit: str, *how: Any) -> list[Facts]:
        """Load blocks on the workers.

        ``attempt`` counts how often blocks were loaded before; for ``how`` see
        `load`.
        """
        loaded = dask.delayed(load, pure=False)
        tasks = [
            loaded(*parts, fit, number, *how, dask_key_name=f"covey-load-{attempt}-{number}-{fit}")
            for number, parts in blocks
        ]

        def compute() -> list[Facts]:
            futures = self._spread(tasks, again=attempt > 0)
            try:
                return self._client.gather(futures)
            finally:
                # A kept exception keeps the objects that it names, and Dask would load these
                # blocks again when their worker dies.
                for future in futures:
                    future.release()

        try:
            return self._connected(compute)
        except KilledWorker as error:
            raise RuntimeError(
                "Workers died again and again while they loaded a block of rows; give them more "
                f"memory, or X smaller blocks. ({error.task})"
            ) from error

    def _spread(self, tasks: list[Any], again: bool) -> list[Any]:
        """Start tasks: where their data is, or else as many for each thread of a worker."""
        threads = [address for address, n in self._client.nthreads().items() for _ in range(n)]
        # Blocks that are loaded again go where Dask likes: Dask would wait for a worker that was
        # named and has just died, also if other workers come.
        if again or not threads or futures_of(tasks):
            return self._client.compute(tasks, retries=2)
        shares: dict[str, list[Any]] = {}
        for position, task in enumerate(tasks):
            address = threads[position * len(threads) // len(tasks)]
            shares.setdefault(address, []).append(task)
        return [
            future
            for address, share in shares.items()
            for future in self._client.compute(
                share, retries=2, workers=[address], allow_other_workers=True
            )
        ]

    def reduce(self, request: Request) -> dict[int, tuple[str, Any]]:
        """Carry out a request; return the outcomes by the number of the block.

        Those of workers that died are missing. Tasks would take four times as long: the request
        is sent to all workers at once, and each reduces its own blocks.
        """
        replies = self._connected(
            self._client.run, reduce_blocks, request, nanny=False, on_error="return"
        )
        outcomes: dict[int, tuple[str, Any]] = {}
        for reply in replies.values():
            if not isinstance(reply, BaseException):
                outcomes.update(reply)
            elif not isinstance(reply, OSError | TimeoutError):
                raise reply
        return outcomes

    def show(self, part: str, number: int, fit: str) -> None:
        """Run a task of that name, which does nothing: requests are not shown by Dask."""
        with contextlib.suppress(*_LOST, RuntimeError):
            key = f"covey-{part}-{number}-{fit}"
            future = self._client.submit(int, number, key=key, pure=False)
            # Shown even if the fit is over before it ran.
            fire_and_forget(future)
            self._shown.append(future)

    def finish(self, fit: str) -> None:
        """Drop all blocks of a fit; those of workers that cannot be reached are lost anyway."""
        if self._client.status == "running":
            with contextlib.suppress(*_LOST):
                self._client.run(finish, fit, on_error="ignore")

    def _connected(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return what the function returns, or raise one sentence if the scheduler is lost."""
        try:
            return function(*args, **kwargs)
        except (*_LOST, RuntimeError) as error:
            if self._is_connected():
                raise
            scheduler = getattr(self._client, "scheduler", None)
            raise RuntimeError(
                f"The connection to the Dask scheduler {getattr(scheduler, 'address', '')} is "
                "lost; start a cluster and fit again (with checkpoint=... the fit goes on where "
                "it was)."
            ) from error

    def _is_connected(self) -> bool:
        if self._client.status != "running":
            return False
        try:
            self._client.ncores()
        except (*_LOST, RuntimeError):
            return False
        return True


Backend = LocalBlocks | Cluster


def current_backend() -> Backend:
    """Return the cluster of the current `distributed.Client`, or this process if there is none.

    Examples
    --------
    >>> from covey.dask._worker import current_backend
    >>> type(current_backend()).__name__
    'LocalBlocks'
    """
    try:
        client = get_client()
    except ValueError:
        return LocalBlocks()
    if client.asynchronous:
        raise ValueError(
            "The current Dask client is asynchronous, but fit waits for its results; use "
            "Client(asynchronous=False)."
        )
    return Cluster(client)


# How often blocks are loaded again for one request.
_MOST_LOSSES = 10


class Table(SearchRows):
    """Blocks of rows that are searched or fitted on, with the facts of each as first loaded.

    Calls are sent to the blocks in numbered requests, and those that changed the blocks are
    remembered: a block that is lost with its worker is loaded again from Dask's graph, and the
    calls are replayed.
    """

    def __init__(
        self,
        backend: Backend,
        parts: Sequence[tuple[Any, ...]],
        names: Sequence[str] | None,
        numeric: bool,
        wants_digest: bool,
    ) -> None:
        self._backend = backend
        self._parts = parts
        self._names = names
        self.numeric = numeric
        self._fit = uuid.uuid4().hex
        self._owners: dict[int, str] = {}
        self._n_requests = 0
        self._n_shown = 0
        self._n_loads = 0
        self._queue: list[Call] = []
        self._log = ReplayLog()
        self.like = np.empty(0)
        try:
            self.facts = self._load(range(len(parts)), wants_digest)
        except BaseException:
            # A block may be refused after others were kept.
            self.close()
            raise
        self._numbers = [number for number, known in enumerate(self.facts) if known.n_rows]
        self.is_sparse = any(known.is_sparse for known in self.facts)

    def prepare(self, classes: np.ndarray, class_weight: np.ndarray, n_features: int) -> None:
        """Make the loaded rows the blocks that a fit works on."""
        self.n_classes, self.n_features = len(classes), n_features
        starts = np.cumsum([0] + [known.n_rows for known in self.facts])[:-1]
        self.broadcast(table_block, classes, class_weight, starts, self.is_sparse)

    def show(self, part: str) -> None:
        """Let the dashboard show that a part of the fit is done."""
        self._n_shown += 1
        self._backend.show(part, self._n_shown, self._fit)

    # -- reduce: workers are sent arguments by position alone --------------------------------

    def broadcast(self, method: Callable[..., Any], *args: Any) -> None:  # type: ignore[override]
        """Call a method of every block; the call travels with the next reduction."""
        self._queue.append((method, args))

    def _each(self, method: Callable[..., Any], *args: Any) -> list[Any]:  # type: ignore[override]
        self.broadcast(method, *args)
        calls, self._queue = self._queue, []
        self._n_requests += 1
        results = self._results(calls)
        for method, args in calls:
            self._log.note(method, args)
        return [results[number] for number in self._numbers]

    def sum(self, method: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]
        """Call a method of every block, and add up the results, entry by entry."""
        # Always in the order of the blocks: the same sum to the bit, whichever worker has them.
        return tuple(
            sum(parts[1:], start=np.array(parts[0]))
            for parts in zip(*self._each(method, *args), strict=True)
        )

    def _results(self, calls: list[Call]) -> dict[int, Any]:
        results: dict[int, Any] = {}
        past = None
        for _ in range(_MOST_LOSSES):
            missing = [number for number in self._numbers if number not in results]
            by_owner: dict[str, list[int]] = {}
            for number in missing:
                by_owner.setdefault(self._owners[number], []).append(number)
            request = Request(self._fit, self._n_requests, calls, by_owner, past)
            for number, (outcome, value) in self._backend.reduce(request).items():
                if outcome == "failed":
                    raise value
                if outcome == "reduced":
                    results[number] = value
            lost = [number for number in missing if number not in results]
            if not lost:
                return results
            self._load(lost, wants_digest=False)
            past = self._log.calls
        raise RuntimeError(
            f"Block {lost[0]} of X was lost {_MOST_LOSSES} times, each time with its worker; give "
            "the workers more memory, or X smaller blocks."
        )

    def _load(self, numbers: Iterable[int], wants_digest: bool) -> list[Facts]:
        blocks = [(number, self._parts[number]) for number in numbers]
        how = self._names, self.numeric, wants_digest
        known = self._backend.load(blocks, self._n_loads, self._fit, *how)
        self._n_loads += 1
        for (number, _), facts in zip(blocks, known, strict=True):
            self._owners[number] = facts.address
        return known

    def close(self) -> None:
        """Drop the blocks, wherever they are."""
        self._backend.finish(self._fit)
