"""The rows of a table as Algorithm 1 needs them: methods whose results add up over blocks.

A table is one or more blocks of rows (`covey._core.rows`). A `RowBlock` holds its part of the
matrix and all that depends on a row: the truth, sample weights, how well earlier members do, the
outputs of the candidates. Coefficients are broadcast to the blocks, and what they return, small
arrays of ``C``, ``R`` and ``D``, is added up.

Every run has one *candidate*, and a second one if it tries a flipped subset: candidates
``0 ... R-1`` are those of the runs, ``R ...`` those of the runs that are ``flipping``. So one
product with the matrix serves both candidates of a step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from covey._core.algorithm1.reweighting import MemberLosses, Reweighting
from covey._core.algorithm1.settings import TrainingSettings
from covey._core.algorithm1.targets import ValueTarget, target_of
from covey._core.arrays import Array, FloatArray, IntArray, Positions, Workspace, is_on_host
from covey._core.design import Design
from covey._core.softmax_linear import weight_of

NONE: IntArray = np.zeros(0, dtype=np.int64)


class RowBlock:
    """Some rows of a table, and what a stack of runs knows of each.

    For classes the rows of ``design`` are sorted by class and ``truth`` holds the rows of each
    class; for values it holds their values (n,). A row outside a run's split has a ``base_weight``
    (R, n) of 0. Blocks that are called one after another can share ``scratch``.
    """

    def __init__(
        self,
        design: Design,
        truth: Any,
        base_weight: Array,
        settings: TrainingSettings,
        scratch: Workspace | None = None,
    ) -> None:
        self.design = design
        self._xp = design.xp
        self._target = target_of(truth, settings.loss)
        # How many outputs a member has: one a class, or one for a value.
        self.n_classes = self._target.n_outputs
        self.n_runs = int(base_weight.shape[0])
        self._base_weight = base_weight
        self._reweighting_name = settings.reweighting
        self._reweighting = Reweighting(base_weight, settings.reweighting, self.n_classes)
        self._losses: MemberLosses | None = None
        self._workspace = Workspace(design.like)
        self._scratch = Workspace(design.like) if scratch is None else scratch
        self._runs: IntArray = np.arange(self.n_runs)
        self._flipping: IntArray = NONE  # of the candidates that were evaluated last
        self._weight: Array = base_weight  # of the active runs
        self._outputs: Array = None  # of the candidates that were evaluated last
        self._memo: Array = None  # what their evaluation leaves for the gradient
        self._steepest: Array = None
        self._index = Positions(base_weight)

    # -- between members -------------------------------------------------------------------

    def see(self, theta: Array, intercept: Array) -> None:
        """Take note of a member of every run, (C, R, D) and (C, R)."""
        out = self._scratch.take("residual", *theta.shape[:2], self.design.n_rows)
        outputs = self.design.logits(theta, intercept, np.arange(self.n_runs), out)
        if isinstance(self._target, ValueTarget):
            self._losses = MemberLosses(self._target.losses(outputs), self._base_weight)
        elif self._reweighting_name == "adaboost":
            self._reweighting.see(self._target.wrong(outputs))
        elif self._reweighting_name is not None:
            self._reweighting.see(self._target.true_probability(outputs))

    def loss_sums(self) -> tuple[Array, Array]:
        """See `MemberLosses.sums`, of the member that was seen last."""
        return self._seen_losses.sums()

    def loss_extent(self) -> FloatArray:
        """See `MemberLosses.extent`."""
        return self._seen_losses.extent()

    def loss_weight_up_to(self, values: FloatArray) -> tuple[FloatArray]:
        """See `MemberLosses.weight_up_to`."""
        return self._seen_losses.weight_up_to(values)

    def trust(self, typical: FloatArray) -> None:
        """Take note of how far the member that was seen last is trusted with each row."""
        self._reweighting.see(self._seen_losses.trust(typical))
        self._losses = None

    @property
    def _seen_losses(self) -> MemberLosses:
        assert self._losses is not None
        return self._losses

    def peak(self) -> Array:
        """See `Reweighting`."""
        return self._reweighting.peak()

    def errors(self, peak: Array) -> tuple[Array, Array]:
        """See `Reweighting`."""
        return self._reweighting.errors(peak)

    def boost(self, error: Array) -> None:
        """See `Reweighting`."""
        self._reweighting.boost(error)

    def weigh(self, peak: Array) -> tuple[Array, Array]:
        """See `Reweighting`; all runs are active again."""
        sums = self._reweighting.weigh(peak)
        self._runs = np.arange(self.n_runs)
        self._weight = self._reweighting.weight
        return sums

    def rescale(self, divisor: Array) -> None:
        """See `Reweighting`."""
        self._reweighting.rescale(divisor)
        self._weight = self._reweighting.weight

    def heaviest(self, base: bool) -> Array:
        """The largest weight of each run, (R,): the member's or the user's."""
        return self._xp.max(self._base_weight if base else self._reweighting.weight, axis=1)

    def spread(self, vector: Array, heaviest: Array, base: bool) -> tuple[Array, Array]:
        """``sum_m w_m z_m z_m^T v`` for v (1, R, D + 1), z with the intercept's 1.

        The weights are divided by ``heaviest``: squares of very large or very small ones would
        be lost.
        """
        everyone = np.arange(self.n_runs)
        weight = self._base_weight if base else self._reweighting.weight
        out = self._scratch.take("residual", 1, self.n_runs, self.design.n_rows)
        product = self.design.logits(vector[:, :, :-1], vector[:, :, -1], everyone, out)
        product *= weight / heaviest[:, None]
        return self.design.gradient(product, everyone)

    def gram(self) -> tuple[Array]:
        """``sum_m w_m z_m z_m^T`` of the user's weights, (R, D + 1, D + 1)."""
        return (self.design.gram(self._base_weight),)

    # -- one member ------------------------------------------------------------------------

    def evaluate(
        self, runs: IntArray, flipping: IntArray, theta: Array, intercept: Array
    ) -> tuple[Array]:
        """The criterion's sum over the rows, of every candidate, (L,).

        For classes it is the weight of the rows that are right, the sum in eq. (7); for values
        minus the weighted loss. ``flipping`` holds the positions, among the active ``runs``, of
        those that have a second candidate; ``theta`` (C, L, D) is zero outside the subsets.
        """
        if not np.array_equal(runs, self._runs):
            self._runs, self._weight = runs, self._reweighting.weight[self._index(runs), :]
        self._flipping = flipping
        n_runs = len(runs)
        out = self._workspace.take("outputs", *theta.shape[:2], self.design.n_rows)
        self._outputs = self.design.logits(theta, intercept, self._of_candidates(flipping), out)
        self._memo = self._workspace.take("memo", theta.shape[1], self.design.n_rows)
        judged = self._target.judge(self._outputs, self._memo)
        total = weight_of(judged[:n_runs], self._weight)
        if len(flipping):
            weight = self._of_runs(self._weight, flipping)
            total = self._xp.concat([total, weight_of(judged[n_runs:], weight)])
        return (total,)

    def slopes(
        self, accepted: IntArray, active: IntArray | None, flipping: IntArray, change: Array | None
    ) -> tuple[Array, Array, Array]:
        """Settle the last evaluation; the objective and its gradients from there.

        ``accepted`` are the positions of the flipped candidates evaluated last with which their
        runs continue, ``active`` the positions of the runs that stay active
        (None: all), ``flipping`` the positions, among these, of those that now try a flipped
        subset, and ``change`` (C, len(flipping), D) what that changes in their coefficients.

        Returns eq. (9) as (R,) (zero for values, whose objective is the criterion), and its
        gradients by the coefficients of all features (C, L, D), to which the trainer applies the
        subsets, and by the intercepts (C, L).
        """
        objective, residual = self._settle(accepted, active, len(flipping))
        if len(flipping):
            tried = residual[:, len(self._runs) :, :]
            if is_on_host(tried):
                # One by one: an index of many would copy them all first.
                for place, position in enumerate(flipping):
                    tried[:, place, :] = self._outputs[:, position, :]
            else:
                tried[...] = self._outputs[:, self._index(flipping), :]
            self.design.add_flipped(tried, change, self._runs[flipping])
            weight = self._of_runs(self._weight, flipping)
            self._target.climb(tried, weight, self._scratch, tried)
        return objective, *self.design.gradient(residual, self._of_candidates(flipping))

    def objective(self, accepted: IntArray, active: IntArray | None) -> tuple[Array]:
        """Settle the last evaluation; the objective alone."""
        return (self._settle(accepted, active, 0)[0],)

    def steepest(self) -> Array:
        """The steepest loss of each run's rows, for losses whose steps depend on it."""
        return self._steepest

    def loss_gradient(
        self, runs: IntArray, theta: Array, intercept: Array
    ) -> tuple[Array, Array, Array]:
        """The weighted loss (R,) of some runs, and its gradients (C, R, D) and (C, R)."""
        out = self._scratch.take("residual", *theta.shape[:2], self.design.n_rows)
        outputs = self.design.logits(theta, intercept, runs, out)
        weight = self._reweighting.weight[self._index(runs), :]
        loss = self._target.loss_gradient(outputs, weight, self._scratch, out)
        return loss, *self.design.gradient(out, runs)

    def _of_candidates(self, flipping: IntArray) -> IntArray:
        """The run of each candidate."""
        return np.concatenate([self._runs, self._runs[flipping]]) if len(flipping) else self._runs

    def _of_runs(self, array: Array, positions: IntArray) -> Array:
        """The rows of some of the active runs."""
        return array if len(positions) == len(self._runs) else array[self._index(positions), :]

    def _settle(
        self, accepted: IntArray, active: IntArray | None, n_flipping: int
    ) -> tuple[Array, Array]:
        """Give every active run the candidate that it continues with; the objective there.

        The array that is returned beside it holds the residual of the runs, with room for that of
        as many flipped candidates.
        """
        n_runs = len(self._runs)
        outputs, memo = self._outputs[:, :n_runs, :], self._memo[:n_runs, :]
        flipped, flipped_memo = self._outputs[:, n_runs:, :], self._memo[n_runs:, :]
        for position, place in zip(self._flipping[accepted], accepted, strict=True):
            outputs[:, int(position), :] = flipped[:, int(place), :]
            memo[int(position), :] = flipped_memo[int(place), :]
        if active is not None and len(active) < n_runs:
            at = self._index(active)
            outputs, memo = outputs[:, at, :], memo[at, :]
            self._weight, self._runs = self._weight[at, :], self._runs[active]
        self._outputs = outputs
        residual = self._scratch.take(
            "residual", self.n_classes, len(self._runs) + n_flipping, self.design.n_rows
        )
        objective, self._steepest = self._target.climb(
            outputs, self._weight, self._scratch, residual[:, : len(self._runs), :], memo
        )
        return objective, residual
