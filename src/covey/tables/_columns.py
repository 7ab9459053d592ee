"""Columns that users name: which flip together, and which never leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral
from typing import Any

import numpy as np

Names = Sequence[str] | np.ndarray
# Columns as users name them, by name or number.
ColumnNames = str | int | Sequence[str | int] | np.ndarray


def column_positions(
    columns: Any, parameter: str, n_features: int, feature_names: Names | None
) -> list[int]:
    """Return positions of columns that a user gave by name or number as the named parameter."""
    if isinstance(columns, str | Integral):
        columns = [columns]
    if not hasattr(columns, "__iter__"):
        raise TypeError(f"{parameter} must name columns by str or int, got {columns!r}.")
    numbers = {} if feature_names is None else {name: i for i, name in enumerate(feature_names)}
    positions = []
    for column in columns:
        if isinstance(column, str):
            if feature_names is None:
                raise ValueError(
                    f"{parameter} names the column {column!r}, but X has no column names; "
                    "give column numbers, or X as a data frame."
                )
            if column not in numbers:
                near = get_close_matches(column, numbers, n=3, cutoff=0.0)
                raise ValueError(
                    f"{parameter} names the column {column!r}, which X does not have; the "
                    f"nearest are {', '.join(map(repr, near))}."
                )
            positions.append(numbers[column])
        elif isinstance(column, Integral) and not isinstance(column, bool | np.bool_):
            if not 0 <= int(column) < n_features:
                raise ValueError(
                    f"{parameter} names the column {column}, but X has columns 0 to "
                    f"{n_features - 1}."
                )
            positions.append(int(column))
        else:
            raise TypeError(f"{parameter} must name columns by str or int, got {column!r}.")
    return positions


def chosen_columns(columns: Any, parameter: str, X: Any, feature_names: Names | None) -> list[int]:
    """Return positions of columns that users name in any way, in the order given.

    By name, number (negative ones count from the last), a slice of either, a mask, or a function
    of X that gives one of these.
    """
    n_features = X.shape[1]
    columns = columns(X) if callable(columns) else columns
    if isinstance(columns, slice):
        start, stop = (
            column_positions(end, parameter, n_features, feature_names)[0]
            if isinstance(end, str)
            else end
            for end in (columns.start, columns.stop)
        )
        if isinstance(columns.stop, str):
            stop += 1  # an end that is a name belongs to the slice, as in pandas
        columns = list(range(*slice(start, stop, columns.step).indices(n_features)))
    if isinstance(columns, str | Integral):
        columns = [columns]
    if not hasattr(columns, "__iter__"):
        raise TypeError(
            f"{parameter} must be columns by name, number, slice, mask or selector, got "
            f"{columns!r}."
        )
    columns = list(columns)
    if columns and all(isinstance(column, bool | np.bool_) for column in columns):
        if len(columns) != n_features:
            raise ValueError(
                f"{parameter} is a mask of {len(columns)} columns, but X has {n_features}."
            )
        columns = np.flatnonzero(columns).tolist()
    for place, column in enumerate(columns):
        if isinstance(column, Integral) and -n_features <= column < 0:
            columns[place] = column + n_features
    return column_positions(columns, parameter, n_features, feature_names)


def label_of(column: int, feature_names: Any) -> Any:
    """Return the name of a column in messages."""
    return int(column) if feature_names is None else repr(str(feature_names[column]))


def flip_units(
    feature_groups: Any, always_keep: Any, barred: np.ndarray, feature_names: Names | None
) -> np.ndarray:
    """Return the unit of each feature; those of one unit flip together, and -1 never flips.

    ``barred`` (n_features,) are features that are never used.
    """
    n_features = len(barred)
    unit = np.arange(n_features)
    group_of: dict[int, Any] = {}
    groups = feature_groups if feature_groups is not None else []
    if isinstance(groups, str) or not hasattr(groups, "__iter__"):
        raise TypeError(
            f"feature_groups must hold groups of columns, as lists or by name, got {groups!r}."
        )
    named = groups.items() if isinstance(groups, Mapping) else enumerate(groups)
    for name, columns in named:
        positions = column_positions(columns, "feature_groups", n_features, feature_names)
        if not positions:
            raise ValueError(f"feature_groups holds the empty group {name!r}.")
        for position in positions:
            if position in group_of:
                label = position if feature_names is None else repr(feature_names[position])
                raise ValueError(
                    f"feature_groups must not overlap, but column {label} is in group "
                    f"{group_of[position]!r} and again in group {name!r}."
                )
            group_of[position] = name
        unit[positions] = positions[0]
    kept = column_positions(
        [] if always_keep is None else always_keep, "always_keep", n_features, feature_names
    )
    # A group with a column that must stay, stays.
    fixed = barred | np.isin(unit, unit[kept])
    numbered = np.full(n_features, -1)
    numbered[~fixed] = np.unique(unit[~fixed], return_inverse=True)[1].ravel()
    return numbered


def feature_names(model: Any) -> list[str]:
    """Return the names of a model's features; x0, x1, ... if it knows none.

    Examples
    --------
    >>> import covey
    >>> from covey.tables._columns import feature_names
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> feature_names(covey.SubsetEnsembleClassifier(2, random_state=0).fit(X, y))
    ['x0', 'x1']
    """
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return [f"x{position}" for position in range(model.n_features_in_)]
    return [str(name) for name in names]
