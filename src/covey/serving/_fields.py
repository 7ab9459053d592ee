"""What a form and a schema need to know of a model's columns, from the model alone."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from covey.serving._dates import date_of
from covey.tables import SECONDS, Dates

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_DAYS = 700_000
_CLOCK = ("hour", "minute", "second", "microsecond", "nanosecond")


@dataclass(frozen=True)
class Field:
    """A column as a person fills it in; what the model's file does not tell is None."""

    name: str
    kind: str  # "number", "category", "text" or "date"
    typical: Any = None
    low: float | str | None = None  # of the rows that the model was fitted on
    high: float | str | None = None
    whole: bool = False  # whether all numbers were whole, as far as is known
    categories: list[str] = field(default_factory=list)
    gaps: bool = False  # whether some of those rows had none
    clock: bool = False  # whether dates have a time of day
    share: float | None = None  # how much the column counts, of one
    used: bool = True  # whether the model looks at the column at all

    def as_record(self) -> dict[str, Any]:
        """The field as JSON has it."""
        return asdict(self)


def fields_of(model: Any) -> list[Field]:
    """The columns of a fitted model of a table, in its order."""
    preparation = model.preparation_
    categories, medians = preparation.categories(), _medians(preparation)
    shares = _shares(model)
    seen = _seen(preparation)
    used = dict(zip(model.feature_names_in_.tolist(), model._columns_looked_at(), strict=True))
    made = []
    for name, kind in preparation.kinds_.items():
        share = shares.get(name)
        facts = {"gaps": name in preparation._gaps, "share": share, "used": bool(used[name])}
        if kind == "number":
            made.append(_number(name, medians.get(name), seen.get(name), facts))
        elif kind in ("date", "season"):
            encoder = preparation._encoders.get(name)
            made.append(_date(name, encoder, medians.get(name), seen.get(name), facts))
        elif name in categories:
            known = [word for word in categories[name] if word is not None]
            facts["gaps"] = facts["gaps"] or None in categories[name]
            typical = None if name not in seen else seen[name].typical
            typical = typical if typical in known else None
            made.append(Field(name, "category", typical=typical, categories=known, **facts))
        else:
            made.append(Field(name, "text", **facts))
    return made


def _seen(preparation: Any) -> dict[str, Any]:
    """By column what the model remembers of it: typical and other values; of old files nothing."""
    seen = getattr(preparation, "_seen_columns", None)
    return {} if seen is None else {column.name: column for column in seen.columns}


def _medians(preparation: Any) -> dict[str, list[float]]:
    """By column the medians of what is made of it, which gaps are filled with."""
    statistics = iter(preparation.imputer_.statistics_.tolist())
    return {
        name: [next(statistics) for _ in outputs] for name, outputs in preparation._outputs.items()
    }


def _shares(model: Any) -> dict[str, float]:
    try:
        shares = np.asarray(model.feature_importances_, dtype=np.float64)
    except (AttributeError, ValueError, TypeError):
        # Not every estimator knows.
        return {}
    if not np.isfinite(shares).all():
        return {}
    return dict(zip(model.feature_names_in_.tolist(), shares.tolist(), strict=True))


def _number(name: str, medians: Any, seen: Any, facts: dict[str, Any]) -> Field:
    if seen is not None and seen.kind == "number":
        low, high = (seen.values[0], seen.values[-1]) if seen.values else (None, None)
        typical = seen.typical if math.isfinite(seen.typical) else None
        return Field(name, "number", typical, low, high, seen.whole, **facts)
    typical = medians[0] if medians and math.isfinite(medians[0]) else None
    return Field(name, "number", typical=typical, **facts)


def _date(name: str, encoder: Any, medians: Any, seen: Any, facts: dict[str, Any]) -> Field:
    if not isinstance(encoder, Dates):
        return Field(name, "date", **facts)
    clock = any(part in encoder.parts for part in _CLOCK)
    form = "%Y-%m-%dT%H:%M:%S" if clock else "%Y-%m-%d"
    known = {}
    if seen is not None and seen.values:
        # Written as in the table; what cannot be read is not shown.
        with suppress(ValueError):
            known["low"] = date_of(seen.values[0], encoder).strftime(form)
            known["high"] = date_of(seen.values[-1], encoder).strftime(form)
            if seen.typical is not None:
                known["typical"] = date_of(seen.typical, encoder).strftime(form)
    elif SECONDS in encoder.parts and medians:
        days = medians[encoder.parts.index(SECONDS)]
        # Beyond that calendars have no dates.
        if math.isfinite(days) and abs(days) < _MOST_DAYS:
            known["typical"] = (_EPOCH + timedelta(days=days)).strftime(form)
    return Field(name, "date", clock=clock, **known, **facts)
