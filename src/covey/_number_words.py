"""Numbers as people write them: 2,650; 1.12 million; 0.0012; 5 %. All output uses them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

NOTHING = "-"
_NAMED = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
# Between these, numbers are written without a power of ten.
_LEAST, _MOST = 1e-9, 1e15


def number(value: float | None, digits: int = 3) -> str:
    """Write a number with three significant digits.

    Examples
    --------
    >>> number(2648.3), number(1121000), number(0.00123), number(-12.04), number(None)
    ('2,650', '1.12 million', '0.00123', '-12', '-')
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    # Rounding may make it one digit longer.
    value = float(f"{value:.{digits - 1}e}")
    size = abs(value)
    if not _LEAST <= size < _MOST:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        return f"{_trimmed(mantissa)} x 10^{int(power)}"
    for unit, name in _NAMED:
        if size >= unit:
            return f"{number(value / unit, digits)} {name}"
    after = digits - 1 - math.floor(math.log10(size))
    return f"{value:,.0f}" if after <= 0 else _trimmed(f"{value:,.{after}f}")


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def signed(value: float, digits: int = 3) -> str:
    """Write a difference with its sign: +2,650 or -0.12."""
    return f"{'-' if value < 0 else '+'}{number(abs(value), digits)}"


def cell(value: float | None, digits: int = 3) -> str:
    """Write a value of a table: whole numbers in full, others with three or four digits, or more.

    Examples
    --------
    >>> cell(2019), cell(41000), cell(0.061696), cell(1234.5), cell(1234567)
    ('2019', '41,000', '0.0617', '1234', '1.235 million')
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    size = abs(value)
    least = len(f"{size:.0f}") if 100 <= size < 1e6 else 3
    text = number(value, max(digits, least, 4 if size >= 100 else 3))
    return text.replace(",", "") if size < 9_999.5 else text


def digits_of(low: float, high: float) -> int:
    """Return the number of digits that distinguishes values between these.

    Examples
    --------
    >>> cell(121.4735, digits_of(121.4735, 121.5663)), cell(45, digits_of(0, 90))
    ('121.474', '45')
    """
    if not math.isfinite(high - low) or low == high:
        return 3
    size, step = math.log10(max(abs(low), abs(high))), math.log10(high - low) - 1.7
    return min(math.floor(size) - math.floor(step) + 1, 15)


def percent(share: float | None) -> str:
    """Write a share of one as a percentage with one decimal.

    It is never rounded to 100 %, and a share close to zero is below 0.1 %.

    Examples
    --------
    >>> percent(0.9512), percent(0.5), percent(0.99996), percent(0.0001), percent(1)
    ('95.1 %', '50 %', '99.9 %', '< 0.1 %', '100 %')
    """
    if share is None or not math.isfinite(share):
        return NOTHING
    if 0 < share < 0.0005:
        return "< 0.1 %"
    shown = min(100 * share, 99.9) if share < 1 else 100 * share
    return f"{_trimmed(f'{shown:.1f}')} %".replace("-0 %", "0 %")


def rough(share: float | None) -> str:
    """Write a share of one in whole per cent, with a decimal if it is close to none or all.

    Examples
    --------
    >>> rough(0.5234), rough(0.0132), rough(0.994), rough(0.0002)
    ('52 %', '1.3 %', '99.4 %', '< 0.1 %')
    """
    if share is None or not math.isfinite(share):
        return NOTHING
    if 0.0995 <= share <= 0.99:
        return f"{100 * share:.0f} %"
    return percent(share)


def span(low: float, high: float) -> str:
    """Write two shares as a range: 93 to 97 %, with decimals if both would look alike.

    Examples
    --------
    >>> span(0.931, 0.969), span(0.9512, 0.9548), span(0.0, 0.0004)
    ('93 to 97 %', '95.1 to 95.5 %', '0 to < 0.1 %')
    """
    if f"{100 * low:.0f}" != f"{100 * high:.0f}":
        return f"{100 * low:.0f} to {100 * high:.0f} %"
    return f"{percent(low).removesuffix(' %')} to {percent(high)}"


def points(share: float) -> str:
    """Write a difference of shares in points, with its sign."""
    return f"{100 * share:+.1f}".replace("-0.0", "+0.0")


def day(since: float) -> str:
    """Write the day that is this many days after 1 January 1970."""
    if not math.isfinite(since):
        return NOTHING
    import numpy as np  # here, since the terminal's help needs nothing else that takes as long

    return str(np.datetime64(math.floor(since), "D"))


def count(value: float | None) -> str:
    """Write a whole number with separated thousands."""
    return NOTHING if value is None else f"{int(value):,}"


def counted(value: float, noun: str, plural: str | None = None) -> str:
    """Write a number of things.

    Examples
    --------
    >>> counted(1, "row"), counted(2650, "row")
    ('1 row', '2,650 rows')
    """
    return f"{count(value)} {noun if value == 1 else plural or noun + 's'}"


def quoted(value: Any, most: int = 40) -> str:
    """Write a category within quotes, shortened.

    Examples
    --------
    >>> quoted("Self-employed"), quoted(1)
    ("'Self-employed'", "'1'")
    """
    text = " ".join(str(value).split())
    return f"'{text if len(text) <= most else text[: most - 1] + '…'}'"


def listed(parts: Iterable[Any], last: str = "and") -> str:
    """Write parts as a sentence lists them: a, b and c."""
    texts = [str(part) for part in parts]
    return f" {last} ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def named(parts: Sequence[Any], most: int) -> str:
    """Write the first parts, and how many more there are: a, b, 3 more."""
    more = [f"{len(parts) - most:,} more"] if len(parts) > most else []
    return ", ".join([*map(str, parts[:most]), *more])


def range_words(low: float | None, high: float | None, show: Callable[[float], str] = cell) -> str:
    """Write a range, one end of which may be open (None or NaN): below 3, 3 to 5, 5 or more."""
    low, high = (math.nan if end is None else end for end in (low, high))
    if math.isnan(low):
        return f"below {show(high)}"
    return f"{show(low)} or more" if math.isnan(high) else f"{show(low)} to {show(high)}"
