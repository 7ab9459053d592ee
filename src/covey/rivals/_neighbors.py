"""Nearest neighbours whose votes have weights, as members of searches."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from covey._core.moments import moments


class NeighborsMember(ClassifierMixin, BaseEstimator):
    """The nearest rows of standardized features vote, each with its weight.

    Where weights differ, the neighborhood is as heavy as ``n_neighbors`` average rows.
    """

    def __init__(self, n_neighbors: int = 5) -> None:
        self.n_neighbors = n_neighbors

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Remember the rows."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weight = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight)
        counts = weight > 0
        self._codes, self._weight = codes[counts], weight[counts] / weight[counts].mean()
        rows = X.toarray()[counts] if issparse(X) else X[counts]
        self._mean, spread = moments(np.ascontiguousarray(rows.T), self._weight)
        self._scale = np.where(spread > 0, spread, 1.0)
        self._rows = NearestNeighbors().fit((rows - self._mean) / self._scale)
        return self

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """The classes' shares of the neighborhood, (n_samples, n_classes)."""
        check_is_fitted(self, "classes_")
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        X = ((X.toarray() if issparse(X) else X) - self._mean) / self._scale
        n_rows = len(self._codes)
        wanted = min(self.n_neighbors, n_rows)
        # Of rows that weigh alike, no further ones can count.
        read = wanted if (self._weight == 1).all() else n_rows
        near = self._rows.kneighbors(X, read, return_distance=False)
        weight = self._weight[near]
        # The row that fills the neighbourhood counts in part.
        taken = np.clip(wanted - (np.cumsum(weight, axis=1) - weight), 0.0, weight)
        codes = np.arange(len(self.classes_))
        votes = np.stack([(taken * (self._codes[near] == one)).sum(axis=1) for one in codes], 1)
        return votes / votes.sum(axis=1, keepdims=True)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The class with the largest share."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
