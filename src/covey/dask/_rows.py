"""The rows of Dask collections as estimators fit on them: reductions over blocks, no arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from covey._core.algorithm1.settings import TrainingSettings
from covey._core.basis import Basis
from covey._core.gating.gate import GatedObjective
from covey._core.lbfgs import minimise
from covey._core.moments import reduced_moments
from covey._core.quantiles import quantiles_by_sums
from covey._core.search.bases import basis_moments
from covey._core.search.folds import FoldAssignment, assigned_folds, ranked_classes
from covey._core.search.rows import GrowingRows, Kind, SearchBlock
from covey._core.value_losses import ValueLoss
from covey.dask._backends import current_backend
from covey.dask._blocks import DRAW_BITS, GATE, TableBlock
from covey.dask._collections import delayed_blocks
from covey.dask._table import Table
from covey.fusers import Fuser, Gate, GateFeatures

# A round of counting settles so many bits of a draw.
_BITS_PER_ROUND = 11

# The same of linear models and gates: the likelihood of all rows, in double precision.
_ALL_ROWS = {"folds": False, "single": False}


class DaskRows:
    """The blocks of a Dask table behind the interface of `covey.members.TrainingRows`.

    Attributes
    ----------
    n_features : int
    is_sparse : bool
    classes : ndarray of shape (C,) or None
        The labels, sorted; None if the target is numeric.
    class_counts, class_weight_sums, largest_weights : ndarrays of shape (C,)
        For each label the rows whose weight is above 0, the sum of their weights, and the largest
        one; for a numeric target C is 1.
    """

    def __init__(self, table: Table, n_features: int) -> None:
        self._table = table
        self.n_features = n_features
        self.is_sparse = table.is_sparse
        facts = [known for known in table.facts if known.n_rows]
        if not facts:
            raise ValueError("X has no rows; give at least two.")
        if len({known.labels.dtype.kind in "biuf" for known in facts}) > 1:
            raise ValueError("y must hold numbers or strings, not both.")
        labels = np.unique(np.concatenate([known.labels for known in facts]))
        self.classes = None if table.numeric else labels
        self.class_counts = np.zeros(len(labels), dtype=np.int64)
        self.class_weight_sums, self.largest_weights = np.zeros((2, len(labels)))
        for known in facts:
            at = np.searchsorted(labels, known.labels)
            self.class_counts[at] += known.n_used
            self.class_weight_sums[at] += known.weight
            np.maximum.at(self.largest_weights, at, known.heaviest)
        self._factors = np.ones(len(labels))
        self._labels = labels
        self._prepared = False

    @classmethod
    def open(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        numeric: bool,
        names: Sequence[str] | None,
        wants_digest: bool,
    ) -> DaskRows:
        """Load the blocks of collections, on the current cluster or in this process."""
        backend = current_backend()
        with backend.computing():
            parts = delayed_blocks(X, y, sample_weight)
        table = Table(backend, parts, names, numeric, wants_digest)
        try:
            return cls(table, X.shape[1])
        except BaseException:
            table.close()
            raise

    def close(self) -> None:
        """Drop the blocks, wherever they are."""
        self._table.close()

    def digest(self) -> list[str | None]:
        """What tells these rows from others."""
        return [known.digest for known in self._table.facts]

    def show(self, part: str) -> None:
        """Let the dashboard show that a part of the fit is done."""
        self._table.show(part)

    def in_memory(self, what: str) -> NoReturn:
        """Refuse what needs X itself."""
        raise ValueError(
            f"{what} needs all rows in one place, and these lie in blocks; fit a sample in memory."
        )

    def set_class_weight(self, factors: np.ndarray) -> None:
        """Multiply the weights of each class by a number."""
        self._factors = factors
        self.class_counts = np.where(factors > 0, self.class_counts, 0)

    def search_rows(self) -> Table:
        """The blocks of a search."""
        if not self._prepared:
            self._prepared = True
            self._table.prepare(self._labels, self._factors, self.n_features)
        return self._table

    # -- columns and folds -----------------------------------------------------------------

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the features, over rows that members are grown on."""
        plain = Basis.plain(self.n_features)
        return basis_moments(self.search_rows(), "features", plain)[:2]

    def total_weight(self) -> float:
        """The sum of all weights."""
        return float(self.class_weight_sums @ self._factors)

    def n_weighted(self) -> int:
        """How many rows have a weight."""
        return int(self.class_counts.sum())

    def folds(self, n_folds: int, seed: int, n_repeats: int) -> FoldAssignment:
        """Stratified folds by the rows' own draws."""
        counts = self.class_counts
        known = self.search_rows().gather(
            SearchBlock.fold_draws, seed, n_repeats, ranked_classes(counts)
        )
        return assigned_folds(counts, seed, n_folds, known)

    def grow_on(
        self, mean: np.ndarray, scale: np.ndarray, usable: np.ndarray, settings: TrainingSettings
    ) -> GrowingRows:
        """The rows for a trainer, their columns standardized."""
        self._standardize(mean, scale, usable)
        self.search_rows().broadcast(SearchBlock.begin_growing, "features", settings)
        return GrowingRows(self.search_rows(), "features", self.n_features, 1)

    def drop_features(self) -> None:
        """Drop X as it was given, where neither a gate nor a search needs it."""
        self.search_rows().broadcast(TableBlock.drop_features)

    def _standardize(self, mean: np.ndarray, scale: np.ndarray, usable: np.ndarray) -> None:
        rows, plain = self.search_rows(), Basis.plain(self.n_features)
        rows.broadcast(SearchBlock.standardize, "features", plain, mean, scale, usable)
        rows.broadcast(SearchBlock.set_folds, [], 1)

    # -- rows held out ---------------------------------------------------------------------

    def hold_out(self, fraction: float, seed: int) -> None:
        """Keep a share of each class from the members, the rows of the lowest draws."""
        highest = self._highest_draws(fraction, seed)
        self.search_rows().broadcast(TableBlock.hold_out, seed, highest)

    def _highest_draws(self, fraction: float, seed: int) -> np.ndarray:
        """Of each class, the highest draw of the rows that are held out; -1: none of it is.

        It is found by counting, some bits a round. (That a draw comes twice at just this
        position, and a row more is held out, may happen once in 2**53 rows.)
        """
        counts = self.class_counts
        wanted = np.array([round(fraction * int(count)) for count in counts])
        wanted = np.where(counts > 1, np.clip(wanted, 1, np.maximum(counts - 1, 1)), 0)
        if not wanted.any():
            raise ValueError(
                "No class has two rows, so none can be held out to choose the size; use "
                "select_size=None."
            )
        everyone = np.arange(len(counts))
        prefix, below, shift = np.zeros(len(counts), dtype=np.int64), 0, DRAW_BITS
        while shift > 0:
            width = min(shift, _BITS_PER_ROUND)
            shift -= width
            (drawn,) = self.search_rows().sum(TableBlock.count_draws, seed, shift, prefix, width)
            reached = below + np.cumsum(drawn, axis=1)
            at = np.argmax(reached >= wanted[:, None], axis=1)
            below = (reached - drawn)[everyone, at][:, None]
            prefix = (prefix << width) + at
            if (reached[everyone, at] == wanted)[wanted > 0].all():
                break
        return np.where(wanted > 0, ((prefix + 1) << shift) - 1, -1)

    def stage_scores(self, theta: np.ndarray, intercept: np.ndarray, fuser: Fuser) -> np.ndarray:
        """The accuracy of the first member, the first two, ...: of rows held out, or of all.

        The members, (K, C, D) and (K, C), are given for standardized columns.
        """
        right, total = self.search_rows().sum(
            TableBlock.stage_scores,
            self._labels,
            theta.transpose(1, 0, 2),
            intercept.T,
            fuser,
        )
        return right / total

    # -- a gate that is given --------------------------------------------------------------

    def refine(
        self,
        gate: Gate,
        members: tuple[np.ndarray, np.ndarray, np.ndarray],
        moments: tuple[np.ndarray, np.ndarray],
        **how: Any,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Fit a `Gate` together with members that were grown on these rows.

        ``members`` are theta, intercepts and subsets, ``moments`` those of the features; ``how``
        is as for `Gate.refine_by_sums`. Returns the refined theta and intercepts, and the mean
        importance of each member, (K,).
        """
        rows = self.search_rows()
        sees = GateFeatures(gate.features == "quadratic", moments)
        if sees.quadratic and rows.is_sparse:
            sees.standardize_squares(*self._square_moments(sees))
        rows.broadcast(TableBlock.prepare_gate, sees)
        theta, intercept = gate.refine_by_sums(
            sees,
            self._likelihood(Kind("features", GATE, gate.pool, **_ALL_ROWS)),
            *members,
            self._labels,
            **how,
        )
        importance, weight = rows.sum(TableBlock.gate_shares, sees, gate.coef_, gate.intercept_)
        return theta, intercept, importance / weight

    def _square_moments(self, sees: GateFeatures) -> tuple[np.ndarray, np.ndarray]:
        """Mean and deviation of the squares of sparse features."""
        rows = self.search_rows()
        (total,) = rows.sum(SearchBlock.weight_sum)
        squares = TableBlock.of_squares, sees
        of = "squares", Basis.plain(self.n_features)
        return reduced_moments(
            rows.max(*squares, SearchBlock.extent, *of),
            lambda size: rows.sum(*squares, SearchBlock.scaled_means, *of, size, total)[0],
            lambda size, center: rows.sum(
                *squares, SearchBlock.scaled_squares, *of, size, center, total
            )[0],
        )[:2]

    def _likelihood(self, kind: Kind) -> Callable[..., tuple[Any, ...]]:
        """Values and gradients of a likelihood of all rows, for parameters and runs."""
        rows = self.search_rows()
        totals = rows.sum(SearchBlock.run_totals, False, False)
        rows.broadcast(SearchBlock.set_totals, False, False, *totals)
        return lambda parts, runs: rows.sum(SearchBlock.value_and_gradient, kind, runs, parts)

    # -- a numeric target ------------------------------------------------------------------

    def target_moments(self) -> tuple[float, float]:
        """Mean and standard deviation of y; those of a constant are exactly its value and 0."""
        rows = self.search_rows()
        (total,) = rows.sum(SearchBlock.weight_sum)
        extent = rows.max(TableBlock.target_extent)
        mean, deviation, _ = reduced_moments(
            extent,
            lambda size: rows.sum(TableBlock.target_means, size, total)[0],
            lambda size, center: rows.sum(TableBlock.target_squares, size, center, total)[0],
        )
        return float(mean[0] if deviation[0] > 0 else extent[1, 0]), float(deviation[0])

    def target_quantile(self, share: float, center: float | None = None) -> float:
        """The weighted quantile of y, or of its distance from a center."""
        self.search_rows().broadcast(TableBlock.compare_target, center)
        return self._quantile(share)

    def _quantile(self, share: float) -> float:
        """Of the numbers that the blocks were told to compare."""
        rows = self.search_rows()
        highest, lowest = rows.max(TableBlock.compared_extent)
        found = quantiles_by_sums(
            lambda values: rows.sum(TableBlock.compared_weight_up_to, values)[0],
            -lowest,
            highest,
            np.array([share]),
        )
        return float(found[0, 0])

    def standardize_target(self, center: float, scale: float, farthest: float) -> None:
        """Center and scale y, and move what is farther from the center than this to there."""
        self.search_rows().broadcast(TableBlock.standardize_target, center, scale, farthest)

    def set_loss(self, loss: ValueLoss) -> None:
        """The loss by which members are fitted to the standardized y."""
        self.search_rows().broadcast(TableBlock.set_loss, loss)

    def target_loss(self, loss: ValueLoss) -> float:
        """The weighted loss of the constant 0."""
        return float(self.search_rows().sum(TableBlock.target_loss, loss)[0][0])

    def linear_errors(
        self,
        mean: np.ndarray,
        scale: np.ndarray,
        usable: np.ndarray,
        loss: ValueLoss,
        alpha: float,
    ) -> LinearErrors:
        """Fit a linear model of the standardized y; its errors."""
        self._standardize(mean, scale, usable)
        self.set_loss(loss)
        objective = GatedObjective(
            self._likelihood(Kind("features", "features", "log", **_ALL_ROWS)),
            np.array([alpha]),
            1,
            1,
            self.n_features,
            self.n_features,
        )
        found = minimise(objective, np.zeros((1, objective.n_parameters)), max_iter=50)
        theta, intercept, _, _ = objective.unpack(found.x)
        self.search_rows().broadcast(TableBlock.compare_errors, theta[:, 0], intercept[:, 0])
        return LinearErrors(self)


class LinearErrors:
    """The absolute errors of a linear model, which the blocks hold."""

    def __init__(self, rows: DaskRows) -> None:
        self._rows = rows

    def quantile(self, share: float) -> float:
        """The weighted quantile of the errors' size."""
        return self._rows._quantile(share)

    def loss(self, loss: ValueLoss) -> float:
        """The weighted sum of their losses."""
        return float(self._rows.search_rows().sum(TableBlock.compared_loss, loss)[0][0])
