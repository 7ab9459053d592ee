"""The sections about errors for people: by class, or how far off and where."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from covey._core.conformal import upper_bound
from covey._templates import Markup
from covey.reporting import _scores, _threshold
from covey.reporting._class_facts import ClassFacts
from covey.reporting._drawing import Bar, bars
from covey.reporting._regions import parts_of, range_label, regions_drawn
from covey.reporting._value_facts import ValueFacts
from covey.reporting._words import count, described, number, one_line, rough

# How many classes are shown, those that are missed most often.
_MOST_CLASSES = 8
# How often the truth is to lie in the interval of a prediction.
LEVEL = 0.9
# With fewer rows no interval can be checked.
_LEAST_ROWS = 40


def errors(facts: ClassFacts) -> dict:
    """Errors of each class, and what another threshold would do."""
    matrix = facts.confusion
    sizes = matrix.sum(axis=1)
    known = np.flatnonzero(sizes)
    order = known[np.argsort(np.round(facts.recall[known], 12), kind="stable")]
    shown = [int(code) for code in order[:_MOST_CLASSES]]
    levels = []
    for code in shown:
        missed = matrix[code].copy()
        found, missed[code] = matrix[code, code], 0
        note = f"{count(found)} of {count(sizes[code])}"
        if missed.any():
            taken = int(missed.argmax())
            mostly = "mostly " if np.count_nonzero(missed) > 1 else ""
            note += f", else {mostly}“{one_line(facts.classes[taken])}”"
        levels.append(Bar(facts.classes[code], float(facts.recall[code]), note))
    return {
        "drawing": bars(
            "found-bars",
            levels,
            show=rough,
            title="How many rows of each class are found",
            description=described((one.name, f"{rough(one.value)}, {one.note}") for one in levels),
        ),
        "n_left": len(known) - len(shown),
        "regions": regions_drawn(facts),
        "threshold": _threshold.threshold(facts),
    }


class Ranges(NamedTuple):
    """The interval of a prediction, and how often it holds the truth."""

    below: float  # how far below the prediction it begins, on average
    above: float
    coverage: float  # the share of rows whose truth lies in it


def ranges_of(facts: ValueFacts) -> Ranges | None:
    """How wide the flock's intervals are, and how often they hold the truth of these rows.

    A flock without any gets those of split conformal prediction: the bounds of each half of the
    rows come from the errors of the other. None where there are too few rows for either.
    """
    flock, predicted, y = facts.flock, facts.predicted, facts.y
    if hasattr(flock, "predict_interval") and hasattr(flock, "calibration_"):
        around = np.asarray(flock.predict_interval(facts.inputs.seen, LEVEL), dtype=np.float64)
        # What folds held out is judged by models of its own; the width is that of the flock.
        around = around - np.asarray(flock.predict(facts.inputs.seen))[:, None]
    elif facts.n_rows >= _LEAST_ROWS:
        error, half, around = y - predicted, np.arange(len(y)) % 2, np.empty((len(y), 2))
        side = (1.0 + LEVEL) / 2.0
        for own in (0, 1):
            others = error[half != own]
            ones = np.ones(len(others))
            around[half == own] = (
                -upper_bound(-others, ones, side),
                upper_bound(others, ones, side),
            )
    else:
        return None
    if not np.isfinite(around).all():
        return None
    low, high = predicted + around[:, 0], predicted + around[:, 1]
    inside = float(((low <= y) & (y <= high)).mean())
    return Ranges(float(-around[:, 0].mean()), float(around[:, 1].mean()), inside)


def off(facts: ValueFacts) -> dict:
    """How far off a regressor is: predicted and true values, by range, and intervals."""
    return {
        **_scores.fit(facts),
        "ranges": facts.once(ranges_of),
        "level": LEVEL,
        "by_range": _by_range(facts),
        "regions": regions_drawn(facts),
    }


def _by_range(facts: ValueFacts) -> Markup | None:
    """How far off rows are, by quarter of the true value."""
    levels = []
    for low, high, rows in parts_of(facts.y):
        bias = float((facts.predicted[rows] - facts.y[rows]).mean())
        note = f"{number(abs(bias), 2)} too {'high' if bias > 0 else 'low'} on average"
        levels.append(Bar(range_label(low, high), float(facts.row_losses[rows].mean()), note))
    return levels and bars(
        "range-bars",
        levels,
        show=number,
        ends=(0.0, max(one.value for one in levels)),
        title="How far off predictions are on average, by the true value",
        description=described((one.name, f"{number(one.value)}, {one.note}") for one in levels),
    )
