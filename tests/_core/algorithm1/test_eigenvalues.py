"""Largest eigenvalues by products alone are those of LAPACK."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from covey._core.algorithm1.trainer import largest_eigenvalues


def matrices(size, n_runs, seed=0):
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(n_runs, size + 5, size)) * draw.random(size)
    return rows.transpose(0, 2, 1) @ rows, draw.normal(size=(n_runs, size))


def found(matrix, start):
    return largest_eigenvalues(lambda v: np.einsum("rij,rj->ri", matrix, v), start)


@pytest.mark.parametrize("size", [1, 2, 5, 60, 200])
def test_values_are_those_of_the_whole_matrix(size):
    matrix, start = matrices(size, 3)
    assert_allclose(found(matrix, start), np.linalg.eigvalsh(matrix)[:, -1], rtol=1e-12)


def test_a_value_does_not_depend_on_the_matrices_beside_it():
    matrix, start = matrices(30, 4)
    matrix[2] = np.diag(np.arange(30.0))
    together = found(matrix, start)
    alone = [found(matrix[r : r + 1], start[r : r + 1])[0] for r in range(4)]
    assert_array_equal(together, alone)


def test_matrices_of_low_rank_and_of_zeros_end():
    direction = np.arange(6.0)
    matrix = np.stack([np.outer(direction, direction), np.zeros((6, 6)), np.eye(6)])
    start = np.random.default_rng(1).normal(size=(3, 6))
    assert_allclose(found(matrix, start), [direction @ direction, 0.0, 1.0], atol=1e-12)


def test_equal_largest_values_are_found():
    matrix = np.diag([1.0, 3.0, 3.0, 2.999999])[None]
    start = np.ones((1, 4))
    assert_allclose(found(matrix, start), 3.0, rtol=1e-9)
