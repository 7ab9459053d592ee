"""The sections about what was asked, what the data were like, and how to use the model."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from covey._kinds import as_frame, as_kind, kind_of, look
from covey._templates import Markup
from covey.reporting._drawing import histogram
from covey.reporting._facts import Facts
from covey.reporting._words import NOTHING, Cell, count, name, name_cell, number, one_line, percent

if TYPE_CHECKING:
    import pandas as pd

# How many classes are named, and how many columns are shown.
_MOST_CLASSES, _MOST_COLUMNS = 20, 40


def asked(facts: Facts) -> dict:
    """What the model is for, and what it is."""
    named = []
    if facts.task == "classification":
        counts = np.bincount(facts.y, minlength=facts.n_classes)
        named = [
            Markup("{} ({})").format(name(label), count(counts[code]))
            for code, label in enumerate(facts.classes[:_MOST_CLASSES])
        ]
        if facts.n_classes > len(named):
            named.append(f"{count(facts.n_classes - len(named))} more")
    # A flock of several kinds has found the weights of its mean.
    learnt = facts.flock.fuser_.learns or hasattr(facts.flock, "weights_")
    return {"classes": named, "fuser": facts.flock.fuser_, "learnt": learnt}


def use(facts: Facts) -> dict:
    """Lines of code that do what this page does."""
    flock, rows = facts.flock, facts.inputs.rows
    columns = getattr(rows, "columns", None)
    table = f"X_new with {rows.shape[1]} columns"
    if columns is not None:
        some = ", ".join(repr(one_line(column)) for column in list(columns)[:3])
        table = f"X_new with the columns {some}{', ...' if len(columns) > 3 else ''}"
    bare = facts.inputs.model is flock
    return {"table": table, "bare": bare, "explains": bare and hasattr(flock, "explain")}


def health(facts: Facts) -> dict:
    """What the columns are like."""
    inputs, found, frame = facts.inputs, facts.details.data_health, None
    if not hasattr(inputs.rows, "tocsr"):
        frame = as_frame(inputs.rows).set_axis(inputs.columns(), axis=1)
    if found is None and frame is not None:
        found = [
            {
                "column": one.name,
                "kind": "one of two" if one.n_values == 2 else one.kind,
                "missing": one.missing,
                "note": one.drop or one.note or ("the same everywhere" * (one.n_values == 1)),
            }
            for one in look(frame)
        ]
    elif found is None:
        sparse = {"kind": "number, sparse", "missing": 0}
        found = [
            {"column": column, **sparse, "note": "" if filled else "zero everywhere"}
            for column, filled in zip(
                inputs.columns(), np.diff(inputs.rows.tocsc().indptr), strict=True
            )
        ]
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


def _missing(missing: float | None) -> str:
    if missing is None:
        return NOTHING
    # A share of one, or how many.
    share = isinstance(missing, float) and 0 < missing < 1
    return percent(missing) if share else count(missing)


def _spread_of(frame: pd.DataFrame | None, column: Any, position: int) -> str:
    """How the values of a column are spread: a small picture, or the most common of them."""
    values = None if frame is None else frame.get(str(column))
    found = None if values is None else kind_of(values)
    if found is None or found.kind in ("empty", "nested"):
        return NOTHING
    present = as_kind(values, found.kind, found.form).dropna()
    if not len(present):
        return NOTHING
    if found.kind != "number":
        frequent, times = Counter(map(str, present)).most_common(1)[0]
        return Markup("{} ({})").format(name(frequent, 20), percent(times / len(present)))
    numbers = present.to_numpy()
    if numbers.min() == numbers.max():
        return f"always {number(numbers[0])}"
    between = f"{number(numbers.min())} to {number(numbers.max())}"
    drawing = histogram(f"spread-{position}", numbers, title=f"{column}: {between}")
    return Markup('<span class="spread">{}<span>{}</span></span>').format(drawing, between)
