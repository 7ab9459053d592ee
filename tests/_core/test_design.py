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


@pytest.mark.parametrize("is_sparse", [False, True])
def test_two_classes_need_products_with_their_difference_alone(is_sparse):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 4))
    center, scale = rng.standard_normal((1, 4)), rng.uniform(1, 2, (1, 4))
    plain = Design(sparse.csc_matrix(X) if is_sparse else X.T.copy(), center, scale)
    halved = plain.by_contrasts()
    runs = np.arange(3)
    theta, intercept = rng.standard_normal((2, 3, 4)), rng.standard_normal((2, 3))
    logits = plain.logits(theta, intercept, runs, np.empty((2, 3, 30)))
    found = halved.logits(theta, intercept, runs, np.empty((2, 3, 30)))
    np.testing.assert_allclose(found[1] - found[0], logits[1] - logits[0])

    change = theta * (rng.uniform(size=(1, 3, 4)) < 0.5)
    plain.add_flipped(logits, change, runs)
    halved.add_flipped(found, change, runs)
    np.testing.assert_allclose(found[1] - found[0], logits[1] - logits[0])

    half = rng.standard_normal((1, 3, 30))
    residual = np.concatenate([-half, half])
    for one, other in zip(
        plain.gradient(residual, runs), halved.gradient(residual, runs), strict=True
    ):
        np.testing.assert_allclose(other, one, atol=1e-12)
    # What has one output, such as a power iteration, is as it was.
    one = theta[:1], intercept[:1], runs
    np.testing.assert_array_equal(
        halved.logits(*one, np.empty((1, 3, 30))), plain.logits(*one, np.empty((1, 3, 30)))
    )
