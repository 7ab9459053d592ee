"""Predictions of Dask collections: by block, and only when they are computed."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
from sklearn.base import is_regressor
from sklearn.utils.validation import validate_data

from covey._core.fusion.rules import constant_by_counts, decision_counts
from covey.dask._loading import delayed_blocks, in_whole_rows, is_frame


def check_columns(estimator: Any, X: Any, reset: bool = False) -> None:
    """Compare the columns of a collection with those of the fit, or store them."""
    if is_frame(X):
        columns = pd.DataFrame(columns=X.columns)
    else:
        columns = np.empty((0, in_whole_rows(X).shape[1]))
    validate_data(estimator, columns, reset=reset, skip_check_array=True)


def lazily(estimator: Any, method: str, X: Any, **how: Any) -> Any:
    """Return what a method of a fitted estimator returns for a collection.

    The result is a Dask array with the blocks of X, whose lengths are not known if X is a frame; a
    Dask frame if the method returns data frames.

    Examples
    --------
    >>> import dask.array as da
    >>> import covey
    >>> from covey.dask._lazy import lazily
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.SubsetEnsembleClassifier(2, random_state=0).fit(X, y)
    >>> lazily(flock, "predict", da.from_array(X, chunks=(100, 2))).compute().shape
    (200,)
    """
    check_columns(estimator, X)
    row = np.zeros((1, estimator.n_features_in_))
    if hasattr(estimator, "feature_names_in_"):
        row = pd.DataFrame(row, columns=estimator.feature_names_in_)
    nothing = getattr(estimator, method)(row, **how)[:0]
    if is_frame(X):
        return X.map_partitions(_result, estimator, method, how, nothing, meta=nothing)
    if isinstance(nothing, pd.DataFrame):
        import dask.dataframe as dd

        values = lazily(estimator, method, X, **{**how, "as_frame": False})
        return dd.from_dask_array(values, columns=list(nothing.columns))
    X = in_whole_rows(X)
    shape = nothing.shape[1:]
    return da.map_blocks(
        _result,
        X,
        estimator,
        method,
        how,
        nothing,
        dtype=nothing.dtype,
        meta=nothing,
        chunks=(X.chunks[0], *((size,) for size in shape)),
        drop_axis=[] if shape else 1,
        new_axis=list(range(2, nothing.ndim)),
    )


def _result(rows: Any, estimator: Any, method: str, how: dict[str, Any], nothing: Any) -> Any:
    return getattr(estimator, method)(rows, **how) if rows.shape[0] else nothing


def lazy_score(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the accuracy, also of the oracle, or R^2 of a regressor, over all blocks.

    Examples
    --------
    >>> import dask.array as da
    >>> import covey
    >>> from covey.dask._lazy import lazy_score
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.SubsetEnsembleClassifier(2, random_state=0).fit(X, y)
    >>> blocks = da.from_array(X, chunks=(100, 2)), da.from_array(y, chunks=100)
    >>> bool(abs(lazy_score(flock, *blocks) - flock.score(X, y)) < 1e-12)
    True
    """
    check_columns(estimator, X)
    if estimator.fuser_.needs_y:
        return _oracle_score(estimator, X, y, sample_weight)
    part = dask.delayed(_errors if is_regressor(estimator) else _accuracy, pure=False)
    blocks = delayed_blocks(X, y, sample_weight)
    parts = dask.compute(*(part(estimator, *block) for block in blocks))
    parts = np.array([sums for sums in parts if sums[0] > 0])
    if not len(parts):
        raise ValueError("No row has a weight above 0, so nothing can be scored.")
    weight = parts[:, 0]
    if not is_regressor(estimator):
        return float(weight @ parts[:, 1] / weight.sum())
    _, squared_error, mean, spread = parts.T
    apart = mean - weight @ mean / weight.sum()
    total = spread.sum() + weight @ apart**2
    if total == 0:
        # This is scikit-learn's convention for a constant y.
        return float(squared_error.sum() == 0)
    return float(1.0 - squared_error.sum() / total)


def _oracle_score(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Return the score of a flock that the oracle fuses: see its ``oracle_score``.

    Only all blocks together show which members are constant, so these are read twice.
    """
    blocks = delayed_blocks(X, y, sample_weight)
    count = dask.delayed(_decision_counts, pure=False)
    counts = dask.compute(*(count(estimator, rows) for rows, _, _ in blocks))
    constant = constant_by_counts(np.sum(counts, axis=0))
    part = dask.delayed(_right, pure=False)
    parts = dask.compute(*(part(estimator, constant, *block) for block in blocks))
    total, together, *alone = np.sum(parts, axis=0)
    if not total:
        raise ValueError("No row has a weight above 0, so nothing can be scored.")
    return float(max(together, *np.where(constant, alone, 0.0)) / total)


def _decisions(estimator: Any, X: Any) -> Any:
    """Return the decision of each member for the rows of a block, (n, K), as class positions."""
    return estimator.member_probabilities(X).argmax(axis=2)


def _decision_counts(estimator: Any, X: Any) -> np.ndarray:
    shape = estimator.n_estimators_, len(estimator.classes_)
    if not X.shape[0]:
        return np.zeros(shape, dtype=np.int64)
    return decision_counts(_decisions(estimator, X), None, shape[1])


def _right(estimator: Any, constant: np.ndarray, X: Any, y: Any, weight: Any) -> np.ndarray:
    """Return the weights of a block, of rows right by any varying member, and by each."""
    if not X.shape[0]:
        return np.zeros(2 + len(constant))
    weight = _weights(y, weight)
    right = estimator.classes_[_decisions(estimator, X)] == np.asarray(y)[:, None]
    together = right[:, ~constant].any(axis=1)
    return np.array([weight.sum(), weight @ together, *(weight @ right)])


def _weights(y: Any, weight: Any) -> np.ndarray:
    return np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)


def _accuracy(estimator: Any, X: Any, y: Any, weight: Any) -> tuple[float, float]:
    """Return the sum of the weights of a block, and its accuracy."""
    total = float(_weights(y, weight).sum())
    return total, estimator.score(X, y, weight) if total else 0.0


def _errors(estimator: Any, X: Any, y: Any, weight: Any) -> tuple[float, float, float, float]:
    """Return the sum of the weights of a block, of squared errors, mean and spread of y."""
    y, weight = np.asarray(y, dtype=np.float64), _weights(y, weight)
    total = float(weight.sum())
    if not total:
        return 0.0, 0.0, 0.0, 0.0
    mean = float(weight @ y / total)
    error = y - estimator.predict(X)
    return total, float(weight @ error**2), mean, float(weight @ (y - mean) ** 2)
