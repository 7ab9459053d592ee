import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import softmax

import covey._core.gating.gate as groups
from covey._core.basis import Basis
from covey._core.gating.gate import Groups
from tests._core.bases import products_of, ramps_of

N, D, K, C = 50, 3, 5, 4
SIZES, WEIGHTS = [2, 1, 2], np.array([0.5, 0.2, 0.3])


@pytest.fixture
def flock():
    """Rows, three groups of five members, and the members' coefficients."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    basis = ramps_of(X.T, np.ones(N), 3).union(products_of(X.T, X.mean(axis=0)))
    gates = rng.normal(size=(K, basis.n_columns)), rng.normal(size=K)
    coef, intercept = rng.normal(size=(K, C, basis.n_columns)), rng.normal(size=(K, C))
    return X, Groups(basis, *gates, SIZES, ["linear", "linear", "log"], WEIGHTS), coef, intercept


def literal_gates(X, gated):
    logits = gated.basis.rows(X) @ gated.coef.T + gated.intercept
    return [softmax(part, axis=1) for part in np.split(logits, np.cumsum(SIZES)[:-1], axis=1)]


def test_importance_is_the_gate_times_the_weight_of_its_group(flock):
    X, gated, _, _ = flock
    expected = [
        weight * gates for weight, gates in zip(WEIGHTS, literal_gates(X, gated), strict=True)
    ]
    assert_allclose(gated.importance(X).T, np.hstack(expected))
    assert_allclose(gated.importance(X).sum(axis=0), 1)


@pytest.mark.parametrize("at_once", [1, 1 << 18])
def test_probabilities_are_the_pools_written_out(flock, at_once, monkeypatch):
    X, gated, coef, intercept = flock
    monkeypatch.setattr(groups, "_NUMBERS_AT_ONCE", at_once)
    logits = np.einsum("np,kcp->nkc", gated.basis.rows(X), coef) + intercept
    first, second, third = literal_gates(X, gated)
    p = softmax(logits, axis=2)
    expected = (
        0.5 * np.einsum("nk,nkc->nc", first, p[:, :2])
        + 0.2 * np.einsum("nk,nkc->nc", second, p[:, 2:3])
        + 0.3 * softmax(np.einsum("nk,nkc->nc", third, logits[:, 3:]), axis=1)
    )
    assert_allclose(gated.predict(X, coef, intercept, numbers=False), expected, rtol=1e-12)


def test_numbers_are_averaged_by_importance(flock):
    X, gated, coef, intercept = flock
    values = gated.basis.rows(X) @ coef[:, 0].T + intercept[:, 0]
    found = gated.predict(X, coef[:, :1], intercept[:, :1], numbers=True)
    assert_allclose(found[:, 0], (values * gated.importance(X).T).sum(axis=1), rtol=1e-12)


def test_sparse_rows_on_plain_features_predict_as_dense_ones(flock):
    X, gated, coef, intercept = flock
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    plain = Groups(
        Basis.plain(D),
        gated.coef[:, :D],
        *[getattr(gated, name) for name in ("intercept", "sizes", "pools", "weights")],
    )
    members = coef[:, :, :D], intercept
    dense = plain.predict(X, *members, numbers=False)
    assert_allclose(plain.predict(sparse.csr_array(X), *members, numbers=False), dense)


def test_probabilities_are_never_above_one():
    """Losses of scikit-learn refuse those that are, be it by a rounding error."""
    weights = np.full(9, 1 / 9)
    assert np.cumsum(weights)[-1] > 1.0
    sure = np.zeros((9, 2, 1))
    sure[:, 0] = 1e3
    plain = Basis.plain(1)
    gated = Groups(plain, np.zeros((9, 1)), np.zeros(9), [1] * 9, ["linear"] * 9, weights)
    assert gated.probabilities(sure, np.zeros((9, 1))).max() == 1.0
