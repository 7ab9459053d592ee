import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

from covey._core.design import Design
from covey._core.gating.gate import ClassLikelihood, pooled
from covey._core.lbfgs import minimise
from covey._core.softmax_linear import class_blocks
from tests._core.gated import GatedLikelihood


def literal(X, phi, y, w, alpha, pool, theta, b, V, v, support):
    """The objective written out, for one run: theta (K, C, D), V (K, P)."""
    theta = theta * support[:, None, :]
    logits = np.einsum("nd,kcd->nkc", X, theta) + b
    log_gate = log_softmax(phi @ V.T + v, axis=1)
    if pool == "linear":
        logs = logsumexp(log_gate[:, :, None] + log_softmax(logits, axis=2), axis=1)
    else:
        logs = log_softmax((np.exp(log_gate)[:, :, None] * logits).sum(axis=1), axis=1)
    likelihood = (w * logs[np.arange(len(y)), y]).sum() / w.sum()
    return -likelihood + alpha / 2 * ((theta**2).sum() + (V**2).sum())


def problem(pool, *, n_runs=3, k=4, c=3, d=5, n=60, seed=0, quadratic=True):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.sort(np.arange(n) % c)
    weight = rng.uniform(0, 1, (n_runs, n))
    weight[0, ::7] = 0
    alpha = np.geomspace(1e-3, 0.1, n_runs)
    support = (rng.random((n_runs, k, d)) < 0.7).astype(float)
    blocks = [Design(np.ascontiguousarray(X.T))]
    phi = X
    if quadratic:
        blocks.append(Design(np.ascontiguousarray((X**2).T)))
        phi = np.hstack([X, X**2])
    likelihood = GatedLikelihood(
        Design(np.ascontiguousarray(X.T)),
        blocks,
        ClassLikelihood(class_blocks(np.bincount(y))),
        weight,
        alpha,
        pool,
        k,
        support,
    )
    x = 0.5 * rng.standard_normal((n_runs, likelihood.n_parameters))
    return likelihood, x, X, phi, y, weight, alpha, support


@pytest.mark.parametrize("pool", ["linear", "log"])
@pytest.mark.parametrize("quadratic", [False, True])
def test_objective_is_the_literal_one_and_its_gradient_a_stencil(pool, quadratic):
    likelihood, x, X, phi, y, weight, alpha, support = problem(pool, quadratic=quadratic)
    runs = np.arange(len(x))
    value, gradient = likelihood(x, runs)
    parts = likelihood.unpack(x)
    for run in runs:
        expected = literal(
            X, phi, y, weight[run], alpha[run], pool, *(p[run] for p in parts), support[run]
        )
        assert value[run] == pytest.approx(expected, rel=1e-12)
    step = 1e-4
    for entry in range(0, x.shape[1], 3):
        shift = np.zeros_like(x)
        shift[:, entry] = step
        at = {k: likelihood(x + k * shift, runs)[0] for k in (-2, -1, 1, 2)}
        stencil = (at[-2] - 8 * at[-1] + 8 * at[1] - at[2]) / (12 * step)
        np.testing.assert_allclose(gradient[:, entry], stencil, atol=1e-9)


def literal_common(theta, b, support):
    """The least squares of members' distances from a common model, and of its size."""

    def squares(flat):
        mu = flat.reshape(theta.shape[1:])
        apart = (theta - mu) * support[:, None, :]
        return (apart**2).sum() + (mu**2).sum()

    found = minimize(squares, np.zeros(theta[0].size), tol=1e-12)
    return found.fun + ((b - b.mean(axis=0)) ** 2).sum()


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_members_can_be_drawn_to_a_common_model(share):
    likelihood, x, _, _, _, _, alpha, support = problem("linear")
    runs = np.arange(len(x))
    plain, _ = likelihood(x, runs)
    theta, b, _, _ = likelihood.within(x, runs)
    likelihood.toward_mean = share
    value, gradient = likelihood(x, runs)
    for run in runs:
        expected = literal_common(theta[run], b[run], support[run]) - (theta[run] ** 2).sum()
        assert value[run] - plain[run] == pytest.approx(
            share * alpha[run] / 2 * expected, abs=1e-9
        )
    step = 1e-4
    for entry in range(0, x.shape[1], 3):
        shift = np.zeros_like(x)
        shift[:, entry] = step
        at = {k: likelihood(x + k * shift, runs)[0] for k in (-2, -1, 1, 2)}
        stencil = (at[-2] - 8 * at[-1] + 8 * at[1] - at[2]) / (12 * step)
        np.testing.assert_allclose(gradient[:, entry], stencil, atol=1e-9)
    # Members that are alike pay for one model; they are all on all columns.
    likelihood.support = np.ones_like(support)
    alike = likelihood.pack(
        np.repeat(theta[:, :1], 4, axis=1),
        np.repeat(b[:, :1], 4, axis=1),
        *likelihood.unpack(x)[2:],
    )
    with_mean, _ = likelihood(alike, runs)
    likelihood.toward_mean = 0.0
    without, _ = likelihood(alike, runs)
    one = (theta[:, 0] ** 2).sum(axis=(1, 2))
    np.testing.assert_allclose(without - with_mean, share * alpha / 2 * one * (4 - 4 / 5))


def test_packing_is_undone_by_unpacking():
    likelihood, x, *_ = problem("linear")
    np.testing.assert_array_equal(likelihood.pack(*likelihood.unpack(x)), x)


@pytest.mark.parametrize("pool", ["linear", "log"])
def test_stack_reaches_scipys_optimum_run_by_run(pool):
    likelihood, x, *_ = problem(pool, k=2, n=40)
    found = minimise(likelihood, x, max_iter=2000, tol=1e-7)
    for run in range(len(x)):

        def one(flat, run=run):
            value, gradient = likelihood(flat[None, :], np.array([run]))
            return value[0], gradient[0]

        # The problem has many optima; scipy, started at ours, finds nothing better near it.
        again = minimize(one, found.x[run], jac=True, method="L-BFGS-B", options={"maxiter": 500})
        assert again.fun > found.value[run] - 1e-6


@pytest.mark.parametrize("pool", ["linear", "log"])
def test_frozen_members_leave_only_the_gate_to_fit(pool):
    likelihood, x, *_, weight, alpha, support = problem(pool)
    theta, b, V, v = likelihood.unpack(x)
    frozen, _ = likelihood.rows.outputs(
        (theta * support[:, :, None, :], b, V, v), np.arange(len(x))
    )
    gate_only = GatedLikelihood(
        None,
        likelihood.rows.gate,
        likelihood.rows.likelihood,
        weight,
        alpha,
        pool,
        4,
        frozen=frozen,
    )
    small = gate_only.pack(None, None, V, v)
    runs = np.arange(len(x))
    value, gradient = gate_only(small, runs)
    whole, whole_gradient = likelihood(x, runs)
    penalty = 0.5 * alpha * ((theta * support[:, :, None, :]) ** 2).sum(axis=(1, 2, 3))
    np.testing.assert_allclose(value + penalty, whole)
    np.testing.assert_allclose(gradient, whole_gradient[:, -small.shape[1] :], atol=1e-12)


def test_one_member_is_plain_softmax_regression_under_either_pool():
    for pool in ("linear", "log"):
        likelihood, x, X, _, y, weight, alpha, support = problem(pool, k=1)
        theta, b, *_ = likelihood.unpack(x)
        value, _ = likelihood(x, np.arange(3))
        V = likelihood.unpack(x)[2]
        for run in range(3):
            masked = theta[run, 0] * support[run, 0]
            logs = log_softmax(X @ masked.T + b[run, 0], axis=1)[np.arange(len(y)), y]
            expected = -(weight[run] * logs).sum() / weight[run].sum()
            expected += alpha[run] / 2 * ((masked**2).sum() + (V[run] ** 2).sum())
            assert value[run] == pytest.approx(expected)


def test_pooling_by_hand():
    logs = np.log(np.array([[[0.9], [0.1]], [[0.5], [0.5]]]))[:, :, None, :]  # (K, C, 1, 1)
    gates = np.array([0.5, 0.5]).reshape(2, 1, 1)
    np.testing.assert_allclose(pooled(logs, gates, "linear").ravel(), [0.7, 0.3])
    np.testing.assert_allclose(pooled(logs, gates, "log").ravel(), [0.75, 0.25])


def test_sparse_columns_give_the_dense_objective():
    likelihood, x, X, _, y, weight, alpha, support = problem("linear", quadratic=False)
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    center, scale = X.mean(axis=0)[None], X.std(axis=0)[None]
    dense = Design(np.ascontiguousarray(((X - center) / scale).T))
    implicit = Design(sparse.csc_array(X), center, scale)
    values = []
    for design in (dense, implicit):
        of_classes = ClassLikelihood(class_blocks(np.bincount(y)))
        likelihood = GatedLikelihood(
            design, [design], of_classes, weight, alpha, "linear", 4, support
        )
        values.append(likelihood(x, np.arange(3)))
    np.testing.assert_allclose(values[0][0], values[1][0])
    np.testing.assert_allclose(values[0][1], values[1][1], atol=1e-12)


def test_intercepts_stay_where_they_are_if_they_shall():
    likelihood, x, *_ = problem("linear")
    runs = np.arange(len(x))
    free = likelihood.unpack(likelihood(x, runs)[1])
    likelihood.fit_intercept = False
    fixed = likelihood.unpack(likelihood(x, runs)[1])
    assert np.abs(free[1]).min() > 0
    assert not fixed[1].any()
    for part in (0, 2, 3):
        np.testing.assert_array_equal(free[part], fixed[part])
