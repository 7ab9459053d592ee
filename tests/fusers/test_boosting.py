"""The rules of boosting itself: the last stage and the weighted median."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from covey import Predictions
from covey.fusers import LastStage, Median, WeightedMedian
from covey.utils.estimator_checks import FUSER_CHECKS


def numbers(*rows, **more):
    return Predictions(np.array(rows, dtype=float), kind="value", **more)


@pytest.mark.parametrize("check", FUSER_CHECKS, ids=lambda check: check.__name__)
def test_the_last_stage_keeps_the_contract_of_fusers(check):
    check(LastStage())


def test_importance_is_the_share_of_the_way():
    P = numbers([1, 4, 2, 2], [5, 5, 5, 5])
    assert_array_equal(LastStage().fuse(P), [2, 5])
    # From where the first member stands; where nothing moves, the last one decided.
    assert_allclose(LastStage().importance(P), [[0, 0.6, 0.4, 0], [0, 0, 0, 1]])
    assert_allclose(LastStage(0).importance(P), [[1 / 6, 3 / 6, 2 / 6, 0], [1, 0, 0, 0]])
    stages = [[[0.6, 0.4]], [[0.5, 0.5]], [[0.9, 0.1]]]
    assert_allclose(LastStage([0.2, 0.8]).importance(stages), [[4 / 9, 1 / 9, 4 / 9]])


def test_members_that_are_absent_correct_nothing():
    P = numbers([1, 4, 9, 2], [7, 3, 9, 9], available=[[1, 1, 0, 1], [0, 1, 0, 0]])
    assert_array_equal(LastStage(0).fuse(P), [2, 3])
    assert_allclose(LastStage(0).importance(P), [[1 / 6, 3 / 6, 0, 2 / 6], [0, 1, 0, 0]])
    assert_allclose(LastStage().importance(P), [[0, 0.6, 0, 0.4], [0, 1, 0, 0]])


def test_a_start_that_does_not_fit_is_refused():
    stages = [[[0.6, 0.4]], [[0.5, 0.5]]]
    with pytest.raises(ValueError, match="start must hold one number for each of the 2 classes"):
        LastStage([0.2, 0.3, 0.5]).fuse(stages)
    with pytest.raises(ValueError, match="start must hold one number, got an array of shape"):
        LastStage([1, 2]).fuse(numbers([1, 2]))


def test_weighted_median_by_definition():
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=(50, 7)), rng.uniform(0.1, 1, 7)
    available = rng.random((50, 7)) < 0.7
    available[:, 0] = True
    fused = WeightedMedian(weights).fuse(numbers(*values, available=available))
    for row, known, median in zip(values, available, fused, strict=True):
        row, weight = row[known], weights[known]
        enough = [x for x in row if weight[row <= x].sum() >= 0.5 * weight.sum()]
        assert median == min(enough)


def test_weighted_median_of_equal_weights_is_the_median_of_an_odd_number():
    values = np.random.default_rng(0).normal(size=(20, 5))
    P = numbers(*values)
    assert_array_equal(WeightedMedian().fuse(P), Median().fuse(P))
    assert_array_equal(WeightedMedian().importance(P), Median().importance(P))


def test_members_that_predict_the_median_share_by_weight():
    P = numbers([2, 1, 2, 9])
    assert_allclose(WeightedMedian([1, 1, 3, 1]).importance(P), [[0.25, 0, 0.75, 0]])
