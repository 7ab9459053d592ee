"""Maximum-entropy members, each rewarded for differing from those before it."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from covey._core.design import Design
from covey._core.lbfgs import minimise
from covey._core.moments import moments
from covey._core.softmax_linear import Blocks, class_blocks, linear_logits, log_softmax, true_class
from covey._validation import check_choice, check_coefficients, check_number
from covey.fusers import Fuser, Predictions
from covey.members import LinearMember
from covey.rivals._learners import Rival


@dataclass(eq=False, repr=False)
class DiverseMaxEntClassifier(Rival):
    """An ensemble of maximum-entropy (softmax-linear) models that are trained to differ.

    Members are trained one after another, all on all features. With p the posteriors of the
    new member and q_1 ... q_k those of the earlier ones, each maximises the mean log-likelihood
    of a row, less ``alpha / 2`` times the sum of its squared coefficients, plus
    ``diversity_weight`` times the mean over j of

    - ``- sum_c p(c | x) q_j(c | x)``, posterior cross-correlation, for
      ``diversity="cross_correlation"``;
    - ``KL(p || q_j) = sum_c p(c | x) log(p(c | x) / q_j(c | x))`` for ``diversity="kl"``,

    itself a mean over the rows. After Audhkhasi, Sethy, Ramabhadran and Narayanan [1]_.

    Take it for comparison with the approach that the paper argues against: diversity by a term in
    the objective, on all features.

    Parameters
    ----------
    n_estimators : int, default=6
        How many members to train.
    diversity : {"cross_correlation", "kl"}, default="cross_correlation"
        The measure of how much members differ; see the notes.
    diversity_weight : float, default=1.0
        Its weight relative to the mean log-likelihood of a row. With 0 all members are the same:
        logistic regression.
    alpha : float, default=0.01
        The L2 penalty, against the mean log-likelihood of a row, for standardised features.
        For n rows of weight 1 it is ``1 / (C n)`` of scikit-learn's ``LogisticRegression``,
        or ``2 / (C n)`` for two classes (for which that has one vector of coefficients).
        Intercepts are not penalised.
    max_iter : int, default=1000
        The most iterations of L-BFGS for a member.
    tol : float, default=1e-8
        A member is trained when no entry of its gradient exceeds this. If rounding, or
        ``max_iter``, ends the climb before, up to 100 times this is close enough; beyond that
        there is a ``ConvergenceWarning``.
    fuser : str or Fuser, default="mean"
        How members are fused: a name or an object of `covey.fusers`. One that learns does so
        from a tenth of the rows, held out from the members.
    random_state : int, RandomState instance or None, default=None
        Seeds which rows are held out, if some are. Training itself draws nothing.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_, feature_names_in_ : as in scikit-learn
    n_estimators_ : int
        The number of members.
    coef_ : ndarray of shape (n_estimators_, n_classes, n_features)
        In the units of X.
    intercept_ : ndarray of shape (n_estimators_, n_classes)
    mean_, scale_ : ndarrays of shape (n_features,)
        The means and deviations that standardised the features.
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

    n_estimators: int = 6
    _: KW_ONLY
    diversity: str = "cross_correlation"
    diversity_weight: float = 1.0
    alpha: float = 0.01
    max_iter: int = 1000
    tol: float = 1e-8
    fuser: str | Fuser = "mean"
    random_state: int | np.random.RandomState | None = None

    def _check_parameters(self) -> None:
        for name in ("n_estimators", "max_iter"):
            check_number(getattr(self, name), name, low=1, whole=True)
        check_choice(self.diversity, "diversity", ("cross_correlation", "kl"))
        check_number(self.diversity_weight, "diversity_weight", low=0)
        for name in ("alpha", "tol"):
            check_number(getattr(self, name), name, low=0, closed="neither")

    def _grow(self, X: Any, codes: np.ndarray, sample_weight: np.ndarray, groups: Any) -> None:
        # Rows without weight do not count; the others are sorted by class.
        order = np.argsort(codes, kind="stable")
        order = order[sample_weight[order] > 0]
        weight, n_classes = sample_weight[order], len(self.classes_)
        sparse = hasattr(X, "tocsr")
        columns = X.tocsr()[order].tocsc() if sparse else np.array(X[order].T, order="C")
        self.mean_, deviation = moments(columns, weight)
        self.scale_ = np.where(deviation > 0, deviation, 1.0)
        objective = DiverseMaxEnt(
            Design(columns, self.mean_[None, :], self.scale_[None, :]),
            class_blocks(np.bincount(codes[order], minlength=n_classes)),
            weight / weight.sum(),
            float(self.alpha),
            self.diversity,
            float(self.diversity_weight),
        )
        members: list[MaxEntMember] = []
        for _ in range(self.n_estimators):
            starts = [np.zeros((1, n_classes * (len(self.mean_) + 1)))]
            starts += [first.x for first in members[:1]]
            members.append(objective.grow(np.concatenate(starts), int(self.max_iter), self.tol))
            objective.see(members[-1].x)
        unfinished = sum(not member.converged for member in members)
        if unfinished:
            warnings.warn(
                f"{unfinished} of {len(members)} members were not trained to the end in "
                f"max_iter={self.max_iter} iterations; use more, a larger tol or a larger alpha.",
                ConvergenceWarning,
                stacklevel=2,
            )
        found = np.stack([member.x.reshape(n_classes, -1) for member in members])
        self.coef_ = found[:, :, :-1] / self.scale_
        # A constant column, once centred, is zero up to rounding.
        self.coef_[:, :, deviation == 0] = 0.0
        names = getattr(self, "feature_names_in_", None)
        check_coefficients(self.coef_, np.arange(self.n_features_in_), names)
        self.intercept_ = found[:, :, -1] - self.coef_ @ self.mean_
        self.n_estimators_ = len(members)
        self.diversity_, self.log_likelihood_, self.n_iter_ = (
            np.array([getattr(member, name) for member in members])
            for name in ("diversity", "log_likelihood", "n_iter")
        )

    def _predictions(self, X: Any, kind: str | None = None) -> Predictions:
        logits = linear_logits(X, self.coef_.transpose(1, 0, 2), self.intercept_.T)  # (C, K, n)
        logs = log_softmax(logits).transpose(2, 1, 0)
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


@dataclass
class MaxEntMember:
    """The end of the training of a member.

    It has converged if no entry of the gradient of J exceeds ``tol``, or 100 times it if rounding
    or ``max_iter`` ended the climb.
    """

    x: np.ndarray  # (1, C * (D + 1)): of each class its coefficients and its intercept
    log_likelihood: float  # the first term of J
    diversity: float  # D; NaN where there was no earlier member
    n_iter: int
    converged: bool


@dataclass
class DiverseMaxEnt:
    """The objective of the next member, for a stack of starts, and its maximisation.

    A member with logits ``L(x) = z theta + b`` and posteriors ``p = softmax(L)`` maximises

        J = sum_m s_m log p(y_m | x_m)  -  alpha / 2 * |theta|^2  +  diversity_weight * D

    where ``s`` are the row weights as shares of their sum, and ``D`` is the mean over the earlier
    members ``q_1 ... q_k`` of one of

        kl                   sum_m s_m sum_c p(c | x_m) log(p(c | x_m) / q_j(c | x_m))
        cross_correlation  - sum_m s_m sum_c p(c | x_m) q_j(c | x_m)

    Both depend on the earlier members only through the mean of their log-posteriors, or of their
    posteriors, and are linear in it. By the logits the terms have the derivative ``s_m p_c (u_c -
    sum_c' p_c' u_c')`` with ``u = log p - mean log q``, or ``u = -mean q``. For fixed earlier
    members ``D`` is bounded: by the largest ``-log q`` of a row, or by 0.

    Shapes: ``C`` classes, ``R`` runs (starts), ``n`` rows sorted by class, ``D`` features.
    """

    design: Design
    blocks: Blocks
    share: np.ndarray
    alpha: float
    measure: str
    diversity_weight: float
    # The sum of the earlier members' (log-)posteriors, (C, n), and how many these are.
    total: Any = 0.0
    n_seen: int = 0

    def see(self, x: np.ndarray) -> None:
        """Record an earlier member."""
        logs = self._log_posteriors(*self._unpacked(x))[:, 0]
        self.total = self.total + (logs if self.measure == "kl" else np.exp(logs))
        self.n_seen += 1

    def _log_posteriors(self, theta: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        out = np.empty((*intercept.shape, self.design.n_rows))
        logits = self.design.logits(theta, intercept, np.zeros(len(theta[0]), int), out)
        return log_softmax(logits)

    def _unpacked(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Split vectors (R, C * (D + 1)) into coefficients (C, R, D) and intercepts (C, R)."""
        stacked = x.reshape(len(x), len(self.blocks), -1).transpose(1, 0, 2)
        return stacked[:, :, :-1], stacked[:, :, -1]

    def terms(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return log-likelihood, diversity and J of each run (R,), and the gradient of J.

        ``x`` (R, C * (D + 1)) holds for each class its coefficients and its intercept. Diversity
        is 0 while there is no earlier member.
        """
        share = self.share
        theta, intercept = self._unpacked(x)
        logs = self._log_posteriors(theta, intercept)
        posterior = np.exp(logs)
        own = true_class(logs, self.blocks, np.empty_like(logs[0]))
        log_likelihood = np.sum(share * own, axis=1)
        slope = -share * posterior
        for label, rows in enumerate(self.blocks):
            slope[label, :, rows] += share[rows]
        diversity = np.zeros_like(log_likelihood)
        if self.n_seen:
            earlier = (self.total / self.n_seen)[:, None, :]
            gain = logs - earlier if self.measure == "kl" else -earlier
            of_row = np.sum(posterior * gain, axis=0)
            diversity = np.sum(share * of_row, axis=1)
            slope = slope + self.diversity_weight * share * posterior * (gain - of_row)
        by_theta, by_intercept = self.design.gradient(slope, np.zeros(len(x), int))
        by_theta = by_theta - self.alpha * theta
        penalty = 0.5 * self.alpha * np.sum(theta * theta, axis=(0, 2))
        objective = log_likelihood - penalty + self.diversity_weight * diversity
        gradient = np.concatenate([by_theta, by_intercept[:, :, None]], axis=2)
        return log_likelihood, diversity, objective, gradient.transpose(1, 0, 2).reshape(x.shape)

    def grow(self, starts: np.ndarray, max_iter: int, tol: float) -> MaxEntMember:
        """Climb J from several starts (R, C * (D + 1)) at once; keep the first of the best ends.

        Because of the weight of diversity, J has more than one maximum. The climb ends when no
        entry of the gradient exceeds ``tol``; an end where none exceeds 100 times this counts as
        converged, too.
        """

        def descent(x: Any, runs: Any) -> tuple[np.ndarray, np.ndarray]:
            _, _, value, gradient = self.terms(x)
            return -value, -gradient

        found = minimise(descent, starts, max_iter=max_iter, tol=tol)
        # Ends that differ by rounding are the same one; the first of them is kept.
        best = int(np.argmax(-found.value > -found.value.min() - 1e-10))
        x = found.x[best : best + 1]
        log_likelihood, diversity, _, gradient = self.terms(x)
        # A run that rounding or max_iter ended close to the maximum has arrived, too.
        arrived = bool(found.converged[best]) or float(np.abs(gradient).max()) <= 100 * tol
        apart = float(diversity[0]) if self.n_seen else float("nan")
        return MaxEntMember(x, float(log_likelihood[0]), apart, int(found.n_iter[best]), arrived)
