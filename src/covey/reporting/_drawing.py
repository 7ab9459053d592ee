"""Inline SVG, drawn by hand: curves, bars, maps and dots, for every section of every page.

Drawings follow the page's colors, light or dark. Each has a ``key`` unlike that of any other on
the page, and a ``title`` and a ``description`` for readers who do not see it; it is drawn about as
wide as a phone, so that its letters stay readable there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from covey._number_words import number, percent
from covey._templates import Markup, escaped
from covey.evaluation._record import Bin, Effect
from covey.reporting._words import described, fitted, width_of

# -- elements ------------------------------------------------------------------------------------


def tag(name: str, *children: Any, **attributes: Any) -> Markup:
    """Return an element; attributes are keywords such as ``class_`` and ``text_anchor``."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(escaped(child) for child in children if child is not None)
    return Markup(f"<{name}{written}>{inside}</{name}>")


def at(value: float) -> str:
    """Write a coordinate; a tenth of a pixel is as fine as eyes see."""
    return f"{value:.1f}".removesuffix(".0")


def svg(
    key: str,
    width: float,
    height: float,
    *parts: Markup,
    title: str,
    description: str,
    class_: str = "chart",
) -> Markup:
    """Return a drawing with its text alternative."""
    size = {"viewBox": f"0 0 {at(width)} {at(height)}", "width": at(width), "height": at(height)}
    named = {"aria_labelledby": f"{key}-t", "aria_describedby": f"{key}-d"}
    words = tag("title", title, id=f"{key}-t"), tag("desc", description, id=f"{key}-d")
    return tag("svg", *words, *parts, **size, role="img", **named, class_=class_)


def text(
    x: float,
    y: float,
    words: str,
    class_: str | None = None,
    anchor: str | None = None,
    tip: str | None = None,
    **more: Any,
) -> Markup:
    """Draw a word or two, with the full text on hover if it is shortened."""
    whole = _tip(None if tip == words else tip)
    return tag("text", words, whole, x=at(x), y=at(y), class_=class_, text_anchor=anchor, **more)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """Draw a straight line."""
    return tag("line", x1=at(x1), y1=at(y1), x2=at(x2), y2=at(y2), class_=class_)


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    class_: str | None = None,
    tip: str | None = None,
    **more: Any,
) -> Markup:
    """Draw a rectangle."""
    size = {"width": at(max(width, 0)), "height": at(max(height, 0))}
    return tag("rect", _tip(tip), x=at(x), y=at(y), **size, class_=class_, **more)


def dot(x: float, y: float, radius: float, class_: str, tip: str | None = None) -> Markup:
    """Draw a circle."""
    return tag("circle", _tip(tip), cx=at(x), cy=at(y), r=at(radius), class_=class_)


def polyline(x: Iterable[float], y: Iterable[float], class_: str) -> Markup:
    """Draw a line through points."""
    points = " ".join(f"{at(one)},{at(other)}" for one, other in zip(x, y, strict=True))
    return tag("polyline", points=points, class_=class_)


def _tip(words: str | None) -> Markup | None:
    return None if words is None else tag("title", words)


# -- axes ----------------------------------------------------------------------------------------


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers from low to high."""
    raw = (high - low) / most
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * nice for nice in (1, 2, 2.5, 5, 10) if size * nice >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [position * step for position in range(first, last + 1)]


def room_for(names: Iterable[Any], most: float, size: float = 11.0) -> float:
    """Return the width that names take, of this many pixels at most."""
    return min(max((width_of(str(name), size) for name in names), default=0.0), most)


class Plane:
    """A rectangle of a drawing with an axis of numbers below and one to the left."""

    def __init__(
        self,
        box: tuple[float, float, float, float],
        x: tuple[float, float],
        y: tuple[float, float],
    ):
        self.left, self.top, self.width, self.height = box
        self.right, self.bottom = self.left + self.width, self.top + self.height
        self.x, self.y = x, y

    def across(self, value: float) -> float:
        return self.left + self.width * (value - self.x[0]) / (self.x[1] - self.x[0])

    def up(self, value: float) -> float:
        return self.bottom - self.height * (value - self.y[0]) / (self.y[1] - self.y[0])

    def rows(self, show: Callable[[float], str]) -> list[Markup]:
        """Draw lines across, with their values to the left."""
        parts = []
        for tick in ticks(*self.y, 5):
            parts.append(line(self.left, self.up(tick), self.right, self.up(tick), "grid"))
            parts.append(text(self.left - 8, self.up(tick) + 4, show(tick), "axis", "end"))
        return parts

    def columns(
        self, values: Iterable[float], show: Callable[[float], str], below: float
    ) -> list[Markup]:
        """Write values along the bottom."""
        return [text(self.across(v), below, show(v), "axis", "middle") for v in values]

    def curve(self, x: Iterable[float], y: Iterable[float], class_: str) -> Markup:
        """Draw a line through points of the plane."""
        return polyline(map(self.across, x), map(self.up, y), class_)

    def name_left(self, words: str) -> Markup:
        middle = (self.top + self.bottom) / 2
        turn = f"rotate(-90 12 {at(middle)})"
        return text(12, middle, words, "axis", "middle", transform=turn)

    def name_below(self, words: str, below: float) -> Markup:
        return text(self.left + self.width / 2, below, words, "axis", "middle")


# -- dots ----------------------------------------------------------------------------------------


class Dot(NamedTuple):
    """A line of a dot plot: a value with its interval; ``kind`` is own, other or limit."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    kind: str = "other"
    tip: str | None = None


def dot_plot(
    key: str,
    dots: list[Dot],
    *,
    least: float = 0.0,
    show: Callable[[float], str] = percent,
    **words: str,
) -> Markup:
    """Draw values with intervals, one below the other; the axis is within ``least`` and 1."""
    width, row, top = 464, 30, 8
    # Bold letters are wider.
    names = room_for([d.name for d in dots], 172, 13)
    ends = [v for d in dots for v in (d.value, d.low, d.high) if v is not None]
    pad = max(0.05 * np.ptp(ends), 0.02)
    axis = max(least, min(ends) - pad), min(1.0, max(ends) + pad)
    plane = Plane((names + 14, top, width - names - 78, row * len(dots)), axis, (0.0, 1.0))
    across, parts = plane.across, plane.columns(ticks(*axis), show, plane.bottom + 16)
    for tick in ticks(*axis):
        parts.append(line(across(tick), top, across(tick), plane.bottom, "grid"))
    for position, d in enumerate(dots):
        y = top + row * (position + 0.5)
        emphasis, letters = (" strong", 13) if d.kind == "own" else ("", 12)
        short = fitted(d.name, names, letters)
        parts.append(text(plane.left - 12, y + 4, short, "label" + emphasis, "end", d.name))
        if d.low is not None and d.high is not None:
            parts.append(line(across(d.low), y, across(d.high), y, f"interval {d.kind}"))
        inside = max(d.value, axis[0])
        parts.append(dot(across(inside), y, 5 if emphasis else 4.5, d.kind, d.tip))
        parts.append(text(width - 2, y + 4, show(d.value), "value" + emphasis, "end"))
    words["description"] = described((d.name, show(d.value)) for d in dots)
    return svg(key, width, plane.bottom + 24, *parts, **words)


def scatter(
    key: str,
    x: np.ndarray,
    y: np.ndarray,
    *,
    x_name: str,
    y_name: str,
    diagonal: bool,
    tips: list[str],
    **words: str,
) -> Markup:
    """Draw dots of two numbers, with a dotted line where they are equal, or the second is 0."""
    both = np.concatenate([x, y])
    up = _ends(both if diagonal else np.append(y, 0.0))
    # The name of the axis stands left of its numbers.
    left = room_for(map(number, ticks(*up)), 90) + 32
    plane = Plane((left, 8, 300 - left, 226), _ends(both if diagonal else x), up)
    parts = plane.rows(number) + plane.columns(ticks(*plane.x, 4), number, plane.bottom + 16)
    parts.append(plane.curve(plane.x, plane.x if diagonal else (0.0, 0.0), "level"))
    parts += [
        dot(plane.across(one), plane.up(other), 2.5, "point", tip)
        for one, other, tip in zip(x.tolist(), y.tolist(), tips, strict=True)
    ]
    parts += [plane.name_below(x_name, plane.bottom + 34), plane.name_left(y_name)]
    return svg(key, plane.right + 16, plane.bottom + 40, *parts, **words)


def _ends(values: np.ndarray) -> tuple[float, float]:
    """Return the ends of an axis that has all values well inside."""
    low, high = float(values.min()), float(values.max())
    pad = 0.04 * (high - low) or 0.5 * abs(high) or 1.0
    return low - pad, high + pad


# -- curves --------------------------------------------------------------------------------------


def value_curve(
    key: str,
    effect: Effect,
    *,
    name: str,
    ends: tuple[float, float],
    show: Callable[[float], str],
    **words: str,
) -> Markup:
    """Draw a line over the values of a column, the data beside it, and where rows are.

    The mean over all rows is drawn across for comparison, and beside it the outcome for missing
    values.
    """
    width, labels, x = 292, effect.labels, effect.values
    room = 56 if effect.missing is None else 100
    plane = Plane((46, 8, width - room, 104), (x[0], x[-1]), ends)
    base, below = plane.bottom + 28, plane.bottom + 42
    parts = [*plane.rows(show), plane.curve(plane.x, (effect.typical,) * 2, "level")]
    for one, seen, label in zip(x, effect.data, labels, strict=True):
        if seen is not None:
            about = f"in the data, {name} about {label}: {show(seen)}"
            parts.append(dot(plane.across(one), plane.up(seen), 2.6, "limit", about))
    parts.append(plane.curve(x, effect.model, "curve own"))
    for one, value, said, label in zip(x, effect.model, effect.said, labels, strict=True):
        about = f"{name} about {label}: {show(said)} is predicted on average"
        parts.append(dot(plane.across(one), plane.up(value), 4.5, "hover", about))
    if effect.missing is not None:
        at_right, about = plane.right + 28, f"{name} missing: {show(effect.missing)}"
        parts.append(dot(at_right, plane.up(effect.missing), 4, "own", about))
        parts.append(text(at_right, below, "missing", "axis", "middle"))
    each, most = plane.width / len(effect.rows), max(*effect.rows, 1e-12)
    for k, share in enumerate(effect.rows):
        if share > 0:
            height = 22 * share / most
            parts.append(
                box(plane.left + each * k, base - height, each - 0.6, height, "bar faint")
            )
    parts.append(line(plane.left, base, plane.right, base, "grid"))
    parts.append(text(plane.left, below, labels[0], "axis"))
    parts.append(text(plane.right, below, labels[-1], "axis", "end"))
    # In the middle there is room for a third number, unless it is close to an end.
    middle = plane.across(x[len(x) // 2]), labels[len(x) // 2]
    half = width_of(middle[1]) / 2 + 8
    first, last = plane.left + width_of(labels[0]), plane.right - width_of(labels[-1])
    if first + half < middle[0] < last - half:
        parts.append(text(middle[0], below, middle[1], "axis", "middle"))
    return svg(key, width, plane.bottom + 46, *parts, **words)


def share_curve(
    key: str,
    x: np.ndarray,
    y: np.ndarray,
    here: tuple[float, float],
    guess: tuple[tuple[float, float], tuple[float, float]],
    names: tuple[str, str],
    kind: str,
    **words: str,
) -> Markup:
    """Draw a curve of two shares with a dot on it, and a dotted line for a guess.

    The page's script moves them, and finds them by their ``kind``.
    """
    plane = Plane((38, 6, 176, 176), (0.0, 1.0), (0.0, 1.0))
    parts = [*plane.rows(percent), *plane.columns((0.0, 0.5, 1.0), percent, plane.bottom + 15)]
    ends = [(plane.across(a), plane.up(b)) for a, b in zip(*guess, strict=True)]
    parts += [
        plane.name_below(names[0], plane.bottom + 31),
        text(plane.left, plane.top - 8, f"↑ {names[1]}", "axis"),
        tag("g", line(*ends[0], *ends[1], "level"), class_=f"guess {kind}"),
        plane.curve(x, y, "curve own"),
        dot(plane.across(here[0]), plane.up(here[1]), 6, "own halo moves"),
    ]
    drawn = tag("g", *parts, transform="translate(0 14)")
    shape = f"chart curve-{kind}"
    return svg(key, plane.right + 14, plane.bottom + 50, drawn, **words, class_=shape)


def sparkline(shares: np.ndarray, own: int) -> Markup:
    """Draw a line from 0 to 1, as wide as its surroundings, and the place of one of its points."""
    x = np.linspace(0, 240, len(shares))
    size = {"viewBox": "0 0 240 48", "preserveAspectRatio": "none", "aria_hidden": "true"}
    mark, curve = line(x[own], 0, x[own], 48, "level"), polyline(x, 44 - 40 * shares, "curve own")
    return tag("svg", mark, curve, **size, class_="spark")


def reliability(key: str, bins: list[Bin], **words: str) -> Markup:
    """Draw observed frequencies against predicted chances, and the distribution of rows."""
    side, left, top, tall = 270, 52, 8, 66
    start = min(b.low for b in bins)
    least = min([start, *(b.found.low for b in bins)])
    floor = 0.0 if least < 0.25 else math.floor(least * 10) / 10
    plane = Plane((left, top, side, side), (start, 1.0), (floor, 1.0))
    most = max(b.rows for b in bins)
    counts = Plane((left, plane.bottom + 26, side, tall), (start, 1.0), (0.0, most))
    across, up, base = plane.across, plane.up, counts.bottom
    even = max(start, floor), 1.0
    parts = [*plane.rows(percent), plane.curve(even, even, "level")]
    for b in bins:
        tip = (
            f"{percent(b.low)} to {percent(b.high)}: {b.rows:,} rows, "
            f"so on {percent(b.found.value)}, {percent(b.expected)} said"
        )
        x, x0, x1, y = across(b.expected), across(b.low), across(b.high), counts.up(b.rows)
        parts.append(line(x, up(b.found.low), x, up(b.found.high), "interval own thin"))
        parts.append(dot(x, up(b.found.value), 2.5 + 3.5 * math.sqrt(b.rows / most), "own", tip))
        parts.append(box(x0 + 1, y, x1 - x0 - 2, base - y, "bar faint", tip))
        brief = f"{b.rows:,}" if b.rows < 10_000 else f"{b.rows / 1000:.0f}k"
        parts.append(text((x0 + x1) / 2, y - 4, brief, "axis tiny", "middle"))
    parts.append(line(left, base, left + side, base, "rule"))
    parts += plane.columns(ticks(start, 1.0), percent, base + 16)
    parts.append(plane.name_below("chance that was said", base + 34))
    parts += [plane.name_left("so it was"), counts.name_left("rows")]
    return svg(key, plane.right + 16, base + 40, *parts, **words)


# -- bars ----------------------------------------------------------------------------------------


def histogram(key: str, counts: list[int], *, title: str) -> Markup:
    """Draw how numbers are spread, small enough for a cell of a table."""
    width, tall = 96, 20
    each, most = width / len(counts), max(counts)
    parts = [
        box(each * k, tall - tall * n / most, each - 1, tall * n / most, "bar faint")
        for k, n in enumerate(counts)
        if n > 0
    ]
    parts.append(line(0, tall, width, tall, "grid"))
    words = described([("rows in parts of the same width", ", ".join(map(str, counts)))])
    return svg(key, width, tall + 1, *parts, title=title, description=words)


class Bar(NamedTuple):
    """A bar with its name and a remark above it."""

    name: str
    value: float
    note: str = ""


def bars(
    key: str,
    items: list[Bar],
    *,
    show: Callable[[float], str],
    ends: tuple[float, float] = (0.0, 1.0),
    zero: float = 0.0,
    width: float = 320,
    **words: str,
) -> Markup:
    """Draw bars on one scale, each below its name and its remark.

    ``ends`` are the ends of the scale. Bars begin at ``zero``: those of values below it are to the
    left of a line there, in another color.
    """
    row, long = 32, width - room_for((show(item.value) for item in items), 90, 13) - 8
    ends = ends if ends[1] > ends[0] else (0.0, 1.0)
    plane = Plane((0, 0, long, row * len(items)), ends, ends)
    start, parts = plane.across(zero), []
    for position, item in enumerate(items):
        y = row * position
        room = max(long * 0.36, long - width_of(item.note) - 14) if item.note else width
        short = fitted(item.name, room, 12)
        left = max(long - width_of(short, 12) - 14, 60)
        parts.append(text(0, y + 12, short, "label", None, item.name))
        parts.append(text(long, y + 12, fitted(item.note, left), "axis", "end", item.note))
        end = min(max(plane.across(item.value), 0.0), long)
        class_ = "bar" if item.value >= zero else "bar against"
        tip = f"{item.name}: {show(item.value)}"
        parts.append(box(0, y + 17, long, 10, "track"))
        parts.append(box(min(start, end), y + 17, max(abs(end - start), 1.5), 10, class_, tip))
        parts.append(text(width, y + 26, show(item.value), "label strong", "end"))
        if zero > ends[0]:
            parts.append(line(start, y + 15, start, y + 29, "rule"))
    shown = ((one.name, ", ".join(filter(None, (show(one.value), one.note)))) for one in items)
    words.setdefault("description", described(shown))
    return svg(key, width, plane.bottom, *parts, **words)


# -- maps ----------------------------------------------------------------------------------------


def heat_map(
    key: str,
    values: np.ndarray,
    rows: list[str],
    columns: list[str],
    *,
    cell: tuple[float, float] = (22, 22),
    shown: Callable[[int, int], str] | None = None,
    tip: Callable[[int, int], str] | None = None,
    highest: float | None = None,
    legend: tuple[str, str] | None = None,
    longest: float = 120,
    **words: str,
) -> Markup:
    """Draw numbers as shades of the accent color; they are not negative, and NaN is left empty.

    ``cell`` is the width and height of one, and ``longest`` the greatest width of names. For a row
    and a column, ``shown`` is the text in the cell, and ``tip`` the text on hover. The value
    ``highest`` (by default the largest) is the darkest, and ``legend`` names the meanings of the
    lightest and the darkest.
    """
    across, down = cell
    left, of_columns = room_for(rows, longest) + 10, room_for(columns, longest)
    slanted = of_columns > across - 4
    reach = (of_columns + 10) * 0.71 if slanted else 0
    top = reach + 10 if slanted else 22
    width = left + across * len(columns) + max(reach - across / 2 + 6, 2)
    bottom = top + down * len(rows)
    highest = float(np.nanmax(values)) if highest is None else highest
    parts = []
    for position, name in enumerate(columns):
        x, short = left + across * (position + 0.5), fitted(name, longest)
        if slanted:
            turn = f"rotate(-45 {at(x)} {at(top - 6)})"
            parts.append(text(x, top - 6, short, "axis", None, name, transform=turn))
        else:
            parts.append(text(x, top - 8, short, "axis", "middle", name))
    for row, name in enumerate(rows):
        middle = top + down * (row + 0.5)
        parts.append(text(left - 8, middle + 4, fitted(name, longest), "axis", "end", name))
        for column in np.flatnonzero(~np.isnan(values[row])).tolist():
            x = left + across * column
            shade = readable(values[row, column] / highest if highest > 0 else 0.0)
            inside = x + 0.75, middle - down / 2 + 0.75, across - 1.5, down - 1.5
            about = None if tip is None else tip(row, column)
            parts.append(box(*inside, "cell", about, fill_opacity=_opacity(shade)))
            if shown is not None and (written := shown(row, column)):
                class_ = "in-cell over" if shade >= 0.8 else "in-cell"
                parts.append(text(x + across / 2, middle + 4, written, class_, "middle"))
    if legend is not None:
        start = left + width_of(legend[0]) + 6
        for step in range(5):
            fill = _opacity((step + 0.3) / 4.3)
            parts.append(box(start + 16 * step, bottom + 14, 15, 10, "cell", fill_opacity=fill))
        for x, end in zip((left, start + 86), legend, strict=True):
            parts.append(text(x, bottom + 23, end, "axis"))
        bottom += 28
        width = max(width, start + 92 + width_of(legend[1]))
    return svg(key, width, bottom + 4, *parts, **words)


def readable(shade: float) -> float:
    """Return a shade that letters can be read on: a middle one suits neither light nor dark."""
    if 0.62 < shade < 0.8:
        return 0.62 if shade < 0.71 else 0.8
    return shade


def _opacity(shade: float) -> str:
    # A cell of zero is still visible.
    return f"{0.05 + 0.95 * min(max(shade, 0.0), 1.0):.2f}"
