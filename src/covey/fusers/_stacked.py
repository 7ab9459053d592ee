"""Stacking: weights of members that are learnt from held-out predictions, all together."""

import numpy as np

from covey._core.fusion.rules import normalized, uniform, weighted_mean
from covey._core.fusion.stacking_weights import log_weights, squared_weights
from covey._core.search.selection import greedy_selection
from covey._validation import check_choice, check_number
from covey.fusers._base import Fuser, available_weight, with_means_of_available


class _StackedFuser(Fuser):
    """A weighted sum of members; a subclass writes ``_learn``."""

    learns = True
    kinds = ("probability", "label")

    def _fit(self, P, codes, X, sample_weight):
        values = P.values
        self.weights_ = np.zeros(P.n_members)
        heard = np.ones(P.n_members, dtype=bool)
        if P.available is not None:
            # Who has not spoken of a row says what the others say on average, which speaks
            # neither for nor against it; who has spoken of no row gets no weight.
            spoken = P.available & (sample_weight > 0)[:, None]
            heard = spoken.any(axis=0)
            sample_weight = sample_weight * spoken.any(axis=1)
            values = with_means_of_available(P)
        if not heard.any():
            self.weights_ = np.full(P.n_members, 1.0 / P.n_members)
            return
        counted = sample_weight > 0
        learn = self._learn_values if P.kind == "value" else self._learn
        self.weights_[heard] = learn(
            values[counted][:, heard], codes[counted], sample_weight[counted]
        )

    def _fuse(self, P, X, codes):
        if P.kind == "value":
            return with_means_of_available(P)[:, :, 0] @ self.weights_[:, None]
        # Where no member with a weight has spoken, or nothing positive is left: the mean.
        sums = np.einsum("nkc,nk->nc", P.values, available_weight(P, self.weights_))
        return normalized(np.maximum(sums, 0.0), weighted_mean(P.values, available_weight(P)))

    def _importance(self, P, X, codes):
        everyone = normalized(available_weight(P), uniform(P.n_samples, P.n_members))
        return normalized(available_weight(P, np.abs(self.weights_)), everyone)


def _given_to_truth(values, codes):
    """What each member gives to the true class, as (n, K)."""
    return values[np.arange(len(codes)), :, codes]


class LinearStacking(_StackedFuser, name="linear_stacking"):
    r"""A sum of members with the weights that are best on held-out samples.

    .. math:: \hat w = \arg\min_w \frac{1}{n} \sum_i L\Big(y_i, \sum_k w_k p_k(x_i)\Big)
              + \lambda \sum_k \Big(w_k - \frac{1}{K}\Big)^2

    Where members have not spoken of a sample, the weights of the others stand; where none of
    those with a weight has, the mean rule stands in. The numbers of regressors (predictions of
    kind "value") are summed as they are, a member that has not spoken says what the others say
    on average, and the loss is in units of the variance of y.

    Parameters
    ----------
    loss : {"squared", "log"}, default="squared"
        "squared": the Brier score, the squared distance to the true class summed over classes.
        "log": the log-loss of the mixture, which needs both constraints.
    nonnegative : bool, default=True
        Whether weights must not be negative. If they may be, sums below zero count as zero
        and the rest is divided by its sum; where nothing is left, the mean rule stands in.
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

    def __init__(self, loss="squared", nonnegative=True, sum_to_one=True, uniform_penalty=0.0):
        self.loss = loss
        self.nonnegative = nonnegative
        self.sum_to_one = sum_to_one
        self.uniform_penalty = uniform_penalty

    def _check_parameters(self, P):
        check_choice(self.loss, "loss", ("squared", "log"))
        check_number(self.uniform_penalty, "uniform_penalty", low=0)
        if self.loss == "log" and P is not None and P.kind == "value":
            raise ValueError(
                "loss='log' is for probabilities; use loss='squared' for predictions of kind "
                "value."
            )
        if self.loss == "log" and not (self.nonnegative and self.sum_to_one):
            raise ValueError(
                "loss='log' is defined for mixtures only and needs nonnegative=True and "
                "sum_to_one=True; use loss='squared' for other weights."
            )

    def _learn(self, values, codes, sample_weight):
        if self.loss == "log":
            true = _given_to_truth(values, codes)
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

    def _learn_values(self, values, y, sample_weight):
        centre = np.average(y, weights=sample_weight)
        spread = np.sqrt(np.average((y - centre) ** 2, weights=sample_weight))
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
    """The mean of members picked one by one, each for the least log-loss on held-out samples.

    Ensemble selection of Caruana et al. (2004): it starts from nothing, adds the member that
    helps the mean of all picked so far most, and keeps the best mean on the way. Most members
    of a large library get no weight. Where none of those picked has spoken of a sample, the
    mean rule stands in.

    Parameters
    ----------
    n_picks : int, default=25
        The most picks.
    replace : bool, default=True
        Whether a member can be picked again: its weight grows.

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
    """

    def __init__(self, n_picks=25, replace=True):
        self.n_picks = n_picks
        self.replace = replace

    def _check_parameters(self, P):
        check_number(self.n_picks, "n_picks", low=1, whole=True)

    def _learn(self, values, codes, sample_weight):
        return greedy_selection(
            _given_to_truth(values, codes).T,
            sample_weight,
            n_picks=self.n_picks,
            replace=bool(self.replace),
        )
