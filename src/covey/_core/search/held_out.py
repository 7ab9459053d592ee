"""What candidates predict of the rows of a block that their folds held out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from covey._core.arrays import Array, FloatArray, IntArray, to_host
from covey._core.search.folds import Folds
from covey._core.search.selection import Library, loss_sums_of_parts
from covey._core.search.targets import Target


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
        self._library: Library | None = None

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

    def library(self) -> Library:
        """The candidates to select from; made once, when all have predicted."""
        if self._library is None:
            predictions, rows, weight = self.predictions()
            self._library = Library(predictions, self._target.row_losses(rows), weight)
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
        return loss_sums_of_parts(losses, self._weight[rows], run, len(runs))

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
