"""Fusers that weigh their members, by given or by learnt weights."""

import numpy as np

from covey._core.rules import normalised, uniform
from covey.fusers._base import Fuser, spoken_weight

LEARNT_WEIGHTS = ("accuracy", "log_odds")


class WeightedFuser(Fuser):
    """A rule whose members have weights.

    Parameters
    ----------
    weights : array of shape (n_members,), "accuracy", "log_odds" or None, default=None
        How much each member counts. None: all alike. "accuracy" learns each member's accuracy
        on the samples given to ``fit``. "log_odds" learns ``log((C - 1) a / (1 - a))`` of that
        accuracy for C classes, the best weights for a vote of independent members; a member
        no better than chance gets none.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        Learnt weights; they sum to one.
    """

    def __init__(self, weights=None):
        self.weights = weights

    @property
    def learns(self):
        """Whether the weights are learnt."""
        return isinstance(self.weights, str)

    def _check_parameters(self, P):
        if isinstance(self.weights, str):
            if self.weights not in LEARNT_WEIGHTS:
                listed = ", ".join(repr(name) for name in LEARNT_WEIGHTS)
                raise ValueError(
                    f"weights must be numbers, None or one of {listed}, got {self.weights!r}."
                )
        elif self.weights is not None:
            weights = np.asarray(self.weights, dtype=np.float64)
            if weights.shape != (P.n_members,):
                raise ValueError(
                    f"weights must hold one number for each of the {P.n_members} members, "
                    f"got an array of shape {weights.shape}."
                )
            if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
                raise ValueError(
                    f"weights must be finite, not negative and not all zero, got {weights}."
                )

    def _fit(self, P, codes, X, sample_weight):
        weight = spoken_weight(P) * sample_weight[:, None]
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

    def member_weights(self, n_members):
        """The weights in use, summing to one."""
        if self.learns:
            return self.weights_
        weights = np.ones(n_members) if self.weights is None else np.asarray(self.weights, float)
        return weights / weights.sum()

    def _weight(self, P):
        return spoken_weight(P, self.member_weights(P.n_members))

    def _importance(self, P, X, codes):
        return normalised(self._weight(P), uniform(P.n_samples, P.n_members))

    def _vote_weight(self, P):
        """Weights as given, not divided by their sum: whole numbers of votes stay whole.

        Sums of fractions depend on their order, and members' order must not break a tie.
        """
        return spoken_weight(P, self.weights_ if self.learns else self.weights)
