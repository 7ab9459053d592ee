"""Ensembles of models of any make that files hold: fusions and stacks."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from covey._state import ListOf, OrNone, Record, Sizes
from covey.fusers import Fuser, Stacking
from covey.fusers.encoding import CLASS_OUTPUTS, VALUE_OUTPUTS, KnownNumbers
from covey.members import FusionClassifier, FusionRegressor, feature_names
from covey.persistence._features import read_features, write_features
from covey.persistence._formats import estimator_format
from covey.persistence._membership import check_member, read_fuser
from covey.persistence._reading import Node
from covey.persistence._seen import read_seen, write_seen
from covey.persistence._stand_ins import try_row
from covey.persistence._writing import Writer
from covey.stacking import GeneralStackingClassifier, GeneralStackingRegressor

_DROPPED = "drop"
_RANKS = ListOf(OrNone(ListOf(Record(KnownNumbers))))
_METHODS = {"probability": "predict_proba", "score": "decision_function", "label": "predict"}


def _write_members(model: Any, members: list[Any], out: Writer) -> dict[str, Any]:
    named = model.named_estimators_
    dropped = [isinstance(one, str) and one == _DROPPED for one in named.values()]
    return {
        **write_features(model, out),
        "seen": write_seen(model._seen_columns, out),
        "classes": out.labels(getattr(model, "classes_", None)),
        "names": out.texts(list(named)),
        "dropped": out.array(np.array(dropped, dtype=bool), "flag"),
        "members": out.models(members),
    }


def _read_members(model: Any, node: Node) -> tuple[int, list[Any]]:
    """Set the features, classes and names; how many features there are, and the members."""
    n_features = read_features(model, node)
    read_seen(model, node, feature_names(model))
    numeric = model._models.noun == "regressor"
    if not numeric:
        model.classes_ = node.labels("classes")
    else:
        node.check(node.none("classes"), "classes", "belong to nothing.")
    names = node.member_names("names")
    dropped = node.array("dropped", (len(names),), "flag")
    members = node.models("members", int((~dropped).sum()))
    node.check(members, "members", "are missing.")
    left = iter(members)
    named = Bunch()
    for name, is_dropped in zip(names, dropped.tolist(), strict=True):
        named[name] = _DROPPED if is_dropped else next(left)
    model.named_estimators_ = named
    return n_features, members


def _take_fitted(model: Any, node: Node) -> None:
    """Put the fitted members in the place of those that were given, by name or without."""
    given, fitted = model._listed(), list(model.named_estimators_.values())
    proper = isinstance(given, list) and len(given) == len(fitted)
    node.check(proper, "members", "are not those that were given.")
    pairs = list(zip(given, fitted, strict=True))
    named = all(len(entry) == 2 for entry, _ in pairs if isinstance(entry, tuple))
    node.check(named, "members", "have no names.")
    model._list_again(
        [(entry[0], one) if isinstance(entry, tuple) else one for entry, one in pairs]
    )


# -- fusions --------------------------------------------------------------------------------------


def _write_fusion(model: Any, out: Writer) -> dict[str, Any]:
    return {
        **_write_members(model, model.estimators_, out),
        "kind": model.kind_,
        "fuser": out.model(model.fuser_),
    }


def _read_fusion(model: Any, node: Node) -> None:
    n_features, members = _read_members(model, node)
    model.estimators_ = members
    numeric = model._models.noun == "regressor"
    model.kind_ = node.text("kind", ("value",) if numeric else tuple(_METHODS))
    for member in members:
        check_member(model, member, n_features, node, "members")
        method = _METHODS.get(model.kind_, "predict")
        node.check(hasattr(member, method), "members", f"has a member without {method}.")
    names, classes = model._names(), getattr(model, "classes_", None)
    model.fuser_ = read_fuser(
        node, lambda fuser: model._models.blank(fuser, names, classes), n_features
    )
    if model.prefit is True:
        _take_fitted(model, node)
    if not model.fuser_.needs_y:
        try_row(model, node)


# -- stacks ---------------------------------------------------------------------------------------


def _write_stack(model: Any, out: Writer) -> dict[str, Any]:
    return {
        **_write_members(model, [one for layer in model.layers_ for one in layer], out),
        "sizes": out.array(np.array([len(layer) for layer in model.layers_]), "whole"),
        "outputs": [output for layer in model.outputs_ for output in layer],
        "columns": out.array(model._columns, "whole"),
        "features": out.model(model.features_),
        "n_made": int(model._n_made) if hasattr(model, "_n_made") else None,
        "ranks": _RANKS.write(model._ranks, out),
        "fuser": out.model(model.fuser_),
    }


def _read_stack(model: Any, node: Node) -> None:
    n_features, members = _read_members(model, node)
    sizes = node.array("sizes", (None,), "whole", low=1, high=len(members)).tolist()
    node.check(sum(sizes) == len(members), "sizes", "are not those of the members.")
    choices = VALUE_OUTPUTS if model.kind_ == "value" else CLASS_OUTPUTS
    outputs = iter(node.names("outputs", choices, len(members)))
    left = iter(members)
    model.layers_ = [[next(left) for _ in range(size)] for size in sizes]
    model.outputs_ = [[next(outputs) for _ in range(size)] for size in sizes]
    model.estimators_ = model.layers_[-1]
    for number, layer in enumerate(model.layers_):
        for member in layer:
            check_member(model, member, None if number else n_features, node, "members")
    model._columns = None
    if not node.none("columns"):
        model._columns = node.array("columns", (None,), "whole", low=0, high=n_features - 1)
    model.features_ = None if node.none("features") else node.model("features")
    transforms = model.features_ is None or hasattr(model.features_, "transform")
    node.check(transforms, "features", "is no transformer.")
    if not node.none("n_made"):
        model._n_made = node.whole("n_made", 1)
    model._ranks = _RANKS.read(node, "ranks", Sizes(None))
    widths = [len(one or ()) for one in model._ranks]
    fits = widths == [size if width else 0 for size, width in zip(sizes, widths, strict=False)]
    node.check(fits, "ranks", "are not those of the members.")
    known = all((ranks is not None) == (model.kind_ == "value") for ranks in model._ranks)
    node.check(known, "ranks", "are not those of the members.")
    names, classes = model._names(), getattr(model, "classes_", None)
    model.fuser_ = read_fuser(node, lambda fuser: model._models.blank(fuser, names, classes), None)
    node.check(isinstance(model.fuser_, Stacking), "fuser", "is no Stacking.")
    if model._is_prefit():
        _take_fitted(model, node)
        model.features = model.features_
    try_row(model, node)


FORMATS = {
    cls.__name__: estimator_format(
        cls, "fuser_", _write_fusion, _read_fusion, models={"fuser": Fuser}, lists=("estimators",)
    )
    for cls in (FusionClassifier, FusionRegressor)
} | {
    cls.__name__: estimator_format(
        cls,
        "fuser_",
        _write_stack,
        _read_stack,
        models={"final_estimator": BaseEstimator, "features": BaseEstimator},
        lists=("estimators",),
    )
    for cls in (GeneralStackingClassifier, GeneralStackingRegressor)
}
