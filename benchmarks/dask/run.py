"""What it costs to train on Dask workers: memory, overhead and speed-up.

    python benchmarks/dask/run.py memory --rows 1000000 4000000
    python benchmarks/dask/run.py beyond --limit 1000
    python benchmarks/dask/run.py alone --limit 100
    python benchmarks/dask/run.py speed --rows 2000000
    python benchmarks/dask/run.py overhead

Tables are drawn block by block where they are needed, so that no process has all of one. Every
worker is a process with one thread, pinned to a core of its own if there are enough.
"""

import argparse
import os
import time
from contextlib import contextmanager
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import covey
from covey._core.algorithm1.rows import RowBlock
from covey.dask import _worker
from covey.dask._spill import SpillBuffer
from covey.dask._worker import Table

N_FEATURES, N_CLASSES = 50, 3
MB = 1e6


def block_of_rows(number, n_rows):
    """Three classes on a plane in 50 dimensions, and noise."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((n_rows, N_FEATURES))
    scores = X[:, : 2 * N_CLASSES].reshape(n_rows, N_CLASSES, 2).sum(axis=2)
    y = (scores + rng.standard_normal(scores.shape)).argmax(axis=1)
    return X, y


def table(n_rows, n_blocks):
    """X and y as Dask arrays."""
    lengths = np.diff(np.linspace(0, n_rows, n_blocks + 1).astype(int))
    rows = [dask.delayed(block_of_rows)(k, int(n)) for k, n in enumerate(lengths)]
    X = [
        da.from_delayed(block[0], (int(n), N_FEATURES), np.float64)
        for block, n in zip(rows, lengths, strict=True)
    ]
    y = [
        da.from_delayed(block[1], (int(n),), np.int64)
        for block, n in zip(rows, lengths, strict=True)
    ]
    return da.concatenate(X), da.concatenate(y)


def flock(n_members=2, n_steps=20):
    """A flock of which every member takes as many steps."""
    return covey.SubsetEnsembleClassifier.paper(
        n_estimators=n_members,
        max_iter=n_steps,
        tol=-np.inf,
        select_size=None,
        random_state=0,
    )


@contextmanager
def cluster(n_workers, memory_limit="auto"):
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit=memory_limit,
            dashboard_address=":0",
        ) as workers,
        Client(workers, set_as_default=False) as client,
    ):
        client.run(warm_up)
        for number, address in enumerate(client.nthreads()):
            client.run(pin, number, workers=[address])
        with client.as_current():
            yield client


def warm_up():
    """Import what a fit needs, so that it is not taken for its memory."""
    import covey.dask  # noqa: F401


def pin(number):
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[number % len(cores)]})


def resident(which="VmRSS"):
    """Bytes of memory: now, or at most (VmHWM) since `forget_peak`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(which):
            return int(line.split()[1]) * 1024
    return 0


def forget_peak():
    Path("/proc/self/clear_refs").write_text("5")


def peak():
    return resident("VmHWM")


# -- memory --------------------------------------------------------------------------------------


def memory(arguments):
    for n_rows in arguments.rows:
        with cluster(arguments.workers) as client:
            X, y = table(n_rows, arguments.blocks)
            rows_of = {}
            close = Table.close

            def noting(self, rows_of=rows_of, close=close):
                for known in self.facts:
                    rows_of[known.address] = rows_of.get(known.address, 0) + known.n_rows
                close(self)

            Table.close = noting
            before, own_before = client.run(resident), resident()
            client.run(forget_peak)
            forget_peak()
            flock().fit(X, y)
            after = client.run(peak)
            Table.close = close
            for address, n_own in rows_of.items():
                own = n_own * N_FEATURES * 8
                grown = after[address] - before[address]
                print(
                    f"{n_rows} rows: a worker with {own / MB:.0f} MB of rows grew by "
                    f"{grown / MB:.0f} MB at most, {grown / own:.2f} times as much"
                )
            print(
                f"{n_rows} rows ({n_rows * N_FEATURES * 8 / MB:.0f} MB): "
                f"the client grew by {(peak() - own_before) / MB:.0f} MB at most"
            )


def beyond(arguments):
    """A table twice as large as the workers' memory."""
    limit = arguments.limit * MB
    n_rows = int(2 * arguments.workers * limit / (N_FEATURES * 8))
    n_blocks = 40 * arguments.workers
    with cluster(arguments.workers, memory_limit=int(limit)) as client:
        X, y = table(n_rows, n_blocks)
        pids = set(client.run(os.getpid).values())
        client.run(forget_peak)
        started = time.perf_counter()
        flock(1, 5).fit(X, y)
        seconds = time.perf_counter() - started
        largest = max(client.run(peak).values())
        alive = pids == set(client.run(os.getpid).values())
    print(
        f"{n_rows} rows, {n_rows * N_FEATURES * 8 / MB:.0f} MB, on {arguments.workers} workers of "
        f"{limit / MB:.0f} MB: {seconds:.1f} s, at most {largest / MB:.0f} MB a worker, no worker "
        f"restarted: {alive}"
    )


def alone(arguments):
    """No cluster, and a table ten times as large as what may be kept in memory."""
    limit = arguments.limit * MB
    n_rows = int(10 * limit / (N_FEATURES * 8))
    X, y = table(n_rows, 40)
    _worker._STORES[_worker.THIS_PROCESS] = _worker.BlockStore(SpillBuffer(limit))
    before = resident()
    forget_peak()
    started = time.perf_counter()
    flock(1, 5).fit(X, y)
    print(
        f"{n_rows} rows, {n_rows * N_FEATURES * 8 / MB:.0f} MB, in this process, "
        f"{limit / MB:.0f} MB of them in memory: {time.perf_counter() - started:.1f} s, grew by "
        f"{(peak() - before) / MB:.0f} MB at most"
    )


# -- speed ---------------------------------------------------------------------------------------


def watch():
    """Let a worker note how long it works on the reductions of a step."""
    _worker.spent = 0.0
    if hasattr(_worker.BlockStore.reduced, "watched"):
        return
    reduced = _worker.BlockStore.reduced

    def timed(store, request, numbers):
        started = time.perf_counter()
        outcomes = reduced(store, request, numbers)
        _, args = request.calls[-1]
        if of_a_step(*args):
            _worker.spent += time.perf_counter() - started
        return outcomes

    timed.watched = True
    _worker.BlockStore.reduced = timed


def spent():
    return _worker.spent


def of_a_step(*args):
    """Whether it is a reduction that a step of Algorithm 1 needs."""
    return any(arg in (RowBlock.evaluate, RowBlock.slopes) for arg in args if callable(arg))


def timed_steps(client, X, y, n_members, n_steps):
    """Seconds that all steps took, and what the busiest worker needed of them."""
    client.run(watch)
    waited = []
    gather = Table.gather

    def timed(self, method, *args):
        started = time.perf_counter()
        results = gather(self, method, *args)
        if of_a_step(*args):
            waited.append(time.perf_counter() - started)
        return results

    Table.gather = timed
    try:
        fitted = flock(n_members, n_steps).fit(X, y)
    finally:
        Table.gather = gather
    return sum(waited), max(client.run(spent).values()), int(fitted.n_iter_.sum())


def speed(arguments):
    for n_rows in arguments.rows:
        took = {}
        for n_workers in (1, 2):
            with cluster(n_workers) as client:
                X, y = table(n_rows, arguments.blocks)
                seconds, busy, n_steps = timed_steps(client, X, y, 1, 20)
                took[n_workers] = seconds / n_steps
                print(
                    f"{n_rows} rows, {n_workers} workers: {took[n_workers] * 1e3:.1f} ms a step, "
                    f"of which the busiest worker works {busy / n_steps * 1e3:.1f} ms"
                )
        print(f"{n_rows} rows: two workers are {took[1] / took[2]:.2f} times as fast as one")


def overhead(arguments):
    for n_blocks in (2, 8, 32):
        with cluster(arguments.workers) as client:
            X, y = table(20_000, n_blocks)
            seconds, busy, n_steps = timed_steps(client, X, y, 2, 100)
            print(
                f"{n_blocks} blocks, {arguments.workers} workers: "
                f"{(seconds - busy) / n_steps * 1e3:.1f} ms a step beyond the blocks' own work "
                f"of {busy / n_steps * 1e3:.1f} ms"
            )


def same(arguments):
    """The flock is the one of the rows in memory."""
    with cluster(arguments.workers):
        X, y = table(50_000, arguments.blocks)
        ours, local = flock().fit(X, y), flock().fit(X.compute(), y.compute())
    apart = np.abs(ours.member_coef_ - local.member_coef_).max()
    print(
        f"50000 rows: the same subsets: {(ours.support_ == local.support_).all()}, coefficients "
        f"apart by {apart:.1e}"
    )


PARTS = {
    "memory": memory,
    "beyond": beyond,
    "alone": alone,
    "speed": speed,
    "overhead": overhead,
    "same": same,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--blocks", type=int, default=16)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=float, default=1000.0, help="memory, in MB")
    arguments = parser.parse_args()
    PARTS[arguments.part](arguments)


if __name__ == "__main__":
    main()
