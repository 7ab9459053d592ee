"""META-DES: dynamic selection by a classifier that learns when a member is right."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline

from covey._core.fusion.sources import true_probability
from covey._validation import check_number
from covey.fusers._dynamic import OutputProfiles, SelectsSeveral
from covey.fusers._neighbors import Metric
from covey.fusers._predictions import Predictions


class Levels(TransformerMixin, BaseEstimator):
    """Each number as the number of tenths that it reaches, 0 to 10."""

    def fit(self, X: np.ndarray, y: Any = None) -> Self:
        """Do nothing: the levels are fixed."""
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """The levels."""
        return np.digitize(X, np.linspace(0.1, 1.0, 10))


class MetaDES(OutputProfiles, SelectsSeveral, name="meta_des"):
    """META-DES: a classifier learns from five kinds of evidence when a member is right [1]_.

    The evidence for a member and a sample: on which neighbors it is right, with what
    probability of their true class, how accurate it is among them, on which of the samples
    with the most similar output profiles it is right, and how sure it is of itself.

    Take it with hundreds of held-out samples and a large pool; it learns when to trust a member,
    and with few samples it learns noise.

    Parameters
    ----------
    n_neighbors, voting, metric, scale
        As for `SelectsSeveral`.
    n_profiles : int, default=5
        The number of similar output profiles.
    threshold : float, default=0.5
        Members whose probability to be right is above it are selected.
    meta_classifier : classifier or None, default=None
        None is a naive Bayes classifier on evidence in ten levels, as in the paper.

    References
    ----------
    .. [1] Cruz, Sabourin, Cavalcanti and Ren, "META-DES: A dynamic ensemble selection
       framework using meta-learning", Pattern Recognition 48(5), 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey import FusionClassifier
    >>> from covey.fusers import MetaDES
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fused = FusionClassifier(members, MetaDES(n_neighbors=5)).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    kinds = ("probability",)

    def __init__(
        self,
        n_neighbors: int = 7,
        n_profiles: int = 5,
        threshold: float = 0.5,
        meta_classifier: Any = None,
        voting: str = "hard",
        *,
        metric: Metric = "euclidean",
        scale: bool = True,
    ) -> None:
        super().__init__(n_neighbors, voting, metric=metric, scale=scale)
        self.n_profiles = n_profiles
        self.threshold = threshold
        self.meta_classifier = meta_classifier

    def _check_parameters(self, P: Predictions) -> None:
        super()._check_parameters(P)
        check_number(self.n_profiles, "n_profiles", low=1, whole=True)
        check_number(self.threshold, "threshold", low=0, high=1)
        if self.meta_classifier is not None and not hasattr(self.meta_classifier, "predict_proba"):
            raise ValueError("meta_classifier must have predict_proba.")

    def _learn(self, P: Predictions, codes: np.ndarray) -> None:
        if P.n_samples < 2:
            raise ValueError(
                "MetaDES judges samples by others and needs two or more to learn from."
            )
        self._set_profiles(self._profiles(P), self.n_profiles)
        self._true_probability = true_probability(P.values, codes)
        # Each known sample is judged by its neighbors without itself.
        alone = P.n_samples - 1
        near = self._neighbors.index.kneighbors(
            n_neighbors=min(self.n_neighbors, alone), return_distance=False
        )
        alike = self._profile_index.kneighbors(
            n_neighbors=min(self.n_profiles, alone), return_distance=False
        )
        self._n_nearest, self._n_alike = near.shape[1], alike.shape[1]
        if self.meta_classifier is None:
            self.meta_classifier_ = self.default_meta()
        else:
            self.meta_classifier_ = clone(self.meta_classifier)
        available = slice(None) if P.available is None else P.available.ravel()
        right = self.right_.ravel()[available]
        self._all_alike = right.all() or not right.any()
        if not self._all_alike:
            self.meta_classifier_.fit(self._evidence(P, near, alike)[available], right)

    @staticmethod
    def default_meta() -> Pipeline:
        """The classifier that None stands for."""
        return make_pipeline(Levels(), MultinomialNB())

    def _evidence(self, P: Predictions, near: np.ndarray, alike: np.ndarray) -> np.ndarray:
        """One row for each sample and member, one column for each piece of evidence."""

        def by_member(values: np.ndarray) -> np.ndarray:  # (n, k, K) -> (n * K, k)
            return values.swapaxes(1, 2).reshape(-1, values.shape[1])

        # A member that is not available is neither right nor wrong.
        right = (
            self.right_ if self.available_ is None else np.where(self.available_, self.right_, 0.5)
        )
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

    def competence(self, P: Predictions, region: np.ndarray) -> np.ndarray:
        """The probability that each member is right."""
        if self._all_alike:
            return np.ones((P.n_samples, P.n_members))
        alike = self._profile_region(P)[:, : self._n_alike]
        evidence = self._evidence(P, region[:, : self._n_nearest], alike)
        return self.meta_classifier_.predict_proba(evidence)[:, 1].reshape(P.n_samples, -1)

    def select(self, competence: np.ndarray) -> np.ndarray:
        """All members whose probability to be right is above the threshold."""
        return (competence > self.threshold).astype(float)
