"""The contest of candidates: what they predict of rows held out, and which paths may end early.

Every point of a path is fitted from the point before it, with fewer features. A path that cannot
win any more need not be walked to its end: one whose loss rises far above that of its best point,
or one that is clearly worse than a path of another family with as many features.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from covey._core.arrays import BoolArray, FloatArray, IntArray
from covey._core.gating.gate import Parts
from covey._core.search.block import Kind, SearchBlock
from covey._core.search.candidates import Candidate
from covey._core.search.rows import SearchRows
from covey._core.search.selection import mean_and_error

# A path ends where its loss is so many standard errors above that of its best point.
_FAR = 6.0
# It ends, too, where it is so many standard errors of their difference worse than another one,
# so many times in a row: some groups need to lose features before they are good.
_WORSE, _TIMES = 2.0, 2


class Contest:
    """Candidates, family after family, fitted on the folds; blocks keep what they predict.

    With ``ends_early``, paths that cannot win are ended. Each block knows a candidate by its
    number; they are in the order of ``candidates``.
    """

    def __init__(self, rows: SearchRows, n_folds: int, ends_early: bool) -> None:
        self.candidates: list[Candidate] = []
        self._rows = rows
        self._n_folds = n_folds
        self._ends_early = ends_early
        self._numbers: list[int] = []
        # By the number of features: the least loss so far, and the number of whose it is.
        self._best: dict[int, tuple[float, int]] = {}
        self._first = 0

    def begin(self, points: Sequence[Candidate]) -> None:
        """Let the points of a family's paths take part."""
        self._points = list(points)
        self._predicted = np.zeros(len(points), dtype=np.int64)
        self._sums = np.zeros((len(points), 5))
        # Of each penalty, in some folds: the loss and error of its best point.
        self._best_of_path: dict[tuple[float, int], tuple[float, float]] = {}
        # And how often in a row it was clearly worse than the best of other families.
        self._worse: Counter[tuple[float, int]] = Counter()

    def hold_out(self, kind: Kind, points: IntArray, folds: IntArray, parts: Parts) -> BoolArray:
        """Predict the rows that each of these runs (r,), points on folds, has held out.

        Which of them need not go on is returned.
        """
        numbers = self._first + points
        self._rows.broadcast(SearchBlock.predict_held_out, kind, numbers, folds, parts)
        self._predicted += np.bincount(points, minlength=len(self._points))
        ended = np.zeros(len(points), dtype=bool)
        if not self._ends_early:
            return ended
        (sums,) = self._rows.sum(SearchBlock.held_out_losses, numbers, folds)
        np.add.at(self._sums, points, sums)
        rival = self._best.get(self._points[points[0]].size)
        apart = None
        if rival is not None:
            (apart,) = self._rows.sum(SearchBlock.held_out_losses, numbers, folds, rival[1])
        for point in np.unique(points):
            of_point = points == point
            path = self._points[point].alpha, int(folds[of_point][0])
            beaten = apart is not None and _is_worse(apart[of_point].sum(axis=0))
            self._worse[path] = self._worse[path] + 1 if beaten else 0
            hopeless = self._is_hopeless(path, sums[of_point].sum(axis=0))
            ended[of_point] = hopeless or self._worse[path] >= _TIMES
        return ended

    def _is_hopeless(self, path: tuple[float, int], sums: FloatArray) -> bool:
        """Whether the last point of a path is far worse than its best one."""
        if not sums[0]:
            return False
        now = mean_and_error(sums)
        best, error = self._best_of_path[path] = min(now, self._best_of_path.get(path, now))
        return now[0] > best + _FAR * error

    def end(self) -> None:
        """Keep the points of the family that all folds have come to."""
        for point, one in enumerate(self._points):
            if self._predicted[point] < self._n_folds:
                continue
            number = self._first + point
            self.candidates.append(one)
            self._numbers.append(number)
            if self._sums[point, 0]:
                loss = mean_and_error(self._sums[point])[0]
                self._best[one.size] = min(
                    (loss, number), self._best.get(one.size, (loss, number))
                )
        if (self._predicted % self._n_folds).any():
            self.forget_unfinished()
        self._first += len(self._points)

    def forget_unfinished(self) -> None:
        """Drop what runs have predicted whose points do not take part, or not any more."""
        self._rows.broadcast(SearchBlock.keep_candidates, self._numbers)


def _is_worse(sums: FloatArray) -> bool:
    """Whether losses less those of another path are clearly above zero."""
    if not sums[0]:
        return False
    more, error = mean_and_error(sums)
    return more > _WORSE * error
