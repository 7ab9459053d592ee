"""Subset paths against a literal version: pairs of member and feature leave one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from covey._core.basis import Basis
from covey._core.gating.paths import (
    FeatureColumns,
    gate_squares,
    member_squares,
    path_sizes,
)

KNOTS = [np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0]), np.array([0.0, 1.0, 2.0, 3.0])]
BASES = {
    "features": Basis.plain(3),
    "ramps": Basis.ramps(KNOTS),
    "products": Basis.products(np.array([False, True, False]), np.zeros(3)),
}
EVERY = pytest.mark.parametrize("name", BASES)


def literal_strength(basis, unit, usable, squares):
    """By the definition: a column counts for the unit of its feature, and of its partner."""
    units = sorted({int(one) for one in unit if one >= 0})
    strength = np.zeros((len(squares), len(units)))
    for member, values in enumerate(squares):
        for column, value in enumerate(values):
            made_of = {int(unit[basis.feature[column]])}
            if basis.partner[column] >= 0:
                made_of.add(int(unit[basis.partner[column]]))
            for one in made_of - {-1}:
                strength[member, units.index(one)] += value * usable[column]
    return strength


def literal_kept(strength, n_units, sizes, room):
    """Members first pass over what does not fit; then the weakest pairs leave, one by one."""
    n_members, _ = strength.shape
    kept = np.zeros(strength.shape, dtype=bool)
    for member, of_member in enumerate(strength):
        left = room
        for unit in sorted(range(len(of_member)), key=lambda u: (-of_member[u], u))[: 2 * n_units]:
            if sizes[unit] <= left:
                kept[member, unit] = True
                left -= sizes[unit]
    while kept.sum() > n_units * n_members:
        weakest = min(np.argwhere(kept).tolist(), key=lambda pair: strength[tuple(pair)])
        kept[tuple(weakest)] = False
    return kept


@EVERY
@pytest.mark.parametrize("unit", [[0, 1, 2], [0, 0, 1], [-1, 0, 1], [5, 5, -1]])
def test_strengths_and_columns_are_those_of_the_definition(name, unit):
    basis, unit = BASES[name], np.array(unit)
    rng = np.random.default_rng(0)
    usable = rng.random(basis.n_columns) < 0.8
    usable[:3] = True
    columns = FeatureColumns(basis, unit, usable)
    squares = rng.random((2, 3, basis.n_columns))
    strength = columns.strength(squares)
    for run, expected in zip(strength, squares, strict=True):
        assert_allclose(run, literal_strength(basis, unit, usable, expected))
    names = sorted({int(one) for one in unit if one >= 0})
    for kept in ([True] * len(names), [False] * len(names), [True] + [False] * (len(names) - 1)):
        stays = {-1} | {one for one, is_kept in zip(names, kept, strict=True) if is_kept}
        expected = [
            bool(usable[column])
            and int(unit[basis.feature[column]]) in stays
            and (basis.partner[column] < 0 or int(unit[basis.partner[column]]) in stays)
            for column in range(basis.n_columns)
        ]
        assert_array_equal(columns.columns(np.array(kept)), expected)


@pytest.mark.parametrize("seed", range(20))
def test_the_weakest_pairs_leave_first(seed):
    rng = np.random.default_rng(seed)
    n_features, n_members = int(rng.integers(2, 9)), int(rng.integers(1, 5))
    unit = np.arange(n_features) if seed % 2 else rng.integers(-1, 3, n_features)
    if (unit < 0).all():
        unit[0] = 0
    columns = FeatureColumns(Basis.plain(n_features), unit, np.ones(n_features, dtype=bool))
    names, sizes = np.unique(unit[unit >= 0], return_counts=True)
    strength = rng.permutation(n_members * len(names)).reshape(1, n_members, len(names)) + 1.0
    for n_units in range(1, len(names) + 1):
        for most in range(int(np.sum(unit < 0)), n_features + 1):
            kept = columns.strongest(strength, n_units, most)
            room = most - int(np.sum(unit < 0))
            assert_array_equal(kept[0], literal_kept(strength[0], n_units, sizes, room))
            assert (columns.columns(kept).sum(axis=2) <= most).all()


@pytest.mark.parametrize("seed", range(5))
def test_rounding_does_not_decide_who_leaves(seed):
    rng = np.random.default_rng(seed)
    columns = FeatureColumns(Basis.plain(8), np.arange(8), np.ones(8, dtype=bool))
    strength = 1.01 ** rng.integers(-2, 3, (1, 3, 8)) * (rng.random((1, 3, 8)) < 0.9)
    apart = 1.02 ** rng.permutation(24).reshape(1, 3, 8)
    rounded = strength * (1 + 1e-9 * rng.standard_normal(strength.shape))
    for n_units in range(1, 9):
        for most in (3, 8):
            kept = columns.strongest(strength, n_units, most)
            assert_array_equal(columns.strongest(rounded, n_units, most), kept)
            # Two hundredths are no rounding.
            kept = columns.strongest(apart, n_units, most)
            assert_array_equal(kept[0], literal_kept(apart[0], n_units, np.ones(8), most))


@EVERY
@pytest.mark.parametrize("always", [False, True])
def test_no_members_have_more_columns_than_is_said(name, always):
    basis = BASES[name]
    unit = np.array([-1, 0, 1]) if always else np.arange(3)
    columns = FeatureColumns(basis, unit, np.ones(basis.n_columns, dtype=bool))
    rng = np.random.default_rng(0)
    for n_members in (1, 3):
        for n_units in range(1, columns.n_units + 1):
            most = columns.most_columns(n_members, n_units)
            counts = [
                columns.columns(
                    columns.strongest(rng.random((1, n_members, columns.n_units)), n_units, 3)
                ).sum()
                for _ in range(50)
            ]
            assert max(counts) <= most
            if n_members == 1:
                assert max(counts) == most


def test_units_within_a_limit_are_the_smallest_ones():
    unit = np.array([0, 0, 0, 1, 1, -1, 2])
    columns = FeatureColumns(Basis.plain(7), unit, np.ones(7, dtype=bool))
    assert [columns.units_within(most) for most in range(1, 9)] == [0, 1, 1, 2, 2, 2, 3, 3]


def test_paths_fall_to_one_unit_and_pass_the_limit():
    assert path_sizes(30, 30) == [30, 18, 11, 6, 3, 2, 1]
    assert path_sizes(30, 4) == [30, 18, 11, 6, 4, 3, 2, 1]
    assert path_sizes(1, 1) == [1]
    assert path_sizes(0, 3) == [0]
    assert path_sizes(2, 0) == [2, 1, 0]
    assert len(path_sizes(5_000, 5_000)) == 7
    assert path_sizes(5_000, 5_000, 10)[6:] == [100, 10, 5, 2, 1]


def test_what_all_classes_or_members_share_does_not_count():
    theta = np.random.default_rng(0).normal(size=(2, 3, 4, 5))
    assert_allclose(member_squares(theta + 7.0), member_squares(theta))
    assert_allclose(member_squares(theta[:, :, :1]), theta[:, :, 0] ** 2)
    gate = theta[:, :, 0]
    assert_allclose(gate_squares(gate + 7.0), gate_squares(gate))
