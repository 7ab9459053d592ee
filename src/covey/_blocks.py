"""Rows of arrays, sparse matrices and data frames: checked, taken, and predicted in blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from covey._core.arrays import in_parts
from covey._core.limits import FAR, LARGEST
from covey._validation import check_column_names, check_one_target, holds_gaps, naming_tables

# How many rows are predicted at once. Fixed, so that results do not depend on the number of jobs.
ROWS_PER_BLOCK = 1 << 14
# Rows that are farther out than these are clipped if nothing else helps, to the first limit that
# suffices: coefficients of columns that vary by 1e-200 are as large as 1e200.
_FARTHEST = (FAR, 1.0, 1 / FAR, 1 / LARGEST, 0.0)


def as_table(X: Any) -> Any:
    """Return X as members receive it: arrays, sparse matrices and frames are unchanged."""
    X = frame_of_arrow(X if hasattr(X, "shape") else np.asarray(X))
    if len(X.shape) != 2:
        raise ValueError(
            f"X must have two dimensions, rows and columns, got shape {X.shape}. Reshape your "
            "data: X.reshape(1, -1) is one row, X.reshape(-1, 1) one column."
        )
    if X.shape[0] == 0:
        raise ValueError("X has no rows; give at least one.")
    check_column_names(X)
    return X


def frame_of_arrow(X: Any) -> Any:
    """Return X, as a data frame of pandas if it is a table of Arrow."""
    return X.to_pandas() if hasattr(X, "to_pandas") and not hasattr(X, "dtypes") else X


def training_table(
    estimator: BaseEstimator, X: Any, y: Any, *, gaps: bool, **how: Any
) -> tuple[Any, Any]:
    """Return X to learn from, of float64, dense or sparse, and y as the user gave it.

    X must be finite, or may have NaN too where ``gaps`` are allowed.
    """
    check_one_target(y)
    check_column_names(X)
    with naming_tables():
        X, y = validate_data(
            estimator,
            X,
            y,
            accept_sparse=("csr", "csc"),
            dtype=np.float64,
            ensure_all_finite=False,
            **how,
        )
    holds_gaps(X, getattr(estimator, "feature_names_in_", None), allowed=gaps)
    if hasattr(X, "tocsr") and not X.has_canonical_format:
        # An entry may be stored in parts; their squares are not its square.
        X = X.copy()
        X.sum_duplicates()
    return X, y


def take_rows(X: Any, rows: slice | np.ndarray) -> Any:
    """Return some rows of an array, sparse matrix or data frame."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X.tocsr()[rows] if hasattr(X, "tocsr") else X[rows]


def take_columns(X: Any, columns: np.ndarray) -> Any:
    """Return some columns of an array, sparse matrix or data frame."""
    if hasattr(X, "iloc"):
        return X.iloc[:, columns]
    if hasattr(X, "tocsr"):
        return X.tocsr()[:, columns]
    return X[:, columns if isinstance(X, np.ndarray) else columns.tolist()]


def by_blocks(
    function: Callable[[Any], np.ndarray],
    X: Any,
    n_jobs: int | None = None,
    *,
    finite: bool = False,
) -> np.ndarray:
    """Apply a function block by block: all members' predictions may not fit into memory.

    Underflow gives zero, whatever NumPy is told to do about errors. If it must be ``finite``,
    rows so far out that sums of their products are infinite, and differences of these not a
    number, are clipped.
    """

    def of_block(rows: Any) -> Any:
        with np.errstate(all="ignore"):  # inside, since threads and processes have their own state
            found = function(rows)
            for farthest in _FARTHEST if finite else ():
                lost = np.isnan(found).reshape(len(found), -1).any(axis=1)
                if not lost.any():
                    break
                nearer = take_rows(rows, np.flatnonzero(lost)).copy()
                numbers = nearer.data if hasattr(nearer, "tocsr") else nearer
                np.clip(numbers, -farthest, farthest, out=numbers)
                found[lost] = function(nearer)
            return found

    if X.shape[0] <= ROWS_PER_BLOCK:
        return of_block(X)
    blocks = (take_rows(X, rows) for rows in in_parts(X.shape[0], ROWS_PER_BLOCK))
    parts = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(of_block)(rows) for rows in blocks)
    return sparse.vstack(parts) if sparse.issparse(parts[0]) else np.concatenate(parts)
