"""Columns of categories in arrays and data frames: which they are, and their values as codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_array

from covey._plain_words import first_line
from covey.tables._columns import Names, chosen_columns, column_positions
from covey.tables._kinds import without_point

if TYPE_CHECKING:
    import pandas as pd

# The code of a category that was never seen; that of a gap is NaN.
UNSEEN = -1.0
_OF_DATES = ("date", "time", "period", "duration", "timestamp")


def is_table_of_columns(X: Any) -> bool:
    """Return whether X is a data frame, of pandas or polars."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def check_no_dates(X: Any) -> None:
    """Refuse a column of dates by its name: as numbers they would be nanoseconds, or days."""
    if not is_table_of_columns(X):
        return
    for name, dtype in zip(X.columns, X.dtypes, strict=True):
        if str(dtype).lower().startswith(_OF_DATES):
            raise ValueError(
                f"Column {str(name)!r} of X holds dates or times ({dtype}), where numbers are "
                'expected; fit with categorical_features="from_dtype", which makes numbers of '
                "dates, or encode them as numbers."
            )


def column_of(X: Any, position: int) -> Any:
    """Return one column of an array or data frame."""
    if hasattr(X, "iloc"):
        return X.iloc[:, position]
    return X.to_series(position) if is_table_of_columns(X) else X[:, position]


def as_series(values: Any) -> pd.Series:
    """Return a column as one of pandas."""
    import pandas as pd

    return values.to_pandas() if hasattr(values, "to_pandas") else pd.Series(values)


def is_from_dtype(wanted: Any) -> bool:
    """Return whether the types of a data frame say which columns hold categories."""
    return isinstance(wanted, str) and wanted == "from_dtype"


def categorical_columns(X: Any, wanted: Any, feature_names: Names | None) -> list[int]:
    """Return the positions of the columns of categories; ``wanted`` is the user's declaration."""
    if wanted is None:
        return []
    if hasattr(X, "tocsr"):
        raise ValueError(
            "categorical_features names columns of a sparse X, whose numbers cannot be "
            "categories; give X as a data frame, or categorical_features=None."
        )
    return sorted(set(chosen_columns(wanted, "categorical_features", X, feature_names)))


def _listed(values: Any) -> list[Any]:
    return values.to_list() if hasattr(values, "to_list") else np.asarray(values).tolist()


def is_gap(value: Any) -> bool:
    """Return whether a value is missing: None, NaN or pandas' NA."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return not hasattr(value, "__len__")  # pandas.NA does not compare


def words_of(values: Any) -> list[str | None]:
    """Return the values of a column as text, None for gaps; 1.0 is the category 1."""
    # Most are text already.
    return [
        value if type(value) is str else None if is_gap(value) else str(without_point(value))
        for value in _listed(values)
    ]


def declared_gaps(gaps: Any, X: Any) -> dict[int, tuple[str, ...]]:
    """Return the values that a user declares to be gaps, as text, by the positions of columns."""
    if gaps is None:
        return {}
    if not isinstance(gaps, Mapping):
        raise TypeError(
            "gaps must be a mapping from columns to the values in them that stand for gaps, such "
            f"as {{'age': [96, 98]}}, got {gaps!r}."
        )
    if gaps and hasattr(X, "tocsr"):
        raise ValueError("gaps names columns of a sparse X; give X as a data frame or an array.")
    names = [str(name) for name in X.columns] if is_table_of_columns(X) else None
    found = {}
    for column, values in gaps.items():
        (place,) = column_positions([column], "gaps", X.shape[1], names)
        values = [values] if isinstance(values, str) or not hasattr(values, "__iter__") else values
        found[place] = tuple(dict.fromkeys(map(gap_word, values)))
    return found


def gap_word(value: Any) -> str:
    """Write a value as it is declared to stand for a gap."""
    # A moment at midnight is written as its day.
    return str(without_point(value)).strip().removesuffix(" 00:00:00")


def numbers_among(words: Sequence[str]) -> list[float]:
    """Return the words that are numbers, as numbers."""
    found = []
    for word in words:
        with suppress(ValueError):
            found.append(float(word))
    return found


def without_gaps(values: Any, gaps: Sequence[str]) -> Any:
    """Return a column with None, NaN or NaT in place of some values, which are given as text."""
    if not gaps:
        return values
    from pandas.api import types

    values = as_series(values)
    if types.is_numeric_dtype(values.dtype) and not types.is_bool_dtype(values.dtype):
        return values.mask(values.isin(numbers_among(gaps)))
    return values.mask(np.isin([gap_word(value) for value in values], gaps))


def category_words(values: Any) -> list[str | None]:
    """Return the values of a column as text, None for gaps and for blank text."""
    return [word if word and not word.isspace() else None for word in words_of(values)]


def places(words: Sequence[str | None], known: Sequence[str | None]) -> np.ndarray:
    """Return the position of each word among the known ones, -1 for an unknown word."""
    position = {word: place for place, word in enumerate(known)}
    return np.array([position.get(word, -1) for word in words], dtype=np.intp)


def plain_numbers(X: Any, columns: np.ndarray) -> np.ndarray:
    """Return some columns as floats; refuse other values, by the name of their column."""
    rest = X.iloc[:, columns] if hasattr(X, "iloc") else X[:, columns.tolist()]
    check_no_dates(rest)
    try:
        return check_array(rest, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
    except (TypeError, ValueError) as error:
        if len(columns) > 1:
            for column in columns:
                plain_numbers(X, np.array([column]))
            raise ValueError(
                f"X holds columns that are not numbers together ({first_line(error)}); encode "
                "dates as numbers, or drop them."
            ) from None
        name = repr(str(X.columns[columns[0]])) if is_table_of_columns(X) else int(columns[0])
        raise ValueError(
            f"Column {name} of X holds neither numbers nor categories ({first_line(error)}); "
            "encode it as numbers or text, or drop it."
        ) from None


@contextmanager
def naming_columns(X: Any) -> Iterator[None]:
    """Name the column that is not made of numbers, if a check of a data frame fails for one."""
    try:
        yield
    except (TypeError, ValueError):
        if is_table_of_columns(X) and all(X.shape):
            plain_numbers(X, np.arange(X.shape[1]))
        raise
