"""scikit-learn's trees, forests and histogram boosting.

scikit-learn has no public way to make a fitted tree from numbers, so scikit-learn itself fits a
stand-in on a handful of rows, and its nodes are replaced. Compiled code then follows the nodes
without checking that they exist: each but the first is the child of exactly one node before it, so
that every path ends, and every feature is one of the table's.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from types import SimpleNamespace
from typing import Annotated, Any

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

from covey import _state as stored
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
_LARGEST_COUNT = 2**31
# The part of histogram boosting for columns of categories, which files do not hold.
_OF_CATEGORIES = ("is_categorical", "bitset_idx")


# -- nodes ----------------------------------------------------------------------------------------


class _Trees:
    """The nodes N of trees T, one tree after another."""

    sizes: Annotated[np.ndarray, stored.Wholes("T", low=1, high=_LARGEST_COUNT, fewest=1)]
    # An array of the width of the table, so that no file is narrower than it claims.
    used: Annotated[np.ndarray, stored.Flags("F")]


class _TreeNodes(_Trees):
    left_child: Annotated[np.ndarray, stored.Wholes("N")]
    right_child: Annotated[np.ndarray, stored.Wholes("N")]
    feature: Annotated[np.ndarray, stored.Wholes("N")]
    threshold: Annotated[np.ndarray, stored.Array("N")]
    impurity: Annotated[np.ndarray, stored.Array("N")]
    n_node_samples: Annotated[np.ndarray, stored.Wholes("N")]
    weighted_n_node_samples: Annotated[np.ndarray, stored.Array("N", positive=True)]
    missing_go_to_left: Annotated[np.ndarray, stored.Array("N", high=1, kind="byte")]


class _BoostingNodes(_Trees):
    # Sums of this many leaves stay finite.
    value: Annotated[np.ndarray, stored.Array("N", -FAR, FAR)]
    count: Annotated[np.ndarray, stored.Wholes("N", low=0, high=_LARGEST_COUNT)]
    feature_idx: Annotated[np.ndarray, stored.Index("N", "F")]
    num_threshold: Annotated[np.ndarray, stored.Array("N", infinite=True)]
    missing_go_to_left: Annotated[np.ndarray, stored.Array("N", high=1, kind="byte")]
    left: Annotated[np.ndarray, stored.Wholes("N", low=0, high=_LARGEST_COUNT)]
    right: Annotated[np.ndarray, stored.Wholes("N", low=0, high=_LARGEST_COUNT)]
    gain: Annotated[np.ndarray, stored.Array("N")]
    depth: Annotated[np.ndarray, stored.Wholes("N", low=0, high=_LARGEST_COUNT)]
    is_leaf: Annotated[np.ndarray, stored.Array("N", high=1, kind="byte")]
    bin_threshold: Annotated[np.ndarray, stored.Array("N", kind="byte")]


def _parts(cls: type) -> list[str]:
    """Return the parts of a node."""
    return [name for name in stored.stored_fields(cls) if name not in ("sizes", "used")]


def _write_nodes(
    trees: list[np.ndarray], cls: type, feature: str, n_features: int, out: Writer
) -> dict[str, Any]:
    nodes, used = np.concatenate(trees), np.zeros(n_features, dtype=bool)
    used[nodes[feature][nodes[feature] >= 0]] = True
    columns = {name: nodes[name] for name in _parts(cls)}
    sizes = [len(tree) for tree in trees]
    return out.fields(SimpleNamespace(sizes=sizes, used=used, **columns), cls)


def _read_nodes(
    model: Any, node: Node, cls: type, children: tuple[str, str], leaf: Callable[[Any], Any]
) -> tuple[Any, np.ndarray]:
    """Return the nodes in a file, and which are leaves; ``model`` gets its number of columns.

    Each node but the first of a tree is the child of one that is before it.
    """
    node.fields(OfTable, Sizes(model))
    found = SimpleNamespace()
    node.fields(cls, Sizes(found, {"F": model.n_features_in_}))
    sizes, is_leaf = found.sizes, leaf(found)
    node.check(sizes.sum() == len(is_leaf), "sizes", "are not those of the nodes.")
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    ends = starts + np.repeat(sizes, sizes)
    place, inner, reached = np.arange(len(starts)), ~is_leaf, [np.cumsum(sizes) - sizes]
    for name in children:
        child = getattr(found, name)[inner]
        inside = (child > 0) & (child < (ends - starts)[inner])
        node.check(inside.all(), "children", "lead out of their tree.")
        reached.append(child + starts[inner])
        node.check((reached[-1] > place[inner]).all(), "children", "lead in a circle.")
    once = np.array_equal(np.sort(np.concatenate(reached)), place)
    node.check(once, "children", "do not make a tree.")
    return found, is_leaf


def _made_nodes(
    found: Any, node: Node, cls: type, dtype: np.dtype, others: tuple[str, ...] = ()
) -> list[np.ndarray]:
    """Return the nodes of each tree in scikit-learn's form."""
    nodes = np.zeros(len(getattr(found, _parts(cls)[0])), dtype=dtype)
    same = set(nodes.dtype.names or ()) == {*_parts(cls), *others}
    node.check(same, "nodes", "are of another scikit-learn.")
    for name in _parts(cls):
        nodes[name] = getattr(found, name)
    return [np.ascontiguousarray(own) for own in np.split(nodes, np.cumsum(found.sizes)[:-1])]


# -- trees and forests ----------------------------------------------------------------------------


def _trees_of(model: Any) -> list[Any]:
    return list(model.estimators_) if hasattr(model, "estimators_") else [model]


def _write_forest(model: Any, out: Writer) -> dict[str, Any]:
    trees = _trees_of(model)
    check_classes(model)
    if model.n_outputs_ != 1:
        raise NotCoveredError(f"a {type(model).__name__} of several outputs")
    states = [tree.tree_.__getstate__() for tree in trees]
    if any(set(state["nodes"].dtype.names) != set(_parts(_TreeNodes)) for state in states):
        raise NotCoveredError("trees of an unknown version of scikit-learn")
    nodes = [state["nodes"] for state in states]
    return {
        **out.fields(model, OfTable),
        "classes": out.labels(getattr(model, "classes_", None)),
        "max_features": int(trees[0].max_features_),
        **_write_nodes(nodes, _TreeNodes, "feature", model.n_features_in_, out),
        "values": out.array(np.concatenate([state["values"][:, 0] for state in states])),
    }


def _read_forest(model: Any, node: Node) -> None:
    classes, is_forest = classes_of(model, node), hasattr(model, "n_estimators")
    few: dict[str, Any] = {"n_estimators": 1, "bootstrap": False} if is_forest else {}
    with stand_in(model, classes, random_state=0, **few):
        _replace_trees(model, classes, is_forest, node)


def _replace_trees(model: Any, classes: np.ndarray | None, is_forest: bool, node: Node) -> None:
    found, leaf = _read_nodes(
        model, node, _TreeNodes, ("left_child", "right_child"), lambda it: it.left_child == _LEAF
    )
    n_features, first = model.n_features_in_, _trees_of(model)[0]
    first.n_features_in_ = n_features
    first.max_features_ = node.whole("max_features", 1, n_features)
    node.check(np.array_equal(leaf, found.right_child == _LEAF), "left_child", "is not a child.")
    split = found.feature[~leaf]
    inside = ((split >= 0) & (split < n_features)).all()
    inside = inside and (found.feature[leaf] == _UNUSED).all()
    node.check(inside, "feature", "is none of the table's.")
    n_values = 1 if classes is None else len(classes)
    values = node.array("values", (len(leaf), n_values), low=-FAR, high=FAR)
    if classes is not None:
        shares = (values >= 0).all() and np.allclose(values.sum(axis=1), 1.0, atol=1e-6)
        node.check(shares, "values", "are not probabilities.")
    state = first.tree_.__getstate__()
    made = _made_nodes(found, node, _TreeNodes, state["nodes"].dtype)
    trees = []
    for nodes, own in zip(made, np.split(values, np.cumsum(found.sizes)[:-1]), strict=True):
        tree = type(first.tree_)(n_features, np.array([n_values], dtype=np.intp), 1)
        state |= {"max_depth": _depth(nodes), "node_count": len(nodes), "nodes": nodes}
        tree.__setstate__({**state, "values": np.ascontiguousarray(own[:, None])})
        one = copy(first)
        one.tree_ = tree
        trees.append(one)
    if is_forest:
        model.estimators_ = trees
    else:
        node.check(len(trees) == 1, "sizes", "are those of several trees.")
        model.tree_ = trees[0].tree_


def _depth(nodes: np.ndarray) -> int:
    # The distance up the way from each node, and the node there: twice as far each time.
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
    names = {*_parts(_BoostingNodes), *_OF_CATEGORIES}
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
        **_write_nodes(nodes, _BoostingNodes, "feature_idx", model.n_features_in_, out),
    }


def _read_boosting(model: Any, node: Node) -> None:
    # By the loss, numbers become probabilities, or are kept positive.
    how = {name: x for name, x in model.get_params().items() if name in ("loss", "quantile")}
    few = {"max_iter": 1, "early_stopping": False, "categorical_features": None}
    with stand_in(model, classes_of(model, node), random_state=0, **few, **how):
        _replace_stages(model, node)


def _replace_stages(model: Any, node: Node) -> None:
    found, _ = _read_nodes(
        model, node, _BoostingNodes, ("left", "right"), lambda it: it.is_leaf == 1
    )
    shape = np.shape(model._baseline_prediction)
    model._baseline_prediction = node.array("baseline", shape, low=-FAR, high=FAR)
    for name in ("train_score", "validation_score"):
        setattr(model, f"{name}_", node.array(name, (None,), nan=True, infinite=True))
    model.do_early_stopping_ = node.flag("early_stopping")
    ((first, *_), *_) = model._predictors
    none = np.zeros((0, 8), dtype=np.uint32)
    made = _made_nodes(found, node, _BoostingNodes, first.nodes.dtype, _OF_CATEGORIES)
    trees = [type(first)(nodes, none, none) for nodes in made]
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
