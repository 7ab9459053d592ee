"""Charts of shades and bars: maps of numbers, named bars, strips."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from covey._templates import Markup
from covey.reporting._svg import at, box, line, room_for, svg, text
from covey.reporting._words import fitted, number, width_of

# -- maps of shades --------------------------------------------------------------------------


def heat_map(
    key: str,
    values: np.ndarray,
    rows: list[str],
    columns: list[str],
    *,
    title: str,
    description: str,
    cell: tuple[float, float] = (22, 22),
    shown: Callable[[int, int], str] | None = None,
    tip: Callable[[int, int], str] | None = None,
    lowest: float = 0.0,
    highest: float | None = None,
    legend: tuple[str, str] | None = None,
    longest: float = 120,
) -> Markup:
    """Numbers as shades of the accent color; they are not negative, and NaN is left empty.

    ``cell`` is the width and height of one, and ``longest`` how wide names are at most. Of a row
    and a column, ``shown`` is what to write into the cell, and ``tip`` what to show on hover. The
    values ``lowest`` and ``highest`` (by default the largest) are the lightest and the darkest,
    and ``legend`` what these mean.
    """
    across, down = cell
    of_rows, of_columns = room_for(rows, longest), room_for(columns, longest)
    left = of_rows + 10
    slanted = of_columns > across - 4
    reach = (of_columns + 10) * 0.71 if slanted else 0
    top = reach + 10 if slanted else 22
    width = left + across * len(columns) + max(reach - across / 2 + 6, 2)
    bottom = top + down * len(rows)
    highest = float(np.nanmax(values)) if highest is None else highest
    parts = []
    for position, name in enumerate(columns):
        x = left + across * (position + 0.5)
        short = fitted(name, longest)
        if slanted:
            turn = f"rotate(-45 {at(x)} {at(top - 6)})"
            parts.append(text(x, top - 6, short, "axis", None, name, transform=turn))
        else:
            parts.append(text(x, top - 8, short, "axis", "middle", name))
    for row, name in enumerate(rows):
        y = top + down * row
        short = fitted(name, longest)
        parts.append(text(left - 8, y + down / 2 + 4, short, "axis", "end", name))
        for column in range(len(columns)):
            value = values[row, column]
            if np.isnan(value):
                continue
            x = left + across * column
            spread = highest - lowest
            shade = readable((value - lowest) / spread if spread > 0 else 0.0)
            inside = x + 0.75, y + 0.75, across - 1.5, down - 1.5
            tip_text = None if tip is None else tip(row, column)
            parts.append(box(*inside, "cell", tip_text, fill_opacity=_opacity(shade)))
            if shown is not None and (words := shown(row, column)):
                class_ = "in-cell over" if shade >= 0.8 else "in-cell"
                parts.append(text(x + across / 2, y + down / 2 + 4, words, class_, "middle"))
    if legend is not None:
        y = bottom + 14
        parts.append(text(left, y + 9, legend[0], "axis"))
        start = left + width_of(legend[0]) + 6
        for step in range(5):
            shade = _opacity((step + 0.3) / 4.3)
            parts.append(box(start + 16 * step, y, 15, 10, "cell", fill_opacity=shade))
        parts.append(text(start + 86, y + 9, legend[1], "axis"))
        bottom += 28
        width = max(width, start + 92 + width_of(legend[1]))
    return svg(key, width, bottom + 4, *parts, title=title, description=description)


def readable(shade: float) -> float:
    """A shade that letters can be read on: those in the middle suit neither light nor dark."""
    if 0.62 < shade < 0.8:
        return 0.62 if shade < 0.71 else 0.8
    return shade


def _opacity(shade: float) -> str:
    # A cell of zero is still visible.
    return f"{0.05 + 0.95 * min(max(shade, 0.0), 1.0):.2f}"


# -- bars ------------------------------------------------------------------------------------


class Bar(NamedTuple):
    """A named bar."""

    name: str
    value: float
    note: str = ""


def bars(
    key: str,
    items: list[Bar],
    *,
    title: str,
    description: str,
    width: float = 272,
    left: float = 134,
    highest: float | None = None,
) -> Markup:
    """A few named bars, as long as their values are large; ``left`` is the names' width.

    ``highest`` is the value of the longest bar on one scale with others.
    """
    if highest is None:
        highest = max((abs(item.value) for item in items), default=0.0)
    row = 19
    long = width - left - 46
    parts = []
    for position, item in enumerate(items):
        y = row * position
        length = long * abs(item.value) / highest if highest > 0 else 0.0
        tip = f"{item.name}: {number(item.value)}" + (f", {item.note}" if item.note else "")
        parts.append(text(0, y + 13, fitted(item.name, left - 8), "axis ink", None, item.name))
        parts.append(box(left, y + 4, long, 10, "track"))
        parts.append(box(left, y + 4, max(length, 1.5), 10, "bar", tip))
        shown = number(item.value, 2) if abs(item.value) >= 0.001 else "< 0.001"
        parts.append(text(width, y + 13, shown, "axis", "end"))
    return svg(key, width, row * len(items), *parts, title=title, description=description)


def strip(
    key: str,
    values: list[float],
    names: list[str],
    *,
    show: Callable[[float], str],
    highest: float = 1.0,
    title: str,
    description: str,
    width: float = 272,
) -> Markup:
    """Values side by side, each as a small upright bar with its name below."""
    gap = 3
    each = min((width - gap * (len(values) - 1)) / len(values), 88)
    tall = 34
    parts = []
    for position, (value, name) in enumerate(zip(values, names, strict=True)):
        x = (each + gap) * position
        tip = f"{name}: {show(value)}"
        parts.append(box(x, 0, each, tall, "track", tip))
        if not math.isnan(value):
            up = tall * value / highest if highest > 0 else 0.0
            parts.append(box(x, tall - up, each, up, "bar", tip))
        short = fitted(name, each)
        parts.append(text(x + each / 2, tall + 13, short, "axis", "middle", str(name)))
    return svg(key, width, tall + 18, *parts, title=title, description=description)


class Level(NamedTuple):
    """A bar with its name and a remark above it."""

    name: str
    value: float
    note: str = ""


def level_bars(
    key: str,
    levels: list[Level],
    *,
    show: Callable[[float], str],
    highest: float = 1.0,
    title: str,
    description: str,
    width: float = 320,
) -> Markup:
    """Bars on one scale from zero, each below its name and its remark."""
    row, long = 38, width - room_for((show(level.value) for level in levels), 90, 13) - 8
    parts = []
    for position, level in enumerate(levels):
        y = row * position
        room = max(long * 0.36, long - width_of(level.note) - 14)
        short = fitted(level.name, room, 12)
        parts.append(text(0, y + 13, short, "label", None, level.name))
        left = max(long - width_of(short, 12) - 14, 60)
        parts.append(text(long, y + 13, fitted(level.note, left), "axis", "end", level.note))
        length = long * min(level.value / highest, 1.0)
        tip = f"{level.name}: {show(level.value)}"
        parts.append(box(0, y + 18, long, 12, "track"))
        parts.append(box(0, y + 18, max(length, 1.5), 12, "bar", tip))
        parts.append(text(width, y + 28, show(level.value), "label strong", "end"))
    return svg(key, width, row * len(levels), *parts, title=title, description=description)


class Push(NamedTuple):
    """What a column does to a prediction: for it above zero, else against it."""

    words: str
    value: float


def push_bars(
    key: str,
    pushes: list[Push],
    *,
    highest: float,
    show: Callable[[float], str],
    title: str,
    description: str,
    width: float = 272,
) -> Markup:
    """Bars to both sides of a line, each below its words; ``highest`` is the longest of any."""
    row, right = 33, room_for((show(push.value) for push in pushes), 90) + 10
    middle = (width - right) / 2
    parts = []
    for position, push in enumerate(pushes):
        y = row * position
        length = middle * min(abs(push.value) / highest, 1.0) if highest > 0 else 0.0
        start = middle if push.value >= 0 else middle - length
        class_ = "bar" if push.value >= 0 else "bar against"
        parts.append(text(0, y + 12, fitted(push.words, width), "axis ink", None, push.words))
        parts.append(box(0, y + 17, width - right, 9, "track"))
        parts.append(box(start, y + 17, max(length, 1.5), 9, class_, push.words))
        parts.append(line(middle, y + 15, middle, y + 28, "rule"))
        parts.append(text(width, y + 25, show(push.value), "axis", "end"))
    return svg(key, width, row * len(pushes), *parts, title=title, description=description)
