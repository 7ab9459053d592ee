"""Greedy selection against its literal statement."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from covey._core.search.selection import greedy_mean, greedy_selection


def literal(true, weight, n_picks, replace):
    picked, best, best_picked = [], np.inf, []
    for _ in range(n_picks):
        losses = []
        for candidate in range(len(true)):
            if not replace and candidate in picked:
                losses.append(np.inf)
                continue
            mean = np.mean([true[k] for k in [*picked, candidate]], axis=0)
            losses.append(-np.sum(weight * np.log(mean)) / weight.sum())
        if min(losses) == np.inf:
            break
        picked = [*picked, int(np.argmin(losses))]
        if min(losses) < best - 1e-9:
            best, best_picked = min(losses), picked
    return np.bincount(best_picked, minlength=len(true)) / len(best_picked)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_equals_the_literal_version(seed, replace):
    rng = np.random.default_rng(seed)
    true, weight = rng.uniform(0.01, 1, (5, 20)), rng.uniform(0, 2, 20)
    assert_allclose(
        greedy_selection(true, weight, n_picks=12, replace=replace),
        literal(true, weight, 12, replace),
    )


def test_no_worse_than_the_best_candidate():
    rng = np.random.default_rng(0)
    true, weight = rng.uniform(0.01, 1, (8, 50)), np.ones(50)
    chosen = greedy_selection(true, weight)
    assert -np.log(chosen @ true).mean() <= (-np.log(true).mean(axis=1)).min()
    assert chosen.sum() == pytest.approx(1)


def test_first_of_equals_and_impossible_rows():
    true = np.array([[0.0, 0.9], [0.0, 0.9], [0.0, 0.1]])
    assert_array_equal(greedy_selection(true, np.ones(2)), [1, 0, 0])


def test_greedy_picks_lower_the_loss_of_the_mean_and_know_equals():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=80)
    library = truth + rng.normal(size=(6, 80)) * np.array([[1.0, 1, 1, 2, 3, 9]]).T
    weight = rng.uniform(size=80)

    def row_loss(numbers):
        return (numbers - truth) ** 2

    shares = greedy_mean(library, row_loss, weight)
    assert_allclose(shares.sum(), 1)
    assert shares[5] == 0
    losses = row_loss(library) @ weight / weight.sum()
    assert row_loss(shares @ library) @ weight / weight.sum() < 0.6 * losses.min()
    picks = []
    for _ in range(4):
        tried = [row_loss(library[[*picks, k]].mean(axis=0)) @ weight for k in range(6)]
        picks.append(int(np.argmin(tried)))
    assert_allclose(
        greedy_mean(library, row_loss, weight, n_picks=4), np.bincount(picks, minlength=6) / 4
    )
    p = rng.uniform(0.1, 1, size=(4, 50))
    w = np.ones(50)
    assert_allclose(greedy_selection(p, w), greedy_mean(p, lambda q: -np.log(q), w))
