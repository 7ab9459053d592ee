"""What a search asks of the rows: sums, maxima, and for a few things what a block knows.

A table is one or more blocks of rows, as for Algorithm 1 (`covey._core.algorithm1.rows`). A
`SearchBlock` holds its part of the matrix, what bases make of it, its folds, the rows on which
members are grown, and what candidates say of those held out. Whatever passes between it and
the search is small: parameters, and sums over rows. One block in memory is the whole table
(`SearchInMemory`); blocks that lie elsewhere, and that may be lost, are made again from what they
were made of and from a `ReplayLog`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, Protocol, cast

import numpy as np
import numpy.typing as npt

from covey._core.algorithm1.ascent import Ascent
from covey._core.algorithm1.rows import RowBlock
from covey._core.arrays import Array, like, namespace_of, to_host
from covey._core.basis import Basis
from covey._core.design import Design
from covey._core.gating.gate import GatedRows, Parts, Pool, softmax_first
from covey._core.moments import extent, scaled_means, scaled_squares
from covey._core.rows import Arrays, P, Result, Rows, call
from covey._core.search.folds import Drawn, FoldAssignment, drawn
from covey._core.search.selection import Library, RowLoss, log_losses, possible
from covey._core.softmax_linear import class_blocks, linear_logits

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Method = Callable[..., Any]
Folds = Sequence[tuple[IntArray, IntArray]]

# What is the largest of a block's rows, and of none in an empty one.
_OF_ROWS: tuple[Method, ...] = (RowBlock.peak, RowBlock.heaviest)


class SearchRows(Rows["SearchBlock"], Protocol):
    """The rows of a table that is searched, wherever they are."""

    is_sparse: bool


@dataclass(frozen=True)
class Kind:
    """Which likelihood is asked for.

    Attributes
    ----------
    basis, gate : str
        What members and gate see.
    pool : {"linear", "log"}
    folds : bool
        Whether runs are the folds, or the restarts on all rows.
    single : bool
        Whether single precision is enough.
    """

    basis: str
    gate: str
    pool: Pool
    folds: bool
    single: bool


class SearchBlock:
    """Some rows of a table, and what a search knows of each.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, D)
    codes : ndarray of shape (n,)
        The classes as numbers.
    weight : ndarray of shape (n,)
    start : int
        The number of the first row in the whole table.
    n_classes : int
    beside : array, optional
        Where what is climbed shall live, if not here.
    """

    def __init__(
        self,
        X: Any,
        codes: IntArray,
        weight: FloatArray,
        start: int,
        n_classes: int,
        beside: Array | None = None,
    ) -> None:
        self._order = np.argsort(codes, kind="stable")
        self._start = start
        self._X = X[self._order]
        self._codes = codes[self._order]
        self._raw_weight = self.weight = weight[self._order]
        self.blocks = class_blocks(np.bincount(codes, minlength=n_classes))
        self.is_sparse = hasattr(X, "tocsr")
        self.beside = beside
        self.designs: dict[str, Design] = {}
        self._rough: dict[str, Design] = {}
        self._open: tuple[str, FloatArray] | None = None
        self._sorted: tuple[slice, list[FloatArray], list[FloatArray]] | None = None
        self._parts: Folds = []
        self.run_weight: FloatArray = np.zeros((0, len(codes)))
        self._share: dict[tuple[bool, bool], Array] = {}
        self._growing: dict[str, RowBlock] = {}
        self._said: dict[int, FloatArray] = {}
        self._library: Library | None = None

    @property
    def n_features(self) -> int:
        """How many columns X has."""
        return int(self._X.shape[1])

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.blocks)

    # -- the table -------------------------------------------------------------------------

    def counted(self) -> tuple[IntArray, FloatArray]:
        """How many rows of each class have a weight, (C,), and what all weigh, (1,)."""
        counts = np.bincount(self._codes[self.weight > 0], minlength=self.n_classes)
        return counts, np.array([self._raw_weight.sum()])

    def size(self) -> IntArray:
        """How many rows there are, (1,)."""
        return np.array([len(self.weight)])

    def largest_weight(self) -> FloatArray:
        """The weight of the heaviest row, (1,)."""
        return np.array([self._raw_weight.max(initial=0.0)])

    def weigh(self, unit: FloatArray) -> None:
        """Count weights in units of the largest one."""
        # Only their ratios matter; single precision has a smaller range.
        self.weight = self._raw_weight / unit[0]

    def weight_sum(self) -> tuple[FloatArray]:
        """What all rows weigh in these units, (1,)."""
        return (np.array([self.weight.sum()]),)

    def extremes(self, used: bool) -> FloatArray:
        """The greatest value of each feature, and of its negative, (2, D).

        With ``used``, over rows that have a weight.
        """
        rows = self._X[self.weight > 0] if used else self._X
        highest = np.max(rows, axis=0, initial=-np.inf)
        return np.stack([highest, -np.min(rows, axis=0, initial=np.inf)])

    def between(self, low: FloatArray, high: FloatArray) -> tuple[IntArray]:
        """How many rows have a value of each feature that is neither, (D,)."""
        return (np.sum((low != self._X) & (high != self._X), axis=0),)

    def distinct(self, which: slice, most: int) -> FloatArray:
        """The lowest values of some features, as many as there are up to ``most``, then NaN."""
        found = np.full((which.stop - which.start, most), np.nan)
        for column, values in zip(found, self._in_order(which)[0], strict=True):
            first = np.append(True, values[1:] != values[:-1])[: len(values)]
            lowest = values[np.flatnonzero(first)[:most]]
            column[: len(lowest)] = lowest
        return found

    def weight_up_to(self, which: slice, values: FloatArray) -> tuple[FloatArray]:
        """What rows weigh whose values of some features (d,) are at most ``values`` (d, m)."""
        columns, weights = self._in_order(which)
        return (
            np.stack(
                [
                    weight[np.searchsorted(column, wanted, side="right")]
                    for column, weight, wanted in zip(columns, weights, values, strict=True)
                ]
            ),
        )

    def _in_order(self, which: slice) -> tuple[list[FloatArray], list[FloatArray]]:
        """Columns (n,) in rising order, and what the rows before each weigh, (n + 1,).

        The last ones are kept, for they are asked about again and again.
        """
        if self._sorted is not None and self._sorted[0] == which:
            return self._sorted[1:]
        used = self.weight > 0
        weight = self.weight[used]
        even = bool((weight == 1.0).all())
        columns, weights = [], []
        counts = np.arange(len(weight) + 1.0)
        for column in self._X[used, which].T:
            if even:
                columns.append(np.sort(column))
                weights.append(counts)
                continue
            order = np.argsort(column)
            columns.append(column[order])
            weights.append(np.append(0.0, np.cumsum(weight[order])))
        self._sorted = which, columns, weights
        return columns, weights

    # -- bases -----------------------------------------------------------------------------

    def extent(self, name: str, basis: Basis) -> FloatArray:
        """See `covey._core.moments.extent`; of what a basis makes of the rows."""
        return extent(self._columns(name, basis), self.weight)

    def scaled_means(
        self, name: str, basis: Basis, size: FloatArray, total: FloatArray
    ) -> tuple[FloatArray]:
        """See `covey._core.moments.scaled_means`."""
        return (scaled_means(self._columns(name, basis), self.weight, size, total),)

    def scaled_squares(
        self, name: str, basis: Basis, size: FloatArray, center: FloatArray, total: FloatArray
    ) -> tuple[FloatArray]:
        """See `covey._core.moments.scaled_squares`."""
        return (scaled_squares(self._columns(name, basis), self.weight, size, center, total),)

    def standardise(
        self, name: str, basis: Basis, mean: FloatArray, scale: FloatArray, usable: BoolArray
    ) -> None:
        """Lay out what members see on a basis; a column that is of no use is zero."""
        self._sorted = None
        if self.is_sparse:
            columns = self._X.tocsc()
            columns.sum_duplicates()
            self.designs[name] = Design(columns, mean[None], scale[None])
            return
        expanded = self._columns(name, basis)
        self._open = None
        expanded -= mean[:, None]
        expanded /= scale[:, None]
        expanded[~usable] = 0.0
        self.designs[name] = Design(self._placed(expanded))

    def _placed(self, array: npt.NDArray[Any]) -> Array:
        """An array where what is climbed lives, of the same precision."""
        if self.beside is None:
            return array
        return like(self.beside, array, getattr(namespace_of(self.beside), array.dtype.name))

    def _columns(self, name: str, basis: Basis) -> Any:
        """The columns of a basis: (P, n), kept until they are standardised, or a CSC matrix."""
        if self.is_sparse:
            return self._X.tocsc()
        if self._open is None or self._open[0] != name:
            columns = np.array(self._X.T, dtype=np.float64, order="C")
            self._open = name, basis.expand(columns)
        return self._open[1]

    # -- folds -----------------------------------------------------------------------------

    def drawn(self, seed: int, n_repeats: int, ranked: IntArray) -> Drawn:
        """See `covey._core.search.folds`."""
        codes, used = self._as_given()
        return drawn(self._start, codes, used, seed, n_repeats, ranked)

    def deal(self, deal: FoldAssignment, n_restarts: int) -> None:
        """Split the rows into folds that were dealt, and get ready for runs on all of them."""
        codes, used = self._as_given()
        parts = [
            (np.flatnonzero(used & (fold != number)), np.flatnonzero(fold == number))
            for fold in deal.folds(self._start, codes, used)
            for number in range(deal.n_folds)
        ]
        self._split(parts, n_restarts)

    def split(self, folds: Folds, n_restarts: int) -> None:
        """The same for folds that are given: rows to fit on, and rows that are held out."""
        stop = self._start + len(self.weight)
        parts = [
            [rows[(rows >= self._start) & (rows < stop)] - self._start for rows in part]
            for part in folds
        ]
        self._split([(train, test) for train, test in parts], n_restarts)

    def _split(self, parts: Folds, n_restarts: int) -> None:
        place = np.empty(len(self._order), dtype=np.int64)
        place[self._order] = np.arange(len(self._order))
        self._parts = [(place[train], place[test]) for train, test in parts]
        self.run_weight = np.zeros((len(parts) + n_restarts, len(self.weight)))
        for run, (rows, _) in enumerate(self._parts):
            self.run_weight[run, rows] = self.weight[rows]
        self.run_weight[len(parts) :] = self.weight
        self._said, self._library = {}, None

    def _as_given(self) -> tuple[IntArray, BoolArray]:
        """The classes of rows in the order in which they came, and whether they weigh anything."""
        codes, used = np.empty_like(self._codes), np.empty(len(self._codes), dtype=bool)
        codes[self._order], used[self._order] = self._codes, self.weight > 0
        return codes, used

    def _weight_of(self, folds: bool, single: bool) -> Array:
        """The weights of the runs, folds or restarts, as likelihoods take them."""
        n_parts = len(self._parts)
        weight = self.run_weight[:n_parts] if folds else self.run_weight[n_parts:]
        return self._placed(weight.astype(np.float32 if single else np.float64))

    def run_totals(self, folds: bool, single: bool) -> tuple[Array]:
        """What the rows of each run weigh, (R,)."""
        weight = self._weight_of(folds, single)
        return (namespace_of(weight).sum(weight, axis=1),)

    def share(self, folds: bool, single: bool, total: Array) -> None:
        """Take note of what the rows of each run weigh, here and elsewhere."""
        weight = self._weight_of(folds, single)
        weight /= total[:, None]
        self._share[folds, single] = weight

    # -- members ---------------------------------------------------------------------------

    def begin(self, name: str, ascent: Ascent) -> None:
        """Get ready to grow members on a basis, on every fold and on all rows."""
        self._growing[name] = RowBlock(
            self.designs[name], self.blocks, self._placed(self.run_weight), ascent
        )

    def grown(
        self,
        name: str,
        method: Callable[Concatenate[RowBlock, P], Result],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Result:
        """Call a method of the `RowBlock` on which members are grown on a basis."""
        if not len(self.weight) and method in _OF_ROWS:
            return cast(Result, self._placed(np.full(len(self.run_weight), -np.inf)))
        return call(self._growing[name], method, *args, **kwargs)

    # -- candidates ------------------------------------------------------------------------

    def digits(self, name: str) -> IntArray:
        """How many bits the numbers need by which folds are compared: 32 or 64, (1,)."""
        rough = self._rough_design(name)
        return np.array([64 if rough is self.designs[name] else 32])

    def _rough_design(self, name: str) -> Design:
        # Folds are for comparing candidates; single precision is enough, and twice as fast.
        if name not in self._rough:
            self._rough[name] = self.designs[name].in_single_precision()
        return self._rough[name]

    def gated(self, kind: Kind, runs: IntArray, parts: Parts) -> tuple[Array, ...]:
        """See `covey._core.gating.gate.GatedRows.sums`."""
        return self._rows(kind).sums(parts, runs)

    def say(self, kind: Kind, candidates: IntArray, runs: IntArray, parts: Parts) -> None:
        """Keep what candidates, each fitted to a fold, say of the rows that this held out."""
        n_held_out = sum(len(rows) for _, rows in self._parts)
        ends = np.cumsum([0] + [len(rows) for _, rows in self._parts])
        said = self._rows(kind).says(parts, runs)
        for candidate, run, of_run in zip(candidates.tolist(), runs, said, strict=True):
            if candidate not in self._said:
                self._said[candidate] = np.full(n_held_out, np.nan)
            rows = self._parts[run][1]
            self._said[candidate][ends[run] : ends[run + 1]] = to_host(of_run)[rows]
        self._library = None

    def candidate_losses(self) -> tuple[FloatArray, FloatArray]:
        """The candidates' losses over rows held out, (M,), and what these rows weigh, (1,)."""
        said, weight = self._held_out()
        return self._row_loss()(said) @ weight, np.array([weight.sum()])

    def pick_losses(
        self, picked: Sequence[int], allowed: BoolArray, total: float
    ) -> tuple[FloatArray]:
        """See `covey._core.search.selection.Library`."""
        if self._library is None:
            said, weight = self._held_out()
            self._library = Library(said, self._row_loss(), weight)
        return self._library.pick_losses(picked, allowed, total)

    def importance(
        self,
        basis: Basis,
        coef: FloatArray,
        intercept: FloatArray,
        sizes: Sequence[int],
        weights: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """How much members are asked by the gates of their groups, (K,), and all weights, (1,).

        Parameters
        ----------
        basis : Basis
            What the gates see.
        coef, intercept : ndarrays of shape (K, P) and (K,)
            Of the gates.
        sizes : sequence of int
            How many members each group has.
        weights : ndarray
            What each group weighs.
        """
        logits = linear_logits(basis.rows(self._X), coef, intercept)
        ends = np.cumsum(sizes)
        asked = [
            weight * softmax_first(logits[end - size : end])
            for weight, size, end in zip(weights, sizes, ends, strict=True)
        ]
        return self.weight @ np.concatenate(asked).T, np.array([self.weight.sum()])

    def _rows(self, kind: Kind) -> GatedRows:
        members, gate = (
            self._rough_design(name) if kind.single else self.designs[name]
            for name in (kind.basis, kind.gate)
        )
        share = self._share[kind.folds, kind.single]
        return self._gated_rows(members, [gate], self.blocks, share, kind.pool)

    def _gated_rows(self, *args: Any) -> GatedRows:
        """What is summed up; of numbers it is another thing."""
        return GatedRows(*args)

    def _held_out(self) -> tuple[FloatArray, FloatArray]:
        """What candidates say of rows held out, (M, E), and what these rows weigh."""
        said = np.stack([self._said[candidate] for candidate in sorted(self._said)])
        return self._comparable(said), self.weight[self._rows_held_out()]

    def _rows_held_out(self) -> IntArray:
        return np.concatenate([rows for _, rows in self._parts])

    def _comparable(self, said: FloatArray) -> FloatArray:
        return possible(said)

    def _row_loss(self) -> RowLoss:
        return log_losses


class SearchInMemory:
    """A table that is searched, all of its rows here: one block.

    Parameters
    ----------
    block : SearchBlock
    """

    def __init__(self, block: SearchBlock) -> None:
        self.block = block
        self.n_features = block.n_features
        self.n_classes = block.n_classes
        self.is_sparse = block.is_sparse
        self.like = np.zeros(0) if block.beside is None else block.beside

    def broadcast(
        self,
        method: Callable[Concatenate[SearchBlock, P], object],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        """Call a method of the block."""
        call(self.block, method, *args, **kwargs)

    def sum(
        self,
        method: Callable[Concatenate[SearchBlock, P], Arrays],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Arrays:
        """What the method returns for the only block."""
        return call(self.block, method, *args, **kwargs)

    def max(
        self,
        method: Callable[Concatenate[SearchBlock, P], Array],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Array:
        """What the method returns for the only block."""
        return call(self.block, method, *args, **kwargs)

    def gather(
        self,
        method: Callable[Concatenate[SearchBlock, P], Result],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> list[Result]:
        """The same, as the only entry of a list."""
        return [call(self.block, method, *args, **kwargs)]


class GrowingRows:
    """The rows on which members are grown on one basis, as `covey._core.algorithm1.rows.Rows`.

    Parameters
    ----------
    rows : SearchRows
        Told to ``begin``.
    name : str
        Of the basis.
    n_columns, n_runs : int
    """

    def __init__(self, rows: SearchRows, name: str, n_columns: int, n_runs: int) -> None:
        self._rows = rows
        self._name = name
        self.n_features = n_columns
        self.n_classes = rows.n_classes
        self.n_runs = n_runs
        self.like = rows.like

    def broadcast(
        self,
        method: Callable[Concatenate[RowBlock, P], object],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        """Call a method of every `RowBlock`."""
        self._rows.broadcast(SearchBlock.grown, self._name, method, *args, **kwargs)

    def sum(
        self,
        method: Callable[Concatenate[RowBlock, P], Arrays],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Arrays:
        """Call it, and add up what the blocks return, entry by entry."""
        return self._rows.sum(SearchBlock.grown, self._name, method, *args, **kwargs)

    def max(
        self,
        method: Callable[Concatenate[RowBlock, P], Array],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Array:
        """Call it, and take the maximum of what the blocks return."""
        return self._rows.max(SearchBlock.grown, self._name, method, *args, **kwargs)

    def gather(
        self,
        method: Callable[Concatenate[RowBlock, P], Result],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> list[Result]:
        """Call it; what each block returns."""
        return self._rows.gather(SearchBlock.grown, self._name, method, *args, **kwargs)


# -- what a lost block is made of again ---------------------------------------------------------

# The methods that change a `SearchBlock`, by how many arguments identify what is changed: a
# later call with the same ones makes an earlier one superfluous. None: all calls are needed.
_CHANGES: dict[Method, int | None] = {
    SearchBlock.weigh: 0,
    SearchBlock.standardise: 1,
    SearchBlock.split: 0,
    SearchBlock.deal: 0,
    SearchBlock.share: 2,
    SearchBlock.begin: 1,
    SearchBlock.say: None,
}
# The same of a `RowBlock`: which earlier ones each makes superfluous.
_STEP = (RowBlock.slopes, RowBlock.objective)
_GROWN_CHANGES: dict[Method, tuple[Method, ...]] = {
    RowBlock.see: (),
    RowBlock.boost: (),
    RowBlock.weigh: (RowBlock.weigh, RowBlock.rescale, RowBlock.evaluate, *_STEP),
    RowBlock.rescale: (),
    RowBlock.evaluate: (RowBlock.evaluate, *_STEP),
    RowBlock.slopes: _STEP,
    RowBlock.objective: _STEP,
}


class ReplayLog:
    """The calls that must be repeated if a block is lost and made anew.

    Attributes
    ----------
    calls : list of (method, tuple)
        Methods of `SearchBlock` and their arguments, in order.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[Method, tuple[Any, ...]]] = []

    def note(self, method: Method, args: tuple[Any, ...]) -> None:
        """Take note of a call of all blocks."""
        if method is SearchBlock.grown:
            name, inner = args[:2]
            if inner not in _GROWN_CHANGES:
                return
            over = _GROWN_CHANGES[inner]
            self._drop(lambda called, of: called is method and of[0] == name and of[1] in over)
        elif method in _CHANGES:
            n_identifying = _CHANGES[method]
            if n_identifying is not None:
                same = args[:n_identifying]
                self._drop(lambda called, of: called is method and of[:n_identifying] == same)
            if method is SearchBlock.begin:
                self._drop(lambda called, of: called is SearchBlock.grown and of[0] == args[0])
        else:
            return
        self.calls.append((method, _copied(args)))

    def replay(self, block: SearchBlock) -> None:
        """Bring a block that was just made to the state of the lost one."""
        for method, args in self.calls:
            call(block, method, *args)

    def _drop(self, superfluous: Any) -> None:
        self.calls = [call for call in self.calls if not superfluous(*call)]


def _copied(args: Any) -> Any:
    """Arguments as they are now: who asked may go on working on an array."""
    if isinstance(args, np.ndarray):
        return args.copy()
    if type(args) is tuple:
        return tuple(_copied(part) for part in args)
    return args
