"""Models as ONNX graphs, for programs that have neither covey nor Python.

`to_onnx` exports a model; importing this module also teaches skl2onnx about covey, so that its
own ``to_onnx`` and ``convert_sklearn`` take pipelines with a flock inside.

A graph has one input ``X``, rows of numbers in the order of the columns that the model was fitted
on (any number of rows), and two outputs: ``label`` and ``probabilities``.
"""

import json
from pathlib import Path

import numpy as np
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import covey
from covey._core.basis import Basis
from covey._validation import check_choice
from covey.fusers import Product
from covey.members import (
    FlockClassifier,
    FusionClassifier,
    LinearMember,
    SubsetEnsembleClassifier,
)
from covey.persistence import write_whole

try:
    import onnx
    import skl2onnx
    from skl2onnx.common.data_types import (
        DoubleTensorType,
        FloatTensorType,
        Int64TensorType,
        StringTensorType,
    )
    from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes

    from covey.onnx._graph import Graph, Said, check_fuser, fused_by, labels_of
except ImportError as error:
    raise ImportError(
        f'ONNX graphs need {error.name}; install what is missing with: pip install "covey[onnx]".'
    ) from None

# What `to_onnx` asks for: runtimes since 2022 read it.
_OPSET = 17


def to_onnx(estimator, path=None, *, dtype="float32"):
    """A fitted classifier as an ONNX graph.

    Parameters
    ----------
    estimator : classifier
        A `FlockClassifier`, `SubsetEnsembleClassifier`, `FusionClassifier` or `LinearMember`, or a
        Pipeline of scikit-learn that ends in one. Members may be fused by a product (which becomes
        one matrix product), a mean, a median, a majority or a `Gate`; so may models that skl2onnx
        knows, in a `FusionClassifier`.
    path : str or path, optional
        Where to write the graph too.
    dtype : {"float32", "float64"}, default="float32"
        What X holds and what is computed in. Single precision is what most runtimes are made
        for; its probabilities differ in the sixth or seventh digit. (For members of scikit-learn
        they are as good as skl2onnx makes them: some lose more on columns that are not scaled.)

    Returns
    -------
    graph : onnx.ModelProto
        Its input ``X`` takes rows of numbers of shape (n_rows, n_features); its outputs are
        ``label``, of shape (n_rows,), and ``probabilities``, of shape (n_rows, n_classes) in the
        order of ``classes_``. Its metadata hold ``classes`` and, where they are known,
        ``feature_names``, as JSON.

    Examples
    --------
    >>> import numpy as np
    >>> import onnxruntime
    >>> import covey
    >>> from covey.onnx import to_onnx
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.FlockClassifier(n_estimators=3, effort="fast", random_state=0).fit(X, y)
    >>> graph = to_onnx(flock).SerializeToString()
    >>> session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    >>> label, probabilities = session.run(None, {"X": X.astype(np.float32)})
    >>> bool(abs(probabilities - flock.predict_proba(X)).max() < 1e-5)
    True
    """
    check_choice(dtype, "dtype", ("float32", "float64"))
    who = f"This {type(estimator).__name__}"
    if not is_classifier(estimator):
        raise ValueError(f"{who} is not a classifier; to_onnx exports classifiers.")
    check_is_fitted(estimator)
    _check_exportable(estimator, who)
    tensor = FloatTensorType if dtype == "float32" else DoubleTensorType
    rows = [("X", tensor([None, int(estimator.n_features_in_)]))]
    try:
        graph = skl2onnx.convert_sklearn(
            estimator,
            initial_types=rows,
            options={id(estimator): {"zipmap": False}},
            target_opset=_OPSET,
        )
    except Exception as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(
            f"skl2onnx cannot convert this {type(estimator).__name__}: {said}"
        ) from error
    facts = {"covey": covey.__version__, "classes": json.dumps(estimator.classes_.tolist())}
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        facts["feature_names"] = json.dumps([str(name) for name in names])
    onnx.helper.set_model_props(graph, facts)
    if path is not None:
        write_whole(graph.SerializeToString(), Path(path))
    return graph


def register():
    """Teach skl2onnx about covey's classifiers; importing this module does so already."""
    for model, convert in (
        (FlockClassifier, _convert_flock),
        (SubsetEnsembleClassifier, _convert_flock),
        (FusionClassifier, _convert_fusion),
        (LinearMember, _convert_member),
    ):
        skl2onnx.update_registered_converter(
            model,
            f"Covey{model.__name__}",
            calculate_linear_classifier_output_shapes,
            convert,
            options={"zipmap": [True, False, "columns"], "nocl": [True, False]},
        )


# -- what can be exported -----------------------------------------------------------------------


def _check_exportable(estimator, who):
    """Refuse, by name, what has no graph; ``who`` begins the sentence."""
    kind = type(estimator)
    if kind in (FlockClassifier, SubsetEnsembleClassifier, FusionClassifier, LinearMember):
        labels_of(estimator.classes_, who)
        if kind is not LinearMember:
            check_fuser(estimator.fuser_, who)
        if kind is FusionClassifier:
            for name, member in estimator.named_estimators_.items():
                _check_exportable(_thawed(member), f"The member {name!r}")
    elif kind is Pipeline:
        for name, step in estimator.steps:
            if step is not None and step != "passthrough":
                _check_exportable(step, f"The step {name!r}")
    elif kind.__module__.startswith("covey."):
        raise ValueError(
            f"{who} is a {kind.__name__}, which has no ONNX form; those of FlockClassifier, "
            "SubsetEnsembleClassifier, FusionClassifier and LinearMember have one."
        )
    else:
        try:
            skl2onnx.get_model_alias(kind)
        except RuntimeError:
            raise ValueError(
                f"{who} is a {kind.__name__}, which skl2onnx cannot convert; leave it out, or "
                "register a converter for it with skl2onnx."
            ) from None


def _thawed(member):
    return member.estimator if isinstance(member, FrozenEstimator) else member


# -- converters ---------------------------------------------------------------------------------


def _convert_member(scope, operator, container):
    member = operator.raw_operator
    graph = Graph(scope, operator, container)
    basis = Basis.plain(member.n_features_in_) if member.basis is None else member.basis
    logits = graph.columns(basis).linear(member.coef_, member.intercept_)
    graph.answer(graph.node("Softmax", logits, axis=1), member.classes_)


def _convert_flock(scope, operator, container):
    flock = operator.raw_operator
    graph = Graph(scope, operator, container)
    graph.mean, graph.scale = flock.mean_, flock.scale_
    columns = graph.columns(flock.basis_)
    if isinstance(flock.fuser_, Product):
        member = flock.collapse()
        logits = columns.linear(member.coef_, member.intercept_)
        graph.answer(graph.node("Softmax", logits, axis=1), flock.classes_)
        return
    n_members, n_classes, n_columns = flock.coef_.shape
    logits = columns.linear(flock.coef_.reshape(-1, n_columns), flock.intercept_.ravel())
    logits = graph.node("Reshape", logits, np.array([-1, n_members, n_classes]))
    said = Said(
        graph,
        graph.node("Softmax", logits, axis=2),
        graph.node("LogSoftmax", logits, axis=2),
        shape=(n_members, n_classes),
    )
    graph.answer(fused_by(said, flock.fuser_), flock.classes_)


def _convert_fusion(scope, operator, container):
    fused = operator.raw_operator
    graph = Graph(scope, operator, container)
    classes = fused.classes_
    said, seen = [], []
    for position, member in enumerate(map(_thawed, fused.estimators_)):
        label, probabilities = _member(graph, member, position)
        known = getattr(member, "classes_", classes)
        places = np.searchsorted(classes, known)
        if fused.kind_ == "label":
            said.append(_positions(graph, label, labels_of(known), places))
            seen.append(np.ones(len(classes), dtype=bool))
            continue
        aligned = np.zeros((len(known), len(classes)))
        aligned[np.arange(len(known)), places] = 1.0
        own = graph.cast(probabilities)
        if not np.array_equal(known, classes):
            own = graph.node("MatMul", own, aligned)
        said.append(graph.node("Unsqueeze", own, np.array([1])))
        seen.append(aligned.any(axis=0))
    values = graph.node("Concat", *said, axis=1)
    labels = None
    if fused.kind_ == "label":
        labels = graph.node("Unsqueeze", values, np.array([2]))
        values = graph.cast(graph.node("Equal", labels, np.arange(len(classes))))
    everything = Said(
        graph, values, labels=labels, seen=np.array(seen), shape=(len(said), len(classes))
    )
    graph.answer(fused_by(everything, fused.fuser_), classes)


def _member(graph, member, position):
    """The outputs of a member's own graph."""
    scope = graph.scope
    part = scope.declare_local_operator(skl2onnx.get_model_alias(type(member)), member)
    part.inputs = graph.operator.inputs
    text = all(isinstance(label, str) for label in np.asarray(member.classes_).tolist())
    kinds = (
        StringTensorType() if text else Int64TensorType(),
        graph.operator.outputs[1].type.__class__(),
    )
    for what, kind in zip(("label", "probabilities"), kinds, strict=True):
        part.outputs.append(scope.declare_local_variable(f"{what}_{position}", kind))
    return tuple(variable.onnx_name for variable in part.outputs)


def _positions(graph, label, known, places):
    """Labels as positions in the ensemble's classes, (n, 1)."""
    names = {"keys_strings" if known.dtype == object else "keys_int64s": known.tolist()}
    codes = graph.node(
        "LabelEncoder",
        label,
        domain="ai.onnx.ml",
        op_version=2,
        values_int64s=[int(place) for place in places],
        default_int64=-1,
        **names,
    )
    return graph.node("Reshape", codes, np.array([-1, 1]))


register()
