"""A table and its question: what to predict, from which columns, and with which model."""

import difflib
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from covey.cli._console import CommandError
from covey.cli._tables import read_table

# A target of whole numbers with more values than this is taken as a quantity.
_MOST_NUMBERED_CLASSES = 20
_MOST_FRACTION_CLASSES = 10
_MOST_CLASSES = 200
_FEWEST_ROWS = 10
EFFORTS = ("fast", "balanced", "best")
TASKS = ("auto", "classes", "numbers")


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
    """

    table: object
    y: np.ndarray
    target: str
    numbers: bool
    columns: list = field(default_factory=list)
    groups: np.ndarray | None = None
    times: np.ndarray | None = None

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
    table = read_table(path) if table is None else table
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
    if len(table) < _FEWEST_ROWS:
        raise CommandError(
            f"{len(table)} rows with a target are too few to learn from; "
            f"give at least {_FEWEST_ROWS}."
        )
    y, numbers = _target_values(table[target], target, task, console)
    question = Question(
        table.drop(columns=[target, *_used(group, time), *(drop or [])]), y, target, numbers
    )
    if group:
        question.groups = _group_numbers(table[group], group)
        console.note(f"{group}: rows are held out together by it, so it is not learnt from.")
    if time:
        question.times = _ranks(table[time], time)
        console.note(f"{time}: rows are held out by it, so it is not learnt from.")
    _look(question, keep or [], console)
    return question


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
    whole = numeric and bool((values == np.floor(values)).all())
    many = _MOST_NUMBERED_CLASSES if whole else _MOST_FRACTION_CLASSES
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
    if n_values == len(values) or n_values > max(_MOST_CLASSES, len(values) // 2):
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
    import pandas as pd
    from pandas.api import types

    if not types.is_numeric_dtype(values.dtype) and not types.is_datetime64_any_dtype(
        values.dtype
    ):
        dates = pd.to_datetime(values, errors="coerce", format="mixed")
        if dates.isna().any():
            strange = values[dates.isna()].iloc[0]
            raise CommandError(
                f"--time: {strange!r} in column {time!r} is neither a number nor a date; write "
                "dates as 2024-12-31."
            )
        values = dates
    return values.rank(method="dense").to_numpy(dtype=np.int64)


# -- models ---------------------------------------------------------------------------------


def flock(question, *, effort="balanced", fusion="gate", seed=0):
    """An unfitted flock for a question."""
    check_choice(effort, "--effort", EFFORTS)
    if question.numbers:
        from covey.members._fused_regression import value_fuser as check
        from covey.members._joint_subsets_regression import SubsetEnsembleRegressor as Flock
    else:
        from covey.fusers import make_fuser as check
        from covey.members import SubsetEnsembleClassifier as Flock
    try:
        if fusion != "gate":  # which every flock has
            check(fusion, "--fusion")
    except ValueError as error:
        raise CommandError(str(error).replace(" or a Fuser", "")) from None
    if fusion == "oracle":
        raise CommandError("--fusion: the oracle reads the truth and cannot predict.")
    return Flock(effort=effort, fusion=fusion, random_state=seed)


def table_model(question, estimator, seed=0):
    """An unfitted model of the question's table around an estimator."""
    from covey.tables import TableClassifier, TableRegressor

    kind = TableRegressor if question.numbers else TableClassifier
    return kind(estimator, columns=question.kinds, random_state=seed)


def fit_rows(model, question, rows, checkpoint=None):
    """Fit a model on some rows; a flock that searches is told about groups and time.

    With a checkpoint, a fit that was killed goes on from that file.
    """
    from sklearn.base import clone

    model = clone(model)
    if checkpoint is not None:
        model.estimator.set_params(checkpoint=checkpoint)
        fitted = _fit_this(model, question, rows)
        for flock in (fitted.estimator, fitted.estimator_):
            flock.set_params(checkpoint=None)
        return fitted
    return _fit_this(model, question, rows)


def _fit_this(model, question, rows):
    """The same for a model of one's own, which is fitted itself."""
    table, y = question.table.iloc[rows], question.y[rows]
    if getattr(model.estimator, "fusion", None) != "gate" or model.estimator.effort == "fast":
        return model.fit(table, y)
    if question.times is not None:
        return _fit_forward(model, table, y, question.times[rows], question.numbers)
    if question.groups is None:
        return model.fit(table, y)
    # Few groups may hold all rows of a class: fewer folds then.
    for n_folds in (5, 3, 2):
        model.estimator.set_params(cv=n_folds)
        try:
            return model.fit(table, y, groups=question.groups[rows])
        except ValueError as error:
            if "groups leaves fold" not in str(error) and "single group" not in str(error):
                raise
    model.estimator.set_params(effort="fast", cv=5)
    return model.fit(table, y)


def _fit_forward(model, table, y, ranks, numbers):
    folds = [
        (train, test)
        for train, test in _forward(ranks)
        # A search needs all classes in every fold.
        if numbers or len(np.unique(y[train])) == len(np.unique(y))
    ]
    if folds:
        model.estimator.set_params(cv=folds)
    model.fit(table, y)
    # The folds are of these rows alone; whoever fits the model again has others.
    model.estimator.set_params(cv=5)
    model.estimator_.set_params(cv=5)
    return model


def _forward(ranks, n_folds=5):
    """Pairs of earlier rows and the rows that come next."""
    cuts = np.quantile(ranks, np.arange(1, n_folds + 2) / (n_folds + 1), method="lower")
    cuts = np.unique(cuts)
    for low, high in pairwise(cuts):
        yield np.flatnonzero(ranks <= low), np.flatnonzero((ranks > low) & (ranks <= high))


def forward_splits(question):
    """Splits of all rows that hold out later ones, with two classes at least to train on."""
    splits = [
        (train, test)
        for train, test in _forward(question.times)
        if question.numbers or len(np.unique(question.y[train])) > 1
    ]
    if not splits:
        raise CommandError(
            "--time: the earlier rows have one value of the target only, so later ones cannot be "
            "predicted from them; leave --time out."
        )
    return splits
