"""What may be in the objects that a model file has made.

Once the objects are made, and before anybody uses them, each is looked at through ``vars`` alone:
its type must be one of these, and no attribute may hide a method. Compiled parts look up nodes,
rows and features by number without asking whether there are so many, so those of trees, boosting,
nearest neighbours, k-means and support vector machines must stay within themselves.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Collection
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    BaseEnsemble,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from sklearn.tree import BaseDecisionTree, DecisionTreeRegressor
from sklearn.utils import Bunch

from covey.persistence._names import (
    DISTANCES,
    INTERPOLATION,
    KEYS,
    LOSSES,
    NEIGHBOR_TREES,
    PREDICTOR,
    SPARSE,
    TREE,
    full_name,
    must,
    plain_class,
)

_LEAVES = (type(None), bool, int, float, str, bytes, slice, np.ufunc)
_CONTAINERS = (dict, OrderedDict, Bunch, list, tuple, set)


def check_contents(estimator: Any, trusted: Collection[str]) -> None:
    """Refuse what is not on the list after all, and compiled parts that lead out of themselves.

    What is of an older covey gets the parameters that there are now. No method of what was made
    is called, but those of compiled and of NumPy's and SciPy's own types. Types whose names are
    ``trusted`` are not looked into.
    """
    # With each part goes the object whose attribute it is, or is in.
    seen, waiting = set(), [(estimator, None, None)]
    while waiting:
        part, owner, attribute = waiting.pop()
        kind = type(part)
        if kind in _LEAVES or isinstance(part, np.generic | np.dtype):
            continue
        if isinstance(part, type):
            must(full_name(part) in KEYS or full_name(part) in trusted, "a type")
            continue
        if trusted and inspect.isroutine(part):
            # A function does not say by which name it was asked for; nodes did.
            continue
        if (id(part), id(owner)) in seen:
            continue
        seen.add((id(part), id(owner)))
        if kind in _CONTAINERS:
            inner = part.values() if isinstance(part, dict) else part
        elif kind in (np.ndarray, np.ma.MaskedArray):
            inner = np.asarray(part).ravel().tolist() if part.dtype == object else ()
        else:
            name = full_name(kind)
            if name in trusted:
                attributes = _attributes(part)
            else:
                attributes = _checked(part, name, owner, attribute)
            waiting.extend((one, part, its) for its, one in attributes.items())
            continue
        waiting.extend((one, owner, attribute) for one in inner)


def _attributes(part):
    try:
        return object.__getattribute__(part, "__dict__")
    except AttributeError:
        return {}


def _checked(part, name, owner, attribute):
    """The attributes of an object that may be there."""
    if name == TREE:
        # Its owner checks it, and knows how wide rows are.
        must(isinstance(owner, BaseDecisionTree) and attribute == "tree_", "a decision tree")
    elif name == PREDICTOR:
        must(type(owner) in _HIST and attribute == "_predictors", "a boosted tree")
        _check_predictor(vars(part), vars(owner))
        return vars(part)
    elif name in NEIGHBOR_TREES:
        _check_neighbor_tree(part, NEIGHBOR_TREES[name])
    elif type(part) is np.random.RandomState:
        _check_generator(part.get_state(legacy=False))
    elif type(part) is np.random.Generator:
        _check_generator(part.bit_generator.state)
    elif name in SPARSE:
        part.check_format(full_check=True)
    elif name not in DISTANCES and name not in LOSSES and name != INTERPOLATION:
        must(plain_class(*name.rpartition(".")[::2]), f"{name} is not a type of models; it")
        _check_object(part)
        return vars(part)
    return {}


def _inside(numbers, low, high):
    numbers = np.asarray(numbers)
    return bool(np.all((numbers >= low) & (numbers < high)))


def _is_array(part, shape=None):
    return type(part) is np.ndarray and (shape is None or part.shape == shape)


_HIST = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
_BOOSTING = (GradientBoostingClassifier, GradientBoostingRegressor)
_MACHINES = (SVC, NuSVC, SVR, NuSVR, OneClassSVM)
_VOTING_NEIGHBORS = (KNeighborsClassifier, RadiusNeighborsClassifier)


def _check_object(part):
    kind, attributes = type(part), vars(part)
    for name in attributes:
        # Whatever hides a method is called in its place.
        must(
            not name.startswith("__")
            and not inspect.isroutine(inspect.getattr_static(kind, name, None)),
            f"the attribute {name!r} of {kind.__name__}",
        )
    width = attributes.get("n_features_in_")
    must(width is None or (isinstance(width, int | np.integer) and width >= 0), "a width")
    if attributes.get("memory") is not None:
        raise ValueError(
            f"its {kind.__name__} keeps results in a folder (memory=), from which pickles are "
            f"read; if you trust whoever made it, pass trusted=[{full_name(kind)!r}]."
        )
    reads = attributes.get("input", "content")
    if type(reads) is not str or reads != "content":
        raise ValueError(
            f"its {kind.__name__} takes text for the names of files and reads these; if you trust "
            f"whoever made it, pass trusted=[{full_name(kind)!r}]."
        )
    if "tree_" in attributes and issubclass(kind, BaseDecisionTree):
        _check_tree(attributes["tree_"], width)
    if kind in _BOOSTING and "estimators_" in attributes:
        _check_boosting(attributes, kind is GradientBoostingClassifier)
    elif issubclass(kind, BaseEnsemble) and "estimators_" in attributes:
        _check_ensemble(attributes)
    elif kind.__module__.startswith("sklearn.neighbors.") and "_fit_X" in attributes:
        _check_rows(attributes, kind in _VOTING_NEIGHBORS)
    elif kind in _MACHINES and "support_" in attributes:
        _check_machine(attributes, kind in (SVC, NuSVC))
    elif kind in (KMeans, MiniBatchKMeans) and "cluster_centers_" in attributes:
        centers = attributes["cluster_centers_"]
        must(_is_array(centers) and centers.shape[1:] == (width,) and len(centers), "a centre")
    elif issubclass(kind, BaseEstimator) and full_name(kind).startswith("covey."):
        _add_new_parameters(part, attributes)


def _check_tree(tree, n_features):
    must(
        full_name(type(tree)) == TREE
        and n_features is not None
        and 0 < tree.node_count <= tree.capacity
        and tree.n_features == n_features,
        "a decision tree",
    )
    left, right = tree.children_left, tree.children_right
    # Everything but -1 is a child.
    here = np.flatnonzero((left != -1) | (right != -1))
    # Children come after their parents, so that every way down has an end.
    for child in (left, right):
        must(_inside(child[here], here + 1, tree.node_count), "a node of a decision tree")
    must(_inside(tree.feature[here], 0, n_features), "a feature of a decision tree")
    children = np.concatenate([left[here], right[here]])
    must(len(np.unique(children)) == len(children), "a node of a decision tree")
    # A way down is written to an array as long as the tree says that it is deep.
    depth, level = 0, np.array([0])
    while len(level := level[left[level] != -1]):
        level = np.concatenate([left[level], right[level]])
        depth += 1
    must(depth <= tree.max_depth, "the depth of a decision tree")


def _check_predictor(predictor, owner):
    nodes, n_features = predictor["nodes"], owner.get("n_features_in_")
    must(
        _is_array(nodes) and nodes.ndim == 1 and len(nodes) > 0 and nodes.dtype.names is not None,
        "a boosted tree",
    )
    here = np.flatnonzero(nodes["is_leaf"] == 0)
    for side in ("left", "right"):
        must(_inside(nodes[side][here], here + 1, len(nodes)), "a node of a boosted tree")
    must(
        n_features is not None and _inside(nodes["feature_idx"][here], 0, n_features),
        "a feature of a boosted tree",
    )
    # What stands before the trees could make rows of another width.
    if nodes["is_categorical"].any() or owner.get("_preprocessor") is not None:
        raise ValueError(
            "it has boosted trees on categories, which cannot be checked; if you trust whoever "
            f"made it, pass trusted=[{PREDICTOR!r}]."
        )


def _check_ensemble(ensemble):
    """An ensemble gives rows to its trees as they are: these must be as wide as it thinks."""
    trees = ensemble["estimators_"]
    must(type(trees) in (list, np.ndarray), "an ensemble")
    trees = trees.ravel().tolist() if type(trees) is np.ndarray else trees
    columns = ensemble.get("estimators_features_", [None] * len(trees))
    must(type(columns) in (list, np.ndarray), "an ensemble")
    for tree, used in zip(trees, columns, strict=True):
        if isinstance(tree, BaseDecisionTree):
            width = ensemble.get("n_features_in_")
            if used is not None:
                must(_is_array(used) and _inside(used, 0, width), "a column of an ensemble")
                width = len(used)
            must(
                width is not None and vars(tree).get("n_features_in_") == width,
                "a tree of an ensemble",
            )


def _check_boosting(boosting, classifier):
    """Every tree of a stage writes into a column of its own, which must be there."""
    trees, n_columns = boosting["estimators_"], boosting.get("n_trees_per_iteration_")
    _check_ensemble(boosting)
    must(trees.ndim == 2 and trees.shape[1] == n_columns, "a stage of boosting")
    for tree in trees.ravel().tolist():
        must(type(tree) is DecisionTreeRegressor and "tree_" in vars(tree), "a tree of boosting")
        grown = vars(tree)["tree_"]
        must(full_name(type(grown)) == TREE and grown.n_outputs == 1, "a tree of boosting")
        must(grown.max_n_classes == 1, "a tree of boosting")
    loss, start = boosting.get("_loss"), boosting.get("init_")
    must(
        full_name(type(loss)).startswith("sklearn._loss.loss.")
        and "is_multiclass" not in vars(loss)
        and type(loss).is_multiclass == (n_columns > 1),
        "a loss of boosting",
    )
    if type(start) is str and start == "zero":
        return
    if type(start) not in (DummyClassifier, DummyRegressor):
        raise ValueError(
            f"it has boosting that starts from a {type(start).__name__}, which cannot be checked; "
            "if you trust whoever made it, pass "
            f"trusted=['sklearn.ensemble._gb.GradientBoosting{'Classifier' * classifier}"
            f"{'Regressor' * (not classifier)}']."
        )
    start = vars(start)
    must(start.get("n_outputs_") == 1, "the start of boosting")
    if n_columns > 1:
        must(
            start.get("_strategy") == "prior"
            and start.get("n_classes_") == n_columns
            and _is_array(start.get("class_prior_"), (n_columns,)),
            "the start of boosting",
        )


def _check_rows(neighbors, voting):
    """Neighbours are compared column by column, and their classes are looked up by number."""
    rows = neighbors["_fit_X"]
    must(
        (_is_array(rows) or full_name(type(rows)) in SPARSE)
        and rows.ndim == 2
        and rows.shape[1] == neighbors.get("n_features_in_"),
        "a row of neighbours",
    )
    if voting:
        codes, classes = neighbors.get("_y"), neighbors.get("classes_")
        must(_is_array(codes) and len(codes) == rows.shape[0], "a class of neighbours")
        if type(classes) is list:
            must(codes.ndim == 2 and codes.shape[1] == len(classes), "a class of neighbours")
        else:
            must(codes.ndim == 1, "a class of neighbours")
            codes, classes = codes[:, None], [classes]
        for column, own in zip(codes.T, classes, strict=True):
            must(_is_array(own) and _inside(column, 0, len(own)), "a class of neighbours")


def _check_machine(machine, classifier):
    """What libsvm looks up: as many vectors, coefficients and intercepts as it is told."""
    vectors, counts = machine.get("support_vectors_"), machine.get("_n_support")
    coef = machine.get("_dual_coef_")
    must(
        all(_is_array(part) or full_name(type(part)) in SPARSE for part in (vectors, coef))
        and _is_array(counts)
        and counts.ndim == 1
        and _inside(counts, 0, 2**31),
        "a support vector machine",
    )
    n_vectors = len(machine["support_"]) if _is_array(machine["support_"]) else -1
    n_classes = len(counts) if classifier else 2
    n_pairs = n_classes * (n_classes - 1) // 2
    used = counts.sum() if classifier else (counts[0] if len(counts) else -1)
    precomputed = machine.get("kernel") == "precomputed"
    # The parameter, and what newer versions make of it.
    says_probabilities = (
        machine.get("probability") is not False
        if "_effective_probability" not in machine
        else machine["_effective_probability"] is not False
    )
    must(
        # Which of libsvm's machines it is, its class says.
        "_impl" not in machine
        and n_classes > 1
        and used == n_vectors
        and coef.shape == (n_classes - 1, n_vectors)
        and (_is_array(coef) or coef.data.size in (0, (n_classes - 1) * n_vectors))
        and _is_array(machine.get("_intercept_"), (n_pairs,))
        and all(_is_array(machine.get(name)) for name in ("_probA", "_probB"))
        and machine["_probA"].shape == machine["_probB"].shape
        and (machine["_probA"].shape == (n_pairs,) or not says_probabilities)
        and machine["_probA"].shape in ((0,), (n_pairs,))
        and (precomputed or vectors.shape == (n_vectors, machine.get("n_features_in_")))
        and type(machine.get("_sparse")) is bool
        and machine["_sparse"] == (not _is_array(vectors)) == (not _is_array(coef)),
        "a support vector machine",
    )
    if precomputed:
        fitted = machine.get("shape_fit_")
        must(
            type(fitted) is tuple
            and len(fitted) > 0
            and _inside(machine["support_"], 0, fitted[0]),
            "a support vector machine",
        )


def _check_neighbor_tree(tree, n_corners):
    data, order, nodes, bounds = tree.get_arrays()
    state = tree.__getstate__()
    n_levels, n_nodes = state[5:7]
    weights = state[-1]
    n_rows, n_features = data.shape
    # Node i has the children 2 i + 1 and 2 i + 2, unless it is a leaf.
    last = 2 * np.arange(len(nodes)) + 2
    must(
        0 < n_levels < 63
        and n_nodes == 2**n_levels - 1 == len(nodes)
        and bounds.shape == (n_corners, n_nodes, n_features)
        and len(order) == n_rows
        and _inside(order, 0, n_rows)
        and _inside(nodes["idx_start"], 0, n_rows)
        and _inside(nodes["idx_end"], nodes["idx_start"], n_rows + 1)
        and bool(nodes["is_leaf"][last >= n_nodes].all())
        and (weights is None or len(weights) == n_rows),
        "a tree of neighbours",
    )


def _check_generator(state):
    """Only generators whose states are checked here or are mere numbers to compute with."""
    must(state["bit_generator"] in ("MT19937", "PCG64", "PCG64DXSM"), "a random generator")
    if state["bit_generator"] == "MT19937":
        must(0 <= state["state"]["pos"] <= 624, "a random state")


def _add_new_parameters(estimator, attributes):
    """Give an estimator of an older covey the parameters that there are now, as they default."""
    for name, parameter in inspect.signature(type(estimator)).parameters.items():
        if name not in attributes and parameter.default is not parameter.empty:
            setattr(estimator, name, parameter.default)
