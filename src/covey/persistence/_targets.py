"""Models of several targets: a model for each of them, of any class that files hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier

from covey.multitarget import MultiTargetClassifier, MultiTargetRegressor
from covey.persistence._features import read_features, write_features
from covey.persistence._formats import estimator_format
from covey.persistence._membership import check_names
from covey.persistence._reading import Node
from covey.persistence._writing import Writer, plain

_NAMES = (str, int, float, bool, tuple, type(None))


def _is_constant(model: Any) -> bool:
    """Whether a model is that of a target which had one class."""
    return type(model) is DummyClassifier and len(model.classes_) == 1


def _write_target(model: Any, out: Writer) -> dict[str, Any]:
    if _is_constant(model):
        return {"constant": out.labels(model.classes_)}
    return {"model": out.model(model)}


def _write_targets(model: Any, out: Writer) -> dict[str, Any]:
    names = model.target_names_
    return {
        **write_features(model, out),
        "single": bool(model._is_single),
        # Targets without names are numbered.
        "target_names": plain(names.tolist()) if names.dtype.kind == "O" else None,
        "targets": [_write_target(one, out) for one in model.estimators_],
    }


def _read_target(model: Any, node: Node) -> Any:
    """The model of one target, which is given the rows that the whole is given."""
    with node:
        if node.has("constant"):
            label = node.labels("constant", 1)
            classifies = isinstance(model, MultiTargetClassifier)
            node.check(classifies, "constant", "is a class, and numbers have none.")
            fitted = DummyClassifier().fit([[0.0]], label)
            fitted.n_features_in_ = model.n_features_in_
            if hasattr(model, "feature_names_in_"):
                fitted.feature_names_in_ = model.feature_names_in_
            return fitted
        fitted = node.model("model")
        # Only what is fitted has a number of features.
        width = getattr(fitted, "n_features_in_", None)
        proper = model._accepts(fitted) and width == model.n_features_in_
        proper = proper and getattr(fitted, "_is_single", True)
        if isinstance(model, MultiTargetClassifier):
            proper = proper and hasattr(fitted, "classes_")
        node.check(proper, "model", f"is no {model._noun} of these columns.")
        check_names(model, fitted, node, "model")
    return fitted


def _read_targets(model: Any, node: Node) -> None:
    read_features(model, node)
    model._is_single = node.flag("single")
    targets = node.children("targets")
    proper = len(targets) == 1 if model._is_single else len(targets) > 0
    node.check(proper and None not in targets, "targets", "are missing, or too many.")
    model.target_names_ = np.arange(len(targets))
    if not node.none("target_names"):
        model.target_names_ = _read_names(node, len(targets))
    model.estimators_ = [_read_target(model, target) for target in targets]
    model._keep_classes()


def _read_names(node: Node, length: int) -> np.ndarray:
    found = node.plain("target_names")
    proper = type(found) is list and len(found) == length
    proper = proper and all(isinstance(name, _NAMES) for name in found)
    node.check(proper, "target_names", "is no list of names.")
    names = np.empty(length, dtype=object)
    for place, name in enumerate(found):  # NumPy would take names that are tuples apart
        names[place] = name
    return names


FORMATS = {
    cls.__name__: estimator_format(
        cls, "estimators_", _write_targets, _read_targets, models={"estimator": BaseEstimator}
    )
    for cls in (MultiTargetClassifier, MultiTargetRegressor)
}
