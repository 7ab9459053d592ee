"""Numbers and names as readers want them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from covey._templates import Markup, escaped

# Written as code points, since they look like other characters.
DASH, MINUS, TIMES = "\u2013", "\u2212", "\u00d7"
NOTHING = DASH
NO_BREAK = "\u00a0"

# What unknown numbers are sorted by.
_LEAST = -1e300


def number(value: float | None, digits: int = 3) -> str:
    """A number of three significant digits."""
    if value is None or not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    size = abs(value)
    if size < 1e-4 or size >= 1e7:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        return f"{_minus(mantissa)} {TIMES} 10{_raised(int(power))}"
    # How many digits follow the point, once rounding has perhaps made it one digit longer.
    after = digits - 1 - math.floor(math.log10(float(f"{size:.{digits - 1}e}")))
    if after <= 0:
        return _minus(f"{round(value, after):,.0f}")
    text = f"{value:.{after}f}"
    return _minus(text.rstrip("0").rstrip("."))


def percent(value: float | None) -> str:
    """A share of one as a percentage of three significant digits.

    It is never rounded to 100 %, and a share close to zero is shown as below 0.1 %.
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    shown = 100 * value
    if 99.9 < shown < 100:
        shown = 99.9
    if 0 < shown < 0.05:
        return f"<{NO_BREAK}0.1{NO_BREAK}%"
    return f"{number(shown)}{NO_BREAK}%"


def rough(value: float | None) -> str:
    """A share of one in whole per cent; with a decimal where it is close to none or to all."""
    if value is None or not math.isfinite(value):
        return NOTHING
    shown = 100 * value
    if 0 < shown < 0.1:
        return f"<{NO_BREAK}0.1{NO_BREAK}%"
    if 0 < shown < 9.95 or 99 < shown < 100:
        shown = min(shown, 99.9)
        return f"{shown:.1f}".removesuffix(".0") + f"{NO_BREAK}%"
    return f"{shown:.0f}{NO_BREAK}%"


def day(since: float) -> str:
    """A day by how many have passed since 1970."""
    if not math.isfinite(since):
        return NOTHING
    return str(np.datetime64(math.floor(since), "D"))


def count(value: float) -> str:
    """A whole number with separated thousands."""
    return f"{int(value):,}"


def counted(value: float, noun: str, plural: str | None = None) -> str:
    """A number of things."""
    return f"{count(value)}{NO_BREAK}{noun if value == 1 else plural or noun + 's'}"


def interval(limits: Sequence[float | None]) -> str:
    """Two shares as an interval of percentages."""
    low, high = limits
    if low is None or high is None:
        return NOTHING
    return f"{number(100 * low)} to {percent(high)}"


def number_interval(limits: Sequence[float | None]) -> str:
    """Two numbers as an interval."""
    low, high = limits
    known = low is not None and high is not None and math.isfinite(low + high)
    return f"{number(low)} to {number(high)}" if known else NOTHING


def one_line(text: Any) -> str:
    """Text without line breaks."""
    return re.sub(r"\s+", " ", str(text)).strip()


def shortened(text: Any, most: int = 22) -> str:
    """Text of at most so many characters; what is too much is removed from the middle.

    The ends of names tell columns apart more often than their middles do.
    """
    text = one_line(text)
    if len(text) <= most:
        return text
    tail = (most - 1) // 3
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def width_of(text: str, size: float = 11.0) -> float:
    """About how wide text is in pixels, in the widest of the usual typefaces."""
    return size * sum(_letter(letter) for letter in text)


def _letter(letter: str) -> float:
    if letter in "iljI.,:;'|! ":
        return 0.33
    if letter in 'ftr()[]-/"':
        return 0.42
    if letter in "mwMW@%…—" or ord(letter) > 0x2E80:
        return 1.0
    return 0.7 if letter.isupper() else 0.63


def fitted(text: Any, width: float, size: float = 11.0) -> str:
    """Text shortened until it is no wider than so many pixels."""
    text = one_line(text)
    most = len(text)
    while most > 2 and width_of(shortened(text, most), size) > width:
        most -= 1
    return shortened(text, most)


def name(text: Any, most: int = 22) -> Markup:
    """A name, shortened, with its full text on hover."""
    whole = one_line(text)
    short = shortened(whole, most)
    if short == whole:
        return Markup('<span class="name">{}</span>').format(escaped(whole))
    return Markup('<span class="name" title="{}">{}</span>').format(escaped(whole), escaped(short))


def quoted(text: Any, most: int = 22) -> Markup:
    """A name within quotes, shortened, with its full text on hover."""
    return Markup("“{}”").format(name(text, most))


def listed(parts: Iterable) -> Markup:
    """Parts as a sentence lists them: a, b and c."""
    parts = [escaped(part) for part in parts]
    if len(parts) < 2:
        return Markup("").join(parts)
    return Markup(", ").join(parts[:-1]) + Markup(" and ") + parts[-1]


def described(pairs: Iterable[tuple[Any, Any]]) -> str:
    """Names and values as one sentence, for readers who do not see the chart."""
    return "; ".join(f"{label}: {value}" for label, value in pairs) + "."


class Cell(NamedTuple):
    """A cell of a table: what it shows, and what it is sorted by."""

    shown: Any
    by: Any


def name_cell(text: Any, most: int = 30) -> Cell:
    """A cell of a name."""
    return Cell(name(text, most), one_line(text))


def number_cell(value: float | None, show: Callable[[float | None], str] = number) -> Cell:
    """A cell of a number; one that is not known is sorted as the least."""
    known = value is not None and math.isfinite(value)
    return Cell(show(value), value if known else _LEAST)


def percent_cell(value: float | None) -> Cell:
    """A cell of a share."""
    return number_cell(value, percent)


def _minus(text: str) -> str:
    return text.replace("-", MINUS)


def _raised(power: int) -> str:
    return str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
