"""The facts about columns that models remember, in files: typical values, and others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import numpy as np

from covey.persistence._nodes import Node
from covey.persistence._writer import Writer, plain
from covey.tables._columns import feature_names
from covey.tables._seen_columns import MOST_KEPT, MOST_WORDS, SHARES, Kind, SeenColumn, SeenColumns

_KINDS: tuple[Kind, ...] = get_args(Kind)
_LONGEST_TIME = 100


def write(seen: SeenColumns, out: Writer) -> dict[str, Any]:
    """Return the columns without their names, which the model has."""
    numbers = [column for column in seen.columns if column.kind == "number"]
    values = [value for column in numbers for value in column.values]
    return {
        "kinds": [column.kind for column in seen.columns],
        "typical": out.array(np.array([column.typical for column in numbers], dtype=np.float64)),
        "scale": out.array(np.array([column.scale for column in numbers], dtype=np.float64)),
        "whole": out.array(np.array([column.whole for column in numbers], dtype=bool), "flag"),
        "counts": out.array(np.array([len(one.values) for one in numbers], dtype=int), "whole"),
        "values": out.array(np.array(values, dtype=np.float64)),
        "words": [
            plain([column.typical, *column.values])
            for column in seen.columns
            if column.kind != "number"
        ],
        **_written_rows(seen, out),
        **_written_shares(seen, out),
    }


def _written_shares(seen: SeenColumns, out: Writer) -> dict[str, Any]:
    """Return how the values of all columns are spread, one column after the other."""
    if not seen.n_rows:
        return {}
    shares = [share for one in seen.columns for share in one.shares]
    below = [share for one in seen.columns for share in one.below or (0.0,) * len(one.shares)]
    missing = [one.missing for one in seen.columns]
    return {
        "n_rows": seen.n_rows,
        **{
            name: out.array(np.array(values, dtype=np.float64))
            for name, values in (("shares", shares), ("below", below), ("missing", missing))
        },
    }


def _with_shares(inner: Node, columns: list[SeenColumn]) -> tuple[list[SeenColumn], int]:
    """Return columns with the shares of their values; files of before have none."""
    if not inner.has("n_rows"):
        return columns, 0
    ends = np.cumsum([len(one.values) for one in columns]).tolist()
    parts = ("shares", "below")
    shares, below = (inner.array(name, (ends[-1],), low=0.0, high=1.0) for name in parts)
    missing = inner.array("missing", (len(columns),), low=0.0, high=1.0, nan=True).tolist()
    return [
        replace(
            one,
            shares=tuple(shares[start:end].tolist()),
            below=() if one.kind == "word" else tuple(below[start:end].tolist()),
            missing=share,
        )
        for one, start, end, share in zip(columns, [0, *ends], ends, missing, strict=False)
    ], inner.whole("n_rows", 1)


def _written_rows(seen: SeenColumns, out: Writer) -> dict[str, Any]:
    """Return the kept rows, by column: numbers (n_numbers, n_kept), and lists of others."""
    if not (seen.kept and out.keeps_rows):
        return {}
    kept = list(zip((column.kind == "number" for column in seen.columns), seen.kept, strict=True))
    numbers = [values for is_number, values in kept if is_number]
    rows = np.array(numbers, dtype=np.float64).reshape(len(numbers), len(seen.kept[0]))
    words = [plain(list(values)) for is_number, values in kept if not is_number]
    return {"kept": out.array(rows), "kept_words": words}


def _read_rows(inner: Node, kinds: list[Kind]) -> tuple[tuple[Any, ...], ...]:
    """Return the kept rows, by column; there may be none."""
    if not inner.has("kept"):
        return ()
    count = kinds.count("number")
    numbers = inner.array("kept", (count, None), nan=True)
    words = inner.plain_lists("kept_words", len(kinds) - count)
    n_kept = numbers.shape[1]
    inner.check(0 < n_kept <= MOST_KEPT, "kept", "has no rows, or too many.")
    rows, others = iter(numbers.tolist()), iter(words)
    kept = []
    for kind in kinds:
        values = next(rows if kind == "number" else others)
        proper = kind == "number" or (len(values) == n_kept and _are_words(values, kind))
        inner.check(proper, "kept_words", "is not a list of words.")
        kept.append(tuple(values))
    return tuple(kept)


def read(inner: Node, owner: Any, known: dict[str, int]) -> tuple[SeenColumns, dict[str, int]]:
    """Return the facts that a model remembers of its columns."""
    kinds = inner.names("kinds", _KINDS, owner.n_features_in_)
    names = feature_names(owner)
    count = kinds.count("number")
    typical = inner.array("typical", (count,), nan=True)
    scale = inner.array("scale", (count,), low=0.0)
    inner.check((scale > 0).all(), "scale", "holds a number that is not above 0.")
    whole = inner.array("whole", (count,), "flag")
    counts = inner.array("counts", (count,), "whole", low=0, high=len(SHARES))
    values = np.split(inner.array("values", (int(counts.sum()),)), np.cumsum(counts)[:-1])
    numbers = iter(zip(typical.tolist(), values, scale.tolist(), whole.tolist(), strict=False))
    listed = iter(inner.plain_lists("words", len(kinds) - count))
    columns = []
    for called, kind in zip(names, kinds, strict=True):
        if kind == "number":
            middle, own, size, is_whole = next(numbers)
            ascends = bool((own[1:] > own[:-1]).all())
            inner.check(ascends, "values", "is not in ascending order.")
            seen = SeenColumn(called, "number", middle, tuple(own.tolist()), size, is_whole)
            columns.append(seen)
            continue
        words = next(listed)
        proper = 0 < len(words) <= MOST_WORDS + 1 and _are_words(words, kind)
        inner.check(proper, "words", "is not a list of words.")
        columns.append(SeenColumn(called, kind, words[0], tuple(words[1:])))
    columns, n_rows = _with_shares(inner, columns)
    return SeenColumns(tuple(columns), _read_rows(inner, kinds), n_rows), known


def _are_words(words: list[Any], kind: str) -> bool:
    """Return whether these are values of a column other than numbers."""
    if kind == "word":
        return all(word is None or type(word) in (bool, int, float, str) for word in words)
    if not all(word is None or type(word) is str for word in words):
        return False
    if kind == "time":
        import pandas as pd

        # A parser of dates takes very long for a long word.
        if any(word is not None and len(word) > _LONGEST_TIME for word in words):
            return False
        try:
            for word in words:
                pd.Timestamp(word)
        except (ValueError, OverflowError):
            return False
    return True
