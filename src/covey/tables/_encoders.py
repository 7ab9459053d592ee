"""What columns of categories, text and dates become: plain data that makes numbers of new values.

What is learnt of a column is a few strings and numbers, so a model file holds nothing but data.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from covey.tables._categories import category_words, places, words_of
from covey.tables._kinds import as_kind
from covey.tables._numbers import NumberFormat

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.feature_extraction.text import TfidfVectorizer

DATE_PARTS = (
    *("year", "month", "day", "weekday"),
    *("hour", "minute", "second", "microsecond", "nanosecond"),
)
# The last part of a date, which counts the days; its name is that in files.
SECONDS = "total_seconds"
SECONDS_OF_A_DAY = 86_400.0
TIME_UNITS = ("s", "ms", "us", "ns")
# Dates of one kind but with more or fewer parts: 2024-01-31, 2024-01-31T10:00Z.
ISO = "ISO8601"
_ZONE = r"(?:Z|[+-]\d\d:?\d\d)\s*$"
_FIXED_OFFSET = re.compile(r"UTC([+-])(\d\d):(\d\d)")


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> from covey.tables import NumberColumn
    >>> NumberColumn(written=True).numbers(pd.Series(["1.5", None, "n/a"])).ravel()
    array([1.5, nan, nan])
    """

    written: bool = False  # whether they are text, or may be
    form: NumberFormat | None = None  # how they are written, if not as 1234.5

    n_columns = 1

    def names(self, column: str) -> list[str]:
        """The one column by name."""
        return [column]

    def numbers(self, values: pd.Series) -> np.ndarray:
        """The column (n_rows, 1), NaN where there is no number."""
        return as_kind(values, "number", self.form).to_numpy(dtype=np.float64)[:, None]


@dataclass(frozen=True)
class Categories:
    """The codes of categories: their positions, NaN for gaps and -1 for what is not known.

    Examples
    --------
    >>> from covey.tables import Categories
    >>> Categories(("blue", "red")).numbers(["red", "blue", "green", None]).ravel()
    array([ 1.,  0., -1., nan])
    """

    known: tuple[str, ...]

    n_columns = 1

    def names(self, column: str) -> list[str]:
        """The one column by name."""
        return [column]

    def numbers(self, values: Any) -> np.ndarray:
        """The codes (n_rows, 1) of text, None or blank where it is missing."""
        found = places(category_words(values), (*self.known, None)).astype(np.float64)
        return np.where(found == len(self.known), np.nan, found)[:, None]


@dataclass(frozen=True)
class Text:
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

    n_grams: tuple[str, ...]
    lengths: tuple[int, int]  # the fewest and the most characters of an n-gram
    rarity: np.ndarray  # (n_grams,), the inverse document frequencies
    directions: np.ndarray | None  # (n_columns, n_grams), single precision; None: the n-grams
    n_columns: int
    scale: np.float32  # what the columns are divided by

    @cached_property
    def _vectorizer(self) -> TfidfVectorizer:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(
            analyzer="char_wb", ngram_range=self.lengths, vocabulary=list(self.n_grams)
        )
        vectorizer.idf_ = self.rarity
        return vectorizer

    def names(self, column: str) -> list[str]:
        """The columns by name: ``title: 0``, ``title: 1``."""
        digits = len(str(self.n_columns - 1))
        return [f"{column}: {place:0{digits}d}" for place in range(self.n_columns)]

    def numbers(self, values: pd.Series) -> np.ndarray:
        """The columns (n_rows, n_columns) of text, None where it is missing."""
        words = [word or "" for word in words_of(values)]
        counts = self._vectorizer.transform(words).astype(np.float32)
        if self.directions is None:
            made = counts[:, : self.n_columns].toarray()
        else:
            made = counts @ self.directions.T
        return (made / self.scale).astype(np.float64)


@dataclass(frozen=True)
class Dates:
    """The parts of a date, and the days since 1970.

    Examples
    --------
    >>> import pandas as pd
    >>> from covey.tables import Dates
    >>> dates = Dates(format=None, time_zone=None, unit="us", parts=("year", "month"))
    >>> dates.numbers(pd.Series(pd.to_datetime(["2026-02-01"])))
    array([[2.026e+03, 2.000e+00]])
    """

    format: str | None  # of dates that are given as text
    time_zone: str | None
    unit: str  # the finest part that is kept, one of `TIME_UNITS`
    parts: tuple[str, ...]  # of `DATE_PARTS`, and `SECONDS`

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return len(self.parts)

    def names(self, column: str) -> list[str]:
        """The columns by name: ``when: year``, ``when: days``."""
        return [f"{column}: {'days' if part == SECONDS else part}" for part in self.parts]

    def numbers(self, values: pd.Series) -> np.ndarray:
        """The columns (n_rows, n_columns) of dates or of text; NaN where there is no date."""
        import pandas as pd

        zone, values = zone_of(self.time_zone), as_kind(values, "date")
        if not pd.api.types.is_datetime64_any_dtype(values.dtype):
            values = dates_of(values, self.format)
        if values.dt.tz is not None:
            values = values.dt.tz_convert(zone)
        elif zone is not None:
            # A time without a zone is taken as one of Greenwich.
            values = values.dt.tz_localize(UTC).dt.tz_convert(zone)
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
        # Single precision, as when the column was learnt from.
        return seconds.to_numpy(dtype=np.float32).astype(np.float64) / SECONDS_OF_A_DAY


Encoder = NumberColumn | Categories | Text | Dates


def zone_of(name: str | None) -> tzinfo | None:
    """A time zone by its name, or by its distance from Greenwich as in UTC+02:00.

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

    # A name is looked for in the system's folders, so it must be one of those in there.
    if name not in available_timezones():
        raise ValueError(f"There is no time zone {name!r} on this machine.")
    return ZoneInfo(name)


def dates_of(text: pd.Series, form: str | None) -> pd.Series:
    """Text as moments, NaT where it is none; of a format, or of any if there is none."""
    import pandas as pd

    utc = form is None or form == ISO or "%z" in form
    dates = pd.to_datetime(text, format=form, errors="coerce", utc=utc)
    if utc and form == ISO and not _has_zone(text):
        return dates.dt.tz_localize(None)
    return dates


def _has_zone(text: pd.Series) -> bool:
    return bool(text.dropna().astype(str).str.contains(_ZONE).any())


def zone_name(dtype: Any) -> str | None:
    """The name of a type's time zone, as `zone_of` takes it."""
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
    """The finest part of time that a type holds, one of `TIME_UNITS`."""
    return dtype.unit if hasattr(dtype, "unit") else np.datetime_data(dtype)[0]
