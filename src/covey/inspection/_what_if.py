"""What a model would say of a row if it were another: some columns changed, or one at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from covey._core.inspection.contributions import shapley
from covey._seen_columns import shown_value
from covey.inspection._changed_rows import (
    TriedValues,
    answer_of,
    checked_value,
    column_position,
    one_row,
    seen_of,
    shown_of,
    with_values,
)
from covey.inspection._mixing_rows import MixedRows, column_names, seen_by


@dataclass(frozen=True)
class WhatIf:
    """What `what_if` found.

    Attributes
    ----------
    before, after : dict
        ``prediction`` and, of a classifier, ``probability`` and ``probabilities`` by class.
    moved : list of dict
        For each column that was changed: ``column``, ``value`` (before), ``to``, and ``push``, how
        far it moves the number, or the probability of the class that was predicted before. Pushes
        sum to the difference of both.
    """

    before: dict[str, Any]
    after: dict[str, Any]
    moved: list[dict[str, Any]]


@dataclass(frozen=True)
class Curve:
    """What a model says of a row for other values of one column: of all that were kept.

    Attributes
    ----------
    column : str
    kind : {"number", "word", "date", "time"}
    values : list
        In ascending order, the row's own among them; words begin with it.
    own : int
        The position of the row's own value.
    answers : ndarray of shape (n_values, n_classes), or (n_values,)
        Probabilities, or numbers.
    """

    column: str
    kind: str
    values: list[Any]
    own: int
    answers: np.ndarray


def what_if(model: Any, row: Any, changes: Mapping[Any, Any]) -> WhatIf:
    """What a model predicts of a row as it is, and of one in which columns are changed.

    Parameters
    ----------
    model : fitted classifier with ``predict_proba``, or regressor
    row : data frame or array with one row, Series, one-dimensional array or dict
    changes : mapping from column to value
        Columns by name, or by position where the model knows no names; None is a gap.

    Returns
    -------
    found : WhatIf

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from covey.inspection import what_if
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=500).fit(X, y)
    >>> found = what_if(model, X.iloc[0], {"petal length (cm)": 5.0})
    >>> found.before["prediction"], found.after["prediction"]
    (0, 1)
    """
    if not isinstance(changes, Mapping) or not changes:
        raise ValueError(f"changes must be a dict from columns to values, got {changes!r}.")
    table = one_row(model, row)
    names = column_names(model, table)
    known = {column.name: column for column in getattr(seen_of(model), "columns", ())}
    wanted = {}
    for column, value in changes.items():
        place = column_position(column, names, "changes")
        wanted[place] = checked_value(value, names[place], table, place, known)
    changed = table
    for place, value in wanted.items():
        changed = with_values(changed, place, [value])
    mixed = MixedRows(model, changed, table)
    found = shapley(mixed.value, _only(mixed, wanted), mixed.width)
    before, after = (answer_of(model, one) for one in (found.baseline, found.prediction[0]))
    code = 0 if mixed.numeric else int(found.baseline.argmax())
    moved = [
        {
            "column": names[place],
            "value": shown_of(table, place, known.get(names[place])),
            "to": shown_value(value, known.get(names[place])),
            "push": float(found.values[0, place, code]),
        }
        for place, value in wanted.items()
    ]
    return WhatIf(before, after, moved)


def curves(
    model: Any, row: Any, columns: Sequence[Any] | None = None, *, background: Any = None
) -> list[Curve]:
    """What a model says of a row for each value of one column at a time.

    Parameters
    ----------
    model, row, background
        As for `smallest_change`.
    columns : sequence of columns, optional
        By default all that have other values.

    Returns
    -------
    found : list of Curve
        The model's exact answers at values that were seen when it was fitted.
    """
    table, seen = one_row(model, row), seen_by(model, background)
    names = column_names(model, table)
    wanted = None
    if columns is not None:
        wanted = [column_position(column, names, "columns") for column in columns]
    tried = TriedValues(
        model,
        table,
        seen,
        lambda place: wanted is None or place in wanted,
        kinds=("number", "word", "date", "time"),
        even_if_not_looked_at=True,
    )
    found = {curve.column: curve for curve in _curves_of(tried, names)}
    order = names if wanted is None else [names[place] for place in wanted]
    return [found[name] for name in order if name in found]


def _only(mixed: MixedRows, places: Collection[int]) -> np.ndarray:
    """Where the changed row differs, in the columns that were to change."""
    wanted = np.zeros(len(mixed.names), dtype=bool)
    wanted[list(places)] = True
    found: np.ndarray = mixed.differs() & wanted
    return found


def _curves_of(tried: TriedValues, names: list[str]) -> Iterator[Curve]:
    for place, column, values in tried.columns:
        answers = tried.answers[tried.of == place]
        own, shown = tried.own[place], [shown_value(one, column) for one in values]
        at = 0
        if column.kind == "number" and own is not None:
            at = int(np.searchsorted(values, own))
        elif column.kind in ("date", "time") and own is not None:
            at = sum(str(one) < str(own) for one in values)
        shown.insert(at, shown_value(own, column))
        answers = np.insert(answers, at, tried.before, axis=0)
        answers = answers[:, 0] if tried.numeric else answers
        yield Curve(names[place], column.kind, shown, at, answers)
