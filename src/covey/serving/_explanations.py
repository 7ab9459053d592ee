"""Why a model answers as it does, and what would change that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

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

    def explain(self, rows: Sequence[dict[str, Any]], how: tuple) -> list[dict]:
        """A record for each of some checked rows: the answer, what moved it, and who decided.

        ``how`` is the level of sets or bounds, or None, and how many columns to name at most.
        """
        level, top = how
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


def plain(value: Any) -> Any:
    """A value as JSON has it; None for gaps."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
