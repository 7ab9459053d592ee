"""Shapley values against the literal mean over all orders."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from covey._core.inspection import contributions as module
from covey._core.inspection.contributions import differing, same_as_all, shapley


def contributions(predict, rows, background, units=None, looked_at=None):
    """Shapley values of rows (n, P) against others (R, P), whose numbers make up units (P,)."""
    units = np.arange(rows.shape[1]) if units is None else units
    n_units = int(units.max()) + 1 if looked_at is None else len(looked_at)

    def value(which, beside, coalitions):
        return predict(np.where(coalitions[:, units], rows[which], background[beside]))

    differs = differing(same_as_all(rows, background), units, n_units)
    if looked_at is not None:
        differs &= looked_at
    return shapley(value, differs, len(background), rows.shape[1])


def literal(predict, row, background, units):
    """What each unit adds when it joins, averaged over orders of the units and other rows."""
    n_units = units.max() + 1
    added = np.zeros((n_units, predict(row[None]).shape[1]))
    orders = list(product(permutations(range(n_units)), background))
    for order, other in orders:
        mixed = other.copy()
        before = predict(mixed[None])[0]
        for unit in order:
            mixed[units == unit] = row[units == unit]
            after = predict(mixed[None])[0]
            added[unit] += after - before
            before = after
    return added / len(orders)


def bent(seed, width, n_classes=3):
    """A smooth function of rows with products of columns in it."""
    rng = np.random.default_rng(seed)
    slopes = rng.normal(size=(width, n_classes))
    twice = rng.normal(size=n_classes)

    def predict(rows):
        score = rows @ slopes + np.outer(rows[:, 0] * rows[:, -1], twice)
        score = np.exp(score - score.max(axis=1, keepdims=True))
        return score / score.sum(axis=1, keepdims=True)

    return predict


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), n_units=st.integers(1, 5), n_others=st.integers(1, 4))
def test_all_coalitions_give_the_literal_mean_over_orders(seed, n_units, n_others):
    rng = np.random.default_rng(seed)
    units = np.concatenate([np.arange(n_units), rng.integers(0, n_units, 2)])
    X, typical = rng.normal(size=(3, len(units))), rng.normal(size=(n_others, len(units)))
    typical[:, units == 0] = X[1, units == 0]
    predict = bent(seed, len(units))
    found = contributions(predict, X, typical, units)
    for row, values in zip(X, found.values, strict=True):
        assert_allclose(values, literal(predict, row, typical, units), atol=1e-12)
    assert_array_equal(found.values[1, 0], 0.0)
    assert_array_equal(found.standard_error, 0.0)


@settings(max_examples=10)
@given(seed=st.integers(0, 1000), width=st.integers(11, 25), n_others=st.integers(1, 20))
def test_drawn_orders_add_up_to_rounding_and_depend_on_the_row_alone(seed, width, n_others):
    rng = np.random.default_rng(seed)
    X, typical = rng.normal(size=(6, width)), rng.normal(size=(n_others, width))
    X[2, 3], typical[:, 3], predict = 0.0, 0.0, bent(seed, width)
    found = contributions(predict, X, typical)
    assert_allclose(found.baseline + found.values.sum(axis=1), found.prediction, atol=1e-12)
    assert_array_equal(found.values[2, 3], 0.0)
    again = contributions(predict, X[::-1], typical)
    assert_allclose(again.values[::-1], found.values, atol=1e-12)
    alone = contributions(predict, X[4:5], typical)
    assert_allclose(alone.values[0], found.values[4], atol=1e-12)


@pytest.mark.parametrize("n_others", [1, 3, 16])
def test_drawn_orders_are_within_a_few_standard_errors_of_all_coalitions(n_others, monkeypatch):
    rng = np.random.default_rng(0)
    X, typical, predict = rng.normal(size=(20, 8)), rng.normal(size=(n_others, 8)), bent(0, 8)
    monkeypatch.setattr(module, "MOST_EXACT", 1 << 12)
    exact = contributions(predict, X, typical).values
    monkeypatch.setattr(module, "MOST_EXACT", 0)
    drawn = contributions(predict, X, typical)
    assert drawn.standard_error.max() > 0
    distance = np.abs(drawn.values - exact)
    # Their size is about right, and hardly one of the 480 is farther than three.
    assert (distance <= 3 * drawn.standard_error + 1e-9).mean() > 0.97
    squares = (distance**2).sum() / (drawn.standard_error**2).sum()
    assert 0.3 < squares < 3


def test_of_a_sum_each_column_contributes_its_own_term_and_few_orders_are_drawn():
    rng = np.random.default_rng(1)
    slopes, X, typical = rng.normal(size=30), rng.normal(size=(4, 30)), rng.normal(size=(4, 30))
    counted = []

    def predict(rows):
        counted.append(len(rows))
        return (rows @ slopes)[:, None] + 3.0

    found = contributions(predict, X, typical)
    assert_allclose(found.values[..., 0], slopes * (X - typical.mean(axis=0)), atol=1e-12)
    assert sum(counted) <= 4 * (2 * module.FEWEST_PAIRS * 30 + 1) + 4


def test_of_products_of_two_an_order_and_its_reverse_give_each_column_one_half():
    """What joins before a column in one order joins after it in the other."""
    rng = np.random.default_rng(4)
    twice = np.triu(rng.normal(size=(20, 20)))
    X, counted = rng.normal(size=(3, 20)), []

    def predict(rows):
        counted.append(len(rows))
        return np.einsum("ni,ij,nj->n", rows, twice, rows)[:, None]

    found = contributions(predict, X, np.zeros((1, 20)))
    halves = X * (X @ (twice + twice.T)) / 2
    assert_allclose(found.values[..., 0], halves, atol=1e-11)
    assert_allclose(found.standard_error, 0.0, atol=1e-6)
    assert sum(counted) == 3 * (2 * module.FEWEST_PAIRS * 19 + 1) + 1


@pytest.mark.parametrize(("bend", "n_pairs"), [(0.05, 8), (0.5, 64), (1.5, 128)])
def test_orders_are_drawn_until_the_errors_are_small_or_there_are_so_many(bend, n_pairs):
    row, counted = np.random.default_rng(5).normal(size=(1, 16)), []

    def predict(rows):
        counted.append(len(rows))
        return np.exp(bend * rows.sum(axis=1, keepdims=True))

    found = contributions(predict, row, np.zeros((1, 16)))
    assert sum(counted) == n_pairs * 2 * 15 + 2
    small = module.SMALL_ERROR * np.abs(found.values).sum()
    assert (found.standard_error.max() <= small) == (n_pairs < 128)


def test_errors_need_not_be_smaller_than_is_asked_for_and_wide_rows_have_fewer_orders():
    counted = []

    def value(rows, beside, coalitions):
        counted.append(len(rows))
        return np.exp(1.5 * coalitions @ np.sin(np.arange(coalitions.shape[1])))[:, None]

    for width, small, n_pairs in ((16, 0.0, 128), (16, 1e9, 8), (800, 0.0, (1 << 15) // 1600)):
        counted.clear()
        shapley(value, np.ones((1, width), dtype=bool), small=small)
        assert sum(counted) == n_pairs * 2 * (width - 1) + 2


def test_columns_that_are_not_looked_at_get_nothing_and_cost_nothing():
    X, typical = np.random.default_rng(2).normal(size=(2, 40)), np.zeros((1, 40))
    counted = []

    def predict(rows):
        counted.append(len(rows))
        return np.tanh(rows[:, :1] * rows[:, 1:2] + rows[:, :1])

    looked_at = np.arange(40) < 2
    found = contributions(predict, X, typical, looked_at=looked_at)
    assert_array_equal(found.values[:, 2:], 0.0)
    assert sum(counted) == 2 + 1 + 2 * 4
    assert_allclose(found.baseline + found.values.sum(axis=1), found.prediction, atol=1e-12)


def test_columns_that_are_alike_share_equally():
    X = np.array([[1.0, 1.0, 2.0], [0.5, 0.5, -1.0]])
    found = contributions(
        lambda rows: np.exp(rows.sum(axis=1, keepdims=True)), X, np.zeros((1, 3))
    )
    assert_allclose(found.values[:, 0], found.values[:, 1])


def test_gaps_that_are_typical_do_not_count_as_a_difference():
    X, typical = np.array([[np.nan, 1.0]]), np.array([[np.nan, 0.0]])
    found = contributions(lambda rows: np.nansum(rows, axis=1)[:, None], X, typical)
    assert_allclose(found.values[0, :, 0], [0.0, 1.0])


def test_memory_is_bounded_whatever_the_number_of_rows(monkeypatch):
    monkeypatch.setattr(module, "_COALITIONS_AT_ONCE", 64)
    largest = []

    def predict(rows):
        largest.append(len(rows))
        return rows.sum(axis=1, keepdims=True) ** 2

    X = np.random.default_rng(3).normal(size=(50, 9))
    X[::2, :5] = 0.0
    found = contributions(predict, X, np.zeros((1, 9)))
    assert max(largest) <= 64
    assert_allclose(found.values.sum(axis=1), found.prediction, atol=1e-9)


@pytest.mark.parametrize("width", [4, 20])
def test_a_typical_row_has_no_contributions(width):
    typical = np.arange(width, dtype=float)
    found = contributions(bent(0, width), typical[None], typical[None])
    assert_array_equal(found.values, 0.0)
    assert_array_equal(found.prediction[0], found.baseline)
