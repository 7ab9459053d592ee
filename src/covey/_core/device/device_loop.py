"""Steps that nobody looks at: all of a member's, where the rows are.

Where no step can end a run, nothing has to come back before the member is done. Every run that
may flip then has its second lane at every step (lanes that come and go would cost more than they
save), every step is the same, and a device can be told of it once: see `CudaGraph`.
The arrays that a recorded step works on stay where they are from member to member.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from array_api_compat import device

from covey._core.algorithm1.rows import RowBlock
from covey._core.algorithm1.subsets import TIE, FlipProposals, beats
from covey._core.arrays import Array, like
from covey._core.device.cuda_graph import CudaGraph

if TYPE_CHECKING:
    from covey._core.algorithm1.progress import Candidates, Recorder, State
    from covey._core.algorithm1.trainer import StackTrainer

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]

# Draws of flips that are made and sent together, and the threads that make them while others
# are used; a matter of speed only.
_FLIPS_AHEAD = 1 << 21
_DRAWERS = 4


class DeviceLoop:
    """The steps of one member after another.

    Parameters
    ----------
    trainer : StackTrainer
        Whose steps these are.
    n_steps : int
        Of every member.
    """

    def __init__(self, trainer: StackTrainer, n_steps: int) -> None:
        # Whose child this is: a strong reference would keep both, and X, until a collection.
        self._trainer: StackTrainer = weakref.proxy(trainer)
        self._n_steps = n_steps
        rows, self._xp = trainer.rows, trainer.xp
        self._everyone = np.arange(trainer.n_runs)
        self.moving = trainer.flipping
        self._at = trainer.at(self.moving)
        n_moving, n_features = len(self.moving), rows.n_features
        self._n_ahead = min(n_steps, max(1, _FLIPS_AHEAD // max(1, n_moving * n_features)))
        where = {"device": device(rows.like)}
        self._flips = self._xp.zeros(
            (self._n_ahead, n_moving, n_features), dtype=rows.like.dtype, **where
        )
        self._place, self._count = (
            self._xp.zeros(1, dtype=self._xp.int64, **where) for _ in range(2)
        )
        self.taken = self._xp.zeros(n_moving, dtype=self._xp.bool, **where)
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
        rates: Array,
        total: Array,
        mean_weight: Array,
        on_step: Callable[[int], None] | None,
    ) -> Candidates:
        """Take all steps of a member; what was evaluated last, with ``taken`` yet to settle.

        ``state`` and ``recorder`` are where it ends.
        """
        trainer, xp, member = self._trainer, self._xp, self._trainer.n_grown
        recorder.reserve(self._n_steps + 1)
        lanes = trainer.at(np.concatenate([self._everyone, self.moving]))
        told = trainer.evaluate(
            self._everyone,
            self.moving,
            state.theta[:, lanes, :],
            state.intercept[:, lanes],
            state.mask[lanes, :],
            total,
        )
        # Copied into the arrays that a recorded step knows.
        self._rates = self._keep("rates", rates)
        self._total = self._keep("total", total)
        self._mean_weight = self._keep("mean weight", mean_weight)
        self._columns = self._keep("columns", recorder.columns)
        kept = {name: self._keep(name, value) for name, value in vars(state).items()}
        self._state = type(state)(**kept)
        self.taken[...] = False
        self._count[...] = self._place[...] = 0

        flips = self._ahead.pop(("flips", member), None)
        proposals = trainer.proposals(member)
        drawn = flips or self._draw(proposals, 0)
        self._ahead["start", member + 1] = [self._pool.submit(trainer.drawn_start, member + 1)]
        for step in range(self._n_steps):
            if step % self._n_ahead == 0 and len(self.moving):
                at_once = np.concatenate([part.result() for part in drawn], axis=1)
                sent = like(self._flips, at_once.view(np.uint8), xp.uint8)
                self._flips[: len(at_once)] = xp.astype(sent, self._flips.dtype)
                self._place[...] = 0
                if step + self._n_ahead < self._n_steps:
                    drawn = self._draw(proposals, step + self._n_ahead)
                else:
                    # The next member finds its first ones here.
                    following = self._draw(trainer.proposals(member + 1), 0)
                    self._ahead["flips", member + 1] = following
            self._replay(self._advance)
            if on_step is not None:
                on_step(step + 1)
        recorder.columns[...] = self._columns
        for name, value in vars(self._state).items():
            getattr(state, name)[...] = value
        return told

    def _keep(self, name: str, values: Array) -> Array:
        """An array that stays where it is, filled with these values."""
        if name not in self._kept:
            self._kept[name] = self._xp.empty_like(values)
        self._kept[name][...] = values
        return self._kept[name]

    def _draw(self, proposals: FlipProposals, step: int) -> list[Future[BoolArray]]:
        count = min(self._n_ahead, self._n_steps - step)
        parts = np.array_split(self.moving, _DRAWERS)
        return [
            self._pool.submit(proposals.ahead, step, count, part) for part in parts if len(part)
        ]

    def _advance(self) -> None:
        """One step: lines 6 to 21."""
        trainer, xp, state, at = self._trainer, self._xp, self._state, self._at
        n_runs, moving = len(self._everyone), self.moving
        flips = xp.take(self._flips, self._place, axis=0)[0]
        flipped, change = trainer.flipped(state, moving, flips)
        objective, slope, slope0 = trainer.rows.sum(
            RowBlock.slopes, (moving, self.taken), self._everyone, moving, change
        )
        self._note(1, objective)
        told = trainer.climbed(
            state,
            flipped,
            slope,
            slope0,
            trainer.paced(self._rates),
            self._everyone,
            moving,
            self._total,
        )
        plain = told.plain(told.accuracy)
        if flipped is not None:
            weight = self._mean_weight
            score = trainer.score(told.accuracy[n_runs:], flipped, weight[at])
            unflipped = trainer.score(plain.accuracy, plain.mask, weight)[at]
            took = beats(score, unflipped, TIE * weight[at]) & xp.any(flips > 0, axis=1)
            trainer.go_on_with(plain, told, told.accuracy, took)
            self.taken[...] = took
        for name, value in vars(plain).items():
            getattr(state, name)[...] = value
        self._place[...] = self._place + 1
        self._count[...] = self._count + 1
        self._note(0, state.accuracy)
        self._note(2, xp.sum(state.mask, axis=1, dtype=xp.float64))
        if flipped is not None:
            columns = self._columns[3]
            values = xp.astype(self.taken, xp.float64)[:, None]
            if isinstance(at, slice):
                columns[at, self._count] = values
            else:
                columns[at[:, None], self._count] = values

    def _note(self, kind: int, values: Array) -> None:
        """The recorder's columns, at a step that is known only where they are."""
        columns = self._columns[kind]
        columns[:, self._count] = values[:, None]
