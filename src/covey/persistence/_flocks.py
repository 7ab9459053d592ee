"""Flocks of linear members, and single ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from covey._core.algorithm1.trainer import AccuracyHistory, LossHistory
from covey._core.basis import Basis
from covey._core.value_losses import ValueLoss
from covey.fusers import Fuser, GatedGroups, Mean
from covey.members import (
    FlockClassifier,
    FlockRegressor,
    GrownMember,
    LinearMember,
    LinearRegressionMember,
    SubsetEnsembleClassifier,
    SubsetEnsembleRegressor,
    feature_names,
)
from covey.persistence._calibration import read_calibration, write_calibration
from covey.persistence._features import read_features, write_features
from covey.persistence._formats import Format, estimator_format
from covey.persistence._membership import check_member, read_fuser
from covey.persistence._preparations import (
    read_preparation,
    same_preparation,
    write_preparation,
)
from covey.persistence._reading import LARGEST, Node
from covey.persistence._seen import read_seen, write_seen
from covey.persistence._stand_ins import try_row
from covey.persistence._writing import Writer, plain

# A feature is divided by this or more.
_NARROWEST = 1e-200
LARGEST_ROW = 1e100
# Each member is an object of its own.
_MOST_MEMBERS = 100_000
# The name of the linear members among those of other kinds.
LINEAR = "linear"


# -- what members see -----------------------------------------------------------------------------


def _write_basis(basis: Basis, out: Writer) -> dict[str, Any]:
    return {
        "n_features": basis.n_features,
        "feature": out.array(basis.feature, "whole"),
        "partner": out.array(basis.partner, "whole"),
        "low": out.array(basis.low),
        "high": out.array(basis.high),
        "center": out.array(basis.center),
        "seen": out.array(basis.seen),
    }


def _read_basis(node: Node, n_features: int) -> Basis:
    with node:
        node.check(node.whole("n_features") == n_features, "n_features", "is another number.")
        feature = node.array("feature", (None,), "whole", low=0, high=n_features - 1)
        shape = (len(feature),)
        partner = node.array("partner", shape, "whole", low=-1, high=n_features - 1)
        low, high = (node.array(name, shape, nan=True) for name in ("low", "high"))
        own = len(feature) >= n_features and np.array_equal(
            feature[:n_features], np.arange(n_features)
        )
        node.check(own, "feature", "does not begin with all features.")
        ramps = ~np.isnan(low)
        node.check(np.array_equal(ramps, ~np.isnan(high)), "high", "belongs to no ramp.")
        special = ramps | (partner >= 0)
        plain = not special[:n_features].any() and special[n_features:].all()
        node.check(plain and not (ramps & (partner >= 0)).any(), "low", "is no column.")
        with np.errstate(over="ignore", divide="ignore"):
            rises = 1.0 / (high[ramps] - low[ramps])
        node.check(np.isfinite(rises).all() and (rises > 0).all(), "high", "is not above low.")
        center = node.array("center", (n_features,))
        seen = None if node.none("seen") else node.array("seen", (2, n_features))
        node.check(seen is None or (seen[0] <= seen[1]).all(), "seen", "is no range.")
    return Basis(n_features, feature, partner, low, high, center, seen)


# -- what all flocks keep -------------------------------------------------------------------------


def _write_flock(flock: Any, out: Writer) -> dict[str, Any]:
    return {
        **write_features(flock, out),
        "seed": flock._seed,
        "usable": out.array(flock._usable, "flag"),
        "mean": out.array(flock.mean_),
        "scale": out.array(flock.scale_),
        "means": out.array(flock._means),
        "preparation": write_preparation(flock.preparation_, out),
        "target": _write_target(flock, out),
        "member_means": out.array(getattr(flock, "_member_means", None)),
        "seen": write_seen(flock._seen_columns, out),
    }


def _read_flock(flock: Any, node: Node) -> tuple[int, int]:
    """Set what all flocks keep; the number of columns, and of what members predict."""
    n_features = read_features(flock, node)
    flock._seed = node.whole("seed", 0, 2**31)
    flock.preparation_ = read_preparation(node, n_features)
    n_columns = n_features if flock.preparation_ is None else flock.preparation_.n_columns
    _read_scale(flock, node, n_columns)
    # Files of before have no means but those that columns are centered by.
    flock._means = node.array("means", (n_columns,)) if node.has("means") else flock.mean_
    read_seen(flock, node, feature_names(flock))
    return n_columns, _read_target(flock, node)


def _read_scale(flock: Any, node: Node, n_features: int) -> None:
    flock._usable = node.array("usable", (n_features,), "flag")
    flock.mean_ = node.array("mean", (n_features,))
    flock.scale_ = node.array("scale", (n_features,), low=_NARROWEST)


def _write_target(flock: Any, out: Writer) -> dict[str, Any]:
    if not flock._numeric:
        return {"classes": out.labels(flock.classes_)}
    loss = flock._value_loss
    return {
        "center": float(flock.y_center_),
        "scale": float(flock.y_scale_),
        "loss": loss.name,
        "threshold": float(loss.threshold),
        "quantile": float(loss.quantile),
        "band": float(loss.band),
    }


def _read_target(flock: Any, node: Node) -> int:
    with node.child("target") as target:
        if not flock._numeric:
            flock.classes_ = target.labels("classes")
            target.check(len(flock.classes_) > 1, "classes", "has fewer than two.")
            return len(flock.classes_)
        flock.y_center_ = target.number("center")
        flock.y_scale_ = target.number("scale", _NARROWEST)
        flock._value_loss = ValueLoss(
            target.text("loss", ("squared", "huber", "quantile")),
            target.number("threshold", 0.0),
            target.number("quantile", 0.0, 1.0),
            target.number("band", 0.0),
        )
    return 1


def _read_means(flock: Any, node: Node, n_members: int, n_outputs: int) -> None:
    if not node.none("member_means"):
        flock._member_means = node.array("member_means", (n_members, n_outputs))


def _check_members(flock: Any, node: Node) -> None:
    for name in ("member_coef_", "member_intercept_"):
        largest = np.abs(getattr(flock, name)).max(initial=0.0)
        node.check_range(largest <= LARGEST, name, "is not finite.")


# -- flocks that a search finds -------------------------------------------------------------------


def _write_searched(flock: Any, out: Writer) -> dict[str, Any]:
    if flock._is_mixed():
        return {"mixed": _write_mixed(flock, out), "linear": None}
    return {"mixed": None, "linear": _write_linear(flock, out)}


def _read_searched(flock: Any, node: Node) -> None:
    flock._grown = []
    if node.none("mixed"):
        with node.child("linear") as inner:
            _read_linear(flock, inner)
        return
    node.check(node.none("linear"), "linear", "belongs to a member.")
    with node.child("mixed") as inner:
        _read_mixed(flock, inner)


def _write_linear(flock: Any, out: Writer) -> dict[str, Any]:
    gates = flock.fuser_
    return {
        **_write_flock(flock, out),
        "basis": _write_basis(flock.basis_, out),
        "coef": out.array(flock.member_coef_),
        "intercept": out.array(flock.member_intercept_),
        "support": out.array(flock.support_, "flag"),
        "n_iter": out.array(flock.n_iter_, "whole"),
        "history": [out.columns(past) for past in flock.history_],
        "column_mean": out.array(flock._column_mean),
        "column_scale": out.array(flock._column_scale),
        "member_shares": out.array(flock._member_shares),
        "gate_coef": out.array(gates.coef),
        "gate_intercept": out.array(gates.intercept),
        "gate_support": out.array(flock.gate_support_, "flag"),
        "sizes": out.array(np.asarray(gates.sizes, dtype=np.int64), "whole"),
        "pools": list(gates.pools),
        "weights": out.array(flock.group_weights_),
        "n_terms": int(flock.n_terms_),
        "candidates": out.columns(flock.cv_results_),
        "calibration": write_calibration(flock, out),
    }


def _read_linear(flock: Any, node: Node) -> None:
    n_features, n_outputs = _read_flock(flock, node)
    basis = _read_basis(node.child("basis"), n_features)
    n_features = flock.n_features_in_
    n_columns = basis.n_columns
    flock.basis_ = basis
    flock.member_coef_ = node.array("coef", (None, n_outputs, n_columns))
    n_members = flock.n_estimators_ = len(flock.member_coef_)
    node.check(0 < n_members <= _MOST_MEMBERS, "coef", "has no members, or too many.")
    flock.member_intercept_ = node.array("intercept", (n_members, n_outputs))
    flock.support_ = node.array("support", (n_members, n_features), "flag")
    flock.n_iter_ = node.array("n_iter", (n_members,), "whole", low=0)
    flock.history_ = _read_histories(node, n_members)
    flock._column_mean = node.array("column_mean", (n_columns,))
    flock._column_scale = node.array("column_scale", (n_columns,), low=0.0)
    flock._member_shares = node.array("member_shares", (n_members,), low=0.0)
    gate_coef = node.array("gate_coef", (n_members, n_columns))
    gate_intercept = node.array("gate_intercept", (n_members,))
    sizes = node.array("sizes", (None,), "whole", low=1, high=n_members)
    node.check(sizes.sum() == n_members, "sizes", "are not those of the members.")
    flock.gate_support_ = node.array("gate_support", (len(sizes), None), "flag")
    pools = node.names("pools", ("linear", "log"), len(sizes))
    weights = node.shares("weights", len(sizes))
    flock.group_of_ = np.repeat(np.arange(len(sizes)), sizes)
    flock.group_weights_ = weights
    flock.n_terms_ = node.whole("n_terms")
    flock.cv_results_ = node.columns("candidates")
    read_calibration(flock, node)
    _read_means(flock, node, n_members, n_outputs)
    classes = None if flock._numeric else flock.classes_
    gates = basis, gate_coef, gate_intercept
    flock.fuser_ = GatedGroups(*gates, sizes.tolist(), pools, weights, classes)


# -- flocks of several kinds of members -----------------------------------------------------------


def _write_mixed(flock: Any, out: Writer) -> dict[str, Any]:
    scaled = hasattr(flock, "mean_")
    return {
        **write_features(flock, out),
        "seed": flock._seed,
        "usable": out.array(flock._usable, "flag") if scaled else None,
        "mean": out.array(flock.mean_) if scaled else None,
        "scale": out.array(flock.scale_) if scaled else None,
        "target": _write_target(flock, out),
        "names": out.texts(list(flock.named_estimators_)),
        "members": out.models(flock.named_estimators_.values()),
        "weights": out.array(flock.weights_),
        "candidates": out.columns(flock.cv_results_),
        "calibration": write_calibration(flock, out),
        "preparation": write_preparation(flock.preparation_, out),
        "typical": out.array(flock._typical),
        "seen": write_seen(flock._seen_columns, out),
        "examples": out.array(flock._examples),
        "sparse": flock._is_sparse,
    }


def _read_mixed(flock: Any, node: Node) -> None:
    n_given = read_features(flock, node)
    read_seen(flock, node, feature_names(flock))
    flock._seed = node.whole("seed", 0, 2**31)
    flock.preparation_ = read_preparation(node, n_given)
    n_features = n_given if flock.preparation_ is None else flock.preparation_.n_columns
    if not (node.none("usable") and node.none("mean") and node.none("scale")):
        _read_scale(flock, node, n_features)
    _read_target(flock, node)
    names = node.member_names("names")
    node.check(names, "names", "are missing.")
    members = node.models("members", len(names))
    for name, member in zip(names, members, strict=True):
        linear = type(member) is type(flock) and hasattr(member, "basis_")
        node.check(linear or name != LINEAR, "members", "has another member as the linear one.")
        if name == LINEAR:
            same = same_preparation(flock.preparation_, member.preparation_)
            node.check(same, "members", "has linear members that see other columns.")
            check_member(flock, member, n_given, node, "members")
        else:
            check_member(flock, member, n_features, node, "members", flock._column_names())
        same = flock._numeric or np.array_equal(member.classes_, flock.classes_)
        node.check(same or name != LINEAR, "members", "has a member of other classes.")
    flock.named_estimators_ = Bunch()
    flock.named_estimators_.update(zip(names, members, strict=True))
    flock.weights_ = node.shares("weights", len(names))
    flock.n_estimators_ = len(names)
    flock.kind_ = "value" if flock._numeric else "probability"
    flock.cv_results_ = node.columns("candidates")
    read_calibration(flock, node)
    flock._typical = node.array("typical", (n_features,), low=-LARGEST_ROW, high=LARGEST_ROW)
    examples = node.array("examples", (None, n_features), low=-LARGEST_ROW, high=LARGEST_ROW)
    node.check(len(examples) > 0, "examples", "are missing.")
    flock._examples = examples
    # Files of before do not tell; all members take dense rows.
    flock._is_sparse = node.flag("sparse") if node.has("sparse") else False
    flock.fuser_ = Mean(weights=flock.weights_)
    try_row(flock, node)


def _read_histories(node: Node, n_members: int) -> list[dict[str, np.ndarray]]:
    return [
        {} if past is None else past.all_columns() for past in node.children("history", n_members)
    ]


# -- flocks that Algorithm 1 grows ----------------------------------------------------------------


def _write_grown(flock: Any, out: Writer) -> dict[str, Any]:
    members = flock._grown
    return {
        **_write_flock(flock, out),
        "n_members": int(flock.n_estimators_),
        "theta": out.array(np.stack([member.theta for member in members])),
        "intercept": out.array(np.stack([member.intercept for member in members])),
        "support": out.array(np.stack([member.support for member in members]), "flag"),
        "n_iter": out.array(np.array([member.n_iter for member in members]), "whole"),
        "score": out.array(np.array([member.score for member in members])),
        "failure": plain([member.failure for member in members]),
        "history": [
            None if member.history is None else out.columns(vars(member.history))
            for member in members
        ],
        "member_shares": out.array(flock._member_shares),
        "grown_with": {name: bool(value) for name, value in flock._grown_with.items()},
        "fuser": out.model(flock.fuser_),
    }


def _read_grown(flock: Any, node: Node) -> None:
    n_features, n_outputs = _read_flock(flock, node)
    theta = node.array("theta", (None, n_outputs, n_features))
    n_grown = len(theta)
    node.check(0 < n_grown <= _MOST_MEMBERS, "theta", "has no members, or too many.")
    intercept = node.array("intercept", (n_grown, n_outputs))
    support = node.array("support", (n_grown, n_features), "flag")
    n_iter = node.array("n_iter", (n_grown,), "whole", low=0)
    score = node.array("score", (n_grown,), nan=True)
    failures = node.plain("failure")
    told = isinstance(failures, list) and len(failures) == n_grown
    told = told and all(why is None or isinstance(why, str) for why in failures)
    node.check(told, "failure", "is not one of each member.")
    kind = LossHistory if flock._numeric else AccuracyHistory
    histories = [_read_history(past, kind) for past in node.children("history", n_grown)]
    parts = zip(theta, intercept, support, n_iter, score, histories, failures, strict=True)
    flock._grown = [
        GrownMember(*arrays, int(steps), float(rated), past, why)
        for *arrays, steps, rated, past, why in parts
    ]
    with node.child("grown_with") as layout:
        names = ("scale_features", "fit_intercept")
        flock._grown_with = {name: layout.flag(name) for name in names}
    n_members = node.whole("n_members", 1, n_grown)
    # The rest is computed from these, as a fit does.
    with np.errstate(over="ignore", invalid="ignore"):
        flock._keep_first(n_members)
    _check_members(flock, node)
    flock._member_shares = node.array("member_shares", (n_members,), low=0.0)
    _read_means(flock, node, n_members, n_outputs)
    flock.fuser_ = read_fuser(node, lambda fuser: flock._example(), n_features)


def _read_history(node: Node | None, kind: type) -> Any:
    if node is None:
        return None
    columns = node.all_columns()
    wanted = list(kind.__dataclass_fields__)
    node.check(sorted(columns) == sorted(wanted), "names", "are not those of a history.")
    return kind(*(columns[name] for name in wanted))


# -- single members -------------------------------------------------------------------------------


def _write_member(member: Any, out: Writer) -> dict[str, Any]:
    basis = member.basis
    return {
        "n_features": int(member.n_features_in_),
        "classes": out.labels(getattr(member, "classes_", None)),
        "coef": out.array(member.coef_),
        "intercept": out.array(np.atleast_1d(member.intercept_)),
        "support": out.array(None if member.support is None else member.support_, "flag"),
        "feature_names": out.texts(member.feature_names),
        "basis": None if basis is None else _write_basis(basis, out),
        "preparation": write_preparation(member.preparation, out),
        "scale": out.array(None if member.scale is None else np.asarray(member.scale)),
    }


def _read_member(node: Node) -> tuple[dict[str, Any], Any, int]:
    """What both kinds of members are made with, their classes, and how many columns they see."""
    n_features = node.whole("n_features", 1)
    preparation = read_preparation(node, n_features)
    n_made = n_features if preparation is None else preparation.n_columns
    basis = None if node.none("basis") else _read_basis(node.child("basis"), n_made)
    given: dict[str, Any] = {"support": None, "feature_names": None, "basis": basis}
    given["preparation"] = preparation
    if not node.none("support"):
        given["support"] = node.array("support", (n_features,), "flag")
    if not node.none("feature_names"):
        given["feature_names"] = np.array(node.texts("feature_names", n_features), dtype=object)
    classes = None if node.none("classes") else node.labels("classes")
    n_columns = n_made if basis is None else basis.n_columns
    # Files of before have none.
    if node.has("scale") and not node.none("scale"):
        given["scale"] = node.array("scale", (n_columns,), low=0.0)
    return given, classes, n_columns


def _read_class_member(node: Node) -> LinearMember:
    given, classes, n_columns = _read_member(node)
    node.check(classes is not None and len(classes) > 1, "classes", "are missing.")
    coef = node.array("coef", (len(classes), n_columns))
    return LinearMember(coef, node.array("intercept", (len(classes),)), classes, **given)


def _read_value_member(node: Node) -> LinearRegressionMember:
    given, classes, n_columns = _read_member(node)
    node.check(classes is None, "classes", "belong to nothing.")
    coef = node.array("coef", (n_columns,))
    return LinearRegressionMember(coef, node.array("intercept", (1,))[0], **given)


FORMATS = {
    cls.__name__: estimator_format(
        cls, "fuser_", *functions, models={"fuser": Fuser}, lists=("members",)
    )
    for classes, functions in (
        ((FlockClassifier, FlockRegressor), (_write_searched, _read_searched)),
        (
            (SubsetEnsembleClassifier, SubsetEnsembleRegressor),
            (_write_grown, _read_grown),
        ),
    )
    for cls in classes
} | {
    "LinearMember": Format(LinearMember, _write_member, _read_class_member),
    "LinearRegressionMember": Format(LinearRegressionMember, _write_member, _read_value_member),
}
