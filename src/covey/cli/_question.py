"""A table and its question: what to predict, and from which columns."""

import difflib
from dataclasses import dataclass, field

import numpy as np

from covey.cli._console import CommandError
from covey.cli._reading import read_table

# A target of whole numbers with more values than this is taken as a quantity.
MOST_NUMBERED_CLASSES = 20
MOST_FRACTION_CLASSES = 10
MOST_CLASSES = 200
FEWEST_ROWS = 10
TASKS = ("auto", "classes", "numbers")
_DAY_AND_MONTH = (
    r"^(?P<first>\d{1,2})(?P<mark>[-/.])(?P<second>\d{1,2})(?P=mark)(?P<year>\d{4})"
    r"(?:[ T](?P<clock>\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?))?$"
)


@dataclass
class Question:
    """Rows, what is known of them, and what is asked.

    Attributes
    ----------
    table : data frame
        The columns that may be used, rows with a target only.
    y : ndarray of shape (n_rows,)
        Labels, or floats.
    target : str
    numbers : bool
        Whether the target is a quantity rather than classes.
    columns : list of Column
        As they were found, those left out included.
    groups : ndarray of shape (n_rows,) or None
    times : ndarray of shape (n_rows,) or None
        Rank of each row in time.
    copies : bool
        Whether the groups are rows that repeat each other, for want of others.
    decimal_commas : list of str
        The columns whose numbers are written 1,5.
    note : callable
        Where to say what turns up later.
    """

    table: object
    y: np.ndarray
    target: str
    numbers: bool
    columns: list = field(default_factory=list)
    groups: np.ndarray | None = None
    times: np.ndarray | None = None
    copies: bool = False
    decimal_commas: list = field(default_factory=list)
    note: object = field(default=lambda sentence: None, repr=False)

    @property
    def kinds(self):
        """The columns in use and their kinds."""
        return {column.name: column.kind for column in self.columns if not column.drop}

    @property
    def health(self):
        """A line for each column, for reports."""
        return [column.as_health() for column in self.columns]


def check_choice(value, option, choices):
    """Refuse what is not among the choices of an option."""
    if value not in choices:
        raise CommandError(f"{option} must be one of {', '.join(choices)}, got {value!r}.")


def check_column(table, name, option):
    """Refuse a column that the table has not, with the nearest that it has."""
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


def ask(
    path, target, console, *, group=None, time=None, drop=None, keep=None, task="auto", table=None
):
    """Read a table and make its question, noting whatever a user would want to know.

    Parameters
    ----------
    path : str
    target : str
    console : Console
        Where the notes go.
    group, time : str, optional
        Columns.
    drop, keep : list of str, optional
        Columns.
    task : {"auto", "classes", "numbers"}
    table : data frame, optional
        The table, where it is read already.

    Returns
    -------
    question : Question
    """
    check_choice(task, "--task", TASKS)
    if group and time:
        raise CommandError("give --group or --time, not both: rows are held out by one of them.")
    if table is None:
        table = read_table(path, answers=[target], note=console.note)
    decimal_commas = table.attrs.get("decimal_commas", [])
    check_column(table, target, "--target")
    for names, option in (
        (drop, "--drop"),
        (keep, "--keep"),
        ([group], "--group"),
        ([time], "--time"),
    ):
        for name in names or []:
            if name is not None:
                check_column(table, name, option)
                if name == target:
                    raise CommandError(f"{option}: {name!r} is the target.")
    table = _rows_with(table, target, "target", console)
    if time:
        table = _rows_with(table, time, "time", console)
    if len(table) < FEWEST_ROWS:
        raise CommandError(
            f"{len(table)} rows with a target are too few to learn from; "
            f"give at least {FEWEST_ROWS}."
        )
    y, numbers = _target_values(table[target], target, task, console)
    rest = table.drop(columns=[target, *_used(group, time), *(drop or [])])
    if not rest.shape[1]:
        besides = "besides the target" if table.shape[1] == 1 else "left to learn from"
        raise CommandError(f"the table has no column {besides}.")
    question = Question(
        rest, y, target, numbers, decimal_commas=decimal_commas, note=_once(console.note)
    )
    if group:
        question.groups = _group_numbers(table[group], group)
        console.note(f"{group}: rows are held out together by it, so it is not learnt from.")
    if time:
        question.times = _ranks(table[time], time)
        console.note(f"{time}: rows are held out by it, so it is not learnt from.")
    _look(question, keep or [], console)
    if not group and not time:
        _keep_copies_together(question)
    return question


def _once(say):
    """The same, but a sentence that was said is not said again."""
    said = set()

    def note(sentence):
        if sentence not in said:
            said.add(sentence)
            say(sentence)

    return note


def _keep_copies_together(question):
    """Make groups of rows that repeat each other, unless chance alone would repeat as many.

    A copy of a row that was learnt from is no test. Rows of a few categories, though, are alike
    because there are few ways to differ: if columns were independent, a pair of rows would be
    the same with the product of the columns' own probabilities.
    """
    kinds = question.kinds
    row, sizes = _numbered(row_hashes(question.table, kinds))
    if sizes.max() == 1:
        return
    by_chance = 0.0
    for name in kinds:
        counts = _numbered(question.table[name])[1]
        by_chance += np.log(np.sum((counts / len(row)) ** 2))
    found = np.sum((sizes / len(row)) ** 2 - sizes / len(row) ** 2)
    if found <= 10 * np.exp(by_chance):
        return
    repeated = len(row) - len(sizes)
    question.note(
        f"{repeated:,} of {len(row):,} rows repeat another one, more than chance would "
        "have it: copies that are learnt from are no test of a model."
    )
    if len(sizes) >= FEWEST_ROWS:
        question.groups, question.copies = row, True


def _numbered(values):
    """A number for each value, the same for the same, and how often each occurs."""
    import pandas as pd

    number = pd.factorize(values, use_na_sentinel=False)[0]
    return number, np.bincount(number)


def row_hashes(table, kinds):
    """A number for each row, the same for the same values of the columns in use.

    Parameters
    ----------
    table : data frame
    kinds : mapping from column to kind

    Returns
    -------
    hashes : ndarray of shape (n_rows,)
    """
    import pandas as pd

    from covey._kinds import as_kind

    columns = {}
    for name, kind in kinds.items():
        values = as_kind(table[name], kind)
        columns[name] = values if kind == "number" else values.astype(str)
    return pd.util.hash_pandas_object(pd.DataFrame(columns), index=False).to_numpy()


def _used(*names):
    return [name for name in names if name]


def _rows_with(table, column, what, console):
    gaps = table[column].isna()
    if not gaps.any():
        return table
    console.note(f"{column}: {gaps.sum()} of {len(table)} rows have no {what} and are left out.")
    return table[~gaps].reset_index(drop=True)


def _look(question, keep, console):
    from covey.tables import look

    question.columns = look(question.table, keep)
    for column in question.columns:
        if column.drop:
            console.note(f"{column.name}: left out, since {column.drop}.")
        elif column.note:
            console.note(f"{column.name}: {column.note}.")
    if not question.kinds:
        raise CommandError(
            "no column is left to learn from: each is constant, empty or names the rows "
            "(--keep uses one all the same)."
        )


def _target_values(values, target, task, console):
    """The target as labels or floats, and whether it is a quantity."""
    from pandas.api import types

    n_values = values.nunique()
    if n_values < 2:
        raise CommandError(
            f"the target {target!r} has the one value {values.iloc[0]!r}; "
            "there is nothing to tell apart."
        )
    numeric = types.is_numeric_dtype(values.dtype) and not types.is_bool_dtype(values.dtype)
    if numeric and not np.isfinite(values).all():
        strange = values[~np.isfinite(values)].iloc[0]
        raise CommandError(
            f"the target {target!r} holds {strange}, which is no number to learn; leave such "
            "cells empty."
        )
    whole = numeric and bool((values == np.floor(values)).all())
    many = MOST_NUMBERED_CLASSES if whole else MOST_FRACTION_CLASSES
    if task == "numbers" and not numeric:
        raise CommandError(
            f"the target {target!r} is not made of numbers ({values.iloc[0]!r}); "
            "use --task classes."
        )
    if numeric and (task == "numbers" or (task == "auto" and n_values > many)):
        if task == "auto":
            console.note(
                f"{target}: {n_values} different numbers look like a quantity, so the model "
                "predicts numbers (--task classes says otherwise)."
            )
        return values.to_numpy(dtype=np.float64), True
    if n_values == len(values) or n_values > max(MOST_CLASSES, len(values) // 2):
        raise CommandError(
            f"the target {target!r} has {n_values} different values in {len(values)} rows: that "
            f"names rows rather than classes; give another target"
            f"{', or --task numbers for regression' if numeric else ''}."
        )
    if whole:
        return values.to_numpy(dtype=np.int64), False
    return np.array(values.astype(str).tolist()), False


def _group_numbers(values, group):
    import pandas as pd

    numbers = pd.factorize(values)[0]
    # Rows without a group belong to nobody else's.
    alone = np.flatnonzero(numbers < 0)
    numbers[alone] = numbers.max() + 1 + np.arange(len(alone))
    if len(np.unique(numbers)) < 2:
        raise CommandError(f"--group: all rows have the same {group!r}, so none can be held out.")
    return numbers


def _ranks(values, time):
    from pandas.api import types

    if not types.is_numeric_dtype(values.dtype) and not types.is_datetime64_any_dtype(
        values.dtype
    ):
        values = _dates(values.astype(str).str.strip(), time)
    return values.rank(method="dense").to_numpy(dtype=np.int64)


def _dates(text, time):
    """Dates that are all written in one way: read one by one, 01/02 and 13/02 swap the months."""
    import pandas as pd

    def parsed(written, way="ISO8601"):
        return pd.to_datetime(written, errors="coerce", format=way, utc=True)

    iso = parsed(text)
    if not iso.isna().any():
        return iso
    parts = text.str.extract(_DAY_AND_MONTH)
    if parts["year"].notna().all():
        parts = parts.fillna({"clock": ""})
        day_first = parsed(parts["year"] + "-" + parts["second"] + "-" + parts["first"])
        month_first = parsed(parts["year"] + "-" + parts["first"] + "-" + parts["second"])
        clock = pd.to_timedelta(parts["clock"].where(parts["clock"] != "", "00:00:00").map(_full))
        ways = [way + clock for way in (day_first, month_first) if not way.isna().any()]
        # With points the day is first wherever they are in use.
        if (parts["mark"] == ".").all() and not day_first.isna().any():
            return ways[0]
        if len(ways) == 2 and (ways[0].rank() != ways[1].rank()).any():
            raise CommandError(
                f"--time: {text.iloc[0]!r} in column {time!r} may begin with the day or with the "
                "month; write dates as 2024-12-31."
            )
        if ways:
            return ways[0]
    # A month that has a name cannot be taken for a day.
    named = text.str.contains("[A-Za-z]{3}")
    dates = parsed(text.where(named), "mixed")
    if dates.isna().any():
        strange = text[(dates if named.any() else iso).isna()].iloc[0]
        raise CommandError(
            f"--time: {strange!r} in column {time!r} is neither a number nor a date as the others "
            "are; write dates as 2024-12-31."
        )
    return dates


def _full(clock):
    """A time of day with its seconds."""
    return clock if clock.count(":") == 2 else f"{clock}:00"
