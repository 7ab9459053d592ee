"""Requests that wait are answered together: one call of the model for many of them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from covey.serving._schema import BadRequestError


@dataclass
class _Job:
    rows: Sequence[Any]
    how: Hashable
    future: asyncio.Future[Any]


class Batcher:
    """Calls a function of rows in one thread, with the rows of all requests that wait.

    While a call runs, requests gather; the next call takes them together. So the cost of a call is
    shared by more requests the more there are, and a lone request waits for nobody.

    Parameters
    ----------
    compute : callable
        ``compute(rows, how)`` gives one answer for each row. If it fails for the rows of several
        requests, each is tried alone, so that one fails that deserves it.
    max_rows : int
        The most rows of a call, if more than one request is in it.
    max_waiting : int
        The most rows that wait; beyond, a request is refused.
    seconds : float
        How long a request waits for its answer.
    """

    def __init__(
        self,
        compute: Callable[[Sequence[Any], Any], Sequence[Any]],
        *,
        max_rows: int,
        max_waiting: int,
        seconds: float,
    ):
        self._compute = compute
        self._max_rows, self._max_waiting, self._seconds = max_rows, max_waiting, seconds
        self._jobs: deque[_Job] = deque()
        self._busy = False
        # Threads are made on first use.
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="covey-serve")
        self.waiting = 0  # rows
        self.calls = 0

    async def ask(self, rows: Sequence[Any], how: Hashable = None) -> Sequence[Any]:
        """The answers for the rows of one request."""
        if self.waiting + len(rows) > self._max_waiting:
            raise BadRequestError(
                "The server has too many requests to answer; try again in a second.",
                503,
                {"Retry-After": "1"},
            )
        job = _Job(rows, how, asyncio.get_running_loop().create_future())
        self._jobs.append(job)
        self.waiting += len(rows)
        self._next()
        try:
            return await asyncio.wait_for(job.future, self._seconds)
        except TimeoutError:
            raise BadRequestError(
                f"The answer takes longer than {self._seconds:g} seconds; ask for fewer rows, or "
                "let the server take longer (--seconds).",
                503,
                {"Retry-After": "1"},
            ) from None

    def close(self) -> None:
        """End the thread when it has done what it does."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _next(self) -> None:
        if self._busy:
            return
        jobs = self._taken()
        if not jobs:
            return
        self._busy = True
        self.calls += 1
        running = asyncio.get_running_loop().run_in_executor(self._pool, self._run, jobs)
        running.add_done_callback(lambda done: self._done(jobs, done))

    def _taken(self) -> list[_Job]:
        """The requests of the next call: the first that waits, and others of the same kind."""
        jobs: list[_Job] = []
        left: deque[_Job] = deque()
        n_rows = 0
        while self._jobs:
            job = self._jobs.popleft()
            if job.future.done():
                # Nobody waits for it any more.
                self.waiting -= len(job.rows)
            elif not jobs or (job.how == jobs[0].how and n_rows + len(job.rows) <= self._max_rows):
                jobs.append(job)
                n_rows += len(job.rows)
            else:
                left.append(job)
        self._jobs = left
        return jobs

    def _run(self, jobs: Sequence[_Job]) -> list[Any]:
        """For each request its answers, or what went wrong."""
        try:
            return self._together(jobs)
        except Exception as error:
            if len(jobs) == 1:
                return [error]
        return [one for job in jobs for one in self._run([job])]

    def _together(self, jobs: Sequence[_Job]) -> list[Any]:
        answers = self._compute([row for job in jobs for row in job.rows], jobs[0].how)
        parts, first = [], 0
        for job in jobs:
            parts.append(answers[first : first + len(job.rows)])
            first += len(job.rows)
        return parts

    def _done(self, jobs: Sequence[_Job], done: asyncio.Future[Any]) -> None:
        self._busy = False
        for job in jobs:
            self.waiting -= len(job.rows)
        if not done.cancelled():
            for job, answer in zip(jobs, done.result(), strict=True):
                if job.future.done():
                    continue
                if isinstance(answer, Exception):
                    job.future.set_exception(answer)
                else:
                    job.future.set_result(answer)
        self._next()
