"""The columns of the user's table: how much each matters, and what moves along with it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from covey._kinds import as_frame, as_kind, kind_of
from covey.reporting._inputs import ReportInputs
from covey.reporting._words import day, number

if TYPE_CHECKING:
    import pandas as pd

# How many rows the effect of a column is averaged over, and at how many of its values at most.
_MOST_ROWS, _MOST_POINTS = 300, 20
# Numbers of so few different values are shown as categories are.
_FEW_VALUES = 6
_MOST_CATEGORIES = 6
_BINS = 24
# Text of which so many values are not shown, and none has such a share of rows, is free text.
_MOST_LEFT, _LEAST_SHARE = 50, 0.02
# The ends of a column of numbers are shown without the most extreme rows.
_TAIL = 0.02
# Where nothing is known of what matters, so many columns are tried.
_MOST_TRIED = 30


class Effect(NamedTuple):
    """What a model predicts on average if all rows had one value of a column, for several."""

    column: str
    kind: str  # number, date or category
    values: list  # what the column is set to: numbers (days for dates), or text
    labels: list[str]  # the same as readers want them
    means: np.ndarray  # what is predicted then, (n_values, n_outputs)
    # Of all rows, the share with each category; of numbers, in bins of even width from the first
    # value to the last.
    shares: np.ndarray
    missing: np.ndarray | None  # what is predicted where the value is missing, (n_outputs,)
    typical: np.ndarray  # what is predicted of the rows as they are, (n_outputs,)
    n_left: int  # categories that are not shown
    # The share of rows whose predicted class is another one for some of the values; for
    # numbers, how far the prediction of a row moves.
    changes: float

    @property
    def spread(self) -> np.ndarray:
        """By how much each output moves between the values, (n_outputs,)."""
        return np.ptp(self.means, axis=0)


class UserColumns:
    """The columns of a table as they were given, before any step of the model.

    ``weight`` is how much each matters, where that is known of the columns as they are.
    """

    def __init__(self, inputs: ReportInputs, weight: np.ndarray | None = None):
        self.inputs, self._weight = inputs, weight
        self.rows, self.whole = inputs.rows, inputs.whole
        self.names = inputs.columns()
        self.n_rows = self.rows.shape[0]
        self._values: dict[int, tuple[str, pd.Series | None]] = {}

    @cached_property
    def frame(self) -> pd.DataFrame | None:
        """The rows as a frame; None for a sparse matrix."""
        if hasattr(self.rows, "tocsr"):
            return None
        return as_frame(self.rows).set_axis(self.names, axis=1)

    def values(self, position: int) -> tuple[str, pd.Series | None]:
        """The kind of a column, and its values in that form."""
        if position not in self._values:
            column = self.frame.iloc[:, position]
            found = kind_of(column)
            kind = found.kind
            values = None if kind == "nested" else as_kind(column, kind, found.form)
            self._values[position] = kind, _as_days(values) if kind == "date" else values
        return self._values[position]

    # -- how much each matters -------------------------------------------------------------

    @cached_property
    def importance(self) -> np.ndarray:
        """How much each column matters to the whole; sums to one, or to zero."""
        found = self._known_importance()
        if found is None:
            found = self._tried_importance()
        total = found.sum()
        return found / total if total > 0 else found

    def _known_importance(self) -> np.ndarray | None:
        model = self.inputs.model
        try:
            known = np.asarray(model.feature_importances_, dtype=np.float64)
        except (AttributeError, ValueError, TypeError):
            known = self._weight
        if known is None:
            return None
        of = getattr(model, "feature_names_in_", None)
        if of is not None and len(of) == len(known):
            by_name = dict(zip(map(str, of), known.tolist(), strict=True))
            known = np.array([by_name.get(name, 0.0) for name in self.names])
        return np.abs(known) if len(known) == len(self.names) else None

    def _tried_importance(self) -> np.ndarray:
        """How far the predictions of some rows move if a column is taken from other rows."""
        found = np.zeros(len(self.names))
        if self.frame is None:
            return found
        sample = self._sample()
        before = self._predicted(self._taken(sample))
        moved = np.roll(sample, len(sample) // 2)
        for position in range(min(len(self.names), _MOST_TRIED)):
            after = self._predicted(self._replaced(sample, position, moved))
            found[position] = np.abs(after - before).mean()
        return found

    @cached_property
    def order(self) -> np.ndarray:
        """The columns, those that matter most first."""
        return np.argsort(-np.round(self.importance, 12), kind="stable")

    # -- what each does --------------------------------------------------------------------

    def effect(self, position: int) -> Effect | None:
        """What the values of a column do to the prediction; None where it has none to set.

        This is partial dependence: all rows (of a sample) get one value, and predictions are
        averaged. The values are those of rows, so that a column keeps its type.
        """
        if self.frame is None:
            return None
        kind, values = self.values(position)
        if values is None or values.isna().all():
            return None
        chosen = _categories(values) if kind == "text" else _points(values.to_numpy(np.float64))
        if chosen.n_left > _MOST_LEFT and chosen.shares.max() < _LEAST_SHARE:
            # Free text: nothing of it comes again.
            return None
        gaps = np.flatnonzero(values.isna().to_numpy())
        some_missing = len(gaps) >= max(2, 0.01 * len(values))
        rows = [*chosen.rows, *([gaps[0]] if some_missing else [])]
        sample = self._sample()
        wide = np.repeat(np.array(rows, dtype=np.intp), len(sample))
        found = self._predicted(self._replaced(np.tile(sample, len(rows)), position, wide))
        found = found.reshape(len(rows), len(sample), -1)
        means, n = found.mean(axis=1), len(chosen.rows)
        if found.shape[2] > 1:
            changes = float((np.ptp(found[:n].argmax(axis=2), axis=0) > 0).mean())
        else:
            changes = float(np.ptp(found[:n, :, 0], axis=0).mean())
        shown, labels = _shown(kind, values, chosen)
        return Effect(
            self.names[position],
            "category" if chosen.few else ("date" if kind == "date" else "number"),
            shown,
            labels,
            means[:n],
            chosen.shares,
            means[n] if some_missing else None,
            self._typical,
            chosen.n_left,
            changes,
        )

    @cached_property
    def _typical(self) -> np.ndarray:
        return self._predicted(self._taken(self._sample())).mean(axis=0)

    def _sample(self) -> np.ndarray:
        n = min(self.n_rows, _MOST_ROWS)
        return np.linspace(0, self.n_rows - 1, n).astype(np.intp)

    def _taken(self, rows: np.ndarray) -> Any:
        given = self.rows
        if isinstance(given, np.ndarray):
            return given[rows]
        return (given if hasattr(given, "iloc") else self.frame).iloc[rows]

    def _replaced(self, rows: np.ndarray, position: int, by: np.ndarray) -> Any:
        """Rows with the values that other rows have of one column."""
        table = self._taken(rows).copy()
        if isinstance(table, np.ndarray):
            table[:, position] = self.rows[by, position]
        else:
            column = self._taken(by).iloc[:, position]
            table.isetitem(position, column.array)
            table = table.reset_index(drop=True)
        return table

    def _predicted(self, rows: Any) -> np.ndarray:
        """Probabilities, or values, (n_rows, n_outputs)."""
        if self.inputs.classes is not None:
            return np.asarray(self.whole.predict_proba(rows), dtype=np.float64)
        return np.asarray(self.whole.predict(rows), dtype=np.float64)[:, None]


class _Chosen(NamedTuple):
    """Rows whose values of a column are shown."""

    rows: list[int]
    shares: np.ndarray
    few: bool
    n_left: int = 0


def _points(values: np.ndarray) -> _Chosen:
    """Rows whose numbers are spread evenly, without the most extreme; all numbers of a few."""
    known = np.flatnonzero(np.isfinite(values))
    numbers = values[known]
    distinct, first, counts = np.unique(numbers, return_index=True, return_counts=True)
    if len(distinct) <= _FEW_VALUES:
        return _Chosen(known[first].tolist(), counts / len(values), True)
    low, high = np.quantile(numbers, [_TAIL, 1.0 - _TAIL])
    if low == high:
        low, high = distinct[0], distinct[-1]
    wanted = np.linspace(low, high, _MOST_POINTS)
    after = np.clip(np.searchsorted(distinct, wanted), 1, len(distinct) - 1)
    nearest = np.where(wanted - distinct[after - 1] <= distinct[after] - wanted, after - 1, after)
    nearest = np.unique(nearest)
    shown = distinct[nearest]
    counts, _ = np.histogram(numbers, bins=_BINS, range=(shown[0], shown[-1]))
    return _Chosen(known[first[nearest]].tolist(), counts / len(values), False)


def _categories(values: pd.Series) -> _Chosen:
    """Rows of the commonest categories."""
    present = values.dropna().astype(str)
    counts = present.value_counts(sort=False)
    order = np.argsort(-counts.to_numpy(), kind="stable")[:_MOST_CATEGORIES]
    text = values.astype(str).to_numpy()
    rows = [int(np.argmax(text == label)) for label in counts.index[order]]
    shares = counts.to_numpy()[order] / len(values)
    return _Chosen(rows, shares, True, len(counts) - len(order))


def _shown(kind: str, values: pd.Series, chosen: _Chosen) -> tuple[list, list[str]]:
    """The values of rows, and the same as readers want them."""
    found = values.to_numpy()[chosen.rows].tolist()
    if kind == "text":
        return [str(value) for value in found], [str(value) for value in found]
    return found, [(day if kind == "date" else number)(value) for value in found]


def _as_days(values: pd.Series) -> pd.Series:
    """Dates as days since 1970; NaN where there is none."""
    import pandas as pd

    if not pd.api.types.is_datetime64_any_dtype(values.dtype):
        try:
            values = pd.to_datetime(values, errors="coerce", utc=True, format="mixed")
        except (TypeError, ValueError, OverflowError):
            return pd.Series(np.full(len(values), np.nan), index=values.index)
    if getattr(values.dt, "tz", None) is not None:
        values = values.dt.tz_convert("UTC").dt.tz_localize(None)
    since = (values - pd.Timestamp(0)).dt.total_seconds() / 86_400
    return pd.Series(since.to_numpy(np.float64), index=values.index)
