"""Tools that keep models in the format of skops are told which classes of ours a model holds."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from covey import FusionRegressor
from covey.persistence import trusted_types
from tests.persistence._helpers import X_NUMBERS, Y_NUMBERS, X, flock, y

skops_io = pytest.importorskip("skops.io")


@pytest.mark.parametrize("members", ["linear", ["linear", "svm_soft"]], ids=str)
def test_skops_makes_a_flock_again_by_the_types_that_are_named(members):
    model = flock(effort="fast", members=members).fit(X, y)
    again = skops_io.loads(skops_io.dumps(model), trusted=trusted_types(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


class Foreign(LinearRegression):
    """A class that is neither covey's nor scikit-learn's."""


def test_classes_of_others_are_not_named():
    model = FusionRegressor([Foreign()]).fit(X_NUMBERS, Y_NUMBERS)
    named = trusted_types(model)
    assert "covey.members._fusion.FusionRegressor" in named
    assert not any("Foreign" in name for name in named)
