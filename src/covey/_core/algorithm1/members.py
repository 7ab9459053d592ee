"""What Algorithm 1 grows: one member of every run of a stack, and its history."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covey._core.arrays import Array, BoolArray, FloatArray, IntArray, like, to_host
from covey._core.journal import Arrays


@dataclass
class History:
    """What one member of one run went through; entry 0 is the random start.

    A step that ends a member judged by accuracy is not taken: the entry before it is repeated.
    """

    objective: FloatArray
    subset_size: IntArray
    accepted_flip: BoolArray


@dataclass
class AccuracyHistory(History):
    """The history of a member of classes; ``objective`` is eq. (9)."""

    weighted_accuracy: FloatArray


@dataclass
class LossHistory(History):
    """The history of a member of values, before it was finished.

    ``objective`` is F, ``weighted_loss`` is F without its penalties; the loss of a quantile has a
    band of 0.05 or more there.
    """

    weighted_loss: FloatArray


def history_of(columns: FloatArray, is_criterion: bool) -> History:
    """The history that columns of a `Recorder`, (4, n_steps + 1), hold."""
    criterion, objective, size, flip = columns
    kind = LossHistory if is_criterion else AccuracyHistory
    return kind(objective, size.astype(np.int64), flip.astype(bool), criterion)


@dataclass
class Members:
    """One member of every run.

    Attributes
    ----------
    theta : array of shape (C, R, D)
        Zero where the subset leaves a feature out. C is 1 for values.
    intercept : array of shape (C, R)
    support : ndarray of shape (R, D), bool
        Lambda.
    n_iter : ndarray of shape (R,)
        Steps evaluated, the one that ended the member included.
    history : list of R `History`
    weight_sum : ndarray of shape (R,)
        The sum of the sample weights it was trained with.
    criterion : ndarray of shape (R,)
        Its weighted accuracy, or minus its weighted loss, in the state that was kept.
    converged : ndarray of shape (R,), bool
        False where the iterations to finish a member did not suffice.
    """

    theta: Array
    intercept: Array
    support: BoolArray
    n_iter: IntArray
    history: list[History]
    weight_sum: FloatArray
    criterion: FloatArray
    converged: BoolArray

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
