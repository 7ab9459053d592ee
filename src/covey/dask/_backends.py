"""Where blocks of rows are: on the workers of a cluster, or here, one after another."""

import asyncio
import concurrent.futures
import contextlib

import dask
from distributed import Client, futures_of, get_client
from distributed.scheduler import KilledWorker

from covey.dask import _worker

# What a call ends with when the connection goes while it waits.
_GONE = (OSError, TimeoutError, asyncio.CancelledError, concurrent.futures.CancelledError)

# Seconds to wait for a scheduler that was given by its address.
_TIMEOUT = 10.0


class LocalBlocks:
    """Blocks in this process, whatever computes them; beyond a limit they lie on disk."""

    def computing(self):
        """A context in which Dask computes here."""
        return dask.config.set(scheduler="threads")

    def load(self, blocks, attempt, fit, names, wants_digest):
        """Have blocks loaded; see `Cluster.load`."""
        for number, parts in blocks:
            X, y, weight = dask.compute(*parts, scheduler="threads")
            yield (
                number,
                _worker.load(X, y, weight, fit, number, names, wants_digest, _worker.HERE),
            )

    def ask(self, message):
        """Answers by the number of the block."""
        return _worker.answers(message, _worker.HERE)

    def show(self, part, number, fit):
        """Nobody watches."""

    def forget(self, fit):
        """Drop all blocks of a fit."""
        _worker.forget(fit)

    def close(self):
        """Nothing was opened."""


class Cluster:
    """Blocks on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
    ours : bool
        Whether it was opened for this, and is to be closed.
    """

    def __init__(self, client, ours):
        self._client = client
        self._ours = ours
        self._shown = []  # kept, so that the dashboard counts them until the fit is over

    def computing(self):
        """A context in which Dask computes on this cluster."""
        return dask.config.set(scheduler=self._client)

    def load(self, blocks, attempt, fit, names, wants_digest):
        """Have blocks loaded.

        Parameters
        ----------
        blocks : list of (int, tuple of Delayed)
            Their numbers, and X, y and weights of each.
        attempt : int
            How often blocks were loaded before.
        fit, names, wants_digest
            See `covey.dask._worker.load`.

        Yields
        ------
        number : int
        loaded : Loaded
        """
        load = dask.delayed(_worker.load, pure=False)
        tasks = [
            load(
                *parts,
                fit,
                number,
                names,
                wants_digest,
                dask_key_name=f"covey-load-{attempt}-{number}-{fit}",
            )
            for number, parts in blocks
        ]

        def compute():
            futures = self._spread(tasks, anew=attempt > 0)
            try:
                return self._client.gather(futures)
            finally:
                # Whoever keeps an exception keeps what is named here, and Dask would load these
                # blocks again when their worker dies.
                for future in futures:
                    future.release()

        try:
            loaded = self._connected(compute)
        except KilledWorker as error:
            raise RuntimeError(
                "Workers died again and again while they loaded a block of rows; give them more "
                f"memory, or X smaller blocks. ({error.task})"
            ) from error
        for (number, _), known in zip(blocks, loaded, strict=True):
            yield number, known

    def _spread(self, tasks, anew):
        """Start tasks: where their data is, or else as many for each thread of a worker."""
        threads = [address for address, n in self._client.nthreads().items() for _ in range(n)]
        # What is loaded anew goes where Dask likes: a worker that was named and has just died
        # would be waited for, also if others come.
        if anew or not threads or futures_of(tasks):
            return self._client.compute(tasks, retries=2)
        shares = {}
        for place, task in enumerate(tasks):
            address = threads[place * len(threads) // len(tasks)]
            shares.setdefault(address, []).append(task)
        return [
            future
            for address, share in shares.items()
            for future in self._client.compute(
                share, retries=2, workers=[address], allow_other_workers=True
            )
        ]

    def ask(self, message):
        """Answers by the number of the block; those of workers that died are missing.

        A task would travel four times as long: this is said to all workers at once, and they
        answer for their own blocks.
        """
        replies = self._connected(
            self._client.run, _worker.answer, message, nanny=False, on_error="return"
        )
        said = {}
        for reply in replies.values():
            if not isinstance(reply, BaseException):
                said.update(reply)
            elif not isinstance(reply, OSError | TimeoutError):
                raise reply
        return said

    def show(self, part, number, fit):
        """A task of that name, which does nothing: questions are no tasks, and leave no trace."""
        with contextlib.suppress(*_GONE, RuntimeError):
            key = f"covey-{part}-{number}-{fit}"
            self._shown.append(self._client.submit(int, number, key=key, pure=False))

    def forget(self, fit):
        """Drop all blocks of a fit; those of workers that cannot be reached are gone anyway."""
        if self._client.status == "running":
            with contextlib.suppress(*_GONE):
                self._client.run(_worker.forget, fit, on_error="ignore")

    def close(self):
        """Close the client, if it was opened for this."""
        if self._ours:
            self._client.close()

    def _connected(self, function, *args, **kwargs):
        """What the function gives, or one sentence if the scheduler is gone."""
        try:
            return function(*args, **kwargs)
        except (*_GONE, RuntimeError) as error:
            if self._is_connected():
                raise
            raise RuntimeError(
                f"The connection to the Dask scheduler {self._address()} is lost; start a "
                "cluster and fit again (with checkpoint=... the fit goes on where it was)."
            ) from error

    def _is_connected(self):
        if self._client.status != "running":
            return False
        try:
            self._client.ncores()
        except (*_GONE, RuntimeError):
            return False
        return True

    def _address(self):
        scheduler = getattr(self._client, "scheduler", None)
        return getattr(scheduler, "address", "")


def backend_of(client):
    """The place that the parameter ``client`` stands for."""
    if client is None:
        try:
            return Cluster(get_client(), ours=False)
        except ValueError:
            return LocalBlocks()
    if isinstance(client, str):
        try:
            return Cluster(Client(client, timeout=_TIMEOUT, set_as_default=False), ours=True)
        except (OSError, TimeoutError, ValueError) as error:
            raise ValueError(
                f"client={client!r} is no address at which a Dask scheduler answers within "
                f"{_TIMEOUT:.0f} s; start one there, or give a distributed.Client."
            ) from error
    if not isinstance(client, Client):
        raise TypeError(
            "client must be a distributed.Client, the address of a scheduler or None, got "
            f"{client!r}."
        )
    if client.asynchronous:
        raise ValueError(
            "client is asynchronous, but fit waits for its answers; use "
            "Client(asynchronous=False)."
        )
    if client.status != "running":
        raise ValueError(f"client is {client.status}; give one that is connected to a scheduler.")
    return Cluster(client, ours=False)
