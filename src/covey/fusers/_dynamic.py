"""Dynamic selection: fusers that ask, for each sample, which members are competent near it.

Every method is two steps: `competence` rates each member for each sample, `select` turns the
ratings into weights. What they share lives in `DynamicSelection`.
"""

from abc import abstractmethod

import numpy as np
from sklearn.base import clone
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
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
from covey.fusers._levels import Levels


def _neighbour_index(points, n_neighbors):
    """scikit-learn's index, of the kind that is fastest for this many points and columns.

    A tree wins only if points are many for their dimension: measured, more than 250 * 2**D.
    (scikit-learn's "auto" takes one for up to 15 columns, where it can be ten times slower.)
    """
    n_points, n_columns = points.shape
    many = not hasattr(points, "tocsr") and n_points > 250 * 2.0**n_columns
    return NearestNeighbors(n_neighbors=n_neighbors, algorithm="kd_tree" if many else "brute").fit(
        points
    )


class DynamicSelection(Fuser):
    """The protocol of dynamic selection: ``competence``, then ``select``.

    ``fit`` keeps the held-out samples it is given: their features, standardized, in
    scikit-learn's own neighbour index, and which members were right on them. Rows of weight 0
    are left out; weights are not used otherwise.

    Parameters
    ----------
    n_neighbors : int, default=7
        The size of the region around a sample; at most as many as there are samples.

    Attributes
    ----------
    right_ : ndarray of shape (n_known, n_members), bool
        Which members were right on which of the samples given to ``fit``.
    spoken_ : ndarray of shape (n_known, n_members), bool, or None
        Where members have spoken of them; None is everywhere. A member is judged by those.
    truth_ : ndarray of shape (n_known,)
        Their classes, as positions in ``classes_``.
    """

    learns = True
    needs_X = True
    kinds = ("probability", "label")

    # Searching neighbours pays for many rows at once.
    _block_size = 1 << 20

    def __init__(self, n_neighbors=7):
        self.n_neighbors = n_neighbors

    @abstractmethod
    def competence(self, P, region):
        """Rate each member for each sample.

        Parameters
        ----------
        P : Predictions
            What the members say of the samples.
        region : ndarray of shape (n_samples, n_neighbors)
            The nearest known samples, as positions in ``right_``, the nearest first.

        Returns
        -------
        competence : ndarray of shape (n_samples, n_members)
        """

    @abstractmethod
    def select(self, competence):
        """Turn ratings into weights.

        Parameters
        ----------
        competence : ndarray of shape (n_samples, n_members)
            Minus infinity where a member has not spoken.

        Returns
        -------
        weights : ndarray of shape (n_samples, n_members)
            Non-negative; a row of zeros selects all members alike.
        """

    def _check_parameters(self, P):
        check_number(self.n_neighbors, "n_neighbors", low=1, whole=True)

    def _fit(self, P, codes, X, sample_weight):
        used = np.flatnonzero(sample_weight > 0)
        if len(used) < P.n_samples:
            P, codes = P.rows(used), codes[used]
        right = P.labels == codes[:, None]
        self.right_ = right if P.available is None else right & P.available
        self.spoken_ = P.available
        self.truth_ = codes
        self._n_near = min(self.n_neighbors, len(codes))
        if self.needs_X:
            self._scaler = StandardScaler(with_mean=not hasattr(X, "tocsr"))
            self._index = _neighbour_index(self._scaler.fit_transform(X[used]), self._n_near)

    def _region(self, P, X):
        return self._index.kneighbors(self._scaler.transform(X), return_distance=False)

    def _selected(self, P, X):
        """The weights that ``select`` gives; all that have spoken alike, where it gives none."""
        competence = self.competence(P, self._region(P, X))
        if P.available is not None:
            competence = np.where(P.available, competence, -np.inf)
        weight = self.select(competence)
        if P.available is not None:
            weight = np.where(P.available, weight, 0.0)
        return np.where(weight.any(axis=1, keepdims=True), weight, available_weight(P))

    def _importance(self, P, X, codes):
        weight = self._selected(P, X)
        return normalized(weight, uniform(*weight.shape))

    def _fuse(self, P, X, codes):
        return weighted_mean(P.values, self._importance(P, X, codes))


class _PicksOne(DynamicSelection):
    """Selects the most competent member, the first of equals; its probabilities stand."""

    def select(self, competence):
        """The most competent member alone."""
        return keep_highest(competence, 1).astype(float)


class _PicksSeveral(DynamicSelection):
    """Selects several members, who vote or average.

    Parameters
    ----------
    n_neighbors : int, default=7
        The size of the region around a sample.
    voting : {"hard", "soft"}, default="hard"
        Whether the selected members vote, so that probabilities are shares of votes, or
        average their probabilities.
    """

    def __init__(self, n_neighbors=7, voting="hard"):
        super().__init__(n_neighbors)
        self.voting = voting

    @property
    def kinds(self):
        """Votes, or probabilities: what the selected members are asked for first."""
        return ("probability", "label") if self.voting == "soft" else ("label", "probability")

    def _check_parameters(self, P):
        super()._check_parameters(P)
        check_choice(self.voting, "voting", ("hard", "soft"))

    def _fuse(self, P, X, codes):
        if self.voting == "soft":
            return weighted_mean(P.values, self._importance(P, X, codes))
        fused = vote_shares(P.labels, None, P.n_classes)
        # Where all agree, whoever is selected says the same.
        torn = np.flatnonzero((P.labels != P.labels[:, :1]).any(axis=1))
        if len(torn):
            P = P.rows(torn)
            # Whole votes: fractions of them would break ties by rounding.
            weight = self._selected(P, X[torn] if self.needs_X else None)
            fused[torn] = vote_shares(P.labels, weight, P.n_classes)
        return fused


class OLA(_PicksOne, name="ola"):
    """Overall local accuracy: the member that is right on most neighbours [1]_.

    Parameters
    ----------
    n_neighbors : int, default=7
        The size of the region around a sample.

    References
    ----------
    .. [1] Woods, Kegelmeyer and Bowyer, "Combination of multiple classifiers using local
       accuracy estimates", IEEE TPAMI 19(4), 1997.
    """

    def competence(self, P, region):
        """The share of neighbours on which each member is right."""
        return local_accuracy(self.right_, region, self.spoken_)


class LCA(_PicksOne, name="lca"):
    """Local class accuracy: right on most neighbours of the class that it predicts [1]_.

    Sources differ: the paper looks at neighbours that the member *assigns* to the class, the
    library DESlib at neighbours that *belong* to it. This follows DESlib.

    Parameters
    ----------
    n_neighbors : int, default=7
        The size of the region around a sample.

    References
    ----------
    .. [1] Woods, Kegelmeyer and Bowyer, "Combination of multiple classifiers using local
       accuracy estimates", IEEE TPAMI 19(4), 1997.
    """

    def competence(self, P, region):
        """Accuracy on neighbours of the predicted class; 0 without such neighbours."""
        return local_class_accuracy(self.right_, self.truth_, region, P.labels, self.spoken_)


class KnoraEliminate(_PicksSeveral, name="knora_e"):
    """KNORA-E: members that are right on all neighbours; on fewer, if there is none [1]_.

    The region shrinks from its farthest neighbour until some member is right throughout.

    Parameters
    ----------
    n_neighbors : int, default=7
        The size of the region around a sample.
    voting : {"hard", "soft"}, default="hard"
        Whether the selected members vote or average their probabilities.

    References
    ----------
    .. [1] Ko, Sabourin and Britto, "From dynamic classifier selection to dynamic ensemble
       selection", Pattern Recognition 41(5), 2008.
    """

    def competence(self, P, region):
        """How many neighbours each member gets right before its first error."""
        return oracle_reach(self.right_, region, self.spoken_)

    def select(self, competence):
        """All members that reach farthest."""
        return (competence == competence.max(axis=1, keepdims=True)).astype(float)


class KnoraUnion(_PicksSeveral, name="knora_u"):
    """KNORA-U: every member has a vote for each neighbour on which it is right [1]_.

    Parameters
    ----------
    n_neighbors : int, default=7
        The size of the region around a sample.
    voting : {"hard", "soft"}, default="hard"
        Whether members vote or average their probabilities, by these weights.

    References
    ----------
    .. [1] Ko, Sabourin and Britto, "From dynamic classifier selection to dynamic ensemble
       selection", Pattern Recognition 41(5), 2008.
    """

    def competence(self, P, region):
        """On how many neighbours each member is right."""
        return local_hits(self.right_, region)

    def select(self, competence):
        """The competence is the weight."""
        return competence


class _OutputProfiles:
    """Neighbours among what the members say instead of among features."""

    def _profiles(self, P):
        values = P.values
        if P.available is not None:
            values = np.where(P.available[:, :, None], values, 1.0 / P.n_classes)
        if P.n_classes == 2:
            values = values[:, :, :1]  # the other class is its complement
        return values.reshape(P.n_samples, -1)

    def _fit_profiles(self, P, n_profiles):
        self._profile_index = _neighbour_index(self._profiles(P), min(n_profiles, P.n_samples))

    def _profile_region(self, P):
        return self._profile_index.kneighbors(self._profiles(P), return_distance=False)


class KNOP(_OutputProfiles, KnoraUnion, name="knop"):
    """K nearest output profiles: KNORA-U with neighbours in the space of opinions [1]_.

    Two samples are near if the members give them similar probabilities. It needs no X.

    Parameters
    ----------
    n_neighbors : int, default=7
        The size of the region around a sample.
    voting : {"hard", "soft"}, default="hard"
        Whether members vote or average their probabilities, by these weights.

    References
    ----------
    .. [1] Cavalin, Sabourin and Suen, "Dynamic selection approaches for multiple classifier
       systems", Neural Computing and Applications 22(3), 2013.
    """

    needs_X = False
    kinds = ("probability",)

    def _fit(self, P, codes, X, sample_weight):
        super()._fit(P, codes, X, sample_weight)
        self._fit_profiles(P.rows(np.flatnonzero(sample_weight > 0)), self.n_neighbors)

    def _region(self, P, X):
        return self._profile_region(P)


class DESP(_PicksSeveral, name="des_p"):
    """DES-P: members that do better than chance among the neighbours [1]_.

    Parameters
    ----------
    n_neighbors : int, default=7
        The size of the region around a sample.
    voting : {"hard", "soft"}, default="hard"
        Whether the selected members vote or average their probabilities.

    References
    ----------
    .. [1] Woloszynski, Kurzynski, Podsiadlo and Stachowiak, "A measure of competence based on
       random classification for dynamic ensemble selection", Information Fusion 13(3), 2012.
    """

    def competence(self, P, region):
        """Accuracy among the neighbours, less that of chance, 1/C."""
        return local_accuracy(self.right_, region, self.spoken_) - 1.0 / P.n_classes

    def select(self, competence):
        """All members above chance."""
        return (competence > 1e-12).astype(float)


class DESKNN(_PicksSeveral, name="des_knn"):
    """DES-KNN: of the locally most accurate members, the most diverse [1]_.

    Diversity is a low number of neighbours on which a member fails together with others.

    Parameters
    ----------
    n_neighbors : int, default=7
        The size of the region around a sample.
    accurate_share : float, default=0.5
        The share of members that are accurate enough.
    diverse_share : float, default=0.3
        The share of members, of all, that are selected among those.
    voting : {"hard", "soft"}, default="hard"
        Whether the selected members vote or average their probabilities.

    References
    ----------
    .. [1] Soares, Santana, Canuto and de Souto, "Using accuracy and diversity to select
       classifiers to build ensembles", IJCNN 2006.
    """

    def __init__(self, n_neighbors=7, accurate_share=0.5, diverse_share=0.3, voting="hard"):
        super().__init__(n_neighbors, voting)
        self.accurate_share = accurate_share
        self.diverse_share = diverse_share

    def _check_parameters(self, P):
        super()._check_parameters(P)
        check_number(self.accurate_share, "accurate_share", low=0, high=1, closed="right")
        check_number(self.diverse_share, "diverse_share", low=0, high=1, closed="right")
        if self.diverse_share > self.accurate_share:
            raise ValueError(
                f"diverse_share={self.diverse_share} must not exceed "
                f"accurate_share={self.accurate_share}: the diverse are chosen among the accurate."
            )

    def competence(self, P, region):
        """Accuracy among the neighbours; zero for members not both accurate and diverse."""
        n_accurate = max(1, int(P.n_members * self.accurate_share))
        n_diverse = min(n_accurate, int(np.ceil(P.n_members * self.diverse_share)))
        accuracy = local_accuracy(self.right_, region, self.spoken_)
        accurate = keep_highest(accuracy, n_accurate)
        # Few common failures first; of equally diverse members, the more accurate.
        faults = double_faults(self.right_, region, self.spoken_)
        diversity = np.where(accurate, accuracy - 1e6 * faults, -np.inf)
        # Accuracies may be zero and still selected: rate from one upwards.
        return keep_highest(diversity, n_diverse) * (1.0 + accuracy)

    def select(self, competence):
        """All members that passed both hurdles, alike."""
        return (competence > 0).astype(float)


class MetaDES(_OutputProfiles, _PicksSeveral, name="meta_des"):
    """META-DES: a classifier learns from five kinds of evidence when a member is right [1]_.

    The evidence for a member and a sample: on which neighbours it is right, with what
    probability of their true class, how accurate it is among them, on which of the samples
    with the most similar output profiles it is right, and how sure it is of itself.

    Parameters
    ----------
    n_neighbors : int, default=7
        The size of the region around a sample.
    n_profiles : int, default=5
        The number of similar output profiles.
    threshold : float, default=0.5
        Members whose probability to be right is above it are selected.
    meta_classifier : classifier or None, default=None
        None is a naive Bayes classifier on evidence in ten levels, as in the paper.
    voting : {"hard", "soft"}, default="hard"
        Whether the selected members vote or average their probabilities.

    References
    ----------
    .. [1] Cruz, Sabourin, Cavalcanti and Ren, "META-DES: A dynamic ensemble selection
       framework using meta-learning", Pattern Recognition 48(5), 2015.
    """

    kinds = ("probability",)

    def __init__(
        self, n_neighbors=7, n_profiles=5, threshold=0.5, meta_classifier=None, voting="hard"
    ):
        super().__init__(n_neighbors, voting)
        self.n_profiles = n_profiles
        self.threshold = threshold
        self.meta_classifier = meta_classifier

    def _check_parameters(self, P):
        super()._check_parameters(P)
        check_number(self.n_profiles, "n_profiles", low=1, whole=True)
        check_number(self.threshold, "threshold", low=0, high=1)
        if self.meta_classifier is not None and not hasattr(self.meta_classifier, "predict_proba"):
            raise ValueError("meta_classifier must have predict_proba.")

    def _fit(self, P, codes, X, sample_weight):
        super()._fit(P, codes, X, sample_weight)
        used = np.flatnonzero(sample_weight > 0)
        if len(used) < 2:
            raise ValueError(
                "MetaDES judges samples by others and needs two or more to learn from."
            )
        P, codes = P.rows(used), codes[used]
        self._fit_profiles(P, self.n_profiles)
        self._true_probability = np.take_along_axis(P.values, codes[:, None, None], axis=2)[..., 0]
        # Each known sample is judged by its neighbours without itself.
        alone = max(1, P.n_samples - 1)
        near = self._index.kneighbors(n_neighbors=min(self._n_near, alone), return_distance=False)
        alike = self._profile_index.kneighbors(
            n_neighbors=min(self.n_profiles, alone), return_distance=False
        )
        self._n_near, self._n_alike = near.shape[1], alike.shape[1]
        if self.meta_classifier is None:
            self.meta_classifier_ = make_pipeline(Levels(), MultinomialNB())
        else:
            self.meta_classifier_ = clone(self.meta_classifier)
        said = slice(None) if P.available is None else P.available.ravel()
        right = self.right_.ravel()[said]
        self._all_alike = right.all() or not right.any()
        if not self._all_alike:
            self.meta_classifier_.fit(self._evidence(P, near, alike)[said], right)

    def _evidence(self, P, near, alike):
        """One row for each sample and member, one column for each piece of evidence."""

        def by_member(values):  # (n, k, K) -> (n * K, k)
            return values.swapaxes(1, 2).reshape(-1, values.shape[1])

        # Where a member has not spoken it was neither right nor wrong.
        right = self.right_ if self.spoken_ is None else np.where(self.spoken_, self.right_, 0.5)
        right_near = by_member(right[near])
        return np.hstack(
            [
                right_near,
                by_member(self._true_probability[near]),
                right_near.mean(axis=1, keepdims=True),
                by_member(right[alike]),
                P.values.max(axis=2).reshape(-1, 1),
            ]
        )

    def competence(self, P, region):
        """The probability that each member is right."""
        if self._all_alike:
            return np.ones((P.n_samples, P.n_members))
        alike = self._profile_region(P)[:, : self._n_alike]
        evidence = self._evidence(P, region[:, : self._n_near], alike)
        return self.meta_classifier_.predict_proba(evidence)[:, 1].reshape(P.n_samples, -1)

    def select(self, competence):
        """All members whose probability to be right is above the threshold."""
        return (competence > self.threshold).astype(float)
