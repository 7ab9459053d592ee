"""The findings of a check in plain words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from covey._number_words import cell, counted, listed, named, number, quoted, rough, span
from covey.evaluation._check_record import (
    CHANCE_OF_LABELS,
    FEW_ROWS,
    MANY_REPEATS,
    Check,
    Shift,
)
from covey.evaluation._drift import ColumnCounts

_NUMBERS = ["None", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"]
# How many columns are named, and the share of the importance that makes a change of them much.
_MOST_SAID, _MUCH = 8, 0.2
_MOVED = {
    "decisions": "It predicts classes in other shares: {}.",
    "who decides": "Others decide: {}.",
    "classes": "The true classes occur in other shares than at the fit.",
}


def column_words(one: ColumnCounts, kinds: list[str], unit: str | None) -> str:
    """Return a sentence about the changes of a column."""
    like = "" if one.example is None else f", such as {quoted(one.example)}"
    n_values = max(1, one.n_present + one.n_unread)
    said = {
        "values": f"is in other units: its values are {unit}" if unit else _other_values(one),
        "new": f"{rough(one.n_new / n_values)} of its values were never seen{like}",
        "written": f"{rough(one.n_unread / n_values)} of its values are written otherwise{like} "
        f"(at the fit {getattr(one.encoder, 'seen', 'not so')})",
        "gaps": f"{rough(one.missing)} of its values are missing, not {rough(one.seen.missing)}",
    }
    if "written" in kinds:
        del said["gaps"]  # what cannot be read counts as missing
    parts = [said[kind] for kind in said if kind in kinds]
    between = "" if parts[0].startswith(("is ", "has ")) else ":"
    return f"{one.seen.name}{between} {'; '.join(parts)}"


def _other_values(one: ColumnCounts) -> str:
    if not one.is_known or not one.n_present:
        return ""
    then, now = (counts / max(1, counts.sum()) for counts in one.both)
    if one.spread is None:
        place = int(np.abs(now - then).argmax())
        word = [*map(quoted, one.words), "any other value"][place]
        return f"{word} is {rough(now[place])} of its values, not {rough(then[place])}"
    beyond = rough(one.beyond())
    if one.seen.kind != "number":
        return f"has {beyond} of its dates later than all that were seen"
    place, values = int(np.searchsorted(np.cumsum(now), 0.5)), one.spread.values
    middle = values[max(0, place - 1) // 2 : place // 2 + 1].mean()
    said = "has values that are spread in another way"
    if cell(middle) != cell(one.seen.typical) and 0 < place < len(now) - 1:
        said = f"has other values (typical {cell(middle)}, not {cell(one.seen.typical)})"
    ends = f"{cell(values[0])} to {cell(values[-1])}"
    return said if one.beyond() < 0.05 else f"{said}; {beyond} are not within {ends}"


def sentences(found: Check) -> list[str]:
    """Return the findings, the summary first."""
    changed = [one for one in found.columns if one.state == "changed"]
    changed.sort(key=lambda one: (one.unit is None, -(one.share or 0.0), -one.distance))
    n, total = len(changed), sum(one.state != "unknown" for one in found.columns)
    lead = f"{_NUMBERS[n] if n < len(_NUMBERS) else n} of {counted(total, 'column')} "
    lead += "has changed" if n < 2 else "have changed"
    lead += f": {changed[0].sentence}." if n else " beyond chance."
    if not total:
        lead = "It cannot be told whether its columns have changed."
    said = [f"{one.sentence}." for one in changed[1:_MOST_SAID]]
    if n > _MOST_SAID:
        said.append(f"{n - _MOST_SAID} more columns have changed.")
    if slight := [one.name for one in found.columns if one.state == "slight"]:
        said.append(f"A little different, though not by chance: {named(slight, _MOST_SAID)}.")
    for kind, words in _MOVED.items():
        if kind in found.changed:
            shifts = found.members if kind == "who decides" else found.classes
            said.append(words.format(_most_moved(shifts)))
    is_class, now, then = found.task == "classes", found.expected, found.before
    if "sureness" in found.changed:
        less, means = "less" if found.sure < found.sure_then else "more", found.sure
        said.append(
            f"It is {less} sure: {rough(means)} on average, not {rough(found.sure_then)}."
            if is_class
            else "It predicts other numbers than at the fit."
        )
    show, what = (rough, "right") if is_class else (number, "off on average")
    if now is not None and then is not None:
        before, after = show(then.value), show(now.value)
        same = "as on rows held out at the fit" if before == after else f"not {before}"
        lead += f" Expect {after} {what}, {same}."
        said.append(f"Without any label, {_range(found, now)} {what} is to be expected.")
    if found.measured is not None:
        line = f"Measured on {counted(found.n_labels, 'row')} with a truth: "
        line += f"{show(found.measured.value)} {what} ({_range(found, found.measured)})"
        if found.surprise is not None:
            beyond = found.surprise < CHANCE_OF_LABELS
            line += (
                ", farther from the expected than chance" if beyond else ", as chance may have it"
            )
        said.append(f"{line}.")
    return [lead, *said]


def _range(found: Check, one: Any) -> str:
    is_class = found.task == "classes"
    return span(one.low, one.high) if is_class else f"{number(one.low)} to {number(one.high)}"


def _most_moved(shifts: list[Shift]) -> str:
    most = sorted(shifts, key=lambda one: -abs(one.now - one.then))[:3]
    return listed(f"{one.name} {rough(one.now)} (was {rough(one.then)})" for one in most)


def remarks(found: Check, counts: Any) -> list[str]:
    """Return what the findings rest on, and what cannot be told."""
    unknown = [one.name for one in found.columns if one.state == "unknown"]
    units = [one.name for one in found.columns if one.unit]
    share = sum(one.share or 0.0 for one in found.columns if one.state == "changed")
    dates = [one for one in counts.columns if one.seen.kind in ("date", "time") and one.spread]
    said = {
        f"Of {found.n_rows:,} rows {found.n_looked:,} were looked at, evenly spaced.": (
            found.n_looked < found.n_rows
        ),
        f"{counted(found.n_looked, 'row')}: only large changes show.": found.n_looked < FEW_ROWS,
        f"{rough(counts.repeats)} of the rows repeat another one; the tests count them once.": (
            counts.repeats > MANY_REPEATS
        ),
        f"Cannot be told of {named(unknown, 5)}: the model does not know how these values were "
        "spread (an older file, or a fit in blocks).": unknown,
        "Cannot be told how right it will be: the model was fitted without rows held out; covey "
        "fit, or calibrate(X, y), gives it some.": found.expected is None,
        "What to expect counts on one thing: rows that look alike still have the same truth. If "
        "that has changed, no table without labels can show it.": found.expected is not None,
        f"Columns that make up {rough(share)} of what the model looks at have changed: it is then "
        "often less right than is expected. Measure it on some rows whose truth is known.": (
            share > _MUCH and found.measured is None and found.expected is not None
        ),
        f"Mend {named(units, 5)} first: with values that it never saw, the model is less right "
        "than it is sure.": units,
    }
    for one in dates:
        day = datetime.fromtimestamp(float(one.spread.values[-1]), UTC).date()
        said[f"{one.seen.name}: the latest date of the fit is {day}."] = one.beyond() > 0
    independent = (
        "The tests count rows as independent of each other: rows of one person, or of one day, "
        "differ from others more often than said."
    )
    return [*(sentence for sentence, applies in said.items() if applies), independent]
