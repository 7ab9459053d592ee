"""The facts about its training table that a model remembers, by which it reads new rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator

from covey._devices import to_numpy
from covey._state import Array, Record, Texts, Whole, names_array, refuse
from covey._validation import holds_gaps
from covey.tables._checked import checked_codes, checked_numbers_with_gaps
from covey.tables._columns import feature_names
from covey.tables._encoders import NumberColumn
from covey.tables._numbers import NumberFormat
from covey.tables._preparation import Preparation
from covey.tables._seen_columns import SeenColumns
from covey.tables._table_reader import TableReader


class FittedModel(BaseEstimator):
    """A replacement for a model where scikit-learn checks rows and asks for an estimator."""

    def __init__(self, table: KnownTable) -> None:
        self.n_features_in_ = table.n_features_in_
        if table.feature_names_in_ is not None:
            self.feature_names_in_ = table.feature_names_in_


@dataclass(frozen=True, eq=False)
class KnownTable:
    """The F columns of a user's table, and D columns of numbers that are made of them.

    The number and the names of the columns are called as in scikit-learn's estimators.
    """

    n_features_in_: Annotated[int, Whole(1, 1 << 31, letter="F")]
    feature_names_in_: Annotated[np.ndarray | None, Texts("F", different=True, make=names_array)]
    # How gaps and categories become numbers; None if the training rows had none.
    preparation: Annotated[Preparation | None, Record(Preparation, "F D")]
    seen: Annotated[SeenColumns | None, Record(SeenColumns)]
    # The values for gaps in new rows if there is no preparation.
    filling: Annotated[np.ndarray, Array("D")]

    def _restored(self) -> None:
        plain = self.preparation is not None or len(self.filling) == self.n_features_in_
        refuse("filling", "is not of the columns.", plain)

    # -- columns ---------------------------------------------------------------------------

    @cached_property
    def columns(self) -> list[str]:
        """The names of the columns of numbers, (D,)."""
        names = feature_names(self)
        return names if self.preparation is None else self.preparation.names(names)

    @property
    def given_columns(self) -> list[str] | None:
        """These names, if the user's columns have names."""
        return None if self.feature_names_in_ is None else self.columns

    @property
    def column_of(self) -> np.ndarray:
        """The position of the user's column that each column is made of, (D,)."""
        every = np.arange(self.n_features_in_)
        return every if self.preparation is None else self.preparation.column_of

    def numbers_of(self, feature: int) -> np.ndarray:
        """Return which columns have a feature's own numbers; none of dates, words and gaps."""
        of_feature = self.column_of == feature
        made_of = self.preparation
        return np.flatnonzero(of_feature if made_of is None else of_feature & made_of.is_number)

    def on_features(self, columns: np.ndarray) -> np.ndarray:
        """Return which of the user's columns (..., F) are in use, given which columns are."""
        made_of = self.preparation
        return columns if made_of is None else made_of.on_features(columns)

    def by_feature(self, values: Any) -> Any:
        """Return values (..., D) of columns, summed over those of each of the user's columns."""
        return values if self.preparation is None else values @ self.preparation.shares()

    def without(self, feature: int) -> Self:
        """Return the facts about a table that lacks one of the columns."""
        names, seen, made = self.feature_names_in_, self.seen, self.preparation
        return replace(
            self,
            n_features_in_=self.n_features_in_ - 1,
            feature_names_in_=None if names is None else np.delete(names, feature),
            preparation=None if made is None else made.without(feature),
            seen=None if seen is None else seen.without(feature),
            filling=self.filling[self.column_of != feature],
        )

    def remembered(self, *, typical: bool = False) -> Any:
        """Return the training rows that are remembered, or the typical row."""
        assert self.seen is not None
        rows = (replace(self.seen, kept=()) if typical else self.seen).rows_like(None)
        return rows.to_numpy() if self.feature_names_in_ is None else rows

    # -- rows ------------------------------------------------------------------------------

    def rows(self, X: Any, estimator: BaseEstimator | None = None) -> Any:
        """Return rows of a table as numbers without gaps; an error names the estimator."""
        X = to_numpy(X)
        if (
            get_config()["assume_finite"]
            and self.preparation is None
            and self.feature_names_in_ is None
            and type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and len(X) > 0
            and X.shape[1] == self.n_features_in_
        ):
            return X  # nothing must be checked, which makes many predictions of few rows fast
        estimator = FittedModel(self) if estimator is None else estimator
        if self.preparation is not None:
            return self.preparation.transform(checked_codes(estimator, X, self.preparation))
        X = checked_numbers_with_gaps(estimator, X)
        return filled(X, self.filling) if holds_gaps(X, self.feature_names_in_) else X

    def with_formats(self, formats: Mapping[str, NumberFormat]) -> Self:
        """Return a table whose columns of numbers are written in these formats."""
        known, every = self.preparation, np.arange(self.n_features_in_)
        if known is None:
            known = Preparation(
                len(every), None, every, self.filling, every[:0], tables={}, levels={}
            )
        encoders = (
            (NumberColumn(),) * len(every) if known.reading is None else known.reading.encoders
        )
        written = tuple(
            replace(encoder, written=True, form=formats[name])
            if isinstance(encoder, NumberColumn) and name in formats
            else encoder
            for name, encoder in zip(feature_names(self), encoders, strict=True)
        )
        return replace(self, preparation=replace(known, reading=TableReader(written)))


def filled(X: Any, fill: np.ndarray) -> Any:
    """Return rows without gaps: each has the number (D,) of its column."""
    if not hasattr(X, "tocsr"):
        return np.where(np.isnan(X), fill, X)
    X = X.copy()
    gaps = np.isnan(X.data)
    X.data[gaps] = fill[X.indices[gaps]]
    return X
