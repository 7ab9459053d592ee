"""The kind of each column of a table, and which columns are of no use.

This is the one place where kinds are inferred: commands, reports and models use it, for text from
a CSV file (an Arrow array) as for a column of a data frame.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

from covey._core.limits import LARGEST
from covey.tables._numbers import NumberFormat, are_codes, read_numbers

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Kind = Literal["number", "text", "date", "season", "nested", "empty"]
# The kinds that a model can read.
KINDS = ("number", "text", "date", "season")

# A column of text counts as numbers if at least this share of its values are numbers.
_ENOUGH_NUMBERS = 0.9
# With fewer rows, any column may have a different value in each by chance.
_FEWEST_ROWS_OF_IDS = 12
# With fewer rows, numbers may increase by chance.
_FEWEST_ROWS_IN_ORDER = 30
# Ids with few values may be categories, such as those of eight hospitals.
_MOST_CODES = 20
# Text with this many words per row has content, however different the rows are.
_WORDS_OF_PROSE = 4
_IDS = r"ids?|key|uuid|guid|(p|row|case|user|record|person|patient|subject|customer|order)id"
_ID_NAME = re.compile(
    rf"(^|[\W_])({_IDS}|index|idx|nr|no|seqno|number|row|rownames?|unnamed)([\W_]|$)",
    re.IGNORECASE,
)
_SURE_ID_NAME = re.compile(rf"(^|[\W_])({_IDS})([\W_]|$)", re.IGNORECASE)
_RANK_NAME = re.compile(
    r"(^|[\W_])(rank|ranks|ranking|place|position|score|year|month|week|day|date|time|hour)"
    r"([\W_]|$)",
    re.IGNORECASE,
)
_ID_TAIL = re.compile(r"[a-z](ID|Id)$")
_LARGEST_EXACT = 2.0**53
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
    form: NumberFormat | None = None  # how numbers are written that are text, if not as 1234.5

    def as_health(self) -> dict[str, Any]:
        """Return a line of a report: ``column``, ``kind``, ``missing`` and ``note``."""
        note = f"left out: {self.drop}" if self.drop else self.note
        return {"column": self.name, "kind": self.kind, "missing": self.missing, "note": note}


def as_frame(X: Any) -> pd.DataFrame:
    """Return a pandas frame with names as text; arrays get the names x0, x1, ..."""
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
    """Write columns in a sentence: ``column 'a'`` or ``columns 'a', 'b' and 3 more``."""
    shown = ", ".join(repr(name) for name in list(names)[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"{'columns' if len(names) > 1 else 'column'} {shown}{more}"


def not_numbers(count: int, total: int, name: str, examples: Sequence[object]) -> str:
    """Return a remark on values in a column of numbers that cannot be read as numbers."""
    shown = ", ".join(repr(example) for example in examples[:2])
    more = ", ..." if len(examples) > 2 else ""
    what = "is not a number" if count == 1 else "are not numbers"
    if all(is_number(example) for example in examples):
        what = f"{'is' if count == 1 else 'are'} too large to compute with"
    return f"{count:,} of {total:,} values of {name} {what} ({shown}{more}), read as missing"


def is_number(word: object) -> bool:
    """Return whether a word is a finite number."""
    try:
        return math.isfinite(float(str(word)))
    except ValueError:
        return False


def look(table: Any, keep: Collection[str] = (), text: Collection[str] = ()) -> list[Column]:
    """Find the kind of each column of a table, and whether it is of use for any target.

    Parameters
    ----------
    table : data frame or array of shape (n_rows, n_columns)
    keep : collection of str, default=()
        Columns that are used in any case.
    text : collection of str, default=()
        Columns that are text, though they may be read as numbers.

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
    return [_described(name, table[name], name in keep, name in text) for name in table.columns]


def _described(name: str, values: pd.Series, keep: bool, as_text: bool) -> Column:
    found = Found("text") if as_text else kind_of(values)
    if found.kind == "nested":
        return Column(name, found.kind, 0, 0, "it holds lists or records, not single values")
    note = found.remark(name, int(values.notna().sum()))
    numbers = as_kind(values, found.kind, found.form)
    missing = int(numbers.isna().sum())
    n_values = int(numbers.nunique())
    if missing == len(values):
        return Column(name, "empty", missing, 0, "it is empty")
    drop = ""
    if not keep and n_values == 1 and not missing:
        drop = "it has one value only"
    elif not keep:
        drop, remark = id_of(name, numbers, found.kind)
        note = note or remark
    return Column(name, found.kind, missing, n_values, drop, note, found.form)


@dataclass(frozen=True)
class Found:
    """The kind of a column, as its values show it."""

    kind: Kind
    form: NumberFormat | None = None  # of numbers that are written
    n_strange: int = 0  # values of a column of numbers that cannot be read as numbers
    examples: tuple[str, ...] = ()  # the first few of them, each once
    marks: frozenset[str] = frozenset()  # decimal marks that some number must have meant
    ambiguous: bool = False  # whether the numbers may be read in two ways

    def remark(self, name: str, total: int) -> str:
        """Return a remark on values that cannot be read as numbers, if there are any."""
        return not_numbers(self.n_strange, total, name, self.examples) if self.n_strange else ""


def kind_of(values: pd.Series) -> Found:
    """Return the kind of a column of a data frame."""
    from pandas.api import types

    values = _without_arrow(values)
    dtype = values.dtype
    if dtype == np.float64:
        return _in_range(values)
    present = values[values.notna()]
    if types.is_bool_dtype(dtype) or isinstance(dtype, types.CategoricalDtype):
        return Found("text")
    if types.is_datetime64_any_dtype(dtype):
        return Found("date")
    if types.is_numeric_dtype(dtype) or types.is_timedelta64_dtype(dtype):
        whole = types.is_integer_dtype(dtype) and len(present)
        # Longer whole numbers may be codes, of which a float drops digits: they are read as text.
        if not whole or present.abs().max() <= _LARGEST_EXACT:
            return _in_range(present) if types.is_float_dtype(dtype) else Found("number")
    if not len(present):
        return Found("text")
    if isinstance(present.iloc[0], list | tuple | dict | set | bytes | np.ndarray):
        return Found("nested")
    try:
        import pyarrow as pa
    except ModuleNotFoundError:  # which reads numbers and dates that are written
        return Found("text")
    return kind_of_text(pa.array(present.astype(str), pa.string()))


def _in_range(values: pd.Series) -> Found:
    """Describe a column of floats; those too large to compute with are counted."""
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    large = np.isfinite(numbers) & (np.abs(numbers) > LARGEST)
    if not large.any():
        return Found("number")
    return Found("number", None, int(large.sum()), (f"{numbers[large][0]:g}",))


def kind_of_text(text: pa.Array | pa.ChunkedArray, decimal: str | None = None) -> Found:
    """Return the kind of a column of text without gaps.

    ``decimal`` is the decimal mark of other columns, which decides if this one may be read in two
    ways.
    """
    from pyarrow import compute

    reading = read_numbers(text, decimal)
    strange = compute.or_(
        compute.is_null(reading.numbers, nan_is_null=True),
        compute.fill_null(too_large_of(reading.numbers), False),
    )
    n_strange = compute.sum(strange).as_py() or 0
    if len(text) and 1 - n_strange / len(text) >= _ENOUGH_NUMBERS and not are_codes(text):
        examples = text.filter(strange).unique()[:3].to_pylist() if n_strange else ()
        return Found(
            *("number", reading.form, n_strange, tuple(examples)),
            *(reading.marks, reading.ambiguous),
        )
    if compute.all(compute.match_substring_regex(text, _DATE)).as_py():
        return Found("date")
    return Found("text")


def too_large_of(numbers: Any) -> Any:
    """Return where an Arrow array has numbers too large to compute with."""
    from pyarrow import compute

    size = compute.abs(numbers)
    return compute.and_(compute.is_finite(numbers), compute.greater(size, LARGEST))


def as_kind(values: pd.Series, kind: str, form: NumberFormat | None = None) -> pd.Series:
    """Return a column in the form of its kind: floats, text with None for gaps, or dates.

    Numbers that are infinite, or too large to compute with, are gaps. ``form`` is how numbers that
    are text are written.
    """
    import pandas as pd
    from pandas.api import types

    values = _without_arrow(values)
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object)
    if kind == "number":
        if types.is_timedelta64_dtype(values.dtype):
            values = values.dt.total_seconds()
        elif not types.is_numeric_dtype(values.dtype):
            values = _read(values, form)
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        if values.dtype == np.float64 and not is_too_large(numbers).any():
            return values
        numbers = np.where(is_too_large(numbers), np.nan, numbers)
        return pd.Series(numbers, index=values.index, name=values.name)
    if types.is_datetime64_any_dtype(values.dtype):
        return values
    missing = values.isna().to_numpy()
    mixed = values.dtype == object and types.infer_dtype(values, skipna=True) != "string"
    if types.is_float_dtype(values.dtype) or mixed:
        # A gap makes floats of whole numbers; 1.0 is still the category 1.
        values = values.map(without_point)
    text = values.astype(str).to_numpy(dtype=object)
    return pd.Series(np.where(missing, None, text), index=values.index, name=values.name)


def _without_arrow(values: pd.Series) -> pd.Series:
    """Return dates and durations in pandas' own types, which have a unit and a zone."""
    if getattr(values.dtype, "kind", "") not in "mM" or not hasattr(values.dtype, "pyarrow_dtype"):
        return values
    import pandas as pd
    import pyarrow as pa

    times = pa.array(values).to_pandas(date_as_object=False)
    return pd.Series(times.array, index=values.index, name=values.name)


def is_too_large(numbers: np.ndarray) -> np.ndarray:
    """Return where numbers are infinite, or so large that their squares are."""
    return np.abs(numbers) > LARGEST


def _read(values: pd.Series, form: NumberFormat | None) -> pd.Series:
    """Return text as numbers, NaN where it is none."""
    import pandas as pd

    numbers = pd.to_numeric(values, errors="coerce")
    if form is None:
        return numbers
    import pyarrow as pa

    words = [one if isinstance(one, str) else None for one in values]
    read = form.numbers(pa.array(words, pa.string())).to_numpy(zero_copy_only=False)
    read = np.where(np.isnan(read), numbers.to_numpy(np.float64, na_value=np.nan), read)
    return pd.Series(read, index=values.index, name=values.name)


def without_point(value: Any) -> Any:
    """Return a whole number without the point that floats have; anything else as it is."""
    whole = isinstance(value, float | np.floating) and np.isfinite(value) and value == int(value)
    return int(value) if whole else value


def id_of(name: str, values: Any, kind: str) -> tuple[str, str]:
    """Return why a column only distinguishes rows, if it does, and a remark if it may.

    No new row will have one of its values, or the values carry no meaning. Ranks and years count
    rows, too, and names of people and things are words like others: these are of use.
    """
    n_rows = len(values)
    if n_rows < _FEWEST_ROWS_OF_IDS or kind == "date":
        return "", ""
    named = bool(_ID_NAME.search(name) or _ID_TAIL.search(name))
    if kind == "text":
        n_values = values.nunique()
        codes = _look_like_codes(values.dropna())
        if n_values == n_rows and codes and values.str.count(r"\S+").mean() < _WORDS_OF_PROSE:
            return "it names the rows (every value is different)", ""
        repeats = codes and _repeats(name, n_values, n_rows)
        return (_repeated(name) if repeats else ""), ""
    numbers = np.asarray(values)
    known = numbers[~np.isnan(numbers)]
    if (known != np.floor(known)).any():
        return "", ""
    n_values = len(np.unique(known))
    informs = bool(_RANK_NAME.search(name))
    if n_values == n_rows and not informs:
        # This is a count of rows, whatever its name; other numbers may be measurements that all
        # differ.
        counted = numbers.max() - numbers.min() + 1 < 1.5 * n_rows
        if counted or named:
            return "it names the rows (every value is different)", ""
    elif not informs and _repeats(name, n_values, n_rows):
        return _repeated(name), ""
    if n_values == n_rows >= _FEWEST_ROWS_IN_ORDER and (np.diff(numbers) > 0).all():
        return "", (
            "it only increases from row to row; if it counts rows or is the time of entry, leave "
            f"it out (--drop {quote(name)}), or give --time {quote(name)} to hold later rows out"
        )
    return "", ""


def _repeats(name: str, n_values: int, n_rows: int) -> bool:
    """Return whether whole numbers or codes are ids that repeat, by the column's name."""
    named = _SURE_ID_NAME.search(name) or _ID_TAIL.search(name)
    return bool(named) and n_values > max(_MOST_CODES, n_rows // 50)


def _repeated(name: str) -> str:
    return (
        f"it holds ids, which mean nothing to new rows (--group {quote(name)} holds rows of one "
        f"id out together, --keep {quote(name)} uses it all the same)"
    )


def _look_like_codes(words: pd.Series) -> bool:
    """Return whether text is made of numbers and keys, not of words: P0017, 3f2a, QXZR."""
    if not len(words):
        return False
    with_digit = words.str.contains(r"\d").mean()
    lengths = words.str.len()
    one_word = ~words.str.contains(r"\s").any()
    return bool(with_digit > 0.5 or (one_word and lengths.min() == lengths.max()))
