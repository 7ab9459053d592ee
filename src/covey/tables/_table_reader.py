"""The reading of the columns of a user's table: as numbers, codes of categories, text or dates."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from covey._state import AnyOf, ListOf, OrNone
from covey.tables._categories import (
    as_series,
    categorical_columns,
    check_no_dates,
    column_of,
    declared_gaps,
    is_from_dtype,
    is_table_of_columns,
    plain_numbers,
    without_gaps,
)
from covey.tables._encoders import Categories, Dates, Encoder, NumberColumn, Text
from covey.tables._kinds import KINDS, as_kind, id_of, kind_of, listed
from covey.tables._learning import learn_encoder

# How types of numbers are named in pandas, polars and Arrow.
_OF_NUMBERS = re.compile(r"(u?int\d*|float\d*|double|complex\d*)(\[pyarrow\])?$|sparse\[")


@dataclass(frozen=True)
class TableReader:
    """A reader of the columns of a table, each by its encoder, except those that are left out.

    Categories are codes, and gaps are NaN.

    Examples
    --------
    >>> import pandas as pd
    >>> from covey.tables import Categories, NumberColumn, TableReader
    >>> reading = TableReader((NumberColumn(), Categories(("Oslo", "Rome")), None))
    >>> reading.read(pd.DataFrame({"age": [31.0], "town": ["Rome"], "id": ["x7"]}))
    array([[31.,  1.]])
    """

    encoders: Annotated[
        tuple[Encoder | None, ...],
        ListOf(OrNone(AnyOf(NumberColumn, Categories, Text, Dates)), "F", make=tuple),
    ]

    @property
    def feature_of(self) -> np.ndarray:
        """The feature that each column is read from, (n_columns,)."""
        widths = [0 if one is None else one.n_columns for one in self.encoders]
        return np.repeat(np.arange(len(widths)), widths)

    @property
    def words(self) -> dict[int, tuple[str, ...]]:
        """The categories of the columns that hold their codes."""
        first = np.searchsorted(self.feature_of, np.arange(len(self.encoders)))
        return {
            int(place): encoder.known
            for place, encoder in zip(first, self.encoders, strict=True)
            if isinstance(encoder, Categories)
        }

    @property
    def is_number(self) -> np.ndarray:
        """Return which columns are the user's own numbers, (n_columns,)."""
        own = [isinstance(encoder, NumberColumn) for encoder in self.encoders]
        return np.array(own, dtype=bool)[self.feature_of]

    def names(self, features: Any) -> list[str]:
        """Return the columns' names, in terms of the features'."""
        made = [
            [] if encoder is None else encoder.names(str(name))
            for name, encoder in zip(features, self.encoders, strict=True)
        ]
        return [name for names in made for name in names]

    def read(self, X: Any) -> np.ndarray:
        """Return the columns (n, n_columns) of a data frame or array."""
        feature_of = self.feature_of
        made = np.zeros((X.shape[0], len(feature_of)))
        is_plain = np.array([one == NumberColumn() for one in self.encoders], dtype=bool)
        if is_plain.any():
            made[:, is_plain[feature_of]] = plain_numbers(X, np.flatnonzero(is_plain))
        for place, encoder in enumerate(self.encoders):
            if encoder is not None and not is_plain[place]:
                values = column_of(X, place)
                if not isinstance(encoder, Categories):
                    values = as_series(values)
                values = encoder.present(values)
                made[:, feature_of == place] = numbers = encoder.numbers(values)
                name = X.columns[place] if is_table_of_columns(X) else f"column {place}"
                encoder.warn(name, values, numbers)
        return made


def learn_reading(
    X: Any,
    wanted: Any,
    has_target: bool = True,
    keep: Collection[int] = (),
    gaps: Mapping[Any, Any] | None = None,
) -> TableReader | None:
    """Return how a table is read; None if all of its columns are plain numbers.

    ``wanted`` is the user's declaration of columns: "from_dtype", the kinds of columns by name
    (the others are left out), those that are categories, or None. Columns to ``keep`` do not count
    as ids. ``gaps`` are values that stand for gaps, by column.
    """
    declared = declared_gaps(gaps, X)

    def column(place: int) -> Any:
        return without_gaps(column_of(X, place), declared.get(place, ()))

    if isinstance(wanted, Mapping):
        kinds = _given_kinds(X, wanted)
    elif is_from_dtype(wanted):
        kinds = _kinds_looked_at(X, keep, column) if is_table_of_columns(X) else {}
    else:
        check_no_dates(X)
        names = [str(name) for name in X.columns] if is_table_of_columns(X) else None
        kinds = dict.fromkeys(categorical_columns(X, wanted, names), "category")
    if not (kinds or declared):
        return None
    is_plain = _are_plain(X)
    encoders: list[Encoder | None] = [
        NumberColumn()
        if is_plain[place] and kinds.get(place, "number") == "number"
        else _learnt(column(place), kinds.get(place, "number"), has_target)
        for place in range(X.shape[1])
    ]
    for place, words in declared.items():
        one = encoders[place]
        encoders[place] = None if one is None else replace(one, gaps=words)
    return None if all(one == NumberColumn() for one in encoders) else TableReader(tuple(encoders))


def _learnt(values: Any, kind: str | None, has_target: bool) -> Encoder | None:
    if kind is None:
        return None
    if kind == "category":
        return learn_encoder(values, kind)
    values = as_series(values)
    if kind == "number":
        encoder = NumberColumn(True, kind_of(values).form)
        count, total, _ = encoder.unread(values, encoder.numbers(values))
        return replace(encoder, odd=count / max(1, total))
    return learn_encoder(values, kind, has_target=has_target)


def _are_plain(X: Any) -> list[bool]:
    """Return which columns hold numbers by their types."""
    if not is_table_of_columns(X):
        return [True] * X.shape[1]
    return [_OF_NUMBERS.match(str(dtype).lower()) is not None for dtype in X.dtypes]


def _given_kinds(X: Any, kinds: Mapping[Any, str]) -> dict[int, str | None]:
    names = [str(name) for name in X.columns] if is_table_of_columns(X) else []
    kinds = {str(name): kind for name, kind in kinds.items()}
    absent = [name for name in kinds if name not in names]
    if absent:
        raise ValueError(
            f"categorical_features names the {listed(absent)}, which X does not have."
        )
    for kind in kinds.values():
        if kind not in KINDS:
            raise ValueError(
                f"categorical_features gives the kind {kind!r}; give one of "
                f"{', '.join(map(repr, KINDS))}."
            )
    return {place: kinds.get(name) for place, name in enumerate(names)}


def _kinds_looked_at(
    X: Any, keep: Collection[int], column: Callable[[int], Any]
) -> dict[int, str | None]:
    """Return the kinds of columns other than plain numbers; None for ids, which are left out."""
    kinds: dict[int, str | None] = {}
    for place, (dtype, is_plain) in enumerate(zip(X.dtypes, _are_plain(X), strict=True)):
        name, values = str(X.columns[place]), column(place)
        if is_plain:
            if str(dtype).lower().startswith(("complex", "sparse")):
                continue
            numbers = np.asarray(values, dtype=np.float64)
            if place not in keep and id_of(name, numbers, "number")[0]:
                kinds[place] = None
            continue
        values = as_series(values)
        kind = kind_of(values).kind
        if kind == "nested":
            plain_numbers(X, np.array([place]))  # raises an error about it
        numbers = as_kind(values, kind, kind_of(values).form if kind == "number" else None)
        is_id = place not in keep and id_of(name, numbers, kind)[0]
        kinds[place] = None if is_id else kind
    return kinds
