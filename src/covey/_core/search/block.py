"""Some rows of a table that is searched, and all that a search keeps of them.

A `SearchBlock` holds its part of the matrix, the columns that bases make of it, its folds, the
rows on which members are grown, and what candidates predict for held-out rows. Only parameters and
sums over rows pass between it and the search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Concatenate, cast

import numpy as np
import numpy.typing as npt
from array_api_compat import device

from covey._core.algorithm1.rows import RowBlock, TrainingSettings
from covey._core.arrays import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    Workspace,
    in_parts,
    like,
    namespace_of,
    to_host,
)
from covey._core.basis import Basis, ScaledBasis
from covey._core.blocks import P, Result
from covey._core.design import Design
from covey._core.gating.gate import (
    ClassLikelihood,
    GatedRows,
    Groups,
    Parts,
    Pool,
    ValueLikelihood,
)
from covey._core.losses import ValueLoss
from covey._core.quantiles import WeightedRows
from covey._core.search.folds import Drawn, FoldAssignment, Folds, SampledRows, drawn, sampled_rows
from covey._core.search.selection import PredictionLibrary, log_losses, loss_sums, possible
from covey._core.softmax_linear import class_blocks

# How many numbers are copied or computed at once: this bounds the memory.
NUMBERS_AT_ONCE = 1 << 18


# Maxima over a block's rows; an empty block has none.
_MAXIMA: tuple[Callable[..., Any], ...] = (RowBlock.peak, RowBlock.heaviest)


@dataclass(frozen=True)
class Kind:
    """The columns, the runs and the precision of one of a block's likelihoods."""

    basis: str  # what members see
    gate: str  # what the gate sees
    pool: Pool
    folds: bool  # whether runs are the folds, or the restarts on all rows
    single: bool  # whether single precision is enough
    restricted: bool = False  # whether only the columns of `SearchBlock.restrict` are seen


def extremes(rows: Any) -> FloatArray:
    """Return the greatest value of each column, and of its negative, (2, D).

    A sparse column holds a 0, whether or not it has an empty entry.
    """
    if not hasattr(rows, "tocsr"):
        highest = np.max(rows, axis=0, initial=-np.inf)
        return np.stack([highest, -np.min(rows, axis=0, initial=np.inf)])
    if not rows.shape[0]:
        return np.zeros((2, rows.shape[1]))
    ends = rows.max(axis=0), -rows.min(axis=0)
    return np.maximum([end.toarray().ravel() for end in ends], 0.0)


# -- the target: all that differs between classification and regression in a block ----------------


# With values of y this many spreads away, a sum in single precision loses the other rows.
_FARTHEST = 10.0


class ClassTarget:
    """Classes, given as numbers; rows are sorted by class and predictions probabilities.

    ``order`` holds the positions of the rows in the order in which a block keeps them; in that
    order ``codes`` are the classes that folds are stratified by, ``truth`` is what members are
    grown to predict, and ``likelihood`` what they are fitted to. ``needs_double`` is whether
    single precision is not enough to compare candidates.
    """

    needs_double = False

    def __init__(self, codes: IntArray, n_classes: int) -> None:
        self.order = np.argsort(codes, kind="stable")
        self.codes = codes[self.order]
        self.truth = self.blocks = class_blocks(np.bincount(codes, minlength=n_classes))
        self.likelihood = ClassLikelihood(self.blocks)

    def comparable(self, predictions: FloatArray) -> FloatArray:
        """Return predictions (M, E) of held-out rows as they are averaged over candidates."""
        return possible(predictions)

    def row_losses(self, rows: IntArray) -> Callable[[FloatArray], FloatArray]:
        """Return the function that gives the losses (..., E) of predictions of these rows."""
        return log_losses

    def constants(self, rows: IntArray) -> FloatArray:
        """Return what these losses lack, for each row, (E,): log-losses lack nothing."""
        return np.zeros(len(rows))


class ValueTarget:
    """Numbers, standardized, under a loss; rows keep their order."""

    def __init__(self, values: FloatArray, loss: ValueLoss) -> None:
        self.truth = self.values = values
        self.loss = loss
        self.order = np.arange(len(values))
        self.codes = np.zeros(len(values), dtype=np.int64)
        self.likelihood = ValueLikelihood(values, loss)

    @property
    def needs_double(self) -> bool:
        """Return whether there are outliers that only the loss keeps from dominating."""
        return self.loss.robust and bool(np.abs(self.values).max(initial=0.0) > _FARTHEST)

    def comparable(self, predictions: FloatArray) -> FloatArray:
        """Return the predictions themselves."""
        return predictions

    def row_losses(self, rows: IntArray) -> Callable[[FloatArray], FloatArray]:
        """Return the function of losses less those of predicting 0: no outlier hides others."""
        values, constants = self.values[rows], self.constants(rows)

        def relative(predictions: FloatArray) -> FloatArray:
            return self.loss.value(values, predictions) - constants

        return relative

    def constants(self, rows: IntArray) -> FloatArray:
        """Return the losses of predicting 0."""
        return self.loss.value(self.values[rows])


Target = ClassTarget | ValueTarget


# -- the block ------------------------------------------------------------------------------------


class SearchBlock:
    """Some rows of a table, from row ``start`` on, and all that a search keeps for each.

    They lie in the order of their target. Likelihoods are computed in the namespace and on the
    device of ``beside``; None: NumPy's.
    """

    scratch: Workspace | None = None  # shared by blocks that are called one after another

    def __init__(
        self,
        X: Any,
        target: Target,
        weight: FloatArray,
        start: int = 0,
        beside: Array | None = None,
    ) -> None:
        self.target = target
        self.n_features, self.n_classes = int(X.shape[1]), target.likelihood.n_outputs
        self.is_sparse = hasattr(X, "tocsr")
        self.beside = beside
        self.like = np.zeros(0) if beside is None else beside
        self._order, self._start = target.order, start
        # The rows in their first order, since a copy of all takes much memory, and where in them
        # each row of the block's own order lies (None: the orders are the same).
        self._given = X
        self._at: IntArray | None = self._order
        self._raw_weight = self.weight = weight[self._order]
        self._expanded: tuple[str, FloatArray] | None = None
        self._sorted: tuple[slice, WeightedRows] | None = None
        self.designs: dict[str, Design] = {}
        self.gates: dict[str, list[Design]] = {}  # what gates see that are given
        self._single_designs: dict[str, Design] = {}
        self._unkept: dict[str, Callable[[], Design]] = {}
        self._restricted: tuple[Design, Design]
        self._features: Array | None = None
        self._parts: Folds = []
        self.run_weight: FloatArray = np.zeros((0, len(self.weight)))
        self._share: dict[tuple[bool, bool], Array] = {}
        self._is_fitted_on = False  # whether any fold is fitted on these rows
        self._growing: dict[str, RowBlock] = {}
        # Predictions of held-out rows, by the numbers of candidates: the folds one after the
        # other, and a row as often as it is held out.
        self._of: list[slice] = []  # where the rows that each run held out stand
        self.predicted: dict[int, FloatArray] = {}
        self._library: PredictionLibrary | None = None

    # -- what is known of the table ----------------------------------------------------------

    def _rows_in_order(self, which: slice | IntArray | BoolArray = slice(None)) -> Any:
        """Return the rows, all or some, in the order in which the block keeps them."""
        return self._given[which if self._at is None else self._at[which]]

    def sampled(self, n_fitted: int, counts: IntArray, seed: int) -> SampledRows:
        """Return the rows of a rung that lie in this block."""
        codes, used = self._as_given()
        sample = sampled_rows(n_fitted, counts, seed, self._start, codes, used)
        at = self._position()[sample.rows]
        target = self.target.codes if isinstance(self.target, ClassTarget) else self.target.values
        weight = self._raw_weight[at] * sample.factor
        X = self._rows_in_order(at)
        return SampledRows(X, target[at], weight, sample.n_fitted)

    def class_counts(self) -> tuple[IntArray]:
        """Return how many rows of each class have a weight, (C,)."""
        return (np.bincount(self.target.codes[self.weight > 0], minlength=self.n_classes),)

    def n_rows(self) -> IntArray:
        """Return how many rows there are, (1,)."""
        return np.array([len(self.weight)])

    def largest_weight(self) -> FloatArray:
        """Return the weight of the heaviest row, (1,)."""
        return np.array([self._raw_weight.max(initial=0.0)])

    def set_weight_unit(self, unit: FloatArray) -> None:
        """Count weights in units of the largest one."""
        # Only their ratios matter; single precision has a smaller range.
        self.weight = self._raw_weight / unit[0]

    def extremes(self, used: bool) -> FloatArray:
        """Return the greatest value of each feature, and of its negative, (2, D).

        With ``used``, over rows that have a weight.
        """
        rows = self._given
        if used and not (self.weight > 0).all():
            rows = self._rows_in_order(self.weight > 0)
        return extremes(rows)

    def count_between(self, low: FloatArray, high: FloatArray) -> tuple[IntArray]:
        """Return how many rows have a value of each feature other than these two, (D,)."""
        return (np.sum((low != self._given) & (high != self._given), axis=0),)

    def lowest_values(self, which: slice, most: int) -> FloatArray:
        """Return the lowest values of some features, at most ``most``, filled up with NaN."""
        found = np.full((which.stop - which.start, most), np.nan)
        for column, values in zip(found, self._in_order(which).values, strict=True):
            first = np.append(True, values[1:] != values[:-1])[: len(values)]
            lowest = values[np.flatnonzero(first)[:most]]
            column[: len(lowest)] = lowest
        return found

    def weight_up_to(self, which: slice, values: FloatArray) -> tuple[FloatArray]:
        """Return the weight of rows with at most ``values`` (d, m) in some features (d,)."""
        return (self._in_order(which).up_to(values),)

    def _in_order(self, which: slice) -> WeightedRows:
        """Return some columns in rising order; the last ones are kept for the next call."""
        if self._sorted is None or self._sorted[0] != which:
            used = self.weight > 0
            columns = self._given[:, which][used if self._at is None else self._at[used]].T
            weight = np.broadcast_to(self.weight[used], columns.shape)
            self._sorted = which, WeightedRows(columns, weight)
        return self._sorted[1]

    def columns(self, name: str, basis: Basis) -> Any:
        """Return the columns of a basis, (P, n) or CSC, kept until they are standardized."""
        if self._expanded is None or self._expanded[0] != name:
            if self.is_sparse:
                self._expanded = name, self._rows_in_order().tocsc()
            else:
                # The rows as columns (D, n), without a second copy of all of them.
                columns = np.empty((self.n_features, len(self._order)))
                at_once = NUMBERS_AT_ONCE // max(1, self.n_features)
                for some in in_parts(len(self._order), at_once):
                    columns[:, some] = self._rows_in_order(some).T
                self._expanded = name, basis.expand(columns)
        return self._expanded[1]

    def _position(self) -> IntArray:
        """Return the position of each row in the order in which the rows came."""
        position = np.empty(len(self._order), dtype=np.int64)
        position[self._order] = np.arange(len(self._order))
        return position

    def _as_given(self) -> tuple[IntArray, BoolArray]:
        """Return the classes of rows in their first order, and whether they have a weight."""
        codes, used = np.empty_like(self.target.codes), np.empty(len(self.weight), dtype=bool)
        codes[self._order], used[self._order] = self.target.codes, self.weight > 0
        return codes, used

    # -- bases -----------------------------------------------------------------------------

    def standardize(self, name: str, scaled: ScaledBasis, single: bool = False) -> None:
        """Lay out what members see on a basis; a column without use is zero.

        With ``single``, rows that are not sparse are laid out in single precision only.
        """
        self._sorted = None
        columns, mean, scale = self.columns(name, scaled.basis), scaled.mean, scaled.scale
        self._expanded = None
        if self.is_sparse:
            columns.sum_duplicates()
            self.designs[name] = Design(columns, mean[None], scale[None])
            return
        columns -= mean[:, None]
        columns /= scale[:, None]
        columns[~scaled.usable] = 0.0
        # A row without a weight may be beyond the range of single precision.
        columns[:, self._raw_weight == 0] = 0.0
        if single:
            self._single_designs[name] = Design(self._on_device(columns.astype(np.float32)))
        else:
            self.designs[name] = Design(self._on_device(columns))

    def keep_features(self, mean: FloatArray, scale: FloatArray) -> None:
        """Standardize the features in single precision, for ``lay_out``."""
        if self._features is None:
            rows = self._on_device(self._rows_in_order())
            xp = namespace_of(rows)
            standardized = (rows - like(rows, mean, xp.float64)) / like(rows, scale, xp.float64)
            standardized[like(rows, self._raw_weight == 0, xp.bool)] = 0.0
            shape = self.n_features, len(self.weight)
            self._features = xp.empty(shape, dtype=xp.float32, device=device(rows))
            self._features[...] = standardized.T

    def lay_out(self, name: str, scaled: ScaledBasis, keep: bool) -> None:
        """Lay out what members see on a basis of standardized features, in single precision only.

        Without ``keep`` it is made anew for every use: there is no memory for all of it.
        """
        moments = [part.astype(np.float32)[None] for part in (scaled.mean, scaled.scale)]

        def made() -> Design:
            assert self._features is not None
            columns = scaled.basis.expand(self._features)
            if not scaled.usable.all():
                columns = columns * like(columns, scaled.usable[:, None])
            return Design(columns, *(self._on_device(array) for array in moments))

        self._unkept.pop(name, None)
        if keep:
            self._single_designs[name] = made()
        else:
            self._unkept[name] = made

    def drop_single_precision(self) -> None:
        """Forget what members see in single precision where it is a copy."""
        self.__dict__.pop("_restricted", None)
        self._single_designs = {
            name: design
            for name, design in self._single_designs.items()
            if name not in self.designs
        }

    def drop_layouts(self) -> None:
        """Forget all layouts, and the members that were grown on them."""
        self.designs, self._single_designs, self._unkept, self._growing = {}, {}, {}, {}
        self.__dict__.pop("_restricted", None)

    def _on_device(self, array: npt.NDArray[Any]) -> Array:
        """Return an array of the same precision where likelihoods are computed."""
        if self.beside is None:
            return array
        return like(self.beside, array, getattr(namespace_of(self.beside), array.dtype.name))

    # -- folds -----------------------------------------------------------------------------

    def fold_draws(self, seed: int, n_repeats: int, ranked: IntArray) -> Drawn:
        """Return the draws of these rows: see `covey._core.search.folds.drawn`."""
        codes, used = self._as_given()
        return drawn(self._start, codes, used, seed, n_repeats, ranked)

    def set_folds(self, folds: FoldAssignment | Folds, n_restarts: int) -> None:
        """Split the rows into folds, as assigned or given; prepare runs on each and on all rows.

        Folds that are given are the numbers of rows to fit on, and of rows that are held out.
        Members that were grown on other folds are forgotten.
        """
        self._growing = {}
        start, position = self._start, self._position()
        if isinstance(folds, FoldAssignment):
            codes, used = self._as_given()
            self._parts = [
                (position[train], position[test])
                for train, test in folds.parts(start, codes, used)
            ]
        else:
            parts = (
                [rows[(rows >= start) & (rows < start + len(position))] - start for rows in part]
                for part in folds
            )
            self._parts = [(position[train], position[test]) for train, test in parts]
        self.run_weight = np.zeros((len(folds) + n_restarts, len(self.weight)))
        for run, (rows, _) in enumerate(self._parts):
            self.run_weight[run, rows] = self.weight[rows]
        self._is_fitted_on = bool(self.run_weight.any())
        self.run_weight[len(folds) :] = self.weight
        ends = np.cumsum([0] + [len(rows) for _, rows in self._parts]).tolist()
        self._of = [slice(*pair) for pair in pairwise(ends)]
        self.predicted, self._library = {}, None

    def _weight_of(self, folds: bool, single: bool) -> Array:
        """Return the weights of the runs, folds or restarts, in the form that likelihoods take."""
        n_parts = len(self._parts)
        weight = self.run_weight[:n_parts] if folds else self.run_weight[n_parts:]
        return self._on_device(weight.astype(np.float32 if single else np.float64))

    def run_totals(self, folds: bool, single: bool) -> tuple[Array]:
        """Return the sum of the weights of each run, (R,)."""
        weight = self._weight_of(folds, single)
        return (namespace_of(weight).sum(weight, axis=1),)

    def set_totals(self, folds: bool, single: bool, total: Array) -> None:
        """Keep weights as shares of the sums over all blocks."""
        weight = self._weight_of(folds, single)
        weight /= total[:, None]
        self._share[folds, single] = weight

    # -- members ---------------------------------------------------------------------------

    def begin_growing(self, name: str, settings: TrainingSettings) -> RowBlock:
        """Prepare to grow members on a basis, on every fold and on all rows."""
        design = self._design(name, single=False)
        truth = self.target.truth
        if isinstance(truth, np.ndarray):
            truth = self._on_device(truth)
        weight = self._on_device(self.run_weight)
        self._growing[name] = RowBlock(design, truth, weight, settings, self.scratch)
        return self._growing[name]

    def grown(
        self,
        name: str,
        method: Callable[Concatenate[RowBlock, P], Result],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Result:
        """Call a method of the `RowBlock` on which members are grown on a basis."""
        if not len(self.weight) and method in _MAXIMA:
            return cast(Result, self._on_device(np.full(len(self.run_weight), -np.inf)))
        return method(self._growing[name], *args, **kwargs)

    # -- candidates ------------------------------------------------------------------------

    def needs_double(self, name: str | None = None) -> IntArray:
        """Return 1 if comparing candidates takes double precision for target or basis, (1,)."""
        if name is not None and self._design(name, single=True) is self.designs.get(name):
            return np.ones(1, dtype=np.int64)
        return np.array([int(self.target.needs_double)])

    def restrict(self, kind: Kind, columns: IntArray, gate_columns: IntArray) -> None:
        """Lay out some columns of members and gate; the last ones are kept."""
        if kind.folds and not self._is_fitted_on:
            return
        self.__dict__.pop("_restricted", None)  # there need not be memory for both
        members = self._design(kind.basis, kind.single).only(columns)
        gate = self._design(kind.gate, kind.single).only(gate_columns)
        self._restricted = members, gate

    def value_and_gradient(self, kind: Kind, runs: IntArray, parts: Parts) -> tuple[Array, ...]:
        """Return sums over rows: see `covey._core.gating.gate.GatedRows.value_and_gradient`."""
        if kind.folds and not self._is_fitted_on:
            return _nothing(parts)
        return self._gated_rows(kind).value_and_gradient(parts, runs)

    def predict_held_out(
        self, kind: Kind, candidates: IntArray, runs: IntArray, parts: Parts
    ) -> None:
        """Keep what candidates (r,), each fitted on a fold, predict for the rows held out."""
        self._library, n_rows = None, self._of[-1].stop
        if not n_rows:
            self.predicted |= {candidate: np.zeros(0) for candidate in candidates.tolist()}
            return
        predicted = self._gated_rows(kind).predictions(parts, runs)
        for candidate, run, of_run in zip(candidates.tolist(), runs, predicted, strict=True):
            if candidate not in self.predicted:
                self.predicted[candidate] = np.full(n_rows, np.nan)
            self.predicted[candidate][self._of[run]] = to_host(of_run)[self._parts[run][1]]

    def keep_candidates(self, candidates: Sequence[int]) -> None:
        """Drop the predictions of all other candidates."""
        self.predicted = {one: known for one, known in self.predicted.items() if one in candidates}

    def held_out(self) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return the candidates' predictions, (M, E), the numbers of the rows, and weights."""
        rows = np.concatenate([rows for _, rows in self._parts])
        predictions = np.stack([self.predicted[one] for one in sorted(self.predicted)])
        return self.target.comparable(predictions), rows, self.weight[rows]

    def candidate_losses(self) -> tuple[FloatArray, FloatArray]:
        """Return the candidates' losses over held-out rows, (M,), and the rows' weight, (1,)."""
        predictions, rows, weight = self.held_out()
        losses = self.target.row_losses(rows)(predictions) @ weight
        return losses + self.target.constants(rows) @ weight, np.array([weight.sum()])

    def library(self) -> PredictionLibrary:
        """Return the candidates to select from; it is made once, when all have predicted."""
        if self._library is None:
            predictions, rows, weight = self.held_out()
            self._library = PredictionLibrary(predictions, self.target.row_losses(rows), weight)
        return self._library

    def pick_losses(
        self, picked: Sequence[int], allowed: BoolArray, total: float
    ) -> tuple[FloatArray]:
        """Return losses after each pick: see `covey._core.search.selection.PredictionLibrary`."""
        return self.library().pick_losses(picked, allowed, total)

    def compare(self, weights: FloatArray, best: FloatArray) -> tuple[FloatArray]:
        """Compare two selections: see `covey._core.search.selection.PredictionLibrary`."""
        return self.library().compare(weights, best)

    def held_out_losses(
        self, candidates: IntArray, runs: IntArray, rival: int | None = None
    ) -> tuple[FloatArray]:
        """Return the losses of candidates (r,), each on the rows that one run held out, (r, 5).

        They are sums: see `covey._core.search.selection.loss_sums`. If a rival is given, its
        losses are subtracted.
        """
        held_out = [self._parts[run][1] for run in runs]
        rows = np.concatenate(held_out)

        def losses_of(known: list[FloatArray]) -> FloatArray:
            of_runs = [one[self._of[run]] for one, run in zip(known, runs, strict=True)]
            predicted = self.target.comparable(np.concatenate(of_runs))
            return self.target.row_losses(rows)(predicted) + self.target.constants(rows)

        losses = losses_of([self.predicted[one] for one in candidates.tolist()])
        if rival is not None:
            losses -= losses_of([self.predicted[rival]] * len(runs))
        run = np.repeat(np.arange(len(runs)), [len(part) for part in held_out])
        return (loss_sums(losses, self.weight[rows], run, len(runs)),)

    def importance(self, every: int, groups: Groups) -> tuple[FloatArray, FloatArray]:
        """Return the sum of each member's importance, (K,), and of weights, (1,); see `Groups`.

        Only one in ``every`` of the rows that have a weight is used.
        """
        chosen = np.flatnonzero(self.weight)[::every]
        total = np.zeros(len(groups.coef))
        for part in in_parts(len(chosen), NUMBERS_AT_ONCE // sum(groups.coef.shape)):
            some = chosen[part]
            total += groups.importance(self._rows_in_order(some)) @ self.weight[some]
        return total, np.array([self.weight[chosen].sum()])

    def _gated_rows(self, kind: Kind) -> GatedRows:
        if kind.restricted:
            members, gate = self._restricted
        else:
            members = gate = self._design(kind.basis, kind.single)
            if kind.gate != kind.basis and kind.gate not in self.gates:
                gate = self._design(kind.gate, kind.single)
        gates = self.gates.get(kind.gate, [gate])
        share = self._share[kind.folds, kind.single]
        return GatedRows(members, gates, self.target.likelihood, share, kind.pool)

    def _design(self, name: str, single: bool) -> Design:
        if single:
            # Folds are for comparing candidates; single precision is enough, and twice as fast.
            if name in self._unkept:
                return self._unkept[name]()
            if name not in self._single_designs:
                self._single_designs[name] = self.designs[name].in_single_precision()
            return self._single_designs[name]
        if name not in self.designs:
            # Laid out to compare candidates, but members are grown on it, too.
            self.designs[name] = self._single_designs[name].in_double_precision()
        return self.designs[name]


def _nothing(parts: Parts) -> tuple[Array, ...]:
    """Return the value and gradient of no rows: see `GatedRows.value_and_gradient`."""
    theta, intercept, gate, gate_intercept = parts
    zeros = namespace_of(gate).zeros_like
    return zeros(gate_intercept[:, 0]), *(
        zeros(part) for part in (gate, gate_intercept, theta, intercept)
    )
