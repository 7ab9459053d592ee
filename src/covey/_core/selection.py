"""Greedy selection of an ensemble from a library of candidates (Caruana et al. 2004)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

# No candidate is surer than this that a class is impossible.
_FLOOR = 1e-6
# A pick must lower the loss by this, or the selection before it is kept.
_GAIN = 1e-9


def greedy_selection(
    true: FloatArray, weight: FloatArray, *, n_picks: int = 25, replace: bool = True
) -> FloatArray:
    """Weights of the candidates whose mean has the least log-loss, found pick by pick.

    Starts from nothing; each pick adds the candidate that lowers the log-loss of the mean of
    all picked so far the most, the first of equals. Of all sizes on the way the best is kept.

    Parameters
    ----------
    true : ndarray of shape (M, n)
        What each candidate, fitted without that row, gives to the true class of each row.
    weight : ndarray of shape (n,)
        How much each row counts.
    n_picks : int
        The most picks.
    replace : bool
        Whether a candidate can be picked again: its weight grows.

    Returns
    -------
    weights : ndarray of shape (M,)
        Shares of the picks; sum to one.
    """
    # A candidate that says nothing of a row is as wrong there as one can be.
    library = np.fmax(true, _FLOOR)
    return greedy_mean(library, lambda p: -np.log(p), weight, n_picks, replace)


def greedy_mean(
    library: FloatArray,
    row_loss: Callable[[FloatArray], FloatArray],
    weight: FloatArray,
    n_picks: int = 25,
    replace: bool = True,
) -> FloatArray:
    """The same for any loss of what the picked ones say on average.

    Parameters
    ----------
    library : ndarray of shape (M, n)
        What each candidate says of each row.
    row_loss : callable
        The losses (..., n) of means (..., n).
    weight, n_picks, replace
        As for `greedy_selection`.

    Returns
    -------
    weights : ndarray of shape (M,)
        Shares of the picks; sum to one.
    """
    share = weight / weight.sum()
    counts = np.zeros(len(library))
    total = np.zeros(library.shape[1])
    best, best_counts = np.inf, counts.copy()
    allowed = np.ones(len(library), dtype=bool)
    for pick in range(n_picks):
        losses = np.full(len(library), np.inf)
        losses[allowed] = row_loss((total + library[allowed]) / (pick + 1)) @ share
        # Rounding must not choose between equals.
        chosen = int(np.argmax(losses <= losses.min() + 1e-12))
        counts[chosen] += 1
        total += library[chosen]
        if losses[chosen] < best - _GAIN:
            best, best_counts = float(losses[chosen]), counts.copy()
        allowed[chosen] = replace
        if not allowed.any():
            break
    weights: FloatArray = best_counts / best_counts.sum()
    return weights
