"""scikit-learn's nearest neighbours, which are fitted again to the rows that a file has."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from covey.members._stored import try_row
from covey.persistence._errors import NotCoveredError, damaged
from covey.persistence._features import read_features, write_features
from covey.persistence._formats import Format
from covey.persistence._reading import Node
from covey.persistence._writing import Writer

# Squared distances stay finite.
_FARTHEST = 1e100
_METRICS = ("minkowski", "euclidean", "manhattan", "chebyshev", "cosine")
_CHOICES = {
    "weights": ("uniform", "distance"),
    "algorithm": ("auto", "ball_tree", "kd_tree", "brute"),
    "metric": _METRICS,
    "metric_params": (None,),
}


def _check_parameters(model: Any) -> str | None:
    """The parameter that a file cannot hold, if there is one."""
    for name, choices in _CHOICES.items():
        value = getattr(model, name)
        if not (value is None or isinstance(value, str)) or value not in choices:
            return name
    return None


def _write_neighbors(model: Any, out: Writer) -> dict[str, Any]:
    written: dict[str, Any] = {"parameters": out.parameters(model), "fitted": None}
    if _check_parameters(model) is not None:
        name = _check_parameters(model)
        raise NotCoveredError(f"a {type(model).__name__} with {name}={getattr(model, name)!r}")
    if not hasattr(model, "n_samples_fit_"):
        return written
    if np.ndim(model._y) != 1:
        raise NotCoveredError(f"a {type(model).__name__} of several outputs")
    target: dict[str, Any] = {"numbers": None, "codes": None, "classes": None}
    if isinstance(model, KNeighborsClassifier):
        target |= {"classes": out.labels(model.classes_), "codes": out.array(model._y, "whole")}
    else:
        target["numbers"] = out.array(np.asarray(model._y, dtype=np.float64))
    written["fitted"] = {
        **write_features(model, out),
        "points": out.matrix(
            np.asarray(model._fit_X, dtype=np.float64)
            if isinstance(model._fit_X, np.ndarray)
            else model._fit_X
        ),
        **target,
    }
    return written


def _read_neighbors(cls: type) -> Any:
    def read(node: Node) -> Any:
        model = cls(**node.parameters(cls))
        node.check(_check_parameters(model) is None, "parameters", "are not known.")
        if node.none("fitted"):
            return model
        with node.child("fitted") as inner:
            stand_in = cls()
            n_features = read_features(stand_in, inner)
            points = inner.matrix("points", (None, n_features), _FARTHEST)
            y = _read_target(inner, points.shape[0], cls is KNeighborsClassifier)
            proper = type(model.n_neighbors) is int and 1 <= model.n_neighbors <= len(y)
            inner.check(proper, "n_neighbors", "is more than there are rows.")
            try:
                model.fit(points, y)
            except (ValueError, TypeError) as error:
                damaged(inner.where, f"cannot be searched: {str(error).splitlines()[0]}")
            if hasattr(stand_in, "feature_names_in_"):
                model.feature_names_in_ = stand_in.feature_names_in_
            try_row(model)
        return model

    return read


def _read_target(node: Node, n_rows: int, is_classifier: bool) -> np.ndarray:
    if not is_classifier:
        none = node.none("classes") and node.none("codes")
        node.check(none, "classes", "belong to nothing.")
        return node.array("numbers", (n_rows,), low=-_FARTHEST, high=_FARTHEST)
    node.check(node.none("numbers"), "numbers", "belong to nothing.")
    classes = node.labels("classes")
    codes = node.array("codes", (n_rows,), "whole", low=0, high=len(classes) - 1)
    all_met = len(np.unique(codes)) == len(classes)
    node.check(all_met, "codes", "lack a class.")
    return classes[codes]


FORMATS = {
    cls.__name__: Format(cls, _write_neighbors, _read_neighbors(cls))
    for cls in (KNeighborsClassifier, KNeighborsRegressor)
}
