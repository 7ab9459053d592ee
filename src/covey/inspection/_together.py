"""Which values were seen together: no change leads to a row unlike all that were seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from covey.tables._seen_columns import SeenColumns, shown_value

# Fewer rows show too little of what goes together.
_FEWEST_ROWS = 20
# A column goes along with another if distances fall by this share among rows alike in the other.
_LEAST = 0.1
# Rows alike in a number are those of one of so many parts.
_PARTS = 5
# So much farther than rows that are kept are from each other is still near: 5 % of the rows.
_BEYOND = 0.05


class SeenTogether:
    """Distances of rows to those that a model keeps, in a column and those that go along with it.

    Numbers are as far from each other as the share of rows between them, other values and gaps
    are 1 apart if they differ. Beside the column itself others count by the share by which their
    distances fall among rows that are alike in it.
    """

    def __init__(self, seen: SeenColumns) -> None:
        self._columns = seen.columns
        kept = seen.kept if len(seen.kept[:1] and seen.kept[0]) >= _FEWEST_ROWS else ()
        self._rows = [
            np.array(values, dtype=np.float64) if column.kind == "number" else _words(values)
            for column, values in zip(seen.columns, kept, strict=bool(kept))
        ]
        self._own = [self._to(place, rows) for place, rows in enumerate(self._rows)]
        self._limits: dict[int, tuple[np.ndarray, float]] = {}

    def distances(self, place: int, rows: Sequence[Sequence[Any]]) -> np.ndarray:
        """Return how far rows (m, D) are from the nearest that is kept, (m,).

        1 is a little more than the distance of the kept row that is farthest from all others.
        """
        if not self._rows:
            return np.zeros(len(rows))
        weight, limit = self._limit(place)
        total = np.zeros((len(rows), len(self._rows[0])))
        for other in np.flatnonzero(weight):
            total += weight[other] * self._to(other, [row[other] for row in rows])
        found: np.ndarray = total.min(axis=1) / limit
        return found

    def _limit(self, place: int) -> tuple[np.ndarray, float]:
        """The weights of columns beside one, and the distance that is near."""
        if place not in self._limits:
            own = self._own[place]
            is_number = self._columns[place].kind == "number"
            alike = own <= 1 / (2 * _PARTS) if is_number else own == 0
            np.fill_diagonal(alike, False)
            weight = np.zeros(len(self._own))
            for other, distance in enumerate(self._own):
                if alike.any() and distance.any():
                    # Without the diagonal of zeros.
                    whole = distance.sum() / (len(own) * (len(own) - 1))
                    weight[other] = max(0.0, 1 - distance[alike].mean() / whole)
            weight[weight < _LEAST] = 0.0
            weight[place] = 1.0
            total = np.tensordot(weight, np.array(self._own), 1)
            np.fill_diagonal(total, np.inf)
            self._limits[place] = weight, float(total.min(axis=1).max()) + _BEYOND
        return self._limits[place]

    def _to(self, place: int, values: Sequence[Any]) -> np.ndarray:
        """Distances (m, n_kept) of values of a column to those that are kept."""
        kept = self._rows[place]
        if self._columns[place].kind != "number":
            return (_words(values)[:, None] != kept).astype(np.float64)
        ordered = np.sort(kept[~np.isnan(kept)])
        given = np.array([np.nan if one is None else one for one in values], dtype=np.float64)
        ranks = [
            (np.searchsorted(ordered, one, "left") + np.searchsorted(ordered, one, "right"))
            / max(1, 2 * len(ordered))
            for one in (given, kept)
        ]
        found = np.abs(ranks[0][:, None] - ranks[1])
        gaps = np.isnan(given)[:, None] != np.isnan(kept)
        return np.where(gaps, 1.0, found)


def _words(values: Sequence[Any]) -> np.ndarray:
    """Values as text, since a table may hold flags or numbers as categories."""
    return np.array([str(shown_value(value)) for value in values], dtype=object)
