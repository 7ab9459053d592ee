"""Where blocks of rows are kept: on the workers of a cluster, or in this process."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import dask
from distributed import Client, fire_and_forget, futures_of, get_client
from distributed.scheduler import KilledWorker

from covey.dask import _worker
from covey.dask._loading import Facts
from covey.dask._worker import Request

# The errors with which a call ends when the connection is lost while it waits.
_LOST = (OSError, TimeoutError, asyncio.CancelledError, concurrent.futures.CancelledError)

# The number and the X, y and weights of each block, as Delayed.
Blocks = Sequence[tuple[int, tuple[Any, ...]]]


class LocalBlocks:
    """Blocks in this process, reduced one after another; beyond a limit they are on disk."""

    def computing(self) -> Any:
        """A context in which Dask computes in this process."""
        return dask.config.set(scheduler="threads")

    def load(self, blocks: Blocks, attempt: int, fit: str, *how: Any) -> list[Facts]:
        """Load blocks; see `Cluster.load`."""
        facts = []
        for number, parts in blocks:
            rows = dask.compute(*parts, scheduler="threads")
            facts.append(_worker.load(*rows, fit, number, *how, _worker.THIS_PROCESS))
        return facts

    def reduce(self, request: Request) -> dict[int, tuple[str, Any]]:
        """Carry out a request: the outcomes, by the number of the block."""
        return _worker.reduce_in_this_process(request)

    def show(self, part: str, number: int, fit: str) -> None:
        """There is no dashboard."""

    def finish(self, fit: str) -> None:
        """Drop all blocks of a fit."""
        _worker.finish(fit)


class Cluster:
    """Blocks on the workers of a Dask cluster."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._shown: list[Any] = []  # kept, so that the dashboard counts them during the fit

    def computing(self) -> Any:
        """A context in which Dask computes on this cluster."""
        return dask.config.set(scheduler=self._client)

    def load(self, blocks: Blocks, attempt: int, fit: str, *how: Any) -> list[Facts]:
        """Load blocks on the workers.

        ``attempt`` counts how often blocks were loaded before; for ``how`` see
        `covey.dask._worker.load`.
        """
        load = dask.delayed(_worker.load, pure=False)
        tasks = [
            load(
                *parts,
                fit,
                number,
                *how,
                dask_key_name=f"covey-load-{attempt}-{number}-{fit}",
            )
            for number, parts in blocks
        ]

        def compute() -> list[Facts]:
            futures = self._spread(tasks, again=attempt > 0)
            try:
                return self._client.gather(futures)
            finally:
                # A kept exception keeps what is named here, and Dask would load these blocks
                # again when their worker dies.
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
        # Blocks that are loaded again go where Dask likes: Dask would wait for a worker that
        # was named and has just died, also if other workers come.
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
        """Carry out a request: the outcomes by the number of the block.

        Those of workers that died are missing. Tasks would take four times as long: the request
        is sent to all workers at once, and each reduces its own blocks.
        """
        replies = self._connected(
            self._client.run, _worker.reduce_blocks, request, nanny=False, on_error="return"
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
                self._client.run(_worker.finish, fit, on_error="ignore")

    def _connected(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """What the function returns, or one sentence if the scheduler is lost."""
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
    """The cluster of the current `distributed.Client`, or this process if there is none.

    Examples
    --------
    >>> from covey.dask import current_backend
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
