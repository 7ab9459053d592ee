"""Dates as people and programs write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from covey.tables import Dates

# Years that a date of nanoseconds can hold, and others.
_NANOSECONDS, _OTHERS = (1678, 2261), (2, 9998)
_FINER = re.compile(r"(\.\d{6})\d+")


def date_of(text: str, encoder: Dates) -> datetime:
    """A date in the model's own format, or in that of ISO 8601; of Greenwich, without a zone."""
    found = None
    if encoder.format is not None:
        try:
            found = datetime.strptime(text.strip(), encoder.format)
        except ValueError:
            found = None
    if found is None:
        try:
            # What is finer than a microsecond is dropped.
            found = datetime.fromisoformat(_FINER.sub(r"\1", text.strip()))
        except ValueError:
            shown = repr(text if len(text) <= 40 else text[:40] + "...")
            raise ValueError(
                f"{shown} is not a date; give one such as 2024-01-31 or 2024-01-31T14:00, or null "
                "if it is not known."
            ) from None
    try:
        found = found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found
    except OverflowError:
        raise ValueError(f"{text[:40]!r} is out of range.") from None
    low, high = _NANOSECONDS if encoder.unit == "ns" else _OTHERS
    if not low <= found.year <= high:
        raise ValueError(f"the year {found.year} is out of range; give {low} to {high}.")
    return found
