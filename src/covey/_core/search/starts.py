"""Where the groups of a search start: members that Algorithm 1 has grown."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from covey._core.algorithm1.trainer import StackTrainer
from covey._core.arrays import Array, BoolArray, FloatArray, IntArray, to_host
from covey._core.gating.paths import FeatureColumns


class Starts:
    """Members that Algorithm 1 grew on the features, for all runs at once; more on demand.

    The runs are the folds and then the restarts on all rows. A larger group starts from the
    members of a smaller one and some more, so that each member is grown once. All bases begin
    with the features, so that groups on any of them can start from the same members: their ramps
    and products have the coefficient 0 at first. The members were grown on some columns (None:
    all) of the ``features``.
    """

    def __init__(
        self, trainer: StackTrainer, columns: IntArray | None, features: FeatureColumns
    ) -> None:
        self._trainer = trainer
        self._columns, self._features = columns, features
        self._theta: list[FloatArray] = []
        self._intercept: list[FloatArray] = []
        self._units: list[BoolArray] = []
        self._grown: list[list[tuple[int, Any]]] = []

    def of(
        self, n_members: int, runs: IntArray, basis: FeatureColumns
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Theta (R, K, C, P), intercepts (R, K, C) and subsets (R, K, P) of some runs.

        They are those of members on the columns of a basis.
        """
        while len(self._theta) < n_members:
            grown = self._trainer.grow()
            self._theta.append(self._among_all(to_host(grown.theta)))
            self._intercept.append(to_host(grown.intercept))
            self._units.append(self._features.units(self._among_all(grown.support)))
            self._grown.append(
                [(int(n), past) for n, past in zip(grown.n_iter, grown.history, strict=True)]
            )
        theta = np.stack([part[:, runs] for part in self._theta[:n_members]])
        intercept = np.stack([part[:, runs] for part in self._intercept[:n_members]])
        units = np.stack([part[runs] for part in self._units[:n_members]], axis=1)
        first = np.arange(self._features.n_columns)
        return (
            widened(theta.transpose(2, 0, 1, 3), first, basis.n_columns),
            intercept.transpose(2, 0, 1),
            basis.columns(units),
        )

    def _among_all(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values (..., p) of the columns that members were grown on, among all features."""
        if self._columns is None:
            return values
        wide: npt.NDArray[Any] = widened(values, self._columns, self._features.n_columns)
        return wide

    def history(self, n_members: int, run: int) -> list[tuple[int, Any]]:
        """How the members of one run were grown."""
        return [grown[run] for grown in self._grown[:n_members]]


def widened(values: Array, columns: IntArray, n_columns: int) -> Array:
    """Values (..., p) of some columns, among all of them; zero elsewhere."""
    wide = np.zeros((*values.shape[:-1], n_columns), dtype=values.dtype)
    wide[..., columns] = values
    return wide
