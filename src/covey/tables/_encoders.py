"""Encoders of columns of categories, text and dates: plain data that turn values into numbers.

A column is learnt as a few strings and numbers, so that a model file holds nothing but data.
"""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from covey import _state as stored
from covey._state import refuse
from covey.tables._categories import (
    UNSEEN,
    as_series,
    category_words,
    places,
    without_gaps,
    words_of,
)
from covey.tables._kinds import as_kind
from covey.tables._numbers import NumberFormat

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.feature_extraction.text import TfidfVectorizer

DATE_PARTS = (
    *("year", "month", "day", "weekday"),
    *("hour", "minute", "second", "microsecond", "nanosecond"),
)
# The last part of a date, which counts the days; its name is also that in files.
SECONDS = "total_seconds"
SECONDS_OF_A_DAY = 86_400.0
TIME_UNITS = ("s", "ms", "us", "ns")
# Dates of one kind but with more or fewer parts: 2024-01-31, 2024-01-31T10:00Z.
ISO = "ISO8601"
# How flags are written in tables that hold them as numbers.
_FLAGS = {"0": "False", "1": "True"}
_ZONE = r"(?:Z|[+-]\d\d:?\d\d)\s*$"
# In files: each of strptime's directives at most once, and anything between them.
_DIRECTIVE, _DIRECTIVES, _LONGEST_FORMAT = re.compile("%(.?)"), "YymbBdjaAHIpMSfzZ", 60
_LONGEST_GRAM = 20
_LONGEST_GAP = 200
_FIXED_OFFSET = re.compile(r"UTC([+-])(\d\d):(\d\d)")


@dataclass(frozen=True)
class ColumnEncoder:
    """An encoder of a column, in which some values may be declared to be gaps."""

    gaps: Annotated[tuple[str, ...], stored.ListOf(stored.Text(_LONGEST_GAP), make=tuple)] = field(
        default=(), kw_only=True
    )

    @property
    def most_unread(self) -> float:
        """The share of unreadable values above which there is a warning."""
        return 0.05

    @property
    def seen(self) -> str:
        """Describe how the values of the fit were written."""
        return ""

    def present(self, values: Any) -> Any:
        """Return the column with None, NaN or NaT in place of the values that stand for gaps."""
        return without_gaps(values, self.gaps)

    def as_read(self, values: Any) -> Any:
        """Return the column as explanations show it."""
        return self.present(values)

    def unread(self, values: Any, numbers: np.ndarray) -> tuple[int, int, Any]:
        """Return how many values cannot be read, of how many, and one of them.

        ``numbers`` is the result of the method `numbers` for the values.
        """
        lost = self._unread(values, numbers)
        total = int(np.count_nonzero(lost | ~np.isnan(numbers[:, 0])))
        example = as_series(values).iloc[int(lost.argmax())] if lost.any() else None
        return int(lost.sum()), total, example

    def _unread(self, values: Any, numbers: np.ndarray) -> np.ndarray:
        """Return which values (n_rows,) are present but cannot be read."""
        found = np.isnan(numbers[:, 0])
        found[found] = [word is not None for word in category_words(as_series(values)[found])]
        return found

    def warn(self, name: str, values: Any, numbers: np.ndarray) -> None:
        """Warn if more values cannot be read than at the fit."""
        count, total, example = self.unread(values, numbers)
        if count > self.most_unread * total:
            warnings.warn(self.told(name, count, total, example), stacklevel=3)

    def told(self, name: str, count: int, total: int, example: object) -> str:
        """Return a sentence on how many values of a column cannot be read."""
        return (
            f"{count:,} of {total:,} values of {name} are unknown to the model "
            f"({str(example)!r}; at the fit {self.seen}) and count as missing."
        )


@dataclass(frozen=True)
class NumberColumn(ColumnEncoder):
    """A column of numbers as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> from covey.tables import NumberColumn
    >>> NumberColumn(written=True).numbers(pd.Series(["1.5", None, "n/a"])).ravel()
    array([1.5, nan, nan])
    """

    # Whether they are text, or may be, and how they are written, if not as 1234.5.
    written: Annotated[bool, stored.Flag()] = False
    form: Annotated[NumberFormat | None, stored.Record(NumberFormat)] = None
    # The share of values that could not be read at the fit.
    odd: Annotated[float, stored.Number(0.0, 1.0)] = 0.0

    n_columns = 1

    @property
    def most_unread(self) -> float:
        """Twice the share of values that could not be read at the fit."""
        return max(super().most_unread, 2 * self.odd)

    @property
    def seen(self) -> str:
        """Describe how the numbers were written."""
        form = NumberFormat() if self.form is None else self.form
        return f"numbers such as 1234{form.decimal}5 {form.unit}".rstrip()

    def _restored(self) -> None:
        refuse("form", "is of numbers that are not written.", self.written or self.form is None)

    def names(self, column: str) -> list[str]:
        """Return the one column by name."""
        return [column]

    def present(self, values: Any) -> Any:
        """Return the column without the numbers that stand for gaps, however they are written."""
        if not self.gaps:
            return values
        numbers = as_kind(as_series(values), "number", self.form)
        are_gaps = numbers.notna() & super().present(numbers).isna()
        return super().present(values).mask(are_gaps)

    def as_read(self, values: Any) -> Any:
        """Return the numbers of the column."""
        return as_kind(self.present(values), "number", self.form)

    def numbers(self, values: pd.Series) -> np.ndarray:
        """Return the column (n_rows, 1), NaN where there is no number."""
        return as_kind(values, "number", self.form).to_numpy(dtype=np.float64)[:, None]


@dataclass(frozen=True)
class Categories(ColumnEncoder):
    """The codes of categories: their positions, NaN for gaps and -1 for unknown categories.

    Examples
    --------
    >>> from covey.tables import Categories
    >>> Categories(("blue", "red")).numbers(["red", "blue", "green", None]).ravel()
    array([ 1.,  0., -1., nan])
    """

    known: Annotated[tuple[str, ...], stored.Texts(different=True, make=tuple)]

    n_columns = 1

    @property
    def most_unread(self) -> float:
        """A share that a few new categories do not exceed."""
        return 0.5

    def names(self, column: str) -> list[str]:
        """Return the one column by name."""
        return [column]

    def numbers(self, values: Any) -> np.ndarray:
        """Return the codes (n_rows, 1) of text, NaN where it is None or blank."""
        words = words_of(values)
        if set(self.known) == set(_FLAGS.values()):
            words = [word and _FLAGS.get(word, word) for word in words]
        found = places(words, (*self.known, None)).astype(np.float64)
        new = np.flatnonzero(found == UNSEEN)
        found[new] = [UNSEEN if (words[row] or "").strip() else np.nan for row in new]
        return np.where(found == len(self.known), np.nan, found)[:, None]

    def _unread(self, values: Any, numbers: np.ndarray) -> np.ndarray:
        return numbers[:, 0] == UNSEEN

    @property
    def seen(self) -> str:
        """Name some of the categories."""
        return ", ".join(map(repr, self.known[:3])) + ", ..." * (len(self.known) > 3)


@dataclass(frozen=True)
class Text(ColumnEncoder):
    """The leading directions of the n-grams of text, weighted by how rare they are.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from covey.tables import Text
    >>> text = Text(("ab", "bc"), (2, 2), np.ones(2), None, 2, np.float32(1))
    >>> text.numbers(pd.Series(["abc", "xyz"])).round(2)
    array([[0.71, 0.71],
           [0.  , 0.  ]])
    """

    n_grams: Annotated[tuple[str, ...], stored.Texts("G", different=True, make=tuple, fewest=1)]
    # The fewest and the most characters of an n-gram.
    lengths: Annotated[
        tuple[int, int], stored.ListOf(stored.Whole(1, _LONGEST_GRAM), "2", make=tuple)
    ]
    rarity: Annotated[np.ndarray, stored.Array("G", 0.0)]  # the inverse document frequencies
    # Single precision; None: the first n-grams themselves.
    directions: Annotated[np.ndarray | None, stored.Array("P G", -1e10, 1e10, kind="single")]
    n_columns: Annotated[int, stored.Whole(1, letter="P")]
    # The divisor of the columns.
    scale: Annotated[np.float32, stored.As(stored.Number(1e-30, 1e30), float, np.float32)]

    def _restored(self) -> None:
        refuse("lengths", "are not lengths.", self.lengths[0] <= self.lengths[1])
        fits = self.directions is not None or self.n_columns <= len(self.n_grams)
        refuse("n_columns", "is more than there are n-grams.", fits)

    @cached_property
    def _vectorizer(self) -> TfidfVectorizer:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(
            analyzer="char_wb", ngram_range=self.lengths, vocabulary=list(self.n_grams)
        )
        vectorizer.idf_ = self.rarity
        return vectorizer

    def names(self, column: str) -> list[str]:
        """Return the columns by name: ``title: 0``, ``title: 1``."""
        digits = len(str(self.n_columns - 1))
        return [f"{column}: {place:0{digits}d}" for place in range(self.n_columns)]

    def numbers(self, values: pd.Series) -> np.ndarray:
        """Return the columns (n_rows, n_columns) of text, None where it is missing."""
        words = [word or "" for word in words_of(values)]
        counts = self._vectorizer.transform(words).astype(np.float32)
        if self.directions is None:
            made = counts[:, : self.n_columns].toarray()
        else:
            made = counts @ self.directions.T
        return (made / self.scale).astype(np.float64)

    def _unread(self, values: Any, numbers: np.ndarray) -> np.ndarray:
        return np.zeros(len(numbers), dtype=bool)


@dataclass(frozen=True)
class Dates(ColumnEncoder):
    """The parts of a date, and the days since 1970.

    Examples
    --------
    >>> import pandas as pd
    >>> from covey.tables import Dates
    >>> dates = Dates(format=None, time_zone=None, unit="us", parts=("year", "month"))
    >>> dates.numbers(pd.Series(pd.to_datetime(["2026-02-01"])))
    array([[2.026e+03, 2.000e+00]])
    """

    # For dates that are given as text.
    format: Annotated[str | None, stored.Text(_LONGEST_FORMAT)]
    time_zone: Annotated[str | None, stored.Text()]
    unit: Annotated[str, stored.OneOf(*TIME_UNITS)]  # the finest part that is kept
    parts: Annotated[
        tuple[str, ...], stored.ListOf(stored.OneOf(*DATE_PARTS, SECONDS), make=tuple)
    ]

    def _restored(self) -> None:
        order = [(*DATE_PARTS, SECONDS).index(part) for part in self.parts]
        refuse("parts", "are not those of a date.", order and order == sorted(set(order)))
        try:
            zone_of(self.time_zone)
        except ValueError as error:
            refuse("time_zone", f"is not known: {error}")
        if self.format in (None, ISO):
            return
        used = _DIRECTIVE.findall(self.format)
        proper = self.format.isprintable() and len(set(used)) == len(used)
        proper = proper and all(one and one in _DIRECTIVES for one in used)
        refuse("format", "is not a format of dates.", proper)
        import pandas as pd

        try:
            pd.to_datetime(
                pd.Series(["", "x"]), format=self.format, errors="coerce", utc="z" in used
            )
        except ValueError:
            refuse("format", "is not a format of dates.")

    @property
    def n_columns(self) -> int:
        """Return how many columns there are."""
        return len(self.parts)

    @property
    def seen(self) -> str:
        """Describe how the dates were written."""
        form = "%Y-%m-%d" if self.format in (None, ISO) else self.format
        return f"dates such as {datetime(2026, 1, 31, 14, 5).strftime(form)}"

    def names(self, column: str) -> list[str]:
        """Return the columns by name: ``when: year``, ``when: days``."""
        return [f"{column}: {'days' if part == SECONDS else part}" for part in self.parts]

    def numbers(self, values: pd.Series) -> np.ndarray:
        """Return the columns (n_rows, n_columns) of dates or text; NaN where there is none."""
        import pandas as pd

        zone, values = zone_of(self.time_zone), as_kind(values, "date")
        if not pd.api.types.is_datetime64_any_dtype(values.dtype):
            values = dates_of(values, self.format)
        if values.dt.tz is not None:
            values = values.dt.tz_convert(zone)
        elif zone is not None:
            # A time without a zone is assumed to be Greenwich's.
            values = values.dt.tz_localize(UTC).dt.tz_convert(zone)
        with suppress(pd.errors.OutOfBoundsDatetime):  # such as 9999-12-31 in nanoseconds
            values = values.dt.as_unit(self.unit)
        made = np.column_stack([self._part(values, part) for part in self.parts])
        made[values.isna().to_numpy()] = np.nan
        return made

    @staticmethod
    def _part(values: pd.Series, part: str) -> np.ndarray:
        if part != SECONDS:
            made = getattr(values.dt, part).to_numpy(dtype=np.float64, na_value=np.nan)
            return made + 1.0 if part == "weekday" else made  # Monday is 1
        begin = datetime(1970, 1, 1, tzinfo=None if values.dt.tz is None else UTC)
        seconds = (values - begin).dt.total_seconds()
        # Single precision, as when the column was learnt.
        return seconds.to_numpy(dtype=np.float32).astype(np.float64) / SECONDS_OF_A_DAY


Encoder = NumberColumn | Categories | Text | Dates


def zone_of(name: str | None) -> tzinfo | None:
    """Return a time zone by its name, or by its distance from Greenwich as in UTC+02:00.

    Examples
    --------
    >>> from covey.tables._encoders import zone_of
    >>> zone_of("UTC+02:00"), zone_of(None)
    (datetime.timezone(datetime.timedelta(seconds=7200)), None)
    """
    if name is None:
        return None
    if name == "UTC":
        return UTC
    offset = _FIXED_OFFSET.fullmatch(name)
    if offset is not None:
        distance = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return timezone(-distance if offset[1] == "-" else distance)
    from zoneinfo import ZoneInfo, available_timezones

    # A name is looked up in the system's folders, so it must be one of those in there.
    if name not in available_timezones():
        raise ValueError(f"There is no time zone {name!r} on this machine.")
    return ZoneInfo(name)


def dates_of(text: pd.Series, form: str | None) -> pd.Series:
    """Return text as moments, NaT where it is none; of a format, or of any if none is given."""
    import pandas as pd

    utc = form is None or form == ISO or "%z" in form
    dates = pd.to_datetime(text, format=form, errors="coerce", utc=utc)
    if utc and form == ISO and not _has_zone(text):
        return dates.dt.tz_localize(None)
    return dates


def _has_zone(text: pd.Series) -> bool:
    return bool(text.dropna().astype(str).str.contains(_ZONE).any())


def zone_name(dtype: Any) -> str | None:
    """Return the name of a type's time zone, as `zone_of` reads it."""
    zone = getattr(dtype, "tz", None)
    if zone is None:
        return None
    offset = zone.utcoffset(None)
    if offset is None:
        return str(zone)
    minutes = round(offset.total_seconds() / 60)
    sign = "-" if minutes < 0 else "+"
    return f"UTC{sign}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}" if minutes else "UTC"


def unit_of(dtype: Any) -> str:
    """Return the finest part of time that a type holds, one of `TIME_UNITS`."""
    return dtype.unit if hasattr(dtype, "unit") else np.datetime_data(dtype)[0]
