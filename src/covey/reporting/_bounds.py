"""The section about what the error stays below on new rows."""

from __future__ import annotations

import numpy as np

from covey._intervals import CONFIDENCE
from covey.inspection import held_out_bound, oracle_bounds, oracle_interval, vote_bound
from covey.reporting._charts import Dot, dot_plot
from covey.reporting._class_facts import ClassFacts
from covey.reporting._words import described, percent, percent_cell


def bounds(facts: ClassFacts) -> dict:
    """What the error stays below."""
    held = held_out_bound(n_errors=facts.n_rows - facts.n_right, n_samples=facts.n_rows)
    dots = [Dot("this model", held.value, held.value, held.guarantee, "own")]
    how = "from its errors on these rows alone (Clopper and Pearson)"
    rows = [_row("This model", held.value, held.guarantee, how)]
    if facts.n_members > 1 and facts.all_available and not facts.held_out:
        _add_oracle(facts, dots, rows)
        _add_votes(facts, dots, rows)
    drawing = dot_plot(
        "bounds-dots",
        dots,
        low=0.0,
        title="Errors on these rows, and what they stay below on new ones",
        description=described(
            (d.name, f"{percent(d.value)}, at most {percent(d.high)}") for d in dots
        ),
    )
    return {"drawing": drawing, "rows": rows, "held": held}


def _row(of: str, here: float, most: float, how: str) -> list:
    return [of, percent_cell(here), percent_cell(most), how]


def _add_oracle(facts: ClassFacts, dots: list[Dot], rows: list[list]) -> None:
    """What a perfect choice of a member for each row stays below."""
    found = oracle_interval(facts.P, facts.truth, confidence=CONFIDENCE)
    low, high = oracle_bounds(found.member_errors[found.chosen_from])
    n_errors = int((~facts.member_right[:, found.chosen_from].any(axis=1)).sum())
    both = held_out_bound(n_errors=n_errors, n_samples=facts.n_sample)
    dots.append(Dot("oracle", both.value, both.value, both.guarantee, "limit"))
    how = "from the rows on which all members err that it chooses from"
    rows.append(_row("Oracle", both.value, both.guarantee, how))
    how = (
        "from the errors of members alone; however these depend on each other, here it lies "
        f"between {percent(low)} and {percent(high)} (Fréchet)"
    )
    rows.append(_row("Oracle", found.observed, found.high, how))


def _add_votes(facts: ClassFacts, dots: list[Dot], rows: list[list]) -> None:
    """The bounds of a majority vote with fixed weights."""
    fuser = facts.flock.fuser_
    weights = getattr(fuser, "weights", None)
    if type(fuser).__name__ != "Majority" or (weights is not None and not np.ndim(weights)):
        return
    formulas = [
        ("vote, first order", "first_order", "twice the error of a member drawn by weight"),
        ("vote, tandem", "tandem", "four times how often two members err together"),
    ]
    if facts.n_classes == 2:
        formulas.append(("vote, C-bound", "c", "from error and disagreement of members"))
    for label, kind, how in formulas:
        bound = vote_bound(facts.P, facts.truth, weights, kind=kind, confidence=CONFIDENCE)
        guarantee = min(bound.guarantee, 1.0)
        dots.append(Dot(label, min(bound.value, 1.0), bound.value, guarantee, "other"))
        rows.append(_row(label.capitalize(), bound.value, guarantee, how))
