"""The rows that a flock is fitted to: what a fit needs of them, wherever they lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from covey._core.algorithm1.settings import TrainingSettings
from covey._core.algorithm1.trainer import StackTrainer
from covey._core.losses import ValueLoss, weighted_quantile
from covey._core.search.rows import Rung, SearchRows
from covey.fusers import Fuser, Gate


class TrainingRows(Protocol):
    """The rows of one fit. Where they lie is known to their class alone.

    ``classes`` are the labels, or None for values; the arrays (C,) beside them are of the rows as
    they were given, C being 1 for values.
    """

    n_features: int
    single: bool  # whether folds may be compared in single precision
    keeps_folds: bool  # whether a checkpoint must keep the folds

    @property
    def can_narrow(self) -> bool:
        """Whether ``only`` leaves columns out."""

    @property
    def needs_preparation(self) -> bool:
        """Whether there are gaps or categories, of which ``prepared`` makes numbers."""

    classes: np.ndarray | None
    class_counts: np.ndarray  # rows of a weight above 0
    class_weights: np.ndarray  # sums
    largest_weights: np.ndarray

    def set_class_weight(self, factors: np.ndarray) -> None:
        """Multiply the weights of each class."""

    def digest(self) -> Any:
        """What identifies the data, for a checkpoint."""

    def done(self, part: str) -> None:
        """Show progress, where that is possible."""

    def close(self) -> None:
        """Drop what only the fit needed."""

    # -- values --

    def target_moments(self) -> tuple[float, float]:
        """Weighted mean and standard deviation of y."""

    def target_quantile(self, share: float, center: float | None = None) -> float:
        """A weighted quantile of y, or of its distances from a center."""

    def target_range(self) -> tuple[float, float]:
        """The least and the greatest y of the rows that have a weight."""

    def standardize_target(self, center: float, scale: float, farthest: float | None) -> float:
        """Let the target be (y - center) / scale, clipped; the largest size before that."""

    def set_loss(self, loss: ValueLoss) -> None:
        """What is descended from now on."""

    def target_loss(self, loss: ValueLoss) -> float:
        """The weighted sum of the loss of the constant 0."""

    def linear_errors(self, mean: np.ndarray, scale: np.ndarray, loss: ValueLoss) -> LinearErrors:
        """The errors of a linear model that is penalized a little."""

    # -- columns and weights --

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Weighted mean and standard deviation of the columns, of rows that are not held out."""

    def ranges(self) -> np.ndarray:
        """The least and the greatest value of each column, (2, D), of rows that have a weight."""

    def only(self, columns: np.ndarray) -> TrainingRows:
        """The same rows with some of the columns (D,), where ``can_narrow``."""

    def total_weight(self) -> float:
        """The sum of all weights."""

    def n_weighted(self) -> int:
        """How many rows have a weight above 0."""

    def some_rows(self, n_rows: int, seed: int) -> tuple[Any, np.ndarray, np.ndarray]:
        """X, y and weights: all in memory, or about so many of the rows that lie elsewhere."""

    # -- training --

    def hold_out(self, fraction: float, seed: int) -> None:
        """Keep a share of each class from the members."""

    def held_out(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """X, y and weights of the rows held out."""

    def trainer(
        self,
        mean: np.ndarray,
        scale: np.ndarray,
        usable: np.ndarray,
        settings: TrainingSettings,
        **how: Any,
    ) -> StackTrainer:
        """Algorithm 1 on the rows that are not held out, their columns standardized."""

    def stage_scores(self, flock: Any, fuser: Fuser) -> np.ndarray:
        """Scores (K,) of the first members, on the rows held out if there are any."""

    def refine(
        self, gate: Gate, mean: np.ndarray, scale: np.ndarray, members: tuple, **how: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Refine a gate and members (theta, intercept, support) together."""

    def mean_importance(self, flock: Any) -> np.ndarray:
        """The weighted mean importance of each member, (K,)."""

    def mean_predictions(self, flock: Any) -> np.ndarray:
        """What each member predicts on weighted average, (K, C)."""

    def constant_members(self, flock: Any) -> np.ndarray:
        """Which members are constant over these rows, (K,): see `Predictions`."""

    # -- search --

    def search_rows(self, n_members: int) -> SearchRows:
        """The rows as a search reduces them."""

    def rung(self, n_rows: int, seed: int, factor: float, folds: Any) -> Rung:
        """Some of the rows, about so many of them to fit on.

        Folds that are given hold out theirs; with None as many rows are held out, and with an
        empty list none.
        """

    def draws_folds(self, cv: Any) -> bool:
        """Whether folds are drawn: then a rung needs none of its own."""

    def folds(self, cv: Any, seed: int, n_repeats: int) -> Any:
        """The folds by which candidates are compared."""


@dataclass
class LinearErrors:
    """The errors of a linear model, and the weights of the rows."""

    errors: np.ndarray
    weight: np.ndarray

    def quantile(self, share: float) -> float:
        """A weighted quantile of their sizes."""
        return weighted_quantile(np.abs(self.errors), self.weight, share)

    def loss(self, loss: ValueLoss) -> float:
        """The weighted sum of their losses."""
        return float(loss.value(self.errors) @ self.weight)
