"""Which training rows are held out from the members, to choose or to learn something from."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey._core.random import Purpose, UniformRows
from covey._folds import check_groups


def held_out_rows(
    codes: np.ndarray, weight: np.ndarray, fraction: float, seed: int, groups: Any = None
) -> np.ndarray:
    """A share of each class, by each row's own draw, as a mask; with groups, whole groups."""
    draws = UniformRows(seed, Purpose.HOLD_OUT, 0, 0, 1).read(0, len(codes))[:, 0]
    if groups is not None:
        return _held_out_groups(
            codes, weight > 0, check_groups(groups, len(codes)), draws, fraction
        )
    held_out = np.zeros(len(codes), dtype=bool)
    for code in range(codes.max() + 1):
        rows = np.flatnonzero((codes == code) & (weight > 0))
        if len(rows) > 1:
            count = min(max(1, round(fraction * len(rows))), len(rows) - 1)
            held_out[rows[np.argsort(draws[rows], kind="stable")[:count]]] = True
    if not held_out.any():
        raise ValueError(
            "No class has two rows, so none can be held out to choose the size or to "
            "learn the fusion; use select_size=None and a fixed fusion rule."
        )
    return held_out


def _held_out_groups(
    codes: np.ndarray, used: np.ndarray, groups: np.ndarray, draws: np.ndarray, fraction: float
) -> np.ndarray:
    """Rows of whole groups, about a share of each class.

    Groups are taken in the order of their draws, each if a class of it still lacks held-out
    rows, and if no class loses more than its share or half of its rows, nor its last one. Where
    every row is a group, this is the share of each class itself.
    """
    counts = np.zeros((groups.max() + 1, codes.max() + 1), dtype=np.intp)
    np.add.at(counts, (groups[used], codes[used]), 1)
    size = counts.sum(axis=0)
    wanted = np.clip(np.rint(fraction * size), 1, np.maximum(size - 1, 0))
    most = np.clip(np.maximum(wanted, size // 2), 0, np.maximum(size - 1, 0))
    taken, held = np.zeros(len(counts), dtype=bool), np.zeros_like(size)
    for group in np.argsort(draws[: len(counts)], kind="stable"):
        after = held + counts[group]
        if (held < wanted)[counts[group] > 0].any() and (after <= most).all():
            taken[group], held = True, after
    if not taken.any():
        raise ValueError(
            "groups has no group that can be held out, to choose the size or to learn the fusion, "
            "without most rows of a class; use select_size=None and a fixed fusion rule, or "
            "smaller groups."
        )
    return taken[groups] & used
