"""The sureness of a model, how often it is then right, and which rows are wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey._blocks import take_rows
from covey._intervals import accuracy_interval, mean_interval, proportion_interval
from covey._number_words import cell
from covey._plain_words import reason_words
from covey.evaluation._columns import Table, quarters
from covey.evaluation._held_out import HeldOut, plain_label
from covey.evaluation._record import Bin, Sureness, Threshold, WrongRow
from covey.inspection import contributions
from covey.inspection._ranking import threshold_curve

# The chance from which a prediction counts as sure, unless nearly all or hardly any rows are.
_SURE, _LEAST_SHARE = 0.9, 0.05
# The share of numbers that "nine of ten" stands for.
_NINE_OF_TEN = 0.9
# How many classes have a threshold, those with the most rows.
_MOST_CLASSES = 20
# Alarms are counted at this many for each row of a rare class.
_ALARMS_A_ROW = 2
# The least confidence in the predicted class, by the number of classes; with more, almost none.
_LEAST_CONFIDENCE = {2: 0.5, 3: 0.3, 4: 0.2, 5: 0.2}
_MOST_DOTS = 400
_MOST_WRONG = 3
# How many columns are named that speak for a prediction, and how many against it.
_MOST_FOR, _MOST_AGAINST = 3, 2
# Columns that move a prediction by less than this share of the largest contribution are not named.
_LEAST_PUSH = 0.02


def sureness(held_out: HeldOut) -> Sureness:
    """Measure how often a model is right where it is sure, on the rows held out."""
    if held_out.classes is None:
        off = held_out.errors
        half, most = np.quantile(off, (0.5, _NINE_OF_TEN))
        errors = held_out.predictions - held_out.y
        bias = mean_interval(errors, held_out.groups)
        return Sureness(
            half=float(half), nine_of_ten=float(most), largest=float(off.max()), bias=bias
        )
    top = held_out.predictions.max(axis=1)
    level = _SURE
    if not _LEAST_SHARE < (top >= level).mean() < 1 - _LEAST_SHARE:
        level = float(np.median(top))
    sure, is_right = top >= level, held_out.most_probable_is_right

    def right(which: np.ndarray) -> float:
        return float(is_right[which].mean()) if which.any() else float("nan")

    of_all = accuracy_interval(is_right, held_out.groups)
    return Sureness(
        level, float(sure.mean()), right(sure), right(~sure), float(top.mean()), of_all
    )


def calibration(held_out: HeldOut) -> list[Bin]:
    """Count rows by the probability of the predicted class, or of the rare one, in even bins."""
    if held_out.classes is None:
        return []
    code = held_out.rare
    chance = held_out.predictions.max(axis=1)
    right, start = (
        held_out.most_probable_is_right,
        _LEAST_CONFIDENCE.get(len(held_out.classes), 0.0),
    )
    if code is not None:
        chance, right, start = held_out.predictions[:, code], held_out.codes == code, 0.0
    n_bins = 10 if start in (0.0, 0.5) else round(10 * (1.0 - start))
    edges = np.round(np.linspace(start, 1.0, n_bins + 1), 12)
    of = np.clip(np.searchsorted(edges, chance, side="right") - 1, 0, n_bins - 1)
    bins = []
    for position in np.unique(of):
        rows = of == position
        found = proportion_interval(right[rows].sum(), rows.sum())
        ends = float(edges[position]), float(edges[position + 1])
        bins.append(Bin(*ends, int(rows.sum()), float(chance[rows].mean()), found))
    return bins


def by_true_value(held_out: HeldOut) -> list[Bin]:
    """Measure how far off numbers are, by quarter of the truth."""
    found = []
    for low, high, rows in quarters(np.asarray(held_out.y, dtype=np.float64)):
        start, end = (np.nan if one is None else float(one) for one in (low, high))
        off = held_out.errors[rows]
        error = mean_interval(off) if len(off) > 1 else accuracy_interval(off)
        said = float(held_out.predictions[rows].mean())
        found.append(Bin(start, end, int(rows.sum()), said, error))
    return found


def dots(held_out: HeldOut) -> list[tuple[str, float, float]]:
    """Return some rows with their true and predicted numbers."""
    n = len(held_out.y)
    rows = np.linspace(0, n - 1, min(n, _MOST_DOTS)).astype(np.intp).tolist()
    return [
        (str(held_out.names[row]), float(held_out.y[row]), float(held_out.predictions[row]))
        for row in rows
    ]


def thresholds(held_out: HeldOut) -> list[Threshold]:
    """Count found rows and false alarms for each threshold from which a class is called.

    The class that matters most to a reader comes first: the rare one, that of a rule, or the
    rarest.
    """
    sizes = held_out.confusion.sum(axis=1)
    shown = [int(k) for k in np.argsort(-sizes, kind="stable") if 0 < sizes[k] < len(held_out.y)]
    if not shown:
        return []
    first = shown[-1] if held_out.rare is None else held_out.rare
    if len(shown) == 2 and sizes[shown[0]] == sizes[shown[1]]:
        first = 1
    decided = {}
    if held_out.decision is not None and held_out.decision.code is not None:
        code, at = held_out.decision.code, held_out.decision.threshold
        decided = {code: at, **({1 - code: 1.0 - at} if len(sizes) == 2 else {})}
        first = code if held_out.rare is None and code in shown else first
    shown = [first, *(k for k in shown if k != first)][:_MOST_CLASSES]
    return [
        _threshold(
            plain_label(held_out.classes[code]),
            held_out.predictions[:, code],
            held_out.codes == code,
            decided.get(code),
            # Of two classes: what the true one costs if it is called the class, and if it is not.
            None if held_out.costs is None or len(sizes) > 2 else held_out.costs[::step, ::step],
        )
        for code in shown
        for step in (1 if code else -1,)
    ]


def _threshold(
    label: Any,
    scores: np.ndarray,
    is_class: np.ndarray,
    decided: float | None,
    costs: np.ndarray | None,
) -> Threshold:
    chosen = 0.5 if decided is None else decided
    every = threshold_curve(is_class, scores, True).thresholds
    curve = threshold_curve(is_class, scores, True, np.union1d(every, np.round(chosen, 4)))
    place = int(np.argmin(np.abs(curve.thresholds - chosen)))
    cost = np.zeros(0)
    if costs is not None:
        false = curve.alarms - curve.found
        others = curve.n_rows - curve.n_class - false
        counts = np.array([[others, false], [curve.n_class - curve.found, curve.found]])
        cost = np.tensordot(costs, counts, 2) / curve.n_rows
    alarms = int(np.argmin(np.abs(curve.alarms - _ALARMS_A_ROW * curve.n_class)))
    return Threshold(
        label,
        curve.n_class,
        curve.n_rows - curve.n_class,
        curve.thresholds.tolist(),
        curve.found.tolist(),
        (curve.alarms - curve.found).tolist(),
        place,
        alarms if decided is None else place,
        cost.tolist(),
    )


# -- rows that are wrong -----------------------------------------------------------------------


def wrong_rows(model: Any, table: Table, held_out: HeldOut) -> list[WrongRow]:
    """Return the rows that are wrong, the surest or furthest off first, with the reasons."""
    errors = held_out.errors
    if held_out.classes is not None:
        errors = errors * held_out.predictions.max(axis=1)
    rows = np.argsort(-errors, kind="stable")[:_MOST_WRONG]
    rows = rows[errors[rows] > 0]
    if not len(rows):
        return []
    try:
        try:
            found = contributions(model, take_rows(table.X, rows))
        except ValueError:  # the model knows no typical values: these rows show them
            found = contributions(model, take_rows(table.X, rows), background=table.X)
    except (ValueError, TypeError, AttributeError):
        return []
    made = []
    for place, row in enumerate(rows.tolist()):
        pushed, typical, chance = found.values[place], found.baseline, None
        if held_out.classes is not None:
            code = int(held_out.predictions[row].argmax())
            pushed, typical = pushed[:, code], typical[code]
            chance = float(held_out.predictions[row, code])
        both = held_out.said[row], held_out.y[row]
        said, truth = (str(one) if chance is not None else cell(float(one)) for one in both)
        known = {} if table.frame is None else table.frame.iloc[[row]].to_dict("records")[0]
        least = _LEAST_PUSH * np.abs(pushed).max(initial=0.0)
        order = np.argsort(-np.abs(pushed), kind="stable").tolist()
        order = [p for p in order if abs(pushed[p]) > least]
        named = [p for p in order if pushed[p] > 0][:_MOST_FOR]
        named += [p for p in order if pushed[p] < 0][:_MOST_AGAINST]
        made.append(
            WrongRow(
                str(held_out.names[row]),
                said,
                truth,
                chance,
                float(typical),
                [(_words(found, known, p), float(pushed[p])) for p in named],
            )
        )
    return made


def _words(found: Any, known: dict[str, Any], position: int) -> str:
    """Write a column with its value in a row, and its typical value."""
    column = str(found.columns[position])
    if column not in known:
        return column
    typical = found.typical.get(column)
    return reason_words({"column": column, "value": known[column], "typical": typical})
