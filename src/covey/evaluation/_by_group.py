"""A model's errors, group of rows by group of rows: how often, of which kind, and how sure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from covey._intervals import CONFIDENCE, Interval, accuracy_interval, mean_interval
from covey._number_words import cell
from covey._validation import check_one_each
from covey.evaluation._columns import Table, _parts
from covey.evaluation._held_out import HeldOut
from covey.evaluation._record import GroupErrors
from covey.tables._kinds import as_frame

# Columns of more groups than this are refused. So many different numbers are each a group.
MOST_GROUPS, _MOST_NUMBERS = 200, 10

# The groups of rows by each column: a label and a mask of the rows.
Groups = dict[str, list[tuple[str, np.ndarray]]]


def groups_of(by: Any, X: Any, n_rows: int) -> Groups:
    """Return the groups of rows by columns, or raise one sentence that states what is wrong.

    ``by`` are names of columns of X, or the values themselves: a dict, or a data frame or series.
    """
    by = [by] if isinstance(by, str) else by
    if isinstance(by, list | tuple):
        frame = pd.DataFrame() if hasattr(X, "tocsr") else as_frame(X)
        for name in by:
            if name not in frame:
                raise ValueError(f"by: {name!r} is not a column of X; give its values as a dict.")
        by = frame[list(by)]
    by = pd.DataFrame(by)
    check_one_each(by.index, n_rows, "by", "value for each of the {} rows of X")
    table, found = Table(by, [str(name) for name in by]), Groups()
    for position, name in enumerate(table.names):
        kind, values = table.values(position)
        if values is not None and kind == "number" and values.nunique() <= _MOST_NUMBERS:
            kind, values = "text", values.map(cell, na_action="ignore")
        most = min(MOST_GROUPS, max(2, n_rows // 2))
        if values is None or (kind == "text" and values.nunique() > most):
            raise ValueError(
                f"by: {name!r} has lists, or more than {most} different values, too many to tell "
                "anything of each; give another column, or join rare values."
            )
        parts = [
            (words.removeprefix("is "), of) for words, of in _parts(kind, values, MOST_GROUPS)
        ]
        found[name] = [(w[1:-1] if w.startswith("'") else w, rows) for w, rows in parts]
    return found


def by_groups(groups: Groups, held_out: HeldOut, label: Any) -> dict[str, list[GroupErrors]]:
    """Measure a model on each group of rows held out.

    The intervals of all groups hold together, by Bonferroni's correction: each has a confidence of
    ``1 - 0.05 / m`` among ``m`` groups. Of two classes, misses and false alarms are those of
    ``label``.
    """
    confidence = 1 - (1 - CONFIDENCE) / max(1, sum(map(len, groups.values())))
    predictions = held_out.predictions
    # What is averaged in each group, and among which rows.
    measures: dict[str, tuple[np.ndarray, Any]] = {"right": (held_out.errors, True)}
    expected, true = predictions, np.asarray(held_out.y)
    if held_out.classes is not None:
        expected, true = predictions.max(axis=1), held_out.most_probable_is_right == 1
        measures["right"] = held_out.correct, True
    if label is not None:
        code = held_out.labels.index(label)
        expected, true = predictions[:, code], held_out.codes == code
        called = held_out.decided == code
        measures |= {"missed": (~called, true), "false": (called, ~true)}
    if held_out.costs is not None:
        measures["cost"] = held_out.parts(held_out.models[0])["cost"], True
    measures["found"] = true, True

    def mean(values: np.ndarray, rows: np.ndarray) -> Interval:
        units = None if held_out.groups is None else held_out.groups[rows]
        least, values = values.min(), values[rows]
        if values.dtype == bool and len(values):
            return accuracy_interval(values, units, confidence)
        if held_out.weight is not None and len(values):
            share = held_out.weight[rows] / held_out.weight[rows].mean()
            values = (center := (share * values).mean()) + share * (values - center)
        if len(values if units is None else np.unique(units)) < 2:
            return Interval(float(values.mean()) if len(values) else math.nan, math.nan, math.nan)
        found = mean_interval(values, units, confidence)
        return found._replace(low=max(found.low, float(least)))

    def measured(words: str, rows: np.ndarray) -> GroupErrors:
        found = {name: mean(values, rows & among) for name, (values, among) in measures.items()}
        said = mean(expected, rows).value
        return GroupErrors(words, int(rows.sum()), expected=said, **found)

    return {name: [measured(*part) for part in parts] for name, parts in groups.items()}
