"""A flock of several kinds of members for people to read: who decided a row and why.

Linear members explain themselves exactly. For others it is tried out: a feature takes its typical
value, the median of the training rows, and the prediction changes.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from covey.members._flock_summary import Summary
from covey.members._flock_views import LEAST_WEIGHT, because, decisions, feature_names
from covey.members._member_kinds import LINEAR

# How many features are tried out for a member, at most: those that matter most to the flock.
_MOST_TRIED = 50
# Rows that are predicted at once while features are tried out.
_ROWS_AT_ONCE = 1 << 14
# Log-odds of probabilities nearer to 0 and 1 than this say no more.
_SUREST = 1e-6
_WIDTH, _HEIGHT = 100, 24


def mixed_decisions(
    flock: Any,
    X: Any,
    *,
    top: int,
    names: ArrayLike | None,
    shares: np.ndarray | None,
    max_members: int | None,
) -> list[dict[str, Any]]:
    """The records of ``explain`` for checked rows; see `decisions`."""
    X = X.toarray() if hasattr(X, "toarray") else X
    if names is None:
        names, shares = feature_names(flock), np.eye(flock.n_features_in_)
    records = [
        {**flock._decision(fused)[0], "members": []} for fused in flock._by_blocks(flock._fused, X)
    ]
    values = flock._by_blocks(flock._member_values, X)
    for number, (name, weight) in enumerate(zip(flock._names(), flock.weights_, strict=True)):
        of_kind = {"member": number + 1, "kind": name}
        if name == LINEAR:
            linear = flock.named_estimators_[LINEAR]
            found = decisions(linear, X, top=top, names=names, shares=shares)
            for record, own in zip(records, found, strict=True):
                for one in own["members"]:
                    within = one["member"]
                    called = {**of_kind, "within": within, "name": f"{LINEAR}, member {within}"}
                    one = {**one, "weight": float(weight) * one["weight"], **called}
                    record["members"].append(one)
            continue
        for record, value in zip(records, values[:, number], strict=True):
            called = {**of_kind, "name": name, "weight": float(weight)}
            record["members"].append({**called, **flock._decision(value)[0]})
    for record in records:
        record["members"].sort(key=lambda one: -one["weight"])
        kept = [one for one in record["members"] if one["weight"] > LEAST_WEIGHT]
        record["members"] = (kept or record["members"][:1])[:max_members]
    _give_reasons(flock, X, records, values, top, list(names), shares)
    return records


def _give_reasons(
    flock: Any,
    X: np.ndarray,
    records: list[dict[str, Any]],
    values: np.ndarray,
    top: int,
    names: list[str],
    shares: np.ndarray,
) -> None:
    """Let members of other kinds than linear say what moved them, on rows where they are named."""
    columns = [np.flatnonzero(shares[:, which]) for which in range(len(names))]
    tried = _tried(flock, shares)
    for number, kind in enumerate(flock._names()):
        own = [
            (row, one)
            for row, record in enumerate(records)
            for one in record["members"]
            if one["kind"] == kind and "because" not in one
        ]
        if not own:
            continue
        rows = np.array([row for row, _ in own])
        pushes = np.zeros((len(rows), len(names)))
        pushes[:, tried] = _pushes(
            flock, kind, X[rows], values[rows, number], [columns[which] for which in tried]
        )
        for (_, one), push in zip(own, pushes, strict=True):
            found = because(push, names, top, either_way=flock._numeric)
            one["because"] = found or [(names[tried[0]], 0.0)]


def _tried(flock: Any, shares: np.ndarray) -> np.ndarray:
    """Which names are tried out, those that matter most first."""
    known = _known_importances(flock)
    if known is None:
        known = _correlations(flock)
    return np.argsort(-(known @ shares), kind="stable")[:_MOST_TRIED]


def _known_importances(flock: Any) -> np.ndarray | None:
    """How much features matter to members that know it themselves; None if no member does."""
    found = [
        weight * importance
        for weight, member in zip(flock.weights_, flock.estimators_, strict=True)
        if (importance := _own_importances(flock, member)) is not None
    ]
    return sum(found) if found else None


def _own_importances(flock: Any, member: Any) -> np.ndarray | None:
    own = getattr(member, "feature_importances_", None)
    if own is None or np.shape(own) != (flock.n_features_in_,) or not np.isfinite(own).all():
        return None
    total = np.sum(own)
    return np.asarray(own) / total if total > 0 else None


def _correlations(flock: Any) -> np.ndarray:
    """How closely predictions follow each feature on some rows of the training."""
    X = flock._examples
    predicted = flock._fused(X).reshape(len(X), -1)
    X, predicted = X - X.mean(axis=0), predicted - predicted.mean(axis=0)
    sizes = np.outer(np.linalg.norm(X, axis=0), np.linalg.norm(predicted, axis=0))
    return np.abs(X.T @ predicted / np.where(sizes > 0, sizes, 1.0)).max(axis=1)


def _pushes(
    flock: Any, name: str, X: np.ndarray, values: np.ndarray, columns: list[np.ndarray]
) -> np.ndarray:
    """How far the typical values of some columns move what a member predicts, (n, m).

    Of classes it is the log-odds of the class that it predicts, which has ``values`` (n, C).
    """
    member = flock.named_estimators_[name]
    code = None if flock._numeric else values.argmax(axis=1)
    pushes = np.empty((len(X), len(columns)))
    before = _score(values, code)
    at_once = max(1, _ROWS_AT_ONCE // max(1, len(X)))
    for start in range(0, len(columns), at_once):
        some = columns[start : start + at_once]
        changed = np.repeat(X[None], len(some), axis=0)
        for table, which in zip(changed, some, strict=True):
            table[:, which] = flock._typical[which]
        stacked = flock._as_given(changed.reshape(-1, X.shape[1]), name)
        after = flock._member_prediction(name, member, stacked)
        for offset, part in enumerate(np.split(after, len(some))):
            pushes[:, start + offset] = before - _score(part, code)
    return pushes


def _score(values: np.ndarray, code: np.ndarray | None) -> np.ndarray:
    """Numbers as they are, or the log-odds of classes (n,)."""
    if code is None:
        return values
    p = np.clip(values[np.arange(len(values)), code], _SUREST, 1 - _SUREST)
    return np.log(p) - np.log1p(-p)


def mixed_importances(flock: Any) -> np.ndarray:
    """How much each feature matters, (n_features,): members' own, or tried out on some rows."""
    every = np.eye(flock.n_features_in_)
    total = np.zeros(flock.n_features_in_)
    for name, weight in zip(flock._names(), flock.weights_, strict=True):
        member = flock.named_estimators_[name]
        own = _own_importances(flock, member)
        if own is None:
            tried = _tried(flock, every)
            X = flock._examples
            values = flock._member_prediction(name, member, flock._as_given(X, name))
            moved = _pushes(flock, name, X, values, [np.array([which]) for which in tried])
            own = np.zeros(flock.n_features_in_)
            own[tried] = np.abs(moved).mean(axis=0)
            own = own / own.sum() if own.any() else own
        total += weight * own
    return total / total.sum() if total.any() else total


def mixed_summary(flock: Any) -> Summary:
    """The text of ``summary``: a line for each kind, then the linear members as they are."""
    names = flock._names()
    width = max(len(name) for name in names)
    order = np.argsort(-flock.weights_, kind="stable")
    lines = [f"{type(flock).__name__}: {len(names)} members of different kinds, by weight"]
    for which in order:
        name, member = names[which], flock.estimators_[which]
        about = type(member).__name__
        if name == LINEAR:
            about = f"a flock of {member.n_estimators_} linear members, {member.n_terms_} terms:"
        lines.append(f"{name:{width}s}  {100 * flock.weights_[which]:3.0f} %  {about}"[:_WIDTH])
        if name == LINEAR:
            room = _HEIGHT - len(names) - 1
            own = islice(member.summary().splitlines(), 1, room)
            lines += [f"  {line}"[:_WIDTH] for line in own]
    return Summary("\n".join(lines))
