"""Rules on decisions: votes, and thresholds of votes for a positive class."""

import numpy as np

from covey._core.fusion.rules import k_of_n, vote_shares
from covey._validation import check_number
from covey.fusers._base import agreeing_importance, available_weight
from covey.fusers._predictions import encode_labels
from covey.fusers._weights import WeightedFuser


class Majority(WeightedFuser, name="majority"):
    """The class that most members vote for.

    Probabilities are shares of the (weighted) votes. Of classes with equally many votes the
    first one wins, as in scikit-learn's ``VotingClassifier``.

    Parameters
    ----------
    weights : array of shape (n_members,), "accuracy", "log_odds" or None, default=None
        How much each member's vote counts.

    Examples
    --------
    >>> import covey
    >>> covey.fusers.Majority().fuse([["yes"], ["no"], ["yes"], ["yes"]])
    array([[0.25, 0.75]])
    """

    # What members decide counts, not what their probabilities would.
    kinds = ("label", "probability", "score")

    def _is_exact(self):
        return self.weights is None  # whole votes

    def _fuse(self, P, X, codes):
        equal = self.weights is None and P.available is None
        return vote_shares(P.labels, None if equal else self._vote_weight(P), P.n_classes)

    def _importance(self, P, X, codes):
        return agreeing_importance(P, self._fuse(P, X, codes), self._vote_weight(P))


class KOfN(WeightedFuser, name="k_of_n"):
    """Accept the positive class if at least k members vote for it.

    With two classes p(positive) is the k-th largest of the members' p(positive), so it is
    above one half where k members or more say so. With more classes, where the positive class
    is rejected p(positive) is 0 and the others share as the mean rule has it; where it is
    accepted p(positive) is that k-th largest, and more than one half.

    Parameters
    ----------
    k : float, default=1
        How many votes are needed; with weights, how much weight.
    positive_class : label or None, default=None
        None is the last class.
    weights : array of shape (n_members,) or None, default=None
        What each member's vote weighs; None is 1 each. (They are not divided by their sum,
        since k is in their unit.)

    Examples
    --------
    >>> import covey
    >>> P = [[[0.9, 0.1]], [[0.4, 0.6]], [[0.3, 0.7]]]
    >>> covey.fusers.KOfN(2).fuse(P)
    array([[0.4, 0.6]])
    """

    kinds = ("probability", "score", "label")

    def __init__(self, k=1, positive_class=None, weights=None):
        super().__init__(weights)
        self.k = k
        self.positive_class = positive_class

    def _threshold(self, P):
        return float(self.k)

    def _check_parameters(self, P):
        if isinstance(self.weights, str):
            raise ValueError(
                f"weights of {type(self).__name__} must be numbers or None, got {self.weights!r}: "
                "k is in their unit."
            )
        super()._check_parameters(P)
        if P.n_classes < 2:
            raise ValueError(
                f"{type(self).__name__} accepts or rejects a class, but the predictions speak of "
                "one class alone; name all of them with classes=."
            )
        self._positive(P)
        self._check_k(P)

    def _check_k(self, P):
        total = P.n_members if self.weights is None else float(np.sum(self.weights))
        check_number(self.k, "k", low=0, closed="neither")
        if self.k > total * (1 + 1e-9):
            unit = "members" if self.weights is None else "the sum of the weights"
            raise ValueError(f"k={self.k} asks for more votes than there are: {total:g} ({unit}).")

    def _positive(self, P):
        if self.positive_class is None:
            return P.n_classes - 1
        return int(
            encode_labels(np.array([self.positive_class]), P.classes, "positive_class names")[0]
        )

    def _counted_weight(self, P):
        """What counts towards k: silence, and a vote without weight, do not."""
        return available_weight(P, self.weights)

    def _fuse(self, P, X, codes):
        # Scores of different members are not comparable; their votes are.
        values = P.votes if P.kind == "score" else P.values
        return k_of_n(
            values, P.labels, self._counted_weight(P), self._threshold(P), self._positive(P)
        )

    def _importance(self, P, X, codes):
        return agreeing_importance(P, self._fuse(P, X, codes), self._vote_weight(P))


class Or(KOfN, name="or"):
    """Accept the positive class if any member votes for it: p(positive) is the largest.

    Parameters
    ----------
    positive_class : label or None, default=None
        None is the last class.

    Examples
    --------
    >>> import covey
    >>> covey.fusers.Or().fuse([[[0.9, 0.1]], [[0.3, 0.7]]])
    array([[0.3, 0.7]])
    """

    def __init__(self, positive_class=None):
        self.positive_class = positive_class

    weights = None
    k = 1


class And(KOfN, name="and"):
    """Accept the positive class if all members vote for it: p(positive) is the smallest.

    Parameters
    ----------
    positive_class : label or None, default=None
        None is the last class.

    Examples
    --------
    >>> import covey
    >>> covey.fusers.And().fuse([[[0.9, 0.1]], [[0.3, 0.7]]])
    array([[0.9, 0.1]])
    """

    def __init__(self, positive_class=None):
        self.positive_class = positive_class

    weights = None

    def _check_k(self, P):
        """All members that have spoken: there is no k."""

    def _threshold(self, P):
        return float(P.n_members)

    def _counted_weight(self, P):
        # A member that has not spoken stands in nobody's way: the others weigh as much as all.
        weight = super()._counted_weight(P)
        total = weight.sum(axis=1, keepdims=True)
        return weight * (P.n_members / np.where(total > 0, total, 1.0))
