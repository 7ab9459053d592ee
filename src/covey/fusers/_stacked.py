"""Stacking: weights of members that are learnt from held-out predictions, all together."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from covey._core.fusion.rules import normalized, weighted_mean
from covey._core.fusion.stacking_weights import log_weights, squared_weights
from covey._core.search.selection import greedy_mean, greedy_selection, greedy_weights
from covey._scoring import known_score, make_scorer
from covey._validation import check_choice, check_number
from covey.fusers._base import Fuser, available_weight, equal_shares, with_means_of_available
from covey.fusers._predictions import Predictions

# Squares of errors stay finite, and so do sums of them.
_LARGEST_ERROR = 1e150


class _StackedFuser(Fuser):
    """A weighted sum of members; a subclass writes ``_learn``."""

    learns = True
    kinds = ("probability", "label")

    def _fit(self, P: Predictions, codes: np.ndarray, X: Any, sample_weight: np.ndarray) -> None:
        values = P.values
        self.weights_ = np.zeros(P.n_members)
        known = np.ones(P.n_members, dtype=bool)
        if P.available is not None:
            # A member that is not available gets the mean of the others, which is evidence
            # neither for nor against it; one that never is available gets no weight.
            available = P.available & (sample_weight > 0)[:, None]
            known = available.any(axis=0)
            sample_weight = sample_weight * available.any(axis=1)
            values = with_means_of_available(P)
        if not known.any():
            self.weights_ = np.full(P.n_members, 1.0 / P.n_members)
            return
        counted = sample_weight > 0
        learn = self._learn_values if P.kind == "value" else self._learn
        self.weights_[known] = learn(
            values[counted][:, known], codes[counted], sample_weight[counted]
        )

    @abstractmethod
    def _learn(
        self, values: np.ndarray, codes: np.ndarray, sample_weight: np.ndarray
    ) -> np.ndarray:
        """Weights of members from values (n, K, C) and true classes."""

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        if P.kind == "value":
            return with_means_of_available(P)[:, :, 0] @ self.weights_[:, None]
        # Where no member with a weight is available, or nothing positive is left: the mean.
        sums = np.einsum("nkc,nk->nc", P.values, available_weight(P, self.weights_))
        return normalized(np.maximum(sums, 0.0), weighted_mean(P.values, available_weight(P)))

    def _importance(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        return normalized(available_weight(P, np.abs(self.weights_)), equal_shares(P))


def _of_true_class(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The probability that each member gives to the true class, as (n, K)."""
    return values[np.arange(len(codes)), :, codes]


class LinearStacking(_StackedFuser, name="linear_stacking"):
    r"""A sum of members with the weights that are best on held-out samples.

    .. math:: \hat w = \arg\min_w \frac{1}{n} \sum_i L\Big(y_i, \sum_k w_k p_k(x_i)\Big)
              + \lambda \sum_k \Big(w_k - \frac{1}{K}\Big)^2

    Where members are not available for a sample, the weights of the others are used; where none
    of those with a weight is, the mean rule is used. The numbers of regressors (predictions of
    kind "value") are summed as they are, a member that is not available counts as the mean of
    the others, and the loss is in units of the variance of y.

    Take it for two to some dozen members whose quality differs. It is steadier than `Stacking`
    and, unlike it, says who decided without trying members out.

    Parameters
    ----------
    loss : {"squared", "log"}, default="squared"
        "squared": the Brier score, the squared distance to the true class summed over classes.
        "log": the log-loss of the mixture, which needs both constraints.
    nonnegative : bool, default=True
        Whether weights must not be negative. If they may be, sums below zero count as zero
        and the rest is divided by its sum; where nothing is left, the mean rule is used.
    sum_to_one : bool, default=True
        Whether weights must sum to one. Fused probabilities do so in any case.
    uniform_penalty : float, default=0.0
        :math:`\lambda`, which draws all weights towards 1/K: 0 trusts the held-out samples
        wholly, a large one is the mean rule.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        As found. Importances are their absolute values, divided by their sum: a member that
        is subtracted decides too.

    Examples
    --------
    >>> import covey
    >>> good, bad = [[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.7, 0.3]]
    >>> covey.LinearStacking().fit([good, bad], [0, 1]).weights_
    array([1., 0.])
    >>> covey.LinearStacking(uniform_penalty=1e6).fit([good, bad], [0, 1]).weights_.round(3)
    array([0.5, 0.5])
    """

    kinds = ("probability", "label", "value")

    def __init__(
        self,
        loss: str = "squared",
        nonnegative: bool = True,
        sum_to_one: bool = True,
        uniform_penalty: float = 0.0,
    ) -> None:
        self.loss = loss
        self.nonnegative = nonnegative
        self.sum_to_one = sum_to_one
        self.uniform_penalty = uniform_penalty

    def _check_parameters(self, P: Predictions) -> None:
        check_choice(self.loss, "loss", ("squared", "log"))
        check_number(self.uniform_penalty, "uniform_penalty", low=0)
        if self.loss == "log" and P.kind == "value":
            raise ValueError(
                "loss='log' is for probabilities; use loss='squared' for predictions of kind "
                "value."
            )
        if self.loss == "log" and not (self.nonnegative and self.sum_to_one):
            raise ValueError(
                "loss='log' is defined for mixtures only and needs nonnegative=True and "
                "sum_to_one=True; use loss='squared' for other weights."
            )

    def _learn(
        self, values: np.ndarray, codes: np.ndarray, sample_weight: np.ndarray
    ) -> np.ndarray:
        if self.loss == "log":
            true = _of_true_class(values, codes)
            return log_weights(true, sample_weight, self.uniform_penalty)
        n_members, n_classes = values.shape[1:]
        return squared_weights(
            values.transpose(0, 2, 1).reshape(-1, n_members),
            np.eye(n_classes)[codes].ravel(),
            np.repeat(sample_weight, n_classes),
            # The Brier score is a sum over classes, where the mean is over all of A's rows.
            self.uniform_penalty / n_classes,
            self.nonnegative,
            self.sum_to_one,
        )

    def _learn_values(
        self, values: np.ndarray, y: np.ndarray, sample_weight: np.ndarray
    ) -> np.ndarray:
        center = np.average(y, weights=sample_weight)
        spread = np.sqrt(np.average((y - center) ** 2, weights=sample_weight))
        unit = spread if spread > 0 else 1.0
        return squared_weights(
            values[:, :, 0] / unit,
            y / unit,
            sample_weight,
            self.uniform_penalty,
            self.nonnegative,
            self.sum_to_one,
        )


class GreedySelection(_StackedFuser, name="greedy_selection"):
    """The mean of members picked one by one, each for the best score on held-out samples.

    Ensemble selection of Caruana et al. (2004): it starts from nothing, adds the member that
    helps the mean of all picked so far most, and keeps the best mean on the way. Most members
    of a large library get no weight. Where none of those picked is available for a sample, the
    mean rule is used. The numbers of regressors (predictions of kind "value") are picked
    likewise.

    Take it for a large library of models, most of which should get no weight, or for a metric
    other than the loss (``scoring``). With a handful of members `LinearStacking` uses all of them.

    Parameters
    ----------
    n_picks : int, default=25
        The most picks.
    replace : bool, default=True
        Whether a member can be picked again: its weight grows.
    scoring : str, callable or None, default=None
        What the best mean has most of: a name of scikit-learn's, such as "roc_auc" or
        "neg_mean_absolute_error", or a function ``scorer(model, X, y)``, which finds the mean of
        those picked as what ``model`` predicts; X are no features then, but the numbers of the
        rows. None: the least log-loss, or squared error of numbers.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        Shares of the picks; sum to one.

    Examples
    --------
    >>> import covey
    >>> good, bad = [[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.7, 0.3]]
    >>> covey.GreedySelection().fit([good, bad], [0, 1]).weights_
    array([1., 0.])
    >>> covey.GreedySelection(scoring="balanced_accuracy").fit([bad, good], [0, 1]).weights_
    array([0., 1.])
    """

    kinds = ("probability", "label", "value")

    def __init__(self, n_picks: int = 25, replace: bool = True, scoring: Any = None) -> None:
        self.n_picks = n_picks
        self.replace = replace
        self.scoring = scoring

    def _check_parameters(self, P: Predictions) -> None:
        check_number(self.n_picks, "n_picks", low=1, whole=True)
        make_scorer(self.scoring)

    def _fit(self, P: Predictions, codes: np.ndarray, X: Any, sample_weight: np.ndarray) -> None:
        # Scorers read labels as users know them.
        self._labels = P.classes
        super()._fit(P, codes, X, sample_weight)
        del self._labels

    def _learn(
        self, values: np.ndarray, codes: np.ndarray, sample_weight: np.ndarray
    ) -> np.ndarray:
        if self.scoring is not None:
            truth, classes = self._labels[codes], self._labels
            return self._best_scored(values.swapaxes(0, 1), truth, classes, sample_weight)
        return greedy_selection(
            _of_true_class(values, codes).T,
            sample_weight,
            n_picks=self.n_picks,
            replace=bool(self.replace),
        )

    def _learn_values(
        self, values: np.ndarray, y: np.ndarray, sample_weight: np.ndarray
    ) -> np.ndarray:
        every = values[:, :, 0].T
        if self.scoring is not None:
            return self._best_scored(every, y, None, sample_weight)
        # In units of y: a gain of rounding is none.
        unit = float(np.abs(y).max()) or 1.0

        def squared(numbers: np.ndarray) -> np.ndarray:
            return np.minimum(np.abs(numbers - y / unit), _LARGEST_ERROR) ** 2

        return greedy_mean(every / unit, squared, sample_weight, self.n_picks, bool(self.replace))

    def _best_scored(
        self, every: np.ndarray, truth: np.ndarray, classes: np.ndarray | None, weight: np.ndarray
    ) -> np.ndarray:
        """Weights (K,) of what members predict, (K, n, C) or (K, n), by the scorer."""
        scorer, rows = make_scorer(self.scoring), np.arange(len(truth))[:, None]

        def pick_losses(picked: Sequence[int], allowed: np.ndarray) -> np.ndarray:
            total = every[list(picked)].sum(axis=0)
            means = (total + every[allowed]) / (len(picked) + 1)
            scores = [known_score(scorer, one, rows, truth, classes, weight) for one in means]
            return -np.array(scores)

        return greedy_weights(pick_losses, len(every), self.n_picks, bool(self.replace))
