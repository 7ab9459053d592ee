"""The charts of a report, each one function from numbers to a drawing.

Every chart has a ``key`` unlike that of any other on the page, and a ``title`` and a
``description`` for readers who do not see it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from covey._templates import Markup
from covey.reporting._svg import at, box, dot, line, room_for, svg, tag, text, ticks
from covey.reporting._words import described, fitted, number, percent

# -- dots with intervals ---------------------------------------------------------------------


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
    title: str,
    description: str,
    low: float | None = None,
    least: float = 0.0,
    show: Callable = percent,
) -> Markup:
    """Values with their intervals, one below the other.

    The axis begins at ``low``, by default at what the dots need, and ends within ``least`` and 1.
    """
    width, row, top = 464, 30, 8
    # Bold letters are wider.
    names = room_for([d.name for d in dots], 172, 13)
    left, right = names + 14, 64
    ends = [v for d in dots for v in (d.value, d.low, d.high) if v is not None]
    low, high = min(ends) if low is None else low, max(ends)
    if high - low < 0.02:
        low, high = max(least, low - 0.02), min(1.0, high + 0.02)
    pad = 0.05 * (high - low)
    low, high = max(least, low - pad), min(1.0, high + pad)

    def across(value: float) -> float:
        return left + (width - left - right) * (value - low) / (high - low)

    bottom = top + row * len(dots)
    parts = []
    for tick in ticks(low, high, 5):
        parts.append(line(across(tick), top, across(tick), bottom, "grid"))
        parts.append(text(across(tick), bottom + 16, show(tick), "axis", "middle"))
    for position, d in enumerate(dots):
        y = top + row * (position + 0.5)
        emphasis = " strong" if d.kind == "own" else ""
        short = fitted(d.name, names, 12 if not emphasis else 13)
        parts.append(text(left - 12, y + 4, short, "label" + emphasis, "end", d.name))
        if d.low is not None and d.high is not None:
            parts.append(line(across(d.low), y, across(d.high), y, f"interval {d.kind}"))
        parts.append(dot(across(d.value), y, 5 if d.kind == "own" else 4.5, d.kind, d.tip))
        parts.append(text(width - 2, y + 4, show(d.value), "value" + emphasis, "end"))
    return svg(key, width, bottom + 24, *parts, title=title, description=description)


# -- two axes --------------------------------------------------------------------------------


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

    def rows(self, show: Callable) -> list[Markup]:
        """Lines across, with their values to the left."""
        parts = []
        for tick in ticks(*self.y, 5):
            parts.append(line(self.left, self.up(tick), self.right, self.up(tick), "grid"))
            parts.append(text(self.left - 8, self.up(tick) + 4, show(tick), "axis", "end"))
        return parts

    def columns(self, values: Iterable[float], show: Callable, below: float) -> list[Markup]:
        """Values along the bottom."""
        return [text(self.across(v), below, show(v), "axis", "middle") for v in values]

    def name_left(self, words: str) -> Markup:
        middle = (self.top + self.bottom) / 2
        turn = f"rotate(-90 12 {at(middle)})"
        return text(12, middle, words, "axis", "middle", transform=turn)

    def name_below(self, words: str, below: float) -> Markup:
        return text(self.left + self.width / 2, below, words, "axis", "middle")


# -- lines -----------------------------------------------------------------------------------


class Curve(NamedTuple):
    """A line of a line chart: values at 1, 2, ...; ``kind`` is own or limit."""

    name: str
    values: list
    kind: str


def line_chart(
    key: str,
    curves: list[Curve],
    *,
    x_name: str,
    level: tuple[str, float] | None = None,
    mark: tuple[str, float] | None = None,
    show: Callable = percent,
    highest: float | None = 1.0,
    title: str,
    description: str,
) -> Markup:
    """Scores against a whole number, the lines named at their ends.

    ``level`` is a score to compare with, ``mark`` a single point at the end.
    """
    width, height, right = 464, 260, 112
    n = len(curves[0].values)
    values = [v for curve in curves for v in curve.values]
    values += [extra[1] for extra in (level, mark) if extra is not None]
    low, high = min(values), max(values)
    spread = max(high - low, 0.02 * (highest or abs(high) or 1.0))
    low, high = max(0.0, low - 0.08 * spread), min(highest or math.inf, high + 0.08 * spread)
    plane = Plane((50, 10, width - right - 50, height - 50), (1, max(n, 2)), (low, high))
    across, up = plane.across, plane.up
    shown = {1, n} | {k for k in map(round, ticks(1, n, 5)) if 1 <= k <= n} if n > 1 else {1}
    # The last number needs room of its own.
    shown -= {k for k in shown if k not in (1, n) and n - k < n / 12}
    parts = plane.rows(show) + plane.columns(sorted(shown), str, plane.bottom + 18)
    parts.append(plane.name_below(x_name, height - 2))
    named = []
    if level is not None:
        parts.append(line(plane.left, up(level[1]), plane.right, up(level[1]), "level"))
        named.append((up(level[1]), level[0], "label"))
    for curve in curves:
        points = " ".join(
            f"{at(across(k))},{at(up(v))}" for k, v in enumerate(curve.values, start=1)
        )
        parts.append(tag("polyline", points=points, class_=f"curve {curve.kind}"))
        if n <= 40:
            parts.extend(
                dot(across(k), up(v), 3, curve.kind, f"{curve.name}, K = {k}: {show(v)}")
                for k, v in enumerate(curve.values, start=1)
            )
        named.append((up(curve.values[-1]), curve.name, f"label {curve.kind}"))
    if mark is not None:
        x, y = across(n), up(mark[1])
        parts.append(
            tag(
                "path",
                tag("title", f"{mark[0]}: {show(mark[1])}"),
                d=f"M{at(x)} {at(y - 7)}L{at(x + 7)} {at(y)}L{at(x)} {at(y + 7)}"
                f"L{at(x - 7)} {at(y)}Z",
                class_="own halo",
            )
        )
        named.append((y, mark[0], "label own"))
    for y, (_, words, class_) in zip(apart([n[0] for n in named]), named, strict=True):
        parts.append(text(width - right + 12, y + 4, words, class_))
    return svg(key, width, height, *parts, title=title, description=description)


def apart(heights: list[float], least: float = 15.0) -> list[float]:
    """Heights moved as little as it takes to be so far from one another."""
    order = np.argsort(heights, kind="stable")
    moved = np.array(heights, dtype=np.float64)[order]
    for _ in range(200):
        gaps = np.diff(moved)
        tight = np.flatnonzero(gaps < least - 1e-6)
        if not len(tight):
            break
        for one in tight:
            short = (least - (moved[one + 1] - moved[one])) / 2
            if short > 0:
                moved[one] -= short
                moved[one + 1] += short
    result = np.empty_like(moved)
    result[order] = moved
    return result.tolist()


# -- calibration -----------------------------------------------------------------------------


class Bin(NamedTuple):
    """Rows of about the same confidence."""

    confidence: float
    accuracy: float
    low: float
    high: float
    count: int
    start: float
    end: float


def reliability(
    key: str, bins: list[Bin], *, start: float, title: str, description: str
) -> Markup:
    """Accuracy against confidence, and below how many rows there are of each.

    ``start`` is the least possible confidence, where the axis begins.
    """
    side, left, top, tall = 270, 52, 8, 66
    least = min([start, *(b.low for b in bins)])
    floor = 0.0 if least < 0.25 else math.floor(least * 10) / 10
    plane = Plane((left, top, side, side), (start, 1.0), (floor, 1.0))
    across, up = plane.across, plane.up
    counts = Plane((left, plane.bottom + 26, side, tall), (start, 1.0), (0.0, 1.0))
    parts = [box(left, top, side, side, "frame"), *plane.rows(percent)]
    parts.append(line(across(max(start, floor)), up(max(start, floor)), across(1), up(1), "level"))
    most = max((b.count for b in bins), default=1)
    for b in bins:
        x = across(b.confidence)
        tip = (
            f"confidence {percent(b.start)} to {percent(b.end)}: {b.count:,} rows, "
            f"{percent(b.accuracy)} right, {percent(b.confidence)} expected"
        )
        parts.append(line(x, up(b.low), x, up(b.high), "interval own thin"))
        parts.append(dot(x, up(b.accuracy), 2.5 + 3.5 * math.sqrt(b.count / most), "own", tip))
        height = tall * b.count / most
        x0, x1 = across(b.start), across(b.end)
        y = counts.bottom - height
        parts.append(box(x0 + 1, y, x1 - x0 - 2, height, "bar faint", tip))
        brief = f"{b.count:,}" if b.count < 10_000 else f"{b.count / 1000:.0f}k"
        parts.append(text((x0 + x1) / 2, y - 4, brief, "axis tiny", "middle"))
    base = counts.bottom
    parts.append(line(left, base, left + side, base, "rule"))
    parts += plane.columns(ticks(start, 1.0, 5), percent, base + 16)
    parts.append(plane.name_below("confidence", base + 34))
    parts += [plane.name_left("right"), counts.name_left("rows")]
    width = left + side + 16
    return svg(key, width, base + 40, *parts, title=title, description=description)


def histogram(key: str, values: np.ndarray, *, title: str) -> Markup:
    """How numbers are spread, small enough for a cell of a table."""
    width, tall, n_bins = 96, 20, 16
    low, high = float(values.min()), float(values.max())
    counts, _ = np.histogram(values, bins=n_bins, range=(low, high if high > low else low + 1.0))
    each = width / n_bins
    parts = [
        box(each * position, tall - height, each - 1, height, "bar faint")
        for position, height in enumerate(tall * counts / counts.max())
        if height > 0
    ]
    parts.append(line(0, tall, width, tall, "grid"))
    ends = described(
        [
            ("least", number(low)),
            ("median", number(float(np.median(values)))),
            ("most", number(high)),
        ]
    )
    return svg(key, width, tall + 1, *parts, title=title, description=ends)


# -- dots ------------------------------------------------------------------------------------


def scatter(
    key: str,
    x: np.ndarray,
    y: np.ndarray,
    *,
    x_name: str,
    y_name: str,
    diagonal: bool,
    tips: list[str],
    title: str,
    description: str,
) -> Markup:
    """Dots of two numbers; a dotted line where both are the same, or where the second is 0."""
    both = np.concatenate([x, y])
    up = _ends(both if diagonal else np.append(y, 0.0))
    # The name of the axis stands left of its numbers.
    left = room_for(map(number, ticks(*up, 5)), 90) + 32
    plane = Plane((left, 8, 300 - left, 226), _ends(both if diagonal else x), up)
    start, end = plane.x if diagonal else (0.0, 0.0)
    level = line(plane.left, plane.up(start), plane.right, plane.up(end), "level")
    dots = [
        dot(plane.across(one), plane.up(other), 2.5, "point", tip)
        for one, other, tip in zip(x.tolist(), y.tolist(), tips, strict=True)
    ]
    columns = plane.columns(ticks(*plane.x, 4), number, plane.bottom + 16)
    names = [plane.name_below(x_name, plane.bottom + 34), plane.name_left(y_name)]
    parts = [*plane.rows(number), *columns, level, *dots, *names]
    size = plane.right + 16, plane.bottom + 40
    return svg(key, *size, *parts, title=title, description=description)


def _ends(values: np.ndarray) -> tuple[float, float]:
    """The ends of an axis that has all values well inside."""
    low, high = float(values.min()), float(values.max())
    pad = 0.04 * (high - low) or 0.5 * abs(high) or 1.0
    return low - pad, high + pad
