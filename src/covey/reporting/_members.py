"""The section that shows each member as a small card."""

from __future__ import annotations

import numpy as np

from covey.reporting._facts import Facts
from covey.reporting._maps import Bar, bars, strip
from covey.reporting._words import described, number, one_line, shortened

_MOST_CARDS = 12
_MOST_BARS = 6
_MOST_PARTS = 12
_MOST_ARROWS = 3


def members(facts: Facts) -> dict:
    """Each member as a small card."""
    strength, shown = facts.strength, facts.by_importance[:_MOST_CARDS]
    # The cards have one scale, unless members of several kinds measure in units of their own.
    one_unit = strength is not None and bool((strength.towards >= 0).any())
    highest = float(strength.size[shown].max()) if one_unit else None
    return {
        "cards": [_card(facts, int(k), highest) for k in shown],
        "n_left": facts.n_members - _MOST_CARDS,
        "low": np.nanmin(facts.member_score),
        "high": np.nanmax(facts.member_score),
        "linear": one_unit,
        "n_terms": getattr(facts.flock, "n_terms_", None),
        "gates": _gates(facts),
    }


def _gates(facts: Facts) -> list[tuple[int, int]]:
    """The groups that have a gate, from 1, and how many features each gate reads."""
    support = getattr(facts.flock, "gate_support_", None)
    if support is None:
        return []
    counts = np.sum(support, axis=1)
    return [(int(group) + 1, int(counts[group])) for group in np.flatnonzero(counts)]


def _card(facts: Facts, k: int, highest: float | None) -> dict:
    parts, names = facts.member_parts[k], [one_line(part) for part in facts.parts]
    known = np.flatnonzero(~np.isnan(parts))
    losses = -parts[known] if facts.higher_is_better else parts[known]
    best, worst = (
        (facts.parts[known[end(losses)]], parts[known[end(losses)]]) if len(known) else None
        for end in (np.argmin, np.argmax)
    )
    drawing = None
    if len(known) and len(parts) <= _MOST_PARTS:
        drawing = strip(
            f"recall-{k}",
            parts.tolist(),
            names,
            show=facts.show_part,
            highest=facts.highest or float(np.nanmax(facts.member_parts)),
            title=facts.parts_title.format(facts.names[k]),
            description=described(
                (label, facts.show(part)) for label, part in zip(facts.parts, parts, strict=True)
            ),
        )
    return {
        "name": facts.names[k],
        "kind": _kind_of(facts, k),
        "importance": facts.mean_importance[k],
        "score": facts.member_score[k],
        "n_features": None if facts.support is None else int(facts.support[k].sum()),
        "weights": _weights_of(facts, k, highest),
        "parts": drawing,
        "best": best,
        "worst": worst,
    }


def _kind_of(facts: Facts, k: int) -> str | None:
    groups = getattr(facts.flock, "group_of_", None)
    if groups is not None:
        return f"group {groups[k] + 1}"
    estimators = getattr(facts.flock, "estimators_", None)
    kind = "" if estimators is None else type(estimators[k]).__name__
    if (kind.startswith("Linear") and kind.endswith("Member")) or kind.lower() == facts.names[k]:
        return None
    return shortened(kind, 26) or None


def _weights_of(facts: Facts, k: int, highest: float | None) -> dict | None:
    """The largest weights of a member, and what more of these features favors."""
    if facts.strength is None or not facts.strength.size[k].any():
        return None
    size, towards = facts.strength.size[k], facts.strength.towards[k]
    heavy = np.argsort(-size, kind="stable")[:_MOST_BARS]
    heavy = heavy[size[heavy] > 0]
    favored: dict[int, list[str]] = {}
    items = []
    for position in heavy:
        outcome, feature = int(towards[position]), facts.features[position]
        note = facts.favors.format(facts.outcomes[outcome]) if outcome >= 0 else ""
        items.append(Bar(feature, float(size[position]), note))
        if outcome >= 0:
            favored.setdefault(outcome, []).append(feature)
    arrows = sorted(favored.items(), key=lambda item: -len(item[1]))[:_MOST_ARROWS]
    return {
        "drawing": bars(
            f"weights-{k}",
            items,
            highest=highest,
            title=f"The largest weights of {facts.names[k]}",
            description=described((f"{i.name} {i.note}".strip(), number(i.value)) for i in items),
        ),
        "n_left": int((size > 0).sum()) - len(heavy),
        "arrows": [(found[:2], facts.outcomes[outcome]) for outcome, found in arrows],
    }
