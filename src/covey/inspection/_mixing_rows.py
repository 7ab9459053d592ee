"""Rows in the form that users give to a model: changed, or mixed with others by columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from covey._blocks import as_table
from covey._core.arrays import BoolArray, FloatArray, IntArray, in_parts
from covey._core.inspection.contributions import differing, same_as_all
from covey._decisions import decided
from covey._devices import to_numpy
from covey.tables._categories import column_of
from covey.tables._known_columns import table_for
from covey.tables._seen_columns import (
    SeenColumn,
    SeenColumns,
    as_column,
    seen_columns,
    shown_value,
)

# Fewer rows show too little about related columns.
_FEWEST_ROWS = 20
# A column is related to another if distances fall by this share among rows alike in the other.
_LEAST = 0.1
# Rows are alike in a number if they are in the same of this many parts.
_PARTS = 5
# A row is near up to this factor of the distances between kept rows: 5 % of the rows.
_BEYOND = 0.05


class SeenTogether:
    """Distances of rows to those that a model keeps, in a column and in those related to it.

    Two numbers are as far apart as the share of rows between them; other values and gaps are 1
    apart if they differ. Beside the column itself, others count by the share by which their
    distances fall among rows that are alike in it.
    """

    def __init__(self, seen: SeenColumns) -> None:
        self._columns = seen.columns
        kept = seen.kept if len(seen.kept[:1] and seen.kept[0]) >= _FEWEST_ROWS else ()
        self._rows = [
            np.array(values, dtype=np.float64) if column.kind == "number" else _words(values)
            for column, values in zip(seen.columns, kept, strict=bool(kept))
        ]
        self._own = [self._to(place, rows) for place, rows in enumerate(self._rows)]
        self._limits: dict[int, tuple[np.ndarray, float]] = {}

    def distances(self, place: int, rows: Sequence[Sequence[Any]]) -> np.ndarray:
        """Return how far rows (m, D) are from the nearest kept row, (m,).

        1 is a little more than the distance of the kept row that is farthest from all others.
        """
        if not self._rows:
            return np.zeros(len(rows))
        weight, limit = self._limit(place)
        total = np.zeros((len(rows), len(self._rows[0])))
        for other in np.flatnonzero(weight).tolist():
            total += weight[other] * self._to(other, [row[other] for row in rows])
        found: np.ndarray = total.min(axis=1) / limit
        return found

    def _limit(self, place: int) -> tuple[np.ndarray, float]:
        """Return the weights of columns beside one, and the distance that is near."""
        if place not in self._limits:
            own = self._own[place]
            is_number = self._columns[place].kind == "number"
            alike = own <= 1 / (2 * _PARTS) if is_number else own == 0
            np.fill_diagonal(alike, False)
            weight = np.zeros(len(self._own))
            for other, distance in enumerate(self._own):
                if alike.any() and distance.any():
                    # Without the diagonal of zeros.
                    whole = distance.sum() / (len(own) * (len(own) - 1))
                    weight[other] = max(0.0, 1 - distance[alike].mean() / whole)
            weight[weight < _LEAST] = 0.0
            weight[place] = 1.0
            total = np.tensordot(weight, np.array(self._own), 1)
            np.fill_diagonal(total, np.inf)
            self._limits[place] = weight, float(total.min(axis=1).max()) + _BEYOND
        return self._limits[place]

    def _to(self, place: int, values: Sequence[Any] | np.ndarray) -> np.ndarray:
        """Return distances (m, n_kept) of values of a column to those that are kept."""
        kept = self._rows[place]
        if self._columns[place].kind != "number":
            return (_words(values)[:, None] != kept).astype(np.float64)
        ordered = np.sort(kept[~np.isnan(kept)])
        given = np.array([np.nan if one is None else one for one in values], dtype=np.float64)
        ranks = [
            (np.searchsorted(ordered, one, "left") + np.searchsorted(ordered, one, "right"))
            / max(1, 2 * len(ordered))
            for one in (given, kept)
        ]
        found = np.abs(ranks[0][:, None] - ranks[1])
        gaps = np.isnan(given)[:, None] != np.isnan(kept)
        return np.where(gaps, 1.0, found)


def _words(values: Sequence[Any] | np.ndarray) -> np.ndarray:
    """Return values as text, since a table may hold flags or numbers as categories."""
    return np.array([str(shown_value(value)) for value in values], dtype=object)


# How many rows are predicted at once.
_ROWS_AT_ONCE = 1 << 13


def column_names(model: Any, X: Any) -> list[str]:
    """Return the names of the columns that a user gives a model; x0, x1, ... if there are none."""
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
    """Return what a model remembers of its columns, or what the given rows show of them."""
    check_is_fitted(model)
    if background is not None:
        reading = getattr(getattr(model, "preparation_", None), "reading", None)
        if reading is not None and hasattr(background, "columns"):
            background = table_for(model, background)
        table = background if hasattr(background, "columns") else to_numpy(background)
        table = table if hasattr(table, "shape") else np.asarray(table)
        shape = tuple(table.shape)
        width = getattr(model, "n_features_in_", shape[-1] if shape else 0)
        if len(shape) != 2 or not shape[0] or shape[1] != width:
            raise ValueError(
                f"background must have rows, and the {width} columns of the model; got a table "
                f"of shape {shape}."
            )
        return seen_columns(table, column_names(model, table), reading=reading)
    known = getattr(model, "_seen_columns", None)
    if known is None:
        raise ValueError(
            f"This {type(model).__name__} does not know what is typical of its columns (it was "
            "saved by an older covey, fitted by blocks of rows, or is not a model of covey); give "
            "rows to learn that from as background=."
        )
    return known


def user_table(model: Any, X: Any) -> Any:
    """Return rows as a user gives them to a model: an array, a sparse matrix or a data frame."""
    table = as_table(X if hasattr(X, "columns") else to_numpy(X))
    reading = getattr(getattr(model, "preparation_", None), "reading", None)
    if reading is None or hasattr(table, "tocsr"):
        return table
    read = table_for(model, table)
    return read if hasattr(table, "columns") else read.to_numpy()


class MixedRows:
    """Rows to explain and rows to compare them with, in the form of a model's own function.

    A model of covey has ``_explained_rows(X)``, which returns rows and the user's column of each
    of their columns, and ``_answers(rows)``; the others have only their method of prediction.
    """

    def __init__(
        self, model: Any, X: Any, background: Any, n_background: int | None = None
    ) -> None:
        self.names = column_names(model, X)
        self.numeric = is_regressor(model)
        self.is_looked_at: BoolArray | None = None
        if hasattr(model, "_explained_rows"):
            self._answers: Callable[[Any], Any] = model._answers
            rows, self._units = model._explained_rows(X)
            background, _ = model._explained_rows(background)
            self.is_looked_at = model._columns_looked_at()
        else:
            self._answers = as_model_answers(model)
            rows, self._units = X, np.arange(len(self.names))
        if hasattr(rows, "to_pandas"):
            rows, background = rows.to_pandas(), background.to_pandas()
        self.n_rows, self.width = rows.shape
        self._sparse = type(rows) if hasattr(rows, "tocsr") else None
        if self._sparse is not None:
            rows, background = rows.toarray(), background.toarray()
        self._frame = None
        if hasattr(rows, "columns"):
            import pandas as pd

            with warnings.catch_warnings():
                # A column of gaps does not decide the type of both, now or later.
                warnings.simplefilter("ignore", FutureWarning)
                both = pd.concat([rows, background[list(rows.columns)]], ignore_index=True)
            self._frame = both
        else:
            self._both = np.vstack([np.asarray(rows), np.asarray(background)])
        self.beside = self._representative(background.shape[0], n_background)

    def _representative(self, count: int, most: int | None) -> IntArray:
        """Return the background's rows, or some, evenly spaced in the order of their predictions.

        So their mean prediction is about that of all.
        """
        every = np.arange(self.n_rows, self.n_rows + count)
        if most is None or count <= most:
            return every
        answers = self._predicted(np.repeat(every[:, None], self.width, axis=1))
        order = np.argsort(answers[:, answers.var(axis=0).argmax()], kind="stable")
        return every[order[((np.arange(most) + 0.5) * count / most).astype(np.intp)]]

    def differs(self) -> BoolArray:
        """Return where rows differ from one of the background in a column in use, (n, D)."""
        if self._frame is not None:
            same = np.column_stack(
                [_same(self._frame[name], self.n_rows, self.beside) for name in self._frame]
            )
        else:
            same = same_as_all(self._both[: self.n_rows], self._both[self.beside])
        found = differing(same, self._units, len(self.names))
        return found if self.is_looked_at is None else found & self.is_looked_at

    def value(self, which: IntArray, beside: IntArray, coalitions: BoolArray) -> FloatArray:
        """Return predictions (m, C) of rows with background rows' values outside of coalitions."""
        place = np.where(coalitions, which[:, None], self.beside[beside][:, None])
        return self._predicted(place[:, self._units])

    def combined(self, which: IntArray) -> FloatArray:
        """Return predictions (m, C) of rows whose columns are of rows (m, D), -1: background's."""
        return self._predicted(np.where(which < 0, self.beside[0], which)[:, self._units])

    def _predicted(self, place: IntArray) -> FloatArray:
        mixed: Any
        if self._frame is not None:
            import pandas as pd

            mixed = {
                name: self._frame[name].array.take(place[:, k])
                for k, name in enumerate(self._frame.columns)
            }
            mixed = pd.DataFrame(mixed)
        else:
            mixed = self._both[place, np.arange(self.width)]
            mixed = mixed if self._sparse is None else self._sparse(mixed)
        answers = np.asarray(self._answers(mixed), dtype=np.float64)
        return answers.reshape(len(place), -1)


def _same(column: Any, n_rows: int, beside: IntArray) -> BoolArray:
    """Return whether a column has the one value of the background; gaps are equal."""
    other, values = column.iloc[beside], column.iloc[:n_rows]
    if bool(other.isna().any()):
        return values.isna().to_numpy() & bool(other.isna().all())
    if bool((other != other.iloc[0]).any()):
        return np.zeros(n_rows, dtype=bool)
    same: BoolArray = (values == other.iloc[0]).fillna(False).to_numpy(dtype=bool)
    return same


def replaced(table: Any, rows: IntArray, columns: Sequence[int], others: IntArray) -> Any:
    """Return rows of an array or a data frame with other rows' values of some columns."""
    if not hasattr(table, "iloc"):
        found = table[rows]
        found[:, columns] = table[others][:, columns]
        return found
    found = table.iloc[rows].reset_index(drop=True)
    for column in columns:
        found.isetitem(column, table.iloc[others, column].array)
    return found


def as_model_answers(model: Any) -> Callable[[Any], Any]:
    """Return the method of any model that predicts its probabilities, or numbers."""
    if is_regressor(model):
        return model.predict
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"{type(model).__name__} predicts no probabilities, which this "
            "needs; wrap it in CalibratedClassifierCV."
        )
    return model.predict_proba


# -- one row that is changed ----------------------------------------------------------------------


class Row:
    """One row as a table, in the form that a user gives rows to a model.

    The values that were seen are those that the model remembers, or that a background shows;
    without ``needs_seen`` they may be unknown.
    """

    def __init__(
        self, model: Any, row: Any, background: Any = None, *, needs_seen: bool = True
    ) -> None:
        self.model, self.table = model, _table_of_one(model, row)
        self.names = column_names(model, self.table)
        seen = seen_by(model, background) if needs_seen else getattr(model, "_seen_columns", None)
        self.seen: tuple[SeenColumn, ...] = getattr(seen, "columns", ())
        self.together = SeenTogether(seen or SeenColumns(()))

    def place(self, column: Any, parameter: str) -> int:
        """Return the position of a column that is given by name or by position."""
        if isinstance(column, int | np.integer) and not isinstance(column, bool):
            if 0 <= column < len(self.names):
                return int(column)
        elif str(column) in self.names:
            return self.names.index(str(column))
        shown = ", ".join(map(repr, self.names[:5])) + (", ..." if len(self.names) > 5 else "")
        raise ValueError(
            f"{parameter} names {column!r}, which is not a column of the model ({shown})."
        )

    def own(self, place: int) -> Any:
        """Return the value of a column, as people read it."""
        return self.shown(place, values_of(self.table, place)[0])

    def shown(self, place: int, value: Any) -> Any:
        """Return any value of a column, as people read it."""
        return shown_value(value, self.seen[place] if self.seen else None)

    def checked(self, place: int, value: Any) -> Any:
        """Return a value for a column as a model takes it; refuse text in a column of numbers."""
        if self.seen:
            numeric = self.seen[place].kind == "number"
        elif hasattr(self.table, "columns"):
            dtype = column_of(self.table, place).dtype
            numeric = getattr(dtype, "kind", "O") in "iuf"
        else:
            numeric = np.asarray(self.table).dtype.kind in "biuf"
        try:
            if not numeric:
                return self.seen[place].raw(value) if self.seen else value
            return np.nan if value is None else float(value)
        except (TypeError, ValueError):
            what = "numbers" if numeric else "dates"
            raise ValueError(
                f"changes has {value!r} for {self.names[place]!r}, a column of {what}."
            ) from None

    def are_like_seen(self, changes: Sequence[Sequence[tuple[int, Any]]]) -> BoolArray:
        """Return whether rows with changes are like one that was seen, or as near as this one.

        Only changed columns count, and those related to them.
        """
        own = [values_of(self.table, place)[0] for place in range(len(self.names))]
        own = [None if shown_value(value) is None else value for value in own]
        rows = [list(own) for _ in changes]
        moved: dict[int, list[int]] = {}
        for number, change in enumerate(changes):
            for place, value in change:
                rows[number][place] = value
                moved.setdefault(place, []).append(number)
        alike = np.ones(len(changes), dtype=bool)
        for place, numbers in moved.items():
            far = self.together.distances(place, [own, *(rows[number] for number in numbers)])
            alike[numbers] &= far[1:] <= max(1.0, far[0])
        return alike

    def change(self, column: int, value: Any) -> dict[str, Any]:
        """Return a column's value, and the value that it is changed to."""
        to = self.shown(column, value)
        return {"column": self.names[column], "value": self.own(column), "to": to}

    def answer(self, answer: np.ndarray) -> dict[str, Any]:
        """Return the model's prediction, as a dict."""
        if not hasattr(self.model, "classes_"):
            return {"prediction": float(answer[0])}
        labels, code = self.model.classes_.tolist(), int(decided(self.model, answer[None])[0])
        return {
            "prediction": labels[code],
            "probability": float(answer[code]),
            "probabilities": dict(zip(labels, answer.tolist(), strict=True)),
        }


def _table_of_one(model: Any, row: Any) -> Any:
    if isinstance(row, Mapping) or (hasattr(row, "to_frame") and getattr(row, "ndim", 0) == 1):
        values = dict(row)
        names = getattr(model, "feature_names_in_", None)
        if names is not None:
            absent = [name for name in names if name not in values]
            if absent:
                raise ValueError(
                    f"row lacks the column {str(absent[0])!r}, which the model needs."
                )
            import pandas as pd

            row = pd.DataFrame({name: [values[name]] for name in names}).infer_objects()
        else:
            row = np.array([list(values.values())])
    elif not hasattr(row, "columns"):
        row = row if hasattr(row, "shape") else np.asarray(row)
        row = row.reshape(1, -1) if len(row.shape) == 1 else row
    table = user_table(model, row)
    if table.shape[0] != 1:
        raise ValueError(f"row must be one row, got {table.shape[0]}; take one, as X.iloc[[0]].")
    return table


def values_of(table: Any, place: int) -> list[Any]:
    """Return the values of a column of a table."""
    column = column_of(table.tocsc() if hasattr(table, "tocsc") else table, place)
    column = np.asarray(column.toarray()).ravel() if hasattr(column, "toarray") else column
    return column.tolist() if hasattr(column, "tolist") else list(column)


def varied(table: Any, of: Sequence[int], values: Sequence[Any]) -> Any:
    """Return a row once for each value, with the value in the column that it is ``of``."""
    if not hasattr(table, "columns"):
        is_sparse = hasattr(table, "tocsr")
        rows = np.repeat(table.toarray() if is_sparse else table, len(of), axis=0)
        if rows.dtype.kind in "biu":
            rows = rows.astype(np.float64)
        rows[np.arange(len(of)), of] = values
        return type(table)(rows) if is_sparse else rows
    frame = table if hasattr(table, "iloc") else table.to_pandas()
    rows = frame.iloc[np.zeros(len(of), dtype=np.intp)].reset_index(drop=True)
    for place in dict.fromkeys(of):
        name = rows.columns[place]
        changed = zip(of, values, rows[name], strict=True)
        column = [value if one == place else own for one, value, own in changed]
        rows[name] = as_column(column, rows[name].dtype)
    return rows


class TriedValues:
    """A row with each of the values that one column at a time may take.

    ``of`` (N,) is the position of the column that each of N changes is of; ``values``,
    ``distances`` and ``answers`` (N, C) are by change.
    """

    def __init__(self, row: Row, places: Sequence[int], *, even_if_not_looked_at: bool = False):
        base = MixedRows(row.model, row.table, row.table)
        self.numeric, looked_at = base.numeric, base.is_looked_at
        self.before = base.combined(np.full((1, len(base.names)), -1))[0]
        self.values, of, raw, distances = [], [], [], []
        for place in places:
            if not (even_if_not_looked_at or looked_at is None or looked_at[place]):
                continue
            column = row.seen[place]
            own = shown_value(values_of(row.table, place)[0])
            for value in column.values:
                if value is None or value == own or (own is not None and str(value) == str(own)):
                    continue
                self.values.append(value)
                of.append(place)
                raw.append(column.raw(value))
                is_near = column.kind == "number" and own is not None
                distances.append(abs(float(value) - float(own)) / column.scale if is_near else 1.0)
        self.of, self.distances = np.array(of, dtype=np.intp), np.array(distances)
        self.places = list(dict.fromkeys(of))
        if of:
            self._mixed = MixedRows(row.model, varied(row.table, of, raw), row.table)
            self.answers = self.combined(np.arange(len(of))[:, None])

    def combined(self, numbers: np.ndarray) -> np.ndarray:
        """Return predictions of rows with several changes at once, by their numbers (m, k)."""
        found = []
        for part in in_parts(len(numbers), _ROWS_AT_ONCE):
            some = numbers[part]
            which = np.full((len(some), len(self._mixed.names)), -1)
            np.put_along_axis(which, self.of[some], some, axis=1)
            found.append(self._mixed.combined(which))
        return np.concatenate(found)
