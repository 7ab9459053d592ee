"""What a model file may hold without doing harm: which types, and what in them.

A file names types by module and class. Safe are

- classes of covey, scikit-learn and skrub that are *plain*: really defined where the file says,
  made by ``object.__new__`` and filled by setting attributes. No constructor runs, nothing runs
  when they go, no function is admitted (but five of skrub's that only look at a column), and a
  name such as ``covey.os.system`` leads nowhere, since ``covey.os`` is no module;
- scikit-learn's compiled trees. They look up nodes, rows and features by number without asking
  whether there are so many, so each is checked, once it is made and before anybody uses it, to
  stay within itself.
"""

import importlib
import inspect
import sys

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.ensemble import BaseEnsemble
from sklearn.tree import BaseDecisionTree

_PACKAGES = ("covey", "sklearn", "skrub")
_TREE = "sklearn.tree._tree.Tree"
_PREDICTOR = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
_NEIGHBOR_TREES = ("sklearn.neighbors._kd_tree.KDTree", "sklearn.neighbors._ball_tree.BallTree")
# Distances that carry no vectors or matrices of their own, whose lengths nobody checks.
_DISTANCES = tuple(
    f"sklearn.metrics._dist_metrics.{name}Distance64"
    for name in ("Chebyshev", "Euclidean", "Manhattan")
)
# Names that are admitted only in the one way that skops writes them.
_ADMITTED = {
    "TreeNode": {_TREE},
    "ObjectNode": {_PREDICTOR, *_NEIGHBOR_TREES, *_DISTANCES},
    "DictNode": {"sklearn.utils._bunch.Bunch"},
    # Both are read by NumPy's and SciPy's own readers, without pickles.
    "DTypeNode": {"numpy.dtype"},
    "SparseMatrixNode": {
        f"scipy.sparse._{form}.{form}_{kind}"
        for form in ("bsr", "csc", "csr")
        for kind in ("array", "matrix")
    },
    # What skrub's TableVectorizer asks of each column. They look, and change nothing.
    "FunctionNode": {
        "skrub._dataframe._common.is_any_date",
        "skrub._dataframe._common.is_categorical",
        "skrub._dataframe._common.is_numeric",
        "skrub._table_vectorizer._created_by_predicate",
        "skrub.selectors._selectors._cardinality_below",
    },
}


def node_name(node):
    """The name of the type of an object in a file."""
    return f"{node.get('__module__')}.{node.get('__class__')}"


def full_name(kind):
    """The name by which a file calls a type."""
    return f"{kind.__module__}.{kind.__qualname__}"


# -- types ------------------------------------------------------------------------------------


def known_types(nodes):
    """The names that may be trusted in this file.

    skops trusts a name wherever it stands. A name is therefore known only if *every* node that
    bears it is of the harmless kind: a class of covey as an object to be filled, never as
    something to be called.
    """
    known, refused = set(), set()
    for node in nodes:
        name, loader = node_name(node), node["__loader__"]
        harmless = name in _ADMITTED.get(loader, ()) or (
            loader == "ObjectNode" and _plain_class(node.get("__module__"), node.get("__class__"))
        )
        (known if harmless else refused).add(name)
    return known - refused


def _plain_class(module_name, class_name):
    """Whether a name is that of a class of ours whose making runs nothing that a file controls.

    The module must belong to covey, scikit-learn or skrub, and the class must say itself that
    it is defined there: what a module merely imports is not found. It must be made by
    ``object.__new__`` and be filled as objects are, or as scikit-learn fills its estimators: by
    setting attributes. And it must go in silence, without a ``__del__``.
    """
    if not isinstance(module_name, str) or not isinstance(class_name, str):
        return False
    parts = module_name.split(".")
    # Importing a module of these packages defines things and does nothing; that of a script or
    # of tests may.
    scripts = any(part == "__main__" or part.startswith(("test", "conftest")) for part in parts)
    if parts[0] not in _PACKAGES or scripts or not all(part.isidentifier() for part in parts):
        return False
    try:
        module = sys.modules.get(module_name) or importlib.import_module(module_name)
    except ImportError:
        return False
    found = vars(module).get(class_name)
    return (
        isinstance(found, type)
        and found.__module__ == module_name
        and found.__qualname__ == class_name
        and found.__new__ is object.__new__
        and getattr(found, "__setstate__", None) in (None, BaseEstimator.__setstate__)
        and not hasattr(found, "__del__")
    )


# -- contents ---------------------------------------------------------------------------------


def check_contents(estimator, trusted):
    """Refuse compiled parts whose numbers lead out of them; complete what is of an older covey.

    Parameters
    ----------
    estimator : estimator
        As it was made from a file.
    trusted : set of str
        Names of types that are not looked into.
    """
    # With each part go the features of the estimator around it: those are what it checks rows by.
    seen, waiting = set(), [(estimator, None)]
    while waiting:
        part, n_features = waiting.pop()
        if (id(part), n_features) in seen:
            continue
        seen.add((id(part), n_features))
        if isinstance(part, dict):
            inner = part.values()
        elif isinstance(part, list | tuple | set):
            inner = part
        elif isinstance(part, np.ndarray):
            inner = part.ravel() if part.dtype == object else ()
        else:
            name = full_name(type(part))
            if name not in trusted:
                _check_part(part, name, n_features)
            attributes = getattr(part, "__dict__", {})
            n_features = attributes.get("n_features_in_", n_features)
            inner = attributes.values()
        waiting.extend((one, n_features) for one in inner)


def _check_part(part, name, n_features):
    if name == _TREE:
        _check_tree(part, n_features)
    elif name == _PREDICTOR:
        _check_predictor(part, n_features)
    elif name in _NEIGHBOR_TREES:
        _check_neighbor_tree(part)
    elif isinstance(part, BaseEnsemble) and hasattr(part, "estimators_"):
        _check_ensemble(part)
    elif isinstance(part, np.random.RandomState):
        _check_generator(part.get_state(legacy=False))
    elif isinstance(part, np.random.Generator):
        _check_generator(part.bit_generator.state)
    elif sparse.issparse(part):
        part.check_format(full_check=True)
    elif isinstance(part, BaseEstimator) and name.startswith("covey."):
        _add_new_parameters(part)


def _must(condition, what):
    if not condition:
        raise ValueError(f"{what} leads out of it; the file was tampered with.")


def _inside(numbers, low, high):
    numbers = np.asarray(numbers)
    return bool(np.all((numbers >= low) & (numbers < high)))


def _check_tree(tree, n_features):
    _must(tree.node_count <= tree.capacity and tree.n_features == n_features, "a decision tree")
    left, right = tree.children_left, tree.children_right
    here = np.flatnonzero(left >= 0)
    # Children come after their parents, so that every way down has an end.
    for child in (left, right):
        _must(_inside(child[here], here + 1, tree.node_count), "a node of a decision tree")
    _must(_inside(tree.feature[here], 0, n_features), "a feature of a decision tree")


def _check_predictor(predictor, n_features):
    nodes = predictor.nodes
    here = np.flatnonzero(nodes["is_leaf"] == 0)
    for side in ("left", "right"):
        _must(_inside(nodes[side][here], here + 1, len(nodes)), "a node of a boosted tree")
    _must(
        n_features is not None and _inside(nodes["feature_idx"][here], 0, n_features),
        "a feature of a boosted tree",
    )
    if nodes["is_categorical"].any():
        raise ValueError(
            "it has boosted trees on categories, which cannot be checked; if you trust whoever "
            f"made it, pass trusted=[{_PREDICTOR!r}]."
        )


def _check_ensemble(ensemble):
    """An ensemble gives rows to its trees as they are: these must be as wide as it thinks."""
    trees = ensemble.estimators_
    trees = trees.ravel() if isinstance(trees, np.ndarray) else trees
    columns = getattr(ensemble, "estimators_features_", [None] * len(trees))
    for tree, used in zip(trees, columns, strict=True):
        if isinstance(tree, BaseDecisionTree):
            width = ensemble.n_features_in_
            if used is not None:
                _must(_inside(used, 0, width), "a column of an ensemble")
                width = len(used)
            _must(tree.n_features_in_ == width, "a tree of an ensemble")


def _check_neighbor_tree(tree):
    data, order, nodes, bounds = tree.get_arrays()
    n_levels, n_nodes = tree.__getstate__()[5:7]
    n_rows, n_features = data.shape
    # Node i has the children 2 i + 1 and 2 i + 2, unless it is a leaf.
    last = 2 * np.arange(len(nodes)) + 2
    _must(
        0 < n_levels < 63
        and n_nodes == 2**n_levels - 1 == len(nodes)
        and bounds.shape[1:] == (n_nodes, n_features)
        and len(order) == n_rows
        and _inside(order, 0, n_rows)
        and _inside(nodes["idx_start"], 0, n_rows)
        and _inside(nodes["idx_end"], nodes["idx_start"], n_rows + 1)
        and bool(nodes["is_leaf"][last >= n_nodes].all()),
        "a tree of neighbours",
    )


def _check_generator(state):
    if state["bit_generator"] == "MT19937":
        _must(0 <= state["state"]["pos"] <= 624, "a random state")


def _add_new_parameters(estimator):
    """Give an estimator of an older covey the parameters that there are now, as they default."""
    for name, default in _defaults(type(estimator)).items():
        if not hasattr(estimator, name):
            setattr(estimator, name, default)


def _defaults(kind):
    return {
        name: parameter.default
        for name, parameter in inspect.signature(kind).parameters.items()
        if parameter.default is not parameter.empty
    }
