"""All steps of a member on the device of the rows, none of them observed by the host.

Where no step can end a run, nothing has to come back before the member is done. Every run that
may flip then has its second candidate at every step (candidates that come and go would cost more
than they save), every step is the same, and a device can record it once: see `CudaGraph`.
The arrays that a recorded step works on stay where they are from member to member.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from array_api_compat import device, is_torch_array

from covey._core.algorithm1.subsets import FlipProposals
from covey._core.arrays import Array, BoolArray, FloatArray, like, namespace_of

if TYPE_CHECKING:
    from covey._core.algorithm1.members import Candidates, Recorder, State
    from covey._core.algorithm1.step import Scales
    from covey._core.algorithm1.trainer import StackTrainer

Record = TypeVar("Record")

# Draws of flips that are made and sent together, and the threads that make them while others
# are used; a matter of speed only.
_FLIPS_AHEAD = 1 << 21
_DRAWERS = 4

# Steps taken before one is recorded: libraries set themselves up in the first ones.
_WARM_UP = 2


class DeviceLoop:
    """The steps of one member after another, as many for each."""

    def __init__(self, trainer: StackTrainer, n_steps: int) -> None:
        # Whose child this is: a strong reference would keep both, and X, until a collection.
        self._trainer: StackTrainer = weakref.proxy(trainer)
        self._n_steps = n_steps
        rows, self._xp = trainer.rows, namespace_of(trainer.rows.like)
        self._everyone = np.arange(trainer.n_runs)
        self.flipping = trainer.flipping
        self._at = trainer.step.at(self.flipping)
        n_flipping, n_features = len(self.flipping), rows.n_features
        self._n_ahead = min(n_steps, max(1, _FLIPS_AHEAD // max(1, n_flipping * n_features)))
        where = {"device": device(rows.like)}
        self._flips = self._xp.zeros(
            (self._n_ahead, n_flipping, n_features), dtype=rows.like.dtype, **where
        )
        self._place, self._count = (
            self._xp.zeros(1, dtype=self._xp.int64, **where) for _ in range(2)
        )
        self.accepted = self._xp.zeros(n_flipping, dtype=self._xp.bool, **where)
        self._kept: dict[str, Array] = {}
        self._replay = CudaGraph(rows.like)
        self._pool = ThreadPoolExecutor(_DRAWERS)
        self._ahead: dict[tuple[str, int], list[Future[Any]]] = {}

    def start(self, member: int) -> FloatArray:
        """The draws that a member starts from, which may have been made already."""
        ahead = self._ahead.pop(("start", member), None)
        draws: FloatArray = (
            self._trainer.drawn_start(member) if ahead is None else ahead[0].result()
        )
        return draws

    def member(
        self,
        state: State,
        recorder: Recorder,
        scales: Scales,
        on_step: Callable[[int], None] | None,
    ) -> Candidates:
        """Take all steps of a member; the candidates as the rows evaluated them last.

        ``state`` and ``recorder`` are filled; which candidates are ``accepted`` is yet to settle.
        """
        trainer, xp, member = self._trainer, self._xp, self._trainer.n_grown
        recorder.reserve(self._n_steps + 1)
        at = trainer.step.at(np.concatenate([self._everyone, self.flipping]))
        candidates = trainer.step.evaluate(
            self._everyone,
            self.flipping,
            state.theta[:, at, :],
            state.intercept[:, at],
            state.mask[at, :],
            scales,
        )
        # Copied into the arrays that a recorded step knows.
        self._columns = self._keep("columns", recorder.columns)
        self._state = self._kept_as(state)
        self._scales = self._kept_as(scales)
        self.accepted[...] = False
        self._count[...] = self._place[...] = 0

        flips = self._ahead.pop(("flips", member), None)
        proposals = trainer.proposals(member)
        drawn = flips or self._draw(proposals, 0)
        self._ahead["start", member + 1] = [self._pool.submit(trainer.drawn_start, member + 1)]
        for step in range(self._n_steps):
            if step % self._n_ahead == 0 and len(self.flipping):
                at_once = np.concatenate([part.result() for part in drawn], axis=1)
                sent = like(self._flips, at_once.view(np.uint8), xp.uint8)
                self._flips[: len(at_once)] = xp.astype(sent, self._flips.dtype)
                self._place[...] = 0
                if step + self._n_ahead < self._n_steps:
                    drawn = self._draw(proposals, step + self._n_ahead)
                else:
                    # They are the first ones of the next member.
                    following = self._draw(trainer.proposals(member + 1), 0)
                    self._ahead["flips", member + 1] = following
            self._replay(self._advance)
            if on_step is not None:
                on_step(step + 1)
        recorder.columns[...] = self._columns
        for name, value in vars(self._state).items():
            getattr(state, name)[...] = value
        return candidates

    def _kept_as(self, record: Record) -> Record:
        """A `State` or `Scales` of arrays that stay where they are."""
        kept = {name: self._keep(name, value) for name, value in vars(record).items()}
        return type(record)(**kept)

    def _keep(self, name: str, values: Array) -> Array:
        """An array that stays where it is, filled with these values."""
        if name not in self._kept:
            self._kept[name] = self._xp.empty_like(values)
        self._kept[name][...] = values
        return self._kept[name]

    def _draw(self, proposals: FlipProposals, step: int) -> list[Future[BoolArray]]:
        count = min(self._n_ahead, self._n_steps - step)
        parts = np.array_split(self.flipping, _DRAWERS)
        return [
            self._pool.submit(proposals.ahead, step, count, part) for part in parts if len(part)
        ]

    def _advance(self) -> None:
        """One step: lines 6 to 21."""
        xp, state = self._xp, self._state
        flips = xp.take(self._flips, self._place, axis=0)[0]
        outcome = self._trainer.step(
            state,
            (self.accepted, self._everyone),
            self._everyone,
            self.flipping,
            flips,
            self._scales,
            0,
            xp.any(flips > 0, axis=1),
        )
        self._note(1, outcome.objective)
        for name, value in vars(outcome.state).items():
            getattr(state, name)[...] = value
        self._place[...] = self._place + 1
        self._count[...] = self._count + 1
        self._note(0, state.value)
        self._note(2, xp.sum(state.mask, axis=1, dtype=xp.float64))
        if len(self.flipping):
            self.accepted[...] = outcome.accepted
            columns, at = self._columns[3], self._at
            values = xp.astype(self.accepted, xp.float64)[:, None]
            if isinstance(at, slice):
                columns[at, self._count] = values
            else:
                columns[at[:, None], self._count] = values

    def _note(self, kind: int, values: Array) -> None:
        """The recorder's columns, at a step that is known only where they are."""
        columns = self._columns[kind]
        columns[:, self._count] = values[:, None]


class CudaGraph:
    """Calls a function again and again, on a CUDA device by playing a recording.

    A step on a GPU is a hundred small kernels, and telling it of each takes Python longer than the
    kernel itself. Where steps are always the same, a CUDA graph tells all at once.
    """

    def __init__(self, beside: Array) -> None:
        self._n_calls = 0
        self._graph: Any = None
        self._records = bool(is_torch_array(beside) and beside.is_cuda)

    def __call__(self, function: Callable[[], None]) -> None:
        """Once more.

        The function, without arguments or result, must be the same and do the same to the same
        arrays at every call, and read nothing back.
        """
        if self._graph is not None:
            self._graph.replay()
            return
        self._n_calls += 1
        if not self._records or self._n_calls <= _WARM_UP:
            function()
            return
        import torch

        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            function()
        self._graph = graph
        # What is recorded is not done.
        graph.replay()
