"""Greedy selection of an ensemble from a library of candidates (Caruana et al. 2004)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from covey._core.arrays import BoolArray, FloatArray

RowLoss = Callable[[FloatArray], FloatArray]

# No candidate is surer than this that a class is impossible.
_FLOOR = 1e-6
# A pick must lower the loss by this, or the selection before it is kept.
_GAIN = 1e-9


def log_losses(true: FloatArray) -> FloatArray:
    """The log-losses (..., n) of probabilities of the true class of each row."""
    return -np.log(true)


def possible(true: FloatArray) -> FloatArray:
    """What candidates give to the true class, but never zero.

    A candidate without a prediction of a row (NaN) is as wrong there as can be.
    """
    return np.fmax(true, _FLOOR)


class Library:
    """What candidates predict of some rows, (M, n), and the losses and weights of these rows."""

    def __init__(self, predictions: FloatArray, row_losses: RowLoss, weight: FloatArray) -> None:
        self._predictions = predictions
        self._row_losses = row_losses
        self._weight = weight
        self._picked: list[int] = []
        self._sum = np.zeros(predictions.shape[1])

    def pick_losses(
        self, picked: Sequence[int], allowed: BoolArray, total: float
    ) -> tuple[FloatArray]:
        """The losses, after each pick that is allowed, of the mean of all that are picked.

        They are to be added up over blocks: ``total`` is the sum of the weights of all rows.
        """
        if self._picked != list(picked[: len(self._picked)]):
            self._picked, self._sum = [], np.zeros_like(self._sum)
        for candidate in picked[len(self._picked) :]:
            self._sum += self._predictions[candidate]
        self._picked = list(picked)
        share = self._weight / total
        mean = (self._sum + self._predictions[allowed]) / (len(picked) + 1)
        return (self._row_losses(mean) @ share,)


def greedy_weights(
    pick_losses: Callable[[Sequence[int], BoolArray], FloatArray],
    n_candidates: int,
    n_picks: int = 25,
    replace: bool = True,
) -> FloatArray:
    """Weights of the candidates whose mean has the least loss, found pick by pick.

    Starts from nothing; each pick adds the candidate that lowers the loss of the mean of all
    picked so far the most, the first of equals. Of all sizes on the way, up to ``n_picks``, the
    best is kept. With ``replace`` a candidate can be picked again: its weight grows. The weights
    (M,) are shares of the picks; ``pick_losses`` is that of `Library` over all rows.
    """
    picked: list[int] = []
    best, n_best = np.inf, 0
    allowed = np.ones(n_candidates, dtype=bool)
    for _ in range(n_picks):
        losses = np.full(n_candidates, np.inf)
        losses[allowed] = pick_losses(picked, allowed)
        # Rounding must not choose between equals.
        chosen = int(np.argmax(losses <= losses.min() + 1e-12))
        picked.append(chosen)
        if losses[chosen] < best - _GAIN:
            best, n_best = float(losses[chosen]), len(picked)
        allowed[chosen] = replace
        if not allowed.any():
            break
    kept = np.array(picked[:n_best], dtype=np.int64)
    return np.bincount(kept, minlength=n_candidates) / n_best


def greedy_selection(
    true: FloatArray, weight: FloatArray, *, n_picks: int = 25, replace: bool = True
) -> FloatArray:
    """Weights (M,) of the candidates whose mean has the least log-loss: see `greedy_weights`.

    ``true`` (M, n) is what each candidate, fitted without that row, gives to the true class of
    each row; ``weight`` (n,) how much each row counts.
    """
    return greedy_mean(possible(true), log_losses, weight, n_picks, replace)


def greedy_mean(
    predictions: FloatArray,
    row_losses: RowLoss,
    weight: FloatArray,
    n_picks: int = 25,
    replace: bool = True,
) -> FloatArray:
    """The same for any loss of the mean of what is picked; see `Library`."""
    library = Library(predictions, row_losses, weight)
    total = float(weight.sum())
    return greedy_weights(
        lambda picked, allowed: library.pick_losses(picked, allowed, total)[0],
        len(predictions),
        n_picks,
        replace,
    )
