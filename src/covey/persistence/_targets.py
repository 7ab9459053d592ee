"""scikit-learn's models of several targets: one for each, of any class that files hold."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, is_classifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor

from covey._models import classifies, regresses
from covey.members._stored import check_names
from covey.persistence._formats import estimator_format
from covey.persistence._reading import Node
from covey.persistence._writing import Writer


def _write_targets(model: Any, out: Writer) -> dict[str, Any]:
    return {"targets": out.models(model.estimators_)}


def _read_targets(model: Any, node: Node) -> None:
    """Set the models of the targets, all of which are given the rows that the whole is given."""
    targets = node.models("targets")
    node.check(targets, "targets", "are missing.")
    accepts = classifies if is_classifier(model) else regresses
    first = targets[0]
    for target in targets:
        # Only what is fitted has a number of features.
        width = getattr(target, "n_features_in_", None)
        proper = accepts(target) and width is not None and width == first.n_features_in_
        proper = proper and (accepts is regresses or hasattr(target, "classes_"))
        node.check(proper, "targets", "are not models of the same columns.")
        check_names(first, target)
    model.estimators_, model.n_features_in_ = targets, first.n_features_in_
    if hasattr(first, "feature_names_in_"):
        model.feature_names_in_ = first.feature_names_in_
    if accepts is classifies:
        model.classes_ = [target.classes_ for target in targets]


FORMATS = {
    cls.__name__: estimator_format(
        cls, "estimators_", _write_targets, _read_targets, models={"estimator": BaseEstimator}
    )
    for cls in (MultiOutputClassifier, MultiOutputRegressor)
}
