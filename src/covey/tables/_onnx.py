"""A model of a table as an ONNX graph that takes the table's own columns."""

import json
from pathlib import Path

import numpy as np
from sklearn.preprocessing import OneHotEncoder


def table_to_onnx(model, path=None, *, dtype="float32"):
    """A fitted `TableClassifier` as an ONNX graph, one input for each column of the table.

    Numbers and categories have an ONNX form; text of many values and dates have none.

    Parameters
    ----------
    model : TableClassifier
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
        that. Its outputs are ``label`` and ``probabilities``, in the order of ``classes_``; its
        metadata hold ``classes`` and ``columns`` as JSON.
    """
    check_table_exportable(model)
    from onnx import checker, compose, helper

    from covey.onnx import to_onnx
    from covey.persistence import write_whole

    flock = to_onnx(model.estimator_, dtype=dtype)
    prepared = _preparation_graph(model.preparation_, flock, dtype)
    # Names inside the two graphs must differ; those of columns stay as they are.
    flock = compose.add_prefix(flock, "flock/")
    graph = compose.merge_models(
        prepared, flock, io_map=[("prepared/X", "flock/X")], outputs=_outputs(flock)
    )
    _rename_outputs(graph)
    helper.set_model_props(
        graph,
        {
            "classes": json.dumps(model.classes_.tolist()),
            "columns": json.dumps(model.preparation_.kinds_, ensure_ascii=False),
        },
    )
    checker.check_model(graph)
    if path is not None:
        write_whole(graph.SerializeToString(), Path(path))
    return graph


def check_table_exportable(model):
    """Refuse, by name, a column that has no ONNX form; or a model of numbers."""
    if not hasattr(model, "classes_"):
        raise ValueError("The model predicts numbers, and only classifiers have an ONNX form.")
    for name, steps in model.preparation_._steps.items():
        if not isinstance(steps[-1], OneHotEncoder):
            what = "a date" if model.preparation_.kinds_[name] == "date" else "text of many values"
            raise ValueError(
                f"Column {name!r} is {what}, which has no ONNX form; fit the model without it "
                f"(--drop {name!r})."
            )


def _outputs(flock):
    return [output.name for output in flock.graph.output]


def _rename_outputs(graph):
    for output in graph.graph.output:
        old, new = output.name, output.name.removeprefix("flock/")
        for node in graph.graph.node:
            for place, name in enumerate(node.output):
                if name == old:
                    node.output[place] = new
        output.name = new


def _preparation_graph(preparation, flock, dtype):
    """What `TablePreparation.transform` does, for the opset and precision of a flock's graph."""
    from onnx import TensorProto, helper, numpy_helper

    nodes, inputs, constants, made = [], [], [], []
    number = TensorProto.FLOAT if dtype == "float32" else TensorProto.DOUBLE

    def constant(values, name):
        constants.append(numpy_helper.from_array(values, name))
        return name

    median = 0
    for place, (name, outputs) in enumerate(preparation._outputs.items()):
        own = f"prepared/{place}"
        steps = preparation._steps.get(name)
        if steps is None:
            inputs.append(helper.make_tensor_value_info(name, number, [None, 1]))
            fill = constant(
                preparation.medians_[median : median + 1].astype(dtype), f"{own}/median"
            )
            nodes += [
                # Infinities count as missing too.
                helper.make_node("IsNaN", [name], [f"{own}/nan"]),
                helper.make_node("IsInf", [name], [f"{own}/infinite"]),
                helper.make_node("Or", [f"{own}/nan", f"{own}/infinite"], [f"{own}/gap"]),
                helper.make_node("Where", [f"{own}/gap", fill, name], [f"{own}/filled"]),
            ]
            made.append(f"{own}/filled")
            if name in preparation._gaps:
                nodes.append(
                    helper.make_node("Cast", [f"{own}/gap"], [f"{own}/missing"], to=number)
                )
                made.append(f"{own}/missing")
        else:
            inputs.append(helper.make_tensor_value_info(name, TensorProto.STRING, [None, 1]))
            encoder = steps[-1]
            # Whatever stands for a gap in the encoder is an empty string in the graph.
            known = ["" if _is_gap(one) else str(one) for one in encoder.categories_[0]]
            nodes.append(
                helper.make_node(
                    "OneHotEncoder",
                    [name],
                    [f"{own}/all"],
                    domain="ai.onnx.ml",
                    cats_strings=known,
                    zeros=1,
                )
            )
            shape = constant(np.array([-1, len(known)], dtype=np.int64), f"{own}/shape")
            nodes.append(helper.make_node("Reshape", [f"{own}/all", shape], [f"{own}/flat"]))
            last = f"{own}/flat"
            left_out = None if encoder.drop_idx_ is None else encoder.drop_idx_[0]
            if left_out is not None:
                kept = np.delete(np.arange(len(known)), int(left_out))
                nodes.append(
                    helper.make_node(
                        "Gather",
                        [last, constant(kept, f"{own}/kept")],
                        [f"{own}/made"],
                        axis=1,
                    )
                )
                last = f"{own}/made"
            if number != TensorProto.FLOAT:
                # ONNX's encoder knows single precision only.
                nodes.append(helper.make_node("Cast", [last], [f"{own}/wide"], to=number))
                last = f"{own}/wide"
            made.append(last)
        median += len(outputs)
    nodes.append(helper.make_node("Concat", made, ["prepared/X"], axis=1))
    width = len(preparation.get_feature_names_out())
    output = helper.make_tensor_value_info("prepared/X", number, [None, width])
    graph = helper.make_graph(nodes, "table", inputs, [output], constants)
    opsets = {opset.domain: opset.version for opset in flock.opset_import}
    opsets.setdefault("ai.onnx.ml", 1)
    return helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid(*pair) for pair in opsets.items()],
        ir_version=flock.ir_version,
        producer_name="covey",
    )


def _is_gap(category):
    return category is None or category != category
