import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import softmax

from covey._core.basis import Basis
from covey._core.design import Design
from covey._core.gating.gated_values import GatedValues, ValueSearchBlock
from covey._core.lbfgs import minimise
from covey._core.search.cross_fit import CrossFit, Family
from covey._core.search.rows import SearchInMemory
from covey._core.search.selection import greedy_mean, greedy_selection
from covey._core.value_losses import ValueLoss

LOSSES = [ValueLoss("squared"), ValueLoss("huber", 0.6), ValueLoss("quantile", quantile=0.3)]


def said(X, theta, b, V, v):
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
    objective = GatedValues(
        design, [design], (slice(0, n),), weight, alpha, "log", k, support, target=y, loss=loss
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
        numbers = said(X, inside, b[run, :, 0], V[run], v[run])
        w = objective.weight[run] / objective.weight[run].sum()
        penalty = objective.alpha[run] / 2 * ((inside**2).sum() + (V[run] ** 2).sum())
        assert_allclose(value[run], w @ loss.value(y - numbers) + penalty)
        assert_allclose(objective.said(x)[run], numbers)
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


def test_held_out_rows_are_predicted_without_them():
    _, _, X, y = problem(LOSSES[0])
    rows = np.arange(len(y))
    parts = [(rows[rows % 3 != fold], rows[rows % 3 == fold]) for fold in range(3)]
    block = ValueSearchBlock(X, y, np.ones(len(y)), LOSSES[0])
    nothing = np.zeros(5), np.ones(5), np.ones(5, dtype=bool)
    block.standardise("features", Basis.plain(5), *nothing)
    block.split(parts, 1)
    fits = CrossFit(
        SearchInMemory(block),
        {"features": 5},
        n_parts=3,
        n_restarts=1,
        trainer=None,
        max_iter=200,
        fit_intercept=True,
    )
    fits.hold_out(Family("features", 1, (0.01, 1.0), "log"))
    found, _ = block._held_out()
    for place, alpha in enumerate((0.01, 1.0)):
        expected = []
        for train, test in parts:
            centre, level = X[train].mean(axis=0), y[train].mean()
            Z = X[train] - centre
            gram = Z.T @ Z / len(train) + alpha * np.eye(5)
            theta = np.linalg.solve(gram, Z.T @ (y[train] - level) / len(train))
            expected.append((X[test] - centre) @ theta + level)
        # Folds are fitted in single precision.
        assert_allclose(found[place], np.concatenate(expected), atol=2e-3)


def test_greedy_picks_lower_the_loss_of_the_mean_and_know_equals():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=80)
    library = truth + rng.normal(size=(6, 80)) * np.array([[1.0, 1, 1, 2, 3, 9]]).T
    weight = rng.uniform(size=80)

    def row_loss(numbers):
        return (numbers - truth) ** 2

    shares = greedy_mean(library, row_loss, weight)
    assert_allclose(shares.sum(), 1)
    assert shares[5] == 0
    losses = row_loss(library) @ weight / weight.sum()
    assert row_loss(shares @ library) @ weight / weight.sum() < 0.6 * losses.min()
    picks = []
    for _ in range(4):
        tried = [row_loss(library[[*picks, k]].mean(axis=0)) @ weight for k in range(6)]
        picks.append(int(np.argmin(tried)))
    assert_allclose(
        greedy_mean(library, row_loss, weight, n_picks=4), np.bincount(picks, minlength=6) / 4
    )
    p = rng.uniform(0.1, 1, size=(4, 50))
    w = np.ones(50)
    assert_allclose(greedy_selection(p, w), greedy_mean(p, lambda q: -np.log(q), w))
