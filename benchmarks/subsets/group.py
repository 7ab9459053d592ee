"""One gated group on ramps: its rows, its state, and its refinement within given subsets."""

from dataclasses import dataclass, replace

import numpy as np

from covey import SubsetEnsembleClassifier
from covey._core.basis import Basis
from covey._core.design import Design
from covey._core.gating.gate import (
    ClassLikelihood,
    GatedObjective,
    GatedRows,
    pooled,
    softmax_first,
)
from covey._core.gating.paths import FeatureColumns
from covey._core.lbfgs import minimise
from covey._core.softmax_linear import class_blocks

N_MEMBERS = 6
N_RAMPS = 6
# The gate's logit for a member that is dropped, as in the search.
NEVER = -1e3
EVERY_RUN = np.arange(1)


class Rows:
    """Training rows, sorted by class, on standardized ramps; members and gate see the same."""

    def __init__(self, X, y, n_classes):
        order = np.argsort(y, kind="stable")
        X, self.y = X[order], y[order]
        self.n_rows, self.n_classes = len(y), n_classes
        levels = np.linspace(0, 1, N_RAMPS + 1)
        basis = Basis.ramps([np.unique(np.quantile(column, levels)) for column in X.T])
        columns = basis.expand(np.ascontiguousarray(X.T))
        self._basis, self._mean, self._scale = basis, columns.mean(axis=1), columns.std(axis=1)
        self._usable = self._scale > 1e-9
        self.columns = self._standardized(columns)
        self.features = FeatureColumns(basis, np.arange(X.shape[1]), self._usable)
        alone = self.features.columns(np.eye(self.features.n_units, dtype=bool))
        self.unit_columns = [np.flatnonzero(columns) for columns in alone]
        self.blocks = class_blocks(np.bincount(y, minlength=n_classes))
        self.alpha = 0.03 * min(1.0, (500 / len(y)) ** 0.8)
        design = Design(self.columns)
        share = np.full((1, len(y)), 1 / len(y))
        self.likelihood = GatedRows(
            design, [design], ClassLikelihood(self.blocks), share, "linear"
        )

    def _standardized(self, columns):
        scale = np.where(self._usable, self._scale, 1.0)
        moved = (columns - self._mean[:, None]) / scale[:, None]
        return np.ascontiguousarray(moved * self._usable[:, None])

    def expand(self, X):
        """What members see of other rows, (P, n)."""
        return self._standardized(self._basis.expand(np.ascontiguousarray(X.T)))


@dataclass(frozen=True)
class Group:
    """Members and a gate; coefficients are zero outside the subsets."""

    theta: np.ndarray  # (K, C, P)
    intercept: np.ndarray  # (K, C)
    gate: np.ndarray  # (K, P)
    gate_intercept: np.ndarray  # (K,)
    kept: np.ndarray  # (K, U), the features of each member
    gate_kept: np.ndarray  # (U,), those of the gate

    @property
    def alive(self):
        """Which members have not been dropped, (K,)."""
        return self.gate_intercept > NEVER / 2

    @property
    def n_pairs(self):
        """How many features there are in members and gate, all together."""
        return int(self.kept[self.alive].sum() + self.gate_kept.sum())

    @property
    def share(self):
        """The mean share of features of a member."""
        return self.kept[self.alive].mean()

    def parts(self):
        """The parameters as a stack of one run."""
        return tuple(
            part[None] for part in (self.theta, self.intercept, self.gate, self.gate_intercept)
        )

    def probabilities(self, columns):
        """The probabilities (n, C) of rows given as columns (P, n)."""
        logits = self.theta @ columns + self.intercept[:, :, None]
        gates = softmax_first(self.gate @ columns + self.gate_intercept[:, None])
        return pooled(logits[:, :, None], gates[:, None], "linear")[:, 0].T


def started(rows, seed):
    """Thirty steps of Algorithm 1 give the members, on all features, and an even gate."""
    recipe = SubsetEnsembleClassifier(
        N_MEMBERS, max_iter=30, scale_features=False, random_state=seed
    )
    grown = recipe.fit(rows.columns.T, rows.y)
    n_columns, n_units = len(rows.columns), rows.features.n_units
    return Group(
        grown.member_coef_.copy(),
        grown.member_intercept_.copy(),
        np.zeros((N_MEMBERS, n_columns)),
        np.zeros(N_MEMBERS),
        np.ones((N_MEMBERS, n_units), dtype=bool),
        np.ones(n_units, dtype=bool),
    )


def within(rows, group, kept, gate_kept):
    """The group with these subsets; a member that they leave empty is dropped."""
    theta = group.theta * rows.features.columns(kept)[:, None]
    gate = group.gate * rows.features.columns(gate_kept)
    empty = ~theta.any(axis=(1, 2))
    if empty.all():
        empty[:] = False
    return replace(
        group,
        theta=theta,
        gate=np.where(empty[:, None], 0.0, gate),
        gate_intercept=np.where(empty, NEVER, group.gate_intercept),
        kept=kept & ~empty[:, None],
        gate_kept=gate_kept,
    )


def objective_of(rows, group):
    """The penalized negative log-likelihood of members and gate within the group's subsets."""
    return GatedObjective(
        rows.likelihood.value_and_gradient,
        np.array([rows.alpha]),
        N_MEMBERS,
        rows.n_classes,
        len(rows.columns),
        len(rows.columns),
        support=rows.features.columns(group.kept)[None].astype(float),
        gate_support=rows.features.columns(group.gate_kept)[None].astype(float),
    )


def refined(rows, group, max_iter):
    """Members and gate optimized together by L-BFGS, their subsets fixed; as in the search."""
    objective = objective_of(rows, group)
    found = minimise(
        objective, objective.pack(*group.parts()), max_iter=max_iter, tol=1e-4, memory=6
    )
    return unpacked(objective, found.x, group)


def unpacked(objective, x, group):
    """A group of these parameters and the subsets of ``group``."""
    theta, intercept, gate, gate_intercept = (
        part[0].copy() for part in objective.within(x, EVERY_RUN)
    )
    return replace(
        group, theta=theta, intercept=intercept, gate=gate, gate_intercept=gate_intercept
    )
