"""What each of the user's columns contributes to a prediction; the parts add up to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from covey._core.inspection.contributions import SMALL_SHARE, shapley
from covey.inspection._mixing_rows import MixedRows, seen_by, user_table


@dataclass(frozen=True)
class Contributions:
    """What `contributions` found: ``baseline + values.sum(axis=1) == prediction``.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_columns, n_classes), or (n_rows, n_columns)
        How far each column moves the probability of each class, or the number.
    standard_error : ndarray of the same shape
        Zero where values are exact.
    baseline : ndarray of shape (n_classes,), or float
        What the model predicts of the typical row.
    prediction : ndarray of shape (n_rows, n_classes), or (n_rows,)
    columns : list of str
        The user's columns.
    typical : dict
        The typical row: a value, or None for a gap, by column.

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
    """How much each column moves the prediction of a row away from that of the typical row.

    These are Shapley values: columns take the row's values one after another, from a typical row
    on, each adds what the prediction then moves by, and that is averaged over all orders. So the
    contributions of a row sum to its prediction less that of the typical row, whatever the model;
    columns that are alike in the model share equally, and one that it does not look at has none.

    They are exact where a row differs from the typical one in at most ten columns (that the model
    looks at). Else orders are drawn, always the same ones, in pairs of an order and its reverse,
    until the standard errors are below 1 % of all contributions of the row together (or 0.0025
    of a probability), or 128 pairs are drawn, fewer where a row differs in many hundred columns.
    Sums are exact in any case.

    Parameters
    ----------
    model : fitted classifier with ``predict_proba``, or regressor
        A flock, another model of covey, or any model with scikit-learn's methods.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
    background : array-like, sparse matrix or data frame, optional
        Rows that show what is typical: the median of numbers, the commonest category. Models of
        covey have learnt that when they were fitted; others need it.

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
    {'sepal length (cm)': 0.02, 'sepal width (cm)': 0.02, 'petal length (cm)': 0.92, \
'petal width (cm)': 0.01}
    >>> bool(abs(found.baseline + found.values.sum(axis=1) - found.prediction).max() < 1e-12)
    True
    """
    seen = seen_by(model, background)
    X = user_table(model, X)
    mixed = MixedRows(model, X, seen.row_like(X))
    small = 0.0 if mixed.numeric else SMALL_SHARE
    found = shapley(mixed.value, mixed.differs(), mixed.width, small)
    values, errors = found.values, found.standard_error
    baseline: Any = found.baseline
    prediction = found.prediction
    if mixed.numeric:
        values, errors, prediction = values[..., 0], errors[..., 0], prediction[:, 0]
        baseline = float(baseline[0])
    return Contributions(values, errors, baseline, prediction, mixed.names, seen.typical())
