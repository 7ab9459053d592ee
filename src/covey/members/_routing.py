"""Which metadata of a fit, such as weights and groups, each part of an ensemble gets."""

from __future__ import annotations

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


class RoutesMetadata:
    """A mixin for ensembles of named members whose ``fit`` takes weights, groups and metadata.

    With scikit-learn's ``enable_metadata_routing`` every part gets what it requests. Without,
    all get the weights, and the splitter gets the groups. A subclass has ``cv`` and writes
    ``_members_to_fit`` and ``_parts``.
    """

    def _members_to_fit(self) -> list[tuple[str, Any]]:
        """The members that ``fit`` will fit; nothing is checked."""
        raise NotImplementedError

    def _parts(self) -> dict[str, Any]:
        """What else is fitted, by the name of the parameter."""
        raise NotImplementedError

    def get_metadata_routing(self) -> MetadataRouter:
        """Which metadata members, splitter and what learns from them request.

        A number of folds requests groups: then none divides a group.

        Returns
        -------
        routing : MetadataRouter
        """
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        for name, part in [*self._members_to_fit(), *self._parts().items()]:
            methods = MethodMapping().add(caller="fit", callee="fit")
            if hasattr(self, "partial_fit"):
                methods.add(caller="partial_fit", callee="partial_fit")
            if name == "final_estimator":
                methods.add(caller="predict", callee="predict")
            router.add(**{name: part}, method_mapping=methods)
        splitter = self._splitter_asked()
        if splitter is not None:
            splits = MethodMapping().add(caller="fit", callee="split")
            router.add(cv=splitter, method_mapping=splits)
        return router

    def _splitter_asked(self) -> Any:
        """The splitter that may request groups; a list of splits is none."""
        cv = getattr(self, "cv", ())
        if cv is None or isinstance(cv, Integral):
            return StratifiedGroupKFold()
        # Text has a split, too.
        return cv if hasattr(cv, "split") and not isinstance(cv, str) else None

    def _fit_parameters(
        self,
        weight: np.ndarray | None,
        groups: Any,
        metadata: dict[str, Any],
        method: str = "fit",
    ) -> FitParameters:
        """What each part gets of what ``fit``, or another method, was given."""
        given = {"sample_weight": weight, "groups": groups, **metadata}
        given = {name: value for name, value in given.items() if value is not None}
        members, parts = dict(self._members_to_fit()), self._parts()
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, method, **given)
            return FitParameters(
                {name: dict(routed[name][method]) for name in members},
                {name: dict(routed[name][method]) for name in parts},
                {} if self._splitter_asked() is None else dict(routed["cv"]["split"]),
            )
        if metadata:
            raise ValueError(
                f"Passing {', '.join(metadata)} to the parts of {type(self).__name__} is only "
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


class RoutesToEstimator(RoutesMetadata):
    """A mixin for ensembles and models around one ``estimator``, whose ``fit`` takes metadata.

    With scikit-learn's ``enable_metadata_routing`` the estimator gets what it requests. Without,
    it gets the weights, and the groups if there are any. A subclass says which of its own
    ``fit``'s parameters it only passes on, and may write ``_estimator_to_fit``.
    """

    def _estimator_to_fit(self) -> Any:
        """What is fitted; a default may stand for None."""
        return self.estimator

    def _members_to_fit(self) -> list[tuple[str, Any]]:
        return [("estimator", self._estimator_to_fit())]

    def _parts(self) -> dict[str, Any]:
        return {}

    def _parameters_of_estimator(
        self,
        weight: np.ndarray | None,
        groups: Any,
        metadata: dict[str, Any],
        method: str = "fit",
    ) -> dict[str, Any]:
        """What the estimator's ``fit`` or ``partial_fit`` gets of what this one was given."""
        given = self._fit_parameters(weight, groups, metadata, method)
        # Without routing, what a splitter would get is for the estimator.
        return given.members["estimator"] | given.split
