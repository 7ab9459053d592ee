"""Quantiles by counting, and those of a column that is here."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from covey._core.search.bases import Features, knots_by_sums, standardized_bases
from covey._core.search.block import SearchBlock
from tests._core.bases import quantile_knots
from tests._core.several import Several


def same_knots(X, weight, sizes, n_ramps=6):
    codes = np.zeros(len(X), dtype=int)
    rows = Several(X, codes, weight, sizes, 1)
    rows.broadcast(SearchBlock.set_weight_unit, rows.max(SearchBlock.largest_weight))
    found = knots_by_sums(rows, X.shape[1], n_ramps)
    unit = weight / weight.max()
    for column, knots in zip(X.T, found, strict=True):
        assert_array_equal(knots, quantile_knots(column, unit, n_ramps))


@pytest.mark.parametrize("sizes", [[200], [100, 100], [29] * 6 + [26], [3, 180, 17], [0, 200]])
@pytest.mark.parametrize("weighted", [False, True])
def test_knots_are_those_of_a_column_that_is_here(sizes, weighted):
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            rng.normal(size=200),
            rng.integers(0, 20, 200),  # values that many rows share
            rng.integers(-3, 4, 200),  # as many values as knots
            rng.integers(0, 2, 200),
            np.zeros(200),
            np.where(rng.random(200) < 0.9, 0.0, rng.normal(size=200)),
            rng.uniform(-1, 1, size=200) * 1e308,
            rng.normal(size=200) * 1e-310,  # below the least normal float
            np.arange(200) + 1e15,
            *rng.normal(size=(12, 200)),  # more than are kept sorted at once
        ]
    )
    weight = rng.uniform(0.1, 3, 200) if weighted else np.ones(200)
    weight[::7] = 0.0
    same_knots(X, weight, sizes)


@pytest.mark.parametrize("n_values", range(8, 40))
def test_neighbours_among_floats_are_told_apart(n_values):
    # Most rows are next to the greatest one, where the last step of a bisection ends.
    steps = np.append(np.arange(n_values), np.repeat(n_values - 1 - np.arange(4), n_values))
    column = 1.0 + np.finfo(float).eps * steps
    same_knots(column[:, None], np.ones(len(column)), [len(column)])


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 5)),
        min_size=1,
        max_size=40,
    ),
    st.integers(0, 40),
    st.integers(1, 7),
)
def test_knots_of_any_column(rows, cut, n_ramps):
    values, weight = (np.array(part, dtype=float) for part in zip(*rows, strict=True))
    weight[0] = 1.0
    cut = min(cut, len(values))
    same_knots(values[:, None], weight, [cut, len(values) - cut], n_ramps)


def bases_of(X, grouped=False):
    rows = Several(X, np.zeros(len(X), dtype=int), np.ones(len(X)), [len(X)], 1)
    rows.broadcast(SearchBlock.set_weight_unit, rows.max(SearchBlock.largest_weight))
    usable = X.std(axis=0) > 0
    scale = np.where(usable, X.std(axis=0), 1.0)
    unit = np.where(usable, np.arange(X.shape[1]), -1)
    return standardized_bases(rows, Features(X.mean(axis=0), scale, usable, unit, grouped), 6)


def test_columns_that_leave_together_are_not_multiplied():
    X = np.random.default_rng(0).normal(size=(60, 3))
    assert set(bases_of(X)) == {"features", "ramps", "products"}
    assert set(bases_of(X, grouped=True)) == {"features", "ramps"}


def test_constant_columns_do_not_decide_which_bases_there_are():
    X = np.random.default_rng(0).normal(size=(60, 3))
    wide = bases_of(np.hstack([X, np.zeros((60, 1_200))]))
    assert set(wide) == {"features", "ramps", "products"}
    assert wide["ramps"].usable.sum() == 3 + 3 * 6
    assert wide["products"].usable.sum() == 3 + 6


def test_a_product_that_is_constant_but_for_rounding_has_no_meaning():
    r = np.random.default_rng(0).uniform(0.5, 2, 50)
    X = np.column_stack([np.append(r, -r), np.append(1 / r, -1 / r)])
    products = bases_of(X)["products"]
    made_of = list(zip(products.basis.feature, products.basis.partner, strict=True))
    assert made_of == [(0, -1), (1, -1), (0, 0), (0, 1), (1, 1)]
    assert np.ptp(X[:, 0] * X[:, 1]) > 0
    assert products.usable.tolist() == [True, True, True, False, True]
