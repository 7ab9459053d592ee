"""Intervals against published numbers and against each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import r2_score

from covey._intervals import (
    accuracy_interval,
    holm,
    mean_interval,
    mean_interval_from_sums,
    mean_p_value,
    proportion_interval,
    r2_interval,
)


def test_the_interval_of_a_proportion_is_clopper_and_pearsons():
    # Newcombe (1998), table I, method 5: 81 of 263, 15 of 148, 0 of 20 and 1 of 29.
    for n_successes, n_trials, limits in (
        (81, 263, (0.2527, 0.3676)),
        (15, 148, (0.0578, 0.1617)),
        (0, 20, (0.0, 0.1684)),
        (1, 29, (0.0009, 0.1776)),
    ):
        value, *found = proportion_interval(n_successes, n_trials)
        assert value == n_successes / n_trials
        assert tuple(np.round(found, 4)) == limits


def test_a_one_sided_limit_spends_all_of_the_risk_on_one_side():
    two_sided = proportion_interval(7, 50, 0.95)
    upper = proportion_interval(7, 50, 0.975, "less")
    lower = proportion_interval(7, 50, 0.975, "greater")
    assert (upper.low, lower.high) == (0.0, 1.0)
    assert upper.high == pytest.approx(two_sided.high)
    assert lower.low == pytest.approx(two_sided.low)


@settings(max_examples=200)
@given(st.integers(1, 200), st.data(), st.floats(1e-6, 0.4))
def test_each_limit_is_where_its_tail_is_half_of_the_risk(n, data, tail):
    errors = data.draw(st.integers(0, n))
    _, low, high = proportion_interval(errors, n, 1 - 2 * tail)
    # SciPy finds a limit to 2e-12, and a tail changes by at most n times as much.
    wanted = pytest.approx(tail, rel=1e-6, abs=4e-12 * n)
    if errors == 0:
        assert low == 0
    else:
        assert stats.binom.sf(errors - 1, n, low) == wanted
    if errors == n:
        assert high == 1
    else:
        assert stats.binom.cdf(errors, n, high) == wanted


def test_limits_of_no_and_of_only_successes_by_hand():
    # No success in n: (1 - p)^n is the tail. Only successes: p^n is.
    assert proportion_interval(0, 10, 0.9) == pytest.approx((0, 0, 1 - 0.05**0.1))
    assert proportion_interval(10, 10, 0.9) == pytest.approx((1, 0.05**0.1, 1))


def test_an_accuracy_is_a_proportion():
    correct = np.repeat([1.0, 0.0], [81, 182])
    assert accuracy_interval(correct) == proportion_interval(81, 263)


def test_interval_over_groups_does_not_shrink_when_rows_are_repeated():
    rng = np.random.default_rng(0)
    correct = (rng.random(20) < 0.7).astype(float)
    once = accuracy_interval(correct, np.arange(20))
    often = accuracy_interval(np.repeat(correct, 50), np.repeat(np.arange(20), 50))
    np.testing.assert_allclose(once, often)
    assert np.ptp(accuracy_interval(np.repeat(correct, 50))[1:]) < np.ptp(often[1:]) / 4


def test_interval_over_groups_that_are_all_correct_is_that_of_as_many_rows():
    once = accuracy_interval(np.ones(20))
    assert accuracy_interval(np.ones(60), np.repeat(np.arange(20), 3)) == once
    assert once.low < 0.9
    assert accuracy_interval(np.ones(60), np.zeros(60)) == (1.0, 0.0, 1.0)


def test_the_interval_of_a_mean_is_students():
    values = np.random.default_rng(0).normal(size=30)
    wanted = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    found = mean_interval(values)
    assert found[1:] == pytest.approx((wanted.low, wanted.high))
    excess = values - values.mean()
    assert mean_interval_from_sums(values.mean(), np.sum(excess**2), 30, 30) == pytest.approx(
        found
    )


def test_r2_and_its_interval():
    rng = np.random.default_rng(0)
    y = rng.normal(1000.0, 1.0, 300)
    predicted = y + rng.normal(0, 0.5, 300)
    value, low, high = r2_interval(y, (predicted - y) ** 2)
    assert value == pytest.approx(r2_score(y, predicted))
    assert low < value < high < low + 0.2


def test_chances_of_means_are_those_of_student_s_test():
    values = np.random.default_rng(0).normal(0.3, 1.0, 40)
    assert mean_p_value(values) == pytest.approx(stats.ttest_1samp(values, 0).pvalue)
    # Rows that are repeated in groups tell no more than once.
    repeated, groups = np.repeat(values, 3), np.repeat(np.arange(40), 3)
    assert mean_p_value(repeated, groups) == pytest.approx(mean_p_value(values))
    assert mean_p_value(np.zeros(5)) == 1.0
    assert mean_p_value(np.ones(5)) == 0.0


def test_holm_is_his_procedure_step_by_step():
    p_values = np.random.default_rng(0).uniform(0, 0.1, 12)
    for level in (0.01, 0.05, 0.2):
        rejected = np.zeros(12, dtype=bool)
        for step, one in enumerate(np.argsort(p_values)):
            if p_values[one] > level / (12 - step):
                break
            rejected[one] = True
        np.testing.assert_array_equal(holm(p_values) <= level, rejected)
