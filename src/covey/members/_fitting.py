"""Fitting models of any make on tables of any make."""

import numpy as np
from joblib import Parallel, delayed
from sklearn import get_config
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from covey._devices import to_numpy
from covey._validation import check_all_finite


def as_table(X):
    """What members are given: arrays, sparse matrices and frames as they are."""
    X = X if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(
            f"X must have two dimensions, rows and columns, got shape {X.shape}. Reshape your "
            "data: X.reshape(1, -1) is one row, X.reshape(-1, 1) one column."
        )
    return X


def checked_numbers(estimator, X):
    """Rows for a fitted estimator that wants finite numbers, dense or sparse."""
    check_is_fitted(estimator, "fuser_")
    X = to_numpy(X)
    if _is_plainly_right(estimator, X):
        return X
    X = validate_data(
        estimator,
        X,
        reset=False,
        accept_sparse="csr",
        dtype=(np.float64, np.float32),
        ensure_all_finite=False,
    )
    check_all_finite(X, getattr(estimator, "feature_names_in_", None))
    return X


def _is_plainly_right(estimator, X):
    """Whether there is nothing to check: for those who ask for few rows many times."""
    return (
        get_config()["assume_finite"]
        and type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and len(X) > 0
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
    )


def take_rows(X, rows):
    """Some rows of an array, sparse matrix or data frame."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X.tocsr()[rows] if hasattr(X, "tocsr") else X[rows]


# Rows that are predicted at once. Fixed, so that results do not depend on the number of jobs.
ROWS_PER_BLOCK = 1 << 14


def in_blocks(function, X, n_jobs=None):
    """A function of rows, block by block: what members say of all rows may not fit into memory."""
    starts = range(0, X.shape[0], ROWS_PER_BLOCK)
    if len(starts) < 2:
        return function(X)
    blocks = (take_rows(X, slice(start, start + ROWS_PER_BLOCK)) for start in starts)
    parts = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(function)(rows) for rows in blocks)
    return np.concatenate(parts)


def fit_member(member, name, X, y, sample_weight):
    if sample_weight is None or isinstance(member, FrozenEstimator):
        return member.fit(X, y)
    if has_fit_parameter(member, "sample_weight"):
        return member.fit(X, y, sample_weight=sample_weight)
    if isinstance(member, Pipeline):
        if get_config()["enable_metadata_routing"]:
            return member.fit(X, y, sample_weight=sample_weight)
        if has_fit_parameter(member[-1], "sample_weight"):
            step = member.steps[-1][0]
            return member.fit(X, y, **{f"{step}__sample_weight": sample_weight})
    raise TypeError(f"The member {name!r} cannot be fitted with sample_weight.")


def fit_on_rows(member, name, X, y, sample_weight, rows, fold):
    weight = None if sample_weight is None else sample_weight[rows]
    try:
        return fit_member(clone(member), name, take_rows(X, rows), y[rows], weight)
    except ValueError as error:
        raise ValueError(
            f"The member {name!r} cannot be fitted on the rows of fold {fold}: {error}"
        ) from error


def classifies(member):
    """Whether an object can be a member; models from elsewhere need not be scikit-learn's."""
    if isinstance(member, type) or not hasattr(member, "predict"):
        return False
    return is_classifier(member) if hasattr(member, "__sklearn_tags__") else True


def regresses(member):
    """The same for regressors."""
    if isinstance(member, type) or not hasattr(member, "predict"):
        return False
    return is_regressor(member) if hasattr(member, "__sklearn_tags__") else True
