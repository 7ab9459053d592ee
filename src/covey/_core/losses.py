"""What members climb: eq. (9) of the paper, and the losses it wishes to see tried.

Each function takes logits ``(C, R, n)`` of rows sorted by class and the rows' weights, and
returns

- the objective of each run, ``- sum_m w_m loss_m``, to be maximised;
- its derivative by the logits, ``(C, R, n)``, in ``out``;
- the steepest loss of each run's rows, or None where steps do not depend on it.

Below, q is the probability of a row's true class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from covey._core.arrays import Array, Workspace, namespace_of
from covey._core.softmax_linear import Blocks, log_softmax, objective_and_residual, true_class

LossName = Literal["log", "exponential", "focal"]
LOSSES: tuple[str, ...] = get_args(LossName)

# What a row's loss may grow to: logits beyond 1000 are as wrong as any.
_LARGEST_LOG = 500.0


@dataclass(frozen=True)
class ClassLoss:
    """A loss of a row's true class, by name.

    - "log": ``-log q``, eq. (9).
    - "exponential": ``sqrt((1 - q) / q)``, which is ``exp(-f)`` for f half the log-odds of the
      true class against all others: for two classes AdaBoost's.
    - "focal": ``-(1 - q)^gamma log q`` (Lin et al. 2017), which leaves rows that are right already
      alone; gamma 0 is "log".
    """

    name: LossName = "log"
    gamma: float = 2.0

    # Subsets are compared by accuracy, not by the loss.
    is_criterion: ClassVar[bool] = False
    # A bound of the second derivative of eq. (9) by the logits of a row (Bohning 1992).
    curvature: ClassVar[float] = 0.5

    def __call__(
        self,
        logits: Array,
        blocks: Blocks,
        weight: Array,
        workspace: Workspace,
        out: Array,
        highest: Array | None = None,
    ) -> tuple[Array, Array, Array | None]:
        """See the top of this module."""
        if self.name == "log":
            return *objective_and_residual(logits, blocks, weight, workspace, out, highest), None
        if self.name == "exponential":
            return _exponential(logits, blocks, weight, workspace, out)
        return *_focal(logits, blocks, weight, self.gamma, workspace, out), None

    @property
    def for_steps(self) -> ClassLoss:
        """The loss by which steps are taken: the same."""
        return self

    @property
    def has_steepest(self) -> bool:
        """Whether steps depend on the steepest loss of any row."""
        return self.name == "exponential"

    def pace(self, steepest: Array | None) -> Array | float:
        """The share of a step, as long as eq. (9) allows, that this loss allows each run.

        ``steepest`` (R,) is that of all rows, where the loss asks for it.
        """
        if steepest is not None:
            # The curvature of a row's loss is at most half of it; that of eq. (9) at most 1/2.
            return 1.0 / namespace_of(steepest).clip(steepest, 1.0, None)
        if self.name == "focal":
            # Its curvature is at most 1.15 sqrt(1 + gamma) times that of eq. (9), for gamma up
            # to 10.
            return 1.0 / math.sqrt(1.0 + self.gamma)
        return 1.0

    def of_uniform_guess(self, n_classes: int) -> float:
        """The loss of a row of which every class is as likely."""
        if self.name == "exponential":
            return math.sqrt(n_classes - 1)
        gamma = self.gamma if self.name == "focal" else 0.0
        return float((1 - 1 / n_classes) ** gamma * math.log(n_classes))


def _exponential(
    logits: Array, blocks: Blocks, weight: Array, workspace: Workspace, out: Array
) -> tuple[Array, Array, Array]:
    # With s_c the softmax over the wrong classes alone, the loss's derivative by the logits is
    # -loss / 2 for the true class and s_c loss / 2 for the others.
    xp = namespace_of(logits)
    _, n_runs, n_rows = logits.shape
    own = true_class(logits, blocks, workspace.take("own logit", n_runs, n_rows))
    residual = out
    residual[...] = logits
    for label, rows in enumerate(blocks):
        residual[label, :, rows] = -xp.inf
    highest = xp.max(residual, axis=0)
    residual -= highest
    xp.exp(residual, out=residual)
    normaliser = xp.sum(residual, axis=0)
    log_loss = (highest + xp.log(normaliser) - own) / 2.0
    loss = xp.exp(xp.clip(log_loss, -_LARGEST_LOG, _LARGEST_LOG))
    weighted = weight * loss
    residual *= -0.5 * weighted / normaliser
    for label, rows in enumerate(blocks):
        residual[label, :, rows] = 0.5 * weighted[:, rows]
    steepest = xp.max(xp.where(weight > 0, loss, xp.zeros_like(loss)), axis=1)
    return -xp.sum(weighted, axis=1, dtype=xp.float64), residual, steepest


def _focal(
    logits: Array, blocks: Blocks, weight: Array, gamma: float, workspace: Workspace, out: Array
) -> tuple[Array, Array]:
    xp = namespace_of(logits)
    _, n_runs, n_rows = logits.shape
    residual = out
    residual[...] = log_softmax(logits)
    log_true = true_class(residual, blocks, workspace.take("log true", n_runs, n_rows))
    xp.exp(residual, out=residual)
    wrong = -xp.expm1(log_true)  # 1 - q, also where q is almost 1
    focus = wrong**gamma
    # d focal / d log q = -((1 - q)^gamma - gamma q (1 - q)^(gamma - 1) log q); with q almost 1
    # log q is about -(1 - q), so that the second term vanishes like (1 - q)^gamma.
    ratio = xp.where(wrong > 0, -log_true / xp.where(wrong > 0, wrong, 1.0), 1.0)
    slope = weight * focus * (1.0 + gamma * xp.exp(log_true) * ratio)
    residual *= -slope
    for label, rows in enumerate(blocks):
        residual[label, :, rows] += slope[:, rows]
    return xp.sum(weight * focus * log_true, axis=1, dtype=xp.float64), residual
