import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax as scipy_log_softmax

from covey._core.arrays import Workspace
from covey._core.design import Design
from covey._core.softmax_linear import (
    class_blocks,
    highest_and_right,
    log_softmax,
    objective_and_residual,
    weight_of,
)


def stack(n_classes=3, n_runs=2, n_rows=40, n_features=5, seed=0):
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((n_features, n_rows))
    theta = rng.standard_normal((n_classes, n_runs, n_features))
    intercept = rng.standard_normal((n_classes, n_runs))
    counts = np.bincount(rng.integers(0, n_classes, n_rows), minlength=n_classes)
    weight = rng.uniform(0, 2, (n_runs, n_rows))
    return columns, theta, intercept, counts, weight


def objective(design, theta, intercept, counts, weight):
    logits = design.logits(
        theta, intercept, np.arange(theta.shape[1]), np.empty((*theta.shape[:2], design.n_rows))
    )
    value, _ = objective_and_residual(
        logits, class_blocks(counts), weight, Workspace(logits), np.empty_like(logits)
    )
    return value


def test_gradient_equals_a_five_point_stencil():
    columns, theta, intercept, counts, weight = stack()
    design = Design(columns)
    runs = np.arange(theta.shape[1])
    logits = design.logits(theta, intercept, runs, np.empty((*theta.shape[:2], design.n_rows)))
    _, residual = objective_and_residual(
        logits, class_blocks(counts), weight, Workspace(logits), np.empty_like(logits)
    )
    slope, total = design.gradient(residual, runs)
    step = 1e-3

    def stencil(shift_theta, shift_intercept):
        at = {
            k: objective(
                design,
                theta + k * step * shift_theta,
                intercept + k * step * shift_intercept,
                counts,
                weight,
            )
            for k in (-2, -1, 1, 2)
        }
        return (at[-2] - 8 * at[-1] + 8 * at[1] - at[2]) / (12 * step)

    for c, d in np.ndindex(theta.shape[0], theta.shape[2]):
        shift = np.zeros_like(theta)
        shift[c, :, d] = 1.0
        np.testing.assert_allclose(
            slope[c, :, d], stencil(shift, np.zeros_like(intercept)), rtol=1e-8, atol=1e-8
        )
    for c in range(theta.shape[0]):
        shift = np.zeros_like(intercept)
        shift[c] = 1.0
        np.testing.assert_allclose(
            total[c], stencil(np.zeros_like(theta), shift), rtol=1e-8, atol=1e-8
        )


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.sampled_from([0, 1, 1e3, 1e300]))
def test_log_softmax_is_scipys_for_logits_of_any_size(seed, scale):
    logits = scale * np.random.default_rng(seed).standard_normal((4, 2, 7))
    np.testing.assert_allclose(log_softmax(logits), scipy_log_softmax(logits, axis=0))


@settings(max_examples=100)
@given(st.integers(0, 10**6))
def test_weighted_accuracy_counts_what_argmax_hits_also_where_classes_tie(seed):
    rng = np.random.default_rng(seed)
    n_classes, n_rows = 4, 30
    y = np.sort(rng.integers(0, n_classes, n_rows))
    logits = rng.integers(0, 3, (n_classes, 2, n_rows)).astype(float)  # ties abound
    weight = rng.uniform(0, 1, (2, n_rows))
    expected = (weight * (logits.argmax(axis=0) == y)).sum(axis=1)
    blocks = class_blocks(np.bincount(y, minlength=n_classes))
    right = highest_and_right(logits, blocks)[1]
    np.testing.assert_allclose(weight_of(right, weight), expected)


def test_objective_is_finite_for_logits_that_would_overflow():
    logits = np.array([[[1e4, -1e4]], [[-1e4, 1e4]]])
    value, residual = objective_and_residual(
        logits, class_blocks([0, 2]), np.ones((1, 2)), Workspace(logits), np.empty_like(logits)
    )
    assert value[0] == pytest.approx(-2e4)
    assert np.isfinite(residual).all()
