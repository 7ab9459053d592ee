"""Predictions of a row after changes, and the smallest change that matters."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from covey._core.arrays import evenly
from covey._core.inspection.contributions import shapley
from covey._decisions import code_of, decided, scored
from covey._validation import check_number
from covey.inspection._mixing_rows import MixedRows, Row, TriedValues, values_of, varied
from covey.tables._seen_columns import shown_value

# Pairs are tried of this many columns, those that move the prediction the most alone, and of this
# many values of each.
_COLUMNS_OF_PAIRS, _VALUES_OF_PAIRS = 12, 11
# Smaller differences of distances count as none: then the surer prediction is chosen.
_SAME_DISTANCE = 1e-9

# The distance of a change, the answer, and the columns with their new values.
Found = tuple[float, np.ndarray, list[tuple[int, Any]]]


@dataclass(frozen=True)
class WhatIf:
    """The result of `what_if`.

    Attributes
    ----------
    before, after : dict
        ``prediction`` and, of a classifier, ``probability`` and ``probabilities`` by class.
    moved : list of dict
        For each changed column: ``column``, ``value`` (before), ``to``, and ``push``, how far it
        moves the number, or the probability of the class that was predicted before. Pushes sum to
        the difference of both.
    is_like_seen : bool
        Whether the changed columns were seen together with values like the row's others. If not,
        no training row supports the prediction.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from covey import inspection
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=500).fit(X, y)
    >>> found = inspection.what_if(model, X.iloc[0], {"petal length (cm)": 5.0})
    >>> found.moved[0]["column"], found.moved[0]["to"]
    ('petal length (cm)', 5)
    """

    before: dict[str, Any]
    after: dict[str, Any]
    moved: list[dict[str, Any]]
    is_like_seen: bool = True


@dataclass(frozen=True)
class Curve:
    """Predictions of a row for other values of one column: all that were kept.

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

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from covey import inspection
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=500).fit(X, y)
    >>> (curve,) = inspection.curves(model, X.iloc[0], ["petal length (cm)"], background=X)
    >>> curve.values[curve.own], curve.answers.shape == (len(curve.values), 3)
    (1.4, True)
    """

    column: str
    kind: str
    values: list[Any]
    own: int
    answers: np.ndarray


def what_if(model: Any, row: Any, changes: Mapping[Any, Any]) -> WhatIf:
    """Predict a row as it is, and as it is when columns are changed.

    Parameters
    ----------
    model : fitted classifier with ``predict_proba``, or regressor
    row : data frame or array with one row, Series, one-dimensional array or dict
    changes : mapping from column to value
        Columns by name, or by position if the model has no names; None is a gap.

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
    asked = Row(model, row, needs_seen=False)
    wanted = {}
    for column, value in changes.items():
        place = asked.place(column, "changes")
        wanted[place] = asked.checked(place, value)
    changed = asked.table
    for place, value in wanted.items():
        changed = varied(changed, [place], [value])
    mixed = MixedRows(model, changed, asked.table)
    to_change = np.isin(np.arange(len(mixed.names)), list(wanted))
    found = shapley(mixed.value, mixed.differs() & to_change, width=mixed.width)
    code = 0 if mixed.numeric else int(decided(model, found.baseline[None])[0])
    moved = [
        {**asked.change(place, value), "push": float(found.values[0, place, code])}
        for place, value in wanted.items()
    ]
    is_like_seen = bool(asked.are_like_seen([list(wanted.items())])[0])
    before, after = asked.answer(found.baseline), asked.answer(found.prediction[0])
    return WhatIf(before, after, moved, is_like_seen)


def curves(
    model: Any, row: Any, columns: Sequence[Any] | None = None, *, background: Any = None
) -> list[Curve]:
    """Predict a row for each value of one column at a time.

    Parameters
    ----------
    model, row, background
        As in `smallest_change`.
    columns : sequence of columns, optional
        By default all that have other values.

    Returns
    -------
    found : list of Curve
        The model's exact predictions at values that were seen when it was fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from covey import inspection
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=500).fit(X, y)
    >>> found = inspection.curves(model, X.iloc[0], background=X)
    >>> len(found), found[0].kind
    (4, 'number')
    """
    asked = Row(model, row, background)
    wanted = list(range(len(asked.names)))
    if columns is not None:
        wanted = [asked.place(column, "columns") for column in columns]
    tried = TriedValues(asked, list(dict.fromkeys(wanted)), even_if_not_looked_at=True)
    return [_curve_of(asked, tried, place) for place in wanted if place in tried.places]


def _curve_of(asked: Row, tried: TriedValues, place: int) -> Curve:
    changes, column = np.flatnonzero(tried.of == place), asked.seen[place]
    values = [tried.values[k] for k in changes]
    own, at = shown_value(values_of(asked.table, place)[0]), 0
    if own is not None and column.kind == "number":
        at = int(np.searchsorted(values, own))
    elif own is not None and column.kind in ("date", "time"):
        at = sum(str(one) < str(own) for one in values)
    shown = [asked.shown(place, one) for one in values]
    shown.insert(at, asked.shown(place, own))
    answers = np.insert(tried.answers[changes], at, tried.before, axis=0)
    answers = answers[:, 0] if tried.numeric else answers
    return Curve(asked.names[place], column.kind, shown, at, answers)


@dataclass(frozen=True)
class SmallestChange:
    """The result of `smallest_change`.

    Attributes
    ----------
    changes : list of dict
        ``column``, ``value`` (that of the row) and ``to``.
    distance : float
        The sum of the distances: of numbers in standard deviations of the column, 1 for another
        category, or for a gap that is filled.
    before, after : dict
        As in `WhatIf`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from covey import inspection
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=500).fit(X, y)
    >>> found = inspection.smallest_change(model, X.iloc[0], background=X)
    >>> found.before["prediction"], found.after["prediction"], len(found.changes)
    (0, 1, 1)
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
    """Find the smallest change of a row, of one column or two, that changes the prediction.

    Columns take values that were seen when the model was fitted: quantiles of numbers, and
    categories. Combinations of values must have been seen, too: in a changed column and those
    related to it, the new row is as near to one of the rows that the model keeps as these are to
    each other, or as near as the row is now. Dates are not changed, and no gaps are made. All
    values of single columns are tried; for two columns, pairs of the twelve that move the
    prediction the most alone, at eleven values each.

    Parameters
    ----------
    model : fitted classifier with ``predict_proba``, or regressor
    row
        As in `what_if`.
    to : class, or number of a regressor, optional
        The wanted class; by default any other than the present one. A regressor needs a number:
        the prediction must reach it from below, or from above.
    fixed : collection of columns, default=()
        Columns that cannot change, such as a person's age.
    max_columns : {1, 2}, default=2
    background : array-like, sparse matrix or data frame, optional
        As in `contributions`.

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
    asked = Row(model, row, background)
    fixed = [fixed] if isinstance(fixed, str) else list(fixed)
    stays = {asked.place(column, "fixed") for column in fixed}
    free = [
        place
        for place, column in enumerate(asked.seen)
        if column.kind in ("number", "word") and place not in stays
    ]
    tried = TriedValues(asked, free)
    goal = _Goal(model, tried.before, to)
    if not tried.places or goal.reached(tried.before[None])[0]:
        return None
    every = np.arange(len(tried.of))[:, None]
    best = _nearest(asked, tried, goal, every, tried.answers, tried.distances)
    if max_columns == 2:
        best = _best_pair(asked, tried, goal, best)
    if best is None:
        return None
    distance, answer, changed = best
    changes = [asked.change(place, value) for place, value in changed]
    return SmallestChange(
        changes, float(distance), asked.answer(tried.before), asked.answer(answer)
    )


class _Goal:
    """The wanted prediction."""

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
        self._model = model
        self._now = int(decided(model, before[None])[0])
        if to is not None:
            self._code = code_of(model.classes_, to, "to")

    def sure(self, answers: np.ndarray) -> np.ndarray:
        """Return how far predictions (m, C) have come, (m,); above zero they have reached it."""
        if self._least is not None:
            return self._sign * (answers[:, 0] - self._least)
        code = self._now if self._code is None else self._code
        scores = scored(self._model, answers)
        others = np.delete(scores, code, axis=1).max(axis=1)
        way: np.ndarray = scores[:, code] - others
        return -way if self._code is None else way

    def reached(self, answers: np.ndarray) -> np.ndarray:
        """Return which predictions are the wanted one."""
        if self._least is not None:
            return self.sure(answers) >= 0
        predicted = decided(self._model, answers)
        return predicted != self._now if self._code is None else predicted == self._code


def _nearest(
    asked: Row,
    tried: TriedValues,
    goal: _Goal,
    numbers: np.ndarray,
    answers: np.ndarray,
    distances: np.ndarray,
) -> Found | None:
    """Return the nearest of changes, by numbers (m, k), that reach the goal and were seen."""
    reached = np.flatnonzero(goal.reached(answers))
    if len(reached):
        changes = [[(int(tried.of[k]), tried.values[k]) for k in numbers[one]] for one in reached]
        reached = reached[asked.are_like_seen(changes)]
    if not len(reached):
        return None
    nearest = distances[reached].min()
    close = reached[distances[reached] <= nearest + _SAME_DISTANCE]
    best = int(close[goal.sure(answers[close]).argmax()])
    changed = [(int(tried.of[k]), tried.values[k]) for k in numbers[best]]
    return nearest, answers[best], changed


def _best_pair(asked: Row, tried: TriedValues, goal: _Goal, best: Found | None) -> Found | None:
    """Return the nearest of two columns, if it is nearer than the best so far."""
    sure = goal.sure(tried.answers)
    of_column = {place: sure[tried.of == place].max() for place in tried.places}
    chosen = sorted(tried.places, key=lambda place: -of_column[place])[:_COLUMNS_OF_PAIRS]
    some = {place: evenly(np.flatnonzero(tried.of == place), _VALUES_OF_PAIRS) for place in chosen}
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
        found = _nearest(asked, tried, goal, numbers[part], answers, distance[part])
        if found is not None:
            return found
    return best


def _growing(count: int) -> Iterator[tuple[int, int]]:
    """Yield parts of a list, each twice as long as the one before."""
    start, step = 0, 256
    while start < count:
        yield start, min(start + step, count)
        start, step = start + step, 2 * step
