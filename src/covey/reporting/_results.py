"""Sections about how well it does: against others, with more members, on new rows."""

import numpy as np

from covey.fusers import make_fuser
from covey.inspection import (
    held_out_bound,
    oracle_bounds,
    oracle_interval,
    vote_bound,
)
from covey.members import SubsetEnsembleClassifier
from covey.reporting._charts import Curve, Dot, dot_plot, line_chart
from covey.reporting._facts import CONFIDENCE, limits
from covey.reporting._markup import escaped, fill, joined, tag
from covey.reporting._parts import Cell, Section, beside, figure, lead, note, table
from covey.reporting._svg import described
from covey.reporting._words import (
    count,
    interval,
    name,
    number,
    one_line,
    percent,
    strong,
)

# How many members a curve goes to.
_MOST_CURVE = 60


# -- accuracy --------------------------------------------------------------------------------


def accuracy(facts, baselines):
    """How well it does against others."""
    low, high = facts.accuracy_limits
    common, share = facts.most_common
    best = int(np.nanargmax(facts.member_accuracy))
    # (name, accuracy, low, high, log-loss, seconds, kind)
    compared = [("this model", facts.accuracy, low, high, facts.log_loss, None, "own")]
    compared += [_of_baseline(record) for record in baselines or ()]
    n_common = round(share * facts.n_rows)
    compared.append(
        (
            f"always “{one_line(facts.classes[common])}”",
            share,
            *limits(n_common, facts.n_rows),
            None,
            None,
            "limit",
        )
    )
    if facts.n_members > 1:
        n_own = int(facts.spoken[:, best].sum())
        compared.append(
            (
                f"best member ({one_line(facts.names[best])})",
                float(facts.member_accuracy[best]),
                *limits(int(facts.member_right[:, best].sum()), n_own),
                None,
                None,
                "limit",
            )
        )
        compared.append(("oracle", facts.oracle_accuracy, None, None, None, None, "limit"))
    compared = [compared[0], *sorted(compared[1:], key=lambda entry: (-entry[1], entry[0]))]
    dots = [
        Dot(entry[0], entry[1], entry[2], entry[3], entry[6], _dot_tip(entry))
        for entry in compared
    ]
    drawing = dot_plot(
        "accuracy-dots",
        dots,
        title="Accuracy of this model and of what it is compared with",
        description=described((d.name, percent(d.value)) for d in dots),
    )
    timed = any(entry[5] is not None for entry in compared)
    rows = [
        [
            Cell(name(entry[0], 30), one_line(entry[0])),
            Cell(percent(entry[1]), entry[1]),
            Cell(interval(entry[2], entry[3]), -1 if entry[2] is None else entry[2]),
            Cell(number(entry[4]), -1 if entry[4] is None else entry[4]),
            *([Cell(number(entry[5]), -1 if entry[5] is None else entry[5])] if timed else []),
        ]
        for entry in compared
    ]
    numbers = table(
        "accuracy-table",
        f"Accuracy, the interval it lies in, log-loss{', seconds to train' if timed else ''}.",
        ["Model", "Accuracy", "95 % interval", "Log-loss", *(["Seconds"] if timed else [])],
        rows,
        numeric={1, 2, 3, 4},
    )
    right = fill(
        "{} of {} rows are predicted rightly, {} (95{}% interval {}). ",
        count(facts.n_right),
        count(facts.n_rows),
        strong(percent(facts.accuracy)),
        "\u00a0",
        interval(low, high),
    )
    remarks = note(
        "Lines are 95 % intervals (Clopper and Pearson) on these rows; where they overlap much, "
        "the order may be chance. The best member was found on these very rows, which flatters "
        "it. The oracle always asks a member that is right, if there is one: no fusion that "
        "picks a member does better."
        if facts.n_members > 1
        else "Lines are 95 % intervals (Clopper and Pearson) on these rows."
    )
    body = joined(
        [
            lead(right, _compared_said(facts, baselines)),
            beside(figure(drawing), tag("div", numbers)),
            remarks,
        ]
    )
    return Section("accuracy", "Accuracy", "Accuracy against baselines", body)


def _of_baseline(record):
    score = float(record["accuracy"])
    return (
        one_line(record["name"]),
        score,
        record.get("low"),
        record.get("high"),
        record.get("log_loss"),
        record.get("seconds"),
        "other",
    )


def _dot_tip(entry):
    between = "" if entry[2] is None else f", interval {interval(entry[2], entry[3])}"
    return f"{entry[0]}: {percent(entry[1])}{between}"


def _compared_said(facts, baselines):
    if not baselines:
        _, share = facts.most_common
        return fill("Always naming the most common class gives {}.", percent(share))
    best = max(baselines, key=lambda record: record["accuracy"])
    gap = facts.accuracy - float(best["accuracy"])
    if abs(gap) < 5e-4:
        return fill("That is as good as the best baseline, {}.", name(best["name"], 40))
    return fill(
        "That is {} points {} the best baseline, {} ({}).",
        number(abs(100 * gap), 2),
        "above" if gap > 0 else "below",
        name(best["name"], 40),
        percent(float(best["accuracy"])),
    )


# -- how many members ------------------------------------------------------------------------


def size(facts):
    """What more members bring; None for a single one."""
    if facts.n_members < 2 or not facts.all_spoke:
        return None
    fuser = facts.flock.fuser_
    set_for_all = any(
        getattr(fuser, given) is not None
        for given in ("weights", "k")
        if given in fuser.get_params()
    )
    own = not (fuser.learns or set_for_all)
    rule = fuser if own else _plain_rule(facts)
    shown = min(facts.n_members, _MOST_CURVE)
    codes = facts.codes[facts.sample]
    rows = facts.flock._check_rows(facts.seen) if rule.needs_X else None
    fused = [
        float((rule.fuse(facts.P.first(k), rows).argmax(axis=1) == codes).mean())
        for k in range(1, shown + 1)
    ]
    oracle = np.logical_or.accumulate(facts.member_right, axis=1).mean(axis=0)[:shown].tolist()
    rule_name = type(rule).__name__.lower()
    whole = float(facts.right[facts.sample].mean())
    drawing = line_chart(
        "size-lines",
        [
            Curve("oracle", oracle, "limit"),
            Curve(f"by {rule_name}", fused, "own" if own else "other"),
        ],
        x_name="number of members K",
        level=("first member", fused[0]),
        mark=None if own else ("as fitted", whole),
        title="Accuracy of the first K members",
        description=described(
            [
                ("First member alone", percent(fused[0])),
                (f"All {shown} fused by {rule_name}", percent(fused[-1])),
                ("Oracle of all", percent(oracle[-1])),
            ]
            + ([] if own else [("The model as fitted", percent(whole))])
        ),
    )
    said = [
        fill(
            "One member alone gets {} right, {} fused by {} get {}, and a perfect choice of whom "
            "to ask would reach {}.",
            percent(fused[0]),
            count(shown),
            rule_name,
            percent(fused[-1]),
            percent(oracle[-1]),
        )
    ]
    if not own:
        said.append(fill(" The model as fitted reaches {}.", strong(percent(whole))))
    entries = [
        ("First member alone", fused[0]),
        (f"All {shown}, by {rule_name}", fused[-1]),
        *([] if own else [("The model as fitted", whole)]),
        ("Oracle", oracle[-1]),
    ]
    numbers = table(
        "size-table",
        "The same in numbers.",
        ["Fusion", "Accuracy"],
        [[label, Cell(percent(value), value)] for label, value in entries],
        numeric={1},
    )
    remark = None
    if not own:
        remark = note(
            f"{type(fuser).__name__} has learnt to fuse all members and cannot fuse the first "
            f"few: the line shows them under a fixed rule, {rule_name}, and the diamond the model."
            + (
                " Members that were trained to be asked only where they are good do badly so."
                if isinstance(facts.flock, SubsetEnsembleClassifier)
                else ""
            )
        )
    body = joined([lead(*said), beside(figure(drawing), tag("div", numbers, remark))])
    return Section("size", "Number of members", "What more members bring", body)


def _plain_rule(facts):
    return make_fuser("product" if facts.P.kind == "probability" else "majority")


# -- bounds ----------------------------------------------------------------------------------


def bounds(facts):
    """What the error stays below."""
    held = held_out_bound(n_errors=facts.n_rows - facts.n_right, n_samples=facts.n_rows)
    dots = [Dot("this model", held.value, held.value, held.guarantee, "own")]
    rows = [
        _bound_row(
            "This model",
            held.value,
            held.guarantee,
            "from its errors on these rows alone (Clopper and Pearson)",
        )
    ]
    if facts.n_members > 1 and facts.all_spoke:
        more_dots, more_rows = _member_bounds(facts)
        dots += more_dots
        rows += more_rows
    drawing = dot_plot(
        "bounds-dots",
        dots,
        low=0.0,
        title="Errors on these rows, and what they stay below on new ones",
        description=described(
            (d.name, f"{percent(d.value)}, at most {percent(d.high)}") for d in dots
        ),
    )
    said = lead(
        fill(
            "On new rows of the same kind it errs on {} at most, with 95{}% confidence; here it "
            "errs on {}.",
            strong(percent(held.guarantee)),
            "\u00a0",
            percent(held.value),
        )
    )
    numbers = table(
        "bounds-table",
        "Errors: here, and what they stay below with 95 % confidence.",
        ["Of", "Here", "At most", "How"],
        rows,
        numeric={1, 2},
    )
    remarks = note(
        "All of this assumes that these rows are drawn as new ones will be, and were used to "
        "train nothing. Dots are errors here, lines reach to the guarantee."
    )
    body = joined([said, beside(figure(drawing), tag("div", numbers)), remarks])
    return Section("bounds", "Guarantees", "What is guaranteed", body)


def _bound_row(of, here, most, how):
    return [of, Cell(percent(here), here), Cell(percent(most), most), how]


def _member_bounds(facts):
    truth = facts.P.classes[facts.codes[facts.sample]]
    found = oracle_interval(facts.P, truth, confidence=CONFIDENCE)
    low, high = oracle_bounds(found.member_errors)
    both = held_out_bound(
        n_errors=int((~facts.member_right.any(axis=1)).sum()), n_samples=len(facts.sample)
    )
    dots = [Dot("oracle", both.value, both.value, both.guarantee, "limit")]
    rows = [
        _bound_row("Oracle", both.value, both.guarantee, "from the rows on which all members err"),
        _bound_row(
            "Oracle",
            found.observed,
            found.high,
            "from the errors of members alone; however these depend on each other, here it lies "
            f"between {percent(low)} and {percent(high)} (Fréchet)",
        ),
    ]
    if type(facts.flock.fuser_).__name__ != "Majority":
        return dots, rows
    weights = getattr(facts.flock.fuser_, "weights", None)
    if weights is not None and not np.ndim(weights):
        return dots, rows
    formulas = [
        ("vote, first order", "first_order", "twice the error of a member drawn by weight"),
        ("vote, tandem", "tandem", "four times how often two members err together"),
    ]
    if facts.n_classes == 2:
        formulas.append(("vote, C-bound", "c", "from error and disagreement of members"))
    for label, kind, how in formulas:
        bound = vote_bound(facts.P, truth, weights, kind=kind, confidence=CONFIDENCE)
        guarantee = min(bound.guarantee, 1.0)
        dots.append(Dot(label, min(bound.value, 1.0), bound.value, guarantee, "other"))
        rows.append(_bound_row(escaped(label.capitalize()), bound.value, guarantee, how))
    return dots, rows
