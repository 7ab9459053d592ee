"""Pipelines of scalers and models, and frozen models."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

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


FORMATS = {
    "Pipeline": Format(Pipeline, _write_pipeline, _read_pipeline),
    "FrozenEstimator": Format(FrozenEstimator, _write_frozen, _read_frozen),
}
