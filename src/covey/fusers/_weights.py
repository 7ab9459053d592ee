"""Fusers that weigh their members, by given or by learnt weights, and rules on votes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from covey._core.fusion.competence import keep_highest
from covey._core.fusion.rules import k_of_n, normalized, uniform, vote_shares
from covey._state import Array, Where, refuse
from covey._validation import check_choice, check_number, check_one_each, keep_parameters
from covey.fusers._base import (
    FUSERS,
    Fuser,
    agreeing_importance,
    available_weight,
    effective_weight,
    of_those_that_know,
)
from covey.fusers._predictions import Predictions, encode_labels

LEARNT_WEIGHTS = ("accuracy", "log_odds")
LEARNT_WEIGHTS_OF_VALUES = ("inverse_error",)


class WeightedFuser(Fuser):
    """A rule whose members have weights.

    Where only members without weight are available, these decide, all alike.

    Parameters
    ----------
    weights : array of shape (n_members,) or (n_samples, n_members), "accuracy", "log_odds" or \
            None, default=None
        How much each member counts. None: all alike. One row for each of the fused samples holds
        importances ``i_k(x)`` of eq. (10), as the user knows them. "accuracy" learns each member's
        accuracy on the samples given to ``fit``. "log_odds" learns ``log((C - 1) a / (1 - a))`` of
        that accuracy for C classes, the best weights for a vote of independent members; a member
        no better than chance gets none. "inverse_error", for predictions of kind "value", learns
        the inverse of each member's mean squared error: the best weights for a mean of members
        whose errors are independent and cancel.

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

    weights_: Annotated[np.ndarray, Where("learns", Array("K", low=0))]

    # Whether the members that agree with the decision have made it, by their votes.
    _by_votes = False

    def __init__(self, weights: ArrayLike | str | None = None) -> None:
        self.weights = weights

    @property
    def _by_row(self) -> bool:
        """Whether each sample has weights of its own."""
        return not isinstance(self.weights, str | None) and np.ndim(self.weights) == 2

    def _why_not_stored(self) -> str | None:
        return "with weights of each sample" if self._by_row else None

    def _restored(self) -> None:
        refuse("weights", "are not positive.", not self.learns or self.weights_.any())

    @property
    def learns(self) -> bool:  # type: ignore[override]
        """Whether the weights are learnt."""
        return isinstance(self.weights, str)

    def _keep_members(self, names: Sequence[str], kept: Sequence[str]) -> None:
        if self.weights is not None and not self.learns and len(kept) < len(names):
            what = "number for each of the {} members, dropped ones included"
            check_one_each(self.weights, len(names), "weights", what)
            self.weights = np.asarray(self.weights)[np.isin(names, kept)]

    def _check_parameters(self, P: Predictions) -> None:
        if self.weights is None:
            return
        if isinstance(self.weights, str):
            known = LEARNT_WEIGHTS_OF_VALUES if P.kind == "value" else LEARNT_WEIGHTS
            if self.weights not in known:
                listed = ", ".join(repr(name) for name in known)
                raise ValueError(
                    f"weights must be numbers, None or one of {listed} for predictions of kind "
                    f"{P.kind}, got {self.weights!r}."
                )
            return
        try:
            weights = np.asarray(self.weights, dtype=np.float64)
            got = f"an array of shape {weights.shape}"
        except (TypeError, ValueError):
            weights, got = np.empty(0), repr(self.weights)
        if weights.ndim == 2 and weights.shape != (P.n_samples, P.n_members):
            raise ValueError(
                f"weights of several rows must hold one for each of the {P.n_samples} samples "
                f"that are fused and the {P.n_members} members, got {got}; an estimator, which "
                "fuses other samples later, takes one number a member."
            )
        if weights.ndim != 2 and weights.shape != (P.n_members,):
            raise ValueError(
                f"weights must hold one number for each of the {P.n_members} members, got {got}."
            )
        rows = np.atleast_2d(weights)
        bad = ~np.isfinite(rows).all(axis=1) | (rows < 0).any(axis=1) | ~rows.any(axis=1)
        if bad.any():
            row = int(np.argmax(bad))
            where = f" in any row, but row {row} is " if weights.ndim == 2 else ", got "
            raise ValueError(
                f"weights must be finite, not negative and not all zero{where}{rows[row]}."
            )

    @property
    def _block_size(self) -> int:  # type: ignore[override]
        # Rows of weights belong to rows of predictions: they are not divided into blocks.
        return 1 << 62 if self._by_row else Fuser._block_size

    def _fit(self, P: Predictions, codes: np.ndarray, X: Any, sample_weight: np.ndarray) -> None:
        if P.kind == "value":
            weight = available_weight(P) * sample_weight[:, None]
            self.weights_ = _inverse_errors(P.values[:, :, 0] - codes[:, None], weight)
            return
        if self.weights == "accuracy":
            weights = accuracies(P, codes, sample_weight)
        else:
            # One more success and one more failure keep the odds finite.
            accuracy = accuracies(P, codes, sample_weight, 1.0)
            odds = accuracy / (1.0 - accuracy) * (P.n_classes - 1.0)
            weights = np.maximum(np.log(np.maximum(odds, 1.0)), 0.0)
        if not weights.any():
            weights = np.ones(P.n_members)
        self.weights_ = weights / weights.sum()

    def member_weights(self, n_members: int) -> np.ndarray:
        """Return weights that sum to one; (n_samples, n_members) if given by sample."""
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
        if self._by_votes:
            return agreeing_importance(P, self._fuse(P, X, codes), self._vote_weight(P))
        return normalized(self._weight(P), uniform(P.n_samples, P.n_members))

    def _vote_weight(self, P: Predictions) -> np.ndarray:
        """Return weights as given, not divided by their sum: whole numbers of votes stay whole.

        Sums of fractions depend on their order, and members' order must not break a tie.
        """
        weights = self.weights_ if self.learns else self.weights
        if weights is not None and not np.isfinite(np.sum(weights, axis=-1)).all():
            weights = self.member_weights(P.n_members)
        return effective_weight(P, weights)


def accuracies(
    P: Predictions, codes: np.ndarray, sample_weight: np.ndarray, more: float = 0.0
) -> np.ndarray:
    """Return the share of rows on which each member is right, of those that it predicts, (K,).

    ``more`` successes, and as many failures, are added. A member that predicts no row has 0.
    """
    weight = available_weight(P) * sample_weight[:, None]
    right = (weight * (P.labels == codes[:, None])).sum(axis=0) + more
    total = weight.sum(axis=0) + 2 * more
    return right / np.where(total > 0, total, 1.0)


def _inverse_errors(errors: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return weights (K,) by the inverse mean squared error of errors (n, K); they sum to one."""
    total = weight.sum(axis=0)
    squared = (weight * errors**2).sum(axis=0) / np.where(total > 0, total, 1.0)
    squared[total == 0] = np.inf  # a member that was never available is not known to be good
    if not np.isfinite(squared).any():
        return np.full(len(squared), 1.0 / len(squared))
    best = squared.min()
    # Beside a member without an error all others have no weight.
    weights = np.where(squared == 0, 1.0, 0.0) if best == 0 else best / squared
    return weights / weights.sum()


class Majority(WeightedFuser, name="majority"):
    """The class that most members vote for.

    Probabilities are shares of the (weighted) votes. Of classes with equally many votes the
    first one wins, as in scikit-learn's ``VotingClassifier``.

    Take it if members give only classes, or probabilities that cannot be trusted; otherwise `Mean`
    uses more of what they know.

    Parameters
    ----------
    weights : array of shape (n_members,) or (n_samples, n_members), "accuracy", "log_odds" or \
            None, default=None
        How much each member's vote counts.

    Examples
    --------
    >>> import covey
    >>> covey.fusers.Majority().fuse([["yes"], ["no"], ["yes"], ["yes"]])
    array([[0.25, 0.75]])
    """

    # The members' decisions count, not those of their probabilities.
    kinds = ("label", "probability", "score")
    _by_votes = True

    def _is_exact(self) -> bool:
        return self.weights is None  # whole votes

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        equal = self.weights is None and P.available is None
        weight = self._vote_weight(P)
        shares = vote_shares(P.labels, None if equal else weight, P.n_classes)
        even = uniform(P.n_samples, P.n_classes)
        return normalized(of_those_that_know(P, shares, weight), even)


class KOfN(WeightedFuser, name="k_of_n"):
    """A rule that accepts the positive class if at least k members vote for it.

    For two classes p(positive) is the k-th largest of the members' p(positive), so it is above one
    half where k members or more are for it. For more classes, p(positive) is 0 where the positive
    class is rejected, and the others share the rest as in the mean rule; where it is accepted,
    p(positive) is that k-th largest, and more than one half.

    The rule "or" is k = 1: p(positive) is the largest of the members'. Take it if a miss is worse
    than a false alarm; many members raise many alarms. The rule "and" is k = "all": p(positive) is
    the smallest. Take it if a false alarm is worse than a miss, and for regions that several
    boundaries enclose together.

    Parameters
    ----------
    k : float or "all", default=1
        How many votes are needed; with weights, how much weight. A member that is not available
        votes against, except for "all", which means all that are available.
    positive_class : label or None, default=None
        None is the last class.
    weights : array of shape (n_members,) or (n_samples, n_members), or None, default=None
        The weight of each member's vote; None is 1 each. (They are not divided by their sum, since
        k is in their unit.)

    Examples
    --------
    >>> import covey
    >>> P = [[[0.9, 0.1]], [[0.4, 0.6]], [[0.3, 0.7]]]
    >>> covey.fusers.KOfN(2).fuse(P)
    array([[0.4, 0.6]])
    >>> covey.fuse(P, "or"), covey.fuse(P, "and")
    (array([[0.3, 0.7]]), array([[0.9, 0.1]]))
    """

    kinds = ("probability", "score", "label")
    _by_votes = True

    def __init__(
        self, k: float | str = 1, positive_class: Any = None, weights: ArrayLike | None = None
    ) -> None:
        keep_parameters(self, locals())

    def _check_parameters(self, P: Predictions) -> None:
        if isinstance(self.weights, str):
            raise ValueError(
                f"weights of {self.title} must be numbers or None, got {self.weights!r}: "
                "k is in their unit."
            )
        super()._check_parameters(P)
        if P.n_classes < 2:
            raise ValueError(
                f"{self.title} accepts or rejects a class, but the predictions hold "
                "one class alone; name all of them with classes=."
            )
        self._positive(P)
        if isinstance(self.k, str):
            check_choice(self.k, "k", ("all",))
            return
        plain = self.weights is None
        total = P.n_members if self.weights is None else float(np.sum(self.weights, axis=-1).max())
        check_number(self.k, "k", low=0, closed="neither")
        if self.k > total * (1 + 1e-9):
            unit = "members" if plain else "the sum of the weights"
            raise ValueError(f"k={self.k} asks for more votes than there are: {total:g} ({unit}).")

    def _positive(self, P: Predictions) -> int:
        if self.positive_class is None:
            return P.n_classes - 1
        named = np.array([self.positive_class])
        return int(encode_labels(named, P.classes, "positive_class names")[0])

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        weight, k = available_weight(P, self.weights), self.k
        if isinstance(k, str):
            # The available members weigh as much as all: the others do not prevent acceptance.
            total = weight.sum(axis=1, keepdims=True)
            weight, k = weight * (P.n_members / np.where(total > 0, total, 1.0)), P.n_members
        # Scores of different members are not comparable; their votes are.
        values = P.votes if P.kind == "score" else P.values
        return k_of_n(values, P.labels, weight, float(k), self._positive(P))


FUSERS |= {"or": partial(KOfN, 1), "and": partial(KOfN, "all")}


class StaticSelection(Fuser, name="static_selection"):
    """A vote of the members that were most accurate on the samples given to ``fit``.

    The same ones vote on every sample, so that dynamic selection can be compared with it. Where
    none of them is available, all others vote.

    Take it as the baseline that a dynamic selection must beat.

    Parameters
    ----------
    share : float, default=0.5
        The share of members that are selected, rounded down, but at least one.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        Equal weights of those selected, the first of equals; they sum to one.

    Examples
    --------
    >>> import covey
    >>> P = [["yes", "no"], ["no", "no"], ["yes", "no"], ["no", "yes"]]
    >>> covey.fusers.StaticSelection().fit(P, ["yes", "no"]).weights_
    array([0.5, 0. , 0.5, 0. ])
    """

    weights_: Annotated[np.ndarray, Array("K")]

    learns = True
    kinds = ("label", "probability")

    def __init__(self, share: float = 0.5) -> None:
        self.share = share

    def _check_parameters(self, P: Predictions) -> None:
        check_number(self.share, "share", low=0, high=1, closed="right")

    def _fit(self, P: Predictions, codes: np.ndarray, X: Any, sample_weight: np.ndarray) -> None:
        # Sums of weights are rounded, and rounding must not choose between equals.
        accuracy = np.round(accuracies(P, codes, sample_weight), 12)
        kept = keep_highest(accuracy[None], max(1, int(P.n_members * self.share)))[0]
        self.weights_ = kept / kept.sum()

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        return vote_shares(P.labels, self._votes(P), P.n_classes)

    def _importance(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        return agreeing_importance(P, self._fuse(P, X, codes), self._votes(P))

    def _votes(self, P: Predictions) -> np.ndarray:
        # Whole votes: fractions of them would break ties by rounding.
        return effective_weight(P, (self.weights_ > 0).astype(float))
