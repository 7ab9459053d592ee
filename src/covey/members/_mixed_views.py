"""A flock of several kinds of members for people to read: who decided a row and why.

Linear members explain themselves exactly. For others, effects are tried out: a feature takes its
typical value, the median of the training rows, and the prediction changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from covey._blocks import by_blocks
from covey._decisions import Decision
from covey._number_words import counted
from covey._plain_words import shortened
from covey.inspection._importance import Importance
from covey.members._flock_summary import HEIGHT, WIDTH, Summary, corrected, needed_most
from covey.members._flock_views import LEAST_WEIGHT, because, decided_records, html_table
from covey.members._importance import correlations
from covey.members._linear_model import GatedModel, LinearModel
from covey.tables._columns import feature_names
from covey.tables._known_table import KnownTable

# How many features are tried out for a member, at most: those that matter most to the flock.
_MOST_TRIED = 50
# How many rows, and numbers, are predicted at once while features are tried out.
_ROWS_AT_ONCE, _NUMBERS_AT_ONCE = 1 << 14, 1 << 22
# Probabilities nearer to 0 and 1 than this have equal log-odds: if all of a hundred trees agree,
# one that does not is only a small change.
_SUREST = 1e-3
# How long the name of a member may be, and the least lines that show linear members at all.
_LONGEST_NAME, _FEWEST_LINES = 30, 4


def mixed_decisions(
    model: Any,
    rows: Any,
    *,
    top: int,
    max_members: int | None = None,
    decision: Decision | None = None,
) -> list[dict[str, Any]]:
    """Return the records of ``explain`` for rows as members see them; see `decisions`."""
    X = rows.toarray() if hasattr(rows, "toarray") else rows
    records = decided_records(model, X, decision)
    values = by_blocks(model.member_values, X, finite=True)
    members = zip(model.names(), model.weights, model.estimators(), strict=True)
    for number, (name, weight, member) in enumerate(members):
        of_kind = {"member": number + 1, "kind": name}
        if isinstance(member, LinearModel):
            found = member.decisions(X, top=top)
            for record, own in zip(records, found, strict=True):
                for one in own["members"]:
                    within = one["member"]
                    called = {**of_kind, "within": within, "name": f"{name}, member {within}"}
                    one = {**one, "weight": float(weight) * one["weight"], **called}
                    record["members"].append(one)
            continue
        for record, value in zip(records, values[:, number], strict=True):
            called = {**of_kind, "name": name, "weight": float(weight)}
            record["members"].append({**called, **model.target.decision(value)[0]})
    for record in records:
        record["members"].sort(key=lambda one: -one["weight"])
        kept = [one for one in record["members"] if one["weight"] > LEAST_WEIGHT]
        record["members"] = (kept or record["members"][:1])[:max_members]
    _give_reasons(model, X, records, values, top)
    return records


def _give_reasons(
    model: Any, X: np.ndarray, records: list[dict[str, Any]], values: np.ndarray, top: int
) -> None:
    """Add the reasons of members of other kinds than linear, on rows where they are named."""
    names, tried = feature_names(model.table), _tried(model)
    columns = _columns(tried, model.table)
    for number, kind in enumerate(model.names()):
        own = [
            (row, one)
            for row, record in enumerate(records)
            for one in record["members"]
            if one["kind"] == kind and "because" not in one
        ]
        if not own:
            continue
        rows = np.array([row for row, _ in own])
        pushes = _pushes(model, number, X[rows], values[rows, number], columns)
        called = [names[which] for which in tried]
        for (_, one), push in zip(own, pushes, strict=True):
            found = because(push, called, top, either_way=model.target.is_numeric)
            one["because"] = found or [(called[0], 0.0)]


def _columns(tried: np.ndarray, table: KnownTable) -> list[np.ndarray]:
    """Return the columns of each of the user's columns that is tried out."""
    return [np.flatnonzero(table.column_of == which) for which in tried]


def _tried(model: Any) -> np.ndarray:
    """Return which of the user's columns are tried out, those that matter most first."""
    known = _known_importances(model)
    if known is None:
        # How closely predictions follow each column on some training rows.
        X = model.tried_rows
        known = correlations(X, model.fused(X).reshape(len(X), -1))
    return np.argsort(-model.table.by_feature(known), kind="stable")[:_MOST_TRIED]


def _known_importances(model: Any) -> np.ndarray | None:
    """Return the importances that members report themselves; None if no member reports any."""
    found = [
        weight * importance
        for weight, member in zip(model.weights, model.models.values(), strict=True)
        if (importance := _own_importances(model, member)) is not None
    ]
    return sum(found) if found else None


def _own_importances(model: Any, member: Any) -> np.ndarray | None:
    linear = getattr(member, "model_", member)
    if isinstance(linear, LinearModel):
        own = linear.column_sizes()
    else:
        own = getattr(member, "feature_importances_", None)
    if own is None or np.shape(own) != model.table.filling.shape or not np.isfinite(own).all():
        return None
    total = np.sum(own)
    return np.asarray(own) / total if total > 0 else None


def _pushes(
    model: Any, number: int, X: np.ndarray, values: np.ndarray, columns: list[np.ndarray]
) -> np.ndarray:
    """Return how far the typical values of some columns move what a member predicts, (n, m).

    Of classes it is the log-odds of the class that it predicts, which has ``values`` (n, C).
    """
    name, code = model.names()[number], None
    if not model.target.is_numeric:
        code = values.argmax(axis=1)
    pushes = np.empty((len(X), len(columns)))
    before = _score(values, code)
    at_once = max(1, min(_ROWS_AT_ONCE // len(X), _NUMBERS_AT_ONCE // X.size))
    for start in range(0, len(columns), at_once):
        some = columns[start : start + at_once]
        changed = np.repeat(X[None], len(some), axis=0)
        for table, which in zip(changed, some, strict=True):
            table[:, which] = model.table.filling[which]
        after = model.prediction(name, changed.reshape(-1, X.shape[1]))
        for offset, part in enumerate(np.split(after, len(some))):
            pushes[:, start + offset] = before - _score(part, code)
    return pushes


def _score(values: np.ndarray, code: np.ndarray | None) -> np.ndarray:
    """Return numbers as they are, or the log-odds of classes (n,)."""
    if code is None:
        return values
    p = np.clip(values[np.arange(len(values)), code], _SUREST, 1 - _SUREST)
    return np.log(p) - np.log1p(-p)


def member_importances(model: Any) -> np.ndarray:
    """Return how much each of the user's columns matters to each member, (K, F).

    They are members' own importances, or the effects of columns on some training rows. Rows sum to
    one, or are zero.
    """
    found = np.zeros((model.n_members, model.table.n_features_in_))
    for number, (sizes, member) in enumerate(zip(found, model.models.values(), strict=True)):
        own = _own_importances(model, member)
        if own is not None:
            sizes[:] = model.table.by_feature(own)
            continue
        tried, X = _tried(model), model.tried_rows
        values = model.prediction(model.names()[number], X)
        moved = _pushes(model, number, X, values, _columns(tried, model.table))
        sizes[tried] = np.abs(moved).mean(axis=0)
    totals = found.sum(axis=1, keepdims=True)
    return found / np.where(totals > 0, totals, 1.0)


def mixed_importances(model: Any) -> np.ndarray:
    """Return how much the user's columns matter to all members, by their weights, (F,)."""
    total = model.weights @ member_importances(model)
    return total / total.sum() if total.any() else total


def mixed_summary(
    model: Any,
    called: str | None = None,
    importance: Importance | None = None,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> Summary:
    """Describe the members: a line for each kind, then its linear members by their own lines."""
    names = [shortened(name, _LONGEST_NAME) for name in model.names()]
    members, order = model.estimators(), np.argsort(-model.weights, kind="stable")
    # One line is the first, and one counts the members that do not fit on the screen.
    needs = needed_most(importance) + corrected(model)
    n_lines = height - len(needs)
    shown = order if len(order) < n_lines else order[: n_lines - 2]
    longest = max(len(names[which]) for which in shown)
    lines = [f"{called or type(model).__name__}: {_counted_kinds(model)}, by weight", *needs]
    for which in shown:
        member = members[which]
        about = f"{names[which]:{longest}s}  {100 * model.weights[which]:3.0f} %  {_about(member)}"
        room = n_lines - len(shown) - 1
        own: list[str] = []
        if isinstance(member, LinearModel) and room >= _FEWEST_LINES:
            # Without its first line, whose counts have already been given.
            own = member.describe(width=width - 2, height=room + 1).splitlines()[1:]
            n_lines -= len(own)
            about += "; weights within it:"
        lines += [about[:width], *(f"  {line}" for line in own)]
    if len(shown) < len(order):
        rest = 100 * model.weights[order[len(shown) :]].sum()
        lines.append(f"and {len(order) - len(shown)} more, with {rest:.0f} % together")
    return Summary("\n".join(lines))


def mixed_table(model: Any) -> str:
    """Return the members as an HTML table: their name, weight and kind."""
    names, members = model.names(), model.estimators()
    order = np.argsort(-model.weights, kind="stable")
    rows = [
        (names[which], f"{100 * model.weights[which]:.0f} %", _about(members[which]))
        for which in order
    ]
    return html_table(model, _counted_kinds(model), ("member", "weight", "what it is"), rows)


def _counted_kinds(model: Any) -> str:
    n_members = model.n_members
    return "1 member" if n_members == 1 else f"{n_members} members of different kinds"


def _about(member: Any) -> str:
    """Describe a member in words; for a pipeline, its last step."""
    if isinstance(member, GatedModel):
        members = counted(member.n_members, "linear member")
        return f"a flock of {members}, {member.n_terms:,} terms"
    last = member[-1] if isinstance(member, Pipeline) else member
    return type(last).__name__
