"""The gate: over frozen members, and refined together with a flock's own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import softmax
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from covey import (
    FusionClassifier,
    Gate,
    Predictions,
    SubsetEnsembleClassifier,
    make_quarter_circle,
)


def gated(n_estimators=4, *, random_state=0, **parameters):
    return SubsetEnsembleClassifier(
        n_estimators, fusion=Gate(**parameters), random_state=random_state
    )


@pytest.mark.parametrize("pool", ["linear", "log"])
@pytest.mark.parametrize("features", ["linear", "quadratic"])
def test_a_gate_bends_the_boundary(pool, features):
    gains = []
    for seed in range(3):
        X, y = make_quarter_circle(300, random_state=seed)
        X_test, y_test = make_quarter_circle(5000, random_state=100 + seed)
        equal = (
            SubsetEnsembleClassifier(4, fusion="product", random_state=seed)
            .fit(X, y)
            .score(X_test, y_test)
        )
        bent = gated(pool=pool, features=features, alpha=1e-3, random_state=seed).fit(X, y)
        gains.append(bent.score(X_test, y_test) - equal)
    assert np.mean(gains) > 0.02  # from about 94.3 % to about 98 %


@pytest.mark.parametrize("pool", ["linear", "log"])
@pytest.mark.parametrize("features", ["linear", "quadratic"])
def test_fused_probabilities_are_the_formula(pool, features):
    X, y = load_iris(return_X_y=True)
    model = gated(pool=pool, features=features).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    phi = np.hstack([Z, Z**2 - 1]) if features == "quadratic" else Z
    g = softmax(phi @ model.fuser_.coef_.T + model.fuser_.intercept_, axis=1)
    assert_allclose(model.explain_fusion(X), g, atol=1e-9)
    if pool == "linear":
        expected = np.einsum("nk,nkc->nc", g, model.member_probabilities(X))
    else:
        logs = np.stack([member.predict_log_proba(X) for member in model.estimators_], axis=1)
        expected = softmax(np.einsum("nk,nkc->nc", g, logs), axis=1)
    assert_allclose(model.predict_proba(X), expected, atol=1e-9)


def test_members_keep_their_subsets_and_names():
    X, y = load_wine(return_X_y=True, as_frame=True)
    plain = SubsetEnsembleClassifier(
        5, flip_probability=0.2, fusion="product", random_state=0
    ).fit(X, y)
    model = SubsetEnsembleClassifier(5, flip_probability=0.2, fusion=Gate(), random_state=0)
    model.fit(X, y)
    assert_array_equal(model.support_, plain.support_)
    assert not model.coef_.transpose(1, 0, 2)[:, ~model.support_].any()
    assert list(model.feature_names_in_) == list(X.columns)
    assert np.abs(model.coef_ - plain.coef_).max() > 1e-3


def test_sparse_gives_the_dense_gate():
    X, y = load_iris(return_X_y=True)
    X = np.where(np.median(X, axis=0) < X, X, 0.0)
    for form in (sparse.csr_array, sparse.csc_array):
        dense, thin = gated(max_iter=40).fit(X, y), gated(max_iter=40).fit(form(X), y)
        assert_allclose(thin.predict_proba(form(X)), dense.predict_proba(X), atol=1e-6)
    # Squares of centred and of raw features span the same gates, under another penalty.
    quadratic = gated(features="quadratic").fit(sparse.csr_array(X), y)
    assert quadratic.score(sparse.csr_array(X), y) > 0.9


def test_weights_are_repetitions():
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = gated(max_iter=50).fit(X, y, sample_weight=weight)
    repeated = gated(max_iter=50).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_without_intercept_members_stay_without():
    X, y = load_iris(return_X_y=True)
    model = gated().set_params(fit_intercept=False).fit(X, y)
    assert not model.intercept_.any()
    assert_allclose(model.predict_proba(np.zeros((1, 4))), 1 / 3)


def test_an_infinite_penalty_is_the_mean_of_priors():
    X, y = load_iris(return_X_y=True)
    model = gated(alpha=1e6).fit(X[20:], y[20:])
    priors = np.bincount(y[20:]) / len(y[20:])
    assert_allclose(model.predict_proba(X), np.tile(priors, (len(X), 1)), atol=1e-2)


def test_a_constant_column_changes_nothing():
    X, y = load_iris(return_X_y=True)
    for features in ("linear", "quadratic"):
        model = gated(features=features).fit(X, y)
        wider = gated(features=features).fit(np.column_stack([X, np.full(len(X), 7.0)]), y)
        assert np.isfinite(wider.predict_proba(np.column_stack([X, X[:, 0]]))).all()
        assert wider.fuser_.coef_.shape[1] > model.fuser_.coef_.shape[1]


def test_a_gate_over_frozen_members_picks_the_one_that_knows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 2))
    # Left of zero the second feature decides one way, right of it the other way.
    y = ((X[:, 1] > 0) == (X[:, 0] > 0)).astype(int)
    left = LogisticRegression().fit(X[X[:, 0] < 0], y[X[:, 0] < 0])
    right = LogisticRegression().fit(X[X[:, 0] > 0], y[X[:, 0] > 0])
    fused = FusionClassifier([("left", left), ("right", right)], "gate", prefit=True).fit(X, y)
    assert fused.score(X, y) > 0.95 > max(left.score(X, y), right.score(X, y)) + 0.3
    importance = fused.explain_fusion(X)
    assert importance[X[:, 0] < -0.2, 0].min() > 0.5
    assert importance[X[:, 0] > 0.2, 1].min() > 0.5


def test_out_of_fold_gate_over_any_members():
    X, y = load_wine(return_X_y=True)
    fused = FusionClassifier([LogisticRegression(max_iter=5000), GaussianNB()], "gate").fit(X, y)
    assert fused.score(X, y) > 0.95


@pytest.mark.parametrize("pool", ["linear", "log"])
def test_silence_speaks_neither_for_nor_against_a_member(pool):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    said = np.where(y[:, None] == np.arange(2), 0.8, 0.2)
    available = np.ones((200, 2), dtype=bool)
    available[rng.permutation(200)[:80], 1] = False
    P = Predictions(np.stack([said, said], axis=1), available=available)
    importance = Gate(pool=pool).fit(P, y, X).importance(P, X)
    assert_allclose(importance[available[:, 1]], 0.5, atol=1e-9)
    assert_allclose(importance[~available[:, 1]], [[1.0, 0.0]] * 80, atol=1e-12)


def test_bad_input_gets_one_sentence():
    X, y = load_iris(return_X_y=True)
    for parameters, message in (
        ({"pool": "mean"}, "pool must be one of 'linear', 'log'"),
        ({"features": "cubic"}, "features must be one of 'linear', 'quadratic'"),
        ({"alpha": -1}, "alpha == -1, must be >= 0"),
        ({"max_iter": 0}, "max_iter == 0"),
    ):
        with pytest.raises(ValueError, match=message):
            gated(**parameters).fit(X, y)
    with pytest.raises(ValueError, match="use warm_start=False, or a fusion"):
        gated().set_params(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="Only the product of linear members is itself linear"):
        gated().fit(X, y).collapse()
