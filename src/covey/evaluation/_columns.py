"""The columns of the user's table: their values, their importance, their effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm

from covey._intervals import Interval
from covey._number_words import cell, day, digits_of, listed, percent, quoted, range_words
from covey.evaluation._held_out import HeldOut, plain_label
from covey.evaluation._record import Column, Effect, Part, Remark
from covey.inspection import column_effect, column_importance
from covey.inspection._effects import ColumnEffect, _as_days
from covey.inspection._importance import Importance
from covey.tables._kinds import as_frame, as_kind, kind_of, look, without_point

if TYPE_CHECKING:
    import pandas as pd

# How many columns have a curve, and how many bins show where their rows are.
_MOST_EFFECTS, _BINS = 5, 24
# The rate of the data is shown where there are at least this many rows.
_FEWEST_SHOWN, _ROWS_A_BIN = 10, 15
# How many columns are searched for parts with more errors, and how many categories of each.
_MOST_SEARCHED, _MOST_NAMED, _MOST_PARTS = 20, 12, 3
# A part is worth a sentence if it has this many rows, and at least this share of them.
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
        """Return the rows as a frame; None for a sparse matrix."""
        if hasattr(self.X, "tocsr"):
            return None
        return as_frame(self.X).set_axis(self.names, axis=1)

    def values(self, position: int) -> tuple[str, pd.Series | None]:
        """Return the kind of a column, and its values in that form; dates are days since 1970.

        Columns with nested values, and columns of a sparse matrix, have no values here.
        """
        if position not in self._values:
            if self.frame is None:
                return "number", None
            column = self.frame.iloc[:, position]
            found = kind_of(column)
            values = None if found.kind == "nested" else as_kind(column, found.kind, found.form)
            if found.kind == "date":
                values = type(column)(_as_days(values), index=column.index)
            self._values[position] = found.kind, values
        return self._values[position]


# -- all columns -------------------------------------------------------------------------------


def columns(
    model: Any, table: Table, held_out: HeldOut | None, target: str, health: Any = None
) -> tuple[list[Column], list[Remark]]:
    """Return the columns of a table, the most important first; and codes that may mean gaps."""
    found = importance_of(model, table, held_out)
    known = {one["column"]: one for one in (_health(table) if health is None else health)}
    place_of = {} if found is None else {name: k for k, name in enumerate(found.columns)}
    order, remarks, told = range(len(table.names)), [], 0
    if found is not None:
        lost = [found.loss[place_of[name]] if name in place_of else 0.0 for name in table.names]
        order = np.argsort(-np.round(lost, 12), kind="stable").tolist()

    def described(name: str, **more: Any) -> Column:
        about = known.pop(name, {})
        kind, note = str(about.get("kind", "number")), str(about.get("note") or "")
        return Column(name, kind, int(about.get("missing") or 0), note, **more)

    made = []
    for rank, position in enumerate(order):
        name = table.names[position]
        spread, bins = _spread(table, position)
        more: dict[str, Any] = {"share": 0.0}
        if found is not None and name in place_of:
            k = place_of[name]
            together = [one for group in found.together if k in group for one in group if one != k]
            more = {
                "share": float(found.share[k]),
                "loss": Interval(*(float(one[k]) for one in (found.loss, found.low, found.high))),
                "points": float(found.points[k]),
                "together": [found.columns[one] for one in together],
            }
        # The first ones, and those whose importance exceeds its error.
        loss = more.get("loss")
        is_told = loss is not None and not loss.high > 3 * loss.value
        told += is_told
        if more["share"] > 0 and (told - 1 if is_told else rank) < _MOST_EFFECTS:
            more["effect"], codes = _effect(model, table, position, held_out)
            if codes:
                remarks.append(_code_remark(name, codes))
        made.append(described(name, spread=spread, bins=bins, **more))
    # Columns that were left out before the model saw them.
    return made + [described(name) for name in list(known) if name != target], remarks


def importance_of(model: Any, table: Table, held_out: HeldOut | None) -> Importance | None:
    """Return the loss of a model without each column; None if no rows can measure it."""
    found = getattr(model, "importance_", None)
    if found is not None or held_out is None:
        return found
    try:
        return column_importance(model, table.X, held_out.y, groups=held_out.groups)
    except (TypeError, ValueError):  # rows of other things than a table has
        return None


def _code_remark(name: str, codes: Sequence[float]) -> Remark:
    shown, are = listed(map(cell, codes)), "is" if len(codes) == 1 else "are"
    given = quote(f"{name}={','.join(str(without_point(code)) for code in codes)}")
    said = f"{shown} {are} far from the rest and may stand for a gap: then give --gap {given}."
    return Remark("codes", name, f"{name}: {said}")


def _health(table: Table) -> list[dict[str, Any]]:
    if table.frame is None:
        filled = np.diff(table.X.tocsc().indptr)
        return [
            {"column": name, "kind": "number", "note": "" if n else "zero everywhere"}
            for name, n in zip(table.names, filled, strict=True)
        ]
    return [
        {
            **one.as_health(),
            "note": one.drop or one.note or ("the same everywhere" * (one.n_values == 1)),
        }
        for one in look(table.frame)
    ]


def _spread(table: Table, position: int) -> tuple[str, list[int]]:
    """Describe how the values of a column are spread: in words, and for numbers in bins."""
    kind, values = table.values(position)
    if values is None or not len(present := values.dropna()):
        return "", []
    if kind == "text":
        frequent, times = Counter(map(str, present)).most_common(1)[0]
        return f"{quoted(frequent, 24)} {percent(times / len(present))}", []
    numbers = present.to_numpy(np.float64)
    show, low, high = _shown(kind, numbers), numbers.min(), numbers.max()
    if low == high:
        return f"always {show(low)}", []
    bins = np.histogram(numbers, bins=16, range=(low, high))[0].tolist()
    return f"{show(low)} to {show(high)}", bins


# -- the effect of each ------------------------------------------------------------------------


def _effect(
    model: Any, table: Table, position: int, held_out: HeldOut | None
) -> tuple[Effect | None, list[float]]:
    """Return the effect of a column on the prediction, and codes that may stand for gaps."""
    y = said = None
    if held_out is not None and len(held_out.y) == table.n_rows:
        y, said = held_out.y, held_out.predictions
    bins = int(np.clip(table.n_rows // _ROWS_A_BIN, 4, 20))
    found = column_effect(model, table.X, position, y, bins=bins, predicted=said)
    if found is None:
        return None, []
    what, at, kind = _output(found, held_out), found.points, found.kind
    values = [float(k if kind == "category" else point.value) for k, point in enumerate(at)]
    rows, (_, known) = (found.rows / table.n_rows).tolist(), table.values(position)
    if known is not None and kind != "category" and len(at) > 6:
        numbers, ends = known.to_numpy(np.float64), (values[0], values[-1])
        rows = (np.histogram(numbers, bins=_BINS, range=ends)[0] / table.n_rows).tolist()
    label = plain_label(found.classes[what]) if found.classes else None
    gap = next((point for point in found.apart if point.value is None), None)
    effect = Effect(
        kind,
        label,
        values,
        [point.label for point in at],
        found.curve[:, what].tolist(),
        [point.prediction[what] for point in at],
        [
            None if point.rate is None or point.rows < _FEWEST_SHOWN else point.rate[what]
            for point in at
        ],
        rows,
        found.mean[what],
        None if gap is None else found.mean[what] + gap.effect[what],
        found.n_left,
        None if gap is None or gap.rows < _FEWEST_SHOWN else gap.prediction[what],
    )
    return effect, list(found.codes)


def _output(found: ColumnEffect, held_out: HeldOut | None) -> int:
    """Return the class whose chance is shown: the rarer of two, or the one that moves most."""
    if not found.classes:
        return 0
    if held_out is not None and held_out.rare is not None:
        return held_out.rare
    if len(found.classes) > 2:
        return int(found.spread.argmax())
    return 0 if found.rate is not None and found.rate[0] < found.rate[1] else 1


# -- where errors are more frequent, or larger -------------------------------------------------


def worst_parts(table: Table, order: Sequence[int], errors: np.ndarray) -> list[Part]:
    """Return the parts of the rows that are clearly worse than the rest, one per column at most.

    A part is a quarter of a column of numbers, a category, or the rows where a value is missing.
    It must be worse by more than the best of all parts would be by chance.
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
            # Parts whose rows are all equal differ for certain.
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


def _parts(kind: str, values: Any, most: int = _MOST_NAMED) -> Iterator[tuple[str, np.ndarray]]:
    """Yield parts of the rows by a column: their description in words, and a mask."""
    if values is None:
        return
    gaps = values.isna().to_numpy()
    if gaps.any():
        yield "is missing", gaps
    if kind == "text":
        text = values.astype(str).to_numpy()
        for label in values.value_counts().index[:most]:
            yield f"is {quoted(label, 30)}", (text == str(label)) & ~gaps
        return
    numbers = values.to_numpy(np.float64)
    show = _shown(kind, numbers)
    for low, high, rows in quarters(numbers):
        one = numbers[rows].min() == numbers[rows].max()
        yield f"is {show(numbers[rows][0]) if one else range_words(low, high, show)}", rows


def _shown(kind: str, numbers: np.ndarray) -> Callable[[float], str]:
    """Return the format of a column's values: dates as days, numbers so that they differ."""
    if kind == "date":
        return day
    known = numbers[np.isfinite(numbers)].tolist() or [0.0]
    return partial(cell, digits=digits_of(min(known), max(known)))


def quarters(numbers: np.ndarray) -> Iterator[tuple[float | None, float | None, np.ndarray]]:
    """Yield quarters of rows by a number, which may be missing: from, to, and a mask of the rows.

    The first has no lower end and the last no upper one; nothing if all numbers are equal.
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
