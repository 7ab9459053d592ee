"""The section about the columns of the data."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from covey._kinds import as_frame, as_kind, kind_of, look
from covey._templates import Markup
from covey.reporting._charts import histogram
from covey.reporting._facts import Facts
from covey.reporting._inputs import ReportInputs
from covey.reporting._words import NOTHING, Cell, count, name, name_cell, number, one_line, percent

if TYPE_CHECKING:
    import pandas as pd

# How many columns are shown.
_MOST_COLUMNS = 40


def health(facts: Facts) -> dict:
    """What the columns are like."""
    inputs, found = facts.inputs, facts.details.data_health
    frame = None
    if not hasattr(inputs.rows, "tocsr"):
        frame = as_frame(inputs.rows)
        frame = frame.set_axis(inputs.columns(), axis=1)
    if found is None:
        found = _found_health(inputs, frame)
    # What needs attention comes first; the rest stays in its order.
    found = sorted(found, key=lambda record: not (record.get("note") or record.get("missing")))
    columns = [
        [
            name_cell(record.get("column", NOTHING), 36),
            one_line(record.get("kind") or NOTHING),
            Cell(_missing(record.get("missing")), record.get("missing") or 0),
            _spread_of(frame, record.get("column"), position),
            one_line(record.get("note") or ""),
        ]
        for position, record in enumerate(found[:_MOST_COLUMNS])
    ]
    return {
        "columns": columns,
        "n_columns": len(found),
        "n_missing": sum((record.get("missing") or 0) > 0 for record in found),
        "n_noted": sum(bool(record.get("note")) for record in found),
    }


def _spread_of(frame: pd.DataFrame | None, column: Any, position: int) -> str:
    """How the values of a column are spread: a small picture, or the most common of them."""
    values = None if frame is None else frame.get(str(column))
    found = None if values is None else kind_of(values)
    kind = "empty" if found is None else found.kind
    if kind in ("empty", "nested"):
        return NOTHING
    present = as_kind(values, kind, found.form).dropna()
    if not len(present):
        return NOTHING
    if kind != "number":
        frequent, times = Counter(map(str, present)).most_common(1)[0]
        return Markup("{} ({})").format(name(frequent, 20), percent(times / len(present)))
    numbers = present.to_numpy()
    if numbers.min() == numbers.max():
        return f"always {number(numbers[0])}"
    between = f"{number(numbers.min())} to {number(numbers.max())}"
    drawing = histogram(f"spread-{position}", numbers, title=f"{column}: {between}")
    return Markup('<span class="spread">{}<span>{}</span></span>').format(drawing, between)


def _missing(missing: float | None) -> str:
    if missing is None:
        return NOTHING
    # A share of one, or how many.
    if isinstance(missing, float) and 0 < missing < 1:
        return percent(missing)
    return count(missing)


def _found_health(inputs: ReportInputs, frame: pd.DataFrame | None) -> list[dict]:
    if frame is None:
        filled = np.diff(inputs.rows.tocsc().indptr)
        return [
            {
                "column": column,
                "kind": "number, sparse",
                "missing": 0,
                "note": "" if some else "zero everywhere",
            }
            for column, some in zip(inputs.columns(), filled, strict=True)
        ]
    return [
        {
            "column": column.name,
            "kind": "one of two" if column.n_values == 2 else column.kind,
            "missing": column.missing,
            "note": column.drop
            or column.note
            or ("the same everywhere" if column.n_values == 1 else ""),
        }
        for column in look(frame)
    ]
