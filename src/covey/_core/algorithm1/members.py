"""What Algorithm 1 grows: one member of every run of a stack, its progress, and its history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from covey._core.arrays import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    like,
    to_host,
)
from covey._core.journal import Arrays
from covey._state import Array as Numbers
from covey._state import Flags, Wholes


@dataclass
class History:
    """What one member of one run went through; entry 0 is the random start.

    A step that ends a member judged by accuracy is not taken: the entry before it is repeated.
    """

    objective: Annotated[FloatArray, Numbers("T", nan=True, infinite=True)]
    subset_size: Annotated[IntArray, Wholes("T")]
    accepted_flip: Annotated[BoolArray, Flags("T")]


@dataclass
class AccuracyHistory(History):
    """The history of a member of classes; ``objective`` is eq. (9)."""

    weighted_accuracy: Annotated[FloatArray, Numbers("T", nan=True, infinite=True)]


@dataclass
class LossHistory(History):
    """The history of a member of values, before it was finished.

    ``objective`` is F, ``weighted_loss`` is F without its penalties; the loss of a quantile has a
    band of 0.05 or more there.
    """

    weighted_loss: Annotated[FloatArray, Numbers("T", nan=True, infinite=True)]


def history_of(columns: FloatArray, is_criterion: bool) -> History:
    """The history that columns of a `Recorder`, (4, n_steps + 1), hold."""
    criterion, objective, size, flip = columns
    kind = LossHistory if is_criterion else AccuracyHistory
    return kind(objective, size.astype(np.int64), flip.astype(bool), criterion)


@dataclass
class Members:
    """One member of every run."""

    theta: Array  # (C, R, D), zero where the subset leaves a feature out; C is 1 for values
    intercept: Array  # (C, R)
    support: BoolArray  # (R, D), Lambda
    n_iter: IntArray  # (R,), steps evaluated, the one that ended the member included
    history: list[History]  # one a run
    weight_sum: FloatArray  # (R,), the sum of the sample weights it was trained with
    criterion: FloatArray  # (R,), weighted accuracy or minus weighted loss of the state kept
    converged: BoolArray  # (R,), False where the iterations to finish it did not suffice

    def arrays(self) -> Arrays:
        """All of it as arrays on the host, for a journal."""
        arrays: Arrays = {
            "theta": to_host(self.theta),
            "intercept": to_host(self.intercept),
            "support": self.support,
            "n_iter": self.n_iter,
            "weight_sum": self.weight_sum,
            "criterion": self.criterion,
        }
        for run, history in enumerate(self.history):
            arrays.update({f"{name} {run}": values for name, values in vars(history).items()})
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays, beside: Array, is_criterion: bool) -> Members:
        """A member that an earlier process grew; its arrays where ``beside`` lives."""
        n_runs = len(arrays["n_iter"])
        quality = "weighted_loss" if is_criterion else "weighted_accuracy"
        fields = (quality, "objective", "subset_size", "accepted_flip")
        return cls(
            like(beside, arrays["theta"]),
            like(beside, arrays["intercept"]),
            arrays["support"].astype(bool),
            arrays["n_iter"].astype(np.int64),
            [
                history_of(
                    np.stack([arrays[f"{name} {run}"].astype(np.float64) for name in fields]),
                    is_criterion,
                )
                for run in range(n_runs)
            ],
            arrays["weight_sum"].astype(np.float64),
            arrays["criterion"].astype(np.float64),
            np.ones(n_runs, dtype=bool),
        )


@dataclass
class State:
    """Where the active runs are; R counts only those."""

    theta: Array  # (C, R, D), entries outside the subset keep their last value
    intercept: Array  # (C, R)
    mask: Array  # (R, D), the subset as ones and zeros
    value: Array  # (R,), the weighted accuracy, or minus the weighted loss
    score: Array  # (R,), the criterion: the same less the penalties

    def select(self, positions: IntArray | slice, at: Any) -> State:
        """The runs at these positions, on the host and on the device of the arrays."""
        return State(
            self.theta[:, at, :],
            self.intercept[:, at],
            self.mask[at, :],
            self.value[positions],
            self.score[positions],
        )


@dataclass
class Candidates(State):
    """The candidates of a step, as the rows evaluated them last.

    The first R are those of the active runs with the subsets that they have, the others those
    with a flipped subset. The fields of `State` are of L candidates.
    """

    runs: IntArray  # (R,)
    flipping: IntArray  # the positions of the runs with a flipped candidate

    def unflipped(self) -> State:
        """The runs with the subsets that they had; views."""
        first = slice(len(self.runs))
        return self.select(first, first)


class Recorder:
    """Collects the histories of a stack, one column a step."""

    def __init__(self, n_runs: int) -> None:
        self.columns: FloatArray = np.zeros((4, n_runs, 64))

    def add(self, kind: int, values: Array, runs: Any, step: int) -> None:
        """Kinds: 0 accuracy or loss, 1 objective, 2 size, 3 whether a flip was accepted."""
        while step >= self.columns.shape[2]:
            self.columns = np.append(self.columns, np.zeros_like(self.columns), axis=2)
        self.columns[kind, runs, step] = to_host(values)

    def histories(self, n_iter: IntArray, n_taken: IntArray, is_criterion: bool) -> list[History]:
        """The history of each run, from how many steps it evaluated and how many it took."""
        histories = []
        for run, (evaluated, taken) in enumerate(zip(n_iter, n_taken, strict=True)):
            # What a refused last step shows is the state before it.
            past = self.columns[:, run, np.minimum(np.arange(evaluated + 1), taken)]
            past[3, taken + 1 :] = 0.0
            histories.append(history_of(past, is_criterion))
        return histories


@dataclass
class Progress:
    """All that the next step of a member needs; what a journal keeps."""

    step: int
    candidates: Candidates  # those that the rows evaluated last
    accepted: IntArray  # the flipped ones among them that runs continued with
    active: IntArray  # the positions of its runs that are active still
    state: State
    result: Members
    best: FloatArray
    waited: IntArray
    n_taken: IntArray
    recorder: Recorder

    @property
    def runs(self) -> IntArray:
        """The active runs."""
        return self.candidates.runs[self.active]

    def arrays(self) -> Arrays:
        """All of it as arrays on the host."""
        candidates, result = self.candidates, self.result
        arrays: Arrays = {
            "step": np.array(self.step),
            # The outputs of other candidates would differ by rounding.
            "candidate theta": to_host(candidates.theta),
            "candidate intercept": to_host(candidates.intercept),
            "candidate mask": to_host(candidates.mask),
            "candidate runs": candidates.runs,
            "candidate flipping": candidates.flipping,
            "accepted": self.accepted,
            "active": self.active,
            "kept theta": to_host(result.theta),
            "kept intercept": to_host(result.intercept),
            "kept support": result.support,
            "kept n_iter": result.n_iter,
            "kept criterion": result.criterion,
            "best": self.best,
            "waited": self.waited,
            "n_taken": self.n_taken,
            "recorded": self.recorder.columns,
        }
        arrays.update({f"state {name}": to_host(x) for name, x in vars(self.state).items()})
        return arrays

    def restore(self, arrays: Arrays, candidates: Candidates, beside: Array) -> None:
        """Take over the progress of an earlier process, whose last candidates are evaluated."""
        self.step = int(arrays["step"])
        self.candidates = candidates
        self.accepted = arrays["accepted"].astype(np.int64)
        self.active = arrays["active"].astype(np.int64)
        self.state = State(
            like(beside, arrays["state theta"]),
            like(beside, arrays["state intercept"]),
            like(beside, arrays["state mask"]),
            arrays["state value"],
            arrays["state score"],
        )
        result = self.result
        result.theta[...] = like(beside, arrays["kept theta"])
        result.intercept[...] = like(beside, arrays["kept intercept"])
        result.support[...] = arrays["kept support"]
        result.n_iter[...] = arrays["kept n_iter"]
        result.criterion[...] = arrays["kept criterion"]
        self.best[...] = arrays["best"]
        self.waited[...] = arrays["waited"]
        self.n_taken[...] = arrays["n_taken"]
        self.recorder.columns = arrays["recorded"].astype(np.float64)
