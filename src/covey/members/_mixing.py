"""Candidates of several kinds, compared and weighed on the same rows held out."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from covey._blocks import take_rows
from covey._core.search.selection import (
    RowLoss,
    greedy_mean,
    greedy_selection,
    greedy_weights,
    log_losses,
    possible,
)
from covey._scoring import known_score
from covey.members._held_out import HeldOutRows


class Clock:
    """The time of a fit, and whether it is over.

    A ``journal`` knows whether it was over in the fit that is resumed.
    """

    def __init__(self, limit: float | None, journal: Any = None) -> None:
        self.journal = journal
        self._limit = np.inf if limit is None else float(limit)
        self._start = time.perf_counter()

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self._start

    def is_late(self, share: float) -> bool:
        """Return whether more than a share of the limit is over."""
        return self.seconds() > share * self._limit

    def as_before(self, is_late: bool) -> bool:
        """Return whether it is late; a resumed fit repeats the answer of the earlier one."""
        if self.journal is None or np.isinf(self._limit):
            return is_late
        task = self.journal.begin()
        if task.result is None:
            task.finish({"is_late": np.array(is_late)})
            return is_late
        return bool(task.result["is_late"])

    def leaves(self, seconds: float) -> bool:
        """Return whether this many seconds more are within the limit."""
        return self.seconds() + seconds <= self._limit

    def stop(self) -> None:
        """Let it be late from now on."""
        self._limit = 0.0


class Library:
    """The candidates' predictions of rows held out: probabilities (n, C), or numbers (n,).

    ``truth`` (n,) are the codes of classes or the numbers of these rows; numbers have
    ``row_losses``, the losses of predictions (..., n). A ``scorer`` replaces the loss, and reads
    the rows ``X``.
    """

    def __init__(
        self,
        held_out: HeldOutRows,
        truth: np.ndarray,
        classes: np.ndarray | None,
        row_losses: RowLoss | None,
        scorer: Any = None,
        X: Any = None,
    ) -> None:
        self.held_out = held_out
        self._truth, self._classes, self._row_losses = truth, classes, row_losses
        self._scorer, self._X = scorer, X
        self._weight = held_out.weight[held_out.rows]
        self.predicted: dict[str, np.ndarray] = {}
        self.seconds: dict[str, float] = {}

    @property
    def names(self) -> list[str]:
        """Return the names of the candidates, in the order in which they were compared."""
        return list(self.seconds)

    def add(self, name: str, predicted: np.ndarray, seconds: float) -> None:
        """Add a candidate and the time it took; a hopeless one is known on some rows only."""
        if self._scorer is not None and not self.predicted:
            # An impossible scorer is refused before other candidates are compared in vain.
            self._score(predicted)
        self.predicted[name], self.seconds[name] = predicted, seconds

    def may_gain(self, predicted: np.ndarray) -> bool:
        """Return whether a candidate that is known on the first rows would have a weight there."""
        if len(predicted) == len(self._truth) or not self.predicted:
            return True
        every = [one[: len(predicted)] for one in self._whole.values()]
        return bool(self._weights_of(np.array([*every, predicted]))[-1] > 0)

    @property
    def _whole(self) -> dict[str, np.ndarray]:
        """Return the candidates that are known on all rows."""
        n_rows = len(self._truth)
        return {name: one for name, one in self.predicted.items() if len(one) == n_rows}

    def weights(self, without: Collection[str] = ()) -> np.ndarray:
        """Return the weight of each candidate, (M,): greedy selection by the loss of their mean.

        Those that are named in ``without`` have none.
        """
        whole = {name: one for name, one in self._whole.items() if name not in without}
        weights = self._weights_of(np.array(list(whole.values())))
        if np.isnan(weights).any():
            raise ValueError(
                f"{', '.join(whole)}: the loss of what these members predict is beyond floating "
                "point; scale the features or y, or give other members."
            )
        found = dict(zip(whole, weights, strict=True))
        return np.array([found.get(name, 0.0) for name in self.names])

    def _weights_of(self, every: np.ndarray) -> np.ndarray:
        """Return the weights of candidates known on the first rows, (M, m) or (M, m, C)."""
        if self._scorer is not None:
            return greedy_weights(self._negative_scores(every), len(every))
        weight = self._weight[: every.shape[1]]
        if self._row_losses is not None:
            return greedy_mean(every, self._row_losses, weight)
        return greedy_selection(self._of_true_class(every), weight)

    def losses(self) -> np.ndarray:
        """Return the mean loss of each candidate, (M,), on the rows on which it is known."""
        return np.array([self._loss(one) for one in self.predicted.values()])

    def scores(self) -> np.ndarray:
        """Return the scorer's result for each candidate, (M,), on the same rows."""
        return np.array([self._score(one) for one in self.predicted.values()])

    def told(self, name: str) -> str:
        """Describe in words how a candidate compares."""
        what, measure = ("loss", self._loss) if self._scorer is None else ("score", self._score)
        own, whole = measure(self.predicted[name]), self._whole
        if name not in whole:
            return f"{name} has a {what} of {own:.4f} on the first rows held out, and no weight"
        every = np.array(list(whole.values()))
        fused = np.tensordot(self._weights_of(every), every, 1)
        return f"{name} has a {what} of {own:.4f} on rows held out, the flock {measure(fused):.4f}"

    def _loss(self, predicted: np.ndarray) -> float:
        weight = self._weight[: len(predicted)]
        if self._row_losses is not None:
            losses = self._row_losses(predicted)
        else:
            losses = log_losses(possible(self._of_true_class(predicted)))
        return float(losses @ weight / weight.sum())

    def _of_true_class(self, probabilities: np.ndarray) -> np.ndarray:
        """Return the probabilities, of (..., n, C), of the true classes, (..., n)."""
        n_rows = probabilities.shape[-2]
        return probabilities[..., np.arange(n_rows), self._truth[:n_rows]]

    def _negative_scores(
        self, every: np.ndarray
    ) -> Callable[[Sequence[int], np.ndarray], np.ndarray]:
        def pick_losses(picked: Sequence[int], allowed: np.ndarray) -> np.ndarray:
            total = every[list(picked)].sum(axis=0)
            means = (total + every[allowed]) / (len(picked) + 1)
            return -np.array([self._score(mean) for mean in means])

        return pick_losses

    def _score(self, predicted: np.ndarray) -> float:
        """Return the scorer's result for predictions that are known on the first rows."""
        n_rows = len(predicted)
        truth = self._truth[:n_rows]
        if self._classes is not None:
            truth = self._classes[truth]
        X = take_rows(self._X, slice(n_rows))
        weight = self._weight[:n_rows]
        return known_score(self._scorer, predicted, X, truth, self._classes, weight)
