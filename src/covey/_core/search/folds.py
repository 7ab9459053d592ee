"""Folds by draws of rows: a row's draw is a function of its number, whichever block it lies in.

The rows of a class are assigned to the folds in turn, in the order of their draws. For this, all
of them must be known; so a class of more than `MOST_RANKED` rows is split by the draws themselves,
which make folds of nearly equal size for this many rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from covey._core.arrays import BoolArray, FloatArray, IntArray
from covey._core.random import Purpose, UniformRows

#: Rows of a class that are assigned in the order of their draws.
MOST_RANKED = 100_000

#: Rows to fit on, and rows that are held out, of each fold.
Folds = Sequence[tuple[IntArray, IntArray]]

#: The numbers (m,) of some rows, their classes (m,), and their draws (n_repeats, m).
Drawn = tuple[IntArray, IntArray, FloatArray]


@dataclass(frozen=True)
class FoldAssignment:
    """The facts by which a block of rows finds the folds of its own rows."""

    seed: int
    n_folds: int
    large: tuple[int, ...]  # the classes that are split by their draws
    number: IntArray  # (m,), rows of all other classes that are in a fold, rising
    fold: npt.NDArray[np.int32]  # (n_repeats, m), their folds

    def __len__(self) -> int:
        """Return how many folds there are, of all repeats."""
        return len(self.fold) * self.n_folds

    def parts(
        self, start: int, codes: IntArray, used: BoolArray
    ) -> list[tuple[IntArray, IntArray]]:
        """Return for each fold the positions of rows to fit on and of rows held out.

        The rows are those from number ``start`` on; ``codes`` (n,) are their classes, ``used``
        (n,) whether they have a weight.
        """
        # The folds (n_repeats, n) of these rows; -1: in none.
        folds = np.full((len(self.fold), len(codes)), -1)
        own = slice(*np.searchsorted(self.number, [start, start + len(codes)]))
        folds[:, self.number[own] - start] = self.fold[:, own]
        large = np.flatnonzero(np.isin(codes, self.large) & used)
        if len(large):
            for repeat, fold in enumerate(folds):
                draws = fold_draws(self.seed, repeat, start, len(codes))[large]
                fold[large] = np.floor(draws * self.n_folds).astype(np.int64)
        return [
            (np.flatnonzero(used & (fold != number)), np.flatnonzero(fold == number))
            for fold in folds
            for number in range(self.n_folds)
        ]


def fold_draws(seed: int, repeat: int, start: int, count: int) -> FloatArray:
    """Return the draws of rows ``start`` to ``start + count`` for their folds."""
    return UniformRows(seed, Purpose.FOLD, 0, repeat, 1).read(start, count)[:, 0]


def ranked_classes(counts: IntArray) -> IntArray:
    """Return the classes whose rows are assigned in turn; a class's only row is in no fold."""
    return np.flatnonzero((counts > 1) & (counts <= MOST_RANKED))


def possible_folds(n_folds: int, counts: IntArray, classes: npt.NDArray[Any]) -> int:
    """Return how many folds classes of these sizes allow; warn of a class with a single row."""
    if counts.max() < 2:
        raise ValueError(
            "No class has two rows, so none can be held out to choose between candidates; use "
            "effort='fast' (with members='linear'), or more rows."
        )
    alone = np.flatnonzero(counts == 1)
    if len(alone):
        listed = ", ".join(repr(label) for label in classes[alone[:5]].tolist())
        warnings.warn(
            f"Class {listed} has one row, which no fold can hold out: it is trained on in every "
            "fold, and how well it is told apart is not known.",
            UserWarning,
            stacklevel=5,
        )
    # Folds beyond the largest class would hold nothing out.
    return min(n_folds, int(counts.max()))


def drawn(
    start: int, codes: IntArray, used: BoolArray, seed: int, n_repeats: int, ranked: IntArray
) -> Drawn:
    """Return the numbers, classes and draws of a block's rows of `ranked_classes`.

    The parameters are those of `FoldAssignment`.
    """
    rows = np.flatnonzero(np.isin(codes, ranked) & used)
    draws = [fold_draws(seed, repeat, start, len(codes))[rows] for repeat in range(n_repeats)]
    return rows + start, codes[rows], np.stack(draws)


def assigned_folds(
    counts: IntArray, seed: int, n_folds: int, known: Sequence[Drawn]
) -> FoldAssignment:
    """Assign the rows of a table to folds.

    ``counts`` (C,) are the rows with a weight of each class; ``known`` is what `drawn` gives for
    every block.
    """
    number, code = (np.concatenate([part[which] for part in known]) for which in (0, 1))
    draws = np.concatenate([part[2] for part in known], axis=1)
    order = np.argsort(number)
    number, code, draws = number[order], code[order], draws[:, order]
    fold = np.empty(draws.shape, dtype=np.int32)
    # Each class goes on where the one before ended.
    before = np.cumsum(np.where(counts > 1, counts, 0)) - counts
    for label in ranked_classes(counts):
        rows = np.flatnonzero(code == label)
        in_turn = (before[label] + np.arange(len(rows))) % n_folds
        for repeat, of_repeat in enumerate(draws):
            # Of equal draws the row with the lower number comes first.
            fold[repeat, rows[np.argsort(of_repeat[rows], kind="stable")]] = in_turn
    large = np.flatnonzero(counts > MOST_RANKED)
    return FoldAssignment(seed, n_folds, tuple(large.tolist()), number, fold)


# How many rows of a class a rung fits on, if the class has twice as many.
_LEAST_OF_CLASS = 100
# Average predictions and importances are known well enough from this many rows.
ROWS_FOR_MEANS = 50_000


@dataclass(frozen=True)
class RowSample:
    """Some rows of a table, and what the weight of each is multiplied with."""

    rows: IntArray  # rows that are fitted on come first
    n_fitted: int
    factor: FloatArray

    @property
    def fitted(self) -> RowSample:
        """Return the part of the sample that is fitted on."""
        return RowSample(self.rows[: self.n_fitted], self.n_fitted, self.factor[: self.n_fitted])


@dataclass(frozen=True)
class SampledRows:
    """Some rows of a block, with their codes or values; those to fit on come first."""

    X: Any
    target: npt.NDArray[Any]
    weight: FloatArray
    n_fitted: int


def sampled_rows(
    n_fitted: int, counts: IntArray, seed: int, start: int, codes: IntArray, used: BoolArray
) -> RowSample:
    """Return the sample of the rows from number ``start`` on.

    About ``n_fitted`` rows of the whole table are fitted on, and as many are held out. ``counts``
    (C,) are the rows with a weight of each class in the table, ``codes`` (n,) the classes of these
    rows, ``used`` (n,) whether they have a weight.
    """
    share = n_fitted / counts.sum()
    taken = np.minimum(0.5, np.maximum(share, _LEAST_OF_CLASS / np.maximum(counts, 1)))
    taken[counts == 1] = 1.0
    draws = UniformRows(seed, Purpose.SAMPLE, 0, 0, 1).read(start, len(codes))[:, 0]
    of_class = taken[codes]
    fitted = np.flatnonzero(used & (draws < of_class))
    held_out = np.flatnonzero(used & (draws >= 1.0 - of_class) & (counts[codes] > 1))
    rows = np.concatenate([fitted, held_out])
    return RowSample(rows, len(fitted), share / of_class[rows])
