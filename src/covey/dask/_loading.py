"""The checks of one block of rows, where it is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import dask
import dask.array as da
import joblib
import numpy as np
import pandas as pd

from covey._validation import holds_gaps
from covey.dask._spill import size_of


def is_dask(*collections: Any) -> bool:
    """Return whether any of these is a Dask collection."""
    return any(dask.is_dask_collection(collection) for collection in collections)


def is_frame(collection: Any) -> bool:
    """Return whether it is a Dask data frame."""
    return is_dask(collection) and hasattr(collection, "columns") and collection.ndim == 2


def delayed_blocks(X: Any, y: Any, sample_weight: Any) -> list[tuple[Any, Any, Any]]:
    """Return X, y and weights of each block of rows, as Delayed: the blocks are those of X."""
    rows = _BlocksOfX(X)
    columns = [rows.blocks(), rows.matched(y, "y")]
    if sample_weight is None:
        columns.append([None] * len(columns[0]))
    else:
        columns.append(rows.matched(sample_weight, "sample_weight"))
    return list(zip(*columns, strict=True))


def in_whole_rows(X: Any) -> Any:
    """Return a Dask array whose blocks have all columns."""
    if X.ndim != 2 or np.isnan(X.shape[1]):
        raise ValueError(
            f"X must have two dimensions, rows and a known number of columns, got shape {X.shape}."
        )
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


def check_numeric_columns(X: Any) -> None:
    """Refuse a collection with other values than numbers, by the names of its columns."""
    if not is_frame(X):
        if X.dtype.kind not in "biufO":
            raise ValueError(f"X must hold numbers, but its dtype is {X.dtype}; encode it.")
        return
    text = [
        repr(name) for name, dtype in X.dtypes.items() if getattr(dtype, "kind", "O") not in "biuf"
    ]
    if text:
        raise ValueError(
            f"X holds other things than numbers in column {', '.join(text[:5])}"
            f"{' and others' if len(text) > 5 else ''}; encode or drop it, or fit a sample in "
            "memory, where categories are all right."
        )


class _BlocksOfX:
    """The blocks of X, and the cuts of y and weights into the same blocks."""

    def __init__(self, X: Any) -> None:
        self._X = X if is_frame(X) else in_whole_rows(X)
        self._lengths = None if is_frame(X) else self._X.chunks[0]

    def blocks(self) -> list[Any]:
        """The blocks of X itself."""
        blocks = self._X.to_delayed()
        return list(blocks) if is_frame(self._X) else list(blocks[:, 0])

    def matched(self, other: Any, name: str) -> list[Any]:
        """Return the blocks of y or weights."""
        n_blocks = self._X.npartitions if is_frame(self._X) else self._X.numblocks[0]
        if not is_dask(other):
            return self._cut(np.asarray(other), name)
        if getattr(other, "ndim", 1) != 1:
            raise ValueError(f"{name} must be 1D, got a collection of {other.ndim} dimensions.")
        is_array = isinstance(other, da.Array)
        known = is_array and not np.isnan(other.chunks[0]).any()
        unknown = self._lengths is None or np.isnan(self._lengths).any()
        if known and not unknown and other.chunks[0] == self._lengths:
            return list(other.to_delayed())
        n_others = other.numblocks[0] if is_array else other.npartitions
        if n_others == n_blocks and (unknown or not known):
            # Whether each is as long as that of X is checked where they are loaded.
            return list(other.to_delayed())
        if not is_array:
            other = other.to_dask_array(lengths=True)
        elif not known:
            other = other.compute_chunk_sizes()
        lengths = self._known_lengths()
        self._check_length(other.shape[0], sum(lengths), name)
        return list(other.rechunk((lengths,)).to_delayed())

    def _cut(self, array: np.ndarray, name: str) -> list[Any]:
        """Return the blocks of an array in memory."""
        if array.ndim != 1:
            raise ValueError(f"{name} must be 1D, got an array of {array.ndim} dimensions.")
        lengths = self._known_lengths()
        self._check_length(len(array), sum(lengths), name)
        ends = np.cumsum(lengths)
        return [
            dask.delayed(array[end - length : end])
            for end, length in zip(ends, lengths, strict=True)
        ]

    def _known_lengths(self) -> tuple[int, ...]:
        if self._lengths is None:
            self._lengths = tuple(int(n) for n in self._X.map_partitions(len).compute())
        elif np.isnan(self._lengths).any():
            self._lengths = self._X.copy().compute_chunk_sizes().chunks[0]
        return self._lengths

    def _check_length(self, length: int, wanted: int, name: str) -> None:
        if length != wanted:
            raise ValueError(
                f"{name} has {length} entries, but X has {wanted} rows; give one a row."
            )


class LoadedRows(NamedTuple):
    """The rows of a block as they were given, checked."""

    X: Any  # ndarray (n, D) of float64, or CSR
    labels: np.ndarray  # (L,), the classes of the block, sorted; of a regression one label
    codes: np.ndarray  # (n,), positions among these
    values: np.ndarray | None  # (n,), the target of a regression
    weight: np.ndarray  # (n,)

    @property
    def n_bytes(self) -> int:
        """The bytes of the rows."""
        return size_of(tuple(self))


class Facts(NamedTuple):
    """The facts about a block once it is loaded."""

    address: str  # of the worker that has it
    n_rows: int
    labels: np.ndarray  # (L,)
    n_used: np.ndarray  # (L,), rows of each label whose weight is above 0
    weight: np.ndarray  # (L,), the sum of their weights
    heaviest: np.ndarray  # (L,), the largest weight
    is_sparse: bool
    digest: str | None


def checked_rows(
    X: Any, y: Any, weight: Any, number: int, names: Sequence[str] | None, numeric: bool
) -> LoadedRows:
    """Return a block of rows, or raise one sentence about what is wrong with it.

    ``number`` counts the blocks, ``names`` are those of the columns, and ``numeric`` is whether
    y holds numbers (a regression) instead of labels.
    """
    X = _features(X, number, names)
    y = _numbers(y, "y", number) if numeric else _labels(y, number)
    weight = np.ones(len(y)) if weight is None else _numbers(weight, "sample_weight", number, 0)
    for name, array in (("y", y), ("sample_weight", weight)):
        if len(array) != X.shape[0]:
            raise ValueError(
                f"Block {number} of X has {X.shape[0]} rows, but that of {name} has "
                f"{len(array)}; give X and {name} blocks of the same rows."
            )
    if numeric:
        return LoadedRows(X, np.zeros(1), np.zeros(len(y), dtype=np.int64), y, weight)
    try:
        labels, codes = np.unique(y, return_inverse=True)
    except TypeError:
        raise ValueError(
            f"y must hold numbers or strings, not both, but block {number} has both."
        ) from None
    return LoadedRows(X, labels, codes, None, weight)


def facts_of(rows: LoadedRows, address: str, wants_digest: bool) -> Facts:
    """Return the facts about a block that the fit needs."""
    n_labels, used = len(rows.labels), rows.weight > 0
    heaviest = np.zeros(n_labels)
    np.maximum.at(heaviest, rows.codes, rows.weight)
    return Facts(
        address,
        len(rows.weight),
        rows.labels,
        np.bincount(rows.codes[used], minlength=n_labels),
        np.bincount(rows.codes, rows.weight, minlength=n_labels),
        heaviest,
        hasattr(rows.X, "tocsr"),
        joblib.hash(tuple(rows)) if wants_digest else None,
    )


def _features(X: Any, number: int, names: Sequence[str] | None) -> Any:
    """Return a block of X as float64, an array or CSR."""
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
            f"Block {number} of X holds values that are not numbers ({error}); encode them."
        ) from None
    if X.ndim != 2:
        raise ValueError(f"Block {number} of X must have two dimensions, got shape {X.shape}.")
    if X.shape[0]:
        try:
            holds_gaps(X, names, allowed=False)
        except ValueError as error:
            raise ValueError(str(error).replace("(row", f"(block {number}, row", 1)) from None
    return X


def _one_dimensional(values: Any, name: str, number: int) -> np.ndarray:
    values = np.asarray(values)
    if values.ndim != 1:
        raise ValueError(f"{name} must be 1D, but its block {number} has shape {values.shape}.")
    return values


def _labels(y: Any, number: int) -> np.ndarray:
    dtype = getattr(y, "dtype", None)
    try:
        if dtype is not None and hasattr(dtype, "numpy_dtype") and not y.isna().any():
            # The integers of pandas's nullable types would become objects.
            y = y.to_numpy(dtype=dtype.numpy_dtype)
        y = np.asarray(y)
    except (TypeError, ValueError):
        y = np.asarray(y, dtype=object)
    y = _one_dimensional(y, "y", number)
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


def _numbers(values: Any, name: str, number: int, low: float = -np.inf) -> np.ndarray:
    """Return finite floats of a block, none of them below ``low``."""
    try:
        if hasattr(values, "isna"):
            values = values.to_numpy(dtype=np.float64, na_value=np.nan)
        values = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} holds values that are not numbers in block {number}.") from None
    values = _one_dimensional(values, name, number)
    broken = ~(np.isfinite(values) & (values >= low))
    if broken.any():
        row, what = int(np.argmax(broken)), "finite" if low < 0 else "finite and not negative"
        raise ValueError(
            f"{name} must be {what}, but row {row} of block {number} has {values[row]:g}; drop "
            "the row."
        )
    return values
