"""A table whose blocks of rows are kept on workers, or in this process: reduced as one."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from covey._core.search.rows import SearchRows
from covey.dask._backends import Backend
from covey.dask._blocks import TableLog, table_block
from covey.dask._loading import Facts
from covey.dask._worker import Call, Request

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
        self._log = TableLog()
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

    # -- reduce ----------------------------------------------------------------------------

    def broadcast(self, method: Callable[..., Any], *args: Any) -> None:
        """Call a method of every block; the call travels with the next reduction."""
        self._queue.append((method, args))

    def _each(self, method: Callable[..., Any], *args: Any) -> list[Any]:
        self.broadcast(method, *args)
        calls, self._queue = self._queue, []
        self._n_requests += 1
        results = self._results(calls)
        for call in calls:
            self._log.note(*call)
        return [results[number] for number in self._numbers]

    def sum(self, method: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
        """Call it, and add the blocks' results up, entry by entry."""
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
