"""Gaps and categories as nodes of a graph, in front of the nodes of a flock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

import onnx
from covey.tables._categories import UNSEEN, numbers_among
from covey.tables._known_columns import encoders_of
from covey.tables._preparation import Preparation

if TYPE_CHECKING:
    from covey.onnx._graph import Graph

# Whether the graph in the making gets codes in place of categories.
_CODED: ContextVar[bool] = ContextVar("coded", default=False)
# The code of a string that stands for a gap, until it is NaN.
_GAP = -2.0


def preparation_of(model: Any) -> Preparation | None:
    """Return the preparation of gaps and categories of a flock or one of its members."""
    found = getattr(model, "preparation_", getattr(model, "preparation", None))
    return found if isinstance(found, Preparation) else None


@contextmanager
def coded_rows(are_coded: bool) -> Iterator[None]:
    """Let rows of graphs have codes in place of categories, or not, within this context."""
    token = _CODED.set(are_coded)
    try:
        yield
    finally:
        _CODED.reset(token)


def prepared(graph: Graph, preparation: Preparation) -> str:
    """Return the columns of rows with NaN for gaps, and codes, as `Preparation.transform` does."""
    if preparation.words and not _CODED.get():
        raise RuntimeError("a flock that was fitted to categories is exported by covey.to_onnx")
    if len(preparation.feature_of) > preparation.n_features:
        raise RuntimeError("a flock that was fitted to text or dates has no ONNX form")
    made = []
    if len(preparation.numbers):
        of_numbers = preparation.feature_of[preparation.numbers]
        numbers = graph.node("Gather", graph.rows, of_numbers, axis=1)
        gaps = graph.node("IsNaN", numbers)
        # The first value of each column that stands for a gap, then the second, ...
        declared = [numbers_among(_gaps_of(preparation, feature)) for feature in of_numbers]
        for values in zip_longest(*declared, fillvalue=np.nan):
            gaps = graph.node("Or", gaps, graph.node("Equal", numbers, np.array(values)))
        made.append(graph.node("Where", gaps, preparation.fill, numbers))
        if len(preparation.marked):
            places = np.searchsorted(preparation.numbers, preparation.marked)
            made.append(graph.cast(graph.node("Gather", gaps, places, axis=1)))
    for column, table in preparation.tables.items():
        # The last but one row of a table is that of gaps, the last that of unknown categories.
        of = [int(preparation.feature_of[column])]
        codes = graph.node("Reshape", graph.node("Gather", graph.rows, of, axis=1), [-1])
        unseen = graph.node("Less", codes, np.zeros(1))
        codes = graph.node("Where", unseen, np.full(1, len(table) - 1.0), codes)
        gap = graph.node("IsNaN", codes)
        codes = graph.node("Where", gap, np.full(1, len(table) - 2.0), codes)
        made.append(graph.node("Gather", table, graph.whole(codes), axis=0))
    return made[0] if len(made) == 1 else graph.node("Concat", *made, axis=1)


def _gaps_of(preparation: Preparation, feature: int) -> tuple[str, ...]:
    encoder = None if preparation.reading is None else preparation.reading.encoders[feature]
    return () if encoder is None else encoder.gaps


# -- columns of a table -------------------------------------------------------------------------


def column_names(model: Any, who: str) -> list[str]:
    """Return the names of the inputs of a graph that takes a table's columns."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            f"{who} was fitted to categories in an array, whose columns have no names for a graph "
            "to take them by; fit it to a data frame."
        )
    return [str(name) for name in names]


def in_front(graph: onnx.ModelProto, model: Any, names: list[str], dtype: str) -> onnx.ModelProto:
    """Return the graph of a model of codes behind one that takes a table's own columns."""
    number = getattr(onnx.TensorProto, "FLOAT" if dtype == "float32" else "DOUBLE")
    nodes, inputs, constants, made = [], [], [], []

    def add(kind: str, taken: list[str], output: str, **attributes: Any) -> str:
        nodes.append(onnx.helper.make_node(kind, taken, [output], **attributes))
        return output

    def constant(value: float, name: str) -> str:
        constants.append(onnx.numpy_helper.from_array(np.array([value], dtype=dtype), name))
        return name

    unknown, nan = constant(_GAP, "coded/gap"), constant(np.nan, "coded/nan")
    preparation = preparation_of(model)
    words, encoders = {}, list(encoders_of(model).values())
    fill = np.full(len(names), np.nan)
    if preparation is not None:
        words = {preparation.feature_of[of]: known for of, known in preparation.words.items()}
    elif hasattr(model, "model_"):
        fill = model.model_.table.filling
    for position, name in enumerate(names):
        own = f"coded/{position}"
        encoder = encoders[position]
        if encoder is None:  # it is not used
            made.append("")
            continue
        kind = onnx.TensorProto.STRING if position in words else number
        inputs.append(onnx.helper.make_tensor_value_info(name, kind, [None, 1]))
        if position not in words:
            gaps = [add("IsNaN", [name], f"{own}/nan"), add("IsInf", [name], f"{own}/infinite")]
            gap = add("Or", gaps, f"{own}/gap")
            filling = constant(fill[position], f"{own}/filling")
            made.append(add("Where", [gap, filling, name], f"{own}/filled"))
            continue
        known = list(words[position])
        codes = [float(code) for code in range(len(known))]
        # An empty or declared value is a gap, unless it is a category.
        gaps = [gap for gap in ("", *encoder.gaps) if gap not in known]
        known, codes = [*known, *gaps], [*codes, *[_GAP] * len(gaps)]
        code = add(
            "LabelEncoder",
            [name],
            f"{own}/code",
            domain="ai.onnx.ml",
            keys_strings=known,
            values_floats=codes,
            default_float=UNSEEN,
        )
        code = add("Cast", [code], f"{own}/wide", to=number)
        is_gap = add("Equal", [code, unknown], f"{own}/is_gap")
        made.append(add("Where", [is_gap, nan, code], f"{own}/coded"))
    some = next(filter(None, made))
    add("Concat", [one or some for one in made], "coded/X", axis=1)
    output = onnx.helper.make_tensor_value_info("coded/X", number, [None, len(names)])
    opsets = {opset.domain: opset.version for opset in graph.opset_import}
    opsets["ai.onnx.ml"] = max(2, opsets.get("ai.onnx.ml", 2))
    front = onnx.helper.make_model(
        onnx.helper.make_graph(nodes, "columns", inputs, [output], constants),
        opset_imports=[onnx.helper.make_opsetid(*pair) for pair in opsets.items()],
        ir_version=graph.ir_version,
        producer_name="covey",
    )
    return joined(front, graph, "coded/X")


def joined(front: onnx.ModelProto, graph: onnx.ModelProto, made: str) -> onnx.ModelProto:
    """Join two graphs: the output of the first is the X of the second.

    Examples
    --------
    >>> import covey
    >>> from onnx import TensorProto, helper
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> graph = covey.to_onnx(covey.SubsetEnsembleClassifier(2, random_state=0).fit(X, y))
    >>> rows = helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, 2])
    >>> made = helper.make_tensor_value_info("made", TensorProto.FLOAT, [None, 2])
    >>> copy = helper.make_node("Identity", ["rows"], ["made"])
    >>> front = helper.make_model(
    ...     helper.make_graph([copy], "front", [rows], [made]), ir_version=graph.ir_version
    ... )
    >>> whole = covey.onnx._coded_inputs.joined(front, graph, "made")
    >>> [value.name for value in whole.graph.input], [value.name for value in whole.graph.output]
    (['rows'], ['label', 'probabilities'])
    """
    opsets: dict[str, int] = {}
    for one in (*front.opset_import, *graph.opset_import):
        opsets[one.domain] = max(one.version, opsets.get(one.domain, 1))
    for part in (front, graph):
        del part.opset_import[:]
        part.opset_import.extend(onnx.helper.make_opsetid(*pair) for pair in opsets.items())
    # Names inside the two graphs must differ; those of inputs and outputs are not changed.
    own = [output.name for output in graph.graph.output]
    graph = onnx.compose.add_prefix(graph, "flock/")
    _check_inputs(front, graph, own)
    outputs = [output.name for output in graph.graph.output]
    whole = onnx.compose.merge_models(front, graph, io_map=[(made, "flock/X")], outputs=outputs)
    for output in whole.graph.output:
        old, output.name = output.name, output.name.removeprefix("flock/")
        for node in whole.graph.node:
            node.output[:] = [output.name if name == old else name for name in node.output]
    return whole


def _check_inputs(front: onnx.ModelProto, graph: onnx.ModelProto, outputs: list[str]) -> None:
    """Refuse columns whose names are used for something else in the graph."""
    taken = set(outputs)
    for part in (front.graph, graph.graph):
        taken.update(name for node in part.node for name in node.output)
        taken.update(constant.name for constant in part.initializer)
    for column in front.graph.input:
        if not column.name:
            raise ValueError(
                "A column of X has no name, which an input of a graph needs; name it."
            )
        if column.name in taken:
            raise ValueError(
                f"Column {column.name!r} has the name of an output of the graph, or of a step in "
                "it; rename the column."
            )
