"""Fusers: fixed rules, learnt weights, gates, dynamic selection and stacking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.naive_bayes import MultinomialNB
from sklearn.preprocessing import StandardScaler

from covey._core.fusion.competence import true_probability
from covey.fusers import (
    FUSERS,
    DynamicSelection,
    Fuser,
    Gate,
    GateFeatures,
    LastStage,
    Predictions,
    SingleBest,
    Stacking,
    WeightedFuser,
    WeightedMedian,
)
from covey.fusers._dynamic import METHODS, by_likeness, default_meta, learnt
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


def _learnt_arrays(
    fuser: DynamicSelection,
    of_numbers: bool,
    n_known: int | None = None,
    n_clusters: int | None = None,
) -> dict[str, tuple[Any, ...]]:
    """{name: (attribute, kind, shape, lowest, highest)} of what a fuser of its method has learnt.

    Numbers of known samples and clusters are None before they are known.
    """
    row, n_members, n_classes = fuser._row, fuser.n_members_, len(fuser.classes_)
    each, code = (n_known, n_members), ("whole", 0, n_classes - 1)
    truth = ("float", None, None) if of_numbers else code
    found = {
        "right": ("right_", "flag", each, None, None),
        "available": ("available_", "flag", each, None, None),
        "truth": ("truth_", truth[0], (n_known,), *truth[1:]),
    }
    if of_numbers:
        found["errors"] = ("squared_errors_", "float", each, 0.0, None)
        found["errors_of_mean"] = ("squared_errors_of_mean_", "float", (n_known,), 0.0, None)
    if row.worth is not None:
        low, high = (0.0, 1.0) if row.worth is true_probability else (-_FARTHEST, _FARTHEST)
        found["worth"] = ("worth_", "float", each, low, high)
    if row.weight is by_likeness:
        found["labels"] = ("_known_labels", code[0], each, *code[1:])
    if fuser._n_profiles():
        width = n_members * (1 if n_classes == 2 else n_classes)
        shape = (n_known, width)
        found["profiles"] = ("_known_profiles", "float", shape, -_FARTHEST, _FARTHEST)
    if row.space == "clusters":
        shape = (n_clusters, n_members)
        found["competence"] = ("competence_", "float", shape, 0.0, 2.0)
    return found


def _write_dynamic(fuser: DynamicSelection, out: Writer) -> dict[str, Any]:
    space, of_numbers = fuser._row.space, fuser.squared_errors_ is not None
    written = {
        name: out.array(getattr(fuser, attribute), kind)
        for name, (attribute, kind, *_) in _learnt_arrays(fuser, of_numbers).items()
    }
    written["scaler"] = out.model(fuser._scaler) if fuser.needs_X else None
    if space == "features":
        written["points"] = write_matrix(fuser._points, out)
    if space == "clusters":
        written["centers"] = out.array(fuser.centers_)
    if fuser._row.measure is learnt:
        by_default = fuser.meta_classifier is None
        meta = fuser.meta_classifier_[-1] if by_default else fuser.meta_classifier_
        written["meta"] = None if fuser._all_alike else out.model(meta)
        written |= {"n_near": int(fuser._n_nearest), "n_alike": int(fuser._n_alike)}
    return written


def _read_dynamic(fuser: DynamicSelection, node: Node) -> None:
    node.check(fuser.method in list(METHODS), "method", "is none that is known.")
    plain = isinstance(fuser.metric, str) and type(fuser.scale) is bool
    node.check(plain, "metric", "or scale is none that files hold.")
    for name in ("n_neighbors", "n_profiles"):
        value = getattr(fuser, name)
        whole = value is None or (type(value) is int and value > 0 and name in fuser._row.options)
        node.check(whole, name, "is no whole number above 0.")
    fuser.squared_errors_ = fuser.squared_errors_of_mean_ = None
    of_numbers = node.has("errors")
    node.check("value" in fuser.kinds or not of_numbers, "errors", "belong to nothing.")
    if fuser.needs_X:
        fuser._scaler = None
    width = None
    if fuser.needs_X and fuser.scale:
        fuser._scaler = node.model("scaler")
        width = getattr(fuser._scaler, "n_features_in_", 0)
        scales = isinstance(fuser._scaler, StandardScaler) and width > 0
        node.check(scales, "scaler", "does not scale.")
    else:
        node.check(node.none("scaler"), "scaler", "belongs to nothing.")
    n_clusters = None
    if fuser._row.space == "clusters":
        fuser.centers_ = node.array("centers", (None, width), low=-_FARTHEST, high=_FARTHEST)
        node.check(fuser.centers_.size, "centers", "are missing.")
        n_clusters = len(fuser.centers_)
    n_known = None
    for name in _learnt_arrays(fuser, of_numbers):
        arrays = _learnt_arrays(fuser, of_numbers, n_known, n_clusters)
        attribute, kind, shape, low, high = arrays[name]
        if name == "available" and node.none(name):
            fuser.available_ = None
            continue
        setattr(fuser, attribute, node.array(name, shape, kind, low=low, high=high))
        n_known = len(fuser.right_)
        node.check(n_known > 0, "right", "is empty.")
    if fuser._n_profiles():
        fuser._set_profiles(fuser._known_profiles)
    if fuser._row.space == "features":
        points = read_matrix(node.child("points"), (n_known, width), _FARTHEST)
        try:
            fuser._set_points(points)
        except (ValueError, ArithmeticError) as error:
            damaged(f"{node.where}.points", f"cannot be searched: {str(error).splitlines()[0]}")
    if fuser._row.measure is learnt:
        _read_meta(fuser, node)


def _read_meta(fuser: DynamicSelection, node: Node) -> None:
    fuser._n_nearest = node.whole("n_near", 1, fuser._n_near())
    fuser._n_alike = node.whole("n_alike", 1, min(fuser._n_profiles(), len(fuser.right_)))
    fuser._all_alike = node.none("meta")
    by_default = fuser.meta_classifier is None
    fuser.meta_classifier_ = default_meta() if by_default else None
    if fuser._all_alike:
        return
    meta = node.model("meta")
    width = 2 * fuser._n_nearest + 1 + fuser._n_alike + 1
    proper = hasattr(meta, "predict_proba") and getattr(meta, "n_features_in_", None) == width
    proper = proper and getattr(meta, "classes_", np.empty(0)).tolist() == [False, True]
    node.check(proper, "meta", "does not fit the evidence.")
    if not by_default:
        fuser.meta_classifier_ = meta
        return
    node.check(isinstance(meta, MultinomialNB), "meta", "is none by default.")
    (_, levels), (name, _) = fuser.meta_classifier_.steps
    levels.n_features_in_ = width
    fuser.meta_classifier_.steps[-1] = (name, meta)


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
        weights = getattr(fuser, "weights", None)
        if callable(getattr(fuser, "metric", None)):
            raise NotCoveredError(f"a {cls.__name__} whose metric is a function")
        if not isinstance(weights, str) and np.ndim(weights) == 2:
            raise NotCoveredError(f"a {cls.__name__} with weights of each sample")
        return form.write(fuser, out)

    return Format(cls, write_checked, form.read)


_FUNCTIONS: dict[type, tuple[Callable[..., Any], Callable[..., Any]]] = {
    Stacking: (_write_stacking, _read_stacking),
    DynamicSelection: (_write_dynamic, _read_dynamic),
    Gate: (_write_gate, _read_gate),
    SingleBest: (_write_best, _read_best),
}
_MODELS = {
    DynamicSelection: {"meta_classifier": BaseEstimator},
    Stacking: {"final_estimator": BaseEstimator},
}
_OF_WEIGHTS = (_write_weights, _read_weights)
FORMATS = {
    cls.__name__: _format(cls, *_FUNCTIONS.get(cls, _OF_WEIGHTS), models=_MODELS.get(cls))
    for cls in (*FUSERS.values(), DynamicSelection, LastStage, WeightedMedian)
    if isinstance(cls, type) and cls.__module__.startswith("covey.")
}
