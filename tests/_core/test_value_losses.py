import numpy as np
import pytest
from numpy.testing import assert_allclose

from covey._core.losses import ValueLoss, weighted_quantile
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


@pytest.mark.parametrize("share", [0.1, 0.5, 0.83, 1.0])
def test_a_weight_of_two_is_a_value_given_twice(share):
    rng = np.random.default_rng(0)
    values, counts = rng.normal(size=40), rng.integers(0, 4, 40)
    repeated = np.repeat(values, counts)
    expected = np.quantile(repeated, share, method="inverted_cdf")
    assert weighted_quantile(values, counts.astype(float), share) == expected


POWERED = [
    ValueLoss("poisson"),
    ValueLoss("gamma"),
    ValueLoss("tweedie", 1.5),
    ValueLoss("tweedie", 1.01),
]


@pytest.mark.parametrize("loss", POWERED, ids=str)
def test_losses_of_logarithms_are_half_the_deviance_and_slopes_their_stencils(loss):
    rng = np.random.default_rng(0)
    y, f = rng.gamma(1.0, 2.0, 60), rng.normal(size=60)
    if loss.power < 2:
        y[::3] = 0.0
    expected = [literal.half_deviance(a, np.exp(b), loss.power) for a, b in zip(y, f, strict=True)]
    assert_allclose(loss.value(y, f), expected, atol=1e-12)
    assert_allclose(loss.value(y), [literal.half_deviance(a, 1.0, loss.power) for a in y])
    stencil = (loss.value(y, f + 1e-6) - loss.value(y, f - 1e-6)) / 2e-6
    assert_allclose(loss.slope(y, f), stencil, atol=1e-7)


@pytest.mark.parametrize("loss", POWERED, ids=str)
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_losses_of_logarithms_are_finite_and_convex_far_away(loss, precision):
    y, f = np.array([1.0, 50.0], dtype=precision), np.linspace(-200, 200, 801, dtype=precision)
    value, slope = loss.value(y[:, None], f[None]), loss.slope(y[:, None], f[None])
    assert value.dtype == slope.dtype == precision
    assert np.isfinite(value).all()
    assert (np.diff(slope, axis=1) >= 0).all()
