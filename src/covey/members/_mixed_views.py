"""A flock of several kinds of members for people to read: who decided a row and why.

Linear members explain themselves exactly. For others it is tried out: a feature takes its typical
value, the median of the training rows, and the prediction changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from covey.members._flock_summary import (
    HEIGHT,
    WIDTH,
    Summary,
    flock_summary,
    needed_most,
    shortened,
)
from covey.members._flock_views import LEAST_WEIGHT, because, decisions, html_table
from covey.members._member_kinds import LINEAR
from covey.tables._columns import feature_names

# How many features are tried out for a member, at most: those that matter most to the flock.
_MOST_TRIED = 50
# Rows, and numbers, that are predicted at once while features are tried out.
_ROWS_AT_ONCE, _NUMBERS_AT_ONCE = 1 << 14, 1 << 22
# Log-odds of probabilities nearer to 0 and 1 than this say no more: where all of a hundred trees
# agree, one that does not is no great change.
_SUREST = 1e-3
# How long the name of a member may be, and how few lines show linear members at all.
_LONGEST_NAME, _FEWEST_LINES = 30, 4


def mixed_decisions(
    flock: Any, X: Any, *, top: int, max_members: int | None
) -> list[dict[str, Any]]:
    """Return the records of ``explain`` for checked rows; see `decisions`."""
    X = X.toarray() if hasattr(X, "toarray") else X
    records = [
        {**flock._target.decided(flock, fused), "members": []}
        for fused in flock._by_blocks(flock._fused, X)
    ]
    values = flock._by_blocks(flock._member_values, X)
    for number, (name, weight) in enumerate(zip(flock._names(), flock.weights_, strict=True)):
        of_kind = {"member": number + 1, "kind": name}
        if name == LINEAR:
            linear = flock.named_estimators_[LINEAR]
            found = decisions(linear, X, top=top)
            for record, own in zip(records, found, strict=True):
                for one in own["members"]:
                    within = one["member"]
                    called = {**of_kind, "within": within, "name": f"{LINEAR}, member {within}"}
                    one = {**one, "weight": float(weight) * one["weight"], **called}
                    record["members"].append(one)
            continue
        for record, value in zip(records, values[:, number], strict=True):
            called = {**of_kind, "name": name, "weight": float(weight)}
            record["members"].append({**called, **flock._target.decision(value)[0]})
    for record in records:
        record["members"].sort(key=lambda one: -one["weight"])
        kept = [one for one in record["members"] if one["weight"] > LEAST_WEIGHT]
        record["members"] = (kept or record["members"][:1])[:max_members]
    _give_reasons(flock, X, records, values, top)
    return records


def _give_reasons(
    flock: Any, X: np.ndarray, records: list[dict[str, Any]], values: np.ndarray, top: int
) -> None:
    """Let members of other kinds than linear say what moved them, on rows where they are named."""
    names, shares = feature_names(flock), flock._columns.shares()
    tried = _tried(flock, shares)
    columns = _columns(tried, shares)
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
        pushes = _pushes(flock, kind, X[rows], values[rows, number], columns)
        called = [names[which] for which in tried]
        for (_, one), push in zip(own, pushes, strict=True):
            found = because(push, called, top, either_way=not flock._classifies)
            one["because"] = found or [(called[0], 0.0)]


def _columns(tried: np.ndarray, shares: np.ndarray | None) -> list[np.ndarray]:
    """The columns of each name that is tried out."""
    return [
        np.array([which]) if shares is None else np.unique(shares[:, [which]].nonzero()[0])
        for which in tried
    ]


def _tried(flock: Any, shares: np.ndarray | None = None) -> np.ndarray:
    """Which names are tried out, those that matter most first."""
    known = _known_importances(flock)
    if known is None:
        known = _correlations(flock)
    known = known if shares is None else known @ shares
    return np.argsort(-known, kind="stable")[:_MOST_TRIED]


def _known_importances(flock: Any) -> np.ndarray | None:
    """How much features matter to members that know it themselves; None if no member does."""
    found = [
        weight * importance
        for weight, member in zip(flock.weights_, flock.estimators_, strict=True)
        if (importance := _own_importances(flock, member)) is not None
    ]
    return sum(found) if found else None


def _own_importances(flock: Any, member: Any) -> np.ndarray | None:
    if hasattr(member, "model_"):
        own = member.model_.column_sizes()
    else:
        own = getattr(member, "feature_importances_", None)
    if own is None or np.shape(own) != flock.model_.typical.shape or not np.isfinite(own).all():
        return None
    total = np.sum(own)
    return np.asarray(own) / total if total > 0 else None


def _correlations(flock: Any) -> np.ndarray:
    """How closely predictions follow each feature on some rows of the training."""
    X = flock.model_.examples
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
    code = values.argmax(axis=1) if flock._classifies else None
    pushes = np.empty((len(X), len(columns)))
    before = _score(values, code)
    at_once = max(1, min(_ROWS_AT_ONCE // len(X), _NUMBERS_AT_ONCE // X.size))
    for start in range(0, len(columns), at_once):
        some = columns[start : start + at_once]
        changed = np.repeat(X[None], len(some), axis=0)
        for table, which in zip(changed, some, strict=True):
            table[:, which] = flock.model_.typical[which]
        after = flock.model_.prediction(name, changed.reshape(-1, X.shape[1]))
        for offset, part in enumerate(np.split(after, len(some))):
            pushes[:, start + offset] = before - _score(part, code)
    return pushes


def _score(values: np.ndarray, code: np.ndarray | None) -> np.ndarray:
    """Numbers as they are, or the log-odds of classes (n,)."""
    if code is None:
        return values
    p = np.clip(values[np.arange(len(values)), code], _SUREST, 1 - _SUREST)
    return np.log(p) - np.log1p(-p)


def member_importances(flock: Any) -> np.ndarray:
    """How much each feature matters to each member, (K, n_features); rows sum to one, or zero.

    They are members' own importances, or what features move on some rows of the training.
    """
    found = np.zeros((flock.n_estimators_, flock.n_features_in_))
    shares = flock._columns.shares()
    for sizes, name, member in zip(found, flock._names(), flock.estimators_, strict=True):
        own = _own_importances(flock, member)
        if own is not None:
            sizes[:] = own if shares is None else own @ shares
            continue
        tried, X = _tried(flock, shares), flock.model_.examples
        values = flock.model_.prediction(name, X)
        moved = _pushes(flock, name, X, values, _columns(tried, shares))
        sizes[tried] = np.abs(moved).mean(axis=0)
    totals = found.sum(axis=1, keepdims=True)
    return found / np.where(totals > 0, totals, 1.0)


def mixed_importances(flock: Any) -> np.ndarray:
    """How much each feature matters to all members, by their weights, (n_features,)."""
    total = flock.weights_ @ member_importances(flock)
    return total / total.sum() if total.any() else total


def mixed_summary(flock: Any) -> Summary:
    """The text of ``summary``: a line for each kind, then the linear members as they are."""
    names = [shortened(name, _LONGEST_NAME) for name in flock._names()]
    order = np.argsort(-flock.weights_, kind="stable")
    # One line is the first, and one counts the members that do not fit on the screen.
    n_lines = HEIGHT - len(needed_most(flock))
    shown = order if len(order) < n_lines else order[: n_lines - 2]
    width = max(len(names[which]) for which in shown)
    lines = [f"{type(flock).__name__}: {_counted_kinds(flock)}, by weight", *needed_most(flock)]
    for which in shown:
        member = flock.estimators_[which]
        about = f"{names[which]:{width}s}  {100 * flock.weights_[which]:3.0f} %  {_about(member)}"
        room = n_lines - len(shown) - 1
        own: list[str] = []
        if flock._names()[which] == LINEAR and room >= _FEWEST_LINES:
            # Without its first line, which counts what has been counted.
            own = flock_summary(member, WIDTH - 2, room + 1).splitlines()[1:]
            about += "; weights within it:"
        lines += [about[:WIDTH], *(f"  {line}" for line in own)]
    if len(shown) < len(order):
        rest = 100 * flock.weights_[order[len(shown) :]].sum()
        lines.append(f"and {len(order) - len(shown)} more, with {rest:.0f} % together")
    return Summary("\n".join(lines))


def mixed_table(flock: Any) -> str:
    """The members as an HTML table: their name, weight and what they are."""
    order = np.argsort(-flock.weights_, kind="stable")
    rows = [
        (
            flock._names()[which],
            f"{100 * flock.weights_[which]:.0f} %",
            _about(flock.estimators_[which]),
        )
        for which in order
    ]
    return html_table(flock, _counted_kinds(flock), ("member", "weight", "what it is"), rows)


def _counted_kinds(flock: Any) -> str:
    n_members = flock.n_estimators_
    return "1 member" if n_members == 1 else f"{n_members} members of different kinds"


def _about(member: Any) -> str:
    """What a member is, in words; of a pipeline its last step."""
    if hasattr(member, "n_terms_"):
        counts = member.n_estimators_, "" if member.n_estimators_ == 1 else "s"
        return f"a flock of {counts[0]} linear member{counts[1]}, {member.n_terms_:,} terms"
    last = member[-1] if isinstance(member, Pipeline) else member
    return type(last).__name__
