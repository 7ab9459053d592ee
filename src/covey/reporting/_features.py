"""The section about features: which are kept, which together, and by whom."""

import numpy as np

from covey.reporting._charts import heat_map
from covey.reporting._markup import fill, joined
from covey.reporting._parts import Section, figure, lead, more
from covey.reporting._svg import described
from covey.reporting._words import (
    count,
    counted,
    name,
    percent,
    strong,
)

# How many are shown.
_MOST_FEATURES = 24
_MOST_MEMBERS = 24


# -- what members look at --------------------------------------------------------------------


def co_selection(facts):
    """Which features are kept, and which together; None for members without subsets."""
    parts, title = [], "What members look at"
    if facts.support is not None:
        parts += _kept_together(facts)
        if facts.n_members > 1 and not facts.support.all():
            title = "Which features are kept together"
    if facts.strength is not None:
        parts += _looked_at(facts)
    return Section("features", "Features", title, joined(parts)) if parts else None


def _most_weighty(facts):
    """The features to show: those that matter most, in the order of the columns."""
    weight = facts.feature_weight
    if weight is None:
        weight = facts.support.mean(axis=0)
    chosen = np.argsort(-np.round(weight, 12), kind="stable")[:_MOST_FEATURES]
    return np.sort(chosen[weight[chosen] > 0])


def _kept_together(facts):
    support = facts.support.astype(np.float64)
    sizes = facts.support.sum(axis=1)
    n_features = len(facts.features)
    if facts.support.all():
        return [
            lead(
                fill(
                    "{}: a map of which are kept together would have one colour. What each member "
                    "makes of them differs.",
                    strong("Every member looks at every feature"),
                )
            )
        ]
    if facts.n_members == 1:
        return [lead(fill("The member looks at {} of {} features.", sizes[0], n_features))]
    together = support.T @ support / len(support)
    kept = _most_weighty(facts)
    if len(kept) < 2:
        return [lead("Members keep too few features to draw which go together.")]
    shown = together[np.ix_(kept, kept)]
    names = [facts.features[place] for place in kept]

    def tip(row, column):
        if row == column:
            return f"{names[row]}: kept by {percent(shown[row, column])} of members"
        return f"{names[row]} and {names[column]}: {percent(shown[row, column])} keep both"

    # Where nearly all members keep nearly all features, what differs would not be seen.
    lowest = float(shown.min()) if shown.min() > 0.3 else 0.0
    aside = shown - np.diag(np.diag(shown))
    first, second = np.unravel_index(int(aside.argmax()), aside.shape)
    drawing = heat_map(
        "co-selection-map",
        shown,
        names,
        names,
        cell=(18, 18) if len(kept) > 14 else (24, 24),
        tip=tip,
        lowest=lowest,
        highest=1.0,
        legend=(f"{percent(lowest)} of members" if lowest else "no member", "all members"),
        title="How often features are kept together",
        description=described(
            [(f"{names[r]} and {names[c]}", percent(shown[r, c])) for r, c in _top_pairs(aside)]
        ),
    )
    used = facts.support.any(axis=0).sum()
    pair = ""
    n_most = int((np.triu(aside) >= aside.max() - 1e-9).sum()) if aside.max() > 0 else 0
    if n_most > 1:
        who = "every member" if aside.max() > 1 - 1e-9 else f"{percent(aside.max())} of members"
        pair = f" {counted(n_most, 'pair')} are kept together by {who}."
    elif n_most == 1:
        pair = fill(
            " {} and {} meet most often, in {} of members.",
            name(names[first]),
            name(names[second]),
            percent(aside.max()),
        )
    between = (
        f"{count(sizes.min())}"
        if sizes.min() == sizes.max()
        else f"{count(sizes.min())} to {count(sizes.max())}"
    )
    said = lead(
        fill(
            "Members look at {} of {} features each; {} are in use.{}",
            strong(between),
            count(n_features),
            count(used),
            pair,
        )
    )
    left = int(used) - len(kept)
    caption = "Diagonal: how many members keep a feature. Elsewhere: how many keep both."
    return [
        said,
        figure(drawing, caption, wide=True),
        more(left, "features in use") if left > 0 else None,
    ]


def _top_pairs(aside):
    """The pairs that meet most often, each once."""
    rows, columns = np.triu_indices(len(aside), 1)
    order = np.argsort(-aside[rows, columns], kind="stable")[:12]
    return [(int(rows[k]), int(columns[k])) for k in order]


def _looked_at(facts):
    """Members against features, by weight."""
    size = facts.strength.size
    known = [k for k in facts.by_importance if size[k].any()]
    kept, members = _most_weighty(facts), known[:_MOST_MEMBERS]
    total = size.sum(axis=1, keepdims=True)
    share = np.divide(size, total, out=np.zeros_like(size), where=total > 0)
    shown = share[np.ix_(members, kept)]
    rows, names = [facts.names[k] for k in members], [facts.features[place] for place in kept]
    if len(members) < 2 or len(kept) < 2:
        return []
    strongest = kept[int(facts.feature_weight[kept].argmax())]
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
    caption = fill(
        "Each row is a member, those that are asked most first. {} weighs most in the whole.",
        name(facts.features[strongest]),
    )
    used = int((facts.feature_weight > 0).sum())
    return [
        figure(drawing, caption, wide=True),
        more(used - len(kept), "features with some weight"),
        more(len(known) - len(members), "members"),
    ]
