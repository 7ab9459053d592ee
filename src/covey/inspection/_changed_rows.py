"""A row that is changed, in the form in which the user gives rows to a model."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from covey._categories import column_of
from covey._seen_columns import SeenColumn, SeenColumns, as_column, shown_value
from covey.inspection._mixing_rows import MixedRows, user_table

# Rows that are predicted at once.
_ROWS_AT_ONCE = 1 << 13


def one_row(model: Any, row: Any) -> Any:
    """A row as a table of one, in the form that the user gives rows to a model."""
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


def seen_of(model: Any) -> SeenColumns | None:
    """What a model remembers of its columns, if it does."""
    return getattr(model, "_seen_columns", None)


def column_position(column: Any, names: list[str], parameter: str) -> int:
    """A column by its name, or by its position."""
    if isinstance(column, int | np.integer) and not isinstance(column, bool):
        if 0 <= column < len(names):
            return int(column)
    elif str(column) in names:
        return names.index(str(column))
    shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
    raise ValueError(f"{parameter} names {column!r}, which is no column of the model ({shown}).")


def checked_value(
    value: Any, name: str, table: Any, place: int, known: dict[str, SeenColumn]
) -> Any:
    """A value for a column, as a model takes it; text in a column of numbers is refused."""
    seen = known.get(name)
    if hasattr(table, "columns"):
        dtype = column_of(table, place).dtype
        numeric = getattr(dtype, "kind", "O") in "iuf" if seen is None else seen.kind == "number"
    else:
        numeric = np.asarray(table).dtype.kind in "biuf"
    if not numeric:
        return value if seen is None else seen.raw(value)
    try:
        return np.nan if value is None else float(value)
    except (TypeError, ValueError):
        raise ValueError(f"changes has {value!r} for {name!r}, a column of numbers.") from None


def with_values(table: Any, place: int, values: Sequence[Any]) -> Any:
    """The row as often as there are values, with each of them in a column."""
    if not hasattr(table, "columns"):
        is_sparse = hasattr(table, "tocsr")
        rows = np.repeat(table.toarray() if is_sparse else table, len(values), axis=0)
        if rows.dtype.kind in "biu":
            rows = rows.astype(np.float64)
        rows[:, place] = values
        return type(table)(rows) if is_sparse else rows
    if not hasattr(table, "iloc"):
        table = table.to_pandas()
    rows = table.iloc[np.zeros(len(values), dtype=np.intp)].reset_index(drop=True)
    name = rows.columns[place]
    rows[name] = as_column(values, rows[name].dtype)
    return rows


def value_of(table: Any, place: int) -> Any:
    """The value of a column in a table of one row."""
    column = column_of(table.tocsc() if hasattr(table, "tocsc") else table, place)
    column = np.asarray(column.toarray()).ravel() if hasattr(column, "toarray") else column
    return column.iloc[0] if hasattr(column, "iloc") else column[0]


def shown_of(table: Any, place: int, known: SeenColumn | None) -> Any:
    """The same as people read it."""
    return shown_value(value_of(table, place), known)


def answer_of(model: Any, answer: np.ndarray) -> dict[str, Any]:
    """What a model says, as a dict."""
    if not hasattr(model, "classes_"):
        return {"prediction": float(answer[0])}
    labels, code = model.classes_.tolist(), int(answer.argmax())
    return {
        "prediction": labels[code],
        "probability": float(answer[code]),
        "probabilities": dict(zip(labels, answer.tolist(), strict=True)),
    }


class TriedValues:
    """A row with each of the values that one column at a time may take.

    ``of`` (N,) is the position of the column that each of N changes is of; ``values``,
    ``distances`` and ``answers`` (N, C) are by change.
    """

    def __init__(
        self,
        model: Any,
        table: Any,
        seen: SeenColumns,
        may_change: Any,
        kinds: Collection[str] = ("number", "word"),
        *,
        even_if_not_looked_at: bool = False,
    ) -> None:
        base = MixedRows(model, table, table)
        self.numeric = base.numeric
        self.before = base.combined(np.full((1, len(base.names)), -1))[0]
        looked_at = base.is_looked_at
        self.columns, parts = [], []
        self.own: dict[int, Any] = {}
        for place, column in enumerate(seen.columns):
            is_used = even_if_not_looked_at or looked_at is None or looked_at[place]
            if column.kind not in kinds or not is_used or not may_change(place):
                continue
            own = self.own[place] = shown_value(value_of(table, place))
            shown_own = None if own is None else str(own)
            values = [
                value
                for value in column.values
                if value is not None and value != own and str(value) != shown_own
            ]
            if values:
                self.columns.append((place, column, values))
                parts.append(with_values(table, place, [column.raw(one) for one in values]))
        self.places = [place for place, _, _ in self.columns]
        if not self.places:
            return
        self._mixed = MixedRows(model, _stacked(parts), table)
        self.of = np.concatenate([np.full(len(v), p) for p, _, v in self.columns])
        self.values = [value for _, _, values in self.columns for value in values]
        self.distances = np.concatenate(
            [[_distance(self.own[p], v, c) for v in values] for p, c, values in self.columns]
        )
        self.answers = self.combined(np.arange(len(self.of))[:, None])

    def combined(self, numbers: np.ndarray) -> np.ndarray:
        """Answers of rows that have several changes at once, by their numbers (m, k)."""
        found = []
        width = len(self._mixed.names)
        for start in range(0, len(numbers), _ROWS_AT_ONCE):
            some = numbers[start : start + _ROWS_AT_ONCE]
            which = np.full((len(some), width), -1)
            np.put_along_axis(which, self.of[some], some, axis=1)
            found.append(self._mixed.combined(which))
        return np.concatenate(found)


def _distance(own: Any, value: Any, column: SeenColumn) -> float:
    if column.kind != "number" or own is None:
        return 1.0
    return abs(float(value) - float(own)) / column.scale


def _stacked(tables: list[Any]) -> Any:
    if hasattr(tables[0], "columns"):
        import pandas as pd

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            return pd.concat(tables, ignore_index=True)
    if hasattr(tables[0], "tocsr"):
        return type(tables[0])(np.vstack([one.toarray() for one in tables]))
    return np.vstack(tables)
