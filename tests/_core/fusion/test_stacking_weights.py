"""Weights of a sum of members against general optimisers."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize, nnls

from covey._core.fusion.stacking_weights import log_weights, squared_weights

CONSTRAINTS = [(False, False), (False, True), (True, False), (True, True)]


def draw(seed, n_rows=60, n_members=5):
    rng = np.random.default_rng(seed)
    b = rng.normal(size=n_rows)
    A = b[:, None] * rng.uniform(-0.5, 1.2, n_members) + rng.normal(size=(n_rows, n_members))
    return A, b, rng.uniform(0.1, 2, n_rows)


def draw_true(seed, n_rows=80, n_members=5):
    rng = np.random.default_rng(seed)
    return rng.beta(rng.uniform(0.5, 4, n_members), 1.0, (n_rows, n_members)), rng.uniform(
        0.1, 2, n_rows
    )


def general_optimum(loss, gradient, n_members, nonnegative, sum_to_one):
    """SLSQP, a method that knows nothing of the problem."""
    plane = {"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(n_members)}
    return minimize(
        loss,
        np.full(n_members, 1 / n_members),
        jac=gradient,
        method="SLSQP",
        bounds=[(0, None)] * n_members if nonnegative else None,
        constraints=[plane] if sum_to_one else [],
        options={"ftol": 1e-16, "maxiter": 1000},
    ).x


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from(CONSTRAINTS), st.sampled_from([0.0, 0.03, 2.0]))
def test_squared_weights_are_the_general_optimum(seed, constraints, penalty):
    A, b, weight = draw(seed)
    share = weight / weight.sum()

    def loss(w):
        return share @ (A @ w - b) ** 2 + penalty * ((w - 1 / 5) ** 2).sum()

    def gradient(w):
        return 2 * A.T @ (share * (A @ w - b)) + 2 * penalty * (w - 1 / 5)

    expected = general_optimum(loss, gradient, 5, *constraints)
    found = squared_weights(A, b, weight, penalty, *constraints)
    assert_allclose(found, expected, atol=1e-6)
    assert loss(found) <= loss(expected) + 1e-12


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.03, 2.0]))
def test_log_weights_are_the_general_optimum(seed, penalty):
    true, weight = draw_true(seed)
    true = np.maximum(true, 1e-6)
    share = weight / weight.sum()

    def loss(w):
        return -share @ np.log(true @ w) + penalty * ((w - 1 / 5) ** 2).sum()

    def gradient(w):
        return -share @ (true / (true @ w)[:, None]) + 2 * penalty * (w - 1 / 5)

    expected = general_optimum(loss, gradient, 5, True, True)
    found = log_weights(true, weight, penalty)
    assert_allclose(found, expected, atol=1e-5)
    assert loss(found) <= loss(expected) + 1e-10
    # Where a weight is above zero the slope is least: no optimiser can do better. (Ten times
    # what the optimiser stops at.)
    slope = gradient(found)
    assert slope @ found - slope.min() < 1e-7


def test_log_weights_are_where_em_ends():
    true, weight = draw_true(3)
    share, w = weight / weight.sum(), np.full(5, 0.2)
    for _ in range(20000):
        w = w * (share @ (true / (true @ w)[:, None]))
    assert_allclose(log_weights(true, weight), w, atol=1e-4)


@pytest.mark.parametrize(("nonnegative", "sum_to_one"), CONSTRAINTS)
def test_an_infinite_penalty_is_the_mean(nonnegative, sum_to_one):
    A, b, weight = draw(0)
    found = squared_weights(A, b, weight, 1e10, nonnegative, sum_to_one)
    assert_allclose(found, 1 / 5, atol=1e-8)
    true, weight = draw_true(0)
    assert_allclose(log_weights(true, weight, 1e10), 1 / 5, atol=1e-8)


def test_a_larger_penalty_is_nearer_the_mean():
    A, b, weight = draw(1)
    true, _ = draw_true(1, n_rows=60)
    for found in (
        [squared_weights(A, b, weight, penalty) for penalty in (0, 0.1, 1, 10)],
        [log_weights(true, weight, penalty) for penalty in (0, 0.1, 1, 10)],
    ):
        distances = ((np.array(found) - 1 / 5) ** 2).sum(axis=1)
        assert (np.diff(distances) < 0).all()


def test_without_penalty_and_constraints_it_is_least_squares():
    A, b, _ = draw(2)
    expected = np.linalg.lstsq(A, b, rcond=None)[0]
    assert_allclose(squared_weights(A, b, np.ones(60), 0.0, False, False), expected, atol=1e-12)


def test_ridge_towards_the_mean_is_its_closed_form():
    A, b, weight = draw(3)
    share = weight / weight.sum()
    gram = (A.T * share) @ A + 0.4 * np.eye(5)
    expected = np.linalg.solve(gram, A.T @ (share * b) + 0.4 / 5)
    assert_allclose(squared_weights(A, b, weight, 0.4, False, False), expected, atol=1e-12)


def test_non_negative_is_nnls():
    for seed in range(5):
        A, b, _ = draw(seed)
        expected, _ = nnls(A, b)
        assert (expected == 0).any()
        assert_allclose(squared_weights(A, b, np.ones(60), 0.0, True, False), expected, atol=1e-12)


@pytest.mark.parametrize(("nonnegative", "sum_to_one"), CONSTRAINTS)
def test_weights_are_repetitions(nonnegative, sum_to_one):
    A, b, _ = draw(4)
    true, _ = draw_true(4, n_rows=60)
    times = np.random.default_rng(0).integers(0, 3, 60)
    assert_allclose(
        squared_weights(A, b, times.astype(float), 0.1, nonnegative, sum_to_one),
        squared_weights(
            np.repeat(A, times, axis=0),
            np.repeat(b, times),
            np.ones(times.sum()),
            0.1,
            nonnegative,
            sum_to_one,
        ),
        atol=1e-10,
    )
    assert_allclose(
        log_weights(true, times.astype(float), 0.1),
        log_weights(np.repeat(true, times, axis=0), np.ones(times.sum()), 0.1),
        atol=1e-8,
    )


def test_weights_that_sum_to_one_do_not_depend_on_unit_or_origin():
    A, b, weight = draw(5)
    for nonnegative in (True, False):
        expected = squared_weights(A, b, weight, 0.0, nonnegative)
        moved = squared_weights(1e6 * A + 1e7, 1e6 * b + 1e7, weight, 0.0, nonnegative)
        assert_allclose(moved, expected, atol=1e-7)


def test_extreme_cases_have_weights():
    b = np.array([1.0, 2.0, 3.0])
    perfect = np.column_stack([b, b])
    assert_array_equal(squared_weights(perfect, b, np.ones(3)), [0.5, 0.5])
    assert_allclose(squared_weights(perfect, b, np.ones(3), 0.0, False, False), [0.5, 0.5])
    assert_array_equal(squared_weights(b[:, None], b + 1, np.ones(3)), [1.0])
    # One row, more members than rows, members that repeat each other.
    few = squared_weights(np.array([[1.0, 3.0, 3.0]]), np.array([2.0]), np.ones(1))
    assert_allclose(few @ [1, 3, 3], 2)
    # No member thought the truth possible; one thought so once.
    assert_allclose(log_weights(np.zeros((4, 2)), np.ones(4)), 0.5)
    assert_allclose(log_weights(np.array([[0.0, 0.9], [0.0, 0.0]]), np.ones(2)), [0, 1], atol=1e-6)


def test_it_does_not_import_scikit_learn():
    script = "import covey._core.fusion.stacking_weights, sys; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
