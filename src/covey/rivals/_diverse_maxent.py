"""Maximum-entropy members, each rewarded for differing from those before it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from covey._core.design import Design
from covey._core.moments import moments
from covey._core.rivals.diverse_maxent import DiverseMaxEnt
from covey._core.softmax_linear import class_blocks, linear_logits, log_softmax
from covey._validation import check_choice, check_coefficients, check_number
from covey.fusers import Fuser, Predictions
from covey.members import GrownClassifier, LinearMember, check_warm_start

MEASURES = ("cross_correlation", "kl")


class DiverseMaxEntClassifier(GrownClassifier):
    """An ensemble of maximum-entropy (softmax-linear) models that are trained to differ.

    Members are trained one after another, all on all features. With p the posteriors of the
    new member and q_1 ... q_k those of the earlier ones, each maximises the mean log-likelihood
    of a row, less ``alpha / 2`` times the sum of its squared coefficients, plus
    ``diversity_weight`` times the mean over j of

    - ``- sum_c p(c | x) q_j(c | x)``, posterior cross-correlation, for
      ``diversity="cross_correlation"``;
    - ``KL(p || q_j) = sum_c p(c | x) log(p(c | x) / q_j(c | x))`` for ``diversity="kl"``,

    itself a mean over the rows. After Audhkhasi, Sethy, Ramabhadran and Narayanan [1]_.

    Take it to compare with what the paper argues against: diversity by a term in the objective, on
    all features.

    Parameters
    ----------
    n_estimators : int, default=6
        How many members to train.
    diversity : {"cross_correlation", "kl"}, default="cross_correlation"
        What makes members differ; see the notes.
    diversity_weight : float, default=1.0
        How much it counts against the mean log-likelihood of a row. With 0 all members are
        the same: logistic regression.
    alpha : float, default=0.01
        The L2 penalty, against the mean log-likelihood of a row, for standardised features.
        For n rows of weight 1 it is ``1 / (C n)`` of scikit-learn's ``LogisticRegression``,
        or ``2 / (C n)`` for two classes (for which that has one vector of coefficients).
        Intercepts are not penalised.
    fit_intercept, scale_features
        As for `SubsetEnsembleClassifier`.
    max_iter : int, default=1000
        The most iterations of L-BFGS for a member.
    tol : float, default=1e-8
        A member is trained when no entry of its gradient exceeds this. Where rounding, or
        ``max_iter``, ends the climb before, up to 100 times this is close enough; beyond that
        there is a ``ConvergenceWarning``.
    fuser : str or Fuser, default="mean"
        How members are fused: a name or an object of `covey.fusers`. One that learns does so
        from rows that are held out from the members (``validation_fraction``).
    select_size, validation_fraction, class_weight, warm_start, n_jobs
        As for `SubsetEnsembleClassifier`.
    random_state : int, RandomState instance or None, default=None
        Which rows are held out, where some are. Training itself draws nothing.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_, feature_names_in_ : as in scikit-learn
    n_estimators_ : int
        How many members were kept.
    coef_ : ndarray of shape (n_estimators_, n_classes, n_features)
        In the units of X.
    intercept_ : ndarray of shape (n_estimators_, n_classes)
    mean_, scale_ : ndarrays of shape (n_features,)
        What the features were standardised by; zeros and ones without ``scale_features``.
    estimators_ : list of LinearMember
        The members, each a fitted classifier.
    diversity_ : ndarray of shape (n_estimators_,)
        The diversity of each member from the earlier ones on the training rows, as defined
        above (higher is more diverse); NaN for the first.
    log_likelihood_ : ndarray of shape (n_estimators_,)
        The mean log-likelihood of a training row under each member.
    n_iter_ : ndarray of shape (n_estimators_,)
    fuser_ : Fuser

    Notes
    -----
    The paper modifies a model's objective "such that its output posterior distribution is
    diverse with respect to a reference model", by Kullback-Leibler divergence or posterior
    cross-correlation. We had to decide:

    - *Reference:* all earlier members, equally. Both terms then need no more than the mean of
      their (log-)posteriors, and a member takes as long as logistic regression does.
    - *Direction:* KL of the earlier from the new one, ``KL(q || p)``, grows without bound as p
      puts less and less on a class that q finds likely, and can outgrow any likelihood.
      ``KL(p || q)`` is at most the largest ``-log q`` of a row, which is known beforehand.
    - *Starts:* with diversity the objective has several maxima. It is climbed from zero and from
      the first member, and the higher end is kept. For KL the second start matters: a member
      equal to the only earlier one is a stationary point whatever the weight, and the better one
      as long as the weight is small. Past some weight (between 0.1 and 1 on tables that we tried)
      the maximum jumps to a member that contradicts the first, and is mostly wrong.
      Cross-correlation has no such jump for weights up to one: hence the defaults.
    - *Fusion:* the mean of the posteriors.

    References
    ----------
    .. [1] K. Audhkhasi, A. Sethy, B. Ramabhadran and S. S. Narayanan, "Creating ensemble of
       diverse maximum entropy models", ICASSP 2012, pp. 4845-4848.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from covey.rivals import DiverseMaxEntClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> flock = DiverseMaxEntClassifier(n_estimators=3).fit(X, y)
    >>> flock.diversity_.round(2)
    array([  nan, -0.89, -0.88])
    >>> flock.score(X, y) > 0.97
    True
    """

    def __init__(
        self,
        n_estimators: int = 6,
        *,
        diversity: str = "cross_correlation",
        diversity_weight: float = 1.0,
        alpha: float = 0.01,
        fit_intercept: bool = True,
        scale_features: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-8,
        fuser: str | Fuser = "mean",
        select_size: str | None = None,
        validation_fraction: float = 0.1,
        class_weight: Mapping[Any, float] | str | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.diversity = diversity
        self.diversity_weight = diversity_weight
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.scale_features = scale_features
        self.max_iter = max_iter
        self.tol = tol
        self.fuser = fuser
        self.select_size = select_size
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    # -- grow ------------------------------------------------------------------------------

    def _check_parameters(self):
        check_number(self.n_estimators, "n_estimators", low=1, whole=True)
        check_choice(self.diversity, "diversity", MEASURES)
        check_number(self.diversity_weight, "diversity_weight", low=0)
        check_number(self.alpha, "alpha", low=0, closed="neither")
        check_number(self.max_iter, "max_iter", low=1, whole=True)
        check_number(self.tol, "tol", low=0, closed="neither")

    def _max_tasks(self):
        return self.n_estimators - len(getattr(self, "_grown", []))

    def _forget(self):
        self._grown = []

    def _design(self, X, weight):
        """The rows as members see them; sets what the columns are scaled by."""
        sparse = hasattr(X, "tocsr")
        columns = X.tocsc() if sparse else np.array(X.T, order="C")
        if not self._grown:
            mean, deviation = moments(columns, weight)
            # Without an intercept nothing may be shifted: that would be one.
            centred = self.scale_features and self.fit_intercept
            self.mean_ = mean if centred else np.zeros_like(mean)
            self._empty = (deviation == 0) & centred
            self.scale_ = (
                np.where(deviation > 0, deviation, 1.0)
                if self.scale_features
                else np.ones_like(mean)
            )
        if sparse:
            return Design(columns, self.mean_[None, :], self.scale_[None, :])
        columns -= self.mean_[:, None]
        columns /= self.scale_[:, None]
        return Design(columns)

    def _grow(self, X, codes, sample_weight, context):
        check_warm_start(self)
        # Rows without weight do not count; the others are sorted by class.
        order = np.argsort(codes, kind="stable")
        order = order[sample_weight[order] > 0]
        rows = X.tocsr()[order] if hasattr(X, "tocsr") else X[order]
        weight = sample_weight[order]
        objective = DiverseMaxEnt(
            self._design(rows, weight),
            class_blocks(np.bincount(codes[order], minlength=len(self.classes_))),
            weight,
            alpha=float(self.alpha),
            measure=self.diversity,
            diversity_weight=float(self.diversity_weight),
            fit_intercept=bool(self.fit_intercept),
        )
        for member in self._grown:
            objective.see(member.theta, member.intercept)
        size = len(self.classes_) * (self.n_features_in_ + 1)
        while len(self._grown) < self.n_estimators:
            task = context.subcontext(task_name="member").call_on_fit_task_begin(estimator=self)
            starts = [np.zeros((1, size))]
            if self._grown:
                starts.append(objective.start(self._grown[0].theta, self._grown[0].intercept))
            member = objective.grow(
                np.concatenate(starts), max_iter=int(self.max_iter), tol=float(self.tol)
            )
            objective.see(member.theta, member.intercept)
            self._grown.append(member)
            stop = task.call_on_fit_task_end(
                estimator=self,
                X=X,
                y=self.classes_[codes],
                metadata={"sample_weight": sample_weight},
                reconstruction_attributes=lambda: self._reconstruction(len(self._grown)),
            )
            if stop:
                break
        unfinished = sum(not member.converged for member in self._grown)
        if unfinished:
            warnings.warn(
                f"{unfinished} of {len(self._grown)} members were not trained to the end in "
                f"max_iter={self.max_iter} iterations; use more, a larger tol or a larger alpha.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._keep_first(len(self._grown))

    def _attributes(self, n_members):
        """The fitted attributes of the first members, in the units of X."""
        members = self._grown[:n_members]
        coef = np.stack([member.theta for member in members]) / self.scale_
        # A constant column, once centred, is zero but for rounding.
        coef[:, :, self._empty] = 0.0
        features = np.arange(self.n_features_in_)
        check_coefficients(coef, features, getattr(self, "feature_names_in_", None))
        intercept = np.stack([member.intercept for member in members]) - coef @ self.mean_
        return {
            "n_estimators_": len(members),
            "coef_": coef,
            "intercept_": intercept,
            "diversity_": np.array([member.diversity for member in members]),
            "log_likelihood_": np.array([member.log_likelihood for member in members]),
            "n_iter_": np.array([member.n_iter for member in members]),
        }

    # -- fuse ------------------------------------------------------------------------------

    def _predictions(self, X):
        # Classes first: (C, K, n).
        logs = log_softmax(
            linear_logits(X, self.coef_.transpose(1, 0, 2), self.intercept_.T)
        ).transpose(2, 1, 0)
        return Predictions(np.exp(logs), self.classes_, log_values=logs)

    @property
    def estimators_(self) -> list[LinearMember]:
        """The members, each a fitted classifier that shares the ensemble's arrays."""
        check_is_fitted(self, "fuser_")
        names = getattr(self, "feature_names_in_", None)
        return [
            LinearMember(coef, intercept, self.classes_, None, names)
            for coef, intercept in zip(self.coef_, self.intercept_, strict=True)
        ]
