"""What runs beside the rows: loading blocks, and answering questions about them.

Blocks change with every question, so they are no results of Dask's, which may be computed twice
and anywhere. They lie in this module, under the worker that loaded them, and count the messages
that they have heard. The one they heard last they answer again; if they missed one, or are not
here at all, they are *lost*, and whoever asks has them loaded anew and told what happened.
"""

import asyncio
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd
import psutil
from distributed import get_worker
from distributed.system import MEMORY_LIMIT

from covey._validation import check_all_finite
from covey.dask._blocks import Block, Raw
from covey.dask._scratch import SCRATCH
from covey.dask._search import changes
from covey.dask._spill import SpillBuffer

# The address of blocks that no worker has, but whoever asks.
HERE = "here"

# Of the memory that a worker has left, what rows and what is known of them may take; the rest is
# for work on them, and for Dask, which lets a worker rest at 80 % and ends it at 95 %.
_SHARE_OF_MEMORY = 0.5

# A fit that asks nothing for so many seconds is taken for dead; if it is not, it loads again.
_PATIENCE = 3600.0


class Loaded(NamedTuple):
    """What is known of a block once it is loaded."""

    address: str  # of the worker that has it
    n_rows: int
    labels: np.ndarray  # (L,), those of the block, sorted
    n_used: np.ndarray  # (L,), rows of each that weigh something
    weight: np.ndarray  # (L,), what rows of each weigh together
    heaviest: np.ndarray  # (L,)
    is_sparse: bool
    digest: str | None


@dataclass
class _Entry:
    block: Block
    heard: int = 0  # messages
    said: Any = None  # to the last of them
    fits: bool = True  # whether what is known of the rows stays in memory
    n_bytes: int = 0  # how large that is
    asked: float = field(default_factory=time.monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)


_ENTRIES: dict[tuple[str, str, int], _Entry] = {}
_SHELVES: dict[str, SpillBuffer] = {}
_FORGOTTEN: deque[str] = deque(maxlen=1000)  # fits that are over
_POOLS: dict[str, ThreadPoolExecutor] = {}
_LOCK = threading.Lock()


def _shelf(address):
    with _LOCK:
        if address not in _SHELVES:
            limit, folder = MEMORY_LIMIT, None
            if address != HERE:
                worker = get_worker()
                limit = worker.memory_manager.memory_limit or MEMORY_LIMIT
                folder = worker.local_directory
            left = max(0, limit - psutil.Process().memory_info().rss)
            _SHELVES[address] = SpillBuffer(_SHARE_OF_MEMORY * left, folder)
        return _SHELVES[address]


# -- load ----------------------------------------------------------------------------------------


def load(X, y, weight, fit, number, names, wants_digest, address=None):
    """Check a block of rows and keep it here.

    Parameters
    ----------
    X, y, weight : array, sparse matrix, frame or series
        Rows, labels, and weights or None.
    fit : str
        Which fit this is for.
    number : int
        Which block it is.
    names : sequence of str or None
        Of the columns.
    wants_digest : bool
        Whether the answer has a digest of the block.
    address : str, optional
        Whose block it is; None: the worker's that runs this.

    Returns
    -------
    loaded : Loaded
    """
    address = get_worker().address if address is None else address
    X = _numbers(X, number, names)
    y = _labels(y, number)
    weight = np.ones(len(y)) if weight is None else _weights(weight, number)
    for name, array in (("y", y), ("sample_weight", weight)):
        if len(array) != X.shape[0]:
            raise ValueError(
                f"Block {number} of X has {X.shape[0]} rows, but that of {name} has "
                f"{len(array)}; give X and {name} blocks of the same rows."
            )
    try:
        labels, codes = np.unique(y, return_inverse=True)
    except TypeError:
        raise ValueError(
            f"y must hold numbers or strings, not both, but block {number} has both."
        ) from None
    n_labels, used = len(labels), weight > 0
    heaviest = np.zeros(n_labels)
    np.maximum.at(heaviest, codes, weight)
    loaded = Loaded(
        address,
        len(y),
        labels,
        np.bincount(codes[used], minlength=n_labels),
        np.bincount(codes, weight, minlength=n_labels),
        heaviest,
        hasattr(X, "tocsr"),
        joblib.hash((X, y, weight)) if wants_digest else None,
    )
    if loaded.n_rows:
        _forget_old()
        key = address, fit, number
        _shelf(address).put(key, Raw(X, labels, codes, weight))
        _ENTRIES[key] = _Entry(Block(number))
        if fit in _FORGOTTEN:
            # It was over before this block was here.
            _drop(key)
    return loaded


def _numbers(X, number, names):
    """A block of X as float64, an array or CSR."""
    try:
        if hasattr(X, "tocsr"):
            X = X.tocsr().astype(np.float64)
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
        elif hasattr(X, "iloc"):
            X = X.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            X = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Block {number} of X holds what is no number ({error}); encode it as numbers."
        ) from None
    if X.ndim != 2:
        raise ValueError(f"Block {number} of X must have two dimensions, got shape {X.shape}.")
    if X.shape[0]:
        try:
            check_all_finite(X, names)
        except ValueError as error:
            place = f"(block {number}, row"
            raise ValueError(str(error).replace("(row", place, 1)) from None
    return X


def _labels(y, number):
    dtype = getattr(y, "dtype", None)
    try:
        if hasattr(dtype, "numpy_dtype") and not y.isna().any():
            # pandas's own integers would become objects.
            y = y.to_numpy(dtype=dtype.numpy_dtype)
        y = np.asarray(y)
    except (TypeError, ValueError):
        y = np.asarray(y, dtype=object)
    if y.ndim != 1:
        raise ValueError(f"y must be 1D, but its block {number} has shape {y.shape}.")
    missing = (y != y) if y.dtype.kind == "f" else np.zeros(len(y), dtype=bool)
    if y.dtype == object:
        missing = np.asarray(pd.isna(y), dtype=bool)
    if missing.any():
        raise ValueError(
            f"y has no label in row {int(np.argmax(missing))} of block {number}; drop the row."
        )
    if y.dtype.kind == "f" and not (np.isfinite(y).all() and (y == np.floor(y)).all()):
        raise ValueError(
            f"y must hold labels, but block {number} has numbers that are not whole (unknown "
            "label type: continuous); use classes."
        )
    return y


def _weights(weight, number):
    try:
        weight = np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight holds what is no number in block {number}.") from None
    if weight.ndim != 1:
        raise ValueError(f"sample_weight must be 1D, but block {number} has shape {weight.shape}.")
    broken = ~(np.isfinite(weight) & (weight >= 0))
    if broken.any():
        row = int(np.argmax(broken))
        raise ValueError(
            "sample_weight must be finite and not negative, but row "
            f"{row} of block {number} has {weight[row]:g}."
        )
    return weight


# -- answer --------------------------------------------------------------------------------------


class Message(NamedTuple):
    """What blocks are told, the last call being the question.

    Attributes
    ----------
    fit : str
    number : int
        Counts the messages of a fit.
    calls : list of (str, tuple)
        Questions with their arguments.
    blocks : dict of str to list of int
        Those concerned, by the address of their worker.
    past : list of (str, tuple), or None
        For blocks that were loaded anew: all that made earlier ones what they are.
    """

    fit: str
    number: int
    calls: list
    blocks: dict
    past: list | None


async def answer(message, dask_worker):
    """Answers of a worker's blocks, by their number: see `answers`."""
    address, n_threads = dask_worker.address, dask_worker.state.nthreads
    if address not in _POOLS:
        _POOLS[address] = ThreadPoolExecutor(n_threads, "covey")
    # The worker's own thread must not be kept waiting: it tells the scheduler that it lives.
    parts = await asyncio.gather(
        *(
            asyncio.wrap_future(_POOLS[address].submit(answers, message, address, place))
            for place in (slice(first, None, n_threads) for first in range(n_threads))
        )
    )
    return {number: said for part in parts for number, said in part.items()}


def answers(message, address, which=slice(None)):
    """Answers of the blocks of an address, or of some of them, by their number.

    Each is ("said", answer), ("lost", None) or ("failed", exception).
    """
    numbers = message.blocks.get(address, [])[which]
    return {number: _answer(message, address, number) for number in numbers}


def _answer(message, address, number):
    key = address, message.fit, number
    entry = _ENTRIES.get(key)
    if entry is None:
        return "lost", None
    with entry.lock:
        entry.asked = time.monotonic()
        if entry.heard == message.number:
            return "said", entry.said
        calls = message.calls
        if entry.heard == 0 and message.past is not None:
            calls = [*message.past, *calls]
        elif entry.heard != message.number - 1:
            return "lost", None
        shelf, block = _SHELVES[address], entry.block
        try:
            block.data = data = shelf.get(key)
            if not entry.fits:
                block.known = shelf.get((*key, "known"))
            with np.errstate(over="ignore", invalid="ignore"):
                for question, args in calls:
                    entry.said = block.answer(question, args)
            if _ENTRIES.get(key) is entry:
                fitted = entry.fits
                if block.data is not data or block.n_bytes_known != entry.n_bytes:
                    entry.n_bytes = block.n_bytes_known
                    entry.fits = shelf.put(key, block.data, entry.n_bytes)
                if not entry.fits:
                    if fitted or any(_changes(*call) for call in calls):
                        shelf.write((*key, "known"), block.known)
                    block.known = None
        except Exception as error:
            # Half of it may have happened.
            _drop(key)
            return "failed", error
        finally:
            block.data = None
        entry.heard = message.number
        return "said", entry.said


def _changes(question, args):
    # Most of what a search asks leaves a block as it is, and its file.
    return question != "searched" or changes(args[0], args[1:])


# -- forget --------------------------------------------------------------------------------------


def _drop(key):
    if _ENTRIES.pop(key, None) is not None:
        for thing in (key, (*key, "known")):
            _SHELVES[key[0]].drop(thing)


def forget(fit):
    """Drop all blocks of a fit, also those that are yet to come."""
    _FORGOTTEN.append(fit)
    for key in [key for key in list(_ENTRIES) if key[1] == fit]:
        _drop(key)
    if not _ENTRIES:
        SCRATCH.clear()


def n_blocks():
    """How many blocks lie here."""
    return len(_ENTRIES)


def _forget_old():
    now = time.monotonic()
    for key, entry in list(_ENTRIES.items()):
        if now - entry.asked > _PATIENCE:
            _drop(key)
