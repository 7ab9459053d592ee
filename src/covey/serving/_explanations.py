"""Why a model answers as it does, and what would change that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from covey._plain_words import value_words
from covey.serving._answers import Answers
from covey.serving._rows import Rows

_MOST_MEMBERS = 8


class Explanations:
    """Reasons of a model.

    Parameters
    ----------
    model : TableClassifier or TableRegressor
    rows : Rows
    answers : Answers
    """

    def __init__(self, model: Any, rows: Rows, answers: Answers):
        self._model, self._rows, self._answers = model, rows, answers
        # A model that was fitted before typical values were kept has nothing to compare with.
        self.has_reasons = getattr(model.preparation_, "_seen_columns", None) is not None

    def records(self, rows: Sequence[dict[str, Any]], how: tuple) -> list[dict]:
        """A record for each of some checked rows: ``("explain", ...)`` or ``("change", ...)``."""
        what, *rest = how
        return {"explain": self.explain, "change": self.smallest_changes}[what](rows, *rest)

    def smallest_changes(
        self, rows: Sequence[dict[str, Any]], fixed: Sequence[str], to: Any
    ) -> list[dict]:
        """For each row the smallest change that changes the answer, if there is one."""
        frame = self._rows.frame(rows)
        return [
            _change(self._model.smallest_change(frame.iloc[[place]], to=to, fixed=fixed))
            for place in range(len(rows))
        ]

    def explain(self, rows: Sequence[dict[str, Any]], level: float | None, top: int) -> list[dict]:
        """A record for each of some checked rows: the answer, what moved it, and who decided."""
        made = self._answers.predict(rows, level)
        if not self.has_reasons:
            return [
                {
                    "answer": answer,
                    "baseline": None,
                    "because": [],
                    "against": [],
                    "other": None,
                    "members": [],
                    "n_members": 0,
                }
                for answer in made
            ]
        told = self._model.explain(self._rows.frame(rows), top=top)
        return [
            {"answer": answer, **_reasons(record)}
            for answer, record in zip(made, told, strict=True)
        ]


def _reasons(told: dict) -> dict[str, Any]:
    members = [_member(one) for one in told["members"] if one["weight"] > 0]
    return {
        "baseline": float(told["baseline"]),
        "because": [_reason(one) for one in told["because"]],
        "against": [_reason(one) for one in told["against"]],
        "other": float(told["other"]),
        "members": members[:_MOST_MEMBERS],
        "n_members": len(members),
    }


def _reason(told: dict) -> dict[str, Any]:
    return {
        "column": told["column"],
        "value": plain(told["value"]),
        "typical": plain(told["typical"]),
        "push": float(told["push"]),
    }


def _member(told: dict) -> dict[str, Any]:
    probability = told.get("probability")
    return {
        "name": str(told.get("name", f"member {told['member']}")),
        "weight": float(told["weight"]),
        "prediction": plain(told["prediction"]),
        "probability": None if probability is None else float(probability),
    }


def _change(found: Any) -> dict[str, Any]:
    if found is None:
        return {
            "changes": None,
            "prediction": None,
            "probability": None,
            "sentence": "No change of one or two columns to values that the model has seen does "
            "that.",
        }
    changes = [
        {"column": one["column"], "value": plain(one["value"]), "to": plain(one["to"])}
        for one in found.changes
    ]
    prediction, probability = plain(found.after["prediction"]), found.after.get("probability")
    if probability is None:
        told = value_words(prediction)
    else:
        told = f"{prediction} ({100 * probability:.0f} %)"
    moves = " and ".join(
        f"{one['column']} were {value_words(one['to'])} instead of {value_words(one['value'])}"
        for one in changes
    )
    return {
        "changes": changes,
        "prediction": prediction,
        "probability": None if probability is None else float(probability),
        "sentence": f"If {moves}, the answer would be {told}.",
    }


def plain(value: Any) -> Any:
    """A value as JSON has it; None for gaps."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
