"""Batches of waiting requests: one call of the model answers many of them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any

from starlette.exceptions import HTTPException

from covey._validation import check_number

# While requests wait, what is to be done after a call is done after one of so many.
_BUSY = 8
_Job = tuple[Sequence[Any], Hashable, Future[Sequence[Any]]]


@dataclass(frozen=True)
class Limits:
    """The most that one request, and all together, may ask for.

    Parameters
    ----------
    rows : int, default=1000
        The most rows of one request.
    bytes : int, default=1_048_576
        The most bytes of one request's body.
    seconds : float, default=10.0
        How long a request may take to arrive, and then to be answered.
    waiting : int, default=20_000
        The most rows that wait for an answer, of all clients together.
    connections : int, default=500
        The most connections at a time.

    Examples
    --------
    >>> from covey.serving import Limits
    >>> Limits(rows=100).rows
    100
    """

    rows: int = 1000
    bytes: int = 1 << 20
    seconds: float = 10.0
    waiting: int = 20_000
    connections: int = 500

    def __post_init__(self) -> None:
        for one in fields(self):
            whole = isinstance(one.default, int)
            low = 1 if whole else 0.001
            check_number(getattr(self, one.name), one.name, low=low, whole=whole)


class Batches:
    """Calls of a function, in one thread, with the rows of all requests that wait.

    While a call runs, requests gather; the next call takes them together. So many requests share
    the cost of a call, and a single request does not wait.

    Parameters
    ----------
    compute : callable
        ``compute(rows, how)`` returns one answer for each row. If it fails for the rows of several
        requests, each is tried alone, so that only the faulty ones fail.
    most_rows : int
        The most rows of a call, if more than one request is in it.
    most_waiting : int
        The most rows that wait; a request beyond is refused.
    seconds : float
        How long a request waits for its answer.
    after : callable, optional
        ``after(rows, how, answers)`` is called once the answers of a call are on their way; while
        other requests wait, of one call in eight.
    """

    def __init__(
        self,
        compute: Callable[[Sequence[Any], Any], Sequence[Any]],
        most_rows: int,
        most_waiting: int,
        seconds: float,
        after: Callable[[Sequence[Any], Any, Sequence[Any]], object] = lambda *call: None,
    ):
        self._compute, self._most_rows, self._after = compute, most_rows, after
        self._most_waiting, self._seconds = most_waiting, seconds
        self._n_calls = 0
        self._jobs: deque[_Job] = deque()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="covey-serve")
        self.waiting = 0  # rows

    async def ask(self, rows: Sequence[Any], how: Hashable = None) -> Sequence[Any]:
        """Return the answers for the rows of one request."""
        if self.waiting + len(rows) > self._most_waiting:
            raise HTTPException(503, "The server has too many requests to answer; try again.")
        answers: Future[Sequence[Any]] = Future()
        self._jobs.append((rows, how, answers))
        self.waiting += len(rows)
        self._thread.submit(self._answer_next)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(answers), self._seconds)
        except TimeoutError:
            text = f"The answer takes longer than {self._seconds:g} seconds; ask for fewer rows."
            raise HTTPException(503, text) from None
        finally:
            self.waiting -= len(rows)

    def _answer_next(self) -> None:
        """Answer the first request that waits, with those behind it that ask in the same way."""
        jobs, n_rows = list[_Job](), 0
        while self._jobs:
            rows, how, answers = self._jobs[0]
            n_rows += len(rows)
            if jobs and (how != jobs[0][1] or n_rows > self._most_rows):
                break
            self._jobs.popleft()
            if answers.set_running_or_notify_cancel():  # otherwise nobody waits any longer
                jobs.append((rows, how, answers))
        if jobs:
            self._answer(jobs)

    def _answer(self, jobs: Sequence[_Job]) -> None:
        try:
            every, how = [row for job in jobs for row in job[0]], jobs[0][1]
            made = self._compute(every, how)
            left = iter(made)
            for rows, _, answers in jobs:
                answers.set_result(list(islice(left, len(rows))))
        except Exception as error:
            if len(jobs) == 1:
                jobs[0][2].set_exception(error)
                return
            for job in jobs:
                self._answer([job])
        else:
            self._n_calls += 1
            if not self._jobs or self._n_calls % _BUSY == 0:
                self._after(every, how, made)
