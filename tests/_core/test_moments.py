from operator import attrgetter

import numpy as np
import pytest
from scipy import sparse

from covey._core.blocks import MemoryBlocks
from covey._core.moments import _Part, moments, moments_of_blocks


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6)) * (rng.random((30, 6)) < 0.4) + [0, 5, 0, 0, 0, 0]
    X[:, 3] = 2.0
    return X, rng.uniform(0, 1, 30) * (rng.random(30) < 0.8)


def test_moments_are_weighted_and_the_same_for_sparse(table):
    X, weight = table
    mean, deviation = moments(np.ascontiguousarray(X.T), weight)
    np.testing.assert_allclose(mean, np.average(X, axis=0, weights=weight))
    variance = np.average((X - mean) ** 2, axis=0, weights=weight)
    np.testing.assert_allclose(deviation**2, variance, atol=1e-15)
    assert deviation[3] == 0
    sparse_mean, sparse_deviation = moments(sparse.csc_array(X), weight)
    np.testing.assert_allclose(sparse_mean, mean)
    np.testing.assert_allclose(sparse_deviation, deviation)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_moments_survive_extreme_units(table, size):
    X, weight = table
    ordinary = moments(np.ascontiguousarray(X.T), weight)
    for data in (X.T, sparse.csc_array(X)):
        for extreme, expected in zip(moments(data * size, weight), ordinary, strict=True):
            np.testing.assert_allclose(extreme / size, expected, rtol=1e-12)


def test_constancy_is_judged_on_rows_that_count():
    X = np.array([[1.0, 0.0], [1.0, 3.0], [9.0, 1.0]])
    weight = np.array([1.0, 1.0, 0.0])
    assert moments(np.ascontiguousarray(X.T), weight)[1][0] == 0
    assert moments(sparse.csc_array(X), weight)[1][0] == 0


@pytest.mark.parametrize("columns", [np.transpose, sparse.csc_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("cuts", [[10], [1, 2, 29], [5, 5]])
def test_blocks_reduce_to_the_moments_of_the_whole_table(table, columns, cuts):
    X, weight = table
    blocks = [
        _Part(columns=columns(rows), weight=part)
        for rows, part in zip(np.split(X, cuts), np.split(weight, cuts), strict=True)
    ]
    mean, deviation, largest = moments_of_blocks(MemoryBlocks(blocks), attrgetter("columns"))
    expected_mean, expected_deviation = moments(columns(X), weight)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-15)
    np.testing.assert_allclose(deviation, expected_deviation, atol=1e-15)
    np.testing.assert_array_equal(largest, np.abs(X[weight > 0]).max(axis=0))
    assert deviation[3] == 0
