"""What is computed of one block of a table, where it lies; every result is small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from covey._core.random import Purpose, UniformRows
from covey._kinds import as_kind
from covey.cli._evaluate import correct_and_loss
from covey.cli._reading import MISSING, SURELY_MISSING
from covey.tables import TablePreparation

# Values of the target that are counted in a block: more than there may be classes.
_MOST_VALUES = 1_000

ALL, FITTED_ON, HELD_OUT = "all rows", "rows to fit on", "rows held out"


class Seen(NamedTuple):
    """What is known of a block before anything is learned; D is the number of columns."""

    n_rows: int
    values: dict[Any, int]  # of the target: how many rows have each, of the commonest ones
    n_numbers: int  # rows whose target is a finite number
    odd: Any  # a value of the target that is none, or None
    gaps: np.ndarray  # (D,), rows without a number
    strange: np.ndarray  # (D,), those of them with something else than a number
    examples: dict[str, str]  # of each column something else than a number, or a code like 01234
    codes: np.ndarray  # (D,), whether some look like 01234
    low: np.ndarray  # (D,)
    high: np.ndarray  # (D,)
    sample: pd.DataFrame  # some rows that have a target


@dataclass(frozen=True)
class Rows:
    """How rows of a table become numbers and targets, and which are held out."""

    target: str
    text: bool  # whether the cells are text
    preparation: TablePreparation  # fitted
    # The position of each value among the classes; rows of other values are left out. None: the
    # target is a quantity.
    codes: dict[Any, int] | None
    classes: np.ndarray
    seed: int
    share: float  # of the rows, to be held out

    def chosen(self, block: pd.DataFrame, start: int, part: str) -> tuple[Any, np.ndarray]:
        """Numbers and targets of some rows of a block whose first row is number ``start``."""
        if self.codes is None:
            y = as_numbers(block, [self.target], self.text)[0][self.target].to_numpy()
            chosen = ~np.isnan(y)
        else:
            code = block[self.target].astype(object).map(self.codes)
            chosen = code.notna().to_numpy(dtype=bool)
            y = self.classes[code.fillna(0).to_numpy(dtype=np.intp)]
        if part != ALL:
            # By the row's own draw, however the table is cut into blocks.
            draws = UniformRows(self.seed, Purpose.HOLD_OUT, 0, 0, 1).read(start, len(block))
            chosen &= (draws[:, 0] < self.share) == (part == HELD_OUT)
        if not chosen.any():
            columns = self.preparation.get_feature_names_out()
            return pd.DataFrame(np.empty((0, len(columns))), columns=columns), y[:0]
        names = list(self.preparation.kinds_)
        numbers = as_numbers(block.loc[chosen], names, self.text)[0]
        return self.preparation.transform(numbers), y[chosen]


def as_numbers(
    block: pd.DataFrame, names: Sequence[str], text: bool
) -> tuple[pd.DataFrame, dict[str, pd.Series]]:
    """Columns as floats, gaps as NaN; and of each the values that are no numbers."""
    made, strange = {}, {}
    for name in names:
        values = block[name].reset_index(drop=True)
        if text:
            written = values.astype(object)
            gaps = written.isna() | written.isin(MISSING)
            values = pd.to_numeric(written.mask(gaps), errors="coerce").astype(np.float64)
            strange[name] = written[values.isna() & ~gaps]
        made[name] = as_kind(values, "number")
    return pd.DataFrame(made, columns=list(names)), strange


def see(block: pd.DataFrame, target: str, names: Sequence[str], text: bool, n_sample: int) -> Seen:
    """Look at a block; some rows with a target are shown, evenly over the block."""
    numbers, strange = as_numbers(block, names, text)
    values = numbers.to_numpy()
    examples = {name: one.iloc[0] for name, one in strange.items() if len(one)}
    codes = np.zeros(len(names), dtype=bool)
    for position, name in enumerate(names if text else ()):
        written = block[name].astype(str)
        found = written[written.str.match(r"\s*[+-]?0\d")]
        codes[position] = len(found) > 0
        if codes[position]:
            examples[name] = found.iloc[0]
    counts = block[target].value_counts().head(_MOST_VALUES)
    known = block[target].notna() & ~block[target].isin(SURELY_MISSING if text else [])
    answered = np.flatnonzero(known.to_numpy(dtype=bool))
    evenly = np.unique(np.linspace(0, max(0, len(answered) - 1), n_sample).astype(int))
    return Seen(
        len(block),
        {_plain(value): int(count) for value, count in counts.items() if count},
        *_as_quantity(block[[target]], target, text),
        np.isnan(values).sum(axis=0),
        np.array([len(strange.get(name, ())) for name in names]),
        examples,
        codes,
        np.nanmin(values, axis=0, initial=np.inf),
        np.nanmax(values, axis=0, initial=-np.inf),
        numbers.iloc[answered[evenly[: len(answered)]]],
    )


def _as_quantity(block: pd.DataFrame, target: str, text: bool) -> tuple[int, Any]:
    """How many rows have a finite number as their target, and a value that is none."""
    present = block[target].notna()
    if text:
        present &= ~block[target].isin(MISSING)
    numbers = pd.to_numeric(block[target].astype(object), errors="coerce").to_numpy(float)
    finite = np.isfinite(numbers)
    odd = block[target][present.to_numpy(dtype=bool) & ~finite]
    return int(finite.sum()), _plain(odd.iloc[0]) if len(odd) else None


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def judge(
    block: pd.DataFrame, start: int, rows: Rows, models: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums over the rows of a block that are held out: how good models are there.

    Returns how many rows there are of each class, or of all; for each model its correct rows and
    its log-loss (n_models, 2); and how much more often the first model is correct than the last,
    with the squares of that. For quantities the second is (n_models + 1, 3), the last model being
    the mean that the last one was fitted to: the squared error, its square, and its product with
    that of the mean.
    """
    X, y = rows.chosen(block, start, HELD_OUT)
    if rows.codes is None:
        sums = np.zeros((len(models) + 1, 3))
        if len(y):
            mean = (y - models[-1].y_center_) ** 2
            errors = np.stack([*((y - model.predict(X)) ** 2 for model in models), mean])
            sums = np.stack([errors.sum(axis=1), (errors**2).sum(axis=1), errors @ mean], axis=1)
        return np.array([len(y)]), sums, np.zeros(2)
    counts = np.bincount(np.searchsorted(rows.classes, y), minlength=len(rows.classes))
    if not len(y):
        return counts, np.zeros((len(models), 2)), np.zeros(2)
    judged = [correct_and_loss(model.classes_, model.predict_proba(X), y) for model in models]
    gap = judged[0][0] - judged[-1][0]
    return counts, np.array(judged).sum(axis=2), np.array([gap.sum(), (gap**2).sum()])
