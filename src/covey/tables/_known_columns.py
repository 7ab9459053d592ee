"""The columns that a fitted model reads of a table, and a table as it takes one."""

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
    """What reads each column of a table, for a fitted model; None of one that is left out."""
    names = feature_names(model)
    reading = getattr(getattr(model, "preparation_", None), "reading", None)
    encoders = (NumberColumn(),) * len(names) if reading is None else reading.encoders
    return dict(zip(names, encoders, strict=True))


def kinds_of(model: Any) -> dict[str, str]:
    """The kinds of the columns of a fitted model: "number", "text" or "date"."""
    kinds = {NumberColumn: "number", Dates: "date"}
    return {name: kinds.get(type(one), "text") for name, one in encoders_of(model).items()}


def formats_of(model: Any) -> dict[str, NumberFormat]:
    """How the columns of numbers are written that a model was fitted on, if not as 1234.5."""
    return {
        name: encoder.form
        for name, encoder in encoders_of(model).items()
        if isinstance(encoder, NumberColumn) and encoder.form is not None
    }


def table_for(model: Any, X: Any) -> pd.DataFrame:
    """The columns that a fitted model needs, of a table with any others in any order.

    What is no number in a column of numbers, or too large to compute with, is a gap.
    """
    table, encoders = as_frame(X), encoders_of(model)
    if hasattr(model, "feature_names_in_") or table.shape[1] != len(encoders):
        return as_read(table, encoders)
    # What has no names is known by its place.
    table = as_read(table.set_axis(list(encoders), axis=1), encoders)
    return table.set_axis(range(len(encoders)), axis=1)


def check_has(table: pd.DataFrame, columns: Iterable[str]) -> None:
    """Refuse a table that lacks columns, by their names."""
    absent = [name for name in columns if name not in table.columns]
    if absent:
        raise ValueError(f"The table lacks the {listed(absent)}, which the model needs.")


def as_read(table: pd.DataFrame, encoders: Mapping[str, Encoder | None]) -> pd.DataFrame:
    """These columns of a table, those of numbers as floats; other values in there are gaps."""
    check_has(table, encoders)
    table, made = table[list(encoders)], {}
    for name, encoder in encoders.items():
        values = table[name]
        found = values if encoder is None else encoder.as_read(values)
        if found is not values:  # most are floats already, of which there may be thousands
            made[name] = found
            # Infinities are gaps wherever they are.
            if isinstance(encoder, NumberColumn) and values.dtype.kind not in "iuf":
                encoder.warn(name, encoder.present(values), found.to_numpy()[:, None])
    return table.assign(**made) if made else table
