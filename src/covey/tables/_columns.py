"""What kind of thing each column of a table is, and which columns say nothing."""

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy import sparse

# A column of text counts as numbers if at least this share of its values are some.
_ENOUGH_NUMBERS = 0.95
# Below so many rows any column may have a different value in each by chance.
_FEWEST_ROWS_OF_IDS = 12
# Text of so many words a row says something, however different the rows are.
_WORDS_OF_PROSE = 4
_ID_NAME = re.compile(
    r"(^|[\W_])(id|ids|key|uuid|guid|index|idx|nr|no|number|row|unnamed)([\W_]|$)", re.IGNORECASE
)
_ID_TAIL = re.compile(r"[a-z](ID|Id)$")
_LARGEST_EXACT = 2.0**53
_LONG = r"[+-]?\d{16,}$"
_DATE = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"


@dataclass(frozen=True)
class Column:
    """A column as `look` found it.

    Attributes
    ----------
    name : str
    kind : {"number", "text", "date", "nested", "empty"}
    missing : int
        Rows without a value; what is no number in a column of numbers counts as missing.
    n_values : int
        Different values.
    drop : str
        Why the column is of no use; empty if it is.
    note : str
        What else is to be said.
    """

    name: str
    kind: str
    missing: int
    n_values: int
    drop: str = ""
    note: str = ""

    def as_health(self):
        """The column as a line of a report: ``column``, ``kind``, ``missing`` and ``note``."""
        note = f"left out: {self.drop}" if self.drop else self.note
        return {"column": self.name, "kind": self.kind, "missing": self.missing, "note": note}


def as_frame(X):
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
        X = pd.DataFrame(X, columns=[f"x{place}" for place in range(X.shape[1])])
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


def width_of_array(X):
    """How many columns an array has; None for a data frame, whose columns have names."""
    return None if hasattr(X, "columns") else np.asarray(X).shape[1]


def check_width(model, X):
    """Refuse an array with other columns than the array that a model was fitted on."""
    width = width_of_array(X)
    if width is not None and model._width not in (None, width):
        raise ValueError(
            f"X has {width} features, but {type(model).__name__} is expecting {model._width} "
            "features as input."
        )


def look(table, keep=()):
    """Look at the columns of a table, without a target in mind.

    Parameters
    ----------
    table : data frame or array of shape (n_rows, n_columns)
    keep : sequence of str, default=()
        Columns that are of use whatever they look like.

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
    return [_look_at(name, table[name], name in keep) for name in table.columns]


def _look_at(name, values, keep):
    kind, note = _kind(values)
    if kind == "nested":
        return Column(name, kind, 0, 0, "it holds lists or records, not single values")
    values = as_kind(values, kind)
    missing = int(values.isna().sum())
    n_values = int(values.nunique())
    drop = ""
    if missing == len(values):
        return Column(name, "empty", missing, 0, "it is empty")
    if not keep:
        if n_values == 1 and not missing:
            drop = "it has one value only"
        elif _is_id(name, values, kind, n_values):
            drop = "it names the rows (every value is different)"
    return Column(name, kind, missing, n_values, drop, note)


def _kind(values):
    """The kind of a column, and what has to be said about it."""
    import pandas as pd
    from pandas.api import types

    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object)
    if types.is_bool_dtype(values.dtype):
        return "text", ""
    if types.is_integer_dtype(values.dtype) and _is_long(values.dropna()):
        return "text", ""
    if types.is_numeric_dtype(values.dtype) or types.is_timedelta64_dtype(values.dtype):
        return "number", ""
    if types.is_datetime64_any_dtype(values.dtype):
        return "date", ""
    present = values[values.notna()]
    if not len(present):
        return "text", ""
    if isinstance(present.iloc[0], list | tuple | dict | set | bytes | np.ndarray):
        return "nested", ""
    text = present.astype(str).str.strip()
    numbers = pd.to_numeric(text, errors="coerce")
    share = numbers.notna().mean()
    # 01234 is the name of a place, not a number, and 19 digits are that of an account.
    codes = text.str.match(r"[+-]?0\d").any() or _is_long(text[text.str.match(_LONG)])
    if share >= _ENOUGH_NUMBERS and not codes:
        strange = text[numbers.isna()]
        if not len(strange):
            return "number", ""
        said = "value is no number" if len(strange) == 1 else "values are no numbers"
        return "number", f"{len(strange)} {said} ({strange.iloc[0]!r}) and counted as missing"
    if text.str.match(_DATE).all():
        return "date", ""
    return "text", ""


def _is_long(values):
    """Whether whole numbers have more digits than floats can tell apart."""
    if not len(values) or float(values.astype(float).abs().max()) <= _LARGEST_EXACT:
        return False
    return any(int(float(value)) != int(value) for value in values.unique())


def as_kind(values, kind):
    """A column as its kind has it: floats, text with None for gaps, or dates."""
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
        values = values.map(_without_point)
    text = values.astype(str).to_numpy(dtype=object)
    return pd.Series(np.where(missing, None, text), index=values.index, name=values.name)


def _without_point(value):
    whole = isinstance(value, float | np.floating) and np.isfinite(value) and value == int(value)
    return int(value) if whole else value


def _is_id(name, values, kind, n_values):
    """Whether a column only tells rows apart: no new row will ever have its values."""
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
