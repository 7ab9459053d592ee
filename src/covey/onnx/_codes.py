"""Code books as parts of an ONNX graph: each node is a line of `covey._core.fusion.codes`."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey._core.fusion.codes import HALVINGS, SCALES, SUREST, TIE
from covey.onnx._graph import Graph, thawed


def of_code_book(graph: Graph, model: Any) -> str:
    """Return probabilities (n, C) of the classes, by the bits that the learners predict."""
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
    # Words are compared in double precision whatever the learners' precision: ties are close.
    exact, book = graph.in_double(), model.code_book_
    p = exact.cast(joined)
    excess = _excess(exact, _decoded(exact, book, p, model.decoding))
    return graph.cast(_class_probabilities(exact, book, p, excess))


def _bit(graph: Graph, learner: Any) -> str:
    """Return a learner's probability that its bit is 1, (n, 1)."""
    _, probabilities = graph.model(learner)
    one = int(np.flatnonzero(np.asarray(learner.classes_) == 1)[0])
    return graph.node("Slice", graph.cast(probabilities), [one], [one + 1], [1])


def _decoded(graph: Graph, book: np.ndarray, p: str, decoding: str) -> str:
    """Return distances (n, C) of the words."""
    node, one = graph.node, np.array(1.0)
    if decoding == "log_loss":
        inside = node("Clip", p, np.array(1.0 - SUREST), np.array(SUREST))
        others = node("Sub", one, inside)
        of_ones, of_others = (node("Neg", node("Log", side)) for side in (inside, others))
    else:
        if decoding == "hamming":
            sign = node("Sign", node("Sub", p, np.array(0.5)))
            p = node("Mul", node("Add", sign, one), np.array(0.5))
        of_ones, of_others = node("Sub", one, p), p
    ones, minus = (book == 1).astype(float), (book == -1).astype(float)
    total = node("Add", node("MatMul", of_ones, ones.T), node("MatMul", of_others, minus.T))
    return node("Mul", total, book.shape[1] / (ones + minus).sum(axis=1))


def _excess(graph: Graph, distances: str) -> str:
    """Return how far each class is, from 0 for the nearest to 1 for the farthest."""
    node = graph.node
    excess = node("Sub", distances, graph.extreme("ReduceMin", distances))
    spread = graph.extreme("ReduceMax", excess)
    largest = graph.extreme("ReduceMax", distances)
    differ = node("Greater", spread, node("Mul", largest, np.array(1e-12)))
    excess = node("Div", excess, node("Where", differ, spread, np.array(1.0)))
    far = node("And", differ, node("GreaterOrEqual", excess, np.array(TIE)))
    return node("Where", far, excess, np.array(0.0))


def _class_probabilities(graph: Graph, book: np.ndarray, p: str, excess: str) -> str:
    """Return probabilities (n, C); the scale is searched in as many steps as in the core."""
    node = graph.node
    ones, minus = (graph.constant((book == side).astype(float)) for side in (1, -1))
    p = node("Clip", p, np.array(1.0 - SUREST), np.array(SUREST))
    q, nearness = node("Sub", np.array(1.0), p), node("Neg", excess)
    zero, half = graph.constant(np.array(0.0)), graph.constant(np.array(0.5))

    def unnormalized(scale: Any) -> str:
        return node("Exp", node("Mul", nearness, scale))

    def sides(weights: str) -> tuple[str, str]:
        """Return the sums of classes on either side of each bit."""
        return node("MatMul", weights, ones), node("MatMul", weights, minus)

    def cross_entropy(scale: Any) -> str:
        at_one, at_other = sides(unnormalized(scale))
        both = node("Log", node("Add", at_one, at_other))
        of_ones, of_others = (
            node("Mul", p, node("Log", at_one)),
            node("Mul", q, node("Log", at_other)),
        )
        return graph.total(node("Sub", node("Sub", both, of_ones), of_others), 1, keep=True)

    def slope(scale: str) -> str:
        weights = unnormalized(scale)
        at_one, at_other = sides(weights)
        sum_one, sum_other = sides(node("Mul", weights, excess))
        of_ones = node("Div", node("Mul", p, sum_one), at_one)
        of_others = node("Div", node("Mul", q, sum_other), at_other)
        both = node("Div", node("Add", sum_one, sum_other), node("Add", at_one, at_other))
        return graph.total(node("Sub", node("Add", of_ones, of_others), both), 1, keep=True)

    listed_losses = [cross_entropy(np.full((1, 1), scale)) for scale in SCALES]
    tried = node("Concat", *listed_losses, axis=1)
    nearest = node("ArgMin", tried, axis=1, keepdims=1)
    # For each scale of the list, the one below, the one above and itself.
    around = [SCALES[[0, *range(len(SCALES) - 1)]], np.append(SCALES[1:], SCALES[-1]), SCALES]
    low, high, listed = (node("Gather", scales, nearest) for scales in around)
    for _ in range(HALVINGS):
        middle = node("Mul", node("Add", low, high), half)
        falls = node("Less", slope(middle), zero)
        low, high = node("Where", falls, middle, low), node("Where", falls, high, middle)
    found = node("Mul", node("Add", low, high), half)
    worse = node("Greater", cross_entropy(found), graph.extreme("ReduceMin", tried))
    weights = unnormalized(node("Where", worse, listed, found))
    return node("Div", weights, graph.total(weights, 1, keep=True))
