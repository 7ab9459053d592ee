import numpy as np
import pytest
from numpy.testing import assert_allclose

from covey._core.value_losses import ValueLoss, doubt_weights, trust, weighted_quantile
from tests._core import literal_regression as literal

LOSSES = [
    ValueLoss("squared"),
    ValueLoss("huber", threshold=0.7),
    ValueLoss("quantile", quantile=0.2),
    ValueLoss("quantile", quantile=0.9),
    ValueLoss("quantile", quantile=0.3, band=0.2),
]
ERRORS = np.concatenate([np.linspace(-3, 3, 121), np.linspace(-0.06, 0.06, 25) + 1e-4])


def named(loss):
    return {"name": loss.name, "threshold": loss.threshold, "q": loss.quantile, "band": loss.band}


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_losses_are_the_literal_ones_and_slopes_their_stencils(loss):
    assert_allclose(loss.value(ERRORS), [literal.loss(e, **named(loss)) for e in ERRORS])
    # By what is said, which the error falls with.
    step = 1e-6
    stencil = (loss.value(ERRORS - step) - loss.value(ERRORS + step)) / (2 * step)
    assert_allclose(loss.slope(ERRORS), stencil, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_no_slope_changes_faster_than_the_curvature(loss):
    at = np.sort(ERRORS)
    change = np.abs(np.diff(loss.slope(at))) / np.diff(at)
    assert change.max() <= loss.curvature * (1 + 1e-6)
    assert change.max() > 0.5 * loss.curvature


def test_trust_does_not_change_with_the_unit_and_falls_with_the_loss():
    loss = np.random.default_rng(0).uniform(0, 2, (2, 30))
    weight = np.ones((2, 30))
    assert_allclose(trust(loss, weight), trust(1e6 * loss, weight))
    assert (np.diff(trust(np.sort(loss, axis=1), weight), axis=1) < 0).all()
    assert_allclose(trust(np.zeros((1, 3)), np.ones((1, 3))), 1)


def test_robust_trust_is_not_moved_by_an_outlier():
    loss = np.random.default_rng(0).exponential(0.3, (2, 400))
    weight = np.random.default_rng(1).uniform(0, 1, (2, 400))
    calm = trust(loss, weight, robust=True)
    assert_allclose(calm, trust(loss, weight), atol=0.05)
    loss[0, 7] = 1e9
    moved = trust(loss, weight, robust=True)
    assert moved[0, 7] == 0
    assert_allclose(np.delete(moved, 7, axis=1), np.delete(calm, 7, axis=1), atol=0.01)
    # Where most rows are without loss, the mean is all there is.
    loss = np.array([[0.0, 0.0, 3.0]])
    assert_allclose(trust(loss, np.ones((1, 3)), robust=True), [[1, 1, np.exp(-3)]])


def test_doubt_is_one_minus_the_mean_trust_and_never_nothing():
    base = np.ones((1, 3))
    assert_allclose(doubt_weights(np.zeros((1, 3)), 0, base), 1)
    assert_allclose(doubt_weights(np.array([[0.5, 2.0, 1.0]]), 2, base), [[0.75, 0, 0.5]])
    assert_allclose(doubt_weights(np.full((1, 3), 2.0), 2, base), 1)
    # A row that weighs nothing has no say in whether something is left to learn.
    base = np.array([[1.0, 1.0, 0.0]])
    assert_allclose(doubt_weights(np.array([[2.0, 2.0, 0.5]]), 2, base), 1)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.83, 1.0])
def test_a_weight_of_two_is_a_value_given_twice(share):
    rng = np.random.default_rng(0)
    values, counts = rng.normal(size=40), rng.integers(0, 4, 40)
    repeated = np.repeat(values, counts)
    expected = np.quantile(repeated, share, method="inverted_cdf")
    assert weighted_quantile(values, counts.astype(float), share) == expected
