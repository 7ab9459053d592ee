"""The values and rows that a model remembers of the columns that it was fitted on.

Explanations compare a row with training rows, and a change of a column must lead to a value that
has been seen together with the others. All values are ones that occurred: a typical number of
children is not 1.5.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from covey._blocks import take_rows
from covey._core.arrays import evenly
from covey.tables._categories import as_series, category_words, column_of
from covey.tables._encoders import Categories, Dates, Encoder, NumberColumn
from covey.tables._kinds import as_kind, without_point
from covey.tables._table_reader import TableReader

# How many rows, and numbers, are looked at: enough for quantiles.
_MOST_ROWS, _MOST_NUMBERS, _FEWEST_ROWS = 10_000, 1 << 22, 200
# How many numbers are sorted at once: a sparse table is never made dense as a whole.
_NUMBERS_AT_ONCE = 1 << 18
# The quantiles of numbers that are kept, and how many words of a column.
SHARES = np.linspace(0.0, 1.0, 21)
_MIDDLE = len(SHARES) // 2
MOST_WORDS = 50
# How many rows are kept: fewer of many columns, and none if even a few would be too many.
MOST_KEPT, _FEWEST_KEPT, _MOST_CELLS = 100, 8, 1 << 15
_MOST_COLUMNS_KEPT = 1 << 15

# Times are dates of a data frame, and dates are text.
Kind = Literal["number", "word", "date", "time"]


@dataclass(frozen=True)
class SeenColumn:
    """One column: its typical value, and others in ascending order, or the commonest first."""

    name: str
    kind: Kind
    typical: Any  # a number (NaN: a gap), a time as text, or a word (None: a gap)
    values: tuple[Any, ...]
    scale: float = 1.0  # how far numbers are from each other: their standard deviation
    whole: bool = False  # whether all numbers are whole
    # The share of rows that have exactly each of the values, and for numbers and dates the share
    # with less, among rows that have one. Models that were fitted before this was kept have none.
    shares: tuple[float, ...] = ()
    below: tuple[float, ...] = ()
    missing: float = np.nan  # the share of rows without a value

    @property
    def is_complete(self) -> bool:
        """Return whether all words that were seen are kept."""
        return 0 < len(self.values) < MOST_WORDS

    def raw(self, value: Any) -> Any:
        """Return a value as a model takes it."""
        if self.kind == "number":
            return np.nan if value is None else value
        if self.kind != "time":
            return value
        import pandas as pd

        return pd.NaT if value is None else pd.Timestamp(value)


@dataclass(frozen=True)
class SeenColumns:
    """All columns of a table that a model was fitted on, and some of its rows.

    ``kept`` has a tuple for each column, its values in these rows; it is empty if no rows are
    kept. ``n_rows`` is how many rows were looked at, 0 if the shares of values are not known.
    """

    columns: tuple[SeenColumn, ...]
    kept: tuple[tuple[Any, ...], ...] = ()
    n_rows: int = 0

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return [column.name for column in self.columns]

    def typical(self) -> dict[str, Any]:
        """The typical row, as it is shown: None for gaps."""
        return {column.name: shown_value(column.typical, column) for column in self.columns}

    def without(self, place: int) -> SeenColumns:
        """Return the columns but one."""
        kept = self.kept[:place] + self.kept[place + 1 :]
        return SeenColumns(self.columns[:place] + self.columns[place + 1 :], kept, self.n_rows)

    def gaps(self) -> np.ndarray:
        """Return which numbers are missing in the remembered rows: each pattern once, (m, D)."""
        kept = self.kept or ((),) * len(self.columns)
        missing = [
            [one.kind == "number" and value != value for value in (one.typical, *values)]
            for one, values in zip(self.columns, kept, strict=True)
        ]
        return np.unique(np.array(missing, dtype=bool).T, axis=0)

    def rows_like(self, X: Any) -> Any:
        """Return the rows that are kept, as a table of the form of X; or else the typical one.

        For None it is a data frame of pandas.
        """
        kept = self.kept or tuple((column.typical,) for column in self.columns)
        cells = [
            [column.raw(value) for value in values]
            for column, values in zip(self.columns, kept, strict=True)
        ]
        if X is None:
            import pandas as pd

            return pd.DataFrame(dict(zip(self.names, cells, strict=True)))
        if not hasattr(X, "columns"):
            is_number = hasattr(X, "tocsr") or np.asarray(X).dtype.kind in "biuf"
            rows = np.array(cells, dtype=np.float64 if is_number else object).T
            return type(X)(rows) if hasattr(X, "tocsr") else rows
        import pandas as pd

        if not isinstance(X, pd.DataFrame):
            return type(X)(dict(zip(self.names, cells, strict=True)))
        called = {str(name): name for name in X.columns}
        if not set(self.names) <= set(called):  # names that are no text are ignored
            called = dict(zip(self.names, X.columns, strict=False))
        return pd.DataFrame(
            {
                called[name]: as_column(values, X[called[name]].dtype)
                for name, values in zip(self.names, cells, strict=True)
                if name in called
            }
        )


def kept_rows(n_rows: int, n_columns: int, weight: np.ndarray | None = None) -> np.ndarray:
    """Return the rows to keep of a table: evenly spaced, by their weight if it is known."""
    if n_columns > _MOST_COLUMNS_KEPT:
        return np.zeros(0, dtype=np.intp)
    most = min(MOST_KEPT, max(_FEWEST_KEPT, _MOST_CELLS // max(1, n_columns)))
    if weight is None:
        return evenly(np.arange(n_rows), most)
    upper = np.cumsum(weight, dtype=np.float64)
    wanted = (np.arange(most) + 0.5) / most * upper[-1]
    return np.unique(np.searchsorted(upper, wanted, side="right").clip(max=n_rows - 1))


def seen_columns(
    X: Any,
    names: Sequence[str],
    *,
    weight: np.ndarray | None = None,
    reading: TableReader | None = None,
) -> SeenColumns:
    """Learn from a table: an array, a sparse matrix or a data frame, and how it is read.

    Rows of weight 0 do not count. Text that hardly repeats has no typical value but a gap.
    """
    n_rows, n_columns = X.shape
    kept = kept_rows(n_rows, n_columns, weight)
    rows = np.arange(n_rows) if weight is None else np.flatnonzero(weight)
    most = min(_MOST_ROWS, max(_FEWEST_ROWS, _MOST_NUMBERS // max(1, n_columns)))
    rows = evenly(rows, most)
    sample = X if len(rows) == n_rows else take_rows(X, rows)
    few = take_rows(X, kept)
    if reading is not None:
        found, values = [], []
        for place, (name, encoder) in enumerate(zip(names, reading.encoders, strict=True)):
            parts = (column_of(part, place) for part in (sample, few))
            seen, own = _as_read(name, encoder, *parts)
            found.append(seen)
            values.append(own)
        return SeenColumns(tuple(found), tuple(values) if len(kept) else (), len(rows))
    if hasattr(sample, "columns"):
        found = [_of_series(name, column_of(sample, place)) for place, name in enumerate(names)]
        values = [_plain_values(column_of(few, place)) for place in range(n_columns)]
        return SeenColumns(tuple(found), tuple(values) if len(kept) else (), len(rows))
    few = few.toarray() if hasattr(few, "toarray") else np.asarray(few)
    sample = sample.tocsc() if hasattr(sample, "tocsc") else np.asarray(sample)
    if sample.dtype.kind not in "biuf":
        found = [_of_words(name, column) for name, column in zip(names, sample.T, strict=True)]
        values = list(map(_plain_values, few.T))
        return SeenColumns(tuple(found), tuple(values) if len(kept) else (), len(rows))
    numbers: list[SeenColumn] = []
    at_once = max(1, _NUMBERS_AT_ONCE // max(1, len(rows)))
    for start in range(0, n_columns, at_once):
        part = sample[:, start : start + at_once]
        part = part.toarray() if hasattr(part, "toarray") else part
        own = names[start : start + at_once]
        numbers += seen_numbers(own, part.astype(np.float64, copy=False))
    few = few.astype(np.float64)
    values = [tuple(column.tolist()) for column in np.where(np.isinf(few), np.nan, few).T]
    return SeenColumns(tuple(numbers), tuple(values) if len(kept) else (), len(rows))


def _as_read(
    name: str, encoder: Encoder | None, sample: Any, few: Any
) -> tuple[SeenColumn, tuple[Any, ...]]:
    """Return a column of a table as its encoder reads it, and its values in the kept rows."""
    if encoder is not None and encoder.gaps:
        sample, few = (encoder.present(as_series(values)) for values in (sample, few))
    if isinstance(encoder, NumberColumn):
        parts = sample, few
        if encoder.written:
            parts = (encoder.numbers(as_series(values))[:, 0] for values in parts)
        numbers, own = map(_floats, parts)
        return seen_numbers([name], numbers[:, None])[0], tuple(own.tolist())
    if isinstance(encoder, Dates):
        dates, own = (as_kind(as_series(values), "date") for values in (sample, few))
        return _of_dates(name, dates, encoder.format), _plain_values(own)
    if isinstance(encoder, Categories):
        return _of_words(name, category_words(sample)), tuple(category_words(few))
    empty = np.array([word is None for word in category_words(sample)])
    share = float(empty.mean()) if len(empty) else np.nan
    return SeenColumn(name, "word", None, (), missing=share), (None,) * len(few)


def seen_means(names: Sequence[str], means: np.ndarray, scale: np.ndarray) -> SeenColumns:
    """Return columns of numbers of which only means and standard deviations are known."""
    return SeenColumns(
        tuple(
            SeenColumn(name, "number", float(mean), (), float(size))
            for name, mean, size in zip(names, means, scale, strict=True)
        )
    )


def _of_series(name: str, values: Any) -> SeenColumn:
    if hasattr(values, "to_pandas"):
        values = values.to_pandas()
    dtype = values.dtype
    if getattr(dtype, "kind", "O") == "M":
        return _of_dates(name, values)
    if getattr(dtype, "kind", "O") in "biuf":
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return seen_numbers([name], numbers[:, None])[0]
    return _of_words(name, values.to_numpy(dtype=object))


def seen_numbers(names: Sequence[str], columns: np.ndarray) -> list[SeenColumn]:
    """Return columns of numbers (n, D), NaN for gaps."""
    ordered = np.sort(np.where(np.isinf(columns), np.nan, columns), axis=0)
    counts = np.sum(~np.isnan(ordered), axis=0)
    places = np.ceil(SHARES[:, None] * counts).astype(np.intp) - 1
    quantiles = np.take_along_axis(ordered, np.maximum(places, 0), axis=0)
    with np.errstate(all="ignore"):
        whole = np.nanmax(np.abs(ordered - np.round(ordered)), axis=0, initial=0.0) == 0
        squares = np.nansum((ordered - quantiles[_MIDDLE]) ** 2, axis=0)
        scale = np.sqrt(squares / counts)
    # Equal quantiles count once; those of a column without numbers are NaN.
    new = quantiles == quantiles
    new[1:] &= quantiles[1:] != quantiles[:-1]
    typical = np.where(2 * counts < len(columns), np.nan, quantiles[_MIDDLE])
    scale[~(np.isfinite(scale) & (scale > 0))] = 1.0
    facts = typical.tolist(), scale.tolist(), whole.tolist(), counts.tolist()
    found = []
    same: dict[tuple[float, ...], tuple[float, ...]] = {}  # of sparse columns, most are equal
    for place, (name, middle, size, is_whole, count) in enumerate(zip(names, *facts, strict=True)):
        own = quantiles[new[:, place], place]
        parts = (tuple(own.tolist()), *_spread(ordered[:count, place], own))
        values, shares, below = (same.setdefault(part, part) for part in parts)
        missing = 1.0 - count / len(columns) if len(columns) else np.nan
        known = SeenColumn(
            str(name), "number", middle, values, size, is_whole, shares, below, missing
        )
        found.append(known)
    return found


_Shares = tuple[float, ...]


def _spread(ordered: np.ndarray, values: np.ndarray) -> tuple[_Shares, _Shares]:
    """Return the shares of sorted numbers that are exactly each value, and that are below it."""
    sides = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    below, upto = (side / max(1, len(ordered)) for side in sides)
    return tuple((upto - below).tolist()), tuple(below.tolist())


def _of_words(name: str, values: Any) -> SeenColumn:
    """Return the commonest words, of equals the first in alphabetical order."""
    counted = Counter(_plain(value) for value in values)
    ordered = sorted(counted.items(), key=lambda one: (-one[1], one[0] is None, str(one[0])))
    words = tuple(word for word, _ in ordered[:MOST_WORDS])
    n_rows = max(1, len(values))
    shares = tuple(count / n_rows for _, count in ordered[:MOST_WORDS])
    typical, missing = words[0] if words else None, counted[None] / n_rows
    return SeenColumn(str(name), "word", typical, words, shares=shares, missing=missing)


def _of_dates(name: str, values: Any, form: str | None = None) -> SeenColumn:
    """Return the median date and other quantiles, written as they were given."""
    import pandas as pd

    times = values
    as_text = not pd.api.types.is_datetime64_any_dtype(values.dtype)
    if as_text:
        times = pd.to_datetime(values, errors="coerce", utc=True, format=form or "mixed")
    known = np.flatnonzero(times.notna().to_numpy())
    shown: list[str] = []
    shares: _Shares = ()
    below: _Shares = ()
    if len(known):
        order = known[times.iloc[known].argsort(kind="stable").to_numpy()]
        places = np.maximum(np.ceil(SHARES * len(order)).astype(np.intp) - 1, 0)
        shown = [str(values.iloc[row]) for row in order[places]]
        new = [shown.index(word) for word in dict.fromkeys(shown)]
        moments = times.iloc[order].astype("int64").to_numpy()
        shares, below = _spread(moments, moments[places[new]])
    typical = shown[_MIDDLE] if shown and 2 * len(known) >= len(values) else None
    kind: Kind = "date" if as_text else "time"
    missing = 1.0 - len(known) / len(values) if len(values) else np.nan
    own = tuple(dict.fromkeys(shown))
    return SeenColumn(str(name), kind, typical, own, shares=shares, below=below, missing=missing)


def _plain_values(values: Any) -> tuple[Any, ...]:
    """Return a column's values: floats with NaN for gaps, or text, times as text, with None."""
    if hasattr(values, "to_pandas"):
        values = values.to_pandas()
    if getattr(values.dtype, "kind", "O") in "biuf":
        return tuple(_floats(values).tolist())
    return tuple(_plain(value) for value in values)


def _floats(values: Any) -> np.ndarray:
    """Return numbers of a column, NaN for gaps and infinities."""
    if hasattr(values, "to_pandas"):
        values = values.to_pandas()
    if hasattr(values, "to_numpy"):
        values = values.to_numpy(dtype=np.float64, na_value=np.nan)
    numbers = np.asarray(values, dtype=np.float64)
    return np.where(np.isinf(numbers), np.nan, numbers)


def _plain(value: Any) -> Any:
    """Return a value of Python's own types; None for gaps."""
    if isinstance(value, list | tuple | dict | set | np.ndarray):
        return str(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
        return None
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, bool | int | float | str) else str(value)


def as_column(values: Sequence[Any], dtype: Any) -> Any:
    """Return a column of values, of a type if that can hold them."""
    import pandas as pd

    if isinstance(dtype, pd.CategoricalDtype):
        known = dtype.categories
        new = [value for value in values if not pd.isna(value) and value not in known]
        known = known.append(pd.Index(dict.fromkeys(new))) if new else known
        return pd.Categorical(values, categories=known, ordered=dtype.ordered)
    column = pd.Series(list(values))
    if dtype is None or column.dtype == dtype:
        return column
    try:
        found = column.astype(dtype)
        # A type that cannot hold the value is not forced on it.
        same = found.isna() & column.isna() | (found == column)
    except (TypeError, ValueError, OverflowError, AttributeError):  # periods compare with no text
        return column
    return found if bool(same.all()) else column


def shown_value(value: Any, column: SeenColumn | None = None) -> Any:
    """Return a value as people read it: whole numbers without a point, None for gaps."""
    value = _plain(value)
    if column is not None and column.kind == "word" and isinstance(column.typical, str):
        # Categories are text, even if a table holds them as flags or numbers.
        return None if value is None else str(without_point(value))
    whole = column is None or column.whole
    if isinstance(value, float) and whole and value == round(value) and abs(value) < 2**53:
        return int(value)
    return value
