"""The sections of a report: each is a function from an evaluation to its template's context.

They draw and name; they compute nothing of a model or of rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from covey._number_words import (
    cell,
    count,
    counted,
    named,
    number,
    percent,
    points,
    range_words,
    rough,
    signed,
)
from covey._plain_words import one_line
from covey._templates import Markup
from covey.evaluation import Evaluation
from covey.evaluation import _sentences as sentences
from covey.evaluation._record import Column, Effect, Threshold
from covey.reporting import _drawing as draw
from covey.reporting._drawing import Bar, Dot
from covey.reporting._words import Cell, described, name, name_cell, number_cell, width_of

_MOST_EFFECTS, _MOST_NAMED, _MOST_COLUMNS = 5, 12, 40
# How many classes are shown as bars, in a matrix and in a table.
_MOST_BARS, _MOST_CLASSES, _MOST_LISTED = 8, 20, 40
_MOST_FEATURES, _MOST_LOOKED_AT = 24, 3


class Section(NamedTuple):
    """A part of the page; it is left out where its context is None."""

    key: str  # its address on the page, and its template
    title: str
    context: Callable[[Evaluation], dict[str, Any] | None]


# -- for anybody -------------------------------------------------------------------------------

_KEYS = ("how-sure", "looks-at", "when-wrong", "what-changes", "may-i-trust")


def questions(one: Evaluation) -> dict[str, Any]:
    """Return the answers that stand below the first one."""
    return {"answers": list(zip(_KEYS, sentences.answers(one)[1:], strict=True))}


def looks(one: Evaluation) -> dict[str, Any] | None:
    """Return the columns that matter most, with their curves."""
    used = one.used
    if not used:
        return None
    scale = _scale(one, used[:_MOST_EFFECTS])
    cards = []
    for place, column in enumerate(used[:_MOST_EFFECTS]):
        found = column.effect
        what = drawn = None
        if found is not None:
            what = "prediction" if found.outcome is None else sentences.subject(one, found.outcome)
            drawn = _effect(one, column.name, found, place, scale)
        cards.append((column, what, drawn))
    unused = sum(column.share == 0 for column in one.columns)
    return {
        "cards": cards,
        "rest": used[_MOST_EFFECTS:][:_MOST_NAMED],
        "n_unused": unused,
        "n_rest": len(used) - _MOST_EFFECTS - _MOST_NAMED,
    }


def _scale(one: Evaluation, columns: Sequence[Column]) -> tuple[float, float]:
    """Return the ends of the one scale on which all curves are drawn."""
    values = [0.0] if one.task == "classes" else []
    for column in columns:
        found = column.effect
        if found is not None:
            values += [*found.model, *(v for v in found.data if v is not None), found.typical]
            values += [] if found.missing is None else [found.missing]
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    pad = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
    if one.task == "classes":
        return min(low, 0.0), min(1.0, high + max(pad, 0.02))
    return (low if low == 0 else low - pad), high + pad


def _effect(
    one: Evaluation, column: str, found: Effect, place: int, scale: tuple[float, float]
) -> Markup:
    """Draw a line over a column of numbers, or a bar of each category from the mean over all."""
    show = sentences.show_output(one)
    said = list(zip(found.labels, map(show, found.said), strict=True))
    words: dict[str, Any] = {
        "title": f"{'Prediction' if found.outcome is None else found.outcome}, by {column}",
        "description": described(said[:: max(1, len(said) // 6)]),
        "ends": scale,
    }
    if len(found.rows) != len(found.values):
        return draw.value_curve(f"effect-{place}", found, name=column, show=show, **words)

    def moved(value: float) -> str:
        by = value - found.typical
        return points(by) if one.task == "classes" else signed(by)

    items: list[Bar] = []
    for label, value, data, share in zip(
        found.labels, found.model, found.data, found.rows, strict=True
    ):
        note = f"{rough(share)} of rows" + ("" if data is None else f": {show(data)}")
        items.append(Bar(label, value, note))
    if found.kind == "category":
        items.sort(key=lambda item: -item.value)
    items += [] if found.missing is None else [Bar("missing", found.missing)]
    return draw.bars(f"effect-{place}", items, zero=found.typical, width=292, show=moved, **words)


def errors(one: Evaluation) -> dict[str, Any] | None:
    """Return errors of each class, and the effect of another threshold."""
    classes = [each for each in one.by_class if each.rows]
    if not classes:
        return None
    classes.sort(key=lambda each: each.right / each.rows)
    items = []
    for each in classes[:_MOST_BARS]:
        note = f"{count(each.right)} of {count(each.rows)}"
        if each.taken_for is not None:
            note += f", else {'' if len(one.classes) == 2 else 'mostly '}'{each.taken_for}'"
        items.append(Bar(str(each.label), each.right / each.rows, note))
    drawing = draw.bars(
        "found-bars",
        items,
        show=rough,
        title="How many rows of each class are found",
    )
    return {
        "drawing": drawing,
        "n_left": len(classes) - len(items),
        "parts": _parts(one),
        "threshold": threshold(one),
    }


def by_group(one: Evaluation) -> dict[str, Any] | None:
    """Return a table of errors for each column by which rows are grouped."""
    tables = []
    for column in one.by_group:
        heads, cells = sentences.group_table(one, column)
        rows = [[name_cell(row[0][0]), *(Cell(*each) for each in row[1:])] for row in cells]
        tables.append((heads, rows, sentences.group_sentences(one, column)))
    return {"tables": tables, "most": _MOST_NAMED - 2} if tables else None


def off(one: Evaluation) -> dict[str, Any] | None:
    """Return the errors of numbers: predicted and true, by range, and where they are larger."""
    if not one.dots or one.sureness is None:
        return None
    truth, said = np.array([dot[1:] for dot in one.dots]).T
    tips = [f"row {row}: true {cell(y)}, predicted {number(p)}" for row, y, p in one.dots]
    plots = [
        draw.scatter(
            "predicted-dots",
            truth,
            said,
            x_name="true",
            y_name="predicted",
            diagonal=True,
            tips=tips,
            title="Predicted against true values",
            description=f"{len(tips)} rows.",
        ),
        draw.scatter(
            "residual-dots",
            said,
            truth - said,
            x_name="predicted",
            y_name="true less predicted",
            diagonal=False,
            tips=tips,
            title="What is left over against predicted values",
            description=f"{len(tips)} rows.",
        ),
    ]
    items = [
        Bar(range_words(each.low, each.high), each.found.value, f"{count(each.rows)} rows")
        for each in one.ranges
    ]
    by_range = items and draw.bars(
        "range-bars",
        items,
        show=number,
        ends=(0.0, max(item.value for item in items)),
        title="How far off predictions are on average, by the true value",
    )
    return {"plots": plots, "by_range": by_range, "parts": _parts(one), "sure": one.sureness}


def _parts(one: Evaluation) -> Markup | None:
    """Draw the parts of the rows that are worse than the rest as bars; None if there are none."""
    if not one.parts:
        return None
    show = sentences.show_output(one)
    items = [
        Bar(
            f"{part.column}: {part.words.removeprefix('is ')}",
            part.error,
            f"elsewhere {show(part.elsewhere)}",
        )
        for part in one.parts
    ]
    highest = 1.0 if one.task == "classes" else max(item.value for item in items)
    return draw.bars(
        "region-bars",
        items,
        show=show,
        ends=(0.0, highest),
        title="Where rows are worse than elsewhere",
    )


def threshold(one: Evaluation) -> dict[str, Any] | None:
    """Return the chance from which a class is called, and its costs; counts are of all rows."""
    if not one.thresholds:
        return None
    first = one.thresholds[0]
    # If a class is rare, half a chance would find hardly any.
    start = [t.alarms if t.label == one.rare else t.chosen for t in one.thresholds]
    records = [
        {
            "at": t.at,
            "found": t.found,
            "false": t.false,
            "n": t.rows,
            "others": t.others,
            "cost": [number(cost) for cost in t.cost],
            "start": place,
            "name": sentences.subject(one, t.label),
        }
        for t, place in zip(one.thresholds, start, strict=True)
    ]
    return {
        "records": records,
        "now": records[0],
        "data": json.dumps(records, separators=(",", ":")),
        "curves": [_threshold_curve(first, start[0], kind) for kind in ("roc", "pr")],
        "n_left": len(one.classes) - len(records) if len(one.classes) > 2 else 0,
    }


def _threshold_curve(one: Threshold, place: int, kind: str) -> Markup:
    """Draw a curve with the dot of the threshold; the page draws both again after changes."""
    found, false = np.array(one.found), np.array(one.false)
    share, called = one.rows / (one.rows + one.others), found + false
    if kind == "roc":
        x, y = false / one.others, found / one.rows
        names, guess = ("false alarms, of all others", "found"), ((0.0, 1.0), (0.0, 1.0))
        title = "What is found, against false alarms among the others"
    else:
        # Where nothing is called any longer, it stays as it was.
        last = np.maximum.accumulate(np.where(called > 0, np.arange(len(called)), 0))
        x, y = found / one.rows, found[last] / np.maximum(called[last], 1)
        names, guess = ("found", "calls that are right"), ((0.0, 1.0), (share, share))
        title = "How many calls are right, against what is found"
    here = float(x[place]), float(y[place])
    return draw.share_curve(
        f"threshold-{kind}",
        x,
        y,
        here,
        guess,
        names,
        kind,
        title=title,
        description=f"At {percent(one.at[place])}: {percent(here[0])} across, "
        f"{percent(here[1])} up.",
    )


def wrong(one: Evaluation) -> dict[str, Any] | None:
    """Return rows that are wrong, with the reasons for and against the prediction."""
    if not one.wrong:
        return None
    show = _push(one)
    highest = max((abs(push) for row in one.wrong for _, push in row.pushes), default=1.0)
    cards = []
    for place, row in enumerate(one.wrong):
        drawing = row.pushes and draw.bars(
            f"why-{place}",
            [Bar(words, push) for words, push in row.pushes],
            width=272,
            ends=(-highest, highest),
            show=show,
            title=f"What moved the answer for row {row.row}",
        )
        cards.append((row, drawing))
    return {"cards": cards, "judged": one.split != "new rows"}


def _push(one: Evaluation) -> Callable[[float], str]:
    """Return the format of contributions: points of probability, or the target's own unit."""
    scale, digits = (100, 2) if one.task == "classes" else (1, 3)
    return lambda value: f"{'+' if value >= 0 else ''}{number(scale * value, digits)}"


# -- for experts -------------------------------------------------------------------------------


def asked(one: Evaluation) -> dict[str, Any]:
    """Return the purpose and the kind of the model."""
    classes = [f"'{each.label}' ({count(each.rows)})" for each in one.by_class]
    return {"classes": named(classes, _MOST_CLASSES)}


def health(one: Evaluation) -> dict[str, Any] | None:
    """Return facts about the columns; those that need attention come first."""
    if not one.columns:
        return None
    order = sorted(one.columns, key=lambda column: not (column.note or column.missing))
    rows = []
    for position, column in enumerate(order[:_MOST_COLUMNS]):
        spread = column.spread or "-"
        if column.bins:
            title = f"{column.name}: {column.spread}"
            drawing = draw.histogram(f"spread-{position}", column.bins, title=title)
            spread = Markup('<span class="spread">{}<span>{}</span></span>').format(
                drawing, spread
            )
        shown = "-" if column.share is None else rough(column.share)
        rows.append(
            [
                name_cell(column.name, 36),
                column.kind or "-",
                Cell(count(column.missing), column.missing),
                Cell(shown, column.share or 0.0),
                spread,
                column.note,
            ]
        )
    return {
        "rows": rows,
        "n_left": len(order) - len(rows),
        "n_missing": sum(column.missing > 0 for column in one.columns),
        "n_noted": sum(bool(column.note) for column in one.columns),
    }


def scores(one: Evaluation) -> dict[str, Any] | None:
    """Compare the model with others: a drawing of the main measure, a table of all."""
    if not one.scores:
        return None
    measures = sentences.measures_of(one)
    main = measures[0]
    kinds = {"own": "own", "simplest": "limit"}
    known = [score for score in one.scores if not math.isnan(score.get(main).value)]
    known.sort(key=lambda score: (score.kind != "own", -score.get(main).value))
    show = percent if main in sentences.PLAIN else (lambda value: f"{value:.2f}")
    least = -1.0 if main == "r2" else 0.0
    dots = []
    for score in known:
        value, low, high = score.get(main)
        start, end = (max(least, low), high) if math.isfinite(low + high) else (None, None)
        tip = f"{score.name}: {sentences.score_text(score, main)}"
        dots.append(Dot(score.name, value, start, end, kinds.get(score.kind, "other"), tip))
    drawing = dots and draw.dot_plot(
        "score-dots",
        dots,
        title="This model and what it is compared with",
        least=least,
        show=show,
    )
    rows = [
        [
            name_cell(score.name),
            *(
                Cell(sentences.score_text(score, m), number_cell(score.get(m).value).by)
                for m in measures
            ),
            number_cell(score.seconds),
        ]
        for score in one.scores
    ]
    heads = ["Model", *(sentences.head_of(m).capitalize() for m in measures), "Seconds"]
    return {"drawing": drawing, "heads": heads, "rows": rows}


def members(one: Evaluation) -> dict[str, Any] | None:
    """Return the members, the columns that they use, and who decides where."""
    found = one.members
    if found is None:
        return None
    shown, names = found.shown, [member.name for member in found.shown]
    alone, show = ("Right alone", percent) if one.task == "classes" else ("RMSE alone", number)
    cells: dict[str, list[Any]] = {
        "Member": [name_cell(name, 26) for name in names],
        "Kind": [m.kind for m in shown],
        "Decides": [number_cell(m.share, percent) for m in shown],
        alone: [number_cell(m.score, show) for m in shown],
        "Features": [number_cell(m.n_columns) for m in shown],
        "Looks most at": [
            Markup(", ").join(name(column, 22) for column, _ in m.looks_at[:_MOST_LOOKED_AT])
            for m in shown
        ],
    }
    if len(set(cells["Kind"])) == 1:
        del cells["Kind"]
    if all(m.n_columns is None for m in shown):
        del cells["Features"]
    decides = None
    if not found.evenly and len(found.groups) > 1:
        shares = np.array([member.decides for member in shown])
        if np.ptp(shares, axis=1).max() > 1e-9:
            decides = _map(
                "decides-map",
                shares,
                names,
                found.groups,
                "How much each member decides, by what is predicted",
                "of the decision",
                written=True,
            )
    features = found.looked_at[:_MOST_FEATURES]
    looks_at = None
    if len(shown) > 1 and len(features) > 1:
        table = [
            [dict(member.looks_at).get(column, 0.0) for column in features] for member in shown
        ]
        looks_at = _map(
            "looks-at-map",
            np.array(table),
            names,
            features,
            "How much weight each member gives to each feature",
            "of its weight",
        )
    return {
        "rows": list(zip(*cells.values(), strict=True)),
        "heads": list(cells),
        "numeric": [
            k for k, head in enumerate(cells) if head not in ("Member", "Kind", "Looks most at")
        ],
        "found": found,
        "decides": decides,
        "looks_at": looks_at,
        "n_left": found.number - len(shown),
    }


def _map(
    key: str,
    values: np.ndarray,
    rows: list[str],
    columns: list[str],
    title: str,
    of: str,
    written: bool = False,
) -> Markup:
    """Draw shares of members as shades, with the numbers where there is room."""
    widest = min(max(max(width_of(column) for column in columns) + 10, 40), 84)
    size = (widest, 26) if written and len(columns) <= 5 else (36, 26) if written else (22, 22)
    return draw.heat_map(
        key,
        values,
        rows,
        columns,
        cell=size,
        longest=90 if written else 120,
        shown=(lambda r, c: f"{100 * values[r, c]:.0f}" if values[r, c] >= 0.005 else "")
        if written
        else None,
        tip=lambda r, c: f"{rows[r]}, {columns[c]}: {percent(values[r, c])} {of}",
        legend=None if written else ("none", f"{percent(values.max())} {of}"),
        title=title,
        description=described(
            (row, f"most {columns[int(values[r].argmax())]} ({percent(values[r].max())})")
            for r, row in enumerate(rows)
        ),
    )


def confusion(one: Evaluation) -> dict[str, Any] | None:
    """Return which classes are mistaken for which."""
    if not one.confusion:
        return None
    matrix = np.array(one.confusion)
    off_diagonal = matrix - np.diag(np.diag(matrix))
    kept = np.arange(len(matrix))
    if len(kept) > _MOST_CLASSES:
        trouble = off_diagonal.sum(axis=0) + off_diagonal.sum(axis=1)
        kept = np.sort(np.argsort(-trouble, kind="stable")[:_MOST_CLASSES])
    names, found = [str(one.classes[code]) for code in kept], matrix[np.ix_(kept, kept)]
    of_class = found / np.maximum(matrix.sum(axis=1), 1)[kept, None]
    across = 26.0 if len(kept) > 12 else max(34, max(width_of(count(v)) for v in found.flat) + 12)
    if len(kept) <= 6:  # there is room for names that stand upright
        across = max(across, min(84, max(width_of(label) for label in names) + 12))
    drawing = draw.heat_map(
        "confusion-map",
        of_class,
        names,
        names,
        cell=(across, 34 if len(kept) <= 12 else 24),
        shown=lambda row, column: count(found[row, column]) if found[row, column] else "",
        tip=lambda row, column: (
            f"true {names[row]}, called {names[column]}: {counted(found[row, column], 'row')}, "
            f"{percent(of_class[row, column])} of the class"
        ),
        highest=1.0,
        legend=("0 %", "100 % of the class"),
        longest=90,
        title="Confusion matrix",
        description=described(
            (f"{one.classes[c]} called {one.classes[d]}", counted(matrix[c, d], "row"))
            for c, d in np.argwhere(matrix)[:200]
        ),
    )
    rows = [
        [
            name_cell(each.label, 26),
            number_cell(each.rows, count),
            *(
                number_cell(each.right / all_of if all_of else None, percent)
                for all_of in (each.rows, each.said)
            ),
        ]
        for each in one.by_class
    ]
    return {
        "drawing": drawing,
        "n_kept": len(kept),
        "rows": rows,
        "most_listed": _MOST_LISTED,
        "n_wrong": int(off_diagonal.sum()),
    }


def calibration(one: Evaluation) -> dict[str, Any] | None:
    """Return whether probabilities can be believed."""
    if not one.calibration or one.own is None:
        return None
    bins = one.calibration
    drawing = draw.reliability(
        "calibration-bins",
        bins,
        title="How often it is so, against the chance that was said",
        description=described(
            (f"said {percent(b.expected)}", f"so on {percent(b.found.value)} of {count(b.rows)}")
            for b in bins
        ),
    )
    rows = [
        [
            "Log-loss",
            sentences.score_text(one.own, "log_loss"),
            "mean negative logarithm of the probability of the truth",
        ],
        [
            "Brier score",
            number(one.own.get("brier").value),
            "mean squared distance from the truth, 0 to 2",
        ],
        [
            "Calibration error",
            percent(one.calibration_error),
            "mean gap between the dots and the line",
        ],
    ]
    what = "the predicted class" if one.rare is None else sentences.subject(one, one.rare)
    return {"drawing": drawing, "rows": rows, "what": what}


def use(one: Evaluation) -> dict[str, Any]:
    """Return lines of code that use the model."""
    names = [repr(one_line(column.name)) for column in one.columns if column.share is not None]
    return {"columns": named(names, 3)}


FOR_PEOPLE = (
    Section("answers", "Five questions", questions),
    Section("looks", "What it looks at", looks),
    Section("errors", "Where it errs", errors),
    Section("off", "How far off it is", off),
    Section("groups", "Group by group", by_group),
    Section("wrong", "Wrong rows, and why", wrong),
)
# Behind a fold.
FOR_EXPERTS = (
    Section("asked", "What was asked", asked),
    Section("health", "The columns", health),
    Section("scores", "Beside other models", scores),
    Section("members", "The members", members),
    Section("confusion", "Which classes are confused", confusion),
    Section("calibration", "Can its probabilities be believed?", calibration),
    Section("use", "How to use it", use),
)
