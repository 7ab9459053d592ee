"""Maximum-entropy models, each trained to differ from those before it.

A member with logits ``L(x) = z theta + b`` and posteriors ``p = softmax(L)`` maximises

    J = sum_m s_m log p(y_m | x_m)  -  alpha / 2 * |theta|^2  +  diversity_weight * D

where ``s`` are the row weights as shares of their sum, and ``D`` is the mean over the earlier
members ``q_1 ... q_k`` of one of

    kl                   sum_m s_m sum_c p(c | x_m) log(p(c | x_m) / q_j(c | x_m))
    cross_correlation  - sum_m s_m sum_c p(c | x_m) q_j(c | x_m)

Both are linear in what is known of the earlier members: all that has to be kept of them is
the mean of their log-posteriors, or of their posteriors. By the logits the terms have the
derivative ``s_m p_c (u_c - sum_c' p_c' u_c')`` with ``u = log p - mean log q``, or
``u = -mean q``.

For fixed earlier members ``D`` is bounded: by the largest ``-log q`` of a row, or by 0.
Shapes: ``C`` classes, ``R`` runs (starts), ``n`` rows sorted by class, ``D`` features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from covey._core.arrays import Array, IntArray, Workspace, to_host
from covey._core.design import Design
from covey._core.lbfgs import minimise
from covey._core.softmax_linear import Blocks, log_softmax, true_class

Measure = Literal["kl", "cross_correlation"]


@dataclass
class MaxEntMember:
    """Where the training of a member ended.

    It has converged if no entry of the gradient of J exceeds ``tol``, or 100 times it where
    rounding or ``max_iter`` ended the climb.
    """

    theta: Array  # (C, D), coefficients of the features as the design scales them
    intercept: Array  # (C,)
    objective: float  # J
    log_likelihood: float  # its first term
    diversity: float  # D; NaN where there was no earlier member
    n_iter: int
    converged: bool


class DiverseMaxEnt:
    """The objective of the next member, for a stack of starts, and its maximisation.

    Rows are sorted by class; intercepts are free of the L2 penalty ``alpha``.
    """

    def __init__(
        self,
        design: Design,
        blocks: Blocks,
        weight: Array,
        *,
        alpha: float,
        measure: Measure,
        diversity_weight: float,
        fit_intercept: bool,
    ) -> None:
        self._design = design
        self._xp = design.xp
        self._blocks = blocks
        self._share = weight / self._xp.sum(weight)
        self._alpha = alpha
        self._measure = measure
        self._weight = diversity_weight
        self._fit_intercept = fit_intercept
        self._n_classes = len(blocks)
        self._workspace = Workspace(design.like)
        self._total: Array | None = None  # of the earlier members' (log-)posteriors, (C, n)
        self._n_seen = 0

    def see(self, theta: Array, intercept: Array) -> None:
        """Take note of an earlier member."""
        predicted = self._log_posteriors(theta[:, None, :], intercept[:, None])[:, 0, :]
        if self._measure == "cross_correlation":
            predicted = self._xp.exp(predicted)
        self._total = predicted if self._total is None else self._total + predicted
        self._n_seen += 1

    def _log_posteriors(self, theta: Array, intercept: Array) -> Array:
        n_runs = theta.shape[1]
        out = self._workspace.take("logits", self._n_classes, n_runs, self._design.n_rows)
        return log_softmax(self._design.logits(theta, intercept, np.zeros(n_runs, int), out))

    def _unpacked(self, x: Array) -> tuple[Array, Array]:
        """Coefficients (C, R, D) and intercepts (C, R) out of flat vectors (R, C * (D + 1))."""
        xp = self._xp
        stacked = xp.reshape(x, (x.shape[0], self._n_classes, self._design.n_features + 1))
        stacked = xp.permute_dims(stacked, (1, 0, 2))
        return stacked[:, :, :-1], stacked[:, :, -1]

    def _packed(self, theta: Array, intercept: Array) -> Array:
        xp = self._xp
        stacked = xp.concat([theta, intercept[:, :, None]], axis=2)
        return xp.reshape(xp.permute_dims(stacked, (1, 0, 2)), (theta.shape[1], -1))

    def terms(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """Log-likelihood, diversity and J of each run (R,), and the gradient of J.

        ``x`` (R, C * (D + 1)) holds for each class its coefficients and its intercept. Diversity
        is 0 while there is no earlier member.
        """
        xp, share = self._xp, self._share
        theta, intercept = self._unpacked(x)
        logs = self._log_posteriors(theta, intercept)
        posterior = xp.exp(logs)
        own = true_class(logs, self._blocks, xp.empty_like(logs[0]))
        log_likelihood = xp.sum(share * own, axis=1)
        slope = -share * posterior
        for label, rows in enumerate(self._blocks):
            slope[label, :, rows] += share[rows]

        diversity = xp.zeros_like(log_likelihood)
        if self._total is not None:
            earlier = (self._total / self._n_seen)[:, None, :]
            gain = logs - earlier if self._measure == "kl" else -earlier
            of_row = xp.sum(posterior * gain, axis=0)
            diversity = xp.sum(share * of_row, axis=1)
            slope = slope + self._weight * share * posterior * (gain - of_row)

        by_theta, by_intercept = self._design.gradient(slope, np.zeros(x.shape[0], int))
        by_theta = by_theta - self._alpha * theta
        if not self._fit_intercept:
            by_intercept = xp.zeros_like(by_intercept)
        penalty = 0.5 * self._alpha * xp.sum(theta * theta, axis=(0, 2))
        objective = log_likelihood - penalty + self._weight * diversity
        return log_likelihood, diversity, objective, self._packed(by_theta, by_intercept)

    def grow(self, starts: Array, *, max_iter: int, tol: float) -> MaxEntMember:
        """Climb J from several starts (R, C * (D + 1)) at once; keep the first of the best ends.

        With the weight of diversity J has more than one maximum. The climb ends when no entry of
        the gradient exceeds ``tol``; an end where none exceeds 100 times this counts as converged
        too.
        """

        def descent(x: Array, runs: IntArray) -> tuple[Array, Array]:
            _, _, objective, gradient = self.terms(x)
            return -objective, -gradient

        found = minimise(descent, starts, max_iter=max_iter, tol=tol)
        # Ends that differ by rounding are the same one; the first of them is kept.
        heights = -to_host(found.value)
        best = int(np.argmax(heights > heights.max() - 1e-10))
        x = found.x[best : best + 1, :]
        log_likelihood, diversity, objective, gradient = self.terms(x)
        theta, intercept = self._unpacked(x)
        return MaxEntMember(
            theta[:, 0, :],
            intercept[:, 0],
            float(objective[0]),
            float(log_likelihood[0]),
            float(diversity[0]) if self._n_seen else float("nan"),
            int(found.n_iter[best]),
            # A run that rounding or max_iter ended close to the maximum has arrived, too.
            bool(found.converged[best])
            or float(self._xp.max(self._xp.abs(gradient))) <= 100 * tol,
        )

    def start(self, theta: Array, intercept: Array) -> Array:
        """A member (C, D), (C,) as a flat vector (1, C * (D + 1)) to start from."""
        return self._packed(theta[:, None, :], intercept[:, None])
