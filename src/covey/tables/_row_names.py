"""Columns of names: whether their words help to predict, or only distinguish rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from covey._blocks import take_rows
from covey._folds import check_groups
from covey.tables._categories import as_series, column_of
from covey.tables._encoders import Text
from covey.tables._learning import SHARE_OF_NAMES
from covey.tables._preparation import needs_target, prepare
from covey.tables._table_reader import TableReader

# This many rows show whether names help to predict.
_MOST_ROWS, _FEWEST_ROWS, _N_FOLDS = 2_000, 60, 3
_MOST_FEATURES_BESIDE = 400
# A target with more different numbers has values.
_MOST_CLASSES = 200
# The share of the variance that text must explain beyond the other columns.
_LEAST_GAIN = 0.001


def without_useless_names(
    reading: TableReader,
    X: Any,
    y: np.ndarray,
    groups: Any = None,
    numeric: bool = False,
    keep: Collection[int] = (),
) -> TableReader:
    """Return the reading without columns of names that do not help a linear model.

    They are tested on rows held out, beside all other columns; classes are numbers from 0 to 1
    each.
    """
    y, n_rows = np.asarray(y), X.shape[0]
    names = [
        place
        for place, encoder in enumerate(reading.encoders)
        if isinstance(encoder, Text)
        and place not in keep
        and as_series(column_of(X, place)).nunique() > SHARE_OF_NAMES * n_rows
    ]
    if not names or n_rows < _FEWEST_ROWS:
        return reading
    rng = np.random.default_rng(0)
    rows = rng.permutation(n_rows)[:_MOST_ROWS]
    y = y[rows, None]
    numeric = numeric or (y.dtype.kind == "f" and len(np.unique(y)) > _MOST_CLASSES)
    y = y.astype(np.float64) if numeric else (y == np.unique(y)).astype(np.float64)
    fold = rng.integers(_N_FOLDS, size=len(rows))
    if groups is not None:
        fold = np.unique(check_groups(groups, n_rows)[rows], return_inverse=True)[1] % _N_FOLDS
    # If there are many categories, only the target makes numbers of them.
    few = TableReader(
        tuple(None if needs_target(TableReader((one,))) else one for one in reading.encoders)
    )
    made, numbers = prepare(few.read(take_rows(X, rows)), few, np.ones(len(rows)), None)
    rest = ~np.isin(made.column_of, names)
    if rest.sum() > _MOST_FEATURES_BESIDE:
        return reading
    gains = dict.fromkeys(names, 0.0)
    for held_out in (fold == one for one in range(_N_FOLDS)):
        if held_out.all() or not held_out.any():
            return reading
        parts = numbers[~held_out], numbers[held_out], y[~held_out], y[held_out]
        least = _unexplained(rest, *parts)
        for place in names:
            gains[place] += least - _unexplained(rest | (made.column_of == place), *parts)
    useless = {place for place in names if gains[place] < _N_FOLDS * _LEAST_GAIN}
    return TableReader(
        tuple(None if place in useless else one for place, one in enumerate(reading.encoders))
    )


def _unexplained(
    used: np.ndarray, known: np.ndarray, new: np.ndarray, y_known: np.ndarray, y_new: np.ndarray
) -> float:
    """Return the share of the variance of new rows that ridge regression on columns leaves."""
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    mean = y_known.mean(axis=0)
    total = ((y_new - mean) ** 2).sum()
    if not used.any() or not total:
        return 1.0
    scaler = StandardScaler().fit(known[:, used])
    known, new = (np.clip(scaler.transform(X[:, used]), -5.0, 5.0) for X in (known, new))
    left = []
    for penalty in (0.01, 0.1, 1.0):
        ridge = Ridge(penalty * len(known), fit_intercept=False).fit(known, y_known - mean)
        errors = y_new - mean - ridge.predict(new).reshape(y_new.shape)
        left.append((errors**2).sum())
    return float(min(left) / total)
