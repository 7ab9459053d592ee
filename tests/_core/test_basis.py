"""What members see: ramps and products, against their definitions."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from covey._core.basis import Basis
from tests._core.bases import products_of, quantile_knots, ramps_of


@pytest.fixture
def columns():
    rng = np.random.default_rng(0)
    return np.stack(
        [
            rng.normal(3, 2, 90),
            rng.integers(0, 2, 90),
            rng.integers(0, 4, 90),
            rng.exponential(1, 90),
        ]
    ).astype(float)


def test_knots_are_quantiles_of_the_rows_that_count():
    column = np.arange(61.0)
    assert_array_equal(quantile_knots(column, np.ones(61), 6), [0, 10, 20, 30, 40, 50, 60])
    weight = np.where(column < 31, 1.0, 0.0)
    assert_array_equal(quantile_knots(column, weight, 3), [0, 10, 20, 30])
    assert_array_equal(quantile_knots(np.array([1.0, 5.0, 1.0, 2.0]), np.ones(4), 6), [1, 2, 5])


def test_knots_of_weights_are_those_of_repeated_rows():
    rng = np.random.default_rng(1)
    column, weight = rng.normal(size=50).round(1), rng.integers(0, 4, 50)
    assert_array_equal(
        quantile_knots(column, weight.astype(float), 6),
        quantile_knots(np.repeat(column, weight), np.ones(weight.sum()), 6),
    )


def test_a_ramp_rises_from_0_to_1_between_its_knots(columns):
    basis = ramps_of(columns, np.ones(90), 3)
    expanded = basis.expand(columns)
    assert_array_equal(expanded[:4], columns)
    assert basis.n_columns == 4 + 3 + 0 + 3 + 3, "a column of two values needs no ramp"
    for place in range(4, basis.n_columns):
        x, low, high = columns[basis.feature[place]], basis.low[place], basis.high[place]
        by_hand = [min(1.0, max(0.0, (value - low) / (high - low))) for value in x]
        assert_allclose(expanded[place], by_hand, rtol=1e-12, atol=1e-12)
    # All ramps of a feature add up to how far it has come.
    of_first = basis.feature[4:] == 0
    rank = expanded[4:][of_first].sum(axis=0)
    assert_array_equal(np.argsort(rank, kind="stable"), np.argsort(columns[0], kind="stable"))


def test_products_are_of_centred_features(columns):
    center = columns.mean(axis=1)
    basis = products_of(columns, center)
    expanded = basis.expand(columns)
    pairs = [
        (i, j) for i in range(4) for j in range(i, 4) if (i, j) != (1, 1)
    ]  # the square of a column of two values is that column
    assert basis.n_columns == 4 + len(pairs)
    for place, (i, j) in enumerate(pairs, start=4):
        assert_allclose(
            expanded[place], (columns[i] - center[i]) * (columns[j] - center[j]), rtol=1e-12
        )


def test_union_and_parts_keep_each_column(columns):
    ramps = ramps_of(columns, np.ones(90), 3)
    products = products_of(columns, columns.mean(axis=1))
    union = ramps.union(products)
    both = union.expand(columns)
    assert_array_equal(both[: ramps.n_columns], ramps.expand(columns))
    assert_array_equal(both[ramps.n_columns :], products.expand(columns)[4:])
    wanted = np.zeros(union.n_columns, dtype=bool)
    wanted[[5, ramps.n_columns + 2]] = True
    few, places = union.only(wanted)
    assert_array_equal(places, [0, 1, 2, 3, 5, ramps.n_columns + 2])
    assert_array_equal(few.expand(columns), both[places])
    assert_array_equal(few.features_of(np.eye(6, dtype=bool)[4:]), [[1, 0, 0, 0], [1, 0, 1, 0]])


def test_rows_of_a_plain_basis_stay_as_they_are(columns):
    X = sparse.csr_array(columns.T)
    assert Basis.plain(4).rows(X) is X
    ramps = ramps_of(columns, np.ones(90), 3)
    assert_array_equal(ramps.rows(X), ramps.expand(columns).T)


def test_names_say_what_a_column_is():
    columns = np.array([[0.0, 1, 2, 3], [5.0, 5, 6, 8]])
    ramps = ramps_of(columns, np.ones(4), 2).names(["age", "bmi"])
    assert ramps[:4] == ["age", "bmi", "ramp(age, 0, 1)", "ramp(age, 1, 3)"]
    products = products_of(columns, np.array([1.5, 0.0])).names(["age", "bmi"])
    assert products[2:] == ["(age - 1.5)**2", "(age - 1.5)*bmi", "bmi**2"]


def test_values_on_features_are_shared_between_partners():
    columns = np.array([[0.0, 1, 2, 3], [5.0, 5, 6, 8]])
    basis = products_of(columns, np.zeros(2))
    assert_array_equal(basis.on_features(np.array([1.0, 2.0, 4.0, 8.0, 16.0])), [9.0, 22.0])


@pytest.mark.parametrize("bounded", [False, True])
def test_a_basis_of_standardized_features_gives_the_same_columns(columns, bounded):
    columns = columns * [[1.0], [1.0], [1e3], [1e-3]] + [[0.0], [0.0], [1e6], [0.0]]
    mean, scale = columns.mean(axis=1), columns.std(axis=1)
    inner = columns[:, 10:]
    seen = np.stack([inner.min(axis=1), inner.max(axis=1)]) if bounded else None
    basis = ramps_of(columns, np.ones(90), 3).union(products_of(columns, mean * 0.9, seen))
    expected = basis.expand(columns)
    standardized, divided = basis.of_standardized(mean, scale)
    shifted = (np.arange(basis.n_columns) < 4) * mean[basis.feature]
    Z = (columns - mean[:, None]) / scale[:, None]
    found = standardized.expand(Z)
    assert_allclose(found, (expected - shifted[:, None]) / divided[:, None], atol=1e-9)
    single = standardized.expand(Z.astype(np.float32))
    assert single.dtype == np.float32
    assert_allclose(single, found, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("row", "held"),
    [
        ([0.5, 0.5], [0.5, 0.5]),
        ([9.0, 0.5], [2.0, 0.5]),
        ([-9.0, 0.5], [-1.0, 0.5]),
        ([0.5, 25.0], [0.5, 20.0]),
        ([15.0, 15.0], [2.0, 15.0]),
    ],
)
def test_a_value_beyond_reach_on_either_side_is_held_there(row, held):
    basis = replace(Basis.plain(2), seen=np.array([[0.0, 0.0], [1.0, 10.0]]))
    assert_array_equal(basis.reach, [[-1.0, -10.0], [2.0, 20.0]])
    X = np.array([[0.2, 0.2], row])
    assert_array_equal(basis.rows(X), [[0.2, 0.2], held])


@pytest.mark.torch
def test_columns_are_the_same_where_features_are_tensors(columns):
    torch = pytest.importorskip("torch")
    ramps = ramps_of(columns, np.ones(90), 3)
    seen = np.stack([columns.min(axis=1) + 0.1, columns.max(axis=1) - 0.1])
    products = Basis.products(np.zeros(4, dtype=bool), columns.mean(axis=1), seen)
    basis = ramps.union(products)
    expanded = basis.expand(torch.asarray(columns))
    assert_allclose(np.asarray(expanded), basis.expand(columns), rtol=1e-14, atol=1e-14)
    single = basis.expand(torch.asarray(columns, dtype=torch.float32))
    assert single.dtype == torch.float32
    assert_allclose(np.asarray(single), basis.expand(columns), rtol=1e-4, atol=1e-4)


def test_a_basis_among_more_features_has_the_same_columns():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(3, 20))
    seen = np.stack([columns.min(axis=1), columns.max(axis=1)])
    ramps = Basis.ramps([np.linspace(-1, 1, 4)] * 3)
    for narrow in (
        ramps,
        Basis.products(np.zeros(3, dtype=bool), columns.mean(axis=1), seen),
        ramps.union(Basis.products(np.array([True, False, False]), np.ones(3))),
    ):
        wide, positions = narrow.widened(np.array([0, 2, 4]), 5)
        among = np.full((5, 20), 7.0)
        among[[0, 2, 4]] = columns
        np.testing.assert_array_equal(wide.expand(among)[positions], narrow.expand(columns))
        assert wide.n_columns == narrow.n_columns + 2


def test_only_some_features_are_multiplied():
    used = np.array([True, False, True])
    products = Basis.products(np.zeros(3, dtype=bool), np.zeros(3), used=used)
    pairs = list(zip(products.feature[3:], products.partner[3:], strict=True))
    assert pairs == [(0, 0), (0, 2), (2, 2)]


def test_without_a_feature_the_other_columns_say_all_that_is_left(columns):
    ramps = ramps_of(columns, np.ones(90), 3)
    seen = np.stack([columns.min(axis=1), columns.max(axis=1)])
    basis = ramps.union(products_of(columns, columns.mean(axis=1), seen))
    wide = 5 * columns - 2 * columns.mean(axis=1, keepdims=True)
    for gone in (0, 1, 3):
        which, values = np.arange(4) == gone, np.array([2.5, 1.0, 3.0, 40.0])
        rest, place, factor, constant = basis.without(which, values)
        fixed = wide.copy()
        fixed[gone] = values[gone]
        new = rest.expand(wide[~which])
        kept = np.where(place[:, None] >= 0, new[place], 0.0)
        found = factor[:, None] * kept + constant[:, None]
        assert_allclose(found, basis.expand(fixed), rtol=1e-10, atol=1e-10)
        assert rest.n_features == 3
        rest._restored()
