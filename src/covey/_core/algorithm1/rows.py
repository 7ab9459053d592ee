"""What a step of Algorithm 1 asks of the rows: sums, and nothing else.

A table is one or more blocks of rows. A `RowBlock` holds its part of the matrix and all that
depends on a row: sample weights, what earlier members said, the logits of the members that are
grown. The trainer tells it coefficients and is told sums over its rows, small arrays of
``C``, ``R`` and ``D``; that the sums of several blocks are those of the whole table is all that
it takes to work on blocks that lie elsewhere.

Of every run there is a *lane*, and another one for each run that tries a flipped subset: lanes
``0 ... R-1`` are those of the runs, ``R ...`` those of the runs ``moving``. So one product with
the matrix serves both candidates of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate

import numpy as np
import numpy.typing as npt
from array_api_compat import device

from covey._core.algorithm1.ascent import Ascent
from covey._core.algorithm1.reweighting import Reweighting, ReweightingName
from covey._core.arrays import (
    Array,
    Positions,
    Workspace,
    cuda_kernels,
    is_on_host,
    like,
    namespace_of,
)
from covey._core.design import Design
from covey._core.losses import Loss
from covey._core.rows import Arrays, P, Result, Rows, call
from covey._core.softmax_linear import Blocks, highest_and_right, weight_of

IntArray = npt.NDArray[np.int64]

_NOBODY: IntArray = np.zeros(0, dtype=np.int64)

# Runs of lanes that are kept on a device; a matter of speed only.
_MOST_LANES = 256

# A table is worked on in several blocks if it has twice the most rows of one, or if its logits
# (classes x runs x rows) are more numbers than a cache holds; and how many a block then has.
_CACHED = 1 << 22
_NUMBERS_AT_ONCE = 1 << 19
_FEWEST_ROWS, _MOST_ROWS = 1 << 12, 1 << 15


class RowBlock:
    """Some rows of a table, and what a stack of runs knows of each.

    Parameters
    ----------
    design : Design
        The block's part of the matrix, its rows sorted by class.
    blocks : Blocks
        The rows of each class.
    base_weight : array of shape (R, n)
        The user's sample weights; a row outside a run's split weighs 0.
    ascent : Ascent
    scratch : Workspace, optional
        For what is needed only while a question is answered; blocks that are asked one after
        another can share it.
    """

    def __init__(
        self,
        design: Design,
        blocks: Blocks,
        base_weight: Array,
        ascent: Ascent,
        scratch: Workspace | None = None,
    ) -> None:
        self.design = design
        self._xp = design.xp
        self._blocks = blocks
        self._base_weight = base_weight
        self._loss = Loss(ascent.loss, ascent.focal_gamma)
        self._reweighting = Reweighting(base_weight, ascent.reweighting)
        self._workspace = Workspace(design.like)
        self._scratch = Workspace(design.like) if scratch is None else scratch
        self._runs: IntArray = np.arange(base_weight.shape[0])
        self._weight: Array = base_weight  # of the runs under way
        self._logits: Array = None  # of the lanes that were evaluated last
        self._highest: Array = None
        self._intercept: Array = None  # of the logits, where kernels add it
        self._residual: Array = None
        self._steepest: Array = None
        self._index = Positions(base_weight)
        self._lanes: dict[int, tuple[IntArray, Array]] = {}
        # On a CUDA device eq. (9) is climbed by kernels of its own.
        self._kernels: Any = cuda_kernels(design.like) if ascent.loss == "log" else None
        if self._kernels is not None:
            labels = np.concatenate([np.full(b.stop - b.start, c) for c, b in enumerate(blocks)])
            self._label = like(design.like, labels, self._xp.int32)

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self._blocks)

    @property
    def n_runs(self) -> int:
        """How many runs the stack has."""
        return int(self._base_weight.shape[0])

    # -- between members -------------------------------------------------------------------

    def see(self, theta: Array, intercept: Array) -> None:
        """Note what a member of every run, (C, R, D) and (C, R), says."""
        everyone = np.arange(self.n_runs)
        out = self._scratch.take("residual", *theta.shape[:2], self.design.n_rows)
        self._reweighting.see(self.design.logits(theta, intercept, everyone, out), self._blocks)

    def peak(self) -> Array:
        """See `Reweighting`."""
        return self._reweighting.peak()

    def errors(self, peak: Array) -> tuple[Array, Array]:
        """See `Reweighting`."""
        return self._reweighting.errors(peak)

    def boost(self, error: Array) -> None:
        """See `Reweighting`."""
        self._reweighting.boost(error)

    def weigh(self, peak: Array) -> tuple[Array, Array]:
        """See `Reweighting`; all runs are under way again."""
        sums = self._reweighting.weigh(peak)
        self._runs = np.arange(self.n_runs)
        self._set_weight()
        return sums

    def rescale(self, factor: Array) -> None:
        """See `Reweighting`."""
        self._reweighting.rescale(factor)
        self._set_weight()

    def _set_weight(self) -> None:
        self._weight = self._reweighting.weight
        if not is_on_host(self._weight):
            # Where a step that was recorded finds it.
            self._weight = self._workspace.take("weight", *self._base_weight.shape)
            self._weight[...] = self._reweighting.weight

    def heaviest(self, base: bool) -> Array:
        """The largest weight of each run, (R,): the member's or the user's."""
        return self._xp.max(self._base_weight if base else self._reweighting.weight, axis=1)

    def spread(self, vector: Array, heaviest: Array, base: bool) -> tuple[Array, Array]:
        """``sum_m w_m z_m z_m^T v`` for v (1, R, D + 1), z with the intercept's 1.

        The weights are divided by ``heaviest``: squares of very large or very small ones would
        be lost.
        """
        everyone = np.arange(self.n_runs)
        weight = self._base_weight if base else self._reweighting.weight
        out = self._scratch.take("residual", 1, self.n_runs, self.design.n_rows)
        product = self.design.logits(vector[:, :, :-1], vector[:, :, -1], everyone, out)
        product *= weight / heaviest[:, None]
        return self.design.gradient(product, everyone)

    def gram(self) -> tuple[Array]:
        """``sum_m w_m z_m z_m^T`` of the user's weights, (R, D + 1, D + 1)."""
        return (self.design.gram(self._base_weight),)

    # -- one member ------------------------------------------------------------------------

    def evaluate(
        self, runs: IntArray, moving: IntArray, theta: Array, intercept: Array
    ) -> tuple[Array]:
        """What the rows that candidates get right weigh, (L,): the sum in eq. (7).

        Parameters
        ----------
        runs : ndarray of shape (R,)
            The runs under way.
        moving : ndarray
            The positions, among these, of those that have a second lane.
        theta : array of shape (C, L, D)
            Zero outside the subsets.
        intercept : array of shape (C, L)
        """
        n_runs = len(runs)
        if not np.array_equal(runs, self._runs):
            self._runs, self._weight = runs, self._reweighting.weight[self._index(runs), :]
        lanes = np.concatenate([runs, runs[moving]])
        out = self._workspace.take("logits", *theta.shape[:2], self.design.n_rows)
        if self._kernels is not None:
            self._logits = out
            self._intercept = self._workspace.take("intercept", *theta.shape[:2])
            self._intercept[...] = self.design.products(theta, intercept, lanes, out)
            whose = self._lanes_of(moving)
            return (self._kernels.won(out, self._intercept, self._weight, whose, self._label),)
        self._logits = self.design.logits(theta, intercept, lanes, out)
        highest = self._workspace.take("highest", len(lanes), self.design.n_rows)
        self._highest, right = highest_and_right(self._logits, self._blocks, highest)
        won = weight_of(right[:n_runs], self._weight)
        if len(moving):
            weight = self._of_moving(self._weight, moving)
            won = self._xp.concat([won, weight_of(right[n_runs:], weight)])
        return (won,)

    def slopes(
        self, taken: Any, going: IntArray | None, moving: IntArray, change: Array | None
    ) -> tuple[Array, Array, Array]:
        """Settle the last evaluation; eq. (9) and its gradients from there.

        Parameters
        ----------
        taken : (moving, which) or None
            The positions of the runs whose second lane was evaluated last, and which of these
            go on from there: positions on the host, or a mask.
        going : ndarray or None
            The positions of the runs that go on; None: all.
        moving : ndarray
            The positions (among those that go on) of the runs that now try a flipped subset.
        change : array of shape (C, len(moving), D) or None
            What that changes in their coefficients.

        Returns
        -------
        objective : array of shape (R,)
        slope : array of shape (C, L, D)
            By the coefficients, of all features: the subset is the trainer's concern.
        total : array of shape (C, L)
            By the intercepts.
        """
        if self._kernels is not None:
            return self._slopes_by_kernels(taken, going, moving, change)
        objective = self._settled(taken, going, moving)
        n_runs = len(self._runs)
        lanes = self._runs
        residual = self._residual
        if len(moving):
            lanes = np.concatenate([self._runs, self._runs[moving]])
            tried = residual[:, n_runs:, :]
            if is_on_host(tried):
                # One by one: an index of many would copy them all first.
                for place, position in enumerate(moving):
                    tried[:, place, :] = self._logits[:, position, :]
            else:
                tried[...] = self._logits[:, self._index(moving), :]
            self.design.add_flipped(tried, change, self._runs[moving])
            weight = self._of_moving(self._weight, moving)
            self._loss(tried, self._blocks, weight, self._scratch, tried)
        return objective, *self.design.gradient(residual, lanes)

    def objective(self, taken: Any, going: IntArray | None) -> tuple[Array]:
        """Settle the last evaluation; eq. (9) alone."""
        if self._kernels is not None:
            return self._slopes_by_kernels(taken, going, _NOBODY, None)[:1]
        return (self._settled(taken, going, _NOBODY),)

    def steepest(self) -> Array:
        """The steepest loss of each run's rows, for losses that ask for it."""
        return self._steepest

    def _of_moving(self, array: Array, moving: IntArray) -> Array:
        """The rows of some of the runs under way."""
        return array if len(moving) == len(self._runs) else array[self._index(moving), :]

    def _lanes_of(self, moving: IntArray) -> Array:
        """The position of the run of each lane, as the kernels want it."""
        known = self._lanes.get(id(moving))
        if known is None or len(known[1]) != len(self._runs) + len(moving):
            if len(self._lanes) > _MOST_LANES:
                self._lanes.clear()
            whose = np.concatenate([np.arange(len(self._runs)), moving])
            known = moving, like(self._base_weight, whose, self._xp.int32)
            # Kept, since a step that was recorded knows where it lies.
            self._lanes[id(moving)] = known
        return known[1]

    def _slopes_by_kernels(
        self, taken: Any, going: IntArray | None, moving: IntArray, change: Array | None
    ) -> tuple[Array, Array, Array]:
        """The same as `slopes`, in few passes over the rows."""
        xp, n_told = self._xp, len(self._runs)
        # Of the lanes evaluated last, the one that each run goes on with.
        source = xp.arange(n_told, dtype=xp.int32, device=device(self._logits))
        if taken is not None and len(taken[0]):
            positions, which = taken
            second = n_told + xp.arange(
                len(positions), dtype=xp.int32, device=device(self._logits)
            )
            if is_on_host(which):
                flags = np.zeros(len(positions), dtype=bool)
                flags[which] = True
                which = like(self._logits, flags, xp.bool)
            at = self._index(positions)
            source[at] = xp.where(which, second, source[at])
        if going is not None and len(going) < n_told:
            at = self._index(going)
            source, self._weight = source[at], self._weight[at, :]
            self._runs = self._runs[going]
        n_runs, n_classes, n_rows = len(self._runs), self.n_classes, self.design.n_rows
        lanes = self._runs
        added, shift = self._logits, self._intercept
        if len(moving):
            lanes = np.concatenate([self._runs, self._runs[moving]])
            added = self._scratch.take("added", n_classes, len(moving), n_rows)
            assert change is not None
            nothing = xp.zeros_like(change[:, :, 0])
            shift = self.design.products(change, nothing, self._runs[moving], added)
            source = xp.concat([source, source[self._index(moving)]])
        residual = self._scratch.take("residual", n_classes, len(lanes), n_rows)
        objective, total = self._kernels.residual(
            self._logits,
            self._intercept,
            source,
            added,
            shift,
            self._weight,
            self._lanes_of(moving),
            self._label,
            residual,
            n_runs,
        )
        return objective, *self.design.gradient(residual, lanes, total)

    def _settled(self, taken: Any, going: IntArray | None, moving: IntArray) -> Array:
        """Give every run the lane it goes on with; the objective there, and the residual."""
        n_runs = len(self._runs)
        logits, highest = self._logits[:, :n_runs, :], self._highest[:n_runs, :]
        if taken is not None:
            positions, which = taken
            tried, peak = self._logits[:, n_runs:, :], self._highest[n_runs:, :]
            if is_on_host(which):
                for position, place in zip(positions[which], which, strict=True):
                    logits[:, int(position), :] = tried[:, int(place), :]
                    highest[int(position), :] = peak[int(place), :]
            else:
                at = self._index(positions)
                logits[:, at, :] = self._xp.where(which[:, None], tried, logits[:, at, :])
                highest[at, :] = self._xp.where(which[:, None], peak, highest[at, :])
        if going is not None and len(going) < n_runs:
            at = self._index(going)
            logits, highest = logits[:, at, :], highest[at, :]
            self._weight, self._runs = self._weight[at, :], self._runs[going]
        self._logits = logits
        n_lanes = len(self._runs) + len(moving)
        self._residual = self._scratch.take(
            "residual", self.n_classes, n_lanes, self.design.n_rows
        )
        objective, _, self._steepest = self._loss(
            logits,
            self._blocks,
            self._weight,
            self._scratch,
            self._residual[:, : len(self._runs), :],
            highest,
        )
        return objective


def in_memory(design: Design, blocks: Blocks, base_weight: Array, ascent: Ascent) -> InMemory:
    """A table whose rows are all here, as blocks that are worked on one after another.

    Long tables have several: what is made of a block's logits then stays in the cache, and takes
    no more memory than one block needs.
    """
    n_rows, n_lanes = design.n_rows, len(blocks) * base_weight.shape[0]
    is_long = n_rows >= 2 * _MOST_ROWS or n_rows * n_lanes > _CACHED
    at_once = min(max(_NUMBERS_AT_ONCE // n_lanes, _FEWEST_ROWS), _MOST_ROWS)
    if design.is_sparse or not is_on_host(design.like) or not is_long or n_rows < 2 * at_once:
        return InMemory([RowBlock(design, blocks, base_weight, ascent)])
    scratch = Workspace(design.like)
    parts = []
    for start in range(0, n_rows, at_once):
        stop = min(start + at_once, n_rows)
        inside = tuple(
            slice(min(max(b.start, start), stop) - start, min(max(b.stop, start), stop) - start)
            for b in blocks
        )
        rows = slice(start, stop)
        parts.append(RowBlock(design.rows(rows), inside, base_weight[:, rows], ascent, scratch))
    return InMemory(parts)


class InMemory:
    """A table whose rows are all here.

    Parameters
    ----------
    blocks : list of RowBlock
    """

    def __init__(self, blocks: Sequence[RowBlock]) -> None:
        self._blocks = blocks
        first = blocks[0]
        self.n_features = first.design.n_features
        self.n_classes = first.n_classes
        self.n_runs = first.n_runs
        self.like = first.design.like

    def broadcast(
        self,
        method: Callable[Concatenate[RowBlock, P], object],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        """Call a method of every block."""
        for block in self._blocks:
            call(block, method, *args, **kwargs)

    def sum(
        self,
        method: Callable[Concatenate[RowBlock, P], Arrays],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Arrays:
        """Call it, and add up what the blocks return, entry by entry."""
        blocks = iter(self._blocks)
        total = call(next(blocks), method, *args, **kwargs)
        for block in blocks:
            for one, other in zip(total, call(block, method, *args, **kwargs), strict=True):
                one += other
        return total

    def max(
        self,
        method: Callable[Concatenate[RowBlock, P], Array],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Array:
        """Call it, and take the maximum of what the blocks return."""
        largest, *others = self.gather(method, *args, **kwargs)
        for other in others:
            largest = namespace_of(largest).maximum(largest, other)
        return largest

    def gather(
        self,
        method: Callable[Concatenate[RowBlock, P], Result],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> list[Result]:
        """Call it; what each block returns."""
        return [call(block, method, *args, **kwargs) for block in self._blocks]


def see(
    rows: Rows[RowBlock], name: ReweightingName | None, theta: Array, intercept: Array
) -> None:
    """Let all rows take note of a member."""
    rows.broadcast(RowBlock.see, theta, intercept)
    if name == "adaboost":
        wrong, whole = rows.sum(RowBlock.errors, rows.max(RowBlock.peak))
        rows.broadcast(RowBlock.boost, wrong / whole)


def reweigh(rows: Rows[RowBlock], name: ReweightingName | None) -> tuple[Array, Array]:
    """Set the weights of the next member on all rows; their sums (R,), and the user's."""
    weight_sum, total = rows.sum(RowBlock.weigh, rows.max(RowBlock.peak))
    if name in ("divergence", "adaboost"):
        # Only their proportions have a meaning.
        rows.broadcast(RowBlock.rescale, total / weight_sum)
        weight_sum = total
    return weight_sum, total
