"""Guards against tables that mislead: each is a remark that says what to do.

Rows may belong to one subject (a mouse, a patient, a batch), with an id or without. A model that
has seen a subject recognizes it: rows that are held out at random then look better than new
subjects. Columns that are constant within a subject reveal it, and so does a column that hardly
changes from one row to the next. Whether it matters is tried out: a quick forest predicts rows
that are held out at random, and rows that are held out by subject. The same is done by time, if a
column has dates, or rises from row to row and has the name of a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from covey._folds import Folds
from covey._intervals import mean_interval
from covey._number_words import listed, percent
from covey.evaluation._record import Remark
from covey.inspection._effects import _as_days
from covey.tables import TablePreparation
from covey.tables._kinds import as_kind

if TYPE_CHECKING:
    from covey.cli._problem import Problem

# A column decides alone if it leaves at most this share of the error (of the variance) of a guess.
_LEFT_OF_ERROR = 0.02
_LEFT_OF_VARIANCE = 0.005
# With fewer rows, or fewer rows of other classes than the commonest, it may be chance.
_FEWEST_ROWS = 40
_FEWEST_OTHERS = 10
_MOST_ROWS = 5_000
# More classes than this, or more than one per this many rows, are many.
_MANY_CLASSES = 30
_ROWS_A_CLASS = 10
_FEWEST_MANY = 10


# A subject has this many rows on average, and there are this many subjects.
_FEWEST_ROWS_EACH, _FEWEST_SUBJECTS = 2.0, 6
_MOST_ROWS_LOOKED_AT, _MOST_COLUMNS, _MOST_ANCHORS = 4_000, 40, 12
# A column is related to another if it splits the other's values this much less than by chance.
_LEAST_SPLIT = 0.25
# If subjects are runs of rows, a column changes from row to row this much less than by chance.
_SLOW, _LEAST_SHARED = 0.5, 0.35
_MOST_NAMED = 3
_ROWS_TRIED, _PARTS, _TREES = 1_500, 3, 30
# The loss by subject must be this large, and beyond chance this large.
_LEAST_LOSS, _LEAST_SURE = 0.06, 0.02
_CONFIRMED_BY = (1, 2)
# Of rows by time, the last third is predicted by the others; errors are averaged over this many
# pieces of it, since rows of about the same time are alike.
_LATER, _PIECES = 2 / 3, 12
_Folding = Callable[[int], Folds]  # of a seed
# Names of columns of times, if they are numbers.
_TIME = re.compile(r"(?i)(^|[^a-z])(date|day|time|hour|week|month|year|quarter)s?([^a-z]|$)")
# Names of columns of subjects.
_ID = re.compile(
    r"(^|[^a-z])(id|subject|patient|person|participant|speaker|animal|mouse|rat|user|customer|"
    r"client|student|household|family|donor|session|batch|device|machine|site)([^a-z]|id|no|num|s?$)",
    re.IGNORECASE,
)


def guards(problem: Problem) -> Iterator[Remark]:
    """Yield all remarks about a problem."""
    yield from many_classes(problem)
    of_subjects: set[str] = set()
    if problem.split == "chance":
        yield from later_rows(problem)
        found = repeated_subjects(problem)
        if found is not None:
            of_subjects.update(found.columns)
            sentence = found.sentence(problem.target, problem.regression)
            yield Remark("group", " + ".join(found.columns), sentence)
    yield from (guard for guard in leaks(problem) if guard.column not in of_subjects)


def many_classes(problem: Problem) -> Iterator[Remark]:
    """Warn of more classes than make sense."""
    if problem.regression:
        return
    classes, counts = np.unique(problem.y, return_counts=True)
    if len(classes) <= max(_FEWEST_MANY, min(_MANY_CLASSES, len(problem.y) / _ROWS_A_CLASS)):
        return
    numbers = np.issubdtype(classes.dtype, np.number)
    what = (
        "if they are a quantity, give --task numbers"
        if numbers
        else f"{(counts < _ROWS_A_CLASS).sum()} of them have fewer than {_ROWS_A_CLASS} rows; "
        "join rare ones, or give a target of fewer"
    )
    yield Remark(
        *("classes", problem.target),
        f"{problem.target}: {len(classes)} classes in {len(problem.y):,} rows are many; {what}.",
    )


# -- columns that decide alone --------------------------------------------------------------------


def leaks(problem: Problem) -> Iterator[Remark]:
    """Warn of columns that determine the target by themselves, on rows held out."""
    y, regression = problem.y, problem.regression
    if len(y) < _FEWEST_ROWS:
        return
    rows = np.random.default_rng(0).permutation(len(y))[:_MOST_ROWS]
    half = len(rows) // 2
    if regression:
        target = y[rows].astype(np.float64)
        guess, most_left = float(target[half:].var()), _LEFT_OF_VARIANCE
    else:
        target = np.unique(y[rows], return_inverse=True)[1]
        wrong = target[half:] != np.bincount(target).argmax()
        guess, most_left = float(wrong.mean()), _LEFT_OF_ERROR
        if wrong.sum() < _FEWEST_OTHERS:
            return
    for name, kind in problem.kinds.items() if guess else ():
        if kind not in ("number", "text"):
            continue
        values = as_kind(problem.table[name].iloc[rows], kind)
        predicted, truth = _by_itself(values, kind, target, half, regression), target[half:]
        # Beyond the range of the rows, a column by itself predicts nothing.
        left = np.nanmean((predicted - truth) ** 2 if regression else predicted != truth)
        if left <= most_left * guess:
            how = f"R2 {1 - left / guess:.3f}" if regression else f"{percent(1 - left)} right"
            yield Remark(
                *("leak", name),
                f"{name} alone decides {problem.target} ({how} on rows held out at random); if it "
                f"is known only once {problem.target} is, leave it out with --drop {quote(name)}.",
            )


def _by_itself(
    values: Any, kind: str, target: np.ndarray, half: int, regression: bool
) -> np.ndarray:
    """Return the predictions of one column for the second half of rows from the first.

    A prediction is the outcome in the first half at the same value, or at the nearest one: the
    commonest class, or the mean, and between two numbers the line through both, which a formula
    follows; NaN for numbers beyond all of the first half.
    """
    if kind == "number":
        numbers = values.to_numpy(dtype=np.float64)
        numbers = np.where(np.isnan(numbers), np.nanmin(numbers, initial=0.0) - 1.0, numbers)
        different, code = np.unique(numbers, return_inverse=True)
    else:
        code, different = pd.factorize(values, use_na_sentinel=False)
    known, truth = code[:half], target[:half]
    counts = np.bincount(known, minlength=len(different))
    seen = np.flatnonzero(counts)
    if regression:
        means = np.bincount(known, truth, minlength=len(different)) / np.maximum(counts, 1)
        if kind == "number":
            ends = {"left": np.nan, "right": np.nan}
            answer = np.interp(different, different[seen], means[seen], **ends)
        else:
            answer = np.where(counts > 0, means, truth.mean())
    else:
        n_classes = int(target.max()) + 1
        table = np.bincount(known * n_classes + truth, minlength=len(different) * n_classes)
        answer = table.reshape(len(different), n_classes).argmax(axis=1)
        if kind == "number":
            halfway = (different[seen][1:] + different[seen][:-1]) / 2
            answer = answer[seen[np.searchsorted(halfway, different)]]
        else:
            answer = np.where(counts > 0, answer, np.bincount(truth).argmax())
    return answer[code[half:]]


# -- rows of one subject --------------------------------------------------------------------------


@dataclass(frozen=True)
class Subjects:
    """Rows by subject, and the results of a quick forest on rows held out in two ways.

    Attributes
    ----------
    columns : tuple of str
        Columns that are constant within each subject.
    rows : ndarray of shape (n_rows,)
        The number of each row's subject.
    by_runs : bool
        Whether subjects are runs of adjacent rows, for which the columns are not enough.
    mixed, together : float
        The share of rows that is right (or R2) if rows are held out at random, and if those of a
        subject are held out together.
    """

    columns: tuple[str, ...]
    rows: np.ndarray
    by_runs: bool = False
    mixed: float = np.nan
    together: float = np.nan

    @property
    def n_subjects(self) -> int:
        """The number of subjects."""
        return int(self.rows.max()) + 1

    def sentence(self, target: str, regression: bool) -> str:
        """Describe the finding, with both numbers, and the remedy."""
        each = f"{len(self.rows) / self.n_subjects:,.0f} rows each"
        names, remedy = listed(self.columns), f"give --group {quote('+'.join(self.columns))}"
        if self.by_runs:
            found = f"{names} stay the same within {self.n_subjects:,} runs of rows ({each})"
            what = "of a run"
            remedy = "number the runs in a column of their own and give it to --group"
        elif len(self.columns) == 1:
            found = f"{names}: its {self.n_subjects:,} values repeat ({each})"
            what = f"of one {names}"
        else:
            found = f"{names} take only {self.n_subjects:,} values together ({each})"
            what = "with one of these values"
        mixed, together = (_right(share, regression) for share in (self.mixed, self.together))
        return (
            f"{found}, as if each were one subject that a model knows again: of {target} a quick "
            f"forest gets {mixed} on rows that are held out at random, and "
            f"{together} where all rows {what} are held out together. If new "
            f"ones are to be predicted, {remedy}."
        )


def repeated_subjects(problem: Problem) -> Subjects | None:
    """Find columns that divide the rows into subjects that a model would recognize, if any do."""
    codes: dict[str, np.ndarray] = {}  # of columns whose values repeat; gaps are a value
    for name, kind in problem.kinds.items():
        if kind in ("number", "text"):
            values = as_kind(problem.table[name], kind)
            code = pd.factorize(values, use_na_sentinel=False)[0]
            if 1 < code.max() + 1 <= len(code) / _FEWEST_ROWS_EACH:
                codes[name] = code
    candidates = _by_ids(problem), _by_columns(problem, codes), _by_runs(problem, codes)
    tried = (_tried(problem, candidate) for candidate in chain.from_iterable(candidates))
    return next(filter(None, tried), None)


def _by_ids(problem: Problem) -> Iterator[Subjects]:
    """Yield subjects by columns of ids that repeat, which are not learned from."""
    for name in problem.table.columns.difference([*problem.kinds, problem.target]):
        if _ID.search(str(name)):
            rows = pd.factorize(problem.table[name].astype(str))[0]  # cells may hold lists
            if _FEWEST_SUBJECTS <= rows.max() + 1 <= len(rows) / _FEWEST_ROWS_EACH:
                yield Subjects((name,), rows)


def _joined(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return a number for each combination of two values."""
    return np.unique(one * (other.max() + 1) + other, return_inverse=True)[1]


# -- columns that are constant together -----------------------------------------------------------


def _by_columns(problem: Problem, codes: dict[str, np.ndarray]) -> Iterator[Subjects]:
    """Yield subjects by columns on which others, or the target, depend: the strongest first."""
    rng = np.random.default_rng(0)
    n_rows, some = len(problem.y), slice(_MOST_ROWS_LOOKED_AT)
    sizes = {name: int(code.max()) + 1 for name, code in codes.items()}
    names = sorted(codes, key=lambda name: -sizes[name])
    anchors = [name for name in names if sizes[name] >= _FEWEST_SUBJECTS][:_MOST_ANCHORS]
    others = {name: codes[name][some] for name in names[:_MOST_COLUMNS]}
    target = np.unique(problem.y, return_inverse=True)[1][some]
    goes: dict[str, list[str]] = {}
    decides: dict[str, bool] = {}
    for anchor in anchors:
        own = codes[anchor][some]
        with_it = [n for n, code in others.items() if n != anchor and _goes_with(own, code, rng)]
        decides[anchor] = _goes_with(own, target, rng)
        if with_it or decides[anchor] or _ID.search(anchor):
            goes[anchor] = with_it
    seen: list[np.ndarray] = []
    order = sorted(goes, key=lambda name: (not decides[name], -len(goes[name]), -sizes[name]))
    for anchor in order:
        columns, joined = [anchor], codes[anchor]
        while len(columns) < _MOST_NAMED:
            finer = {name: _joined(joined, codes[name]) for name in goes[anchor]}
            best = max(finer, key=lambda name: finer[name].max(), default=None)
            if best is None or finer[best].max() == joined.max():
                break
            columns.append(best)
            joined = finer[best]
        if joined.max() + 1 > n_rows / _FEWEST_ROWS_EACH:
            continue
        if any(len(np.unique(one * (joined.max() + 1) + joined)) == one.max() + 1 for one in seen):
            continue  # a coarser division of the same
        seen.append(joined)
        yield Subjects(tuple(columns), joined)
        if len(seen) == 2:
            return


def _goes_with(anchor: np.ndarray, other: np.ndarray, rng: np.random.Generator) -> bool:
    """Return whether a column is nearly always constant within the values of another one."""

    def pairs(code: np.ndarray) -> int:
        return len(np.unique(anchor * (int(code.max()) + 1) + code))

    least = len(np.unique(anchor))
    if len(np.unique(other)) > len(other) / _FEWEST_ROWS_EACH:
        return False
    by_chance = pairs(rng.permutation(other)) - least
    return by_chance > 0 and pairs(other) - least <= _LEAST_SPLIT * by_chance


# -- columns that are constant from row to row ----------------------------------------------------


def _by_runs(problem: Problem, codes: dict[str, np.ndarray]) -> Iterator[Subjects]:
    """Yield runs of rows in which several columns never vary, unless rows are sorted by them."""
    slow: dict[str, np.ndarray] = {}
    for name in _unsorted(problem, codes):
        code = codes[name]
        changes = np.flatnonzero(np.diff(code)) + 1
        chance = 1.0 - np.sum(np.square(np.bincount(code) / len(code)))
        if 0 < len(changes) <= _SLOW * chance * (len(code) - 1):
            slow[name] = changes
    if len(slow) < 2:
        return
    # They change at the same rows far more often than by chance, though not at all of them.
    fastest = max(slow, key=lambda name: len(slow[name]))
    n_rows = len(codes[fastest])
    least = max(_LEAST_SHARED, 3 * len(slow[fastest]) / n_rows)
    together = [name for name in slow if np.isin(slow[name], slow[fastest]).mean() > least]
    starts = np.unique(np.concatenate([slow[fastest], *(slow[name] for name in together)]))
    n_runs = len(starts) + 1
    if len(together) > 1 and _FEWEST_SUBJECTS <= n_runs <= n_rows / _FEWEST_ROWS_EACH:
        together.sort(key=lambda name: -len(slow[name]))
        runs = np.searchsorted(starts, np.arange(n_rows), side="right")
        yield Subjects(tuple(together[:_MOST_NAMED]), runs, by_runs=True)


def _unsorted(problem: Problem, codes: dict[str, np.ndarray]) -> Iterator[str]:
    """Yield columns by which the rows are not sorted, not even within other sorted columns.

    Numbers are sorted if they rise or fall, words if each has its place.
    """
    n_changes = {name: np.count_nonzero(np.diff(code)) for name, code in codes.items()}
    block = np.zeros(len(problem.y), dtype=np.intp)
    for name in sorted(codes, key=lambda name: n_changes[name]):
        code, inside = codes[name], np.diff(block) == 0
        within = _joined(block, code)
        if problem.kinds[name] == "number":
            # The values themselves: codes are in the order in which values occur.
            rank = np.unique(problem.table[name].to_numpy(), return_inverse=True)[1]
            steps = np.diff(rank)[inside]
            is_sorted = (steps >= 0).all() or (steps <= 0).all()
        else:
            is_sorted = np.count_nonzero(np.diff(within)) == within.max()
        if is_sorted:
            block = np.cumsum(np.append(0, np.diff(within) != 0))
        else:
            yield name


# -- rows that follow each other in time ----------------------------------------------------------


def later_rows(problem: Problem) -> Iterator[Remark]:
    """Warn of a column of times if later rows are predicted much worse than rows at random."""
    for name, times in _times(problem):
        found = _tried_later(problem, times)
        if found is not None:
            at_random, alone = (_right(share, problem.regression) for share in found)
            yield Remark(
                *("time", name),
                f"{name}: of {problem.target} a quick forest gets {at_random} on the latest third "
                f"of the rows if rows are held out at random, and {alone} from the earlier rows "
                f"alone; if later rows are to be predicted, give --time {quote(name)}.",
            )
            return


def _times(problem: Problem) -> Iterator[tuple[str, np.ndarray]]:
    """Yield columns that tell when a row came, with ranks: dates, or times that rise."""
    for column in problem.columns:
        name, values = column.name, problem.table[column.name]
        if column.kind != "date" and not (column.kind == "number" and _TIME.search(name)):
            continue
        times = as_kind(values, column.kind, column.form)
        times = pd.Series(_as_days(times)) if column.kind == "date" else times
        rises = times.is_monotonic_increasing or times.is_monotonic_decreasing
        if (rises or column.kind == "date") and times.notna().all() and times.nunique() > _PIECES:
            yield name, times.rank(method="dense").to_numpy(dtype=np.int64)


# -- whether it matters ---------------------------------------------------------------------------


def _tried(problem: Problem, subjects: Subjects) -> Subjects | None:
    """Compare rows that are held out at random and by subject; None if it matters little."""
    rng = np.random.default_rng(0)
    order = rng.permutation(subjects.n_subjects)
    sizes = np.bincount(subjects.rows)[order]
    if 2 * sizes.max() > len(subjects.rows):
        return None  # a value that most rows have is no subject
    # As many subjects as there is room for, with all of their rows.
    n_kept = max(2 * _PARTS, int(np.searchsorted(np.cumsum(sizes), _ROWS_TRIED)))
    rows = np.flatnonzero(np.isin(subjects.rows, order[:n_kept]))
    groups = subjects.rows[rows]
    named = set(subjects.columns) if len(subjects.columns) == 1 else set()
    if len(np.unique(groups)) < _PARTS:
        return None
    found = _shares(problem, rows, named, partial(_parts, groups), groups)
    return found and replace(subjects, mixed=found[0], together=found[1])


def _tried_later(problem: Problem, times: np.ndarray) -> tuple[float, float] | None:
    """Compare the latest rows, held out at random and all together; None if it matters little."""
    rows = np.random.default_rng(0).permutation(len(times))[:_ROWS_TRIED]
    rows = rows[np.argsort(times[rows], kind="stable")]
    later = times[rows] > np.quantile(times[rows], _LATER, method="lower")
    if later.sum() <= _PIECES:
        return None
    by_time = np.flatnonzero(~later), np.flatnonzero(later)
    pieces = np.cumsum(later) * _PIECES // (later.sum() + 1)
    return _shares(problem, rows, set(), lambda seed: [by_time], pieces)


def _parts(groups: np.ndarray, seed: int) -> Folds:
    from sklearn.model_selection import GroupKFold

    return list(GroupKFold(_PARTS, shuffle=True, random_state=seed).split(groups, groups=groups))


def _shares(
    problem: Problem, rows: np.ndarray, without: set[str], apart: _Folding, units: np.ndarray
) -> tuple[float, float] | None:
    """Return the shares that are right (or R2), rows held out in two ways; None if they are near.

    A forest predicts rows that are held out at random, and the same rows by the folds ``apart`` of
    a seed. Errors of rows of one of the ``units`` depend on each other; columns ``without`` are
    not learned from.
    """
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    kinds = {name: kind for name, kind in problem.kinds.items() if name not in without}
    y, regression = problem.y[rows], problem.regression
    if not kinds or len(np.unique(y)) < 2:
        return None
    preparation = TablePreparation(columns=kinds, random_state=0)
    X = np.nan_to_num(preparation.fit_transform(problem.take(rows)[list(kinds)]).to_numpy())
    unit = float(np.var(y)) if regression else 1.0
    kind: Any = ExtraTreesRegressor if regression else ExtraTreesClassifier

    def errors(folds: Folds, seed: int) -> np.ndarray:
        """Return the error of each row (0 or 1, or squared); NaN where no fold holds it out."""
        found = np.full(len(y), np.nan)
        for train, test in folds:
            forest = kind(_TREES, max_features=0.5, random_state=seed).fit(X[train], y[train])
            said = forest.predict(X[test])
            found[test] = (said - y[test]) ** 2 if regression else said != y[test]
        return found

    mixed = together = np.zeros(0)
    at_random = partial(_parts, np.arange(len(y)))
    # Other seeds confirm the first result, so that a lucky division is not reported.
    for seeds in ((0,), _CONFIRMED_BY):
        found = np.mean([[errors(w(seed), seed) for w in (at_random, apart)] for seed in seeds], 0)
        judged = np.isfinite(found[1])
        mixed, together = found[:, judged]
        lost = mean_interval((together - mixed) / unit, units[judged])
        if lost.low < _LEAST_SURE or lost.value < _LEAST_LOSS:
            return None
    return float(1 - mixed.mean() / unit), float(1 - together.mean() / unit)


def _right(share: float, regression: bool) -> str:
    return f"R2 {share:.2f}" if regression else f"{100 * share:.0f} % right"
