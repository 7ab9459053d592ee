"""Random draws as a function of where they are used, not of when they are made.

Every draw is determined by ``(seed, purpose, run, member, position)``. A run therefore sees
the same numbers alone, in a stack, in another block layout, on a GPU, or resumed. Draws are
made on the host by NumPy's counter-based Philox generator.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from covey._core.arrays import BoolArray, FloatArray

# Philox yields four 64-bit words for each value of its counter; a double takes one word.
_WORDS_PER_COUNT = 4


class Purpose(IntEnum):
    """The purposes of draws. The values are part of the format: never renumber them."""

    START = 0
    FLIP = 1
    ACCEPT = 2
    HOLD_OUT = 3
    POWER_ITERATION = 4
    FOLD = 5
    SAMPLE = 6
    ENCODE = 7
    EXPLAIN = 8


def _key(seed: int, purpose: Purpose, run: int, member: int) -> Any:
    return np.random.SeedSequence([seed, purpose, run, member]).generate_state(2, np.uint64)


def normals(
    seed: int, purpose: Purpose, run: int, member: int, shape: tuple[int, ...]
) -> FloatArray:
    """Return standard normal draws of the given shape."""
    bits = np.random.Philox(key=_key(seed, purpose, run, member))
    return np.random.Generator(bits).standard_normal(shape)


def normals_of(
    which: BoolArray, seed: int, purpose: Purpose, run: int, member: int, n_rows: int
) -> FloatArray:
    """Return standard normal draws (n_rows, D) of the columns in ``which`` (D,); others are 0.

    The draws of a column depend only on its place among these columns, so that an unused column
    more changes none of them.
    """
    draws = np.zeros((n_rows, len(which)))
    draws[:, which] = normals(seed, purpose, run, member, (n_rows, int(np.sum(which))))
    return draws


class UniformRows:
    """An endless matrix of uniform draws on [0, 1), ``width`` columns, readable from any row on.

    >>> rows = UniformRows(0, Purpose.FLIP, 0, 0, width=3)
    >>> bool((rows.read(5, 1) == rows.read(0, 9)[5:6]).all())
    True
    """

    def __init__(self, seed: int, purpose: Purpose, run: int, member: int, width: int) -> None:
        self._address = (seed, purpose, run, member)
        self._key: Any = None  # takes longer to make than many draws
        self._width = width
        self._counts_per_row = -(-width // _WORDS_PER_COUNT)

    def read(self, start: int, count: int) -> FloatArray:
        """Return rows ``start`` to ``start + count`` as an array of shape ``(count, width)``."""
        if self._key is None:
            self._key = _key(*self._address)
        bits = np.random.Philox(key=self._key)
        bits.advance(start * self._counts_per_row)
        padded = np.random.Generator(bits).random((count, self._counts_per_row * _WORDS_PER_COUNT))
        return padded[:, : self._width]
