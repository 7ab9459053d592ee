"""The section that explains single rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey._blocks import take_rows
from covey._plain_words import plain_words, value_words
from covey.reporting._facts import Facts
from covey.reporting._maps import Bar, bars
from covey.reporting._svg import room_for
from covey.reporting._words import described, number

_MOST_MEMBERS = 3
_MOST_BECAUSE = 4
# Members of less importance for a row are not shown, as in the flocks' own ``explain``.
_LEAST_IMPORTANCE = 0.01


def rows(facts: Facts) -> dict:
    """A few rows: which members decided them, what these predict, and why."""
    chosen = facts.telling_rows()
    picked = np.array([row for row, _ in chosen])
    seen = take_rows(facts.inputs.seen, picked)
    model, explains = facts.inputs.model, hasattr(facts.flock, "_explain")
    if explains and hasattr(model, "_columns_of_features"):
        # A model of a table speaks of the table's columns.
        names, shares = model.feature_names_in_.tolist(), model._columns_of_features()
        records = facts.flock._explain(seen, _MOST_BECAUSE, names, shares)
        rows_given = take_rows(facts.inputs.rows, picked)
        known_values, words = _values_of(facts.inputs.columns(), rows_given), _of_column
    else:
        records = _explained(facts, seen) if explains else _plain_records(facts, seen)
        known_values, words = _values_of(facts.features, seen), _of_feature
    for record, known in zip(records, known_values, strict=True):
        for member in record["members"]:
            member["because"] = [
                (words(column, known[column]) if column in known else column, push)
                for column, push in member["because"]
            ]
    reasons = [column for r in records for m in r["members"] for column, _ in m["because"]]
    left = room_for(reasons, 206) + 10
    pushes = [abs(push) for r in records for m in r["members"] for _, push in m["because"]]
    highest = max(pushes, default=0.0)
    return {
        "cards": [
            _card(facts, row, why, record, left, highest)
            for (row, why), record in zip(chosen, records, strict=True)
        ]
    }


def _explained(facts: Facts, seen: Any) -> list[dict]:
    """The flock's own records with the report's names; a flock in a pipeline may know none."""
    # Why the whole decides is told of other rows, and takes longer than who decided.
    records = facts.flock._explain(seen, _MOST_BECAUSE)
    known = getattr(facts.flock, "feature_names_in_", None)
    if known is None:
        known = [f"x{position}" for position in range(facts.n_features)]
    wanted = dict(zip(map(str, known), facts.features, strict=True))
    for record in records:
        for member in record["members"]:
            member["because"] = [
                (wanted.get(name, name), push) for name, push in member["because"]
            ]
    return records


def _plain_records(facts: Facts, seen: Any) -> list[dict]:
    """The same for flocks whose members have no reasons to show."""
    P = facts.flock._predictions(facts.flock._check_rows(seen))
    importance = facts.flock.explain_fusion(seen)
    records = facts.fused_records(seen)
    for row, record in enumerate(records):
        order = np.argsort(-np.round(importance[row], 12), kind="stable")
        record["members"] = [
            {
                "member": int(k) + 1,
                "weight": float(importance[row, k]),
                **facts.member_record(P, row, k),
                "because": [],
            }
            for k in order
            if importance[row, k] > _LEAST_IMPORTANCE
        ]
    return records


def _card(facts: Facts, row: int, why: str, record: dict, left: float, highest: float) -> dict:
    members = []
    for position, member in enumerate(record["members"][:_MOST_MEMBERS]):
        who = member.get("name", facts.names[member["member"] - 1])
        items = [Bar(column, push) for column, push in member["because"]]
        drawing = items and bars(
            f"row-{row}-{position}",
            items,
            width=380,
            left=left,
            highest=highest,
            title=f"What moved {who} on row {facts.row_name(row)}",
            description=described((item.name, number(item.value)) for item in items),
        )
        members.append(
            {
                "name": who,
                "prediction": facts.show_prediction(member["prediction"]),
                "probability": member.get("probability"),
                "weight": member["weight"],
                "drawing": drawing or None,
            }
        )
    said = facts.said(row) if facts.held_out else record
    return {
        "row": facts.row_name(row),
        "why": why,
        "wrong": facts.is_wrong(row),
        "prediction": facts.show_prediction(said["prediction"]),
        "probability": said.get("probability"),
        "truth": facts.show_truth(row),
        "gate": record.get("gate_share"),
        "members": members,
        "n_left": len(record["members"]) - _MOST_MEMBERS,
    }


def _of_column(column: str, value: Any) -> str:
    return f"{column}: {value_words(value)}"


def _of_feature(feature: str, value: Any) -> str:
    """A feature with its value in a row; of a category, whether the row has it."""
    of, is_category, category = feature.partition(": ")
    if is_category and value in (0, 1):
        return plain_words(f"{of} = {category}", value)
    return _of_column(feature, value)


def _values_of(names: list[str], rows: Any) -> list[dict[str, Any]]:
    """The values of each row, by their columns."""
    table = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    return [dict(zip(names, row, strict=True)) for row in table.tolist()]
