"""A whole table as numbers, for models that accept only numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from covey._state import Record, Texts, Whole, names_array
from covey.tables._categories import declared_gaps, without_gaps
from covey.tables._encoders import NumberColumn
from covey.tables._kinds import KINDS, as_frame, look
from covey.tables._known_columns import as_read, check_has, kinds_of, table_for
from covey.tables._preparation import Preparation, needs_target, prepare
from covey.tables._seen_columns import seen_columns
from covey.tables._table_reader import TableReader, learn_reading
from covey.tables._target_means import TargetMeans

if TYPE_CHECKING:
    import pandas as pd


class TablePreparation(TransformerMixin, BaseEstimator):
    """A preparation of tables as numbers without gaps, which knows the origin of each column.

    It prepares a table as a flock does, for models that accept only numbers. Numbers stay as they
    are, and those that are written as "$41,000", "86.5 %" or "1.200,50 €" are read in the format
    of their column. A few categories have a column each; many are encoded by their target, or
    without y by their n-grams, as is text that hardly repeats itself. A date becomes numbers for
    its parts. Gaps, infinities, and numbers above 1e200 are filled with the median of the column,
    and if there were some, a further column marks them. Columns of no use (constant, empty, or
    ids) are left out.

    Parameters
    ----------
    columns : mapping from column to kind, optional
        The columns to use, each with its kind: "number", "text", "date" or "season", the parts of
        a date that recur in later years (month, weekday, hour). By default `look` decides.
    gaps : mapping from columns to values, optional
        Values that stand for gaps, such as ``{"age": [96, 98]}``.
    random_state : int or None, default=None
        Seeds the folds by which categories are encoded.

    Attributes
    ----------
    kinds_ : dict
        The columns in use and their kinds: "number", "text" or "date".
    feature_names_in_ : ndarray of shape (n_columns,)
        The columns in use: those that a table must have.
    n_features_in_ : int
    preparation_ : Preparation
    column_of_ : list of str
        For each resulting column the one that it was made of.

    Examples
    --------
    >>> import pandas as pd
    >>> from covey.tables import TablePreparation
    >>> table = pd.DataFrame({"age": [31, None, 54], "town": ["Rome", "Oslo", "Bath"]})
    >>> preparation = TablePreparation().fit(table)
    >>> print(preparation.transform(table).to_string(index=False))
     age  age is missing  town = Bath  town = Oslo  town = Rome
    31.0             0.0          0.0          0.0          1.0
    31.0             1.0          0.0          1.0          0.0
    54.0             0.0          1.0          0.0          0.0
    """

    n_features_in_: Annotated[int, Whole(1, 1 << 31, letter="F")]
    feature_names_in_: Annotated[np.ndarray, Texts("F", different=True, make=names_array)]
    preparation_: Annotated[Preparation, Record(Preparation, "F D")]
    _width: Annotated[int | None, Whole(1)]

    def __init__(
        self,
        *,
        columns: Mapping[str, str] | None = None,
        gaps: Mapping[str, Any] | None = None,
        random_state: int | None = None,
    ):
        self.columns = columns
        self.gaps = gaps
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Learn categories, text and medians.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,), optional
            Labels or numbers, by which many categories are encoded.

        Returns
        -------
        self : TablePreparation
        """
        self._fit(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> pd.DataFrame:
        """Learn from a table and return its numbers; those of a category come from other rows.

        See `fit` and `transform`.
        """
        return self._named(self._fit(X, y), as_frame(X))

    def _fit(self, X: Any, y: Any) -> np.ndarray:
        """Learn from a table; return its numbers, without gaps."""
        table = as_frame(X)
        if len(table) < 2:
            raise ValueError("The table has 1 sample; nothing can be learned from one row.")
        if self.columns is None:
            declared = declared_gaps(self.gaps, table).items()
            known = {
                table.columns[k]: without_gaps(table.iloc[:, k], gaps) for k, gaps in declared
            }
            found = look(table.assign(**known) if known else table)
            kinds = {column.name: column.kind for column in found if not column.drop}
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
        for kind in kinds.values():
            if kind not in KINDS:
                raise ValueError(
                    f"columns gives the kind {kind!r}; give one of {', '.join(map(repr, KINDS))}."
                )
        self.feature_names_in_ = np.array(list(kinds), dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        # Columns of an array are known only by their number.
        self._width = None if hasattr(X, "columns") else table.shape[1]
        check_has(table, kinds)
        table, weight = table[list(kinds)], np.ones(len(table))
        gaps = {name: values for name, values in (self.gaps or {}).items() if name in kinds}
        reading = learn_reading(table, kinds, y is not None, gaps=gaps)
        if reading is None:
            reading = TableReader((NumberColumn(),) * len(kinds))
        table = as_read(table, dict(zip(kinds, reading.encoders, strict=True)))
        target = None
        if y is not None and needs_target(reading):
            y, classes = np.asarray(y), None
            if not type_of_target(y).startswith("continuous") and len(y) == len(table):
                classes, y = np.unique(y, return_inverse=True)
            target = TargetMeans(y, classes, weight, self.random_state or 0)
        self.preparation_, made = prepare(reading.read(table), reading, weight, target)
        names = self.feature_names_in_.tolist()
        self._seen_columns = seen_columns(table, names, reading=reading)
        if not made.shape[1]:
            raise ValueError("The table has no value in any column; nothing to learn.")
        return made

    def transform(self, X: Any) -> pd.DataFrame:
        """Return the numbers of a table; its columns may be in any order, others are ignored.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)

        Returns
        -------
        numbers : data frame of shape (n_rows, n_made)
            Without gaps.
        """
        check_is_fitted(self, "preparation_")
        table = as_frame(X)
        if not hasattr(X, "columns") and self._width not in (None, table.shape[1]):
            raise ValueError(
                f"X has {table.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self._width} features as input."
            )
        table = table_for(self, table)
        reading = self.preparation_.reading
        assert reading is not None
        return self._named(self.preparation_.transform(reading.read(table)), table)

    def _named(self, numbers: np.ndarray, table: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(numbers, index=table.index, columns=self.get_feature_names_out())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        # The result has double precision, whatever the table has.
        tags.transformer_tags.preserves_dtype = []
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the resulting columns.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self, "preparation_")
        names = self.preparation_.names(self.feature_names_in_)
        if len(set(names)) < len(names):
            # A column is named like another's category.
            names = [
                f"{column} ({position}) {name}"
                for position, (column, name) in enumerate(zip(self.column_of_, names, strict=True))
            ]
        return np.array(names, dtype=object)

    @property
    def kinds_(self) -> dict[str, str]:
        """The columns in use and their kinds."""
        return kinds_of(self)

    @property
    def column_of_(self) -> list[str]:
        """The original column of each resulting column."""
        return self.feature_names_in_[self.preparation_.column_of].tolist()

    def groups(self) -> dict[str, list[str]]:
        """Return for each column in use the names of the columns that are made of it."""
        groups: dict[str, list[str]] = {}
        for column, name in zip(self.column_of_, self.get_feature_names_out(), strict=True):
            groups.setdefault(column, []).append(name)
        return groups
