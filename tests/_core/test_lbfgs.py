import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from covey._core.lbfgs import minimise


def logistic_problem(n_runs=6, n_rows=80, n_features=5, seed=0):
    """Regularised logistic regressions over one X with different weights and penalties."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features)) * np.geomspace(0.1, 10, n_features)
    sign = np.where(rng.random(n_rows) < 0.5, 1.0, -1.0)
    weight = rng.uniform(0, 1, (n_runs, n_rows))
    alpha = np.geomspace(1e-3, 10, n_runs)
    calls = []

    def objective(x, runs):
        calls.append(len(runs))
        margin = (x @ X.T) * sign
        value = (weight[runs] * np.logaddexp(0, -margin)).sum(axis=1)
        value += 0.5 * alpha[runs] * (x**2).sum(axis=1)
        slope = -weight[runs] * sign / (1 + np.exp(margin))
        return value, slope @ X + alpha[runs, None] * x

    return objective, np.zeros((n_runs, n_features)), calls


def test_every_run_reaches_scipys_optimum():
    objective, start, _ = logistic_problem()
    found = minimise(objective, start, max_iter=500, tol=1e-8)
    assert found.converged.all()
    for run in range(len(start)):
        reference = minimize(
            lambda x, run=run: tuple(part[0] for part in objective(x[None, :], np.array([run]))),
            start[run],
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 5000, "gtol": 1e-10, "ftol": 1e-15},
        )
        np.testing.assert_allclose(found.x[run], reference.x, atol=1e-6)
        assert found.value[run] <= reference.fun + 1e-10


def test_a_run_is_the_same_alone_and_in_a_stack():
    objective, start, _ = logistic_problem()
    together = minimise(objective, start, max_iter=30, tol=1e-7)
    for run in range(len(start)):
        alone = minimise(
            lambda x, runs, run=run: objective(x, runs + run),
            start[run : run + 1],
            max_iter=30,
            tol=1e-7,
        )
        assert alone.n_iter[0] == together.n_iter[run]
        np.testing.assert_allclose(alone.x[0], together.x[run], atol=1e-9)


def test_runs_that_have_converged_are_not_evaluated_again():
    objective, start, calls = logistic_problem()
    found = minimise(objective, start, max_iter=500, tol=1e-6)
    assert len(set(found.n_iter)) > 1
    assert calls[0] == len(start)
    assert calls[-1] < len(start)
    assert sum(calls) < len(start) * (found.n_iter.max() + 25)


def test_a_curved_valley_is_followed():
    def objective(x, runs):
        return (
            np.array([rosen(row) for row in x]),
            np.array([rosen_der(row) for row in x]),
        )

    start = np.array([[-1.2, 1.0, 0.5], [3.0, -2.0, 1.0]])
    found = minimise(objective, start, max_iter=500, tol=1e-8)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-5)


@pytest.mark.parametrize("broken", [np.inf, np.nan])
def test_steps_into_nowhere_are_taken_back(broken):
    def objective(x, runs):
        far = np.abs(x[:, 0]) > 3
        value = np.where(far, broken, (x[:, 0] - 2.5) ** 4)
        return value, np.where(far, broken, 4 * (x[:, 0] - 2.5) ** 3)[:, None]

    found = minimise(objective, np.array([[-2.0]]), max_iter=200, tol=1e-8)
    assert found.x[0, 0] == pytest.approx(2.5, abs=1e-2)
