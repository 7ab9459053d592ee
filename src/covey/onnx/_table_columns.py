"""A model of a table as an ONNX graph that takes the table's own columns."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from covey._files import write_file
from covey.tables._encoders import Categories
from covey.tables._table_preparation import TablePreparation

if TYPE_CHECKING:
    import onnx


def table_to_onnx(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: Literal["float32", "float64"] = "float32",
) -> onnx.ModelProto:
    """A fitted model of a table as an ONNX graph, one input for each column of the table.

    Numbers and categories have an ONNX form; text of many values and dates have none.

    Parameters
    ----------
    model : TableClassifier or TableRegressor
        Fitted, around a flock that `covey.onnx.to_onnx` takes.
    path : str or path, optional
        Where to write the graph too.
    dtype : {"float32", "float64"}, default="float32"
        What numbers are given and computed in. Single precision holds seven digits: numbers that
        differ only in later ones, such as times in seconds since 1970, need "float64".

    Returns
    -------
    graph : onnx.ModelProto
        Its inputs are named like the columns, each of shape (n_rows, 1): ``dtype`` for numbers,
        with NaN (or an infinity) for what is missing, and strings for categories, with "" for
        that. Its outputs are those of the flock's graph; for classes ``label`` and
        ``probabilities``, in the order of ``classes_``. Its metadata hold ``columns`` (and
        ``classes``) as JSON.

    Examples
    --------
    >>> import pandas as pd
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> table = pd.DataFrame(X, columns=["left", "right"])
    >>> flock = covey.FlockClassifier(effort="fast", random_state=0)
    >>> model = covey.TableClassifier(flock).fit(table, y)
    >>> from covey.onnx._table_columns import table_to_onnx
    >>> graph = table_to_onnx(model)
    >>> [column.name for column in graph.graph.input]
    ['left', 'right']
    """
    _check_exportable(model.preparation_)
    from covey.onnx import to_onnx
    from covey.onnx._preparation import joined
    from onnx import checker, helper

    flock = to_onnx(model.estimator_, dtype=dtype)
    prepared = _PreparationGraph(model.preparation_, dtype).model(flock)
    graph = joined(prepared, flock, "prepared/X")
    facts = {"columns": json.dumps(model.preparation_.kinds_, ensure_ascii=False)}
    if hasattr(model, "classes_"):
        facts["classes"] = json.dumps(model.classes_.tolist())
    helper.set_model_props(graph, facts)
    checker.check_model(graph)
    if path is not None:
        write_file(path, graph.SerializeToString())
    return graph


def _check_exportable(preparation: TablePreparation) -> None:
    """Refuse, by name, a column that has no ONNX form."""
    for name, encoder in preparation._encoders.items():
        if not isinstance(encoder, Categories):
            what = (
                "a date"
                if preparation.kinds_[name] in ("date", "season")
                else "text of many values"
            )
            raise ValueError(
                f"Column {name!r} is {what}, which has no ONNX form; fit the model without it "
                f"(--drop {name!r})."
            )


class _PreparationGraph:
    """What `TablePreparation.transform` does, as nodes of a graph in one precision."""

    def __init__(self, preparation: TablePreparation, dtype: str):
        import onnx

        self._onnx = onnx
        self.nodes, self.inputs, self.constants, self.made = [], [], [], []
        self._preparation = preparation
        self._dtype = dtype
        self._number = getattr(onnx.TensorProto, "FLOAT" if dtype == "float32" else "DOUBLE")
        first = 0
        for position, (name, outputs) in enumerate(preparation._outputs.items()):
            own = f"prepared/{position}"
            encoder = preparation._encoders.get(name)
            if encoder is None:
                self._add_number(name, own, preparation.imputer_.statistics_[first : first + 1])
            else:
                self._add_categories(name, own, encoder)
            first += len(outputs)
        self._node("Concat", self.made, "prepared/X", axis=1)

    def _node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(self._onnx.helper.make_node(kind, inputs, [output], **attributes))
        return output

    def _input(self, name: str, kind: int) -> None:
        self.inputs.append(self._onnx.helper.make_tensor_value_info(name, kind, [None, 1]))

    def _constant(self, values: np.ndarray, name: str) -> str:
        self.constants.append(self._onnx.numpy_helper.from_array(values, name))
        return name

    def _add_number(self, name: str, own: str, median: np.ndarray) -> None:
        self._input(name, self._number)
        fill = self._constant(median.astype(self._dtype), f"{own}/median")
        # Infinities count as missing too.
        nan = self._node("IsNaN", [name], f"{own}/nan")
        infinite = self._node("IsInf", [name], f"{own}/infinite")
        gap = self._node("Or", [nan, infinite], f"{own}/gap")
        self.made.append(self._node("Where", [gap, fill, name], f"{own}/filled"))
        if name in self._preparation._gaps:
            self.made.append(self._node("Cast", [gap], f"{own}/missing", to=self._number))

    def _add_categories(self, name: str, own: str, encoder: Categories) -> None:
        self._input(name, self._onnx.TensorProto.STRING)
        # A gap is an empty string in the graph.
        known = ["" if word is None else word for word in encoder.known]
        last = self._node(
            "OneHotEncoder",
            [name],
            f"{own}/all",
            domain="ai.onnx.ml",
            cats_strings=known,
            zeros=1,
        )
        shape = self._constant(np.array([-1, len(known)], dtype=np.int64), f"{own}/shape")
        last = self._node("Reshape", [last, shape], f"{own}/flat")
        if encoder.left_out is not None:
            kept = np.delete(np.arange(len(known)), encoder.left_out)
            kept = self._constant(kept, f"{own}/kept")
            last = self._node("Gather", [last, kept], f"{own}/made", axis=1)
        if self._dtype != "float32":
            # ONNX's encoder computes in single precision only.
            last = self._node("Cast", [last], f"{own}/wide", to=self._number)
        self.made.append(last)

    def model(self, flock: onnx.ModelProto) -> onnx.ModelProto:
        """The graph as a model, for the opset of a flock's graph."""
        helper = self._onnx.helper
        width = len(self._preparation.get_feature_names_out())
        output = helper.make_tensor_value_info("prepared/X", self._number, [None, width])
        graph = helper.make_graph(self.nodes, "table", self.inputs, [output], self.constants)
        opsets = {opset.domain: opset.version for opset in flock.opset_import}
        opsets.setdefault("ai.onnx.ml", 1)
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid(*pair) for pair in opsets.items()],
            ir_version=flock.ir_version,
            producer_name="covey",
        )
