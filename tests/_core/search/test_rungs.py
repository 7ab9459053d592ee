"""Rungs of a long table, and the search on them against one that is written out."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from covey._core.moments import moments
from covey._core.search import rows as rungs
from covey._core.search import search as comparison
from covey._core.search.bases import Features
from covey._core.search.block import ClassTarget, SearchBlock
from covey._core.search.folds import sampled_rows
from covey._core.search.plan import CLASSIFICATION, Family, Pace, SearchPlan, Watch
from covey._core.search.rows import Rung, SearchInMemory, rung_sizes, sampled_rung
from covey._core.search.search import Search
from tests._core.several import Several

N = 600


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3)) * [1, 5, 0.2] + [0, 3, 0]
    y = (X[:, 0] + 0.3 * X[:, 1] + rng.logistic(size=N) > 1).astype(np.int64)
    return X, y, np.ones(N)


def test_sizes_of_rungs():
    assert rung_sizes(5_000) == []
    assert rung_sizes(5_001) == [2_500]
    assert rung_sizes(10_001) == [5_000]
    assert rung_sizes(19_999) == [5_000]
    assert rung_sizes(20_000) == [5_000, 10_000]
    assert rung_sizes(40_001) == [5_000, 20_000]
    assert rung_sizes(10**9) == [5_000, 20_000]


def rung_of(table, size, factor=1.0):
    X, y, weight = table
    sample = sampled_rows(size, np.bincount(y), 0, 0, y, weight > 0)
    rows = sample.rows
    return sampled_rung(
        X[rows],
        y[rows],
        lambda of_rows: ClassTarget(of_rows, 2),
        weight[rows] * sample.factor,
        sample.n_fitted,
        factor,
    ), sample


def test_a_rung_fits_on_the_first_rows_and_holds_out_the_others(table):
    rung, sample = rung_of(table, 100)
    ((train, test),) = rung.folds
    assert_array_equal(train, np.arange(sample.n_fitted))
    assert_array_equal(test, np.arange(sample.n_fitted, len(sample.rows)))
    assert rung.n_rows == sample.n_fitted
    assert rung.rows.sum(SearchBlock.class_counts)[0].sum() == len(sample.rows)


def searched(table, rows, found_rungs, families, task=CLASSIFICATION, **how):
    X, _, weight = table
    mean, deviation = moments(X.T, weight)
    plan = SearchPlan(
        task,
        families,
        seed=0,
        most_features=X.shape[1],
        rungs=found_rungs,
        n_rows=len(weight),
        **how,
    )
    features = Features(mean, deviation, deviation > 0, np.arange(X.shape[1]))
    return Search(rows, features, plan).run(Watch(nullcontext))


def in_memory(table, sizes=(N,)):
    X, y, weight = table
    ends = np.cumsum(sizes)
    return SearchInMemory(
        [
            SearchBlock(X[a:b], ClassTarget(y[a:b], 2), weight[a:b], int(a))
            for a, b in zip(ends - sizes, ends, strict=True)
        ]
    )


def literal_line(Z, y, weight, alpha):
    """The softmax regression of least mean loss and penalty, by plain gradient descent."""
    theta, bias = np.zeros((2, Z.shape[1])), np.zeros(2)
    truth = np.eye(2)[y]
    for _ in range(20_000):
        logits = Z @ theta.T + bias
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        residual = (p - truth) * (weight / weight.sum())[:, None]
        slope, slope_of_bias = residual.T @ Z + alpha * theta, residual.sum(axis=0)
        theta, bias = theta - 0.5 * slope, bias - 0.5 * slope_of_bias
        if max(np.abs(slope).max(), np.abs(slope_of_bias).max()) < 1e-8:
            break
    return theta, bias


def literal_loss(Z, y, weight, line):
    logits = Z @ line[0].T + line[1]
    logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return -(weight * logs[np.arange(len(y)), y]).sum() / weight.sum()


def test_the_search_is_the_one_that_is_written_out(table, monkeypatch):
    """Lines of three penalties, on rungs of 80 and 200 rows, then the best one on all."""
    far = replace(CLASSIFICATION, rung_pace=Pace(300, 100))
    monkeypatch.setattr(comparison, "_MAX_ITER", 300)
    monkeypatch.setattr(comparison, "_MOST_PATHS", 2)
    # Only points with all features: paths are tested elsewhere.
    monkeypatch.setattr(comparison, "path_sizes", lambda n_units, *args: [n_units])
    X, y, weight = table
    alphas, factors = (1.0, 0.1, 0.001), (1.0, 0.6, 0.3)
    (one, first), (two, second) = (
        rung_of(table, size, factor) for size, factor in zip((80, 200), factors, strict=False)
    )
    family = Family("features", 1, alphas)
    flock = searched(table, in_memory(table), [one, two], [family], far, factor=factors[2])

    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    losses = {}
    left = alphas
    for place, sample in enumerate((first, second)):
        fitted, held_out = np.split(sample.rows, [sample.n_fitted])
        of_fitted, of_held_out = np.split(sample.factor, [sample.n_fitted])
        for alpha in left:
            line = literal_line(Z[fitted], y[fitted], of_fitted, alpha * factors[place])
            losses[place, alpha] = literal_loss(Z[held_out], y[held_out], of_held_out, line)
        # Those of the least loss go on.
        left = tuple(sorted(left, key=lambda alpha: losses[place, alpha])[:2])
    results = flock.candidates
    expected = [(0, alpha) for alpha in alphas] + [(1, alpha) for alpha in alphas if alpha in left]
    assert_array_equal(
        results["n_rows"], [(first, second)[place].n_fitted for place, _ in expected]
    )
    assert_allclose(results["alpha"], [factors[place] * alpha for place, alpha in expected])
    assert_allclose(results["log_loss"], [losses[key] for key in expected], atol=2e-4)
    (selected,) = np.flatnonzero(results["weight"])
    place, alpha = expected[selected]
    assert place == 1
    theta, bias = literal_line(Z, y, weight, alpha * factors[2])
    coef = theta / X.std(axis=0)
    assert flock.coef.shape == (1, 2, 3)
    assert_allclose(np.diff(flock.coef[0], axis=0), np.diff(coef, axis=0), rtol=5e-3)
    logits = X @ flock.coef[0].T + flock.intercept[0]
    by_hand = Z @ theta.T + bias
    assert_allclose(logits[:, 1] - logits[:, 0], by_hand[:, 1] - by_hand[:, 0], atol=0.02)


FAMILIES = [
    Family("features", 1, (0.01, 0.1)),
    Family("ramps", 2, (0.003,), gate="features"),
    Family("features", 2, (0.01,), gate="ramps"),
]


def found_on(table, rows, single=True):
    made = [rung_of(table, size, factor)[0] for size, factor in ((80, 1.0), (200, 0.6))]
    return searched(table, rows, made, FAMILIES, factor=0.3, single=single)


def test_blocks_of_all_rows_change_rounding_only(table):
    one = found_on(table, in_memory(table))
    for sizes in ((300, 300), (7, 400, 193)):
        other = found_on(table, in_memory(table, sizes))
        for name, values in one.candidates.items():
            assert_array_equal(values, other.candidates[name])
        assert_array_equal(one.support, other.support)
        assert_allclose(one.coef, other.coef, rtol=2e-2, atol=1e-2)


def test_columns_that_are_made_anew_are_those_that_are_kept(table, monkeypatch):
    kept = found_on(table, in_memory(table, (300, 300)))
    monkeypatch.setattr(comparison, "_MOST_NUMBERS", 0)
    anew = found_on(table, in_memory(table, (300, 300)))
    assert_array_equal(kept.coef, anew.coef)
    assert_array_equal(kept.gate_coef, anew.gate_coef)


def test_double_precision_finds_nearly_the_same(table):
    single, double = (found_on(table, in_memory(table), single=one) for one in (True, False))
    assert_allclose(
        single.candidates["log_loss"], double.candidates["log_loss"], rtol=1e-2, atol=2e-3
    )


def test_a_search_on_rungs_survives_the_loss_of_blocks(table):
    X, y, weight = table
    draws = np.random.default_rng(0)
    sizes = [100, 0, 500]
    whole = found_on(table, Several(X, y, weight, sizes, 2), single=False)
    losing = Several(X, y, weight, sizes, 2, lambda method, number: draws.random() < 0.4)
    patched = found_on(table, losing, single=False)
    assert losing.n_lost > 10
    assert_array_equal(whole.coef, patched.coef)
    assert_array_equal(whole.gate_coef, patched.gate_coef)
    # A block that is made again lays out only what members see last.
    calls = [method for method, _ in losing.recipe.calls]
    assert calls.count(SearchBlock.standardize) <= 2


def test_a_rung_without_folds_takes_the_first_family(table):
    made = [rung_of(table, size)[0] for size in (80, 200)]
    made = [replace(rung, folds=[]) for rung in made]
    flock = searched(table, in_memory(table), made, FAMILIES[1:])
    assert_array_equal(flock.candidates["basis"], ["ramps"])
    assert np.isnan(flock.candidates["log_loss"]).all()
    assert flock.candidates["n_rows"] == made[-1].n_rows


def test_all_rows_are_a_rung(table):
    rows = in_memory(table)
    whole = Rung.whole(rows, [], N)
    assert whole.rows is rows
    assert whole.factor == 1.0
    assert rungs._FEWEST < rungs._MOST
