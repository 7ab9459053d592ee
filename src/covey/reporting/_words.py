"""Names and numbers in the form of HTML."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from covey._number_words import number
from covey._plain_words import one_line, shortened
from covey._templates import Markup, escaped

# The value by which unknown numbers are sorted.
_LEAST = -1e300


def width_of(text: str, size: float = 11.0) -> float:
    """Return the approximate width of text in pixels, in the widest of the usual typefaces."""
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
    """Return text shortened until it is no wider than this many pixels."""
    text = one_line(text)
    most = len(text)
    while most > 2 and width_of(shortened(text, most), size) > width:
        most -= 1
    return shortened(text, most)


def name(text: Any, most: int = 22) -> Markup:
    """Return a name, shortened, with its full text on hover."""
    whole = one_line(text)
    short = shortened(whole, most)
    if short == whole:
        return Markup('<span class="name">{}</span>').format(escaped(whole))
    return Markup('<span class="name" title="{}">{}</span>').format(escaped(whole), escaped(short))


def described(pairs: Iterable[tuple[Any, Any]]) -> str:
    """Return names and values as one sentence, for readers who do not see the chart."""
    return "; ".join(f"{label}: {value}" for label, value in pairs) + "."


class Cell(NamedTuple):
    """A cell of a table: its text, and the value by which it is sorted."""

    shown: Any
    by: Any


def name_cell(text: Any, most: int = 30) -> Cell:
    """Return a cell of a name."""
    return Cell(name(text, most), one_line(text))


def number_cell(value: float | None, show: Callable[[float | None], str] = number) -> Cell:
    """Return a cell of a number; an unknown one is sorted as the least."""
    known = value is not None and math.isfinite(value)
    return Cell(show(value), value if known else _LEAST)
