"""Which known samples are the nearest to others, and how far away they are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from covey._core.limits import FAR

METRICS = ("euclidean", "manhattan", "chebyshev", "cosine", "mahalanobis")
_OF_SPARSE_ROWS = ("euclidean", "manhattan", "cosine")
_IN_TREES = ("euclidean", "manhattan", "chebyshev")

Metric = str | Callable[[np.ndarray, np.ndarray], float]

# Powers of two up to this have squares, and sums of them, that are neither infinite nor zero.
_ORDINARY = 300


def neighbor_index(
    points: Any, n_neighbors: int, metric: Metric = "euclidean"
) -> NearestNeighbors:
    """scikit-learn's index, of the kind that is fastest for this many points and columns.

    A tree wins only if points are many for their dimension: measured, more than 250 * 2**D.
    (scikit-learn's "auto" takes one for up to 15 columns, where it can be ten times slower.)
    """
    n_points, n_columns = points.shape
    many = not hasattr(points, "tocsr") and np.log2(n_points / 250) > n_columns
    tree = many and metric in _IN_TREES
    return NearestNeighbors(
        n_neighbors=n_neighbors, metric=metric, algorithm="kd_tree" if tree else "brute"
    ).fit(points)


def check_metric(metric: Any) -> None:
    """Refuse what is no metric of dynamic selection."""
    if not callable(metric) and not (isinstance(metric, str) and metric in METRICS):
        listed = ", ".join(repr(name) for name in METRICS)
        raise ValueError(
            f"metric must be one of {listed} or a function of two rows, got {metric!r}."
        )


def _distance(metric: Callable[[np.ndarray, np.ndarray], float], one: Any, other: Any) -> float:
    """A user's distance of two rows, if it is one."""
    try:
        found = float(metric(one, other))
    except (TypeError, ValueError) as error:
        raise ValueError(f"metric must give a number for two rows: {error}") from error
    if not 0.0 <= found < np.inf:
        raise ValueError(
            f"metric must give distances that are finite and not negative, got {found} for two "
            "rows."
        )
    return found


def check_size(X: Any) -> None:
    """Refuse numbers whose squares overflow."""
    numbers = X.data if hasattr(X, "tocsr") else X
    largest = np.abs(numbers).max(initial=0.0)
    if largest > FAR:
        raise ValueError(
            f"X holds a number of size {largest:.3g}, whose square is beyond floating point; "
            "rescale X, or set scale=True."
        )


def scaler_of(X: Any) -> StandardScaler:
    """Standardizes columns of any finite size.

    Those whose squares are infinite or zero are divided by a power of two, which rounds nothing.
    """
    sparse = hasattr(X, "tocsr")
    scaler = StandardScaler(with_mean=not sparse)
    size = abs(X).max(axis=0).toarray().ravel() if sparse else np.abs(X).max(axis=0)
    power = np.frexp(size)[1]
    power[np.abs(power) < _ORDINARY] = 0
    if not power.any():
        return scaler.fit(X)
    if sparse:
        X = X.tocsr(copy=True)
        X.data = np.ldexp(X.data, -power[X.indices])
    else:
        X = np.ldexp(X, -power)
    scaler.fit(X)
    scaler.mean_ = None if scaler.mean_ is None else np.ldexp(scaler.mean_, power)
    scaler.scale_ = np.maximum(np.ldexp(scaler.scale_, power), np.finfo(np.float64).tiny)
    scaler.var_ = scaler.scale_**2
    return scaler


def bounded(X: Any) -> Any:
    """Rows whose distances are finite: what lies beyond `FAR` lies there."""
    if hasattr(X, "tocsr"):
        X = X.copy()
        np.clip(X.data, -FAR, FAR, out=X.data)
        return X
    return np.clip(X, -FAR, FAR)


class Neighbors:
    """Known samples (n_known, D) and a metric.

    Mahalanobis distances are Euclidean ones along the axes of the known samples' covariance, in
    units of their standard deviations there; axes along which they do not vary are left out.
    """

    def __init__(self, points: Any, n_neighbors: int, metric: Metric) -> None:
        if hasattr(points, "tocsr") and metric not in _OF_SPARSE_ROWS:
            listed = ", ".join(repr(name) for name in _OF_SPARSE_ROWS)
            raise ValueError(
                f"metric={metric!r} needs dense rows; sparse ones have {listed}, or give "
                "X.toarray()."
            )
        self._axes = None
        if metric == "mahalanobis":
            self._axes, metric = _axes_of(points), "euclidean"
        if callable(metric):
            metric = partial(_distance, metric)
        self._metric = metric
        self._points = self._turned(points)
        self.index = neighbor_index(self._points, n_neighbors, metric)

    def nearest(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """How far away the nearest known samples of scaled rows are, and which they are.

        Both are (n, k), the nearest first.
        """
        distance, region = self.index.kneighbors(self._turned(X))
        return distance, region

    def distances(self, X: Any) -> np.ndarray:
        """How far away all known samples are, (n, n_known), in their own order."""
        return pairwise_distances(self._turned(X), self._points, metric=self._metric)

    def _turned(self, X: Any) -> Any:
        return X if self._axes is None else bounded(X @ self._axes)


def _axes_of(points: np.ndarray) -> np.ndarray:
    """The axes (D, m) along which points vary, divided by their standard deviations there."""
    centered = points - points.mean(axis=0)
    _, deviation, axes = np.linalg.svd(centered, full_matrices=False)
    varies = deviation > 1e-10 * max(deviation.max(initial=0.0), 1e-300)
    if not varies.any():
        return np.eye(points.shape[1])
    return axes[varies].T * (np.sqrt(max(1, len(points) - 1)) / deviation[varies])
