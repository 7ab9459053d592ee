"""What may mislead about a table: each guard is one sentence that says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from covey._number_words import percent
from covey.cli._subjects import repeated_subjects
from covey.tables._kinds import as_kind

if TYPE_CHECKING:
    from covey.cli._problem import Problem

# A column decides alone if it leaves so little of the error (of the variance) of a guess.
_LEFT_OF_ERROR = 0.02
_LEFT_OF_VARIANCE = 0.005
# With fewer rows, or fewer rows of other classes than the commonest, it may be chance.
_FEWEST_ROWS = 40
_FEWEST_OTHERS = 10
_MOST_ROWS = 5_000
# More classes than this, or more than one for so many rows, are many.
_MANY_CLASSES = 30
_ROWS_A_CLASS = 10
_FEWEST_MANY = 10


@dataclass(frozen=True)
class Guard:
    """A remark: its topic ("leak", "group", "time", "classes"), the column, and a sentence."""

    about: str
    column: str
    sentence: str

    def as_record(self) -> dict[str, Any]:
        """As a dict, for model files and reports."""
        return asdict(self)


def guards(problem: Problem) -> Iterator[Guard]:
    """All that may mislead about a problem."""
    yield from many_classes(problem)
    yield from dates_without_time(problem)
    known = subjects(problem)
    yield from known
    of_subjects = {name for guard in known for name in guard.column.split(" + ")}
    yield from (guard for guard in leaks(problem) if guard.column not in of_subjects)


def subjects(problem: Problem) -> list[Guard]:
    """Rows of one subject that are held out one by one, by which a model is judged too well."""
    if problem.times is not None or (problem.groups is not None and not problem.copies):
        return []
    found = repeated_subjects(problem)
    if found is None:
        return []
    sentence = found.sentence(problem.target, problem.regression)
    return [Guard("group", " + ".join(found.columns), sentence)]


def many_classes(problem: Problem) -> Iterator[Guard]:
    """More classes than sense."""
    if problem.regression:
        return
    classes, counts = np.unique(problem.y, return_counts=True)
    many = len(classes) > min(_MANY_CLASSES, len(problem.y) / _ROWS_A_CLASS)
    if not many or len(classes) <= _FEWEST_MANY:
        return
    numbers = np.issubdtype(classes.dtype, np.number)
    what = (
        "if they are a quantity, give --task numbers"
        if numbers
        else f"{(counts < _ROWS_A_CLASS).sum()} of them have fewer than {_ROWS_A_CLASS} rows; "
        "join rare ones, or give a target of fewer"
    )
    yield Guard(
        *("classes", problem.target),
        f"{problem.target}: {len(classes)} classes in {len(problem.y):,} rows are many; {what}.",
    )


def dates_without_time(problem: Problem) -> Iterator[Guard]:
    """A column of dates, where rows are held out at random."""
    if problem.times is not None or (problem.groups is not None and not problem.copies):
        return
    dates = [name for name, kind in problem.kinds.items() if kind == "date"]
    if dates:
        yield Guard(
            *("time", dates[0]),
            f"{dates[0]}: it holds dates, but rows are held out at random; if later rows are to "
            f"be predicted from earlier ones, give --time {quote(dates[0])} for an honest "
            "estimate.",
        )


def leaks(problem: Problem) -> Iterator[Guard]:
    """Columns that tell the target all by themselves, on rows held out."""
    y = problem.y
    if len(y) < _FEWEST_ROWS:
        return
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(y))[:_MOST_ROWS]
    half = len(rows) // 2
    target = (
        y[rows].astype(np.float64)
        if problem.regression
        else np.unique(y[rows], return_inverse=True)[1]
    )
    if problem.regression:
        guess = float(target[half:].var())
    else:
        guess = float(np.mean(target[half:] != np.bincount(target).argmax()))
        if guess * (len(rows) - half) < _FEWEST_OTHERS:
            return
    if not guess:
        return
    for name, kind in problem.kinds.items():
        if kind not in ("number", "text"):
            continue
        values = as_kind(problem.table[name].iloc[rows], kind, problem.formats.get(name))
        predicted = _by_itself(values, kind, target, half, problem.regression)
        if problem.regression:
            # Beyond all that was seen, a column by itself tells nothing.
            left = float(np.nanmean((predicted - target[half:]) ** 2)) / guess
            found = left <= _LEFT_OF_VARIANCE
            how = f"R2 {1 - left:.3f}"
        else:
            error = float(np.mean(predicted != target[half:]))
            left = error / guess
            found = left <= _LEFT_OF_ERROR
            how = f"{percent(1 - error)} right"
        if found:
            yield Guard(
                *("leak", name),
                f"{name} alone decides {problem.target} ({how} on rows held out at random); if it "
                f"is known only once {problem.target} is, leave it out with --drop {quote(name)}.",
            )


def _by_itself(
    values: Any, kind: str, target: np.ndarray, half: int, regression: bool
) -> np.ndarray:
    """What one column predicts of the second half of rows from the first.

    It is what the first half has at the same value, or at the nearest one: the commonest class,
    or the mean; NaN for numbers beyond all of the first half.
    """
    import pandas as pd

    if kind == "number":
        numbers = values.to_numpy(dtype=np.float64)
        numbers = np.where(np.isnan(numbers), np.nanmin(numbers, initial=0.0) - 1.0, numbers)
        different, code = np.unique(numbers, return_inverse=True)
    else:
        code, different = pd.factorize(values, use_na_sentinel=False)
    known, truth = code[:half], target[:half]
    counts = np.bincount(known, minlength=len(different))
    if regression:
        sums = np.bincount(known, weights=truth, minlength=len(different))
        answer = np.where(counts > 0, sums / np.maximum(counts, 1), truth.mean())
    else:
        n_classes = int(target.max()) + 1
        table = np.bincount(known * n_classes + truth, minlength=len(different) * n_classes)
        commonest = table.reshape(len(different), n_classes).argmax(axis=1)
        answer = np.where(counts > 0, commonest, np.bincount(truth).argmax())
    if kind == "number":
        seen = np.flatnonzero(counts)
        after = np.clip(np.searchsorted(different[seen], different), 1, max(len(seen) - 1, 1))
        after = np.minimum(after, len(seen) - 1)
        before = np.maximum(after - 1, 0)
        left, right = different[seen[before]], different[seen[after]]
        near = seen[np.where(different - left <= right - different, before, after)]
        if regression:
            # Between two values the line through them, which a formula follows.
            width = np.where(right > left, right - left, 1.0)
            share = np.clip((different - left) / width, 0.0, 1.0)
            between = answer[seen[before]] * (1 - share) + answer[seen[after]] * share
            outside = (different < different[seen[0]]) | (different > different[seen[-1]])
            answer = np.where(counts > 0, answer, np.where(outside, np.nan, between))
        else:
            answer = answer[near]
    return answer[code[half:]]
