"""The kind of each column of a table, and which columns are of no use.

This is the one inference of kinds: commands, reports and models use it, for text from a CSV file
(an Arrow array) as for a column of a data frame.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Kind = Literal["number", "text", "date", "nested", "empty"]

# A column of text counts as numbers if at least this share of its values are numbers.
_ENOUGH_NUMBERS = 0.95
# With fewer rows, any column may have a different value in each by chance.
_FEWEST_ROWS_OF_IDS = 12
# Text of this many words a row has content, however different the rows are.
_WORDS_OF_PROSE = 4
_ID_NAME = re.compile(
    r"(^|[\W_])(id|ids|key|uuid|guid|index|idx|nr|no|number|row|unnamed)([\W_]|$)", re.IGNORECASE
)
_ID_TAIL = re.compile(r"[a-z](ID|Id)$")
_LARGEST_EXACT = 2.0**53
_NUMBER = r"^[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity))$"
_LEADING_ZERO = r"^[+-]?0\d"
_LONG = r"^[+-]?\d{16,}$"
_DATE = r"^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"


@dataclass(frozen=True)
class Column:
    """A column as `look` found it.

    Examples
    --------
    >>> import pandas as pd
    >>> from covey.tables import look
    >>> look(pd.DataFrame({"age": [31.0, 42.5, 27.0]}))[0].kind
    'number'
    """

    name: str
    kind: Kind
    missing: int  # rows without a value, or without a number in a column of numbers
    n_values: int  # different ones
    drop: str = ""  # why the column is of no use; empty if it is
    note: str = ""  # a remark for the user

    def as_health(self) -> dict[str, Any]:
        """The column as a line of a report: ``column``, ``kind``, ``missing`` and ``note``."""
        note = f"left out: {self.drop}" if self.drop else self.note
        return {"column": self.name, "kind": self.kind, "missing": self.missing, "note": note}


def as_frame(X: Any) -> pd.DataFrame:
    """A pandas frame with names as text; arrays get the names x0, x1, ..."""
    import pandas as pd

    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if sparse.issparse(X):
        raise TypeError("A table cannot be sparse; use a data frame, or X.toarray().")
    if not isinstance(X, pd.DataFrame):
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(
                f"A table has rows and columns, got an array of shape {X.shape}. Reshape your "
                "data."
            )
        if np.iscomplexobj(X):
            raise ValueError("Complex data not supported: a table holds real numbers and text.")
        X = pd.DataFrame(X, columns=[f"x{position}" for position in range(X.shape[1])])
    for count, what in zip(X.shape, ("sample", "feature"), strict=True):
        if not count:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required."
            )
    names = [str(name) for name in X.columns]
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(f"The table has two columns named {twice[0]!r}; rename one of them.")
    return X.set_axis(names, axis=1) if names != list(X.columns) else X


def listed(names: Collection[str]) -> str:
    """Columns in a sentence: ``column 'a'`` or ``columns 'a', 'b' and 3 more``."""
    shown = ", ".join(repr(name) for name in list(names)[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"{'columns' if len(names) > 1 else 'column'} {shown}{more}"


def not_numbers(count: int, example: object) -> str:
    """A remark on values of a column of numbers that are no numbers."""
    what = "value is no number" if count == 1 else "values are no numbers"
    return f"{count:,} {what} ({example!r}) and counted as missing"


def look(table: Any, keep: Collection[str] = ()) -> list[Column]:
    """Find the kind of each column of a table, and whether it is of use for any target.

    Parameters
    ----------
    table : data frame or array of shape (n_rows, n_columns)
    keep : collection of str, default=()
        Columns that are used whatever they look like.

    Returns
    -------
    columns : list of Column
        In the order of the table.

    Examples
    --------
    >>> import pandas as pd
    >>> from covey.tables import look
    >>> table = pd.DataFrame({"age": ["31", None, "54"], "unit": ["cm", "cm", "cm"]})
    >>> [(column.name, column.kind, column.drop) for column in look(table)]
    [('age', 'number', ''), ('unit', 'text', 'it has one value only')]
    """
    table = as_frame(table)
    return [_described(name, table[name], name in keep) for name in table.columns]


def _described(name: str, values: pd.Series, keep: bool) -> Column:
    kind, note = kind_of(values)
    if kind == "nested":
        return Column(name, kind, 0, 0, "it holds lists or records, not single values")
    values = as_kind(values, kind)
    missing = int(values.isna().sum())
    n_values = int(values.nunique())
    if missing == len(values):
        return Column(name, "empty", missing, 0, "it is empty")
    drop = ""
    if not keep and n_values == 1 and not missing:
        drop = "it has one value only"
    elif not keep and _is_id(name, values, kind, n_values):
        drop = "it names the rows (every value is different)"
    return Column(name, kind, missing, n_values, drop, note)


def kind_of(values: pd.Series) -> tuple[Kind, str]:
    """The kind of a column of a data frame, and a remark on it."""
    from pandas.api import types

    dtype, present = values.dtype, values[values.notna()]
    if types.is_bool_dtype(dtype):
        return "text", ""
    if types.is_datetime64_any_dtype(dtype):
        return "date", ""
    if types.is_numeric_dtype(dtype) or types.is_timedelta64_dtype(dtype):
        whole = types.is_integer_dtype(dtype) and len(present)
        # Longer whole numbers may be codes, of which a float drops digits: looked at as text.
        if not whole or present.abs().max() <= _LARGEST_EXACT:
            return "number", ""
    if not len(present):
        return "text", ""
    if isinstance(present.iloc[0], list | tuple | dict | set | bytes | np.ndarray):
        return "nested", ""
    import pyarrow as pa

    return kind_of_text(pa.array(present.astype(str), pa.string()))


def kind_of_text(
    text: pa.Array | pa.ChunkedArray, enough: float = _ENOUGH_NUMBERS
) -> tuple[Kind, str]:
    """The kind of a column of text without gaps, and a remark on it.

    ``enough`` is the share of numbers from which on it is a column of numbers.
    """
    from pyarrow import compute

    text = compute.utf8_trim_whitespace(text)
    numbers = as_numbers(text)
    strange = compute.is_null(numbers, nan_is_null=True)
    n_strange = compute.sum(strange).as_py() or 0
    if len(text) and 1 - n_strange / len(text) >= enough and not _are_codes(text):
        if not n_strange:
            return "number", ""
        return "number", not_numbers(n_strange, text.filter(strange)[0].as_py())
    if compute.all(compute.match_substring_regex(text, _DATE)).as_py():
        return "date", ""
    return "text", ""


def as_numbers(text: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Text as floats, null where it is no number."""
    import pyarrow as pa
    from pyarrow import compute

    text = compute.utf8_trim_whitespace(text)
    try:
        return text.cast(pa.float64())
    except pa.ArrowInvalid:
        numeric = compute.match_substring_regex(text, _NUMBER)
        return compute.if_else(numeric, text, pa.scalar(None, text.type)).cast(pa.float64())


def _are_codes(text: pa.Array | pa.ChunkedArray) -> bool:
    """Whether numbers are names: 01234 is a postal code, and 19 digits are an account."""
    from pyarrow import compute

    if compute.any(compute.match_substring_regex(text, _LEADING_ZERO)).as_py():
        return True
    long = text.filter(compute.match_substring_regex(text, _LONG)).unique().to_pylist()
    # Names that differ only in digits that a float does not hold would be taken for the same.
    return any(int(float(value)) != int(value) for value in long)


def as_kind(values: pd.Series, kind: str) -> pd.Series:
    """A column in the form of its kind: floats, text with None for gaps, or dates."""
    import pandas as pd
    from pandas.api import types

    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object)
    if kind == "number":
        if types.is_timedelta64_dtype(values.dtype):
            values = values.dt.total_seconds()
        elif not types.is_numeric_dtype(values.dtype):
            values = pd.to_numeric(values, errors="coerce")
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        if values.dtype == np.float64 and not np.isinf(numbers).any():
            return values
        numbers = np.where(np.isinf(numbers), np.nan, numbers)
        return pd.Series(numbers, index=values.index, name=values.name)
    if types.is_datetime64_any_dtype(values.dtype):
        return values
    missing = values.isna().to_numpy()
    if types.is_float_dtype(values.dtype) or values.dtype == object:
        # A gap makes floats of whole numbers; 1.0 is the category 1 all the same.
        values = values.map(without_point)
    text = values.astype(str).to_numpy(dtype=object)
    return pd.Series(np.where(missing, None, text), index=values.index, name=values.name)


def without_point(value: Any) -> Any:
    """A whole number without the point that floats have; anything else as it is."""
    whole = isinstance(value, float | np.floating) and np.isfinite(value) and value == int(value)
    return int(value) if whole else value


def _is_id(name: str, values: pd.Series, kind: str, n_values: int) -> bool:
    """Whether a column only distinguishes rows: no new row will have one of its values."""
    n_rows = len(values)
    if n_rows < _FEWEST_ROWS_OF_IDS or n_values < n_rows or kind == "date":
        return False
    if kind == "text":
        return values.str.count(r"\S+").mean() < _WORDS_OF_PROSE
    numbers = values.to_numpy()
    if (numbers != np.floor(numbers)).any():
        return False
    # A count of rows, whatever its name; other numbers may be measurements that all differ.
    counted = numbers.max() - numbers.min() + 1 < 1.5 * n_rows
    return bool(counted or _ID_NAME.search(name) or _ID_TAIL.search(name))
