"""Greedy selection of an ensemble from a library of candidates (Caruana et al. 2004)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed

import numpy as np

from covey._core.arrays import BoolArray, FloatArray, IntArray

RowLoss = Callable[[FloatArray], FloatArray]

# No candidate is allowed to be surer than this that a class is impossible.
_FLOOR = 1e-6
# A pick must lower the loss by this, or the selection before it is kept.
_GAIN = 1e-9
# How much smaller each budget of terms is than what the selection before it has.
_FEWER = 0.8
# Nobody reads more terms than the first, and a person can read the second.
MANY_TERMS, READABLE_TERMS = 100, 40


def log_losses(true: FloatArray) -> FloatArray:
    """Return the log-losses (..., n) of probabilities of the true class of each row."""
    return -np.log(true)


def possible(true: FloatArray) -> FloatArray:
    """Return the candidates' probabilities of the true class, raised above zero.

    A candidate without a prediction of a row (NaN) is as wrong there as can be.
    """
    return np.fmax(true, _FLOOR)


class PredictionLibrary:
    """The candidates' predictions of some rows, (M, n), with losses and weights of these rows."""

    def __init__(self, predictions: FloatArray, row_losses: RowLoss, weight: FloatArray) -> None:
        self._predictions = predictions
        self._row_losses = row_losses
        self._weight = weight
        self._picked: list[int] = []
        self._sum = np.zeros(predictions.shape[1])

    def pick_losses(
        self, picked: Sequence[int], allowed: BoolArray, total: float
    ) -> tuple[FloatArray]:
        """Return the losses of the mean of all picks after each pick that is allowed.

        They are sums over a block: ``total`` is the sum of the weights of all rows.
        """
        if self._picked != list(picked[: len(self._picked)]):
            self._picked, self._sum = [], np.zeros_like(self._sum)
        for candidate in picked[len(self._picked) :]:
            self._sum += self._predictions[candidate]
        self._picked = list(picked)
        share = self._weight / total
        mean = (self._sum + self._predictions[allowed]) / (len(picked) + 1)
        return (self._row_losses(mean) @ share,)

    def compare(self, weights: FloatArray, best: FloatArray) -> tuple[FloatArray]:
        """Return the sums of the difference of two selections' losses (M,): see `loss_sums`."""
        used = (weights > 0) | (best > 0)
        one, other = np.stack([weights, best])[:, used] @ self._predictions[used]
        apart = self._row_losses(one) - self._row_losses(other)
        return (loss_sums(apart, self._weight)[0],)


def loss_sums(
    losses: FloatArray, weight: FloatArray, part: IntArray | None = None, n_parts: int = 1
) -> FloatArray:
    """Return sums (n_parts, 5) of the losses (E,) of rows, which add up over blocks.

    ``part`` (E,) says in which part each row is. See `mean_and_error`.
    """
    part = np.zeros(len(losses), np.int64) if part is None else part
    squared = weight * weight
    values = weight, weight * losses, squared * losses**2, squared * losses, squared
    sums = [np.bincount(part, weights=each, minlength=n_parts) for each in values]
    # Without any rows, NumPy counts in integers.
    return np.stack(sums, axis=1, dtype=np.float64)


def mean_and_error(sums: FloatArray) -> tuple[float, float]:
    """Return the weighted mean of losses, and its standard error."""
    total, of_losses, squares, products, weights = sums
    mean = of_losses / total
    variance = squares - 2 * mean * products + mean**2 * weights
    return float(mean), float(np.sqrt(max(0.0, variance)) / total)


def greedy_weights(
    pick_losses: Callable[[Sequence[int], BoolArray], FloatArray],
    n_candidates: int,
    n_picks: int = 25,
    replace: bool = True,
    affordable: Callable[[Sequence[int]], BoolArray] | None = None,
) -> FloatArray:
    """Return the weights of the candidates whose mean has the least loss, found pick by pick.

    It starts from nothing; each pick adds the candidate that lowers the loss of the mean of all
    picked so far the most, the first of equals. Of all sizes on the way, up to ``n_picks``, the
    best is kept. With ``replace`` a candidate can be picked again: its weight grows. The weights
    (M,) are shares of the picks; ``pick_losses`` is that of `PredictionLibrary` over all rows.
    ``affordable(picked)`` are the candidates (M,) that may be picked next.
    """
    picked: list[int] = []
    best, n_best = np.inf, 0
    allowed = np.ones(n_candidates, dtype=bool)
    for _ in range(n_picks):
        open_to = allowed if affordable is None else allowed & affordable(picked)
        if not open_to.any():
            break
        losses = np.full(n_candidates, np.inf)
        losses[open_to] = pick_losses(picked, open_to)
        # Rounding must not choose between equals.
        chosen = int(np.argmax(losses <= losses.min() + 1e-12))
        picked.append(chosen)
        if losses[chosen] < best - _GAIN:
            best, n_best = float(losses[chosen]), len(picked)
        allowed[chosen] = replace
    kept = np.array(picked[:n_best], dtype=np.int64)
    return np.bincount(kept, minlength=n_candidates) / n_best


@dataclass(frozen=True)
class Budget:
    """A limit on the terms, members and candidates that a person must read."""

    n_terms: IntArray  # (M,), of each candidate
    n_members: IntArray  # (M,)
    most_terms: float
    most_members: float
    most_candidates: float = np.inf

    def affordable(self, picked: Sequence[int]) -> BoolArray:
        """Return which candidates (M,) may be picked next."""
        found = np.zeros(len(self.n_terms), dtype=bool)
        found[list(picked)] = True
        terms = self.n_terms[found].sum() + np.where(found, 0, self.n_terms)
        members = self.n_members[found].sum() + np.where(found, 0, self.n_members)
        within: BoolArray = (terms <= self.most_terms) & (members <= self.most_members)
        if found.sum() >= self.most_candidates:
            within &= found
        return within


def thrifty_weights(
    pick_losses: Callable[[Sequence[int], BoolArray], FloatArray],
    compare: Callable[[FloatArray, FloatArray], FloatArray],
    budget: Budget,
    n_errors: float,
) -> tuple[FloatArray, FloatArray | None]:
    """Return the weights (M,) of few terms whose loss is hardly more than that of the best ones.

    Selections are made within smaller and smaller budgets of terms. Of those whose loss is at most
    ``n_errors`` standard errors above that of the best selection, the one with the fewest terms is
    taken; while more than `MANY_TERMS` are left, which nobody reads, twice as many errors are
    allowed. The error is that of the difference of the two selections, which predict the same
    rows: ``compare(weights, best)`` returns the sums of `loss_sums` over these differences.

    The best selection of at most `READABLE_TERMS` terms is returned, too, if it is another one.
    """
    n_candidates = len(budget.n_terms)

    def selection(most_terms: float) -> FloatArray:
        allowed = changed(budget, most_terms=min(most_terms, budget.most_terms))
        return greedy_weights(pick_losses, n_candidates, affordable=allowed.affordable)

    best = chosen = selection(np.inf)
    fewest = max(1, int(budget.n_terms.min()))  # a constant has no terms, and cannot have fewer
    while True:
        n_terms = int(budget.n_terms[chosen > 0].sum())
        allowed = int(n_terms * _FEWER)
        if allowed < fewest:
            break
        smaller = selection(allowed)
        more, error = mean_and_error(compare(smaller, best))
        if more > n_errors * error * (2.0 if allowed > MANY_TERMS else 1.0):
            break
        chosen = smaller
    readable = selection(READABLE_TERMS) if fewest <= READABLE_TERMS < n_terms else None
    return chosen, readable


def greedy_selection(
    true: FloatArray, weight: FloatArray, *, n_picks: int = 25, replace: bool = True
) -> FloatArray:
    """Return the weights (M,) of candidates for the least log-loss: see `greedy_weights`.

    ``true`` (M, n) is the probability that each candidate, fitted without that row, gives to the
    true class of each row; ``weight`` (n,) is how much each row counts.
    """
    return greedy_mean(possible(true), log_losses, weight, n_picks, replace)


def greedy_mean(
    predictions: FloatArray,
    row_losses: RowLoss,
    weight: FloatArray,
    n_picks: int = 25,
    replace: bool = True,
) -> FloatArray:
    """Return such weights for any loss of the mean of the picks; see `PredictionLibrary`."""
    library = PredictionLibrary(predictions, row_losses, weight)
    total = float(weight.sum())
    return greedy_weights(
        lambda picked, allowed: library.pick_losses(picked, allowed, total)[0],
        len(predictions),
        n_picks,
        replace,
    )
