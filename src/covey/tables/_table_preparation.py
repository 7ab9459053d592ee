"""From a table of anything to columns of numbers, each of which knows its column of origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.utils.validation import check_is_fitted

from covey.tables._encoders import Categories, Dates, Text
from covey.tables._kinds import as_frame, as_kind, is_too_large, kind_of, listed, look
from covey.tables._learning import learn_encoder
from covey.tables._numbers import NumberFormat
from covey.tables._seen_columns import SeenColumns, seen_table

if TYPE_CHECKING:
    import pandas as pd


class TablePreparation(TransformerMixin, BaseEstimator):
    """Makes numbers without gaps of a table, and remembers which column each is made of.

    Numbers stay as they are, and those that are written as "$41,000", "86.5 %" or "1.200,50 €"
    are read in the format of their column. Of categories one column each is made, of text the
    leading directions of its n-grams, of a date its parts. Gaps, infinities, and numbers above
    1e200 are filled with the median of the column, and where there were some, a further column
    marks them. Columns of no use (constant, empty, or ids) are left out.

    Parameters
    ----------
    columns : mapping from column to kind, optional
        The columns to use, each with its kind: "number", "text", "date" or "season", which is
        of a date what comes again in later years (month, weekday, hour). By default `look`
        decides.
    max_categories : int, default=40
        Text with fewer different values is taken as categories.
    n_text_components : int, default=10
        How many numbers are made of other text.
    random_state : int or None, default=None
        For the directions of text.

    Attributes
    ----------
    kinds_ : dict
        The columns in use and their kinds.
    feature_names_in_ : ndarray of shape (n_columns,)
        The columns in use: those that a table must have.
    n_features_in_ : int
    number_formats_ : dict
        How the columns of numbers are written that are text, if not as 1234.5.
    ranges_ : dict
        For each column of numbers the smallest and the largest of them.
    column_of_ : list of str
        For each column that comes out the one that it was made of.
    feature_groups_ : dict
        The columns that become several, and which: the one-hot columns of one variable.
    imputer_ : SimpleImputer
        Fills the gaps, and marks them.

    Examples
    --------
    >>> import pandas as pd
    >>> from covey.tables import TablePreparation
    >>> table = pd.DataFrame({"age": [31, None, 54], "town": ["Rome", "Oslo", "Bath"]})
    >>> preparation = TablePreparation().fit(table)
    >>> print(preparation.transform(table).to_string(index=False))
     age  age is missing  town = Bath  town = Oslo  town = Rome
    31.0             0.0          0.0          0.0          1.0
    42.5             1.0          0.0          1.0          0.0
    54.0             0.0          1.0          0.0          0.0
    """

    def __init__(
        self,
        *,
        columns: Mapping[str, str] | None = None,
        max_categories: int = 40,
        n_text_components: int = 10,
        random_state: int | None = None,
    ):
        self.columns = columns
        self.max_categories = max_categories
        self.n_text_components = n_text_components
        self.random_state = random_state

    # -- fit -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn categories, text and medians.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
        y : ignored

        Returns
        -------
        self : TablePreparation
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> pd.DataFrame:
        """Learn from a table and give its numbers; see `fit` and `transform`."""
        return self._named(self._fit(X), as_frame(X))

    def _fit(self, X: Any) -> np.ndarray:
        """Learn from a table; its numbers, without gaps."""
        table = as_frame(X)
        if len(table) < 2:
            raise ValueError("The table has 1 sample; nothing can be learned from one row.")
        if self.columns is None:
            kinds = {column.name: column.kind for column in look(table) if not column.drop}
        elif isinstance(self.columns, Mapping):
            kinds = dict(self.columns)
        else:
            raise TypeError(
                "columns must be a mapping from the names of columns to their kinds, got "
                f"{self.columns!r}."
            )
        if not kinds:
            raise ValueError(
                "The table has no column that differs between rows; nothing to learn."
            )
        self.feature_names_in_ = np.array(list(kinds), dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        self.kinds_ = kinds
        # Columns of an array are known by their number only.
        self._width = None if hasattr(X, "columns") else table.shape[1]
        self._check_columns(table)
        self.number_formats_ = self._found_formats(table)
        made = self._number_columns(table)
        self._encoders, names = {}, {}
        for name, kind in kinds.items():
            if kind != "number":
                values = as_kind(table[name], kind)
                encoder = learn_encoder(
                    values, kind, self.max_categories, self.n_text_components, self.random_state
                )
                # Text that these rows lack makes no column, though other rows may have some.
                if encoder is not None:
                    self._encoders[name], names[name] = encoder, encoder.names(name)
                    made[name] = encoder.numbers(values)
        self._outputs = {name: names.get(name, [name]) for name in kinds if name in made}
        columns = self._in_order(made)
        if not columns:
            raise ValueError("The table has no value in any column; nothing to learn.")
        self.ranges_ = {
            name: _range(made[name]) for name, kind in kinds.items() if kind == "number"
        }
        self._set_imputer(
            np.array([_median(column) for column in columns]),
            np.flatnonzero([_gaps(column).any() for column in columns]),
        )
        self._set_names()
        self._seen_columns: SeenColumns | None = self._seen_in(table)
        return self._filled(columns)

    def _seen_in(self, table: pd.DataFrame) -> SeenColumns:
        """What is typical of the columns of a table, and other values that they have."""
        free = [name for name, encoder in self._encoders.items() if isinstance(encoder, Text)]
        dates = {
            name: encoder.format
            for name, encoder in self._encoders.items()
            if isinstance(encoder, Dates)
        }
        return seen_table(table, self.kinds_, free, self.number_formats_, dates)

    def _found_formats(self, table: pd.DataFrame) -> dict[str, NumberFormat]:
        """How columns of numbers are written that are text."""
        forms = {
            name: kind_of(table[name]).form
            for name, kind in self.kinds_.items()
            if kind == "number" and not _is_plain(table[name].dtype)
        }
        return {name: form for name, form in forms.items() if form is not None}

    def _number_columns(self, table: pd.DataFrame) -> dict[str, np.ndarray]:
        """Columns of numbers, each (n_rows, 1); gaps in there are NaN, or too large."""
        made = {}
        for name, kind in self.kinds_.items():
            if kind == "number":
                values = table[name]
                if not _is_plain(values.dtype):
                    values = as_kind(values, "number", self.number_formats_.get(name))
                made[name] = values.to_numpy(dtype=np.float64)[:, None]
        return made

    def _in_order(self, made: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """The numbers of all columns in their order, with gaps."""
        return [column for name in self._outputs for column in made[name].T]

    def _filled(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """The same without gaps, and their marks.

        This is what the imputer gives, but column by column: of a long table there is no room for
        more than one copy.
        """
        marked = self.imputer_.indicator_.features_
        filled = np.empty((len(columns[0]), len(self._order)))
        for place, source in enumerate(self._order):
            if source < len(columns):
                filled[:, place] = columns[source]
                filled[_gaps(columns[source]), place] = self.imputer_.statistics_[source]
            else:
                filled[:, place] = _gaps(columns[marked[source - len(columns)]])
        return filled

    def _set_imputer(self, medians: np.ndarray, with_gaps: np.ndarray) -> None:
        """Fill gaps with these numbers, one for each column, and mark those of some columns."""
        # Fitted on two rows that have just these medians, and gaps in just these columns.
        rows = np.vstack([medians, medians])
        rows[0, with_gaps] = np.nan
        self.imputer_ = _imputer().fit(rows)

    def _set_names(self) -> None:
        """The names of what comes out, and its order: after each column the mark of its gaps."""
        width = sum(map(len, self._outputs.values()))
        indicator = self.imputer_.indicator_.features_
        names, self.column_of_, self._order, self._gaps = [], [], [], []
        first = 0
        for column, outputs in self._outputs.items():
            own, last = list(outputs), first + len(outputs)
            self._order += range(first, last)
            marks = np.flatnonzero((indicator >= first) & (indicator < last))
            if len(marks):
                # The parts of a date are missing together: one mark is enough.
                own.append(f"{column} is missing")
                self._order.append(width + int(marks[0]))
                self._gaps.append(column)
            names += own
            self.column_of_ += [column] * len(own)
            first = last
        if len(set(names)) < len(names):
            # A column is named like another's category.
            names = [
                f"{column} ({position}) {name}"
                for position, (column, name) in enumerate(zip(self.column_of_, names, strict=True))
            ]
        self._feature_names = names
        # A number and the mark of its gaps may be in a subset alone, so that a table of numbers
        # has no groups and a search may make products.
        several = any(len(outputs) > 1 for outputs in self._outputs.values())
        self.feature_groups_ = {
            column: made for column, made in self.groups().items() if several and len(made) > 1
        }

    # -- transform -------------------------------------------------------------------------

    def _check_columns(self, table: pd.DataFrame) -> None:
        absent = [name for name in self.kinds_ if name not in table.columns]
        if absent:
            raise ValueError(f"The table lacks the {listed(absent)}, which the model needs.")

    def transform(self, X: Any) -> pd.DataFrame:
        """The numbers of a table; its columns may be in any order, others are ignored.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)

        Returns
        -------
        numbers : data frame of shape (n_rows, n_made)
            Without gaps.
        """
        return self._transformed(X, type(self).__name__)

    def _transformed(self, X: Any, name: str) -> pd.DataFrame:
        """The numbers of a table; ``name`` is that of the estimator in messages."""
        check_is_fitted(self, "imputer_")
        table = as_frame(X)
        if not hasattr(X, "columns") and self._width not in (None, table.shape[1]):
            raise ValueError(
                f"X has {table.shape[1]} features, but {name} is expecting {self._width} features "
                "as input."
            )
        self._check_columns(table)
        made = self._number_columns(table)
        for name, encoder in self._encoders.items():
            made[name] = encoder.numbers(as_kind(table[name], self.kinds_[name]))
        return self._named(self._filled(self._in_order(made)), table)

    def _named(self, numbers: np.ndarray, table: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(numbers, index=table.index, columns=self._feature_names)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        # A data frame of double precision, whatever comes in.
        tags.transformer_tags.preserves_dtype = []
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns that come out.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self, "imputer_")
        return np.array(self._feature_names, dtype=object)

    def categories(self) -> dict[str, list]:
        """For each column of categories those that were known when it was fitted."""
        check_is_fitted(self, "imputer_")
        return {
            name: list(encoder.known)
            for name, encoder in self._encoders.items()
            if isinstance(encoder, Categories)
        }

    def groups(self) -> dict[str, list[str]]:
        """For each column in use the names of what is made of it."""
        check_is_fitted(self, "imputer_")
        groups: dict[str, list[str]] = {}
        for column, name in zip(self.column_of_, self._feature_names, strict=True):
            groups.setdefault(column, []).append(name)
        return groups


def _imputer() -> SimpleImputer:
    """Fills gaps and marks them; a column of gaps only is filled with zeros."""
    imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return imputer.set_output(transform="default")


def _median(column: np.ndarray) -> float:
    """Of those that are not gaps; NaN, if all are."""
    known = column[~_gaps(column)]
    return float(np.median(known)) if len(known) else np.nan


def _gaps(column: np.ndarray) -> np.ndarray:
    """Where a column has no number, or one that is too large to compute with."""
    return np.isnan(column) | is_too_large(column)


def _range(column: np.ndarray) -> tuple[float, float]:
    """The smallest and the largest number; NaN, if all are gaps."""
    known = column[~_gaps(column)]
    return (float(known.min()), float(known.max())) if len(known) else (np.nan, np.nan)


def _is_plain(dtype: Any) -> bool:
    """Whether values are numbers of NumPy, which need no look at them."""
    return isinstance(dtype, np.dtype) and dtype.kind in "fiub"
