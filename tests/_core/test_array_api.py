"""The formulas keep to the array API standard, so that any library that has it can run them.

`array_api_strict` refuses all that is not in the standard. (The loops around these formulas index
arrays and write into buffers as NumPy, CuPy and PyTorch do; `make test-torch` runs them.)
"""

import array_api_strict as strict
import numpy as np
import pytest

from covey._core.algorithm1.trainer import beats, metropolis
from covey._core.losses import ValueLoss
from covey._core.softmax_linear import log_softmax

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(3, 4, 50))  # classes, members or runs, rows


def assert_same(function, *arrays):
    """The same result from NumPy's arrays and from strict ones."""
    expected = function(*(array.copy() for array in arrays))
    found = function(*(strict.asarray(array.copy()) for array in arrays))
    assert type(found).__module__.startswith("array_api_strict")
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-14)


def test_log_softmax():
    assert_same(log_softmax, LOGITS)


@pytest.mark.parametrize("name", ["squared", "huber", "quantile"])
@pytest.mark.parametrize("what", ["value", "slope"])
def test_losses_of_values(name, what):
    loss = ValueLoss(name, 0.7, quantile=0.3, band=0.1)
    assert_same(getattr(loss, what), RNG.normal(size=(4, 50)))


def test_who_beats_whom():
    one, other = RNG.random((2, 20))
    assert_same(lambda a, b: beats(a, b, 0.1), one, other)


def test_metropolis():
    flipped, plain, mean_weight, draw = RNG.random((4, 20))
    assert_same(
        lambda *arrays: metropolis(*arrays[:3], 0.01, 3, arrays[3]),
        flipped,
        plain,
        mean_weight,
        draw,
    )
