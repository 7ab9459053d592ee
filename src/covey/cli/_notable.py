"""Values of a table to predict that its reader should know of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from covey.tables._kinds import as_kind, not_numbers

if TYPE_CHECKING:
    import pandas as pd

# So many rows are named; of others there is a count.
_MOST_NAMED = 5


class Notable:
    """Counts, over the pieces of a table, values that are strange to a model."""

    def __init__(self, model: Any):
        from covey.cli._models import formats_of, number_columns

        self._numbers = number_columns(model)
        self._formats = formats_of(model)
        self._categories = model.preparation_.categories()
        self._ranges = {
            name: span
            for name, span in model.preparation_.ranges_.items()
            if not np.isnan(span).any()
        }
        self._columns = list(model.feature_names_in_)
        self._strange: dict[str, tuple[int, Any]] = {}
        self._unseen: dict[str, tuple[int, Any]] = {}
        self._far: list[str] = []
        self._empty: list[int] = []
        self._n_rows = self._n_far = self._n_empty = 0

    def count(self, piece: pd.DataFrame) -> None:
        """Look at the next rows."""
        plain = set(piece.select_dtypes("number").columns)
        for name in sorted(self._numbers):
            values = as_kind(piece[name], "number", self._formats.get(name))
            if name not in plain:
                lost = piece[name].notna() & values.isna()
                self._add(self._strange, name, piece[name][lost])
            self._count_far(name, values.to_numpy())
        for name, categories in self._categories.items():
            values = as_kind(piece[name], "text")
            self._add(self._unseen, name, values[values.notna() & ~values.isin(categories)])
        empty = np.flatnonzero(piece[self._columns].isna().to_numpy().all(axis=1))
        self._n_empty += len(empty)
        self._empty += (empty[:_MOST_NAMED] + self._n_rows + 1).tolist()
        self._n_rows += len(piece)

    def _count_far(self, name: str, numbers: np.ndarray) -> None:
        """Find numbers beyond the range that the model has seen by more than its width."""
        if name not in self._ranges:
            return
        low, high = self._ranges[name]
        width = high - low or max(1.0, abs(high))
        far = np.flatnonzero((numbers < low - width) | (numbers > high + width))
        self._n_far += len(far)
        for row in far[: max(0, _MOST_NAMED - len(self._far))]:
            self._far.append(
                f"row {self._n_rows + row + 1:,}: {name} = {numbers[row]:g} is far outside of "
                f"what the model has seen ({low:g} to {high:g})"
            )

    def sentences(self) -> Iterator[str]:
        """What was found, for the user."""
        for name, (count, example) in self._strange.items():
            yield f"{not_numbers(count, self._n_rows, name, [example])}."
        for name, (count, example) in self._unseen.items():
            yield (
                f"{name}: {count:,} of {self._n_rows:,} rows have a category that the model has "
                f"not seen ({example!r})."
            )
        for place, sentence in enumerate(self._far, start=1):
            left = self._n_far - len(self._far) if place == len(self._far) else 0
            yield f"{sentence}{f'; so are {left:,} more values' if left else ''}."
        if self._empty:
            named = ", ".join(f"{row:,}" for row in self._empty[:_MOST_NAMED])
            more = self._n_empty - min(self._n_empty, _MOST_NAMED)
            one = self._n_empty == 1
            yield (
                f"{'row' if one else 'rows'} {named}{f' and {more:,} more' if more else ''} "
                f"{'has' if one else 'have'} no value in any column that the model needs; what is "
                "predicted is for a typical row."
            )

    @staticmethod
    def _add(counts: dict[str, tuple[int, Any]], name: str, found: pd.Series) -> None:
        if len(found):
            count, example = counts.get(name, (0, found.iloc[0]))
            counts[name] = (count + len(found), example)
