"""Folds by rows' own draws: a row's draw is a function of its number, wherever it lies.

The rows of a class are dealt like cards in the order of their draws. That takes knowing all of
them; a class of more than `MOST_RANKED` rows is split by the draws themselves instead, which are
as good as even for so many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from covey._core.random import Purpose, UniformRows

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

#: Rows of a class that are dealt in the order of their draws.
MOST_RANKED = 100_000


def fold_draws(seed: int, repeat: int, start: int, count: int) -> FloatArray:
    """What rows ``start`` to ``start + count`` draw for their fold."""
    draws: FloatArray = UniformRows(seed, Purpose.FOLD, 0, repeat, 1).read(start, count)[:, 0]
    return draws


def dealt_like_cards(draws: FloatArray, first: int, n_folds: int) -> IntArray:
    """The folds of all rows of a class, the card ``first`` being the first.

    Parameters
    ----------
    draws : ndarray of shape (n,)
        In the order of the rows' numbers: the first of equal draws comes first.
    first : int
        How many rows of other classes were dealt before.
    n_folds : int
    """
    fold = np.empty(len(draws), dtype=np.int64)
    fold[np.argsort(draws, kind="stable")] = (first + np.arange(len(draws))) % n_folds
    return fold


def split_by_draw(draws: FloatArray, n_folds: int) -> IntArray:
    """The folds of some rows of a large class."""
    return np.floor(draws * n_folds).astype(np.int64)


@dataclass(frozen=True)
class FoldAssignment:
    """All that a block of rows must know to tell the folds of its own.

    Attributes
    ----------
    seed : int
    n_folds : int
    large : tuple of int
        The classes that are split by their draws.
    number : ndarray of shape (m,)
        The numbers of the rows of all other classes that are dealt, rising.
    fold : ndarray of shape (n_repeats, m)
        Their folds.
    """

    seed: int
    n_folds: int
    large: tuple[int, ...]
    number: IntArray
    fold: npt.NDArray[np.int32]

    @property
    def n_parts(self) -> int:
        """How many folds there are, of all repeats."""
        return len(self.fold) * self.n_folds

    def folds(self, start: int, codes: IntArray, used: BoolArray) -> IntArray:
        """The folds (n_repeats, n) of rows from number ``start`` on; -1: in none.

        Parameters
        ----------
        start : int
        codes : ndarray of shape (n,)
        used : ndarray of shape (n,), bool
            Whether a row has a weight.
        """
        folds = np.full((len(self.fold), len(codes)), -1)
        mine = slice(*np.searchsorted(self.number, [start, start + len(codes)]))
        folds[:, self.number[mine] - start] = self.fold[:, mine]
        large = np.flatnonzero(np.isin(codes, self.large) & used)
        if len(large):
            for repeat, fold in enumerate(folds):
                draws = fold_draws(self.seed, repeat, start, len(codes))
                fold[large] = split_by_draw(draws[large], self.n_folds)
        return folds


#: The numbers (m,) of some rows, their classes (m,), and their draws (n_repeats, m).
Drawn = tuple[IntArray, IntArray, FloatArray]


def ranked_classes(counts: IntArray) -> IntArray:
    """The classes whose rows are dealt like cards; the only row of a class is in no fold."""
    return np.flatnonzero((counts > 1) & (counts <= MOST_RANKED))


def drawn(
    start: int, codes: IntArray, used: BoolArray, seed: int, n_repeats: int, ranked: IntArray
) -> Drawn:
    """What a block has to send of its rows of `ranked_classes`.

    Parameters
    ----------
    start, codes, used
        As for `FoldAssignment.folds`.
    seed, n_repeats : int
    ranked : ndarray
    """
    rows = np.flatnonzero(np.isin(codes, ranked) & used)
    draws = [fold_draws(seed, repeat, start, len(codes))[rows] for repeat in range(n_repeats)]
    return rows + start, codes[rows], np.stack(draws)


def deal(counts: IntArray, seed: int, n_folds: int, known: Sequence[Drawn]) -> FoldAssignment:
    """FoldAssignment the rows of a table.

    Parameters
    ----------
    counts : ndarray of shape (C,)
        How many rows with a weight each class has.
    seed, n_folds : int
    known : sequence
        From every block what `drawn` gives.
    """
    number, code = (np.concatenate([part[place] for part in known]) for place in (0, 1))
    draws = np.concatenate([part[2] for part in known], axis=1)
    order = np.argsort(number)
    number, code, draws = number[order], code[order], draws[:, order]
    fold = np.empty(draws.shape, dtype=np.int32)
    ranked = ranked_classes(counts)
    # Each class goes on where the one before ended.
    before = np.cumsum(np.where(counts > 1, counts, 0)) - counts
    for label in ranked:
        rows = code == label
        for repeat in range(len(draws)):
            fold[repeat, rows] = dealt_like_cards(draws[repeat, rows], int(before[label]), n_folds)
    large = np.flatnonzero(counts > MOST_RANKED)
    return FoldAssignment(seed, n_folds, tuple(large.tolist()), number, fold)
