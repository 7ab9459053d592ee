"""The nodes of an ONNX graph, and the columns that members see as nodes.

Computations in single precision are first centered and scaled, as for training, and the
coefficients are those of scaled columns: a year such as 2024 keeps its digits.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
import skl2onnx
from skl2onnx.common.data_types import (
    Int64TensorType,
    StringTensorType,
    guess_proto_type,
)
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator

import onnx
from covey._core.basis import Basis
from covey._core.limits import LARGEST
from covey.onnx._coded_inputs import preparation_of, prepared

# From this version, a softmax is along one axis, and sums take their axes as an input.
_OLDEST_OPSET = 13
# From this one, the least and the greatest do, too.
_AXES_AS_INPUT = 18
# Products are clipped to this, since larger ones would have no difference.
_LARGEST = {np.dtype(np.float32): 1e30, np.dtype(np.float64): LARGEST}


def labels_of(classes: Any, who: str = "The model") -> np.ndarray:
    """Return classes in a form that ONNX can hold: whole numbers or text."""
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
    """Return a member, taken out of scikit-learn's FrozenEstimator."""
    return member.estimator if isinstance(member, FrozenEstimator) else member


class Graph:
    """A builder of the graph of one model; a node is known by the name of its output."""

    def __init__(self, scope: Any, operator: Any, container: Any) -> None:
        if container.target_opset < _OLDEST_OPSET:
            raise RuntimeError(
                f"covey's graphs need opset {_OLDEST_OPSET} or newer, got "
                f"target_opset={container.target_opset}."
            )
        self.scope, self.operator, self.container = scope, operator, container
        self.mean: np.ndarray | None = None
        self.scale: np.ndarray | None = None
        self._columns: dict[int, GraphColumns] = {}
        double = guess_proto_type(operator.inputs[0].type) == onnx.TensorProto.DOUBLE
        self.dtype: np.dtype[Any] = np.dtype(np.float64 if double else np.float32)
        self._proto = onnx.TensorProto.DOUBLE if double else onnx.TensorProto.FLOAT
        self.n_features = int(operator.raw_operator.n_features_in_)
        # Whole numbers are computed with like others.
        self.rows = self.cast(operator.inputs[0].full_name)
        preparation = preparation_of(operator.raw_operator)
        if preparation is not None:
            self.rows, self.n_features = prepared(self, preparation), preparation.n_columns

    def node(self, kind: str, *inputs: Any, output: str | None = None, **attributes: Any) -> str:
        """Add a node with one output; inputs are constants (arrays, lists) and names of nodes."""
        outputs = 1 if output is None else [output]
        return self.nodes(kind, *inputs, outputs=outputs, **attributes)[0]

    def nodes(
        self,
        kind: str,
        *inputs: Any,
        outputs: int | list[str],
        domain: str = "",
        **attributes: Any,
    ) -> list[str]:
        """Add a node with several outputs, by number or by name."""
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        if isinstance(outputs, int):
            outputs = [self.scope.get_unique_variable_name(kind.lower()) for _ in range(outputs)]
        name = self.scope.get_unique_operator_name(kind)
        self.container.add_node(kind, names, outputs, op_domain=domain, name=name, **attributes)
        return outputs

    def constant(self, values: Any) -> str:
        """Return an array as a part of the graph."""
        values = np.asarray(values)
        if values.dtype.kind == "f":
            proto, listed = self._proto, values.astype(self.dtype).ravel().tolist()
        elif values.dtype.kind == "O":
            proto, listed = onnx.TensorProto.STRING, [text.encode() for text in values.ravel()]
        else:
            proto, listed = onnx.TensorProto.INT64, values.astype(np.int64).ravel().tolist()
        name = self.scope.get_unique_variable_name("constant")
        self.container.add_initializer(name, proto, list(values.shape), listed)
        return name

    def columns(self, basis: Basis) -> GraphColumns:
        """Return the columns of a basis; made once for each."""
        if id(basis) not in self._columns:
            self._columns[id(basis)] = GraphColumns(self, basis, self.mean, self.scale)
        return self._columns[id(basis)]

    def centered(self, values: str, mean: np.ndarray, rise: np.ndarray) -> str:
        """Return ``(values - mean) * rise``, with all digits of the mean."""
        whole = np.asarray(mean, dtype=self.dtype).astype(np.float64)
        values = self.node("Sub", values, whole)
        if np.any(mean != whole):
            values = self.node("Sub", values, mean - whole)
        return self.node("Mul", values, rise)

    def cast(self, value: str) -> str:
        """Return it as floating-point numbers of the graph's precision."""
        return self.node("Cast", value, to=self._proto)

    def whole(self, value: str) -> str:
        """Return it as whole numbers."""
        return self.node("Cast", value, to=onnx.TensorProto.INT64)

    def in_double(self) -> Self:
        """Return this graph with further constants and casts in double precision."""
        exact = copy(self)
        exact.dtype, exact._proto = np.dtype(np.float64), onnx.TensorProto.DOUBLE
        return exact

    # -- other models ----------------------------------------------------------------------

    def model(self, model: Any, columns: tuple[str, int] | None = None) -> tuple[str, ...]:
        """Return the outputs of another model's own graph: label and probabilities, or numbers.

        It reads the rows, or columns that are made of them: a node, and how many they are.
        """
        part = self.scope.declare_local_operator(skl2onnx.get_model_alias(type(model)), model)
        number = self.operator.outputs[-1].type.__class__
        part.inputs = self.operator.inputs
        if columns is not None:
            node, width = columns
            made = self.scope.declare_local_variable("columns", number([None, width]))
            self.node("Identity", node, output=made.onnx_name)
            part.inputs = [made]
        declared = {"variable": number()}
        if is_classifier(model):
            text = all(isinstance(label, str) for label in np.asarray(model.classes_).tolist())
            label = StringTensorType() if text else Int64TensorType()
            declared = {"label": label, "probabilities": number()}
        for name, kind in declared.items():
            part.outputs.append(self.scope.declare_local_variable(name, kind))
        return tuple(variable.onnx_name for variable in part.outputs)

    def shares(
        self,
        model: Any,
        classes: np.ndarray,
        columns: tuple[str, int] | None = None,
        *,
        one_hot: bool = False,
    ) -> str:
        """Return a classifier's probabilities, or ones, for each of these classes, (n, C)."""
        label, probabilities = self.model(model, columns)
        known = getattr(model, "classes_", classes)
        if not one_hot:
            return self.aligned(self.cast(probabilities), known, classes)
        codes = self.positions(label, labels_of(known), np.searchsorted(classes, known))
        return self.cast(self.node("Equal", codes, np.arange(len(classes))))

    def aligned(self, probabilities: str, known: np.ndarray, classes: np.ndarray) -> str:
        """Return probabilities of known classes as those of all classes; others have 0."""
        if np.array_equal(known, classes):
            return probabilities
        places = np.zeros((len(known), len(classes)))
        places[np.arange(len(known)), np.searchsorted(classes, known)] = 1.0
        return self.node("MatMul", probabilities, places)

    def positions(self, label: str, known: np.ndarray, positions: np.ndarray) -> str:
        """Return labels as positions in the ensemble's classes, (n, 1)."""
        names = {"keys_strings" if known.dtype == object else "keys_int64s": known.tolist()}
        codes = self.node(
            "LabelEncoder",
            label,
            domain="ai.onnx.ml",
            op_version=2,
            values_int64s=positions.tolist(),
            default_int64=-1,
            **names,
        )
        return self.node("Reshape", codes, [-1, 1])

    # -- numbers ---------------------------------------------------------------------------

    def total(self, values: str, axis: int, keep: bool = False) -> str:
        """Return sums along an axis."""
        return self.node("ReduceSum", values, [axis], keepdims=int(keep))

    def extreme(self, kind: str, values: str) -> str:
        """Return the least or greatest (ReduceMin, ReduceMax) of each row, (n, 1)."""
        if self.container.target_opset >= _AXES_AS_INPUT:
            return self.node(kind, values, [1], keepdims=1)
        return self.node(kind, values, axes=[1], keepdims=1)

    def normalized(self, mass: str, fallback: str | np.ndarray) -> str:
        """Return rows divided by their sum; rows without any are those of ``fallback``."""
        total = self.total(mass, 1, keep=True)
        some = self.node("Greater", total, np.zeros(1))
        divisor = self.node("Where", some, total, np.ones(1))
        return self.node("Where", some, self.node("Div", mass, divisor), fallback)


class GraphColumns:
    """The columns that members see of the rows, in units that suit single precision.

    A column is ``factor`` times the value in the graph plus ``shift``, with both rounded to the
    precision of the graph.
    """

    def __init__(
        self, graph: Graph, basis: Basis, mean: np.ndarray | None, scale: np.ndarray | None
    ) -> None:
        n_features = basis.n_features
        mean = np.zeros(n_features) if mean is None else mean
        scale = np.ones(n_features) if scale is None else scale
        self._graph = graph
        center = np.asarray(mean, dtype=graph.dtype).astype(np.float64)
        width = np.where(np.isfinite(scale) & (scale > 0), scale, 1.0)
        rise = (1.0 / width).astype(graph.dtype).astype(np.float64)
        width = 1.0 / rise
        within = self._clipped(graph.rows, basis.reach)
        centered = graph.centered(within, center, rise)
        parts = [(np.arange(n_features), centered, width, center)]
        ramps = np.flatnonzero(~np.isnan(basis.low))
        if len(ramps):
            of = basis.feature[ramps]
            low = (basis.low[ramps] - center[of]) / width[of]
            steep = width[of] / (basis.high[ramps] - basis.low[ramps])
            above = graph.node("Sub", graph.node("Gather", centered, of, axis=1), low)
            share = graph.node("Mul", above, steep)
            ramp = graph.node("Clip", share, np.array(0.0), np.array(1.0))
            parts.append((ramps, ramp, np.ones(len(of)), np.zeros(len(of))))
        pairs = np.flatnonzero(basis.partner >= 0)
        if len(pairs):
            parts.append((pairs, *self._products(basis, pairs, rise)))
        columns, nodes, factors, shifts = zip(*parts, strict=True)
        self._name = nodes[0] if len(nodes) == 1 else graph.node("Concat", *nodes, axis=1)
        self._order = np.concatenate(columns)
        self._factor, self._shift = np.concatenate(factors), np.concatenate(shifts)

    def _products(
        self, basis: Basis, pairs: np.ndarray, rise: np.ndarray
    ) -> tuple[str, np.ndarray, np.ndarray]:
        graph = self._graph
        inside = self._clipped(graph.rows, basis.seen)
        scaled = graph.centered(inside, basis.center, rise)
        one, other = basis.feature[pairs], basis.partner[pairs]
        product = graph.node(
            "Mul",
            graph.node("Gather", scaled, one, axis=1),
            graph.node("Gather", scaled, other, axis=1),
        )
        if basis.seen is None:
            most = _LARGEST[graph.dtype]
            product = graph.node("Clip", product, np.array(-most), np.array(most))
        return product, 1.0 / (rise[one] * rise[other]), np.zeros(len(pairs))

    def _clipped(self, rows: str, ends: np.ndarray | None) -> str:
        if ends is None:
            return rows
        return self._graph.node("Min", self._graph.node("Max", rows, ends[0]), ends[1])

    def linear(self, coef: np.ndarray, intercept: np.ndarray) -> str:
        """Return linear functions of the columns, by coefficients (J, P) and intercepts (J,)."""
        coef = coef[:, self._order]
        return self._graph.node(
            "Gemm", self._name, (coef * self._factor).T, intercept + coef @ self._shift
        )
