"""What is asked of one block of a table, where it lies; every answer is small."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from covey._core.random import Purpose, UniformRows
from covey._kinds import as_kind
from covey.cli._evaluate import correct_and_loss
from covey.cli._reading import MISSING, SURELY_MISSING
from covey.tables import TablePreparation

# Answers that are counted in a block: more than there may be classes.
_MOST_ANSWERS = 1_000

ALL, FITTED_ON, HELD_OUT = "all rows", "rows to fit on", "rows held out"


class Seen(NamedTuple):
    """What is known of a block before anything is learnt; D is the number of columns."""

    n_rows: int
    answers: dict  # value of the target: rows with it, of the commonest values
    gaps: np.ndarray  # (D,), rows without a number
    strange: np.ndarray  # (D,), those of them with something else than a number
    examples: dict  # column: something else than a number, or a code such as 01234
    codes: np.ndarray  # (D,), whether some look like 01234
    low: np.ndarray  # (D,)
    high: np.ndarray  # (D,)
    sample: pd.DataFrame  # some rows that have a target


@dataclass(frozen=True)
class Rows:
    """How rows of a table become numbers and labels, and which are held out.

    Attributes
    ----------
    target : str
    text : bool
        Whether the cells are text.
    preparation : TablePreparation
        Fitted.
    codes : dict
        The place among the classes of each value of the target; rows with others are left out.
    classes : ndarray
    seed : int
    share : float
        Of the rows, to be held out.
    """

    target: str
    text: bool
    preparation: TablePreparation
    codes: dict
    classes: np.ndarray
    seed: int
    share: float

    def chosen(self, block, start, part):
        """Numbers and labels of some rows of a block whose first row is that of the table."""
        code = block[self.target].astype(object).map(self.codes)
        chosen = code.notna().to_numpy(dtype=bool)
        if part != ALL:
            # By the row's own draw, however the table is cut into blocks.
            draws = UniformRows(self.seed, Purpose.HOLD_OUT, 0, 0, 1).read(start, len(block))
            chosen &= (draws[:, 0] < self.share) == (part == HELD_OUT)
        names = list(self.preparation.kinds_)
        if not chosen.any():
            columns = self.preparation.get_feature_names_out()
            return pd.DataFrame(np.empty((0, len(columns))), columns=columns), self.classes[:0]
        numbers = as_numbers(block.loc[chosen], names, self.text)[0]
        y = self.classes[code[chosen].to_numpy(dtype=np.intp)]
        return self.preparation.transform(numbers), y


def as_numbers(block, names, text):
    """Columns as floats, gaps as NaN; and for each which values are there but are no numbers."""
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


def see(block, target, names, text, n_sample):
    """Look at a block.

    Parameters
    ----------
    block : data frame
    target : str
    names : list of str
        Columns of numbers.
    text : bool
        Whether the cells are text.
    n_sample : int
        How many rows with a target to show, evenly over the block.

    Returns
    -------
    seen : Seen
    """
    numbers, strange = as_numbers(block, names, text)
    values = numbers.to_numpy()
    examples = {name: one.iloc[0] for name, one in strange.items() if len(one)}
    codes = np.zeros(len(names), dtype=bool)
    for place, name in enumerate(names if text else ()):
        written = block[name].astype(str)
        found = written[written.str.match(r"\s*[+-]?0\d")]
        codes[place] = len(found) > 0
        if codes[place]:
            examples[name] = found.iloc[0]
    counts = block[target].value_counts().head(_MOST_ANSWERS)
    answered = block[target].notna() & ~block[target].isin(SURELY_MISSING if text else [])
    answered = np.flatnonzero(answered.to_numpy(dtype=bool))
    evenly = np.unique(np.linspace(0, max(0, len(answered) - 1), n_sample).astype(int))
    return Seen(
        len(block),
        {_plain(value): int(count) for value, count in counts.items() if count},
        np.isnan(values).sum(axis=0),
        np.array([len(strange.get(name, ())) for name in names]),
        examples,
        codes,
        np.nanmin(values, axis=0, initial=np.inf),
        np.nanmax(values, axis=0, initial=-np.inf),
        numbers.iloc[answered[evenly[: len(answered)]]],
    )


def _plain(value):
    return value.item() if isinstance(value, np.generic) else value


def judge(block, start, rows, models):
    """How good models are on the rows of a block that are held out.

    Returns
    -------
    counts : ndarray of shape (n_classes,)
        Rows held out, of each class.
    sums : ndarray of shape (n_models, 2)
        Rows that each model gets right, and its log-loss, summed.
    gaps : ndarray of shape (2,)
        The sum, over rows, of how much more the first model is right than the last, and of the
        squares of that.
    """
    X, y = rows.chosen(block, start, HELD_OUT)
    counts = np.bincount(np.searchsorted(rows.classes, y), minlength=len(rows.classes))
    if not len(y):
        return counts, np.zeros((len(models), 2)), np.zeros(2)
    said = [correct_and_loss(model.classes_, model.predict_proba(X), y) for model in models]
    gap = said[0][0] - said[-1][0]
    sums = np.array([[right.sum(), loss.sum()] for right, loss in said])
    return counts, sums, np.array([gap.sum(), (gap**2).sum()])
