"""Dynamic selection: fusers that rate, for each sample, how competent members are near it.

Every method is two steps: `competence` rates each member for each sample, `select` turns the
ratings into weights. What they share lives in `DynamicSelection`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from covey._core.fusion.competence import (
    keep_highest,
    local_accuracy,
    local_class_accuracy,
    local_hits,
    local_mean,
    oracle_reach,
)
from covey._core.fusion.rules import normalized, uniform, vote_shares, weighted_mean
from covey._validation import check_choice, check_flag, check_number
from covey.fusers._base import Fuser, available_weight, equal_shares, values_by
from covey.fusers._neighbors import (
    Metric,
    Neighbors,
    bounded,
    check_metric,
    check_size,
    neighbor_index,
    scaler_of,
)
from covey.fusers._predictions import Predictions, as_predictions

# Squares of errors stay finite, and so do sums of them.
_LARGEST_ERROR = 1e150


class DynamicSelection(Fuser):
    """The protocol of dynamic selection: ``competence``, then ``select``.

    ``fit`` keeps the held-out samples it is given: their features, in scikit-learn's own
    neighbor index, and which members were right on them. Rows of weight 0 are left out; weights
    are not used otherwise.

    For the numbers of regressors (predictions of kind "value"), which `OLA`, `KnoraEliminate`,
    `KnoraUnion` and `DESP` fuse too, equal weights are what members are measured by: a member is
    right on a sample if its error is not larger than that of the mean of all members.

    Parameters
    ----------
    n_neighbors : int, default=7
        The size of the region around a sample; at most as many as there are samples.
    metric : {"euclidean", "manhattan", "chebyshev", "cosine", "mahalanobis"} or callable, \
            default="euclidean"
        How far apart two samples are. A function takes two rows and gives a number; it is slow,
        and model files do not hold it. Sparse rows have the first two and "cosine".
    scale : bool, default=True
        Whether features are standardized first, by the samples given to ``fit``. False takes
        them as they are.

    Attributes
    ----------
    right_ : ndarray of shape (n_known, n_members), bool
        Which members were right on which of the samples given to ``fit``.
    available_ : ndarray of shape (n_known, n_members), bool, or None
        Where members are available; None is everywhere. A member is judged by those samples.
    truth_ : ndarray of shape (n_known,)
        Their classes, as positions in ``classes_``; or their numbers.
    squared_errors_, squared_errors_of_mean_ : ndarray of shape (n_known, n_members) or (n_known,)
        For numbers the squared errors of members, and of their mean; None for classes.

    Examples
    --------
    >>> import numpy as np
    >>> from covey.fusers import KnoraUnion
    >>> P = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.8, 0.2], [0.1, 0.9]]])
    >>> fuser = KnoraUnion(n_neighbors=1).fit(P, y=[0, 1], X=[[0.0], [1.0]])
    >>> fuser.right_
    array([[ True, False],
           [False,  True]])
    """

    learns = True
    needs_X = True
    # Whether ``competence`` also takes how far away the neighbors are, as ``distance``.
    needs_distance = False
    kinds = ("probability", "label")

    # Searching neighbors pays for many rows at once.
    _block_size = 1 << 20

    def __init__(
        self,
        n_neighbors: int = 7,
        *,
        metric: Metric = "euclidean",
        scale: bool = True,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.scale = scale

    @abstractmethod
    def competence(self, P: Predictions, region: np.ndarray) -> np.ndarray:
        """Rate each member for each sample.

        Parameters
        ----------
        P : Predictions
            The members' predictions of the samples.
        region : ndarray of shape (n_samples, n_neighbors)
            The nearest known samples, as positions in ``right_``, the nearest first.
        distance : ndarray of shape (n_samples, n_neighbors)
            How far away they are; given to methods whose ``needs_distance`` is set.

        Returns
        -------
        competence : ndarray of shape (n_samples, n_members)
        """

    @abstractmethod
    def select(self, competence: np.ndarray) -> np.ndarray:
        """Turn ratings into weights.

        Parameters
        ----------
        competence : ndarray of shape (n_samples, n_members)
            Minus infinity where a member is not available.

        Returns
        -------
        weights : ndarray of shape (n_samples, n_members)
            Non-negative; a row of zeros selects all members alike.
        """

    def _check_parameters(self, P: Predictions) -> None:
        check_number(self.n_neighbors, "n_neighbors", low=1, whole=True)
        self._check_distances()

    def _check_distances(self) -> None:
        check_metric(self.metric)
        check_flag(self.scale, "scale")

    def _fit(self, P: Predictions, codes: np.ndarray, X: Any, sample_weight: np.ndarray) -> None:
        used = np.flatnonzero(sample_weight > 0)
        if len(used) < P.n_samples:
            P, codes = P.rows(used), codes[used]
        self.available_ = P.available
        self.truth_ = codes
        self.squared_errors_ = self.squared_errors_of_mean_ = None
        if P.kind == "value":
            self._measure_errors(P, codes)
        else:
            right = P.labels == codes[:, None]
            self.right_ = right if P.available is None else right & P.available
        if self.needs_X:
            self._scaler = scaler_of(X[used]) if self.scale else None
            self._set_points(self._scaled(X[used]))
        self._learn(P, codes)

    def _learn(self, P: Predictions, codes: np.ndarray) -> None:
        """What else a method learns from the known samples."""

    def _measure_errors(self, P: Predictions, y: np.ndarray) -> None:
        errors = np.abs(P.values[:, :, 0] - y[:, None])
        of_mean = np.abs(values_by(P, equal_shares(P)) - y[:, None])
        # Members that all predict the same are all right, whatever the mean is rounded to.
        right = np.isfinite(errors) & (errors <= of_mean * (1.0 + 1e-12))
        self.right_ = right if P.available is None else right & P.available
        self.squared_errors_ = np.minimum(errors, _LARGEST_ERROR) ** 2
        self.squared_errors_of_mean_ = np.minimum(of_mean[:, 0], _LARGEST_ERROR) ** 2

    def _set_points(self, points: Any) -> None:
        """Keep the known samples, scaled, and index them."""
        self._points = points
        self._neighbors = Neighbors(points, self._n_near(), self.metric)

    def _n_near(self) -> int:
        """How many neighbors a region has."""
        return min(self.n_neighbors, len(self.truth_))

    def _scaled(self, X: Any) -> Any:
        if self._scaler is None:
            check_size(X)
            return X
        return bounded(self._scaler.transform(X))

    def _region(self, P: Predictions, X: Any) -> np.ndarray:
        return self._neighbors.nearest(self._scaled(X))

    def _fused_by_blocks(
        self, function: Callable[..., np.ndarray], P: Any, X: Any, y: Any, over: str
    ) -> np.ndarray:
        P = as_predictions(P)
        of_values = getattr(self, "squared_errors_", None) is not None
        if hasattr(self, "truth_") and (P.kind == "value") != of_values:
            learnt = "numbers" if of_values else "classes"
            raise ValueError(
                f"{type(self).__name__} has learnt to fuse {learnt} and cannot fuse predictions "
                f"of kind {P.kind}."
            )
        return super()._fused_by_blocks(function, P, X, y, over)

    def _rated(self, P: Predictions, X: Any) -> np.ndarray:
        """The competences of checked predictions."""
        if not self.needs_distance:
            return self.competence(P, self._region(P, X))
        distance, region = self._neighbors.nearest_with_distance(self._scaled(X))
        return self.competence(P, region, distance=distance)

    def _selected(self, P: Predictions, X: Any) -> np.ndarray:
        """The weights that ``select`` gives; equal ones, where it gives none."""
        competence = self._rated(P, X)
        if P.available is not None:
            competence = np.where(P.available, competence, -np.inf)
        weight = self.select(competence)
        if P.available is not None:
            weight = np.where(P.available, weight, 0.0)
        return np.where(weight.any(axis=1, keepdims=True), weight, available_weight(P))

    def _importance(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        weight = self._selected(P, X)
        return normalized(weight, uniform(*weight.shape))

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        importance = self._importance(P, X, codes)
        if P.kind == "value":
            # What is not selected must not count, even where it is infinite.
            chosen = np.where(importance[:, :, None] > 0, P.values, 0.0)
            return np.einsum("nkc,nk->nc", chosen, importance)
        return weighted_mean(P.values, importance)


class SelectsOne(DynamicSelection):
    """Selects the most competent member, the first of equals, and takes its probabilities."""

    def select(self, competence: np.ndarray) -> np.ndarray:
        """The most competent member alone."""
        return keep_highest(competence, 1).astype(float)


class SelectsSeveral(DynamicSelection):
    """Selects several members, which vote or average.

    Parameters
    ----------
    n_neighbors : int, default=7
        The size of the region around a sample.
    voting : {"hard", "soft"}, default="hard"
        Whether the selected members vote, so that probabilities are shares of votes, or
        average their probabilities. Numbers are averaged in any case.
    metric, scale
        As for `DynamicSelection`.
    """

    # Whether the numbers of regressors are fused, too.
    _fuses_values = False

    def __init__(
        self,
        n_neighbors: int = 7,
        voting: str = "hard",
        *,
        metric: Metric = "euclidean",
        scale: bool = True,
    ) -> None:
        super().__init__(n_neighbors, metric=metric, scale=scale)
        self.voting = voting

    @property
    def kinds(self) -> tuple[str, ...]:
        """Votes, or probabilities: what is fused, the preferred kind first."""
        of_classes = ("label", "probability")
        if self.voting == "soft":
            of_classes = ("probability", "label")
        return (*of_classes, "value") if self._fuses_values else of_classes

    def _check_parameters(self, P: Predictions) -> None:
        super()._check_parameters(P)
        check_choice(self.voting, "voting", ("hard", "soft"))

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        if self.voting == "soft" or P.kind == "value":
            return super()._fuse(P, X, codes)
        fused = vote_shares(P.labels, None, P.n_classes)
        # Where all members agree, the selection makes no difference.
        split = np.flatnonzero((P.labels != P.labels[:, :1]).any(axis=1))
        if len(split):
            P = P.rows(split)
            # Whole votes: fractions of them would break ties by rounding.
            weight = self._selected(P, X[split] if self.needs_X else None)
            fused[split] = vote_shares(P.labels, weight, P.n_classes)
        return fused


class OLA(SelectsOne, name="ola"):
    """Overall local accuracy: the member that is right on most neighbors [1]_.

    Of regressors the one with the least mean squared error among the neighbors [2]_.

    A good first choice where one member is right in one region and another elsewhere; with noisy
    labels several members (`KnoraUnion`) are steadier.

    Parameters
    ----------
    n_neighbors, metric, scale
        As for `DynamicSelection`.

    References
    ----------
    .. [1] Woods, Kegelmeyer and Bowyer, "Combination of multiple classifiers using local
       accuracy estimates", IEEE TPAMI 19(4), 1997.
    .. [2] Rooney, Patterson, Anand and Tsymbal, "Dynamic integration of regression models", MCS
       2004 (dynamic selection).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey import FusionClassifier
    >>> from covey.fusers import OLA
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fused = FusionClassifier(members, OLA(n_neighbors=5)).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    kinds = ("probability", "label", "value")

    def competence(self, P: Predictions, region: np.ndarray) -> np.ndarray:
        """The share of neighbors on which each member is right; or minus its squared error."""
        if P.kind == "value":
            return -local_mean(self.squared_errors_, region, available=self.available_)
        return local_accuracy(self.right_, region, self.available_)


class LCA(SelectsOne, name="lca"):
    """Local class accuracy: right on most neighbors of the class that it predicts.

    As `OLA`, from the same paper. Sources differ: that paper counts neighbors that the member
    *assigns* to the class, the library DESlib neighbors that *belong* to it. This follows DESlib.

    Take it where members are good at different classes; `OLA` where they are good in different
    places.

    Parameters
    ----------
    n_neighbors, metric, scale
        As for `DynamicSelection`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey import FusionClassifier
    >>> from covey.fusers import LCA
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fused = FusionClassifier(members, LCA(n_neighbors=5)).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    def competence(self, P: Predictions, region: np.ndarray) -> np.ndarray:
        """Accuracy on neighbors of the predicted class; 0 without such neighbors."""
        return local_class_accuracy(self.right_, self.truth_, region, P.labels, self.available_)


class KnoraEliminate(SelectsSeveral, name="knora_e"):
    """KNORA-E: members that are right on all neighbors; on fewer, if there is none [1]_.

    The region shrinks from its farthest neighbor until some member is right throughout. For
    regressors, right is no worse than the mean of all members; where no member is, on the nearest
    neighbor, the mean is taken.

    The usual choice for pools of members that are each strong somewhere. With noisy labels its
    region shrinks to very few samples; `KnoraUnion` is steadier then.

    Parameters
    ----------
    n_neighbors, voting, metric, scale
        As for `SelectsSeveral`.

    References
    ----------
    .. [1] Ko, Sabourin and Britto, "From dynamic classifier selection to dynamic ensemble
       selection", Pattern Recognition 41(5), 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey import FusionClassifier
    >>> from covey.fusers import KnoraEliminate
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fused = FusionClassifier(members, KnoraEliminate(n_neighbors=5)).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    _fuses_values = True

    def competence(self, P: Predictions, region: np.ndarray) -> np.ndarray:
        """How many neighbors each member gets right before its first error."""
        return oracle_reach(self.right_, region, self.available_)

    def select(self, competence: np.ndarray) -> np.ndarray:
        """All members that reach farthest."""
        return (competence == competence.max(axis=1, keepdims=True)).astype(float)


class KnoraUnion(SelectsSeveral, name="knora_u"):
    """KNORA-U: every member has a vote for each neighbor on which it is right.

    It is from the paper of `KnoraEliminate`. For regressors, right is no worse than the mean of
    all members.

    The safe choice among dynamic selections: many members keep a vote. Where few are good near a
    sample, `KnoraEliminate` is sharper.

    Parameters
    ----------
    n_neighbors, voting, metric, scale
        As for `SelectsSeveral`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey import FusionClassifier
    >>> from covey.fusers import KnoraUnion
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fused = FusionClassifier(members, KnoraUnion(n_neighbors=5)).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    _fuses_values = True

    def competence(self, P: Predictions, region: np.ndarray) -> np.ndarray:
        """On how many neighbors each member is right."""
        return local_hits(self.right_, region)

    def select(self, competence: np.ndarray) -> np.ndarray:
        """The competence is the weight."""
        return competence


class OutputProfiles:
    """Neighbors among the members' predictions instead of among features."""

    def _profiles(self, P: Predictions) -> np.ndarray:
        values = P.values
        if P.available is not None:
            values = np.where(P.available[:, :, None], values, 1.0 / P.n_classes)
        if P.n_classes == 2:
            values = values[:, :, :1]  # the other class is its complement
        return values.reshape(P.n_samples, -1)

    def _set_profiles(self, profiles: np.ndarray, n_profiles: int) -> None:
        """Keep the known samples' predictions, and index them."""
        self._known_profiles = profiles
        self._profile_index = neighbor_index(profiles, min(n_profiles, len(profiles)))

    def _profile_region(self, P: Predictions) -> np.ndarray:
        return self._profile_index.kneighbors(self._profiles(P), return_distance=False)


class KNOP(OutputProfiles, KnoraUnion, name="knop"):
    """K nearest output profiles: KNORA-U with neighbors in the space of predictions [1]_.

    Two samples are near if the members give them similar probabilities. It needs no X.

    Take it where X is not at hand or its distances mean little: it needs predictions alone.

    Parameters
    ----------
    n_neighbors, voting
        As for `SelectsSeveral`.

    References
    ----------
    .. [1] Cavalin, Sabourin and Suen, "Dynamic selection approaches for multiple classifier
       systems", Neural Computing and Applications 22(3), 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey import FusionClassifier
    >>> from covey.fusers import KNOP
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fused = FusionClassifier(members, KNOP(n_neighbors=5)).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    needs_X = False
    kinds = ("probability",)
    # No distances of features are asked for.
    metric, scale = "euclidean", False

    def __init__(self, n_neighbors: int = 7, voting: str = "hard") -> None:
        self.n_neighbors = n_neighbors
        self.voting = voting

    def _learn(self, P: Predictions, codes: np.ndarray) -> None:
        self._set_profiles(self._profiles(P), self.n_neighbors)

    def _region(self, P: Predictions, X: Any) -> np.ndarray:
        return self._profile_region(P)


class DESP(SelectsSeveral, name="des_p"):
    """DES-P: members that do better than chance among the neighbors [1]_.

    Regressors: those that do better than the mean of all of them.

    Take it for large pools in which many members are no better than chance near a sample.

    Parameters
    ----------
    n_neighbors, voting, metric, scale
        As for `SelectsSeveral`.

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
    >>> from covey.fusers import DESP
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fused = FusionClassifier(members, DESP(n_neighbors=5)).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    _fuses_values = True

    def competence(self, P: Predictions, region: np.ndarray) -> np.ndarray:
        """Accuracy among the neighbors, less that of chance, 1/C.

        Of a regressor: 1 less its squared error, in units of that of the mean of all members.
        """
        if P.kind == "value":
            return self._better_than_mean(region)
        return local_accuracy(self.right_, region, self.available_) - 1.0 / P.n_classes

    def _better_than_mean(self, region: np.ndarray) -> np.ndarray:
        errors = local_mean(self.squared_errors_, region, available=self.available_)
        of_mean = np.broadcast_to(self.squared_errors_of_mean_[:, None], self.right_.shape)
        of_mean = local_mean(of_mean, region, available=self.available_)
        # Where the mean has no error, no member is better.
        return np.where(of_mean > 0, 1.0 - errors / np.where(of_mean > 0, of_mean, 1.0), 0.0)

    def select(self, competence: np.ndarray) -> np.ndarray:
        """All members above chance."""
        return (competence > 1e-12).astype(float)
