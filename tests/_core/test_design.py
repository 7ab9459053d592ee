import numpy as np
import pytest
from scipy import sparse

from covey._core.design import Design, dense_moments, sparse_moments


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6)) * (rng.random((30, 6)) < 0.4) + [0, 5, 0, 0, 0, 0]
    X[:, 3] = 2.0
    return X, rng.uniform(0, 1, 30) * (rng.random(30) < 0.8)


def test_moments_are_weighted_and_the_same_for_sparse(table):
    X, weight = table
    mean, deviation = dense_moments(np.ascontiguousarray(X.T), weight)
    np.testing.assert_allclose(mean, np.average(X, axis=0, weights=weight))
    variance = np.average((X - mean) ** 2, axis=0, weights=weight)
    np.testing.assert_allclose(deviation**2, variance, atol=1e-15)
    assert deviation[3] == 0
    sparse_mean, sparse_deviation = sparse_moments(sparse.csc_array(X), weight)
    np.testing.assert_allclose(sparse_mean, mean)
    np.testing.assert_allclose(sparse_deviation, deviation)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_moments_survive_extreme_units(table, size):
    X, weight = table
    ordinary = dense_moments(np.ascontiguousarray(X.T), weight)
    for moments, data in ((dense_moments, X.T), (sparse_moments, sparse.csc_array(X))):
        for extreme, expected in zip(moments(data * size, weight), ordinary, strict=True):
            np.testing.assert_allclose(extreme / size, expected, rtol=1e-12)


def test_constancy_is_judged_on_rows_that_count():
    X = np.array([[1.0, 0.0], [1.0, 3.0], [9.0, 1.0]])
    weight = np.array([1.0, 1.0, 0.0])
    assert dense_moments(np.ascontiguousarray(X.T), weight)[1][0] == 0
    assert sparse_moments(sparse.csc_array(X), weight)[1][0] == 0


def test_implicit_scaling_equals_scaled_columns_for_each_run(table):
    X, _ = table
    rng = np.random.default_rng(1)
    n_classes, n_runs, n_features = 3, 2, X.shape[1]
    center, scale = rng.standard_normal((2, n_features)), rng.uniform(1, 2, (2, n_features))
    theta = rng.standard_normal((n_classes, n_runs, n_features))
    intercept = rng.standard_normal((n_classes, n_runs))
    residual = rng.standard_normal((n_classes, n_runs, len(X)))
    runs = np.arange(n_runs)
    for columns in (np.ascontiguousarray(X.T), sparse.csc_array(X)):
        design = Design(columns, center, scale)
        logits = design.logits(theta, intercept, runs, np.empty((n_classes, n_runs, len(X))))
        slope, total = design.gradient(residual, runs)
        for run in runs:
            Z = (X - center[run]) / scale[run]
            expected = theta[:, run] @ Z.T + intercept[:, run, None]
            np.testing.assert_allclose(logits[:, run], expected, atol=1e-12)
            np.testing.assert_allclose(slope[:, run], residual[:, run] @ Z, atol=1e-12)
            np.testing.assert_allclose(total[:, run], residual[:, run].sum(axis=1))
            which = np.array([1, 4])
            moved = logits[:, run].copy()
            design.add_columns(moved, theta[:, run, which], which, run)
            np.testing.assert_allclose(
                moved, expected + theta[:, run, which] @ Z[:, which].T, atol=1e-12
            )
