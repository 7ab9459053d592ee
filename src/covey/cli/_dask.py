"""``covey fit --engine dask``: tables that lie in blocks, here or on a cluster."""

import time as clock
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from covey.cli._console import CommandError
from covey.cli._problem import (
    FEWEST_ROWS,
    MOST_CLASSES,
    MOST_FRACTION_CLASSES,
    MOST_NUMBERED_CLASSES,
    Problem,
    check_columns,
)

_HELD_OUT = 0.25
# What comes here of all rows: enough for medians, and to notice ids.
_MOST_ROWS_SHOWN = 20_000
_MOST_CELLS_SHOWN = 4_000_000
# A column of text with fewer numbers than this is one of text.
_ENOUGH_NUMBERS = 0.95
# Seconds to wait for a scheduler, and for its workers.
_TIMEOUT = 10.0
_PLAIN = "or use --engine plain"


def fit_and_save(
    console,
    path,
    target,
    *,
    model,
    report,
    effort,
    fuser,
    checkpoint,
    group,
    time,
    drop,
    keep,
    task,
    seed,
    scheduler,
):
    """Look at a table block by block, evaluate, fit on all rows, save, and say it.

    The model that is saved is the local one: whatever reads model files takes it.

    Parameters
    ----------
    console : Console
    path, target, model, report, effort, fuser, checkpoint, group, time, drop, keep, task, \
seed, scheduler
        As the command's.
    """
    from covey.cli._fit import show_fit
    from covey.cli._fitting import flock
    from covey.cli._models import keep_facts, save_model

    _refuse(group=group, time=time, report=report, task=task)
    import covey.dask  # noqa: F401 (says what to install)
    from covey.cli._dask_blocks import ALL
    from covey.cli._dask_reading import read_frame

    problem = Problem(None, np.empty(0), target, False, note=console.note)
    learner = flock(problem, effort=effort, fuser=fuser, seed=seed)
    _check_fuser(fuser)
    frame, text = read_frame(path)
    names = _columns(frame, target, drop or [], keep or [], text)
    started = clock.perf_counter()
    with _cluster(scheduler) as client, console.progress(5, "looking") as step:
        table = _Table(frame[[*names, target]], target, names, text, client)
        step(f"looking at {len(table.parts):,} blocks")
        table.look(problem, keep or [], task, seed)
        step("", 1)
        files = [None, None] if checkpoint is None else [f"{checkpoint}.1", checkpoint]
        scores, gap, how = _evaluated(table, learner, seed, files[0], step)
        step(f"flock, on all {table.n_answered:,} rows")
        fitted = _table_model(table, learner, table.fit(learner, ALL, files[1])[0], seed)
        step("", 1)
    keep_facts(fitted, problem, scores, how, table.sample, table.n_answered)
    save_model(fitted, model)
    for file in files:
        if file is not None:
            Path(file).unlink(missing_ok=True)
    show_fit(
        console,
        problem,
        fitted,
        scores,
        gap=gap,
        how=how,
        n_rows=table.n_answered,
        model=model,
        report=None,
        seconds=clock.perf_counter() - started,
    )


def _refuse(*, group, time, report, task):
    """Refuse, by name, what needs all rows in one place."""
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
    if task == "numbers":
        raise CommandError(
            f"--task: --engine dask learns classes, not quantities; leave it out, {_PLAIN}."
        )


def _check_fuser(fuser):
    from covey.fusers import make_fuser

    if fuser not in (None, "gate") and make_fuser(fuser).learns:
        raise CommandError(
            f"--fuser: {fuser} learns from all rows in one place, but with --engine dask they "
            "lie in blocks; use gate, or a fixed rule such as product or mean."
        )


def _columns(frame, target, drop, keep, text):
    """The columns to learn from; those that hold no numbers are refused by name."""
    from pandas.api import types

    check_columns(frame, target, drop=drop, keep=keep)
    names = [name for name in frame.columns if name != target and name not in drop]
    if not names:
        besides = "besides the target" if len(frame.columns) == 1 else "left to learn from"
        raise CommandError(f"the table has no column {besides}.")
    if not text:
        kinds = frame.dtypes
        _refuse_text(
            [
                name
                for name in names
                if not (
                    types.is_numeric_dtype(kinds[name]) or types.is_timedelta64_dtype(kinds[name])
                )
            ]
        )
    return names


def _refuse_text(names, examples=None):
    if not names:
        return
    listed = ", ".join(
        f"{name!r} ({examples[name]!r})" if examples else repr(name) for name in names[:5]
    )
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    what, them = ("columns", "them") if len(names) > 1 else ("column", "it")
    hold = "hold" if len(names) > 1 else "holds"
    raise CommandError(
        f"the {what} {listed}{more} {hold} other things than numbers, and --engine dask takes "
        f"numbers only; encode {them} first, leave {them} out with --drop, {_PLAIN}."
    )


@contextmanager
def _cluster(address):
    """A client of the scheduler at an address; None without one."""
    if address is None:
        yield None
        return
    import logging

    from distributed import Client

    # What it would say of a lost connection is said in one sentence.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=_TIMEOUT, set_as_default=False)
    except (OSError, TimeoutError):
        raise CommandError(
            f"--scheduler: no Dask scheduler answers at {address} within {_TIMEOUT:.0f} s; start "
            "one there, or leave the option out to work here.",
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
            yield client
        except ModuleNotFoundError as error:
            raise CommandError(
                f"--scheduler: what runs on the workers needs {error.name}; install covey[dask] "
                "for each of them.",
                1,
            ) from None


class _Table:
    """The blocks of a table.

    Parameters
    ----------
    frame : Dask data frame
    target : str
    names : list of str
        The columns that may be used.
    text : bool
        Whether the cells are text.
    client : distributed.Client or None
        None: everything is done here, block by block.

    Attributes
    ----------
    parts : list of Delayed
        The blocks.
    sample : data frame
        Some rows with a target, evenly over the table, by their numbers.
    n_answered : int
        Rows whose target is known.
    counts : ndarray
        Of these, how many each class has.
    rows : dict
        How rows are prepared where all are fitted on, and where some are held out.
    """

    def __init__(self, frame, target, names, text, client):
        self.parts = frame.to_delayed()
        self.target = target
        self.names = names
        self.text = text
        self.client = client

    def _computed(self, function, own, *shared):
        """What a function says of each block, given what is the block's own and what is not."""
        import dask

        ask = dask.delayed(function, pure=False)
        shared = [dask.delayed(one, traverse=False) for one in shared]
        tasks = [ask(part, *more, *shared) for part, more in zip(self.parts, own, strict=True)]
        return dask.compute(*tasks, scheduler=self.client or "threads")

    # -- look ------------------------------------------------------------------------------

    def look(self, problem, keep, task, seed):
        """Read all blocks once: classes, gaps, ids, and where each block begins."""
        import pandas as pd

        from covey._core.random import Purpose, UniformRows
        from covey.cli._dask_blocks import ALL, FITTED_ON, Rows, see
        from covey.tables import TablePreparation

        shown = min(_MOST_ROWS_SHOWN, max(100, _MOST_CELLS_SHOWN // len(self.names)))
        a_block = -(-shown // len(self.parts))
        seen = self._computed(
            see, [()] * len(self.parts), self.target, self.names, self.text, a_block
        )
        n_rows = sum(one.n_rows for one in seen)
        codes, classes, self.counts = _answers(problem, seen, self.text, task)
        self.n_answered = int(self.counts.sum())
        if self.n_answered < n_rows:
            problem.note(
                f"{self.target}: {n_rows - self.n_answered:,} of {n_rows:,} rows have no target "
                "and are left out."
            )
        if self.n_answered < FEWEST_ROWS:
            raise CommandError(
                f"{self.n_answered} rows with a target are too few to learn from; "
                f"give at least {FEWEST_ROWS}."
            )
        self.starts = np.cumsum([0, *(one.n_rows for one in seen)])[:-1].tolist()
        sample = pd.concat(
            one.sample.set_axis(one.sample.index + start)
            for one, start in zip(seen, self.starts, strict=True)
        )
        self.sample = sample.iloc[:: -(-len(sample) // shown)]
        problem.columns = _found(self.names, seen, self.sample, n_rows, keep, problem.note)
        if not problem.kinds:
            raise CommandError(
                "no column is left to learn from: each is constant, empty or names the rows "
                "(--keep uses one all the same)."
            )
        draws = UniformRows(seed, Purpose.HOLD_OUT, 0, 0, 1)
        held_out = np.array([draws.read(int(row), 1)[0, 0] for row in self.sample.index])
        known = self.sample[held_out >= _HELD_OUT]
        if len(known) < 2:
            raise CommandError("too few rows are left to learn from; give more.")
        # Not even the medians know of rows that are held out.
        self.rows = {
            part: Rows(
                self.target,
                self.text,
                TablePreparation(columns=problem.kinds, random_state=seed).fit(shown),
                codes,
                classes,
                seed,
                _HELD_OUT,
            )
            for part, shown in ((ALL, self.sample), (FITTED_ON, known))
        }

    # -- fit and judge ---------------------------------------------------------------------

    def fit(self, learner, part, checkpoint=None):
        """The learner fitted on some rows, as a local one, and the seconds that it took."""
        import dask
        import dask.array as da
        import dask.dataframe as dd

        from covey.dask import on_dask

        rows = self.rows[part]
        shared = dask.delayed(rows, traverse=False)
        pieces = [
            dask.delayed(_chosen, pure=False, nout=2)(block, start, shared, part)
            for block, start in zip(self.parts, self.starts, strict=True)
        ]
        columns = rows.preparation.transform(self.sample.head(1)).head(0)
        X = dd.from_delayed([X for X, _ in pieces], meta=columns, verify_meta=False)
        dtype = rows.classes.dtype
        y = da.concatenate([da.from_delayed(y, (np.nan,), dtype) for _, y in pieces])
        flock = on_dask(learner)
        started = clock.perf_counter()
        try:
            flock.set_params(checkpoint=checkpoint).fit(X, y)
        except RuntimeError as error:
            raise CommandError(str(error), 1) from None
        return flock.to_local().set_params(checkpoint=None), clock.perf_counter() - started

    def judged(self, models):
        """How good models are on the rows held out; see `covey.cli._dask_blocks.judge`."""
        from covey.cli._dask_blocks import FITTED_ON, judge

        own = [(start,) for start in self.starts]
        answers = self._computed(judge, own, self.rows[FITTED_ON], models)
        return [np.sum(parts, axis=0) for parts in zip(*answers, strict=True)]


def _chosen(block, start, rows, part):
    return rows.chosen(block, start, part)


# -- what is found -------------------------------------------------------------------------------


def _answers(problem, seen, text, task):
    """Where each value of the target stands among the classes, these, and their counts."""
    import pandas as pd
    from pandas.api import types

    from covey.cli._reading import MISSING, SURELY_MISSING

    target = problem.target
    counts = Counter()
    for one in seen:
        counts.update(one.answers)
    if text:
        counts = _known_answers(counts, target, MISSING, SURELY_MISSING, problem.note)
    values = pd.Series(list(counts))
    if text and not values.astype(str).str.match(r"\s*[+-]?0\d").any():
        numbers = pd.to_numeric(values, errors="coerce")
        values = values if numbers.isna().any() else numbers
    numeric = types.is_numeric_dtype(values.dtype) and not types.is_bool_dtype(values.dtype)
    if numeric and not np.isfinite(values).all():
        strange = values[~np.isfinite(values)].iloc[0]
        raise CommandError(
            f"the target {target!r} holds {strange}, which is no class; leave such cells empty."
        )
    whole = numeric and bool((values == np.floor(values)).all())
    labels = values.to_numpy(dtype=np.int64) if whole else np.array(values.astype(str).tolist())
    classes, place = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        value = f"the one value {classes[0].item()!r}" if len(classes) else "no value at all"
        raise CommandError(f"the target {target!r} has {value}; there is nothing to tell apart.")
    many = MOST_NUMBERED_CLASSES if whole else MOST_FRACTION_CLASSES
    if numeric and task == "auto" and len(classes) > many:
        raise CommandError(
            f"the target {target!r} has {len(classes)} different numbers and looks like a "
            f"quantity, but --engine dask learns classes; say --task classes, {_PLAIN}."
        )
    if len(classes) > MOST_CLASSES:
        raise CommandError(
            f"the target {target!r} has more than {MOST_CLASSES} different values: that names "
            "rows rather than classes; give another target."
        )
    size = np.bincount(place, list(counts.values()), len(classes)).astype(np.int64)
    return dict(zip(counts, place.tolist(), strict=True)), classes, size


def _known_answers(counts, target, missing, surely_missing, note):
    """The answers of a text without the words for none, which a class may be called too."""
    import pandas as pd

    words = pd.Series([value for value in counts if value not in missing], dtype=object)
    if not len(words) or not pd.to_numeric(words, errors="coerce").isna().any():
        return Counter({value: n for value, n in counts.items() if value not in missing})
    for word in sorted(set(missing).difference(surely_missing).intersection(counts)):
        note(
            f"{target}: {word!r} is taken as a class; leave such cells empty if the answer is "
            "not known."
        )
    return Counter({value: n for value, n in counts.items() if value not in surely_missing})


def _found(names, seen, sample, n_rows, keep, note):
    """The columns as they were found, those left out included."""
    from covey.tables import look

    gaps, strange = (sum(getattr(one, what) for one in seen) for what in ("gaps", "strange"))
    codes = np.any([one.codes for one in seen], axis=0)
    low = np.min([one.low for one in seen], axis=0)
    high = np.max([one.high for one in seen], axis=0)
    examples = {}
    for one in reversed(seen):
        examples.update(one.examples)
    enough = strange <= (1 - _ENOUGH_NUMBERS) * (n_rows - gaps + strange)
    _refuse_text([name for name, bad in zip(names, codes | ~enough, strict=True) if bad], examples)
    columns = []
    for place, column in enumerate(look(sample[names], keep)):
        name, drop = column.name, ""
        numbers = sample[name].dropna()
        different = len(sample) >= FEWEST_ROWS and numbers.nunique() == len(sample)
        counted = (
            different
            and bool((numbers == np.floor(numbers)).all())
            and high[place] - low[place] + 1 < 1.5 * n_rows
        )
        if gaps[place] == n_rows:
            drop = "it is empty"
        elif name in keep:
            drop = ""
        elif low[place] == high[place] and not gaps[place]:
            drop = "it has one value only"
        elif counted or (column.drop and different):
            drop = "it names the rows (every value is different)"
        said = ""
        if strange[place]:
            what = "value is no number" if strange[place] == 1 else "values are no numbers"
            said = f"{strange[place]:,} {what} ({examples[name]!r}) and counted as missing"
        kind = "empty" if gaps[place] == n_rows else "number"
        columns.append(replace(column, kind=kind, missing=int(gaps[place]), drop=drop, note=said))
        if drop:
            note(f"{name}: left out, since {drop}.")
        elif said:
            note(f"{name}: {said}.")
    return columns


# -- how good it is ------------------------------------------------------------------------------


def _evaluated(table, learner, seed, checkpoint, step):
    """Scores on rows held out of flock, commonest class and a linear model; the gap; and how."""
    from covey._intervals import mean_interval_from_sums, proportion_interval
    from covey.cli._dask_blocks import FITTED_ON
    from covey.cli._evaluate import LEAST_PROBABILITY, Score
    from covey.members import SubsetEnsembleClassifier

    # One member that never flips a feature: a plain softmax-linear model.
    line = SubsetEnsembleClassifier(1, flip_probability=0.0, random_state=seed)
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
    held, sums, (gap, squares) = table.judged([one for one, _ in fitted])
    step("", 1)
    n_held = int(held.sum())
    if not n_held:
        raise CommandError("no row could be held out to judge the model; give more rows.")
    known = table.counts - held
    share = np.clip(known / known.sum(), LEAST_PROBABILITY, 1.0)
    right = float(held[np.argmax(known)])
    loss = -float(held @ np.log(share))

    def scored(name, right, loss, seconds):
        interval = proportion_interval(round(right), n_held)
        return Score(name, *interval, loss / n_held, seconds)

    (flock, line), seconds = sums.tolist(), [seconds for _, seconds in fitted]
    scores = [
        scored("flock", *flock, seconds[0]),
        scored("commonest class", right, loss, 0.0),
        scored("one linear model", *line, seconds[1]),
    ]
    mean = float(gap) / n_held
    difference = mean_interval_from_sums(mean, float(squares) - n_held * mean**2, n_held, n_held)
    return scores, difference, f"a quarter of all, {n_held:,} rows"


def _table_model(table, learner, flock, seed):
    """The model of a table around a flock that was fitted elsewhere."""
    from covey.cli._dask_blocks import ALL
    from covey.tables import TableClassifier

    preparation = table.rows[ALL].preparation
    model = TableClassifier(learner, columns=preparation.kinds_, random_state=seed)
    return model._set_fitted(preparation, flock)
