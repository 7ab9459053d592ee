"""scikit-learn's trees, forests and histogram boosting.

scikit-learn has no public way to make a fitted tree of numbers, so a stand-in is fitted by
scikit-learn itself, on a handful of rows, and its nodes are replaced. Compiled code then follows
the nodes without asking whether they are there: each but the first is the child of exactly one
node before it, so that every path ends, and every feature is one of the table's.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from covey._core.limits import FAR
from covey._state import Sizes
from covey.members._stored import OfTable
from covey.persistence._formats import estimator_format
from covey.persistence._nodes import Node
from covey.persistence._refusals import NotCoveredError
from covey.persistence._stand_ins import check_classes, classes_of, stand_in
from covey.persistence._writer import Writer

_LEAF = -1
_UNUSED = -2
# The parts of a node in the order of scikit-learn's trees, and how each is stored.
_OF_NODES = {
    "left_child": "whole",
    "right_child": "whole",
    "feature": "whole",
    "threshold": "float",
    "impurity": "float",
    "n_node_samples": "whole",
    "weighted_n_node_samples": "float",
    "missing_go_to_left": "byte",
}
_OF_BOOSTING = {
    "value": "float",
    "count": "whole",
    "feature_idx": "whole",
    "num_threshold": "float",
    "missing_go_to_left": "byte",
    "left": "whole",
    "right": "whole",
    "gain": "float",
    "depth": "whole",
    "is_leaf": "byte",
    "bin_threshold": "byte",
}
# Of boosting with categories, which have bit sets and are not held.
_OF_CATEGORIES = ("is_categorical", "bitset_idx")
_LARGEST_COUNT = 2**31


# -- nodes ----------------------------------------------------------------------------------------


def _write_nodes(
    trees: list[np.ndarray], parts: dict[str, str], feature: str, n_features: int, out: Writer
) -> dict[str, Any]:
    """The nodes of several trees, one after another."""
    nodes = np.concatenate(trees)
    used = np.zeros(n_features, dtype=bool)
    used[nodes[feature][nodes[feature] >= 0]] = True
    written: dict[str, Any] = {
        "sizes": out.array(np.array([len(tree) for tree in trees], dtype=np.int64), "whole"),
        # An array of the width of the table, so that no file is narrower than it says.
        "used": out.array(used, "flag"),
    }
    for name, kind in parts.items():
        column = nodes[name].astype(np.int64) if kind == "whole" else nodes[name]
        written[name] = out.array(column, kind)
    return written


def _read_sizes(node: Node, n_features: int) -> np.ndarray:
    sizes = node.array("sizes", (None,), "whole", low=1, high=_LARGEST_COUNT)
    node.check(len(sizes) > 0, "sizes", "are missing.")
    node.array("used", (n_features,), "flag")
    return sizes


def _read_columns(node: Node, parts: dict[str, str], n_nodes: int, **how: Any) -> dict[str, Any]:
    columns = {}
    for name, kind in parts.items():
        infinite = name in how.get("infinite", ())
        columns[name] = node.array(name, (n_nodes,), kind, infinite=infinite)
    return columns


def _check_trees(node: Node, sizes: np.ndarray, children: tuple[Any, Any], leaf: Any) -> None:
    """See that each node but the first of each tree is the child of one that is before it."""
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    place = np.arange(len(starts))
    inner = np.flatnonzero(~leaf)
    found = []
    for side in children:
        child = side[inner]
        ends = (starts + np.repeat(sizes, sizes))[inner]
        inside = (child > 0) & (child < ends - starts[inner])
        node.check(inside.all(), "children", "lead out of their tree.")
        at = child + starts[inner]
        node.check((at > place[inner]).all(), "children", "lead in a circle.")
        found.append(at)
    reached = np.sort(np.concatenate([*found, np.cumsum(sizes) - sizes]))
    node.check(np.array_equal(reached, place), "children", "do not make a tree.")


def _split(values: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
    return np.split(values, np.cumsum(sizes)[:-1])


# -- trees and forests ----------------------------------------------------------------------------


def _trees_of(model: Any) -> list[Any]:
    return list(model.estimators_) if hasattr(model, "estimators_") else [model]


def _write_forest(model: Any, out: Writer) -> dict[str, Any]:
    trees = _trees_of(model)
    check_classes(model)
    if model.n_outputs_ != 1:
        raise NotCoveredError(f"a {type(model).__name__} of several outputs")
    states = [tree.tree_.__getstate__() for tree in trees]
    if any(set(state["nodes"].dtype.names) != set(_OF_NODES) for state in states):
        raise NotCoveredError("trees of an unknown version of scikit-learn")
    nodes = [state["nodes"] for state in states]
    return {
        **out.fields(model, OfTable),
        "classes": out.labels(getattr(model, "classes_", None)),
        "max_features": int(trees[0].max_features_),
        **_write_nodes(nodes, _OF_NODES, "feature", model.n_features_in_, out),
        "values": out.array(np.concatenate([state["values"][:, 0] for state in states])),
    }


def _read_forest(model: Any, node: Node) -> None:
    classes, is_forest = classes_of(model, node), hasattr(model, "n_estimators")
    few: dict[str, Any] = {"n_estimators": 1, "bootstrap": False} if is_forest else {}
    with stand_in(model, classes, random_state=0, **few):
        _replace_trees(model, classes, is_forest, node)


def _replace_trees(model: Any, classes: np.ndarray | None, is_forest: bool, node: Node) -> None:
    node.fields(OfTable, Sizes(model))
    n_features = model.n_features_in_
    first = _trees_of(model)[0]
    first.n_features_in_ = n_features
    first.max_features_ = node.whole("max_features", 1, n_features)
    sizes = _read_sizes(node, n_features)
    columns = _read_columns(node, _OF_NODES, int(sizes.sum()))
    left, right, feature = (columns[name] for name in ("left_child", "right_child", "feature"))
    leaf = left == _LEAF
    proper = np.array_equal(leaf, right == _LEAF) and (left[~leaf] >= 0).all()
    node.check(proper, "left_child", "is no child.")
    _check_trees(node, sizes, (left, right), leaf)
    split = feature[~leaf]
    inside = not split.size or (split.min() >= 0 and split.max() < n_features)
    node.check(inside and (feature[leaf] == _UNUSED).all(), "feature", "is none of the table's.")
    weights = columns["weighted_n_node_samples"]
    node.check((weights > 0).all(), "weighted_n_node_samples", "are not positive.")
    node.check(columns["missing_go_to_left"].max(initial=0) <= 1, "missing_go_to_left", "is none.")
    n_values = 1 if classes is None else len(classes)
    values = node.array("values", (len(leaf), n_values), low=-FAR, high=FAR)
    if classes is not None:
        shares = (values >= 0).all() and np.allclose(values.sum(axis=1), 1.0, atol=1e-6)
        node.check(shares, "values", "are no probabilities.")
    state = first.tree_.__getstate__()
    n_classes = np.array([n_values], dtype=np.intp)
    nodes = np.zeros(len(leaf), dtype=state["nodes"].dtype)
    node.check(set(nodes.dtype.names) == set(_OF_NODES), "nodes", "are of another scikit-learn.")
    for name, column in columns.items():
        nodes[name] = column
    trees = []
    for own_nodes, own_values in zip(_split(nodes, sizes), _split(values, sizes), strict=True):
        tree = type(first.tree_)(n_features, n_classes, 1)
        tree.__setstate__(
            {
                **state,
                "max_depth": _depth(own_nodes),
                "node_count": len(own_nodes),
                "nodes": np.ascontiguousarray(own_nodes),
                "values": np.ascontiguousarray(own_values[:, None]),
            }
        )
        one = copy(first)
        one.tree_ = tree
        trees.append(one)
    if is_forest:
        model.estimators_ = trees
    else:
        node.check(len(trees) == 1, "sizes", "are those of several trees.")
        model.tree_ = trees[0].tree_


def _depth(nodes: np.ndarray) -> int:
    # How far up the way from each node is known, and what stands there: twice as far each time.
    above, depth = np.zeros((2, len(nodes)), dtype=np.int64)
    inner = np.flatnonzero(nodes["left_child"] != _LEAF)
    for side in ("left_child", "right_child"):
        above[nodes[side][inner]], depth[nodes[side][inner]] = inner, 1
    while above.any():
        depth += depth[above]
        above = above[above]
    return int(depth.max())


# -- histogram boosting ---------------------------------------------------------------------------


def _write_boosting(model: Any, out: Writer) -> dict[str, Any]:
    check_classes(model)
    nodes = [predictor.nodes for stage in model._predictors for predictor in stage]
    names = {*_OF_BOOSTING, *_OF_CATEGORIES}
    unknown = any(set(tree.dtype.names) != names for tree in nodes)
    if unknown or getattr(model, "is_categorical_", None) is not None:
        raise NotCoveredError(f"a {type(model).__name__} of columns that are categories")
    return {
        **out.fields(model, OfTable),
        "classes": out.labels(getattr(model, "classes_", None)),
        "baseline": out.array(model._baseline_prediction),
        "train_score": out.array(model.train_score_),
        "validation_score": out.array(model.validation_score_),
        "early_stopping": bool(model.do_early_stopping_),
        **_write_nodes(nodes, _OF_BOOSTING, "feature_idx", model.n_features_in_, out),
    }


def _read_boosting(model: Any, node: Node) -> None:
    # The loss is what numbers become probabilities by, or are kept positive.
    how = {name: x for name, x in model.get_params().items() if name in ("loss", "quantile")}
    few = {"max_iter": 1, "early_stopping": False, "categorical_features": None}
    with stand_in(model, classes_of(model, node), random_state=0, **few, **how):
        _replace_stages(model, node)


def _replace_stages(model: Any, node: Node) -> None:
    node.fields(OfTable, Sizes(model))
    n_features = model.n_features_in_
    shape = np.shape(model._baseline_prediction)
    model._baseline_prediction = node.array("baseline", shape, low=-FAR, high=FAR)
    for name in ("train_score", "validation_score"):
        setattr(model, f"{name}_", node.array(name, (None,), nan=True, infinite=True))
    model.do_early_stopping_ = node.flag("early_stopping")
    sizes = _read_sizes(node, n_features)
    columns = _read_columns(node, _OF_BOOSTING, int(sizes.sum()), infinite=("num_threshold",))
    for name in ("is_leaf", "missing_go_to_left"):
        node.check(columns[name].max(initial=0) <= 1, name, "is neither true nor false.")
    leaf = columns["is_leaf"] == 1
    _check_trees(node, sizes, (columns["left"], columns["right"]), leaf)
    for name in ("feature_idx", "count", "left", "right", "depth"):
        largest = n_features - 1 if name == "feature_idx" else _LARGEST_COUNT
        column = columns[name]
        inside = not column.size or (column.min() >= 0 and column.max() <= largest)
        node.check(inside, name, "is out of range.")
    largest = np.abs(columns["value"]).max(initial=0)
    node.check_range(largest <= FAR, "value", "is too large.")
    ((first, *_), *_) = model._predictors
    nodes = np.zeros(len(leaf), dtype=first.nodes.dtype)
    node.check(
        set(nodes.dtype.names) == {*_OF_BOOSTING, *_OF_CATEGORIES},
        "nodes",
        "are of another scikit-learn.",
    )
    for name, column in columns.items():
        nodes[name] = column
    no_categories = np.zeros((0, 8), dtype=np.uint32)
    trees = [
        type(first)(np.ascontiguousarray(own), no_categories, no_categories)
        for own in _split(nodes, sizes)
    ]
    width = model.n_trees_per_iteration_
    node.check(len(trees) % width == 0, "sizes", "are not those of whole iterations.")
    model._predictors = [trees[start : start + width] for start in range(0, len(trees), width)]


FORMATS = {
    cls.__name__: estimator_format(cls, fitted, _write_forest, _read_forest)
    for fitted, kinds in {
        "tree_": (
            *(DecisionTreeClassifier, DecisionTreeRegressor),
            *(ExtraTreeClassifier, ExtraTreeRegressor),
        ),
        "estimators_": (
            *(ExtraTreesClassifier, ExtraTreesRegressor),
            *(RandomForestClassifier, RandomForestRegressor),
        ),
    }.items()
    for cls in kinds
} | {
    cls.__name__: estimator_format(cls, "_predictors", _write_boosting, _read_boosting)
    for cls in (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
}
