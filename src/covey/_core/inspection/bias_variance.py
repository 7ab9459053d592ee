"""The parts of a learner's expected loss, bias, variance and noise, on plain arrays.

Shapes: ``R`` runs, each a model fitted on a training set of its own, ``n`` test rows and ``C``
classes. Expectations over training sets are means over the runs, so the terms add
up for the runs at hand, whatever their number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covey._core.arrays import FloatArray, IntArray
from covey._core.fusion.rules import vote_shares

# Probabilities this close are equal: rounding does not decide which class is the likeliest.
_TIE = 1e-12


@dataclass(frozen=True)
class AdditiveTerms:
    """``expected_loss = bias + variance + noise`` in each row; all of shape (n,).

    Where the terms were taken about observed targets, noise is 0 and ``bias`` holds it.
    """

    expected_loss: FloatArray
    bias: FloatArray
    variance: FloatArray
    noise: FloatArray


@dataclass(frozen=True)
class DomingosTerms:
    """``expected_loss = noise_effect + bias + net_variance`` in each row; all of shape (n,).

    ``expected_loss`` is ``P(prediction != y)``; ``main`` the class predicted most often, ``best``
    the likeliest one, and ``bias`` 1 where they differ, else 0. ``variance`` is ``V = P(prediction
    != main)`` and ``net_variance`` ``c2 V``, what it adds to the loss: it is negative where the
    main prediction is wrong, as leaving it can only help. ``noise`` is ``N = P(y != best)`` and
    ``noise_effect`` ``c1 N``, what it adds to the loss.
    """

    expected_loss: FloatArray
    main: IntArray
    best: IntArray
    bias: FloatArray
    variance: FloatArray
    net_variance: FloatArray
    noise: FloatArray
    noise_effect: FloatArray

    @property
    def unbiased_variance(self) -> FloatArray:
        """The variance of rows whose main prediction is right, 0 elsewhere."""
        return np.where(self.bias > 0, 0.0, self.variance)

    @property
    def biased_variance(self) -> FloatArray:
        """The variance of rows whose main prediction is wrong, 0 elsewhere."""
        return np.where(self.bias > 0, self.variance, 0.0)


def squared_terms(
    predictions: FloatArray, target: FloatArray, noise: float | FloatArray = 0.0
) -> AdditiveTerms:
    """Return for squared loss the squared bias, the variance, and the variance of the noise.

    About the true function ``f`` the expected loss is ``E(prediction - f)^2 + noise``. About
    observed targets, with ``noise=0``, it is the mean squared error; the bias then holds the
    noise, which only the truth could separate from it.

    ``predictions`` are (R, n), or (R, n, C) with outputs or class probabilities on the last axis,
    whose loss is the squared distance; ``target`` (n,) or (n, C) holds the true function or
    observed targets; ``noise`` is what observed targets would add, the expected squared distance
    from the true function.

    >>> import numpy as np
    >>> terms = squared_terms(np.array([[1.0], [3.0]]), np.array([1.0]), noise=0.5)
    >>> [float(term[0]) for term in (terms.bias, terms.variance, terms.noise)]
    [1.0, 1.0, 0.5]
    """
    # About the target, not about zero: a large mean costs no digits.
    error = predictions - target
    mean_error = error.mean(axis=0)
    n_rows = target.shape[0]
    per_row = np.zeros(n_rows) + noise
    return AdditiveTerms(
        expected_loss=_sum_of_squares(error).mean(axis=0) + per_row,
        bias=_sum_of_squares(mean_error[None])[0],
        variance=_sum_of_squares(error - mean_error).mean(axis=0),
        noise=per_row,
    )


def domingos_terms(labels: IntArray, probabilities: FloatArray) -> DomingosTerms:
    """Decompose zero-one loss as Domingos (2000) does, for two classes or more.

    ``P(prediction != y) = c1 N + B + c2 V`` with ``c2 = 1`` where the main prediction is the
    best class and ``c2 = -P(prediction = best | prediction != main)`` elsewhere, which for two
    classes is -1, and ``c1 = P(prediction = best) - P(prediction != best) P(prediction = y |
    prediction != best, y != best)``, which for two classes is ``2 P(prediction = best) - 1``.

    ``labels`` (R, n) are predicted classes, numbered from 0; ``probabilities`` (n, C) are ``P(y |
    x)``. Ones and zeros stand for observed labels: there is no noise then, and the bias holds
    what there may be. Of classes that are predicted equally often, or are equally likely (within
    1e-12), the first one counts.

    >>> import numpy as np
    >>> votes = np.array([[0, 0], [0, 1], [1, 1]])  # three runs, two rows
    >>> terms = domingos_terms(votes, np.array([[1.0, 0.0], [1.0, 0.0]]))
    >>> terms.bias, terms.net_variance.round(2), terms.expected_loss.round(2)
    (array([0., 1.]), array([ 0.33, -0.33]), array([0.33, 0.67]))
    """
    n_rows, n_classes = probabilities.shape
    rows = np.arange(n_rows)
    shares = vote_shares(labels.T, None, n_classes)
    main = _first_of_the_highest(shares)
    best = _first_of_the_highest(probabilities)
    share_of_best = shares[rows, best]
    both = shares * probabilities
    agreement = both.sum(axis=1)
    both[rows, best] = 0.0
    agreement_elsewhere = both.sum(axis=1)
    wrong = main != best
    variance = 1.0 - shares[rows, main]
    noise = 1.0 - probabilities[rows, best]
    return DomingosTerms(
        expected_loss=1.0 - agreement,
        main=main,
        best=best,
        bias=wrong.astype(np.float64),
        variance=variance,
        # c2 V and c1 N without their divisions, which are 0 / 0 where V or N is 0.
        net_variance=np.where(wrong, -share_of_best, variance),
        noise=noise,
        noise_effect=share_of_best * noise - agreement_elsewhere,
    )


def kohavi_wolpert_terms(labels: IntArray, probabilities: FloatArray) -> AdditiveTerms:
    """Decompose zero-one loss as Kohavi and Wolpert (1996) do.

    With ``p`` the probabilities of the classes and ``q`` how often each is predicted, the bias
    (squared) is ``1/2 sum (p - q)^2``, the variance ``1/2 (1 - sum q^2)`` and the noise
    ``1/2 (1 - sum p^2)``. They add up to ``P(prediction != y) = 1 - sum p q``.

    ``labels`` (R, n) and ``probabilities`` (n, C) are those of `domingos_terms`.

    >>> import numpy as np
    >>> terms = kohavi_wolpert_terms(np.array([[0], [1]]), np.array([[1.0, 0.0]]))
    >>> float(terms.bias[0]), float(terms.variance[0]), float(terms.expected_loss[0])
    (0.25, 0.25, 0.5)
    """
    shares = vote_shares(labels.T, None, probabilities.shape[1])
    return AdditiveTerms(
        expected_loss=1.0 - (shares * probabilities).sum(axis=1),
        bias=0.5 * ((probabilities - shares) ** 2).sum(axis=1),
        variance=0.5 * (1.0 - (shares**2).sum(axis=1)),
        noise=0.5 * (1.0 - (probabilities**2).sum(axis=1)),
    )


def _sum_of_squares(values: FloatArray) -> FloatArray:
    """Return squares, summed over all axes after runs and rows."""
    return (values**2).reshape(*values.shape[:2], -1).sum(axis=2)


def _first_of_the_highest(values: FloatArray) -> IntArray:
    """Return the first class whose value is the highest, or equal to it up to rounding."""
    return np.argmax(values >= values.max(axis=1, keepdims=True) - _TIE, axis=1)
