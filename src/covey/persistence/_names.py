"""Which types a model file may hold without doing harm.

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
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Collection
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaseEnsemble
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import BaseCrossValidator, BaseShuffleSplit
from sklearn.pipeline import FeatureUnion, Pipeline

# -- classes that are filled, by base class -----------------------------------------------------

_BASES = (BaseEstimator, BaseCrossValidator, BaseShuffleSplit)
# Where they may be defined: parts of a package that have nothing to do with files, tests or
# networks.
_HOMES = {
    "covey": "clustering fusers members multiclass rivals selection stacking tables",
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
    "covey._core.algorithm1.members.AccuracyHistory",
    "covey._core.algorithm1.members.LossHistory",
    "covey._core.basis.Basis",
    "covey._core.value_losses.ValueLoss",
    "covey._core.rivals.diverse_maxent.MaxEntMember",
    "covey.fusers._gate.GateFeatures",
    "covey.rivals._diverse_maxent._Layout",
    "covey.members._algorithm1_flock.GrownMember",
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
TREE = "sklearn.tree._tree.Tree"
PREDICTOR = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
# How many corners a node of each has: a box has two, a ball one.
NEIGHBOR_TREES = {
    "sklearn.neighbors._kd_tree.KDTree": 2,
    "sklearn.neighbors._ball_tree.BallTree": 1,
}
# Distances that carry no vectors or matrices of their own, whose lengths nobody checks.
DISTANCES = _names(
    "sklearn.metrics._dist_metrics", "ChebyshevDistance64 EuclideanDistance64 ManhattanDistance64"
)
# What isotonic regression makes of its numbers; no file can name it.
INTERPOLATION = "scipy.interpolate._interpolate.interp1d"
# Compiled losses: they hold at most one number. Before scikit-learn 1.8 their module has a short
# name.
_COMPILED_LOSSES = (
    "CyAbsoluteError CyExponentialLoss CyHalfBinomialLoss CyHalfGammaLoss CyHalfMultinomialLoss "
    "CyHalfPoissonLoss CyHalfSquaredError CyHalfTweedieLoss CyHalfTweedieLossIdentity "
    "CyHuberLoss CyPinballLoss"
)
LOSSES = (
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
KEYS = {"builtins.bool", "builtins.float", "builtins.int", "builtins.str", *_SCALARS}
SPARSE = {
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
    "LossNode": LOSSES,
    "MaskedArrayNode": {"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"},
    "NdArrayNode": {"numpy.ndarray", *_SCALARS},
    "ObjectNode": {PREDICTOR, *NEIGHBOR_TREES, *DISTANCES},
    "RandomGeneratorNode": {"numpy.random._generator.Generator"},
    "RandomStateNode": {"numpy.random.mtrand.RandomState"},
    "SetNode": {"builtins.set"},
    "SliceNode": {"builtins.slice"},
    "SparseMatrixNode": SPARSE,
    "TreeNode": {TREE},
    "TupleNode": {"builtins.tuple"},
    "TypeNode": KEYS,
}


def node_name(node: Any) -> str:
    """The name of the type of an object in a file."""
    return f"{node.get('__module__')}.{node.get('__class__')}"


def full_name(kind: type) -> str:
    """The name by which a file calls a type."""
    return f"{kind.__module__}.{kind.__qualname__}"


# -- types ------------------------------------------------------------------------------------


def strangers(nodes: Any, trusted: Collection[str] = ()) -> list[str]:
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
            and plain_class(node.get("__module__"), node.get("__class__"))
        )
    }


def plain_class(module_name: str, class_name: str) -> Any:
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


def check_nodes(nodes: Any) -> None:
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
            _must_be(node["key_types"], "ListNode", {"builtins.list"})
            for kind in node["key_types"]["content"]:
                _must_be(kind, "TypeNode", KEYS)
        elif loader == "ObjectNode":
            _check_attributes(node)
        elif loader == "MaskedArrayNode":
            for part in ("data", "mask"):
                _must_be(node["content"][part], "NdArrayNode")
        elif loader == "DTypeNode":
            _must_be(node["content"], "NdArrayNode")
        elif loader == "SliceNode":
            for end in node["content"].values():
                must(end is None or isinstance(end, int | str), "a slice")
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
    must(
        isinstance(node, dict)
        and node.get("__loader__") == loader
        and (names is None or node_name(node) in names),
        "a part of an object",
    )


def _check_attributes(node):
    if node_name(node) in NEIGHBOR_TREES or node_name(node) in DISTANCES:
        _must_be(node["content"], "TupleNode", {"builtins.tuple"})
    elif (content := node.get("content")) is not None:
        if content.get("__loader__") == "JsonNode":
            must(content["content"] == "null", "a part of an object")
        elif content.get("__loader__") != "TupleNode" or plain_class(
            node.get("__module__"), node.get("__class__")
        ):
            _must_be(content, "DictNode", {"builtins.dict"})


def must(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(f"{what} leads out of it; the file was tampered with.")
