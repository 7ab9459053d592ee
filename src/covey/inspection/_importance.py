"""The importance of columns: the loss of a model that does not know one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_regressor
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from covey._blocks import take_rows
from covey._core.inspection.importance import (
    N_DRAWS,
    AlikeRows,
    Answers,
    PlainAnswers,
    rises,
)
from covey._core.random import Purpose, UniformRows
from covey._devices import to_numpy
from covey._folds import check_groups
from covey._state import Array, Index, Text, Told
from covey._validation import check_number, check_sample_weight
from covey.fusers._predictions import encode_labels
from covey.inspection._mixing_rows import as_model_answers, column_names, replaced, user_table
from covey.tables._categories import plain_numbers
from covey.tables._columns import feature_names
from covey.tables._preparation import prepare
from covey.tables._table_reader import learn_reading

# The most rows that are measured, and where there are many columns.
MOST_ROWS, _FEWEST_ROWS = 2000, 300
# The most predictions of rows, over all columns, of a short table; numbers in these rows; and
# columns that are measured.
_FEW_PREDICTIONS, _MOST_NUMBERS, _MOST_COLUMNS = 1 << 15, 1 << 21, 200
_SURE = 1.959963984540054


@dataclass(frozen=True)
class Importance:
    """The loss of a model that does not know a column.

    Columns that can replace each other (`together`) have in equal parts the worth that they have
    together beyond the worth of each by itself.

    Attributes
    ----------
    columns : tuple of str
        The user's columns.
    loss : ndarray of shape (n_columns,)
        The rise of the mean log-loss or, for numbers, of the squared error as a share of the
        variance of y. Below zero, a column does more harm than good on these rows.
    low, high : ndarray of shape (n_columns,)
        The 95 % interval of this rise, over rows (or groups of them).
    points : ndarray of shape (n_columns,)
        The fall of accuracy, or of R^2.
    group : ndarray of shape (n_columns,)
        The number of the group of columns that can replace each other, see ``together``; -1 for
        others.
    rows : str
        The rows on which it was measured, in words.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from covey.inspection import column_importance
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=500).fit(X[::2], y[::2])
    >>> found = column_importance(model, X[1::2], y[1::2])
    >>> [found.columns[place] for place in found.order[:2]]
    ['petal length (cm)', 'petal width (cm)']
    >>> found.rows
    '75 rows that were given'
    """

    columns: Annotated[tuple[str, ...], Told(lambda model: tuple(feature_names(model)), "D")]
    loss: Annotated[np.ndarray, Array("D")]
    low: Annotated[np.ndarray, Array("D")]
    high: Annotated[np.ndarray, Array("D")]
    points: Annotated[np.ndarray, Array("D")]
    group: Annotated[np.ndarray, Index("D", "D", none=True)]
    rows: Annotated[str, Text()]

    @property
    def together(self) -> list[list[int]]:
        """The positions of columns that can replace each other: only one of them is needed."""
        groups = [np.flatnonzero(self.group == number) for number in np.unique(self.group)]
        return [one.tolist() for one in groups if len(one) > 1 and self.group[one[0]] >= 0]

    @property
    def share(self) -> np.ndarray:
        """Each column's share in all that is lost, (n_columns,); they sum to one, or are 0."""
        lost = np.maximum(self.loss, 0.0)
        return lost / lost.sum() if lost.any() else lost

    @property
    def order(self) -> np.ndarray:
        """The positions of the columns, the most important first."""
        return np.argsort(-self.loss, kind="stable")

    def ranked(self) -> list[tuple[tuple[str, ...], float]]:
        """Return columns and their shares, the largest first; those in a group count as one."""
        group_of = {place: tuple(group) for group in self.together for place in group}
        groups = dict.fromkeys(group_of.get(place, (place,)) for place in self.order.tolist())
        share = self.share
        found = [
            (tuple(self.columns[place] for place in group), float(share[list(group)].sum()))
            for group in groups
        ]
        return sorted(found, key=lambda one: -one[1])

    def on_columns(self, names: Sequence[str], of: np.ndarray) -> Importance:
        """Return the importance of other columns, each of which these columns are parts ``of``."""

        def added(values: np.ndarray) -> np.ndarray:
            return np.bincount(of, values, minlength=len(names))

        loss = added(self.loss)
        half = added((self.high - self.low) / 2)
        group = np.full(len(names), -1)
        for number, places in enumerate(self.together):
            group[of[places]] = number
        low, high = loss - half, loss + half
        return Importance(tuple(names), loss, low, high, added(self.points), group, self.rows)

    def in_parts(self, names: Sequence[str], of: np.ndarray) -> Importance:
        """Return the importance of the parts ``of`` these columns, which share it equally."""
        n_parts = np.bincount(of)[of]
        loss, low, high, points = (
            values[of] / n_parts for values in (self.loss, self.low, self.high, self.points)
        )
        return Importance(tuple(names), loss, low, high, points, self.group[of], self.rows)


def column_importance(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    random_state: int = 0,
    rows: str | None = None,
) -> Importance:
    """Measure the loss of a model on some rows if it does not know a column.

    A row keeps its other columns and takes this one from four other rows, which are similar in the
    rest; the mean of the predictions is all that the model can know without the column. So the
    loss rises about as much as it does when the model is fitted again without the column, and not
    by the errors on impossible rows: a column that others determine is worth little. If one column
    determines most of another, both are also measured together, and each gets half of what only
    both of them know.

    Parameters
    ----------
    model : fitted classifier with ``predict_proba``, or regressor
        A flock, another model of covey, or any model with scikit-learn's methods.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
        Rows that the model was not fitted on: it knows too much about others.
    y : array-like of shape (n_rows,)
        Their classes or numbers.
    sample_weight : array-like of shape (n_rows,), optional
        How much each row counts.
    groups : array-like of shape (n_rows,), optional
        Rows that belong together; the interval is over groups.
    random_state : int, default=0
        Seeds the choice among the rows of a long table, and among equally similar rows.
    rows : str, optional
        A description of these rows.

    Returns
    -------
    found : Importance

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from covey.inspection import column_importance
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = LinearRegression().fit(X[::2], y[::2])
    >>> found = column_importance(model, X[1::2], y[1::2])
    >>> sorted(found.columns[place] for place in found.order[:2])
    ['bmi', 's5']
    """
    check_is_fitted(model)
    check_number(random_state, "random_state", whole=True, low=0)
    for name, given in (("X", X), ("y", y)):
        if hasattr(given, "__dask_graph__"):
            raise TypeError(f"column_importance takes rows in memory; give {name}.compute().")
    table, y = user_table(model, X), to_numpy(y)
    check_consistent_length(table, y)
    weight = check_sample_weight(to_numpy(sample_weight), len(y))
    names = column_names(model, table)
    used = np.flatnonzero(weight)
    kept = used[sampled_rows(len(used), len(names), random_state)]
    table, truth, weight = take_rows(table, kept), np.asarray(y)[kept], weight[kept]
    if groups is not None:
        groups = check_groups(groups, len(y))[kept]
    classes = None if is_regressor(model) else model.classes_
    numbers, unit, answers = _asked(model, table)
    looked_at = np.ones(len(names), dtype=bool)
    if hasattr(model, "_columns_looked_at"):
        looked_at = model._columns_looked_at()
    return measured(
        [answers],
        numbers,
        unit,
        names,
        (truth, classes),
        weight,
        used=most_used(looked_at, looked_at.astype(np.float64)),
        groups=groups,
        seed=random_state,
        rows=f"{len(kept):,} rows that were given" if rows is None else rows,
    )


def measured(
    answers: Sequence[Answers],
    numbers: np.ndarray,
    unit: np.ndarray,
    names: Sequence[str],
    target: tuple[np.ndarray, np.ndarray | None],
    weight: np.ndarray,
    *,
    used: np.ndarray,
    groups: np.ndarray | None = None,
    seed: int,
    rows: str,
) -> Importance:
    """Measure the importance of columns by the predictions of models.

    ``numbers`` (n, P) are made of the rows and ``unit`` (P,) is the column of each; ``used``
    columns are measured, others have no importance. The ``target`` is y, and the classes of a
    classifier.
    """
    n_columns, (truth, classes) = len(names), target
    if classes is None:
        truth = truth.astype(np.float64).ravel()
    else:
        truth = encode_labels(truth, np.asarray(classes), "y holds")
    made = np.flatnonzero(np.isin(unit, used) & (np.ptp(numbers, axis=0) > 0))
    used = np.intersect1d(used, unit[made])
    loss, half, points = np.zeros((3, n_columns))
    group = np.full(n_columns, -1)
    if len(used) and len(truth) > 2:
        spread = None
        if classes is None:
            mean = np.average(truth, weights=weight)
            spread = float(np.average((truth - mean) ** 2, weights=weight)) or 1.0
        with np.errstate(all="ignore"):
            alike = AlikeRows(numbers[:, made], unit[made], seed)
            found = rises(answers, alike, n_columns, used.tolist(), truth, spread)
        share = weight / weight.sum()
        loss, points = found.loss @ share, found.points @ share
        half = _SURE * _standard_errors(found.loss - loss[:, None], share, groups)
        for number, places in enumerate(found.together):
            group[places] = number
    return Importance(tuple(names), loss, loss - half, loss + half, points, group, rows)


def _standard_errors(
    errors: np.ndarray, share: np.ndarray, groups: np.ndarray | None
) -> np.ndarray:
    """Return standard errors (D,) of weighted means, by the errors (D, n) of rows or groups."""
    sums = errors * share
    if groups is not None:
        _, position = np.unique(groups, return_inverse=True)
        sums = np.array([np.bincount(position, row) for row in sums])
    n_sums = np.count_nonzero(sums.any(axis=0)) if sums.any() else sums.shape[1]
    return np.sqrt((sums**2).sum(axis=1) * n_sums / max(n_sums - 1, 1))


def sampled_rows(n_rows: int, n_columns: int, seed: int, width: int | None = None) -> np.ndarray:
    """Return the positions of the rows that are measured, in a table that has this many."""
    most = _FEW_PREDICTIONS // (N_DRAWS * max(1, n_columns))
    # A fit of more rows takes longer, and so may this.
    most = max(most, n_rows // 4, _FEWEST_ROWS)
    most = min(most, MOST_ROWS, max(3, _MOST_NUMBERS // max(width or 1, 1)))
    if n_rows <= most:
        return np.arange(n_rows)
    draws = UniformRows(seed, Purpose.EXPLAIN, 2, 0, 1).read(0, n_rows)[:, 0]
    return np.sort(np.argsort(draws, kind="stable")[:most])


def most_used(used: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the positions of the columns in use (D,) that are measured: the largest by size."""
    order = np.argsort(-np.where(used, sizes, -1.0), kind="stable")
    return np.sort(order[: min(_MOST_COLUMNS, int(np.sum(used)))])


def _asked(model: Any, table: Any) -> tuple[np.ndarray, np.ndarray, Answers]:
    """Return rows as numbers, the column that each is made of, and the model's predictions."""
    if hasattr(model, "_explained_rows"):
        predict, (rows, unit) = model._answers, model._explained_rows(table)
    else:
        predict, rows, unit = as_model_answers(model), table, None
    rows = rows.to_pandas() if hasattr(rows, "to_pandas") else rows
    if not hasattr(rows, "iloc"):
        rows = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    if unit is None or hasattr(rows, "iloc"):
        unit = np.arange(rows.shape[1])
        plain = not hasattr(rows, "iloc") and rows.dtype.kind in "biuf"
        plain = plain and not np.isnan(rows.astype(np.float64)).any()
    else:  # the table that a model of covey makes has no gaps
        rows, plain = rows.astype(np.float64), True

    def without(which: np.ndarray, units: np.ndarray, donors: np.ndarray) -> Any:
        return replaced(rows, which, np.flatnonzero(np.isin(unit, units)).tolist(), donors)

    answers = PlainAnswers(predict, without, np.arange(len(rows)))
    return *((rows.astype(np.float64), unit) if plain else _numbers_of(rows)), answers


def _numbers_of(table: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers without gaps for any table, and the column that each is made of."""
    wanted: Any = "from_dtype"
    if not hasattr(table, "iloc"):
        wanted = [
            place
            for place in range(table.shape[1])
            if any(isinstance(value, str) for value in table[:, place].tolist())
        ]
    reading = learn_reading(table, wanted, has_target=False)
    if reading is None:
        codes = plain_numbers(table, np.arange(table.shape[1]))
    else:
        codes = reading.read(table)
    made, numbers = prepare(codes, reading, np.ones(len(codes)), None)
    return numbers, made.column_of
