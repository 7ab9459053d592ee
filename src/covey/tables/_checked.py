"""Tables as users give them to estimators, checked, and read as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_X_y
from sklearn.utils.validation import validate_data

from covey._blocks import as_table, frame_of_arrow, training_table
from covey._validation import (
    as_numbers,
    check_column_names,
    check_labels,
    check_one_target,
    holds_gaps,
    kind_of_target,
)
from covey.tables._categories import (
    check_no_dates,
    is_from_dtype,
    is_table_of_columns,
    naming_columns,
)
from covey.tables._columns import column_positions
from covey.tables._preparation import Preparation
from covey.tables._row_names import without_useless_names
from covey.tables._table_reader import TableReader, learn_reading

_NOTHING_LEFT = (
    "No column of X is left to learn from: each is empty or names the rows; give a column that "
    "knows something, or X as an array."
)


def checked_table(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    *,
    known: Preparation | None = None,
    groups: Any = None,
    **how: Any,
) -> tuple[Any, Any, TableReader | None]:
    """Return X to learn from and y, checked, and how X was read.

    X has floats, dense or sparse, with NaN for gaps and codes for categories.
    """
    reset = how.get("reset", True)
    wanted = estimator.categorical_features
    X = frame_of_arrow(X)
    check_column_names(X)
    check_one_target(y)
    if not (wanted is None or is_from_dtype(wanted)):
        X = as_table(X if hasattr(X, "shape") else np.asarray(X, dtype=object))
    if reset:
        keep = _kept(estimator, X)
        recipe = getattr(estimator, "estimator", estimator)  # of a selector
        reading = learn_reading(X, wanted, keep=keep, gaps=getattr(recipe, "gaps", None))
    else:
        reading = None if known is None else known.reading
    if reading is None:
        check_no_dates(X)
        with naming_columns(X):
            X, y = training_table(estimator, X, y, gaps=True, **how)
        return X, _target(y, how), None
    if not len(reading.feature_of):
        raise ValueError(_NOTHING_LEFT)
    how.pop("reset", None)
    X = as_table(X if hasattr(X, "shape") else np.asarray(X, dtype=object))
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    name = type(estimator).__name__
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    made, y = check_X_y(
        reading.read(X), y, ensure_all_finite=False, estimator=name, dtype=np.float64, **how
    )
    y = _target(y, how)
    holds_gaps(made, _names_read(estimator, reading))
    if not reset or not is_from_dtype(wanted):
        return made, y, reading
    useful = without_useless_names(reading, X, y, groups, how.get("y_numeric", False), keep)
    if not len(useful.feature_of):
        raise ValueError(_NOTHING_LEFT)
    return made[:, np.isin(reading.feature_of, useful.feature_of)], y, useful


def _target(y: Any, how: dict[str, Any]) -> Any:
    """Return labels as they are, or finite numbers, as far as it is known which they must be."""
    numeric = how.get("y_numeric")
    if numeric:
        return as_numbers(y)
    (kind_of_target if numeric is None else check_labels)(y)
    return y


def _kept(estimator: Any, X: Any) -> frozenset[int]:
    """Return the positions of the columns that a user wants in any case."""
    if not is_table_of_columns(X):
        return frozenset()
    kept, names = set[int](), [str(name) for name in X.columns]
    for parameter in ("always_keep", "monotone"):
        columns = getattr(estimator, parameter, None)
        if columns is not None:
            kept.update(column_positions(columns, parameter, len(names), names))
    return frozenset(kept)


def _names_read(estimator: Any, reading: TableReader) -> np.ndarray | None:
    """Return the names of the columns of a table as it is read, if its features have some."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else np.array(reading.names(names), dtype=object)


def checked_codes(estimator: Any, X: Any, preparation: Preparation) -> Any:
    """Return rows as floats, with NaN for gaps and codes for categories, for a preparation."""
    if preparation.reading is None or hasattr(X, "tocsr"):
        X = checked_numbers_with_gaps(estimator, X)
        holds_gaps(X, getattr(estimator, "feature_names_in_", None))
        return X
    X = as_table(X if hasattr(X, "shape") else np.asarray(X, dtype=object))
    names = getattr(estimator, "feature_names_in_", np.empty(0)).tolist()
    if names and is_table_of_columns(X) and set(names) <= set(X.columns):
        X = X[names]  # in any order, and with others beside them
    validate_data(estimator, X, reset=False, skip_check_array=True)
    X = preparation.reading.read(X)
    holds_gaps(X, _names_read(estimator, preparation.reading))
    return X


def checked_numbers_with_gaps(estimator: Any, X: Any) -> Any:
    """Return rows as floats, with NaN for gaps, of the columns that an estimator knows."""
    dtypes: Any = (np.float64, np.float32)
    how = {"reset": False, "accept_sparse": "csr", "dtype": dtypes, "ensure_all_finite": False}
    if not is_table_of_columns(X):
        return validate_data(estimator, X, **how)
    if X.shape[1] != estimator.n_features_in_:
        validate_data(estimator, X, reset=False, skip_check_array=True)  # says which are too many
    check_no_dates(X)
    with naming_columns(X):
        return validate_data(estimator, X, **how)
