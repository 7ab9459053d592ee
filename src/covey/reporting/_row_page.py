"""One self-contained page about one row: bars on one scale, and sliders that need no server."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from covey import __version__
from covey._plain_words import reason_words, value_words
from covey._templates import environment
from covey.inspection import Curve, RowCard
from covey.reporting._report import Report

# The size of a small picture of a curve, in its own units.
_WIDTH, _HEIGHT = 240, 48
# Less than this share of the others is no bar.
_LEAST_OTHER = 1e-3


def build_row_page(card: RowCard, *, title: str = "", target: str | None = None) -> Report:
    """A page that shows a card of one row.

    Parameters
    ----------
    card : RowCard
        What `covey.inspection.row_card` found.
    title : str, default=""
    target : str, optional
        What is predicted.

    Returns
    -------
    page : Report
        Shows itself in a notebook; ``page.save(path)`` writes it. Nothing in it is loaded from
        anywhere: the sliders show answers of the model that were computed beforehand.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from covey.inspection import row_card
    >>> from covey.reporting import build_row_page
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=500).fit(X, y)
    >>> page = build_row_page(row_card(model, X.iloc[0], background=X), title="Row 1")
    >>> "petal length (cm)" in page.html
    True
    """
    template = environment("covey.reporting").get_template("row_card.html")
    record = card.record
    return Report(
        template.render(
            title=title or "One row",
            target=target,
            card=card,
            sentence=_without_answer(card),
            share=None if card.is_number else 100 * record["probability"],
            answer=value_words(record["prediction"]),
            baseline=_whole(card, record["baseline"]),
            bars=_bars(card),
            sliders=[_slider(card, curve) for curve in card.curves if len(curve.values) > 1],
            version=__version__,
        )
    )


def _bars(card: RowCard) -> list[dict[str, Any]]:
    """What columns add, on one scale for all: from the baseline to the prediction."""
    record = card.record
    parts = [(reason_words(one), one["push"]) for one in record["because"] + record["against"]]
    parts.sort(key=lambda one: -abs(one[1]))
    if abs(record["other"]) > _LEAST_OTHER * sum(abs(push) for _, push in parts):
        parts.append(("all other columns", record["other"]))
    most = max((abs(push) for _, push in parts), default=0.0) or 1.0
    direction = 1.0
    if card.is_number and record["prediction"] < record["baseline"]:
        direction = -1.0
    return [
        {
            "name": name,
            "shown": card.part_words(push),
            "width": 50 * abs(push) / most,
            "is_up": push > 0,
            "is_for": push * direction > 0,
        }
        for name, push in parts
    ]


def _slider(card: RowCard, curve: Curve) -> dict[str, Any]:
    """What a slider, or a list, needs to show the model's answer at each value."""
    answers = curve.answers
    if card.is_number:
        heights, said = answers, [value_words(float(one)) for one in answers]
    else:
        labels = list(card.classes)
        code = labels.index(card.record["prediction"])
        heights = answers[:, code]
        top = answers.argmax(axis=1)
        said = [
            f"{100 * one[k]:.0f} % {value_words(labels[k])}"
            for one, k in zip(answers, top, strict=True)
        ]
    low, high = (0.0, 1.0) if not card.is_number else (float(heights.min()), float(heights.max()))
    share = (heights - low) / (high - low) if high > low else np.full(len(heights), 0.5)
    x = np.linspace(0, _WIDTH, len(share))
    points = " ".join(
        f"{one:.1f},{_HEIGHT - 4 - (_HEIGHT - 8) * y:.1f}" for one, y in zip(x, share, strict=True)
    )
    return {
        "column": curve.column,
        "is_list": curve.kind == "word",
        "values": [value_words(one) for one in curve.values],
        "own": curve.own,
        "last": len(curve.values) - 1,
        "said": said,
        "data": json.dumps(
            {
                "values": [value_words(one) for one in curve.values],
                "said": said,
                "share": [round(100 * float(one), 1) for one in share],
            }
        ),
        "share": round(100 * float(share[curve.own]), 1),
        "points": points,
        "at": round(float(x[curve.own]), 1),
    }


def _without_answer(card: RowCard) -> str:
    """The sentence after the answer, which stands above it in large letters."""
    rest = card.sentence.removeprefix(card.answer).lstrip(":; ")
    return rest[:1].upper() + rest[1:]


def _whole(card: RowCard, value: float) -> str:
    return value_words(float(value)) if card.is_number else f"{100 * value:.0f} %"
