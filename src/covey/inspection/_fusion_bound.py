"""What the loss and the error of a fusion by eq. (10), or of a mixture, stay below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from covey._core.inspection.loss_bounds import highest_mean
from covey._intervals import proportion_interval
from covey._validation import check_number
from covey.inspection._ambiguity import Ambiguity, ambiguity

# A wrong class has at least the probability of the true one, which is then at most one half.
_LOSS_OF_AN_ERROR = float(np.log(2.0))


@dataclass(frozen=True)
class FusionBound:
    """What `fusion_bound` found.

    Attributes
    ----------
    loss, member_loss, ambiguity : float
        The mean log-loss on the samples, which is ``member_loss - ambiguity``; see
        `covey.inspection.ambiguity`.
    guarantee : float
        What the mean log-loss on new samples stays below with the given confidence, losses of
        more than ``largest_loss`` counted as that.
    member_guarantee : float
        The same of the members on average, which is what is known of a fusion whose ambiguity
        nobody has measured.
    error : float
        The share of the samples that are predicted wrongly.
    error_by_loss : float
        ``guarantee / ln 2``: the error on new samples is no larger, with the same confidence.
    error_guarantee : float
        The exact upper limit of the error on new samples, of Clopper and Pearson, each limit with
        the given confidence.
    largest_loss, confidence : float
    n_samples : int
    """

    loss: float
    member_loss: float
    ambiguity: float
    guarantee: float
    member_guarantee: float
    error: float
    error_by_loss: float
    error_guarantee: float
    largest_loss: float
    confidence: float
    n_samples: int

    @property
    def vacuous(self) -> bool:
        """Whether the limit of the error by the loss is 1 or more, and so promises nothing."""
        return self.error_by_loss >= 1.0


def fusion_bound(
    ensemble: Any,
    X: Any,
    y: ArrayLike,
    *,
    largest_loss: float = 5.0,
    confidence: float = 0.95,
) -> FusionBound:
    r"""Bound the log-loss and the error of members fused by eq. (10), by a gate or by a mean.

    The paper asks for bounds on an ensemble, given its fusion and its members. For the fusions of
    `ambiguity` there is one that holds on every row: with importances :math:`i_k(x)`,

    .. math::

        \mathbb{1}[g(x) \ne y] \;\le\; \frac{L(g)}{\ln 2}
        \;=\; \frac{\sum_k i_k L(p_k) - A}{\ln 2},

    since the true class of a row that is predicted wrongly has a probability of one half at most.
    So an ensemble errs the less, the better its members are and the more they differ, and never
    more than its members' mean loss allows. This is what it comes to on held-out samples, with
    limits for new ones.

    The limits of losses are empirical Bernstein bounds (Maurer and Pontil, 2009). They assume
    held-out samples: drawn independently from where new ones come from, and used to make neither
    the members nor the fuser.

    Parameters
    ----------
    ensemble : FlockClassifier, SubsetEnsembleClassifier or other fitted classifier
        Fused by ``"product"``, ``"mean"`` or a gate.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    largest_loss : float, default=5.0
        A log-loss has no largest value, but a bound needs one: losses above this (a probability
        of the true class below .007) count as this. It must be ln 2 at least.
    confidence : float, default=0.95

    Returns
    -------
    bound : FusionBound

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(600, random_state=0)
    >>> flock = covey.SubsetEnsembleClassifier(5, random_state=0).fit(X[::2], y[::2])
    >>> bound = covey.fusion_bound(flock, X[1::2], y[1::2])
    >>> bound.error <= bound.loss / 0.6931 and bound.loss <= bound.member_loss
    True
    >>> bool(bound.error_guarantee < bound.error_by_loss)
    True
    """
    delta = 1.0 - check_number(confidence, "confidence", low=0, high=1, closed="neither")
    check_number(largest_loss, "largest_loss", low=_LOSS_OF_AN_ERROR)
    if hasattr(ensemble, "fuser_") and not hasattr(ensemble, "classes_"):
        raise ValueError(
            "fusion_bound is for classifiers, whose errors are counted; ambiguity takes the loss "
            f"of a {type(ensemble).__name__} apart."
        )
    found: Ambiguity = ambiguity(ensemble, X, y)
    wrong = ensemble.predict(X) != np.asarray(y)
    guarantee, of_members = (
        highest_mean(np.minimum(losses, largest_loss), largest_loss, delta)
        for losses in (found.row_loss, found.row_member_loss)
    )
    error = proportion_interval(int(wrong.sum()), len(wrong), confidence, "less")
    return FusionBound(
        found.loss,
        found.member_loss,
        found.ambiguity,
        guarantee,
        of_members,
        error.value,
        guarantee / _LOSS_OF_AN_ERROR,
        error.high,
        largest_loss,
        confidence,
        len(wrong),
    )
