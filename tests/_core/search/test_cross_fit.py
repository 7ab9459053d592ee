"""Cross-fitted candidates: each the same alone, in a stack, and as scikit-learn would have it."""

from dataclasses import replace
from functools import wraps

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

import covey._core.gating.gate as gate
import covey._core.search.cross_fit as cross_fit_module
from covey._core.basis import Basis, ScaledBasis
from covey._core.gating.paths import FeatureColumns
from covey._core.search.block import ClassTarget, SearchBlock
from covey._core.search.cross_fit import CrossFit, Stage
from covey._core.search.plan import CLASSIFICATION, Family, SearchPlan
from covey._core.search.rows import Rung, SearchInMemory


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


def cross_fit(
    table,
    max_iter=15,
    parts=None,
    n_restarts=1,
    sizes=(4,),
    most_terms=1e9,  # with any limit all paths are walked to their end
    starts=None,
    factor=1.0,
    **how,
):
    columns, codes, weight, all_parts = table
    parts = all_parts if parts is None else parts
    block = SearchBlock(columns.T, ClassTarget(codes, 3), weight)
    nothing = np.zeros(4), np.ones(4), np.ones(4, dtype=bool)
    block.standardize("features", ScaledBasis(Basis.plain(4), *nothing))
    block.set_folds(parts, n_restarts)
    rows = SearchInMemory([block])
    how.setdefault("task", replace(CLASSIFICATION, toward_mean=0.0))
    plan = SearchPlan(
        families=[],
        seed=1,
        most_features=4,
        most_terms=most_terms,
        **how,
    )
    return CrossFit(
        Stage(Rung.whole(rows, parts, 120, factor), n_restarts, max_iter, max_iter, sizes),
        {"features": FeatureColumns(Basis.plain(4), np.arange(4), np.ones(4, dtype=bool))},
        plan,
        starts,
    )


def held_out(fits, family):
    """What candidates say of the rows that they were not fitted on, fold by fold."""
    fits.hold_out(family)
    return held_out_by(fits)


def held_out_by(fits):
    """The predictions of rows held out that the block keeps."""
    return fits._rows.blocks[0].held_out()[0]


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
    first, second = fits.fitted(Family("features", 3, (1e-2,)), {1e-2: [4]})[1e-2, 4]
    assert not np.allclose(first.theta, second.theta)
    for group in (first, second):
        assert (
            group.theta[np.broadcast_to(~group.support[:, None], group.theta.shape)] == 0
        ).all()
    again = cross_fit(table, n_restarts=2).fitted(Family("features", 3, (1e-2,)), {1e-2: [4]})[
        1e-2, 4
    ][1]
    assert np.array_equal(again.theta, second.theta)


def test_members_start_apart_near_zero_and_a_larger_group_from_those_of_a_smaller_one(table):
    fits, runs = cross_fit(table, n_restarts=2), np.array([0, 3, 5])
    (few, *_), support = fits._start(Family("features", 2, (1e-2,)), runs, np.full(3, 1e-2), 4)
    (more, intercept, gate, _), _ = fits._start(
        Family("features", 3, (1e-1,)), runs, np.full(3, 1e-1), 4
    )
    assert support.all()
    assert not intercept.any()
    assert not gate.any()
    assert_array_equal(more[:, :2], few)
    starts = more.reshape(9, -1)  # of three runs, three members each
    assert len(np.unique(starts.round(6), axis=0)) == 9
    assert 0.05 < starts.std() < 0.2


def test_a_path_ends_where_fewer_features_are_hopeless(table, monkeypatch):
    family = Family("features", 3, (1e-3, 1e-1))
    monkeypatch.setattr(cross_fit_module, "MOST_UNITS", 0)
    whole = cross_fit(table, sizes=(4, 2, 1))
    every = held_out(whole, family)
    assert [one.size for one in whole.candidates] == [4, 2, 1] * 2
    # Now every point that is worse than the first one is hopeless.
    monkeypatch.setattr(cross_fit_module, "_FAR", -1e9)
    short = cross_fit(table, sizes=(4, 2, 1), most_terms=np.inf)
    first = held_out(short, family)
    assert [one.size for one in short.candidates] == [4, 4]
    assert_allclose(first, every[[0, 3]], atol=1e-6)
    # And here none is.
    monkeypatch.setattr(cross_fit_module, "_FAR", 1e9)
    long = cross_fit(table, sizes=(4, 2, 1), most_terms=np.inf)
    assert_allclose(held_out(long, family), every, atol=1e-6)


@pytest.mark.parametrize("most_terms", [np.inf, 7])
def test_where_few_terms_are_wanted_no_path_ends_early(table, monkeypatch, most_terms):
    """What is within the limit may have to be worse than what is not."""
    monkeypatch.setattr(cross_fit_module, "_FAR", -1e9)
    fits = cross_fit(table, sizes=(4, 2, 1), most_terms=most_terms)
    held_out(fits, Family("features", 3, (1e-3,)))
    assert [one.size for one in fits.candidates] == ([4] if most_terms == np.inf else [4, 2, 1])


def test_a_path_ends_that_is_worse_than_another_family_twice(table, monkeypatch):
    alone, family = Family("features", 1, (1e-3,)), Family("features", 3, (1e-3, 1e-1))
    monkeypatch.setattr(cross_fit_module, "MOST_UNITS", 0)
    whole = cross_fit(table, sizes=(4, 3, 2, 1))
    whole.hold_out(alone)
    every = held_out(whole, family)
    # Every path is worse now than that of the member alone.
    monkeypatch.setattr(cross_fit_module, "_WORSE", -1e9)
    short = cross_fit(table, sizes=(4, 3, 2, 1), most_terms=np.inf)
    short.hold_out(alone)
    found = held_out(short, family)
    assert [one.size for one in short.candidates] == [4, 3, 2, 1, 4, 3, 4, 3]
    assert_allclose(found, every[[0, 1, 2, 3, 4, 5, 8, 9]], atol=1e-6)
    # Where some folds of a penalty end and others do not, its last points do not take part.
    monkeypatch.setattr(gate, "_STACK_SIZE", 1)
    monkeypatch.setattr(cross_fit_module, "_WORSE", 0.0)
    mixed = cross_fit(table, sizes=(4, 3, 2, 1), most_terms=np.inf)
    mixed.hold_out(alone)
    some = held_out(mixed, family)
    assert len(some) == len(mixed.candidates) < len(every)
    assert not np.isnan(some).any()


def test_a_member_that_loses_all_features_is_dropped(table):
    fits = cross_fit(table, sizes=(4, 1))
    (group,) = fits.fitted(Family("features", 3, (1e-1,)), {1e-1: [1]})[1e-1, 1]
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
    family, parts = Family("features", 3, (1e-1,)), (theta, *parts[1:])
    pruned, support, _ = fits._within(family, parts, fits._strongest(family, parts, 1))
    assert support[0].sum(axis=1).tolist() == [2, 1, 0]
    assert (pruned[3][0] < -100).tolist() == [False, False, True]


# -- rungs and wide tables -------------------------------------------------------------------


def test_penalties_are_those_of_the_rows_that_there_are(table):
    direct = held_out(cross_fit(table), Family("features", 3, (1e-1,)))
    by_factor = held_out(cross_fit(table, factor=10.0), Family("features", 3, (1e-2,)))
    assert_allclose(direct, by_factor, atol=1e-5)
    assert np.abs(direct - held_out(cross_fit(table), Family("features", 3, (1e-2,)))).max() > 0.01


def test_a_candidate_begins_where_it_ended_before(table):
    family, one = Family("features", 3, (1e-2,)), table[3][:1]
    before = cross_fit(table, parts=one, sizes=(4, 2), n_restarts=0)
    held_out(before, family)
    assert set(before.ended) == {(family.kind, 1e-2, 4), (family.kind, 1e-2, 2)}
    # None keeps the arrays of other runs.
    assert all(group.theta.base is None for group in before.ended.values())
    again = cross_fit(table, parts=one, max_iter=0, starts=before.ended, n_restarts=0)
    kept = held_out(again, family)[0]
    assert_allclose(kept, held_out(cross_fit(table, parts=one), family)[0], atol=1e-5)
    group = again.ended[family.kind, 1e-2, 4]
    assert_allclose(group.theta, before.ended[family.kind, 1e-2, 4].theta, atol=1e-6)


def test_what_is_continued_on_all_rows_is_what_is_fitted_on_all(table):
    """From where it ended on one fold: a member alone has one optimum."""
    family = Family("features", 1, (1e-2,))
    fits = cross_fit(table, max_iter=300, sizes=(4, 2), n_restarts=0)
    held_out(fits, family)
    points = [(family.kind, 1e-2, size) for size in (4, 2)]
    on_a_fold = fits.ended[points[0]].theta
    later = cross_fit(table, max_iter=300, parts=[], starts=fits.ended)
    every = np.arange(4)
    whole, pruned = later.continued(points, every, every, single=False)
    (direct,) = cross_fit(table, max_iter=300).fitted(family, {1e-2: [4]})[1e-2, 4]
    assert_allclose(whole.theta, direct.theta, atol=5e-3)
    assert not np.allclose(whole.theta, on_a_fold, atol=2e-2)
    assert pruned.support.sum() == 2
    assert_array_equal(pruned.support, fits.ended[points[1]].support)
    assert (pruned.theta[:, :, ~pruned.support[0]] == 0).all()


def test_products_with_the_columns_in_use_are_those_with_all(table, monkeypatch):
    family = Family("features", 3, (1e-1,))
    how = {"sizes": (4, 2, 1), "parts": table[3][:1]}
    whole = held_out(cross_fit(table, **how), family)
    copied = []
    restrict = SearchBlock.restrict

    @wraps(restrict)
    def noted(self, kind, columns, gate_columns):
        copied.append((len(columns), len(gate_columns)))
        restrict(self, kind, columns, gate_columns)

    monkeypatch.setattr(SearchBlock, "restrict", noted)
    monkeypatch.setattr(cross_fit_module, "_LEFT_OUT", 1)
    assert_allclose(held_out(cross_fit(table, **how), family), whole, atol=1e-4)
    assert min(columns for columns, _ in copied) < 4
    assert min(columns for _, columns in copied) < 4
    fits = cross_fit(table, **how)
    few = fits.fitted(family, {1e-1: [2]})[1e-1, 2][0]
    monkeypatch.setattr(cross_fit_module, "_LEFT_OUT", 1 << 40)
    many = cross_fit(table, **how).fitted(family, {1e-1: [2]})[1e-1, 2][0]
    assert_array_equal(few.support, many.support)
    for name in ("theta", "intercept", "gate", "gate_intercept"):
        assert_allclose(getattr(few, name), getattr(many, name), atol=1e-6)


def test_a_member_that_drops_columns_keeps_the_strongest_ones_step_by_step(table, monkeypatch):
    monkeypatch.setattr(cross_fit_module, "MOST_UNITS", 0)
    columns, codes, weight, _ = table
    basis = Basis.ramps([np.quantile(column, [0.0, 0.5, 1.0]) for column in columns])
    expanded = basis.expand(columns.copy())
    scaled = ScaledBasis(basis, expanded.mean(1), expanded.std(1), np.ones(12, dtype=bool))
    fits = cross_fit(table, max_iter=200)
    fits._rows.broadcast(SearchBlock.standardize, "ramps", scaled)
    fits._columns["ramps"] = FeatureColumns(basis, np.arange(4), scaled.usable)
    family = Family("ramps", 1, (1e-2,), drops="columns")
    (size,) = [one.size for one in fits.points(family) if one.n_terms == 5]
    (group,) = fits.fitted(family, {1e-2: [size]})[1e-2, size]
    X = ((expanded - scaled.mean[:, None]) / scaled.scale[:, None]).T
    left, model = np.arange(12), LogisticRegression(C=1 / (1e-2 * weight.sum()), tol=1e-8)
    for size in [one for one in fits._path_of(family) if one >= 5]:
        if size < 12:
            strength = (model.coef_**2).sum(axis=0) - model.coef_.mean(axis=0) ** 2 * 3
            left = np.sort(left[np.argsort(-strength)[:size]])
        model.fit(X[:, left], codes, sample_weight=weight)
    assert_array_equal(np.flatnonzero(group.support[0]), left)
    assert_allclose(group.theta[0][:, left], model.coef_, atol=2e-2)


def test_penalties_that_are_fitted_together_end_where_each_ends_alone(table):
    family, points = Family("features", 2, (1e-2, 1e-1)), {1e-2: [4, 2], 1e-1: [4]}
    how = {"n_restarts": 2, "sizes": (4, 2)}
    found = cross_fit(table, **how).fitted(family, points)
    assert set(found) == {(1e-2, 4), (1e-2, 2), (1e-1, 4)}
    for alpha, sizes in points.items():
        alone = cross_fit(table, **how).fitted(family, {alpha: sizes})
        for size in sizes:
            for one, other in zip(found[alpha, size], alone[alpha, size], strict=True):
                assert one.n_iter == other.n_iter
                assert_array_equal(one.support, other.support)
                assert_allclose(one.theta, other.theta, atol=1e-6)


def test_groups_that_are_far_behind_on_their_way_are_not_fitted_to_the_end(table):
    def compared(how_long, alphas):
        fits = cross_fit(table, how_long, most_terms=np.inf)
        fits.hold_out(Family("features", 2, alphas))
        return fits, [one.alpha for one in fits.candidates]

    # So strong a penalty leaves a constant, of which 20 of 50 iterations show enough.
    fits, kept = compared(50, (1e-2, 1e2))
    assert kept == [1e-2]
    assert len(held_out_by(fits)) == 1
    assert compared(50, (1e-2, 2e-2))[1] == [1e-2, 2e-2]
    # Eight are not enough to say so.
    assert compared(20, (1e-2, 1e2))[1] == [1e-2, 1e2]


def test_groups_of_a_wide_table_see_the_strongest_units_of_a_member_alone(table, monkeypatch):
    monkeypatch.setattr(cross_fit_module, "_SCREENED", 1)
    fits = cross_fit(table, sizes=(4, 2, 1))
    alone, group = Family("features", 1, (1e-2,)), Family("features", 3, (1e-3, 1e-2))
    assert fits._path_of(alone) == [4, 2, 1]
    assert fits._path_of(group) == [1]
    screened = fits._screened(group, 1)
    assert_array_equal(screened.sum(axis=1), [1] * 5)
    for run, fold in enumerate([*table[3], (np.arange(120), None)]):
        rows = fold[0]
        model = LogisticRegression(C=1 / (1e-2 * table[2][rows].sum()), tol=1e-8)
        model.fit(table[0].T[rows], table[1][rows], sample_weight=table[2][rows])
        assert screened[run, np.argmax((model.coef_**2).sum(axis=0))]
    held_out(fits, group)
    assert [one.size for one in fits.candidates] == [1, 1]
    for ended in fits.ended.values():
        assert not ended.support[:, ~screened[0]].any()


def test_what_a_fold_holds_out_does_not_choose_its_columns(table, monkeypatch):
    monkeypatch.setattr(cross_fit_module, "_SCREENED", 1)
    family = Family("features", 3, (1e-2,))
    columns, codes, weight, parts = table
    before = cross_fit(table, sizes=(4, 2, 1))._screened(family, 1)
    strongest = int(np.flatnonzero(before[0])[0])
    spoilt = columns.copy()
    # In the rows that the first fold holds out, this column says the opposite.
    spoilt[strongest, parts[0][1]] *= -4.0
    after = cross_fit((spoilt, codes, weight, parts), sizes=(4, 2, 1))._screened(family, 1)
    assert_array_equal(after[0], before[0])
    assert not after[1:, strongest].all()
