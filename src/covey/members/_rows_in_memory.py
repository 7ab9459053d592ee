"""The rows of a table in memory that a flock is fitted to."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from covey._blocks import by_blocks, frame_of_arrow
from covey._core.algorithm1.rows import TrainingSettings, in_memory
from covey._core.algorithm1.trainer import StackTrainer
from covey._core.arrays import in_parts
from covey._core.design import Design, sorted_columns
from covey._core.fusion.rules import (
    constant_by_counts,
    constant_by_spread,
    decision_counts,
)
from covey._core.gating.gate import GatedObjective, GatedRows, ValueLikelihood
from covey._core.lbfgs import minimise
from covey._core.losses import ValueLoss, weighted_quantile
from covey._core.moments import moments
from covey._core.search.block import ClassTarget, ValueTarget, extremes
from covey._core.search.folds import ROWS_FOR_MEANS, RowSample, sampled_rows
from covey._core.search.rows import Rung, SearchInMemory, SearchRows, in_blocks, sampled_rung
from covey._core.softmax_linear import class_blocks
from covey._devices import HostDevice, OnDevice, check_memory, device_of, to_numpy
from covey._folds import Folds, check_groups, make_folds
from covey._validation import check_sample_weight, holds_gaps
from covey.fusers import Fuser, Gate
from covey.fusers._fixed import stage_scores
from covey.members._held_out import HeldOutRows, held_out_rows
from covey.tables._checked import checked_table
from covey.tables._preparation import Preparation, needs_target, prepare
from covey.tables._table_reader import TableReader
from covey.tables._target_means import TargetMeans

# How many numbers are sorted, or predicted, at once: this bounds the memory.
_NUMBERS_AT_ONCE = 1 << 18
# How many numbers of X, 32 MB, may be copied to leave constant columns out.
_MOST_COPIED = 1 << 22
# The penalty of the linear model whose errors show how large the noise is.
_LINEAR_ALPHA = 1e-3


class InMemoryRows:
    """A table in memory, dense or CSR/CSC, trained on by NumPy or by PyTorch on a device.

    These are the rows of a fit. `covey.dask._rows.DaskRows` have the same methods, except those
    that only rows in memory can have. ``classes`` are the labels, or None for values; the arrays
    (C,) beside them are of the rows as they were given, C being 1 for values.
    """

    single = True  # folds may be compared in single precision
    keeps_folds = True  # a checkpoint must keep the folds

    def __init__(
        self,
        X: Any,
        y: np.ndarray,
        weight: np.ndarray,
        groups: Any,
        *,
        numeric: bool,
        device: HostDevice | OnDevice,
        table: Any = None,
        reading: TableReader | None = None,
    ) -> None:
        self.X, self.y, self.weight, self._groups = X, y, weight, groups
        # The user's own table, and how X was read from it.
        self.table, self.reading = X if reading is None else table, reading
        self._given = X if table is None else table  # a splitter may read a column of it
        self._device = device
        self.n_features = X.shape[1]
        self.classes: np.ndarray | None = None
        self._codes = np.zeros(len(y), dtype=np.int64)
        if not numeric:
            self.classes, self._codes = np.unique(y, return_inverse=True)
        n_classes = 1 if self.classes is None else len(self.classes)
        self.class_counts = np.bincount(self._codes[weight > 0], minlength=n_classes)
        self.class_weights = np.bincount(self._codes, weight, minlength=n_classes)
        self.largest_weights = np.zeros(n_classes)
        np.maximum.at(self.largest_weights, self._codes, weight)
        self.class_factors: np.ndarray | None = None
        self._held_out: np.ndarray | None = None
        # The target of members of numbers, and the loss.
        self.target, self._loss = y, ValueLoss("squared")

    @classmethod
    def open(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        *,
        reset: bool,
        numeric: bool,
    ) -> Self:
        """Check the arguments of ``fit``, and return the rows."""
        device = _training_device(estimator, X, y, sample_weight)
        X, y, sample_weight = frame_of_arrow(to_numpy(X)), to_numpy(y), to_numpy(sample_weight)
        least = 2 if numeric else 1
        table = X
        X, y, reading = checked_table(
            estimator,
            X,
            y,
            known=None if reset else estimator.preparation_,
            groups=groups,
            reset=reset,
            y_numeric=numeric,
            ensure_min_samples=least,
        )
        weight = check_sample_weight(sample_weight, len(y))
        how = {"numeric": numeric, "device": device, "table": table, "reading": reading}
        return cls(X, y, weight, groups, **how)

    def set_class_weight(self, factors: np.ndarray) -> None:
        """Multiply the weights of each class."""
        self.class_factors = factors
        self.weight = self.weight * factors[self._codes]

    def digest(self) -> Any:
        """Return the identity of the data, for a checkpoint."""
        data = self.X, self.y, self.weight, self._groups
        return data if self.reading is None else (*data, self.reading.words)

    def prepared(self, known: Preparation | None, seed: int) -> tuple[Preparation, InMemoryRows]:
        """Return how gaps and categories become numbers, and the rows as numbers."""
        target = None
        if needs_target(self.reading):
            groups = None if self._groups is None else check_groups(self._groups, len(self.y))
            truth = self.y if self.classes is None else self._codes
            target = TargetMeans(truth, self.classes, self.weight, seed, groups)
        preparation, X = prepare(self.X, self.reading, self.weight, target, known)
        rows = copy(self)
        rows.X, rows.n_features = X, X.shape[1]
        return preparation, rows

    @property
    def needs_preparation(self) -> bool:
        """Return whether there are gaps or categories, of which ``prepared`` makes numbers."""
        return self.reading is not None or holds_gaps(self.X, None)

    def done(self, part: str) -> None:
        """Show progress, where that is possible."""

    def close(self) -> None:
        """Drop what only the fit needed."""

    # -- values ----------------------------------------------------------------------------

    def target_moments(self) -> tuple[float, float]:
        """Return weighted mean and standard deviation of y."""
        (mean,), (deviation,) = moments(self.y[None], self.weight)
        return float(mean), float(deviation)

    def target_quantile(self, share: float, center: float | None = None) -> float:
        """Return a weighted quantile of y, or of its distances from a center."""
        values = self.y if center is None else np.abs(self.y - center)
        return weighted_quantile(values, self.weight, share)

    def target_range(self) -> tuple[float, float]:
        """Return the least and the greatest y of the rows that have a weight."""
        used = self.y[self.weight > 0]
        return float(used.min()), float(used.max())

    def standardize_target(self, center: float, scale: float, farthest: float | None) -> float:
        """Set the target to (y - center) / scale, clipped; return its largest size before that."""
        # The y of a row of weight 0 does not count.
        target = (np.where(self.weight > 0, self.y, center) - center) / scale
        self.target = target if farthest is None else np.clip(target, -farthest, farthest)
        return float(np.abs(target).max())

    def set_loss(self, loss: ValueLoss) -> None:
        """Set the loss that members minimize from now on."""
        self._loss = loss

    def target_loss(self, loss: ValueLoss) -> float:
        """Return the weighted sum of the loss of predicting 0."""
        return float(loss.value(self.target) @ self.weight)

    def linear_errors(self, mean: np.ndarray, scale: np.ndarray, loss: ValueLoss) -> LinearErrors:
        """Return the errors of a linear model that is penalized a little."""
        design = self._design(np.arange(len(self.y)), mean, scale)
        share = self.weight[None, :] / self.weight.sum()
        rows = GatedRows(design, [design], ValueLikelihood(self.target, loss), share, "log")
        alpha, sizes = np.array([_LINEAR_ALPHA]), (1, 1, design.n_features, design.n_features)
        objective = GatedObjective(rows.value_and_gradient, alpha, *sizes)
        found = minimise(objective, np.zeros((1, objective.n_parameters)), max_iter=50)
        predicted = rows.predictions(objective.unpack(found.x), np.zeros(1, dtype=int))[0]
        return LinearErrors(self.target, predicted, self.weight)

    # -- columns and weights ---------------------------------------------------------------

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return weighted mean and standard deviation of the columns, of rows not held out."""
        X, weight = self.X, self.weight
        if self._held_out is not None:
            X, weight = X[~self._held_out], weight[~self._held_out]
        return moments(X.tocsc() if hasattr(X, "tocsr") else X.T, weight)

    def ranges(self) -> np.ndarray:
        """Return the least and the greatest value of each column, (2, D), over weighted rows."""
        used = self.weight > 0
        highest, lowest = extremes(self.X if used.all() else self.X[used])
        return np.stack([-lowest, highest])

    @property
    def can_narrow(self) -> bool:
        """Return whether ``only`` leaves columns out.

        A long table is not copied for that.
        """
        return self.X.shape[0] * self.X.shape[1] <= _MOST_COPIED

    def only(self, columns: np.ndarray) -> InMemoryRows:
        """Return the rows with some of the columns (D,), where ``can_narrow``."""
        rows = copy(self)
        rows.X, rows.n_features = self.X[:, columns], int(np.sum(columns))
        return rows

    def total_weight(self) -> float:
        """Return the sum of all weights."""
        return float(self.weight.sum())

    def n_weighted(self) -> int:
        """Return how many rows have a weight above 0."""
        return int(np.count_nonzero(self.weight))

    def _design(self, order: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> Design:
        """Return the standardized columns of rows in the given order."""
        if hasattr(self.X, "tocsr"):
            return Design(sorted_columns(self.X, order), mean[None, :], scale[None, :])
        columns = np.empty((self.n_features, len(order)))
        for rows in in_parts(len(order), _NUMBERS_AT_ONCE // self.n_features):
            columns[:, rows] = self.X[order[rows]].T
        columns -= mean[:, None]
        columns /= scale[:, None]
        return Design(columns)

    def some_rows(self, n_rows: int, seed: int) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return X, y and weights: of all rows in memory, or of about ``n_rows`` elsewhere."""
        return self.X, self.y, self.weight

    # -- training --------------------------------------------------------------------------

    def hold_out(self, fraction: float, seed: int) -> None:
        """Keep a share of each class from the members."""
        self._held_out = held_out_rows(self._codes, self.weight, fraction, seed, self._groups)

    def held_out(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return X, y and weights of the rows held out."""
        rows = self._held_out
        return self.X[rows], self.y[rows], self.weight[rows]

    def trainer(
        self,
        mean: np.ndarray,
        scale: np.ndarray,
        usable: np.ndarray,
        settings: TrainingSettings,
        *,
        flip_probability: float,
        **how: Any,
    ) -> StackTrainer:
        """Return Algorithm 1 on the rows that are not held out, their columns standardized."""
        n_classes = len(self.class_counts)
        newton = settings.learning_rate == "newton"
        check_memory(
            self._device, self.X, n_classes, flip_probability > 0, n_matrices=4 if newton else 0
        )
        rows = np.arange(len(self.y))
        if self._held_out is not None:
            rows = np.flatnonzero(~self._held_out)
        how |= {"runs": [0], "flip_probability": np.array([flip_probability]), "usable": usable}
        # The trainer needs rows sorted by class.
        order = rows[np.argsort(self._codes[rows], kind="stable")]
        design, weight = self._design(order, mean, scale), self.weight[order][None, :]
        if not isinstance(self._device, HostDevice):
            design = design.sent(self._device.send)
        if self.classes is None:
            truth = self._device.send(self.target[order])
        else:
            truth = class_blocks(np.bincount(self._codes[order], minlength=n_classes))
        table = in_memory(design, truth, self._device.send(weight), settings)
        return StackTrainer(table, settings, **how)

    def stage_scores(self, model: Any, fuser: Fuser) -> np.ndarray:
        """Return scores (K,) of the first members, on the rows held out if there are any."""
        rows = slice(None) if self._held_out is None else self._held_out
        X, truth = self.X[rows], self.y[rows] if self.classes is None else self._codes[rows]
        return stage_scores(fuser, model.predictions(X), truth, X, self.weight[rows])

    def refine(
        self,
        gate: Gate,
        mean: np.ndarray,
        scale: np.ndarray,
        members: tuple[np.ndarray, np.ndarray, np.ndarray],
        **how: Any,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Refine a gate and members (theta, intercept, support) together."""
        y, target_of = self._search_target()
        target = target_of(y)
        design = self._design(target.order, mean, scale)
        classes = np.arange(1) if self.classes is None else self.classes
        return gate.refine(design, *members, self.X, target, self.weight, classes, **how)

    def mean_importance(self, model: Any) -> np.ndarray:
        """Return the weighted mean importance of each member, (K,)."""
        found = by_blocks(model.weights_of_rows, self.X, finite=True)
        return self.weight @ found / self.weight.sum()

    def mean_predictions(self, model: Any) -> np.ndarray:
        """Return the weighted mean prediction of each member, (K, C)."""
        used = np.flatnonzero(self.weight)
        used = used[:: max(1, len(used) // ROWS_FOR_MEANS)]
        share = self.weight[used] / self.weight[used].sum()
        means = np.zeros(model.intercept.shape)
        for some in in_parts(len(used), _NUMBERS_AT_ONCE // means.size):
            outputs = by_blocks(model.outputs, self.X[used[some]], finite=True)
            means += np.tensordot(share[some], outputs, axes=1)
        return means

    def constant_members(self, model: Any) -> np.ndarray:
        """Return which members are constant over these rows, (K,): see `Predictions`."""
        X = self.X[self.weight > 0]
        if self.classes is None:
            numbers = by_blocks(model.outputs, X, finite=True)[:, :, 0]
            return constant_by_spread(numbers, None, model.target.unit)
        labels = by_blocks(lambda X: model.predictions(X).labels, X, finite=True)
        return constant_by_counts(decision_counts(labels, None, len(self.classes)))

    # -- search ----------------------------------------------------------------------------

    def search_rows(self, n_members: int) -> SearchRows:
        """Return the rows in the form of a search."""
        check_memory(self._device, self.X, len(self.class_counts) * n_members, flips=True)
        everyone = slice(0, len(self.y))
        return SearchInMemory(
            in_blocks(
                self.X, *self._search_target(), self.weight, everyone, self._beside(len(self.y))
            )
        )

    def rung(self, n_rows: int, seed: int, factor: float, folds: Any) -> Rung:
        """Return some of the rows, about ``n_rows`` of them to fit on.

        Given folds hold out their own rows; with None as many rows are held out as are fitted on,
        and with an empty list none.
        """
        sample, folds = self._sample(n_rows, seed, folds)
        rows, (y, target_of) = sample.rows, self._search_target()
        return sampled_rung(
            self.X[rows],
            y[rows],
            target_of,
            self.weight[rows] * sample.factor,
            sample.n_fitted,
            factor,
            folds=folds,
            beside=self._beside(len(rows)),
            numbers=rows,
        )

    def held_out_sample(self, n_rows: int, seed: int, folds: Any) -> HeldOutRows:
        """Return some of the rows as folds, as a rung has them."""
        sample, folds = self._sample(n_rows, seed, folds)
        if folds is None:
            folds = [(np.arange(sample.n_fitted), np.arange(sample.n_fitted, len(sample.rows)))]
        rows, weight = sample.rows, np.zeros_like(self.weight)
        weight[rows] = self.weight[rows] * sample.factor
        return HeldOutRows([(rows[train], rows[test]) for train, test in folds], weight)

    def _sample(self, n_rows: int, seed: int, folds: Any) -> tuple[RowSample, Any]:
        if folds:
            return self._sampled_folds(folds, n_rows, seed)
        used = self.weight > 0
        sample = sampled_rows(n_rows, self.class_counts, seed, 0, self._codes, used)
        return (sample, None) if folds is None else (sample.fitted, folds)

    def _sampled_folds(self, folds: Folds, n_rows: int, seed: int) -> tuple[RowSample, Folds]:
        """Return some rows that folds fit on, rows that they hold out, and the folds of these.

        Rows that one fold holds out and another one fits on are sampled once; if there are few
        to hold out, all of them are.
        """
        to_fit, to_hold_out = (self._named(side) for side in zip(*folds, strict=True))
        fitted = self._some(to_fit, n_rows, seed)
        if np.count_nonzero(to_hold_out) >= 2 * n_rows:
            to_hold_out &= ~to_fit
        to_hold_out[fitted.rows] = False
        held_out = self._some(to_hold_out, n_rows, seed)
        position = np.full(len(self.y), -1)
        rows = np.concatenate([fitted.rows, held_out.rows])
        position[rows] = np.arange(len(rows))
        found = []
        for train, test in folds:
            train, test = position[train], position[test]
            train, test = train[(train >= 0) & (train < fitted.n_fitted)], test[test >= 0]
            # A fold of which the sample leaves nothing on one side is dropped.
            if len(train) and len(test):
                found.append((train, test))
        weights = np.concatenate([fitted.factor, held_out.factor])
        return RowSample(rows, fitted.n_fitted, weights), found

    def _named(self, parts: Any) -> np.ndarray:
        """Return whether rows that have a weight are in any of these parts."""
        named = np.zeros(len(self.y), dtype=bool)
        named[np.concatenate(parts)] = True
        return named & (self.weight > 0)

    def _some(self, among: np.ndarray, n_rows: int, seed: int) -> RowSample:
        """Return about ``n_rows`` of the rows; all, if they are fewer than twice as many."""
        rows = np.flatnonzero(among)
        if len(rows) < 2 * n_rows:
            return RowSample(rows, len(rows), np.ones(len(rows)))
        counts = np.bincount(self._codes[rows], minlength=len(self.class_counts))
        return sampled_rows(n_rows, counts, seed, 0, self._codes, among).fitted

    def _beside(self, n_rows: int) -> Any:
        """Return an array where a search of this many rows computes; None: NumPy's."""
        n_numbers = n_rows * self.X.shape[1] * len(self.class_counts)
        if not self._device.is_worth(n_numbers):
            return None
        return self._device.send(np.zeros(0))

    def _search_target(self) -> tuple[np.ndarray, Any]:
        """Return the numbers or codes of classes, and the function that makes targets of them."""
        if self.classes is None:
            return self.target, partial(ValueTarget, loss=self._loss)
        return self._codes, partial(ClassTarget, n_classes=len(self.classes))

    def draws_folds(self, cv: Any) -> bool:
        """Return whether folds are drawn: then a rung needs none of its own."""
        return self._groups is None and (cv is None or isinstance(cv, int | np.integer))

    def folds(self, cv: Any, seed: int, n_repeats: int) -> Folds:
        """Return the folds on which candidates are compared."""
        return make_folds(
            cv,
            self._given,
            self._codes,
            self.weight,
            np.zeros(1) if self.classes is None else self.classes,
            groups=self._groups,
            seed=seed,
            n_repeats=n_repeats,
            y=self.y,
        )


@dataclass
class LinearErrors:
    """A target, the predictions of it by a linear model, and the weights of the rows."""

    target: np.ndarray
    predicted: np.ndarray
    weight: np.ndarray

    def quantile(self, share: float) -> float:
        """Return a weighted quantile of their sizes."""
        return weighted_quantile(np.abs(self.target - self.predicted), self.weight, share)

    def loss(self, loss: ValueLoss) -> float:
        """Return the weighted sum of their losses."""
        return float(loss.value(self.target, self.predicted) @ self.weight)


def _training_device(estimator: Any, X: Any, y: Any, sample_weight: Any) -> HostDevice | OnDevice:
    """Return where members are trained; refuse settings that only the CPU supports."""
    device = device_of(estimator.device, X, y, sample_weight)
    if isinstance(device, HostDevice):
        return device
    for refused, what in (
        (hasattr(X, "tocsr"), "sparse X"),
        (getattr(estimator, "learning_rate", None) == "newton", "learning_rate='newton'"),
    ):
        if refused and device.device.type == "cpu":
            return HostDevice()
        if refused:
            raise ValueError(
                f"{what} is for the CPU, but the fit is to be computed on {device.name}; "
                "use device=None and arrays of NumPy."
            )
    return device
