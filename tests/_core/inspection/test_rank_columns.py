"""Columns made of ranks: orthonormal, of ranks alone, and weights as copies of rows."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from covey._core.inspection.relevance import (
    class_scores,
    effective_rows,
    orthonormal_beyond,
    unit_columns,
    value_scores,
)


def columns_of(X, unit=None, weight=None):
    unit = np.arange(X.shape[1]) if unit is None else np.asarray(unit)
    weight = np.ones(len(X)) if weight is None else weight
    return unit_columns(X, unit, int(unit.max()) + 1, weight)


def test_columns_of_a_unit_are_orthonormal_and_centred():
    X = np.random.default_rng(0).normal(size=(60, 5))
    X[:, 1] = X[:, 1] > 0  # two values: straight alone
    units = columns_of(X, [0, 1, 2, 2, 2])
    assert_array_equal(np.bincount(units.unit), [3, 1, 9])
    assert_array_equal(np.bincount(units.unit[units.straight]), [1, 1, 3])
    for unit in range(3):
        own = units.columns[:, units.of([unit])]
        assert_allclose(own.T @ own, np.eye(own.shape[1]), atol=1e-9)
    assert_allclose(units.root @ units.columns, 0, atol=1e-9)
    assert_array_equal(units.of([2], straight=True), np.flatnonzero(units.unit == 2)[:3])


def test_ranks_alone_count():
    X = np.random.default_rng(0).normal(size=(40, 3))
    plain, bent = columns_of(X), columns_of(np.exp(100 * X))
    assert_allclose(plain.columns, bent.columns, atol=1e-12)
    assert_allclose(value_scores(X[:, 0], np.ones(40)), value_scores(X[:, 0] ** 3, np.ones(40)))


def test_a_weight_is_so_many_copies():
    rng = np.random.default_rng(0)
    X, weight = rng.integers(0, 6, (30, 3)).astype(float), rng.integers(1, 4, 30)
    codes = rng.integers(0, 3, 30)
    copies = np.repeat(np.arange(30), weight)
    moments = columns_of(X, weight=weight.astype(float)).columns.T @ class_scores(codes, weight)
    expected = columns_of(X[copies]).columns.T @ class_scores(codes[copies], np.ones(len(copies)))
    assert_allclose(np.sum(moments**2, axis=1), np.sum(expected**2, axis=1))


def test_classes_of_few_rows_are_one():
    codes = np.repeat(np.arange(5), [20, 20, 2, 2, 2])
    assert class_scores(codes, np.ones(46)).shape == (46, 2)
    assert class_scores(np.array([0, 1, 2]), np.ones(3)).shape == (3, 2)
    assert class_scores(np.zeros(6, dtype=int), np.ones(6)).shape == (6, 0)


def test_what_is_there_already_leaves_nothing():
    one = np.eye(4)[:, :2]
    assert orthonormal_beyond(one @ np.ones((2, 3)), one).shape == (4, 0)
    assert_allclose(
        np.abs(orthonormal_beyond(np.ones((4, 1)), one)[:, 0]), np.sqrt([0, 0, 0.5, 0.5])
    )


def test_effective_rows_ignore_the_scale_of_weights():
    assert_allclose([effective_rows(np.full(7, 0.1)), effective_rows(np.ones(7))], 7)
    assert effective_rows(np.array([1.0, 1.0, 1e-9])) < 2.001
