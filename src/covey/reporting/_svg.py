"""Inline SVG, drawn by hand: charts follow the page's colors, light or dark.

Every chart has a title and a description for readers who do not see it, and is drawn about as
wide as a phone, so that its letters stay readable there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from covey._templates import Markup, escaped
from covey.reporting._words import width_of


def tag(name: str, *children: Any, **attributes: Any) -> Markup:
    """An element; attributes are written as keywords, ``class_`` and ``text_anchor``."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(escaped(child) for child in children if child is not None)
    return Markup(f"<{name}{written}>{inside}</{name}>")


def at(value: float) -> str:
    """A coordinate; a tenth of a pixel is as fine as eyes see."""
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
    """A drawing with its text alternative; ``key`` is unlike that of any other on the page."""
    return tag(
        "svg",
        tag("title", title, id=f"{key}-t"),
        tag("desc", description, id=f"{key}-d"),
        *parts,
        viewBox=f"0 0 {at(width)} {at(height)}",
        width=at(width),
        height=at(height),
        role="img",
        aria_labelledby=f"{key}-t",
        aria_describedby=f"{key}-d",
        class_=class_,
    )


def text(
    x: float,
    y: float,
    words: str,
    class_: str | None = None,
    anchor: str | None = None,
    tip: str | None = None,
    **more: Any,
) -> Markup:
    """A word or two; the full text on hover if it is shortened."""
    whole = None if tip is None or tip == words else tag("title", tip)
    return tag("text", words, whole, x=at(x), y=at(y), class_=class_, text_anchor=anchor, **more)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight line."""
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
    """A rectangle."""
    size = {"width": at(max(width, 0)), "height": at(max(height, 0))}
    return tag("rect", _tip(tip), x=at(x), y=at(y), **size, class_=class_, **more)


def dot(x: float, y: float, radius: float, class_: str, tip: str | None = None) -> Markup:
    """A circle."""
    return tag("circle", _tip(tip), cx=at(x), cy=at(y), r=at(radius), class_=class_)


def _tip(words: str | None) -> Markup | None:
    return None if words is None else tag("title", words)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers from low to high."""
    raw = (high - low) / most
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * nice for nice in (1, 2, 2.5, 5, 10) if size * nice >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [position * step for position in range(first, last + 1)]


def room_for(names: Iterable, most: float, size: float = 11.0) -> float:
    """The width that names take, of so many pixels at most."""
    return min(max((width_of(str(name), size) for name in names), default=0.0), most)
