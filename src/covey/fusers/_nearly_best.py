"""Dynamic selection of one member, or of all that are nearly as good, by weighted neighbors."""

from __future__ import annotations

import numpy as np

from covey._core.fusion.competence import (
    alike,
    inverse_distances,
    local_class_mean,
    local_mean,
    near_highest,
    oracle_reach,
)
from covey._core.fusion.sources import true_probability
from covey._validation import check_number
from covey.fusers._dynamic import SelectsOne, SelectsSeveral
from covey.fusers._neighbors import Metric
from covey.fusers._predictions import Predictions


class Rank(SelectsOne, name="rank"):
    """The member that is right on the most nearest neighbors before its first error [1]_.

    This is the modified rank of classifiers.

    Take it where the nearest neighbors tell most; one noisy label among them decides, so not on
    noisy data.

    Parameters
    ----------
    n_neighbors, metric, scale
        As for `DynamicSelection`.

    References
    ----------
    .. [1] Sabourin, Mitiche, Thomas and Nagy, "Classifier combination for hand-printed digit
       recognition", ICDAR 1993; as modified by Woods, Kegelmeyer and Bowyer, IEEE TPAMI
       19(4), 1997.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey import FusionClassifier
    >>> from covey.fusers import Rank
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fused = FusionClassifier(members, Rank(n_neighbors=5)).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    def competence(self, P: Predictions, region: np.ndarray) -> np.ndarray:
        """How many neighbors each member gets right before its first error."""
        return oracle_reach(self.right_, region, self.available_)


class MLA(SelectsOne, name="mla"):
    """Modified local accuracy: `LCA` where a neighbor counts by its nearness, 1/d [1]_.

    Take it instead of `LCA` where neighbors differ much in their distance.

    Parameters
    ----------
    n_neighbors, metric, scale
        As for `DynamicSelection`.

    References
    ----------
    .. [1] Smits, "Multiple classifier systems for supervised remote sensing image classification
       based on dynamic classifier selection", IEEE TGRS 40(4), 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey import FusionClassifier
    >>> from covey.fusers import MLA
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fused = FusionClassifier(members, MLA(n_neighbors=5)).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    needs_distance = True

    def competence(self, P: Predictions, region: np.ndarray, distance: np.ndarray) -> np.ndarray:
        """Accuracy on neighbors of the predicted class; 0 without such neighbors."""
        weight = inverse_distances(distance)
        return local_class_mean(
            self.right_, self.truth_, region, P.labels, weight, self.available_
        )


class SelectsNearlyBest(SelectsSeveral):
    """Selects the most competent member and those that are hardly less competent.

    Where DESlib draws one of them at random, they decide together here: shares of votes are the
    probabilities of its draws.

    Parameters
    ----------
    n_neighbors, voting, metric, scale
        As for `SelectsSeveral`.
    threshold : float, default=0.1
        Members whose competence is less than this below the highest are selected. With 0 only
        those are that have the highest.
    """

    def __init__(
        self,
        n_neighbors: int = 7,
        threshold: float = 0.1,
        voting: str = "hard",
        *,
        metric: Metric = "euclidean",
        scale: bool = True,
    ) -> None:
        super().__init__(n_neighbors, voting, metric=metric, scale=scale)
        self.threshold = threshold

    def _check_parameters(self, P: Predictions) -> None:
        super()._check_parameters(P)
        check_number(self.threshold, "threshold", low=0, high=1)

    def select(self, competence: np.ndarray) -> np.ndarray:
        """All members near the highest competence."""
        return near_highest(competence, self.threshold).astype(float)


class APriori(SelectsNearlyBest, name="a_priori"):
    """A priori: the highest mean probability of the neighbors' true classes [1]_.

    A neighbor counts by its nearness, 1/d.

    Take it where members' probabilities can be trusted; where they cannot, `OLA` counts decisions
    alone.

    Parameters
    ----------
    n_neighbors, threshold, voting, metric, scale
        As for `SelectsNearlyBest`.

    References
    ----------
    .. [1] Giacinto and Roli, "Methods for dynamic classifier selection", ICIAP 1999.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey import FusionClassifier
    >>> from covey.fusers import APriori
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fused = FusionClassifier(members, APriori(n_neighbors=5)).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    kinds = ("probability",)
    needs_distance = True

    def _learn(self, P: Predictions, codes: np.ndarray) -> None:
        self._true_probability = true_probability(P.values, codes)

    def competence(self, P: Predictions, region: np.ndarray, distance: np.ndarray) -> np.ndarray:
        """The mean probability of the neighbors' true classes."""
        weight = inverse_distances(distance)
        return local_mean(self._true_probability, region, weight, self.available_)


class APosteriori(APriori, name="a_posteriori"):
    """A posteriori: `APriori` among neighbors of the class that a member predicts [1]_.

    Sources differ in what the sum is divided by; this follows the library DESlib, which takes
    the weights of those neighbors.

    As `APriori`, where members are good at different classes.

    Parameters
    ----------
    n_neighbors, threshold, voting, metric, scale
        As for `SelectsNearlyBest`.

    References
    ----------
    .. [1] Giacinto and Roli, "Methods for dynamic classifier selection", ICIAP 1999.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey import FusionClassifier
    >>> from covey.fusers import APosteriori
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fused = FusionClassifier(members, APosteriori(n_neighbors=5)).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    def competence(self, P: Predictions, region: np.ndarray, distance: np.ndarray) -> np.ndarray:
        """The mean probability of their class; 0 without such neighbors."""
        weight = inverse_distances(distance)
        return local_class_mean(
            self._true_probability, self.truth_, region, P.labels, weight, self.available_
        )


class MCB(SelectsNearlyBest, name="mcb"):
    """Multiple classifier behavior: accuracy on neighbors that members decide alike [1]_.

    Take it where features say little about which samples are alike, and members' decisions say
    more.

    Parameters
    ----------
    n_neighbors, threshold, voting, metric, scale
        As for `SelectsNearlyBest`.
    similarity : float, default=0.7
        A neighbor counts if more than this share of the members decide it as they decide the
        sample. Where there is no such neighbor, all count.

    References
    ----------
    .. [1] Giacinto and Roli, "Dynamic classifier selection based on multiple classifier
       behaviour", Pattern Recognition 34(9), 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey import FusionClassifier
    >>> from covey.fusers import MCB
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fused = FusionClassifier(members, MCB(n_neighbors=5)).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    def __init__(
        self,
        n_neighbors: int = 7,
        threshold: float = 0.1,
        similarity: float = 0.7,
        voting: str = "hard",
        *,
        metric: Metric = "euclidean",
        scale: bool = True,
    ) -> None:
        super().__init__(n_neighbors, threshold, voting, metric=metric, scale=scale)
        self.similarity = similarity

    def _check_parameters(self, P: Predictions) -> None:
        super()._check_parameters(P)
        check_number(self.similarity, "similarity", low=0, high=1)

    def _learn(self, P: Predictions, codes: np.ndarray) -> None:
        self._known_labels = P.labels

    def competence(self, P: Predictions, region: np.ndarray) -> np.ndarray:
        """Accuracy on the neighbors that are alike."""
        weight = alike(
            self._known_labels, region, P.labels, self.similarity, self.available_, P.available
        )
        return local_mean(self.right_, region, weight, self.available_)
