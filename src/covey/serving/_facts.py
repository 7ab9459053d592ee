"""What a model's file tells of the model, for its page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import covey
from covey.serving._fields import Field

_LONGEST_NAME = 200


def facts_of(model: Any, fields: Sequence[Field]) -> dict[str, Any]:
    """The facts of a model as JSON has them.

    Files come from anyone: of what their makers have noted, what is not of the expected kind is
    left out.
    """
    about = getattr(model, "about_", None)
    about = about if isinstance(about, dict) else {}
    classes = model.classes_.tolist() if hasattr(model, "classes_") else None
    target = about.get("target")
    made = {
        "covey": covey.__version__,
        "predicts": target[:_LONGEST_NAME] if isinstance(target, str) and target else "the target",
        "task": "numbers" if classes is None else "classes",
        "classes": classes,
        "levels": hasattr(model.estimator_, "calibration_"),
        "model": type(model.estimator_).__name__,
        "columns": [one.as_record() for one in fields],
    }
    rows = about.get("n_rows")
    made["rows"] = rows if isinstance(rows, int) and rows > 0 else None
    made["quality"] = _quality(about, classes is None)
    return made


def _quality(about: dict[str, Any], numbers: bool) -> dict[str, Any] | None:
    """How good the model was on rows held out, with an interval, if its file says so."""
    scores = about.get("scores")
    first = scores[0] if isinstance(scores, list) and scores else None
    name = "r2" if numbers else "accuracy"
    if not isinstance(first, dict):
        return None
    found = {key: first.get(key) for key in (name, "low", "high")}
    if not all(isinstance(one, int | float) and math.isfinite(one) for one in found.values()):
        return None
    how = about.get("held_out")
    return {**found, "held_out": how[:_LONGEST_NAME] if isinstance(how, str) else None}
