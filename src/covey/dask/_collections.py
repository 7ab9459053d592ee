"""The blocks of rows of the user's Dask collections."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np


def is_dask(*collections: Any) -> bool:
    """Whether any of these is a Dask collection."""
    return any(dask.is_dask_collection(collection) for collection in collections)


def is_frame(collection: Any) -> bool:
    """Whether it is a Dask data frame."""
    return is_dask(collection) and hasattr(collection, "columns") and collection.ndim == 2


def delayed_blocks(X: Any, y: Any, sample_weight: Any) -> list[tuple[Any, Any, Any]]:
    """X, y and weights of each block of rows, as Delayed: the blocks are those of X."""
    rows = _BlocksOfX(X)
    columns = [rows.blocks(), rows.matched(y, "y")]
    if sample_weight is None:
        columns.append([None] * len(columns[0]))
    else:
        columns.append(rows.matched(sample_weight, "sample_weight"))
    return list(zip(*columns, strict=True))


def in_whole_rows(X: Any) -> Any:
    """A Dask array whose blocks have all columns."""
    if X.ndim != 2 or np.isnan(X.shape[1]):
        raise ValueError(
            f"X must have two dimensions, rows and a known number of columns, got shape {X.shape}."
        )
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


def check_numeric_columns(X: Any) -> None:
    """Refuse a collection that holds other things than numbers, by the names of its columns."""
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
    """The blocks of X, and how y and weights are cut like them."""

    def __init__(self, X: Any) -> None:
        self._X = X if is_frame(X) else in_whole_rows(X)
        self._lengths = None if is_frame(X) else self._X.chunks[0]

    def blocks(self) -> list[Any]:
        """The blocks of X itself."""
        blocks = self._X.to_delayed()
        return list(blocks) if is_frame(self._X) else list(blocks[:, 0])

    def matched(self, other: Any, name: str) -> list[Any]:
        """The blocks of y or weights."""
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
        """The blocks of an array in memory."""
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
