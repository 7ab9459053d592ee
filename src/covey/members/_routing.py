"""Which metadata of a fit, such as weights and groups, each part of an ensemble gets."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import has_fit_parameter

from covey._models import weight_parameters


class FitParameters(NamedTuple):
    """Parameters of the ``fit`` of members and of other parts, by name, and of ``split``."""

    members: dict[str, dict[str, Any]]
    parts: dict[str, dict[str, Any]]
    split: dict[str, Any]


def routing_of(owner: Any, parts: Mapping[str, Any]) -> MetadataRouter:
    """Which metadata the parts of an ensemble request that its ``fit`` fits, and its splitter.

    A number of folds requests groups: then none divides a group.
    """
    router = MetadataRouter(owner=type(owner).__name__).add_self_request(owner)
    for name, part in parts.items():
        methods = MethodMapping().add(caller="fit", callee="fit")
        if hasattr(owner, "partial_fit"):
            methods.add(caller="partial_fit", callee="partial_fit")
        if name == "final_estimator":
            methods.add(caller="predict", callee="predict")
        router.add(**{name: part}, method_mapping=methods)
    splitter = _splitter_asked(owner)
    if splitter is not None:
        splits = MethodMapping().add(caller="fit", callee="split")
        router.add(cv=splitter, method_mapping=splits)
    return router


def _splitter_asked(owner: Any) -> Any:
    """The splitter that may request groups; a list of splits is none."""
    cv = getattr(owner, "cv", ())
    if cv is None or isinstance(cv, Integral):
        return StratifiedGroupKFold()
    # Text has a split, too.
    return cv if hasattr(cv, "split") and not isinstance(cv, str) else None


def fit_parameters(
    owner: Any,
    members: Mapping[str, Any],
    parts: Mapping[str, Any],
    weight: np.ndarray | None,
    groups: Any,
    metadata: dict[str, Any],
    method: str = "fit",
) -> FitParameters:
    """Return what each part gets of what the ``fit`` of an ensemble, or another method, was given.

    With scikit-learn's ``enable_metadata_routing`` every part gets what it requests. Without,
    all get the weights, and the splitter gets the groups.
    """
    given = {"sample_weight": weight, "groups": groups, **metadata}
    given = {name: value for name, value in given.items() if value is not None}
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(owner, method, **given)
        return FitParameters(
            {name: dict(routed[name][method]) for name in members},
            {name: dict(routed[name][method]) for name in parts},
            {} if _splitter_asked(owner) is None else dict(routed["cv"]["split"]),
        )
    if metadata:
        raise ValueError(
            f"Passing {', '.join(metadata)} to the parts of {type(owner).__name__} is only "
            "supported if enable_metadata_routing=True, which sklearn.set_config sets."
        )
    weights = {} if weight is None else {"sample_weight": weight}
    return FitParameters(
        {name: weight_parameters(member, name, weight) for name, member in members.items()},
        {
            name: weights if has_fit_parameter(part, "sample_weight") else {}
            for name, part in parts.items()
        },
        {} if groups is None else {"groups": groups},
    )


def parameters_of_estimator(
    owner: Any,
    estimator: Any,
    weight: np.ndarray | None,
    groups: Any,
    metadata: dict[str, Any],
    method: str = "fit",
) -> dict[str, Any]:
    """Return what the one ``estimator`` of an ensemble or model gets of what this was given."""
    of = {"estimator": estimator}, dict[str, Any](), weight, groups, metadata, method
    given = fit_parameters(owner, *of)
    # Without routing, what a splitter would get is for the estimator.
    return given.members["estimator"] | given.split
