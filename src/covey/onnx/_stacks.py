"""Models on top of members' predictions as parts of an ONNX graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from covey.onnx._graph import Graph, labels_of, thawed

# How what members predict can be encoded in a graph. Ranks and scores have no form: single
# precision takes small probabilities for equal, and models' graphs give no scores.
_ENCODINGS = ("probabilities", "logits", "one_hot", "values")


def check_encodings(outputs: Sequence[str], who: str, values: bool) -> None:
    """Refuse encodings that have no graph; ``who`` begins the sentence."""
    known = "'values'" if values else "'probabilities', 'logits' or 'one_hot'"
    for output in outputs:
        if output not in _ENCODINGS:
            raise ValueError(
                f"{who} reads outputs={output!r} of a member, which have no ONNX form; use "
                f"outputs={known} for it."
            )


def of_stack(graph: Graph, stack: Any) -> str:
    """All layers, one after another, and the model on top."""
    beside = _beside(graph, stack)
    columns: tuple[str, int] | None = None
    for members, outputs in zip(stack.layers_, stack.outputs_, strict=True):
        made = [
            _encoded(graph, stack, thawed(member), output, columns)
            for member, output in zip(members, outputs, strict=True)
        ]
        columns = _joined(graph, [*made, *beside])
    classes = stack.classes_ if is_classifier(stack) else None
    return _decided(graph, stack.final_estimator_, classes, columns)


def stacked(outputs: Any, fuser: Any) -> str:
    """A model on top of predictions (n, K, C), as `covey.fusers.Stacking` has it."""
    graph, classes = outputs.graph, outputs.classes
    width = outputs.n_classes
    parts = []
    for k, output in enumerate(fuser.outputs_):
        own = graph.node("Slice", outputs.values, [k], [k + 1], [1])
        own = graph.node("Reshape", own, np.array([-1, width]))
        if output == "one_hot":
            winner = graph.node("ArgMax", own, axis=1, keepdims=1)
            own = graph.cast(graph.node("Equal", winner, np.arange(width)))
        parts.append(_columns_of(graph, own, width, output, fuser.clip))
    if fuser.needs_X:
        parts.append((graph.rows, graph.n_features))
    return _decided(graph, fuser.final_estimator_, classes, _joined(graph, parts))


def _beside(graph: Graph, stack: Any) -> list[tuple[str, int]]:
    """The columns beside the members' outputs: chosen ones, and those that a model makes."""
    beside = []
    if stack._columns is not None:
        chosen = np.asarray(stack._columns)
        beside.append((graph.node("Gather", graph.rows, chosen, axis=1), len(chosen)))
    if stack.features_ is not None:
        (made,) = graph.model(stack.features_)
        beside.append((graph.cast(made), int(stack._n_made)))
    return beside


def _encoded(
    graph: Graph, stack: Any, member: Any, output: str, columns: tuple[str, int] | None
) -> tuple[str, int]:
    """What the next layer sees of a member."""
    if not is_classifier(stack):
        return graph.node("Reshape", graph.cast(graph.model(member, columns)[-1]), [-1, 1]), 1
    classes = stack.classes_
    label, probabilities = graph.model(member, columns)
    known = getattr(member, "classes_", classes)
    if output == "one_hot":
        places = np.searchsorted(classes, known)
        own = graph.positions(label, labels_of(known), places)
        own = graph.cast(graph.node("Equal", own, np.arange(len(classes))))
    else:
        own = graph.aligned(graph.cast(probabilities), known, classes)
    return _columns_of(graph, own, len(classes), output, stack.clip)


def _columns_of(
    graph: Graph, values: str, width: int, output: str, clip: float
) -> tuple[str, int]:
    """Predictions (n, C) as columns; of two classes the second alone."""
    if output == "logits":
        exact = graph.in_double()
        inside = exact.node("Clip", exact.cast(values), np.array(clip), np.array(1.0 - clip))
        others = exact.node("Sub", np.ones(1), inside)
        logits = exact.node("Sub", exact.node("Log", inside), exact.node("Log", others))
        values = graph.cast(logits)
    if width == 2:
        return graph.node("Slice", values, [1], [2], [1]), 1
    return values, width


def _joined(graph: Graph, parts: list[tuple[str, int]]) -> tuple[str, int]:
    nodes, widths = zip(*parts, strict=True)
    joined = nodes[0] if len(nodes) == 1 else graph.node("Concat", *nodes, axis=1)
    return joined, sum(widths)


def _decided(
    graph: Graph, final: Any, classes: np.ndarray | None, columns: tuple[str, int]
) -> str:
    """What the model on top predicts: probabilities (n, C), or values (n, 1)."""
    final = thawed(final)
    if classes is None:
        return graph.node("Reshape", graph.cast(graph.model(final, columns)[-1]), [-1, 1])
    label, probabilities = graph.model(final, columns)
    known = final.classes_
    if hasattr(final, "predict_proba"):
        return graph.aligned(graph.cast(probabilities), known, classes)
    codes = graph.positions(label, labels_of(known), np.searchsorted(classes, known))
    return graph.cast(graph.node("Equal", codes, np.arange(len(classes))))
