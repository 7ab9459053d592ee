"""Ways to choose subsets: flips keep their sums right, and limits are other ways."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.subsets import run
from benchmarks.subsets.flips import Sweep
from benchmarks.subsets.group import (
    EVERY_RUN,
    N_MEMBERS,
    NEVER,
    Rows,
    objective_of,
    refined,
    started,
    within,
)
from benchmarks.subsets.group_penalty import penalty_path
from benchmarks.subsets.ways import path


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] + rng.normal(size=90) > 0.5)
    return Rows(X, y, 3)


@pytest.fixture(scope="module")
def group(rows):
    return refined(rows, started(rows, seed=0), 20)


def priced(rows, group, price):
    """The objective of flips, summed anew; a column of the gate has K - 1 numbers, not C - 1."""
    objective = objective_of(rows, group)
    (value,), _ = objective(objective.pack(*group.parts()), EVERY_RUN)
    n_features = group.kept.sum() + group.gate_kept.sum() * (N_MEMBERS - 1) / 2
    return value + price / rows.n_rows * n_features


@pytest.mark.parametrize("price", [0.1, 1.0, 10.0, 100.0])
def test_greedy_flips_lower_the_objective_by_the_sum_of_what_each_promised(rows, group, price):
    sweep = Sweep(rows, group, price, 0.0, np.random.default_rng(0))
    promised, accepts = [], sweep._accepts

    def kept(total, before, after, change):
        fall = np.log(sweep._total / total).mean() + change
        fall += 0.5 * rows.alpha * (np.sum(after**2) - np.sum(before**2))
        if accepts(total, before, after, change):
            promised.append(fall)
            return True
        return False

    sweep._accepts = kept
    flipped = sweep.run()
    assert len(promised) == sweep.n_flipped > 0
    assert max(promised) < 0
    change = priced(rows, flipped, price) - priced(rows, group, price)
    assert change == pytest.approx(sum(promised), abs=1e-10)


def test_a_feature_that_costs_nothing_is_taken_in(rows, group):
    some = np.array([True, False, True, False])
    poor = within(rows, group, np.tile(some, (N_MEMBERS, 1)), some)
    sweep = Sweep(rows, poor, 0.0, 0.0, np.random.default_rng(0))
    for unit in (1, 3):
        sweep._propose_to_gate(unit)
        for member in range(N_MEMBERS):
            sweep._propose(member, unit)
    assert sweep.n_flipped == 2 * (N_MEMBERS + 1)


def test_a_member_left_without_features_has_no_importance(rows, group):
    kept = group.kept.copy()
    kept[2] = False
    smaller = refined(rows, within(rows, group, kept, group.gate_kept), 5)
    assert smaller.gate_intercept[2] == NEVER
    other = replace(smaller, intercept=smaller.intercept + 100 * np.eye(N_MEMBERS)[2][:, None])
    same = smaller.probabilities(rows.columns)
    np.testing.assert_allclose(other.probabilities(rows.columns), same)


def test_paths_begin_with_all_features_and_fall(rows):
    start = started(rows, seed=0)
    for together in (False, True):
        sizes = [one.n_pairs for one in path(rows, start, np.inf, None, together=together)]
        assert sizes[0] == 4 * (N_MEMBERS + 1)
        assert sizes == sorted(sizes, reverse=True)


def test_a_group_penalty_of_nearly_zero_keeps_all_and_a_great_one_nothing(rows):
    start = started(rows, seed=0)
    _, found = penalty_path(rows, start, [1e-9], seconds=0.0)
    assert found.kept.all()
    (first,) = penalty_path(rows, start, [100.0], seconds=0.0)
    assert first.kept.all()


def test_the_smallest_group_within_half_an_error_of_the_best_is_chosen():
    losses = np.array(
        [[1.0, 1.0, 1.0, 1.0], [0.9, 1.1, 0.9, 1.0], [0.5, 1.5, 0.9, 1.1], [2.0] * 4]
    )
    # Of the third, the mean excess is .025 and its error .19; of the last, all are worse.
    assert run.chosen(losses) == 2
