"""What a model file may hold without doing harm: which types, and what in them.

Everything that a file has made is on a list here, whatever skops itself would take:

- estimators of covey and scikit-learn, and scikit-learn's splitters: by their base class, and
  only from packages that are named;
- by their full names the classes of which estimators keep objects (losses, links, kernels, what
  a search found) and the few encoders of skrub that a `TablePreparation` keeps;
- plain containers, numbers, text, arrays, and types of numbers.

All of them are made by ``object.__new__`` and filled by setting attributes. No constructor runs.
Nothing that can be called is admitted but types of numbers, NumPy's functions of single numbers,
and the losses and kernels above, whose calls compute. A class that answers to more than its
attributes (a ``__getattr__``, a ``__len__``) is admitted by name or not at all.

Once the objects are made, and before anybody uses them, each is looked at through ``vars`` alone:
its type must be one of these, and no attribute may hide a method. Compiled parts look up nodes,
rows and features by number without asking whether there are so many, so those of trees, boosting,
nearest neighbours, k-means and support vector machines must stay within themselves.
"""

import importlib
import inspect
import sys
from collections import OrderedDict

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    BaseEnsemble,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import BaseCrossValidator, BaseShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from sklearn.tree import BaseDecisionTree, DecisionTreeRegressor
from sklearn.utils import Bunch

# -- classes that are filled, by base class -----------------------------------------------------

_BASES = (BaseEstimator, BaseCrossValidator, BaseShuffleSplit)
# Where they may be defined: parts of a package that have nothing to do with files, tests or
# networks.
_HOMES = {
    "covey": "clustering fusers members multiclass selection stacking tables",
    "sklearn": (
        "calibration cluster compose covariance cross_decomposition decomposition "
        "discriminant_analysis dummy ensemble feature_extraction feature_selection frozen "
        "gaussian_process impute isotonic kernel_approximation kernel_ridge linear_model manifold "
        "mixture model_selection multiclass multioutput naive_bayes neighbors neural_network "
        "pipeline preprocessing random_projection semi_supervised svm tree"
    ),
}
_HOMES = {package: parts.split() for package, parts in _HOMES.items()}
# Methods that others than the estimator's user call without being asked to.
_MAGIC = (
    *("__array__", "__bool__", "__call__", "__contains__", "__del__", "__delattr__"),
    *("__enter__", "__getattr__", "__getitem__", "__index__", "__iter__", "__len__"),
    *("__next__", "__reduce__", "__set_name__", "__setattr__", "__setstate__"),
)
# Those that have some, and do nothing by it but look into their own members. Isotonic regression
# makes an interpolation of its numbers when it is filled.
_WITH_MAGIC = (
    BaseEnsemble,
    ColumnTransformer,
    FeatureUnion,
    FrozenEstimator,
    IsotonicRegression,
    Pipeline,
)

# -- names ----------------------------------------------------------------------------------------


def _names(module, names):
    return {f"{module}.{name}" for name in names.split()}


# Classes without a base class of their own that models keep objects of.
_STATE = {
    "covey._core.ascent.History",
    "covey._core.basis.Basis",
    "covey._core.diverse_maxent.MaxEntMember",
    "covey.fusers._gate.GateFeatures",
    "covey.members._diverse_maxent._Layout",
    "covey.members._joint_subsets._Grown",
    *_names(
        "sklearn._loss.link",
        "HalfLogitLink IdentityLink Interval LogLink LogitLink MultinomialLogit",
    ),
    *_names(
        "sklearn._loss.loss",
        "AbsoluteError ExponentialLoss HalfBinomialLoss HalfGammaLoss HalfMultinomialLoss "
        "HalfPoissonLoss HalfSquaredError HalfTweedieLoss HalfTweedieLossIdentity HuberLoss "
        "PinballLoss",
    ),
    "sklearn.calibration._CalibratedClassifier",
    *_names(
        "sklearn.gaussian_process.kernels",
        "CompoundKernel ConstantKernel DotProduct ExpSineSquared Exponentiation Matern "
        "PairwiseKernel Product RBF RationalQuadratic Sum WhiteKernel",
    ),
    "sklearn.metrics._scorer._PassthroughScorer",
    # A scorer of scikit-learn 1.7 keeps its requests for metadata: names, and nothing to call.
    *_names("sklearn.utils._metadata_requests", "MetadataRequest MethodMetadataRequest"),
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    # What a TablePreparation keeps of skrub, and nothing else of skrub.
    "skrub._clean_categories.CleanCategories",
    "skrub._clean_null_strings.CleanNullStrings",
    "skrub._datetime_encoder.DatetimeEncoder",
    "skrub._drop_uninformative.DropUninformative",
    "skrub._string_encoder.StringEncoder",
    "skrub._to_datetime.ToDatetime",
    "skrub._to_str.ToStr",
}
_TREE = "sklearn.tree._tree.Tree"
_PREDICTOR = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
# How many corners a node of each has: a box has two, a ball one.
_NEIGHBOR_TREES = {
    "sklearn.neighbors._kd_tree.KDTree": 2,
    "sklearn.neighbors._ball_tree.BallTree": 1,
}
# Distances that carry no vectors or matrices of their own, whose lengths nobody checks.
_DISTANCES = _names(
    "sklearn.metrics._dist_metrics", "ChebyshevDistance64 EuclideanDistance64 ManhattanDistance64"
)
# What isotonic regression makes of its numbers; no file can name it.
_INTERPOLATION = "scipy.interpolate._interpolate.interp1d"
# Compiled losses: they hold at most one number. Before scikit-learn 1.8 their module has a short
# name.
_COMPILED_LOSSES = (
    "CyAbsoluteError CyExponentialLoss CyHalfBinomialLoss CyHalfGammaLoss CyHalfMultinomialLoss "
    "CyHalfPoissonLoss CyHalfSquaredError CyHalfTweedieLoss CyHalfTweedieLossIdentity "
    "CyHuberLoss CyPinballLoss"
)
_LOSSES = (
    _names("sklearn._loss._loss", _COMPILED_LOSSES)
    | _names("_loss", _COMPILED_LOSSES)
    | _names(
        "sklearn.linear_model._sgd_fast",
        "EpsilonInsensitive Hinge Huber Log ModifiedHuber SquaredEpsilonInsensitive SquaredHinge "
        "SquaredLoss",
    )
)
_SCALARS = _names(
    "numpy",
    "bool bool_ bytes_ datetime64 float16 float32 float64 int16 int32 int64 int8 str_ "
    "timedelta64 uint16 uint32 uint64 uint8",
)
_KEYS = {"builtins.bool", "builtins.float", "builtins.int", "builtins.str", *_SCALARS}
_SPARSE = {
    f"scipy.sparse._{form}.{form}_{kind}"
    for form in ("bsr", "csc", "csr")
    for kind in ("array", "matrix")
}
_UFUNCS = (
    "absolute arcsinh arctan cbrt exp exp2 expm1 log log10 log1p log2 negative reciprocal sign "
    "sqrt square tanh"
)
_UMATH = ("_multiarray_umath", "umath")
# Which names may stand in which kind of node: {what skops calls the kind: names}.
_ADMITTED = {
    "BytesNode": {"builtins.bytes"},
    "DTypeNode": {"numpy.dtype"},
    "DictNode": {"builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"},
    "FunctionNode": {
        name
        # Before NumPy 2 its core has no underscore.
        for module in ("numpy", *(f"numpy.{c}.{m}" for c in ("_core", "core") for m in _UMATH))
        for name in _names(module, _UFUNCS)
    },
    "JsonNode": {"builtins.str"},
    "ListNode": {"builtins.list"},
    "LossNode": _LOSSES,
    "MaskedArrayNode": {"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"},
    "NdArrayNode": {"numpy.ndarray", *_SCALARS},
    "ObjectNode": {_PREDICTOR, *_NEIGHBOR_TREES, *_DISTANCES},
    "RandomGeneratorNode": {"numpy.random._generator.Generator"},
    "RandomStateNode": {"numpy.random.mtrand.RandomState"},
    "SetNode": {"builtins.set"},
    "SliceNode": {"builtins.slice"},
    "SparseMatrixNode": _SPARSE,
    "TreeNode": {_TREE},
    "TupleNode": {"builtins.tuple"},
    "TypeNode": _KEYS,
}


def node_name(node):
    """The name of the type of an object in a file."""
    return f"{node.get('__module__')}.{node.get('__class__')}"


def full_name(kind):
    """The name by which a file calls a type."""
    return f"{kind.__module__}.{kind.__qualname__}"


# -- types ------------------------------------------------------------------------------------


def strangers(nodes, trusted=()):
    """The names in a file that are not admitted where they stand.

    skops trusts a name wherever it stands. A name is therefore admitted only if *every* node
    that bears it is of the harmless kind: a class of covey as an object to be filled, never as
    something to be called.
    """
    return {
        node_name(node)
        for node in nodes
        if node_name(node) not in trusted
        and node_name(node) not in _ADMITTED.get(node["__loader__"], ())
        and not (
            node["__loader__"] == "ObjectNode"
            and _plain_class(node.get("__module__"), node.get("__class__"))
        )
    }


def _plain_class(module_name, class_name):
    """Whether a name is that of a class on the list whose making runs nothing of the file's.

    The class must say itself that it is defined in that module: what a module merely imports is
    not found, and a name such as ``covey.os.system`` leads nowhere.
    """
    if not isinstance(module_name, str) or not isinstance(class_name, str):
        return False
    parts = module_name.split(".")
    listed = f"{module_name}.{class_name}" in _STATE
    if not listed and not (
        len(parts) > 1
        and parts[1] in _HOMES.get(parts[0], ())
        and all(part.isidentifier() and not part.startswith("test") for part in parts)
    ):
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
        and (
            listed
            or issubclass(found, _WITH_MAGIC)
            or (issubclass(found, _BASES) and not _magic(found))
        )
    )


def _magic(kind):
    """Whether a class, or one that it inherits from, does more than others when handled."""
    return any(
        name in vars(base)
        for base in kind.__mro__
        if base not in (object, BaseEstimator)
        for name in _MAGIC
    )


# -- how nodes hang together --------------------------------------------------------------------


def check_nodes(nodes):
    """Refuse nodes whose parts are not of the kind that skops writes there.

    skops calls what it finds for the keys of a dict, and asks what it finds for the attributes
    of an object or for the values of a masked array to behave like a dict or an array. They must
    be just that.
    """
    first = {}
    files = {}
    for node in nodes:
        loader = node["__loader__"]
        if loader == "DictNode":
            _check_keys(node)
        elif loader == "ObjectNode":
            _check_attributes(node)
        elif loader == "MaskedArrayNode":
            for part in ("data", "mask"):
                _must_be(node["content"][part], "NdArrayNode")
        elif loader == "DTypeNode":
            _must_be(node["content"], "NdArrayNode")
        elif loader == "SliceNode":
            for end in node["content"].values():
                _must(end is None or isinstance(end, int | str), "a slice")
        # One number stands for one object, and skops goes by the first that bears it.
        number = node.get("__id__")
        if number and first.setdefault(number, signature := _signature(node)) != signature:
            raise ValueError("two objects have one number; the file was tampered with.")
        # An array that is read many times over would take more memory than the file says.
        file = node.get("file")
        if file is not None and (files.setdefault(file, number) != number or not number):
            raise ValueError("two objects are read from one entry; the file was tampered with.")


def _signature(node):
    """What must be the same wherever an object is described again."""
    content = node.get("content")
    if isinstance(content, dict) and "__loader__" not in content:
        inner = sorted((key, _kind(part)) for key, part in content.items())
    elif isinstance(content, list):
        inner = [_kind(part) for part in content]
    else:
        inner = _kind(content)
    return _kind(node), node.get("file"), inner


def _kind(node):
    if isinstance(node, dict):
        return f"{node.get('__loader__')} {node_name(node)}"
    return repr(node)


def _must_be(node, loader, names=None):
    _must(
        isinstance(node, dict)
        and node.get("__loader__") == loader
        and (names is None or node_name(node) in names),
        "a part of an object",
    )


def _check_keys(node):
    kinds = node["key_types"]
    _must_be(kinds, "ListNode", {"builtins.list"})
    for kind in kinds["content"]:
        _must_be(kind, "TypeNode", _KEYS)


def _check_attributes(node):
    if node_name(node) in _NEIGHBOR_TREES or node_name(node) in _DISTANCES:
        _must_be(node["content"], "TupleNode", {"builtins.tuple"})
    elif (content := node.get("content")) is not None:
        if content.get("__loader__") == "JsonNode":
            _must(content["content"] == "null", "a part of an object")
        elif content.get("__loader__") != "TupleNode" or _plain_class(
            node.get("__module__"), node.get("__class__")
        ):
            _must_be(content, "DictNode", {"builtins.dict"})


# -- contents ---------------------------------------------------------------------------------

_LEAVES = (
    *(type(None), bool, int, float, str, bytes, slice),
    np.ufunc,
)
_CONTAINERS = (dict, OrderedDict, Bunch, list, tuple, set)


def check_contents(estimator, trusted):
    """Refuse what is not on the list after all, and compiled parts that lead out of themselves.

    What is of an older covey gets the parameters that there are now. No method of what was made
    is called, but those of compiled and of NumPy's and SciPy's own types.

    Parameters
    ----------
    estimator : estimator
        As it was made from a file.
    trusted : set of str
        Names of types that are not looked into.
    """
    # With each part goes the object whose attribute it is, or is in.
    seen, waiting = set(), [(estimator, None, None)]
    while waiting:
        part, owner, attribute = waiting.pop()
        kind = type(part)
        if kind in _LEAVES or isinstance(part, np.generic | np.dtype):
            continue
        if isinstance(part, type):
            _must(full_name(part) in _KEYS or full_name(part) in trusted, "a type")
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
    if name == _TREE:
        # Its owner checks it, and knows how wide rows are.
        _must(isinstance(owner, BaseDecisionTree) and attribute == "tree_", "a decision tree")
    elif name == _PREDICTOR:
        _must(type(owner) in _HIST and attribute == "_predictors", "a boosted tree")
        _check_predictor(vars(part), vars(owner))
        return vars(part)
    elif name in _NEIGHBOR_TREES:
        _check_neighbor_tree(part, _NEIGHBOR_TREES[name])
    elif type(part) is np.random.RandomState:
        _check_generator(part.get_state(legacy=False))
    elif type(part) is np.random.Generator:
        _check_generator(part.bit_generator.state)
    elif name in _SPARSE:
        part.check_format(full_check=True)
    elif name not in _DISTANCES and name not in _LOSSES and name != _INTERPOLATION:
        _must(_plain_class(*name.rpartition(".")[::2]), f"{name} is not a type of models; it")
        _check_object(part)
        return vars(part)
    return {}


def _must(condition, what):
    if not condition:
        raise ValueError(f"{what} leads out of it; the file was tampered with.")


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
        _must(
            not name.startswith("__")
            and not inspect.isroutine(inspect.getattr_static(kind, name, None)),
            f"the attribute {name!r} of {kind.__name__}",
        )
    width = attributes.get("n_features_in_")
    _must(width is None or (isinstance(width, int | np.integer) and width >= 0), "a width")
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
        _must(_is_array(centers) and centers.shape[1:] == (width,) and len(centers), "a centre")
    elif issubclass(kind, BaseEstimator) and full_name(kind).startswith("covey."):
        _add_new_parameters(part, attributes)


def _check_tree(tree, n_features):
    _must(
        full_name(type(tree)) == _TREE
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
        _must(_inside(child[here], here + 1, tree.node_count), "a node of a decision tree")
    _must(_inside(tree.feature[here], 0, n_features), "a feature of a decision tree")
    children = np.concatenate([left[here], right[here]])
    _must(len(np.unique(children)) == len(children), "a node of a decision tree")
    # A way down is written to an array as long as the tree says that it is deep.
    depth, level = 0, np.array([0])
    while len(level := level[left[level] != -1]):
        level = np.concatenate([left[level], right[level]])
        depth += 1
    _must(depth <= tree.max_depth, "the depth of a decision tree")


def _check_predictor(predictor, owner):
    nodes, n_features = predictor["nodes"], owner.get("n_features_in_")
    _must(
        _is_array(nodes) and nodes.ndim == 1 and len(nodes) > 0 and nodes.dtype.names is not None,
        "a boosted tree",
    )
    here = np.flatnonzero(nodes["is_leaf"] == 0)
    for side in ("left", "right"):
        _must(_inside(nodes[side][here], here + 1, len(nodes)), "a node of a boosted tree")
    _must(
        n_features is not None and _inside(nodes["feature_idx"][here], 0, n_features),
        "a feature of a boosted tree",
    )
    # What stands before the trees could make rows of another width.
    if nodes["is_categorical"].any() or owner.get("_preprocessor") is not None:
        raise ValueError(
            "it has boosted trees on categories, which cannot be checked; if you trust whoever "
            f"made it, pass trusted=[{_PREDICTOR!r}]."
        )


def _check_ensemble(ensemble):
    """An ensemble gives rows to its trees as they are: these must be as wide as it thinks."""
    trees = ensemble["estimators_"]
    _must(type(trees) in (list, np.ndarray), "an ensemble")
    trees = trees.ravel().tolist() if type(trees) is np.ndarray else trees
    columns = ensemble.get("estimators_features_", [None] * len(trees))
    _must(type(columns) in (list, np.ndarray), "an ensemble")
    for tree, used in zip(trees, columns, strict=True):
        if isinstance(tree, BaseDecisionTree):
            width = ensemble.get("n_features_in_")
            if used is not None:
                _must(_is_array(used) and _inside(used, 0, width), "a column of an ensemble")
                width = len(used)
            _must(
                width is not None and vars(tree).get("n_features_in_") == width,
                "a tree of an ensemble",
            )


def _check_boosting(boosting, classifier):
    """Every tree of a stage writes into a column of its own, which must be there."""
    trees, n_columns = boosting["estimators_"], boosting.get("n_trees_per_iteration_")
    _check_ensemble(boosting)
    _must(trees.ndim == 2 and trees.shape[1] == n_columns, "a stage of boosting")
    for tree in trees.ravel().tolist():
        _must(type(tree) is DecisionTreeRegressor and "tree_" in vars(tree), "a tree of boosting")
        grown = vars(tree)["tree_"]
        _must(full_name(type(grown)) == _TREE and grown.n_outputs == 1, "a tree of boosting")
        _must(grown.max_n_classes == 1, "a tree of boosting")
    loss, start = boosting.get("_loss"), boosting.get("init_")
    _must(
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
    _must(start.get("n_outputs_") == 1, "the start of boosting")
    if n_columns > 1:
        _must(
            start.get("_strategy") == "prior"
            and start.get("n_classes_") == n_columns
            and _is_array(start.get("class_prior_"), (n_columns,)),
            "the start of boosting",
        )


def _check_rows(neighbors, voting):
    """Neighbours are compared column by column, and their classes are looked up by number."""
    rows = neighbors["_fit_X"]
    _must(
        (_is_array(rows) or full_name(type(rows)) in _SPARSE)
        and rows.ndim == 2
        and rows.shape[1] == neighbors.get("n_features_in_"),
        "a row of neighbours",
    )
    if voting:
        codes, classes = neighbors.get("_y"), neighbors.get("classes_")
        _must(_is_array(codes) and len(codes) == rows.shape[0], "a class of neighbours")
        if type(classes) is list:
            _must(codes.ndim == 2 and codes.shape[1] == len(classes), "a class of neighbours")
        else:
            _must(codes.ndim == 1, "a class of neighbours")
            codes, classes = codes[:, None], [classes]
        for column, own in zip(codes.T, classes, strict=True):
            _must(_is_array(own) and _inside(column, 0, len(own)), "a class of neighbours")


def _check_machine(machine, classifier):
    """What libsvm looks up: as many vectors, coefficients and intercepts as it is told."""
    vectors, counts = machine.get("support_vectors_"), machine.get("_n_support")
    coef = machine.get("_dual_coef_")
    _must(
        all(_is_array(part) or full_name(type(part)) in _SPARSE for part in (vectors, coef))
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
    _must(
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
        _must(
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
    _must(
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
    _must(state["bit_generator"] in ("MT19937", "PCG64", "PCG64DXSM"), "a random generator")
    if state["bit_generator"] == "MT19937":
        _must(0 <= state["state"]["pos"] <= 624, "a random state")


def _add_new_parameters(estimator, attributes):
    """Give an estimator of an older covey the parameters that there are now, as they default."""
    for name, default in _defaults(type(estimator)).items():
        if name not in attributes:
            setattr(estimator, name, default)


def _defaults(kind):
    return {
        name: parameter.default
        for name, parameter in inspect.signature(kind).parameters.items()
        if parameter.default is not parameter.empty
    }
