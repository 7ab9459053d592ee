"""What a model answers to rows, as JSON has it and as a person reads it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from covey.serving._rows import Rows
from covey.serving._schema import BadRequestError

# In plain words, how likely the predicted class is.
_WORDS = (
    (0.99, "almost certainly {}"),
    (0.9, "very likely {}"),
    (0.75, "likely {}"),
    (0.6, "rather {}"),
    (0.0, "a close call, {} by a little"),
)


class Answers:
    """Predictions of a model.

    Parameters
    ----------
    model : TableClassifier or TableRegressor
    rows : Rows
    """

    def __init__(self, model: Any, rows: Rows):
        self._model, self._rows = model, rows
        self.classes = model.classes_.tolist() if hasattr(model, "classes_") else None
        # Whether there are sets of classes, or bounds of numbers, to any level.
        self.knows_error = hasattr(model.estimator_, "calibration_")

    def predict(self, rows: Sequence[dict[str, Any]], level: float | None) -> list[dict]:
        """A record for each of some checked rows."""
        model, frame = self._model, self._rows.frame(rows)
        numbers = model.preparation_.transform(frame)
        if self.classes is None:
            made = self._numbers(numbers, level)
        else:
            made = self._classes(numbers, level)
        for record, row in zip(made, rows, strict=True):
            record["remarks"] = self._rows.remarks(row)
        return made

    def _numbers(self, numbers: Any, level: float | None) -> list[dict]:
        predicted = _finite(self._model.estimator_.predict(numbers))
        made: list[dict[str, Any]] = [{"prediction": value} for value in predicted.tolist()]
        if level is not None:
            bounds = self._model.estimator_.predict_interval(numbers, level)
            for record, (low, high) in zip(made, bounds.tolist(), strict=True):
                # With too few rows held out there are no bounds.
                record["low"] = low if math.isfinite(low) else None
                record["high"] = high if math.isfinite(high) else None
        return made

    def _classes(self, numbers: Any, level: float | None) -> list[dict]:
        probabilities = _finite(self._model.estimator_.predict_proba(numbers))
        names = [str(label) for label in self.classes]
        made: list[dict[str, Any]] = []
        for row, best in zip(
            probabilities.tolist(), probabilities.argmax(axis=1).tolist(), strict=True
        ):
            made.append(
                {
                    "prediction": self.classes[best],
                    "probability": row[best],
                    "words": in_words(self.classes[best], row[best]),
                    "probabilities": dict(zip(names, row, strict=True)),
                }
            )
        if level is not None:
            sets = self._model.estimator_.predict_set(numbers, level)
            for record, one in zip(made, sets.tolist(), strict=True):
                record["set"] = [
                    label for label, within in zip(self.classes, one, strict=True) if within
                ]
        return made


def in_words(label: Any, probability: float) -> str:
    """A class and how likely it is, in plain words."""
    words = next(words for least, words in _WORDS if probability >= least)
    # A label may hold braces; it is not a format.
    return words.replace("{}", str(label), 1)


def _finite(values: Any) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    if not np.isfinite(values).all():
        raise BadRequestError("The model has no finite answer for values of this size.")
    return values
