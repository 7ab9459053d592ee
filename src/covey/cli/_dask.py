"""``covey fit --engine dask``: tables in blocks, on this machine or on a cluster."""

from __future__ import annotations

import codecs
import io
import time as clock
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from covey._core.random import Purpose, UniformRows
from covey._intervals import Interval, mean_interval_from_sums, proportion_interval
from covey._kinds import as_kind, look, not_numbers
from covey.cli._console import CommandError, Console
from covey.cli._evaluate import kind_of_model
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
from covey.cli._reading import MISSING, SURELY_MISSING, with_gaps
from covey.cli._sources import PARQUET, joined, separator_of
from covey.cli._text_tables import Note, csv_batches, read_header
from covey.evaluation._held_out import LEAST_PROBABILITY, log_losses
from covey.evaluation._record import Difference, Score
from covey.tables import TablePreparation

_HELD_OUT = 0.25
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Of text, about so much is one block.
_BLOCK_SIZE = "64MiB"
# Values of the target that are counted in a block: more than there may be classes.
_MOST_VALUES = 1_000
# Rows that are brought to this process: enough for medians, and to notice ids.
_MOST_ROWS_SHOWN = 20_000
_MOST_CELLS_SHOWN = 4_000_000
# A column of text with fewer numbers than this is one of text.
_ENOUGH_NUMBERS = 0.9
# Seconds to wait for a scheduler, and for its workers.
_TIMEOUT = 10.0
_PLAIN = "or use --engine plain"

_ALL, _FITTED_ON, _JUDGED_ON = "all rows", "rows to fit on", "rows held out"


def fit_and_save(
    console: Console,
    path: str,
    target: str,
    *,
    model: str,
    effort: str,
    fuser: str | None,
    limits: dict[str, float],
    checkpoint: str | None,
    drop: Collection[str] | None,
    keep: Collection[str] | None,
    task: str,
    seed: int,
    scheduler: str | None,
    verbose: bool,
    **options: str | None,
) -> None:
    """Look at a table block by block, evaluate, fit on all rows, save, and show it.

    Of other ``options`` of ``covey fit`` none may be given.
    """
    import covey.dask  # noqa: F401 (names what to install)
    from covey.cli._models import keep_evaluation, save_model
    from covey.evaluation import evaluate
    from covey.evaluation._held_out import verdict
    from covey.tables import TableClassifier, TableRegressor

    _refuse(fuser, options)
    header, blocks, text = read_blocks(path, target, console.note)
    names = _number_columns(header, target, drop or [], keep or [], text)
    started = clock.perf_counter()
    with _cluster(scheduler), console.progress(5, "looking") as step:
        table = _Table(blocks([*names, target]), target, names)
        step(f"looking at {len(table.blocks):,} blocks")
        problem = table.look(keep or [], task, text, seed, console)
        step("", 1)
        learner = flock(problem, effort=effort, fuser=fuser, limits=limits, seed=seed)
        files = [None, None] if checkpoint is None else [f"{checkpoint}.1", checkpoint]
        scores, gap, n_held = _evaluated(table, problem, learner, seed, files[0], step)
        step(f"flock, on all {table.n_answered:,} rows")
        kind = TableRegressor if problem.regression else TableClassifier
        fitted = kind(learner, columns=problem.kinds, random_state=seed)
        fitted._set_fitted(table.rows[_ALL].preparation, table.fit(learner, _ALL, files[1])[0])
        step("", 1)
    known = evaluate(
        fitted,
        table.sample[list(problem.kinds)],
        target=target,
        n_rows=table.n_answered,
        remarks=problem.remarks,
        health=problem.health,
    )
    evaluation = replace(
        known,
        scores=scores,
        differences=gap,
        verdict=verdict(gap, scores[0], True),
        n_held_out=n_held,
        how=f"a quarter of all, {n_held:,} rows",
        split="chance",
    )
    keep_evaluation(fitted, problem, evaluation, table.sample)
    save_model(fitted, model, table.sample)
    for file in filter(None, files):
        Path(file).unlink(missing_ok=True)
    seconds = clock.perf_counter() - started
    show_fit(console, evaluation, model=model, seconds=seconds, verbose=verbose)


def _refuse(fuser: str | None, options: dict[str, str | None]) -> None:
    """Refuse, by name, what needs all rows in one place."""
    from covey.fusers._base import FUSERS
    from covey.fusers._fixed import make_fuser

    by_chance = f"rows are held out one by one, by chance; leave it out, {_PLAIN}."
    reasons = {
        "group": by_chance,
        "time": by_chance,
        "report": "no page is made of the rows held out; leave it out, and make one of other rows "
        "with covey report.",
    }
    for option, reason in reasons.items():
        if options[option] is not None:
            raise CommandError(f"--{option}: with --engine dask {reason}")
    if fuser in FUSERS and fuser != "gate" and make_fuser(fuser).learns:
        raise CommandError(
            f"--fuser: {fuser} learns from all rows in one place, but with --engine dask they "
            "lie in blocks; use gate, or a fixed rule such as product or mean."
        )


def _number_columns(
    header: pd.DataFrame, target: str, drop: Collection[str], keep: Collection[str], text: bool
) -> list[str]:
    """Return the columns to learn from; those that hold no numbers are refused by name."""
    from pandas.api import types

    check_columns(header, target, drop=drop, keep=keep)
    names = [name for name in header.columns if name != target and name not in drop]
    if not names:
        besides = "besides the target" if header.shape[1] == 1 else "left to learn from"
        raise CommandError(f"the table has no column {besides}.")
    numeric = types.is_numeric_dtype, types.is_timedelta64_dtype
    if not text:
        kinds = header.dtypes
        _refuse_text([repr(one) for one in names if not any(is_(kinds[one]) for is_ in numeric)])
    return names


def _refuse_text(names: Sequence[str]) -> None:
    """Refuse columns, whose names may have examples beside them."""
    if not names:
        return
    listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    what, them = ("columns {} hold", "them") if len(names) > 1 else ("column {} holds", "it")
    raise CommandError(
        f"the {what.format(listed)} other things than numbers, and --engine dask takes numbers "
        f"only; encode {them} first, leave {them} out with --drop, {_PLAIN}."
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


# -- reading --------------------------------------------------------------------------------------


def read_blocks(
    path: str, target: str, note: Note
) -> tuple[pd.DataFrame, Callable[[list[str]], list[Any]], bool]:
    """Return a frame without rows, what gives blocks of some columns, and if cells are text.

    ``path`` is a file, a folder of files, a pattern such as "rows/*.parquet", or an address of
    those such as "s3://bucket/rows/*.parquet".
    """
    import dask.dataframe as dd
    from fsspec import open as open_file
    from pyarrow import parquet

    files = _files(path)
    separators = [separator_of(file) for file in files]
    packed = [file.lower().endswith(PARQUET) for file in files]
    if len(set(packed)) > 1:
        raise CommandError(
            f"{path} holds Parquet files and text files; give a pattern for one kind, such as "
            "'rows/*.parquet'."
        )
    headers: dict[str, tuple[list[str], str | None, bool]] = {}
    for file, separator in zip(files, separators, strict=True):
        try:
            with open_file(file, "rb", compression=None if packed[0] else "infer") as source:
                if packed[0]:
                    headers[file] = parquet.read_schema(source).names, None, True
                    continue
                # Neither a stream nor UTF-16 may begin anywhere.
                whole = file.lower().endswith(".gz") or source.read(2) in _WIDE
                source.seek(0)
                headers[file] = (*read_header(source, file, separator, note), whole)
        except FileNotFoundError:
            raise CommandError(f"there is no file {file}.") from None
        except CommandError:
            if file == files[0]:
                raise  # another file without a header has no rows either
    names = headers[files[0]][0]
    for file, (others, *_) in headers.items():
        lacking = [name for name in names if name not in others]
        if lacking:
            raise CommandError(
                f"{file} has no column {lacking[0]!r}, but {files[0]} has; give files of the same "
                "columns."
            )
    if not packed[0]:
        header = pd.DataFrame(columns=names, dtype=object)
        return header, lambda chosen: _text_blocks(headers, chosen, target), True
    # A column that pandas has stored as the index is a column like others.
    frame = dd.read_parquet(list(headers), index=False)
    frame = frame.rename(columns={name: str(name) for name in frame.columns})
    return frame._meta, lambda chosen: frame[chosen].to_delayed(), False


def _text_blocks(headers: dict[str, Any], chosen: list[str], target: str) -> list[Any]:
    """Return the blocks of text files, which begin and end with lines."""
    import dask
    from dask.bytes import read_bytes

    read = dask.delayed(_text_block, pure=False)
    made = []
    for file, (names, separator, whole) in headers.items():
        size = None if whole else _BLOCK_SIZE
        how = {"delimiter": b"\n", "blocksize": size, "compression": "infer"}
        _, (blocks,) = read_bytes(file, sample=False, **how)
        for place, block in enumerate(blocks):
            given, where = (names, f"{file}, part {place + 1}") if place else (None, file)
            made.append(read(block, where, separator, given, chosen, target))
    return made


def _text_block(
    data: bytes,
    file: str,
    separator: str,
    names: list[str] | None,
    chosen: list[str],
    target: str,
) -> pd.DataFrame:
    """Return a block of text as a frame; the first one of a file has the names of the columns."""
    read = [batch for batch, _ in csv_batches(io.BytesIO(data), file, separator, names=names)]
    if not read:
        return pd.DataFrame(columns=chosen, dtype=object)
    frame = joined(read).select(chosen).to_pandas()
    gaps = frame.isin(MISSING)
    # Which words are gaps among classes is found when all of them are known.
    gaps[target] = frame[target].isin(SURELY_MISSING)
    return frame.mask(gaps, None)


def _files(path: str) -> list[str]:
    """Return the files of a path, in order."""
    import fsspec
    from fsspec.registry import known_implementations

    if path == "-":
        raise CommandError(
            "--engine dask reads its table more than once, and standard input is gone after the "
            "first time; give a file."
        )
    protocol, remote, _ = path.partition("://")
    if remote and protocol not in known_implementations:
        raise CommandError(
            f"{path} begins with {protocol}://, which is no kind of address that fsspec knows; "
            "s3://, gs:// and https:// are some."
        )
    try:
        system, location = fsspec.url_to_fs(path)
        if system.isdir(location):
            found = [file for file in system.find(location) if _is_table(file)]
            if not found:
                raise CommandError(f"the folder {path} holds no Parquet or CSV file.")
        elif system.isfile(location):
            found = [location]  # even if its name looks like a pattern
        else:
            found = system.glob(location)
    except PermissionError:
        raise CommandError(f"{path} may not be read; ask for the right to.") from None
    except ImportError:
        package = known_implementations[protocol]["class"].partition(".")[0]
        raise CommandError(
            f"reading from {protocol}:// needs {package}; install it with: pip install {package}.",
            1,
        ) from None
    if not found:
        raise CommandError(f"there is no file {path}.")
    return [system.unstrip_protocol(file) if remote else file for file in sorted(found)]


def _is_table(file: str) -> bool:
    """Tell tables of a folder from files that other programs keep beside them."""
    try:
        separator_of(file)
    except CommandError:
        return False
    return not file.rpartition("/")[2].startswith(("_", "."))


# -- what is computed of a block, where it lies; every result is small ----------------------------


class Seen(NamedTuple):
    """Facts of a block before anything is learned; D is the number of columns."""

    n_rows: int
    values: dict[Any, int]  # of the target: how many rows have each, of the commonest ones
    n_numbers: int  # rows whose target is a finite number
    odd: list[Any]  # a value of the target that is none, if there is one
    gaps: np.ndarray  # (D,), rows without a number
    strange: np.ndarray  # (D,), those of them with something else than a number
    examples: dict[str, str]  # of columns, something else than a number
    codes: dict[str, str]  # of columns, one that looks like 01234
    low: np.ndarray  # (D,)
    high: np.ndarray  # (D,)
    sample: pd.DataFrame  # some rows that have a target


class Rows(NamedTuple):
    """The way from rows of a table to numbers and targets, and which are held out."""

    target: str
    preparation: TablePreparation  # fitted
    # The position of each value among the classes; rows of other values are left out. None: the
    # target is a quantity.
    codes: dict[Any, int] | None
    classes: np.ndarray
    seed: int


def chosen(block: pd.DataFrame, start: int, rows: Rows, part: str) -> tuple[Any, np.ndarray]:
    """Return numbers and targets of some rows of a block, of which the first is ``start``."""
    target, preparation, codes, classes, seed = rows
    if codes is None:
        y = as_numbers(block, [target])[0][target].to_numpy()
        taken = ~np.isnan(y)
    else:
        code = block[target].astype(object).map(codes)
        taken = code.notna().to_numpy(dtype=bool)
        y = classes[code.fillna(0).to_numpy(dtype=np.intp)]
    if part != _ALL:
        # By the row's own draw, however the table is cut into blocks.
        draws = UniformRows(seed, Purpose.HOLD_OUT, 0, 0, 1).read(start, len(block))
        taken &= (draws[:, 0] < _HELD_OUT) == (part == _JUDGED_ON)
    if not taken.any():
        return pd.DataFrame(columns=preparation.get_feature_names_out(), dtype=float), y[:0]
    numbers = as_numbers(block.loc[taken], list(preparation.kinds_))[0]
    return preparation.transform(numbers), y[taken]


def as_numbers(
    block: pd.DataFrame, names: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, pd.Series]]:
    """Return columns as floats, gaps as NaN; and of text the values that are no numbers."""
    made, strange = {}, {}
    for name in names:
        values = block[name].reset_index(drop=True)
        if values.dtype == object or isinstance(values.dtype, pd.StringDtype):
            written = values.astype(object)
            values = pd.to_numeric(written, errors="coerce").astype(np.float64)
            strange[name] = written[values.isna() & written.notna()]
        made[name] = as_kind(values, "number")
    return pd.DataFrame(made, columns=list(names)), strange


def see(block: pd.DataFrame, target: str, names: Sequence[str], n_sample: int) -> Seen:
    """Look at a block; some rows with a target are shown, evenly over the block."""
    numbers, strange = as_numbers(block, names)
    values = numbers.to_numpy()
    codes = {}
    for name in strange:
        found = block[name].dropna().astype(str)
        found = found[found.str.match(r"\s*[+-]?0\d")]
        if len(found):
            codes[name] = found.iloc[0]
    counts = block[target].value_counts().head(_MOST_VALUES)
    y = pd.to_numeric(block[target].astype(object), errors="coerce").to_numpy(np.float64)
    known = block[target].notna().to_numpy(dtype=bool)
    odd = block[target][known & ~np.isfinite(y) & ~block[target].isin(MISSING)]
    answered = np.flatnonzero(known)
    evenly = np.unique(np.linspace(0, max(0, len(answered) - 1), n_sample).astype(int))
    return Seen(
        n_rows=len(block),
        values={_plain(value): int(count) for value, count in counts.items() if count},
        n_numbers=int(np.isfinite(y).sum()),
        odd=[_plain(value) for value in odd[:1]],
        gaps=np.isnan(values).sum(axis=0),
        strange=np.array([len(strange.get(name, ())) for name in names]),
        examples={name: one.iloc[0] for name, one in strange.items() if len(one)},
        codes=codes,
        low=np.nanmin(values, axis=0, initial=np.inf),
        high=np.nanmax(values, axis=0, initial=-np.inf),
        sample=numbers.iloc[answered[evenly[: len(answered)]]],
    )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def judge(
    block: pd.DataFrame, start: int, rows: Rows, models: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Return how many rows held out each class has, or all, and how good models are there.

    That is the sum over these rows of the products of all pairs of: one; of each model whether it
    is correct, and its log-loss. For quantities: one; the squared error of each model, and that
    of the mean which the last one was fitted to.
    """
    X, y = chosen(block, start, rows, _JUDGED_ON)
    known = [np.ones(len(y))]
    if rows.codes is None:
        counts, n_known = np.array([len(y)]), len(models) + 2
    else:
        counts = np.bincount(np.searchsorted(rows.classes, y), minlength=len(rows.classes))
        n_known = 2 * len(models) + 1
    if not len(y):
        return counts, np.zeros((n_known, n_known))
    for model in models:
        if rows.codes is None:
            known.append((y - model.predict(X)) ** 2)
        else:
            said = model.predict_proba(X)
            known.append((model.classes_[said.argmax(axis=1)] == y).astype(float))
            known.append(log_losses(model.classes_, said, y))
    if rows.codes is None:
        known.append((y - models[-1].y_center_) ** 2)
    return counts, np.stack(known) @ np.stack(known).T


# -- the table ------------------------------------------------------------------------------------


class _Table:
    """The blocks of a table of numbers, whose cells may be text."""

    sample: pd.DataFrame  # some rows with a target, evenly over the table, by their numbers
    n_answered: int  # rows whose target is known
    counts: np.ndarray  # how many rows each class has; of a quantity, all of them
    rows: dict[str, Rows]  # how rows are prepared where all are fitted on, or some held out

    def __init__(self, blocks: Sequence[Any], target: str, names: list[str]) -> None:
        self.blocks, self.target, self.names = blocks, target, names

    def _computed(self, function: Any, own: Sequence[tuple[Any, ...]], *shared: Any) -> Any:
        """Return what a function gives for each block, of what is the block's own and not."""
        import dask

        from covey.dask import current_backend

        call = dask.delayed(function, pure=False)
        shared = [dask.delayed(one, traverse=False) for one in shared]
        tasks = [call(block, *more, *shared) for block, more in zip(self.blocks, own, strict=True)]
        with current_backend().computing():
            return dask.compute(*tasks)

    def look(
        self, keep: Collection[str], task: str, text: bool, seed: int, console: Console
    ) -> Problem:
        """Read all blocks once: target, gaps, ids, and where each block begins."""
        shown = min(_MOST_ROWS_SHOWN, max(100, _MOST_CELLS_SHOWN // len(self.names)))
        a_block = -(-shown // len(self.blocks))
        nothing = [()] * len(self.blocks)
        seen = self._computed(see, nothing, self.target, self.names, a_block)
        n_rows = sum(one.n_rows for one in seen)
        problem = Problem(None, np.empty(0), self.target, False, note=console.note)
        codes, classes, self.counts = _target(problem, seen, text, task)
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
        for part, rows in ((_ALL, self.sample), (_FITTED_ON, known)):
            preparation = TablePreparation(columns=problem.kinds, random_state=seed).fit(rows)
            self.rows[part] = Rows(self.target, preparation, codes, classes, seed)
        return problem

    def fit(self, learner: Any, part: str, checkpoint: str | None = None) -> tuple[Any, float]:
        """Return a learner fitted on some rows, and the seconds that it took."""
        import dask
        import dask.array as da
        import dask.dataframe as dd
        from sklearn.base import clone

        rows = self.rows[part]
        shared = dask.delayed(rows, traverse=False)
        pieces = [
            dask.delayed(chosen, pure=False, nout=2)(block, start, shared, part)
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
        """Return how good models are on the rows held out; see `judge`."""
        own = [(start,) for start in self.starts]
        results = self._computed(judge, own, self.rows[_FITTED_ON], models)
        return [np.sum(parts, axis=0) for parts in zip(*results, strict=True)]


def _target(
    problem: Problem, seen: Sequence[Seen], text: bool, task: str
) -> tuple[dict[Any, int] | None, np.ndarray, np.ndarray]:
    """Return the position of each value among the classes, these, and their counts.

    For a quantity None, no class, and the count of all rows; the problem is then a regression.
    """
    import pyarrow as pa

    counts: Counter[Any] = Counter()
    for one in seen:
        counts.update(one.values)
    if text and counts:
        written = pa.array(list(counts), pa.string())
        known = with_gaps(problem.target, written, labels=True, note=problem.note)
        counts = Counter({one: counts[one] for one in known.drop_null().to_pylist()})
    values = pd.Series(list(counts))
    if text and not values.astype(str).str.match(r"\s*[+-]?0\d").any():
        numbers = pd.to_numeric(values, errors="coerce")
        values = values if numbers.isna().any() else numbers
    n_rows = sum(counts.values())
    problem.regression = is_regression(values, n_rows, problem.target, task, problem.note)
    if problem.regression:
        for odd in (odd for one in seen for odd in one.odd):
            raise CommandError(
                f"the target {problem.target!r} holds {odd!r}, which is no number to learn; "
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


def _columns(
    names: Sequence[str], seen: Sequence[Seen], sample: Any, n_rows: int, keep: Collection[str]
) -> list[Any]:
    """Return the columns as they were found, those left out included."""
    gaps, strange = (sum(getattr(one, what) for one in seen) for what in ("gaps", "strange"))
    low = np.min([one.low for one in seen], axis=0)
    high = np.max([one.high for one in seen], axis=0)
    examples: dict[str, str] = {}
    for one in reversed(seen):
        examples |= one.examples
    codes = {name: code for one in reversed(seen) for name, code in one.codes.items()}
    few = strange > (1 - _ENOUGH_NUMBERS) * (n_rows - gaps + strange)
    texts = {name: examples[name] for name, bad in zip(names, few, strict=True) if bad} | codes
    _refuse_text([f"{name!r} ({texts[name]!r})" for name in names if name in texts])
    columns = []
    for position, column in enumerate(look(sample[list(names)], keep)):
        name, drop, note, kind = column.name, "", "", "number"
        missing, odd = int(gaps[position]), int(strange[position])
        numbers = sample[name].dropna()
        different = len(sample) >= FEWEST_ROWS and numbers.nunique() == len(sample)
        whole = different and bool((numbers == np.floor(numbers)).all())
        counted = whole and high[position] - low[position] + 1 < 1.5 * n_rows
        if missing == n_rows:
            kind, drop = "empty", "it is empty"
        elif name in keep:
            drop = ""
        elif low[position] == high[position] and not missing:
            drop = "it has one value only"
        elif counted or (column.drop and different):
            drop = "it names the rows (every value is different)"
        if odd:
            note = not_numbers(odd, n_rows - missing + odd, name, [examples[name]])
        columns.append(replace(column, kind=kind, missing=missing, drop=drop, note=note))
    return columns


# -- how good it is -------------------------------------------------------------------------------


def _evaluated(
    table: _Table, problem: Problem, learner: Any, seed: int, checkpoint: str | None, step: Any
) -> tuple[list[Score], list[Difference], int]:
    """Return scores on rows held out, differences from the linear model, and how many rows."""
    from covey import members

    kind, fuser = (
        (members.SubsetEnsembleRegressor, "mean")
        if problem.regression
        else (members.SubsetEnsembleClassifier, "product")
    )
    # One member that never flips a feature: a plain linear model.
    line = kind(1, flip_probability=0.0, fuser=fuser, random_state=seed)
    fitted = []
    try:
        for name, one, file in (("flock", learner, checkpoint), ("linear model", line, None)):
            step(f"{name}, without the rows held out")
            fitted.append(table.fit(one, _FITTED_ON, file))
            step("", 1)
    except ValueError as error:
        if "at least 2 classes" not in str(error):
            raise
        raise CommandError(
            "holding rows out leaves one value of the target only; give more rows."
        ) from None
    step("judging")
    counts, sums = table.judged([one for one, _ in fitted])
    step("", 1)
    n_held = int(counts.sum())
    if not n_held:
        raise CommandError("no row could be held out to judge the model; give more rows.")
    scored = _r2_scores if problem.regression else _accuracy_scores
    scores, gap = scored(table.counts - counts, counts, n_held, sums)
    taken = (fitted[0][1], 0.0, fitted[1][1])
    scores = [replace(one, seconds=each) for one, each in zip(scores, taken, strict=True)]
    return scores, gap, n_held


def _accuracy_scores(
    known: np.ndarray, counts: np.ndarray, n_held: int, sums: np.ndarray
) -> tuple[list[Score], list[Difference]]:
    """Return scores by the counts of each class among rows fitted on and held out."""
    share = np.clip(known / known.sum(), LEAST_PROBABILITY, 1.0)
    found = {
        "flock": sums[0, 1:3],
        "commonest class": (counts[np.argmax(known)], -float(counts @ np.log(share))),
        "one linear model": sums[0, 3:5],
    }
    scores = [
        _score(name, accuracy=proportion_interval(round(correct), n_held), log_loss=loss / n_held)
        for name, (correct, loss) in found.items()
    ]
    # How much more often the flock is correct than the linear model.
    mean = float(sums[0, 1] - sums[0, 3]) / n_held
    squares = float(sums[1, 1] - 2 * sums[1, 3] + sums[3, 3]) - n_held * mean**2
    gap = mean_interval_from_sums(mean, squares, n_held, n_held)
    return scores, [Difference("one linear model", "linear", {"accuracy": gap})]


def _score(name: str, **measures: Any) -> Score:
    """Return a score; of measures that are no intervals only the value is known."""
    known = {
        measure: one if isinstance(one, Interval) else Interval(float(one), np.nan, np.nan)
        for measure, one in measures.items()
    }
    return Score(name, kind_of_model(name, "flock"), known)


def _r2_scores(
    known: np.ndarray, counts: np.ndarray, n_held: int, sums: np.ndarray
) -> tuple[list[Score], list[Difference]]:
    """Return R2 against the mean of the rows fitted on, with intervals by the delta method."""
    total, scores = sums[0, 3], []
    for name, place in {"flock": 1, "the mean": 3, "one linear model": 2}.items():
        ratio = sums[0, place] / total if total else np.nan
        # Of each row, its squared error less the ratio times that of the mean.
        spread = sums[place, place] - 2 * ratio * sums[place, 3] + ratio**2 * sums[3, 3]
        interval = mean_interval_from_sums(1.0 - ratio, max(0.0, spread), n_held, total)
        scores.append(_score(name, r2=interval, rmse=np.sqrt(sums[0, place] / n_held)))
    return scores, []
