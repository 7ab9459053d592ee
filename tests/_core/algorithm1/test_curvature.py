import numpy as np
import pytest
from scipy import sparse

from covey._core.algorithm1.rows import RowBlock, in_memory
from covey._core.algorithm1.trainer import Curvature
from covey._core.design import Design, gram_of
from covey._core.softmax_linear import class_blocks
from tests._core.algorithm1.test_trainer import PRINTED, problem, replaced, trainer

NEWTON = replaced(PRINTED, learning_rate="newton", tol=-np.inf, max_iter=12)


def literal_gram(Z, weight):
    """The sum of w z z^T, row by row."""
    Z = np.column_stack([Z, np.ones(len(Z))])
    return sum(w * np.outer(z, z) for w, z in zip(weight, Z, strict=True))


@pytest.mark.parametrize("kind", ["dense", "sparse", "standardised", "standardised sparse"])
def test_gram_is_the_weighted_sum_of_outer_products(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 6)) * (rng.random((50, 6)) < 0.6) + (kind == "dense")
    weight = rng.uniform(0, 2, (2, 50))
    center = scale = None
    Z = [X, X]
    if "standardised" in kind:
        center, scale = rng.standard_normal((2, 6)), rng.uniform(0.5, 2, (2, 6))
        Z = [(X - c) / s for c, s in zip(center, scale, strict=True)]
    columns = sparse.csc_matrix(X) if "sparse" in kind else np.ascontiguousarray(X.T)
    found = Design(columns, center, scale).gram(weight)
    for run in range(2):
        np.testing.assert_allclose(found[run], literal_gram(Z[run], weight[run]), atol=1e-10)
    if kind == "dense":
        np.testing.assert_allclose(gram_of(columns, weight, 7), found, atol=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("flips", [[], [0], [5], [0, 5], [1, 2, 5, 6]])
def test_directions_solve_the_bound_on_the_subset_also_after_a_flip(fit_intercept, flips):
    rng = np.random.default_rng(1)
    root = rng.standard_normal((30, 9))
    gram = (root.T @ root)[None]
    usable = np.array([1, 1, 1, 1, 1, 1, 1, 1], dtype=bool)
    curvature = Curvature(gram, usable, fit_intercept)
    support = np.array([1, 1, 1, 1, 1, 0, 0, 1], dtype=bool)
    flipped = support.copy()
    flipped[flips] ^= True
    slope = rng.standard_normal((9, 3))
    inside = np.append(flipped, fit_intercept)
    slope[~inside] = 0.0
    found = curvature.direction(0, support, slope, flipped)
    ridge = 1e-3 * np.diag(np.diag(gram[0]))
    expected = np.zeros((9, 3))
    expected[inside] = np.linalg.solve((gram[0] + ridge)[np.ix_(inside, inside)], slope[inside])
    np.testing.assert_allclose(found[inside], expected[inside], rtol=1e-9, atol=1e-12)
    # And what another subset's inverse gives is the same.
    np.testing.assert_allclose(
        curvature.direction(0, flipped, slope)[inside], expected[inside], rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("n_classes", [2, 5])
def test_every_step_climbs_where_no_subset_changes(n_classes):
    X, y = problem(n_classes)
    X = X @ np.random.default_rng(3).standard_normal((9, 9))  # columns that go together
    grower = trainer(X, y, NEWTON, flip_probability=0.0)
    for _ in range(4):
        assert (np.diff(grower.grow().history[0].objective) > -1e-9).all()


def test_a_few_steps_do_what_many_of_the_gradient_do():
    X, y = problem(3, n_rows=400)
    X = X @ np.random.default_rng(3).standard_normal((9, 9))
    likelihood = {}
    for rate, steps in (("newton", 10), ("auto", 100)):
        settings = replaced(NEWTON, learning_rate=rate, max_iter=steps)
        grown = trainer(X, y, settings, flip_probability=0.0).grow()
        likelihood[rate] = grown.history[0].objective[-1]
    assert likelihood["newton"] > likelihood["auto"]


def test_a_step_is_the_bounds_inverse_times_the_slope():
    X, y = problem(3)
    settings = replaced(NEWTON, max_iter=1, init_scale=0.0)
    grown = trainer(X, y, settings, flip_probability=0.0).grow()
    Z = np.column_stack([X, np.ones(len(X))])
    residual = np.eye(3)[y] - 1 / 3
    gram = Z.T @ Z
    gram += 1e-3 * np.diag(np.diag(gram))
    step = 1.5 * 2 * np.linalg.solve(gram, Z.T @ residual)
    np.testing.assert_allclose(grown.theta[:, 0], step[:-1].T, atol=1e-10)
    np.testing.assert_allclose(grown.intercept[:, 0], step[-1], atol=1e-10)


def test_subsets_change_and_a_run_is_the_same_alone_and_in_a_stack():
    X, y = problem(4)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, (3, len(X)))
    stack = trainer(X, y, NEWTON, weight=weight, runs=(4, 7, 9), flip_probability=0.1)
    alone = [
        trainer(X, y, NEWTON, weight=weight[place], runs=(run,), flip_probability=0.1)
        for place, run in enumerate((4, 7, 9))
    ]
    for _ in range(2):
        together = stack.grow()
        assert not together.support.all()
        for place, one in enumerate(alone):
            grown = one.grow()
            np.testing.assert_array_equal(grown.support[0], together.support[place])
            np.testing.assert_allclose(grown.theta[:, 0], together.theta[:, place], atol=1e-9)


def test_blocks_of_rows_give_what_one_block_gives(monkeypatch):
    X, y = problem(3, n_rows=1000)
    design, blocks = Design(np.ascontiguousarray(X.T)), class_blocks(np.bincount(y))
    weight = np.random.default_rng(1).uniform(0.2, 3.0, (2, len(X)))
    whole = in_memory(design, blocks, weight, NEWTON)
    monkeypatch.setattr("covey._core.algorithm1.rows._MOST_ROWS", 130)
    parts = in_memory(design, blocks, weight, NEWTON)
    assert len(parts.blocks) == 8
    np.testing.assert_allclose(
        parts.sum(RowBlock.gram)[0], whole.sum(RowBlock.gram)[0], rtol=1e-12
    )


def test_an_inverse_is_a_function_of_the_subset_alone():
    rng = np.random.default_rng(1)
    root = rng.standard_normal((30, 9))
    usable, some, few = np.ones(8, bool), np.ones(8, bool), np.zeros(8, bool)
    some[3] = False
    few[:2] = True
    asked = [usable, some, few, usable]
    here, there = (Curvature((root.T @ root)[None], usable, True) for _ in range(2))
    for support in asked:
        here.inverse(0, support)
    for support in (some, few, usable):
        np.testing.assert_array_equal(here.inverse(0, support), there.inverse(0, support))


def test_members_already_grown_are_not_taken_for_none():
    X, y = problem(3)
    whole = trainer(X, y, NEWTON, flip_probability=0.1)
    first, second = whole.grow(), whole.grow()
    continued = trainer(X, y, NEWTON, flip_probability=0.1)
    continued.see(first.theta, first.intercept)
    np.testing.assert_array_equal(continued.grow().theta, second.theta)
