"""Gates: fusion whose importances are a learned function of the sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csc_array

from covey._core.basis import Basis
from covey._core.design import Design
from covey._core.fusion.rules import settled
from covey._core.gating.gate import (
    ClassLikelihood,
    GatedObjective,
    GatedRows,
    Groups,
    Parts,
    Pool,
    ValueLikelihood,
    best_penalty,
    penalties,
    pooled,
)
from covey._core.lbfgs import minimise
from covey._core.losses import ValueLoss
from covey._core.moments import moments
from covey._core.softmax_linear import class_blocks, linear_logits, log_softmax
from covey._folds import make_folds, penalty_folds
from covey._state import Array, Flag, Number, Record, Whole, refuse
from covey._validation import check_choice, check_number, keep_parameters
from covey.fusers._base import Fuser, center_and_unit, values_by, with_means_of_available
from covey.fusers._predictions import Predictions

if TYPE_CHECKING:
    from covey._core.journal import Journal
    from covey._core.search.block import ClassTarget, ValueTarget


# The most iterations of the fits that choose a penalty.
_MAX_ITER_OF_FOLDS = 100
# The number of deviations from its mean beyond which a feature is clipped.
_FARTHEST = 1e6

# Members, outputs, columns of members (None: these are frozen) and columns of the gate.
_Shape = tuple[int, int, int | None, int]


@dataclass
class GateFeatures:
    """The input of a gate: the standardized features of a sample, and their squares if wanted.

    Dense features are standardized, by their mean and deviation, and then squared. Sparse ones are
    squared as they are, to stay sparse; together with the linear part both allow the same
    functions.

    Examples
    --------
    >>> import numpy as np
    >>> from covey.fusers._gate import GateFeatures
    >>> features = GateFeatures.of(True, np.array([[1.0], [2.0], [3.0]]), np.ones(3))
    >>> features.mean, features.n_columns
    (array([2.]), 2)
    """

    quadratic: Annotated[bool, Flag()]
    mean: Annotated[np.ndarray, Array("D")]
    # A constant column is divided by infinity.
    scale: Annotated[np.ndarray, Array("D", low=1e-200, infinite=True)]
    # Needed for sparse features: the moments of their `squares`.
    square_mean: Annotated[np.ndarray | None, Array("D")] = None
    square_scale: Annotated[np.ndarray | None, Array("D", low=1e-200, infinite=True)] = None

    @classmethod
    def standardized(cls, quadratic: bool, mean: np.ndarray, deviation: np.ndarray) -> Self:
        """Return the input of a gate for features with these moments."""
        return cls(quadratic, mean, _usable(deviation))

    def _restored(self) -> None:
        same = (self.square_mean is None) == (self.square_scale is None)
        refuse("square_scale", "belongs to nothing.", same)

    @classmethod
    def of(cls, quadratic: bool, X: Any, weight: np.ndarray) -> Self:
        """Return the input of a gate that is fitted on rows (n, D) of these weights."""
        if not hasattr(X, "tocsr"):
            return cls.standardized(quadratic, *moments(X.T, weight))
        X = X.tocsc()
        sees = cls.standardized(quadratic, *moments(X, weight))
        if quadratic:
            sees.standardize_squares(*moments(sees.squares(X), weight))
        return sees

    def standardize_squares(self, mean: np.ndarray, deviation: np.ndarray) -> None:
        """Keep the moments of `squares`, which sparse features need."""
        self.square_mean, self.square_scale = mean, _usable(deviation)

    @property
    def n_columns(self) -> int:
        """Return how many columns the gate sees."""
        return len(self.mean) * (2 if self.quadratic else 1)

    def squares(self, X: Any) -> Any:
        """Return the squares of sparse features in units of their deviation."""
        scaled = X.multiply(1.0 / self.scale).tocsc()
        scaled.data **= 2
        return scaled

    def designs(self, X: Any) -> list[Design]:
        """Return the blocks of columns that the gate is fitted on."""
        if self.quadratic:
            # Squares are made as for the rows that the gate was fitted on.
            if self.square_mean is not None:
                X = csc_array(X)
            elif hasattr(X, "toarray"):
                X = X.toarray()
        if hasattr(X, "tocsr"):
            X = X.tocsc()
            blocks = [Design(X, self.mean[None], self.scale[None])]
            if self.square_mean is not None and self.square_scale is not None:
                moments = self.square_mean[None], self.square_scale[None]
                blocks.append(Design(self.squares(X), *moments))
            return blocks
        # No training row is this far out; products with one that is must stay finite.
        columns = np.clip((X - self.mean) / self.scale, -_FARTHEST, _FARTHEST)
        columns = np.ascontiguousarray(columns.T)
        return [Design(columns), *([Design(columns**2 - 1.0)] if self.quadratic else [])]

    def logits(self, X: Any, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Return gate logits (K, n) of new rows, by coefficients (K, P) and intercepts (K,)."""
        one = np.zeros(1, dtype=int)
        total = np.zeros((len(coef), X.shape[0])) + intercept[:, None]
        at = 0
        for block in self.designs(X):
            part = coef[:, None, at : at + block.n_features]
            out = np.empty((len(coef), 1, X.shape[0]))
            total += block.logits(part, np.zeros((len(coef), 1)), one, out)[:, 0]
            at += block.n_features
        return total


def _usable(deviation: np.ndarray) -> np.ndarray:
    """Return deviations to divide by: infinite for a constant column, which becomes zero."""
    return np.where(deviation > 0, deviation, np.inf)


@dataclass(frozen=True)
class GateSums:
    """The sums over the rows that a gate is fitted to, as functions of parameters and runs.

    See `covey._core.gating.gate.GatedRows`. The runs of the first function all have all rows,
    those of the others are the folds by which a penalty is chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from covey.fusers._gate import GateSums
    >>> def nothing(parts, runs):
    ...     return (np.zeros(len(runs)),)
    >>> GateSums(nothing, nothing, nothing, n_folds=5, n_rows=100, total_weight=100.0).n_folds
    5
    """

    of_all_rows: Callable[[Parts, np.ndarray], tuple[np.ndarray, ...]]
    of_folds: Callable[[Parts, np.ndarray], tuple[np.ndarray, ...]]
    held_out_loss: Callable[[Parts, np.ndarray], tuple[np.ndarray]]
    n_folds: int
    n_rows: int  # that are computed at once
    total_weight: float


class Gate(Fuser, name="gate"):
    r"""A fuser that weighs members by a learned function of the sample.

    .. math:: g_k(x) = \mathrm{softmax}_k(\phi(x) V + v)

    are the members' weights. With ``pool="log"`` they are the exponents :math:`i_k(x)` of eq.
    (10), and the fusion is that of the paper with learned importances. With ``pool="linear"``, the
    default, members are mixed, :math:`\sum_k g_k(x) p_k(c | x)`: a mixture of experts, where no
    member alone can rule a class out. Equal weights keep a flock of linear members linear; with
    either gate each member decides where it is good, so that the boundary bends.

    As the ``fuser`` of a `SubsetEnsembleClassifier` this gate and the members are refined
    *together*, from the members that Algorithm 1 grew, each on its own subset; most of the gain
    comes from this. (`FlockClassifier` searches for several gates.) As a fuser of frozen members
    (`FusionClassifier`) only the gate is learnt, from held-out predictions.

    The numbers of regressors are averaged, :math:`\sum_k g_k(x) f_k(x)`: for a
    `SubsetEnsembleRegressor` by gate and members of the least loss, for a `FusionRegressor` by the
    gate of the least squared error, in units of the variance of y.

    Coefficients are penalized by half their squares. Refined members are penalized by their
    distance from one linear model that all have in common, and by the size of that model, which is
    chosen so that the sum is least. (A penalty towards zero instead would make members constant,
    and the gate alone would decide.)

    Take it if different members are good in different places and there are some hundred rows to
    learn it from. With fewer, equal weights (`covey.fusers.Mean`) are hard to beat.

    Parameters
    ----------
    pool : {"linear", "log"}, default="linear"
        "linear": the mixture :math:`\sum_k g_k(x) p_k(c | x)`. "log": eq. (10), the weighted
        product :math:`\prod_k p_k(c | x)^{g_k(x)}`, renormalised; for probabilities only.
    features : {"linear", "quadratic"}, default="linear"
        The input of the gate: the standardized features, or also their squares.
    alpha : float or None, default=None
        Weight of the penalty, relative to the mean log-likelihood of a row, or its loss in units
        of the variance of y. None: of 0.03, 0.003, 0.0003 and 0.00003 (ten times these for
        numbers), times ``min(1, (500 / n)**0.8)`` for n rows, the one with the lowest loss on the
        rows that three folds hold out. (Rows are drawn into folds one by one: only with a number
        is a weight of 2 exactly the row given twice.) A single member may have 30, 10 and 3 times
        the strongest of these, too.
    cv : list of pairs of arrays, optional
        Rows to fit on and rows to hold out, instead of the three folds that choose the penalty:
        folds that keep groups together, or go forward in time.
    max_iter : int, default=200
        The most iterations of the optimizer.

    Attributes
    ----------
    coef_ : ndarray of shape (n_members, n_gate_features)
        V, for standardized features (and their squares).
    intercept_ : ndarray of shape (n_members,)
    alpha_ : float
        The penalty.
    n_iter_ : int

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(200, random_state=0)
    >>> equal = covey.SubsetEnsembleClassifier(4, random_state=0).fit(X, y)
    >>> gated = covey.SubsetEnsembleClassifier(4, fuser=covey.Gate(), random_state=0).fit(X, y)
    >>> bool(gated.score(X, y) > equal.score(X, y) + 0.02)
    True
    """

    _sees: Annotated[GateFeatures, Record(GateFeatures)]
    alpha_: Annotated[float, Number(low=0)]
    coef_: Annotated[np.ndarray, Array("K W")]
    intercept_: Annotated[np.ndarray, Array("K")]
    n_iter_: Annotated[int, Whole()]

    learns = True
    needs_X = True
    needs_all_members = True
    kinds = ("probability", "value")

    def __init__(
        self,
        pool: Pool = "linear",
        features: str = "linear",
        alpha: float | None = None,
        cv: Sequence[tuple[ArrayLike, ArrayLike]] | None = None,
        max_iter: int = 200,
    ) -> None:
        keep_parameters(self, locals())

    def _restored(self) -> None:
        fits = self.coef_.shape[1] == self._sees.n_columns
        refuse("coef", "is not that of what the gate sees.", fits)

    def _check_parameters(self, P: Predictions | None = None) -> None:
        check_choice(self.pool, "pool", ("linear", "log"))
        check_choice(self.features, "features", ("linear", "quadratic"))
        check_number(self.alpha, "alpha", low=0, or_none=True)
        if self.cv is not None and (isinstance(self.cv, str | bytes) or not np.iterable(self.cv)):
            raise ValueError(f"cv must be a list of pairs of arrays of rows, got {self.cv!r}.")
        check_number(self.max_iter, "max_iter", low=1, whole=True)
        if P is not None and P.kind == "value":
            self.check_numbers()

    def check_numbers(self) -> None:
        """Refuse the product pool for numbers."""
        if self.pool == "log":
            raise ValueError(
                "pool='log' multiplies probabilities; use pool='linear' for predictions of kind "
                "value."
            )

    def _fit(self, P: Predictions, codes: np.ndarray, X: Any, sample_weight: np.ndarray) -> None:
        numbers = P.kind == "value"
        of = self._of_numbers if numbers else self._of_probabilities
        likelihood, order, frozen = of(P, codes, sample_weight)
        frozen = np.ascontiguousarray(frozen[order].transpose(1, 2, 0))[:, :, None, :]
        strata = np.zeros(P.n_samples, dtype=np.int64) if numbers else codes
        sums = self._sums(None, likelihood, X, order, strata, sample_weight, 0, frozen)
        shape: _Shape = (*frozen.shape[:2], None, self._sees.n_columns)
        self._optimize(sums, np.zeros((1, shape[0] * (shape[3] + 1))), shape)

    # If a member has no prediction of a row, the mean of the others replaces it: that counts
    # neither for nor against the member.

    def _of_probabilities(self, P: Predictions, codes: np.ndarray, sample_weight: Any) -> Any:
        """Return the likelihood of classes, the order of its rows, and logarithms (n, K, C)."""
        logs = P.log()
        if P.available is not None:
            floor = np.finfo(np.float64).tiny
            others = np.log(np.maximum(with_means_of_available(P), floor))
            logs = np.where(P.available[:, :, None], logs, others)
        blocks = class_blocks(np.bincount(codes, minlength=P.n_classes))
        return ClassLikelihood(blocks), np.argsort(codes, kind="stable"), logs

    def _of_numbers(self, P: Predictions, y: np.ndarray, sample_weight: np.ndarray) -> Any:
        """Return the squared error in units of y's variance, and so on, for numbers (n, K, 1)."""
        center, unit = center_and_unit(y, sample_weight)
        likelihood = ValueLikelihood((y - center) / unit, ValueLoss("squared"))
        return likelihood, np.arange(len(y)), (with_means_of_available(P) - center) / unit

    def refine(
        self,
        members: Design,
        theta: np.ndarray,
        intercept: np.ndarray,
        support: np.ndarray,
        X: Any,
        target: ClassTarget | ValueTarget,
        sample_weight: np.ndarray,
        classes: np.ndarray,
        *,
        seed: int,
        **how: Any,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fit the gate together with linear members, instead of ``fit``; return these members.

        ``members`` is the input of members, in the order of the target's likelihood; the gate sees
        X, in the order in which it was given.
        """
        codes = np.empty_like(target.codes)
        codes[target.order] = target.codes
        likelihood, order = target.likelihood, target.order
        sums = self._sums(members, likelihood, X, order, codes, sample_weight, seed)
        return self.refine_by_sums(self._sees, sums, theta, intercept, support, classes, **how)

    def refine_by_sums(
        self,
        sees: GateFeatures,
        sums: GateSums,
        theta: np.ndarray,
        intercept: np.ndarray,
        support: np.ndarray,
        classes: np.ndarray,
        *,
        fit_intercept: bool,
        journal: Journal | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fit the gate and the members to rows in blocks, which are reduced to sums.

        Members start from theta (K, C, D) and intercepts (K, C) and keep their subsets,
        ``support`` (K, D).
        """
        self._sees = sees
        shape: _Shape = (*theta.shape, sees.n_columns)
        nothing = np.zeros((len(theta), sees.n_columns + 1))
        start = np.concatenate([theta.ravel(), intercept.ravel(), nothing.ravel()])[None]
        inside, how = support[None].astype(float), {"fit_intercept": fit_intercept}
        found = self._optimize(sums, start, shape, journal, inside, toward_mean=1.0, **how)
        theta, intercept = found
        self.n_members_, self.classes_ = len(theta[0]), classes
        return theta[0] * support[:, None, :], intercept[0]

    def _sums(
        self,
        members: Design | None,
        likelihood: ClassLikelihood | ValueLikelihood,
        X: Any,
        order: np.ndarray,
        strata: np.ndarray,
        sample_weight: np.ndarray,
        seed: int,
        frozen: np.ndarray | None = None,
    ) -> GateSums:
        """Return rows in memory, in the order of a likelihood; set the input of the gate."""
        self._sees = GateFeatures.of(self.features == "quadratic", X, sample_weight)
        if self.alpha is not None:
            folds = []
        elif self.cv is None:
            folds = penalty_folds(strata, sample_weight, seed)
        else:
            known = np.arange(strata.max() + 1)
            folds = make_folds(
                self.cv, X, strata, sample_weight, known, groups=None, seed=seed, n_repeats=1
            )
        # One run for each fold, and one for all rows.
        weight = np.zeros((len(folds) + 1, len(order)))
        held_out = np.zeros((len(folds), len(order)))
        weight[-1] = sample_weight
        for run, (fitted_on, left_out) in enumerate(folds):
            weight[run, fitted_on] = sample_weight[fitted_on]
            held_out[run, left_out] = sample_weight[left_out]
        share = (weight / weight.sum(axis=1, keepdims=True))[:, order]
        gate = self._sees.designs(X[order])
        rows = GatedRows(members, gate, likelihood, share, self.pool, frozen, held_out[:, order])
        return GateSums(
            lambda parts, runs: rows.value_and_gradient(parts, runs + len(folds)),
            rows.value_and_gradient,
            rows.held_out_loss,
            len(folds),
            len(order),
            float(sample_weight.sum()),
        )

    def _optimize(
        self,
        sums: GateSums,
        start: np.ndarray,
        shape: _Shape,
        journal: Journal | None = None,
        support: np.ndarray | None = None,
        **how: Any,
    ) -> tuple[Any, Any]:
        """Keep the gate that is found; return the members, if they are fitted too."""
        self.alpha_ = self._penalty(sums, start, shape, journal, support, **how)
        alpha = np.array([self.alpha_])
        objective = GatedObjective(sums.of_all_rows, alpha, *shape, support=support, **how)
        found = minimise(objective, start, max_iter=self.max_iter, journal=journal)
        theta, intercept, coef, gate_intercept = objective.unpack(found.x)
        self.coef_, self.intercept_ = coef[0], gate_intercept[0]
        self.n_iter_ = int(found.n_iter[0])
        return theta, intercept

    def _penalty(
        self,
        sums: GateSums,
        start: np.ndarray,
        shape: _Shape,
        journal: Journal | None,
        support: np.ndarray | None,
        **how: Any,
    ) -> float:
        """Return the given penalty, or the best one on the rows that folds hold out."""
        if self.alpha is not None:
            return float(self.alpha)
        alphas = penalties(sums.total_weight, numbers=shape[1] == 1, single=shape[0] == 1)
        if not sums.n_folds:
            # No row can be held out: nothing speaks for less than the strongest penalty.
            return float(alphas[0])
        how |= {
            "n_folds": sums.n_folds,
            "n_rows": sums.n_rows,
            "support": support,
            "journal": journal,
        }
        how["max_iter"] = min(self.max_iter, _MAX_ITER_OF_FOLDS)
        return best_penalty(sums.of_folds, sums.held_out_loss, alphas, start, shape, **how)

    def _gates(self, P: Predictions, X: Any) -> np.ndarray:
        """Return G of shape (K, n); zero for members that have no prediction of a row."""
        logits = self._sees.logits(X, self.coef_, self.intercept_)
        if P.available is not None:
            silent = ~P.available.T
            # Where no member has one, the gate is used as it is.
            silent &= ~silent.all(axis=0)
            logits = np.where(silent, -np.inf, logits)
        return np.exp(log_softmax(logits))

    def _importance(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        return self._gates(P, X).T

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        return self._fuse_by(P, self._importance(P, X, codes))

    def fuse_by(self, P: Predictions, importance: np.ndarray) -> np.ndarray:
        """Fuse with these importances, (n_samples, n_members), in place of the gate's."""
        fused = self._fuse_by(P, importance)
        return fused[:, 0] if P.kind == "value" else settled(fused)

    def _fuse_by(self, P: Predictions, importance: np.ndarray) -> np.ndarray:
        if P.kind == "value":
            return values_by(P, importance)
        logs = P.log().transpose(1, 2, 0)[:, :, None, :]
        return pooled(logs, importance.T[:, None, :], self.pool)[:, 0].T


@dataclass(eq=False, repr=False)
class GatedGroups(Fuser):
    """Groups of members, each fused by a gate of its own, averaged with fixed weights.

    It is the fuser that `FlockClassifier` and `FlockRegressor` find by searching. It is learnt
    together with the members and cannot be fitted to other ones.

    All gates see the columns of ``basis``, by coefficients (n_members, n_columns). ``sizes`` are
    the numbers of members of the groups, one group after the other, ``pools`` the ways in which
    the probabilities of each are fused, and ``weights`` sum to one; if ``classes`` is None,
    members predict numbers, whose logarithms are averaged if they are fused as ``geometric``.

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.FlockClassifier(effort="fast", random_state=0).fit(X, y)
    >>> groups = flock.fuser_
    >>> type(groups).__name__, len(groups.weights)
    ('GatedGroups', 1)
    """

    basis: Basis
    coef: np.ndarray
    intercept: np.ndarray
    sizes: Sequence[int]
    pools: Sequence[Pool]
    weights: np.ndarray
    classes: np.ndarray | None
    geometric: bool = False

    learns = True
    needs_X = True

    @property
    def kinds(self) -> tuple[str, ...]:  # type: ignore[override]
        """The kinds of `Predictions` that it takes."""
        return ("probability",) if self.classes is not None else ("value",)

    @property
    def n_members_(self) -> int:  # type: ignore[override]
        """The number of members that it fuses."""
        return len(self.coef)

    @property
    def classes_(self) -> np.ndarray:  # type: ignore[override]
        """The classes that they predict; a single one stands for numbers."""
        return np.arange(1) if self.classes is None else self.classes

    def fit(self, P: Any, y: Any = None, X: Any = None, sample_weight: Any = None) -> Self:
        """Refuse: the gates were learnt together with their members."""
        flock = "FlockRegressor" if self.classes is None else "FlockClassifier"
        raise ValueError(
            f"These gates were learnt together with their members, by a {flock}; "
            "to learn one for other members use Gate."
        )

    @cached_property
    def groups(self) -> Groups:
        """Return the gates in the form of the mathematics."""
        gates = self.basis, self.coef, self.intercept
        return Groups(*gates, self.sizes, self.pools, self.weights, self.geometric)

    def _importance(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        return self.groups.importance(X).T

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        if P.kind == "value":
            return self._mean(P, self._importance(P, X, codes))
        gate_logits = linear_logits(self.basis.rows(X), self.coef, self.intercept)
        return self.groups.probabilities(P.log().transpose(1, 2, 0), gate_logits).T

    def fuse_by(self, P: Predictions, importance: np.ndarray) -> np.ndarray:
        """Fuse with these importances, (n_samples, n_members), in place of the gates'.

        Within a group members count by the ratios of their importances; the weights of the groups
        are not changed.
        """
        if P.kind == "value":
            return self._mean(P, importance)[:, 0]
        with np.errstate(divide="ignore"):
            gate_logits = np.log(importance.T)
        return settled(self.groups.probabilities(P.log().transpose(1, 2, 0), gate_logits).T)

    def _mean(self, P: Predictions, importance: np.ndarray) -> np.ndarray:
        """Return the mean of numbers, or the exponential of that of their logarithms."""
        if not self.geometric:
            return values_by(P, importance)
        logs = np.log(np.maximum(P.values, np.finfo(np.float64).tiny))
        return np.exp(values_by(Predictions(logs[:, :, 0], kind="value"), importance))
