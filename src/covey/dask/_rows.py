"""What a fit computes by sums over the blocks of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from covey._core.algorithm1.ascent import Ascent
from covey._core.basis import Basis
from covey._core.search.bases import basis_moments
from covey._core.search.rows import GrowingRows, Kind, SearchBlock
from covey.dask._blocks import DRAW_BITS, GATE, TableBlock
from covey.dask._table import Table
from covey.fusers import Gate
from covey.fusers._gate import GateFeatures

# A round of counting settles so many bits of a draw.
_BITS_PER_ROUND = 11


class _Squares:
    """The squares of sparse columns, as far as `basis_moments` reduces them."""

    def __init__(self, rows: Table, sees: GateFeatures) -> None:
        self._rows, self._sees = rows, sees

    def sum(self, method: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
        return self._rows.sum(TableBlock.of_squares, self._sees, method, *args)

    def max(self, method: Callable[..., Any], *args: Any) -> np.ndarray:
        return self._rows.max(TableBlock.of_squares, self._sees, method, *args)


def moments(rows: Table) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of the features."""
    return basis_moments(rows, "features", Basis.plain(rows.n_features))[:2]


def rows_to_grow_on(
    rows: Table, mean: np.ndarray, scale: np.ndarray, usable: np.ndarray, ascent: Ascent
) -> GrowingRows:
    """Get the rows ready for members to be grown on all of them."""
    plain = Basis.plain(rows.n_features)
    rows.broadcast(SearchBlock.standardize, "features", plain, mean, scale, usable)
    rows.broadcast(SearchBlock.set_folds, [], 1)
    rows.broadcast(SearchBlock.begin_growing, "features", ascent)
    return GrowingRows(rows, "features", rows.n_features, 1)


def highest_draws(rows: Table, n_used: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Of each class, the highest draw of the rows that are held out; -1: none of it is.

    It is a share of each class, the rows of the lowest draws, as where all rows are in memory.
    The last draw that is among them is found by counting, some of its bits a round. (That a
    draw comes twice at just this position, and a row more is held out, may happen once in
    2**53 rows.)
    """
    wanted = np.array([round(fraction * int(size)) for size in n_used])
    wanted = np.where(n_used > 1, np.clip(wanted, 1, np.maximum(n_used - 1, 1)), 0)
    if not wanted.any():
        raise ValueError(
            "No class has two rows, so none can be held out to choose the size; use "
            "select_size=None."
        )
    everyone = np.arange(len(n_used))
    prefix, below, shift = np.zeros(len(n_used), dtype=np.int64), 0, DRAW_BITS
    while shift > 0:
        width = min(shift, _BITS_PER_ROUND)
        shift -= width
        (counts,) = rows.sum(TableBlock.count_draws, seed, shift, prefix, width)
        reached = below + np.cumsum(counts, axis=1)
        at = np.argmax(reached >= wanted[:, None], axis=1)
        below = (reached - counts)[everyone, at][:, None]
        prefix = (prefix << width) + at
        if (reached[everyone, at] == wanted)[wanted > 0].all():
            break
    return np.where(wanted > 0, ((prefix + 1) << shift) - 1, -1)


def refine(
    rows: Table,
    gate: Gate,
    found: tuple[np.ndarray, np.ndarray],
    parts: tuple[np.ndarray, np.ndarray, np.ndarray],
    classes: np.ndarray,
    **how: Any,
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Fit a `Gate` together with members that were grown on these rows.

    ``found`` are the `moments` of the features, ``parts`` theta, intercepts and subsets of the
    members; ``how`` is as for `Gate.refine_by_sums`. Returns the refined theta and intercepts,
    and the mean importance of each member, (K,).
    """
    sees = GateFeatures(gate.features == "quadratic", found)
    if sees.quadratic and rows.is_sparse:
        plain = Basis.plain(rows.n_features)
        sees.standardise_squares(*basis_moments(_Squares(rows, sees), "squares", plain)[:2])
    rows.broadcast(TableBlock.prepare_gate, sees)
    rows.broadcast(
        SearchBlock.set_totals, False, False, *rows.sum(SearchBlock.run_totals, False, False)
    )
    kind = Kind("features", GATE, gate.pool, False, False)
    refined = gate.refine_by_sums(
        sees,
        lambda parts, runs: rows.sum(SearchBlock.value_and_gradient, kind, runs, parts),
        *parts,
        classes,
        **how,
    )
    importance, weight = rows.sum(TableBlock.gate_shares, sees, gate.coef_, gate.intercept_)
    return refined, importance / weight
