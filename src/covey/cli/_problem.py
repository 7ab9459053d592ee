"""The problem of a fit: a target, and the rows and columns of a table to learn it from."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from covey._number_words import listed
from covey.cli._console import CommandError, Console
from covey.cli._guards import guards
from covey.cli._reading import read_table
from covey.evaluation._by_group import groups_of
from covey.evaluation._record import Remark
from covey.tables._kinds import Column, as_kind, kind_of, look
from covey.tables._learning import learn_dates
from covey.tables._numbers import NumberFormat
from covey.tables._row_names import without_useless_names
from covey.tables._table_reader import learn_reading

# A target of whole numbers with more values than this counts as a quantity.
MOST_NUMBERED_CLASSES = 20
MOST_FRACTION_CLASSES = 10
MOST_CLASSES = 200
FEWEST_ROWS = 10
# The most bytes of a name or a word in the file of a model.
_LONGEST_WORD = 1 << 16
# Text that repeats itself is as useful as categories; only names of rows are doubtful.
_SHARE_OF_NAMES = 0.5
# Fewer copies than this are kept together without a note.
_SHARE_OF_COPIES = 0.01


@dataclass
class Problem:
    """Rows, their target, and how rows depend on each other."""

    # The columns that may be used, rows with a target only; its index counts rows of the file.
    table: Any
    y: np.ndarray  # labels, or floats
    target: str
    regression: bool  # whether the target is a quantity rather than classes
    columns: list[Column] = field(default_factory=list)  # those left out included
    groups: np.ndarray | None = None
    times: np.ndarray | None = None  # the rank of each row in time
    guards: list[Remark] = field(default_factory=list)  # what may mislead
    copies: bool = False  # whether the groups are rows that repeat each other
    by: pd.DataFrame | None = None  # columns by which errors are shown
    unlike: str = ""  # the new rows that the model is judged for, such as "later rows"
    formats: dict[str, NumberFormat] = field(default_factory=dict)  # of numbers, where not 1234.5
    gaps: dict[str, list[str]] = field(default_factory=dict)  # values that stand for gaps
    exposure: np.ndarray | None = None  # by which the target was divided, and rows count
    note: Callable[[str], None] = field(default=lambda sentence: None, repr=False)

    @property
    def kinds(self) -> dict[str, str]:
        """The columns in use and their kinds."""
        return {column.name: column.kind for column in self.columns if not column.drop}

    def take(self, rows: np.ndarray) -> pd.DataFrame:
        """Return some rows of the columns in use; all of them without a copy."""
        every = len(rows) == len(self.y) and np.array_equal(rows, np.arange(len(rows)))
        table = self.table[list(self.kinds)]
        return table if every else table.iloc[rows]

    @property
    def numbers(self) -> np.ndarray:
        """The number of each row in the user's file: the first below the header has 1."""
        return self.table.index.to_numpy() + 1

    @property
    def health(self) -> list[dict[str, Any]]:
        """Return a line for each column, for reports."""
        return [column.as_health() for column in self.columns]

    @property
    def split(self) -> str:
        """The kind of split, as in `covey.evaluation.Evaluation`."""
        by = {
            "groups": self.groups is not None and not self.copies,
            "time": self.times is not None,
        }
        return " and ".join(name for name, given in by.items() if given) or "chance"


def check_column(table: Any, name: str, option: str) -> None:
    """Refuse a column that the table lacks, with the nearest name that it has."""
    if name in table.columns:
        return
    names = [str(column) for column in table.columns]
    lower = {column.lower(): column for column in names}
    near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.5)
    if near:
        hint = f"did you mean {lower[near[0]]!r}?"
    else:
        listed = ", ".join(repr(column) for column in names[:8])
        hint = f"it has {listed}{' and more' if len(names) > 8 else ''}."
    raise CommandError(f"{option}: the table has no column {name!r}; {hint}")


def check_columns(table: Any, target: str, **options: Collection[str] | str | None) -> None:
    """Refuse columns that the table lacks, or that are the target, by the name of the option."""
    check_column(table, target, "--target")
    for option, given in options.items():
        for name in [given] if isinstance(given, str) else given or []:
            check_column(table, name, f"--{option}")
            if name == target:
                raise CommandError(f"--{option}: {name!r} is the target.")


def read_problem(
    path: str,
    target: str,
    console: Console,
    *,
    group: str | None = None,
    time: str | None = None,
    by: Collection[str] | None = None,
    drop: Collection[str] | None = None,
    keep: Collection[str] | None = None,
    gap: Collection[str] | None = None,
    exposure: str | None = None,
    task: str = "auto",
    table: pd.DataFrame | None = None,
) -> Problem:
    """Read a table (or take one that is read) and find all that a user should know of it."""
    gaps = declared_gaps(gap)
    if table is None:
        table = read_table(path, labels=[target], gaps=gaps, note=console.note)
    else:
        table = table.reset_index(drop=True)
    formats, text = (table.attrs.get(name, {}) for name in ("formats", "text"))
    grouped = group_columns(table, group)
    of_rows = {"group": grouped, "time": time, "exposure": exposure}
    check_columns(table, target, drop=drop, keep=keep, gap=gaps, **of_rows)
    table = rows_with(table, target, "target", console)
    if time:
        table = rows_with(table, time, "time", console)
    if len(table) < FEWEST_ROWS:
        raise CommandError(
            f"{len(table)} rows with a target are too few to learn from; give at least "
            f"{FEWEST_ROWS}."
        )
    distinct = table[target].drop_duplicates()
    regression = is_regression(distinct, len(table), target, task, console.note)
    values = table[target]
    if regression:
        y = values.to_numpy(dtype=np.float64)
    elif _is_whole(values):
        y = values.to_numpy(dtype=np.int64)
    else:
        y = np.array(values.astype(str).tolist())
    left = {target, *(drop or []), *(grouped if len(grouped) == 1 else [])}
    exposures = None
    if exposure is not None:
        exposures = _exposures(table[exposure], exposure)
        left.add(exposure)
        y, target = y / exposures, f"{target} per {exposure}"
        console.note(f"{exposure}: the model predicts {target}, and rows count by it.")
    dated = time is not None and time not in left and kind_of(table[time]).kind == "date"
    left = left if dated else {*left, time}
    # The columns are not copied.
    kept = {name: table[name] for name in table.columns if name not in left}
    rest = pd.DataFrame(kept, index=table.index, copy=False)
    if not kept:
        besides = "besides the target" if table.shape[1] == 1 else "left to learn from"
        raise CommandError(f"the table has no column {besides}.")
    problem = Problem(rest, y, target, regression, note=console.note, exposure=exposures)
    problem.by = checked_groups(table, by)
    later = "later rows" if time else "rows"
    problem.unlike = f"{later} with a new {group}" if group else later
    if group:
        problem.groups = _group_numbers(table, grouped, group)
        console.note(
            f"{group}: rows are held out together by it, so it is not learned from."
            if len(grouped) == 1
            else f"{group}: rows that have the same values of these are held out together."
        )
    if time:
        problem.times = _ranks(table[time], time)
    problem.columns = look(rest, keep or [], text)
    written = {column.name: column.form for column in problem.columns if column.form}
    problem.formats = {**formats, **written}
    for name, kind in problem.kinds.items():
        if kind == "number":
            rest[name] = as_kind(rest[name], kind, problem.formats.get(name))
    if time:
        _learn_seasons_only(problem, table, time, dated, console)
    useless = set(text_without_use(problem)).difference(keep or [])
    no_help = f"its words do not help to predict {target} (on rows held out)"
    problem.columns = [
        replace(one, drop=no_help) if one.name in useless else one for one in problem.columns
    ]
    for column in problem.columns:
        if column.drop:
            console.note(f"{column.name}: left out, since {column.drop}.")
        elif column.note:
            told = f" of {column.name} " in column.note
            console.note(f"{column.note}." if told else f"{column.name}: {column.note}.")
    if not problem.kinds:
        raise CommandError(
            "no column is left to learn from: each is constant, empty or names the rows "
            "(--keep uses one all the same)."
        )
    problem.gaps = {name: values for name, values in gaps.items() if name in problem.kinds}
    _check_lengths(problem)
    if not group and not time:
        _keep_copies_together(problem)
    problem.guards = list(guards(problem))
    for guard in problem.guards:
        problem.note(guard.sentence)
    return problem


def checked_groups(table: pd.DataFrame, by: Collection[str] | None) -> pd.DataFrame | None:
    """Return the columns of --by; refuse those that make no groups, before anything slow."""
    names = list(dict.fromkeys(by or ()))
    if not names:
        return None
    for name in names:
        check_column(table, name, "--by")
    try:
        groups_of(names, table, len(table))
    except ValueError as error:
        raise CommandError(f"--{error}") from None
    return table[names]


def _check_lengths(problem: Problem) -> None:
    """Refuse, before the fit, names and words that are too long for the file of a model."""
    words = {"name of a column": list(problem.kinds)}
    if not problem.regression:
        words[f"class of {problem.target!r}"] = np.unique(problem.y).astype(str).tolist()
    for column in problem.columns:
        if column.kind == "text" and not column.drop:
            values = problem.table[column.name].dropna().astype(str).unique().tolist()
            # Of text that hardly repeats itself, single words are kept.
            if column.n_values > _SHARE_OF_NAMES * len(problem.y):
                values = [value for value in values if " " not in value]
            words[f"value of {column.name!r}"] = values
    for what, found in words.items():
        for word in found:
            if len(word.encode()) > _LONGEST_WORD:
                raise CommandError(
                    f"a {what} has {len(word):,} characters ({word[:20]!r}...), too many for the "
                    "file of a model; shorten it, or leave the column out with --drop."
                )


def text_without_use(problem: Problem) -> list[str]:
    """Return columns of names that do not help a linear model on rows held out."""
    kinds = problem.kinds
    table = problem.table[list(kinds)]
    reading = learn_reading(table, kinds)
    if reading is None:
        return []
    useful = without_useless_names(reading, table, problem.y, problem.groups, problem.regression)
    both = zip(kinds, reading.encoders, useful.encoders, strict=True)
    return [name for name, encoder, kept in both if kept is not encoder]


def _learn_seasons_only(
    problem: Problem, table: pd.DataFrame, time: str, dates: bool, console: Console
) -> None:
    """Learn only recurring parts of the times by which rows are held out: others lie beyond."""
    learnt = learn_dates(as_kind(table[time], "date"), seasons=True) if dates else None
    if learnt is None or not learnt.parts:
        problem.columns = [column for column in problem.columns if column.name != time]
        problem.table = problem.table.drop(columns=time, errors="ignore")
        console.note(f"{time}: later rows are held out by it, so it is not learned from.")
        return
    parts = listed(learnt.parts)
    problem.columns = [
        replace(column, kind="season", drop="", note="") if column.name == time else column
        for column in problem.columns
    ]
    console.note(f"{time}: later rows are held out by it; learned of it is {parts} only.")


def _keep_copies_together(problem: Problem) -> None:
    """Make groups of rows that repeat each other, unless chance alone would repeat as many.

    A copy of a row that was learned from is no test. But rows of a few categories are alike
    because there are few ways to differ: if columns were independent, a pair of rows would be
    equal with the product of the columns' own probabilities.
    """
    kinds = problem.kinds
    row = pd.factorize(row_hashes(problem.table, kinds))[0]
    sizes = np.bincount(row)
    if sizes.max() == 1:
        return
    shares = (problem.table[name].value_counts(normalize=True, dropna=False) for name in kinds)
    by_chance = np.exp(sum(np.log(np.sum(share.to_numpy() ** 2)) for share in shares))
    found = np.sum((sizes / len(row)) ** 2 - sizes / len(row) ** 2)
    if found <= 10 * by_chance:
        return
    repeated = len(row) - len(sizes)
    if repeated >= _SHARE_OF_COPIES * len(row):
        problem.note(
            f"{repeated:,} of {len(row):,} rows repeat another one, more than chance would "
            "have it: copies that are learned from are no test of a model."
        )
    if len(sizes) >= FEWEST_ROWS:
        problem.groups, problem.copies = row, True


def row_hashes(table: pd.DataFrame, kinds: Mapping[str, str]) -> np.ndarray:
    """Return a number for each row, equal for equal values of the columns in use."""
    # This is pandas.util.hash_pandas_object, but column by column: for a long table there is no
    # room for more than one copy.
    hashes = np.full(len(table), 0x345678, dtype=np.uint64)
    factor = 1_000_003
    for place, (name, kind) in enumerate(kinds.items()):
        values = as_kind(table[name], kind)
        if kind != "number":
            values = values.astype(str)
        hashes ^= pd.util.hash_array(values.to_numpy())
        hashes *= np.uint64(factor)
        factor += 82_520 + 2 * (len(kinds) - place)
    return hashes + np.uint64(97_531)


def declared_gaps(given: Collection[str] | None) -> dict[str, list[str]]:
    """Return the values of each column that stand for gaps, as --gap names them."""
    found: dict[str, list[str]] = {}
    for one in given or ():
        name, _, values = one.rpartition("=")
        words = [word.strip() for word in values.split(",") if word.strip()]
        if not (name and words):
            raise CommandError(
                f"--gap: {one!r} names no column and value; give it as age=96,98 or job=unknown."
            )
        found.setdefault(name, []).extend(words)
    return found


def rows_with(table: pd.DataFrame, column: str, what: str, console: Console) -> pd.DataFrame:
    """Return the rows that have a value in a column, with a note on the others."""
    gaps = table[column].isna()
    if not gaps.any():
        return table
    console.note(f"{column}: {gaps.sum()} of {len(table)} rows have no {what} and are left out.")
    return table[~gaps]


def is_regression(
    values: pd.Series, n_rows: int, target: str, task: str, note: Callable[[str], None]
) -> bool:
    """Return whether a target is a quantity, by its different values; refuse a useless one."""
    n_values = len(values)
    if n_values < 2:
        one = f"the one value {values.tolist()[0]!r}" if n_values else "no value at all"
        raise CommandError(f"the target {target!r} has {one}; there is nothing to tell apart.")
    numeric = _is_numeric(values)
    if numeric and not np.isfinite(values).all():
        strange = values[~np.isfinite(values)].iloc[0]
        raise CommandError(
            f"the target {target!r} holds {strange}, which is not a number to learn; leave such "
            "cells empty."
        )
    if task == "numbers" and not numeric:
        raise CommandError(
            f"the target {target!r} is not made of numbers ({values.iloc[0]!r}); "
            "use --task classes."
        )
    many = MOST_NUMBERED_CLASSES if _is_whole(values) else MOST_FRACTION_CLASSES
    if numeric and (task == "numbers" or (task == "auto" and n_values > many)):
        if task == "auto":
            note(
                f"{target}: {n_values:,} different numbers look like a quantity, so the model "
                "predicts numbers (--task classes says otherwise)."
            )
        return True
    if n_values == n_rows or n_values > max(MOST_CLASSES, n_rows // 2):
        raise CommandError(
            f"the target {target!r} has {n_values:,} different values in {n_rows:,} rows: that "
            f"names rows rather than classes; give another target"
            f"{', or --task numbers for regression' if numeric else ''}."
        )
    return False


def _is_numeric(values: pd.Series) -> bool:
    return types.is_numeric_dtype(values.dtype) and not types.is_bool_dtype(values.dtype)


def _is_whole(values: pd.Series) -> bool:
    return _is_numeric(values) and bool((values == np.floor(values)).all())


def _exposures(values: pd.Series, name: str) -> np.ndarray:
    """Return the exposures of rows, which are numbers above 0."""
    numbers = values.to_numpy(dtype=np.float64) if _is_numeric(values) else None
    if numbers is None or not (np.isfinite(numbers) & (numbers > 0)).all():
        odd = values if numbers is None else values[~(np.isfinite(numbers) & (numbers > 0))]
        shown = "a gap" if odd.isna().iloc[0] else repr(odd.tolist()[0])
        raise CommandError(
            f"--exposure: column {name!r} holds {shown}, but exposures are numbers above 0; "
            "leave such rows out, or mend them."
        )
    return numbers


def group_columns(table: pd.DataFrame, group: str | None) -> list[str]:
    """Return the columns of --group, which is a name, or several that are joined by "+"."""
    if group is None or group in table.columns:
        return [] if group is None else [group]
    names = [name.strip() for name in group.split("+")]
    return names if all(name in table.columns for name in names) else [group]


def _group_numbers(table: pd.DataFrame, columns: list[str], group: str) -> np.ndarray:
    if len(columns) == 1:
        numbers = pd.factorize(table[columns[0]])[0]
    else:
        numbers = table.groupby(columns, dropna=False, sort=False).ngroup().to_numpy(copy=True)
    # Each row without a group is a group of its own.
    alone = np.flatnonzero(numbers < 0)
    numbers[alone] = numbers.max() + 1 + np.arange(len(alone))
    if len(np.unique(numbers)) < 2:
        raise CommandError(f"--group: all rows have the same {group!r}, so none can be held out.")
    return numbers


def _ranks(values: pd.Series, time: str) -> np.ndarray:
    kind = values.dtype
    if not types.is_numeric_dtype(kind) and not types.is_datetime64_any_dtype(kind):
        values = _dates(values.astype(str).str.strip(), time)
    return values.rank(method="dense").to_numpy(dtype=np.int64)


def _dates(text: pd.Series, time: str) -> pd.Series:
    """Read dates that are all written in one way: one by one, 01/02 and 13/02 swap the months."""

    def parsed(form: str) -> pd.Series:
        return pd.to_datetime(text, format=form, errors="coerce", utc=True)

    learnt = learn_dates(text)
    # A month that has a name cannot be mistaken for a day.
    named = text.str.contains("[A-Za-z]{3}").all()
    form = (learnt and learnt.format) or ("mixed" if named else "ISO8601")
    dates = parsed(form)
    if dates.isna().any():
        raise CommandError(
            f"--time: {text[dates.isna()].iloc[0]!r} in column {time!r} is neither a number nor a "
            "date as the others are; write dates as 2024-12-31."
        )
    # With points the day is first wherever they are in use.
    if re.match("%d[^.]%m|%m[^.]%d", form):
        swapped = parsed(re.sub("%[dm]", lambda found: {"%d": "%m", "%m": "%d"}[found[0]], form))
        if not swapped.isna().any() and (swapped.rank() != dates.rank()).any():
            raise CommandError(
                f"--time: {text.iloc[0]!r} in column {time!r} may begin with the day or with the "
                "month; write dates as 2024-12-31."
            )
    return dates
