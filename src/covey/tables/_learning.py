"""Encoders of columns, learnt from their values: categories, text and dates."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covey.tables._categories import category_words
from covey.tables._encoders import (
    ISO,
    SECONDS,
    Categories,
    Dates,
    Encoder,
    Text,
    dates_of,
    unit_of,
    zone_name,
)
from covey.tables._kinds import as_kind

if TYPE_CHECKING:
    import pandas as pd

# The lengths of n-grams, and the most of them: the commonest are taken.
_GRAM_LENGTHS = (3, 4)
_MOST_GRAMS = 10_000
_LEAST_SINGULAR = 1e-3
_N_DIRECTIONS = 10
# Columns with more categories are encoded by their target.
MOST_ONE_HOT = 20
# Text with more different values per row, or with this many words, is not a list of categories.
SHARE_OF_NAMES = 0.5
_WORDS_OF_PROSE = 4
_ZONE_OF_TEXT = r"(Z|[+-]\d\d:?\d\d)\s*$"
# A part of a date recurs only in a longer time: months in years, weekdays in weeks.
_PARTS = ("year", "month", "day", "weekday", "hour")
_DAYS_UNTIL_AGAIN = {"month": 400.0, "weekday": 14.0, "hour": 2.0}
# This many different dates show how all are written.
_MOST_DATES = 500


def learn_encoder(values: Any, kind: str, *, has_target: bool = True) -> Encoder | None:
    """Return an encoder of a column of categories, text or dates; None for fewer than two values.

    Text that hardly repeats itself, and prose, are read by their n-grams; other text and dates
    that cannot be read are categories. Many categories become numbers by the target; without a
    target, by their n-grams.
    """
    if kind in ("date", "season"):
        dates = learn_dates(as_kind(values, "date"), seasons=kind == "season")
        if dates is not None:
            return dates if dates.parts else None
    words = [word for word in category_words(values) if word is not None]
    known = tuple(sorted(set(words)))
    if kind != "category" and len(known) > MOST_ONE_HOT and (not has_target or _is_free(words)):
        found = learn_text(category_words(values))
        if found is not None:
            return found
    return Categories(known) if known or kind == "category" else None


def _is_free(words: list[str]) -> bool:
    """Return whether text names things, each a different one, or describes them."""
    if len(set(words)) > SHARE_OF_NAMES * len(words):
        return True
    return sum(len(word.split()) for word in words) >= _WORDS_OF_PROSE * len(words)


def learn_text(values: Sequence[str | None]) -> Text | None:
    """Learn the leading directions of a column's n-grams; the variances of all add up to one."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = [word or "" for word in values]
    vectorizer = TfidfVectorizer(
        analyzer="char_wb", ngram_range=_GRAM_LENGTHS, max_features=_MOST_GRAMS
    )
    try:
        weights = vectorizer.fit_transform(words).astype(np.float32)
    except ValueError:
        return None  # there is no n-gram: only signs and single letters
    directions, n_columns = None, min(_N_DIRECTIONS, weights.shape[1])
    if min(weights.shape) > _N_DIRECTIONS:
        svd = TruncatedSVD(n_components=_N_DIRECTIONS, random_state=0)
        made = svd.fit_transform(weights)
        # Directions beyond the rank of the text are made of rounding errors.
        real = svd.singular_values_ > _LEAST_SINGULAR * svd.singular_values_[0]
        n_columns, made = int(real.sum()), made[:, real]
        directions = svd.components_[real].astype(np.float32)
    else:
        made = weights[:, :n_columns].toarray()
    scale = float(np.sqrt(made.var(axis=0, dtype=np.float64).sum()))
    return Text(
        tuple(vectorizer.get_feature_names_out().tolist()),
        _GRAM_LENGTHS,
        vectorizer.idf_,
        directions,
        n_columns,
        np.float32(scale if scale > 1e-6 else 1.0),
    )


def learn_dates(values: pd.Series, *, seasons: bool = False) -> Dates | None:
    """Return how dates are written, and which of their parts differ; None if they cannot be read.

    ``seasons`` takes only the parts that recur in later years, weeks or days.

    Examples
    --------
    >>> import pandas as pd
    >>> from covey.tables._learning import learn_dates
    >>> learn_dates(pd.Series(["2026-01-31", "2026-02-28"])).parts[:2]
    ('month', 'day')
    """
    from pandas.api import types

    form = zone = None
    if types.is_datetime64_any_dtype(values.dtype):
        dates, zone = values, zone_name(values.dtype)
    else:
        form = date_format(values)
        if form is None:
            return None
        dates = dates_of(values, form)
        if getattr(dates.dt, "tz", None) is not None:
            zone = _zone_of_text(values)
    parts = Dates(form, zone, unit_of(dates.dtype), (*_PARTS, SECONDS))
    made = parts.numbers(values)
    made = made[~np.isnan(made).any(axis=1)]
    if not len(made):
        return Dates(form, zone, parts.unit, ())
    differ = dict(zip(parts.parts, np.ptp(made, axis=0) > 0, strict=True))
    kept = [part for part in _PARTS if differ[part]]
    if seasons:
        days = float(np.ptp(made[:, -1]))
        kept = [part for part in kept if days >= _DAYS_UNTIL_AGAIN.get(part, np.inf)]
    elif differ[SECONDS]:
        kept.append(SECONDS)
    return Dates(form, zone, parts.unit, tuple(kept))


def date_format(text: pd.Series) -> str | None:
    """Return the one format in which all dates of a column are written; None if there is none.

    If a day may be a month as well in all rows, the month is assumed to come first, unless points
    separate them.
    """
    import pandas as pd
    from pandas.tseries.api import guess_datetime_format

    words = pd.Series(text.dropna().astype(str).str.strip().unique())
    words = words[words != ""]
    if not len(words):
        return None
    some = words if len(words) <= _MOST_DATES else words.sample(_MOST_DATES, random_state=0)
    # With points the day is first wherever they are in use.
    points = bool(some.str.match(r"\d{1,2}\.").all())
    for day_first in (points, not points):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = {guess_datetime_format(word, dayfirst=day_first) for word in some}
        form = found.pop() if len(found) == 1 else None
        if form is not None and _reads(words, form):
            return form
    return ISO if _reads(words, ISO) else None


def _reads(words: Any, form: str) -> bool:
    try:
        return bool(dates_of(words, form).notna().all())
    except (ValueError, TypeError, AttributeError):
        return False


def _zone_of_text(text: pd.Series) -> str:
    """Return the zone of dates if all have the same distance from Greenwich, else Greenwich."""
    zones = text.dropna().astype(str).str.extract(_ZONE_OF_TEXT)[0].unique()
    if len(zones) != 1 or not isinstance(zones[0], str) or zones[0] == "Z":
        return "UTC"
    sign, digits = zones[0][0], zones[0][1:].replace(":", "")
    zone = f"UTC{sign}{digits[:2]}:{digits[2:]}"
    return "UTC" if zone[4:] == "00:00" else zone
