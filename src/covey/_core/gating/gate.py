"""Gated members and their refinement: a learned importance i_k(x), fitted with the members.

Member k of a run has logits ``L_k(x) = x theta_k + b_k``; the gate has
``g(x) = softmax(phi(x) V + v)`` over members. `ClassLikelihood` and `ValueLikelihood` state how
both are pooled. What is maximized is the weighted mean log-likelihood less ``alpha / 2`` times the
sum of squares of all coefficients (intercepts are free), for a stack of runs over one design
matrix. Arrays have the classes first: logits are ``(K, C, R, n)``, gates ``(K, R, n)``.

The penalty on the members can also be, partly or wholly, on their squared distances from a common
linear model mu, and on mu itself (without its intercepts), at the mu for which the sum is least. A
member to which the gate gives no weight is then like the others instead of constant; and constant
members, between which the gate would be the classifier, are penalized for their differences.

`GatedRows` computes the sums over rows and `GatedObjective` the rest, since rows may lie in
blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from operator import is_not
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from array_api_compat import device

from covey._core.arrays import Array, FloatArray, IntArray, in_parts, like, namespace_of
from covey._core.basis import Basis
from covey._core.design import Design
from covey._core.journal import Journal
from covey._core.lbfgs import minimise
from covey._core.losses import ValueLoss
from covey._core.softmax_linear import Blocks, finite_exp, linear_logits, true_class

Pool = Literal["linear", "log"]

# A probability of 0 counts as this where predictions are compared.
_LEAST = float(np.finfo(np.float64).eps)


def softmax_first(logits: Array) -> Array:
    """Softmax over the first axis, in place."""
    xp = namespace_of(logits)
    logits -= xp.max(logits, axis=0)
    xp.exp(logits, out=logits)
    logits /= xp.sum(logits, axis=0)
    return logits


def pooled(member_logits: Array, gates: Array, pool: Pool) -> Array:
    """Probabilities (C, R, n) of members' logits or log-probabilities (K, C, R, n), gated."""
    xp = namespace_of(gates)
    if pool == "log":
        return softmax_first(xp.sum(gates[:, None] * member_logits, axis=0))
    shape = member_logits.shape[1], *gates.shape[1:]
    total = xp.zeros(shape, dtype=member_logits.dtype, device=device(member_logits))
    for gate, logits in zip(gates, member_logits, strict=True):
        total += gate * softmax_first(xp.asarray(logits, copy=True))
    return total


def contrast(values: Array, axis: int) -> Array:
    """Return the values of two classes as one, which is all that probabilities depend on.

    It is the second less the first over sqrt(2). So a sum of squares is unchanged where the two
    are opposite, as those of penalized members are at the optimum.
    """
    first, second = (slice(None),) * axis + (slice(0, 1),), (slice(None),) * axis + (slice(1, 2),)
    return (values[second] - values[first]) * float(np.sqrt(0.5))


def of_two_classes(values: Array, axis: int) -> Array:
    """The opposite values of two classes whose `contrast` this is."""
    half = values * float(np.sqrt(0.5))
    return namespace_of(values).concat([-half, half], axis=axis)


class ClassLikelihood:
    """The likelihood of rows that are sorted by class; a prediction is a probability.

    linear    p(c | x) = sum_k g_k(x) p_k(c | x)                    a mixture
    log       p(c | x) ~ prod_k p_k(c | x) ** g_k(x)                eq. (10) with i_k(x)

    To fit members of two classes, their logits can be the `contrast` of both, (K, 1, R, n): every
    computation on a row is then made once and not for each class.
    """

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.n_outputs = len(blocks)

    def predictions(self, logits: Array, gates: Array, pool: Pool) -> Array:
        """Return the probability of each row's own class, (R, n)."""
        fused = pooled(logits, gates, pool)
        return true_class(fused, self.blocks, namespace_of(fused).empty_like(fused[0]))

    def losses(self, predictions: Array) -> Array:
        """Return negative logarithms; a probability of 0 counts as the rounding error of 1."""
        xp = namespace_of(predictions)
        least = xp.asarray(_LEAST, dtype=predictions.dtype, device=device(predictions))
        return -xp.log(xp.maximum(predictions, least))

    def value_and_slopes(
        self, logits: Array, gates: Array, weight: Array, pool: Pool, frozen: bool
    ) -> tuple[Array, Array | None, Array]:
        """Return the log-likelihood (R,), and its slopes by the members' and by the gate's logits.

        ``weight`` is (R, n). Frozen members have no slope; the logits of others may be
        overwritten.
        """
        if logits.shape[1] < self.n_outputs:
            # What a contrast is multiplied by to be the margin of a row's class.
            signs = namespace_of(weight).full_like(weight[0, :], float(np.sqrt(2.0)))
            signs[self.blocks[0]] *= -1.0
            of_two = self._linear_of_two if pool == "linear" else self._log_of_two
            return of_two(logits[:, 0], signs, gates, weight)
        of_pool = self._linear if pool == "linear" else self._log
        return of_pool(logits, gates, weight, frozen)

    def _linear_of_two(
        self, contrasts: Array, signs: Array, gates: Array, weight: Array
    ) -> tuple[Array, Array, Array]:
        """Return value and slopes of log sum_k g_k p_k(y), for two classes."""
        xp = namespace_of(gates)
        # Each pass over these arrays counts: as few as possible, in place where that is possible.
        contrasts *= -signs
        wrong = finite_exp(contrasts)
        true = 1.0 / (1.0 + wrong)
        wrong *= true
        true *= gates
        likelihood = xp.sum(true, axis=0)
        value = xp.sum(weight * xp.log(likelihood), axis=1)
        true *= weight / likelihood
        wrong *= true
        wrong *= signs
        return value, wrong[:, None], true - weight * gates

    def _log_of_two(
        self, contrasts: Array, signs: Array, gates: Array, weight: Array
    ) -> tuple[Array, Array, Array]:
        """Return value and slopes of log softmax_y(sum_k g_k L_k), for two classes."""
        xp, margins = namespace_of(gates), contrasts * signs
        fused = xp.sum(gates * margins, axis=0)
        value = -xp.sum(weight * xp.logaddexp(xp.zeros_like(fused), -fused), axis=1)
        pull = weight / (1.0 + finite_exp(fused))
        by_gates = gates * pull * (margins - fused)
        return value, (gates * (pull * signs))[:, None], by_gates

    def _linear(
        self, logits: Array, gates: Array, weight: Array, frozen: bool
    ) -> tuple[Array, Array | None, Array]:
        """Return value and slopes of log sum_k g_k p_k(y)."""
        xp = namespace_of(gates)
        highest = xp.max(logits, axis=1)[:, None]
        if frozen:
            p = xp.exp(logits - highest)
        else:
            # These logits are not needed any more.
            logits -= highest
            p = xp.exp(logits, out=logits)
        normalizer = xp.sum(p, axis=1)
        true = xp.empty(gates.shape, dtype=gates.dtype, device=device(gates))
        for label, rows in enumerate(self.blocks):
            true[:, :, rows] = p[:, label, :, rows]
        true /= normalizer
        # Tiny, not zero: a row that every member rules out still has a gradient.
        responsibility = gates * (true + float(xp.finfo(true.dtype).tiny))
        likelihood = xp.sum(responsibility, axis=0)
        responsibility /= likelihood
        value = xp.sum(weight * xp.log(likelihood), axis=1)
        by_gates = weight * (responsibility - gates)
        if frozen:
            return value, None, by_gates
        responsibility *= weight
        p *= (-responsibility / normalizer)[:, None]
        for label, rows in enumerate(self.blocks):
            p[:, label, :, rows] += responsibility[:, :, rows]
        return value, p, by_gates

    def _log(
        self, logits: Array, gates: Array, weight: Array, frozen: bool
    ) -> tuple[Array, Array | None, Array]:
        """Return value and slopes of log softmax_y(sum_k g_k L_k)."""
        xp = namespace_of(gates)
        fused = xp.sum(gates[:, None] * logits, axis=0)
        fused -= xp.max(fused, axis=0)
        log_true = true_class(fused, self.blocks, xp.empty_like(gates[0]))
        xp.exp(fused, out=fused)
        normalizer = xp.sum(fused, axis=0)
        value = xp.sum(weight * (log_true - xp.log(normalizer)), axis=1)
        fused *= -weight / normalizer
        for label, rows in enumerate(self.blocks):
            fused[label, :, rows] += weight[:, rows]
        pull = xp.sum(logits * fused, axis=1)  # (K, R, n)
        by_gates = gates * (pull - xp.sum(gates * pull, axis=0))
        return value, None if frozen else gates[:, None] * fused, by_gates


class ValueLikelihood:
    """The likelihood of rows whose targets are numbers; a member's only logit is its prediction.

    Both pools are the mean ``f(x) = sum_k g_k(x) f_k(x)``, and the log-likelihood is the loss's
    negative. With one member this is a penalized linear model: ridge regression, if the loss
    is squared, and Poisson regression if it is that of a count, whose logarithm f predicts.
    """

    n_outputs = 1

    def __init__(self, target: npt.NDArray[np.float64], loss: ValueLoss) -> None:
        self.target = target
        self.loss = loss
        self._targets: dict[str, Array] = {}

    def predictions(self, logits: Array, gates: Array, pool: Pool) -> Array:
        """Return the number that the gated members predict for each row, (R, n)."""
        return namespace_of(gates).sum(gates * logits[:, 0], axis=0)

    def losses(self, predictions: Array) -> Array:
        """Return the loss of each prediction, (R, n)."""
        return self.loss.value(self._target_like(predictions), predictions)

    def value_and_slopes(
        self, logits: Array, gates: Array, weight: Array, pool: Pool, frozen: bool
    ) -> tuple[Array, Array | None, Array]:
        """Return the log-likelihood and its slopes, as `ClassLikelihood` does."""
        xp = namespace_of(gates)
        predicted = self.predictions(logits, gates, pool)
        target = self._target_like(predicted)
        value = -xp.sum(weight * self.loss.value(target, predicted), axis=1)
        by_members = -(weight * self.loss.slope(target, predicted)) * gates
        return value, by_members[:, None], by_members * (logits[:, 0] - predicted)

    def _target_like(self, array: Array) -> Array:
        """Return the target in the precision and on the device of an array; each is made once."""
        key = str(array.dtype)
        if key not in self._targets:
            self._targets[key] = like(array, self.target, array.dtype)
        return self._targets[key]


#: The target of some rows, and how well gated members predict it.
Likelihood = ClassLikelihood | ValueLikelihood

# How many numbers (members x classes x runs x rows, or columns) are computed at once: more runs
# than that wait. Larger stacks do not fit the cache and are slower for it; with many columns,
# L-BFGS remembers each number a dozen times.
_STACK_SIZE = 1 << 19

#: Theta, intercepts, the gate's coefficients and its intercepts; the first two None if frozen.
Parts = tuple[Array | None, Array | None, Array, Array]


def runs_at_once(n_members: int, n_outputs: int, n_rows: int, n_columns: int = 0) -> int:
    """Return how many runs of such members, rows and columns are computed at the same time."""
    return max(1, _STACK_SIZE // (n_members * n_outputs * max(1, n_rows, n_columns)))


@dataclass
class GatedRows:
    """Some rows, and the sums over them of which the likelihood of gated members is made.

    In each run, row weights are divided by their sum over all rows; a row outside a run's fold has
    the weight 0. Frozen members have logits and no design.
    """

    members: Design | None
    gate: list[Design]  # what the gate sees: one block of columns after another
    likelihood: Likelihood
    share: Array  # (R, n)
    pool: Pool
    frozen: Array | None = None  # (K, C, R or 1, n)
    held_out: Array | None = None  # (R, n), the weights of rows outside a run's fold

    def outputs(self, parts: Parts, runs: IntArray) -> tuple[Array, Array]:
        """Return the members' logits (K, C, R, n) and the gates (K, R, n) of these runs.

        Theta (R, K, C, D) is zero outside the subsets.
        """
        xp, n_rows = self.gate[0].xp, self.gate[0].n_rows
        theta, intercept, gate, gate_intercept = parts
        where = {"dtype": gate.dtype, "device": device(gate)}
        n_runs, k, _ = gate.shape
        if theta is None or intercept is None:
            logits = self.frozen
        else:
            assert self.members is not None
            c, d = theta.shape[2:]
            stacked = xp.reshape(xp.permute_dims(theta, (1, 2, 0, 3)), (k * c, n_runs, d))
            flat = xp.reshape(xp.permute_dims(intercept, (1, 2, 0)), (k * c, n_runs))
            out = xp.empty((k * c, n_runs, n_rows), **where)
            logits = self.members.logits(stacked, flat, runs, out)
            logits = xp.reshape(logits, (k, c, n_runs, n_rows))
        if k == 1:
            # A group of one member has no gate.
            return logits, xp.ones((k, n_runs, n_rows), **where)
        gates, bias, at = None, gate_intercept.T, 0
        for block in self.gate:
            part = xp.permute_dims(gate[:, :, at : at + block.n_features], (1, 0, 2))
            out = xp.empty((k, n_runs, n_rows), **where)
            block.logits(part, bias, runs, out)
            gates = out if gates is None else gates + out
            at, bias = at + block.n_features, xp.zeros_like(bias)
        return logits, softmax_first(gates)

    def predictions(self, parts: Parts, runs: IntArray) -> Array:
        """Return the predictions that are compared, (R, n): see `ClassLikelihood`."""
        return self.likelihood.predictions(*self.outputs(parts, runs), self.pool)

    def held_out_loss(self, parts: Parts, runs: IntArray) -> tuple[Array]:
        """Return the sum of the losses of the rows that each run holds out, (R,)."""
        assert self.held_out is not None
        losses = self.likelihood.losses(self.predictions(parts, runs))
        return (self.gate[0].xp.sum(self.held_out[runs, :] * losses, axis=1),)

    def value_and_gradient(self, parts: Parts, runs: IntArray) -> tuple[Array, ...]:
        """Return the mean log-likelihood (R,) of these runs, and its gradients.

        They are by the gate's coefficients, (R, K, P), and its intercepts, (R, K), and unless the
        members are frozen by theta, (R, K, C, D), which is zero outside the subsets, and by the
        members' intercepts, (R, K, C).
        """
        xp, (theta, _, gate, gate_intercept) = self.gate[0].xp, parts
        value, by_logits, by_gates = self.likelihood.value_and_slopes(
            *self.outputs(parts, runs), self.share[runs, :], self.pool, theta is None
        )
        if gate.shape[1] == 1:
            by_gate = xp.zeros_like(gate), xp.zeros_like(gate_intercept)
        else:
            slopes = [block.gradient(by_gates, runs) for block in self.gate]  # (K, R, P), (K, R)
            slope = xp.concat([slope for slope, _ in slopes], axis=2)
            by_gate = xp.permute_dims(slope, (1, 0, 2)), slopes[0][1].T
        if self.members is None or by_logits is None:
            return value, *by_gate
        k, c, n_runs, n_rows = by_logits.shape
        slope, total = self.members.gradient(xp.reshape(by_logits, (k * c, n_runs, n_rows)), runs)
        slope = xp.reshape(slope, (k, c, n_runs, self.members.n_features))
        total = xp.permute_dims(xp.reshape(total, (k, c, n_runs)), (2, 0, 1))
        return value, *by_gate, xp.permute_dims(slope, (2, 0, 1, 3)), total


@dataclass(frozen=True)
class _OfRuns:
    """The penalties and subsets of some runs, in the shapes of their parts."""

    of: tuple[Any, ...]  # the runs, and the arrays of all runs
    alpha: Array  # (r,)
    support: Array | None  # (r, K, 1, D)
    gate_support: Array | None  # (r, 1, P)
    sharing: Array | None  # (r, 1, 1, D), one more than the members that have a column


@dataclass(eq=False)
class GatedObjective:
    """The penalized negative log-likelihood of gated members, as a function of all parameters.

    ``reduce(parts, runs)`` gives the sums of `GatedRows.value_and_gradient` over all rows. The
    penalties are ``alpha`` (R,), the members' subsets ``support`` (R, K, D) and that of the gate
    ``gate_support`` (R, P), ones and zeros (None: all columns). Members without columns are
    frozen. ``toward_mean`` is the share of the members' penalty that draws them, and their
    intercepts, to a common model; the rest draws them to zero.
    """

    reduce: Callable[[Parts, IntArray], tuple[Array, ...]]
    alpha: Array
    n_members: int
    n_outputs: int
    n_columns: int | None
    n_gate_columns: int
    _: KW_ONLY
    support: Array | None = None
    gate_support: Array | None = None
    fit_intercept: bool = True
    toward_mean: float = 0.0

    def __post_init__(self) -> None:
        self._xp = namespace_of(self.alpha)
        self._last: _OfRuns | None = None

    @property
    def n_parameters(self) -> int:
        """The number of parameters of a run: members, gate and their intercepts."""
        gate = self.n_members * (self.n_gate_columns + 1)
        if self.n_columns is None:
            return gate
        return gate + self.n_members * self.n_outputs * (self.n_columns + 1)

    def unpack(self, x: Array) -> Parts:
        """Split ``x`` (R, N) into theta (R, K, C, D), b (R, K, C), V (R, K, P) and v (R, K)."""
        xp = self._xp
        n_runs, k, c = x.shape[0], self.n_members, self.n_outputs
        theta = intercept = None
        at = 0
        if self.n_columns is not None:
            d = self.n_columns
            theta = xp.reshape(x[:, : k * c * d], (n_runs, k, c, d))
            intercept = xp.reshape(x[:, k * c * d : k * c * (d + 1)], (n_runs, k, c))
            at = k * c * (d + 1)
        p = self.n_gate_columns
        gate = xp.reshape(x[:, at : at + k * p], (n_runs, k, p))
        return theta, intercept, gate, x[:, at + k * p :]

    def pack(
        self, theta: Array | None, intercept: Array | None, gate: Array, gate_intercept: Array
    ) -> Array:
        """Join parts to one array (R, N), as the inverse of ``unpack``."""
        xp = self._xp
        n_runs = gate.shape[0]
        parts = [gate, gate_intercept]
        if theta is not None:
            parts = [theta, intercept, *parts]
        return xp.concat([xp.reshape(part, (n_runs, -1)) for part in parts], axis=1)

    def within(self, x: Array, runs: IntArray) -> Parts:
        """Split ``x`` into its parts, with coefficients outside the subsets set to zero."""
        known = self._of_runs(runs)
        theta, intercept, gate, gate_intercept = self.unpack(x)
        if theta is not None and known.support is not None:
            theta = theta * known.support
        if known.gate_support is not None:
            gate = gate * known.gate_support
        return theta, intercept, gate, gate_intercept

    def _of_runs(self, runs: IntArray) -> _OfRuns:
        """Return penalties and subsets of runs, kept while the same array of runs comes again."""
        of = (runs, self.alpha, self.support, self.gate_support)
        if self._last is None or any(map(is_not, self._last.of, of)):
            xp, alpha, support, sharing = self._xp, self.alpha[runs], None, None
            if self.support is not None:
                support = self.support[runs][:, :, None, :]
                sharing = xp.sum(support, axis=1, keepdims=True) + 1.0
            gate_support = None
            if self.gate_support is not None:
                gate_support = self.gate_support[runs][:, None, :]
            self._last = _OfRuns(of, alpha, support, gate_support, sharing)
        return self._last

    def __call__(self, x: Array, runs: IntArray) -> tuple[Array, Array]:
        """Return values (R,) and gradients (R, N) of these runs."""
        xp, known = self._xp, self._of_runs(runs)
        theta, intercept, gate, _ = parts = self.within(x, runs)
        value, by_gate, by_gate_intercept, *by_members = self.reduce(parts, runs)
        alpha = known.alpha
        value = 0.5 * alpha * xp.sum(gate * gate, axis=(1, 2)) - value
        by_gate = alpha[:, None, None] * gate - by_gate
        if known.gate_support is not None:
            by_gate *= known.gate_support
        if theta is None:
            return value, self.pack(None, None, by_gate, -by_gate_intercept)
        by_theta, by_intercept = by_members
        distance = theta
        if self.toward_mean:
            # The common model mu (R, 1, C, D) with the least sum of |mu|^2 and |theta_k - mu|^2 is
            # the sum of the members over one more than their number (of those whose subsets have a
            # column). At this mu the sum of squares is that of theta_k (theta_k - mu), and its
            # slope by theta_k is twice the distance from mu.
            sharing = self.n_members + 1 if known.sharing is None else known.sharing
            total = xp.sum(theta, axis=1, keepdims=True)
            distance = theta - self.toward_mean * (total / sharing)
        by_theta = alpha[:, None, None, None] * distance - by_theta
        if known.support is not None:
            by_theta *= known.support
        if self.toward_mean and intercept is not None:
            # The intercepts of the common model are free: they are the mean of the members'.
            apart = intercept - xp.mean(intercept, axis=1, keepdims=True)
            drawn = self.toward_mean * alpha
            value = value + 0.5 * drawn * xp.sum(apart * apart, axis=(1, 2))
            by_intercept = by_intercept - drawn[:, None, None] * apart
        by_intercept = -by_intercept if self.fit_intercept else xp.zeros_like(by_intercept)
        value = value + 0.5 * alpha * xp.sum(theta * distance, axis=(1, 2, 3))
        return value, self.pack(by_theta, by_intercept, by_gate, -by_gate_intercept)


# Penalties are given for up to this many rows. With more rows, each coefficient is better known.
_FEW_ROWS = 500

N_FOLDS = 3


def shrinkage(n_rows: float) -> float:
    """Return the factor on penalties for this many rows, or for such a sum of their weights."""
    return float(min(1.0, (_FEW_ROWS / n_rows) ** 0.8))


def penalties(n_rows: float, *, numbers: bool, single: bool = False) -> FloatArray:
    """Return the penalties to choose from, falling, for this many rows or such a sum of weights.

    They are relative to the mean log-likelihood of a row, or to its mean loss in units of y's
    variance. A single member may need stronger ones than a gate if it has few rows and many
    columns.
    """
    shrunk = (0.3 if numbers else 0.03) * shrinkage(n_rows)
    factors = np.array([1.0, 0.1, 0.01, 0.001])
    return shrunk * (np.concatenate([[30.0, 10.0, 3.0], factors]) if single else factors)


def best_penalty(
    value_and_gradient: Callable[[Parts, IntArray], tuple[Array, ...]],
    held_out_loss: Callable[[Parts, IntArray], tuple[Array]],
    alphas: FloatArray,
    start: FloatArray,
    shape: tuple[int, int, int | None, int],
    *,
    n_folds: int,
    n_rows: int,
    max_iter: int,
    support: FloatArray | None = None,
    journal: Journal | None = None,
    **how: Any,
) -> float:
    """Return the penalty with the lowest loss over held-out rows; of equals the highest.

    Both functions take parameters and the folds that these belong to, and return sums over all
    rows, as the methods of `GatedRows` do. ``start`` (1, N) is where each fit starts, ``shape``
    and ``how`` are parameters of `GatedObjective`; ``n_rows`` is how many rows are computed at
    once.
    """
    folds = np.tile(np.arange(n_folds), len(alphas))
    of_run = np.repeat(alphas, n_folds)
    at_once = runs_at_once(shape[0], shape[1], n_rows)
    losses = np.empty(len(folds))
    for chunk in in_parts(len(folds), at_once):
        of_chunk = folds[chunk]

        def reduce(parts: Parts, runs: IntArray, of: IntArray = of_chunk) -> tuple[Array, ...]:
            return value_and_gradient(parts, of[runs])

        many = None if support is None else np.repeat(support, len(of_chunk), axis=0)
        objective = GatedObjective(reduce, of_run[chunk], *shape, support=many, **how)
        starts = np.repeat(start, len(of_chunk), axis=0)
        found = minimise(objective, starts, max_iter=max_iter, journal=journal)
        parts = objective.within(found.x, np.arange(len(of_chunk)))
        (losses[chunk],) = held_out_loss(parts, of_chunk)
    return float(alphas[losses.reshape(len(alphas), n_folds).sum(axis=1).argmin()])


# -- groups of members, each with a gate of its own -----------------------------------------------


# How many numbers (columns, logits and gates, of some rows) are computed at once: a cache holds
# them.
_NUMBERS_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class Groups:
    """The gates of K members in G groups, one group after the other."""

    basis: Basis  # the columns, P of them, that all gates see
    coef: FloatArray  # (K, P)
    intercept: FloatArray  # (K,)
    sizes: Sequence[int]  # how many members each group has
    pools: Sequence[Pool]  # how probabilities of each group are fused; numbers are averaged
    weights: FloatArray  # (G,), sum to one
    # Whether members predict logarithms of numbers: then these are averaged.
    geometric: bool = False

    def importance(self, X: Any) -> FloatArray:
        """Return the importance of each member for rows (n, D), as (K, n); columns sum to one."""
        return group_importance(
            linear_logits(self.basis.rows(X), self.coef, self.intercept), self.sizes, self.weights
        )

    def predict(
        self, X: Any, coef: FloatArray, intercept: FloatArray, *, numbers: bool
    ) -> FloatArray:
        """Return predictions (n, C) of members with coefficients (K, C, P), intercepts (K, C).

        The members see the columns of the same basis, which are computed once. Predictions are
        probabilities, or with ``numbers`` the number that is a member's only logit or its
        exponential.
        """
        n_members, n_outputs, _ = coef.shape
        stacked = np.concatenate([coef.reshape(n_members * n_outputs, -1), self.coef])
        biases = np.concatenate([intercept.ravel(), self.intercept])
        predicted = np.empty((X.shape[0], n_outputs))
        for rows in in_parts(X.shape[0], _NUMBERS_AT_ONCE // sum(stacked.shape)):
            logits = linear_logits(self.basis.rows(X[rows]), stacked, biases)
            members = logits[: -len(self.coef)].reshape(n_members, n_outputs, -1)
            fuse = self.mean if numbers else self.probabilities
            predicted[rows] = fuse(members, logits[-len(self.coef) :]).T
        return predicted

    def probabilities(self, member_logits: FloatArray, gate_logits: FloatArray) -> FloatArray:
        """Return fused probabilities (C, n) of logits or log-probabilities (K, C, n)."""
        fused = np.zeros(member_logits.shape[1:])
        for members, pool, weight in zip(
            _members(self.sizes), self.pools, self.weights, strict=True
        ):
            logits, gates = member_logits[members], softmax_first(gate_logits[members])
            if pool == "log":
                fused += weight * softmax_first(np.sum(gates[:, None] * logits, axis=0))
                continue
            p = np.exp(logits - logits.max(axis=1, keepdims=True))
            p *= (weight * gates / p.sum(axis=1))[:, None]
            fused += p.sum(axis=0)
        # Sums of shares may be a rounding error above one, which scikit-learn's losses refuse.
        return np.minimum(fused, 1.0, out=fused)

    def mean(self, values: FloatArray, gate_logits: FloatArray) -> FloatArray:
        """Return the fused numbers (1, n) of members' (K, 1, n), which may be logarithms."""
        importance = group_importance(gate_logits, self.sizes, self.weights)
        fused: FloatArray = np.sum(importance[:, None] * values, axis=0)
        return finite_exp(fused) if self.geometric else fused


def group_importance(
    gate_logits: FloatArray, sizes: Sequence[int], weights: FloatArray
) -> FloatArray:
    """Return each member's gate times the weight of its group, (K, n), computed in place."""
    for members, weight in zip(_members(sizes), weights, strict=True):
        gates = softmax_first(gate_logits[members])
        gates *= weight
    return gate_logits


def _members(sizes: Sequence[int]) -> Iterator[slice]:
    """Yield the positions of each group's members."""
    for size, end in zip(sizes, np.cumsum(sizes), strict=True):
        yield slice(int(end - size), int(end))
