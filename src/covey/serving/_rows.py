"""Rows of a request as a data frame that the model takes, and remarks on their values."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from covey.serving._dates import date_of
from covey.serving._fields import Field
from covey.serving._schema import BadRequestError
from covey.tables import Dates

if TYPE_CHECKING:
    import pandas as pd

# A number is remarked on if it is so much of the range outside what was seen.
_MARGIN = 0.05


class Rows:
    """Makes data frames of rows.

    Parameters
    ----------
    model : TableClassifier or TableRegressor
    fields : sequence of Field
    """

    def __init__(self, model: Any, fields: Sequence[Field]):
        self._fields = list(fields)
        encoders = model.preparation_._encoders
        self._dates = {
            one.name: encoders[one.name]
            for one in fields
            if isinstance(encoders.get(one.name), Dates)
        }
        self._known = {one.name: set(one.categories) for one in fields if one.kind == "category"}

    def check(self, rows: Sequence[dict[str, Any]], called: str = "Row {}") -> None:
        """Replace dates that are given as text by dates, or say which is none.

        ``called`` is what a row is called in the sentence.
        """
        for name, encoder in self._dates.items():
            for number, row in enumerate(rows, start=1):
                if row[name] is None:
                    continue
                try:
                    row[name] = date_of(row[name], encoder)
                except ValueError as error:
                    raise BadRequestError(
                        f"{called.format(number)}, column {name!r}: {error}"
                    ) from None

    def frame(self, rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
        """A data frame of checked rows."""
        import pandas as pd

        made: dict[str, Any] = {}
        for one in self._fields:
            values = [row[one.name] for row in rows]
            if one.kind == "number":
                made[one.name] = np.array(values, dtype=np.float64)  # None becomes NaN
            elif one.name in self._dates:
                made[one.name] = _column_of_dates(values, self._dates[one.name])
            else:
                made[one.name] = pd.Series(values, dtype=object)
        return pd.DataFrame(made)

    def remarks(self, row: dict[str, Any]) -> list[str]:
        """What a user should know of a row's values: those that the model has never seen."""
        said = []
        if all(value is None for value in row.values()):
            return ["All values are missing: the answer is that for a typical row."]
        for one in self._fields:
            value = row[one.name]
            if value is None or not one.used:
                continue
            if one.kind == "number" and one.low is not None and one.high is not None:
                # Of a long table not every row was looked at.
                margin = _MARGIN * (one.high - one.low)
                if not one.low - margin <= value <= one.high + margin:
                    said.append(
                        f"{one.name}: {value:g} is outside what the model has seen "
                        f"({one.low:g} to {one.high:g})."
                    )
            elif one.kind == "category" and _as_text(value) not in self._known[one.name]:
                said.append(
                    f"{one.name}: {_as_text(value)!r} is a category that the model has not seen; "
                    "it counts for nothing."
                )
        return said


def _as_text(value: Any) -> str:
    """A value as the model reads it in a column of text."""
    whole = isinstance(value, float) and value == int(value)
    return str(int(value) if whole else value)


def _column_of_dates(values: Sequence[datetime | None], encoder: Dates) -> Any:
    import pandas as pd

    made = pd.Series(np.array(values, dtype="datetime64[us]"))
    return made if encoder.time_zone is None else made.dt.tz_localize(UTC)
