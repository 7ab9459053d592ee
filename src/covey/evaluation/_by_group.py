"""A model's errors, group of rows by group of rows: how often, of which kind, and how sure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from covey._intervals import CONFIDENCE, Interval, accuracy_interval, holm, mean_interval
from covey._number_words import cell, quoted
from covey._validation import check_one_each
from covey.evaluation._columns import Table, _parts
from covey.evaluation._held_out import HeldOut
from covey.evaluation._record import ByColumn, GroupErrors
from covey.tables._kinds import as_frame

# Columns of more groups than this are refused. So many different numbers are each a group.
MOST_GROUPS, _MOST_NUMBERS = 200, 10

# The groups of rows by each column: a label and a mask of the rows.
Groups = dict[str, list[tuple[str, np.ndarray]]]


def groups_of(by: Any, X: Any, n_rows: int) -> Groups:
    """Return the groups of rows by columns, or raise one sentence that states what is wrong.

    ``by`` are names of columns of X, or the values themselves: a dict, a data frame, or one value
    for each row.
    """
    if isinstance(by, str) or (
        isinstance(by, list | tuple) and isinstance(next(iter(by), ""), str)
    ):
        names = [by] if isinstance(by, str) else list(by)
        frame = as_frame(X) if names and len(np.shape(X)) == 2 and not hasattr(X, "tocsr") else {}
        for name in names:
            if name not in frame:
                raise ValueError(f"by: {name!r} is not a column of X; give its values as a dict.")
        by = {name: frame[name] for name in names}
    elif not isinstance(by, Mapping | pd.DataFrame):
        by = {str(getattr(by, "name", None) or "group"): by}
    found: Groups = {}
    for given, values in by.items():
        name = str(given)
        values = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
        check_one_each(values, n_rows, f"by[{name!r}]", "value for each of the {} rows of X")
        kind, known = Table(pd.DataFrame({name: values}).infer_objects(), [name]).values(0)
        if known is None:
            raise ValueError(
                f"by: {name!r} holds lists or other nested values, which make no groups."
            )
        n_values, order = known.nunique(), None
        if kind == "number" and n_values <= _MOST_NUMBERS:
            order = [f"is {quoted(cell(one), 30)}" for one in sorted(known.dropna().unique())]
            kind, known = "text", known.map(cell, na_action="ignore")
        if kind == "text" and n_values > MOST_GROUPS:
            raise ValueError(
                f"by: {name!r} has {n_values:,} values, too many to tell anything of each; give a "
                f"column of at most {MOST_GROUPS}."
            )
        parts = list(_parts(kind, known, MOST_GROUPS))
        if order is not None:
            parts.sort(key=lambda part: order.index(part[0]) if part[0] in order else len(order))
        if not parts:  # equal numbers have no quarters
            parts = [("is all rows", np.ones(n_rows, dtype=bool))]
        found[name] = [(_bare(words), rows) for words, rows in parts]
    return found


def _bare(words: str) -> str:
    words = words.removeprefix("is ")
    return words[1:-1] if words.startswith("'") else words


def by_groups(groups: Groups, held_out: HeldOut, label: Any) -> list[ByColumn]:
    """Measure a model on each group of rows held out.

    The intervals of all groups hold together, by Bonferroni's correction: each has a confidence of
    ``1 - 0.05 / m`` among ``m`` groups. Of two classes, misses and false alarms are those of
    ``label``.
    """
    masks = [rows for parts in groups.values() for _, rows in parts]
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(masks))
    chances = np.array([_chance(held_out, rows) for rows in masks])
    known = np.isfinite(chances)
    chances[known] = holm(chances[known])
    adjusted = iter(chances.tolist())
    code = None if label is None else held_out.labels.index(label)
    return [
        ByColumn(
            name,
            label,
            [
                _measured(held_out, words, rows, confidence, code, next(adjusted))
                for words, rows in parts
            ],
        )
        for name, parts in groups.items()
    ]


def _measured(
    held_out: HeldOut,
    words: str,
    rows: np.ndarray,
    confidence: float,
    code: int | None,
    chance: float,
) -> GroupErrors:
    def mean(values: np.ndarray, among: Any = True) -> Interval:
        """Return the mean over some rows of the group, exactly if it is a share of single rows."""
        some = rows & among
        if not some.any():
            return Interval(*[math.nan] * 3)
        units = None if held_out.groups is None else held_out.groups[some]
        if values.dtype == bool:
            return accuracy_interval(values[some], units, confidence)
        if len(np.unique(np.flatnonzero(some) if units is None else units)) < 2:
            return Interval(float(values[some].mean()), math.nan, math.nan)
        return mean_interval(values[some], units, confidence)

    n, predictions = int(rows.sum()), held_out.predictions
    if held_out.classes is None:
        error = mean(held_out.errors)
        expected, found = predictions, mean(np.asarray(held_out.y, dtype=np.float64))
        return GroupErrors(
            words, n, error, expected=float(expected[rows].mean()), found=found, chance=chance
        )
    more: dict[str, Any] = {}
    expected, is_so = predictions.max(axis=1), held_out.most_probable_is_right == 1
    if code is not None:
        expected, is_so = predictions[:, code], held_out.codes == code
        called = held_out.decided == code
        more = {"missed": mean(~called, is_so), "false": mean(called, ~is_so)}
    decision = held_out.decision
    if decision is not None and decision.kind == "costs":
        cost = mean(np.asarray(decision.asked)[held_out.codes, held_out.decided])
        more["cost"] = cost._replace(low=max(cost.low, np.min(decision.asked)))
    return GroupErrors(
        words,
        n,
        mean(held_out.correct),
        expected=float(expected[rows].mean()),
        found=mean(is_so),
        chance=chance,
        **more,
    )


def _chance(held_out: HeldOut, rows: np.ndarray) -> float:
    """Return the p-value of a difference of errors between a group and all other rows.

    It is Fisher's for labels of single rows, and else Welch's, of the means of the units.
    """
    from scipy.stats import fisher_exact, ttest_ind

    errors, units = held_out.errors, held_out.groups
    if not rows.any() or rows.all():
        return math.nan
    if held_out.classes is not None and units is None:
        table = [[errors[side].sum(), (1 - errors[side]).sum()] for side in (rows, ~rows)]
        return float(fisher_exact(np.round(table).astype(int)).pvalue)
    sides = []
    for side in (rows, ~rows):
        of = (
            np.arange(side.sum())
            if units is None
            else np.unique(units[side], return_inverse=True)[1]
        )
        sides.append(np.bincount(of, errors[side]) / np.bincount(of))
    if any(len(one) < 2 or not np.ptp(one) for one in sides):
        return math.nan
    return float(ttest_ind(*sides, equal_var=False).pvalue)
