"""Columns whose numbers are too large or too small for the models that read them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from covey._columns import label_of

# Models of scikit-learn that read X in single precision.
_OF_TREES = (
    DecisionTreeClassifier,
    RandomForestClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
)
_SINGLE = np.finfo(np.float32)


def check_range(
    X: Any,
    feature_names: np.ndarray | None,
    *,
    smallest: float,
    largest: float,
    reader: str,
    columns: np.ndarray | None = None,
) -> None:
    """Refuse columns that a model would overflow on, or take for constant; NaN is passed over.

    A column is refused that holds more than ``largest``, or that varies, but holds nothing as
    large as ``smallest``. The message names the ``reader`` who cannot read such numbers.
    """
    if hasattr(X, "tocsr"):
        low, high = X.nanmin(axis=0).toarray().ravel(), X.nanmax(axis=0).toarray().ravel()
    else:
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    size = np.maximum(np.abs(low), np.abs(high))
    checked = np.zeros(len(size), dtype=bool)
    checked[slice(None) if columns is None else columns] = True
    for broken, what, remedy in (
        (size > largest, "more than {} can read", "divide it by a constant"),
        (
            (high > low) & (size < smallest),
            "too little for {} to tell apart",
            "multiply it by a constant, or drop it",
        ),
    ):
        broken = broken & checked
        if broken.any():
            column = int(np.argmax(broken))
            raise ValueError(
                f"Column {label_of(column, feature_names)} holds numbers up to {size[column]:g}, "
                f"{what.format(reader)}; {remedy}."
            )


def check_tree_range(
    learner: Any,
    X: Any,
    feature_names: np.ndarray | None,
    *,
    room: float = 1.0,
    smallest: float = float(_SINGLE.tiny),
) -> None:
    """Refuse columns beyond single precision where the learner is a tree, or made of trees.

    ``room`` is by how much rows that are made of these may be larger.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey.members import check_tree_range
    >>> check_tree_range(DecisionTreeClassifier(), np.array([[1e30]]), None)
    """
    if isinstance(learner, _OF_TREES):
        check_range(
            X,
            feature_names,
            smallest=smallest,
            largest=float(_SINGLE.max) / room,
            reader=f"{type(learner).__name__}, which reads them in single precision,",
        )
