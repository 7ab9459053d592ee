"""Code books as parts of an ONNX graph: each node is a line of `covey._core.fusion.codes`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from covey._core.fusion.codes import HALVINGS, SCALES, SUREST, TIE
from covey.onnx._graph import Graph, thawed


def of_code_book(graph: Graph, model: Any) -> str:
    """Probabilities (n, C) of the classes, by the bits that the learners predict."""
    learnt = {
        number: _bit(graph, thawed(learner))
        for number, learner in enumerate(model.estimators_)
        if model._has_learnt[number]
    }
    # A learner that has not seen any row yet knows nothing of its bit.
    known = next(iter(learnt.values()))
    unknown = graph.node("Add", graph.node("Sub", known, known), np.array([0.5]))
    bits = [learnt.get(number, unknown) for number in range(len(model.estimators_))]
    joined = bits[0] if len(bits) == 1 else graph.node("Concat", *bits, axis=1)
    # Words are compared in double precision whatever learners compute in: ties are close.
    decoding = _Decoding(graph.in_double(), model.code_book_, joined)
    return graph.cast(decoding.probabilities(model.decoding))


def _bit(graph: Graph, learner: Any) -> str:
    """A learner's probability that its bit is 1, (n, 1)."""
    _, probabilities = graph.model(learner)
    one = int(np.flatnonzero(np.asarray(learner.classes_) == 1)[0])
    return graph.node("Slice", graph.cast(probabilities), [one], [one + 1], [1])


class _Decoding:
    """The bits (n, B) of rows, read back as classes."""

    def __init__(self, graph: Graph, book: np.ndarray, bits: str) -> None:
        self._graph, self._p = graph, graph.cast(bits)
        self._n_classes, self._n_bits = book.shape
        ones, minus = (book == 1).astype(float), (book == -1).astype(float)
        self._to_ones, self._to_minus = graph.constant(ones), graph.constant(minus)
        self._of_ones, self._of_minus = graph.constant(ones.T), graph.constant(minus.T)
        self._longer = self._n_bits / (ones + minus).sum(axis=1)
        self._zero, self._half, self._one = (graph.constant(np.array(n)) for n in (0.0, 0.5, 1.0))

    def probabilities(self, decoding: str) -> str:
        """See `class_probabilities`; the scale is looked for in as many steps as there."""
        node = self._graph.node
        excess = self._excess(self._distances(decoding))
        surest = (np.array(1.0 - SUREST), np.array(SUREST))
        coupling = _Coupling(self, excess, node("Clip", self._p, *surest))
        tried = node("Concat", *(coupling.cross_entropy(_full(scale)) for scale in SCALES), axis=1)
        nearest = node("ArgMin", tried, axis=1, keepdims=1)
        # Of each scale of the list, the one below, the one above and itself.
        around = [SCALES[[0, *range(len(SCALES) - 1)]], np.append(SCALES[1:], SCALES[-1]), SCALES]
        low, high, listed = (node("Gather", scales, nearest) for scales in around)
        for _ in range(HALVINGS):
            middle = node("Mul", node("Add", low, high), self._half)
            falls = node("Less", coupling.slope(middle), self._zero)
            low, high = node("Where", falls, middle, low), node("Where", falls, high, middle)
        found = node("Mul", node("Add", low, high), self._half)
        least = self._graph.extreme("ReduceMin", tried)
        worse = node("Greater", coupling.cross_entropy(found), least)
        weights = coupling.weights(node("Where", worse, listed, found))
        return node("Div", weights, self._graph.total(weights, 1, keep=True))

    def _distances(self, decoding: str) -> str:
        node, p = self._graph.node, self._p
        if decoding == "log_loss":
            inside = node("Clip", p, np.array(1.0 - SUREST), np.array(SUREST))
            others = node("Sub", self._one, inside)
            of_ones, of_others = (node("Neg", node("Log", one)) for one in (inside, others))
        else:
            if decoding == "hamming":
                sign = node("Sign", node("Sub", p, self._half))
                p = node("Mul", node("Add", sign, self._one), self._half)
            of_ones, of_others = node("Sub", self._one, p), p
        total = node(
            "Add",
            node("MatMul", of_ones, self._of_ones),
            node("MatMul", of_others, self._of_minus),
        )
        return node("Mul", total, self._longer)

    def _excess(self, distances: str) -> str:
        node = self._graph.node
        excess = node("Sub", distances, self._graph.extreme("ReduceMin", distances))
        spread = self._graph.extreme("ReduceMax", excess)
        largest = self._graph.extreme("ReduceMax", distances)
        differ = node("Greater", spread, node("Mul", largest, np.array(1e-12)))
        excess = node("Div", excess, node("Where", differ, spread, self._one))
        far = node("And", differ, node("GreaterOrEqual", excess, np.array(TIE)))
        return node("Where", far, excess, self._zero)


class _Coupling:
    """Class probabilities as a function of a scale (n, 1), and how well they give bits back."""

    def __init__(self, decoding: _Decoding, excess: str, p: str) -> None:
        graph = decoding._graph
        self._node: Callable[..., str] = graph.node
        self._total = graph.total
        self._excess, self._nearness = excess, graph.node("Neg", excess)
        self._p, self._q = p, graph.node("Sub", decoding._one, p)
        self._to_ones, self._to_minus = decoding._to_ones, decoding._to_minus

    def weights(self, scale: Any) -> str:
        """Probabilities of the classes that are yet to be normalized."""
        return self._node("Exp", self._node("Mul", self._nearness, scale))

    def _sides(self, weights: str) -> tuple[str, str]:
        """What they sum to on either side of each bit."""
        node = self._node
        return node("MatMul", weights, self._to_ones), node("MatMul", weights, self._to_minus)

    def cross_entropy(self, scale: Any) -> str:
        """The loss (n, 1) of the bits."""
        node = self._node
        at_one, at_other = self._sides(self.weights(scale))
        both = node("Log", node("Add", at_one, at_other))
        ones = node("Mul", self._p, node("Log", at_one))
        others = node("Mul", self._q, node("Log", at_other))
        return self._total(node("Sub", node("Sub", both, ones), others), 1, keep=True)

    def slope(self, scale: str) -> str:
        """How the loss changes with the scale, (n, 1)."""
        node = self._node
        weights = self.weights(scale)
        at_one, at_other = self._sides(weights)
        sum_one, sum_other = self._sides(node("Mul", weights, self._excess))
        ones = node("Div", node("Mul", self._p, sum_one), at_one)
        others = node("Div", node("Mul", self._q, sum_other), at_other)
        both = node("Div", node("Add", sum_one, sum_other), node("Add", at_one, at_other))
        return self._total(node("Sub", node("Add", ones, others), both), 1, keep=True)


def _full(scale: float) -> np.ndarray:
    return np.full((1, 1), float(scale))
