"""How well a class is ranked, beside slow versions and scikit-learn's."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from covey.inspection._ranking import (
    area_under_curve,
    at_alarms,
    at_threshold,
    ranking,
    threshold_curve,
    threshold_finding,
)

ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=2, max_size=40).filter(
    lambda rows: 0 < sum(of_class for of_class, _ in rows) < len(rows)
)


def columns(rows):
    y, p = (np.array(column) for column in zip(*rows, strict=True))
    return y, p / 5


@settings(max_examples=50)
@given(ROWS)
def test_area_and_precision_are_scikit_learns(rows):
    y, p = columns(rows)
    found = ranking(y, p, True)
    assert found.area.value == pytest.approx(roc_auc_score(y, p))
    assert found.average_precision == pytest.approx(average_precision_score(y, p))
    assert 0 <= found.area.low <= found.area.value + 1e-12 <= found.area.high + 2e-12 <= 1 + 3e-12


@settings(max_examples=50)
@given(ROWS, st.floats(0, 1))
def test_counts_at_a_threshold_are_those_of_a_loop(rows, threshold):
    y, p = columns(rows)
    found, curve = at_threshold(y, p, True, threshold), threshold_curve(y, p, True, [threshold])
    called = [of_class for of_class, chance in zip(y, p, strict=True) if chance >= threshold]
    assert (found.n_alarms, found.n_found) == (len(called), sum(called))
    assert (curve.alarms[0], curve.found[0]) == (len(called), sum(called))
    assert (found.right is None) == (not called)
    assert found.found.value == pytest.approx(sum(called) / y.sum())


@settings(max_examples=50)
@given(ROWS, st.floats(0.01, 1))
def test_threshold_that_finds_a_share_makes_no_more_alarms_than_it_must(rows, share):
    y, p = columns(rows)
    enough = [t for t in np.unique(p) if at_threshold(y, p, True, t).found.value >= share - 1e-9]
    best = at_threshold(y, p, True, max(enough))
    for weight in (None, np.full(len(y), 0.3)):
        found = at_threshold(y, p, True, threshold_finding(y, p, True, share, weight))
        assert (found.n_alarms, found.n_found) == (best.n_alarms, best.n_found)


def test_rows_of_equal_probability_are_called_as_on_average_over_orders():
    y, p = np.array([1, 0, 1, 0, 0]), np.array([0.9, 0.5, 0.5, 0.5, 0.1])
    for n_alarms in range(1, 6):
        of_orders = []
        for order in permutations(range(5)):
            first = sorted(order, key=lambda row: -p[row])[:n_alarms]
            of_orders.append(sum(y[row] for row in first))
        found = at_alarms(y, p, 1, n_alarms)
        assert found.n_found == pytest.approx(np.mean(of_orders))
        assert found.n_alarms == n_alarms


def test_interval_of_the_area_covers_the_truth():
    truth, covered = 0.760250, 0  # of two normal distributions that are one apart
    for seed in range(300):
        rng = np.random.default_rng(seed)
        y = np.arange(150) < 12
        area = area_under_curve(y, rng.normal(size=150) + y, True)
        covered += area.low <= truth <= area.high
    assert 0.92 <= covered / 300 <= 0.99


def test_copies_in_groups_leave_the_interval_of_the_area_as_it_was():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 4 == 0
    p = rng.normal(size=60) + y
    once = area_under_curve(y, p, True)
    copies = area_under_curve(np.tile(y, 5), np.tile(p, 5), True, np.tile(np.arange(60), 5))
    np.testing.assert_allclose(copies, once)
    alone = area_under_curve(np.tile(y, 5), np.tile(p, 5), True)
    assert alone.high - alone.low < 0.6 * (once.high - once.low)


def test_a_ranking_of_few_rows_promises_nothing():
    y, p = np.arange(50) == 7, np.linspace(0, 1, 50)
    assert area_under_curve(y, p, True)[1:] == (0, 1)
    perfect = area_under_curve(np.arange(50) >= 46, p, True)
    assert perfect.value == 1
    assert perfect.low < 0.5
    assert ranking(y, p, "never") is None


def test_constant_probabilities_do_not_beat_a_guess():
    assert not ranking(np.arange(100) % 10 == 0, np.full(100, 0.1), True).area.low > 0.5
