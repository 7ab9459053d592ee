"""Sections about the members: what they are good at, who decides where, how they differ."""

import itertools

import numpy as np

from covey.inspection import diversity
from covey.inspection._diversity import MEASURES
from covey.reporting._charts import Bar, bars, heat_map, strip
from covey.reporting._markup import fill, joined, tag
from covey.reporting._parts import Cell, Section, beside, figure, lead, more, note, table
from covey.reporting._svg import described
from covey.reporting._words import (
    DASH,
    MINUS,
    count,
    counted,
    name,
    number,
    one_line,
    percent,
    shortened,
    strong,
    width_of,
)

_MOST_MEMBERS = 24
_MOST_PAIRS = 30
_MOST_CARDS = 12
_MOST_BARS = 6
_MOST_LOOKED_AT = 64
_MOST_STRIP = 12
_MOST_CLASSES = 12

_MEANINGS = {
    "q_statistic": "1: right on the same rows; 0: independently; "
    + MINUS
    + "1: on different ones",
    "correlation": "correlation of being right",
    "disagreement": "how often just one of two is right",
    "double_fault": "how often two err together",
    "interrater_kappa": "agreement in being right, beyond chance",
    "entropy": "how split members are about a row, 0 to 1",
    "kohavi_wolpert_variance": "variance of being right over members",
    "generalized_diversity": "1: when one errs, no other does",
    "coincident_failure_diversity": "1: errors are always those of one member",
    "label_kappa": "agreement of labels, beyond chance",
    "kl_divergence": "how far apart their probabilities are, in nats",
    "posterior_cross_correlation": "how often two drawn labels are the same",
    "posterior_correlation": "correlation of their probabilities",
}


# -- cards -----------------------------------------------------------------------------------


def members(facts):
    """Each member as a small card."""
    order = facts.by_importance
    cards = joined(_card(facts, int(k)) for k in order[:_MOST_CARDS])
    if facts.n_members == 1:
        said = lead(fill("{}: it is the whole model.", strong("One member")))
    else:
        best = int(np.nanargmax(facts.member_accuracy))
        said = lead(
            fill(
                "{}, from {} to {} right when asked alone; {} is the best of them, and the whole "
                "gets {}.",
                strong(counted(facts.n_members, "member")),
                percent(float(np.nanmin(facts.member_accuracy))),
                percent(float(np.nanmax(facts.member_accuracy))),
                name(facts.names[best]),
                percent(facts.accuracy),
            )
        )
    linear = facts.strength is not None and (facts.strength.towards >= 0).any()
    how = note(
        "Bars are the weights of a member, largest first"
        + (
            ": how far one standard deviation of a feature moves its logits. An arrow names the "
            "class that more of the feature speaks for."
            if linear
            else "."
        )
        + " Upright bars show how much of each class it gets right."
        if facts.strength is not None
        else "Upright bars show how much of each class a member gets right."
    )
    body = joined(
        [
            said,
            how,
            tag("div", cards, class_="cards"),
            more(facts.n_members - _MOST_CARDS, "members, asked no more than these"),
        ]
    )
    return Section("members", "The members", "The members, one by one", body)


def _card(facts, k):
    parts = [tag("h3", name(facts.names[k], 26), _kind_of(facts, k))]
    numbers = [
        ("asked", percent(facts.asked_for[k])),
        ("right alone", percent(facts.member_accuracy[k])),
    ]
    if facts.support is not None:
        numbers.append(
            ("features", f"{count(facts.support[k].sum())} of {count(len(facts.features))}")
        )
    parts.append(
        tag(
            "dl",
            *[tag("div", tag("dt", term), tag("dd", said)) for term, said in numbers],
            class_="three",
        )
    )
    parts += _weights_of(facts, k)
    parts += _good_at(facts, k)
    return tag("article", *parts, class_="card")


def _kind_of(facts, k):
    estimators = getattr(facts.flock, "estimators_", None)
    groups = getattr(facts.flock, "group_of_", None)
    if groups is not None:
        return tag("span", f"group {groups[k] + 1}", class_="kind")
    if estimators is None:
        return None
    kind = type(estimators[k]).__name__
    if kind == "LinearMember" or kind.lower() == facts.names[k]:
        return None
    return tag("span", shortened(kind, 26), class_="kind")


def _weights_of(facts, k):
    if facts.strength is None:
        return []
    size, towards = facts.strength.size[k], facts.strength.towards[k]
    heavy = np.argsort(-size, kind="stable")[:_MOST_BARS]
    heavy = heavy[size[heavy] > 0]
    if not len(heavy):
        return []
    items = []
    for place in heavy:
        speaks = f"speaks for {facts.classes[towards[place]]}" if towards[place] >= 0 else ""
        items.append(Bar(facts.features[place], float(size[place]), speaks))
    drawing = bars(
        f"weights-{k}",
        items,
        title=f"The largest weights of {facts.names[k]}",
        description=described((f"{i.name} {i.note}".strip(), number(i.value)) for i in items),
    )
    for_class = {}
    for place in heavy:
        if towards[place] >= 0:
            for_class.setdefault(int(towards[place]), []).append(facts.features[place])
    arrows = [
        tag(
            "li",
            joined([name(f, 18) for f in found[:2]], ", "),
            " → ",
            name(facts.classes[code], 16),
        )
        for code, found in sorted(for_class.items(), key=lambda item: -len(item[1]))[:3]
    ]
    left = int((size > 0).sum()) - len(heavy)
    under = [tag("p", f"and {count(left)} more", class_="note")] if left > 0 else []
    return [drawing, *under, tag("ul", *arrows, class_="arrows") if arrows else None]


def _good_at(facts, k):
    recall = facts.member_recall[k]
    known = np.flatnonzero(~np.isnan(recall))
    if not len(known):
        return []
    best, worst = known[int(recall[known].argmax())], known[int(recall[known].argmin())]
    if recall[best] == recall[worst]:
        said = fill("Equally good at all classes.")
    else:
        said = fill(
            "Best at {} ({}), weakest at {} ({}).",
            name(facts.classes[best], 16),
            percent(recall[best]),
            name(facts.classes[worst], 16),
            percent(recall[worst]),
        )
    sentence = tag("p", said, class_="good")
    if facts.n_classes > _MOST_STRIP:
        return [sentence]
    drawing = strip(
        f"recall-{k}",
        recall.tolist(),
        [one_line(label) for label in facts.classes],
        title=f"What {facts.names[k]} gets right of each class",
        description=described(
            (facts.classes[code], percent(recall[code])) for code in range(facts.n_classes)
        ),
    )
    return [drawing, sentence]


# -- who decides -----------------------------------------------------------------------------


def who_decides(facts):
    """Who is asked for which rows; None for a single member."""
    if facts.n_members < 2:
        return None
    title = "Who decides where"
    if facts.decides_evenly:
        said = lead(
            fill(
                "{}: {} fuses all {} members with equal weights, whatever the row.",
                strong(f"Everyone, everywhere, with a say of {percent(1 / facts.n_members)}"),
                tag("code", type(facts.flock.fuser_).__name__),
                count(facts.n_members),
            )
        )
        return Section("decides", "Who decides", title, said)
    order = facts.by_importance[:_MOST_MEMBERS]
    rows = [facts.names[k] for k in order]
    predicted = facts.predicted[facts.sample]
    found = np.flatnonzero(np.bincount(predicted, minlength=facts.n_classes))
    left = len(found) - _MOST_CLASSES
    found = found[:_MOST_CLASSES]
    columns = [facts.classes[code] for code in found]
    shown = np.stack(
        [facts.importance[predicted == code][:, order].mean(axis=0) for code in found], axis=1
    )
    by_class = heat_map(
        "decides-class-map",
        shown,
        rows,
        columns,
        cell=_cell_for(columns),
        shown=_share_in_cell,
        tip=lambda r, c: f"{rows[r]} on rows called {columns[c]}: {percent(shown[r, c])}",
        longest=90,
        title="How much each member has to say, by the class that is predicted",
        description=described(
            (column, f"{rows[int(shown[:, c].argmax())]} has {percent(shown[:, c].max())}")
            for c, column in enumerate(columns)
        ),
    )
    figures = [
        figure(
            by_class,
            "Per cent of the say, by the class that the model names.",
            wide=len(columns) > 6,
        )
    ]
    regions = _regions(facts)
    if regions is not None:
        figures.append(_by_region(facts, order, rows, regions))
    top = facts.importance.argmax(axis=1)
    leads = np.bincount(top, minlength=facts.n_members) / len(top)
    leader = int(leads.argmax())
    strongest = facts.importance.max(axis=1)
    said = lead(
        fill(
            "{} has the largest say on {} of rows. The member that is asked most has {} of the "
            "say on an average row.",
            strong(name(facts.names[leader])),
            percent(leads[leader]),
            percent(float(strongest.mean())),
        )
    )
    body = joined(
        [
            said,
            beside(*figures),
            more(facts.n_members - len(order), "members"),
            more(left, "classes"),
        ]
    )
    return Section("decides", "Who decides", title, body)


def _cell_for(columns):
    """Cells that are wide enough for the names of a few columns."""
    widest = max(width_of(column) for column in columns) + 10
    return (min(max(widest, 40), 84), 26) if len(columns) <= 5 else (36, 26)


def _share_in_cell(value):
    return f"{100 * value:.0f}" if value >= 0.005 else ""


def _regions(facts):
    """The feature along which importance changes most, and the quarters of the rows by it."""
    rows = facts.seen
    if hasattr(rows, "tocsr"):
        return None
    try:
        table_ = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if not np.isfinite(table_).all() or len(table_) < 8:
        return None
    best = None
    for place in _worth_a_look(facts):
        cuts = np.unique(np.quantile(table_[:, place], (0.25, 0.5, 0.75)))
        cuts = cuts[cuts > table_[:, place].min()]
        quarter = np.searchsorted(cuts, table_[:, place], side="right")
        sizes = np.bincount(quarter)
        if len(sizes) < 2 or sizes.min() == 0:
            continue
        means = np.stack([facts.importance[quarter == q].mean(axis=0) for q in range(len(sizes))])
        overall = facts.importance.mean(axis=0)
        moved = float((sizes[:, None] * (means - overall) ** 2).sum())
        if best is None or moved > best[0] * (1 + 1e-9):
            best = (moved, place, cuts, means)
    return best if best is not None and best[0] > 1e-12 else None


def _worth_a_look(facts):
    """The features that weigh most; of all, where that is not known, the first."""
    if facts.feature_weight is None:
        return range(min(len(facts.features), _MOST_LOOKED_AT))
    order = np.argsort(-np.round(facts.feature_weight, 12), kind="stable")
    return np.sort(order[:_MOST_LOOKED_AT]).tolist()


def _by_region(facts, order, rows, regions):
    _, place, cuts, means = regions
    feature = facts.features[place]
    ends = [number(cut) for cut in cuts]
    columns = [f"< {ends[0]}"]
    columns += [f"{a}{DASH}{b}" for a, b in itertools.pairwise(ends)]
    columns.append(f"≥ {ends[-1]}")
    shown = means[:, order].T
    drawing = heat_map(
        "decides-region-map",
        shown,
        rows,
        columns,
        cell=_cell_for(columns),
        shown=_share_in_cell,
        tip=lambda r, c: f"{rows[r]} where {feature} {columns[c]}: {percent(shown[r, c])}",
        longest=90,
        title=f"How much each member has to say, by {feature}",
        description=described(
            (column, f"{rows[int(shown[:, c].argmax())]} has {percent(shown[:, c].max())}")
            for c, column in enumerate(columns)
        ),
    )
    caption = fill(
        "Per cent of the say, by {}, the feature along which it changes most.", name(feature, 30)
    )
    return figure(drawing, caption)


# -- diversity -------------------------------------------------------------------------------


def differ(facts):
    """How much members differ; None for a single one, or where some are silent."""
    if facts.n_members < 2 or not facts.all_spoke:
        return None
    truth = facts.P.classes[facts.codes[facts.sample]]
    found = diversity(facts.P, truth)
    rows = [
        [
            measure.replace("_", " "),
            Cell(number(value), value),
            "higher" if MEASURES[measure].more_is_diverse else "lower",
            _MEANINGS.get(measure, ""),
        ]
        for measure, value in found.values.items()
    ]
    numbers = table(
        "diversity-table",
        "Measures of diversity; for those between two members, the mean over pairs.",
        ["Measure", "Value", "More diverse is", "Meaning"],
        rows,
        numeric={1},
        wide=True,
    )
    disagreement, faults = found["disagreement"], found["double_fault"]
    said = lead(
        fill(
            "Of two members just one is right on {} of rows, and both err on {}.",
            strong(percent(disagreement)),
            strong(percent(faults)),
        )
    )
    order = facts.by_importance[:_MOST_PAIRS]
    matrix = found.matrices["disagreement"][np.ix_(order, order)].astype(np.float64)
    rows_ = [facts.names[k] for k in order]
    # Each pair once.
    matrix[np.triu_indices(len(matrix))] = np.nan
    highest = float(np.nanmax(matrix))
    drawing = heat_map(
        "diversity-map",
        matrix[1:, :-1],
        rows_[1:],
        rows_[:-1],
        cell=(20, 20) if len(rows_) > 10 else (30, 26),
        tip=lambda r, c: f"{rows_[r + 1]} and {rows_[c]}: {percent(matrix[r + 1, c])}",
        shown=_share_in_cell if len(rows_) <= 10 else None,
        legend=("0 %", percent(highest)),
        longest=110,
        title="How often just one of two members is right",
        description=f"Between {percent(float(np.nanmin(matrix)))} and {percent(highest)} of rows.",
    )
    caption = "How often just one of two members is right, in per cent of rows."
    body = joined(
        [
            said,
            figure(drawing, caption, wide=len(rows_) > 8),
            numbers,
            more(facts.n_members - len(order), "members"),
        ]
    )
    return Section("diversity", "Diversity", "How much members differ", body)
