"""The sections of a report, in their order, and the tasks that each serves.

A section is a function from facts to what its template, ``templates/sections/KEY.html``, shows;
None where it does not apply to a model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from covey.reporting import (
    _answers,
    _calibration,
    _confusion,
    _effects,
    _errors,
    _members,
    _overview,
    _rows,
    _scores,
    _wrong,
)
from covey.reporting._facts import Facts

CLASSES, VALUES = ("classification",), ("regression",)


class Section(NamedTuple):
    """A part of the page."""

    key: str  # its address on the page, and its template
    short: str  # its name in the contents
    title: str  # its heading, unless the context has another
    context: Callable[[Facts], dict | None]
    tasks: tuple[str, ...] = CLASSES + VALUES  # what it serves


# For anybody, without a word that needs explaining.
FOR_PEOPLE = (
    Section("answers", "Five questions", "Five questions", _answers.answers),
    Section("looks", "What it looks at", "What it looks at", _effects.looks),
    Section(
        "errors", "Where it errs", "What it finds, and what it misses", _errors.errors, CLASSES
    ),
    Section("off", "How far off", "How far off it is", _errors.off, VALUES),
    Section("wrong", "Wrong rows", "Wrong rows, and why", _wrong.wrong),
)

# Behind a fold.
FOR_EXPERTS = (
    Section("asked", "What was asked", "What was asked", _overview.asked),
    Section("health", "Data health", "Data health", _overview.health),
    Section("accuracy", "Accuracy", "Accuracy against baselines", _scores.accuracy, CLASSES),
    Section("error", "Error", "Error against baselines", _scores.error, VALUES),
    Section("members", "The members", "The members", _members.members),
    Section(
        "confusion", "Confusions", "Which classes are confused", _confusion.confusion, CLASSES
    ),
    Section(
        "calibration",
        "Calibration",
        "Can its probabilities be believed?",
        _calibration.calibration,
        CLASSES,
    ),
    Section("rows", "Single rows", "Single rows, explained", _rows.rows),
    Section("use", "How to use it", "How to use the model", _overview.use),
)
