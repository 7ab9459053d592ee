"""Categories encoded by their target: the weighted average over the rows of a category.

The means of small categories are shrunk to that of all rows. How far depends on the spread of the
means compared with the spread within categories (empirical Bayes). For classes they are log-odds.
The encoding of a training row is computed from the rows of other folds, so that no row knows its
own target.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from covey._core.random import Purpose, UniformRows

_N_FOLDS = 10
# The least number of average rows by which means of small categories are shrunk.
_FEWEST_ROWS = 1.0
# Probabilities nearer to 0 and 1 than this count as this.
_SUREST = 1e-6


class TargetMeans:
    """The target of training rows: positions among the classes, or numbers if there are none.

    Rows of one group, (n,) whole numbers, are in one fold.
    """

    def __init__(
        self,
        target: np.ndarray,
        classes: np.ndarray | None,
        weight: np.ndarray,
        seed: int,
        groups: np.ndarray | None = None,
    ) -> None:
        labels = () if classes is None else classes.tolist()
        n_classes = len(labels)
        self.labels = tuple(map(str, labels)) if n_classes > 2 else ()
        self._weight = weight
        self._is_probability = n_classes > 0
        if n_classes == 0:
            used = weight > 0
            # Weights of classes have a unit, the row; those of values need not have one.
            self._weight = weight * (np.count_nonzero(used) / weight.sum())
            target = np.where(used, target, 0.0)
            self._values = self._standardized(target)[:, None]
        elif n_classes == 2:
            self._values = (target == 1).astype(np.float64)[:, None]
        else:
            self._values = (target[:, None] == np.arange(n_classes)).astype(np.float64)
        self._mean = self._weight @ self._values / self._weight.sum()
        # Rows without weight count nowhere, so they must not move other rows to other folds.
        used = weight > 0
        self._fold = np.zeros(len(target), dtype=np.intp)
        if groups is not None:
            groups = np.unique(groups[used], return_inverse=True)[1]
        self._fold[used] = folds(int(np.count_nonzero(used)), seed, groups)

    def _standardized(self, target: np.ndarray) -> np.ndarray:
        size = np.abs(target).max(initial=0.0) or 1.0
        target = target / size
        target = target - self._weight @ target / self._weight.sum()
        deviation = np.sqrt(self._weight @ target**2 / self._weight.sum())
        return target / (deviation or 1.0)

    def table(self, codes: np.ndarray, n_levels: int) -> np.ndarray:
        """Return the encodings (n_levels + 1, width) of levels, and of one that was never seen."""
        sums = self._sums(codes, n_levels + 1)
        return self._encoded(*sums, self._strength(*sums))

    def out_of_fold(self, codes: np.ndarray, n_levels: int) -> np.ndarray:
        """Return the encoding (n, width) of each row by the rows of other folds."""
        # The shrinkage and its center are the same in all folds, so that they reveal no fold.
        strength = self._strength(*self._sums(codes, n_levels + 1))
        found = np.empty_like(self._values)
        for fold in range(_N_FOLDS):
            held_out = self._fold == fold
            rest = self._encoded(*self._sums(codes, n_levels + 1, ~held_out), strength)
            found[held_out] = rest[codes[held_out]]
        return found

    def _sums(
        self, codes: np.ndarray, n_levels: int, rows: Any = slice(None)
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return weights (L,) and weighted sums (L, width) of target and square, by level."""
        codes, values, weight = codes[rows], self._values[rows], self._weight[rows]
        counts = np.bincount(codes, weight, minlength=n_levels)
        first, second = (
            np.stack(
                [np.bincount(codes, weight * one, minlength=n_levels) for one in (values**k).T],
                axis=1,
            )
            for k in (1, 2)
        )
        return counts, first, second

    def _strength(self, counts: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return by how many average rows (width,) categories are shrunk; infinite is wholly.

        It is the variance within categories over that of their means.
        """
        known = counts > 0
        counts, first, second = counts[known], first[known], second[known]
        n_rows, n_levels = counts.sum(), len(counts)
        if n_rows <= n_levels:
            return np.full(first.shape[1], np.inf)
        means = first / counts[:, None]
        within = np.maximum((second - counts[:, None] * means**2).sum(axis=0), 0.0)
        within /= n_rows - n_levels
        between = counts @ (means - self._mean) ** 2 - (n_levels - 1) * within
        between /= n_rows - counts @ counts / n_rows
        with np.errstate(divide="ignore", over="ignore"):
            found = np.where(between > 0, within / np.where(between > 0, between, 1.0), np.inf)
        return np.maximum(found, _FEWEST_ROWS)

    def _encoded(
        self, counts: np.ndarray, first: np.ndarray, second: np.ndarray, strength: np.ndarray
    ) -> np.ndarray:
        share = counts[:, None] / (counts[:, None] + strength)
        means = first / np.where(counts > 0, counts, 1.0)[:, None]
        found = np.where(share > 0, self._mean + share * (means - self._mean), self._mean)
        if not self._is_probability:
            return found
        found = np.clip(found, _SUREST, 1.0 - _SUREST)
        return np.log(found) - np.log1p(-found)


def folds(n_rows: int, seed: int, groups: np.ndarray | None) -> np.ndarray:
    """Return the fold (n_rows,) of each row; folds are equally large, and keep groups together."""
    units = np.arange(n_rows) if groups is None else groups
    n_units = int(units.max()) + 1
    draws = UniformRows(seed, Purpose.ENCODE, 0, 0, 1).read(0, n_units)[:, 0]
    fold = np.empty(n_units, dtype=np.intp)
    fold[np.argsort(draws, kind="stable")] = np.arange(n_units) % _N_FOLDS
    return fold[units]
