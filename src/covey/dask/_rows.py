"""The rows of Dask collections in the form of a fit: reductions over blocks, no arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import numpy as np
from scipy.sparse import vstack

from covey._core.algorithm1.rows import TrainingSettings
from covey._core.algorithm1.trainer import StackTrainer
from covey._core.basis import Basis, ScaledBasis
from covey._core.fusion.rules import constant_by_counts, constant_by_moments
from covey._core.gating.gate import N_FOLDS, GatedObjective
from covey._core.lbfgs import minimise
from covey._core.losses import ValueLoss
from covey._core.moments import moments_of_blocks
from covey._core.quantiles import quantiles_by_sums
from covey._core.search.block import ClassTarget, Kind, SearchBlock, ValueTarget
from covey._core.search.folds import FoldAssignment
from covey._core.search.rows import Rung, folds_of_rows, sampled_rung
from covey._validation import check_sample_weight
from covey.dask._blocks import GATE, LINEAR, TableBlock
from covey.dask._lazy import check_columns
from covey.dask._loading import check_numeric_columns, delayed_blocks
from covey.dask._worker import Table, current_backend
from covey.fusers import Fuser, Gate
from covey.fusers._base import FUSERS
from covey.fusers._fixed import make_fuser
from covey.fusers._gate import GateFeatures, GateSums
from covey.tables._categories import is_from_dtype

# The penalty of the linear model whose errors show how large the noise is.
_LINEAR_ALPHA = 1e-3

# The likelihood of linear models and gates is that of all rows, in double precision.
_ALL_ROWS = {"folds": False, "single": False}


class DaskRows:
    """The blocks of a Dask table as the rows of a fit; see `InMemoryRows`.

    A gate needs X after the members are grown: ``keeps_features``. ``classes`` are the labels,
    sorted; None if the target is numeric. ``class_counts``, ``class_weights`` and
    ``largest_weights`` are for each label (one, if it is numeric) the rows whose weight is above
    0, the sum of their weights, and the largest one.
    """

    # Decisions in single precision would depend on how the rows are cut into blocks.
    single = False
    # They are a function of the seed, which a checkpoint keeps.
    keeps_folds = False
    can_narrow = False
    needs_preparation = False  # gaps and categories are refused

    def __init__(self, table: Table, n_features: int, keeps_features: bool) -> None:
        self._table = table
        self.n_features = n_features
        self._keeps_features = keeps_features
        facts = [known for known in table.facts if known.n_rows]
        if not facts:
            raise ValueError("X has no rows; give at least two.")
        if len({known.labels.dtype.kind in "biuf" for known in facts}) > 1:
            raise ValueError("y must hold numbers or strings, not both.")
        labels = np.unique(np.concatenate([known.labels for known in facts]))
        self.classes = None if table.numeric else labels
        self.class_counts = np.zeros(len(labels), dtype=np.int64)
        self.class_weights, self.largest_weights = np.zeros((2, len(labels)))
        for known in facts:
            at = np.searchsorted(labels, known.labels)
            self.class_counts[at] += known.n_used
            self.class_weights[at] += known.weight
            np.maximum.at(self.largest_weights, at, known.heaviest)
        self._factors = np.ones(len(labels))
        self._labels = labels
        self._prepared = False

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
    ) -> DaskRows:
        """Check the arguments of ``fit``, and load the rows on the cluster or in this process."""
        check_possible(estimator, groups)
        if y is None:
            name = type(estimator).__name__
            raise ValueError(f"{name} requires y to be passed, but y is None.")
        check_columns(estimator, X, reset=reset)
        check_numeric_columns(X)
        backend = current_backend()
        with backend.computing():
            parts = delayed_blocks(X, y, sample_weight)
        table = Table(
            backend,
            parts,
            getattr(estimator, "feature_names_in_", None),
            numeric,
            estimator.checkpoint is not None,
        )
        try:
            # A search has gates; so the blocks are those of gates if no fuser is given.
            gated = isinstance(make_fuser(getattr(estimator, "fuser", "gate")), Gate)
            rows = cls(table, estimator.n_features_in_, gated)
            check_sample_weight(rows.largest_weights, len(rows.largest_weights))
            return rows
        except BaseException:
            table.close()
            raise

    def close(self) -> None:
        """Drop the blocks, wherever they are."""
        self._table.close()

    def digest(self) -> list[str | None]:
        """Return the identity of the rows, for a checkpoint."""
        return [known.digest for known in self._table.facts]

    def done(self, part: str) -> None:
        """Let the dashboard show that a part of the fit is done."""
        self._table.show(part)

    def set_class_weight(self, factors: np.ndarray) -> None:
        """Multiply the weights of each class by a number."""
        self._factors = factors
        self.class_counts = np.where(factors > 0, self.class_counts, 0)

    def search_rows(self, n_members: int = 1) -> Table:
        """Return the blocks of a search."""
        return self._blocks

    @property
    def _blocks(self) -> Table:
        """Return the blocks of a fit; they are made when they are first needed."""
        if not self._prepared:
            self._prepared = True
            self._table.prepare(self._labels, self._factors, self.n_features)
        return self._table

    # -- columns and folds -----------------------------------------------------------------

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and deviation of the features, over rows on which members are grown."""
        plain = Basis.plain(self.n_features)
        self._moments = moments_of_blocks(self._blocks, SearchBlock.columns, "features", plain)[:2]
        return self._moments

    def ranges(self) -> np.ndarray:
        """Return the least and the greatest value of each column, (2, D)."""
        highest, lowest = self._blocks.max(SearchBlock.extremes, True)
        return np.stack([-lowest, highest])

    def total_weight(self) -> float:
        """Return the sum of all weights."""
        return float(self.class_weights @ self._factors)

    def n_weighted(self) -> int:
        """Return how many rows have a weight."""
        return int(self.class_counts.sum())

    def folds(self, cv: int | None, seed: int, n_repeats: int) -> FoldAssignment:
        """Return stratified folds by the rows' own draws."""
        n_folds = 5 if cv is None else int(cv)
        return folds_of_rows(self._blocks, n_folds, self._labels, seed=seed, n_repeats=n_repeats)

    def draws_folds(self, cv: Any) -> bool:
        """Return True: folds are always drawn."""
        return True

    def rung(self, n_rows: int, seed: int, factor: float, folds: Any) -> Rung:
        """Return some of the rows, in this process."""
        X, y, weight, n_fitted = self._sampled(n_rows, seed, holds_out=folds is None)
        target_of: Any = partial(ClassTarget, n_classes=len(self._labels))
        if self.classes is None:
            target_of = partial(ValueTarget, loss=self._loss)
        return sampled_rung(X, y, target_of, weight, n_fitted, factor, folds=folds)

    def some_rows(self, n_rows: int, seed: int) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return about ``n_rows`` rows X with their y and weights, in this process."""
        X, target, weight, _ = self._sampled(n_rows, seed, holds_out=False)
        return X, target if self.classes is None else self.classes[target], weight

    def _sampled(self, n_rows: int, seed: int, *, holds_out: bool) -> tuple[Any, Any, Any, int]:
        """Return rows X, targets and weights, those to fit on first, and how many these are."""
        parts = self._blocks.gather(SearchBlock.sampled, n_rows, self.class_counts, seed)
        sides = [(part, slice(0, part.n_fitted)) for part in parts]
        if holds_out:
            sides += [(part, slice(part.n_fitted, None)) for part in parts]
        stack = vstack if self._table.is_sparse else np.concatenate
        X = stack([part.X[rows] for part, rows in sides])
        target = np.concatenate([part.target[rows] for part, rows in sides])
        weight = np.concatenate([part.weight[rows] for part, rows in sides])
        return X, target, weight, sum(part.n_fitted for part in parts)

    # -- training --------------------------------------------------------------------------

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
        self._standardize("features", mean, scale, usable)
        growing = self._blocks.growing("features", self.n_features, settings)
        if not self._keeps_features:
            self._blocks.broadcast(TableBlock.drop_features)
        return StackTrainer(
            growing,
            settings,
            runs=[0],
            flip_probability=np.array([flip_probability]),
            usable=usable,
            **how,
        )

    def _standardize(
        self, name: str, mean: np.ndarray, scale: np.ndarray, usable: np.ndarray
    ) -> None:
        rows, plain = self._blocks, Basis.plain(self.n_features)
        scaled = ScaledBasis(plain, mean, scale, usable)
        rows.broadcast(SearchBlock.standardize, name, scaled)
        rows.broadcast(SearchBlock.set_folds, [], 1)

    def hold_out(self, fraction: float, seed: int) -> None:
        """Keep a share of each class from the members, the rows of the lowest draws."""
        counts = self.class_counts
        wanted = np.array([round(fraction * int(count)) for count in counts])
        wanted = np.where(counts > 1, np.clip(wanted, 1, np.maximum(counts - 1, 1)), 0)
        if not wanted.any():
            raise ValueError(
                "No class has two rows, so none can be held out to choose the size; use "
                "select_size=None."
            )
        # The draw of the last row that is held out: half a row less is more than one row before.
        share = np.maximum(wanted - 0.5, 0.0) / np.maximum(counts, 1)
        ends = np.zeros(len(counts)), np.ones(len(counts))
        highest = quantiles_by_sums(
            self._blocks, TableBlock.draws_up_to, *ends, share[:, None], seed
        )[:, 0]
        highest = np.where(wanted > 0, highest, -1.0)
        self._blocks.broadcast(TableBlock.hold_out, seed, highest)

    def held_out(self) -> NoReturn:
        """Refuse: only fusers that learn need these rows themselves."""
        raise ValueError("The rows held out lie in blocks; fit a sample in memory.")

    def stage_scores(self, model: Any, fuser: Fuser) -> np.ndarray:
        """Return accuracies of the first member, the first two, ...: on rows held out, or all."""
        coef, intercept = model.coef, model.intercept
        right, total = self._blocks.sum(
            TableBlock.stage_scores,
            self._labels,
            (coef * model.column_scale).transpose(1, 0, 2),
            (intercept + coef @ model.column_mean).T,
            fuser,
        )
        return right / total

    # -- a gate that is given --------------------------------------------------------------

    def refine(
        self,
        gate: Gate,
        mean: np.ndarray,
        scale: np.ndarray,
        members: tuple[np.ndarray, np.ndarray, np.ndarray],
        *,
        seed: int,
        **how: Any,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Refine a gate and members (theta, intercept, support) that were grown on these rows."""
        sees = GateFeatures.standardized(gate.features == "quadratic", *self._moments)
        if sees.quadratic and self._table.is_sparse:
            squares = moments_of_blocks(self._blocks, TableBlock.squares, sees)
            sees.standardize_squares(*squares[:2])
        self._blocks.broadcast(TableBlock.prepare_gate, sees)
        classes = np.arange(1) if self.classes is None else self.classes
        sums = self._gate_sums(gate, seed)
        return gate.refine_by_sums(sees, sums, *members, classes, **how)

    def _gate_sums(self, gate: Gate, seed: int) -> GateSums:
        """Return the sums for a gate, over all rows and over the folds that choose its penalty."""
        rows, n_folds = self._blocks, 0
        if gate.cv is not None:
            raise ValueError("cv of a Gate is for rows in memory; leave it out with Dask.")
        if gate.alpha is None and self.class_counts.max() > 1:
            with warnings.catch_warnings():
                # The only row of a class is always fitted on, which matters to no penalty.
                warnings.simplefilter("ignore")
                folds = self.folds(N_FOLDS, seed, 1)
            rows.broadcast(SearchBlock.set_folds, folds, 1)
            n_folds = len(folds)
        of_all = Kind("features", GATE, gate.pool, folds=False, single=False)
        of_folds = Kind("features", GATE, gate.pool, folds=True, single=False)
        return GateSums(
            self._likelihood(of_all),
            self._likelihood(of_folds),
            lambda parts, runs: rows.sum(TableBlock.held_out_loss, of_folds, runs, parts),
            n_folds,
            int(rows.max(SearchBlock.n_rows)[0]),
            self.total_weight(),
        )

    def constant_members(self, model: Any) -> np.ndarray:
        """Return which members are constant over these rows, (K,)."""
        coef, intercept = model.coef.transpose(1, 0, 2), model.intercept.T
        if self.classes is not None:
            (counts,) = self._blocks.sum(TableBlock.decision_counts, coef, intercept)
            return constant_by_counts(counts)
        center, scale = model.target.center, model.target.scale
        total, values, squares = self._blocks.sum(
            TableBlock.member_sums, coef[0] / scale, (intercept[0] - center) / scale
        )
        mean = values / total
        deviation = np.sqrt(np.maximum(squares / total - mean**2, 0.0))
        return constant_by_moments(mean, deviation, spread=1.0)

    def mean_importance(self, model: Any) -> np.ndarray:
        """Return the weighted mean importance of each member, (K,), of a model with a gate."""
        importance, weight = self._blocks.sum(TableBlock.gate_importance, model.fuser)
        return importance / weight

    def mean_predictions(self, model: Any) -> np.ndarray:
        """Return the weighted mean prediction of each member, (K, C)."""
        members = model.coef.transpose(1, 0, 2), model.intercept.T
        method = TableBlock.prediction_sums
        total, weight = self._blocks.sum(method, model.basis, *members)
        return total / weight

    def _likelihood(self, kind: Kind) -> Callable[..., tuple[Any, ...]]:
        """Return the function of values and gradients of a likelihood, by parameters and runs."""
        rows = self._blocks
        totals = rows.sum(SearchBlock.run_totals, kind.folds, kind.single)
        rows.broadcast(SearchBlock.set_totals, kind.folds, kind.single, *totals)
        return lambda parts, runs: rows.sum(SearchBlock.value_and_gradient, kind, runs, parts)

    # -- a numeric target ------------------------------------------------------------------

    def target_moments(self) -> tuple[float, float]:
        """Return mean and deviation of y; those of a constant are exactly its value and 0."""
        mean, deviation, _ = moments_of_blocks(self._blocks, TableBlock.target_columns)
        center = float(mean[0]) if deviation[0] > 0 else self.target_quantile(0.5)
        return center, float(deviation[0])

    def target_range(self) -> tuple[float, float]:
        """Return the least and the greatest y of the rows that have a weight."""
        self._blocks.broadcast(TableBlock.compare_target, None)
        highest, lowest = self._extent()[:, 0]
        return float(-lowest), float(highest)

    def _extent(self) -> np.ndarray:
        # Its blocks are all of this class.
        return self._blocks.max(TableBlock.compared_extent)  # type: ignore[arg-type]

    def target_quantile(self, share: float, center: float | None = None) -> float:
        """Return the weighted quantile of y, or of its distance from a center."""
        self._blocks.broadcast(TableBlock.compare_target, center)
        return self._quantile(share)

    def _quantile(self, share: float) -> float:
        """Return a quantile of the numbers that the blocks were told to compare."""
        highest, lowest = self._extent()
        count = TableBlock.compared_weight_up_to
        found = quantiles_by_sums(self._blocks, count, -lowest, highest, np.array([share]))
        return float(found[0, 0])

    def standardize_target(self, center: float, scale: float, farthest: float | None) -> float:
        """Set the target to (y - center) / scale, clipped; return its largest size before that."""
        self._blocks.broadcast(TableBlock.standardize_target, center, scale, farthest)
        lowest, highest = self.target_range()
        return max(highest - center, center - lowest) / scale

    def set_loss(self, loss: ValueLoss) -> None:
        """Set the loss by which members are fitted to the standardized y."""
        self._loss = loss
        self._blocks.broadcast(TableBlock.set_loss, loss)

    def target_loss(self, loss: ValueLoss) -> float:
        """Return the weighted loss of predicting 0."""
        return float(self._blocks.sum(TableBlock.target_loss, loss)[0][0])

    def linear_errors(self, mean: np.ndarray, scale: np.ndarray, loss: ValueLoss) -> BlockErrors:
        """Return the errors of a linear model of the standardized y, penalized a little."""
        # Not those of a search that may have begun.
        self._standardize(LINEAR, mean, scale, np.ones(self.n_features, dtype=bool))
        self.set_loss(loss)
        objective = GatedObjective(
            self._likelihood(Kind(LINEAR, LINEAR, "log", **_ALL_ROWS)),
            np.array([_LINEAR_ALPHA]),
            1,
            1,
            self.n_features,
            self.n_features,
        )
        found = minimise(objective, np.zeros((1, objective.n_parameters)), max_iter=50)
        theta, intercept, _, _ = objective.unpack(found.x)
        assert theta is not None
        assert intercept is not None
        coef = theta[0, 0] / scale
        self._blocks.broadcast(TableBlock.compare_errors, coef, intercept[0, 0] - coef @ mean)
        return BlockErrors(self)


def check_possible(estimator: Any, groups: Any) -> None:
    """Refuse, before anything is loaded, fits that need all rows in one place."""
    what, instead = None, ""
    if groups is not None:
        what, instead = "groups", "leave it out, or "
    elif not (
        estimator.categorical_features is None or is_from_dtype(estimator.categorical_features)
    ):
        what = f"categorical_features={estimator.categorical_features!r}"
        instead = "encode them as numbers, or "
    elif estimator.gaps:
        what, instead = "gaps", "replace these values by others, or "
    elif estimator.device is not None:
        raise ValueError(
            f"device={estimator.device!r} is one that has all rows, but these lie in blocks; use "
            "device=None."
        )
    elif hasattr(estimator, "cv"):
        if not (estimator.cv is None or isinstance(estimator.cv, int | np.integer)):
            what, instead = f"cv={estimator.cv!r}", "use a number of folds, or "
    else:
        fuser = make_fuser(estimator.fuser)
        if isinstance(fuser, Gate):
            fuser._check_parameters()
        elif fuser.learns:
            fixed = ", ".join(repr(name) for name in FUSERS if not make_fuser(name).learns)
            what, instead = (
                f"fuser={estimator.fuser!r}",
                f"use 'gate', a Gate or one of {fixed}, or ",
            )
    if what is not None:
        raise ValueError(
            f"{what} needs all rows in one place, and these lie in blocks; {instead}fit a sample "
            "in memory."
        )


class BlockErrors:
    """The absolute errors of a linear model, which the blocks hold."""

    def __init__(self, rows: DaskRows) -> None:
        self._rows = rows

    def quantile(self, share: float) -> float:
        """Return the weighted quantile of the errors' size."""
        return self._rows._quantile(share)

    def loss(self, loss: ValueLoss) -> float:
        """Return the weighted sum of their losses."""
        return float(self._rows._blocks.sum(TableBlock.predicted_loss, loss)[0][0])
