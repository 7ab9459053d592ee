"""The section about features: which are kept, which together, and by which members."""

from __future__ import annotations

import numpy as np

from covey.reporting._facts import Facts
from covey.reporting._maps import heat_map
from covey.reporting._words import described, percent

# How many are shown.
_MOST_FEATURES = 24
_MOST_MEMBERS = 24


def features(facts: Facts) -> dict | None:
    """Which features are kept, and which together; None for members without subsets."""
    if facts.support is None and facts.strength is None:
        return None
    context = {"kept": _kept_together(facts), "weights": _weights(facts)}
    if not any(context.values()):
        return None
    if facts.support is not None and facts.n_members > 1 and not facts.support.all():
        context["title"] = "Which features are kept together"
    return context


def _heaviest(facts: Facts) -> np.ndarray:
    """The features to show: those that matter most, in the order of the columns."""
    weight = facts.feature_weight
    if weight is None:
        weight = facts.support.mean(axis=0)
    chosen = np.argsort(-np.round(weight, 12), kind="stable")[:_MOST_FEATURES]
    return np.sort(chosen[weight[chosen] > 0])


def _kept_together(facts: Facts) -> dict | None:
    """How often members use two features; without a map where it would show nothing."""
    if facts.support is None:
        return None
    sizes = facts.support.sum(axis=1)
    found = {"sizes": sizes, "all": bool(facts.support.all()), "drawing": None}
    kept = _heaviest(facts)
    if found["all"] or facts.n_members == 1 or len(kept) < 2:
        return found
    support = facts.support[:, kept].astype(np.float64)
    together = support.T @ support / len(support)
    names = [facts.features[position] for position in kept]

    def tip(row: int, column: int) -> str:
        if row == column:
            return f"{names[row]}: kept by {percent(together[row, column])} of members"
        return f"{names[row]} and {names[column]}: {percent(together[row, column])} keep both"

    # Where nearly all members keep nearly all features, differences would not be seen.
    lowest = float(together.min()) if together.min() > 0.3 else 0.0
    pairs = np.transpose(np.triu_indices(len(kept), 1))
    order = np.argsort([-together[r, c] for r, c in pairs], kind="stable")[:12]
    top = [tuple(pairs[position]) for position in order]
    most = together[top[0]]
    found["drawing"] = heat_map(
        "co-selection-map",
        together,
        names,
        names,
        cell=(18, 18) if len(kept) > 14 else (24, 24),
        tip=tip,
        lowest=lowest,
        highest=1.0,
        legend=(f"{percent(lowest)} of members" if lowest else "no member", "all members"),
        title="How often features are kept together",
        description=described(
            (f"{names[r]} and {names[c]}", percent(together[r, c])) for r, c in top
        ),
    )
    return found | {
        "n_left": facts.n_used - len(kept),
        "pair": [names[position] for position in top[0]],
        "most": most,
        "n_most": sum(together[r, c] >= most - 1e-9 for r, c in pairs) if most > 0 else 0,
    }


def _weights(facts: Facts) -> dict | None:
    """Members against features, by weight; None where there is too little to compare."""
    if facts.strength is None:
        return None
    known = [k for k in facts.by_importance if facts.strength.size[k].any()]
    kept, members = _heaviest(facts), known[:_MOST_MEMBERS]
    if len(members) < 2 or len(kept) < 2:
        return None
    shown = facts.strength.shares[np.ix_(members, kept)]
    rows, names = [facts.names[k] for k in members], [facts.features[p] for p in kept]
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
        "strongest": facts.features[kept[int(facts.feature_weight[kept].argmax())]],
        "n_features_left": int((facts.feature_weight > 0).sum()) - len(kept),
        "n_members_left": len(known) - len(members),
    }
