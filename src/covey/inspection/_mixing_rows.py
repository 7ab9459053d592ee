"""Rows of a model beside the typical row, mixed column by column."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from covey._blocks import as_table
from covey._core.arrays import BoolArray, FloatArray, IntArray
from covey._core.inspection.contributions import differing
from covey._devices import to_numpy
from covey._seen_columns import SeenColumns, seen_columns


def column_names(model: Any, X: Any) -> list[str]:
    """The names of the columns that a user gives a model; x0, x1, ... where there are none."""
    known = getattr(model, "_seen_columns", None)
    if known is not None:
        return known.names
    names = getattr(model, "feature_names_in_", None)
    if names is None and hasattr(X, "columns"):
        names = [name for name in X.columns if isinstance(name, str)]
    if names is None or len(names) < X.shape[1]:
        return [f"x{position}" for position in range(X.shape[1])]
    return [str(name) for name in names]


def seen_by(model: Any, background: Any = None) -> SeenColumns:
    """What a model remembers of its columns, or what rows that are given show of them."""
    check_is_fitted(model)
    if background is not None:
        if hasattr(model, "_seen_in"):
            return model._seen_in(background)
        table = background if hasattr(background, "columns") else to_numpy(background)
        table = table if hasattr(table, "shape") else np.asarray(table)
        shape = tuple(table.shape)
        width = getattr(model, "n_features_in_", shape[-1] if shape else 0)
        if len(shape) != 2 or not shape[0] or shape[1] != width:
            raise ValueError(
                f"background must have rows, and the {width} columns of the model; got a table "
                f"of shape {shape}."
            )
        return seen_columns(table, column_names(model, table))
    known = getattr(model, "_seen_columns", None)
    if known is None:
        raise ValueError(
            f"This {type(model).__name__} does not know what is typical of its columns (it was "
            "saved by an older covey, fitted by blocks of rows, or is no model of covey); give "
            "rows to learn that from as background=."
        )
    return known


def user_table(model: Any, X: Any) -> Any:
    """Rows as a user gives them to a model: an array, a sparse matrix or a data frame."""
    if hasattr(model, "_as_user_table"):
        return model._as_user_table(X)
    return as_table(X if hasattr(X, "columns") else to_numpy(X))


class MixedRows:
    """Rows to explain and a row to compare them with, as a model's own function takes them.

    A model of covey has ``_explained_rows(X)``, which gives rows and the user's column that each
    of their columns is made of, and ``_answers(rows)``; any other is asked for its prediction.
    """

    def __init__(self, model: Any, X: Any, typical: Any) -> None:
        self.names = column_names(model, X)
        self.numeric = is_regressor(model)
        self.is_looked_at: BoolArray | None = None
        if hasattr(model, "_explained_rows"):
            self._answers: Callable[[Any], Any] = model._answers
            rows, self._units = model._explained_rows(X)
            typical, _ = model._explained_rows(typical)
            self.is_looked_at = model._columns_looked_at()
        else:
            self._answers = _plain_answers(model)
            rows, self._units = X, np.arange(len(self.names))
        if hasattr(rows, "to_pandas"):
            rows, typical = rows.to_pandas(), typical.to_pandas()
        self.n_rows, self.width = rows.shape
        self._sparse = type(rows) if hasattr(rows, "tocsr") else None
        if self._sparse is not None:
            rows, typical = rows.toarray(), typical.toarray()
        self._frame = None
        if hasattr(rows, "columns"):
            import pandas as pd

            with warnings.catch_warnings():
                # A column of gaps has no say in the type of both, now or later.
                warnings.simplefilter("ignore", FutureWarning)
                both = pd.concat([rows, typical[list(rows.columns)]], ignore_index=True)
            self._frame = both
        else:
            self._rows, self._typical = np.asarray(rows), np.asarray(typical)

    def differs(self) -> BoolArray:
        """Where rows differ from the typical one in a column that is looked at, (n, D)."""
        if self._frame is not None:
            same = np.column_stack(
                [_same(self._frame[name]) for name in self._frame.columns]
            ).astype(bool)
        else:
            same = self._rows == self._typical
            if self._rows.dtype.kind == "f":
                same |= np.isnan(self._rows) & np.isnan(self._typical)
        found = differing(same, self._units, len(self.names))
        return found if self.is_looked_at is None else found & self.is_looked_at

    def value(self, which: IntArray, coalitions: BoolArray) -> FloatArray:
        """Predictions (m, C) of rows whose columns outside of coalitions are typical."""
        own = coalitions[:, self._units]
        if self._frame is not None:
            return self._taken(np.where(own, which[:, None], self.n_rows))
        return self._answered(np.where(own, self._rows[which], self._typical))

    def combined(self, which: IntArray) -> FloatArray:
        """Predictions (m, C) of rows that have each column of a row (m, D), -1: the typical."""
        place = np.where(which < 0, self.n_rows, which)[:, self._units]
        if self._frame is not None:
            return self._taken(place)
        both = np.vstack([self._rows, self._typical])
        return self._answered(both[place, np.arange(self.width)])

    def _taken(self, place: IntArray) -> FloatArray:
        """Predictions of rows of a data frame, each column of the row at a place (m, P)."""
        import pandas as pd

        columns = {
            name: self._frame[name].array.take(place[:, k])
            for k, name in enumerate(self._frame.columns)
        }
        return self._answered(pd.DataFrame(columns))

    def _answered(self, mixed: Any) -> FloatArray:
        mixed = mixed if self._sparse is None else self._sparse(mixed)
        answers = np.asarray(self._answers(mixed), dtype=np.float64)
        return answers.reshape(mixed.shape[0], -1)


def _same(column: Any) -> Any:
    """Whether values of a column are its last one; gaps are."""
    last = column.iloc[-1]
    values = column.iloc[:-1]
    if bool(column.isna().iloc[-1]):
        return values.isna().to_numpy()
    return (values == last).fillna(False).to_numpy(dtype=bool)


def _plain_answers(model: Any) -> Callable[[Any], Any]:
    if is_regressor(model):
        return model.predict
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"{type(model).__name__} predicts no probabilities, of which contributions are "
            "parts; wrap it in CalibratedClassifierCV."
        )
    return model.predict_proba
