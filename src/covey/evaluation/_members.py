"""The members of an ensemble: their measures, the columns they use, and who decides where."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from covey._blocks import take_rows
from covey._core.arrays import evenly
from covey._number_words import range_words
from covey.evaluation._columns import quarters
from covey.evaluation._inputs import Inputs
from covey.evaluation._record import Member, Members
from covey.inspection import diversity, gate_share

# Members are measured on at most this many rows.
MOST_ROWS = 5000
_MOST_MEMBERS, _MOST_NAMED, _MOST_GROUPS = 24, 24, 12


def members(inputs: Inputs, y: np.ndarray | None, flattered: bool) -> Members | None:
    """Return the members of the ensemble, measured on some rows; None if it has none to show."""
    flock = inputs.flock
    if flock is None or y is None:
        return None
    rows = evenly(np.arange(len(y)), MOST_ROWS)
    seen, y = take_rows(inputs.seen, rows), y[rows]
    P, importance = flock._predictions(flock._check_rows(seen)), flock.explain_fusion(seen)
    n_members, share = P.n_members, importance.mean(axis=0)
    available = np.ones((len(y), n_members), bool) if P.available is None else P.available

    def means(values: np.ndarray) -> np.ndarray:
        """Return means over the rows where a member predicts; NaN where there are none."""
        return np.ma.array(values, float, mask=~available).mean(axis=0).filled(np.nan)

    if inputs.classes is None:
        truth, squares = y, (P.values[:, :, 0] - y[:, None]) ** 2
        scores = np.sqrt(means(squares))
        of_row, groups = np.zeros(len(y), dtype=np.intp), list[str]()
        for low, high, rows in quarters(np.asarray(flock.predict(seen), dtype=np.float64)):
            of_row[rows] = len(groups)
            groups.append(range_words(low, high))
        groups = groups or ["all"]
    else:
        codes = np.searchsorted(inputs.classes, y)
        truth, groups = P.classes[codes], [str(label) for label in inputs.classes]
        scores = means(P.labels == codes[:, None])
        of_row = np.asarray(flock.predict_proba(seen)).argmax(axis=1)
    present = np.flatnonzero(np.bincount(of_row, minlength=len(groups)))[:_MOST_GROUPS]
    decides = np.stack([importance[of_row == one].mean(axis=0) for one in present], axis=1)
    support = _support(inputs, n_members)
    weights = _sizes(inputs, seen, n_members, support)
    weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    fuser, whole = flock.fuser_, n_members > 1 and bool(available.all())
    measured = None
    if n_members > 1 and hasattr(fuser, "fuse_by"):
        measured = gate_share(flock, seen, truth)
        measured = None if np.isnan(measured.lost_without_gate) else measured
    apart = None
    if whole and inputs.classes is None:
        values = P.values[:, :, 0]
        apart = float(np.sqrt(2 * n_members / (n_members - 1) * values.var(axis=1).mean()))
    elif whole:
        apart = float(diversity(P, truth, measures=["disagreement"]).values["disagreement"])
    order = np.argsort(-np.round(share, 12), kind="stable")[:_MOST_MEMBERS]
    shown = []
    for k in order.tolist():
        heaviest = np.argsort(-weights[k], kind="stable")[:_MOST_NAMED]
        shown.append(
            Member(
                str(P.names[k]),
                _kind_of(flock, k, str(P.names[k])),
                float(share[k]),
                float(scores[k]),
                None if support is None else int(support[k].sum()),
                [
                    (inputs.features[p], float(weights[k, p]))
                    for p in heaviest
                    if weights[k, p] > 0
                ],
                decides[k].tolist(),
            )
        )
    return Members(
        shown,
        n_members,
        _fusion(flock),
        bool(np.allclose(importance, 1.0 / n_members, atol=1e-9)),
        [groups[one] for one in present],
        flattered,
        None if measured is None else float(measured.lost_without_gate),
        None if measured is None else float(measured.lost_without_members),
        apart,
    )


def _fusion(flock: Any) -> str:
    """Describe in words how members are fused."""
    n_groups, fuser = len(getattr(flock, "group_weights_", ())), flock.fuser_
    gated = "which members count is decided for every row by "
    if n_groups > 1:
        return f"{n_groups} groups of members; within each {gated}a gate"
    if n_groups == 1:
        return f"{gated}a gate"
    name = type(fuser).__name__
    if fuser.needs_X:
        return f"{name}: {gated}its columns"
    learnt = fuser.learns or hasattr(flock, "weights_")
    return f"{name}: {'weights learnt from rows held out' if learnt else 'a fixed rule'}"


def _kind_of(flock: Any, k: int, name: str) -> str:
    groups = getattr(flock, "group_of_", None)
    if groups is not None:
        return f"group {groups[k] + 1}"
    estimators = getattr(flock, "estimators_", None)
    kind = "" if estimators is None else type(estimators[k]).__name__
    linear = kind.startswith("Linear") and kind.endswith("Member")
    return "" if linear or kind.lower() == name else kind


def _support(inputs: Inputs, n_members: int) -> np.ndarray | None:
    """Return the features that each member uses, (n_members, n_features); None if unknown."""
    support = getattr(inputs.flock, "support_", None)
    if support is None or np.shape(support) != (n_members, len(inputs.features)):
        return None
    return np.asarray(support, dtype=bool)


# -- how much each feature moves each member ---------------------------------------------------


def _sizes(inputs: Inputs, seen: Any, n_members: int, support: np.ndarray | None) -> np.ndarray:
    """Return the weight of each feature in each member, (n_members, n_features); 0 if unknown.

    For linear members it is how far one standard deviation of a feature moves the outputs.
    """
    flock, n_features = inputs.flock, len(inputs.features)
    if hasattr(getattr(flock, "model_", None), "member_sizes"):
        return flock.model_.member_sizes()
    # The paper's rivals have only one shape of coefficients.
    coef = getattr(flock, "coef_", None)
    scale = getattr(flock, "scale_", None)
    if coef is not None and scale is not None and np.shape(coef)[2:] == (n_features,):
        return _of_linear(coef * scale)
    size = np.zeros((n_members, n_features))
    for k, member in enumerate(getattr(flock, "estimators_", ())):
        own = np.ones(n_features, bool) if support is None else support[k]
        importances = getattr(member, "feature_importances_", None)
        if importances is not None and np.shape(importances) == (own.sum(),):
            size[k, own] = importances
        elif (moved := _moved_by(member, own, seen)) is not None:
            size[k, own] = moved
    return size


def _of_linear(moved: np.ndarray) -> np.ndarray:
    """Return the size of outputs' changes (K, C, columns), without one all classes share."""
    if moved.shape[1] > 1:
        moved = moved - moved.mean(axis=1, keepdims=True)
    return np.abs(moved).mean(axis=1)


def _moved_by(member: Any, own: np.ndarray, seen: Any) -> np.ndarray | None:
    """Return how far one deviation of each feature moves a linear member; None for others."""
    last = member.steps[-1][1] if isinstance(member, Pipeline) else member
    coef = getattr(last, "coef_", None)
    if coef is None or np.ndim(coef) not in (1, 2) or hasattr(seen, "tocsr"):
        return None
    coef = np.atleast_2d(coef)
    if coef.shape[1] != own.sum():
        return None
    try:
        rows = seen if own.all() else np.asarray(seen)[:, own]
        if last is not member:
            rows = member[:-1].transform(rows)
        spread = np.asarray(rows, dtype=np.float64).std(axis=0)
    except (TypeError, ValueError):
        # Rows of other values than numbers have no deviation.
        return None
    return _of_linear((coef * np.where(np.isfinite(spread), spread, 0.0))[None])[0]
