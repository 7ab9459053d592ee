"""The section about the columns of the data."""

from __future__ import annotations

from collections import Counter
from numbers import Real
from typing import Any

import numpy as np

from covey._templates import Markup
from covey.reporting._charts import histogram
from covey.reporting._details import Details
from covey.reporting._facts import Facts
from covey.reporting._inputs import ReportInputs, is_missing
from covey.reporting._words import (
    NOTHING,
    Cell,
    count,
    name,
    name_cell,
    number,
    one_line,
    percent,
)

# How many columns are shown.
_MOST_COLUMNS = 40


def health(facts: Facts, details: Details) -> dict:
    """What the columns are like."""
    found = details.data_health
    if found is None:
        found = _found_health(facts.inputs)
    # What needs attention comes first; the rest stays in its order.
    found = sorted(found, key=lambda record: not (record.get("note") or record.get("missing")))
    columns = [
        [
            name_cell(record.get("column", NOTHING), 36),
            one_line(record.get("kind") or NOTHING),
            Cell(_missing(record.get("missing")), record.get("missing") or 0),
            _spread_of(facts.inputs, record.get("column"), position),
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


def _spread_of(inputs: ReportInputs, column: Any, position: int) -> str:
    """How the values of a column are spread: a small picture, or the most common of them."""
    known = inputs.columns()
    if hasattr(inputs.rows, "tocsr") or known.count(str(column)) != 1:
        return NOTHING
    present = _present(_column_at(inputs.rows, known.index(str(column))))
    if not len(present):
        return NOTHING
    if not _are_numbers(present):
        frequent, times = Counter(map(str, present.tolist())).most_common(1)[0]
        return Markup("{} ({})").format(name(frequent, 20), percent(times / len(present)))
    numbers = present.astype(np.float64)
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        return NOTHING
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


def _found_health(inputs: ReportInputs) -> list[dict]:
    rows, names = inputs.rows, inputs.columns()
    if not hasattr(rows, "tocsr"):
        return [_column_health(label, _column_at(rows, k)) for k, label in enumerate(names)]
    filled = np.diff(rows.tocsc().indptr)
    return [
        {
            "column": column,
            "kind": "number, sparse",
            "missing": 0,
            "note": "" if some else "zero everywhere",
        }
        for column, some in zip(names, filled, strict=True)
    ]


def _column_at(rows: Any, position: int) -> np.ndarray:
    return np.asarray(rows.iloc[:, position] if hasattr(rows, "iloc") else rows[:, position])


def _present(values: np.ndarray) -> np.ndarray:
    """Those that are not missing."""
    if values.dtype.kind in "fmM":
        return values[values == values]  # a missing value differs from itself
    if values.dtype.kind != "O":
        return values
    return values[np.array([not is_missing(value) for value in values], dtype=bool)]


def _are_numbers(values: np.ndarray) -> bool:
    if values.dtype.kind != "O":
        return values.dtype.kind in "iuf"
    return all(isinstance(v, Real) and not isinstance(v, bool) for v in values)


def _column_health(column: str, values: np.ndarray) -> dict:
    present = _present(values)
    try:
        distinct = len(set(present.tolist()))
    except TypeError:  # values that are lists or the like
        distinct = len(present)
    numbers = _are_numbers(present)
    remark = ""
    if not len(present):
        remark = "nothing but missing values"
    elif distinct == 1 and len(present) > 1:
        remark = "the same everywhere"
    elif not numbers and distinct > 0.9 * len(present) and len(present) > 20:
        remark = "nearly every row has a value of its own"
    kind = "one of two" if distinct == 2 else "number" if numbers else "text"
    return {
        "column": column,
        "kind": kind,
        "missing": len(values) - len(present),
        "note": remark,
    }
