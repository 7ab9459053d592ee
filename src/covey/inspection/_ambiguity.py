"""What members gain by differing: the loss of a fusion, taken apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from covey._core.inspection.ambiguity import (
    linear_pooled,
    log_losses,
    log_pooled,
    possible_probabilities,
)
from covey._validation import check_sample_weight
from covey.fusers import Mean as LinearPool
from covey.fusers import Predictions
from covey.fusers import Product as LogPool


@dataclass(frozen=True)
class Ambiguity:
    """What `ambiguity` measured; of every row, and on average: ``loss = member_loss - ambiguity``.

    Attributes
    ----------
    loss : float
        The mean log-loss of the fusion, or its mean squared error.
    member_loss : float
        The same of its members, each counted by its importance for the row.
    ambiguity : float
        The difference, which is never negative.
    row_loss, row_member_loss, row_ambiguity : ndarrays of shape (n_samples,)
        The three of each row.
    loss_of_members : ndarray of shape (n_members,)
        The mean loss of each member alone.
    importance : ndarray of shape (n_members,)
        The mean importance of each member.
    names : list of str
        The members' names.

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.SubsetEnsembleClassifier(3, random_state=0).fit(X, y)
    >>> found = covey.ambiguity(flock, X, y)
    >>> bool(abs(found.loss - (found.member_loss - found.ambiguity)) < 1e-12)
    True
    """

    loss: float
    member_loss: float
    ambiguity: float
    row_loss: np.ndarray
    row_member_loss: np.ndarray
    row_ambiguity: np.ndarray
    loss_of_members: np.ndarray
    importance: np.ndarray
    names: list[str]


def ambiguity(
    ensemble: Any, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> Ambiguity:
    r"""The loss of a fused ensemble: that of its members, less what they gain by differing.

    Members with importances :math:`i_k(x)` that sum to one are fused into :math:`g`. Then

    .. math:: L(g) = \sum_k i_k L(p_k) - A, \qquad A \ge 0,

    on every row and so on average: no fusion of these kinds is worse than its members are on
    average, whatever the rows, and it is better by exactly the ambiguity A. Members gain only
    where they differ.

    - *Eq. (10)*, the product of powers (``fuser="product"``, a gate with ``pool="log"``):
      L is the log-loss and :math:`A = -\log Z` with :math:`Z = \sum_c \prod_k p_k(c)^{i_k} \le 1`,
      the factor by which eq. (10) is normalized (Heskes, 1998). A does not depend on the label:
      how much members gain is known before the truth is.
    - *A mixture*, :math:`\sum_k i_k p_k` (``fuser="mean"``, a gate with ``pool="linear"``, the
      groups of a `FlockClassifier`): L is the log-loss and A is what Jensen's inequality leaves,
      :math:`\log \sum_k i_k p_k(y) - \sum_k i_k \log p_k(y)`, which needs the label.
    - *The mean of numbers* (regressors): L is the squared error and A the variance of the members
      around their mean, :math:`\sum_k i_k (f_k - f)^2` (Krogh and Vedelsby, 1995).

    Parameters
    ----------
    ensemble : FlockClassifier, FlockRegressor or other fitted ensemble
        Fused by one of these.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Best rows that it was not trained on.
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,), optional

    Returns
    -------
    measured : Ambiguity

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import covey
    >>> X, y = load_wine(return_X_y=True)
    >>> flock = covey.SubsetEnsembleClassifier(3, flip_probability=0.2, random_state=0).fit(X, y)
    >>> found = covey.ambiguity(flock, X, y)
    >>> bool(abs(found.member_loss - found.ambiguity - found.loss) < 1e-12)
    True
    >>> bool((found.row_ambiguity >= 0).all())
    True
    """
    check_is_fitted(ensemble, "fuser_")
    P = ensemble._predictions(ensemble._check_rows(X))
    weight = check_sample_weight(sample_weight, P.n_samples)
    importance = ensemble.explain_fusion(X)
    truth = P.encode(y)
    _check(ensemble, P)
    if P.kind == "value":
        values = P.values[:, :, 0]
        fused = np.einsum("nk,nk->n", values, importance)
        losses, loss = (values - truth[:, None]) ** 2, (fused - truth) ** 2
        gained = np.einsum("nk,nk->n", (values - fused[:, None]) ** 2, importance)
    else:
        values = possible_probabilities(P.values)
        losses = log_losses(values, truth)
        loss = log_losses(_fused(ensemble.fuser_, P, values, importance), truth)
        # Rounding can make it less than nothing.
        gained = np.maximum(np.einsum("nk,nk->n", losses, importance) - loss, 0.0)
    mean_loss = loss + gained

    def average(of_rows: np.ndarray) -> np.ndarray:
        return np.average(of_rows, axis=0, weights=weight)

    return Ambiguity(
        float(average(loss)),
        float(average(mean_loss)),
        float(average(gained)),
        loss,
        mean_loss,
        gained,
        average(losses),
        average(importance),
        P.names if P.names is not None else ensemble._names(),
    )


def _check(ensemble: Any, P: Predictions) -> None:
    """Refuse fusions that are no mean of their members, and members that do not say all."""
    fuser = ensemble.fuser_
    if not (hasattr(fuser, "fuse_by") or isinstance(fuser, LinearPool | LogPool)):
        raise ValueError(
            f"{fuser.title} is no mean of its members, so that its loss is not theirs "
            "less an ambiguity; use an ensemble fused by 'product', 'mean' or a gate."
        )
    if P.kind not in ("probability", "value"):
        raise ValueError("ambiguity needs members that predict probabilities or numbers.")
    if P.available is not None or not (P.seen is None or P.seen.all()):
        raise ValueError(
            "ambiguity needs members that predict every row and every class; leave out the others."
        )


def _fused(fuser: Any, P: Predictions, values: np.ndarray, importance: np.ndarray) -> np.ndarray:
    """What members that rule nothing out are fused into, (n, C)."""
    if isinstance(fuser, LogPool):
        return log_pooled(values, importance)
    if isinstance(fuser, LinearPool):
        return linear_pooled(values, importance)
    return fuser.fuse_by(Predictions(values, P.classes, P.names), importance)
