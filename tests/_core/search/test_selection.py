"""Greedy selection against its literal statement."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from covey._core.search.selection import (
    Budget,
    PredictionLibrary,
    greedy_mean,
    greedy_selection,
    log_losses,
    loss_sums,
    mean_and_error,
    possible,
    thrifty_weights,
)


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


@settings(max_examples=30)
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


def literal_thrift(p, w, n_terms, n_members, most_terms, most_members, n_errors):
    """Selections within falling budgets of terms; the smallest that is as good as the best."""
    share = w / w.sum()

    def greedy(most):
        picked, best, kept = [], np.inf, 0
        for _ in range(25):
            losses = {}
            for one in range(len(p)):
                used = {*picked, one}
                if sum(n_terms[c] for c in used) <= most and (
                    sum(n_members[c] for c in used) <= most_members
                ):
                    losses[one] = share @ -np.log(p[[*picked, one]].mean(axis=0))
            if not losses:
                break
            least = min(losses.values())
            picked.append(min(one for one, loss in losses.items() if loss <= least + 1e-12))
            if losses[picked[-1]] < best - 1e-9:
                best, kept = losses[picked[-1]], len(picked)
        return np.bincount(picked[:kept], minlength=len(p)) / kept

    best = chosen = greedy(most_terms)
    while True:
        most = int(0.8 * sum(n_terms[chosen > 0]))
        if most < min(n_terms):
            return chosen
        smaller = greedy(most)
        difference = np.log(best @ p) - np.log(smaller @ p)
        mean = share @ difference
        error = np.sqrt(share**2 @ (difference - mean) ** 2)
        if mean > n_errors * error * (2 if most > 100 else 1):
            return chosen
        chosen = smaller


@pytest.mark.parametrize("seed", range(12))
def test_fewest_terms_among_selections_as_good_as_the_best(seed):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.3, 0.9, size=(1, 60)) + rng.normal(scale=0.08, size=(9, 60))
    p, w = np.clip(p, 0.05, 0.99), rng.uniform(0.5, 2, 60)
    n_terms, n_members = rng.integers(1, 60, 9), rng.integers(1, 6, 9)
    most_terms = [np.inf, 80][seed % 2]
    most_members = [np.inf, 7][seed // 2 % 2]
    library, total = PredictionLibrary(p, log_losses, w), float(w.sum())
    found, readable = thrifty_weights(
        lambda picked, allowed: library.pick_losses(picked, allowed, total)[0],
        lambda weights, best: loss_sums(log_losses(weights @ p) - log_losses(best @ p), w)[0],
        Budget(n_terms, n_members, most_terms, most_members),
        n_errors=0.5,
    )
    limits = most_terms, most_members
    assert_allclose(found, literal_thrift(p, w, n_terms, n_members, *limits, 0.5))
    assert n_terms[found > 0].sum() <= most_terms
    assert n_members[found > 0].sum() <= most_members
    if n_terms[found > 0].sum() <= 40:
        assert readable is None
    elif readable is not None:
        assert n_terms[readable > 0].sum() <= 40


def test_sums_of_losses_are_those_of_each_part():
    losses, weight = np.array([1.0, 2.0, 4.0, 8.0]), np.array([1.0, 0.5, 2.0, 1.0])
    sums = loss_sums(losses, weight, np.array([0, 2, 0, 2]), 3)
    # Weights, weighted losses, and with squared weights: squares, losses and weights.
    assert_allclose(sums[0], [3.0, 9.0, 1 * 1 + 4 * 16, 1 * 1 + 4 * 4, 5.0])
    assert_allclose(sums[1], np.zeros(5))
    assert_allclose(sums[2], [1.5, 9.0, 0.25 * 4 + 64, 0.25 * 2 + 8, 1.25])
    assert_allclose(loss_sums(losses, weight)[0], sums.sum(axis=0))
    assert loss_sums(np.zeros(0), np.zeros(0)).dtype == np.float64


def test_means_and_errors_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    losses, weight = rng.normal(3, 1, 40), rng.uniform(0.2, 2, 40)
    mean, error = mean_and_error(loss_sums(losses, weight)[0])
    share = weight / weight.sum()
    assert mean == pytest.approx(share @ losses)
    assert error == pytest.approx(np.sqrt(share**2 @ (losses - mean) ** 2))


def test_rounding_chooses_no_candidate_and_adds_none():
    better = np.array([[0.5, 0.5], [0.5, 0.5 + 1e-13]])
    assert_array_equal(greedy_selection(better, np.ones(2)), [1, 0])
    # With the second the loss of the mean is lower, by 2.5e-10.
    r = np.sqrt(4e-9)
    beside = 0.5 * np.array([[1.0, 1.0], [1 - r, 1 + r + 0.75 * r**2]])
    mean = beside.mean(axis=0)
    assert 0 < -np.log(beside[0]).mean() + np.log(mean).mean() < 1e-9
    assert_array_equal(greedy_selection(beside, np.ones(2)), [1, 0])


def test_what_is_not_predicted_is_as_wrong_as_can_be():
    true = np.array([[np.nan, 0.9, 0.9], [0.3, 0.4, 0.5]])
    assert_array_equal(possible(true), [[1e-6, 0.9, 0.9], [0.3, 0.4, 0.5]])
    assert_array_equal(greedy_selection(true, np.ones(3), n_picks=1), [0, 1])


@pytest.mark.parametrize(
    ("n_terms", "chosen"),
    [
        ((200, 120), 1),  # more than a hundred are left, so that two errors are allowed
        ((126, 100), 0),
        ((20, 12), 0),
        ((5, 4), 0),
    ],
)
@pytest.mark.parametrize("n_errors", [0.5, 2.5])
def test_more_errors_are_allowed_where_many_terms_are_left(n_terms, chosen, n_errors):
    rng = np.random.default_rng(0)
    best = rng.uniform(0.4, 0.9, 50)
    noise = rng.normal(size=50)
    noise = (noise - noise.mean()) / noise.std()
    # The second is worse by one and a half of 0.5 errors, and less than one of 2.5.
    error = 0.01 / np.sqrt(50)
    library = np.stack([best, best * np.exp(0.01 * noise - 0.75 * error)])
    losses = PredictionLibrary(library, log_losses, np.ones(50))
    shares, _ = thrifty_weights(
        lambda picked, allowed: losses.pick_losses(picked, allowed, 50.0)[0],
        lambda weights, other: losses.compare(weights, other)[0],
        Budget(np.array(n_terms), np.ones(2, dtype=int), sum(n_terms) - 1, np.inf),
        n_errors,
    )
    assert_allclose(shares, np.eye(2)[1 if n_errors > 1 else chosen])


def test_a_budget_counts_candidates():
    budget = Budget(np.array([1, 2, 3]), np.ones(3, dtype=int), np.inf, np.inf, most_candidates=2)
    assert budget.affordable([]).tolist() == [True, True, True]
    assert budget.affordable([2, 2]).tolist() == [True, True, True]
    assert budget.affordable([2, 0, 2]).tolist() == [True, False, True]
