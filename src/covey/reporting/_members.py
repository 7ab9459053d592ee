"""The section about members: who they are, who decides where, and what they are worth together."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from covey._templates import Markup
from covey.fusers import make_fuser
from covey.inspection import diversity, held_out_bound, vote_bound
from covey.reporting._drawing import Curve, heat_map, line_chart
from covey.reporting._facts import Facts, quarters
from covey.reporting._words import (
    NOTHING,
    Cell,
    described,
    listed,
    name,
    name_cell,
    number_cell,
    percent,
    percent_cell,
    shortened,
    width_of,
)

# How many members, features of a member, features of all and groups of rows are shown.
_MOST_MEMBERS, _MOST_NAMED, _MOST_FEATURES, _MOST_GROUPS = 24, 3, 24, 12
# How many members a curve goes to.
_MOST_CURVE = 60
# How many features are searched for the one along which importance changes most.
_MOST_SEARCHED = 64


def members(facts: Facts) -> dict:
    """Who the members are with what they look at, who decides where, and how much they differ."""
    order, together = facts.by_importance[:_MOST_MEMBERS], facts.n_members > 1
    kinds = [_kind_of(facts, k) for k in order]
    if len(set(kinds)) == 1:
        kinds = [None] * len(kinds)
    complete = together and facts.all_available
    return {
        "rows": [_row(facts, k, kind) for k, kind in zip(order, kinds, strict=True)],
        "kinds": kinds[0] is not None,
        "n_left": facts.n_members - len(order),
        "low": np.nanmin(facts.member_score),
        "high": np.nanmax(facts.member_score),
        "n_terms": getattr(facts.flock, "n_terms_", None),
        "looks": _looks_at(facts, order),
        "decides": _decides(facts, order) if together else None,
        "apart": _apart(facts) if complete else None,
        # On rows that members were fitted on, more of them would seem to bring more.
        "size": _size(facts) if complete and not facts.held_out else None,
        "limits": _limits(facts, complete) if facts.task == "classification" else [],
    }


# -- each ----------------------------------------------------------------------------------------


def _row(facts: Facts, k: int, kind: str | None) -> list:
    """A line of the table of members."""
    parts = facts.member_parts[k] if facts.higher_is_better else -facts.member_parts[k]
    ends = [NOTHING, NOTHING]
    known = parts[~np.isnan(parts)]
    if len(known) and known.min() < known.max():
        ends = [_part(facts, k, int(end)) for end in (np.nanargmax(parts), np.nanargmin(parts))]
    support = facts.support
    return [
        name_cell(facts.names[k], 26),
        *([] if kind is None else [kind]),
        percent_cell(facts.mean_importance[k]),
        number_cell(facts.member_score[k], facts.show),
        *([] if support is None else [number_cell(support[k].sum())]),
        *([] if facts.strength is None else [_heaviest_of(facts, k)]),
        *ends,
    ]


def _part(facts: Facts, k: int, part: int) -> Cell:
    value = facts.member_parts[k, part]
    label = facts.parts[part]
    return Cell(Markup("{} ({})").format(name(label, 16), facts.show(value)), label)


def _heaviest_of(facts: Facts, k: int) -> str:
    """The features that weigh most in a member, and the outcome that more of each favors."""
    size, towards = facts.strength.size[k], facts.strength.towards[k]
    told = []
    for p in np.argsort(-size, kind="stable")[:_MOST_NAMED]:
        if size[p] > 0:
            favors = "" if towards[p] < 0 else name(facts.outcomes[towards[p]], 14)
            words = Markup("{} → {}") if favors else Markup("{}")
            told.append(words.format(name(facts.features[p], 22), favors))
    return listed(told) or NOTHING


def _kind_of(facts: Facts, k: int) -> str:
    groups = getattr(facts.flock, "group_of_", None)
    if groups is not None:
        return f"group {groups[k] + 1}"
    estimators = getattr(facts.flock, "estimators_", None)
    kind = "" if estimators is None else type(estimators[k]).__name__
    if (kind.startswith("Linear") and kind.endswith("Member")) or kind.lower() == facts.names[k]:
        return ""
    return shortened(kind, 26)


def _looks_at(facts: Facts, order: np.ndarray) -> dict | None:
    """Members against features, by weight; None where there is too little to compare."""
    weight, shares = facts.feature_weight, None
    if facts.strength is not None:
        shares = facts.strength.shares
    elif facts.support is not None and not facts.support.all():
        # Of features that are kept, each counts as much as the others.
        shares = facts.support / np.maximum(facts.support.sum(axis=1, keepdims=True), 1)
    if shares is None:
        return None
    weight = shares.mean(axis=0) if weight is None else weight
    kept = np.argsort(-np.round(weight, 12), kind="stable")[:_MOST_FEATURES]
    kept, known = np.sort(kept[weight[kept] > 0]), [k for k in order if shares[k].any()]
    if len(known) < 2 or len(kept) < 2:
        return None
    shown = shares[np.ix_(known, kept)]
    rows, names = [facts.names[k] for k in known], [facts.features[p] for p in kept]
    drawing = heat_map(
        "looks-at-map",
        shown,
        rows,
        names,
        cell=(18, 18) if len(kept) > 14 else (24, 22),
        tip=lambda r, c: f"{rows[r]}, {names[c]}: {percent(shown[r, c])} of its weight",
        legend=("no weight", f"{percent(shown.max())} of the weight of a member"),
        title="How much weight each member gives to each feature",
        description=described(
            (row, f"most to {names[int(shown[r].argmax())]} ({percent(shown[r].max())})")
            for r, row in enumerate(rows)
        ),
    )
    return {
        "drawing": drawing,
        "strongest": facts.features[int(np.argmax(weight))],
        "n_left": int((weight > 0).sum()) - len(kept),
    }


# -- who decides where ---------------------------------------------------------------------------


def _decides(facts: Facts, order: np.ndarray) -> dict:
    """Which member decides which rows; without maps where that does not depend on the row."""
    importance, mean = facts.importance, facts.mean_importance
    found = {
        "evenly": facts.decides_evenly,
        "leader": facts.names[order[0]],
        "strongest": mean[order[0]],
        "by_outcome": None,
    }
    if np.ptp(importance, axis=0).max() < 1e-9:
        return found
    of_row, names = facts.predicted_groups()
    groups = np.flatnonzero(np.bincount(of_row, minlength=len(names)))
    shown = groups[:_MOST_GROUPS]
    means = np.stack([importance[of_row == one].mean(axis=0) for one in shown])
    leads = np.bincount(importance.argmax(axis=1), minlength=facts.n_members) / len(importance)
    region = _region(facts)
    return found | {
        "gate": facts.gate_share,
        "leader": facts.names[int(leads.argmax())],
        "leads": leads.max(),
        "strongest": float(importance.max(axis=1).mean()),
        "by_outcome": _map(facts, order, None, [names[one] for one in shown], means),
        "wide": len(shown) > 6,
        "n_left": len(groups) - len(shown),
        "by_feature": region and _map(facts, order, *region),
        "feature": region and region[0],
    }


def _map(
    facts: Facts, order: np.ndarray, by: str | None, columns: list[str], means: np.ndarray
) -> Markup:
    """Mean importance of members in groups of rows, by a feature or by what is predicted."""
    shown, rows = means[:, order].T, [facts.names[k] for k in order]
    where = "predicted" if by is None else f"where {by} is"
    # Cells are wide enough for the names of a few columns.
    widest = max(width_of(column) for column in columns) + 10
    return heat_map(
        "decides-class-map" if by is None else "decides-region-map",
        shown,
        rows,
        columns,
        cell=(min(max(widest, 40), 84), 26) if len(columns) <= 5 else (36, 26),
        shown=lambda r, c: f"{100 * shown[r, c]:.0f}" if shown[r, c] >= 0.005 else "",
        tip=lambda r, c: f"{rows[r]}, {where} {columns[c]}: {percent(shown[r, c])}",
        longest=90,
        title=f"How much each member decides, by {by or 'what is predicted'}",
        description=described(
            (column, f"{rows[int(shown[:, c].argmax())]} has {percent(shown[:, c].max())}")
            for c, column in enumerate(columns)
        ),
    )


def _region(facts: Facts) -> tuple[str, list[str], np.ndarray] | None:
    """The feature along which importance changes most, its quarters and their mean importance."""
    if hasattr(facts.seen, "tocsr"):
        return None
    try:
        table = np.asarray(facts.seen, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if not np.isfinite(table).all() or len(table) < 8:
        return None
    weight = facts.feature_weight
    searched = np.arange(facts.n_features)[:_MOST_SEARCHED]
    if weight is not None:
        searched = np.sort(np.argsort(-np.round(weight, 12), kind="stable")[:_MOST_SEARCHED])
    best, changed_most = None, 1e-12
    for feature in searched.tolist():
        found = quarters(table[:, feature])
        if found is None:
            continue
        sizes = np.bincount(found.of_row, minlength=len(found.names))
        if sizes.min() == 0:
            continue
        parts = np.eye(len(sizes))[found.of_row]
        means = parts.T @ facts.importance / sizes[:, None]
        changed = float((sizes[:, None] * (means - facts.mean_importance) ** 2).sum())
        if changed > changed_most * (1 + 1e-9):
            best, changed_most = (facts.features[feature], found.names, means), changed
    return best


# -- what they are worth together ----------------------------------------------------------------


def _apart(facts: Facts) -> dict:
    """How much members differ."""
    if facts.task == "classification":
        found = diversity(facts.P, facts.truth, measures=("disagreement", "double_fault"))
        return dict(found.values)
    values = facts.member_values
    pairs = np.triu_indices(facts.n_members, 1)
    squares = (values**2).mean(axis=0)
    between = squares[:, None] + squares - 2 * values.T @ values / len(values)
    return {
        "between": float(np.sqrt(np.maximum(between[pairs], 0.0)).mean()),
        "alone": float((facts.member_errors**2).mean()),
        "spread": float(values.var(axis=1).mean()),
    }


def _size(facts: Facts) -> dict:
    """What more members bring."""
    fuser = facts.flock.fuser_
    given = fuser.get_params()
    weights = given.get("weights")
    # Weights of all members are weights of the first few too, unless the first has none.
    weighted = weights is not None and np.asarray(weights)[0] > 0
    own = not fuser.learns and given.get("k") is None and (weights is None or weighted)
    rule = fuser if own else make_fuser(facts.plain_rule)
    sizes = list(range(1, min(facts.n_members, _MOST_CURVE) + 1))
    rows = facts.flock._check_rows(facts.seen) if rule.needs_X else None
    fused = []
    for k in sizes:
        first = clone(rule).set_params(weights=weights[:k]) if own and weighted else rule
        fused.append(facts.score(first.fuse(facts.P.first(k), rows)))
    oracle, whole = facts.staged_oracle()[: len(sizes)].tolist(), facts.sample_score
    named = type(rule).__name__.lower()
    curves = [
        Curve("first member", [1, sizes[-1]], [fused[0], fused[0]], "level"),
        Curve("oracle", sizes, oracle, "limit"),
        Curve(f"by {named}", sizes, fused, "own" if own else "other"),
        *([] if own else [Curve("as fitted", sizes[-1:], [whole], "own")]),
    ]
    drawing = line_chart(
        "size-lines",
        curves,
        x_name="number of members K",
        show=facts.show,
        highest=facts.highest,
        title=f"{facts.measure} of the first K members",
        description=described((curve.name, facts.show(curve.y[-1])) for curve in curves),
    )
    ends = {"first": fused[0], "fused": fused[-1], "oracle": oracle[-1], "whole": whole}
    shown = {key: facts.show(value) for key, value in ends.items()}
    return {"drawing": drawing, "own": own, "rule": named, "shown": len(sizes), **shown}


def _limits(facts: Facts, complete: bool) -> list[tuple[str, float]]:
    """What errors on new rows stay below, with 95 % confidence."""
    whole = held_out_bound(n_errors=facts.n_rows - facts.n_right, n_samples=facts.n_rows)
    limits = [("the model", whole.guarantee)]
    if not complete or facts.held_out:
        return limits
    n_errors = round((1 - facts.oracle_accuracy) * facts.n_sample)
    oracle = held_out_bound(n_errors=n_errors, n_samples=facts.n_sample)
    limits.append(("a perfect choice of a member for each row", oracle.guarantee))
    fuser = facts.flock.fuser_
    weights = getattr(fuser, "weights", None)
    if type(fuser).__name__ == "Majority" and (weights is None or np.ndim(weights)):
        vote = vote_bound(facts.P, facts.truth, weights)
        limits.append(("a vote by how often two members err together", min(vote.guarantee, 1.0)))
    return limits
