import numpy as np
import pytest
from scipy import sparse

from covey._core.design import Design


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6)) * (rng.random((30, 6)) < 0.4) + [0, 5, 0, 0, 0, 0]
    X[:, 3] = 2.0
    return X, rng.uniform(0, 1, 30) * (rng.random(30) < 0.8)


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


def test_some_columns_give_the_products_of_these(table):
    X, _ = table
    rng = np.random.default_rng(1)
    center, scale = rng.standard_normal((2, 6)), rng.uniform(1, 2, (2, 6))
    theta, which = rng.standard_normal((3, 2, 6)), np.array([4, 1, 5])
    residual, none = rng.standard_normal((3, 2, len(X))), np.zeros((3, 2))
    left_out = np.delete(np.arange(6), which)
    theta[:, :, left_out] = 0.0
    runs, out = np.array([1, 0]), np.empty((3, 2, len(X)))
    for columns in (np.ascontiguousarray(X.T), sparse.csc_array(X)):
        for of_runs in ((center, scale), (center[:1], scale[:1]), (None, None)):
            design = Design(columns, *of_runs)
            few = design.only(which)
            assert few.n_features == 3
            expected = design.logits(theta, none, runs, out.copy())
            found = few.logits(theta[:, :, which], none, runs, out.copy())
            np.testing.assert_allclose(found, expected, atol=1e-12)
            np.testing.assert_allclose(
                few.gradient(residual, runs)[0],
                design.gradient(residual, runs)[0][:, :, which],
                atol=1e-12,
            )
