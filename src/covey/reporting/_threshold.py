"""From what chance on a row is called a class: what is found then, and how many alarms are false.

What is kept of all rows are counts at some hundred thresholds, so that a page stays small
however many rows there are, and nothing is estimated from a part of them.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np

from covey._templates import Markup
from covey.reporting._class_facts import ClassFacts
from covey.reporting._drawing import Plane, dot, line, svg, tag, text
from covey.reporting._words import percent

# Thresholds are even steps, and quantiles of the probabilities.
_STEPS, _QUANTILES = 50, 100
# How many classes can be chosen, those with the most rows.
_MOST_CLASSES = 20
_START = 0.5
_SIDE = 176


class Counts(NamedTuple):
    """Rows of a class, and rows of others, whose probability is at least each threshold."""

    name: str
    thresholds: np.ndarray
    found: np.ndarray
    false: np.ndarray
    n_class: int
    n_others: int

    @property
    def start(self) -> int:
        """The position of the threshold of one half."""
        return int(np.argmin(np.abs(self.thresholds - _START)))


def counts_of(scores: np.ndarray, is_class: np.ndarray, name: str) -> Counts:
    """Count rows at thresholds from 0 to 1, of which one half is one."""
    wanted = np.append(
        np.linspace(0.0, 1.0, _STEPS + 1), np.quantile(scores, np.linspace(0, 1, _QUANTILES + 1))
    )
    thresholds = np.unique(np.round(np.clip(wanted, 0.0, 1.0), 4))
    own, others = np.sort(scores[is_class]), np.sort(scores[~is_class])
    found, false = (len(s) - np.searchsorted(s, thresholds) for s in (own, others))
    return Counts(name, thresholds, found, false, len(own), len(others))


def threshold(facts: ClassFacts) -> dict | None:
    """What can be chosen, and what it costs; None where all rows are of one class."""
    sizes = np.bincount(facts.y, minlength=facts.n_classes)
    shown = np.argsort(-sizes, kind="stable")[:_MOST_CLASSES]
    shown = [int(code) for code in np.sort(np.append(shown, facts.watched))]
    shown = [c for c in dict.fromkeys(shown) if 0 < sizes[c] < facts.n_rows]
    if not shown:
        return None
    watched = facts.watched if facts.watched in shown else shown[0]
    # Of two classes one is enough: the other one's chance is what is left of it.
    if facts.n_classes == 2:
        shown = [watched, *(code for code in shown if code != watched)]
    counted = [
        counts_of(facts.probabilities[:, code], facts.y == code, facts.classes[code])
        for code in shown
    ]
    first = shown.index(watched)
    return {
        "counted": counted,
        "chosen": first,
        "now": counted[first],
        "data": _data(counted),
        "roc": _drawing(counted[first], "roc"),
        "pr": _drawing(counted[first], "pr"),
        "n_left": facts.n_classes - len(shown) if facts.n_classes > 2 else 0,
    }


def _data(counted: list[Counts]) -> str:
    """What the page needs to move a threshold, as JSON."""
    records = [
        {
            "at": one.thresholds.tolist(),
            "found": one.found.tolist(),
            "false": one.false.tolist(),
            "n": one.n_class,
            "others": one.n_others,
            "start": one.start,
            "name": one.name,
        }
        for one in counted
    ]
    return json.dumps(records, separators=(",", ":"))


def points_of(one: Counts, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """A curve: false alarms and found, or found and how many calls are right."""
    found = one.found / one.n_class
    if kind == "roc":
        return one.false / one.n_others, found
    called = one.found + one.false
    # Where nothing is called any more, it stays as it was.
    last = np.maximum.accumulate(np.where(called > 0, np.arange(len(called)), 0))
    return found, one.found[last] / np.maximum(called[last], 1)


def _drawing(one: Counts, kind: str) -> Markup:
    """A curve with the dot of the threshold; the page draws both again when these change."""
    plane = Plane((38, 6, _SIDE, _SIDE), (0.0, 1.0), (0.0, 1.0))
    x, y = points_of(one, kind)
    parts = [*plane.rows(_share), *plane.columns((0.0, 0.5, 1.0), _share, plane.bottom + 15)]
    if kind == "roc":
        across, up = "false alarms, of all others", "found"
        guess = line(plane.left, plane.bottom, plane.right, plane.top, "level")
        title = "What is found, against false alarms among the others"
    else:
        across, up = "found", "calls that are right"
        share = one.n_class / (one.n_class + one.n_others)
        guess = line(plane.left, plane.up(share), plane.right, plane.up(share), "level")
        title = "How many calls are right, against what is found"
    k = one.start
    here = plane.across(x[k]), plane.up(y[k])
    parts += [
        plane.name_below(across, plane.bottom + 31),
        text(plane.left, plane.top - 8, f"↑ {up}", "axis"),
        tag("g", guess, class_=f"guess {kind}"),
        plane.curve(x, y, "curve own"),
        dot(*here, 6, "own halo moves"),
    ]
    description = f"At {percent(one.thresholds[k])}: {percent(x[k])} across, {percent(y[k])} up."
    drawn = tag("g", *parts, transform="translate(0 14)")
    return svg(
        f"threshold-{kind}",
        plane.right + 14,
        plane.bottom + 50,
        drawn,
        title=title,
        description=description,
        class_=f"chart curve-{kind}",
    )


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"
