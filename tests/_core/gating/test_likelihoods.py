"""Numbers under a loss, and two classes as one contrast; classes are tested in `test_gate`."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import softmax

from covey._core.design import Design
from covey._core.gating.gate import (
    ClassLikelihood,
    ValueLikelihood,
    contrast,
    of_two_classes,
)
from covey._core.lbfgs import minimise
from covey._core.losses import ValueLoss
from covey._core.softmax_linear import class_blocks
from tests._core.gated import GatedLikelihood

LOSSES = [ValueLoss("squared"), ValueLoss("huber", 0.6), ValueLoss("quantile", quantile=0.3)]


def gated_mean(X, theta, b, V, v):
    """The gated members written out, for one run: theta (K, D), V (K, D)."""
    return (softmax(X @ V.T + v, axis=1) * (X @ theta.T + b)).sum(axis=1)


def problem(loss, *, n_runs=3, k=4, d=5, n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] > 0, X[:, 1], -X[:, 1]) + 0.2 * rng.standard_normal(n)
    weight = rng.uniform(0, 1, (n_runs, n))
    weight[0, ::7] = 0
    alpha = np.geomspace(1e-3, 0.1, n_runs)
    support = (rng.random((n_runs, k, d)) < 0.7).astype(float)
    design = Design(np.ascontiguousarray(X.T))
    objective = GatedLikelihood(
        design, [design], ValueLikelihood(y, loss), weight, alpha, "linear", k, support
    )
    x = 0.5 * rng.standard_normal((n_runs, objective.n_parameters))
    return objective, x, X, y


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_objective_is_the_literal_one_and_its_gradient_a_stencil(loss):
    objective, x, X, y = problem(loss)
    runs = np.arange(len(x))
    value, gradient = objective(x, runs)
    theta, b, V, v = objective.unpack(x)
    for run in runs:
        inside = theta[run, :, 0] * objective.support[run]
        numbers = gated_mean(X, inside, b[run, :, 0], V[run], v[run])
        w = objective.weight[run] / objective.weight[run].sum()
        penalty = objective.alpha[run] / 2 * ((inside**2).sum() + (V[run] ** 2).sum())
        assert_allclose(value[run], w @ loss.value(y - numbers) + penalty)
        assert_allclose(objective.predictions(x)[run], numbers)
    step = 1e-6
    for place in range(x.shape[1]):
        moved = np.zeros_like(x)
        moved[:, place] = step
        stencil = (objective(x + moved, runs)[0] - objective(x - moved, runs)[0]) / (2 * step)
        assert_allclose(gradient[:, place], stencil, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_refinement_ends_where_scipy_does(loss):
    objective, x, _, _ = problem(loss, n_runs=2, k=2, d=3, n=40)
    objective.alpha = np.array([0.01, 0.1])
    found = minimise(objective, x, max_iter=500, tol=1e-7)
    for run in range(2):

        def alone(z, run=run):
            value, gradient = objective(z[None], np.array([run]))
            return value[0], gradient[0]

        # Members and gate are not convex together: scipy starts not far from where we ended.
        best = minimize(alone, found.x[run] + 0.01, jac=True, method="L-BFGS-B", tol=1e-12)
        assert_allclose(found.value[run], best.fun, rtol=1e-6)


def test_one_member_under_a_squared_loss_is_ridge():
    objective, x, X, y = problem(LOSSES[0], n_runs=2, k=1)
    objective.support = None
    theta, b, _, _ = objective.unpack(minimise(objective, x, max_iter=500, tol=1e-10).x)
    for run in range(2):
        w = objective.weight[run] / objective.weight[run].sum()
        centred, rest = X - w @ X, y - w @ y
        gram = (w * centred.T) @ centred + objective.alpha[run] * np.eye(5)
        expected = np.linalg.solve(gram, (w * centred.T) @ rest)
        assert_allclose(theta[run, 0, 0], expected, atol=1e-7)
        assert_allclose(b[run, 0, 0], w @ y - w @ X @ expected, atol=1e-7)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_that_every_member_rules_out_still_has_a_direction(n_classes, dtype):
    likelihood = ClassLikelihood(class_blocks(np.ones(n_classes, dtype=int)))
    logits = np.zeros((2, n_classes, 1, n_classes), dtype=dtype)
    logits[:, np.arange(n_classes), 0, np.arange(n_classes)] = -1e5
    gates = np.full((2, 1, n_classes), 0.5, dtype=dtype)
    weight = np.ones((1, n_classes), dtype=dtype)
    for given in (logits, contrast(logits, 1)) if n_classes == 2 else (logits,):
        value, slopes, by_gates = likelihood.value_and_slopes(
            given.copy(), gates, weight, "linear", False
        )
        assert np.isfinite(value).all()
        assert np.isfinite(by_gates).all()
        found = of_two_classes(slopes, 1) if slopes.shape[1] < n_classes else slopes
        # All of the row's weight draws the members, half and half, to its class.
        assert_allclose(np.einsum("kcrc->kc", found), 0.5, rtol=1e-5)
    assert_allclose(likelihood.losses(np.array([0.0, 0.5, 1.0])), [36.04365, np.log(2), 0.0])


@pytest.mark.parametrize("pool", ["linear", "log"])
@pytest.mark.parametrize("size", [1.0, 300.0])
def test_the_contrast_of_two_classes_is_all_that_members_are_fitted_by(pool, size):
    rng = np.random.default_rng(0)
    k, n_runs, n = 3, 2, 40
    likelihood = ClassLikelihood(class_blocks(np.array([15, 25])))
    logits = size * rng.standard_normal((k, 2, n_runs, n))
    gates = softmax(rng.standard_normal((k, n_runs, n)), axis=0)
    weight = rng.uniform(0, 1, (n_runs, n))
    value, slopes, by_gates = likelihood.value_and_slopes(
        logits.copy(), gates, weight, pool, False
    )
    halved = likelihood.value_and_slopes(contrast(logits, 1), gates, weight, pool, False)
    assert_allclose(halved[0], value)
    assert_allclose(of_two_classes(halved[1], 1), slopes, atol=1e-12)
    assert_allclose(halved[2], by_gates, rtol=1e-6, atol=1e-9 * size)


def test_opposite_values_of_two_classes_have_the_squares_of_their_contrast():
    values = np.random.default_rng(0).standard_normal((4, 1, 5))
    both = of_two_classes(values, 1)
    assert_allclose(both[:, 0], -both[:, 1])
    assert_allclose(contrast(both, 1), values)
    assert_allclose((both**2).sum(axis=1), (values**2).sum(axis=1))
