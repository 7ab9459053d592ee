"""Dynamic selection of so many members: those most accurate near a sample, and diverse."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances_argmin

from covey._core.fusion.competence import (
    double_faults,
    keep_highest,
    local_accuracy,
    local_mean,
    rare_class_weights,
)
from covey._validation import check_choice, check_flag, check_number
from covey.fusers._dynamic import SelectsSeveral
from covey.fusers._neighbors import Metric
from covey.fusers._predictions import Predictions


def check_shares(accurate_share: Any, diverse_share: Any) -> None:
    """Refuse shares of members that cannot be."""
    check_number(accurate_share, "accurate_share", low=0, high=1, closed="right")
    check_number(diverse_share, "diverse_share", low=0, high=1, closed="right")
    if diverse_share > accurate_share:
        raise ValueError(
            f"diverse_share={diverse_share} must not exceed accurate_share={accurate_share}: the "
            "diverse are chosen among the accurate."
        )


def accurate_and_diverse(
    accuracy: np.ndarray, faults: np.ndarray, accurate_share: float, diverse_share: float
) -> np.ndarray:
    """The members of fewest common failures among the most accurate, as (n, K) bool."""
    n_members = accuracy.shape[1]
    n_accurate = max(1, int(n_members * accurate_share))
    n_diverse = min(n_accurate, int(np.ceil(n_members * diverse_share)))
    accurate = keep_highest(accuracy, n_accurate)
    # Few common failures first; of equally diverse members, the more accurate.
    diversity = np.where(accurate, accuracy - 1e6 * faults, -np.inf)
    return keep_highest(diversity, n_diverse)


def _count_different(points: Any) -> int:
    """How many rows differ from all before them, by more than k-means can see."""
    if not hasattr(points, "tocsr"):
        return len(np.unique(np.round(points / max(np.abs(points).max(), 1.0), 12), axis=0))
    ends = zip(points.indptr[:-1], points.indptr[1:], strict=True)
    return len({(points.indices[a:b].tobytes(), points.data[a:b].tobytes()) for a, b in ends})


class DESKNN(SelectsSeveral, name="des_knn"):
    """DES-KNN: of the locally most accurate members, the most diverse [1]_.

    Diversity is a low number of neighbors on which a member fails together with others.

    Take it for large pools of similar members; of three or four there is little to choose.

    Parameters
    ----------
    n_neighbors, voting, metric, scale
        As for `SelectsSeveral`.
    accurate_share : float, default=0.5
        The share of members that are accurate enough.
    diverse_share : float, default=0.3
        The share of members, of all, that are selected among those.

    References
    ----------
    .. [1] Soares, Santana, Canuto and de Souto, "Using accuracy and diversity to select
       classifiers to build ensembles", IJCNN 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey import FusionClassifier
    >>> from covey.fusers import DESKNN
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fused = FusionClassifier(members, DESKNN(n_neighbors=5)).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    def __init__(
        self,
        n_neighbors: int = 7,
        accurate_share: float = 0.5,
        diverse_share: float = 0.3,
        voting: str = "hard",
        *,
        metric: Metric = "euclidean",
        scale: bool = True,
    ) -> None:
        super().__init__(n_neighbors, voting, metric=metric, scale=scale)
        self.accurate_share = accurate_share
        self.diverse_share = diverse_share

    def _check_parameters(self, P: Predictions) -> None:
        super()._check_parameters(P)
        check_shares(self.accurate_share, self.diverse_share)

    def competence(self, P: Predictions, region: np.ndarray) -> np.ndarray:
        """Accuracy among the neighbors; zero for members not both accurate and diverse."""
        accuracy = local_accuracy(self.right_, region, self.available_)
        faults = double_faults(self.right_, region, self.available_)
        kept = accurate_and_diverse(accuracy, faults, self.accurate_share, self.diverse_share)
        # Accuracies may be zero and still selected: rate from one upwards.
        return kept * (1.0 + accuracy)

    def select(self, competence: np.ndarray) -> np.ndarray:
        """All members that are both accurate and diverse, with equal weights."""
        return (competence > 0).astype(float)


class DESMI(SelectsSeveral, name="des_mi"):
    """DES-MI, for classes of unequal size: neighbors of rare classes count more [1]_.

    A neighbor of a class that has m of the known samples counts ``1 / (1 + exp(alpha * m))``,
    and the members of highest accuracy by that count are selected.

    Take it where classes are of very unequal size; with equal ones it is a vote of the locally
    most accurate.

    Parameters
    ----------
    n_neighbors, voting, metric, scale
        As for `SelectsSeveral`.
    accurate_share : float, default=0.4
        The share of members that are selected: the most accurate ones.
    alpha : float, default=0.9
        How much more rare classes count.

    References
    ----------
    .. [1] Garcia, Zhang, Altalhi, Alshomrani and Herrera, "Dynamic ensemble selection for
       multi-class imbalanced datasets", Information Sciences 445-446, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey import FusionClassifier
    >>> from covey.fusers import DESMI
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fused = FusionClassifier(members, DESMI(n_neighbors=5)).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    def __init__(
        self,
        n_neighbors: int = 7,
        accurate_share: float = 0.4,
        alpha: float = 0.9,
        voting: str = "hard",
        *,
        metric: Metric = "euclidean",
        scale: bool = True,
    ) -> None:
        super().__init__(n_neighbors, voting, metric=metric, scale=scale)
        self.accurate_share = accurate_share
        self.alpha = alpha

    def _check_parameters(self, P: Predictions) -> None:
        super()._check_parameters(P)
        check_number(self.accurate_share, "accurate_share", low=0, high=1, closed="right")
        check_number(self.alpha, "alpha", low=0, closed="neither")

    def competence(self, P: Predictions, region: np.ndarray) -> np.ndarray:
        """Accuracy among the neighbors, by their weights."""
        weight = rare_class_weights(self.truth_, region, self.alpha)
        return local_mean(self.right_, region, weight, self.available_)

    def select(self, competence: np.ndarray) -> np.ndarray:
        """The most accurate members, with equal weights."""
        count = max(1, int(competence.shape[1] * self.accurate_share))
        return keep_highest(competence, count).astype(float)


class DESClustering(SelectsSeveral, name="des_clustering"):
    """DES-Clustering: the members that are accurate and diverse in the sample's cluster [1]_.

    The known samples are clustered by k-means, and members are selected for each cluster as
    `DESKNN` selects them for each sample. So nothing is searched when samples are fused.

    Take it where predicting must be fast and the pool is large; `DESKNN` is finer and searches
    neighbors for every sample.

    Parameters
    ----------
    n_clusters : int, default=5
        At most as many as there are different samples.
    accurate_share : float, default=0.5
        The share of members that are accurate enough.
    diverse_share : float, default=0.33
        The share of members, of all, that are selected among those.
    voting, scale
        As for `SelectsSeveral`.
    random_state : int, default=0
        Where k-means starts from.

    Attributes
    ----------
    centers_ : ndarray of shape (n_clusters, n_features)
        The centers, of scaled features.
    competence_ : ndarray of shape (n_clusters, n_members)
        For each cluster 1 and the accuracy of a member that is selected, 0 for others.

    References
    ----------
    .. [1] Soares, Santana, Canuto and de Souto, "Using accuracy and diversity to select
       classifiers to build ensembles", IJCNN 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey import FusionClassifier
    >>> from covey.fusers import DESClustering
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fused = FusionClassifier(members, DESClustering(n_clusters=3)).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    metric = "euclidean"

    def __init__(
        self,
        n_clusters: int = 5,
        accurate_share: float = 0.5,
        diverse_share: float = 0.33,
        voting: str = "hard",
        *,
        scale: bool = True,
        random_state: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.accurate_share = accurate_share
        self.diverse_share = diverse_share
        self.voting = voting
        self.scale = scale
        self.random_state = random_state

    def _check_parameters(self, P: Predictions) -> None:
        check_number(self.n_clusters, "n_clusters", low=1, whole=True)
        check_shares(self.accurate_share, self.diverse_share)
        check_choice(self.voting, "voting", ("hard", "soft"))
        check_flag(self.scale, "scale")

    def _set_points(self, points: Any) -> None:
        """Cluster the known samples; none of them is kept."""
        self.centers_ = self._find_centers(points)
        self._clusters = self._nearest_center(points)

    def _find_centers(self, points: Any) -> np.ndarray:
        # Only who asks for clusters waits for the package that finds them.
        from sklearn.cluster import KMeans

        count = min(self.n_clusters, _count_different(points))
        means = KMeans(count, n_init=10, random_state=self.random_state).fit(points)
        return np.asarray(means.cluster_centers_, dtype=np.float64)

    def _nearest_center(self, points: Any) -> np.ndarray:
        return pairwise_distances_argmin(points, self.centers_)

    def _learn(self, P: Predictions, codes: np.ndarray) -> None:
        self.competence_ = np.zeros((len(self.centers_), P.n_members))
        for cluster in range(len(self.centers_)):
            region = np.flatnonzero(self._clusters == cluster)[None, :]
            if not region.size:
                continue
            accuracy = local_accuracy(self.right_, region, self.available_)
            faults = double_faults(self.right_, region, self.available_)
            kept = accurate_and_diverse(accuracy, faults, self.accurate_share, self.diverse_share)
            self.competence_[cluster] = (kept * (1.0 + accuracy))[0]

    def _region(self, P: Predictions, X: Any) -> np.ndarray:
        return self._nearest_center(self._scaled(X))[:, None]

    def competence(self, P: Predictions, region: np.ndarray) -> np.ndarray:
        """What members of the sample's cluster have; ``region`` (n_samples, 1) is the cluster."""
        return self.competence_[region[:, 0]]

    def select(self, competence: np.ndarray) -> np.ndarray:
        """All members that are both accurate and diverse, with equal weights."""
        return (competence > 0).astype(float)
