"""The section about how much members differ."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from covey import inspection
from covey._templates import Markup
from covey.inspection import MEASURES
from covey.reporting._class_facts import ClassFacts
from covey.reporting._facts import Facts
from covey.reporting._maps import heat_map
from covey.reporting._value_facts import ValueFacts
from covey.reporting._words import MINUS, number, number_cell, percent

_MOST_MEMBERS = 30

_MEANINGS = {
    "q_statistic": "1: right on the same rows; 0: independently; "
    + MINUS
    + "1: on different ones",
    "correlation": "correlation of being right",
    "disagreement": "how often just one of two is right",
    "double_fault": "how often two err together",
    "interrater_kappa": "agreement in being right, beyond chance",
    "entropy": "how split members are about a row, 0 to 1",
    "kohavi_wolpert_variance": "variance of being right over members",
    "generalized_diversity": "1: when one errs, no other does",
    "coincident_failure_diversity": "1: errors are always those of one member",
    "label_kappa": "agreement of labels, beyond chance",
    "kl_divergence": "how far apart their probabilities are, in nats",
    "posterior_cross_correlation": "how often two drawn labels are the same",
    "posterior_correlation": "correlation of their probabilities",
}


def diversity(facts: ClassFacts) -> dict | None:
    """How much members differ; None for a single one, or where some predict not all rows."""
    if facts.n_members < 2 or not facts.all_available:
        return None
    found = inspection.diversity(facts.P, facts.P.classes[facts.y[facts.sample]])
    rows = [
        [
            measure.replace("_", " "),
            number_cell(value),
            "higher" if MEASURES[measure].more_is_diverse else "lower",
            _MEANINGS.get(measure, ""),
        ]
        for measure, value in found.values.items()
    ]
    drawing, n_shown = _pairs_map(
        facts,
        "diversity-map",
        found.matrices["disagreement"],
        show=percent,
        in_cell=lambda share: f"{100 * share:.0f}" if share >= 0.005 else "",
        zero="0 %",
        title="How often just one of two members is right",
        unit=" of rows",
    )
    return {
        "drawing": drawing,
        "rows": rows,
        "disagreement": found["disagreement"],
        "double_fault": found["double_fault"],
        "n_shown": n_shown,
    }


def ambiguity(facts: ValueFacts) -> dict | None:
    """How much members' values differ; None for a single one, or where some do not predict."""
    if facts.n_members < 2 or not facts.all_available:
        return None
    values = facts.member_values
    apart = np.sqrt([((values - one[:, None]) ** 2).mean(axis=0) for one in values.T])
    alone = float((facts.member_errors**2).mean())
    spread = float(values.var(axis=1).mean())
    drawing, n_shown = _pairs_map(
        facts,
        "ambiguity-map",
        apart,
        show=number,
        in_cell=lambda gap: number(gap, 2),
        zero="0",
        title="How far apart two members predict",
    )
    return {
        "drawing": drawing,
        "n_shown": n_shown,
        "between": float(apart[np.triu_indices(len(apart), 1)].mean()),
        "rows": [
            ["Error of a member", number_cell(alone)],
            ["How far members are from their mean", number_cell(spread)],
            ["Error of their plain mean", number_cell(alone - spread)],
        ],
    }


def _pairs_map(
    facts: Facts,
    key: str,
    matrix: np.ndarray,
    *,
    show: Callable,
    in_cell: Callable,
    zero: str,
    title: str,
    unit: str = "",
) -> tuple[Markup, int]:
    """A number for each pair of the most important members, and how many these are."""
    order = facts.by_importance[:_MOST_MEMBERS]
    matrix = matrix[np.ix_(order, order)].astype(np.float64)
    names = [facts.names[k] for k in order]
    # Each pair is shown once.
    matrix[np.triu_indices(len(matrix))] = np.nan
    pairs = matrix[1:, :-1]
    low, high = (show(float(end)) for end in (np.nanmin(pairs), np.nanmax(pairs)))
    few = len(names) <= 10
    drawing = heat_map(
        key,
        pairs,
        names[1:],
        names[:-1],
        cell=(30, 26) if few else (20, 20),
        tip=lambda r, c: f"{names[r + 1]} and {names[c]}: {show(pairs[r, c])}",
        shown=(lambda r, c: in_cell(pairs[r, c])) if few else None,
        legend=(zero, high),
        longest=110,
        title=title,
        description=f"Between {low} and {high}{unit}.",
    )
    return drawing, len(names)
