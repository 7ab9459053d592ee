"""The rows of one block of a table, where they are kept, and the sums over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from covey._blocks import ROWS_PER_BLOCK
from covey._core.algorithm1.rows import RowBlock
from covey._core.arrays import in_parts
from covey._core.basis import Basis
from covey._core.fusion.rules import decision_counts
from covey._core.gating.gate import Parts, softmax_first
from covey._core.losses import ValueLoss
from covey._core.quantiles import WeightedRows
from covey._core.random import Purpose, UniformRows
from covey._core.search.block import ClassTarget, Kind, SearchBlock, Target, ValueTarget
from covey._core.softmax_linear import linear_logits, log_softmax
from covey.dask._loading import LoadedRows
from covey.dask._spill import SCRATCH, size_of
from covey.fusers import Fuser, Gate, Predictions
from covey.fusers._fixed import stage_scores
from covey.fusers._gate import GateFeatures

Method = Callable[..., Any]
Call = tuple[Method, tuple[Any, ...]]

# The methods that change a `SearchBlock`, by how many arguments identify the change: a later call
# with the same ones makes an earlier one superfluous. None: all calls are needed.
_CHANGES: dict[Method, int | None] = {
    SearchBlock.set_weight_unit: 0,
    SearchBlock.standardize: 1,
    SearchBlock.set_folds: 0,
    SearchBlock.set_totals: 2,
    SearchBlock.begin_growing: 1,
    SearchBlock.predict_held_out: None,
}
# For methods of a `RowBlock`: which earlier ones each makes superfluous.
_GROWN_CHANGES: dict[Method, tuple[Method, ...]] = {
    RowBlock.see: (),
    RowBlock.trust: (),
    RowBlock.boost: (),
    RowBlock.weigh: (RowBlock.weigh, RowBlock.rescale, RowBlock.evaluate, RowBlock.slopes),
    RowBlock.rescale: (),
    RowBlock.evaluate: (RowBlock.evaluate, RowBlock.slopes),
    RowBlock.slopes: (RowBlock.slopes,),
}


class ReplayLog:
    """The calls of `SearchBlock` to be repeated, in order, if a block is lost and made anew."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def note(self, method: Method, args: tuple[Any, ...]) -> None:
        """Record a call of all blocks."""
        if method is SearchBlock.grown:
            name, inner = args[:2]
            if inner not in _GROWN_CHANGES:
                return
            over = _GROWN_CHANGES[inner]
            self._drop(lambda called, of: called is method and of[0] == name and of[1] in over)
        elif method is SearchBlock.drop_layouts:
            self._drop(lambda called, of: called is SearchBlock.standardize)
            return
        elif method in _CHANGES:
            n_identifying = _CHANGES[method]
            if n_identifying is not None:
                same = args[:n_identifying]
                self._drop(lambda called, of: called is method and of[:n_identifying] == same)
            if method is SearchBlock.begin_growing:
                self._drop(lambda called, of: called is SearchBlock.grown and of[0] == args[0])
            elif method is SearchBlock.set_folds:
                grows = SearchBlock.begin_growing, SearchBlock.grown
                self._drop(lambda called, _: called in grows)
        else:
            return
        self.calls.append((method, _copied(args)))

    def _drop(self, superfluous: Callable[[Method, tuple[Any, ...]], bool]) -> None:
        self.calls = [call for call in self.calls if not superfluous(*call)]


def _copied(args: Any) -> Any:
    """Return arguments as they are now: the caller may change an array later."""
    if isinstance(args, np.ndarray):
        return args.copy()
    if type(args) is tuple:
        return tuple(_copied(part) for part in args)
    return args


# The columns that a `Gate` sees, and those of a linear model, in place of the name of a basis in a
# search.
GATE, LINEAR = "gate", "linear model"


class TableBlock(SearchBlock):
    """A `SearchBlock` that can also hold rows out, score sizes, and refine a `Gate`."""

    scratch = SCRATCH
    _held_out_rows: np.ndarray | None = None
    _values: np.ndarray  # y as it was given, if it is numeric
    _compared: np.ndarray
    _predicted: np.ndarray
    _in_weighted_order: WeightedRows | None = None

    @property
    def n_bytes(self) -> int:
        """The bytes that the block may grow to, in its present state."""
        n_runs, n_rows = self.run_weight.shape
        arrays = [self._given, self.run_weight, *self._share.values(), *self.predicted.values()]
        if self.is_sparse:
            arrays += [self._given] * len(self.designs)
        else:
            arrays += [design.like for design in self.designs.values()]
        # Logits and the highest of them for two candidates, and three kinds of weights.
        of_a_run = 8 * n_rows * (2 * (self.n_classes + 1) + 3)
        return size_of(arrays) + len(self._growing) * n_runs * of_a_run

    def drop_features(self) -> None:
        """Drop X as it was given, which members that are grown on all features do not need."""
        self._given = self._given[:0]

    # -- rows held out ---------------------------------------------------------------------

    def draws_up_to(self, seed: int, values: np.ndarray) -> tuple[np.ndarray]:
        """Return how many rows of each class have a draw of at most ``values`` (C, k)."""
        codes, used = self._as_given()
        draws = self._draws(seed)
        counts = [
            np.searchsorted(np.sort(draws[used & (codes == label)]), up_to, side="right")
            for label, up_to in enumerate(values)
        ]
        return (np.stack(counts),)

    def hold_out(self, seed: int, highest: np.ndarray) -> None:
        """Let no member be grown on the rows whose draw is at most the highest of their class."""
        codes, used = self._as_given()
        held_out = used & (self._draws(seed) <= highest[codes])
        self._held_out_rows = held_out[self._order]
        self.weight = np.where(self._held_out_rows, 0.0, self.weight)

    def _draws(self, seed: int) -> np.ndarray:
        draws = UniformRows(seed, Purpose.HOLD_OUT, 0, 0, 1)
        return draws.read(self._start, len(self._order))[:, 0]

    def stage_scores(
        self, classes: np.ndarray, theta: np.ndarray, intercept: np.ndarray, fuser: Fuser
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the weight of rows right by the first member, the first two, ..., and of all.

        They are the rows held out, if there are some. The members are given for standardized
        columns: ``theta`` is (C, K, D), ``intercept`` (C, K).
        """
        weight = self.weight
        if self._held_out_rows is not None:
            weight = np.where(self._held_out_rows, self._raw_weight, 0.0)
        everyone = np.arange(theta.shape[1])
        right, total = np.zeros(len(everyone)), 0.0
        for rows in in_parts(len(weight), ROWS_PER_BLOCK):
            weight_of_rows = float(weight[rows].sum())
            if not weight_of_rows:
                continue
            design = self.designs["features"].rows(rows)
            out = np.empty((*theta.shape[:2], design.n_rows))
            logs = log_softmax(design.logits(theta, intercept, everyone, out)).transpose(2, 1, 0)
            P = Predictions(np.exp(logs), classes, log_values=logs)
            scores = stage_scores(fuser, P, self.target.codes[rows], None, weight[rows])
            right += scores * weight_of_rows
            total += weight_of_rows
        return right, np.array(total)

    # -- a numeric target ------------------------------------------------------------------

    def target_columns(self) -> np.ndarray:
        """Return y as it was given, as the only column (1, n)."""
        return self._values[None]

    def standardize_target(self, center: float, scale: float, farthest: float | None) -> None:
        """Center and scale y, and clip values that are farther from 0."""
        # The y of a row of weight 0 does not count.
        values = (np.where(self.weight > 0, self._values, center) - center) / scale
        if farthest is not None:
            values = np.clip(values, -farthest, farthest)
        self.target = ValueTarget(values, ValueLoss("squared"))

    def set_loss(self, loss: ValueLoss) -> None:
        """Let members be fitted to y by this loss."""
        self.target = ValueTarget(self._standardized(), loss)

    def target_loss(self, loss: ValueLoss) -> tuple[np.ndarray]:
        """Return the weighted sum of the losses of predicting 0, (1,)."""
        return (np.array([loss.value(self._standardized()) @ self.weight]),)

    def _standardized(self) -> np.ndarray:
        assert isinstance(self.target, ValueTarget)
        return self.target.values

    def compare_target(self, center: float | None) -> None:
        """Let the next quantile be one of y, or of its distance from a center."""
        self._compared = self._values if center is None else np.abs(self._values - center)
        self._in_weighted_order = None

    def compare_errors(self, theta: np.ndarray, intercept: np.ndarray) -> None:
        """Let it be one of a linear model's absolute errors, (1, D) and (1,), of X itself."""
        predicted = linear_logits(self._given, theta, intercept)[0]
        self._compared, self._predicted = np.abs(self._standardized() - predicted), predicted
        # This was only needed while the model was fitted.
        self.designs.pop(LINEAR, None)
        self._in_weighted_order = None

    def compared_extent(self) -> np.ndarray:
        """Return the greatest of these numbers, and of their negatives, (2, 1)."""
        used = self._compared[self.weight > 0]
        ends = used.max(initial=-np.inf), -used.min(initial=np.inf)
        return np.array(ends)[:, None]

    def compared_weight_up_to(self, values: np.ndarray) -> tuple[np.ndarray]:
        """Return the weight of the rows whose number is at most each of ``values`` (1, k)."""
        if self._in_weighted_order is None:
            self._in_weighted_order = WeightedRows(self._compared[None], self.weight[None])
        return (self._in_weighted_order.up_to(values),)

    def predicted_loss(self, loss: ValueLoss) -> tuple[np.ndarray]:
        """Return the weighted sum of the losses of the linear model, (1,)."""
        losses = loss.value(self._standardized(), self._predicted)
        return (np.array([losses @ self.weight]),)

    # -- a gate that is given --------------------------------------------------------------

    def prepare_gate(self, sees: GateFeatures) -> None:
        """Lay out the columns that a gate sees."""
        self.gates[GATE] = sees.designs(self._given)

    def squares(self, sees: GateFeatures) -> Any:
        """Return the squares of sparse columns: see `GateFeatures.squares`."""
        return sees.squares(self._given.tocsc())

    def gate_importance(self, gate: Gate) -> tuple[np.ndarray, np.ndarray]:
        """Return the weighted sum of each member's importance, (K,), and of the weights, (1,)."""
        gates = softmax_first(gate._sees.logits(self._given, gate.coef_, gate.intercept_))
        return gates @ self.weight, np.array([self.weight.sum()])

    def prediction_sums(
        self, basis: Basis, coef: np.ndarray, intercept: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the weighted sum of members' predictions, (K, C), and of the weights, (1,)."""
        outputs = linear_logits(basis.rows(self._given), coef, intercept)
        values = outputs if len(coef) == 1 else softmax_first(outputs)
        return (values @ self.weight).T, np.array([self.weight.sum()])

    def held_out_loss(self, kind: Kind, runs: np.ndarray, parts: Parts) -> tuple[np.ndarray]:
        """Return the sum of the losses of the rows that the fold of each run holds out, (R,)."""
        predicted = self._gated_rows(kind).predictions(parts, runs)
        losses = self.target.likelihood.losses(predicted)
        held_out = [self._parts[run][1] for run in runs]
        return (
            np.array(
                [
                    self.weight[rows] @ of_run[rows]
                    for rows, of_run in zip(held_out, losses, strict=True)
                ]
            ),
        )

    def decision_counts(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray]:
        """Return how often members of coefficients (C, K, D) decide for each class, (K, C)."""
        logits = linear_logits(self._given[self.weight > 0], coef, intercept)
        return (decision_counts(logits.argmax(axis=0).T, None, len(coef)),)

    def member_sums(
        self, coef: np.ndarray, intercept: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how many rows have a weight, (1,), and sums of predictions and their squares."""
        values = linear_logits(self._given[self.weight > 0], coef, intercept)
        return np.array([float(values.shape[1])]), values.sum(axis=1), (values**2).sum(axis=1)


def table_block(
    rows: LoadedRows,
    number: int,
    classes: np.ndarray,
    class_weight: np.ndarray,
    starts: np.ndarray,
    sparse: bool,
) -> TableBlock:
    """Return the block of a fit; ``sparse`` is whether some block of the table is."""
    codes = np.searchsorted(classes, rows.labels)[rows.codes]
    target: Target = ClassTarget(codes, len(classes))
    if rows.values is not None:
        target = ValueTarget(rows.values, ValueLoss("squared"))
    block = TableBlock(
        csr_array(rows.X) if sparse and not hasattr(rows.X, "tocsr") else rows.X,
        target,
        rows.weight * class_weight[codes],
        int(starts[number]),
    )
    if rows.values is not None:
        block._values = rows.values
    # Its rows are kept in their order, and no longer as they were loaded.
    block._given, block._at = block._rows_in_order(), None
    return block


def changes(method: Method, args: tuple[Any, ...]) -> bool:
    """Return whether a call changes a block, so that its file must be written again."""
    log = ReplayLog()
    log.note(method, args)
    return bool(log.calls)


_CHANGES |= dict.fromkeys(
    (
        table_block,
        TableBlock.hold_out,
        TableBlock.drop_features,
        TableBlock.prepare_gate,
        TableBlock.standardize_target,
        TableBlock.set_loss,
        TableBlock.compare_target,
        TableBlock.compare_errors,
    )
)
