"""Nearest neighbours whose votes have weights, as members of searches."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
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
        rows = X[counts]
        if hasattr(rows, "tocsc"):
            columns = rows.tocsc()
            columns.sum_duplicates()
            mean, spread = moments(columns, self._weight)
            # Distances do not change by a shift, but a shift of dense rows keeps them precise.
            mean = np.zeros_like(mean)
        else:
            mean, spread = moments(np.ascontiguousarray(rows.T), self._weight)
        self._mean, self._scale = mean, np.where(spread > 0, spread, 1.0)
        self._rows = NearestNeighbors().fit(self._scaled(rows))
        return self

    def _scaled(self, X: Any) -> Any:
        if hasattr(X, "tocsr"):
            X = X.tocsr(copy=True)
            X.data = X.data / self._scale[X.indices]
            return X
        return (X - self._mean) / self._scale

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """The classes' shares of the neighborhood, (n_samples, n_classes)."""
        check_is_fitted(self, "classes_")
        X = self._scaled(
            validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        )
        wanted = min(self.n_neighbors, len(self._codes))
        if (self._weight == 1).all():
            near = self._rows.kneighbors(X, wanted, return_distance=False)
            taken = np.ones(near.shape)
        else:
            near = self._rows.kneighbors(X, len(self._codes), return_distance=False)
            before = np.cumsum(self._weight[near], axis=1)
            # The row that fills the neighbourhood counts in part.
            taken = np.clip(wanted - (before - self._weight[near]), 0.0, self._weight[near])
        votes = np.stack(
            [
                (taken * (self._codes[near] == code)).sum(axis=1)
                for code in range(len(self.classes_))
            ],
            axis=1,
        )
        return votes / votes.sum(axis=1, keepdims=True)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The class with the largest share."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
