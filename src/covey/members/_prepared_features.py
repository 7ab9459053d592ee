"""Flocks whose features have gaps or categories, and are several columns each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from covey._state import OrNone, Record, refuse
from covey.members._rows_in_memory import InMemoryRows
from covey.tables._columns import feature_names, flip_units
from covey.tables._encoders import NumberColumn
from covey.tables._numbers import NumberFormat
from covey.tables._preparation import Preparation
from covey.tables._seen_columns import SeenColumns
from covey.tables._table_reader import TableReader


class PreparedFeatures:
    """A mixin for flocks: users speak of features, members see the columns made of them."""

    # What becomes of gaps and categories.
    preparation_: OrNone(Record(Preparation, "F D")) = None

    def _check_width(self, name: str, width: int) -> None:
        """Refuse stored columns that are not those that members see."""
        made_of = self.preparation_
        own = self.n_features_in_ if made_of is None else made_of.n_columns
        refuse(name, "is not of the columns that are made.", width == own)

    # -- fit -------------------------------------------------------------------------------

    def _prepared(self, rows: InMemoryRows, continued: bool) -> InMemoryRows:
        """The rows without gaps and categories; a warm start keeps what is made of them."""
        known = self.preparation_ if continued else None
        self.preparation_ = known
        if known is None and not rows.needs_preparation:
            return rows
        if continued and (known is None or not rows.keeps_folds):
            raise ValueError(
                "warm_start continues with the columns of the fit before, but one of the two "
                "tables has gaps or categories and the other has none; use warm_start=False."
            )
        self.preparation_, rows = rows.prepared(known, self._seed)
        self._check_newton(rows.n_features)
        return rows

    def _units(self) -> np.ndarray:
        """Which columns flip together; those that are made of one feature do."""
        made_of, usable = self.preparation_, self._usable
        if made_of is not None:
            usable = made_of.on_features(usable)
        units = flip_units(
            self.feature_groups,
            self.always_keep,
            ~usable,
            getattr(self, "feature_names_in_", None),
        )
        return units if made_of is None else np.where(self._usable, units[made_of.column_of], -1)

    def _n_usable(self) -> int:
        """How many features can be used."""
        made_of = self.preparation_
        usable = self._usable if made_of is None else made_of.on_features(self._usable)
        return int(np.sum(usable))

    # -- attributes ------------------------------------------------------------------------

    def _filling(self) -> np.ndarray:
        """What takes the place of gaps (D,) in new rows, where no training row had any."""
        return getattr(self, "_means", self.mean_)  # models of before have no others

    def _column_names(self) -> list[str]:
        """The names of the columns that are made of the features."""
        names = feature_names(self)
        return names if self.preparation_ is None else self.preparation_.names(names)

    def _on_features(self, columns: np.ndarray) -> np.ndarray:
        """Which features (..., D) are in use, given which columns are."""
        return columns if self.preparation_ is None else self.preparation_.on_features(columns)

    def _named_shares(self, names: Any, shares: Any) -> tuple[Any, Any]:
        """What pushes are added up by: what is given, or features that several columns have."""
        if names is None and self.preparation_ is not None:
            return feature_names(self), self.preparation_.shares()
        return names, shares

    def _set_preparation(self, preparation: Preparation) -> None:
        """Read tables so from now on; so do the linear members of a mixed flock."""
        for flock in (self, *getattr(self, "named_estimators_", {}).values()):
            if isinstance(flock, PreparedFeatures):
                flock.preparation_ = preparation

    def _keep_formats(self, formats: Mapping[str, NumberFormat]) -> None:
        """Remember how columns of numbers are written that were read before the fit."""
        known, every = self.preparation_, np.arange(self.n_features_in_)
        if known is None:
            known = Preparation(
                len(every), None, every, self._filling(), every[:0], tables={}, levels={}
            )
        encoders = (
            (NumberColumn(),) * len(every) if known.reading is None else known.reading.encoders
        )
        written = tuple(
            NumberColumn(True, formats[name]) if name in formats else encoder
            for name, encoder in zip(feature_names(self), encoders, strict=True)
        )
        self._set_preparation(replace(known, reading=TableReader(written)))

    def _put_behind(self, preparation: Preparation, names: list[str], seen: SeenColumns) -> None:
        """Take a table's own columns from now on; it was fitted to those that are made of them."""
        self.preparation_, self._seen_columns = preparation, seen
        self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        used = {
            name: preparation.on_features(getattr(self.model_, name))
            for name in ("support", "gate_support")
            if hasattr(self.model_, name)
        }
        self.model_ = replace(self.model_, **used)
        found = self._importance_of_columns
        if hasattr(found, "on_columns"):
            self._importance_of_columns = found.on_columns(names, preparation.column_of)
        elif found is not None:
            self._importance_of_columns = replace(found, unit=preparation.column_of)

    def _check_numbers_alone(self) -> None:
        """Refuse to be a model of scikit-learn's that could not take gaps or categories."""
        if self.preparation_ is not None:
            raise ValueError(
                f"This {type(self).__name__} was fitted to gaps or categories, which no linear "
                "model of scikit-learn takes; fit it to numbers, or use collapse()."
            )
