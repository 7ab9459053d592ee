"""The columns of the user's table: what they are like, how much they count, what they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.stats import norm

from covey._intervals import Interval
from covey._kinds import as_frame, as_kind, kind_of, look
from covey._number_words import cell, day, number, percent, quoted
from covey.evaluation._held_out import HeldOut, plain_label
from covey.evaluation._record import Column, Effect, Part

if TYPE_CHECKING:
    import pandas as pd

# How many columns have a curve, by how many rows of the table, at how many values.
_MOST_EFFECTS, _MOST_ROWS, _MOST_POINTS = 5, 300, 16
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
# The mean of the data is shown where there are so many rows.
_FEWEST_SHOWN = 10
# How many columns are searched for parts with more errors, and how many categories of each.
_MOST_SEARCHED, _MOST_NAMED, _MOST_PARTS = 20, 12, 3
# A part is worth a sentence if it has so many of the rows, and this share of them at least.
_FEWEST_ROWS, _FEWEST_SHARE = 15, 0.03
# How often a table without any such part is said to have one.
_CHANCE = 0.05


class Table:
    """The user's table: its columns by kind, and rows with other values of one column."""

    def __init__(self, X: Any, names: Sequence[str]):
        self.X, self.names, self.n_rows = X, list(names), X.shape[0]
        self._values: dict[int, tuple[str, pd.Series | None]] = {}

    @cached_property
    def frame(self) -> pd.DataFrame | None:
        """The rows as a frame; None for a sparse matrix."""
        if hasattr(self.X, "tocsr"):
            return None
        return as_frame(self.X).set_axis(self.names, axis=1)

    def values(self, position: int) -> tuple[str, pd.Series | None]:
        """The kind of a column, and its values in that form; dates are days since 1970."""
        if position not in self._values:
            column = self.frame.iloc[:, position]
            found = kind_of(column)
            values = None if found.kind == "nested" else as_kind(column, found.kind, found.form)
            values = _as_days(values) if found.kind == "date" else values
            self._values[position] = found.kind, values
        return self._values[position]

    def sample(self, most: int) -> np.ndarray:
        """Positions of some rows, evenly spaced."""
        return np.linspace(0, self.n_rows - 1, min(self.n_rows, most)).astype(np.intp)

    def take(self, rows: np.ndarray) -> Any:
        """Some rows, in the form that the model takes."""
        if isinstance(self.X, np.ndarray):
            return self.X[rows]
        return (self.X if hasattr(self.X, "iloc") else self.frame).iloc[rows]

    def replaced(self, rows: np.ndarray, position: int, by: np.ndarray) -> Any:
        """Rows with the values that other rows have of one column."""
        table = self.take(rows).copy()
        if isinstance(table, np.ndarray):
            table[:, position] = self.X[by, position]
            return table
        table.isetitem(position, self.take(by).iloc[:, position].array)
        return table.reset_index(drop=True)


def predicted(model: Any, rows: Any, classes: Any) -> np.ndarray:
    """Probabilities (n_rows, n_classes), or numbers (n_rows, 1)."""
    if classes is not None:
        return np.asarray(model.predict_proba(rows), dtype=np.float64)
    return np.asarray(model.predict(rows), dtype=np.float64)[:, None]


# -- all columns -------------------------------------------------------------------------------


def columns(
    model: Any, table: Table, held_out: HeldOut | None, target: str, health: Any = None
) -> list[Column]:
    """The columns of a table, those that count most first."""
    classes = getattr(model, "classes_", None)
    shares, losses, together = _importance(model, table, classes)
    known = {one["column"]: one for one in (_health(table) if health is None else health)}
    order = np.argsort(-np.round(shares, 12), kind="stable").tolist()
    outcome = _outcome(held_out)
    made = []
    for place, position in enumerate(order):
        name = table.names[position]
        about = known.pop(name, {})
        spread, bins = _spread(table, position)
        effect = None
        if place < _MOST_EFFECTS and shares[position] > 0 and table.frame is not None:
            effect = _effect(model, table, position, held_out, classes, outcome)
        made.append(
            Column(
                name,
                str(about.get("kind", "number")),
                _n_missing(about.get("missing"), table.n_rows),
                str(about.get("note") or ""),
                spread,
                bins,
                float(shares[position]),
                losses.get(name),
                together.get(name, []),
                effect,
            )
        )
    # Columns that were left out before the model saw them.
    rest = [
        Column(
            name,
            str(one.get("kind", "")),
            _n_missing(one.get("missing"), table.n_rows),
            str(one.get("note") or ""),
        )
        for name, one in known.items()
        if name != target
    ]
    return made + rest


def _n_missing(missing: Any, n_rows: int) -> int:
    """How many values are missing; a share of one is taken of all rows."""
    if missing is None:
        return 0
    return round(missing * n_rows) if isinstance(missing, float) and missing < 1 else int(missing)


def _health(table: Table) -> list[dict[str, Any]]:
    if table.frame is None:
        filled = np.diff(table.X.tocsc().indptr)
        return [
            {"column": name, "kind": "number", "note": "" if n else "zero everywhere"}
            for name, n in zip(table.names, filled, strict=True)
        ]
    return [
        {
            "column": one.name,
            "kind": one.kind,
            "missing": one.missing,
            "note": one.drop or one.note or ("the same everywhere" * (one.n_values == 1)),
        }
        for one in look(table.frame)
    ]


def _spread(table: Table, position: int) -> tuple[str, list[int]]:
    """How the values of a column are spread: in words, and of numbers in bins."""
    if table.frame is None:
        return "", []
    kind, values = table.values(position)
    present = None if values is None else values.dropna()
    if present is None or not len(present):
        return "", []
    if kind == "text":
        frequent, times = Counter(map(str, present)).most_common(1)[0]
        return f"{quoted(frequent, 24)} {percent(times / len(present))}", []
    numbers = present.to_numpy(np.float64)
    show, low, high = day if kind == "date" else cell, numbers.min(), numbers.max()
    if low == high:
        return f"always {show(low)}", []
    bins = np.histogram(numbers, bins=16, range=(low, high))[0].tolist()
    return f"{show(low)} to {show(high)}", bins


# -- how much each counts ----------------------------------------------------------------------


def _importance(
    model: Any, table: Table, classes: Any
) -> tuple[np.ndarray, dict[str, Interval], dict[str, list[str]]]:
    """The share of each column, what the loss rises by without it, and what goes with it."""
    found = getattr(model, "importance_", None)
    if found is not None:
        limits = zip(found.loss, found.low, found.high, strict=True)
        losses = dict(
            zip(found.columns, (Interval(*map(float, one)) for one in limits), strict=True)
        )
        by_name = dict(zip(found.columns, map(float, found.share), strict=True))
        groups = [
            [found.columns[k] if isinstance(k, int | np.integer) else k for k in group]
            for group in found.together
        ]
        together = {one: [o for o in group if o != one] for group in groups for one in group}
        return np.array([by_name.get(n, 0.0) for n in table.names]), losses, together
    shares = _known_shares(model, table.names)
    if shares is None:
        shares = _tried_shares(model, table, classes)
    total = shares.sum()
    return (shares / total if total > 0 else shares), {}, {}


def _known_shares(model: Any, names: Sequence[str]) -> np.ndarray | None:
    try:
        known = np.asarray(model.feature_importances_, dtype=np.float64)
    except (AttributeError, ValueError, TypeError):
        return None
    of = getattr(model, "feature_names_in_", None)
    if of is not None and len(of) == len(known):
        by_name = dict(zip(map(str, of), known.tolist(), strict=True))
        known = np.array([by_name.get(name, 0.0) for name in names])
    return np.abs(known) if len(known) == len(names) else None


def _tried_shares(model: Any, table: Table, classes: Any) -> np.ndarray:
    """How far the predictions of some rows move if a column is taken from other rows."""
    found = np.zeros(len(table.names))
    if table.frame is None:
        return found
    sample = table.sample(_MOST_ROWS)
    before = predicted(model, table.take(sample), classes)
    moved = np.roll(sample, len(sample) // 2)
    for position in range(min(len(found), _MOST_TRIED)):
        after = predicted(model, table.replaced(sample, position, moved), classes)
        found[position] = np.abs(after - before).mean()
    return found


# -- what each does ----------------------------------------------------------------------------


def _outcome(held_out: HeldOut | None) -> int | None:
    """The class whose probability is told: of two the rarer one; None where it depends."""
    if held_out is None or held_out.classes is None:
        return None
    if held_out.rare is not None:
        return held_out.rare
    if len(held_out.classes) != 2:
        return None
    counts = np.bincount(held_out.codes[held_out.codes >= 0], minlength=2)
    return 0 if counts[0] < counts[1] else 1


def _effect(
    model: Any,
    table: Table,
    position: int,
    held_out: HeldOut | None,
    classes: Any,
    outcome: int | None,
) -> Effect | None:
    """What the values of a column do to the prediction; None where it has none to set."""
    kind, values = table.values(position)
    if values is None or values.isna().all():
        return None
    chosen = _categories(values) if kind == "text" else _points(values.to_numpy(np.float64))
    if chosen.n_left > _MOST_LEFT and max(chosen.shares) < _LEAST_SHARE:
        return None  # free text: nothing of it comes again
    gaps = np.flatnonzero(values.isna().to_numpy())
    some_missing = len(gaps) >= max(2, 0.01 * len(values))
    rows = [*chosen.rows, *([gaps[0]] if some_missing else [])]
    sample = table.sample(_MOST_ROWS)
    wide = np.repeat(np.array(rows, dtype=np.intp), len(sample))
    found = predicted(model, table.replaced(np.tile(sample, len(rows)), position, wide), classes)
    means, n = found.reshape(len(rows), len(sample), -1).mean(axis=1), len(chosen.rows)
    what = 0 if classes is None else outcome
    if what is None:
        what = 1 if means.shape[1] == 2 else int(np.ptp(means[:n], axis=0).argmax())
    typical = predicted(model, table.take(sample), classes).mean(axis=0)
    show = day if kind == "date" else cell
    labels = [
        str(values.iloc[row]) if kind == "text" else show(values.iloc[row]) for row in chosen.rows
    ]
    at = np.arange(n) if kind == "text" else values.to_numpy(np.float64)[chosen.rows]
    return Effect(
        "category" if kind == "text" else kind,
        None if classes is None else plain_label(classes[what]),
        [float(one) for one in at],
        labels,
        means[:n, what].tolist(),
        _means_of_data(values, kind, at, labels, held_out, classes, what),
        chosen.shares,
        float(typical[what]),
        float(means[n, what]) if some_missing else None,
        chosen.n_left,
    )


def _means_of_data(
    values: Any,
    kind: str,
    at: np.ndarray,
    labels: Sequence[str],
    held_out: HeldOut | None,
    classes: Any,
    what: int,
) -> list[float | None]:
    """The mean of the truth where rows are nearest to each value; None where these are few."""
    if held_out is None or len(values) != len(held_out.y):
        return [None] * len(at)
    truth = held_out.y if classes is None else (held_out.y == classes[what]).astype(float)
    if kind == "text":
        text = values.astype(str).to_numpy()
        inside = [text == label for label in labels]
    else:
        numbers = values.to_numpy(np.float64)
        nearest = np.searchsorted((at[1:] + at[:-1]) / 2, numbers)
        inside = [(nearest == place) & np.isfinite(numbers) for place in range(len(at))]
    return [float(truth[one].mean()) if one.sum() >= _FEWEST_SHOWN else None for one in inside]


class _Chosen(NamedTuple):
    """Rows whose values of a column are shown."""

    rows: list[int]
    shares: list[float]
    few: bool
    n_left: int = 0


def _points(values: np.ndarray) -> _Chosen:
    """Rows whose numbers are spread evenly, without the most extreme; all numbers of a few."""
    known = np.flatnonzero(np.isfinite(values))
    numbers = values[known]
    distinct, first, counts = np.unique(numbers, return_index=True, return_counts=True)
    if len(distinct) <= _FEW_VALUES:
        return _Chosen(known[first].tolist(), (counts / len(values)).tolist(), True)
    low, high = np.quantile(numbers, [_TAIL, 1.0 - _TAIL])
    if low == high:
        low, high = distinct[0], distinct[-1]
    wanted = np.linspace(low, high, _MOST_POINTS)
    after = np.clip(np.searchsorted(distinct, wanted), 1, len(distinct) - 1)
    nearest = np.where(wanted - distinct[after - 1] <= distinct[after] - wanted, after - 1, after)
    nearest = np.unique(nearest)
    shown = distinct[nearest]
    counts, _ = np.histogram(numbers, bins=_BINS, range=(shown[0], shown[-1]))
    return _Chosen(known[first[nearest]].tolist(), (counts / len(values)).tolist(), False)


def _categories(values: pd.Series) -> _Chosen:
    """Rows of the commonest categories."""
    present = values.dropna().astype(str)
    counts = present.value_counts(sort=False)
    order = np.argsort(-counts.to_numpy(), kind="stable")[:_MOST_CATEGORIES]
    text = values.astype(str).to_numpy()
    rows = [int(np.argmax(text == label)) for label in counts.index[order]]
    shares = counts.to_numpy()[order] / len(values)
    return _Chosen(rows, shares.tolist(), True, len(counts) - len(order))


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


# -- where errors are more frequent, or larger -------------------------------------------------


def worst_parts(table: Table, order: Sequence[int], errors: np.ndarray) -> list[Part]:
    """The parts of the rows that are clearly worse than the rest, at most one of each column.

    A part is a quarter of a column of numbers, a category, or the rows where a value is missing;
    it must be worse by more than the best of so many parts would be by chance.
    """
    found = []
    for position in order[:_MOST_SEARCHED] if table.frame is not None else ():
        for words, rows in _parts(*table.values(position)):
            n_here, n_rest = int(rows.sum()), int((~rows).sum())
            if n_here < max(_FEWEST_ROWS, _FEWEST_SHARE * len(rows)) or n_rest < _FEWEST_ROWS:
                continue
            here, rest = errors[rows], errors[~rows]
            spread = np.sqrt(here.var() / n_here + rest.var() / n_rest)
            gap = here.mean() - rest.mean()
            # Parts of which all rows are alike differ for certain.
            score = gap / spread if spread > 0 else np.inf * gap if gap else 0.0
            part = Part(
                table.names[position], words, n_here, float(here.mean()), float(rest.mean())
            )
            found.append((float(score), part))
    chosen: dict[str, Part] = {}
    for score, part in sorted(found, key=lambda one: -one[0]):
        if score > norm.isf(_CHANCE / len(found)) and len(chosen) < _MOST_PARTS:
            chosen.setdefault(part.column, part)
    return list(chosen.values())


def _parts(kind: str, values: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Parts of the rows by a column: in words which these are, and a mask."""
    if values is None:
        return
    gaps = values.isna().to_numpy()
    if gaps.any():
        yield "is missing", gaps
    if kind == "text":
        text = values.astype(str).to_numpy()
        for label in values.value_counts().index[:_MOST_NAMED]:
            yield f"is {quoted(label, 30)}", (text == str(label)) & ~gaps
        return
    show = day if kind == "date" else cell
    for low, high, rows in quarters(values.to_numpy(np.float64)):
        yield f"is {range_words(low, high, show)}", rows


def quarters(numbers: np.ndarray) -> Iterator[tuple[float | None, float | None, np.ndarray]]:
    """Quarters of rows by a number, which may be missing: from, to, and which rows these are.

    The first has no lower end and the last no upper one; nothing where all are the same.
    """
    known = np.isfinite(numbers)
    if not known.any():
        return
    cuts = np.unique(np.quantile(numbers[known], (0.25, 0.5, 0.75)))
    cuts = cuts[cuts > numbers[known].min()].tolist()
    if not cuts:
        return
    part = np.where(known, np.searchsorted(cuts, numbers, side="right"), -1)
    for position, (low, high) in enumerate(zip([None, *cuts], [*cuts, None], strict=True)):
        rows = part == position
        if rows.any():
            yield low, high, rows


def range_words(
    low: float | None, high: float | None, show: Callable[[float], str] = number
) -> str:
    """A range of numbers in words; one end may be open."""
    if low is None:
        return f"below {show(high)}"
    if high is None:
        return f"{show(low)} or more"
    return f"between {show(low)} and {show(high)}"
