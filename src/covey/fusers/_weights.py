"""Fusers that weigh their members, by given or by learnt weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from covey._core.fusion.rules import normalized, uniform
from covey._validation import check_one_each
from covey.fusers._base import Fuser, agreeing_importance, available_weight, effective_weight
from covey.fusers._predictions import Predictions

LEARNT_WEIGHTS = ("accuracy", "log_odds")
LEARNT_WEIGHTS_OF_VALUES = ("inverse_error",)


class WeightedFuser(Fuser):
    """A rule whose members have weights.

    Where only members without weight are available, these decide, all alike.

    Parameters
    ----------
    weights : array of shape (n_members,) or (n_samples, n_members), "accuracy", "log_odds" or \
            None, default=None
        How much each member counts. None: all alike. One row for each of the samples that are
        fused are importances ``i_k(x)`` of eq. (10), as the user knows them. "accuracy" learns
        each member's accuracy on the samples given to ``fit``. "log_odds" learns
        ``log((C - 1) a / (1 - a))`` of that accuracy for C classes, the best weights for a vote
        of independent members; a member no better than chance gets none. "inverse_error", for
        predictions of kind "value", learns the inverse of each member's mean squared error: the
        best weights for a mean of members whose errors are independent and even out.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        Learnt weights; they sum to one.

    Examples
    --------
    >>> import covey
    >>> P = [[[0.9, 0.1]], [[0.2, 0.8]]]
    >>> covey.fuse(P, covey.fusers.Mean(weights=[3, 1])).round(3)
    array([[0.725, 0.275]])
    """

    def __init__(self, weights: ArrayLike | str | None = None) -> None:
        self.weights = weights

    @property
    def learns(self) -> bool:
        """Whether the weights are learnt."""
        return isinstance(self.weights, str)

    def _keep_members(self, names: Sequence[str], kept: Sequence[str]) -> None:
        if self.weights is not None and not self.learns and len(kept) < len(names):
            what = "number for each of the {} members, dropped ones included"
            check_one_each(self.weights, len(names), "weights", what)
            self.weights = np.asarray(self.weights)[np.isin(names, kept)]

    def _check_parameters(self, P: Predictions) -> None:
        if isinstance(self.weights, str):
            known = LEARNT_WEIGHTS_OF_VALUES if P.kind == "value" else LEARNT_WEIGHTS
            if self.weights not in known:
                listed = ", ".join(repr(name) for name in known)
                raise ValueError(
                    f"weights must be numbers, None or one of {listed} for predictions of kind "
                    f"{P.kind}, got {self.weights!r}."
                )
        elif self.weights is not None:
            self._check_numbers(P)

    def _check_numbers(self, P: Predictions) -> None:
        try:
            weights = np.asarray(self.weights, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"weights must hold one number for each of the {P.n_members} members, got "
                f"{self.weights!r}."
            ) from None
        if weights.ndim == 2:
            self._check_rows_of_weights(P, weights)
            return
        if weights.shape != (P.n_members,):
            raise ValueError(
                f"weights must hold one number for each of the {P.n_members} members, "
                f"got an array of shape {weights.shape}."
            )
        if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
            raise ValueError(
                f"weights must be finite, not negative and not all zero, got {weights}."
            )

    def _check_rows_of_weights(self, P: Predictions, weights: np.ndarray) -> None:
        if weights.shape != (P.n_samples, P.n_members):
            raise ValueError(
                f"weights of several rows must hold one for each of the {P.n_samples} samples "
                f"that are fused and the {P.n_members} members, got an array of shape "
                f"{weights.shape}; an estimator, which fuses other samples later, takes one "
                "number a member."
            )
        bad = ~np.isfinite(weights).all(axis=1) | (weights < 0).any(axis=1)
        bad |= ~weights.any(axis=1)
        if bad.any():
            row = int(np.argmax(bad))
            raise ValueError(
                "weights must be finite, not negative and not all zero in any row, but row "
                f"{row} is {weights[row]}."
            )

    @property
    def _block_size(self) -> int:
        # Rows of weights belong to rows of predictions: they are not divided into blocks.
        by_row = not isinstance(self.weights, str) and np.ndim(self.weights) == 2
        return 1 << 62 if by_row else Fuser._block_size

    def _fit(self, P: Predictions, codes: np.ndarray, X: Any, sample_weight: np.ndarray) -> None:
        weight = available_weight(P) * sample_weight[:, None]
        if P.kind == "value":
            self.weights_ = _inverse_errors(P.values[:, :, 0] - codes[:, None], weight)
            return
        right = (weight * (P.labels == codes[:, None])).sum(axis=0)
        total = weight.sum(axis=0)
        if self.weights == "accuracy":
            weights = right / np.where(total > 0, total, 1.0)
        else:
            # One more success and one more failure keep the odds finite.
            accuracy = (right + 1.0) / (total + 2.0)
            odds = accuracy / (1.0 - accuracy) * (P.n_classes - 1.0)
            weights = np.maximum(np.log(np.maximum(odds, 1.0)), 0.0)
        if not weights.any():
            weights = np.ones(P.n_members)
        self.weights_ = weights / weights.sum()

    def member_weights(self, n_members: int) -> np.ndarray:
        """The weights in use, summing to one; (n_samples, n_members) if samples have their own."""
        if self.learns:
            return self.weights_
        weights = np.ones(n_members) if self.weights is None else np.asarray(self.weights, float)
        total = weights.sum(axis=-1, keepdims=True)
        if not np.isfinite(total).all():
            weights = weights / weights.max(axis=-1, keepdims=True)
            total = weights.sum(axis=-1, keepdims=True)
        return weights / total

    def _weight(self, P: Predictions) -> np.ndarray:
        return effective_weight(P, self.member_weights(P.n_members))

    def _importance(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        return normalized(self._weight(P), uniform(P.n_samples, P.n_members))

    def _vote_weight(self, P: Predictions) -> np.ndarray:
        """Weights as given, not divided by their sum: whole numbers of votes stay whole.

        Sums of fractions depend on their order, and members' order must not break a tie.
        """
        weights = self.weights_ if self.learns else self.weights
        if weights is not None and not np.isfinite(np.sum(weights, axis=-1)).all():
            weights = self.member_weights(P.n_members)
        return effective_weight(P, weights)


class VotingFuser(WeightedFuser):
    """A weighted rule on votes or ranks: members that agree with the decision made it."""

    kinds = ("probability", "score", "label")

    def _importance(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        return agreeing_importance(P, self._fuse(P, X, codes), self._vote_weight(P))


def _inverse_errors(errors: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weights (K,) by the inverse mean squared error of errors (n, K); they sum to one."""
    total = weight.sum(axis=0)
    squared = (weight * errors**2).sum(axis=0) / np.where(total > 0, total, 1.0)
    squared[total == 0] = np.inf  # a member that was never available is not known to be good
    if not np.isfinite(squared).any():
        return np.full(len(squared), 1.0 / len(squared))
    best = squared.min()
    # Beside a member without an error all others weigh nothing.
    weights = np.where(squared == 0, 1.0, 0.0) if best == 0 else best / squared
    return weights / weights.sum()
