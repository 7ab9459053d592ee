"""The target of a search, classes or numbers, and what candidates predict of rows held out.

All that differs between classification and regression in a block of rows: the order in which
its rows lie, what members are fitted to, and the losses by which candidates are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from covey._core.arrays import Array, FloatArray, IntArray, to_host
from covey._core.gating.gate import ClassLikelihood, ValueLikelihood
from covey._core.losses import ValueLoss
from covey._core.search.folds import Folds
from covey._core.search.selection import (
    PredictionLibrary,
    log_losses,
    loss_sums,
    possible,
)
from covey._core.softmax_linear import class_blocks

# Beyond so many spreads of y, single precision loses in a sum what all other rows add to it.
_FARTHEST = 10.0


class ClassTarget:
    """Classes, given as numbers; rows are sorted by class and predictions probabilities.

    ``order`` holds the positions of the rows in the order in which a block keeps them; in that
    order ``codes`` are the classes that folds are stratified by, ``truth`` is what members are
    grown to predict, and ``likelihood`` what they are fitted to. ``needs_double`` is whether
    single precision is not enough to compare candidates.
    """

    needs_double = False

    def __init__(self, codes: IntArray, n_classes: int) -> None:
        self.order = np.argsort(codes, kind="stable")
        self.codes = codes[self.order]
        self.truth = self.blocks = class_blocks(np.bincount(codes, minlength=n_classes))
        self.likelihood = ClassLikelihood(self.blocks)

    def comparable(self, predictions: FloatArray) -> FloatArray:
        """Predictions (M, E) of held-out rows as they may be averaged over candidates."""
        return possible(predictions)

    def row_losses(self, rows: IntArray) -> Callable[[FloatArray], FloatArray]:
        """The losses (..., E) of predictions of these rows, up to a constant of each row."""
        return log_losses

    def constants(self, rows: IntArray) -> FloatArray:
        """These constants, (E,): zeros, for log-losses are compared as they are."""
        return np.zeros(len(rows))


class ValueTarget:
    """Numbers, standardized, under a loss; rows keep their order."""

    def __init__(self, values: FloatArray, loss: ValueLoss) -> None:
        self.truth = self.values = values
        self.loss = loss
        self.order = np.arange(len(values))
        self.codes = np.zeros(len(values), dtype=np.int64)
        self.likelihood = ValueLikelihood(values, loss)

    @property
    def needs_double(self) -> bool:
        """Whether there are outliers that only the loss keeps from mattering."""
        return self.loss.robust and bool(np.abs(self.values).max(initial=0.0) > _FARTHEST)

    def comparable(self, predictions: FloatArray) -> FloatArray:
        """The predictions themselves."""
        return predictions

    def row_losses(self, rows: IntArray) -> Callable[[FloatArray], FloatArray]:
        """The losses, less those of the constant 0: one outlier must not hide the others."""
        values, constants = self.values[rows], self.constants(rows)

        def relative(predictions: FloatArray) -> FloatArray:
            return self.loss.value(values - predictions) - constants

        return relative

    def constants(self, rows: IntArray) -> FloatArray:
        """The losses of the constant 0."""
        return self.loss.value(self.values[rows])


Target = ClassTarget | ValueTarget


# -- what candidates predict of rows held out -----------------------------------------------------


class HeldOutPredictions:
    """Predictions of rows of a target, by candidates that are known by their numbers.

    ``parts`` are the folds of the block: rows that are fitted on, and rows that are held out. The
    rows of all folds stand one after the other, and a row as often as it is held out.
    """

    def __init__(self, target: Target, weight: FloatArray, parts: Folds) -> None:
        self._target = target
        self._weight = weight
        self._parts = parts
        # Where the rows that each run held out stand.
        ends = np.cumsum([0] + [len(rows) for _, rows in parts]).tolist()
        self._of = [slice(*pair) for pair in pairwise(ends)]
        self.n_rows = ends[-1]  # of all folds together
        self._predicted: dict[int, FloatArray] = {}
        self._library: PredictionLibrary | None = None

    @property
    def arrays(self) -> list[FloatArray]:
        """What is kept."""
        return list(self._predicted.values())

    def add(self, candidates: IntArray, runs: IntArray, predicted: Array | None) -> None:
        """Keep what candidates (r,), on these folds, predict of all rows of the block, (r, n)."""
        self._library = None
        if predicted is None:
            self._predicted |= {candidate: np.zeros(0) for candidate in candidates.tolist()}
            return
        for candidate, run, of_run in zip(candidates.tolist(), runs, predicted, strict=True):
            if candidate not in self._predicted:
                self._predicted[candidate] = np.full(self.n_rows, np.nan)
            self._predicted[candidate][self._of[run]] = to_host(of_run)[self._parts[run][1]]

    def keep(self, candidates: Sequence[int]) -> None:
        """Drop all others."""
        kept = set(candidates)
        self._predicted = {one: known for one, known in self._predicted.items() if one in kept}

    def losses(self) -> tuple[FloatArray, FloatArray]:
        """The sums of the candidates' losses, (M,), and of the weights of the rows, (1,)."""
        predictions, rows, weight = self.predictions()
        losses = self._target.row_losses(rows)(predictions) @ weight
        return losses + self._target.constants(rows) @ weight, np.array([weight.sum()])

    def library(self) -> PredictionLibrary:
        """The candidates to select from; made once, when all have predicted."""
        if self._library is None:
            predictions, rows, weight = self.predictions()
            self._library = PredictionLibrary(predictions, self._target.row_losses(rows), weight)
        return self._library

    def loss_sums(
        self, candidates: IntArray, runs: IntArray, rival: int | None = None
    ) -> FloatArray:
        """The losses of candidates (r,), each on the rows that one run held out, (r, 5).

        They are sums: see `covey._core.search.selection.loss_sums`. With a rival, its losses are
        taken off.
        """
        held_out = [self._parts[run][1] for run in runs]
        rows = np.concatenate(held_out)
        losses = self._losses_of(candidates.tolist(), runs, rows)
        if rival is not None:
            losses -= self._losses_of([rival] * len(runs), runs, rows)
        run = np.repeat(np.arange(len(runs)), [len(part) for part in held_out])
        return loss_sums(losses, self._weight[rows], run, len(runs))

    def _losses_of(self, candidates: list[int], runs: IntArray, rows: IntArray) -> FloatArray:
        """The losses of candidates (r,) on the rows that runs (r,) hold out, run after run."""
        predicted = np.concatenate(
            [
                self._predicted[one][self._of[run]]
                for one, run in zip(candidates, runs, strict=True)
            ]
        )
        losses = self._target.row_losses(rows)(self._target.comparable(predicted))
        return losses + self._target.constants(rows)

    def predictions(self) -> tuple[FloatArray, IntArray, FloatArray]:
        """What candidates predict, (M, E), of which rows, and their weights."""
        rows = np.concatenate([rows for _, rows in self._parts])
        predictions = np.stack([self._predicted[one] for one in sorted(self._predicted)])
        return self._target.comparable(predictions), rows, self._weight[rows]
