"""A search of rows in several blocks, and of all of them in one."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from covey._core.algorithm1.rows import RowBlock, TrainingSettings
from covey._core.algorithm1.trainer import StackTrainer
from covey._core.basis import Basis, ScaledBasis
from covey._core.design import Design
from covey._core.gating.gate import ClassLikelihood, GatedObjective, Groups
from covey._core.moments import moments, moments_of_blocks
from covey._core.search import rows as rows_module
from covey._core.search.bases import (
    Features,
    standardize_single,
)
from covey._core.search.block import ClassTarget, Kind, SearchBlock
from covey._core.search.rows import GrowingRows, SearchInMemory, in_blocks
from covey._core.search.selection import greedy_selection
from covey._core.softmax_linear import class_blocks
from covey.dask._blocks import ReplayLog
from tests._core.bases import products_of
from tests._core.gated import GatedLikelihood
from tests._core.several import Several

N = 90
# All rows in one block, in two, in seven; in unequal ones, and with one that is empty.
LAYOUTS = [[N], [45, 45], [13] * 6 + [12], [3, 70, 17], [40, 0, 50], [0, 1, 89]]
SETTINGS = TrainingSettings("auto", 0.0, 10, 12, 0.1, "greedy", 0.01, True)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, N)
    # The last class is in the last rows only.
    codes[:60] = codes[:60] % 2
    X = rng.normal(size=(N, 4)) + rng.normal(size=(3, 4))[codes]
    weight = rng.uniform(0.5, 2, N)
    weight[::11] = 0.0
    return X, codes, weight


def thirds():
    fold = np.arange(N) % 3
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(3)]


def ready(table, sizes, lost=None, n_restarts=2):
    """Rows with two bases and three folds."""
    X, codes, weight = table
    rows = Several(X, codes, weight, sizes, 3, lost)
    rows.broadcast(SearchBlock.set_weight_unit, rows.max(SearchBlock.largest_weight))
    for name, basis in bases(X).items():
        expanded = basis.expand(np.ascontiguousarray(X.T))
        mean, deviation = moments(expanded, weight)
        usable = np.ones(len(mean), dtype=bool)
        usable[1] = False
        rows.broadcast(SearchBlock.standardize, name, ScaledBasis(basis, mean, deviation, usable))
    rows.broadcast(SearchBlock.set_folds, thirds(), n_restarts)
    for folds, single in ((True, True), (False, False)):
        rows.broadcast(
            SearchBlock.set_totals, folds, single, *rows.sum(SearchBlock.run_totals, folds, single)
        )
    return rows


def bases(X):
    plain = Basis.plain(4)
    return {"features": plain, "products": products_of(X.T.copy(), X.mean(axis=0))}


def in_one(table, name):
    """The standardised columns, rows sorted by class."""
    X, codes, weight = table
    expanded = bases(X)[name].expand(np.ascontiguousarray(X.T))
    mean, deviation = moments(expanded, weight)
    columns = (expanded - mean[:, None]) / deviation[:, None]
    columns[1] = 0.0
    return columns[:, np.argsort(codes, kind="stable")]


# -- the table -------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", LAYOUTS)
def test_what_is_known_of_a_table_does_not_depend_on_blocks(table, sizes):
    X, codes, weight = table
    rows = Several(X, codes, weight, sizes, 3)
    (counts,) = rows.sum(SearchBlock.class_counts)
    assert_array_equal(counts, np.bincount(codes[weight > 0]))
    assert rows.max(SearchBlock.n_rows) == max(sizes)
    unit = rows.max(SearchBlock.largest_weight)
    assert unit == weight.max()
    rows.broadcast(SearchBlock.set_weight_unit, unit)
    total = sum(block.weight.sum() for block in rows.blocks)
    assert total == pytest.approx(weight.sum() / weight.max())
    used = X[weight > 0]
    assert_array_equal(rows.max(SearchBlock.extremes, True), [used.max(axis=0), -used.min(axis=0)])
    assert_array_equal(rows.max(SearchBlock.extremes, False), [X.max(axis=0), -X.min(axis=0)])
    low, high = X.min(axis=0), X.max(axis=0)
    assert_array_equal(rows.sum(SearchBlock.count_between, low, high)[0], [N - 2] * 4)


@pytest.mark.parametrize("sizes", LAYOUTS)
@pytest.mark.parametrize("factor", [1.0, 1e200, 1e-200])
def test_moments_are_those_of_all_rows(table, sizes, factor):
    X, codes, weight = table
    X = X * np.array([factor, 1.0, 1.0, 0.0]) + np.array([0.0, 0, 1e6, 0.1])
    rows = Several(X, codes, weight, sizes, 3)
    basis = Basis.plain(4)
    found_mean, found_deviation, largest = moments_of_blocks(
        rows, SearchBlock.columns, "features", basis
    )
    assert_array_equal(largest, np.abs(X[weight > 0]).max(axis=0))
    mean, deviation = moments(X.T, weight)
    assert_allclose(found_mean, mean, rtol=1e-13)
    varies = deviation > 0
    assert_array_equal(varies, [True, True, True, False])
    assert_array_equal(found_deviation > 0, varies)
    assert_allclose(found_deviation, deviation, rtol=1e-9)
    rows.broadcast(
        SearchBlock.standardize,
        "features",
        ScaledBasis(basis, mean, np.where(varies, deviation, 1.0), varies),
    )
    found = [block.designs["features"].like for block in rows.blocks]
    expected = (X - mean) / np.where(varies, deviation, 1.0) * varies
    # A row without a weight may hold anything.
    expected[weight == 0] = 0.0
    assert_allclose(
        np.sort(np.concatenate(found, axis=1), axis=1), np.sort(expected.T, axis=1), rtol=1e-12
    )


@pytest.mark.parametrize("sizes", LAYOUTS)
def test_moments_of_sparse_rows_are_those_of_all_rows(table, sizes):
    X, codes, weight = table
    X = np.where(np.abs(X) > 0.5, X, 0.0) * np.array([1e200, 1.0, 1.0, 0.0])
    X[weight == 0, 3] = 7.0
    rows = Several(sparse.csr_array(X), codes, weight, sizes, 3)
    mean, deviation, largest = moments_of_blocks(
        rows, SearchBlock.columns, "features", Basis.plain(4)
    )
    for found, expected in zip(
        (mean, deviation), moments(sparse.csc_array(X), weight), strict=True
    ):
        assert_allclose(found, expected, rtol=1e-12)
    assert_array_equal(largest, np.abs(X[weight > 0]).max(axis=0))


# -- members and likelihoods -----------------------------------------------------------------


@pytest.mark.parametrize("sizes", LAYOUTS)
def test_members_grow_as_on_one_block(table, sizes):
    def members(layout):
        rows = ready(table, layout)
        rows.broadcast(SearchBlock.begin_growing, "products", SETTINGS)
        trainer = StackTrainer(
            GrowingRows(rows, "products", 14),
            SETTINGS,
            seed=1,
            runs=range(5),
            flip_probability=np.full(5, 0.1),
            unit_of_feature=np.arange(14),
            usable=np.ones(14, dtype=bool),
        )
        return [trainer.grow() for _ in range(3)]

    for one, other in zip(members([N]), members(sizes), strict=True):
        assert_array_equal(one.support, other.support)
        assert_array_equal(one.n_iter, other.n_iter)
        assert_allclose(one.theta, other.theta, atol=1e-10)


@pytest.mark.parametrize("sizes", LAYOUTS)
@pytest.mark.parametrize("pool", ["linear", "log"])
@pytest.mark.parametrize("folds", [True, False])
def test_value_and_gradient_are_those_of_all_rows(table, sizes, pool, folds):
    _, codes, weight = table
    rng = np.random.default_rng(1)
    parts = thirds()
    order = np.argsort(codes, kind="stable")
    run_weight = np.zeros((3, N))
    for run, (train, _) in enumerate(parts):
        run_weight[run, train] = weight[train]
    run_weight = (run_weight if folds else np.tile(weight, (2, 1)))[:, order]
    # A part of the runs, and one of them twice, as penalties have it.
    lanes = np.array([2, 0, 2]) if folds else np.array([1, 0])
    alpha = np.geomspace(1e-3, 0.1, len(lanes))
    support = (rng.random((len(lanes), 3, 14)) < 0.7).astype(float)
    members, gate = (Design(in_one(table, name)) for name in ("products", "features"))
    blocks = class_blocks(np.bincount(codes))
    expected = GatedLikelihood(
        members,
        [gate],
        ClassLikelihood(blocks),
        run_weight[lanes],
        alpha,
        pool,
        3,
        support,
        fit_intercept=folds,
    )
    rows = ready(table, sizes)
    kind = Kind("products", "features", pool, folds, folds)
    dtype = np.float32 if folds else np.float64
    objective = GatedObjective(
        lambda parts, runs: rows.sum(SearchBlock.value_and_gradient, kind, lanes[runs], parts),
        alpha.astype(dtype),
        3,
        3,
        14,
        4,
        support=support.astype(dtype),
        fit_intercept=folds,
    )
    assert objective.n_parameters == expected.n_parameters
    x = rng.normal(size=(len(lanes), expected.n_parameters))
    runs = np.arange(len(lanes))[::-1]
    value, gradient = objective(x.astype(dtype), runs)
    assert value.dtype == gradient.dtype == dtype
    wanted, slope = expected(x, runs)
    precision = {"rtol": 1e-4, "atol": 1e-5} if folds else {"rtol": 1e-11, "atol": 1e-13}
    assert_allclose(value, wanted, **precision)
    assert_allclose(gradient, slope, **precision)


# -- candidates ------------------------------------------------------------------------------


def spoken(rows, n_candidates=3):
    """Let candidates of no training at all say what they think of rows held out."""
    rng = np.random.default_rng(2)
    kind = Kind("products", "features", "linear", True, True)
    for candidate in range(n_candidates):
        shapes = (3, 2, 3, 14), (3, 2, 3), (3, 2, 4), (3, 2)
        parts = tuple(rng.normal(size=shape).astype(np.float32) for shape in shapes)
        rows.broadcast(
            SearchBlock.predict_held_out, kind, np.full(3, candidate), np.arange(3), parts
        )
    return rows


@pytest.mark.parametrize("sizes", LAYOUTS)
def test_losses_and_picks_are_those_of_all_rows(table, sizes):
    _, codes, weight = table
    rows = spoken(ready(table, sizes))
    (whole,) = spoken(ready(table, [N])).blocks
    library, _, row_weight = whole.held_out()
    assert library.shape == (3, N)
    assert library.std() > 0.1
    order = np.argsort(codes, kind="stable")
    held_out = np.concatenate([np.argsort(order)[test] for _, test in thirds()])
    assert_allclose(row_weight, (weight / weight.max())[order][held_out])
    losses, total = rows.sum(SearchBlock.candidate_losses)
    assert_allclose(losses, -np.log(library) @ row_weight, rtol=1e-5)
    assert_allclose(total, row_weight.sum())
    share = row_weight / row_weight.sum()
    for picked in ([], [1], [1, 0], [2], [2, 2, 1]):
        allowed = np.array([True, False, True])
        (found,) = rows.sum(SearchBlock.pick_losses, picked, allowed, total[0])
        by_hand = [
            -np.log(np.mean(library[[*picked, k]], axis=0)) @ share
            for k in np.flatnonzero(allowed)
        ]
        assert_allclose(found, by_hand, rtol=1e-5)
    assert greedy_selection(library, row_weight).sum() == pytest.approx(1)


@pytest.mark.parametrize("sizes", LAYOUTS)
def test_importance_is_that_of_all_rows(table, sizes):
    X, _, weight = table
    rng = np.random.default_rng(0)
    basis = bases(X)["products"]
    coef, intercept = rng.normal(size=(5, 14)), rng.normal(size=5)
    logits = basis.rows(X) @ coef.T + intercept
    gates = [np.exp(part - part.max(axis=1, keepdims=True)) for part in np.split(logits, [2], 1)]
    gates = [part / part.sum(axis=1, keepdims=True) for part in gates]
    shares = np.array([0.3, 0.7])
    expected = np.average(np.hstack([0.3 * gates[0], 0.7 * gates[1]]), axis=0, weights=weight)
    rows = Several(X, *table[1:], sizes, 3)
    groups = Groups(basis, coef, intercept, [2, 3], ["linear", "log"], shares)
    asked, total = rows.sum(SearchBlock.importance, 1, groups)
    assert_allclose(asked / total, expected, rtol=1e-12)
    assert (asked / total).sum() == pytest.approx(1)
    # Of few rows it is nearly the same.
    asked, total = rows.sum(SearchBlock.importance, 2, groups)
    assert total < 0.7 * weight.sum()
    assert (asked / total).sum() == pytest.approx(1)
    assert_allclose(asked / total, expected, atol=0.08)


# -- blocks that are lost --------------------------------------------------------------------


def test_a_lost_block_is_made_again_and_nothing_is_different(table):
    draws = np.random.default_rng(0)

    def grown(lost):
        rows = ready(table, [40, 0, 50], lost)
        settings = replace(SETTINGS, reweighting="adaboost")
        rows.broadcast(SearchBlock.begin_growing, "products", settings)
        trainer = StackTrainer(
            GrowingRows(rows, "products", 14),
            settings,
            seed=1,
            runs=range(5),
            flip_probability=np.full(5, 0.3),
            unit_of_feature=np.arange(14),
            usable=np.ones(14, dtype=bool),
        )
        members = [trainer.grow() for _ in range(3)]
        return rows, members, spoken(rows).sum(SearchBlock.candidate_losses)

    rows, members, losses = grown(None)
    again, others, same = grown(lambda method, number: draws.random() < 0.2)
    assert again.n_lost > 20
    for one, other in zip(members, others, strict=True):
        assert_array_equal(one.theta, other.theta)
        assert_array_equal(one.support, other.support)
    assert_array_equal(losses[0], same[0])
    assert [method for method, _ in rows.recipe.calls] == [
        method for method, _ in again.recipe.calls
    ]


def test_a_recipe_holds_what_is_needed_and_no_more():
    recipe = ReplayLog()
    for method, *args in [
        (SearchBlock.class_counts,),
        (SearchBlock.set_weight_unit, 1.0),
        (SearchBlock.set_weight_unit, 2.0),
        (SearchBlock.standardize, "a", 1),
        (SearchBlock.standardize, "b", 2),
        (SearchBlock.standardize, "a", 3),
        (SearchBlock.set_totals, True, False, 1),
        (SearchBlock.set_totals, False, False, 2),
        (SearchBlock.set_totals, True, False, 3),
        (SearchBlock.begin_growing, "a", 0),
        (SearchBlock.grown, "a", RowBlock.see, 1),
        (SearchBlock.grown, "a", RowBlock.see, 2),
        (SearchBlock.grown, "a", RowBlock.weigh, 3),
        (SearchBlock.grown, "a", RowBlock.rescale, 4),
        (SearchBlock.grown, "b", RowBlock.evaluate, 5),
        (SearchBlock.grown, "a", RowBlock.evaluate, 6),
        (SearchBlock.grown, "a", RowBlock.steepest),
        (SearchBlock.grown, "a", RowBlock.slopes, 7),
        (SearchBlock.grown, "a", RowBlock.evaluate, 8),
        (SearchBlock.grown, "a", RowBlock.slopes, 9),
        (SearchBlock.value_and_gradient, 1),
        (SearchBlock.predict_held_out, 1),
        (SearchBlock.predict_held_out, 2),
    ]:
        recipe.note(method, tuple(args))
    assert recipe.calls == [
        (SearchBlock.set_weight_unit, (2.0,)),
        (SearchBlock.standardize, ("b", 2)),
        (SearchBlock.standardize, ("a", 3)),
        (SearchBlock.set_totals, (False, False, 2)),
        (SearchBlock.set_totals, (True, False, 3)),
        (SearchBlock.begin_growing, ("a", 0)),
        (SearchBlock.grown, ("a", RowBlock.see, 1)),
        (SearchBlock.grown, ("a", RowBlock.see, 2)),
        (SearchBlock.grown, ("a", RowBlock.weigh, 3)),
        (SearchBlock.grown, ("a", RowBlock.rescale, 4)),
        (SearchBlock.grown, ("b", RowBlock.evaluate, 5)),
        (SearchBlock.grown, ("a", RowBlock.evaluate, 8)),
        (SearchBlock.grown, ("a", RowBlock.slopes, 9)),
        (SearchBlock.predict_held_out, (1,)),
        (SearchBlock.predict_held_out, (2,)),
    ]
    recipe.note(SearchBlock.grown, ("a", RowBlock.weigh, 10))
    assert recipe.calls[8:10] == [
        (SearchBlock.grown, ("b", RowBlock.evaluate, 5)),
        (SearchBlock.predict_held_out, (1,)),
    ]
    recipe.note(SearchBlock.begin_growing, ("a", 11))
    assert recipe.calls[5:] == [
        (SearchBlock.grown, ("b", RowBlock.evaluate, 5)),
        (SearchBlock.predict_held_out, (1,)),
        (SearchBlock.predict_held_out, (2,)),
        (SearchBlock.begin_growing, ("a", 11)),
    ]


def test_a_recipe_keeps_arrays_as_they_were():
    recipe, array = ReplayLog(), np.zeros(2)
    recipe.note(SearchBlock.grown, ("a", RowBlock.evaluate, (array, None)))
    array += 1
    assert_array_equal(recipe.calls[0][1][2][0], [0, 0])


# -- other arrays ----------------------------------------------------------------------------


def test_sparse_rows_far_from_zero_need_double_precision(table):
    X, codes, weight = table
    for offset, double in ((0.0, 0), (1e6, 1)):
        block = SearchBlock(sparse.csr_array(X + offset), ClassTarget(codes, 3), weight)
        mean, deviation = moments((X + offset).T, weight)
        block.standardize("features", ScaledBasis(Basis.plain(4), mean, deviation, deviation > 0))
        assert block.needs_double("features") == double


@pytest.mark.torch
def test_torch_computes_what_numpy_computes(table):
    torch = pytest.importorskip("torch")
    X, codes, weight = table
    rng = np.random.default_rng(0)
    shapes = (2, 3, 3, 4), (2, 3, 3), (2, 3, 4), (2, 3)
    parts = [rng.normal(size=shape) for shape in shapes]
    answers = []
    for beside in (None, torch.zeros(0, dtype=torch.float64)):
        block = SearchBlock(X, ClassTarget(codes, 3), weight, beside=beside)
        nothing = np.zeros(4), np.ones(4), np.ones(4, dtype=bool)
        block.standardize("features", ScaledBasis(Basis.plain(4), *nothing))
        block.set_folds(thirds(), 2)
        for folds, single in ((True, True), (False, False)):
            (total,) = block.run_totals(folds, single)
            block.set_totals(folds, single, total)
            kind = torch.float32 if single else torch.float64
            as_given = [
                part.astype(np.float32 if single else np.float64)
                if beside is None
                else torch.asarray(part, dtype=kind)
                for part in parts
            ]
            for pool in ("linear", "log"):
                method = Kind("features", "features", pool, folds, single)
                answers.append(block.value_and_gradient(method, np.array([1, 0]), tuple(as_given)))
        block.predict_held_out(
            Kind("features", "features", "linear", False, False),
            np.arange(2),
            np.arange(2),
            tuple(as_given),
        )
        answers.append(block.candidate_losses())
    for one, other in zip(answers[:5], answers[5:], strict=True):
        for ours, theirs in zip(one, other, strict=True):
            assert_allclose(ours, np.asarray(theirs), rtol=2e-4, atol=1e-5)


# -- long tables -----------------------------------------------------------------------------


def test_single_precision_lays_out_what_double_precision_does(table):
    X, codes, weight = table
    X = X * [1.0, 1e-3, 1e4, 1.0] + [1e12, 0.0, 0.0, -5.0]
    X = np.where(weight[:, None] > 0, X, 1e300)
    used = weight > 0
    mean, deviation = moments(X.T, weight)
    knots = [np.quantile(column[used], np.linspace(0, 1, 4)) for column in X.T]
    seen = np.stack([X[used].min(axis=0), X[used].max(axis=0)])
    two_valued = np.zeros(4, dtype=bool)
    features = Features(mean, deviation, np.ones(4, dtype=bool), np.arange(4))
    for basis in (
        Basis.plain(4),
        Basis.ramps(knots),
        Basis.products(two_valued, mean),
        Basis.products(two_valued, mean, seen),
    ):
        with np.errstate(over="ignore"):
            expanded = basis.expand(np.ascontiguousarray(X.T))
        of_columns = moments(expanded, weight)
        usable = np.ones(basis.n_columns, dtype=bool)
        usable[1] = False
        scaled = ScaledBasis(basis, *of_columns, usable)
        rows = SearchInMemory(
            [
                SearchBlock(X[:40], ClassTarget(codes[:40], 3), weight[:40]),
                SearchBlock(X[40:], ClassTarget(codes[40:], 3), weight[40:], 40),
            ]
        )
        for keep in (True, False):
            standardize_single(rows, "some", scaled, features, keep=keep)
            found = [block._design("some", single=True) for block in rows.blocks]
            rows.broadcast(SearchBlock.standardize, "some", scaled)
            for block, single in zip(rows.blocks, found, strict=True):
                double = block.designs["some"]
                counts = block.weight > 0
                theta = np.eye(basis.n_columns)[None]
                none, each = np.zeros((1, basis.n_columns)), np.arange(basis.n_columns)
                shape = 1, basis.n_columns, double.n_rows
                one = single.logits(
                    theta.astype(np.float32),
                    none.astype(np.float32),
                    each,
                    np.empty(shape, np.float32),
                )
                other = double.logits(theta, none, each, np.empty(shape))
                assert one.dtype == np.float32
                assert np.isfinite(one).all()
                assert_allclose(one[..., counts], other[..., counts], atol=2e-5)
            rows.broadcast(SearchBlock.drop_layouts)


@pytest.mark.parametrize("single", [True, False])
def test_restricted_products_are_those_of_all_columns_with_masks(table, single):
    rng = np.random.default_rng(3)
    rows = ready(table, [40, 50])
    columns, gate_columns = np.array([0, 3, 9]), np.array([2, 3])
    kind = Kind("products", "features", "linear", folds=True, single=single)
    if not single:
        totals = rows.sum(SearchBlock.run_totals, True, False)
        rows.broadcast(SearchBlock.set_totals, True, False, *totals)
    runs, dtype = np.array([2, 0]), np.float32 if single else np.float64
    theta, gate = np.zeros((2, 3, 3, 14), dtype), np.zeros((2, 3, 4), dtype)
    theta[..., columns] = rng.normal(size=(2, 3, 3, 3))
    gate[..., gate_columns] = rng.normal(size=(2, 3, 2))
    biases = rng.normal(size=(2, 3, 3)).astype(dtype), rng.normal(size=(2, 3)).astype(dtype)
    whole = rows.sum(
        SearchBlock.value_and_gradient, kind, runs, (theta, biases[0], gate, biases[1])
    )
    rows.broadcast(SearchBlock.restrict, kind, columns, gate_columns)
    few = theta[..., columns], biases[0], gate[..., gate_columns], biases[1]
    restricted = replace(kind, restricted=True)
    found = rows.sum(SearchBlock.value_and_gradient, restricted, runs, few)
    value, of_gate, of_gate_bias, of_theta, of_bias = whole
    expected = value, of_gate[..., gate_columns], of_gate_bias, of_theta[..., columns], of_bias
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-4, atol=1e-6 if single else 1e-14)


def test_blocks_that_no_fold_fits_on_add_nothing(table):
    rows = ready(table, [40, 50])
    kind = Kind("features", "features", "linear", folds=True, single=True)
    rows.broadcast(SearchBlock.set_folds, [(np.arange(40), np.arange(40, 90))], 1)
    rows.broadcast(SearchBlock.set_totals, True, True, *rows.sum(SearchBlock.run_totals, 1, 1))
    rng = np.random.default_rng(0)
    shapes = (1, 2, 3, 4), (1, 2, 3), (1, 2, 4), (1, 2)
    parts = tuple(rng.normal(size=shape).astype(np.float32) for shape in shapes)
    run = np.array([0])
    fitted, held_out = rows.gather(SearchBlock.value_and_gradient, kind, run, parts)
    assert all(not values.any() for values in held_out)
    whole = rows.blocks[1]
    whole._is_fitted_on = True
    for given, computed in zip(held_out, whole.value_and_gradient(kind, run, parts), strict=True):
        assert given.shape == computed.shape
        assert_allclose(given, computed, atol=1e-7)
    assert any(values.any() for values in fitted)


@pytest.mark.parametrize("n_rows", [90, 91, 200])
def test_long_tables_lie_in_blocks(n_rows, monkeypatch):
    monkeypatch.setattr(rows_module, "_MOST_IN_A_BLOCK", 90)
    monkeypatch.setattr(rows_module, "_ROWS_OF_A_BLOCK", 32)
    X, codes, weight = np.arange(n_rows)[:, None], np.arange(n_rows) % 2, np.ones(n_rows)
    blocks = in_blocks(X, codes, lambda y: ClassTarget(y, 2), weight, slice(5, n_rows))
    sizes = [len(block.weight) for block in blocks]
    assert sum(sizes) == n_rows - 5
    assert max(sizes) <= (90 if n_rows - 5 <= 90 else 32)
    assert_array_equal([block._start for block in blocks], 5 + np.cumsum([0, *sizes[:-1]]))
    assert_array_equal(np.concatenate([block._given for block in blocks]), X[5:])


def test_rows_laid_out_in_single_precision_can_still_grow_members(table):
    X, codes, weight = table
    mean, deviation = moments(X.T, weight)
    laid_out = []
    for single in (False, True):
        block = SearchBlock(X, ClassTarget(codes, 3), weight)
        usable = deviation > 0
        scale = np.where(usable, deviation, 1.0)
        block.standardize("features", ScaledBasis(Basis.plain(4), mean, scale, usable), single)
        assert ("features" in block.designs) is not single
        laid_out.append(block)
    double, single = (block._design("features", single=False).like for block in laid_out)
    assert single.dtype == double.dtype == np.float64
    assert_allclose(single, double, rtol=1e-6, atol=1e-7)
    compared = [block._design("features", single=True).like for block in laid_out]
    assert compared[0].dtype == compared[1].dtype == np.float32
    assert_array_equal(*compared)
