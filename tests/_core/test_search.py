"""Cross-fitted candidates: each the same alone, in a stack, and as scikit-learn would have it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

import covey._core.search as search
from covey._core.ascent import Ascent
from covey._core.design import Design
from covey._core.rows import in_memory
from covey._core.search import CrossFit, Family
from covey._core.softmax_linear import class_blocks
from covey._core.trainer import StackTrainer


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


def cross_fit(table, max_iter=15, parts=None, n_restarts=1):
    columns, codes, weight, all_parts = table
    blocks = class_blocks(np.bincount(codes))
    design = Design(columns)

    def trainer(name, weights):
        ascent = Ascent("auto", 0.0, 10, 20, 0.1, "greedy", 0.01, True)
        return StackTrainer(
            in_memory(design, blocks, weights, ascent),
            ascent,
            seed=1,
            runs=range(len(weights)),
            flip_probability=np.full(len(weights), 0.1),
            unit_of_feature=np.arange(4),
            usable=np.ones(4, dtype=bool),
        )

    return CrossFit(
        {"features": design},
        blocks,
        weight,
        all_parts if parts is None else parts,
        n_restarts=n_restarts,
        trainer=trainer,
        max_iter=max_iter,
        fit_intercept=True,
    )


def test_one_member_is_regularised_softmax_regression(table):
    columns, codes, weight, parts = table
    family = Family("features", 1, (0.01, 0.1))
    true = cross_fit(table, max_iter=300).held_out(family)
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
    both = cross_fit(table).held_out(Family("features", 3, (1e-3, 1e-1), pool))
    alone = cross_fit(table).held_out(Family("features", 3, (1e-1,), pool))
    assert_allclose(both[1], alone[0], atol=1e-4)
    monkeypatch.setattr(search, "_STACK_SIZE", 1)
    one_by_one = cross_fit(table).held_out(Family("features", 3, (1e-3, 1e-1), pool))
    assert_allclose(both, one_by_one, atol=1e-4)


def test_held_out_rows_do_not_teach(table):
    columns, codes, weight, parts = table
    family = Family("features", 3, (1e-2,))
    before = cross_fit(table).held_out(family)[0]
    spoilt = columns.copy()
    rows = parts[0][1]
    spoilt[:, rows[1:]] = 50.0
    after = cross_fit((spoilt, codes, weight, parts)).held_out(family)[0]
    # The first fold was fitted without these rows; only what it says of them changes.
    assert after[0] == pytest.approx(before[0], abs=1e-6)
    assert not np.allclose(after[len(rows) :], before[len(rows) :])


def test_restarts_differ_and_keep_their_subsets(table):
    fits = cross_fit(table, n_restarts=2)
    first, second = fits.fitted(Family("features", 3, (1e-2,)), 1e-2)
    assert not np.allclose(first.theta, second.theta)
    for group in (first, second):
        assert (
            group.theta[np.broadcast_to(~group.support[:, None], group.theta.shape)] == 0
        ).all()
        assert len(group.grown) == 3
    again = cross_fit(table, n_restarts=2).fitted(Family("features", 3, (1e-2,)), 1e-2)[1]
    assert np.array_equal(again.theta, second.theta)
