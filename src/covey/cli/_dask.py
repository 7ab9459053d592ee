"""``covey fit --engine dask``: tables in blocks, on this machine or on a cluster."""

from __future__ import annotations

import time as clock
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from covey._judgement import LEAST_PROBABILITY
from covey.cli._console import CommandError, Console
from covey.cli._evaluate import Score
from covey.cli._fit_summary import show_fit
from covey.cli._fitting import flock
from covey.cli._problem import (
    FEWEST_ROWS,
    MOST_CLASSES,
    Problem,
    as_target,
    check_columns,
    check_enough,
    is_regression,
    note_columns,
)

_HELD_OUT = 0.25
# Rows that are brought to this process: enough for medians, and to notice ids.
_MOST_ROWS_SHOWN = 20_000
_MOST_CELLS_SHOWN = 4_000_000
# A column of text with fewer numbers than this is one of text.
_ENOUGH_NUMBERS = 0.9
# Seconds to wait for a scheduler, and for its workers.
_TIMEOUT = 10.0
_PLAIN = "or use --engine plain"


def fit_and_save(
    console: Console,
    path: str,
    target: str,
    *,
    model: str,
    report: str | None,
    effort: str,
    fuser: str | None,
    limits: dict[str, float],
    checkpoint: str | None,
    group: str | None,
    time: str | None,
    drop: Collection[str] | None,
    keep: Collection[str] | None,
    task: str,
    seed: int,
    scheduler: str | None,
    verbose: bool,
) -> None:
    """Look at a table block by block, evaluate, fit on all rows, save, and show it."""
    from covey.cli._models import keep_facts, save_model

    _refuse(group=group, time=time, report=report, fuser=fuser)
    import covey.dask  # noqa: F401 (names what to install)
    from covey.cli._dask_blocks import ALL
    from covey.cli._dask_reading import read_frame
    from covey.tables import TableClassifier, TableRegressor

    frame, text = read_frame(path)
    names = _number_columns(frame, target, drop or [], keep or [], text)
    started = clock.perf_counter()
    with _cluster(scheduler), console.progress(5, "looking") as step:
        table = _Table(frame[[*names, target]], target, names, text)
        step(f"looking at {len(table.blocks):,} blocks")
        problem = table.look(keep or [], task, seed, console)
        step("", 1)
        learner = flock(problem, effort=effort, fuser=fuser, limits=limits, seed=seed)
        files = [None, None] if checkpoint is None else [f"{checkpoint}.1", checkpoint]
        scores, gap, how = _evaluated(table, problem, learner, seed, files[0], step)
        step(f"flock, on all {table.n_answered:,} rows")
        kind = TableRegressor if problem.regression else TableClassifier
        fitted = kind(learner, columns=problem.kinds, random_state=seed)
        fitted._set_fitted(table.rows[ALL].preparation, table.fit(learner, ALL, files[1])[0])
        step("", 1)
    records = [one.as_record(problem.regression) for one in scores]
    keep_facts(fitted, problem, records, how, table.sample, table.n_answered)
    save_model(fitted, model, table.sample)
    for file in filter(None, files):
        Path(file).unlink(missing_ok=True)
    show_fit(
        console,
        problem,
        fitted,
        scores,
        gap=gap,
        how=how,
        n_rows=table.n_answered,
        rows=table.sample,
        model=model,
        report=None,
        seconds=clock.perf_counter() - started,
        verbose=verbose,
    )


def _refuse(*, group: str | None, time: str | None, report: str | None, fuser: str | None) -> None:
    """Refuse, by name, what needs all rows in one place."""
    from covey.fusers import FUSERS, make_fuser

    for option, value in (("--group", group), ("--time", time)):
        if value is not None:
            raise CommandError(
                f"{option}: with --engine dask rows are held out one by one, by chance; leave it "
                f"out, {_PLAIN}."
            )
    if report is not None:
        raise CommandError(
            "--report: with --engine dask no page is made of the rows held out; leave it out, and "
            "make one of other rows with covey report."
        )
    if fuser in FUSERS and fuser != "gate" and make_fuser(fuser).learns:
        raise CommandError(
            f"--fuser: {fuser} learns from all rows in one place, but with --engine dask they "
            "lie in blocks; use gate, or a fixed rule such as product or mean."
        )


def _number_columns(
    frame: Any, target: str, drop: Collection[str], keep: Collection[str], text: bool
) -> list[str]:
    """The columns to learn from; those that hold no numbers are refused by name."""
    from pandas.api import types

    check_columns(frame, target, drop=drop, keep=keep)
    names = [name for name in frame.columns if name != target and name not in drop]
    if not names:
        besides = "besides the target" if len(frame.columns) == 1 else "left to learn from"
        raise CommandError(f"the table has no column {besides}.")
    numeric = types.is_numeric_dtype, types.is_timedelta64_dtype
    kinds = frame.dtypes
    _refuse_text(
        [name for name in names if not (text or any(is_kind(kinds[name]) for is_kind in numeric))]
    )
    return names


def _refuse_text(names: Sequence[str], examples: dict[str, str] | None = None) -> None:
    if not names:
        return
    listed = ", ".join(
        f"{name!r} ({examples[name]!r})" if examples else repr(name) for name in names[:5]
    )
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    what, hold, them = ("columns", "hold", "them") if len(names) > 1 else ("column", "holds", "it")
    raise CommandError(
        f"the {what} {listed}{more} {hold} other things than numbers, and --engine dask takes "
        f"numbers only; encode {them} first, leave {them} out with --drop, {_PLAIN}."
    )


@contextmanager
def _cluster(address: str | None) -> Iterator[None]:
    """Let the scheduler at an address be that of the current client; None: no cluster."""
    if address is None:
        yield
        return
    import logging

    from distributed import Client

    # A lost connection is reported in one sentence instead.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=_TIMEOUT, set_as_default=False)
    except (OSError, TimeoutError):
        raise CommandError(
            f"--scheduler: no Dask scheduler answers at {address} within {_TIMEOUT:.0f} s; start "
            "one there, or leave the option out to work on this machine.",
            1,
        ) from None
    except ValueError:
        raise CommandError(
            f"--scheduler: {address!r} is no address; write it like tcp://10.0.0.1:8786."
        ) from None
    with client, client.as_current():
        try:
            client.wait_for_workers(1, timeout=_TIMEOUT)
        except TimeoutError:
            raise CommandError(
                f"--scheduler: the scheduler at {address} has no workers; start some.", 1
            ) from None
        try:
            yield
        except ModuleNotFoundError as error:
            raise CommandError(
                f"--scheduler: what runs on the workers needs {error.name}; install covey[dask] "
                "for each of them.",
                1,
            ) from None


class _Table:
    """The blocks of a table of numbers, whose cells may be text."""

    sample: Any  # some rows with a target, evenly over the table, by their numbers
    n_answered: int  # rows whose target is known
    counts: np.ndarray  # how many rows each class has; of a quantity, all of them
    rows: dict[str, Any]  # how rows are prepared where all are fitted on, or some held out

    def __init__(self, frame: Any, target: str, names: list[str], text: bool) -> None:
        self.blocks = frame.to_delayed()
        self.target, self.names, self.text = target, names, text

    def _computed(self, function: Any, own: Sequence[tuple[Any, ...]], *shared: Any) -> Any:
        """What a function returns for each block, given what is the block's own and what not."""
        import dask

        call = dask.delayed(function, pure=False)
        shared = [dask.delayed(one, traverse=False) for one in shared]
        tasks = [call(block, *more, *shared) for block, more in zip(self.blocks, own, strict=True)]
        from covey.dask import current_backend

        with current_backend().computing():
            return dask.compute(*tasks)

    # -- look ------------------------------------------------------------------------------

    def look(self, keep: Collection[str], task: str, seed: int, console: Console) -> Problem:
        """Read all blocks once: target, gaps, ids, and where each block begins."""
        import pandas as pd

        from covey._core.random import Purpose, UniformRows
        from covey.cli._dask_blocks import ALL, FITTED_ON, Rows, see
        from covey.tables import TablePreparation

        shown = min(_MOST_ROWS_SHOWN, max(100, _MOST_CELLS_SHOWN // len(self.names)))
        a_block = -(-shown // len(self.blocks))
        nothing = [()] * len(self.blocks)
        seen = self._computed(see, nothing, self.target, self.names, self.text, a_block)
        n_rows = sum(one.n_rows for one in seen)
        problem = Problem(None, np.empty(0), self.target, False, note=console.note)
        codes, classes, self.counts = _target(problem, seen, self.text, task)
        self.n_answered = int(self.counts.sum())
        if self.n_answered < n_rows:
            console.note(
                f"{self.target}: {n_rows - self.n_answered:,} of {n_rows:,} rows have no target "
                "and are left out."
            )
        check_enough(self.n_answered)
        self.starts = np.cumsum([0, *(one.n_rows for one in seen)])[:-1].tolist()
        sample = pd.concat(
            one.sample.set_axis(one.sample.index + start)
            for one, start in zip(seen, self.starts, strict=True)
        )
        self.sample = sample.iloc[:: -(-len(sample) // shown)]
        problem.columns = _columns(self.names, seen, self.sample, n_rows, keep)
        note_columns(problem, console.note)
        draws = UniformRows(seed, Purpose.HOLD_OUT, 0, 0, 1)
        held_out = np.array([draws.read(int(row), 1)[0, 0] for row in self.sample.index])
        known = self.sample[held_out >= _HELD_OUT]
        if len(known) < 2:
            raise CommandError("too few rows are left to learn from; give more.")
        # Not even the medians depend on rows that are held out.
        self.rows = {}
        for part, rows in ((ALL, self.sample), (FITTED_ON, known)):
            preparation = TablePreparation(columns=problem.kinds, random_state=seed).fit(rows)
            how = self.target, self.text, preparation, codes, classes, seed, _HELD_OUT
            self.rows[part] = Rows(*how)
        return problem

    # -- fit and judge ---------------------------------------------------------------------

    def fit(self, learner: Any, part: str, checkpoint: str | None = None) -> tuple[Any, float]:
        """A learner fitted on some rows, and the seconds that it took."""
        import dask
        import dask.array as da
        import dask.dataframe as dd
        from sklearn.base import clone

        rows = self.rows[part]
        shared = dask.delayed(rows, traverse=False)
        pieces = [
            dask.delayed(_chosen, pure=False, nout=2)(block, start, shared, part)
            for block, start in zip(self.blocks, self.starts, strict=True)
        ]
        columns = rows.preparation.transform(self.sample.head(1)).head(0)
        X = dd.from_delayed([X for X, _ in pieces], meta=columns, verify_meta=False)
        dtype = rows.classes.dtype
        y = da.concatenate([da.from_delayed(y, (np.nan,), dtype) for _, y in pieces])
        started = clock.perf_counter()
        try:
            fitted = clone(learner).set_params(checkpoint=checkpoint).fit(X, y)
        except RuntimeError as error:
            raise CommandError(str(error), 1) from None
        return fitted.set_params(checkpoint=None), clock.perf_counter() - started

    def judged(self, models: Sequence[Any]) -> list[np.ndarray]:
        """How good models are on the rows held out; see `covey.cli._dask_blocks.judge`."""
        from covey.cli._dask_blocks import FITTED_ON, judge

        own = [(start,) for start in self.starts]
        results = self._computed(judge, own, self.rows[FITTED_ON], models)
        return [np.sum(parts, axis=0) for parts in zip(*results, strict=True)]


def _chosen(block: Any, start: int, rows: Any, part: str) -> tuple[Any, np.ndarray]:
    return rows.chosen(block, start, part)


# -- what is found -------------------------------------------------------------------------------


def _target(
    problem: Problem, seen: Sequence[Any], text: bool, task: str
) -> tuple[dict[Any, int] | None, np.ndarray, np.ndarray]:
    """The position of each value among the classes, these, and their counts.

    For a quantity None, no class, and the count of all rows; the problem is then a regression.
    """
    import pandas as pd

    counts: Counter[Any] = Counter()
    for one in seen:
        counts.update(one.values)
    if text:
        counts = _known_values(counts, problem)
    values = pd.Series(list(counts))
    if text and not values.astype(str).str.match(r"\s*[+-]?0\d").any():
        numbers = pd.to_numeric(values, errors="coerce")
        values = values if numbers.isna().any() else numbers
    n_rows = sum(counts.values())
    problem.regression = is_regression(values, n_rows, problem.target, task, problem.note)
    if problem.regression:
        odd = [one.odd for one in seen if one.odd is not None]
        if odd:
            raise CommandError(
                f"the target {problem.target!r} holds {odd[0]!r}, which is no number to learn; "
                "leave such cells empty."
            )
        return None, np.zeros(0), np.array([sum(one.n_numbers for one in seen)])
    classes, position = np.unique(as_target(values, False), return_inverse=True)
    if len(classes) > MOST_CLASSES:
        raise CommandError(
            f"the target {problem.target!r} has more than {MOST_CLASSES} different values: that "
            "names rows rather than classes; give another target."
        )
    sizes = np.bincount(position, list(counts.values()), len(classes)).astype(np.int64)
    return dict(zip(counts, position.tolist(), strict=True)), classes, sizes


def _known_values(counts: Counter[Any], problem: Problem) -> Counter[Any]:
    """The values of a text without the words for none, which a class may be called too."""
    import pandas as pd

    from covey.cli._reading import MISSING, SURELY_MISSING

    words = pd.Series([value for value in counts if value not in MISSING], dtype=object)
    left_out = MISSING
    if len(words) and pd.to_numeric(words, errors="coerce").isna().any():
        left_out = SURELY_MISSING
        for word in sorted(set(MISSING).difference(SURELY_MISSING).intersection(counts)):
            problem.note(
                f"{problem.target}: {word!r} is taken as a class; leave such cells empty if the "
                "answer is not known."
            )
    return Counter({value: n for value, n in counts.items() if value not in left_out})


def _columns(
    names: Sequence[str], seen: Sequence[Any], sample: Any, n_rows: int, keep: Collection[str]
) -> list[Any]:
    """The columns as they were found, those left out included."""
    from covey._kinds import look, not_numbers

    gaps, strange = (sum(getattr(one, what) for one in seen) for what in ("gaps", "strange"))
    codes = np.any([one.codes for one in seen], axis=0)
    low = np.min([one.low for one in seen], axis=0)
    high = np.max([one.high for one in seen], axis=0)
    examples: dict[str, str] = {}
    for one in reversed(seen):
        examples.update(one.examples)
    enough = strange <= (1 - _ENOUGH_NUMBERS) * (n_rows - gaps + strange)
    _refuse_text([name for name, bad in zip(names, codes | ~enough, strict=True) if bad], examples)
    columns = []
    for position, column in enumerate(look(sample[list(names)], keep)):
        name, drop, note = column.name, "", ""
        numbers = sample[name].dropna()
        different = len(sample) >= FEWEST_ROWS and numbers.nunique() == len(sample)
        whole = different and bool((numbers == np.floor(numbers)).all())
        counted = whole and high[position] - low[position] + 1 < 1.5 * n_rows
        empty = gaps[position] == n_rows
        if empty:
            drop = "it is empty"
        elif name in keep:
            drop = ""
        elif low[position] == high[position] and not gaps[position]:
            drop = "it has one value only"
        elif counted or (column.drop and different):
            drop = "it names the rows (every value is different)"
        if strange[position]:
            present = n_rows - int(gaps[position]) + int(strange[position])
            note = not_numbers(int(strange[position]), present, name, [examples[name]])
        kind = "empty" if empty else "number"
        missing = int(gaps[position])
        columns.append(replace(column, kind=kind, missing=missing, drop=drop, note=note))
    return columns


# -- how good it is ------------------------------------------------------------------------------


def _evaluated(
    table: _Table, problem: Problem, learner: Any, seed: int, checkpoint: str | None, step: Any
) -> tuple[list[Score], Any, str]:
    """Scores on rows held out of flock, simplest and linear model; their gap; and how."""
    from covey import members
    from covey.cli._dask_blocks import FITTED_ON

    # One member that never flips a feature: a plain linear model.
    how = {"n_estimators": 1, "flip_probability": 0.0, "random_state": seed}
    if problem.regression:
        line = members.SubsetEnsembleRegressor(fuser="mean", **how)
    else:
        line = members.SubsetEnsembleClassifier(fuser="product", **how)
    fitted = []
    try:
        for name, one, file in (("flock", learner, checkpoint), ("linear model", line, None)):
            step(f"{name}, without the rows held out")
            fitted.append(table.fit(one, FITTED_ON, file))
            step("", 1)
    except ValueError as error:
        if "at least 2 classes" not in str(error):
            raise
        raise CommandError(
            "holding rows out leaves one value of the target only; give more rows."
        ) from None
    step("judging")
    counts, sums, gap = table.judged([one for one, _ in fitted])
    step("", 1)
    n_held = int(counts.sum())
    if not n_held:
        raise CommandError("no row could be held out to judge the model; give more rows.")
    (_, flock_seconds), (_, line_seconds) = fitted
    seconds = [flock_seconds, 0.0, line_seconds]
    scored = _r2_scores if problem.regression else _accuracy_scores
    scores, difference = scored(table.counts - counts, counts, sums, gap, seconds)
    return scores, difference, f"a quarter of all, {n_held:,} rows"


def _accuracy_scores(
    known: np.ndarray, counts: np.ndarray, sums: np.ndarray, gap: np.ndarray, seconds: list[float]
) -> tuple[list[Score], Any]:
    """By the counts of each class among rows fitted on and held out."""
    from covey._intervals import mean_interval_from_sums, proportion_interval

    n_held = int(counts.sum())
    share = np.clip(known / known.sum(), LEAST_PROBABILITY, 1.0)
    simplest = counts[np.argmax(known)], -float(counts @ np.log(share))
    names = "flock", "commonest class", "one linear model"
    scores = [
        Score(name, *proportion_interval(round(correct), n_held), loss / n_held, took)
        for name, (correct, loss), took in zip(
            names, (sums[0], simplest, sums[1]), seconds, strict=True
        )
    ]
    mean = float(gap[0]) / n_held
    squares = float(gap[1]) - n_held * mean**2
    return scores, mean_interval_from_sums(mean, squares, n_held, n_held)


def _r2_scores(
    known: np.ndarray, counts: np.ndarray, sums: np.ndarray, gap: np.ndarray, seconds: list[float]
) -> tuple[list[Score], None]:
    """R2 against the mean of the rows fitted on, with an interval by the delta method."""
    from covey._intervals import mean_interval_from_sums

    n_held, (total, total_squares, _) = int(counts.sum()), sums[-1]
    scores = []
    names = "flock", "the mean", "one linear model"
    for name, (errors, squares, products), took in zip(
        names, (sums[0], sums[-1], sums[1]), seconds, strict=True
    ):
        ratio = errors / total if total else np.nan
        # Of each row, its squared error less the ratio times that of the mean.
        spread = squares - 2 * ratio * products + ratio**2 * total_squares
        interval = mean_interval_from_sums(1.0 - ratio, max(0.0, spread), n_held, total)
        scores.append(Score(name, *interval, float(np.sqrt(errors / n_held)), took))
    return scores, None
