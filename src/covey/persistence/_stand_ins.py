"""Estimators that scikit-learn fits on a handful of rows, before their numbers are replaced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from covey.members._stored import try_row
from covey.persistence._nodes import Node
from covey.persistence._refusals import NotCoveredError

_ROWS_OF_A_CLASS = 2
# A stand-in for more classes takes longer to fit than a file should keep its reader busy.
_MOST_CLASSES = 200


def check_classes(model: Any) -> None:
    """Refuse to write a model of more classes than a stand-in is fitted for."""
    classes = getattr(model, "classes_", ())
    if len(classes) > _MOST_CLASSES:
        raise NotCoveredError(f"a {type(model).__name__} of {len(classes)} classes")


def classes_of(model: Any, node: Node) -> np.ndarray | None:
    """Return the classes of a classifier in a file, few enough; None for others."""
    if not is_classifier(model):
        node.check(node.none("classes"), "classes", "belong to nothing.")
        return None
    classes = node.labels("classes")
    fits = 1 < len(classes) <= _MOST_CLASSES
    node.check(fits, "classes", f"are too few, or more than {_MOST_CLASSES}.")
    return classes


@contextmanager
def stand_in(model: Any, classes: np.ndarray | None, **few: Any) -> Iterator[None]:
    """Fit a model on a table of one column, with default parameters except for ``few``.

    There are two rows of each class, or two numbers to predict. When its numbers are replaced it
    gets its own parameters again, and must predict a row.
    """
    own = model.get_params(deep=False)
    model.set_params(**{**type(model)().get_params(deep=False), **few})
    y = np.arange(1.0, 3.0) if classes is None else np.repeat(classes, _ROWS_OF_A_CLASS)
    model.fit(np.arange(len(y), dtype=np.float64)[:, None], y)
    yield
    model.set_params(**own)
    try_row(model)
