"""Sections about the data: what was asked of them, and what they are like."""

from collections import Counter
from numbers import Real

import numpy as np

from covey.reporting._charts import (
    histogram,
)
from covey.reporting._inputs import is_missing
from covey.reporting._markup import fill, joined, tag
from covey.reporting._parts import Cell, Section, lead, more, table
from covey.reporting._words import (
    NOTHING,
    count,
    counted,
    listed,
    name,
    number,
    one_line,
    percent,
    strong,
)

# How many classes are named, and how many columns are shown.
_MOST_CLASSES = 20
_MOST_COLUMNS = 40


# -- what was asked --------------------------------------------------------------------------


def asked(facts, *, target, task, command):
    """What the model is for, and what it is."""
    flock, given = facts.flock, facts.asked
    counts = np.bincount(facts.codes, minlength=facts.n_classes)
    named = [
        fill("{} ({})", name(facts.classes[code]), count(counts[code]))
        for code in range(min(facts.n_classes, _MOST_CLASSES))
    ]
    left = facts.n_classes - len(named)
    if left:
        named.append(f"{count(left)} more")
    what = [
        ("Question", task),
        ("Target", target),
        ("Classes (rows here)", listed(named)),
        ("Rows judged on", _rows_said(facts)),
        ("Features", _features_said(facts)),
        ("Model", _model_said(facts)),
        ("Fusion", _fusion_said(flock)),
        ("Before the model", " → ".join(given.steps) if given.steps else None),
        ("Made by", tag("code", one_line(command)) if command else None),
    ]
    pairs = joined(
        tag("div", tag("dt", term), tag("dd", said)) for term, said in what if said is not None
    )
    return Section("asked", "What was asked", "What was asked", tag("dl", pairs, class_="facts"))


def _rows_said(facts):
    text = f"{count(facts.n_rows)}, taken to be none of those that the model was trained on"
    if len(facts.sample) < facts.n_rows:
        text += (
            f"; what is said about single members is measured on {count(len(facts.sample))} "
            "of them, evenly spaced"
        )
    return text + "."


def _features_said(facts):
    total = count(len(facts.features))
    if facts.support is None:
        return total
    return f"{count(facts.support.any(axis=0).sum())} of {total} are in use"


def _model_said(facts):
    return fill(
        "{} with {}", tag("code", type(facts.flock).__name__), counted(facts.n_members, "member")
    )


def _fusion_said(flock):
    fuser = flock.fuser_
    groups = getattr(flock, "group_weights_", None)
    kind = tag("code", type(fuser).__name__)
    if groups is not None and len(groups) == 1:
        return fill("{}: a gate that says for every row whom to ask", kind)
    if groups is not None:
        return fill(
            "{}: {}, each with a gate that says for every row whom to ask; the groups are "
            "averaged with fixed weights",
            kind,
            f"{len(groups)} groups of members",
        )
    if fuser.needs_X:
        return fill("{}: who is asked depends on the row", kind)
    if fuser.learns:
        return fill("{}: weights learnt from held-out rows, the same for every row", kind)
    return fill("{}: a fixed rule, nothing learnt", kind)


# -- data health -----------------------------------------------------------------------------


def health(facts, data_health):
    """What the columns are like."""
    if data_health is None:
        found, origin = _found_health(facts), "The columns of the rows that this page judges on."
    else:
        found, origin = [dict(record) for record in data_health], "What the data were like."
    missing = sum(1 for record in found if (record.get("missing") or 0) > 0)
    noted = sum(1 for record in found if record.get("note"))
    said = lead(
        fill(
            "{}; {} missing values, {} a remark.",
            strong(counted(len(found), "column")),
            "none has" if not missing else fill("{} with", counted(missing, "column")),
            "none has" if not noted else fill("{} with", counted(noted, "column")),
        )
    )
    # What needs attention comes first; the rest stays in its order.
    found.sort(key=lambda record: not (record.get("note") or record.get("missing")))
    rows = [
        [
            Cell(name(record.get("column", NOTHING), 36), one_line(record.get("column", ""))),
            one_line(record.get("kind") or NOTHING),
            Cell(_missing_said(record.get("missing")), record.get("missing") or 0),
            _spread_of(facts, record.get("column"), place),
            one_line(record.get("note") or ""),
        ]
        for place, record in enumerate(found[:_MOST_COLUMNS])
    ]
    shown = table(
        "health-table",
        origin,
        ["Column", "Kind", "Missing", "Values", "Remark"],
        rows,
        numeric={2},
        wide=True,
        tall=True,
    )
    left = more(len(found) - len(rows), "columns")
    return Section("health", "Data health", "Data health", joined([said, shown, left]))


def _spread_of(facts, column, place):
    """How the values of a column are spread: a small picture, or the most common of them."""
    known = _columns_given(facts)
    if hasattr(facts.asked.rows, "tocsr") or known.count(str(column)) != 1:
        return NOTHING
    present = _present(_column_at(facts.asked.rows, known.index(str(column))))
    if not len(present):
        return NOTHING
    if not _are_numbers(present):
        frequent, times = Counter(map(str, present.tolist())).most_common(1)[0]
        return fill("{} ({})", name(frequent, 20), percent(times / len(present)))
    numbers = present.astype(np.float64)
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        return NOTHING
    if numbers.min() == numbers.max():
        return f"always {number(numbers[0])}"
    between = f"{number(numbers.min())} to {number(numbers.max())}"
    drawing = histogram(f"spread-{place}", numbers, title=f"{column}: {between}")
    return tag("span", drawing, tag("span", between), class_="spread")


def _missing_said(missing):
    if missing is None:
        return NOTHING
    # A share of one, or how many.
    if isinstance(missing, float) and 0 < missing < 1:
        return percent(missing)
    return count(missing)


def _found_health(facts):
    rows, names = facts.asked.rows, _columns_given(facts)
    if hasattr(rows, "tocsr"):
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
    return [_column_health(column, _column_at(rows, place)) for place, column in enumerate(names)]


def _columns_given(facts):
    """The names of the columns as they were given, before any step."""
    rows = facts.asked.rows
    if hasattr(rows, "columns"):
        return [str(column) for column in rows.columns]
    if not facts.asked.steps:
        return facts.features
    return [f"x{place}" for place in range(rows.shape[1])]


def _column_at(rows, place):
    """A column by its place, as an array."""
    return np.asarray(rows.iloc[:, place] if hasattr(rows, "iloc") else rows[:, place])


def _present(values):
    """Those that are not missing."""
    if values.dtype.kind in "fmM":
        return values[values == values]  # what is missing differs from itself
    if values.dtype.kind != "O":
        return values
    return values[np.array([not is_missing(value) for value in values], dtype=bool)]


def _are_numbers(values):
    if values.dtype.kind != "O":
        return values.dtype.kind in "iuf"
    return all(isinstance(v, Real) and not isinstance(v, bool) for v in values)


def _column_health(column, values):
    present = _present(values)
    try:
        distinct = len(set(present.tolist()))
    except TypeError:  # values that are lists or the like
        distinct = len(present)
    numbers = _are_numbers(present)
    kind = "number" if numbers else "text"
    if distinct == 2:
        kind = "one of two"
    remark = ""
    if not len(present):
        remark = "nothing but missing values"
    elif distinct == 1 and len(present) > 1:
        remark = "the same everywhere"
    elif not numbers and distinct > 0.9 * len(present) and len(present) > 20:
        remark = "nearly every row has a value of its own"
    return {
        "column": column,
        "kind": kind,
        "missing": len(values) - len(present),
        "note": remark,
    }
