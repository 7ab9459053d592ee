"""Rows that belong to one subject (a mouse, a patient, a batch), with an id or without.

A model that has seen a subject knows it again: rows that are held out at random then promise more
than new subjects keep. Columns that stay the same within a subject give it away, and so does a
column that hardly changes from one row to the next. Whether it matters is tried out: a quick
forest predicts rows that are held out at random, and rows that are held out by subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from covey._intervals import mean_interval
from covey._number_words import listed
from covey.tables._kinds import as_kind

if TYPE_CHECKING:
    from covey.cli._problem import Problem

# A subject has this many rows on average, and there are this many subjects.
_FEWEST_ROWS_EACH, _FEWEST_SUBJECTS = 2.0, 6
_MOST_ROWS, _MOST_COLUMNS, _MOST_ANCHORS = 4_000, 40, 12
# A column goes with another one if it splits the other's values this much less than by chance.
_LEAST_SPLIT = 0.25
# A column changes this much less often from row to row than by chance where subjects are in runs.
_SLOW, _LEAST_SHARED = 0.5, 0.35
_MOST_NAMED = 3
_ROWS_TRIED, _PARTS, _TREES = 1_500, 3, 30
# What is lost by subject must be this much, and beyond chance this much.
_LEAST_LOSS, _LEAST_SURE = 0.06, 0.02
_CONFIRMED_BY = (1, 2)
# Names of columns of subjects.
_ID = re.compile(
    r"(^|[^a-z])(id|subject|patient|person|participant|speaker|animal|mouse|rat|user|customer|"
    r"client|student|household|family|donor|session|batch|device|machine|site)([^a-z]|id|no|num|s?$)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Subjects:
    """Rows by subject, and what a quick forest reaches on rows held out in two ways.

    Attributes
    ----------
    columns : tuple of str
        Columns that are the same within each subject; none vary within its rows.
    rows : ndarray of shape (n_rows,)
        The number of each row's subject.
    by_runs : bool
        Whether subjects are runs of adjacent rows, for which the columns are not enough.
    mixed, together : float
        The share of rows that is right (or R2) where rows are held out at random, and where those
        of a subject are held out together.
    """

    columns: tuple[str, ...]
    rows: np.ndarray
    by_runs: bool = False
    mixed: float = np.nan
    together: float = np.nan

    @property
    def n_subjects(self) -> int:
        """Count the subjects."""
        return int(self.rows.max()) + 1

    def sentence(self, target: str, regression: bool) -> str:
        """What is found, in both numbers, and what to do."""
        each = f"{len(self.rows) / self.n_subjects:,.0f} rows each"
        names = listed(self.columns)
        if len(self.columns) == 1 and not self.by_runs:
            found = f"{names}: its {self.n_subjects:,} values repeat ({each})"
            what, remedy = f"of one {names}", f"give --group {quote(self.columns[0])}"
        elif self.by_runs:
            found = f"{names} stay the same within {self.n_subjects:,} runs of rows ({each})"
            what = "of a run"
            remedy = "number the runs in a column of their own and give it to --group"
        else:
            found = f"{names} take only {self.n_subjects:,} values together ({each})"
            what = "with one of these values"
            remedy = f"give --group {quote('+'.join(self.columns))}"

        def right(share: float) -> str:
            return f"R2 {share:.2f}" if regression else f"{100 * share:.0f} % right"

        return (
            f"{found}, as if each were one subject that a model knows again: of {target} a quick "
            f"forest gets {right(self.mixed)} on rows that are held out at random, and "
            f"{right(self.together)} where all rows {what} are held out together. If new "
            f"ones are to be predicted, {remedy}."
        )


def repeated_subjects(problem: Problem) -> Subjects | None:
    """Find what divides the rows into subjects that a model would know again, if anything does."""
    codes = dict(_coded(problem))
    candidates = _by_ids(problem), _by_columns(problem, codes), _by_runs(problem, codes)
    for candidate in chain.from_iterable(candidates):
        found = _tried(problem, candidate)
        if found is not None:
            return found
    return None


def _by_ids(problem: Problem) -> Iterator[Subjects]:
    """Columns of ids that repeat, of which nothing is learned."""
    import pandas as pd

    for name in problem.table.columns.difference([*problem.kinds, problem.target]):
        if not _ID.search(str(name)):
            continue
        rows = pd.factorize(problem.table[name].astype(str))[0]  # cells may hold lists
        if _FEWEST_SUBJECTS <= rows.max() + 1 <= len(rows) / _FEWEST_ROWS_EACH:
            yield Subjects((name,), rows)


def _coded(problem: Problem) -> Iterator[tuple[str, np.ndarray]]:
    """The columns whose values repeat, as numbers; gaps are a value."""
    import pandas as pd

    for name, kind in list(problem.kinds.items()):
        if kind not in ("number", "text"):
            continue
        values = as_kind(problem.table[name], kind, problem.formats.get(name))
        code = pd.factorize(values, use_na_sentinel=False)[0]
        if 1 < code.max() + 1 <= len(code) / _FEWEST_ROWS_EACH:
            yield name, code


def _joined(codes: list[np.ndarray]) -> np.ndarray:
    """A number for each combination of values."""
    found = codes[0]
    for code in codes[1:]:
        found = np.unique(found * (code.max() + 1) + code, return_inverse=True)[1]
    return found


# -- columns that stay the same together ----------------------------------------------------------


def _by_columns(problem: Problem, codes: dict[str, np.ndarray]) -> Iterator[Subjects]:
    """Columns with which others, or the target, go together: those with the most others first."""
    rng = np.random.default_rng(0)
    n_rows = len(problem.y)
    rows = np.arange(n_rows)[:_MOST_ROWS]
    sizes = {name: int(code.max()) + 1 for name, code in codes.items()}
    anchors = [name for name, size in sizes.items() if size >= _FEWEST_SUBJECTS]
    anchors.sort(key=lambda name: -sizes[name])
    names = sorted(codes, key=lambda name: -sizes[name])[:_MOST_COLUMNS]
    target = np.unique(problem.y, return_inverse=True)[1]
    goes: dict[str, list[str]] = {}
    decides: dict[str, bool] = {}
    for anchor in anchors[:_MOST_ANCHORS]:
        own = codes[anchor][rows]
        goes[anchor] = [
            name for name in names if name != anchor and _goes_with(own, codes[name][rows], rng)
        ]
        decides[anchor] = _goes_with(own, target[rows], rng)
        if not (goes[anchor] or decides[anchor] or _ID.search(anchor)):
            del goes[anchor]
    seen: list[np.ndarray] = []
    order = sorted(goes, key=lambda name: (not decides[name], -len(goes[name]), -sizes[name]))
    for anchor in order:
        columns, joined = [anchor], codes[anchor]
        while len(columns) < _MOST_NAMED:
            finer = {name: _joined([joined, codes[name]]) for name in goes[anchor]}
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
    """Return whether a column is nearly always the same within the values of another one."""

    def pairs(code: np.ndarray) -> int:
        return len(np.unique(anchor * (int(code.max()) + 1) + code))

    least = len(np.unique(anchor))
    if len(np.unique(other)) > len(other) / _FEWEST_ROWS_EACH:
        return False
    by_chance = pairs(rng.permutation(other)) - least
    return by_chance > 0 and pairs(other) - least <= _LEAST_SPLIT * by_chance


# -- columns that stay the same from row to row ---------------------------------------------------


def _by_runs(problem: Problem, codes: dict[str, np.ndarray]) -> Iterator[Subjects]:
    """Runs of rows in which several columns never vary, where no order of the rows explains it."""
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
    starts = np.unique(np.concatenate([slow[name] for name in together]))
    n_runs = len(starts) + 1
    if len(together) > 1 and _FEWEST_SUBJECTS <= n_runs <= n_rows / _FEWEST_ROWS_EACH:
        together.sort(key=lambda name: -len(slow[name]))
        runs = np.searchsorted(starts, np.arange(n_rows), side="right")
        yield Subjects(tuple(together[:_MOST_NAMED]), runs, by_runs=True)


def _unsorted(problem: Problem, codes: dict[str, np.ndarray]) -> Iterator[str]:
    """Columns by which the rows are not sorted, be it within the columns that they are sorted by.

    Numbers are sorted if they rise or fall, words if each has its place.
    """
    n_changes = {name: np.count_nonzero(np.diff(code)) for name, code in codes.items()}
    block = np.zeros(len(problem.y), dtype=np.intp)
    for name in sorted(codes, key=lambda name: n_changes[name]):
        code, inside = codes[name], np.diff(block) == 0
        within = _joined([block, code])
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


# -- what it matters ------------------------------------------------------------------------------


def _tried(problem: Problem, subjects: Subjects) -> Subjects | None:
    """Compare rows that are held out at random and by subject; None where it matters little."""
    from covey.tables import TablePreparation

    rng = np.random.default_rng(0)
    order = rng.permutation(subjects.n_subjects)
    sizes = np.bincount(subjects.rows)[order]
    # As many subjects as there is room for, with all of their rows.
    n_kept = max(2 * _PARTS, int(np.searchsorted(np.cumsum(sizes), _ROWS_TRIED)))
    rows = np.flatnonzero(np.isin(subjects.rows, order[:n_kept]))
    groups = subjects.rows[rows]
    named = set(subjects.columns) if len(subjects.columns) == 1 else set()
    kinds = {name: kind for name, kind in problem.kinds.items() if name not in named}
    if not kinds or len(np.unique(groups)) < _PARTS:
        return None
    preparation = TablePreparation(columns=kinds, random_state=0)
    X = np.nan_to_num(preparation.fit_transform(problem.take(rows)[list(kinds)]).to_numpy())
    y = problem.y[rows]
    regression = problem.regression
    guess = (
        float(np.var(y)) if regression else 1 - np.unique(y, return_counts=True)[1].max() / len(y)
    )
    if not guess:
        return None
    unit = guess if regression else 1.0
    # Other seeds confirm what the first one finds, lest a lucky division be told.
    for seeds in ((0,), _CONFIRMED_BY):
        mixed, together = np.mean(
            [_held_out_errors(X, y, groups, regression, seed) for seed in seeds], axis=0
        )
        lost = mean_interval((together - mixed) / unit, groups)
        if lost.low < _LEAST_SURE or lost.value < _LEAST_LOSS:
            return None
    return replace(
        subjects,
        mixed=float(1 - mixed.mean() / unit),
        together=float(1 - together.mean() / unit),
    )


def _held_out_errors(
    X: np.ndarray, y: np.ndarray, groups: np.ndarray, regression: bool, seed: int
) -> tuple[np.ndarray, ...]:
    """The error of each row (0 or 1, or squared) by forests that were grown without it.

    Rows are held out at random first, then by group.
    """
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
    from sklearn.model_selection import GroupKFold

    kind = ExtraTreesRegressor if regression else ExtraTreesClassifier
    parts = GroupKFold(_PARTS, shuffle=True, random_state=seed)
    found = []
    for kept_together in (np.arange(len(y)), groups):
        errors = np.empty(len(y))
        for train, test in parts.split(X, y, kept_together):
            forest = kind(_TREES, max_features=0.5, random_state=seed).fit(X[train], y[train])
            predicted = forest.predict(X[test])
            errors[test] = (predicted - y[test]) ** 2 if regression else predicted != y[test]
        found.append(errors)
    return tuple(found)
