"""Bounds of scores are exceeded as often as they say."""

import numpy as np
import pytest
from scipy.stats import beta

from covey._core.quantiles import effective_weights, least_accuracy, upper_bound


@pytest.mark.parametrize(("n_rows", "level"), [(9, 0.9), (10, 0.9), (19, 0.75), (40, 0.5)])
def test_each_of_n_rows_and_a_new_one_is_covered_exactly_as_often_as_it_must_be(n_rows, level):
    scores = np.random.default_rng(0).normal(size=n_rows + 1)
    # Every row in turn is the new one, as exchangeability has it.
    covered = [
        score <= upper_bound(np.delete(scores, place), np.ones(n_rows), level)
        for place, score in enumerate(scores)
    ]
    assert np.sum(covered) == np.ceil(round((n_rows + 1) * level, 9))


def test_too_few_rows_bound_nothing():
    assert upper_bound(np.arange(8.0), np.ones(8), 0.9) == np.inf
    assert upper_bound(np.arange(9.0), np.ones(9), 0.9) == 8.0


def test_rounding_moves_no_bound():
    """0.07 * 100 is more than 7 in floats."""
    assert upper_bound(np.arange(99.0), np.ones(99), 0.07) == 6.0


def test_a_weight_of_two_is_a_row_given_twice():
    scores, weight = np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 4.0])
    for level in (0.1, 0.3, 0.5, 0.7, 0.8):
        twice = upper_bound(np.repeat(scores, weight.astype(int)), np.ones(7), level)
        assert upper_bound(scores, weight, level) == twice


def test_effective_weights_do_not_depend_on_their_unit():
    weight = np.array([1.0, 1.0, 2.0])
    np.testing.assert_allclose(effective_weights(weight).sum(), 16 / 6)
    np.testing.assert_allclose(effective_weights(1e90 * weight), effective_weights(weight))
    np.testing.assert_allclose(effective_weights(np.full(7, 1e-90)), np.ones(7))
    assert (effective_weights(np.array([1e-300, 1e90])) > 0).all()


def test_the_least_accuracy_is_the_limit_of_clopper_and_pearson():
    assert least_accuracy(0, 10, 0.05) == 0.0
    np.testing.assert_allclose(least_accuracy(59, 59, 0.05), 0.05 ** (1 / 59))
    np.testing.assert_allclose(least_accuracy(90, 100, 0.025), beta.ppf(0.025, 90, 11))
