"""Which columns make a view: by name, number, slice, mask or selector, or found by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np

from covey._columns import column_positions, positions_of_slice
from covey._core.fusion.views import (
    correlation_partition,
    correlations,
    present_views,
    random_partition,
)
from covey._core.random import Purpose, UniformRows
from covey._validation import check_choice

PARTITIONS = ("random", "correlation")


def find_views(
    views: Any,
    X: Any,
    feature_names: np.ndarray | None,
    weight: np.ndarray,
    *,
    partition: str,
    disjoint: bool,
    seed: int,
) -> dict[str, np.ndarray]:
    """The views of a table, as a dict from names to column positions."""
    n_features = X.shape[1]
    if isinstance(views, Integral) and not isinstance(views, bool):
        found = _parted(int(views), X, feature_names, weight, partition, seed)
        return {f"view {k}": columns for k, columns in enumerate(found, start=1)}
    if isinstance(views, Mapping):
        named = dict(views)
    elif isinstance(views, list | tuple):
        named = {f"view {k}": columns for k, columns in enumerate(views, start=1)}
    else:
        raise TypeError(
            "views must be a dict from names to columns, a list of such columns, or a number of "
            f"views, got {views!r}."
        )
    if not named:
        raise ValueError("views is empty; give at least one view.")
    found = {}
    for name, columns in named.items():
        if not isinstance(name, str):
            raise TypeError(f"views must be named by str, got {name!r}.")
        found[name] = _positions(columns, name, X, n_features, feature_names)
    if disjoint:
        _refuse_overlap(found, feature_names)
    return found


def missing_values(X: Any) -> np.ndarray | None:
    """Where a table has no value, (n, D) bool; None if it has all of them."""
    if hasattr(X, "tocsr"):
        entries = X.tocoo()
        lost = np.isnan(entries.data)
        if not lost.any():
            return None
        missing = np.zeros(X.shape, dtype=bool)
        missing[entries.row[lost], entries.col[lost]] = True
        return missing
    if hasattr(X, "isna"):
        missing = X.isna().to_numpy(dtype=bool)
    elif isinstance(X, np.ndarray):
        if X.dtype.kind not in "fO":
            return None
        missing = X != X
    else:
        columns = [np.asarray(X[:, column]) for column in range(X.shape[1])]
        missing = np.stack([_missing_entries(column) for column in columns], axis=1)
    return missing if missing.any() else None


def _missing_entries(column):
    if column.dtype.kind == "O":
        return np.array([entry is None or entry != entry for entry in column], dtype=bool)
    return column != column


def take_columns(X: Any, columns: np.ndarray) -> Any:
    """Some columns of an array, sparse matrix or data frame."""
    if hasattr(X, "iloc"):
        return X.iloc[:, columns]
    if isinstance(X, np.ndarray) or hasattr(X, "tocsr"):
        return X[:, columns]
    return X[:, [int(column) for column in columns]]


def label_of(column: int, feature_names: np.ndarray | None) -> str:
    """What a message calls a column."""
    return int(column) if feature_names is None else repr(str(feature_names[column]))


# -- views that are given ----------------------------------------------------------------------


def _positions(columns, view, X, n_features, feature_names):
    """Positions of one view's columns, in the order given."""
    owner = f"The view {view!r}"
    if callable(columns):
        columns = columns(X)
    if isinstance(columns, slice):
        columns = positions_of_slice(columns, owner, n_features, feature_names)
    if isinstance(columns, str | Integral):
        columns = [columns]
    if not hasattr(columns, "__iter__"):
        raise TypeError(
            f"{owner} must be columns by name, number, slice, mask or selector, got {columns!r}."
        )
    columns = list(columns)
    if columns and all(isinstance(column, bool | np.bool_) for column in columns):
        if len(columns) != n_features:
            raise ValueError(
                f"{owner} is a mask of {len(columns)} columns, but X has {n_features}."
            )
        columns = np.flatnonzero(columns).tolist()
    if not columns:
        raise ValueError(f"{owner} is empty; give it a column, or leave it out.")
    # Negative numbers count from the last column.
    columns = [
        column + n_features
        if isinstance(column, Integral) and -n_features <= column < 0
        else column
        for column in columns
    ]
    positions = column_positions(columns, owner, n_features, feature_names)
    for place, position in enumerate(positions):
        if position in positions[:place]:
            raise ValueError(f"{owner} names column {label_of(position, feature_names)} twice.")
    return np.array(positions)


def _refuse_overlap(views, feature_names):
    owner = {}
    for name, columns in views.items():
        for column in columns.tolist():
            if column in owner:
                raise ValueError(
                    f"disjoint=True asks for views that share no column, but column "
                    f"{label_of(column, feature_names)} is in view {owner[column]!r} and in view "
                    f"{name!r}."
                )
            owner[column] = name


# -- views that are found ----------------------------------------------------------------------


def _parted(n_views, X, feature_names, weight, partition, seed):
    check_choice(partition, "partition", PARTITIONS)
    n_features = X.shape[1]
    if n_views < 1:
        raise ValueError(f"views must be at least 1, got {n_views}.")
    if n_views > n_features:
        raise ValueError(
            f"views={n_views} asks for {n_views} disjoint views, but X has {n_features} "
            "feature(s); ask for fewer views."
        )
    if n_views == 1:
        return [np.arange(n_features)]
    if partition == "random":
        draws = UniformRows(seed, Purpose.START, 0, 0, 1).read(0, n_features)[:, 0]
        found = random_partition(draws, n_views)
        return sorted(found, key=lambda columns: columns[0])
    numbers = _numbers(X, feature_names)
    infinite = np.isinf(numbers).any(axis=0)
    if infinite.any():
        column = label_of(int(infinite.argmax()), feature_names)
        raise ValueError(
            f"partition='correlation' compares numbers, but column {column} holds infinity; "
            "impute it, or drop the row or column."
        )
    return correlation_partition(correlations(numbers, weight), n_views)


def _numbers(X, feature_names):
    """The columns as numbers, to compare them."""
    if hasattr(X, "tocsr"):
        return X.toarray().astype(np.float64)
    if isinstance(X, np.ndarray):
        return X.astype(np.float64)
    numbers = np.empty(X.shape)
    for column in range(X.shape[1]):
        entries = X.iloc[:, column] if hasattr(X, "iloc") else X[:, column]
        try:
            numbers[:, column] = np.asarray(entries, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"partition='correlation' compares numbers, but column "
                f"{label_of(column, feature_names)} holds none; use partition='random', or name "
                "the views."
            ) from None
    return numbers


def rows_with_views(X: Any, views: Mapping[str, np.ndarray]) -> np.ndarray:
    """Which rows have which view, (n, V) bool."""
    missing = missing_values(X)
    if missing is None:
        return np.ones((X.shape[0], len(views)), dtype=bool)
    return present_views(missing, list(views.values()))


def column_means(X: Any, weight: np.ndarray) -> np.ndarray:
    """The weighted means of columns that are numbers, for fusers that use X."""
    if hasattr(X, "tocsr"):
        X = X.tocsc()
        known = ~np.isnan(X.data)
        column = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
        weights = weight[X.indices]
        total = np.bincount(column[known], (weights * X.data)[known], X.shape[1])
        lost = np.bincount(column[~known], weights[~known], X.shape[1])
        remaining = weight.sum() - lost
        return np.divide(total, remaining, out=np.zeros_like(total), where=remaining > 0)
    try:
        X = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return np.zeros(X.shape[1])  # the fuser will refuse these columns by itself
    known = ~np.isnan(X)
    total, remaining = weight @ np.where(known, X, 0.0), weight @ known
    return np.divide(total, remaining, out=np.zeros_like(total), where=remaining > 0)


def fill_missing(X: Any, means: np.ndarray) -> Any:
    """A table of numbers with the means of the columns where it has no value."""
    missing = missing_values(X)
    if missing is None:
        return X
    if hasattr(X, "tocsr"):
        X = X.copy()
        X.data = np.where(np.isnan(X.data), means[X.indices], X.data)
        return X
    return np.where(missing, means, np.asarray(X, dtype=np.float64))
