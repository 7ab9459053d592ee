"""The section about which members decide which rows."""

from __future__ import annotations

import numpy as np

from covey._templates import Markup
from covey.reporting._facts import Facts, quarters
from covey.reporting._maps import heat_map
from covey.reporting._words import described, percent, percent_cell, width_of

_MOST_MEMBERS = 24
_MOST_COLUMNS = 12
# How many features are searched for the one along which importance changes most.
_MOST_SEARCHED = 64


def decides(facts: Facts) -> dict | None:
    """Which member decides which rows; None for a single member."""
    if facts.n_members < 2:
        return None
    if facts.decides_evenly:
        return {"evenly": True}
    order = facts.by_importance[:_MOST_MEMBERS]
    if np.ptp(facts.importance, axis=0).max() < 1e-9:
        shares = facts.mean_importance[order]
        return {
            "evenly": False,
            "leader": facts.names[order[0]],
            "strongest": shares[0],
            "everywhere": [
                [facts.names[k], percent_cell(share)]
                for k, share in zip(order, shares, strict=True)
            ],
            "n_members_left": facts.n_members - len(order),
        }
    group, names = facts.predicted_groups()
    found = np.flatnonzero(np.bincount(group, minlength=len(names)))
    shown = found[:_MOST_COLUMNS]
    means = np.stack([facts.importance[group == one].mean(axis=0) for one in shown])
    columns = [names[one] for one in shown]
    top = facts.importance.argmax(axis=1)
    leads = np.bincount(top, minlength=facts.n_members) / len(top)
    region = _region(facts)
    return {
        "evenly": False,
        "everywhere": None,
        "gate": facts.gate_share,
        "by_outcome": _map(facts, order, None, columns, means),
        "n_columns": len(columns),
        "n_groups_left": len(found) - len(shown),
        "by_feature": region and _map(facts, order, *region),
        "feature": region and region[0],
        "n_members_left": facts.n_members - len(order),
        "leader": facts.names[int(leads.argmax())],
        "leads": leads.max(),
        "strongest": float(facts.importance.max(axis=1).mean()),
    }


def _map(
    facts: Facts, order: np.ndarray, by: str | None, columns: list[str], means: np.ndarray
) -> Markup:
    """Mean importance of members in groups of rows, by a feature or by what is predicted."""
    shown, rows = means[:, order].T, [facts.names[k] for k in order]
    where = facts.predicted_as if by is None else f"where {by}"
    # Cells are wide enough for the names of a few columns.
    widest = max(width_of(column) for column in columns) + 10
    return heat_map(
        "decides-class-map" if by is None else "decides-region-map",
        shown,
        rows,
        columns,
        cell=(min(max(widest, 40), 84), 26) if len(columns) <= 5 else (36, 26),
        shown=lambda r, c: f"{100 * shown[r, c]:.0f}" if shown[r, c] >= 0.005 else "",
        tip=lambda r, c: f"{rows[r]} {where} {columns[c]}: {percent(shown[r, c])}",
        longest=90,
        title=f"How much each member decides, by {by or facts.predicted_what}",
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
    best, changed_most = None, 1e-12
    for feature in _searched(facts):
        found = quarters(table[:, feature])
        if found is None:
            continue
        sizes = np.bincount(found.of_row, minlength=len(found.names))
        if sizes.min() == 0:
            continue
        means = np.stack(
            [facts.importance[found.of_row == q].mean(axis=0) for q in range(len(sizes))]
        )
        changed = (sizes[:, None] * (means - facts.mean_importance) ** 2).sum()
        if changed > changed_most * (1 + 1e-9):
            best = facts.features[feature], found.names, means
            changed_most = float(changed)
    return best


def _searched(facts: Facts) -> list[int]:
    """The features that weigh most; the first of all, where that is not known."""
    if facts.feature_weight is None:
        return list(range(min(facts.n_features, _MOST_SEARCHED)))
    order = np.argsort(-np.round(facts.feature_weight, 12), kind="stable")
    return np.sort(order[:_MOST_SEARCHED]).tolist()
