"""How a member is trained, and what comes of it: the words of `covey._core.algorithm1.trainer`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from covey._core.algorithm1.reweighting import ReweightingName
from covey._core.arrays import Array
from covey._core.losses import LossName

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]


class DivergedError(ArithmeticError):
    """The ascent left the finite numbers.

    Attributes
    ----------
    member : int
        At which member, counted from 1.
    """

    def __init__(self, member: int) -> None:
        super().__init__(f"member {member} diverged")
        self.member = member


@dataclass(frozen=True)
class Ascent:
    """How a member is trained; the constants of Algorithm 1 and what stands around it.

    Parameters
    ----------
    learning_rate : "auto", "constant", "newton" or float
        eta. A number is the eta of the sum in eq. (9). "auto" is ``1 / L`` with
        ``L = lambda_max(sum_m w_m z_m z_m^T) / 2`` for each member's own weights, a Lipschitz
        bound of the gradient of eq. (9). "constant" is one eta for all members, as printed:
        ``1.5 C / lambda_max(sum_m z_m z_m^T)``, three quarters of the longest step that is
        stable at the uniform guess of C classes. "newton" is a matrix: the inverse of a bound of
        the curvature on the member's subset (`covey._core.algorithm1.curvature`).
    tol : float
        thr.
    patience : int or None
        None is the printed rule: the first step that gains less than ``tol`` is not taken and
        ends the member. With a number, a step whose accuracy does not exceed the best so far
        by more than ``tol`` is still taken, and as many in a row end the member.
    max_iter : int
        The most steps a member takes.
    init_scale : float
        Standard deviation of the random start of Theta.
    acceptance : "greedy" or "metropolis"
        Line 17, or `covey._core.algorithm1.subsets.metropolis`.
    temperature : float
        Of "metropolis".
    fit_intercept : bool
        Whether each class has an intercept. It is never masked.
    subset_penalty : float
        What each feature of a subset costs, as a share of the weights: subsets are compared
        by ``A / mean(w) - subset_penalty * size``. The paper has none.
    loss : {"log", "exponential", "focal"}
        What is climbed: `covey._core.losses.Loss`.
    focal_gamma : float
        Of "focal".
    reweighting : {"mean_probability", "divergence", "adaboost"} or None
        How later members are drawn to samples: `covey._core.algorithm1.reweighting.Reweighting`.
    """

    learning_rate: Literal["auto", "constant", "newton"] | float
    tol: float
    patience: int | None
    max_iter: int
    init_scale: float
    acceptance: Literal["greedy", "metropolis"]
    temperature: float
    fit_intercept: bool
    subset_penalty: float = 0.0
    loss: LossName = "log"
    focal_gamma: float = 2.0
    reweighting: ReweightingName | None = "mean_probability"

    @property
    def can_stop(self) -> bool:
        """Whether a member may end before ``max_iter`` steps."""
        return self.tol > -np.inf

    @property
    def keeps_best(self) -> bool:
        """Whether a member ends at the best state it saw rather than at its last one."""
        return self.patience is not None and self.can_stop


@dataclass
class History:
    """What one member of one run went through; entry 0 is the random start.

    A step that ends its member is not taken: the entry before it stands there again.
    """

    weighted_accuracy: FloatArray
    objective: FloatArray
    subset_size: IntArray
    accepted_flip: BoolArray


@dataclass
class Members:
    """One member of every run.

    Attributes
    ----------
    theta : array of shape (C, R, D)
        Zero where the subset leaves a feature out.
    intercept : array of shape (C, R)
    support : ndarray of shape (R, D), bool
        Lambda.
    n_iter : ndarray of shape (R,)
        Steps evaluated, the one that ended the member included.
    history : list of R `History`
    weight_sum : ndarray of shape (R,)
        The sum of the sample weights it was trained with.
    accuracy : ndarray of shape (R,)
        Its weighted accuracy, of the state that was kept.
    """

    theta: Array
    intercept: Array
    support: BoolArray
    n_iter: IntArray
    history: list[History]
    weight_sum: FloatArray
    accuracy: FloatArray
