"""Out-of-bag sums against literal loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from covey._core.fusion.out_of_bag import (
    held_out_rows,
    mean_in_order,
    median_of_available,
    outside_bags,
    votes_of_available,
    with_means_of_available,
)


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    values = rng.dirichlet(np.ones(3), size=(40, 7))
    spoken = rng.random((40, 7)) < 0.4
    spoken[0] = False
    spoken[1] = True
    return values, spoken


def literal(values, spoken, settle):
    """Row by row, of those who speak; NaN where nobody does."""
    rows = []
    for said, who in zip(values, spoken, strict=True):
        heard = [said[k] for k in range(len(said)) if who[k]]
        rows.append(settle(heard) if heard else np.full(values.shape[2], np.nan))
    return np.array(rows)


def test_outside_a_bag_is_what_was_never_drawn():
    outside = outside_bags([np.array([0, 0, 3]), np.array([1, 2, 3])], 4)
    assert_array_equal(outside, [[0, 1], [1, 0], [1, 0], [0, 0]])


def test_mean_is_the_literal_one_to_the_bit(case):
    values, spoken = case

    def settle(heard):
        total = np.zeros(values.shape[2])
        for said in heard:
            total = total + said
        return total / len(heard)

    assert_array_equal(mean_in_order(values, spoken), literal(values, spoken, settle))
    everyone = np.ones_like(spoken)
    assert_array_equal(mean_in_order(values), literal(values, everyone, settle))


def test_median_is_the_literal_one(case):
    values, spoken = case
    expected = literal(values, spoken, lambda heard: np.median(heard, axis=0))
    assert_allclose(median_of_available(values, spoken), expected, rtol=1e-15)
    assert np.isnan(median_of_available(values, spoken)[0]).all()


def test_votes_are_counted_among_those_who_speak(case):
    values, spoken = case
    labels = values.argmax(axis=2)

    def settle(heard):
        return np.bincount([said.argmax() for said in heard], minlength=3) / len(heard)

    assert_allclose(votes_of_available(labels, spoken, 3), literal(values, spoken, settle))


def test_what_a_silent_member_would_say_does_not_matter(case):
    values, spoken = case
    loud = np.where(spoken[:, :, None], values, 1e6)
    labels = np.where(spoken, 1, 2)
    for function in (mean_in_order, median_of_available):
        assert_array_equal(function(values, spoken), function(loud, spoken))
    shares = votes_of_available(labels, spoken, 3)[1:]
    assert_array_equal(shares[spoken[1:].any(axis=1)][:, 1], 1.0)


def test_the_mean_of_the_others_stands_in(case):
    values, spoken = case
    spoken[~spoken.any(axis=1), 0] = True
    filled = with_means_of_available(values, spoken)
    assert_array_equal(filled[spoken], values[spoken])
    for row, member in np.argwhere(~spoken):
        assert_allclose(filled[row, member], values[row][spoken[row]].mean(axis=0))


def test_each_class_gives_its_share_and_keeps_a_row():
    codes = np.repeat([0, 1, 2, 3], [10, 3, 2, 1])
    weight = np.ones(16)
    weight[0] = 0
    draws = np.random.default_rng(0).random(16)
    held_out = held_out_rows(codes, weight, draws, 0.3)
    assert_array_equal(np.bincount(codes[held_out], minlength=4), [3, 1, 1, 0])
    assert not held_out[0]
    # The lowest draws of a class are those held out.
    assert draws[1:10][held_out[1:10]].max() < draws[1:10][~held_out[1:10]].min()
    greedy = held_out_rows(codes, weight, draws, 0.99)
    assert_array_equal(np.bincount(codes[greedy], minlength=4), [8, 2, 1, 0])
