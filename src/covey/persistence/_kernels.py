"""Support vector machines with a Gaussian kernel, and calibrated classifiers.

As for trees, scikit-learn fits a stand-in, whose numbers are replaced: libsvm then gets arrays
whose shapes belong together.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, SVR

from covey._core.limits import FAR
from covey._state import Sizes
from covey.members._stored import OfTable, check_names
from covey.persistence._formats import estimator_format
from covey.persistence._nodes import Node
from covey.persistence._refusals import NotCoveredError
from covey.persistence._stand_ins import check_classes, classes_of, stand_in
from covey.persistence._writer import Writer

# -- machines -------------------------------------------------------------------------------------


def _why_no_machine(model: Any) -> str | None:
    other = model.kernel != "rbf" or getattr(model, "probability", False) is True
    return "of another kernel, or with probabilities" if other else None


def _write_machine(model: Any, out: Writer) -> dict[str, Any]:
    check_classes(model)
    if model._sparse:
        raise NotCoveredError(f"a {type(model).__name__} of sparse rows")
    return {
        **out.fields(model, OfTable),
        "classes": out.labels(getattr(model, "classes_", None)),
        "support": out.array(model.support_.astype(np.int64), "whole"),
        "vectors": out.array(model.support_vectors_),
        "n_support": out.array(model._n_support.astype(np.int64), "whole"),
        "dual_coef": out.array(model._dual_coef_),
        "intercept": out.array(model._intercept_),
        "gamma": float(model._gamma),
        "n_rows": int(model.shape_fit_[0]),
        "n_iter": out.array(np.atleast_1d(model.n_iter_).astype(np.int64), "whole"),
    }


def _read_machine(model: Any, node: Node) -> None:
    cls, classes = type(model), classes_of(model, node)
    n_classes = 2 if classes is None else len(classes)
    n_pairs = n_classes * (n_classes - 1) // 2
    # The file has this many numbers, so that the stand-in is no more work than the file is long.
    intercept = node.array("intercept", (n_pairs if cls is SVC else 1,), low=-FAR, high=FAR)
    with stand_in(model, classes):
        _replace_vectors(model, intercept, n_classes, node)
    known = cls is SVR or model.decision_function_shape in ("ovr", "ovo")
    node.check(known, "decision_function_shape", "is not known.")


def _replace_vectors(model: Any, intercept: np.ndarray, n_classes: int, node: Node) -> None:
    cls = type(model)
    node.fields(OfTable, Sizes(model))
    n_features = model.n_features_in_
    vectors = node.array("vectors", (None, n_features), low=-FAR, high=FAR)
    n_vectors = len(vectors)
    n_rows = node.whole("n_rows", 1, 2**31 - 1)
    support = node.array("support", (n_vectors,), "whole", low=0, high=n_rows - 1)
    counts = node.array("n_support", (n_classes,), "whole", low=0, high=n_vectors)
    total = counts.sum() if cls is SVC else counts[0]
    fits = total == n_vectors and (cls is SVC or counts[0] == counts[1])
    node.check(fits, "n_support", "are not those of the vectors.")
    shape = (n_classes - 1, n_vectors)
    dual = node.array("dual_coef", shape, low=-FAR, high=FAR)
    n_iter = node.array("n_iter", (len(intercept),), "whole", low=0)
    model.support_, model.support_vectors_ = support.astype(np.int32), vectors
    model._n_support = counts.astype(np.int32)
    model._dual_coef_, model._intercept_ = dual, intercept
    # For two classes scikit-learn shows the evidence for the second.
    flipped = cls is SVC and n_classes == 2
    model.dual_coef_ = -dual if flipped else dual
    model.intercept_ = -intercept if flipped else intercept
    model._gamma = node.number("gamma", 0.0, FAR)
    model.shape_fit_ = (n_rows, n_features)
    model._num_iter = n_iter.astype(np.int32)
    model.n_iter_ = model._num_iter if cls is SVC else int(n_iter[0])


# -- calibration ----------------------------------------------------------------------------------


def _why_not_calibrated(model: CalibratedClassifierCV) -> str | None:
    return None if model.method == "sigmoid" else f"with method={model.method!r}"


def _write_calibrated(model: CalibratedClassifierCV, out: Writer) -> dict[str, Any]:
    check_classes(model)
    return {
        **out.fields(model, OfTable),
        "classes": out.labels(model.classes_),
        "models": out.models(one.estimator for one in model.calibrated_classifiers_),
        "sigmoids": out.array(
            [
                [[each.a_, each.b_] for each in one.calibrators]
                for one in model.calibrated_classifiers_
            ]
        ),
    }


def _read_calibrated(model: CalibratedClassifierCV, node: Node) -> None:
    classes = classes_of(model, node)
    with stand_in(model, classes, estimator=GaussianNB(), cv=2, ensemble=False):
        node.fields(OfTable, Sizes(model))
        models = node.models("models")
        node.check(models, "models", "are missing.")
        (one,) = model.calibrated_classifiers_
        calibrated = []
        n_sigmoids = 1 if len(model.classes_) == 2 else len(model.classes_)
        shape = (len(models), n_sigmoids, 2)
        every = node.array("sigmoids", shape, low=-FAR, high=FAR).tolist()
        for place, (fitted, sigmoids) in enumerate(zip(models, every, strict=True)):
            own = getattr(fitted, "classes_", np.empty(0))
            width = getattr(fitted, "n_features_in_", None)
            proper = np.array_equal(own, model.classes_) and width == model.n_features_in_
            node.check(proper, f"models.{place}", "does not fit the classes.")
            check_names(model, fitted)
            made = copy(one)
            made.estimator, made.calibrators = fitted, []
            for slope, offset in sigmoids:
                calibrator = copy(one.calibrators[0])
                calibrator.a_, calibrator.b_ = slope, offset
                made.calibrators.append(calibrator)
            calibrated.append(made)
        model.calibrated_classifiers_ = calibrated


FORMATS = {
    **{
        cls.__name__: estimator_format(
            cls, "support_vectors_", _write_machine, _read_machine, why_not=_why_no_machine
        )
        for cls in (SVC, SVR)
    },
    "CalibratedClassifierCV": estimator_format(
        CalibratedClassifierCV,
        "calibrated_classifiers_",
        _write_calibrated,
        _read_calibrated,
        models={"estimator": BaseEstimator},
        why_not=_why_not_calibrated,
    ),
}
