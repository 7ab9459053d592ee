"""Models as ONNX graphs, for programs that have neither covey nor Python.

`to_onnx` exports a model; importing this module also teaches skl2onnx about covey, so that its
own ``to_onnx`` and ``convert_sklearn`` take pipelines with a flock inside.

A graph has one input ``X``, rows of numbers in the order of the columns that the model was fitted
on (any number of rows). A classifier's outputs are ``label`` and ``probabilities``, a regressor's
is ``prediction``.
"""

from __future__ import annotations

import json
import os
from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.svm import SVR, NuSVR
from sklearn.utils.validation import check_is_fitted

import covey
from covey._files import write_file
from covey._names import extra
from covey._plain_words import first_line
from covey._validation import check_choice
from covey.tables._encoders import Dates, Text
from covey.tables._known_columns import encoders_of

with extra("ONNX graphs need", "onnx"):
    import skl2onnx
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    import onnx
    from covey.onnx._coded_inputs import (
        coded_rows,
        column_names,
        in_front,
        preparation_of,
    )
    from covey.onnx._converters import CONVERTERS, register
    from covey.onnx._fusers import check_encodings, check_fuser
    from covey.onnx._graph import labels_of, thawed

__all__ = ["register", "to_onnx"]

# The opset of `to_onnx`: runtimes since 2022 read it.
_OPSET = 17


def to_onnx(
    estimator: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: Literal["float32", "float64"] = "float32",
    by_column: bool = False,
) -> onnx.ModelProto:
    """Write a fitted classifier or regressor as an ONNX graph.

    Parameters
    ----------
    estimator : classifier or regressor
        A `FlockClassifier`, `SubsetEnsembleClassifier`, `FusionClassifier`,
        `GeneralStackingClassifier` or `LinearMember`, or a regressor of these kinds, or a
        `CodeBookClassifier` of learners with probabilities, or a Pipeline of scikit-learn that
        ends in one. Ensembles may be fused by a search, a product (which becomes one matrix
        product), a mean, a median, a majority, a `Gate` or a model (`Stacking`, which reads
        values, probabilities, logits or decisions). Members, and models on top of them, may be any
        that skl2onnx knows. Flocks that were fitted to gaps (NaN) accept them, and so it is with
        categories (see Returns). Text of many values and dates have no ONNX form.
    path : str or path, optional
        Where to write the graph, too.
    dtype : {"float32", "float64"}, default="float32"
        The type of X and of the computations. Most runtimes are made for single precision; its
        probabilities differ in the sixth or seventh digit. (For members of scikit-learn they are
        as good as skl2onnx makes them: some lose more on columns that are not scaled.)

    by_column : bool, default=False
        Whether the graph has an input for each column of the table that a flock was fitted to. It
        always has if some are categories.

    Returns
    -------
    graph : onnx.ModelProto
        Its input ``X`` takes rows of numbers of shape (n_rows, n_features). By column, there is an
        input for each column instead, of its name and of shape (n_rows, 1): strings for categories
        ("" for a gap, "1" for a number such as 1.0), numbers for others, with NaN (or an infinity)
        for missing ones. A classifier's outputs are ``label``, of shape (n_rows,), and
        ``probabilities``, of shape (n_rows, n_classes) in the order of ``classes_``; a regressor's
        is ``prediction``, of shape (n_rows, 1). Its metadata hold ``classes`` and, if they are
        known, ``feature_names``, as JSON.

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
    if not (is_classifier(estimator) or is_regressor(estimator)):
        raise ValueError(f"{who} is neither a classifier nor a regressor; to_onnx exports those.")
    check_is_fitted(estimator)
    _check_exportable(estimator, who, dtype, coded=True)
    tensor = FloatTensorType if dtype == "float32" else DoubleTensorType
    if is_classifier(estimator):
        options: dict[str, Any] = {"options": {id(estimator): {"zipmap": False}}}
        facts = {"classes": json.dumps(estimator.classes_.tolist())}
    else:
        options = {"final_types": [("prediction", tensor([None, 1]))]}
        facts = {}
    inputs = [("X", tensor([None, int(estimator.n_features_in_)]))]
    apart = by_column or _has_categories(estimator)
    columns = column_names(estimator, who) if apart else None
    try:
        with coded_rows(columns is not None):
            graph = skl2onnx.convert_sklearn(
                estimator, initial_types=inputs, target_opset=_OPSET, **options
            )
    except Exception as error:
        whose = _unconvertible(estimator, inputs) or f"this {type(estimator).__name__}"
        raise ValueError(f"skl2onnx cannot convert {whose}: {first_line(error)[:200]}") from error
    if columns is not None:
        graph = in_front(graph, estimator, columns, dtype)
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        facts["feature_names"] = json.dumps([str(name) for name in np.asarray(names)])
    onnx.helper.set_model_props(graph, {"covey": covey.__version__, **facts})
    onnx.checker.check_model(graph)
    if path is not None:
        write_file(path, graph.SerializeToString())
    return graph


def _unconvertible(estimator: Any, inputs: list[Any]) -> str | None:
    """Return in words the member that skl2onnx cannot convert; None if it is not known."""
    for name, member in getattr(estimator, "named_estimators_", {}).items():
        if isinstance(member, str) or type(member).__module__.startswith("covey."):
            continue
        # Members of later layers read other columns than those of X.
        ((name_of_rows, kind),) = inputs
        width = int(getattr(member, "n_features_in_", kind.shape[1]))
        own = [(name_of_rows, type(kind)([None, width]))]
        try:
            skl2onnx.convert_sklearn(thawed(member), initial_types=own, target_opset=_OPSET)
        except Exception:
            return f"the member {name!r}, a {type(thawed(member)).__name__}"
    return None


def _has_categories(estimator: Any) -> bool:
    preparation = preparation_of(estimator)
    return preparation is not None and bool(preparation.words)


def _check_columns(estimator: Any) -> None:
    """Refuse, by name, a column that has no ONNX form."""
    if preparation_of(estimator) is None:
        return
    for name, encoder in encoders_of(estimator).items():
        if isinstance(encoder, Dates | Text):
            what = "a date" if isinstance(encoder, Dates) else "text of many values"
            raise ValueError(
                f"Column {name!r} is {what}, which has no ONNX form; fit the model without it "
                f"(--drop {name!r})."
            )


def _check_exportable(estimator: Any, who: str, dtype: str, coded: bool = False) -> None:
    """Refuse, by name, a model that has no graph; ``who`` begins the sentence.

    ``coded`` says that it gets codes in place of categories.
    """
    kind = type(estimator)
    if kind in CONVERTERS:
        if _has_categories(estimator) and not coded:
            raise ValueError(
                f"{who} was fitted to categories, which the graph around it cannot give to it; "
                "export it by itself, or fit the whole to numbers."
            )
        _check_columns(estimator)
        if is_classifier(estimator):
            labels_of(estimator.classes_, who)
        if hasattr(estimator, "fuser_"):
            check_fuser(estimator.fuser_, who, is_regressor(estimator))
        for outputs in estimator.outputs_ if hasattr(estimator, "layers_") else ():
            check_encodings(outputs, who, is_regressor(estimator))
        for name, member in getattr(estimator, "named_estimators_", {}).items():
            if not isinstance(member, str):  # not dropped
                inner = coded and hasattr(estimator, "weights_")  # a flock's linear members
                _check_exportable(thawed(member), f"The member {name!r}", dtype, inner)
        _check_parts(estimator, who, dtype)
    elif kind is Pipeline:
        for name, step in estimator.steps:
            if step is not None and step != "passthrough":
                whose = who[0].lower() + who[1:]
                _check_exportable(step, f"The step {name!r} of {whose}", dtype)
    elif kind.__module__.startswith("covey."):
        known = ", ".join(sorted(model.__name__ for model in CONVERTERS))
        raise ValueError(
            f"{who} is a {kind.__name__}, which has no ONNX form; those that have one are {known}."
        )
    elif kind in (KNeighborsClassifier, KNeighborsRegressor) and estimator.weights != "uniform":
        raise ValueError(
            f"{who} weighs neighbors by their distance, which skl2onnx would leave out without a "
            "word; leave the member out, or use weights='uniform'."
        )
    elif kind in (SVR, NuSVR) and dtype == "float64":
        raise ValueError(
            f"{who} is a {kind.__name__}, which runtimes compute in single precision only; leave "
            "the member out, or export in single precision (dtype='float32')."
        )
    else:
        try:
            skl2onnx.get_model_alias(kind)
        except RuntimeError:
            raise ValueError(
                f"{who} is a {kind.__name__}, which skl2onnx cannot convert; leave it out, or "
                "register a converter for it with skl2onnx."
            ) from None


def _check_parts(estimator: Any, who: str, dtype: str) -> None:
    """Refuse models beside or on top of members, and learners of bits, that have no graph."""
    whose = who[0].lower() + who[1:]
    final = getattr(getattr(estimator, "fuser_", None), "final_estimator_", None)
    if final is not None:
        _check_exportable(thawed(final), f"The model on top of {whose}", dtype)
    made = getattr(estimator, "features_", None)
    if made is not None:
        _check_exportable(made, f"The features= of {whose}", dtype)
    if hasattr(estimator, "code_book_"):
        for learner in map(thawed, estimator.estimators_):
            if not hasattr(learner, "predict_proba"):
                raise ValueError(
                    f"{who} has learners without predict_proba ({type(learner).__name__}), whose "
                    "bits have no ONNX form; wrap the learner in CalibratedClassifierCV."
                )
            _check_exportable(learner, f"The learner of {whose}", dtype)


register()
