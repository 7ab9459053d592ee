"""The columns that a fitted model reads of a table, and a table as it takes one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from covey.tables._columns import feature_names
from covey.tables._encoders import Dates, Encoder, Number
from covey.tables._kinds import as_frame, as_kind, listed

if TYPE_CHECKING:
    import pandas as pd


def encoders_of(model: Any) -> dict[str, Encoder | None]:
    """What reads each column of a table, for a fitted model; None of one that is left out."""
    names = feature_names(model)
    reading = getattr(getattr(model, "preparation_", None), "reading", None)
    encoders = (Number(),) * len(names) if reading is None else reading.encoders
    return dict(zip(names, encoders, strict=True))


def kinds_of(model: Any) -> dict[str, str]:
    """The kinds of the columns of a fitted model: "number", "text" or "date"."""
    return {
        name: "number"
        if isinstance(encoder, Number)
        else "date"
        if isinstance(encoder, Dates)
        else "text"
        for name, encoder in encoders_of(model).items()
    }


def table_for(model: Any, X: Any) -> pd.DataFrame:
    """The columns that a fitted model needs, of a table with any others in any order.

    What is no number in a column of numbers, or too large to compute with, is a gap.
    """
    table, encoders = as_frame(X), encoders_of(model)
    absent = [name for name in encoders if name not in table.columns]
    if absent:
        raise ValueError(f"The table lacks the {listed(absent)}, which the model needs.")
    numbers = {
        name: as_kind(table[name], "number", encoder.form)
        for name, encoder in encoders.items()
        if isinstance(encoder, Number)
    }
    return table[list(encoders)].assign(**numbers)
