"""Why a row is predicted as it is: what speaks for the decision, and what against it."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey._categories import column_of
from covey._seen_columns import SeenColumns, shown_value
from covey._validation import check_number
from covey.inspection._contributions import Contributions, contributions
from covey.inspection._mixing_rows import seen_by, user_table

# Pushes of a smaller share of all of a row's are rounding.
_LEAST_SHARE = 1e-9


def reasons(
    model: Any, X: Any, *, top: int | None = 3, background: Any = None
) -> list[dict[str, Any]]:
    """For each row what speaks for its prediction and what against it, in the user's columns.

    Parameters
    ----------
    model, X, background
        As for `contributions`.
    top : int or None, default=3
        How many columns to name on either side, at most; None: all that count.

    Returns
    -------
    records : list of dict
        ``prediction`` and, of a classifier, its ``probability``; ``baseline``, the same of the
        typical row; ``because`` and ``against``, each a list of dicts with ``column``, ``value``,
        ``typical`` and ``push``, the strongest first; and ``other``, what all other columns add.
        A push is a part of the probability of the predicted class; of a regressor it is a part of
        the number, and ``because`` is what moves it in the direction from the baseline to the
        prediction. The baseline, all pushes and ``other`` sum to the probability, or the number.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from covey.inspection import reasons
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=500).fit(X, y)
    >>> (record,) = reasons(model, X[:1], top=1, background=X)
    >>> [one["column"] for one in record["because"]], record["prediction"]
    (['petal length (cm)'], 0)
    """
    if top is not None:
        check_number(top, "top", low=1, whole=True)
    seen = seen_by(model, background)
    found = contributions(model, X, background=background)
    return as_reasons(model, user_table(model, X), found, seen, top)


def as_reasons(
    model: Any, table: Any, found: Contributions, seen: SeenColumns, top: int | None
) -> list[dict[str, Any]]:
    """Contributions as records, of rows whose values are in a table of the user's."""
    values = _Values(table, found.columns, seen)
    if found.values.ndim == 2:
        prediction = found.prediction
        baseline = np.full(len(prediction), found.baseline)
        heads: list[dict[str, Any]] = [{"prediction": float(one)} for one in prediction]
        pushes = found.values
        towards = np.where(prediction >= baseline, 1.0, -1.0)
    else:
        code = found.prediction.argmax(axis=1)
        every = np.arange(len(code))
        prediction, baseline = found.prediction[every, code], found.baseline[code]
        labels = model.classes_[code].tolist()
        heads = [
            {"prediction": label, "probability": float(one)}
            for label, one in zip(labels, prediction, strict=True)
        ]
        pushes, towards = found.values[every, :, code], np.ones(len(code))
    records = []
    for row, (head, push) in enumerate(zip(heads, pushes, strict=True)):
        order = np.argsort(-np.abs(push), kind="stable")
        counted = order[np.abs(push[order]) > _LEAST_SHARE * np.abs(push).sum()]
        speaks_for = push[counted] * towards[row] > 0
        named = [counted[speaks_for][:top], counted[~speaks_for][:top]]
        # Of what is left out, so that all parts sum to the whole whatever is named.
        other = float(prediction[row] - baseline[row] - sum(push[side].sum() for side in named))
        records.append(
            {
                **head,
                "baseline": float(baseline[row]),
                "because": [values.reason(row, k, float(push[k])) for k in named[0]],
                "against": [values.reason(row, k, float(push[k])) for k in named[1]],
                "other": other,
            }
        )
    return records


class _Values:
    """What rows have in each column, and what is typical."""

    def __init__(self, table: Any, names: list[str], seen: SeenColumns) -> None:
        self._table = table.tocsc() if hasattr(table, "tocsc") else table
        self._names = names
        self._seen = {column.name: column for column in seen.columns}
        self._columns: dict[int, Any] = {}

    def reason(self, row: int, column: int, push: float) -> dict[str, Any]:
        name = self._names[column]
        if column not in self._columns:
            found = column_of(self._table, column)
            if hasattr(found, "toarray"):
                found = np.asarray(found.toarray()).ravel()
            self._columns[column] = found.tolist() if hasattr(found, "tolist") else list(found)
        known = self._seen.get(name)
        return {
            "column": name,
            "value": shown_value(self._columns[column][row], known),
            "typical": None if known is None else shown_value(known.typical, known),
            "push": push,
        }
