"""Training rows that are held out from the members, once or fold by fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from covey._core.random import Purpose, UniformRows
from covey._folds import Folds, check_groups


@dataclass(frozen=True)
class HeldOutRows:
    """The folds on which models are compared: numbers of rows to fit on, and of rows held out.

    ``weight`` (n_rows,) is how much each row of the table counts; in a long table only some rows
    are in any fold, and those of small classes, of which more are taken, count for less.
    """

    folds: Folds
    weight: np.ndarray
    n_repeats: int = 1  # how often folds were drawn

    @classmethod
    def counted(cls, folds: Folds, weight: np.ndarray) -> HeldOutRows:
        """Return folds without the rows that have no weight."""
        used = weight > 0
        return cls([(train[used[train]], test[used[test]]) for train, test in folds], weight)

    @property
    def repeats(self) -> list[range]:
        """Return the numbers of the folds that were drawn together."""
        n_folds = len(self.folds) // self.n_repeats
        return [range(n * n_folds, (n + 1) * n_folds) for n in range(self.n_repeats)]

    @property
    def rows(self) -> np.ndarray:
        """The rows that are held out, one fold after the other; one may be in several."""
        return np.concatenate([test for _, test in self.folds])

    def by_row(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of the rows held out, rising, and the mean of the values of each."""
        rows, position, count = np.unique(self.rows, return_inverse=True, return_counts=True)
        means = np.zeros((len(rows), *values.shape[1:]))
        np.add.at(means, position, values)
        return rows, means / count.reshape(-1, *[1] * (values.ndim - 1))


def held_out_rows(
    codes: np.ndarray, weight: np.ndarray, fraction: float, seed: int, groups: Any = None
) -> np.ndarray:
    """Hold out a share of each class, by each row's own draw, as a mask; groups stay whole."""
    draws = UniformRows(seed, Purpose.HOLD_OUT, 0, 0, 1).read(0, len(codes))[:, 0]
    if groups is not None:
        return _held_out_groups(
            codes, weight > 0, check_groups(groups, len(codes)), draws, fraction
        )
    held_out = np.zeros(len(codes), dtype=bool)
    for code in range(codes.max() + 1):
        rows = np.flatnonzero((codes == code) & (weight > 0))
        if len(rows) > 1:
            count = min(max(1, round(fraction * len(rows))), len(rows) - 1)
            held_out[rows[np.argsort(draws[rows], kind="stable")[:count]]] = True
    if not held_out.any():
        raise ValueError(
            "No class has two rows, so none can be held out to choose the size or to "
            "learn the fusion; use select_size=None and a fixed fusion rule."
        )
    return held_out


def _held_out_groups(
    codes: np.ndarray, used: np.ndarray, groups: np.ndarray, draws: np.ndarray, fraction: float
) -> np.ndarray:
    """Return rows of whole groups, about a share of each class.

    Groups are taken in the order of their draws, each if a class of it still lacks held-out
    rows, and if no class loses more than its share or half of its rows, nor its last one. Where
    every row is a group, this is the share of each class itself.
    """
    counts = np.zeros((groups.max() + 1, codes.max() + 1), dtype=np.intp)
    np.add.at(counts, (groups[used], codes[used]), 1)
    size = counts.sum(axis=0)
    wanted = np.clip(np.rint(fraction * size), 1, np.maximum(size - 1, 0))
    most = np.clip(np.maximum(wanted, size // 2), 0, np.maximum(size - 1, 0))
    taken, held = np.zeros(len(counts), dtype=bool), np.zeros_like(size)
    for group in np.argsort(draws[: len(counts)], kind="stable"):
        after = held + counts[group]
        if (held < wanted)[counts[group] > 0].any() and (after <= most).all():
            taken[group], held = True, after
    if not taken.any():
        raise ValueError(
            "groups has no group that can be held out, to choose the size or to learn the fusion, "
            "without most rows of a class; use select_size=None and a fixed fusion rule, or "
            "smaller groups."
        )
    return taken[groups] & used
