"""How a member is trained: the constants of Algorithm 1 and what stands around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from covey._core.losses import ClassLoss, ValueLoss

ReweightingName = Literal["mean_probability", "divergence", "adaboost"]
REWEIGHTINGS: tuple[str, ...] = get_args(ReweightingName)


class DivergedError(ArithmeticError):
    """The training left the finite numbers at this member, counted from 1."""

    def __init__(self, member: int) -> None:
        super().__init__(f"member {member} diverged")
        self.member = member


@dataclass(frozen=True)
class TrainingSettings:
    """How a member is trained.

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
    # curvature on the member's subset (`covey._core.algorithm1.rates`).
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
        """Whether a member may end before ``max_iter`` steps."""
        return self.tol > -np.inf

    @property
    def keeps_best(self) -> bool:
        """Whether a member ends at the best state it saw rather than at its last one."""
        return self.loss.is_criterion or (self.patience is not None and self.can_stop)
