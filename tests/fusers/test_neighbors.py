"""Distances that users measure."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from covey import FusionClassifier
from covey.fusers import DynamicSelection


@pytest.mark.parametrize(
    ("metric", "sentence"),
    [
        (lambda one, other: float("nan"), "finite and not negative, got nan for two rows"),
        (lambda one, other: -1.0, "finite and not negative, got -1.0"),
        (lambda one, other: "far", "metric must give a number for two rows: could not convert"),
        (lambda one: 0.0, "metric must give a number for two rows: .* takes 1 positional"),
    ],
)
def test_a_function_that_measures_no_distance_gets_one_sentence(metric, sentence):
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    model = FusionClassifier([GaussianNB()], DynamicSelection("ola", metric=metric), cv=2)
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, y).predict(X[:2])
