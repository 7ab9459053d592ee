"""``covey fit --engine dask``: tables in blocks, on this machine or on a cluster.

Some rows, evenly spaced over the table, come to this process, which makes the same problem of them
as of any other table. All rows are then prepared and fitted on where they lie, block by block, and
the predictions of rows held out come here to be judged.
"""

from __future__ import annotations

import codecs
import io
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import dask
import dask.array as da
import dask.dataframe as dd
import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
from dask.bytes import read_bytes
from fsspec.registry import known_implementations
from pyarrow import parquet
from sklearn.base import clone

from covey import members
from covey._core.random import Purpose, UniformRows
from covey.cli._console import CommandError, Console
from covey.cli._evaluate import Judged, predictions_of
from covey.cli._models import truth_of
from covey.cli._problem import MOST_CLASSES, Problem, check_column, declared_gaps, read_problem
from covey.cli._reading import known_frame, read_table
from covey.cli._sources import PARQUET, Rows, joined, separator_of
from covey.cli._text_tables import Note, csv_batches, read_header
from covey.dask._worker import current_backend
from covey.evaluation._held_out import HeldOut, Predicted
from covey.fusers._base import FUSERS
from covey.fusers._fixed import make_fuser
from covey.tables import TablePreparation

_HELD_OUT = 0.25
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# About this many bytes of text are one block; for Parquet, row groups with as many.
_BLOCK_SIZE = 1 << 26
# How many rows come to this process: to look at, and to judge the model.
_MOST_ROWS_SHOWN, _MOST_ROWS_JUDGED = 20_000, 50_000
_MOST_CELLS = 4_000_000
# Seconds to wait for a scheduler, and for its workers.
_TIMEOUT = 10.0

_ALL, _FITTED_ON, _JUDGED_ON = "all rows", "rows to fit on", "rows held out"


def refuse(fuser: str | None, **options: Any) -> None:
    """Refuse, by name, options that need all rows in one place."""
    for option, given in options.items():
        if given:
            raise CommandError(
                f"--{option}: with --engine dask the rows lie in blocks, and it needs all of them "
                "in one place; leave it out, or use --engine plain."
            )
    if fuser in FUSERS and fuser != "gate" and make_fuser(fuser).learns:
        raise CommandError(
            f"--fuser: {fuser} learns from all rows in one place, but with --engine dask they "
            "lie in blocks; use gate, or a fixed rule such as product or mean."
        )


def fitted_on_blocks(
    console: Console,
    path: str,
    target: str,
    learner_of: Any,
    *,
    files: Sequence[str | None],
    seed: int,
    scheduler: str | None,
    **reading: Any,
) -> tuple[Problem, Judged, pd.DataFrame, int]:
    """Look at a table block by block, fit without some rows, judge, and fit on all rows.

    ``learner_of`` makes a learner for a problem; ``files`` are its checkpoints for the two fits.
    The result is the problem of the rows that were looked at, the model and its evaluation, the
    rows held out, and the number of rows.
    """
    with _cluster(scheduler), console.progress(5, "looking") as step:
        names, blocks = read_blocks(path, console.note)
        check_column(pd.DataFrame(columns=names), target, "--target")
        table = _Table(blocks, target, names, seed)
        problem = table.look(path, console, **reading)
        step("", 1)
        learner, kind, fuser = learner_of(problem), members.SubsetEnsembleClassifier, "product"
        if problem.regression:
            kind, fuser = members.SubsetEnsembleRegressor, "mean"
        # A plain linear model: one member that never flips a feature.
        simple = kind(1, flip_probability=0.0, fuser=fuser, random_state=seed)
        try:
            step("flock, without the rows held out")
            fitted = [table.fit(learner, _FITTED_ON, files[0])]
            step("linear model, without the rows held out", 1)
            fitted.append(table.fit(simple, _FITTED_ON))
        except ValueError as error:
            if "at least 2 classes" not in str(error):
                raise
            raise CommandError(
                "holding rows out leaves one value of the target only; give more rows."
            ) from None
        step("judging", 1)
        held_out, rows, n_rows = table.judged(problem, fitted)
        step(f"flock, on all {n_rows:,} rows", 1)
        model = table.fit(learner, _ALL, files[1])[0]
        model._put_behind(table.known[_ALL].preparation)
        step("", 1)
    return problem, Judged(model, held_out, held_out.how), rows, n_rows


@contextmanager
def _cluster(address: str | None) -> Iterator[None]:
    """Let the scheduler at an address be that of the current client; None: no cluster."""
    if address is None:
        yield
        return
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
            f"--scheduler: {address!r} is not an address; write it like tcp://10.0.0.1:8786."
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


def read_blocks(path: str, note: Note) -> tuple[list[str], list[Any]]:
    """Return the names of the columns, and the blocks as Dask's delayed `Rows`.

    ``path`` is a file, a folder of files, a pattern such as "rows/*.parquet", or an address of
    those such as "s3://bucket/rows/*.parquet".
    """
    files = _files(path)
    packed = {file.lower().endswith(PARQUET) for file in files}
    if len(packed) > 1:
        raise CommandError(
            f"{path} holds Parquet files and text files; give a pattern for one kind, such as "
            "'rows/*.parquet'."
        )
    found: dict[str, tuple[list[str], list[Any]]] = {}
    for file in files:
        try:
            found[file] = (_parquet_blocks if packed == {True} else _text_blocks)(file, note)
        except FileNotFoundError:
            raise CommandError(f"there is no file {file}.") from None
        except CommandError:
            if file == files[0]:
                raise  # another file without a header has no rows either
    names = found[files[0]][0]
    for file, (others, _) in found.items():
        lacking = [name for name in names if name not in others]
        if lacking:
            raise CommandError(
                f"{file} has no column {lacking[0]!r}, but {files[0]} has; give files of the same "
                "columns."
            )
    return names, [block for _, blocks in found.values() for block in blocks]


def _parquet_blocks(file: str, note: Note) -> tuple[list[str], list[Any]]:
    """Return the names of the columns of a Parquet file, and its row groups as blocks."""
    with fsspec.open(file, "rb") as source:
        about = parquet.ParquetFile(source).metadata
    sizes = [about.row_group(group).total_byte_size for group in range(about.num_row_groups)]
    block_of = np.cumsum([0, *sizes])[:-1] // _BLOCK_SIZE
    read = dask.delayed(_row_groups, pure=False)
    groups = [np.flatnonzero(block_of == block).tolist() for block in np.unique(block_of)]
    return list(about.schema.to_arrow_schema().names), [read(file, some) for some in groups]


def _row_groups(file: str, groups: list[int]) -> Rows:
    with fsspec.open(file, "rb") as source:
        return Rows(parquet.ParquetFile(source).read_row_groups(groups), False)


def _text_blocks(file: str, note: Note) -> tuple[list[str], list[Any]]:
    """Return the names of the columns of a text, and its blocks, which are whole lines."""
    with fsspec.open(file, "rb", compression="infer") as source:
        # A stream, or UTF-16, cannot be read from the middle.
        whole = file.lower().endswith(".gz") or source.read(2) in _WIDE
        source.seek(0)
        names, separator = read_header(source, file, separator_of(file), note)
    how = {"blocksize": None if whole else _BLOCK_SIZE, "compression": "infer", "sample": False}
    _, (blocks,) = read_bytes(file, delimiter=b"\n", **how)
    read = dask.delayed(_text_block, pure=False)
    return names, [
        read(block, f"{file}, part {place + 1}" if place else file, separator, names, place > 0)
        for place, block in enumerate(blocks)
    ]


def _text_block(data: bytes, file: str, separator: str, names: list[str], later: bool) -> Rows:
    """Return a block of text; the first one of a file has the names of the columns."""
    given = names if later else None
    read = [batch for batch, _ in csv_batches(io.BytesIO(data), file, separator, names=given)]
    nothing = pa.table({name: pa.array([], pa.string()) for name in names})
    return Rows(joined(read) if read else nothing, True, "." if separator == "," else None)


def _files(path: str) -> list[str]:
    """Return the files of a path, in order."""
    if path == "-":
        raise CommandError(
            "--engine dask reads its table more than once, and standard input is gone after the "
            "first time; give a file."
        )
    protocol, remote, _ = path.partition("://")
    if remote and protocol not in known_implementations:
        raise CommandError(
            f"{path} begins with {protocol}://, which is not a kind of address that fsspec knows; "
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
    for file in found:
        separator_of(file)  # refuses an unknown ending
    return [system.unstrip_protocol(file) if remote else file for file in sorted(found)]


def _is_table(file: str) -> bool:
    """Tell tables of a folder from files that other programs keep beside them."""
    try:
        separator_of(file)
    except CommandError:
        return False
    return not file.rpartition("/")[2].startswith(("_", "."))


# -- functions of a block, where it lies; every result is small -----------------------------------


class Known(NamedTuple):
    """The way from rows of a table to numbers and targets, and which are held out."""

    target: str
    preparation: TablePreparation  # fitted
    classes: np.ndarray | None  # rows of other values are left out; None: it is a quantity
    formats: Mapping[str, Any]  # how columns of numbers are written
    seed: int


def shown(block: Rows, names: list[str], target: str, n_shown: int) -> tuple[int, Any, np.ndarray]:
    """Return how many rows a block has, and some of them, evenly, with their positions.

    For a target of few classes, a row of each is among them, so that no rare class is overlooked.
    """
    rows = block.batch.select(names)
    codes, values = pd.factorize(rows.column(target).to_pandas())
    first = np.unique(codes, return_index=True)[1] if len(values) <= MOST_CLASSES else ()
    evenly = np.linspace(0, max(0, len(rows) - 1), min(n_shown, len(rows))).astype(np.intp)
    where = np.union1d(evenly, np.asarray(first, np.intp))
    some = rows.take(where)
    batch = pa.record_batch([one.combine_chunks() for one in some.columns], some.schema)
    return len(rows), block._replace(batch=batch), where


def is_held_out(seed: int, start: int, n_rows: int) -> np.ndarray:
    """Return which rows are held out: by their own draws, however the table is cut."""
    return UniformRows(seed, Purpose.HOLD_OUT, 0, 0, 1).read(start, n_rows)[:, 0] < _HELD_OUT


def chosen(block: Rows, start: int, known: Known, part: str) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return some rows of a block, their numbers in the table, and their targets.

    ``start`` is the number of the block's first row.
    """
    target, preparation, classes, formats, seed = known
    numbers = {name for name, kind in preparation.kinds_.items() if kind == "number"}
    if classes is None or np.issubdtype(classes.dtype, np.number):
        numbers.add(target)
    wanted = block._replace(batch=block.batch.select([*preparation.kinds_, target]))
    table = known_frame(wanted, numbers, formats, {}, labels=[target])
    y, taken = truth_of(table[target], classes)
    if part != _ALL:
        taken &= is_held_out(seed, start, len(table)) == (part == _JUDGED_ON)
    y = y[taken] if classes is None else classes[np.searchsorted(classes, y[taken])]
    return table[taken].drop(columns=target), start + np.flatnonzero(taken), y


def prepared(block: Rows, start: int, known: Known, part: str) -> tuple[Any, np.ndarray]:
    """Return numbers and targets of some rows of a block."""
    table, _, y = chosen(block, start, known, part)
    if len(table):
        return known.preparation.transform(table), y
    return pd.DataFrame(columns=known.preparation.get_feature_names_out(), dtype=float), y


class JudgedBlock(NamedTuple):
    """Some rows of a block that were held out."""

    table: pd.DataFrame
    rows: np.ndarray  # their numbers in the whole table
    y: np.ndarray
    predictions: list[np.ndarray]  # of each model
    fitted_on: np.ndarray  # how many rows of each class, or of a quantity the count and the sum
    n_held_out: int


def judged(
    block: Rows, start: int, known: Known, models: Sequence[Any], every: int
) -> JudgedBlock:
    """Return the predictions of models for one in some of the rows held out."""
    y = chosen(block, start, known, _FITTED_ON)[2]
    if known.classes is None:
        fitted_on = np.array([len(y), y.sum()])
    else:
        fitted_on = np.bincount(np.searchsorted(known.classes, y), minlength=len(known.classes))
    held_out = chosen(block, start, known, _JUDGED_ON)
    table, rows, y = (part[::every] for part in held_out)
    predictions = []
    if len(y):
        numbers = known.preparation.transform(table)
        predictions = [predictions_of(model, numbers, known.classes) for model in models]
    return JudgedBlock(table, rows, y, predictions, fitted_on, len(held_out[2]))


class _Table:
    """The blocks of a table, which are computed where they lie."""

    known: dict[str, Known]  # how rows are prepared where all are fitted on, or some held out

    def __init__(self, blocks: Sequence[Any], target: str, names: list[str], seed: int) -> None:
        self.blocks, self.target, self.names, self.seed = blocks, target, names, seed
        self._most_rows = max(100, _MOST_CELLS // len(names))

    def _computed(self, function: Any, own: Sequence[tuple[Any, ...]], *shared: Any) -> Any:
        """Return a function's result for each block, from its own arguments and shared ones."""
        call = dask.delayed(function, pure=False)
        shared = [dask.delayed(one, traverse=False) for one in shared]
        tasks = [call(block, *more, *shared) for block, more in zip(self.blocks, own, strict=True)]
        with current_backend().computing():
            return dask.compute(*tasks)

    def look(self, path: str, console: Console, *, gap: Any, **reading: Any) -> Problem:
        """Read all blocks once, and return the problem of some of their rows."""
        a_block = -(-min(_MOST_ROWS_SHOWN, self._most_rows) // len(self.blocks))
        seen = self._computed(shown, [()] * len(self.blocks), self.names, self.target, a_block)
        lengths, some, where = zip(*seen, strict=True)
        *starts, self.n_rows = np.cumsum([0, *lengths]).tolist()
        self.starts = [(start,) for start in starts]
        found = [one for one in some if len(one.batch)]
        labels, gaps = [self.target], declared_gaps(gap)
        table = read_table(path, labels=labels, gaps=gaps, note=console.note, rows=found)
        numbers = np.concatenate([start + one for start, one in zip(starts, where, strict=True)])
        if len(table) < self.n_rows:
            console.note(f"Looked at {len(table):,} of {self.n_rows:,} rows, taken evenly.")
            # Code that counts the rows of the whole table must count these, too.
            for name in filter(lambda name: self._counts(table[name]), table.columns):
                table[name] = np.arange(len(table))
        problem = read_problem(path, self.target, console, table=table, gap=gap, **reading)
        numbers = numbers[problem.table.index]
        known = np.array([not is_held_out(self.seed, int(row), 1)[0] for row in numbers])
        if known.sum() < 2:
            raise CommandError("too few rows are left to learn from; give more.")
        classes = None if problem.regression else np.unique(problem.y)
        # Not even the medians depend on rows that are held out.
        self.known = {}
        for part, rows in ((_ALL, slice(None)), (_FITTED_ON, known)):
            preparation = TablePreparation(
                columns=problem.kinds, gaps=problem.gaps, random_state=self.seed
            )
            preparation.fit(problem.table[rows])
            self.known[part] = Known(self.target, preparation, classes, problem.formats, self.seed)
        return problem

    def _counts(self, values: pd.Series) -> bool:
        """Return whether a column counts the rows of the table, of which these are some."""
        if values.name == self.target or values.dtype.kind not in "iuf":
            return False
        rises = bool((np.diff(values) > 0).all() and (values == np.floor(values)).all())
        return rises and np.ptp(values) + 1 < 1.5 * self.n_rows

    def fit(self, learner: Any, part: str, checkpoint: str | None = None) -> tuple[Any, float]:
        """Return a learner fitted on some rows, and the seconds that it took."""
        known = self.known[part]
        call, shared = (
            dask.delayed(prepared, pure=False, nout=2),
            dask.delayed(known, traverse=False),
        )
        pieces = [
            call(block, *start, shared, part)
            for block, start in zip(self.blocks, self.starts, strict=True)
        ]
        columns = pd.DataFrame(columns=known.preparation.get_feature_names_out(), dtype=float)
        X = dd.from_delayed([X for X, _ in pieces], meta=columns, verify_meta=False)
        dtype = np.float64 if known.classes is None else known.classes.dtype
        y = da.concatenate([da.from_delayed(y, (np.nan,), dtype) for _, y in pieces])
        started = time.perf_counter()
        try:
            # Columns that are made of one column flip together, as in a flock that makes them
            # itself.
            groups = [made for made in known.preparation.groups().values() if len(made) > 1]
            fitted = clone(learner).set_params(checkpoint=checkpoint, feature_groups=groups)
            fitted.fit(X, y)
        except RuntimeError as error:
            raise CommandError(str(error), 1) from None
        fitted.set_params(checkpoint=None, feature_groups=None)
        return fitted, time.perf_counter() - started

    def judged(
        self, problem: Problem, fitted: Sequence[tuple[Any, float]]
    ) -> tuple[HeldOut, pd.DataFrame, int]:
        """Return predictions of rows held out, these rows, and how many have a target."""
        known = self.known[_FITTED_ON]
        most = min(_MOST_ROWS_JUDGED, self._most_rows)
        every = max(1, round(_HELD_OUT * self.n_rows / most))
        models = [model for model, _ in fitted]
        parts = self._computed(judged, self.starts, known, models, every)
        fitted_on = np.sum([one.fitted_on for one in parts], axis=0)
        n_held_out = sum(one.n_held_out for one in parts)
        parts = [one for one in parts if len(one.y)]
        if not parts:
            raise CommandError("no row could be held out to judge the model; give more rows.")
        rows, y = (np.concatenate([part[place] for part in parts]) for place in (1, 2))
        own, line = (
            np.concatenate(each) for each in zip(*(p.predictions for p in parts), strict=True)
        )
        if known.classes is None:
            n_known, name, simplest = fitted_on[0], "the mean", fitted_on[1] / fitted_on[0]
        else:
            n_known, name = fitted_on.sum(), "commonest class"
            simplest = fitted_on / n_known
        constant = np.broadcast_to(simplest, own.shape)
        how = f"a quarter of all, {n_held_out:,} rows"
        if len(y) < n_held_out:
            how = f"{len(y):,} of a quarter of all rows"
        held_out = HeldOut(
            y,
            [
                Predicted("flock", own, "own", fitted[0][1]),
                Predicted(name, constant, "simplest", 0.0),
                Predicted("one linear model", line, "linear", fitted[1][1]),
            ],
            known.classes,
            names=rows + 1,
            how=how,
        )
        return held_out, pd.concat([part.table for part in parts]), int(n_known) + n_held_out
