"""The section that explains single rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey._blocks import take_rows
from covey._plain_words import plain_words, value_words
from covey.reporting._facts import Facts
from covey.reporting._words import number

_MOST_MEMBERS = 3
_MOST_BECAUSE = 4
# Members of less importance for a row are not shown, as in the flocks' own ``explain``.
_LEAST_IMPORTANCE = 0.01


def rows(facts: Facts) -> dict:
    """A few rows: which members decided them, what these predict, and why."""
    chosen = facts.telling_rows()
    picked = np.array([row for row, _ in chosen])
    seen, model = take_rows(facts.inputs.seen, picked), facts.inputs.model
    flock, of, table, words = facts.flock, facts.features, seen, _of_feature
    # A flock in a pipeline may know other names than the report's.
    known = getattr(flock, "feature_names_in_", [f"x{p}" for p in range(facts.n_features)])
    called = dict(zip(map(str, known), facts.features, strict=True))
    if not hasattr(flock, "_explain"):
        records = _plain_records(facts, seen)
    elif not hasattr(model, "_columns_of_features"):
        # Why the whole decides is told of other rows, and takes longer than who decided.
        records = flock._explain(seen, _MOST_BECAUSE)
    else:
        # A model of a table speaks of the table's columns.
        of, table, words, called = facts.inputs.columns(), facts.inputs.rows, _of_column, {}
        table = take_rows(table, picked)
        names, shares = model.feature_names_in_.tolist(), model._columns_of_features()
        records = flock._explain(seen, _MOST_BECAUSE, names, shares)
    values = table.toarray() if hasattr(table, "toarray") else np.asarray(table)
    cards = []
    for (row, why), record, known in zip(chosen, records, values.tolist(), strict=True):
        shown = {column: words(column, one) for column, one in zip(of, known, strict=True)}
        members = []
        for member in record["members"][:_MOST_MEMBERS]:
            moved = [(called.get(one, one), push) for one, push in member.get("because", ())]
            members.append(
                {
                    "name": member.get("name", facts.names[member["member"] - 1]),
                    "prediction": facts.show_prediction(member["prediction"]),
                    "probability": member.get("probability"),
                    "weight": member["weight"],
                    "because": [(shown.get(one, one), number(push, 2)) for one, push in moved],
                }
            )
        said = facts.said(row)
        cards.append(
            {
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
        )
    return {"cards": cards}


def _plain_records(facts: Facts, seen: Any) -> list[dict]:
    """Records like those of ``explain``, of flocks whose members have no reasons to show."""
    P = facts.flock._predictions(facts.flock._check_rows(seen))
    importance = facts.flock.explain_fusion(seen)
    order = np.argsort(-np.round(importance, 12), axis=1, kind="stable")
    records = []
    for row, weights in enumerate(importance):
        told = [k for k in order[row] if weights[k] > _LEAST_IMPORTANCE]
        members = [
            {"member": int(k) + 1, "weight": float(weights[k]), **facts.member_record(P, row, k)}
            for k in told
        ]
        records.append({"members": members})
    return records


def _of_column(column: str, value: Any) -> str:
    return f"{column}: {value_words(value)}"


def _of_feature(feature: str, value: Any) -> str:
    """A feature with its value in a row; of a category, whether the row has it."""
    of, is_category, category = feature.partition(": ")
    if is_category and value in (0, 1):
        return plain_words(f"{of} = {category}", value)
    return _of_column(feature, value)
