"""What models predict of rows that they were not fitted on, fold by fold and row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covey._core.search.assembly import OnFolds

Folds = list[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class HeldOut:
    """The folds by which models are compared: numbers of rows to fit on, and of rows held out.

    ``weight`` (n_rows,) is how much each row of the table counts; of a long table only some rows
    are in any fold, and those of small classes, of which more are taken, count for less.
    """

    folds: Folds
    weight: np.ndarray
    n_repeats: int = 1  # how often folds were drawn

    @classmethod
    def of(cls, on_folds: OnFolds, weight: np.ndarray) -> HeldOut:
        """The folds of a search in rows of these weights."""
        if on_folds.sample is not None:
            numbers, counted = on_folds.sample
            weight = np.zeros(len(weight))
            weight[numbers] = counted
        return cls.counted(on_folds.folds, weight)

    @classmethod
    def counted(cls, folds: Folds, weight: np.ndarray) -> HeldOut:
        """Folds without the rows that have no weight."""
        return cls([tuple(rows[weight[rows] > 0] for rows in fold) for fold in folds], weight)

    @property
    def repeats(self) -> list[range]:
        """The numbers of the folds that were drawn together."""
        n_folds = len(self.folds) // self.n_repeats
        return [range(n * n_folds, (n + 1) * n_folds) for n in range(self.n_repeats)]

    @property
    def rows(self) -> np.ndarray:
        """The rows that are held out, one fold after the other; one may be in several."""
        return np.concatenate([test for _, test in self.folds])

    def by_row(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of the rows held out, rising, and the mean of the values of each."""
        rows, position, count = np.unique(self.rows, return_inverse=True, return_counts=True)
        means = np.zeros((len(rows), *values.shape[1:]))
        np.add.at(means, position, values)
        return rows, means / count.reshape(-1, *[1] * (values.ndim - 1))
