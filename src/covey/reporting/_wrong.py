"""The section about rows that are wrong: what spoke for the answer, and what against it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from covey._blocks import take_rows
from covey._plain_words import reason_words
from covey.inspection import Contributions, contributions
from covey.reporting._drawing import Bar, bars
from covey.reporting._facts import Facts
from covey.reporting._words import MINUS, described, number, one_line

_MOST_ROWS = 3
# How many columns are named that speak for an answer, and how many against it.
_MOST_FOR, _MOST_AGAINST = 3, 2
# What moves a prediction by less than this share of the largest contribution is not named.
_LEAST = 0.02


class Reasons(NamedTuple):
    """Why a row got its answer: columns with their values, and how far each moved it."""

    pushes: list[Bar]
    typical: float  # what a typical row gets: the chance of the same answer, or the number


def wrong(facts: Facts) -> dict | None:
    """Rows that are wrong, the worst first; None where no row is."""
    rows = facts.wrong_rows(_MOST_ROWS)
    if not len(rows) or not facts.row_losses[rows].any():
        return None
    found = reasons_of(facts, rows)
    highest = max((abs(p.value) for one in found for p in one.pushes), default=0.0)
    cards = []
    for row, reasons in zip(rows.tolist(), found, strict=True):
        said = facts.said(row)
        name = facts.row_name(row)
        pushes = reasons.pushes
        cards.append(
            {
                "row": name,
                "said": facts.show_prediction(said["prediction"]),
                "probability": said.get("probability"),
                "truth": facts.show_truth(row),
                "typical": reasons.typical,
                "drawing": pushes
                and bars(
                    f"why-{row}",
                    pushes,
                    width=272,
                    ends=(-highest, highest),
                    show=show_push(facts),
                    title=f"What moved the answer for row {name}",
                    description=described((p.name, show_push(facts)(p.value)) for p in pushes),
                ),
            }
        )
    return {
        "cards": cards,
        "n_wrong": int((facts.row_losses > 0).sum()),
        "explained": any(card["drawing"] for card in cards),
    }


def reasons_of(facts: Facts, rows: np.ndarray) -> list[Reasons]:
    """What moved the answers of rows away from that of a typical row, in the user's columns."""
    found = _contributed(facts, take_rows(facts.inputs.rows, rows))
    values = found.values
    frame = facts.columns.frame
    reasons = []
    for place, row in enumerate(rows.tolist()):
        pushed = values[place] if values.ndim == 2 else values[place, :, facts.predicted[row]]
        known = {} if frame is None else frame.iloc[[row]].to_dict("records")[0]
        order = np.argsort(-np.abs(pushed), kind="stable")
        least = _LEAST * np.abs(pushed).max(initial=0.0)
        order = [int(p) for p in order if abs(pushed[p]) > least]
        speaks = [p for p in order if pushed[p] > 0][:_MOST_FOR]
        against = [p for p in order if pushed[p] < 0][:_MOST_AGAINST]
        pushes = [Bar(_words(found, known, p), float(pushed[p])) for p in [*speaks, *against]]
        typical = found.baseline if values.ndim == 2 else found.baseline[facts.predicted[row]]
        reasons.append(Reasons(pushes, float(typical)))
    return reasons


def _contributed(facts: Facts, rows: Any) -> Contributions:
    """What columns contribute; where the model knows nothing typical, these rows show it."""
    model = facts.inputs.model
    if not hasattr(model, "contributions"):
        model = facts.inputs.whole
    try:
        return contributions(model, rows)
    except ValueError:
        return contributions(model, rows, background=facts.inputs.rows)


def show_push(facts: Facts) -> Callable[[float], str]:
    """How contributions are written: points of probability, or the target's own unit."""

    def points(value: float) -> str:
        sign = "+" if value >= 0 else MINUS
        size = abs(value)
        return f"{sign}{number(100 * size, 2) if facts.task == 'classification' else number(size)}"

    return points


def _words(found: Contributions, known: dict, position: int) -> str:
    """A column with its value in a row, and what is typical."""
    column = str(found.columns[position])
    typical = found.typical.get(column)
    if column not in known:
        return one_line(column)
    return reason_words({"column": one_line(column), "value": known[column], "typical": typical})
