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
