"""Where a model is wrong more often, or further off, than elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from covey._templates import Markup
from covey.reporting._drawing import Bar, bars
from covey.reporting._facts import Facts
from covey.reporting._words import day, described, number, rough, shortened

# How many columns are looked at, those that matter most first, and of how many categories.
_MOST_COLUMNS, _MOST_CATEGORIES = 20, 12
_MOST_SHOWN = 3
# A part of the rows is worth a sentence if it has so many of them, and this share at least.
_LEAST_ROWS, _LEAST_SHARE = 15, 0.03
# How often a table without any such part is said to have one.
_CHANCE = 0.05


class Region(NamedTuple):
    """Rows that are worse than the others."""

    column: str
    words: str  # "is between 0.5 and 0.9"
    brief: str  # "0.5 to 0.9"
    loss: float  # the mean loss there
    rest: float  # and elsewhere
    n_rows: int


def regions_drawn(facts: Facts) -> Markup | None:
    """The parts of the rows that are worse than the rest, as bars; None where there are none."""
    found = facts.once(worst_regions)
    show = rough if facts.task == "classification" else number
    levels = [
        Bar(f"{one.column}: {one.brief}", one.loss, f"elsewhere {show(one.rest)}") for one in found
    ]
    return levels and bars(
        "region-bars",
        levels,
        show=show,
        # Shares of rows are on the scale of all other shares.
        ends=(0.0, 1.0 if facts.task == "classification" else max(b.value for b in levels)),
        title="Where rows are worse than elsewhere",
        description=described((one.name, f"{show(one.value)}, {one.note}") for one in levels),
    )


def worst_regions(facts: Facts) -> list[Region]:
    """The parts of the rows that are clearly worse than the rest, at most one of each column.

    A part is a quarter of a column of numbers, a category, or the rows where a value is missing;
    it must be worse by more than the best of so many parts would be by chance.
    """
    if facts.columns.frame is None:
        return []
    losses, found = facts.row_losses, []
    for position in facts.columns.order[:_MOST_COLUMNS]:
        for words, brief, rows in _parts(facts, int(position)):
            n_here, n_rest = int(rows.sum()), int((~rows).sum())
            if n_here < max(_LEAST_ROWS, _LEAST_SHARE * len(rows)) or n_rest < _LEAST_ROWS:
                continue
            here, rest = losses[rows], losses[~rows]
            error = np.sqrt(here.var() / n_here + rest.var() / n_rest)
            gap = here.mean() - rest.mean()
            # Parts of which all rows are alike differ for certain.
            score = gap / error if error > 0 else np.inf * gap if gap else 0.0
            column = facts.columns.names[position]
            means = float(here.mean()), float(rest.mean())
            region = Region(column, words, brief, *means, n_here)
            found.append((float(score), region))
    if not found:
        return []
    least = norm.isf(_CHANCE / len(found))
    chosen: dict[str, Region] = {}
    for score, region in sorted(found, key=lambda one: -one[0]):
        if score > least and len(chosen) < _MOST_SHOWN:
            chosen.setdefault(region.column, region)
    return list(chosen.values())


def _parts(facts: Facts, position: int) -> Iterator[tuple[str, str, np.ndarray]]:
    """Parts of the rows by a column: in words which these are, and briefly."""
    kind, values = facts.columns.values(position)
    if values is None:
        return
    gaps = values.isna().to_numpy()
    if gaps.any():
        yield "is missing", "missing", gaps
    if kind == "text":
        text = values.astype(str).to_numpy()
        for label in values.value_counts().index[:_MOST_CATEGORIES]:
            brief = shortened(label, 30)
            yield f"is “{brief}”", brief, (text == label) & ~gaps
        return
    show = day if kind == "date" else number
    for low, high, rows in parts_of(values.to_numpy(np.float64)):
        yield f"is {range_words(low, high, show)}", range_label(low, high, show), rows


def parts_of(
    numbers: np.ndarray,
) -> Iterator[tuple[float | None, float | None, np.ndarray]]:
    """Quarters of rows by a number, which may be missing: from, to, and which rows these are.

    The first has no lower end and the last no upper one; nothing where all are the same.
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


def range_words(
    low: float | None, high: float | None, show: Callable[[float], str] = number
) -> str:
    """A range of numbers in words; one end may be open."""
    if low is None:
        return f"below {show(high)}"
    if high is None:
        return f"{show(low)} or more"
    return f"between {show(low)} and {show(high)}"


def range_label(
    low: float | None, high: float | None, show: Callable[[float], str] = number
) -> str:
    """The same where there is little room."""
    if low is None or high is None:
        return range_words(low, high, show)
    return f"{show(low)} to {show(high)}"
