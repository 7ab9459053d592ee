"""One self-contained page about one row: bars on one scale, and sliders that need no server."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from covey import __version__
from covey._explanations import others_matter
from covey._number_words import rough
from covey._plain_words import reason_words, value_words
from covey._templates import Markup, environment
from covey.inspection._changes import Curve
from covey.inspection._row_card import RowCard
from covey.reporting._drawing import Bar, bars, sparkline
from covey.reporting._report import Report


def build_row_page(card: RowCard, *, title: str = "", target: str | None = None) -> Report:
    """Build a page that shows a card of one row.

    Parameters
    ----------
    card : RowCard
        A result of `covey.inspection.row_card`.
    title : str, default=""
    target : str, optional
        The name of the predicted quantity.

    Returns
    -------
    page : Report
        Shows itself in a notebook; ``page.save(path)`` writes it. It loads nothing from anywhere:
        the sliders show predictions that were computed beforehand.

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
    record, baseline = card.record, card.record["baseline"]
    rest = card.sentence.removeprefix(card.answer).lstrip(":; ")
    return Report(
        environment("covey.reporting")
        .get_template("row_card.html")
        .render(
            title=title or "One row",
            target=target,
            card=card,
            # The answer stands above the sentence, in large letters.
            sentence=rest[:1].upper() + rest[1:],
            share=None if card.is_number else 100 * record["probability"],
            answer=value_words(record["prediction"]),
            baseline=card.part_words(baseline, whole=True),
            bars=_bars(card),
            sliders=[_slider(card, curve) for curve in card.curves if len(curve.values) > 1],
            version=__version__,
        )
    )


def _bars(card: RowCard) -> Markup | None:
    """Draw the contributions of columns on one scale, from the baseline to the prediction."""
    record = card.record
    parts = [Bar(reason_words(one), one["push"]) for one in record["because"] + record["against"]]
    parts.sort(key=lambda one: -abs(one.value))
    if others_matter(record):
        parts.append(Bar("all other columns", record["other"]))
    if not parts:
        return None
    most = max(abs(one.value) for one in parts)
    return bars(
        "why",
        parts,
        show=card.part_words,
        ends=(-most, most),
        width=440,
        title="What each column adds or takes away",
    )


def _slider(card: RowCard, curve: Curve) -> dict[str, Any]:
    """Return the data by which a slider, or a list, shows the prediction for each value."""
    answers, low, high = curve.answers, 0.0, 1.0
    if card.is_number:
        heights, low, high = answers, float(answers.min()), float(answers.max())
        said = [value_words(float(one)) for one in answers]
    else:
        labels = list(card.classes)
        heights = answers[:, labels.index(card.record["prediction"])]
        said = [f"{rough(one.max())} {value_words(labels[one.argmax()])}" for one in answers]
    share = (heights - low) / (high - low) if high > low else np.full(len(heights), 0.5)
    shown = {
        "values": [value_words(one) for one in curve.values],
        "said": said,
        "share": (100 * share).round(1).tolist(),
    }
    return {
        **shown,
        "column": curve.column,
        "is_list": curve.kind == "word",
        "own": curve.own,
        "data": json.dumps(shown),
        "drawing": sparkline(share, curve.own),
    }
