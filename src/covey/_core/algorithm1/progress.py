"""Where the runs of a stack stand in a member, what is noted on the way, and what is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from covey._core.algorithm1.ascent import History, Members
from covey._core.arrays import Array, is_on_host, like, namespace_of, to_host
from covey._core.journal import Arrays

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass
class Candidates:
    """Where the lanes of a step stand, and what the rows were last told.

    The first R lanes are the runs under way, the others try a flipped subset.
    """

    theta: Array  # (C, L, D), entries outside the subset keep their last value
    intercept: Array  # (C, L)
    mask: Array  # (L, D), the subset as ones and zeros
    accuracy: Array  # (L,)
    runs: IntArray  # (R,)
    moving: IntArray  # positions of the runs with a second lane

    def plain(self, accuracy: Array) -> State:
        """The runs with the subsets that they had."""
        n_runs = len(self.runs)
        return State(
            self.theta[:, :n_runs, :],
            self.intercept[:, :n_runs],
            self.mask[:n_runs, :],
            accuracy[:n_runs],
        )


@dataclass
class State:
    """Where the active runs stand; R counts only those."""

    theta: Array  # (C, R, D)
    intercept: Array  # (C, R)
    mask: Array  # (R, D)
    accuracy: Array  # (R,)


class Recorder:
    """Collects the histories of a stack, one column a step."""

    def __init__(self, n_runs: int, beside: Array) -> None:
        xp = namespace_of(beside)
        self.columns = like(beside, np.zeros((4, n_runs, 64)), xp.float64)

    def reserve(self, n_steps: int) -> None:
        """Make room, so that nothing has to move later."""
        xp = namespace_of(self.columns)
        while n_steps > self.columns.shape[2]:
            self.columns = xp.concat([self.columns, xp.zeros_like(self.columns)], axis=2)

    def add(self, kind: int, values: Array, runs: Any, step: int) -> None:
        """Kinds: 0 accuracy, 1 objective, 2 size, 3 whether a flip was taken."""
        self.reserve(step + 1)
        self.columns[kind, runs, step] = to_host(values) if is_on_host(self.columns) else values

    def histories(self, n_iter: IntArray, n_taken: IntArray) -> list[History]:
        columns = to_host(self.columns)
        histories = []
        for run, (evaluated, taken) in enumerate(zip(n_iter, n_taken, strict=True)):
            if evaluated == taken:
                accuracy, objective, size, flip = columns[:, run, : taken + 1]
            else:
                # What a refused last step shows is the state before it.
                steps = np.minimum(np.arange(evaluated + 1), taken)
                accuracy, objective, size, flip = columns[:, run, steps]
                flip[taken + 1 :] = 0.0
            histories.append(
                History(accuracy, objective, size.astype(np.int64), flip.astype(bool))
            )
        return histories


@dataclass
class Progress:
    """All that the next step of a member needs; what a journal keeps."""

    step: int
    told: Candidates  # what the rows evaluated last
    taken: Any  # of its second lanes, those that runs went on with
    going: IntArray  # of its runs, those that went on
    state: State
    result: Members
    best: FloatArray
    waited: IntArray
    n_taken: IntArray
    recorder: Recorder

    def arrays(self) -> Arrays:
        told, state, result = self.told, self.state, self.result
        return {
            "step": np.array(self.step),
            # Logits made anew from other lanes would differ by rounding.
            "told theta": to_host(told.theta),
            "told intercept": to_host(told.intercept),
            "told mask": to_host(told.mask),
            "told runs": told.runs,
            "told moving": told.moving,
            "taken": to_host(self.taken),
            "going": self.going,
            "theta": to_host(state.theta),
            "intercept": to_host(state.intercept),
            "mask": to_host(state.mask),
            "accuracy": to_host(state.accuracy),
            "kept theta": to_host(result.theta),
            "kept intercept": to_host(result.intercept),
            "kept support": result.support,
            "kept n_iter": result.n_iter,
            "kept accuracy": result.accuracy,
            "best": self.best,
            "waited": self.waited,
            "n_taken": self.n_taken,
            "recorded": to_host(self.recorder.columns),
        }


def as_arrays(members: Members) -> Arrays:
    arrays: Arrays = {
        "theta": to_host(members.theta),
        "intercept": to_host(members.intercept),
        "support": members.support,
        "n_iter": members.n_iter,
        "weight_sum": members.weight_sum,
        "accuracy": members.accuracy,
    }
    for run, history in enumerate(members.history):
        arrays.update({f"{name} {run}": values for name, values in vars(history).items()})
    return arrays


def select(state: State, positions: IntArray, at: Array) -> State:
    """The runs at these positions, here and where the arrays are."""
    return State(
        state.theta[:, at, :],
        state.intercept[:, at],
        state.mask[at, :],
        state.accuracy[positions],
    )
