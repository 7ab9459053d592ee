"""The smallest change of a row that changes what a model says of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from covey._seen_columns import shown_value
from covey._validation import check_number
from covey.inspection._changed_rows import (
    TriedValues,
    answer_of,
    column_position,
    one_row,
    shown_of,
)
from covey.inspection._mixing_rows import column_names, seen_by

# Pairs are tried of so many columns, those that move the answer the most alone, and of so many
# values of each.
_COLUMNS_OF_PAIRS, _VALUES_OF_PAIRS = 12, 11
# Distances that differ by less are the same: then the surer answer is taken.
_SAME_DISTANCE = 1e-9

# The distance of a change, the answer, and the columns with their new values.
Found = tuple[float, np.ndarray, list[tuple[int, Any]]]


@dataclass(frozen=True)
class SmallestChange:
    """What `smallest_change` found.

    Attributes
    ----------
    changes : list of dict
        ``column``, ``value`` (that of the row) and ``to``.
    distance : float
        The sum of the distances: of numbers in standard deviations of the column, 1 for another
        category, or for a gap that is filled.
    before, after : dict
        As in `WhatIf`.
    """

    changes: list[dict[str, Any]]
    distance: float
    before: dict[str, Any]
    after: dict[str, Any]


def smallest_change(
    model: Any,
    row: Any,
    *,
    to: Any = None,
    fixed: Collection[Any] = (),
    max_columns: int = 2,
    background: Any = None,
) -> SmallestChange | None:
    """The smallest change of a row, of one column or two, that changes the answer.

    Columns take values that were seen when the model was fitted: quantiles of numbers, and
    categories. Dates stay as they are, and no gaps are made. All values of single columns are
    tried; of two columns, pairs of the twelve that move the answer the most alone, at eleven
    values each.

    Parameters
    ----------
    model : fitted classifier with ``predict_proba``, or regressor
    row
        As for `what_if`.
    to : class, or number of a regressor, optional
        The class that is to be predicted; by default any other than now. A regressor needs a
        number: the prediction must become at least that, or at most, if it is above now.
    fixed : collection of columns, default=()
        Columns that cannot change, such as a person's age.
    max_columns : {1, 2}, default=2
    background : array-like, sparse matrix or data frame, optional
        As for `contributions`.

    Returns
    -------
    found : SmallestChange or None
        None if no such change was found.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from covey.inspection import smallest_change
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=500).fit(X, y)
    >>> found = smallest_change(model, X.iloc[0], to=1, background=X)
    >>> [one["column"] for one in found.changes], found.after["prediction"]
    (['petal length (cm)'], 1)
    """
    check_number(max_columns, "max_columns", low=1, high=2, whole=True)
    table, seen = one_row(model, row), seen_by(model, background)
    names = column_names(model, table)
    fixed = [fixed] if isinstance(fixed, str) else list(fixed)
    stays = {column_position(column, names, "fixed") for column in fixed}
    tried = TriedValues(model, table, seen, lambda place: place not in stays)
    before = tried.before
    goal = _Goal(model, before, to)
    if not tried.places or goal.reached(before[None])[0]:
        return None
    best = _best_single(tried, goal)
    if max_columns == 2:
        best = _best_pair(tried, goal, best)
    if best is None:
        return None
    distance, answer, changed = best
    known = {column.name: column for column in seen.columns}
    changes = [
        {
            "column": names[place],
            "value": shown_of(table, place, known.get(names[place])),
            "to": shown_value(value, known.get(names[place])),
        }
        for place, value in changed
    ]
    return SmallestChange(
        changes, float(distance), answer_of(model, before), answer_of(model, answer)
    )


class _Goal:
    """The answer that is wanted."""

    def __init__(self, model: Any, before: np.ndarray, to: Any) -> None:
        self._code: int | None = None
        self._least: float | None = None
        if not hasattr(model, "classes_"):
            if to is None:
                raise ValueError("to must be a number that the prediction is to reach, got None.")
            check_number(to, "to")
            self._least = float(to)
            self._sign = 1.0 if before[0] < to else -1.0
            return
        self._now = int(before.argmax())
        if to is None:
            return
        labels = model.classes_.tolist()
        if to not in labels:
            shown = ", ".join(map(repr, labels[:5]))
            raise ValueError(f"to={to!r} is no class of the model ({shown}).")
        self._code = labels.index(to)

    def sure(self, answers: np.ndarray) -> np.ndarray:
        """How far answers (m, C) are on the way, (m,); above zero they have reached it."""
        if self._least is not None:
            return self._sign * (answers[:, 0] - self._least)
        code = self._now if self._code is None else self._code
        others = np.delete(answers, code, axis=1).max(axis=1)
        way: np.ndarray = answers[:, code] - others
        return -way if self._code is None else way

    def reached(self, answers: np.ndarray) -> np.ndarray:
        """Which answers are the one that is wanted."""
        if self._least is not None:
            return self.sure(answers) >= 0
        predicted = answers.argmax(axis=1)
        return predicted != self._now if self._code is None else predicted == self._code


def _best_single(tried: TriedValues, goal: _Goal) -> Found | None:
    """The nearest change of one column that reaches the goal."""
    reached = np.flatnonzero(goal.reached(tried.answers))
    if not len(reached):
        return None
    nearest = tried.distances[reached].min()
    close = reached[tried.distances[reached] <= nearest + _SAME_DISTANCE]
    best = int(close[goal.sure(tried.answers[close]).argmax()])
    return nearest, tried.answers[best], [(int(tried.of[best]), tried.values[best])]


def _best_pair(tried: TriedValues, goal: _Goal, best: Found | None) -> Found | None:
    """The nearest of two columns, if it is nearer than the best so far."""
    sure = goal.sure(tried.answers)
    of_column = {place: sure[tried.of == place].max() for place in tried.places}
    chosen = sorted(tried.places, key=lambda place: -of_column[place])[:_COLUMNS_OF_PAIRS]
    some = {place: _spread(np.flatnonzero(tried.of == place)) for place in chosen}
    pairs = [
        np.stack(np.meshgrid(some[one], some[other]), axis=-1).reshape(-1, 2)
        for one, other in combinations(chosen, 2)
    ]
    if not pairs:
        return best
    numbers = np.concatenate(pairs)
    distance = tried.distances[numbers].sum(axis=1)
    limit = np.inf if best is None else best[0] - _SAME_DISTANCE
    order = np.argsort(distance, kind="stable")
    order = order[distance[order] < limit]
    # The nearest first, so that most are never predicted.
    for start, stop in _growing(len(order)):
        part = order[start:stop]
        answers = tried.combined(numbers[part])
        reached = np.flatnonzero(goal.reached(answers))
        if len(reached):
            nearest = distance[part[reached[0]]]
            close = reached[distance[part[reached]] <= nearest + _SAME_DISTANCE]
            which = int(close[goal.sure(answers[close]).argmax()])
            changed = [(int(tried.of[k]), tried.values[k]) for k in numbers[part[which]]]
            return nearest, answers[which], changed
    return best


def _spread(numbers: np.ndarray) -> np.ndarray:
    """At most so many of the values of a column, evenly."""
    if len(numbers) <= _VALUES_OF_PAIRS:
        return numbers
    return numbers[np.linspace(0, len(numbers) - 1, _VALUES_OF_PAIRS).astype(np.intp)]


def _growing(count: int) -> Iterator[tuple[int, int]]:
    """Parts of a list, each twice as long as the one before."""
    start, step = 0, 256
    while start < count:
        yield start, min(start + step, count)
        start, step = start + step, 2 * step
