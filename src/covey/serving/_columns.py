"""The columns of a model, as needed for a form, a schema and rows of requests."""

from __future__ import annotations

import math
import re
import reprlib
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import covey
from covey.evaluation import Evaluation
from covey.evaluation._sentences import answers, size
from covey.tables._encoders import Categories, Dates, NumberColumn
from covey.tables._known_columns import encoders_of

_CLOCK = {"hour", "minute", "second", "microsecond", "nanosecond"}
_FINER_THAN_MICROSECONDS = re.compile(r"(\.\d{6})\d+")
# The years that dates of nanoseconds can hold, and those that others can.
_YEARS_OF_NANOSECONDS, _YEARS = (1678, 2261), (2, 9998)
_LONGEST_NAME, _LONGEST_SHOWN, _LONGEST_SENTENCE = 200, 40, 1_000


@dataclass(frozen=True)
class Column:
    """A column as a person fills it in; an unknown value is None."""

    name: str
    kind: str  # "number", "category", "text" or "date"
    typical: float | str | None = None
    low: float | str | None = None  # of the rows that the model was fitted on
    high: float | str | None = None
    whole: bool = False  # whether all numbers were whole
    categories: tuple[str, ...] = ()
    clock: bool = False  # whether dates have a time of day
    share: float | None = None  # the column's share in the importance of all, from 0 to 1
    used: bool = True  # whether the model uses the column at all
    gaps: tuple[str, ...] = ()  # values that stand for a gap
    dates: Dates | None = None  # how dates are written


def columns_of(model: Any) -> list[Column]:
    """Return the columns of a fitted model of a table, in its order."""
    encoders = encoders_of(model)
    if model._seen_columns is None:
        raise ValueError("The model's file says of no column what is usual; fit the model again.")
    # Not every estimator knows the importance of columns.
    shares = getattr(model, "feature_importances_", [None] * len(encoders))
    made = []
    looked_at = model._columns_looked_at()
    for seen, encoder, share, used in zip(
        model._seen_columns.columns, encoders.values(), shares, looked_at, strict=True
    ):
        values = (seen.typical, *(seen.values[:1] + seen.values[-1:] or (None, None)))
        facts: dict[str, Any] = {"whole": seen.whole, "share": _finite(share), "used": bool(used)}
        facts["gaps"] = () if encoder is None else encoder.gaps
        if isinstance(encoder, NumberColumn):
            typical, low, high = map(_finite, values)
            made.append(Column(seen.name, "number", typical, low, high, **facts))
        elif isinstance(encoder, Dates):
            facts.update(dates=encoder, clock=not _CLOCK.isdisjoint(encoder.parts))
            form = "%Y-%m-%dT%H:%M:%S" if facts["clock"] else "%Y-%m-%d"
            for name, value in zip(("typical", "low", "high"), values, strict=True):
                with suppress(ValueError):  # unreadable values are not shown
                    facts[name] = date_of(value, encoder).strftime(form)
            made.append(Column(seen.name, "date", **facts))
        elif isinstance(encoder, Categories):
            typical = seen.typical if seen.typical in encoder.known else None
            made.append(Column(seen.name, "category", typical, categories=encoder.known, **facts))
        else:
            made.append(Column(seen.name, "text", **facts))
    return made


def _finite(value: Any) -> float | None:
    return value if isinstance(value, int | float) and math.isfinite(value) else None


def date_of(text: Any, dates: Dates) -> datetime:
    """Read a date in the column's own format or in ISO 8601; without a zone it is Greenwich's."""
    found = None
    if dates.format is not None:
        with suppress(ValueError, AttributeError):  # another format
            found = datetime.strptime(text.strip(), dates.format)
    try:
        # Anything finer than a microsecond is dropped.
        found = found or datetime.fromisoformat(_FINER_THAN_MICROSECONDS.sub(r"\1", text.strip()))
        found = found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found
    except (ValueError, OverflowError, AttributeError):
        raise ValueError(
            f"{shown(text)} is not a date; give one such as 2024-01-31 or 2024-01-31T14:00, or "
            "null if it is not known."
        ) from None
    low, high = _YEARS_OF_NANOSECONDS if dates.unit == "ns" else _YEARS
    if not low <= found.year <= high:
        raise ValueError(f"the year {found.year} is out of range; give {low} to {high}.")
    return found


def shown(given: Any) -> str:
    """Return a value as a sentence can quote it, whatever it is."""
    text = repr(given) if isinstance(given, str | int | float) else reprlib.repr(given)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def facts_of(model: Any, columns: list[Column]) -> dict[str, Any]:
    """Return the facts about a model in the form of JSON, and its evaluation.

    These are the words of all other pages. Files come from anyone: names in them are shortened.
    """
    classes = model.classes_.tolist() if hasattr(model, "classes_") else None
    known = getattr(model, "evaluation_", None)
    one = known if isinstance(known, Evaluation) else Evaluation("numbers")
    said = answers(one) if one is known else []
    if told := [correction.said for correction in getattr(model, "corrections_", ())]:
        said = [*said, ("What was corrected?", told)]
    return {
        "covey": covey.__version__,
        "task": "numbers" if classes is None else "classes",
        "classes": classes,
        # Whether there are sets of classes, or bounds of numbers, for any level.
        "levels": hasattr(model, "calibration_"),
        "columns": [{k: v for k, v in vars(one).items() if k != "dates"} for one in columns],
        "predicts": one.target[:_LONGEST_NAME] or "the target",
        "rows": one.n_rows if one.n_rows > 0 else None,
        "answers": [
            {"question": question, "said": [line[:_LONGEST_SENTENCE] for line in lines]}
            for question, lines in said
        ],
        "size": size(one)[:_LONGEST_SENTENCE],
    }
