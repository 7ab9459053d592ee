"""The columns of a table that a fitted model reads, and a table in the form that it accepts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from covey.tables._columns import feature_names
from covey.tables._encoders import Dates, Encoder, NumberColumn
from covey.tables._kinds import as_frame, listed
from covey.tables._numbers import NumberFormat

if TYPE_CHECKING:
    import pandas as pd


def encoders_of(model: Any) -> dict[str, Encoder | None]:
    """Return the encoder of each column of a table; None for a column that is left out."""
    names = feature_names(model)
    reading = getattr(getattr(model, "preparation_", None), "reading", None)
    encoders = (NumberColumn(),) * len(names) if reading is None else reading.encoders
    return dict(zip(names, encoders, strict=True))


def kinds_of(model: Any) -> dict[str, str]:
    """Return the kinds of the columns of a fitted model: "number", "text" or "date"."""
    kinds = {NumberColumn: "number", Dates: "date"}
    return {name: kinds.get(type(one), "text") for name, one in encoders_of(model).items()}


def formats_of(model: Any) -> dict[str, NumberFormat]:
    """Return the formats of a model's columns of numbers that are not written as 1234.5."""
    return {
        name: encoder.form
        for name, encoder in encoders_of(model).items()
        if isinstance(encoder, NumberColumn) and encoder.form is not None
    }


def table_for(model: Any, X: Any) -> pd.DataFrame:
    """Return the columns that a fitted model needs, from a table with any others in any order.

    Values in a column of numbers that cannot be read, or are too large to compute with, are gaps.
    """
    table, encoders = as_frame(X), encoders_of(model)
    if hasattr(model, "feature_names_in_") or table.shape[1] != len(encoders):
        return as_read(table, encoders)
    # Columns without names are known by their positions.
    table = as_read(table.set_axis(list(encoders), axis=1), encoders)
    return table.set_axis(range(len(encoders)), axis=1)


def unread_values(model: Any, row: pd.DataFrame) -> list[str]:
    """Return a sentence for each number or date of one row that is there but cannot be read."""
    said = []
    for name, encoder in encoders_of(model).items():
        if isinstance(encoder, NumberColumn | Dates):
            values = encoder.present(row[name])
            count, _, example = encoder.unread(values, encoder.numbers(values))
            what = f"{name}: {str(example)!r} cannot be read (at the fit {encoder.seen})"
            said += [f"{what} and counts as missing"] * count
    return said


def check_has(table: pd.DataFrame, columns: Iterable[str]) -> None:
    """Refuse a table that lacks columns, by their names."""
    absent = [name for name in columns if name not in table.columns]
    if absent:
        raise ValueError(f"The table lacks the {listed(absent)}, which the model needs.")


def as_read(table: pd.DataFrame, encoders: Mapping[str, Encoder | None]) -> pd.DataFrame:
    """Return these columns, with floats for numbers; unreadable numbers are gaps."""
    check_has(table, encoders)
    table, made = table[list(encoders)], {}
    for name, encoder in encoders.items():
        values = table[name]
        found = values if encoder is None else encoder.as_read(values)
        if found is not values:  # most of perhaps thousands of columns are floats already
            made[name] = found
            # Infinities are gaps wherever they are.
            if isinstance(encoder, NumberColumn) and values.dtype.kind not in "iuf":
                encoder.warn(name, encoder.present(values), found.to_numpy()[:, None])
    return table.assign(**made) if made else table
