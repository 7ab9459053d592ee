import numpy as np
import pytest
from scipy.optimize import minimize

from covey._core.lbfgs import minimise
from tests._core.test_lbfgs import logistic_problem


def bounds_of(signs):
    known = {0: (None, None), 1: (0.0, None), -1: (None, 0.0)}
    return [known[sign] for sign in signs.tolist()]


def scipys(objective, start, run, signs):
    return minimize(
        lambda x: tuple(part[0] for part in objective(x[None, :], np.array([run]))),
        start[run],
        jac=True,
        method="L-BFGS-B",
        bounds=bounds_of(signs),
        options={"maxiter": 20_000, "maxfun": 50_000, "gtol": 1e-10, "ftol": 1e-16},
    )


@pytest.mark.parametrize("seed", range(6))
def test_every_bounded_run_reaches_scipys_optimum(seed):
    objective, start, _ = logistic_problem(n_features=8, seed=seed)
    signs = np.random.default_rng(seed).integers(-1, 2, 8)
    found = minimise(objective, start, max_iter=2_000, tol=1e-8, signs=signs.astype(float))
    assert found.converged.all()
    assert (found.x * signs >= 0).all()
    assert ((found.x == 0) & (signs != 0)).any()  # some bounds are active
    for run in range(len(start)):
        reference = scipys(objective, start, run, signs)
        np.testing.assert_allclose(found.x[run], reference.x, atol=2e-5)
        assert found.value[run] <= reference.fun + 1e-9


def test_a_start_of_the_wrong_sign_is_moved_to_zero():
    objective, start, _ = logistic_problem()
    signs = np.ones(start.shape[1])
    found = minimise(objective, start - 1.0, max_iter=1, signs=signs)
    assert (found.x >= 0).all()


def test_bounds_that_bind_nothing_change_no_optimum():
    objective, start, _ = logistic_problem()
    free = minimise(objective, start, max_iter=500, tol=1e-8)
    signs = np.sign(free.x[0])
    bounded = minimise(
        lambda x, runs: objective(x, runs), start[:1], max_iter=500, tol=1e-8, signs=signs
    )
    np.testing.assert_allclose(bounded.x, free.x[:1], atol=1e-6)


def test_signs_of_zero_are_the_same_as_none():
    objective, start, _ = logistic_problem()
    free = minimise(objective, start, max_iter=40)
    same = minimise(objective, start, max_iter=40, signs=np.zeros(start.shape[1]))
    np.testing.assert_allclose(same.x, free.x, rtol=1e-9)


def test_a_bounded_run_is_the_same_alone_and_in_a_stack():
    objective, start, _ = logistic_problem()
    signs = np.array([1.0, -1.0, 1.0, 0.0, -1.0])
    together = minimise(objective, start, max_iter=30, signs=signs)
    for run in range(len(start)):
        alone = minimise(
            lambda x, runs, run=run: objective(x, runs + run),
            start[run : run + 1],
            max_iter=30,
            signs=signs,
        )
        np.testing.assert_allclose(alone.x[0], together.x[run], atol=1e-9)
