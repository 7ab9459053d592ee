"""The data of a fit of a flock before it finds members: columns of numbers, ranges and scales."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from covey import _state as stored
from covey.tables._columns import feature_names, flip_units
from covey.tables._known_table import KnownTable
from covey.tables._preparation import nothing_varies
from covey.tables._seen_columns import seen_columns, seen_means

# Newton's steps keep a matrix of pairs of features, of at most this many.
_MOST_FOR_NEWTON = 2000


@dataclass(frozen=True, eq=False)
class ColumnScale:
    """The means and scales that standardize columns, and which columns can be used at all."""

    mean: Annotated[np.ndarray, stored.Array("D")]
    scale: Annotated[np.ndarray, stored.Array("D", low=1e-200)]
    usable: Annotated[np.ndarray, stored.Flags("D")]


class PreparedFit:
    """The rows of a fit as numbers, and the facts about them.

    ``flock`` has the parameters of the fit. If a model is ``known``, which a warm start continues,
    its columns and scales stay. The ``target`` is learnt from all this, and set then.
    """

    target: Any
    scaling: ColumnScale

    def __init__(
        self,
        flock: Any,
        rows: Any,
        n_features: int,
        names: np.ndarray | None = None,
        *,
        seed: int,
        known: Any = None,
        journal: Any = None,
    ) -> None:
        self.flock, self.seed, self.journal = flock, seed, journal
        self.is_numeric = rows.classes is None
        table = KnownTable(n_features, names, None, None, np.zeros(0))
        if known is not None:
            table, self.scaling = replace(known.table, seen=None), known.scaling
        if getattr(rows, "table", None) is not None and all(rows.table.shape):
            how = {"weight": rows.weight, "reading": rows.reading}
            table = replace(table, seen=seen_columns(rows.table, feature_names(table), **how))
        if table.preparation is not None or rows.needs_preparation:
            if known is not None and (table.preparation is None or not rows.keeps_folds):
                raise ValueError(
                    "warm_start continues with the columns of the fit before, but one of the two "
                    "tables has gaps or categories and the other has none; use warm_start=False."
                )
            preparation, rows = rows.prepared(table.preparation, self.seed)
            table = replace(table, preparation=preparation)
        check_newton(flock.learning_rate, rows.n_features)
        self.rows, self.table = rows, table
        low, high = rows.ranges()
        if known is not None and known.basis.seen is not None:
            low, high = np.minimum(low, known.basis.seen[0]), np.maximum(high, known.basis.seen[1])
        #: The range of columns, (2, D), beyond which new rows are clipped.
        self.ranges = np.stack([low, high])

    def learn_scale(self) -> None:
        """Learn the means and scales of columns, and which can be used at all."""
        mean, deviation = self.rows.moments()
        varies = deviation > 0
        if not varies.any():
            raise ValueError(nothing_varies(self.table.n_features_in_, self.table.preparation))
        flock = self.flock
        # With an intercept, a constant column adds nothing; without one it is the intercept.
        usable = varies if flock.fit_intercept else varies | (mean != 0)
        # Without an intercept no column may be shifted: that would act as one.
        centered = flock.scale_features and flock.fit_intercept
        self.scaling = ColumnScale(
            mean if centered else np.zeros_like(mean),
            np.where(varies, deviation, 1.0) if flock.scale_features else np.ones(len(mean)),
            usable,
        )
        self.table = replace(self.table, filling=mean)

    def known_table(self) -> KnownTable:
        """Return the facts that the model remembers of the table."""
        table = self.table
        if table.seen is None and table.preparation is None:
            # Of blocks of rows the means are known, which are the typical values.
            seen = seen_means(feature_names(table), table.filling, self.scaling.scale)
            table = replace(table, seen=seen)
        return table

    def narrowed(self) -> tuple[Any, np.ndarray]:
        """Return the rows without columns of no use, and which columns (D,) are left.

        A product with fewer zeros in it is rounded differently, and a search may turn that into
        another flock: a constant column must change nothing.
        """
        usable = self.scaling.usable
        if usable.all() or not self.rows.can_narrow:
            return self.rows, np.ones(len(usable), dtype=bool)
        return self.rows.only(usable), usable

    def units(self) -> np.ndarray:
        """Return which columns flip together; those that are made of one feature do."""
        flock, table, usable = self.flock, self.table, self.scaling.usable
        barred = ~table.on_features(usable)
        units = flip_units(
            flock.feature_groups, flock.always_keep, barred, table.feature_names_in_
        )
        return np.where(usable, units[table.column_of], -1)


def check_newton(learning_rate: Any, n_features: int) -> None:
    """Raise ValueError if Newton steps would need more than `_MOST_FOR_NEWTON` features."""
    if learning_rate == "newton" and n_features > _MOST_FOR_NEWTON:
        raise ValueError(
            f"learning_rate='newton' keeps a matrix of all pairs of features, but X has "
            f"{n_features} of them, more than {_MOST_FOR_NEWTON}; use 'auto'."
        )
