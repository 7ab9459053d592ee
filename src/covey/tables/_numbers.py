"""Numbers as people write them: $41,000, 86.5 %, 1.200,50 €, (300), 12 kg."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from covey._state import Flag, OneOf, Text

# How many values of a column of plain numbers are searched for their decimal mark.
_SAMPLE = 2_000
_PLAIN = r"^[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity))$"
_LEADING_ZERO = r"^[+-]?0\d"
_LONG = r"^[+-]?\d{16,}$"
_MONEY = (
    r"[A-Z]{0,2}\p{Sc}|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|CZK|BRL|MXN|ZAR|KRW|"
    r"Rs\.?|[kK]r\.?|Fr\.?|R\$"
)
# Letters and signs, and the signs between them in mg/dl, km/h and m²; no digits.
_UNIT = r"[\p{L}\p{S}%‰][\p{L}\p{S}%‰/²³. ]*"
_LONGEST_UNIT = 12
_WRITTEN = (
    rf"^(?P<open>\()?\s*(?P<sign>[+-])?\s*(?P<before>{_MONEY})?\s*(?P<second_sign>[+-])?\s*"
    r"(?P<digits>\d[\d.,' ]*|[.,]\d+)(?P<power>[eE][+-]?\d+)?"
    rf"\s*(?P<after>{_UNIT})?(?P<close>\))?$"
)
# Thousands may be separated in either reading by spaces or apostrophes; in India by pairs, too.
_SPACED = r"[1-9]\d{0,2}(?: \d{3})+|[1-9]\d{0,2}(?:'\d{3})+"
_READINGS = {
    ".": rf"^(?:(?:\d+|{_SPACED}|[1-9]\d{{0,2}}(?:,\d{{2,3}})*,\d{{3}})(?:\.\d*)?|\.\d+)$",
    ",": rf"^(?:(?:\d+|{_SPACED}|[1-9]\d{{0,2}}(?:\.\d{{3}})+)(?:,\d*)?|,\d+)$",
}
_OTHER = {".": ",", ",": "."}
# A point that may separate thousands, and one that cannot.
_MAYBE_THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2}(?:\.\d{3})+\s*$"
_POINTED = r"^\s*[+-]?\d*\.\d+\s*$"
# Money and shares: they need not be the same in all rows for a column to be one of numbers.
_SIGN_OF_AMOUNTS = rf"^(?:{_MONEY}|%|‰)$"


@dataclass(frozen=True)
class NumberFormat:
    """The way in which a column writes its numbers, if not just as 1234.5.

    Parameters
    ----------
    decimal : {".", ","}, default="."
        The sign before decimals. The other one may separate thousands.
    grouped : bool, default=False
        Whether thousands are separated; if not, 3.125 is a little above three even if the decimal
        mark is a comma.
    unit : str, default=""
        The sign or word before or after a number: "$", "%" or "kg". A number may lack it.
    """

    decimal: Annotated[str, OneOf(".", ",")] = "."
    grouped: Annotated[bool, Flag()] = False
    unit: Annotated[str, Text(20)] = ""

    def numbers(self, text: Any) -> Any:
        """Return text (an Arrow array) as floats, null where it is not a number in this format."""
        parts = _parts(text)
        return as_numbers(text) if parts is None else self._numbers(text, parts)

    def _numbers(self, text: Any, parts: dict[str, Any]) -> Any:
        from pyarrow import compute

        of_unit = compute.is_in(parts["unit"], value_set=_like(["", self.unit], parts["unit"]))
        read = compute.if_else(of_unit, _value(parts, self.decimal), None)
        if self.decimal == "," and self.grouped:
            # Here 1.234 is more than a thousand.
            return compute.coalesce(read, as_numbers(text))
        return compute.coalesce(as_numbers(text), read)


@dataclass(frozen=True)
class Reading:
    """The result of reading a column of text as numbers."""

    numbers: Any  # an Arrow array of floats, null where the text is not a number
    form: NumberFormat | None  # None: the format of Python and all computers
    marks: frozenset[str] = frozenset()  # decimal marks that some value must have meant
    ambiguous: bool = False  # whether 1,234 may be a little more than one, or a thousand


def as_numbers(text: Any) -> Any:
    """Return text as floats, null where it is not a number as all computers write them."""
    import pyarrow as pa
    from pyarrow import compute

    text = compute.utf8_trim_whitespace(text)
    try:
        return text.cast(pa.float64())
    except pa.ArrowInvalid:
        numeric = compute.match_substring_regex(text, _PLAIN)
        return compute.if_else(numeric, text, pa.scalar(None, text.type)).cast(pa.float64())


def read_numbers(text: Any, decimal: str | None = None) -> Reading:
    """Read a column of text (an Arrow array without gaps) as numbers, in the best-fitting format.

    ``decimal`` is the decimal mark of other columns of the file; it decides if this column shows
    none, and by default 1,234 is a thousand.
    """
    from pyarrow import compute

    plain = as_numbers(text)
    n_plain = len(text) - plain.null_count
    marks, odd = frozenset[str](), n_plain < len(text)
    if decimal != ".":
        # A look at some of many: it only shows what other columns may mean.
        some = text[:_SAMPLE]
        pointed = compute.match_substring_regex(some, _POINTED)
        thousands = compute.match_substring_regex(some, _MAYBE_THOUSANDS)
        marks = frozenset("." if _any(compute.and_not(pointed, thousands)) else "")
        odd = odd or (decimal == "," and not marks and _any(thousands))
    parts = _parts(text) if odd else None
    if parts is None:
        return Reading(plain, None, marks)
    unit = _unit(parts)
    if unit is None:
        return Reading(plain, None, marks)
    of_unit = compute.is_in(parts["unit"], value_set=_like(["", unit], parts["unit"]))
    digits = compute.if_else(of_unit, parts["digits"], None)
    fits = {mark: compute.match_substring_regex(digits, form) for mark, form in _READINGS.items()}
    sure = {mark: _count(compute.and_not(fits[mark], fits[_OTHER[mark]])) for mark in _READINGS}
    ambiguous = not any(sure.values()) and _any(compute.match_substring_regex(digits, r","))
    clear = "," if sure[","] > sure["."] else "."
    mark = clear if any(sure.values()) else decimal or "."
    grouped = _any(compute.match_substring_regex(digits, rf"[ '\{_OTHER[mark]}]"))
    form = NumberFormat(mark, grouped, unit)
    numbers = form._numbers(text, parts)
    if len(text) - numbers.null_count == n_plain < len(text):
        return Reading(plain, None, marks)
    seen = frozenset(mark for mark, count in sure.items() if count)
    return Reading(numbers, form, seen, ambiguous)


def are_codes(text: Any) -> bool:
    """Return whether numbers are names: 01234 is a postal code, and 19 digits are an account."""
    from pyarrow import compute

    text = compute.utf8_trim_whitespace(text)
    if _any(compute.match_substring_regex(text, _LEADING_ZERO)):
        return True
    long = text.filter(compute.match_substring_regex(text, _LONG)).unique().to_pylist()
    # Names that differ only in digits that a float does not hold would become equal.
    return any(int(float(value)) != int(value) for value in long)


def _parts(text: Any) -> dict[str, Any] | None:
    """Return sign, digits, power and unit of each text, null where it is not a number.

    None if no text is a number.
    """
    import pyarrow as pa
    from pyarrow import compute

    if isinstance(text, pa.ChunkedArray):
        text = text.combine_chunks()
    text = compute.utf8_trim_whitespace(text)
    for odd, usual in (("[\u00a0\u202f\u2009]", " "), ("\u2019", "'"), ("\u2212", "-")):
        text = compute.replace_substring_regex(text, odd, usual)
    found = compute.extract_regex(text, _WRITTEN)
    if found.null_count == len(found):
        return None
    get = {
        name: compute.struct_field(found, name)
        for name in ("open", "sign", "before", "second_sign", "digits", "power", "after", "close")
    }
    known = compute.is_valid(found)
    # A number is in both parentheses or in none, has one sign at most, and one unit at most.
    whole = compute.equal(compute.equal(get["open"], "("), compute.equal(get["close"], ")"))
    signs = compute.binary_join_element_wise(
        get["open"], get["sign"], get["second_sign"], "", null_handling="replace"
    )
    after = compute.utf8_trim_whitespace(get["after"])
    one_unit = compute.or_(compute.equal(get["before"], ""), compute.equal(after, ""))
    proper = compute.and_(compute.and_(known, whole), one_unit)
    for part, most in ((signs, 1), (after, _LONGEST_UNIT)):
        proper = compute.and_(proper, compute.less_equal(compute.utf8_length(part), most))
    unit = compute.binary_join_element_wise(get["before"], after, "")
    made = {
        "negative": compute.is_in(signs, value_set=_like(["(", "-"], signs)),
        "digits": compute.utf8_trim_whitespace(get["digits"]),
        "power": get["power"],
        "unit": unit,
    }
    return {name: compute.if_else(proper, part, None) for name, part in made.items()}


def _unit(parts: dict[str, Any]) -> str | None:
    """Return the unit of the numbers of a column, "" for none; None if there are several."""
    from pyarrow import compute

    counts = {
        one["values"]: one["counts"] for one in compute.value_counts(parts["unit"]).to_pylist()
    }
    counts.pop(None, None)
    n_numbers = sum(counts.values())
    counts.pop("", None)
    if not counts:
        return ""
    unit = max(counts, key=lambda one: (counts[one], one))
    amounts = _any(compute.match_substring_regex(_like([unit], parts["unit"]), _SIGN_OF_AMOUNTS))
    if amounts:
        return unit
    # A few letters among numbers are exceptions; several kinds of them are codes, as in 12A, 12B.
    if sum(counts.values()) < n_numbers / 2:
        return ""
    return unit if len(counts) == 1 else None


def _value(parts: dict[str, Any], decimal: str) -> Any:
    """Return the numbers that the digits mean with this decimal mark; null if they mean none."""
    import pyarrow as pa
    from pyarrow import compute

    fits = compute.match_substring_regex(parts["digits"], _READINGS[decimal])
    digits = compute.if_else(fits, parts["digits"], None)
    digits = compute.replace_substring_regex(digits, rf"[ '\{_OTHER[decimal]}]", "")
    digits = compute.replace_substring(digits, decimal, ".")
    written = compute.binary_join_element_wise(digits, parts["power"], "")
    values = written.cast(pa.float64())
    return compute.if_else(parts["negative"], compute.negate(values), values)


def _like(words: list[str], array: Any) -> Any:
    import pyarrow as pa

    return pa.array(words, array.type)


def _any(flags: Any) -> bool:
    from pyarrow import compute

    return bool(compute.any(flags).as_py())


def _count(flags: Any) -> int:
    from pyarrow import compute

    return compute.sum(flags).as_py() or 0
