"""Estimators that scikit-learn fits on a handful of rows, to be given other numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey.persistence._errors import NotCoveredError
from covey.persistence._reading import Node

_ROWS_OF_A_CLASS = 2
# A stand-in for more classes takes longer to fit than a file should keep its reader busy.
_MOST_CLASSES = 200


def check_classes(model: Any) -> None:
    """Refuse to write a model of more classes than a stand-in is fitted for."""
    classes = getattr(model, "classes_", ())
    if len(classes) > _MOST_CLASSES:
        raise NotCoveredError(f"a {type(model).__name__} of {len(classes)} classes")


def few_rows(classes: np.ndarray | None, node: Node) -> tuple[np.ndarray, np.ndarray]:
    """A table of one column, with two rows of each class or with two numbers to predict."""
    few = classes is None or len(classes) <= _MOST_CLASSES
    node.check(few, "classes", f"are more than {_MOST_CLASSES}.")
    y = np.arange(1.0, 3.0) if classes is None else np.repeat(classes, _ROWS_OF_A_CLASS)
    return np.arange(len(y), dtype=np.float64)[:, None], y


def set_parameters(model: Any, parameters: dict[str, Any]) -> None:
    """Give a stand-in the parameters of the model that it is made into."""
    model.set_params(**type(model)(**parameters).get_params(deep=False))
