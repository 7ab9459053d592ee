"""Converters of covey's models for skl2onnx."""

from __future__ import annotations

from typing import Any

import numpy as np
import skl2onnx
from skl2onnx.common.data_types import Int64TensorType, StringTensorType, guess_tensor_type
from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
from sklearn.base import is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator

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
from covey.onnx._boosting import register_boosting
from covey.onnx._fusers import Outputs, fused_by
from covey.onnx._graph import Graph


def register() -> None:
    """Teach skl2onnx about covey's models; importing `covey.onnx` does so already."""
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
    """The output of a regressor is (n, 1)."""
    rows = operator.inputs[0]
    operator.outputs[0].type = guess_tensor_type(rows.type)
    operator.outputs[0].type.shape = [rows.get_first_dimension(), 1]


def labels_of(classes: Any, who: str = "The model") -> np.ndarray:
    """Classes as ONNX can hold them: whole numbers or text."""
    listed = np.asarray(classes).tolist()
    if all(isinstance(label, str) for label in listed):
        return np.array(listed, dtype=object)
    try:
        whole = np.array([int(label) for label in listed], dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        whole = None
    if whole is None or whole.tolist() != listed:
        raise ValueError(
            f"{who} has the classes {listed}; in ONNX labels are whole numbers or text."
        )
    return whole


def thawed(member: Any) -> Any:
    """A member, taken out of scikit-learn's FrozenEstimator."""
    return member.estimator if isinstance(member, FrozenEstimator) else member


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """A model as nodes; its outputs are values, or the most probable class and probabilities."""
    model, graph = operator.raw_operator, Graph(scope, operator, container)
    fused = CONVERTERS[type(model)](graph, model)
    names = [variable.full_name for variable in graph.operator.outputs]
    graph.node("Identity", fused, output=names[-1])
    if is_regressor(model):
        return
    # skl2onnx's option "nocl": the label is the position of the class.
    numbered = graph.scope.get_options(model, {"nocl": False})["nocl"]
    classes = np.arange(len(model.classes_)) if numbered else labels_of(model.classes_)
    winner = graph.node("ArgMax", fused, axis=1, keepdims=0)
    graph.node("Gather", classes, winner, axis=0, output=names[0])


def _of_member(graph: Graph, member: Any) -> str:
    basis = Basis.plain(member.n_features_in_) if member.basis is None else member.basis
    coef, intercept = np.atleast_2d(member.coef_), np.atleast_1d(member.intercept_)
    linear = graph.columns(basis).linear(coef, intercept)
    return graph.node("Softmax", linear, axis=1) if is_classifier(member) else linear


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
        )
    else:
        outputs = Outputs(graph, linear, (n_members, width), kind="value")
    return fused_by(outputs, flock.fuser_)


def _of_fused_values(graph: Graph, fused: Any) -> str:
    values = [
        graph.node("Reshape", graph.cast(_member(graph, member, position)[-1]), [-1, 1, 1])
        for position, member in enumerate(map(thawed, fused.estimators_))
    ]
    joined = graph.node("Concat", *values, axis=1)
    return fused_by(Outputs(graph, joined, (len(values), 1), kind="value"), fused.fuser_)


def _of_fusion(graph: Graph, fused: Any) -> str:
    classes = fused.classes_
    predicted, seen = [], []
    for position, member in enumerate(map(thawed, fused.estimators_)):
        label, probabilities = _member(graph, member, position)
        known = getattr(member, "classes_", classes)
        positions = np.searchsorted(classes, known)
        if fused.kind_ == "label":
            predicted.append(_positions(graph, label, labels_of(known), positions))
            seen.append(np.ones(len(classes), dtype=bool))
            continue
        aligned = np.zeros((len(known), len(classes)))
        aligned[np.arange(len(known)), positions] = 1.0
        own = graph.cast(probabilities)
        if not np.array_equal(known, classes):
            own = graph.node("MatMul", own, aligned)
        predicted.append(graph.node("Unsqueeze", own, [1]))
        seen.append(aligned.any(axis=0))
    values = graph.node("Concat", *predicted, axis=1)
    labels = None
    if fused.kind_ == "label":
        labels = graph.node("Unsqueeze", values, [2])
        values = graph.cast(graph.node("Equal", labels, np.arange(len(classes))))
    shape = (len(predicted), len(classes))
    outputs = Outputs(graph, values, shape, labels=labels, seen=np.array(seen))
    return fused_by(outputs, fused.fuser_)


def _member(graph: Graph, member: Any, position: int) -> tuple[str, ...]:
    """The outputs of a member's own graph."""
    scope = graph.scope
    part = scope.declare_local_operator(skl2onnx.get_model_alias(type(member)), member)
    part.inputs = graph.operator.inputs
    number = graph.operator.outputs[-1].type.__class__()
    if is_regressor(member):
        declared = {"variable": number}
    else:
        text = all(isinstance(label, str) for label in np.asarray(member.classes_).tolist())
        label = StringTensorType() if text else Int64TensorType()
        declared = {"label": label, "probabilities": number}
    for name, kind in declared.items():
        part.outputs.append(scope.declare_local_variable(f"{name}_{position}", kind))
    return tuple(variable.onnx_name for variable in part.outputs)


def _positions(graph: Graph, label: str, known: np.ndarray, positions: np.ndarray) -> str:
    """Labels as positions in the ensemble's classes, (n, 1)."""
    names = {"keys_strings" if known.dtype == object else "keys_int64s": known.tolist()}
    codes = graph.node(
        "LabelEncoder",
        label,
        domain="ai.onnx.ml",
        op_version=2,
        values_int64s=positions.tolist(),
        default_int64=-1,
        **names,
    )
    return graph.node("Reshape", codes, [-1, 1])


_REGRESSORS = (FlockRegressor, SubsetEnsembleRegressor, FusionRegressor, LinearRegressionMember)
# The node that holds what each kind of model predicts.
CONVERTERS = {
    FlockClassifier: _of_flock,
    FlockRegressor: _of_flock,
    SubsetEnsembleClassifier: _of_flock,
    SubsetEnsembleRegressor: _of_flock,
    FusionClassifier: _of_fusion,
    FusionRegressor: _of_fused_values,
    LinearMember: _of_member,
    LinearRegressionMember: _of_member,
}
