"""The parts of a fusion's loss: the members' gain from their differences, and the gate's part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from covey._core.inspection.fusion_loss import (
    cross_entropy,
    log_losses,
    possible_probabilities,
    share_lost,
    squared_error,
)
from covey._validation import check_sample_weight
from covey.fusers import Mean as LinearPool
from covey.fusers import Predictions
from covey.fusers import Product as LogPool


@dataclass(frozen=True)
class Ambiguity:
    """The result of `ambiguity`, per row and on average: ``loss = member_loss - ambiguity``.

    Attributes
    ----------
    loss : float
        The mean log-loss of the fusion, or its mean squared error.
    member_loss : float
        The mean loss of its members, each counted by its importance for the row.
    ambiguity : float
        The difference, which is never negative.
    row_loss, row_member_loss, row_ambiguity : ndarrays of shape (n_samples,)
        The three numbers of each row.
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
    >>> found = covey.inspection.ambiguity(flock, X, y)
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
    r"""Split the loss of an ensemble into that of its members and their gain from differing.

    Members with importances :math:`i_k(x)` that sum to one are fused into :math:`g`. Then

    .. math:: L(g) = \sum_k i_k L(p_k) - A, \qquad A \ge 0,

    on every row and so on average: no fusion of these kinds is worse than its members are on
    average, whatever the rows, and it is better by exactly the ambiguity A. Members gain only
    where they differ.

    - *Eq. (10)*, the product of powers (``fuser="product"``, a gate with ``pool="log"``):
      L is the log-loss and :math:`A = -\log Z` with :math:`Z = \sum_c \prod_k p_k(c)^{i_k} \le 1`,
      the factor by which eq. (10) is normalized (Heskes, 1998). A does not depend on the label:
      the gain of members is known before the truth is.
    - *A mixture*, :math:`\sum_k i_k p_k` (``fuser="mean"``, a gate with ``pool="linear"``, the
      groups of a `FlockClassifier`): L is the log-loss and A is the gap in Jensen's inequality,
      :math:`\log \sum_k i_k p_k(y) - \sum_k i_k \log p_k(y)`, which needs the label.
    - *The mean of numbers* (regressors): L is the squared error and A the variance of the members
      around their mean, :math:`\sum_k i_k (f_k - f)^2` (Krogh and Vedelsby, 1995).

    Parameters
    ----------
    ensemble : FlockClassifier, FlockRegressor or other fitted ensemble
        Fused by one of these.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Preferably rows that it was not trained on.
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
    >>> found = covey.inspection.ambiguity(flock, X, y)
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
        # Rounding can make it slightly negative.
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
    """Refuse fusions other than means of their members, and members without full predictions."""
    fuser = ensemble.fuser_
    if not (hasattr(fuser, "fuse_by") or isinstance(fuser, LinearPool | LogPool)):
        raise ValueError(
            f"{fuser.title} is not a mean of its members, so that its loss is not theirs "
            "less an ambiguity; use an ensemble fused by 'product', 'mean' or a gate."
        )
    if getattr(fuser, "geometric", False):
        raise ValueError(
            "ambiguity is of squared errors, and this flock averages the logarithms of its "
            "members' predictions; use gate_share."
        )
    if P.kind not in ("probability", "value"):
        raise ValueError("ambiguity needs members that predict probabilities or numbers.")
    if P.available is not None or not (P.seen is None or P.seen.all()):
        raise ValueError(
            "ambiguity needs members that predict every row and every class; leave out the others."
        )


def _fused(fuser: Any, P: Predictions, values: np.ndarray, importance: np.ndarray) -> np.ndarray:
    """Return the fused predictions of members that rule nothing out, (n, C)."""
    P = Predictions(values, P.classes, P.names)
    return fuser.fuse_by(P, importance) if hasattr(fuser, "fuse_by") else fuser.fuse(P)


# -- the part of the gate -------------------------------------------------------------------------


@dataclass(frozen=True)
class GateShare:
    """The result of `gate_share`.

    Attributes
    ----------
    loss : float
        The log-loss of the flock, or the mean squared error of a regressor.
    loss_without_gate : float
        This loss if every row has the average importances of members.
    loss_without_members : float
        This loss if every member predicts its average for every row.
    loss_without_both : float
        This loss in both cases together: one prediction for all rows.
    agreement_without_gate, agreement_without_members : float or None
        The share of rows whose decision (the most probable class) does not change then; None for a
        regressor.

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.FlockClassifier(effort="fast", random_state=0).fit(X, y)
    >>> share = covey.inspection.gate_share(flock, X, y)
    >>> bool(share.loss < share.loss_without_both)
    True
    """

    loss: float
    loss_without_gate: float
    loss_without_members: float
    loss_without_both: float
    agreement_without_gate: float | None = None
    agreement_without_members: float | None = None

    @property
    def lost_without_gate(self) -> float:
        """The share of the flock's knowledge that is lost without its gate.

        Its knowledge is measured by how far its loss is below that of one prediction for all rows.
        The share can be above 1, if members with fixed weights are worse than that; it is NaN if
        the flock is no better than one prediction.
        """
        return share_lost(self.loss, self.loss_without_gate, self.loss_without_both)

    @property
    def lost_without_members(self) -> float:
        """The share of the flock's knowledge that is lost if members predict their averages."""
        return share_lost(self.loss, self.loss_without_members, self.loss_without_both)

    @property
    def share(self) -> float:
        """The gate's share in the flock, from 0 to 1.

        It is the loss without the gate, divided by the sum of the losses without the gate and
        without the members. It is 1 if members are constant, 0 if the gate is, and NaN if neither
        matters.
        """
        gate = max(self.loss_without_gate - self.loss, 0.0)
        members = max(self.loss_without_members - self.loss, 0.0)
        return gate / (gate + members) if gate + members > 0 else float("nan")


def gate_share(
    flock: Any, X: Any, y: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None
) -> GateShare:
    """Measure which share of a gated flock's prediction is its gate's, and which its members'.

    A gate weighs the members of a flock for each row, and so two things depend on the row: the
    weights, and the members' predictions. Each is replaced by its mean over the rows while the
    other stays, and the loss rises by its worth. If members are constant, the gate is the whole
    model; if the gate is constant, it is none of it; a flock whose members decide and whose gate
    chooses among them loses by both. (``explain`` of a flock has the share of each row, by means
    over the training rows.)

    Parameters
    ----------
    flock : FlockClassifier, FlockRegressor or other fitted ensemble that a gate fuses
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Preferably rows that it was not trained on.
    y : array-like of shape (n_samples,), optional
        True labels or numbers. Without them the flock's own prediction counts as the truth: the
        rise of the loss is then the mean Kullback-Leibler divergence from its probabilities, or
        the mean squared difference from its numbers.
    sample_weight : array-like of shape (n_samples,), optional

    Returns
    -------
    measured : GateShare

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(200, random_state=0)
    >>> flock = covey.SubsetEnsembleClassifier(4, fuser="gate", random_state=0).fit(X, y)
    >>> measured = covey.inspection.gate_share(flock, X, y)
    >>> measured.loss < min(measured.loss_without_gate, measured.loss_without_members)
    True
    >>> 0 < measured.share < 1
    True
    """
    check_is_fitted(flock, "fuser_")
    fuser = flock.fuser_
    if not hasattr(fuser, "fuse_by"):
        raise ValueError(
            f"flock must be fused by a gate, but it is fused by {fuser.title}; use "
            "FlockClassifier or FlockRegressor with members='linear' (or the member 'linear' of "
            "a mixed flock), or an ensemble with fuser='gate'."
        )
    P = flock._predictions(flock._check_rows(X))
    weight = check_sample_weight(sample_weight, P.n_samples)
    truth = None if y is None else P.encode(y)
    importance = flock.explain_fusion(X)
    if P.available is not None and not P.available.any(axis=1).all():
        # Rows without any member's prediction are left out.
        known = P.available.any(axis=1)
        P, importance, weight = P.rows(known), importance[known], weight[known]
        truth = None if truth is None else truth[known]
    average = np.broadcast_to(np.average(importance, axis=0, weights=weight), importance.shape)
    unvaried = _at_their_means(P, weight)
    fused, without_gate, without_members, without_both = (
        fuser.fuse_by(predictions, counted)
        for predictions, counted in (
            (P, importance),
            (P, average),
            (unvaried, importance),
            (unvaried, average),
        )
    )
    results = fused, without_gate, without_members, without_both
    if P.kind == "value":
        truth = fused if truth is None else truth
        losses = (squared_error(truth, one, weight) for one in results)
        return GateShare(*losses)
    truth = fused if truth is None else np.eye(P.n_classes)[truth]
    losses = (cross_entropy(truth, one, weight) for one in results)
    same = (
        float(np.average(one.argmax(axis=1) == fused.argmax(axis=1), weights=weight))
        for one in (without_gate, without_members)
    )
    return GateShare(*losses, *same)


def _at_their_means(P: Predictions, weight: np.ndarray) -> Predictions:
    """Return predictions of members that predict their average for every sample."""
    counted = np.repeat(weight[:, None], P.n_members, axis=1)
    if P.available is not None:
        counted = counted * P.available
    # A member that is never available, or only where no weight is, has no mean.
    total = counted.sum(axis=0)
    counted[:, total == 0] = 1.0
    means = np.einsum("nk,nkc->kc", counted / counted.sum(axis=0), P.values)
    return Predictions(
        np.broadcast_to(means, P.values.shape),
        None if P.kind == "value" else P.classes,
        P.names,
        P.kind,
        available=P.available,
        seen=P.seen,
    )
