"""How much of a decision is the gate's, and how much the members'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from covey._core.inspection.gate_share import cross_entropy, share_lost, squared_error
from covey._validation import check_sample_weight
from covey.fusers import Predictions


@dataclass(frozen=True)
class GateShare:
    """What `gate_share` measured.

    Attributes
    ----------
    loss : float
        The log-loss of the flock, or the mean squared error of a regressor.
    loss_without_gate : float
        The same, if every row has the importances that members have on average.
    loss_without_members : float
        The same, if every member predicts for every row what it predicts on average.
    loss_without_both : float
        The same of both: one prediction for all rows.
    agreement_without_gate, agreement_without_members : float or None
        The share of rows whose decision (the most probable class) is then still the flock's;
        None of a regressor.

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.FlockClassifier(effort="fast", random_state=0).fit(X, y)
    >>> share = covey.gate_share(flock, X, y)
    >>> bool(share.loss < share.loss_without_both)
    True
    """

    loss: float
    loss_without_gate: float
    loss_without_members: float
    loss_without_both: float
    agreement_without_gate: float | None
    agreement_without_members: float | None

    @property
    def lost_without_gate(self) -> float:
        """The share of what the flock knows that is lost without its gate.

        What it knows is how far its loss is below that of one prediction for all rows. The share
        can be above 1, where members that nobody chooses among are worse than that; it is NaN
        where the flock knows nothing.
        """
        return share_lost(self.loss, self.loss_without_gate, self.loss_without_both)

    @property
    def lost_without_members(self) -> float:
        """The same, of members that predict one thing each."""
        return share_lost(self.loss, self.loss_without_members, self.loss_without_both)

    @property
    def share(self) -> float:
        """How much of the flock is its gate, from 0 to 1.

        What is lost without the gate, over the sum of what is lost without it and what is lost
        without the members. It is 1 where members are constant, 0 where the gate is, and NaN where
        neither matters.
        """
        gate = max(self.loss_without_gate - self.loss, 0.0)
        members = max(self.loss_without_members - self.loss, 0.0)
        return gate / (gate + members) if gate + members > 0 else float("nan")


def gate_share(
    flock: Any, X: Any, y: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None
) -> GateShare:
    """How much of what a gated flock predicts is its gate's, and how much its members'.

    A gate weights the members of a flock for each row, and so two things depend on the row: the
    weights, and what members predict. Each is replaced by its mean over the rows while the other
    stays, and the loss rises by what it was worth. Where members are constant the gate is the
    whole model, and where the gate is constant it is none of it; a flock whose members decide and
    whose gate chooses among them loses by both. (``explain`` of a flock has the share of each row,
    by means over the training rows.)

    Parameters
    ----------
    flock : FlockClassifier, FlockRegressor or other fitted ensemble that a gate fuses
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Best rows that it was not trained on.
    y : array-like of shape (n_samples,), optional
        True labels or numbers. Without them the flock's own prediction is taken for the truth: the
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
    >>> measured = covey.gate_share(flock, X, y)
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
        # Rows of which no member predicts anything tell nothing.
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
        return GateShare(*losses, None, None)
    truth = fused if truth is None else np.eye(P.n_classes)[truth]
    losses = (cross_entropy(truth, one, weight) for one in results)
    same = (
        float(np.average(one.argmax(axis=1) == fused.argmax(axis=1), weights=weight))
        for one in (without_gate, without_members)
    )
    return GateShare(*losses, *same)


def _at_their_means(P: Predictions, weight: np.ndarray) -> Predictions:
    """Predictions of members that predict for every sample what they predict on average."""
    counted = np.repeat(weight[:, None], P.n_members, axis=1)
    if P.available is not None:
        counted = counted * P.available
    # A member that is never available, or only where no weight is, is not asked for its mean.
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
