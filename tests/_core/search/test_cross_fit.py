"""Cross-fitted candidates: each the same alone, in a stack, and as scikit-learn would have it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

import covey._core.gating.gate as gate
import covey._core.search.cross_fit as cross_fit_module
from covey._core.algorithm1.settings import TrainingSettings
from covey._core.algorithm1.trainer import StackTrainer
from covey._core.basis import Basis
from covey._core.gating.paths import FeatureColumns
from covey._core.search.cross_fit import CrossFit
from covey._core.search.families import Family
from covey._core.search.rows import GrowingRows, SearchBlock, SearchInMemory
from covey._core.search.targets import ClassTarget


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    codes = np.sort(np.arange(120) % 3)
    columns = rng.normal(size=(4, 120)) + 0.7 * rng.normal(size=(4, 3))[:, codes]
    columns -= columns.mean(axis=1, keepdims=True)
    columns /= columns.std(axis=1, keepdims=True)
    weight = rng.integers(1, 4, 120).astype(float)
    fold = np.arange(120) % 4
    parts = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(4)]
    return columns, codes, weight, parts


def cross_fit(table, max_iter=15, parts=None, n_restarts=1, sizes=(4,), ends_early=False):
    columns, codes, weight, all_parts = table
    parts = all_parts if parts is None else parts
    block = SearchBlock(columns.T, ClassTarget(codes, 3), weight)
    nothing = np.zeros(4), np.ones(4), np.ones(4, dtype=bool)
    block.standardize("features", Basis.plain(4), *nothing)
    block.set_folds(parts, n_restarts)
    rows = SearchInMemory([block])
    n_runs = len(parts) + n_restarts

    def trainer(name, columns):
        settings = TrainingSettings("auto", 0.0, 10, 20, 0.1, "greedy", 0.01, True)
        block.begin_growing(name, settings, columns)
        n_columns = 4 if columns is None else len(columns)
        return StackTrainer(
            GrowingRows(rows, name, n_columns, n_runs),
            settings,
            seed=1,
            runs=range(n_runs),
            flip_probability=np.full(n_runs, 0.1),
            unit_of_feature=np.arange(n_columns),
            usable=np.ones(n_columns, dtype=bool),
        )

    return CrossFit(
        rows,
        {"features": FeatureColumns(Basis.plain(4), np.arange(4), np.ones(4, dtype=bool))},
        n_parts=len(parts),
        n_restarts=n_restarts,
        trainer=trainer,
        max_iter=max_iter,
        path_iter=max_iter,
        sizes=sizes,
        most_features=4,
        ends_early=ends_early,
        fit_intercept=True,
    )


def held_out(fits, family):
    """What candidates say of the rows that they were not fitted on, fold by fold."""
    fits.hold_out(family)
    return fits._rows._blocks[0]._held_out_predictions()[0]


def test_one_member_is_regularised_softmax_regression(table):
    columns, codes, weight, parts = table
    family = Family("features", 1, (0.01, 0.1))
    true = held_out(cross_fit(table, max_iter=300), family)
    at = 0
    for train, test in parts:
        for place, alpha in enumerate(family.alphas):
            model = LogisticRegression(
                C=1 / (alpha * weight[train].sum()), tol=1e-8, max_iter=1000
            )
            model.fit(columns.T[train], codes[train], sample_weight=weight[train])
            by_hand = model.predict_proba(columns.T[test])[np.arange(len(test)), codes[test]]
            assert_allclose(true[place, at : at + len(test)], by_hand, atol=2e-3)
        at += len(test)


@pytest.mark.parametrize("pool", ["linear", "log"])
def test_a_candidate_is_the_same_alone_and_in_a_stack(table, pool, monkeypatch):
    both = held_out(cross_fit(table), Family("features", 3, (1e-3, 1e-1), pool))
    alone = held_out(cross_fit(table), Family("features", 3, (1e-1,), pool))
    assert_allclose(both[1], alone[0], atol=1e-4)
    monkeypatch.setattr(gate, "_STACK_SIZE", 1)
    one_by_one = held_out(cross_fit(table), Family("features", 3, (1e-3, 1e-1), pool))
    assert_allclose(both, one_by_one, atol=1e-4)


def test_held_out_rows_do_not_teach(table):
    columns, codes, weight, parts = table
    family = Family("features", 3, (1e-2,))
    before = held_out(cross_fit(table), family)[0]
    spoilt = columns.copy()
    rows = parts[0][1]
    spoilt[:, rows[1:]] = 50.0
    after = held_out(cross_fit((spoilt, codes, weight, parts)), family)[0]
    # The first fold was fitted without these rows; only what it says of them changes.
    assert after[0] == pytest.approx(before[0], abs=1e-6)
    assert not np.allclose(after[len(rows) :], before[len(rows) :])


def test_restarts_differ_and_keep_their_subsets(table):
    fits = cross_fit(table, n_restarts=2)
    first, second = fits.fitted(Family("features", 3, (1e-2,)), 1e-2, [4])[4]
    assert not np.allclose(first.theta, second.theta)
    for group in (first, second):
        assert (
            group.theta[np.broadcast_to(~group.support[:, None], group.theta.shape)] == 0
        ).all()
        assert len(group.grown) == 3
    again = cross_fit(table, n_restarts=2).fitted(Family("features", 3, (1e-2,)), 1e-2, [4])[4][1]
    assert np.array_equal(again.theta, second.theta)


def test_a_path_ends_where_fewer_features_are_hopeless(table, monkeypatch):
    family = Family("features", 3, (1e-3, 1e-1))
    whole = cross_fit(table, sizes=(4, 2, 1))
    every = held_out(whole, family)
    assert [one.size for one in whole.candidates] == [4, 2, 1] * 2
    # Now every point that is worse than the first one is hopeless.
    monkeypatch.setattr(cross_fit_module, "_FAR", -1e9)
    short = cross_fit(table, sizes=(4, 2, 1), ends_early=True)
    first = held_out(short, family)
    assert [one.size for one in short.candidates] == [4, 4]
    assert_allclose(first, every[[0, 3]], atol=1e-6)
    # And here none is.
    monkeypatch.setattr(cross_fit_module, "_FAR", 1e9)
    long = cross_fit(table, sizes=(4, 2, 1), ends_early=True)
    assert_allclose(held_out(long, family), every, atol=1e-6)


def test_a_member_that_loses_all_features_is_dropped(table):
    fits = cross_fit(table, sizes=(4, 1))
    (group,) = fits.fitted(Family("features", 3, (1e-1,)), 1e-1, [1])[1]
    # One feature a member on average: a member has two, and then another has none.
    assert group.support.sum() <= 3
    empty = ~group.support.any(axis=1)
    importance = np.exp(group.gate_intercept - group.gate_intercept.max())
    assert (importance[empty] == 0).all()
    assert (group.gate[empty] == 0).all()
    assert (importance[~empty] > 0).all()
    parts = fits._start(Family("features", 3, (1e-1,)), np.array([0]), np.array([1e-1]), 4)[0]
    theta = np.zeros_like(parts[0])
    theta[0, 0, 0, :2], theta[0, 1, 0, 0], theta[0, 2, 0, 3] = 9.0, 5.0, 1.0
    pruned, support, _ = fits._pruned(Family("features", 3, (1e-1,)), (theta, *parts[1:]), size=1)
    assert support[0].sum(axis=1).tolist() == [2, 1, 0]
    assert (pruned[3][0] < -100).tolist() == [False, False, True]
