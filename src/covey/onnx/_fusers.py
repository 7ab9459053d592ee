"""Fusers, and models on top of members' predictions, as parts of an ONNX graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from covey.fusers import Fuser, Gate, Majority, Mean, Median, Product, Stacking
from covey.fusers._gate import GatedGroups
from covey.onnx._graph import Graph, thawed

# A probability of zero counts as this in products: see `Predictions.log`.
_VETO = float(np.log(np.finfo(np.float64).tiny))


class Outputs:
    """The members' predictions, (n, K, C), and the nodes that are computed from them.

    ``values`` is the node of probabilities or, with C = 1, of values; ``shape`` is (K, C). Known
    logarithms are a node, too; ``seen`` (K, C) are the classes that each member was trained on,
    and ``classes`` their labels.
    """

    def __init__(
        self,
        graph: Graph,
        values: str,
        shape: tuple[int, int],
        *,
        kind: str = "probability",
        logs: str | None = None,
        seen: np.ndarray | None = None,
        classes: np.ndarray | None = None,
    ) -> None:
        self.graph, self.values, self.kind = graph, values, kind
        self.n_members, self.n_classes = shape
        self._logs, self.classes = logs, classes
        self.seen = np.ones(shape, dtype=bool) if seen is None else seen

    def logs(self) -> str:
        """Return logarithms of the probabilities."""
        if self._logs is None:
            graph = self.graph
            tiny = np.full(1, np.finfo(graph.dtype).tiny, dtype=np.float64)
            some = graph.node("Greater", self.values, tiny)
            above = graph.node("Max", self.values, tiny)
            self._logs = graph.node("Where", some, graph.node("Log", above), np.array([_VETO]))
        return self._logs

    def votes(self) -> str:
        """Return each member's decision as ones and zeros (n, K, C)."""
        labels = self.graph.node("ArgMax", self.values, axis=2, keepdims=1)
        return self.graph.cast(self.graph.node("Equal", labels, np.arange(self.n_classes)))

    def weighted(self, values: str, weights: str | np.ndarray) -> str:
        """Return ``sum_k w_k values_k`` as (n, C), for weights (K,) or a node of them (n, K)."""
        graph = self.graph
        if isinstance(weights, str):
            weights = graph.node("Unsqueeze", weights, [2])
        else:
            weights = np.asarray(weights, dtype=float)[None, :, None]
        return graph.total(graph.node("Mul", values, weights), 1)

    def of_those_that_know(self, mass: str, weights: np.ndarray) -> str:
        """Return sums (n, C) over members by weights (K,), divided by those that know a class."""
        if self.seen.all():
            return mass
        known = weights @ self.seen
        return self.graph.node("Mul", mass, 1.0 / np.where(known > 0, known, 1.0)[None])

    def normalized(self, mass: str, fallback: str | None = None) -> str:
        """Return rows divided by their sum; rows without any are ``fallback``, or even."""
        even = np.full((1, self.n_classes), 1.0 / self.n_classes)
        return self.graph.normalized(mass, even if fallback is None else fallback)

    def pooled(self, gates: str, pool: str) -> str:
        """Return members weighted by gates (n, K): values, probabilities or their logarithms."""
        if self.kind == "value":
            return self.weighted(self.values, gates)
        if pool == "log":
            return self.graph.node("Softmax", self.weighted(self.logs(), gates), axis=1)
        return self.weighted(self.graph.node("Softmax", self.logs(), axis=2), gates)

    def group(self, start: int, end: int) -> Outputs:
        """Return some of the members."""
        graph, shape = self.graph, (end - start, self.n_classes)
        values = graph.node("Slice", self.values, [start], [end], [1])
        logs = None
        if self.kind == "probability":
            logs = graph.node("Slice", self.logs(), [start], [end], [1])
        return Outputs(graph, values, shape, kind=self.kind, logs=logs)


def check_fuser(fuser: Fuser, who: str, values: bool = False) -> None:
    """Refuse a fuser that has no graph; ``who`` begins the sentence."""
    if type(fuser) not in _RULES:
        rules = "'mean', 'median'" if values else "'product', 'mean', 'median', 'majority'"
        raise ValueError(
            f"{who} is fused by {fuser.title}, which has no ONNX form; fuse by {rules}, "
            "a Gate or a search."
        )
    if isinstance(fuser, Stacking):
        check_encodings(fuser.outputs_, who, values)
        if fuser.keep_certainty:
            raise ValueError(
                f"{who} is fused by Stacking(keep_certainty=True), which has no ONNX form; use "
                "keep_certainty=False."
            )


def fused_by(outputs: Outputs, fuser: Fuser) -> str:
    """Return probabilities (n, C) or values (n, 1), line by line as the fuser's own ``_fuse``."""
    check_fuser(fuser, "The model", outputs.kind == "value")
    return _RULES[type(fuser)](outputs, fuser)


def _by_groups(outputs: Outputs, fuser: Any) -> str:
    graph = outputs.graph
    logits = graph.columns(fuser.basis).linear(np.asarray(fuser.coef), np.asarray(fuser.intercept))
    groups = []
    ends = np.cumsum(fuser.sizes).tolist()
    for start, end, pool, weight in zip(
        [0, *ends], ends, fuser.pools, fuser.weights, strict=False
    ):
        gates = graph.node("Softmax", graph.node("Slice", logits, [start], [end], [1]), axis=1)
        group = outputs.group(start, end).pooled(gates, pool)
        groups.append(graph.node("Mul", group, np.array([float(weight)])))
    return groups[0] if len(groups) == 1 else graph.node("Sum", *groups)


def _by_gate(outputs: Outputs, fuser: Any) -> str:
    """Return members weighted by a gate of standardized features, or also of their squares."""
    graph, sees = outputs.graph, fuser._sees
    # A constant column has an infinite scale: it becomes zero.
    rise = 1.0 / sees.scale
    scaled = graph.centered(graph.rows, sees.mean, rise)
    parts = [scaled]
    if sees.quadratic:
        if sees.square_mean is not None:  # learned from sparse rows: not centered before
            square = graph.node("Mul", graph.rows, rise)
            square = graph.node("Mul", square, square)
            square = graph.node("Sub", square, sees.square_mean)
            parts.append(graph.node("Mul", square, 1.0 / sees.square_scale))
        else:
            square = graph.node("Mul", scaled, scaled)
            parts.append(graph.node("Sub", square, np.ones(len(sees.mean))))
    seen = parts[0] if len(parts) == 1 else graph.node("Concat", *parts, axis=1)
    logits = graph.node("Gemm", seen, fuser.coef_.T, fuser.intercept_)
    return outputs.pooled(graph.node("Softmax", logits, axis=1), fuser.pool)


def _by_product(outputs: Outputs, fuser: Any) -> str:
    graph = outputs.graph
    weight = fuser.member_weights(outputs.n_members)[:, None] * outputs.seen
    total = weight.sum(axis=0)
    share = weight / np.where(total > 0, total, 1.0)
    logs = graph.total(graph.node("Mul", outputs.logs(), share[None]), 1)
    # A class that no member has seen has no prediction: it is ruled out.
    logs = graph.node("Add", logs, np.where(total > 0, 0.0, _VETO)[None])
    return graph.node("Softmax", logs, axis=1)


def _by_mean(outputs: Outputs, fuser: Any) -> str:
    weight = fuser.member_weights(outputs.n_members)
    mean = outputs.weighted(outputs.values, weight)
    if outputs.kind == "value":
        return mean
    return outputs.normalized(outputs.of_those_that_know(mean, weight))


def _by_median(outputs: Outputs, fuser: Any) -> str:
    graph = outputs.graph
    if outputs.seen.all():
        statistic = _middle(graph, outputs.values, outputs.n_members)
    else:
        classes = []
        for code, predicts in enumerate(outputs.seen.T):
            own = graph.node("Gather", outputs.values, [code], axis=2)
            own = graph.node("Gather", own, np.flatnonzero(predicts), axis=1)
            classes.append(_middle(graph, own, int(predicts.sum())))
        statistic = graph.node("Concat", *classes, axis=1)
    if outputs.kind == "value":
        return statistic
    equal = np.full(outputs.n_members, 1.0 / outputs.n_members)
    mean = outputs.of_those_that_know(outputs.weighted(outputs.values, equal), equal)
    mean = outputs.normalized(mean)
    return outputs.normalized(statistic, mean)


def _middle(graph: Graph, values: str, n_members: int) -> str:
    """Return the median over members (axis 1) of values (n, K, C), as (n, C)."""
    if not n_members:  # a class that no member has seen
        return graph.total(values, 1)
    ordered, _ = graph.nodes("TopK", values, [n_members], outputs=2, axis=1)
    middle = graph.node("Gather", ordered, [(n_members - 1) // 2, n_members // 2], axis=1)
    return graph.node("Mul", graph.total(middle, 1), np.array([0.5]))


def _by_majority(outputs: Outputs, fuser: Any) -> str:
    weights = fuser.weights_ if fuser.learns else fuser.weights
    weights = np.ones(outputs.n_members) if weights is None else np.asarray(weights, dtype=float)
    weights = weights / weights.sum()
    votes = outputs.weighted(outputs.votes(), weights)
    return outputs.normalized(outputs.of_those_that_know(votes, weights))


# -- models on top of members' predictions --------------------------------------------------------


# The encodings of members' predictions that a graph can compute. Ranks and scores have no form: in
# single precision small probabilities become equal, and models' graphs give no scores.
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
    """Return the prediction of all layers, one after another, and the model on top."""
    beside = _beside(graph, stack)
    columns: tuple[str, int] | None = None
    for members, outputs in zip(stack.layers_, stack.outputs_, strict=True):
        made = [
            _encoded(graph, stack, thawed(member), output, columns)
            for member, output in zip(members, outputs, strict=True)
        ]
        columns = _joined(graph, [*made, *beside])
    assert columns is not None  # there is a layer at least
    classes = stack.classes_ if is_classifier(stack) else None
    return _decided(graph, stack.final_estimator_, classes, columns)


def stacked(outputs: Any, fuser: Any) -> str:
    """Return the prediction of a model on top of (n, K, C), as `covey.fusers.Stacking` does."""
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
    """Return the columns beside the members' outputs: chosen ones, and those of a transformer."""
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
    """Return the columns of a member for the next layer."""
    if not is_classifier(stack):
        return graph.node("Reshape", graph.cast(graph.model(member, columns)[-1]), [-1, 1]), 1
    classes = stack.classes_
    own = graph.shares(member, classes, columns, one_hot=output == "one_hot")
    return _columns_of(graph, own, len(classes), output, stack.clip)


def _columns_of(
    graph: Graph, values: str, width: int, output: str, clip: float
) -> tuple[str, int]:
    """Return predictions (n, C) as columns; for two classes only the second."""
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
    """Return the prediction of the model on top: probabilities (n, C), or values (n, 1)."""
    final = thawed(final)
    if classes is None:
        return graph.node("Reshape", graph.cast(graph.model(final, columns)[-1]), [-1, 1])
    return graph.shares(final, classes, columns, one_hot=not hasattr(final, "predict_proba"))


_RULES = {
    GatedGroups: _by_groups,
    Gate: _by_gate,
    Product: _by_product,
    Mean: _by_mean,
    Median: _by_median,
    Stacking: stacked,
    Majority: _by_majority,
}
