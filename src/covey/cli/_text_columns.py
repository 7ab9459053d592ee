"""Which columns of text help to predict, beside the others: names and titles do or do not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from covey.tables import TablePreparation, Text

if TYPE_CHECKING:
    from covey.cli._problem import Problem

_MOST_ROWS = 2_000
_FEWEST_ROWS = 60
_MOST_FEATURES = 400
_N_FOLDS = 3
# The share of the variance that text must explain beyond the other columns.
_LEAST_GAIN = 0.001
# Text that repeats itself is of use like categories; the doubt is about names of rows.
_SHARE_OF_NAMES = 0.5
_PENALTIES = (0.01, 0.1, 1.0)


def text_without_use(problem: Problem) -> Iterator[str]:
    """Columns of names, without which a linear model is as good on rows held out.

    The other columns are used by both; the target's classes are numbers from 0 to 1 each.
    """
    kinds, n_rows = problem.kinds, len(problem.y)
    names = {
        column.name
        for column in problem.columns
        if column.kind == "text" and column.n_values > _SHARE_OF_NAMES * n_rows and not column.drop
    }
    if n_rows < _FEWEST_ROWS or not names:
        return
    rng = np.random.default_rng(0)
    rows = rng.permutation(n_rows)[:_MOST_ROWS]
    target = _target(problem, rows)
    parts = rng.integers(_N_FOLDS, size=len(rows))
    if problem.groups is not None:
        parts = np.unique(problem.groups[rows], return_inverse=True)[1] % _N_FOLDS
    gains: dict[str, float] = {}
    for fold in range(_N_FOLDS):
        train, test = np.flatnonzero(parts != fold), np.flatnonzero(parts == fold)
        if not len(train) or not len(test):
            return
        preparation = TablePreparation(columns=kinds, random_state=0)
        known = preparation.fit_transform(problem.table.iloc[rows[train]]).to_numpy()
        new = preparation.transform(problem.table.iloc[rows[test]]).to_numpy()
        made_of = np.array(preparation.column_of_, dtype=object)
        texts = [
            name
            for name, made in preparation._encoders.items()
            if isinstance(made, Text) and name in names
        ]
        rest = ~np.isin(made_of, texts)
        if not texts or rest.sum() > _MOST_FEATURES:
            return
        base = _unexplained(known, new, target[train], target[test], rest)
        for name in texts:
            with_text = rest | (made_of == name)
            left = _unexplained(known, new, target[train], target[test], with_text)
            gains[name] = gains.get(name, 0.0) + (base - left) / _N_FOLDS
    for name, gain in gains.items():
        if gain < _LEAST_GAIN:
            yield name


def _target(problem: Problem, rows: np.ndarray) -> np.ndarray:
    """The target's values, (n_rows, n_values): one column, or one for each class."""
    y = problem.y[rows]
    if problem.regression:
        return y[:, None]
    return (y[:, None] == np.unique(y)).astype(np.float64)


def _unexplained(
    known: np.ndarray, new: np.ndarray, y_known: np.ndarray, y_new: np.ndarray, used: np.ndarray
) -> float:
    """The share of the variance of new rows that ridge regression on some columns leaves."""
    mean = y_known.mean(axis=0)
    total = ((y_new - mean) ** 2).sum()
    if not used.any() or not total:
        return 1.0
    center, scale = known[:, used].mean(axis=0), known[:, used].std(axis=0)
    scale = np.where(scale > 0, scale, np.inf)
    A, B = (np.clip((X[:, used] - center) / scale, -5.0, 5.0) for X in (known, new))
    gram, moment = A.T @ A, A.T @ (y_known - mean)
    left = []
    for penalty in _PENALTIES:
        ridge = penalty * len(A) * np.eye(len(gram))
        coefficients = np.linalg.solve(gram + ridge, moment)
        left.append(((y_new - mean - B @ coefficients) ** 2).sum())
    return float(min(left) / total)
