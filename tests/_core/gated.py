"""Gated members over rows that are all in memory, as one function of all parameters."""

import numpy as np

from covey._core.arrays import namespace_of
from covey._core.gating.gate import GatedObjective, GatedRows


class GatedLikelihood(GatedObjective):
    """`GatedObjective` of rows in memory, whose weights (R, n) are given as they are."""

    def __init__(
        self,
        members,
        gate,
        likelihood,
        weight,
        alpha,
        pool,
        n_members,
        support=None,
        frozen=None,
        fit_intercept=True,
    ):
        share = weight / namespace_of(weight).sum(weight, axis=1)[:, None]
        self.rows = GatedRows(members, gate, likelihood, share, pool, frozen)
        self.weight = weight
        super().__init__(
            self.rows.value_and_gradient,
            alpha,
            n_members,
            likelihood.n_outputs,
            None if members is None else members.n_features,
            sum(block.n_features for block in gate),
            support=support,
            fit_intercept=fit_intercept,
        )

    def predictions(self, x):
        """See `GatedRows`; the parameters of each run are a row of ``x``."""
        runs = np.arange(x.shape[0])
        return self.rows.predictions(self.within(x, runs), runs)
