"""Pipelines of scalers and models, frozen models, and members of bagging."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from covey._models import classifies, regresses
from covey.members import BaggedClassifier, BaggedRegressor
from covey.persistence._features import read_features, write_features
from covey.persistence._formats import Format
from covey.persistence._reading import Node
from covey.persistence._writing import Writer


def _write_pipeline(pipeline: Pipeline, out: Writer) -> dict[str, Any]:
    return {
        "names": out.texts([name for name, _ in pipeline.steps]),
        "steps": out.models(step for _, step in pipeline.steps),
    }


def _read_pipeline(node: Node) -> Pipeline:
    names = node.member_names("names")
    steps = node.models("steps", len(names))
    node.check(steps, "steps", "are missing.")
    *before, last = steps
    proper = all(hasattr(step, "transform") for step in before) and hasattr(last, "fit")
    node.check(proper, "steps", "are not those of a pipeline.")
    widths = [getattr(step, "n_features_in_", None) for step in steps]
    # Steps are as wide as what they are given: those that files hold keep the number of columns.
    node.check(len(set(widths)) == 1, "steps", "do not fit each other.")
    return Pipeline(list(zip(names, steps, strict=True)))


def _write_frozen(frozen: FrozenEstimator, out: Writer) -> dict[str, Any]:
    return {"estimator": out.model(frozen.estimator)}


def _read_frozen(node: Node) -> FrozenEstimator:
    estimator = node.model("estimator")
    node.check(isinstance(estimator, BaseEstimator), "estimator", "is none.")
    return FrozenEstimator(estimator)


def _write_bagged(member: BaggedRegressor, out: Writer) -> dict[str, Any]:
    return {
        **write_features(member, out),
        "estimator": out.model(member.estimator),
        "columns": out.array(np.asarray(member.columns), "whole"),
        "classes": out.labels(getattr(member, "classes", None)),
    }


def _read_bagged(cls: type[BaggedRegressor]) -> Callable[[Node], BaggedRegressor]:
    def read(node: Node) -> BaggedRegressor:
        estimator, classifier = node.model("estimator"), cls is BaggedClassifier
        width = getattr(estimator, "n_features_in_", None)
        proper = width is not None and (classifies if classifier else regresses)(estimator)
        node.check(proper, "estimator", "is no fitted model of this kind.")
        classes = node.labels("classes") if classifier else None
        node.check(classes is not None or node.none("classes"), "classes", "belong to nothing.")
        if classifier:
            known = np.asarray(estimator.classes_)
            inside = known.dtype.kind in "iuf" and known.min() >= 0 and known.max() < len(classes)
            node.check(inside, "classes", "are not those of the estimator.")
        columns = node.array("columns", (width,), "whole", low=0)
        member = cls(estimator, columns, *([classes] if classifier else []))
        node.check(columns.max() < read_features(member, node), "columns", "are not there.")
        return member

    return read


FORMATS = {
    **{
        cls.__name__: Format(cls, _write_bagged, _read_bagged(cls))
        for cls in (BaggedClassifier, BaggedRegressor)
    },
    "Pipeline": Format(Pipeline, _write_pipeline, _read_pipeline),
    "FrozenEstimator": Format(FrozenEstimator, _write_frozen, _read_frozen),
}
