"""Dynamic selection by potential functions: what members are worth spreads around samples.

The competence at a sample is the mean of what a member is worth at the known samples, its
*source*, each of which counts ``exp(-d^2)`` at the distance d. The methods differ in the source.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from covey._core.fusion.competence import local_mean, potentials
from covey._core.fusion.sources import (
    divergence,
    exponential,
    least_difference,
    logarithmic,
    reference_wins,
)
from covey._validation import check_choice, check_number
from covey.fusers._dynamic import SelectsSeveral
from covey.fusers._neighbors import Metric
from covey.fusers._predictions import Predictions

# How many distances are held at once.
_MOST_DISTANCES = 1 << 22


class PotentialSelection(SelectsSeveral):
    """Selects members that are more competent than one that guesses, by a potential function.

    Parameters
    ----------
    n_neighbors : int or None, default=None
        How many known samples count. None: all of them, as in the papers.
    threshold : float or None, default=None
        Members whose competence is above it are selected. None: what a member has that gives
        every class the same probability; 1/C for `RRC`, 0 for the others.
    voting, metric, scale
        As for `SelectsSeveral`.

    Attributes
    ----------
    source_ : ndarray of shape (n_known, n_members)
        What each member is worth at each sample given to ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> from covey.fusers import RRC
    >>> P = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.8, 0.2], [0.1, 0.9]]])
    >>> RRC().fit(P, y=[0, 1], X=[[0.0], [1.0]]).source_.shape
    (2, 2)
    """

    kinds = ("probability",)
    needs_distance = True

    def __init__(
        self,
        n_neighbors: int | None = None,
        threshold: float | None = None,
        voting: str = "hard",
        *,
        metric: Metric = "euclidean",
        scale: bool = True,
    ) -> None:
        super().__init__(n_neighbors, voting, metric=metric, scale=scale)
        self.threshold = threshold

    @abstractmethod
    def source(self, P: Predictions, codes: np.ndarray) -> np.ndarray:
        """What members are worth at samples of known classes, (n_samples, n_members)."""

    def _guess(self) -> float:
        """The competence of a member that guesses."""
        return 0.0

    def _check_parameters(self, P: Predictions) -> None:
        if self.n_neighbors is not None:
            check_number(self.n_neighbors, "n_neighbors", low=1, whole=True)
        if self.threshold is not None:
            check_number(self.threshold, "threshold")
        check_choice(self.voting, "voting", ("hard", "soft"))
        self._check_distances()

    def _learn(self, P: Predictions, codes: np.ndarray) -> None:
        self.source_ = self.source(P, codes)

    def _n_near(self) -> int:
        n_known = len(self.truth_)
        return n_known if self.n_neighbors is None else min(self.n_neighbors, n_known)

    def _rated(self, P: Predictions, X: Any) -> np.ndarray:
        if self._n_near() < len(self.truth_):
            return super()._rated(P, X)
        # All known samples count, in whatever order: sums over them are products of matrices.
        known = np.ones(self.source_.shape) if self.available_ is None else self.available_
        worth, rows = self.source_ * known, self._scaled(X)
        competence = np.empty((P.n_samples, P.n_members))
        step = max(1, _MOST_DISTANCES // len(known))
        for start in range(0, P.n_samples, step):
            block = slice(start, start + step)
            weight = potentials(self._neighbors.distances(rows[block]))
            total = weight @ known
            competence[block] = (weight @ worth) / np.where(total > 0, total, 1.0)
        return competence

    def competence(self, P: Predictions, region: np.ndarray, distance: np.ndarray) -> np.ndarray:
        """The mean source of the neighbors, each by its potential."""
        return local_mean(self.source_, region, potentials(distance), self.available_)

    def select(self, competence: np.ndarray) -> np.ndarray:
        """All members above the threshold."""
        threshold = self._guess() if self.threshold is None else self.threshold
        return (competence > threshold + 1e-12).astype(float)


class RRC(PotentialSelection, name="rrc"):
    """DES-RRC: the probability that a randomized reference classifier is right [1]_.

    The reference gives classes random numbers, beta-distributed around the member's
    probabilities, and decides for the largest.

    Take it where all held-out samples should count, near ones more; it is slower than rules of few
    neighbors.

    Parameters
    ----------
    n_neighbors, threshold, voting, metric, scale
        As for `PotentialSelection`.

    References
    ----------
    .. [1] Woloszynski and Kurzynski, "A probabilistic model of classifier competence for dynamic
       ensemble selection", Pattern Recognition 44(10-11), 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey import FusionClassifier
    >>> from covey.fusers import RRC
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fused = FusionClassifier(members, RRC()).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    def source(self, P: Predictions, codes: np.ndarray) -> np.ndarray:
        """The probability that the reference is right."""
        return reference_wins(P.values, codes)

    def _guess(self) -> float:
        return 1.0 / len(self.classes_)


class DESKL(PotentialSelection, name="des_kl"):
    """DES-KL: how far a member's probabilities are from a guess, negative where it is wrong [1]_.

    The source is the Kullback-Leibler divergence from equal probabilities, divided by log C. (The
    library DESlib adds the entropy where the paper subtracts it: there, of members that are
    right, the one that doubts most is worth most.)

    As `RRC`, and faster; members should give probabilities that mean something.

    Parameters
    ----------
    n_neighbors, threshold, voting, metric, scale
        As for `PotentialSelection`.

    References
    ----------
    .. [1] Woloszynski, Kurzynski, Podsiadlo and Stachowiak, "A measure of competence based on
       random classification for dynamic ensemble selection", Information Fusion 13(3), 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey import FusionClassifier
    >>> from covey.fusers import DESKL
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fused = FusionClassifier(members, DESKL()).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    def source(self, P: Predictions, codes: np.ndarray) -> np.ndarray:
        """The divergence from a guess, with a sign."""
        return divergence(P.values, codes)


class Exponential(PotentialSelection, name="exponential"):
    """DES-Exponential: an exponential function of the true class's probability [1]_.

    It is -1 for a probability of 0, 0 for a guess and 1 for certainty.

    As `RRC`, and faster; take it where the true class's probability tells competence.

    Parameters
    ----------
    n_neighbors, threshold, voting, metric, scale
        As for `PotentialSelection`.

    References
    ----------
    .. [1] Woloszynski and Kurzynski, "On a new measure of classifier competence applied to the
       design of multiclassifier systems", ICIAP 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey import FusionClassifier
    >>> from covey.fusers import Exponential
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fused = FusionClassifier(members, Exponential()).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    def source(self, P: Predictions, codes: np.ndarray) -> np.ndarray:
        """The function of the true class's probability."""
        return exponential(P.values, codes)


class Logarithmic(PotentialSelection, name="logarithmic"):
    """DES-Logarithmic: a power of the true class's probability, as `Exponential` otherwise.

    (The library DESlib selects above 1/C here, though a guess has 0; that is ``threshold=1/C``.)

    As `RRC`, and faster; it forgives small probabilities more than `Exponential` does.

    Parameters
    ----------
    n_neighbors, threshold, voting, metric, scale
        As for `PotentialSelection`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey import FusionClassifier
    >>> from covey.fusers import Logarithmic
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fused = FusionClassifier(members, Logarithmic()).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    def source(self, P: Predictions, codes: np.ndarray) -> np.ndarray:
        """The function of the true class's probability."""
        return logarithmic(P.values, codes)


class MinimumDifference(PotentialSelection, name="minimum_difference"):
    """By how much the true class's probability exceeds the largest of the others [1]_.

    As `RRC`, and faster; take it for several classes, where the runner-up matters.

    Parameters
    ----------
    n_neighbors, threshold, voting, metric, scale
        As for `PotentialSelection`.

    References
    ----------
    .. [1] Antosik and Kurzynski, "New measures of classifier competence: heuristics and
       application to the design of multiple classifier systems", Computer Recognition Systems 4,
       2011.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey import FusionClassifier
    >>> from covey.fusers import MinimumDifference
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fused = FusionClassifier(members, MinimumDifference()).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    def source(self, P: Predictions, codes: np.ndarray) -> np.ndarray:
        """The difference."""
        return least_difference(P.values, codes)
