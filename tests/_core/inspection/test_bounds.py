"""Bounds: inverses against what they invert, exact limits against the binomial, by hand."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import stats

from covey._core.inspection import bounds as core

CHANCES = st.floats(0, 1)


@settings(max_examples=300)
@given(CHANCES, st.floats(1e-6, 5))
@example(0.0, 0.1)
@example(1.0, 0.1)
@example(0.5, 1e-6)
def test_inverses_of_the_divergence_give_it_back(q, budget):
    high, low = core.highest_chance(q, budget), core.lowest_chance(q, budget)
    assert 0 <= low <= q <= high <= 1
    # Within 1e-9 of the answer, on the safe side: a little nearer the budget still holds.
    for found, end, inwards in ((high, 1.0, -1e-9), (low, 0.0, 1e-9)):
        if found == end:
            assert core.binary_divergence(q, end + inwards) <= budget
        else:
            assert core.binary_divergence(q, found) >= budget * (1 - 1e-9)
            assert core.binary_divergence(q, found + inwards) <= budget
    if 1e-3 < q < 1 - 1e-3 and high < 1 - 1e-3 and low > 1e-3:
        assert core.binary_divergence(q, high) == pytest.approx(budget, abs=1e-9)
        assert core.binary_divergence(q, low) == pytest.approx(budget, abs=1e-9)


def test_inverses_of_the_divergence_by_hand():
    # kl(0 || p) = -ln(1 - p), kl(1 || p) = -ln(p).
    assert core.highest_chance(0.0, 0.3) == pytest.approx(1 - math.exp(-0.3), abs=1e-12)
    assert core.lowest_chance(1.0, 0.3) == pytest.approx(math.exp(-0.3), abs=1e-12)
    assert core.lowest_chance(0.0, 0.3) == 0
    assert core.highest_chance(1.0, 0.3) == 1
    # kl(1/2 || 1/4) = ln(2) / 2 + ln(2/3) / 2 = ln(4/3) / 2, and the same for 3/4.
    assert core.highest_chance(0.5, math.log(4 / 3) / 2) == pytest.approx(0.75, abs=1e-12)
    assert core.lowest_chance(0.5, math.log(4 / 3) / 2) == pytest.approx(0.25, abs=1e-12)


def test_divergence_is_zero_for_equals_and_infinite_for_the_impossible():
    assert core.binary_divergence(0.3, 0.3) == 0
    assert core.binary_divergence(0.0, 0.0) == 0
    assert core.binary_divergence(0.3, 0.0) == math.inf
    assert core.binary_divergence(0.3, 1.0) == math.inf


def test_divergence_of_weights_by_hand():
    # 3/4 ln(3/2) + 1/4 ln(1/2).
    found = core.weight_divergence(np.array([0.75, 0.25]), np.array([0.5, 0.5]))
    assert found == pytest.approx(0.75 * math.log(1.5) - 0.25 * math.log(2))
    assert core.weight_divergence(np.array([1.0, 0.0]), np.full(2, 0.5)) == pytest.approx(
        math.log(2)
    )
    assert core.weight_divergence(np.array([0.5, 0.5]), np.array([1.0, 0.0])) == math.inf


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 100, 1000])
def test_the_budget_covers_what_it_must(n):
    # The theorem needs sum_k Binomial(k; n, k/n) for its 2 sqrt(n).
    k = np.arange(n + 1)
    assert stats.binom.pmf(k, n, k / n).sum() <= 2 * math.sqrt(n) + 1e-9
    budget = core.pac_bayes_budget(n, 0.05, 1.5)
    assert budget == pytest.approx((1.5 + math.log(2 * math.sqrt(n) / 0.05)) / n)
    assert core.chernoff_budget(n, 0.05) == pytest.approx(math.log(20) / n)


def test_gibbs_and_tandem_by_hand():
    wrong = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 1]], dtype=bool)
    weights = np.array([0.5, 0.25, 0.25])
    # The weight that errs is 1/2, 3/4, 0 and 1.
    gibbs, tandem = core.gibbs_and_tandem(wrong, weights)
    assert gibbs == pytest.approx(2.25 / 4)
    assert tandem == pytest.approx((0.25 + 0.5625 + 1) / 4)
    # Two members drawn by the weights, one pair after the other.
    pairs = itertools.product(range(3), repeat=2)
    expected = sum(weights[j] * weights[k] * (wrong[:, j] & wrong[:, k]).mean() for j, k in pairs)
    assert tandem == pytest.approx(expected)


def test_c_bound_by_hand():
    # 1 - 0.6^2 / (1 - 0.5) = 0.28.
    assert core.c_bound(0.2, 0.25) == pytest.approx(0.28)
    # Copies of one member: d = 0, and 1 - (1 - 2R)^2 = 4 R (1 - R).
    assert core.c_bound(0.1, 0.0) == pytest.approx(0.36)
    # All of the margin is its mean: the vote never errs.
    assert core.c_bound(0.25, 0.375) == pytest.approx(0)
    assert core.c_bound(0.25, 0.5) == 0
    for gibbs in (0.5, 0.7):
        assert core.c_bound(gibbs, 0.1) == 1


@settings(max_examples=300)
@given(CHANCES, CHANCES, CHANCES)
@example(0.1, 0.2, 0.3)  # T at its limit, R inside
@example(0.1, 0.2, 0.02)  # R at its lower limit
@example(0.1, 0.2, 0.15)  # R at its upper limit
@example(0.1, 0.6, 0.05)  # nothing is known
def test_largest_c_bound_is_the_largest_of_a_grid(one, other, highest_tandem):
    low, high = sorted((one, other))
    found = core.largest_c_bound(low, high, highest_tandem)
    gibbs = np.linspace(low, high, 201)[:, None]
    tandem = np.linspace(0, highest_tandem, 201)
    # Two members err together no more often than one, and no less than by chance.
    possible = (tandem <= gibbs) & (tandem >= gibbs**2)
    with np.errstate(all="ignore"):
        bounds = np.where(gibbs < 0.5, 1 - (1 - 2 * gibbs) ** 2 / (1 - 4 * gibbs + 4 * tandem), 1)
    assert 0 <= found <= 1
    if possible.any():
        largest = bounds[possible].max()
        assert found >= largest - 1e-9
        if possible[:, -1].all() and high < 0.49:  # the grid reaches the corners
            assert found == pytest.approx(largest, abs=0.02)


def test_frechet_bounds_are_reached_by_members_that_exist():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n, k = 24, int(rng.integers(2, 5))
        n_right = rng.integers(0, n + 1, k)
        errors = 1 - n_right / n
        low, high = core.oracle_bounds(errors, errors)
        # Right on rows that follow each other: as few as can be are left for all to err on.
        apart = np.ones((n, k), dtype=bool)
        ends = np.cumsum(n_right)
        for member, end in enumerate(ends):
            apart[np.arange(end - n_right[member], end) % n, member] = False
        # Right on the first rows, all of them: the best one decides.
        nested = np.arange(n)[:, None] >= n_right
        for wrong in (apart, nested):
            assert_array_equal(wrong.sum(axis=0), n - n_right)
        assert apart.all(axis=1).mean() == pytest.approx(low, abs=1e-12)
        assert nested.all(axis=1).mean() == pytest.approx(high, abs=1e-12)
