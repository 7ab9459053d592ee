"""Converters of covey's models for skl2onnx, and of boosting where today's onnx refuses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import skl2onnx
from skl2onnx.common._registration import get_converter, get_shape_calculator
from skl2onnx.common.data_types import DoubleTensorType, guess_tensor_type
from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
from sklearn.base import is_classifier, is_regressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from covey._core.basis import Basis
from covey.fusers import Product
from covey.members import (
    FlockClassifier,
    FlockRegressor,
    FusionClassifier,
    FusionRegressor,
    LinearMember,
    LinearRegressionMember,
    SubsetEnsembleClassifier,
    SubsetEnsembleRegressor,
)
from covey.multiclass import CodeBookClassifier
from covey.onnx._coded_inputs import preparation_of
from covey.onnx._codes import of_code_book
from covey.onnx._fusers import Outputs, fused_by, of_stack
from covey.onnx._graph import Graph, labels_of, thawed
from covey.stacking import GeneralStackingClassifier, GeneralStackingRegressor


def register() -> None:
    """Teach skl2onnx about covey's models; importing `covey.onnx` does so already.

    Examples
    --------
    >>> from skl2onnx._supported_operators import sklearn_operator_name_map
    >>> import covey
    >>> covey.onnx.register()
    >>> covey.FlockClassifier in sklearn_operator_name_map
    True
    """
    register_boosting()
    for model in CONVERTERS:
        if issubclass(model, _REGRESSORS):
            shapes, options = _set_value_shape, {}
        else:
            shapes = calculate_linear_classifier_output_shapes
            options = {"zipmap": [True, False, "columns"], "nocl": [True, False]}
        skl2onnx.update_registered_converter(
            model, f"Covey{model.__name__}", shapes, _convert, options=options
        )


def _set_value_shape(operator: Any) -> None:
    """Set the shape of a regressor's output to (n, 1)."""
    rows = operator.inputs[0]
    operator.outputs[0].type = guess_tensor_type(rows.type)
    operator.outputs[0].type.shape = [rows.get_first_dimension(), 1]


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Convert a model to nodes; outputs are values, or labels and probabilities."""
    model, graph = operator.raw_operator, Graph(scope, operator, container)
    fused = CONVERTERS[type(model)](graph, model)
    if hasattr(model, "y_range_"):
        fused = graph.node("Clip", fused, *model.y_range_)
    names = [variable.full_name for variable in graph.operator.outputs]
    graph.node("Identity", fused, output=names[-1])
    if is_regressor(model):
        return
    # skl2onnx's option "nocl": the label is the position of the class.
    numbered = graph.scope.get_options(model, {"nocl": False})["nocl"]
    classes = np.arange(len(model.classes_)) if numbered else labels_of(model.classes_)
    winner = graph.node("ArgMax", _scores(graph, model, fused), axis=1, keepdims=0)
    graph.node("Gather", classes, winner, axis=0, output=names[0])


def _scores(graph: Graph, model: Any, fused: str) -> str:
    """Return scores that are highest for the predicted class; see `covey._decisions`."""
    decision = getattr(model, "decision_", None)
    if decision is None:
        return fused
    if decision.threshold is None:
        return graph.node("MatMul", fused, -np.asarray(decision.asked))
    # The class that is looked for has 2 from its threshold on, and -1 below.
    is_class = np.arange(len(model.classes_)) == decision.code
    below = graph.node("Less", fused, np.where(is_class, decision.threshold, 2.0))
    low = graph.node("Sub", graph.node("Mul", fused, 1.0 - is_class), 1.0 * is_class)
    return graph.node("Where", below, low, np.array([2.0]))


def _of_member(graph: Graph, member: Any) -> str:
    basis = Basis.plain(graph.n_features) if member.basis is None else member.basis
    coef, intercept = np.atleast_2d(member.coef_), np.atleast_1d(member.intercept_)
    linear = graph.columns(basis).linear(coef, intercept)
    if is_classifier(member):
        return graph.node("Softmax", linear, axis=1)
    return graph.node("Exp", linear) if member.log_link else linear


def _of_flock(graph: Graph, flock: Any) -> str:
    if hasattr(flock, "weights_"):  # members of several kinds
        return _of_fusion(graph, flock) if is_classifier(flock) else _of_fused_values(graph, flock)
    graph.mean, graph.scale = flock.mean_, flock.scale_
    columns = graph.columns(flock.basis_)
    if isinstance(flock.fuser_, Product):
        member = flock.collapse()
        logits = columns.linear(member.coef_, member.intercept_)
        return graph.node("Softmax", logits, axis=1)
    n_members, width, n_columns = flock.member_coef_.shape
    coef, intercept = flock.member_coef_.reshape(-1, n_columns), flock.member_intercept_.ravel()
    linear = columns.linear(coef, intercept)
    linear = graph.node("Reshape", linear, np.array([-1, n_members, width]))
    if is_classifier(flock):
        outputs = Outputs(
            graph,
            graph.node("Softmax", linear, axis=2),
            (n_members, width),
            logs=graph.node("LogSoftmax", linear, axis=2),
            classes=flock.classes_,
        )
    else:
        outputs = Outputs(graph, linear, (n_members, width), kind="value")
    fused = fused_by(outputs, flock.fuser_)
    return graph.node("Exp", fused) if getattr(flock.fuser_, "geometric", False) else fused


def _columns_for(graph: Graph, fused: Any, member: Any) -> tuple[str, int] | None:
    """Return the input of a member: a flock's own columns, except for its linear members."""
    sees_columns = preparation_of(fused) is not None and preparation_of(member) is None
    return (graph.rows, graph.n_features) if sees_columns else None


def _of_fused_values(graph: Graph, fused: Any) -> str:
    values = [
        graph.node("Reshape", graph.cast(graph.model(member, columns)[-1]), [-1, 1, 1])
        for member in map(thawed, fused.estimators_)
        for columns in [_columns_for(graph, fused, member)]
    ]
    joined = graph.node("Concat", *values, axis=1)
    return fused_by(Outputs(graph, joined, (len(values), 1), kind="value"), fused.fuser_)


def _of_fusion(graph: Graph, fused: Any) -> str:
    classes, labels = fused.classes_, fused.kind_ == "label"
    predicted, seen = [], []
    for member in map(thawed, fused.estimators_):
        columns = _columns_for(graph, fused, member)
        own = graph.shares(member, classes, columns, one_hot=labels)
        predicted.append(graph.node("Unsqueeze", own, [1]))
        seen.append(labels | np.isin(classes, getattr(member, "classes_", classes)))
    values = graph.node("Concat", *predicted, axis=1)
    shape = (len(predicted), len(classes))
    outputs = Outputs(graph, values, shape, seen=np.array(seen), classes=classes)
    return fused_by(outputs, fused.fuser_)


_REGRESSORS = (
    FlockRegressor,
    SubsetEnsembleRegressor,
    FusionRegressor,
    GeneralStackingRegressor,
    LinearRegressionMember,
)
# The node that holds the prediction of each kind of model.
CONVERTERS = {
    FlockClassifier: _of_flock,
    FlockRegressor: _of_flock,
    SubsetEnsembleClassifier: _of_flock,
    SubsetEnsembleRegressor: _of_flock,
    FusionClassifier: _of_fusion,
    FusionRegressor: _of_fused_values,
    GeneralStackingClassifier: of_stack,
    GeneralStackingRegressor: of_stack,
    CodeBookClassifier: of_code_book,
    LinearMember: _of_member,
    LinearRegressionMember: _of_member,
}


# -- boosting -------------------------------------------------------------------------------------


_BOOSTING = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)


def register_boosting() -> None:
    """Let skl2onnx convert boosting with any version of onnx."""
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
    """The container of a graph, with corrections of the nodes that a model adds."""

    def __init__(self, container: Any, operator: Any) -> None:
        self._container, self._model = container, operator.raw_operator
        self._double = isinstance(operator.inputs[0].type, DoubleTensorType)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._container, name)

    def add_node(self, *args: Any, **attributes: Any) -> Any:
        # Since some version, onnx does not accept a boolean as a number.
        plain = {name: _as_numbers(value) for name, value in attributes.items()}
        if self._double and "nodes_values" in plain:
            plain["nodes_values"] = _rounded_up(plain["nodes_values"], self._model)
        return self._container.add_node(*args, **plain)


def _as_numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_numbers(one) for one in value]
    return int(value) if isinstance(value, bool | np.bool_) else value


def _rounded_up(values: Any, model: Any) -> np.ndarray:
    """Return thresholds in single precision, none below the true one.

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
