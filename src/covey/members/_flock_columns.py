"""What flocks know of features with gaps or categories, which are several columns each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from covey._state import refuse
from covey.members._rows_in_memory import InMemoryRows
from covey.tables._columns import feature_names, flip_units
from covey.tables._encoders import NumberColumn
from covey.tables._numbers import NumberFormat
from covey.tables._preparation import Preparation
from covey.tables._seen_columns import SeenColumns
from covey.tables._table_reader import TableReader


class FlockColumns:
    """The columns that members of a flock see, which are made of the features of users."""

    def __init__(self, flock: Any) -> None:
        self._flock, self._made_of = flock, flock.preparation_

    def check_width(self, name: str, width: int) -> None:
        """Refuse stored columns that are not those that members see."""
        made_of = self._made_of
        own = self._flock.n_features_in_ if made_of is None else made_of.n_columns
        refuse(name, "is not of the columns that are made.", width == own)

    # -- fit -------------------------------------------------------------------------------

    def prepared(self, rows: InMemoryRows, continued: bool) -> InMemoryRows:
        """Return the rows without gaps and categories; a warm start keeps what is made of them."""
        flock = self._flock
        known = flock.preparation_ if continued else None
        flock.preparation_ = known
        if known is None and not rows.needs_preparation:
            return rows
        if continued and (known is None or not rows.keeps_folds):
            raise ValueError(
                "warm_start continues with the columns of the fit before, but one of the two "
                "tables has gaps or categories and the other has none; use warm_start=False."
            )
        flock.preparation_, rows = rows.prepared(known, flock._seed)
        flock._check_newton(rows.n_features)
        return rows

    def units(self) -> np.ndarray:
        """Return which columns flip together; those that are made of one feature do."""
        flock, made_of = self._flock, self._made_of
        barred, names = ~self._usable(), getattr(flock, "feature_names_in_", None)
        units = flip_units(flock.feature_groups, flock.always_keep, barred, names)
        return units if made_of is None else np.where(flock._usable, units[made_of.column_of], -1)

    def n_usable(self) -> int:
        """Return how many features can be used."""
        return int(np.sum(self._usable()))

    def _usable(self) -> np.ndarray:
        return self.on_features(self._flock._usable)

    # -- attributes ------------------------------------------------------------------------

    def names(self) -> list[str]:
        """Return the names of the columns that are made of the features."""
        names = feature_names(self._flock)
        return names if self._made_of is None else self._made_of.names(names)

    def given_names(self) -> list[str] | None:
        """Return those names, if the features have some."""
        return self.names() if hasattr(self._flock, "feature_names_in_") else None

    def on_features(self, columns: np.ndarray) -> np.ndarray:
        """Return which features (..., D) are in use, given which columns are."""
        return columns if self._made_of is None else self._made_of.on_features(columns)

    def shares(self) -> Any:
        """Return the share (D, F) of each feature in the columns; None if each is a column."""
        return None if self._made_of is None else self._made_of.shares()

    def set_preparation(self, preparation: Preparation) -> None:
        """Read tables so from now on; so do the linear members of a mixed flock."""
        for flock in (self._flock, *getattr(self._flock, "named_estimators_", {}).values()):
            if isinstance(flock, type(self._flock)):
                flock.preparation_ = preparation

    def keep_formats(self, formats: Mapping[str, NumberFormat]) -> None:
        """Remember how columns of numbers are written that were read before the fit."""
        known, every = self._made_of, np.arange(self._flock.n_features_in_)
        if known is None:
            known = Preparation(
                len(every), None, every, self._flock._filling(), every[:0], tables={}, levels={}
            )
        encoders = (
            (NumberColumn(),) * len(every) if known.reading is None else known.reading.encoders
        )
        written = tuple(
            replace(encoder, written=True, form=formats[name]) if name in formats else encoder
            for name, encoder in zip(feature_names(self._flock), encoders, strict=True)
        )
        self.set_preparation(replace(known, reading=TableReader(written)))

    def put_behind(self, preparation: Preparation, names: list[str], seen: SeenColumns) -> None:
        """Take a table's own columns from now on; it was fitted to those that are made of them."""
        flock = self._flock
        flock.preparation_, flock._seen_columns = preparation, seen
        flock.n_features_in_ = len(names)
        flock.feature_names_in_ = np.array(names, dtype=object)
        used = {
            name: preparation.on_features(getattr(flock.model_, name))
            for name in ("support", "gate_support")
            if hasattr(flock.model_, name)
        }
        flock.model_ = replace(flock.model_, **used)
        found = flock._importance_of_columns
        if hasattr(found, "on_columns"):
            flock._importance_of_columns = found.on_columns(names, preparation.column_of)
        elif found is not None:
            flock._importance_of_columns = replace(found, unit=preparation.column_of)

    def check_numbers_alone(self) -> None:
        """Refuse to be a model of scikit-learn's that could not take gaps or categories."""
        if self._made_of is not None:
            raise ValueError(
                f"This {type(self._flock).__name__} was fitted to gaps or categories, which no "
                "linear model of scikit-learn takes; fit it to numbers, or use collapse()."
            )
