"""Boosting of scikit-learn as nodes: skl2onnx's, mended where today's onnx refuses or misreads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import skl2onnx
from skl2onnx.common._registration import get_converter, get_shape_calculator
from skl2onnx.common.data_types import DoubleTensorType
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

_BOOSTING = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)


def register_boosting() -> None:
    """Let skl2onnx convert boosting whatever onnx is installed."""
    for model in _BOOSTING:
        alias = skl2onnx.get_model_alias(model)
        known = get_converter(alias)
        skl2onnx.update_registered_converter(
            model,
            alias,
            get_shape_calculator(alias),
            _mended(known),
            options=known.get_allowed_options(),
        )


def _mended(converter: Callable[[Any, Any, Any], None]) -> Callable[[Any, Any, Any], None]:
    def convert(scope: Any, operator: Any, container: Any) -> None:
        converter(scope, operator, _MendedContainer(container, operator))

    return convert


class _MendedContainer:
    """The container of a graph, to which the nodes of a model are added as they must be."""

    def __init__(self, container: Any, operator: Any) -> None:
        self._container, self._model = container, operator.raw_operator
        self._double = isinstance(operator.inputs[0].type, DoubleTensorType)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._container, name)

    def add_node(self, *args: Any, **attributes: Any) -> Any:
        # onnx takes a boolean for no number, since some version.
        plain = {name: _as_numbers(value) for name, value in attributes.items()}
        if self._double and "nodes_values" in plain:
            plain["nodes_values"] = _rounded_up(plain["nodes_values"], self._model)
        return self._container.add_node(*args, **plain)


def _as_numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_numbers(one) for one in value]
    return int(value) if isinstance(value, bool | np.bool_) else value


def _rounded_up(values: Any, model: Any) -> np.ndarray:
    """Thresholds in single precision, none below the true one.

    A threshold is often the value of some training rows, which go left, as all up to it do. Those
    rows, in double precision, would be above a threshold that is rounded down.
    """
    true = np.concatenate(
        [tree.nodes["num_threshold"] for step in model._predictors for tree in step]
    )
    with np.errstate(over="ignore"):
        single = true.astype(np.float32)
    rounded_down = single[single < true]
    values = np.asarray(values, dtype=np.float32)
    above = np.nextafter(values, np.float32(np.inf))
    return np.where(np.isin(values, rounded_down), above, values)
