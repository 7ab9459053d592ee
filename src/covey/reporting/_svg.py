"""Charts as inline SVG, drawn by hand: they follow the page's colours, light or dark.

Every chart has a title and a description for those who do not see it, and is drawn about as
wide as a phone, so that its letters stay readable there.
"""

import math

from covey.reporting._markup import tag
from covey.reporting._words import width_of


def at(value):
    """A coordinate; a tenth of a pixel is as fine as eyes see."""
    return f"{value:.1f}".removesuffix(".0")


def svg(key, width, height, *parts, title, description, class_="chart"):
    """A drawing with its text alternative.

    Parameters
    ----------
    key : str
        Unlike that of any other drawing on the page.
    width, height : number
    *parts : Markup
    title, description : str
    class_ : str
    """
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


def text(x, y, words, class_=None, anchor=None, tip=None, **more):
    """A word or two; the whole of it on hover if it is shortened."""
    inside = [words] if tip is None or tip == words else [words, tag("title", tip)]
    return tag("text", *inside, x=at(x), y=at(y), class_=class_, text_anchor=anchor, **more)


def line(x1, y1, x2, y2, class_):
    """A straight line."""
    return tag("line", x1=at(x1), y1=at(y1), x2=at(x2), y2=at(y2), class_=class_)


def box(x, y, width, height, class_=None, tip=None, **more):
    """A rectangle."""
    inside = [] if tip is None else [tag("title", tip)]
    return tag(
        "rect",
        *inside,
        x=at(x),
        y=at(y),
        width=at(max(width, 0)),
        height=at(max(height, 0)),
        class_=class_,
        **more,
    )


def dot(x, y, radius, class_, tip=None):
    """A circle."""
    inside = [] if tip is None else [tag("title", tip)]
    return tag("circle", *inside, cx=at(x), cy=at(y), r=at(radius), class_=class_)


def ticks(low, high, most=5):
    """Round numbers from low to high."""
    raw = (high - low) / most
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * nice for nice in (1, 2, 2.5, 5, 10) if size * nice >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [place * step for place in range(first, last + 1)]


def room_for(names, most, size=11.0):
    """The width that names take, of so many pixels at most."""
    return min(max((width_of(str(name), size) for name in names), default=0.0), most)


def described(pairs):
    """Names and numbers as one sentence, for those who do not see the chart."""
    return "; ".join(f"{name}: {said}" for name, said in pairs) + "."
