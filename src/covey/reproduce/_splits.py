"""Which rows a run trains, tunes and tests on; every draw a function of its own address."""

from __future__ import annotations

from zlib import crc32

import numpy as np

from covey.reproduce._data import Table

# The paper's shares of the rows: 80 % to train on, 10 % to tune on, 10 % to test on.
HELD_OUT = 0.1


def generator(seed: int, *address: str | int) -> np.random.Generator:
    """A generator that depends on the seed and on where it is used, and on nothing else.

    >>> a, b = generator(0, "segment", 3), generator(0, "segment", 3)
    >>> bool(a.random() == b.random())
    True
    """
    words = [crc32(part.encode()) if isinstance(part, str) else int(part) for part in address]
    return np.random.default_rng(np.random.SeedSequence([int(seed), *words]))


def whole_number(seed: int, *address: str | int) -> int:
    """A seed for something that wants an int."""
    return int(generator(seed, *address).integers(2**31 - 1))


def split_rows(table: Table, by: str, seed: int, purpose: str, run: int) -> tuple[np.ndarray, ...]:
    """Rows to train on, to tune on and to test on, sorted.

    ``by`` is "random" for rows, as in the paper, or "speaker" for whole speakers, so that none
    is heard in two of the three parts. Splits of another purpose are other splits.
    """
    draw = generator(seed, purpose, table.name, by, run)
    if by == "random":
        units, unit_of_row = np.arange(len(table.codes)), np.arange(len(table.codes))
    else:
        units, unit_of_row = np.unique(table.speakers, return_inverse=True)
    order = draw.permutation(len(units))
    held = max(1, round(HELD_OUT * len(units)))
    part_of_unit = np.zeros(len(units), dtype=int)
    part_of_unit[order[:held]] = 2
    part_of_unit[order[held : 2 * held]] = 1
    part_of_row = part_of_unit[unit_of_row]
    return tuple(np.flatnonzero(part_of_row == part) for part in range(3))


def thinned(
    rows: np.ndarray, codes: np.ndarray, count: int, draw: np.random.Generator
) -> np.ndarray:
    """So many of the rows, drawn at random, with at least one of every class that is there."""
    order = draw.permutation(rows)
    _, first = np.unique(codes[order], return_index=True)
    others = np.setdiff1d(np.arange(len(order)), first)
    return np.sort(order[np.concatenate([first, others])[:count]])
