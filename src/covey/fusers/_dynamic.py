"""Dynamic selection: fusers that rate, for each sample, how competent members are near it.

Every method is two steps: `competence` rates each member for each sample, `select` turns the
ratings into weights. What they share lives in `DynamicSelection`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from covey._core.fusion.competence import (
    double_faults,
    keep_highest,
    local_accuracy,
    local_class_accuracy,
    local_hits,
    oracle_reach,
)
from covey._core.fusion.rules import normalized, uniform, vote_shares, weighted_mean
from covey._validation import check_choice, check_number
from covey.fusers._base import Fuser, available_weight
from covey.fusers._predictions import Predictions


def neighbor_index(points: Any, n_neighbors: int) -> NearestNeighbors:
    """scikit-learn's index, of the kind that is fastest for this many points and columns.

    A tree wins only if points are many for their dimension: measured, more than 250 * 2**D.
    (scikit-learn's "auto" takes one for up to 15 columns, where it can be ten times slower.)
    """
    n_points, n_columns = points.shape
    many = not hasattr(points, "tocsr") and np.log2(n_points / 250) > n_columns
    return NearestNeighbors(n_neighbors=n_neighbors, algorithm="kd_tree" if many else "brute").fit(
        points
    )


class DynamicSelection(Fuser):
    """The protocol of dynamic selection: ``competence``, then ``select``.

    ``fit`` keeps the held-out samples it is given: their features, standardized, in
    scikit-learn's own neighbor index, and which members were right on them. Rows of weight 0
    are left out; weights are not used otherwise.

    Parameters
    ----------
    n_neighbors : int, default=7
        The size of the region around a sample; at most as many as there are samples.

    Attributes
    ----------
    right_ : ndarray of shape (n_known, n_members), bool
        Which members were right on which of the samples given to ``fit``.
    available_ : ndarray of shape (n_known, n_members), bool, or None
        Where members are available; None is everywhere. A member is judged by those samples.
    truth_ : ndarray of shape (n_known,)
        Their classes, as positions in ``classes_``.
    """

    learns = True
    needs_X = True
    kinds = ("probability", "label")

    # Searching neighbors pays for many rows at once.
    _block_size = 1 << 20

    def __init__(self, n_neighbors: int = 7) -> None:
        self.n_neighbors = n_neighbors

    @abstractmethod
    def competence(self, P: Predictions, region: np.ndarray) -> np.ndarray:
        """Rate each member for each sample.

        Parameters
        ----------
        P : Predictions
            The members' predictions of the samples.
        region : ndarray of shape (n_samples, n_neighbors)
            The nearest known samples, as positions in ``right_``, the nearest first.

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

    def _fit(self, P: Predictions, codes: np.ndarray, X: Any, sample_weight: np.ndarray) -> None:
        used = np.flatnonzero(sample_weight > 0)
        if len(used) < P.n_samples:
            P, codes = P.rows(used), codes[used]
        right = P.labels == codes[:, None]
        self.right_ = right if P.available is None else right & P.available
        self.available_ = P.available
        self.truth_ = codes
        self._n_near = min(self.n_neighbors, len(codes))
        if self.needs_X:
            self._scaler = StandardScaler(with_mean=not hasattr(X, "tocsr"))
            self._set_points(self._scaler.fit_transform(X[used]))

    def _set_points(self, points: Any) -> None:
        """Keep the known samples, standardized, and index them."""
        self._points = points
        self._index = neighbor_index(points, self._n_near)

    def _region(self, P: Predictions, X: Any) -> np.ndarray:
        return self._index.kneighbors(self._scaler.transform(X), return_distance=False)

    def _selected(self, P: Predictions, X: Any) -> np.ndarray:
        """The weights that ``select`` gives; equal ones, where it gives none."""
        competence = self.competence(P, self._region(P, X))
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
        return weighted_mean(P.values, self._importance(P, X, codes))


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
        average their probabilities.
    """

    def __init__(self, n_neighbors: int = 7, voting: str = "hard") -> None:
        super().__init__(n_neighbors)
        self.voting = voting

    @property
    def kinds(self) -> tuple[str, ...]:
        """Votes, or probabilities: what is fused, the preferred kind first."""
        return ("probability", "label") if self.voting == "soft" else ("label", "probability")

    def _check_parameters(self, P: Predictions) -> None:
        super()._check_parameters(P)
        check_choice(self.voting, "voting", ("hard", "soft"))

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        if self.voting == "soft":
            return weighted_mean(P.values, self._importance(P, X, codes))
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

    Parameters
    ----------
    n_neighbors : int, default=7
        As for `DynamicSelection`.

    References
    ----------
    .. [1] Woods, Kegelmeyer and Bowyer, "Combination of multiple classifiers using local
       accuracy estimates", IEEE TPAMI 19(4), 1997.
    """

    def competence(self, P: Predictions, region: np.ndarray) -> np.ndarray:
        """The share of neighbors on which each member is right."""
        return local_accuracy(self.right_, region, self.available_)


class LCA(SelectsOne, name="lca"):
    """Local class accuracy: right on most neighbors of the class that it predicts.

    As `OLA`, from the same paper. Sources differ: that paper counts neighbors that the member
    *assigns* to the class, the library DESlib neighbors that *belong* to it. This follows DESlib.

    Parameters
    ----------
    n_neighbors : int, default=7
        As for `DynamicSelection`.
    """

    def competence(self, P: Predictions, region: np.ndarray) -> np.ndarray:
        """Accuracy on neighbors of the predicted class; 0 without such neighbors."""
        return local_class_accuracy(self.right_, self.truth_, region, P.labels, self.available_)


class KnoraEliminate(SelectsSeveral, name="knora_e"):
    """KNORA-E: members that are right on all neighbors; on fewer, if there is none [1]_.

    The region shrinks from its farthest neighbor until some member is right throughout.

    Parameters
    ----------
    n_neighbors, voting
        As for `SelectsSeveral`.

    References
    ----------
    .. [1] Ko, Sabourin and Britto, "From dynamic classifier selection to dynamic ensemble
       selection", Pattern Recognition 41(5), 2008.
    """

    def competence(self, P: Predictions, region: np.ndarray) -> np.ndarray:
        """How many neighbors each member gets right before its first error."""
        return oracle_reach(self.right_, region, self.available_)

    def select(self, competence: np.ndarray) -> np.ndarray:
        """All members that reach farthest."""
        return (competence == competence.max(axis=1, keepdims=True)).astype(float)


class KnoraUnion(SelectsSeveral, name="knora_u"):
    """KNORA-U: every member has a vote for each neighbor on which it is right.

    It is from the paper of `KnoraEliminate`.

    Parameters
    ----------
    n_neighbors, voting
        As for `SelectsSeveral`.
    """

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

    Parameters
    ----------
    n_neighbors, voting
        As for `SelectsSeveral`.

    References
    ----------
    .. [1] Cavalin, Sabourin and Suen, "Dynamic selection approaches for multiple classifier
       systems", Neural Computing and Applications 22(3), 2013.
    """

    needs_X = False
    kinds = ("probability",)

    def _fit(self, P: Predictions, codes: np.ndarray, X: Any, sample_weight: np.ndarray) -> None:
        super()._fit(P, codes, X, sample_weight)
        known = P.rows(np.flatnonzero(sample_weight > 0))
        self._set_profiles(self._profiles(known), self.n_neighbors)

    def _region(self, P: Predictions, X: Any) -> np.ndarray:
        return self._profile_region(P)


class DESP(SelectsSeveral, name="des_p"):
    """DES-P: members that do better than chance among the neighbors [1]_.

    Parameters
    ----------
    n_neighbors, voting
        As for `SelectsSeveral`.

    References
    ----------
    .. [1] Woloszynski, Kurzynski, Podsiadlo and Stachowiak, "A measure of competence based on
       random classification for dynamic ensemble selection", Information Fusion 13(3), 2012.
    """

    def competence(self, P: Predictions, region: np.ndarray) -> np.ndarray:
        """Accuracy among the neighbors, less that of chance, 1/C."""
        return local_accuracy(self.right_, region, self.available_) - 1.0 / P.n_classes

    def select(self, competence: np.ndarray) -> np.ndarray:
        """All members above chance."""
        return (competence > 1e-12).astype(float)


class DESKNN(SelectsSeveral, name="des_knn"):
    """DES-KNN: of the locally most accurate members, the most diverse [1]_.

    Diversity is a low number of neighbors on which a member fails together with others.

    Parameters
    ----------
    n_neighbors, voting
        As for `SelectsSeveral`.
    accurate_share : float, default=0.5
        The share of members that are accurate enough.
    diverse_share : float, default=0.3
        The share of members, of all, that are selected among those.

    References
    ----------
    .. [1] Soares, Santana, Canuto and de Souto, "Using accuracy and diversity to select
       classifiers to build ensembles", IJCNN 2006.
    """

    def __init__(
        self,
        n_neighbors: int = 7,
        accurate_share: float = 0.5,
        diverse_share: float = 0.3,
        voting: str = "hard",
    ) -> None:
        super().__init__(n_neighbors, voting)
        self.accurate_share = accurate_share
        self.diverse_share = diverse_share

    def _check_parameters(self, P: Predictions) -> None:
        super()._check_parameters(P)
        check_number(self.accurate_share, "accurate_share", low=0, high=1, closed="right")
        check_number(self.diverse_share, "diverse_share", low=0, high=1, closed="right")
        if self.diverse_share > self.accurate_share:
            raise ValueError(
                f"diverse_share={self.diverse_share} must not exceed "
                f"accurate_share={self.accurate_share}: the diverse are chosen among the accurate."
            )

    def competence(self, P: Predictions, region: np.ndarray) -> np.ndarray:
        """Accuracy among the neighbors; zero for members not both accurate and diverse."""
        n_accurate = max(1, int(P.n_members * self.accurate_share))
        n_diverse = min(n_accurate, int(np.ceil(P.n_members * self.diverse_share)))
        accuracy = local_accuracy(self.right_, region, self.available_)
        accurate = keep_highest(accuracy, n_accurate)
        # Few common failures first; of equally diverse members, the more accurate.
        faults = double_faults(self.right_, region, self.available_)
        diversity = np.where(accurate, accuracy - 1e6 * faults, -np.inf)
        # Accuracies may be zero and still selected: rate from one upwards.
        return keep_highest(diversity, n_diverse) * (1.0 + accuracy)

    def select(self, competence: np.ndarray) -> np.ndarray:
        """All members that are both accurate and diverse, with equal weights."""
        return (competence > 0).astype(float)
