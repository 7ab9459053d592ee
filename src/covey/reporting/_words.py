"""Numbers and names as readers want them."""

import math
import re

from covey.reporting._markup import Markup, escaped, joined, tag

# Written as numbers, since they look like others.
DASH, MINUS, TIMES = "\u2013", "\u2212", "\u00d7"
NOTHING = DASH
NO_BREAK = "\u00a0"


def number(value, digits=3):
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


def percent(value):
    """A share of one as a percentage of three significant digits.

    It is never rounded to 100 %, and what is next to nothing is said to be so.
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    shown = 100 * value
    if 99.9 < shown < 100:
        shown = 99.9
    if 0 < shown < 0.05:
        return f"<{NO_BREAK}0.1{NO_BREAK}%"
    return f"{number(shown)}{NO_BREAK}%"


def count(value):
    """A whole number, thousands apart."""
    return f"{int(value):,}"


def counted(value, noun, plural=None):
    """A number of things."""
    return f"{count(value)}{NO_BREAK}{noun if value == 1 else plural or noun + 's'}"


def interval(low, high):
    """Two shares as an interval of percentages."""
    if low is None or high is None:
        return NOTHING
    first = number(100 * low)
    return f"{first} to {percent(high)}"


def one_line(text):
    """Text without line breaks."""
    return re.sub(r"\s+", " ", str(text)).strip()


def shortened(text, most=22):
    """Text of so many characters at most; what is left out is left out in the middle.

    The ends of names tell columns apart more often than their middles do.
    """
    text = one_line(text)
    if len(text) <= most:
        return text
    tail = (most - 1) // 3
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def width_of(text, size=11.0):
    """About how wide text is in pixels; of the widest of the usual typefaces, to be safe."""
    return size * sum(_letter(letter) for letter in text)


def _letter(letter):
    if letter in "iljI.,:;'|! ":
        return 0.33
    if letter in 'ftr()[]-/"':
        return 0.42
    if letter in "mwMW@%…—" or ord(letter) > 0x2E80:
        return 1.0
    return 0.7 if letter.isupper() else 0.63


def fitted(text, width, size=11.0):
    """Text shortened until it is no wider than so many pixels."""
    text = one_line(text)
    most = len(text)
    while most > 2 and width_of(shortened(text, most), size) > width:
        most -= 1
    return shortened(text, most)


def name(text, most=22):
    """A name, shortened, with the whole of it on hover."""
    whole = one_line(text)
    short = shortened(whole, most)
    if short == whole:
        return tag("span", whole, class_="name")
    return tag("span", short, class_="name", title=whole)


def listed(parts):
    """Parts as a sentence lists them: a, b and c."""
    parts = [escaped(part) for part in parts]
    if len(parts) < 2:
        return joined(parts)
    return Markup(", ".join(parts[:-1]) + " and " + parts[-1])


def strong(text):
    """What a reader should find at a glance."""
    return tag("strong", text)


def _minus(text):
    return text.replace("-", MINUS)


def _raised(power):
    return str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
