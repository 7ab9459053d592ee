"""The contributions of the user's columns to a prediction, for and against it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from covey._core.inspection.contributions import SMALL_SHARE, shapley
from covey._decisions import decided
from covey._validation import check_number
from covey.inspection._mixing_rows import MixedRows, seen_by, user_table, values_of
from covey.tables._seen_columns import shown_value

# Pushes below this share of all of a row's are rounding.
_LEAST_SHARE = 1e-9
# Each row is compared with this many rows of the background.
_N_BACKGROUND = 16


@dataclass(frozen=True)
class Contributions:
    """The result of `contributions`: ``baseline + values.sum(axis=1) == prediction``.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_columns, n_classes), or (n_rows, n_columns)
        How far each column moves the probability of each class, or the number.
    standard_error : ndarray of the same shape
        Zero where values are exact.
    baseline : ndarray of shape (n_classes,), or float
        The mean prediction of the rows that it is compared with.
    prediction : ndarray of shape (n_rows, n_classes), or (n_rows,)
    columns : list of str
        The user's columns.
    typical : dict
        A typical value, or None for a gap, by column.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from covey import inspection
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=500).fit(X, y)
    >>> found = inspection.contributions(model, X[:1], background=X)
    >>> found.values.shape, len(found.columns)
    ((1, 4, 3), 4)
    """

    values: np.ndarray
    standard_error: np.ndarray
    baseline: Any
    prediction: np.ndarray
    columns: list[str]
    typical: dict[str, Any]


def contributions(model: Any, X: Any, *, background: Any = None) -> Contributions:
    """Measure how much each column moves the prediction of a row away from the average.

    These are Shapley values against training rows: columns of another row take the row's values
    one after another, each adds the following change of the prediction, and the changes are
    averaged over all orders and over 16 rows, which are chosen among 100 so that their mean
    prediction is that of all. So the contributions of a row sum to its prediction less that mean,
    for any model; columns that are alike in the model share equally, one that it does not use has
    none, and a typical value counts wherever other rows have another one.

    A single typical row is not used, since no row need be typical in all columns at once, and the
    result would depend on the values that are called typical. All rows of the background are used
    and not only those like the row, since otherwise a column that the model never uses would get
    the effects of columns that are related to it.

    They are exact if the model uses at most six columns: all their coalitions are predicted with
    all 16 rows. Otherwise orders are drawn, always the same ones, in pairs of an order and its
    reverse, at least one pair for each of the 16 rows, until the standard errors are below 1 % of
    all contributions of the row together (or 0.0025 of a probability), or 128 pairs are drawn,
    fewer if a row differs in many hundred columns. A row with D columns costs 32 D predictions or
    more. Sums are exact in any case.

    Parameters
    ----------
    model : fitted classifier with ``predict_proba``, or regressor
        A flock, another model of covey, or any model with scikit-learn's methods.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
    background : array-like, sparse matrix or data frame, optional
        Rows to compare with. Models of covey keep up to 100 rows when they are fitted; other
        models need it.

    Returns
    -------
    found : Contributions

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from covey.inspection import contributions
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=500).fit(X, y)
    >>> found = contributions(model, X[:1], background=X)
    >>> dict(zip(found.columns, found.values[0, :, 0].round(2).tolist()))
    {'sepal length (cm)': 0.02, 'sepal width (cm)': 0.03, 'petal length (cm)': 0.61, \
'petal width (cm)': 0.01}
    >>> bool(abs(found.baseline + found.values.sum(axis=1) - found.prediction).max() < 1e-12)
    True
    """
    seen = seen_by(model, background)
    X = user_table(model, X)
    mixed = MixedRows(model, X, seen.rows_like(X), _N_BACKGROUND)
    small = 0.0 if mixed.numeric else SMALL_SHARE
    found = shapley(mixed.value, mixed.differs(), len(mixed.beside), mixed.width, small)
    values, errors = found.values, found.standard_error
    baseline: Any = found.baseline
    prediction = found.prediction
    if mixed.numeric:
        values, errors, prediction = values[..., 0], errors[..., 0], prediction[:, 0]
        baseline = float(baseline[0])
    return Contributions(values, errors, baseline, prediction, mixed.names, seen.typical())


def reasons(
    model: Any, X: Any, *, top: int | None = 3, background: Any = None
) -> list[dict[str, Any]]:
    """List the reasons for and against the prediction of each row, in the user's columns.

    Parameters
    ----------
    model, X, background
        As in `contributions`.
    top : int or None, default=3
        How many columns to name on either side, at most; None: all with a push.

    Returns
    -------
    records : list of dict
        ``prediction`` and, for a classifier, its ``probability``; ``baseline``, the average of
        these over other rows; ``because`` and ``against``, each a list of dicts with ``column``,
        ``value``, ``typical`` and ``push``, the strongest first; and ``other``, the sum of all
        other columns. A push is a part of the probability of the predicted class; for a regressor
        a part of the number, and ``because`` names what moves it from the baseline towards the
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
    check_number(top, "top", low=1, whole=True, or_none=True)
    seen = seen_by(model, background)
    known = {column.name: column for column in seen.columns}
    found, table = contributions(model, X, background=background), user_table(model, X)
    table = table.tocsc() if hasattr(table, "tocsc") else table
    n_rows = len(found.prediction)
    if found.values.ndim == 2:
        pushes, prediction = found.values, found.prediction
        baseline = np.full(n_rows, found.baseline)
        heads: list[dict[str, Any]] = [{"prediction": float(one)} for one in prediction]
        towards = np.where(prediction >= baseline, 1.0, -1.0)
    else:
        code, every = decided(model, found.prediction), np.arange(n_rows)
        pushes, towards = found.values[every, :, code], np.ones(n_rows)
        prediction, baseline = found.prediction[every, code], found.baseline[code]
        heads = [
            {"prediction": label, "probability": float(one)}
            for label, one in zip(model.classes_[code].tolist(), prediction, strict=True)
        ]
    values_of_column = cache(lambda k: values_of(table, k))

    def reason(row: int, k: int) -> dict[str, Any]:
        name = found.columns[k]
        column = known.get(name)
        return {
            "column": name,
            "value": shown_value(values_of_column(k)[row], column),
            "typical": None if column is None else shown_value(column.typical, column),
            "push": float(pushes[row, k]),
        }

    records = []
    for row, (head, push) in enumerate(zip(heads, pushes, strict=True)):
        order = np.argsort(-np.abs(push), kind="stable")
        counted = order[np.abs(push[order]) > _LEAST_SHARE * np.abs(push).sum()]
        speaks_for = push[counted] * towards[row] > 0
        sides = [counted[speaks_for][:top].tolist(), counted[~speaks_for][:top].tolist()]
        # The rest, so that all parts sum to the whole whichever are named.
        named = push[sides[0]].sum() + push[sides[1]].sum()
        records.append(
            {
                **head,
                "baseline": float(baseline[row]),
                "because": [reason(row, k) for k in sides[0]],
                "against": [reason(row, k) for k in sides[1]],
                "other": float(prediction[row] - baseline[row] - named),
            }
        )
    return records
