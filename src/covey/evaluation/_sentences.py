"""The sentences about an evaluation, made once for every page, terminal and file."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from covey._number_words import (
    count,
    counted,
    digits_of,
    listed,
    named,
    number,
    percent,
    points,
    quoted,
    range_words,
    rough,
    span,
)
from covey.tables._kinds import is_number

if TYPE_CHECKING:
    from covey._intervals import Interval
    from covey.evaluation._record import (
        Column,
        Effect,
        Evaluation,
        Label,
        Readable,
        Score,
        Threshold,
    )

QUESTIONS = (
    "How right is it?",
    "How sure is it?",
    "What does it look at?",
    "When is it wrong?",
    "What would change it?",
    "May I trust it?",
)
LOOKS_AT = QUESTIONS[2]
# With more terms than this, nobody reads all of them.
MOST_READ = 40
# How many columns are described, and from which share on one is even if its error is large.
_MOST_COLUMNS, _LARGE_SHARE = 5, 0.1
# The deviations of the mean probability up to which it counts as right, and a model as good.
_CLOSE = 0.02
# A column alone moves predictions if it moves them by this part of their distance; "a little" or
# "the other way" from these parts on, and never further than this multiple.
_BY_ITSELF, _AGAINST, _FARTHEST = 1 / 3, 0.1, 2.0
# A gap stands out if it is by this part of the values' distance beyond them; and values move
# nothing beside it if their distance is this part of that.
_OF_GAPS = 0.25
# A range that is wider than this to each side cannot tell whether a group differs.
_WIDE = 0.1
# Labels that stand for the target itself, and those without a meaning unless it is named.
_YES, _BARE = {"1", "yes", "true", "y", "t"}, {"0", "no", "false", "n", "f"}


def answers(one: Evaluation) -> list[tuple[str, list[str]]]:
    """Return the questions that a reader asks first, and the record's answers.

    Examples
    --------
    >>> from covey.evaluation import Evaluation
    >>> from covey.evaluation._sentences import answers
    >>> answers(Evaluation("numbers"))[0]
    ('How right is it?', ['That is not known: no row was held out to see.'])
    """
    said = (_right, _sure, _looks_at, _wrong, _changes, _trust)
    return [(question, say(one)) for question, say in zip(QUESTIONS, said, strict=True)]


def subject(one: Evaluation, label: Label | None) -> str:
    """Name a class as a sentence does: 'denied'; for yes and no, the target."""
    text, *others = (
        str(each).lower().removesuffix(".0")
        for each in (label, *(each for each in one.classes if each != label))
    )
    if not one.target or not (text in _YES | _BARE or is_number(text)):
        return quoted(label)
    is_event = text in _YES and len(others) == 1 and others[0] in _BARE
    return one.target if is_event else f"{one.target} = {label}"


def heading(one: Evaluation) -> str:
    """Return the subject and size of the model, the first line of all."""
    what = "a number" if one.task == "numbers" else f"{len(one.classes)} classes"
    rows = one.n_rows or one.n_held_out
    looked = [column for column in one.columns if column.share is not None]
    n_columns = f"{len(looked)} of {len(one.columns)}" if one.columns else "no"
    return f"{one.target or 'The target'}: {what}, {counted(rows, 'row')}, {n_columns} columns."


def size(one: Evaluation) -> str:
    """Describe how much there is to read, and the price of a shorter version; empty if unknown."""
    if one.n_terms is None and one.n_members is None:
        return ""
    parts = [] if one.n_terms is None else [counted(one.n_terms, "term")]
    parts += [] if one.n_members is None else [counted(one.n_members, "member")]
    said = f"There are {' in '.join(parts)} to read."
    said = said.replace("There are 1 ", "There is 1 ")
    own, other, full = one.own, one.readable, one.score("full")
    if other is not None and (one.n_terms or math.inf) > MOST_READ:
        said += (
            f" With {counted(other.terms, 'term')} {_price(one, other)}: --max-terms {MOST_READ}."
        )
    elif full is not None and own is not None:
        said += f" The price of being simple: {_short(one, own)} instead of {_short(one, full)}."
    if (free := one.score("free")) is not None and own is not None:
        price = f"{_short(one, own)} instead of {_short(one, free)}"
        said += f" The price of the constraints: {price}."
    return said


def _price(one: Evaluation, other: Readable) -> str:
    """Describe the price of a version with few terms, as a difference on the same rows."""
    lost = other.of_all - other.value
    if one.rare is not None:
        less, by = "lower" if lost > 0 else "higher", f"{abs(lost):.2f}"
        return f"its area under the curve is {'the same' if by == '0.00' else f'{by} {less}'}"
    less, by = "less" if lost > 0 else "more", points(abs(lost)).lstrip("+")
    often, what = (" often", "is right") if one.task == "classes" else ("", "explains")
    return (
        f"it {what} as{often or ' much'}"
        if by == "0.0"
        else f"it {what} {by} points {less}{often}"
    )


def _short(one: Evaluation, score: Score) -> str:
    if one.rare is not None:
        return f"area {score.get('auc').value:.3f}"
    what = "right" if one.task == "classes" else "explained"
    return f"{percent(max(score.main.value, 0.0))} {what}"


def judged_by(one: Evaluation) -> str:
    """Describe the rows on which the model is judged."""
    if one.own is None:
        return "It was not judged by rows held out."
    if one.split == "new rows":
        known = "" if one.caution else ", which it had not seen"
        return f"Judged on {counted(one.n_held_out, 'row')}{known}."
    each = ", each by a model that had not seen it"
    return f"Judged on {counted(one.n_held_out, 'row')}{each} ({one.how})."


# -- how right ---------------------------------------------------------------------------------


def _unseen(one: Evaluation) -> str:
    return "these rows" if one.caution else "rows that it had not seen"


def _right(one: Evaluation) -> list[str]:
    own = one.own
    if own is None:
        return ["That is not known: no row was held out to see."]
    if one.task == "numbers":
        return [*_explains(one, own), *_comparison(one), *_pretended(one, own)]
    constant, always = one.score("simplest"), _commonest(one)
    if one.rare is not None and "auc" in own.measures:
        return [*_ranks(one, own), *_cost(one, own), *_comparison(one), *_pretended(one, own)]
    accuracy = own.main
    low, high = accuracy[1:]
    likely = f" (likely {span(low, high)})" if math.isfinite(low) else ""
    said = f"It is right on {percent(accuracy.value)} of {_unseen(one)}{likely}."
    if constant is not None and one.verdict != "useless":
        said += f" Always saying {always} would be right on {percent(constant.main.value)}."
    told = [f"{one.rule}, as it was told."] if one.rule else []
    return [said, *told, *_cost(one, own), *_comparison(one), *_pretended(one, own)]


def _cost(one: Evaluation, own: Score) -> list[str]:
    """Describe the mean cost of a row, beside that of the cheapest answer to all rows."""
    cost = own.get("cost")
    if not one.costs or math.isnan(cost.value):
        return []
    likely = f" (likely {number(cost.low)} to {number(cost.high)})"
    said = f"A row costs {number(cost.value)} on average"
    said += likely if math.isfinite(cost.low) else ""
    always = [
        sum(each.rows * row[place] for each, row in zip(one.by_class, one.costs, strict=True))
        for place in range(len(one.classes))
    ]
    rows = sum(each.rows for each in one.by_class)
    cheapest = min(range(len(always)), key=always.__getitem__)
    label, least = quoted(one.classes[cheapest]), number(always[cheapest] / rows)
    return [f"{said}; always saying {label}, the cheapest answer to all, would cost {least}."]


def _pretended(one: Evaluation, own: Score) -> list[str]:
    """Compare with rows held out at random, which look better if rows depend on each other."""
    main, show = "accuracy" if one.task == "classes" else "r2", rough
    found, known, unit = one.pretended, own.main.value, " points"
    if one.rule and one.sureness is not None:
        known, unit = one.sureness.right.value, " points by the most probable class"
    by: Callable[[float], str] = points
    if one.rare is not None and "auc" in own.measures:
        main, known, unit = "auc", own.get("auc").value, " of the area under the curve"
        show, by = "{:.2f}".format, "{:+.2f}".format
    if found is None or not math.isfinite(found.get(main).value + known):
        return []
    value, low, high = found.get(main)
    at_random, would = min(max(known + value, 0.0), 1.0), "pretended" if low > 0 else "shown"
    maybe = "" if low * high > 0 else "; it may be chance"
    return [
        f"Rows held out at random would have {would} {show(at_random)}; {found.name} show "
        f"{show(max(known, 0.0))} ({by(value)}{unit}, likely {by(low)} to {by(high)}{maybe})."
    ]


def _commonest(one: Evaluation) -> str:
    if not one.by_class:
        return "the commonest class"
    return quoted(max(one.by_class, key=lambda each: each.rows).label)


def _ranks(one: Evaluation, own: Score) -> list[str]:
    """Describe a model with one rare class: ranking, alarms, precision."""
    area, precise, what = own.get("auc"), own.get("average_precision"), subject(one, one.rare)
    digits = 2 if area.value < 0.995 else 3
    said = [
        f"Of a row with {what} and one without, it gives the higher chance to the right one in "
        f"{number(100 * area.value, digits)} of 100 cases (area under the curve "
        f"{area.value:.{digits}f}, likely {area.low:.{digits}f} to {area.high:.{digits}f})."
    ]
    alarm = one.thresholds[0] if one.thresholds else None
    if alarm is not None:
        found, raised = alarm.found[alarm.alarms], _raised(alarm, alarm.alarms)
        chance = alarm.rows * raised / (alarm.rows + alarm.others)
        said.append(
            f"With {counted(raised, 'alarm')} in {counted(one.n_held_out, 'row')} it finds "
            f"{count(found)} of the {count(alarm.rows)} with {what}; by chance it would be "
            f"{count(round(chance))}."
        )
        share = alarm.rows / (alarm.rows + alarm.others)
        said.append(f"Average precision {precise.value:.2f}, by chance {share:.2f}.")
    constant = one.score("simplest")
    if constant is not None:
        said.append(
            f"How often it is right says little here: always saying {_commonest(one)} is right on "
            f"{percent(constant.get('accuracy').value)}."
        )
    return [" ".join(said)]


def _raised(one: Threshold, place: int) -> int:
    return one.found[place] + one.false[place]


def _explains(one: Evaluation, own: Score) -> list[str]:
    r2, off, constant = own.get("r2"), own.get("mae"), one.score("simplest")
    what = one.target or "the target"
    if math.isnan(r2.value):
        said = ""
    elif r2.value <= 0:
        said = f"It explains none of the differences in {what} on {_unseen(one)}"
        said += f" (at most {rough(r2.high)}). " if r2.high > 0.005 else ". "
    else:
        limits = f"likely {span(r2.low, r2.high)}"
        if r2.low < 0:
            limits = f"perhaps none, at most {rough(r2.high)}"
        known = f" ({limits})" if math.isfinite(r2.low) else ""
        said = f"It explains {rough(r2.value)} of the differences in {what} on {_unseen(one)}"
        said += f"{known}. "
    if math.isnan(off.value):
        return [said.strip()]
    said += f"It is off by {number(off.value)} on average"
    always = math.nan if constant is None else constant.get("mae").value
    if math.isfinite(always):
        said += f"; always saying the mean would be off by {number(always)}"
    return [f"{said}."]


def _comparison(one: Evaluation) -> list[str]:
    """Compare it with simpler models."""
    plain = {
        "useless": "That is no better than a guess that looks at no column: these columns may "
        "tell nothing about it.",
        "perhaps useless": "That may be chance: these rows are too few to tell it from a guess "
        "that looks at no column.",
        "not more often right": "It is not right more often than that, but its percentages tell "
        "more: judge it by the rows that it finds.",
    }
    if one.verdict in plain:
        return [plain[one.verdict]]
    gap = one.difference("linear")
    if gap is None:
        rivals = [s for s in one.scores if s.kind in ("other", "linear", "promised")]
        best = max(rivals, key=lambda s: _key(one, s), default=None)
        return [] if best is None else [f"For comparison, {best.name}: {_short(one, best)}."]
    main = gap.get("accuracy" if one.task == "classes" else "r2")
    by = " by the most probable class" if one.rule else ""
    shown = f"{points(main.value)} points{by}, likely {points(main.low)} to {points(main.high)}"
    if one.rare is not None and "auc" in gap.measures:
        main = gap.measures["auc"]
        shown = f"area {main.value:+.3f}, likely {main.low:+.3f} to {main.high:+.3f}"
    if one.verdict == "linear is better" and main.high >= 0:
        return ["A linear model is better: its percentages are closer to the truth."]
    if one.verdict == "better" and main.low <= 0:
        return ["Its percentages are closer to the truth than those of a linear model."]
    close = max(-main.low, main.high) <= _CLOSE
    words = {
        "linear is better": "A linear model is better",
        "as linear": f"A linear model {'does' if close else 'may do'} as well",
        "better": "It is better than a linear model",
    }
    if one.verdict not in words:
        return []
    alike = not re.search("[1-9]", shown)
    return [f"{words[one.verdict]}." if alike else f"{words[one.verdict]} ({shown})."]


def _key(one: Evaluation, score: Score) -> float:
    value = score.get("auc").value if one.rare is not None else score.main.value
    return value if math.isfinite(value) else -math.inf


# -- how sure ----------------------------------------------------------------------------------


def _sure(one: Evaluation) -> list[str]:
    sure = one.sureness
    if sure is None:
        return ["That is not known: no row was held out to see."]
    if one.task == "numbers":
        return [
            f"Half of its predictions are off by less than {number(sure.half)}, nine of ten by "
            f"less than {number(sure.nine_of_ten)}."
        ]
    if one.rare is not None and one.thresholds:
        alarm = one.thresholds[0]
        place, what = alarm.alarms, subject(one, one.rare)
        raised = _raised(alarm, place)
        hits = "no row has that"
        if raised:
            share = rough(alarm.found[place] / raised)
            hits = f"{share} of the {count(raised)} alarms are right"
        return [
            f"An alarm is a chance of {rough(alarm.at[place])} or more of {what}: {hits}. "
            f"Of all rows {rough(alarm.rows / (alarm.rows + alarm.others))} are."
        ]
    if math.isnan(sure.right_unsure) or math.isnan(sure.right_sure):
        alike = sure.right_sure if math.isnan(sure.right_unsure) else sure.right_unsure
        said = f"It is equally sure of all rows, and right on {rough(alike)}."
    else:
        what = f"on {rough(sure.right_sure)}, elsewhere on {rough(sure.right_unsure)}."
        said = (
            f"Where it is at least {rough(sure.level)} sure ({rough(sure.share_sure)} of rows) "
            f"{'the most probable class' if one.rule else 'it'} is right {what}"
        )
    right, expected = sure.right, sure.expected
    if not math.isfinite(right.low):
        return [said]
    if right.low - _CLOSE <= expected <= right.high + _CLOSE:
        return [f"{said} Its percentages can be taken at their word."]
    far = "too sure" if expected > right.value else "too modest"
    says = "the most probable class has" if one.rule else "it says"
    gap = f"on average {says} {rough(expected)} and is right on {rough(right.value)}"
    return [f"{said} Its percentages are {far}: {gap}."]


# -- which columns it uses ---------------------------------------------------------------------


def show_output(one: Evaluation) -> Callable[[float], str]:
    """Return the format of predictions: chances in per cent, or numbers."""
    return number if one.task == "numbers" else rough


def _looks_at(one: Evaluation) -> list[str]:
    if not one.used:
        return ["No column is missed: without any one of them it does as well."]
    told = _told(one.used)[:_MOST_COLUMNS]
    if one.verdict == "useless":
        return [f"At nothing that helps; mostly at {listed([column.name for column in told])}."]
    lines = [f"{rough(column.share)} {column.name}: {effect(one, column)}" for column in told]
    rest = len(one.used) - len(told)
    if rest:
        left = rough(max(1.0 - sum(column.share or 0.0 for column in told), 0.0))
        last = next(column.name for column in reversed(one.used) if column not in told)
        lines.append(f"{left} {last if rest == 1 else counted(rest, 'other column')}.")
    return lines


def _told(used: Sequence[Column]) -> Sequence[Column]:
    """Return the columns whose importance exceeds its error, or is large; else the first one."""
    return [
        c
        for c in used
        if c.loss is None or not c.loss.high > 3 * c.loss.value or (c.share or 0) >= _LARGE_SHARE
    ] or used[:1]


def effect(one: Evaluation, column: Column) -> str:
    """Describe in one sentence the outcomes for the values of a column."""
    found, also = column.effect, ""
    if column.together:
        others = named(column.together, 2)
        also = f" ({'either it or' if len(column.together) == 1 else 'shared with'} {others})"
    if found is None or not found.model:
        return f"its effect is not told value by value{also}."
    low, high, apart, alone = _moves(found)
    digits = max(3, digits_of(min(found.said), max(found.said)))
    show = (lambda value: number(value, digits)) if one.task == "numbers" else rough
    values = [show(value) for value in found.said]
    what = subject(one, found.outcome) if one.task == "classes" else one.target or "the prediction"
    # A gap may tell more than all values do.
    gone, far = found.said_missing, max(found.said) - min(found.said)
    beyond = 0.0 if gone is None else max(gone - max(found.said), min(found.said) - gone)
    if gone is not None and beyond > max(_OF_GAPS * far, _CLOSE * (one.task == "classes")):
        known, where = show(math.fsum(found.said) / len(found.said)), show(gone)
        if far < _OF_GAPS * beyond:
            return f"{what}: {known} where it is known, {where} where it is missing{also}."
        also = f", {where} where it is missing{also}"
    if values[low] == values[high]:
        return f"hardly anything by itself; it counts together with others{also}."
    if found.kind == "category":
        most, least = (quoted(found.labels[k]) for k in (high, low))
        by, colon = ("of", ":") if one.task == "classes" else ("for", "")
        said = f"{what}{colon} {values[high]} {by} {most}, {values[low]} {by} {least}{also}"
    else:
        first, last = sorted((low, high))
        moves = "rises" if last == high else "falls"
        said = f"{what} {moves} from {values[first]} at {found.labels[first]} to "
        said += f"{values[last]} at {found.labels[last]}{also}"
    if column.together or alone >= _BY_ITSELF * apart:
        return f"{said}."
    if abs(alone) < _AGAINST * apart:
        return f"{said}, hardly by itself."
    by = number(abs(alone)) if one.task == "numbers" else f"{number(abs(100 * alone), 2)} points"
    if found.kind == "category":
        what = f"{quoted(found.labels[high])} has {by} {'more' if alone > 0 else 'less'}"
        return f"{said}; among rows alike otherwise {what}."
    if alone > 0:
        return f"{said}, {by} of it among rows alike otherwise."
    against = "falls" if last == high else "rises"
    return f"{said}; among rows alike otherwise it {against}, by {by}."


def _moves(found: Effect) -> tuple[int, int, float, float]:
    """Return where predictions are low and high, their distance, and the column's own effect.

    For numbers these are the ends, unless the curve turns by a third of its height between them;
    values that few rows have are left out.
    """
    said = found.said
    at = [k for k, rate in enumerate(found.data) if rate is not None]
    at = at if len(at) > 1 else list(range(len(said)))
    low, high = min(at, key=lambda k: said[k]), max(at, key=lambda k: said[k])
    ends = sorted((at[0], at[-1]), key=lambda k: said[k])
    apart = said[ends[1]] - said[ends[0]]
    if found.kind != "category" and apart * 1.5 >= said[high] - said[low]:
        low, high = ends
    return low, high, said[high] - said[low], found.model[high] - found.model[low]


# -- when is it wrong --------------------------------------------------------------------------


def _wrong(one: Evaluation) -> list[str]:
    if one.own is None or one.sureness is None:
        return ["That is not known: no row was held out to see."]
    said = _wrong_numbers(one) if one.task == "numbers" else _wrong_classes(one)
    show = show_output(one)
    # If nearly all errors are in one class, they are where that class is.
    for part in one.parts[:1] if one.rare is None else ():
        if one.task == "classes":
            said.append(
                f"More often where {part.column} {part.words}: {show(part.error)} of rows are "
                f"wrong, {show(part.elsewhere)} elsewhere."
            )
        else:
            said.append(
                f"More where {part.column} {part.words}: off by {show(part.error)} on average, "
                f"{show(part.elsewhere)} elsewhere."
            )
    return said or [f"No kind of row stands out among {_unseen(one)}."]


def _wrong_numbers(one: Evaluation) -> list[str]:
    worst = max(one.ranges, key=lambda each: each.found.value, default=None)
    if worst is None or one.own is None or not worst.found.low > one.own.get("mae").value:
        return []
    where = range_words(worst.low, worst.high)
    return [
        f"Most where {one.target or 'the truth'} is {where}: off by {number(worst.found.value)} "
        "on average."
    ]


def _of(some: int, rows: int) -> str:
    return f"{'all ' if some == rows > 1 else count(some) + ' of '}{counted(rows, 'row')}"


def _wrong_classes(one: Evaluation) -> list[str]:
    if one.rare is not None and one.thresholds:
        alarm, what = one.thresholds[0], subject(one, one.rare)
        missed = [alarm.rows - alarm.found[k] for k in (alarm.chosen, alarm.alarms)]
        said = (
            f"Called from a chance of {rough(alarm.at[alarm.chosen])} on, it misses "
            f"{_of(missed[0], alarm.rows)} with {what}"
        )
        if missed[1] < missed[0]:
            raised = _raised(alarm, alarm.alarms)
            said += (
                f"; from {rough(alarm.at[alarm.alarms])} on {count(missed[1])}, with "
                f"{counted(raised, 'alarm')}"
            )
        return [f"{said}."]
    classes = [each for each in one.by_class if each.rows > each.right]
    enough = [each for each in classes if each.rows >= 5] or classes
    worst = max(enough, key=lambda each: 1 - each.right / each.rows, default=None)
    if worst is None:
        return []
    mostly = "" if len(one.classes) == 2 else "most of "
    them = "it" if worst.rows - worst.right == 1 else f"{mostly}them"
    return [
        f"Most often on {subject(one, worst.label)}: it misses "
        f"{_of(worst.rows - worst.right, worst.rows)} and takes {them} for "
        f"{subject(one, worst.taken_for)}."
    ]


# -- group by group ----------------------------------------------------------------------------


def group_table(one: Evaluation, column: str) -> tuple[list[str], list[list[tuple[str, Any]]]]:
    """Return the heads of a table of groups, and its cells: text, and values to sort by."""
    show = show_output(one)

    def cell(of: Interval, show: Callable[[float], str] = show) -> tuple[str, Any]:
        likely = f" ({show(of.low)} to {show(of.high)})".replace(" %", "")
        return f"{show(of.value)}{likely if math.isfinite(of.low) else ''}", of.value

    heads, lines = [column, "rows", "off by" if one.task == "numbers" else "right"], []
    heads += ["said", "true"] if one.called is None else ["missed", "false alarms", "said", "true"]
    has_cost = bool(one.costs)
    for each in one.by_group[column]:
        line = [(each.label, each.label), (count(each.rows), each.rows), cell(each.right)]
        line += [] if one.called is None else [cell(each.missed), cell(each.false)]
        line += [(show(each.expected), each.expected), cell(each.found)]
        lines.append(line + [cell(each.cost, number)] * has_cost)
    return heads + ["cost of a row"] * has_cost, lines


def group_sentences(one: Evaluation, column: str) -> list[str]:
    """Say which groups differ beyond chance, and what groups with few rows cannot tell."""
    classes, groups = one.task == "classes", one.by_group[column]
    rate = one.scores[0].get("accuracy" if classes else "mae").value
    most = 2 * _WIDE * (1.0 if classes else rate)
    differ = [quoted(g.label) for g in groups if g.right.low > rate or g.right.high < rate]
    wide = [quoted(g.label) for g in groups if not g.right.high - g.right.low <= most]
    it = "the predicted class" if one.called is None else subject(one, one.called)
    what = f"the mean chance of {it}, and how often it is so"
    if one.called is not None:
        what += f"; missed: rows with {it} that are not called so; false alarms: others that are"
    what = what if classes else "the mean prediction, and the mean truth"
    told = f"Other than among all rows, beyond chance: {named(differ, 5)}; why, and whether that "
    told += "is fair, no table tells."
    told = told if differ else "No group errs more or less than all rows beyond chance."
    few = f"Too few rows to tell: {named(wide, 5)}; errors may differ there by "
    few += f"{'10 points' if classes else 'a tenth'} or more without showing it."
    return [
        f"The ranges hold for all groups together. Said and true: {what}.",
        told,
        *[few] * bool(wide),
    ]


# -- what would change it, and may I trust it --------------------------------------------------


def _changes(one: Evaluation) -> list[str]:
    """Name the most important columns, and how far one of them moves the prediction by itself."""
    told = [(column, column.effect) for column in _told(one.used)]
    moving = [(column, found) for column, found in told if found is not None and found.spread > 0]
    if not moving:
        return ["No single column changes it on average."]
    others = [column.name for column, _ in moving if column.name not in moving[0][0].together]
    said = [f"Mostly {listed(others[:2])}."]
    for column, found in moving:
        low, high, apart, by = _moves(found)
        # A change larger than the distance of rows would lead to where no row is.
        if column.together or not _BY_ITSELF * apart < by <= _FARTHEST * apart:
            continue
        to, instead = (
            quoted(found.labels[k]) if found.kind == "category" else found.labels[k]
            for k in (high, low)
        )
        what, more = "the prediction", number(by)
        if one.task == "classes":
            what = f"the chance of {subject(one, found.outcome)}"
            more = f"{number(100 * by, 2)} points"
        said.append(
            f"With {column.name} {to} instead of {instead}, among rows alike otherwise, {what} is "
            f"{more} higher on average."
        )
        break
    return [" ".join(said)]


def _trust(one: Evaluation) -> list[str]:
    if one.caution:
        return [f"These numbers cannot tell: {one.caution}"]
    own = one.own
    if own is None or one.sureness is None:
        return ["Not yet: no row was held out to see how right it is."]
    rows = one.n_rows or one.n_held_out
    if one.split == "new rows":
        how = "none of them was fitted on"
        rows = one.n_held_out
    else:
        each = one.n_held_out == one.n_rows
        how = "each was held out once" if each else f"{count(one.n_held_out)} were held out"
    said = (
        f"On new rows that come as these {count(rows)} did ({how}): expect {_expected(one, own)}."
    )
    if one.split == "time":
        return [f"{said} Later rows were held out, as new ones will be."]
    if one.split == "groups":
        return [f"{said} Rows of one group were held out together, as new groups will be."]
    if one.split == "groups and time":
        return [f"{said} Later rows of other groups were held out, as new ones will be."]
    known = [each.column for each in one.remarks if each.about == "group" and each.column]
    if known:
        return [f"{said} Not on rows of other {known[0]}: that is told with --group."]
    return [
        f"{said} Not if new rows come from another place or time, or if several rows belong to "
        "one person or day: then hold those out together (--group, --time)."
    ]


def _expected(one: Evaluation, own: Score) -> str:
    if one.task == "numbers":
        off, sure = own.get("mae"), one.sureness
        said = f"it to be off by {number(off.value)} on average"
        if math.isfinite(off.low):
            said = f"it to be off by {number(off.low)} to {number(off.high)} on average"
        return (
            said
            if sure is None
            else f"{said}, by less than {number(sure.nine_of_ten)} on nine of ten rows"
        )
    if one.rare is not None and one.thresholds:
        from covey._intervals import proportion_interval

        alarm = one.thresholds[0]
        found = proportion_interval(alarm.found[alarm.alarms], alarm.rows)
        share = _raised(alarm, alarm.alarms) / max(alarm.rows + alarm.others, 1)
        return (
            f"it to find {100 * found.low:.0f} to {100 * found.high:.0f} of 100 rows with "
            f"{subject(one, one.rare)}, with alarms on {rough(share)} of all rows"
        )
    low, high = own.main.low, own.main.high
    if not math.isfinite(low):
        return f"{100 * own.main.value:.0f} of 100 right"
    return f"{span(low, high).removesuffix(' %').replace(' %', '')} of 100 right"


# -- tables ------------------------------------------------------------------------------------

# The head of each measure, and the format of its value.
_MEASURES: dict[str, tuple[str, Callable[[float], str]]] = {
    "accuracy": ("right", percent),
    "auc": ("area", lambda value: f"{value:.3f}"),
    "average_precision": ("average precision", lambda value: f"{value:.3f}"),
    "cost": ("cost of a row", number),
    "log_loss": ("log-loss", lambda value: f"{value:.4f}"),
    "r2": ("explained", percent),
    "deviance": ("deviance", lambda value: f"{value:.4f}"),
    "mae": ("off by", number),
    "rmse": ("RMSE", number),
}
PLAIN = ("accuracy", "r2", "cost")
RARE_FIRST = ("auc", "average_precision", "accuracy", "cost")


def measures_of(one: Evaluation, every: bool = True) -> list[str]:
    """Return the measures that a table of scores shows, the most telling first."""
    known = [name for name in _MEASURES if any(name in s.measures for s in one.scores)]
    first = [name for name in (RARE_FIRST if one.rare is not None else PLAIN) if name in known]
    return [*first, *(name for name in known if every and name not in first)]


def head_of(measure: str) -> str:
    """Return the head of a column of scores."""
    return _MEASURES[measure][0]


def score_text(score: Score, measure: str, with_interval: bool = True) -> str:
    """Write a measure with its interval, for people to read."""
    limits, show = score.get(measure), _MEASURES[measure][1]
    if math.isnan(limits.value):
        return "-"
    text = show(limits.value)
    if not with_interval or not math.isfinite(limits.low) or limits.low == limits.high:
        return text
    if text.endswith("%"):
        # As for the value, only 100 % itself is written so.
        shown = (100 * limit if limit >= 1 else min(100 * limit, 99.9) for limit in limits[1:])
        return f"{text} ({' to '.join(f'{one:.1f}'.replace('-0.0', '0.0') for one in shown)})"
    return f"{text} ({show(limits.low)} to {show(limits.high)})"


def flat(score: Score) -> dict[str, Any]:
    """Return a score as one line of JSON: its measures, and the limits of the main one."""
    (_, low, high), log_loss = score.main, ["log_loss"] if "accuracy" in score.measures else []
    values = {name: score.get(name).value for name in (*score.measures, *log_loss)}
    return {"name": score.name, **values, "low": low, "high": high, "seconds": score.seconds}
