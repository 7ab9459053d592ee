"""Columns, values and reasons as people say them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from covey._number_words import cell, digits_of, number

_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_RAMP = re.compile(rf"ramp\((.*), ({_NUMBER}), ({_NUMBER})\)", re.DOTALL)
_CENTERED = re.compile(rf"\((.*) [-+] {_NUMBER}\)", re.DOTALL)
_CATEGORY = re.compile(r"(.*?) = (.*)", re.DOTALL)
_ENCODED = re.compile(r"(.*) \(encoded(?: for (.*))?\)", re.DOTALL)
# How many characters of a text value are shown, at most.
_LONGEST = 40


def plain_words(term: str, value: Any = None) -> str:
    """Describe a column that is made of others, in words.

    Parameters
    ----------
    term : str
        A name as members, formulas and preparations use it.
    value : number, optional
        The value of the row; for a category 1 or 0.

    Returns
    -------
    words : str

    Examples
    --------
    >>> plain_words("ramp(lvr, 0.576, 0.7037)")
    'lvr between 0.58 and 0.7'
    >>> plain_words("self = yes", 0), plain_words("self = yes")
    ('self: not yes', 'self: yes')
    >>> plain_words("(age - 50.2)*(bmi - 24.1)"), plain_words("(age - 50.2)**2")
    ('age together with bmi', 'age, near the middle or far from it')
    """
    found = _RAMP.fullmatch(term)
    if found:
        low, high = (number(float(end), 2) for end in found.groups()[1:])
        if low == high:
            low, high = found.groups()[1:]
        return f"{plain_words(found[1])} between {low} and {high}"
    if term.endswith("**2"):
        return f"{_uncentered(term[:-3])}, near the middle or far from it"
    one, times, other = term.partition(")*")
    if times or "*(" in term:
        one, other = (one + ")", other) if times else term.split("*", 1)
        return f"{_uncentered(one)} together with {_uncentered(other)}"
    found = _ENCODED.fullmatch(term)
    if found:
        return found[1] if found[2] is None else f"{found[1]} (as for {found[2]})"
    found = _CATEGORY.fullmatch(term)
    if found:
        no = "not " if value is not None and float(value) == 0 else ""
        return f"{found[1]}: {no}{found[2]}"
    return term


def _uncentered(term: str) -> str:
    found = _CENTERED.fullmatch(term)
    return plain_words(found[1] if found else term)


def value_words(value: Any) -> str:
    """Write a value as it is shown: whole numbers in full, "missing" for gaps.

    Examples
    --------
    >>> value_words(0.061696), value_words(41000), value_words(None), value_words("Rome")
    ('0.0617', '41,000', 'missing', 'Rome')
    """
    if value is None or value != value:
        return "missing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return cell(value)
    text = one_line(value).removesuffix(" 00:00:00")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def one_line(text: Any) -> str:
    """Return text without line breaks."""
    return " ".join(str(text).split())


def shortened(text: Any, most: int = 22) -> str:
    """Return text of at most this many characters; surplus is removed from the middle.

    The ends of names distinguish columns more often than their middles do.
    """
    text = one_line(text)
    if len(text) <= most:
        return text
    tail = (most - 1) // 3
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its type if it has none."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


def reason_words(reason: Mapping[str, Any]) -> str:
    """Write a reason of ``explain``: ``bilirubin 0.8 (typical 3.2)``, ``self-employed: no``.

    Examples
    --------
    >>> reason_words({"column": "bilirubin", "value": 0.8, "typical": 3.2, "push": 0.3})
    'bilirubin 0.8 (typical 3.2)'
    >>> reason_words({"column": "town", "value": None, "typical": "Rome", "push": 0.3})
    'town: missing (typical Rome)'
    >>> reason_words({"column": "latitude", "value": 24.983, "typical": 24.971, "push": 2.0})
    'latitude 24.983 (typical 24.971)'
    """
    value, typical = value_words(reason["value"]), value_words(reason["typical"])
    is_number = isinstance(reason["value"], int | float) and value != "missing"
    if is_number and value == typical:
        low, high = sorted((reason["value"], reason["typical"]))
        value, typical = (cell(reason[one], digits_of(low, high)) for one in ("value", "typical"))
    sign = " " if is_number and not isinstance(reason["value"], bool) else ": "
    beside = "" if typical == value else f" (typical {typical})"
    return f"{one_line(reason['column'])}{sign}{value}{beside}"
