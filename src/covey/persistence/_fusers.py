"""Fusers: fixed rules, learnt weights, gates, dynamic selection and stacking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.naive_bayes import MultinomialNB

from covey.fusers import (
    FUSERS,
    KNOP,
    MCB,
    APriori,
    DESClustering,
    DynamicSelection,
    Fuser,
    Gate,
    GateFeatures,
    LastStage,
    MetaDES,
    PotentialSelection,
    Predictions,
    SingleBest,
    Stacking,
    WeightedFuser,
    WeightedMedian,
)
from covey.fusers.encoding import CLASS_OUTPUTS, VALUE_OUTPUTS
from covey.persistence._arrays import read_matrix, write_matrix
from covey.persistence._errors import NotCoveredError, damaged
from covey.persistence._formats import Format, estimator_format
from covey.persistence._reading import Node
from covey.persistence._writing import Writer

# Squares of what neighbours are searched by stay finite.
_FARTHEST = 1e100


def read_fuser(
    node: Node,
    example_for: Callable[[Fuser], Predictions],
    n_features: int | None,
) -> Fuser:
    """The part ``fuser``, which fuses predictions like those of an example for it.

    It is tried on the example, beside a row of ``n_features`` zeros where they are known, so that
    what does not fit the members is known now.
    """
    fuser = node.model("fuser")
    node.check(isinstance(fuser, Fuser), "fuser", "is no fuser.")
    node.check(hasattr(fuser, "classes_"), "fuser", "is not fitted.")
    try:
        example = example_for(fuser)
    except (ValueError, TypeError) as error:
        damaged(f"{node.where}.fuser", f"does not fit its members: {error}")
    fits = fuser.n_members_ == example.n_members and np.array_equal(
        fuser.classes_, example.classes
    )
    node.check(fits, "fuser", "fuses other members.")
    if fuser.needs_y:
        return fuser
    try:
        X = None if n_features is None else np.zeros((1, n_features))
        if fuser.needs_X and X is None:
            return fuser
        fused = fuser.fuse(example, X)
    except (ValueError, TypeError, IndexError, ArithmeticError) as error:
        damaged(f"{node.where}.fuser", f"does not fit its members: {error}")
    node.check(np.isfinite(fused).all(), "fuser", "does not give numbers.")
    return fuser


# -- what each kind has learnt --------------------------------------------------------------------


def _write_nothing(fuser: Any, out: Writer) -> dict[str, Any]:
    return {}


def _read_nothing(fuser: Any, node: Node) -> None:
    pass


def _write_weights(fuser: Any, out: Writer) -> dict[str, Any]:
    return {"weights": out.array(getattr(fuser, "weights_", None))}


def _read_weights(fuser: Any, node: Node) -> None:
    learns = fuser.learns
    if not node.none("weights"):
        fuser.weights_ = node.array("weights", (fuser.n_members_,))
        if isinstance(fuser, WeightedFuser):
            proper = (fuser.weights_ >= 0).all() and fuser.weights_.any()
            node.check(proper, "weights", "are not positive.")
        learns = False
    node.check(not learns, "weights", "are missing.")


def _write_best(fuser: SingleBest, out: Writer) -> dict[str, Any]:
    return {"best": int(fuser.best_)}


def _read_best(fuser: SingleBest, node: Node) -> None:
    fuser.best_ = node.whole("best", 0, fuser.n_members_ - 1)


def _write_gate(gate: Gate, out: Writer) -> dict[str, Any]:
    sees = gate._sees
    return {
        "quadratic": bool(sees.quadratic),
        "mean": out.array(sees.mean),
        "scale": out.array(sees.scale),
        "square_mean": out.array(getattr(sees, "square_mean", None)),
        "square_scale": out.array(getattr(sees, "square_scale", None)),
        "alpha": float(gate.alpha_),
        "coef": out.array(gate.coef_),
        "intercept": out.array(gate.intercept_),
        "n_iter": int(gate.n_iter_),
    }


def _read_gate(gate: Gate, node: Node) -> None:
    quadratic = node.flag("quadratic")
    mean = node.array("mean", (None,))

    def scale(name: str) -> np.ndarray:
        # A constant column is divided by infinity.
        return node.array(name, mean.shape, low=1e-200, infinite=True)

    sees = GateFeatures(quadratic, (mean, scale("scale")))
    if not node.none("square_mean"):
        sees.standardize_squares(node.array("square_mean", mean.shape), scale("square_scale"))
    else:
        node.check(node.none("square_scale"), "square_scale", "belongs to nothing.")
    gate._sees = sees
    gate.alpha_ = node.number("alpha", 0.0)
    gate.coef_ = node.array("coef", (gate.n_members_, sees.n_columns))
    gate.intercept_ = node.array("intercept", (gate.n_members_,))
    gate.n_iter_ = node.whole("n_iter")


# -- dynamic selection ----------------------------------------------------------------------------


def _write_known(fuser: DynamicSelection, out: Writer) -> dict[str, Any]:
    """What members did on the known samples."""
    errors, of_classes = fuser.squared_errors_, fuser.squared_errors_ is None
    known = {
        "right": out.array(fuser.right_, "flag"),
        "available": out.array(fuser.available_, "flag"),
        "truth": out.array(fuser.truth_, "whole" if of_classes else "float"),
        "scaler": out.model(fuser._scaler) if fuser.needs_X else None,
    }
    if of_classes:
        return known
    of_mean = out.array(fuser.squared_errors_of_mean_)
    return {**known, "errors": out.array(errors), "errors_of_mean": of_mean}


def _read_known(fuser: DynamicSelection, node: Node) -> int:
    """The same; the number of features, if they are scaled, else 0."""
    fuser.right_ = node.array("right", (None, fuser.n_members_), "flag")
    n_known = len(fuser.right_)
    node.check(n_known > 0, "right", "is empty.")
    fuser.available_ = None
    if not node.none("available"):
        fuser.available_ = node.array("available", fuser.right_.shape, "flag")
    fuser.squared_errors_ = fuser.squared_errors_of_mean_ = None
    if node.has("errors"):
        node.check("value" in fuser.kinds, "errors", "belong to nothing.")
        fuser.truth_ = node.array("truth", (n_known,))
        fuser.squared_errors_ = node.array("errors", fuser.right_.shape, low=0.0)
        fuser.squared_errors_of_mean_ = node.array("errors_of_mean", (n_known,), low=0.0)
    else:
        last = len(fuser.classes_) - 1
        fuser.truth_ = node.array("truth", (n_known,), "whole", low=0, high=last)
    named = isinstance(fuser.metric, str) and type(fuser.scale) is bool
    node.check(named, "metric", "or scale is none that files hold.")
    if fuser.needs_X:
        fuser._scaler = None
    if not (fuser.needs_X and fuser.scale):
        node.check(node.none("scaler"), "scaler", "belongs to nothing.")
        return 0
    fuser._scaler = node.model("scaler")
    width = getattr(fuser._scaler, "n_features_in_", 0)
    scales = type(fuser._scaler).__name__ == "StandardScaler" and width > 0
    node.check(scales, "scaler", "does not scale.")
    return width


def _write_dynamic(fuser: DynamicSelection, out: Writer) -> dict[str, Any]:
    points = write_matrix(fuser._points, out) if fuser.needs_X else None
    return {**_write_known(fuser, out), "points": points}


def _read_dynamic(fuser: DynamicSelection, node: Node) -> None:
    width = _read_known(fuser, node)
    if not (isinstance(fuser, PotentialSelection) and fuser.n_neighbors is None):
        _whole(fuser, "n_neighbors", node)
    if not fuser.needs_X:
        node.check(node.none("points"), "points", "belong to nothing.")
        return
    points = read_matrix(node.child("points"), (len(fuser.right_), width or None), _FARTHEST)
    try:
        fuser._set_points(points)
    except (ValueError, ArithmeticError) as error:
        damaged(f"{node.where}.points", f"cannot be searched: {str(error).splitlines()[0]}")


def _whole(fuser: Any, name: str, node: Node) -> int:
    value = getattr(fuser, name)
    node.check(type(value) is int and value > 0, name, "is no whole number above 0.")
    return value


def _write_profiles(fuser: KNOP, out: Writer) -> dict[str, Any]:
    return {**_write_dynamic(fuser, out), "profiles": out.array(fuser._known_profiles)}


def _read_profiles(fuser: KNOP, node: Node) -> None:
    _read_dynamic(fuser, node)
    _set_profiles(fuser, node, "n_neighbors")


def _set_profiles(fuser: Any, node: Node, name: str) -> None:
    n_classes = len(fuser.classes_)
    width = fuser.n_members_ * (1 if n_classes == 2 else n_classes)
    profiles = node.array("profiles", (len(fuser.right_), width), low=-_FARTHEST, high=_FARTHEST)
    fuser._set_profiles(profiles, _whole(fuser, name, node))


def _write_true(fuser: APriori, out: Writer) -> dict[str, Any]:
    true = out.array(fuser._true_probability)
    return {**_write_dynamic(fuser, out), "true_probability": true}


def _read_true(fuser: APriori, node: Node) -> None:
    _read_dynamic(fuser, node)
    shape = fuser.right_.shape
    fuser._true_probability = node.array("true_probability", shape, low=0.0, high=1.0)


def _write_labels(fuser: MCB, out: Writer) -> dict[str, Any]:
    return {**_write_dynamic(fuser, out), "labels": out.array(fuser._known_labels, "whole")}


def _read_labels(fuser: MCB, node: Node) -> None:
    _read_dynamic(fuser, node)
    last = len(fuser.classes_) - 1
    fuser._known_labels = node.array("labels", fuser.right_.shape, "whole", low=0, high=last)


def _write_source(fuser: PotentialSelection, out: Writer) -> dict[str, Any]:
    return {**_write_dynamic(fuser, out), "source": out.array(fuser.source_)}


def _read_source(fuser: PotentialSelection, node: Node) -> None:
    _read_dynamic(fuser, node)
    fuser.source_ = node.array("source", fuser.right_.shape, low=-_FARTHEST, high=_FARTHEST)


def _write_clusters(fuser: DESClustering, out: Writer) -> dict[str, Any]:
    return {
        **_write_known(fuser, out),
        "clusters": out.array(fuser._clusters, "whole"),
        "centers": out.array(fuser.centers_),
        "competence": out.array(fuser.competence_),
    }


def _read_clusters(fuser: DESClustering, node: Node) -> None:
    width = _read_known(fuser, node)
    shape = (None, width or None)
    fuser.centers_ = node.array("centers", shape, low=-_FARTHEST, high=_FARTHEST)
    node.check(fuser.centers_.size, "centers", "are missing.")
    n_clusters, n_known = len(fuser.centers_), len(fuser.right_)
    fuser._clusters = node.array("clusters", (n_known,), "whole", low=0, high=n_clusters - 1)
    shape = (n_clusters, fuser.n_members_)
    fuser.competence_ = node.array("competence", shape, low=0.0, high=2.0)


def _write_meta(fuser: MetaDES, out: Writer) -> dict[str, Any]:
    by_default = fuser.meta_classifier is None
    meta = None if fuser._all_alike else fuser.meta_classifier_
    if meta is not None and by_default:
        meta = meta[-1]
    return {
        **_write_dynamic(fuser, out),
        "profiles": out.array(fuser._known_profiles),
        "true_probability": out.array(fuser._true_probability),
        "n_near": int(fuser._n_nearest),
        "n_alike": int(fuser._n_alike),
        "meta": out.model(meta),
    }


def _read_meta(fuser: MetaDES, node: Node) -> None:
    _read_dynamic(fuser, node)
    _set_profiles(fuser, node, "n_profiles")
    shape = fuser.right_.shape
    fuser._true_probability = node.array("true_probability", shape, low=0.0, high=1.0)
    n_alike = min(_whole(fuser, "n_profiles", node), len(fuser.right_))
    fuser._n_nearest = node.whole("n_near", 1, fuser._n_near())
    fuser._n_alike = node.whole("n_alike", 1, n_alike)
    fuser._all_alike = node.none("meta")
    by_default = fuser.meta_classifier is None
    fuser.meta_classifier_ = fuser.default_meta() if by_default else None
    if fuser._all_alike:
        return
    meta = node.model("meta")
    width = 2 * fuser._n_nearest + 1 + fuser._n_alike + 1
    proper = hasattr(meta, "predict_proba") and getattr(meta, "n_features_in_", None) == width
    proper = proper and getattr(meta, "classes_", np.empty(0)).tolist() == [False, True]
    node.check(proper, "meta", "does not fit the evidence.")
    if by_default:
        node.check(isinstance(meta, MultinomialNB), "meta", "is none by default.")
        levels, _ = (step for _, step in fuser.meta_classifier_.steps)
        levels.n_features_in_ = width
        fuser.meta_classifier_.steps[-1] = (fuser.meta_classifier_.steps[-1][0], meta)
    else:
        fuser.meta_classifier_ = meta


# -- stacking -------------------------------------------------------------------------------------


def _write_stacking(fuser: Stacking, out: Writer) -> dict[str, Any]:
    return {
        "outputs": list(fuser.outputs_),
        "ranks": write_ranks(fuser._ranks, out),
        "means": out.array(fuser.means_),
        "final": out.model(fuser.final_estimator_),
        "linear": fuser._coefficients is not None,
    }


def _read_stacking(fuser: Stacking, node: Node) -> None:
    n_members = fuser.n_members_
    fuser.outputs_ = node.names("outputs", {*CLASS_OUTPUTS, *VALUE_OUTPUTS}, n_members)
    fuser._ranks = read_ranks(node, "ranks", n_members)
    fuser.means_ = node.array("means", (n_members, None))
    final = node.model("final")
    node.check(hasattr(final, "predict"), "final", "does not predict.")
    fuser.final_estimator_ = final
    fuser._coefficients = None
    if node.flag("linear"):
        coefficients = np.atleast_2d(getattr(final, "coef_", np.nan))
        node.check(np.isfinite(coefficients).all(), "final", "is not linear.")
        fuser._coefficients = coefficients


def write_ranks(ranks: Any, out: Writer) -> list[dict[str, Any]] | None:
    """What ranks of numbers are looked up in, for each member."""
    if ranks is None:
        return None
    return [{"known": out.array(known), "below": out.array(below)} for known, below in ranks]


def read_ranks(node: Node, name: str, n_members: int) -> Any:
    """The same, of so many members; or None."""
    if node.none(name):
        return None
    ranks = []
    for part in node.children(name, n_members):
        node.check(part is not None, name, "lacks a member.")
        with part:
            known = part.array("known", (None,))
            part.check(len(known) and (np.diff(known) >= 0).all(), "known", "does not ascend.")
            below = part.array("below", (len(known) + 1,), low=0.0)
            proper = (np.diff(below) >= 0).all() and below[-1] > 0
            part.check(proper, "below", "does not ascend.")
        ranks.append((known, below))
    return ranks


# -- formats --------------------------------------------------------------------------------------


def _format(
    cls: type[Fuser],
    write: Callable[[Any, Writer], dict[str, Any]],
    read: Callable[[Any, Node], None],
    **how: Any,
) -> Format:
    def write_all(fuser: Fuser, out: Writer) -> dict[str, Any]:
        members = {"n_members": int(fuser.n_members_), "classes": out.labels(fuser.classes_)}
        return {**members, **write(fuser, out)}

    def read_all(fuser: Fuser, node: Node) -> None:
        fuser.n_members_ = node.whole("n_members", 1)
        fuser.classes_ = node.labels("classes")
        read(fuser, node)

    form = estimator_format(cls, "n_members_", write_all, read_all, **how)

    def write_checked(fuser: Fuser, out: Writer) -> dict[str, Any]:
        # Without these parameters it would be another fuser.
        if callable(getattr(fuser, "metric", None)):
            raise NotCoveredError(f"a {cls.__name__} whose metric is a function")
        weights = getattr(fuser, "weights", None)
        if not isinstance(weights, str) and np.ndim(weights) == 2:
            raise NotCoveredError(f"a {cls.__name__} with weights of each sample")
        return form.write(fuser, out)

    return Format(cls, write_checked, form.read)


_DYNAMIC: dict[type, tuple[Callable[..., Any], Callable[..., Any]]] = {
    MetaDES: (_write_meta, _read_meta),
    KNOP: (_write_profiles, _read_profiles),
    APriori: (_write_true, _read_true),
    MCB: (_write_labels, _read_labels),
    PotentialSelection: (_write_source, _read_source),
    DESClustering: (_write_clusters, _read_clusters),
}


def _functions(cls: type[Fuser]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    if issubclass(cls, Stacking):
        return _write_stacking, _read_stacking
    for kind, functions in _DYNAMIC.items():
        if issubclass(cls, kind):
            return functions
    if issubclass(cls, DynamicSelection):
        return _write_dynamic, _read_dynamic
    if issubclass(cls, Gate):
        return _write_gate, _read_gate
    if issubclass(cls, SingleBest):
        return _write_best, _read_best
    if issubclass(cls, WeightedFuser) or "weights_" in (cls.__doc__ or ""):
        return _write_weights, _read_weights
    return _write_nothing, _read_nothing


_MODELS = {
    MetaDES: {"meta_classifier": BaseEstimator},
    Stacking: {"final_estimator": BaseEstimator},
}
FORMATS = {
    cls.__name__: _format(cls, *_functions(cls), models=_MODELS.get(cls))
    for cls in (*FUSERS.values(), LastStage, WeightedMedian)
    if cls.__module__.startswith("covey.")
}
