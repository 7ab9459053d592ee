"""The rules by which boosting itself decides: the last stage, and the weighted median."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from covey._core.fusion.rules import normalized, share_among
from covey._validation import check_one_each
from covey.fusers._base import Fuser
from covey.fusers._predictions import Predictions
from covey.fusers._weights import WeightedFuser


class LastStage(Fuser):
    r"""The last member decides: each is the one before, corrected, as the stages of boosting are.

    A member's importance is its share of the way to the decision: how far it moves the
    probabilities (half the sum of absolute differences), or the number, from where the one
    before left them. Where none moves anything, the last one decided.

    Parameters
    ----------
    start : array of shape (n_classes,), float or None, default=None
        What would be predicted before the first stage: how frequent the classes are, or the mean
        number. None: all classes alike; of numbers, what the first member predicts.

    Examples
    --------
    >>> import covey
    >>> stages = [[[0.6, 0.4]], [[0.7, 0.3]], [[0.9, 0.1]]]
    >>> covey.fusers.LastStage().fuse(stages)
    array([[0.9, 0.1]])
    >>> covey.fusers.LastStage().importance(stages)
    array([[0.25, 0.25, 0.5 ]])
    """

    kinds = ("probability", "value")

    def __init__(self, start: ArrayLike | float | None = None) -> None:
        self.start = start

    def _check_parameters(self, P: Predictions) -> None:
        if self.start is not None:
            what = "number" if P.kind == "value" else "number for each of the {} classes"
            check_one_each(np.atleast_1d(self.start), P.values.shape[2], "start", what)

    def _path(self, P: Predictions) -> np.ndarray:
        """The start and what each member leaves behind, as (n_samples, n_members + 1, width)."""
        path = np.concatenate([self._starts(P), P.values], axis=1)
        if P.available is not None:
            # A member that is not available corrects nothing.
            known = np.hstack([np.ones((P.n_samples, 1), dtype=bool), P.available])
            last = np.maximum.accumulate(np.where(known, np.arange(P.n_members + 1), 0), axis=1)
            path = np.take_along_axis(path, last[:, :, None], axis=1)
        return path

    def _starts(self, P: Predictions) -> np.ndarray:
        shape = P.n_samples, 1, P.values.shape[2]
        if self.start is not None:
            return np.broadcast_to(np.asarray(self.start, dtype=np.float64), shape)
        if P.kind != "value":
            return np.full(shape, 1.0 / P.n_classes)
        if P.available is None:
            return P.values[:, :1]
        first = P.available.argmax(axis=1)
        return P.values[np.arange(P.n_samples), first][:, None]

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        return self._path(P)[:, -1]

    def _importance(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        moved = 0.5 * np.abs(np.diff(self._path(P), axis=1)).sum(axis=2)
        last = np.zeros(moved.shape)
        position = np.full(P.n_samples, P.n_members - 1)
        if P.available is not None:
            position -= P.available[:, ::-1].argmax(axis=1)
        last[np.arange(P.n_samples), position] = 1.0
        return normalized(moved, last)


class WeightedMedian(WeightedFuser):
    """The smallest number such that members of at least half of the weight predict no more.

    Members that predict it decided, in proportion to their weights.

    Parameters
    ----------
    weights : array of shape (n_members,), "inverse_error" or None, default=None
        How much each member counts; "inverse_error" learns it from held-out samples.

    Examples
    --------
    >>> import covey
    >>> P = covey.Predictions([[1.0, 2.0, 9.0]], kind="value")
    >>> covey.fusers.WeightedMedian([1, 1, 3]).fuse(P)
    array([9.])
    """

    kinds = ("value",)

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        order = np.argsort(P.values[:, :, 0], axis=1)
        below = np.cumsum(np.take_along_axis(self._weight(P), order, axis=1), axis=1)
        half = (below >= 0.5 * below[:, -1:]).argmax(axis=1)
        rows = np.arange(P.n_samples)
        return P.values[rows, order[rows, half]]

    def _importance(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        agrees = P.values[:, :, 0] == self._fuse(P, X, codes)
        return share_among(agrees, self._weight(P))
