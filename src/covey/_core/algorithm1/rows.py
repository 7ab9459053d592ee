"""The rows of a table as Algorithm 1 needs them: methods whose results add up over blocks.

A table is one or more blocks of rows (`covey._core.blocks`). A `RowBlock` holds its part of the
matrix and all that depends on a row: the truth, sample weights, how well earlier members do, the
outputs of the candidates. Coefficients are broadcast to the blocks, and their results, small
arrays of ``C``, ``R`` and ``D``, are added up.

Every run has one *candidate*, and a second one if it tries a flipped subset: candidates
``0 ... R-1`` are those of the runs, ``R ...`` those of the runs that are ``flipping``. So one
product with the matrix serves both candidates of a step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from array_api_compat import device

from covey._core.arrays import (
    Array,
    FloatArray,
    IntArray,
    Positions,
    Workspace,
    in_parts,
    is_on_host,
    like,
    namespace_of,
    to_host,
)
from covey._core.blocks import MemoryBlocks
from covey._core.design import Design
from covey._core.losses import ClassLoss, ValueLoss, exponential, focal
from covey._core.quantiles import WeightedRows
from covey._core.softmax_linear import (
    Blocks,
    highest_and_right,
    objective_and_residual,
    true_class,
    weight_of,
)

ReweightingName = Literal["mean_probability", "divergence", "adaboost"]
REWEIGHTINGS: tuple[str, ...] = get_args(ReweightingName)


class DivergedError(ArithmeticError):
    """The training left the finite numbers at this member, counted from 1."""

    def __init__(self, member: int) -> None:
        super().__init__(f"member {member} diverged")
        self.member = member


@dataclass(frozen=True)
class TrainingSettings:
    """The settings by which a member is trained.

    A member of classes climbs its log-likelihood (or another `ClassLoss`), and subsets are
    compared by weighted accuracy, eq. (7). A member of values descends

        F = sum_m w_m loss(y_m - z_m Lambda theta - b) / sum_m w_m
            + alpha / 2 |Lambda theta|^2 + subset_penalty |Lambda|

    and subsets are compared by F itself. What is compared is the *criterion*: the accuracy, or
    minus F.
    """

    # eta. A number is the eta of the sum in eq. (9), or of F. "auto" is the inverse of a bound of
    # the curvature for each member's own weights, ``L lambda_max(sum_m w_m z_m z_m^T) + alpha``,
    # L being the loss's curvature (1/2 for eq. (9)). "constant" is one eta for all members, as
    # printed: ``1.5 C / lambda_max(sum_m z_m z_m^T)``, three quarters of the longest step that is
    # stable at the uniform guess of C classes. "newton" is a matrix: the inverse of a bound of the
    # curvature on the member's subset (`covey._core.algorithm1.trainer`).
    learning_rate: Literal["auto", "constant", "newton"] | float
    tol: float  # thr
    # None is the printed rule: the first step that gains less than ``tol`` is not taken and ends
    # the member. With a number, a step whose criterion does not exceed the best so far by more
    # than ``tol`` is still taken, and as many in a row end the member.
    patience: int | None
    max_iter: int  # the most steps a member takes
    init_scale: float  # standard deviation of the random start of Theta
    acceptance: Literal["greedy", "metropolis"]  # line 17, or `subsets.metropolis`
    temperature: float  # of "metropolis"
    fit_intercept: bool = True  # whether each class has an intercept; it is never masked
    # What each feature of a subset costs. For classes it is a share of the weights: subsets are
    # compared by ``A / mean(w) - subset_penalty * size``. The paper has none.
    subset_penalty: float = 0.0
    loss: ClassLoss | ValueLoss = field(default_factory=ClassLoss)  # climbed or descended
    reweighting: ReweightingName | None = "mean_probability"  # see `RowBlock`
    alpha: float = 0.0  # the penalty in F
    # The most iterations of L-BFGS by which a member, its subset being found, is taken to the
    # minimum of its loss and penalty; 0: it stays where the steps led.
    finish: int = 0

    @property
    def can_stop(self) -> bool:
        """Return whether a member may end before ``max_iter`` steps."""
        return self.tol > -np.inf

    @property
    def keeps_best(self) -> bool:
        """Return whether a member ends at the best state it saw rather than at its last one."""
        return self.loss.is_criterion or (self.patience is not None and self.can_stop)


class ClassTruth:
    """The classes of rows sorted by class."""

    def __init__(self, blocks: Blocks, loss: ClassLoss) -> None:
        self.truth = blocks
        self.n_outputs = len(blocks)
        self._loss = loss

    def rows(self, which: slice) -> ClassTruth:
        """Return the classes of some of the rows."""
        start, stop = which.start, which.stop
        inside = tuple(
            slice(min(max(b.start, start), stop) - start, min(max(b.stop, start), stop) - start)
            for b in self.truth
        )
        return ClassTruth(inside, self._loss)

    def judge(self, outputs: Array, memo: Array) -> Array:
        """Return each row's part of each candidate's criterion, (L, n): whether it is right.

        ``memo`` (L, n) is filled with what `climb` can reuse, the highest logit of each row.
        """
        return highest_and_right(outputs, self.truth, memo)[1]

    def climb(
        self,
        outputs: Array,
        weight: Array,
        workspace: Workspace,
        out: Array,
        memo: Array | None = None,
    ) -> tuple[Array, Array | None]:
        """Return eq. (9), or its counterpart of another loss, (L,), and the steepest loss of rows.

        It is to be maximized; ``out`` is filled with its derivative by the outputs, and may be
        ``outputs`` itself.
        """
        known = outputs, self.truth, weight
        if self._loss.name == "log":
            return objective_and_residual(*known, workspace, out, memo)[0], None
        if self._loss.name == "focal":
            return focal(*known, self._loss.gamma, workspace, out)[0], None
        objective, _, steepest = exponential(*known, workspace, out)
        return objective, steepest

    def loss_gradient(
        self, outputs: Array, weight: Array, workspace: Workspace, out: Array
    ) -> Array:
        """Return the loss (L,), to be minimized; ``out`` is filled with its derivative."""
        objective, _ = self.climb(outputs, weight, workspace, out)
        out *= -1.0
        return -objective

    def wrong(self, outputs: Array) -> Array:
        """Return 1 where a row is wrong, 0 where it is right, (R, n)."""
        right = highest_and_right(outputs, self.truth)[1]
        return 1.0 - namespace_of(outputs).astype(right, outputs.dtype)

    def true_probability(self, outputs: Array) -> Array:
        """Return the probability of each row's true class, (R, n); the outputs are overwritten."""
        xp = namespace_of(outputs)
        outputs -= xp.max(outputs, axis=0)
        xp.exp(outputs, out=outputs)
        p_true = true_class(outputs, self.truth, xp.empty_like(outputs[0]))
        p_true /= xp.sum(outputs, axis=0)
        return p_true


class ValueTruth:
    """The values of rows, standardized: 0 is a sensible guess, 1 a sensible error."""

    n_outputs = 1

    def __init__(self, values: Array, loss: ValueLoss) -> None:
        self.truth = values
        self._loss = loss
        self._step_loss = loss.for_steps

    def rows(self, which: slice) -> ValueTruth:
        """Return the values of some of the rows."""
        return ValueTruth(self.truth[which], self._loss)

    def judge(self, outputs: Array, memo: Array) -> Array:
        """Return minus the loss of each row."""
        return -self._step_loss.value(self.truth, outputs[0])

    def climb(
        self,
        outputs: Array,
        weight: Array,
        workspace: Workspace,
        out: Array,
        memo: Array | None = None,
    ) -> tuple[Array, Array | None]:
        """Fill ``out`` as `ClassTruth` does, and return zeros: the criterion is the objective."""
        out[0] = -weight * self._step_loss.slope(self.truth, outputs[0])
        xp = namespace_of(outputs)
        return xp.zeros(outputs.shape[1], dtype=outputs.dtype, device=device(outputs)), None

    def loss_gradient(
        self, outputs: Array, weight: Array, workspace: Workspace, out: Array
    ) -> Array:
        """Return the loss itself, not the one of steps, as `ClassTruth` does."""
        losses = self._loss.value(self.truth, outputs[0])  # before ``out``, which may be the same
        out[0] = weight * self._loss.slope(self.truth, outputs[0])
        return namespace_of(outputs).sum(weight * losses, axis=1)

    def losses(self, outputs: Array) -> Array:
        """Return the loss of each row, (R, n)."""
        return self._loss.value(self.truth, outputs[0])


def target_of(truth: Any, loss: ClassLoss | ValueLoss) -> ClassTruth | ValueTruth:
    """Make the target of rows of their `Blocks` of classes, or of their values (n,)."""
    if isinstance(loss, ClassLoss):
        return ClassTruth(truth, loss)
    return ValueTruth(truth, loss)


# The error that AdaBoost assumes of a member without any.
_SMALLEST_ERROR = 1e-3


NONE: IntArray = np.zeros(0, dtype=np.int64)


class RowBlock:
    """Some rows of a table, and all that a stack of runs keeps for each of them.

    For classes the rows of ``design`` are sorted by class and ``truth`` holds the rows of each
    class; for values it holds their values (n,). A row outside a run's split has a ``base_weight``
    (R, n), the user's weight, of 0: it does not count among the rows that are learned from. Blocks
    that are called one after another can share ``scratch``.

    The sample weights of the next member are computed from earlier members by one of these rules.
    With p the mean probability that earlier members gave a row's true class, or for values
    `trust`:

    - "mean_probability": ``1 - p``, eq. (8).
    - "divergence": ``-log p``, the Kullback-Leibler divergence of the truth from the earlier
      members' mean. It stresses rows that all of them get wrong.
    - "adaboost": a row that a member gets wrong weighs ``(1 - e) / e (C - 1)`` times as
      much afterwards, e being the member's weighted error (SAMME, Zhu et al. 2009). A
      member no better than chance changes nothing.
    - None: all rows weigh the same.

    Weights of "divergence" and "adaboost" have a mean of one (over the user's weights), since only
    their ratios matter.
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
        self._xp = namespace_of(base_weight)
        self._target = target_of(truth, settings.loss)
        # How many outputs a member has: one a class, or one for a value.
        self.n_classes = self._target.n_outputs
        self._base_weight, self._name = base_weight, settings.reweighting
        self._true_probability_sum: Array | None = None
        self._wrong: Array | None = None
        self._log_weight: Array | None = None
        self._n_seen = 0
        self.weight = base_weight  # of the member that is grown, the user's weight included
        self.n_features, self.like = design.n_features, design.like
        self._everyone: IntArray = np.arange(base_weight.shape[0])
        self._workspace = Workspace(design.like)
        self._scratch = Workspace(design.like) if scratch is None else scratch
        self._flipping: IntArray = NONE  # of the candidates that were evaluated last
        self._runs = self._everyone  # the active ones
        self._active_weight: Array = base_weight
        self._outputs: Array = None  # of the candidates that were evaluated last
        self._memo: Array = None  # what their evaluation leaves for the gradient
        self._steepest: Array = None
        self._losses: Array = None  # (R, n), of the member of values that was seen last
        self._sorted: WeightedRows | None = None
        self._index = Positions(base_weight)

    # -- between members -------------------------------------------------------------------

    def see(self, theta: Array, intercept: Array) -> None:
        """Record a member of every run, (C, R, D) and (C, R)."""
        out = self._scratch.take("residual", *theta.shape[:2], self.design.n_rows)
        outputs = self.design.logits(theta, intercept, self._everyone, out)
        if isinstance(self._target, ValueTruth):
            self._losses, self._sorted = self._target.losses(outputs), None
        elif self._name == "adaboost":
            self.note(self._target.wrong(outputs))
        elif self._name is not None:
            self.note(self._target.true_probability(outputs))

    def loss_sums(self) -> tuple[Array, Array]:
        """Return the weighted sums of the losses of the member seen last, and of the weights."""
        xp, weight = self._xp, self._base_weight
        return xp.sum(self._losses * weight, axis=1), xp.sum(weight, axis=1)

    def loss_extent(self) -> FloatArray:
        """Return the largest of these losses, and of minus the losses, (2, R)."""
        losses = to_host(self._losses).astype(np.float64)  # as its quantiles are found
        return np.stack([losses.max(axis=1, initial=-np.inf), -losses.min(axis=1, initial=np.inf)])

    def loss_weight_up_to(self, values: FloatArray) -> tuple[FloatArray]:
        """Return the weight of the rows whose losses are at most ``values`` (R, k)."""
        if self._sorted is None:
            losses, weight = (
                to_host(x).astype(np.float64) for x in (self._losses, self._base_weight)
            )
            self._sorted = WeightedRows(losses, weight)
        return (self._sorted.up_to(values),)

    def trust(self, typical: FloatArray) -> None:
        r"""Record how much the member of values seen last is trusted with each row.

        The trust is ``exp(-loss / typical loss)``, the counterpart of the probability that a
        classifier gives the true class. The typical loss is the member's own, over rows of the
        user's weights, so that neither the unit of y nor the difficulty of the problem matters. It
        is the mean; or, for robust losses, the median divided by log 2, which is the mean of
        exponentially distributed losses: beside the loss of an outlier in a mean, no other row
        would matter, and all members but the first would be fitted to that outlier.
        """
        unit = like(self._losses, typical)
        self.note(self._xp.exp(-self._losses / unit[:, None]))
        self._losses = self._sorted = None

    def heaviest(self, base: bool) -> Array:
        """Return the largest weight of each run, (R,): the member's or the user's."""
        return self._xp.max(self._base_weight if base else self.weight, axis=1)

    def spread(self, vector: Array, heaviest: Array, base: bool) -> tuple[Array, Array]:
        """Return ``sum_m w_m z_m z_m^T v`` for v (1, R, D + 1), z with the intercept's 1.

        The weights are divided by ``heaviest``: squares of very large or very small ones would
        be lost.
        """
        out = self._scratch.take("residual", 1, len(self._everyone), self.design.n_rows)
        product = self.design.logits(vector[:, :, :-1], vector[:, :, -1], self._everyone, out)
        product *= (self._base_weight if base else self.weight) / heaviest[:, None]
        return self.design.gradient(product, self._everyone)

    def gram(self) -> tuple[Array]:
        """Return ``sum_m w_m z_m z_m^T`` of the user's weights, (R, D + 1, D + 1)."""
        return (self.design.gram(self._base_weight),)

    def note(self, noted: Array) -> None:
        """Record a member by one number for each row, (R, n).

        This is the probability of the true class, or its counterpart for values; for "adaboost"
        1 where the member is wrong and 0 where it is right.
        """
        self._n_seen += 1
        if self._name == "adaboost":
            self._wrong = noted
            if self._log_weight is None:
                self._log_weight = self._xp.zeros_like(self._base_weight)
        elif self._true_probability_sum is None:
            self._true_probability_sum = noted
        else:
            self._true_probability_sum += noted

    # The methods below are called on every block of rows; results over all blocks, a peak or a
    # sum, are passed to each.

    def peak(self) -> Array:
        """Return the largest weight (of "adaboost" its logarithm) of rows that count, as (R,)."""
        xp = self._xp
        if self._n_seen == 0 or self._name is None:
            return xp.ones_like(self._base_weight[:, 0])
        lowest = -xp.inf if self._name == "adaboost" else 0.0
        nothing = xp.full_like(self._base_weight, lowest)
        return xp.max(xp.where(self._base_weight > 0, self._unscaled(), nothing), axis=1)

    def errors(self, peak: Array) -> tuple[Array, Array]:
        """Return for "adaboost" the weight of the last member's errors, and of all rows."""
        xp = self._xp
        weight = self._base_weight * self._below(peak)
        return (
            xp.sum(weight * self._wrong, axis=1, dtype=xp.float64),
            xp.sum(weight, axis=1, dtype=xp.float64),
        )

    def boost(self, error: Array) -> None:
        """Raise for "adaboost" the weights of the last member's errors, by its error (R,)."""
        xp, n_classes = self._xp, self.n_classes
        error = xp.clip(error, _SMALLEST_ERROR, 1.0 - 1.0 / n_classes)
        factor = xp.log((1.0 - error) * (n_classes - 1) / error)
        assert self._wrong is not None
        assert self._log_weight is not None
        self._log_weight += xp.astype(factor, self._wrong.dtype)[:, None] * self._wrong

    def weigh(self, peak: Array) -> tuple[Array, Array]:
        """Set the weights of the next member; their sum (R,), and that of the user's.

        A run whose earlier members are certain of every row has nothing left to learn; its weights
        are ones again, since zeros would leave the next member at its random start.
        """
        xp = self._xp
        if self._n_seen == 0 or self._name is None:
            self.weight = self._base_weight
        elif self._name == "adaboost":
            self.weight = self._base_weight * self._below(peak)
        else:
            weight = self._unscaled()
            weight = xp.where(peak[:, None] > 0, weight, xp.ones_like(weight))
            self.weight = self._base_weight * weight
        return (
            xp.sum(self.weight, axis=1, dtype=xp.float64),
            xp.sum(self._base_weight, axis=1, dtype=xp.float64),
        )

    def rescale(self, divisor: Array) -> None:
        """Divide the weights of each run by a number."""
        self.weight = self.weight / self._xp.astype(divisor, self.weight.dtype)[:, None]

    def _unscaled(self) -> Array:
        xp = self._xp
        if self._name == "adaboost":
            return self._log_weight
        assert self._true_probability_sum is not None
        p = self._true_probability_sum / self._n_seen
        if self._name == "mean_probability":
            return xp.clip(1.0 - p, 0.0, 1.0)
        return -xp.log(xp.clip(p, 1e-15, 1.0))

    def _below(self, peak: Array) -> Array:
        # A row of weight 0 may always be wrong: its growing weight must not dwarf the others.
        assert self._log_weight is not None
        return self._xp.exp(self._xp.clip(self._log_weight - peak[:, None], None, 0.0))

    # -- one member ------------------------------------------------------------------------

    def evaluate(
        self, runs: IntArray, flipping: IntArray, theta: Array, intercept: Array
    ) -> tuple[Array]:
        """Return the criterion's sum over the rows, of every candidate, (L,).

        For classes it is the weight of the rows that are right, the sum in eq. (7); for values
        minus the weighted loss. ``flipping`` holds the positions, among the active ``runs``, of
        those that have a second candidate; ``theta`` (C, L, D) is zero outside the subsets.
        """
        n_runs = len(runs)
        if n_runs == len(self._everyone):
            self._runs, self._active_weight = self._everyone, self.weight
        elif not np.array_equal(runs, self._runs):
            self._runs, self._active_weight = runs, self.weight[self._index(runs), :]
        self._flipping = flipping
        out = self._workspace.take("outputs", *theta.shape[:2], self.design.n_rows)
        self._outputs = self.design.logits(theta, intercept, self._of_candidates(flipping), out)
        self._memo = self._workspace.take("memo", theta.shape[1], self.design.n_rows)
        judged = self._target.judge(self._outputs, self._memo)
        total = weight_of(judged[:n_runs], self._active_weight)
        if len(flipping):
            weight = self._active_weight[self._index(flipping), :]
            total = self._xp.concat([total, weight_of(judged[n_runs:], weight)])
        return (total,)

    def slopes(
        self, accepted: IntArray, active: IntArray, flipping: IntArray | None, change: Array | None
    ) -> tuple[Array, ...]:
        """Settle the last evaluation, and return the objective and its gradients there.

        ``accepted`` are the positions of the flipped candidates evaluated last with which their
        runs continue, ``active`` the positions of the runs that stay active, ``flipping`` the
        positions, among these, of those that now try a flipped subset, and ``change``
        (C, len(flipping), D) what that changes in their coefficients.

        It returns eq. (9) as (R,) (zero for values, whose objective is the criterion), and its
        gradients by the coefficients of all features (C, L, D), to which the trainer applies the
        subsets, and by the intercepts (C, L). With None for ``flipping``, it returns only the
        first.
        """
        n_runs = len(self._runs)
        outputs, memo = self._outputs[:, :n_runs, :], self._memo[:n_runs, :]
        for position, place in zip(self._flipping[accepted], accepted, strict=True):
            outputs[:, int(position), :] = self._outputs[:, n_runs + int(place), :]
            memo[int(position), :] = self._memo[n_runs + int(place), :]
        if len(active) < n_runs:
            at = self._index(active)
            outputs, memo = outputs[:, at, :], memo[at, :]
            self._active_weight, self._runs = self._active_weight[at, :], self._runs[active]
        self._outputs, n_runs = outputs, len(active)
        # Of the runs, and behind these of those that try a flipped subset.
        n_candidates = n_runs + (0 if flipping is None else len(flipping))
        shape = self.n_classes, n_candidates, self.design.n_rows
        residual = self._scratch.take("residual", *shape)
        objective, self._steepest = self._target.climb(
            outputs, self._active_weight, self._scratch, residual[:, :n_runs, :], memo
        )
        if flipping is None:
            return (objective,)
        if len(flipping):
            tried = residual[:, n_runs:, :]
            if is_on_host(tried):
                # One by one: an index of many would first copy them all.
                for place, position in enumerate(flipping):
                    tried[:, place, :] = outputs[:, position, :]
            else:
                tried[...] = outputs[:, self._index(flipping), :]
            self.design.add_flipped(tried, change, self._runs[flipping])
            weight = self._active_weight[self._index(flipping), :]
            self._target.climb(tried, weight, self._scratch, tried)
        return objective, *self.design.gradient(residual, self._of_candidates(flipping))

    def steepest(self) -> Array:
        """Return the steepest loss of each run's rows, for losses whose steps depend on it."""
        return self._steepest

    def loss_gradient(
        self, runs: IntArray, theta: Array, intercept: Array
    ) -> tuple[Array, Array, Array]:
        """Return the weighted loss (R,) of some runs, and its gradients (C, R, D) and (C, R)."""
        out = self._scratch.take("residual", *theta.shape[:2], self.design.n_rows)
        outputs = self.design.logits(theta, intercept, runs, out)
        weight = self.weight[self._index(runs), :]
        loss = self._target.loss_gradient(outputs, weight, self._scratch, out)
        return loss, *self.design.gradient(out, runs)

    def _of_candidates(self, flipping: IntArray) -> IntArray:
        """Return the run of each candidate."""
        return np.concatenate([self._runs, self._runs[flipping]]) if len(flipping) else self._runs


# A table is computed in several blocks if it has twice the most rows of one, or if its outputs
# (classes x runs x rows) do not fit a cache; and then a block has at most this many rows.
_CACHED = 1 << 22
_NUMBERS_AT_ONCE = 1 << 19
_FEWEST_ROWS, _MOST_ROWS = 1 << 12, 1 << 15


def in_memory(
    design: Design, truth: Any, base_weight: Array, settings: TrainingSettings
) -> MemoryBlocks[RowBlock]:
    """Make a table of rows in memory; the arguments are those of `RowBlock`.

    Long tables have several blocks, so that the arrays of one block's outputs stay in the cache,
    and no more memory is used than one block needs.
    """
    target = target_of(truth, settings.loss)
    n_rows, n_outputs = design.n_rows, target.n_outputs * base_weight.shape[0]
    is_long = n_rows >= 2 * _MOST_ROWS or n_rows * n_outputs > _CACHED
    at_once = min(max(_NUMBERS_AT_ONCE // n_outputs, _FEWEST_ROWS), _MOST_ROWS)
    if design.is_sparse or not is_on_host(design.like) or not is_long or n_rows < 2 * at_once:
        return MemoryBlocks([RowBlock(design, truth, base_weight, settings)])
    scratch = Workspace(design.like)
    parts = []
    for rows in in_parts(n_rows, at_once):
        part = target.rows(rows).truth
        weight = base_weight[:, rows]
        parts.append(RowBlock(design.rows(rows), part, weight, settings, scratch))
    return MemoryBlocks(parts)
