"""The charts of a report, each one function from numbers to a drawing."""

import math
from dataclasses import dataclass

import numpy as np

from covey.reporting._markup import tag
from covey.reporting._svg import at, box, described, dot, line, room_for, svg, text, ticks
from covey.reporting._words import fitted, number, percent, width_of

# -- dots with intervals ---------------------------------------------------------------------


@dataclass(frozen=True)
class Dot:
    """A line of a dot plot: a value with its interval; ``kind`` is own, other or limit."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    kind: str = "other"
    tip: str | None = None


def dot_plot(key, dots, *, title, description, low=None, high=None):
    """Values with their intervals, one below the other.

    Parameters
    ----------
    key : str
    dots : list of Dot
    title, description : str
    low, high : float, optional
        Where the axis begins and ends; what the dots need by default.
    """
    width, row, top = 464, 30, 8
    # Bold letters are wider.
    names = room_for([d.name for d in dots], 172, 13)
    left, right = names + 14, 64
    ends = [v for d in dots for v in (d.value, d.low, d.high) if v is not None]
    low = min(ends) if low is None else low
    high = max(ends) if high is None else high
    if high - low < 0.02:
        low, high = max(0.0, low - 0.02), min(1.0, high + 0.02)
    pad = 0.05 * (high - low)
    low, high = max(0.0, low - pad), min(1.0, high + pad)

    def place(value):
        return left + (width - left - right) * (value - low) / (high - low)

    bottom = top + row * len(dots)
    parts = []
    for tick in ticks(low, high, 5):
        parts.append(line(place(tick), top, place(tick), bottom, "grid"))
        parts.append(text(place(tick), bottom + 16, percent(tick), "axis", "middle"))
    for position, d in enumerate(dots):
        y = top + row * (position + 0.5)
        emphasis = " strong" if d.kind == "own" else ""
        short = fitted(d.name, names, 12 if not emphasis else 13)
        parts.append(text(left - 12, y + 4, short, "label" + emphasis, "end", d.name))
        if d.low is not None and d.high is not None:
            parts.append(line(place(d.low), y, place(d.high), y, f"interval {d.kind}"))
        parts.append(dot(place(d.value), y, 5 if d.kind == "own" else 4.5, d.kind, d.tip))
        parts.append(text(width - 2, y + 4, percent(d.value), "value" + emphasis, "end"))
    return svg(key, width, bottom + 24, *parts, title=title, description=description)


# -- lines -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """A line of a line chart: values at 1, 2, ...; ``kind`` is own or limit."""

    name: str
    values: list
    kind: str


def line_chart(key, curves, *, x_name, level=None, mark=None, title, description):
    """Shares against a whole number, the lines named at their ends.

    Parameters
    ----------
    key : str
    curves : list of Curve
    x_name : str
    level : tuple of (name, value), optional
        A level to compare with.
    mark : tuple of (name, value), optional
        A single point at the end.
    title, description : str
    """
    width, height, left, bottom, top = 464, 260, 50, 40, 10
    right = 112
    n = len(curves[0].values)
    values = [v for curve in curves for v in curve.values]
    values += [extra[1] for extra in (level, mark) if extra is not None]
    low, high = min(values), max(values)
    spread = max(high - low, 0.02)
    low, high = max(0.0, low - 0.08 * spread), min(1.0, high + 0.08 * spread)

    def across(k):
        return left + (width - left - right) * ((k - 1) / max(n - 1, 1))

    def up(value):
        return height - bottom - (height - bottom - top) * (value - low) / (high - low)

    parts = []
    for tick in ticks(low, high, 5):
        parts.append(line(left, up(tick), width - right, up(tick), "grid"))
        parts.append(text(left - 8, up(tick) + 4, percent(tick), "axis", "end"))
    shown = {1, n} | {k for k in map(round, ticks(1, n, 5)) if 1 <= k <= n} if n > 1 else {1}
    # The last number needs room of its own.
    shown -= {k for k in shown if k not in (1, n) and n - k < n / 12}
    for k in sorted(shown):
        parts.append(text(across(k), height - bottom + 18, str(k), "axis", "middle"))
    parts.append(text((left + width - right) / 2, height - 2, x_name, "axis", "middle"))
    named = []
    if level is not None:
        parts.append(line(left, up(level[1]), width - right, up(level[1]), "level"))
        named.append((up(level[1]), level[0], "label"))
    for curve in curves:
        points = " ".join(
            f"{at(across(k))},{at(up(v))}" for k, v in enumerate(curve.values, start=1)
        )
        parts.append(tag("polyline", points=points, class_=f"curve {curve.kind}"))
        if n <= 40:
            parts.extend(
                dot(across(k), up(v), 3, curve.kind, f"{curve.name}, K = {k}: {percent(v)}")
                for k, v in enumerate(curve.values, start=1)
            )
        named.append((up(curve.values[-1]), curve.name, f"label {curve.kind}"))
    if mark is not None:
        x, y = across(n), up(mark[1])
        parts.append(
            tag(
                "path",
                tag("title", f"{mark[0]}: {percent(mark[1])}"),
                d=f"M{at(x)} {at(y - 7)}L{at(x + 7)} {at(y)}L{at(x)} {at(y + 7)}"
                f"L{at(x - 7)} {at(y)}Z",
                class_="own halo",
            )
        )
        named.append((y, mark[0], "label own"))
    for y, (_, words, class_) in zip(apart([n[0] for n in named]), named, strict=True):
        parts.append(text(width - right + 12, y + 4, words, class_))
    return svg(key, width, height, *parts, title=title, description=description)


def apart(places, least=15.0):
    """Places moved as little as it takes to be so far from one another."""
    order = np.argsort(places, kind="stable")
    moved = np.array(places, dtype=np.float64)[order]
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


# -- maps of shades --------------------------------------------------------------------------


def heat_map(
    key,
    values,
    rows,
    columns,
    *,
    title,
    description,
    cell=(22, 22),
    shown=None,
    tip=None,
    lowest=0.0,
    highest=None,
    legend=None,
    longest=120,
):
    """Numbers as shades of the accent colour.

    Parameters
    ----------
    key : str
    values : ndarray of shape (n_rows, n_columns)
        Not negative; NaN is left empty.
    rows, columns : list of str
        Their names.
    title, description : str
    cell : tuple of number
        Width and height.
    shown : function of a value, optional
        What to write into a cell.
    tip : function of (row, column), optional
        What to say on hover.
    lowest, highest : float, optional
        What is lightest, and what is darkest; the largest value by default.
    legend : tuple of str, optional
        What the lightest and the darkest shade mean.
    longest : number
        How wide names are at most.
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
            said = None if tip is None else tip(row, column)
            parts.append(
                box(
                    x + 0.75,
                    y + 0.75,
                    across - 1.5,
                    down - 1.5,
                    "cell",
                    said,
                    fill_opacity=at_shade(shade),
                )
            )
            if shown is not None:
                words = shown(value)
                if words:
                    class_ = "in-cell over" if shade >= 0.8 else "in-cell"
                    parts.append(text(x + across / 2, y + down / 2 + 4, words, class_, "middle"))
    if legend is not None:
        y = bottom + 14
        parts.append(text(left, y + 9, legend[0], "axis"))
        start = left + width_of(legend[0]) + 6
        for step in range(5):
            parts.append(
                box(
                    start + 16 * step, y, 15, 10, "cell", fill_opacity=at_shade((step + 0.3) / 4.3)
                )
            )
        parts.append(text(start + 86, y + 9, legend[1], "axis"))
        bottom += 28
        width = max(width, start + 92 + width_of(legend[1]))
    return svg(key, width, bottom + 4, *parts, title=title, description=description)


def readable(shade):
    """A shade that letters can be read on: those in the middle suit neither light nor dark."""
    if 0.62 < shade < 0.8:
        return 0.62 if shade < 0.71 else 0.8
    return shade


def at_shade(shade):
    # What is nothing still shows where it is.
    return f"{0.05 + 0.95 * min(max(shade, 0.0), 1.0):.2f}"


# -- bars ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bar:
    """A named bar."""

    name: str
    value: float
    note: str = ""


def bars(key, items, *, title, description, highest=None, width=272, left=134):
    """A few named bars, as long as their values are large.

    Parameters
    ----------
    key : str
    items : list of Bar
    title, description : str
    highest : float, optional
        What the longest possible bar means; the largest value by default.
    width, left : number
        Of all, and of the names.
    """
    highest = max((abs(item.value) for item in items), default=0.0) if highest is None else highest
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
        parts.append(text(width, y + 13, _small(item.value), "axis", "end"))
    return svg(key, width, row * len(items), *parts, title=title, description=description)


def _small(value):
    return number(value, 2) if abs(value) >= 0.001 else "< 0.001"


def strip(key, shares, names, *, title, description, width=272):
    """Shares of one side by side, each as a small upright bar with its name below."""
    gap = 3
    each = min((width - gap * (len(shares) - 1)) / len(shares), 88)
    tall = 34
    parts = []
    for position, (share, name) in enumerate(zip(shares, names, strict=True)):
        x = (each + gap) * position
        known = not math.isnan(share)
        tip = f"{name}: {percent(share)} right" if known else f"{name}: no such row"
        parts.append(box(x, 0, each, tall, "track", tip))
        if known:
            up = tall * share
            parts.append(box(x, tall - up, each, up, "bar", tip))
        short = fitted(name, each)
        parts.append(text(x + each / 2, tall + 13, short, "axis", "middle", str(name)))
    return svg(key, width, tall + 18, *parts, title=title, description=description)


# -- calibration -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Bin:
    """Rows of about the same confidence."""

    confidence: float
    accuracy: float
    low: float
    high: float
    count: int
    start: float
    end: float


def reliability(key, bins, *, start, title, description):
    """Accuracy against confidence, and below how many rows there are of each.

    Parameters
    ----------
    key : str
    bins : list of Bin
    start : float
        The least confidence that there can be, where the axis begins.
    title, description : str
    """
    side, left, top, gap, tall = 270, 52, 8, 14, 66
    width = left + side + 16
    below = top + side + gap

    def across(value):
        return left + side * (value - start) / (1.0 - start)

    least = min([start, *(b.low for b in bins)])
    floor = 0.0 if least < 0.25 else math.floor(least * 10) / 10

    def up(value):
        return top + side * (1.0 - (value - floor) / (1.0 - floor))

    parts = [box(left, top, side, side, "frame")]
    for tick in ticks(floor, 1.0, 5):
        parts.append(line(left, up(tick), left + side, up(tick), "grid"))
        parts.append(text(left - 8, up(tick) + 4, percent(tick), "axis", "end"))
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
        parts.append(
            box(x0 + 1, below + 12 + tall - height, x1 - x0 - 2, height, "bar faint", tip)
        )
        parts.append(
            text((x0 + x1) / 2, below + 8 + tall - height, _brief(b.count), "axis tiny", "middle")
        )
    base = below + 12 + tall
    parts.append(line(left, base, left + side, base, "rule"))
    for tick in ticks(start, 1.0, 5):
        parts.append(text(across(tick), base + 16, percent(tick), "axis", "middle"))
    parts.append(text(left + side / 2, base + 34, "confidence", "axis", "middle"))
    y = top + side / 2
    parts.append(text(12, y, "right", "axis", "middle", transform=f"rotate(-90 12 {at(y)})"))
    y = below + 12 + tall / 2
    parts.append(text(12, y, "rows", "axis", "middle", transform=f"rotate(-90 12 {at(y)})"))
    return svg(key, width, base + 40, *parts, title=title, description=description)


def _brief(value):
    return f"{value:,}" if value < 10_000 else f"{value / 1000:.0f}k"


def histogram(key, values, *, title):
    """How numbers are spread, small enough for a cell of a table."""
    width, tall, n_bins = 96, 20, 16
    low, high = float(values.min()), float(values.max())
    counts, _ = np.histogram(values, bins=n_bins, range=(low, high if high > low else low + 1.0))
    each = width / n_bins
    parts = [
        box(each * place, tall - height, each - 1, height, "bar faint")
        for place, height in enumerate(tall * counts / counts.max())
        if height > 0
    ]
    parts.append(line(0, tall, width, tall, "grid"))
    said = described(
        [
            ("least", number(low)),
            ("median", number(float(np.median(values)))),
            ("most", number(high)),
        ]
    )
    return svg(key, width, tall + 1, *parts, title=title, description=said)
