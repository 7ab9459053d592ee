"""scikit-learn's nearest neighbours, which are fitted again to the rows that a file has."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from covey._core.limits import FAR
from covey._plain_words import first_line
from covey._state import Sizes
from covey.members._stored import OfTable, try_row
from covey.persistence._formats import estimator_format
from covey.persistence._nodes import Node
from covey.persistence._refusals import NotCoveredError, damaged
from covey.persistence._writer import Writer

# Each prediction of sparse rows takes memory for as many columns.
_WIDEST = 1 << 24
_METRICS = ("minkowski", "euclidean", "manhattan", "chebyshev", "cosine")
_CHOICES = {
    "weights": ("uniform", "distance"),
    "algorithm": ("auto", "ball_tree", "kd_tree", "brute"),
    "metric": _METRICS,
    "metric_params": (None,),
}


def _why_not(model: Any) -> str | None:
    for name, choices in _CHOICES.items():
        value = getattr(model, name)
        if not (value is None or isinstance(value, str)) or value not in choices:
            return f"with {name}={value!r}"
    return None


def _write_neighbors(model: Any, out: Writer) -> dict[str, Any]:
    if np.ndim(model._y) != 1:
        raise NotCoveredError(f"a {type(model).__name__} of several outputs")
    if model.n_features_in_ > _WIDEST:
        raise NotCoveredError(f"a {type(model).__name__} of {model.n_features_in_:,} columns")
    target: dict[str, Any] = {"numbers": None, "codes": None, "classes": None}
    if isinstance(model, KNeighborsClassifier):
        target |= {"classes": out.labels(model.classes_), "codes": out.array(model._y, "whole")}
    else:
        target["numbers"] = out.array(np.asarray(model._y, dtype=np.float64))
    dense = isinstance(model._fit_X, np.ndarray)
    points = np.asarray(model._fit_X, dtype=np.float64) if dense else model._fit_X
    return {**out.fields(model, OfTable), "points": out.matrix(points), **target}


def _read_neighbors(model: Any, node: Node) -> None:
    named = type(model)()
    node.fields(OfTable, Sizes(named))
    n_features = named.n_features_in_
    node.check(n_features <= _WIDEST, "n_features_in", f"is more than {_WIDEST:,}.")
    points = node.matrix("points", (None, n_features), FAR)
    y = _read_target(node, points.shape[0], is_classifier(model))
    proper = type(model.n_neighbors) is int and 1 <= model.n_neighbors <= len(y)
    node.check(proper, "n_neighbors", "is more than there are rows.")
    try:
        model.fit(points, y)
    except (ValueError, TypeError) as error:
        damaged(node.where, f"cannot be searched: {first_line(error)}")
    if hasattr(named, "feature_names_in_"):
        model.feature_names_in_ = named.feature_names_in_
    try_row(model)


def _read_target(node: Node, n_rows: int, is_classifier: bool) -> np.ndarray:
    if not is_classifier:
        none = node.none("classes") and node.none("codes")
        node.check(none, "classes", "belong to nothing.")
        return node.array("numbers", (n_rows,), low=-FAR, high=FAR)
    node.check(node.none("numbers"), "numbers", "belong to nothing.")
    classes = node.labels("classes")
    codes = node.array("codes", (n_rows,), "whole", low=0, high=len(classes) - 1)
    all_met = len(np.unique(codes)) == len(classes)
    node.check(all_met, "codes", "lack a class.")
    return classes[codes]


FORMATS = {
    cls.__name__: estimator_format(
        cls, "n_samples_fit_", _write_neighbors, _read_neighbors, why_not=_why_not
    )
    for cls in (KNeighborsClassifier, KNeighborsRegressor)
}
