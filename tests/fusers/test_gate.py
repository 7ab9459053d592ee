"""The gate: over frozen members, and refined together with a flock's own."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covey import (
    FusionClassifier,
    FusionRegressor,
    Gate,
    Predictions,
    SubsetEnsembleClassifier,
    SubsetEnsembleRegressor,
    make_quarter_circle,
)
from covey._folds import penalty_folds


def gated(n_estimators=4, *, random_state=0, **parameters):
    return SubsetEnsembleClassifier(
        n_estimators, fuser=Gate(**parameters), random_state=random_state
    )


@pytest.mark.parametrize("pool", ["linear", "log"])
@pytest.mark.parametrize("features", ["linear", "quadratic"])
def test_a_gate_bends_the_boundary(pool, features):
    gains = []
    for seed in range(3):
        X, y = make_quarter_circle(300, random_state=seed)
        X_test, y_test = make_quarter_circle(5000, random_state=100 + seed)
        equal = (
            SubsetEnsembleClassifier(4, fuser="product", random_state=seed)
            .fit(X, y)
            .score(X_test, y_test)
        )
        bent = gated(pool=pool, features=features, alpha=1e-3, random_state=seed).fit(X, y)
        gains.append(bent.score(X_test, y_test) - equal)
    assert np.mean(gains) > 0.02  # from about 94.3 % to about 98 %


def test_ten_members_bend_the_boundary_and_decide_themselves():
    for seed in range(4):
        X, y = make_quarter_circle(100, random_state=seed)
        X_test, y_test = make_quarter_circle(5000, random_state=100 + seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # most members would be constant
            flock = gated(10, random_state=seed).fit(X, y)
        # No straight line gets 95 %.
        assert flock.score(X_test, y_test) > 0.955
        assert not Predictions(flock.member_probabilities(X_test)).constant_members.any()


@pytest.mark.parametrize("make", [SubsetEnsembleClassifier, SubsetEnsembleRegressor])
def test_the_penalty_is_the_one_that_is_given_or_one_of_four(make):
    X, y = load_iris(return_X_y=True)
    assert make(3, fuser=Gate(alpha=0.007), random_state=0).fit(X, y).fuser_.alpha_ == 0.007
    chosen = make(3, fuser="gate", random_state=0).fit(X, y).fuser_.alpha_
    times = 10 if make is SubsetEnsembleRegressor else 1
    assert np.isclose(chosen, times * np.array([3e-2, 3e-3, 3e-4, 3e-5]), rtol=1e-9).any()


def test_classes_of_one_row_need_no_folds():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.array([0] * 14 + [1] * 15 + [2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flock = gated().fit(X, y)
        two = gated().fit(X[:2], [0, 1])
    assert flock.predict_proba(X).shape == (30, 3)
    assert two.fuser_.alpha_ == 0.03


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
    plain = SubsetEnsembleClassifier(5, flip_probability=0.2, fuser="product", random_state=0).fit(
        X, y
    )
    model = SubsetEnsembleClassifier(5, flip_probability=0.2, fuser=Gate(), random_state=0)
    model.fit(X, y)
    assert_array_equal(model.support_, plain.support_)
    assert not model.member_coef_.transpose(1, 0, 2)[:, ~model.support_].any()
    assert list(model.feature_names_in_) == list(X.columns)
    assert np.abs(model.member_coef_ - plain.member_coef_).max() > 1e-3


def test_sparse_gives_the_dense_gate():
    X, y = load_iris(return_X_y=True)
    X = np.where(np.median(X, axis=0) < X, X, 0.0)
    for form in (sparse.csr_array, sparse.csc_array):
        dense, thin = gated(max_iter=40).fit(X, y), gated(max_iter=40).fit(form(X), y)
        assert_allclose(thin.predict_proba(form(X)), dense.predict_proba(X), atol=1e-6)
    # Squares of centered and of raw features span the same gates, under another penalty.
    alike = {"features": "quadratic", "alpha": 1e-9}
    quadratic = gated(**alike).fit(sparse.csr_array(X), y)
    agrees = quadratic.predict(sparse.csr_array(X)) == gated(**alike).fit(X, y).predict(X)
    assert agrees.mean() > 0.95


def test_weights_are_repetitions():
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = gated(max_iter=50, alpha=3e-3).fit(X, y, sample_weight=weight)
    rows = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    repeated = gated(max_iter=50, alpha=3e-3).fit(*rows)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_without_intercept_members_stay_without():
    X, y = load_iris(return_X_y=True)
    model = gated().set_params(fit_intercept=False).fit(X, y)
    assert not model.member_intercept_.any()


def test_an_infinite_penalty_is_the_mean_of_priors_and_a_warning():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match=r"4 of 4 members predict the same .* than 1e\+06, or"):
        model = gated(alpha=1e6).fit(X[20:140], y[20:140])
    priors = np.bincount(y[20:140]) / 120
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
    fresh = rng.uniform(-1, 1, (2000, 2))
    truth = (fresh[:, 1] > 0) == (fresh[:, 0] > 0)
    members = [member.score(fresh, truth) for member in (left, right)]
    # Each member is right on its own half, and wrong on the other: the gate knows which is which.
    assert fused.score(fresh, truth) > max(members) + 0.3
    assert fused.score(fresh, truth) > fused.oracle_score(fresh, truth) - 0.05
    importance = fused.explain_fusion(X)
    assert importance[X[:, 0] < -0.2, 0].min() > 0.5
    assert importance[X[:, 0] > 0.2, 1].min() > 0.5


def test_out_of_fold_gate_over_any_members():
    X, y = load_wine(return_X_y=True)
    members = [make_pipeline(StandardScaler(), LogisticRegression()), GaussianNB()]
    fused = FusionClassifier(members, "gate").fit(X[::2], y[::2])
    held_out = [member.score(X[1::2], y[1::2]) for member in fused.estimators_]
    # A gate that learnt from members' own training rows would follow the one that overfits.
    assert fused.score(X[1::2], y[1::2]) >= min(held_out)
    assert_allclose(fused.explain_fusion(X).sum(axis=1), 1)


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


# -- numbers -----------------------------------------------------------------------------------


def numbers(n_rows=120, n_members=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2)) * [1.0, 5.0] + 3.0
    y = 100.0 + 20.0 * rng.normal(size=n_rows)
    spread = np.exp(rng.normal(size=(n_members, 2)) @ (X - 3.0).T / 4)
    return X, y, y[:, None] + 20.0 * spread.T * rng.normal(size=(n_rows, n_members))


def literal_gate_of_numbers(X, y, said, alpha, weight):
    """The gate of the least penalised squared error, by an optimiser without gradients."""
    centre = np.average(y, weights=weight)
    variance = np.average((y - centre) ** 2, weights=weight)
    mean = np.average(X, axis=0, weights=weight)
    features = (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    n_members = said.shape[1]

    def importance(v):
        v = v.reshape(3, n_members)
        return softmax(features @ v[:2] + v[2], axis=1)

    def objective(v):
        error = y - (importance(v) * said).sum(axis=1)
        penalty = (v.reshape(3, n_members)[:2] ** 2).sum()
        return np.average(error**2, weights=weight) / variance / 2 + alpha * penalty / 2

    return importance(minimize(objective, np.zeros(3 * n_members), tol=1e-10).x)


def test_a_gate_of_numbers_has_the_least_squared_error():
    X, y, said = numbers()
    weight = np.linspace(0.0, 2.0, len(y))
    P = Predictions(said, kind="value")
    gate = Gate(alpha=0.01).fit(P, y, X, weight)
    importance = literal_gate_of_numbers(X, y, said, 0.01, weight)
    assert importance.std(axis=0).min() > 0.02
    assert_allclose(gate.importance(P, X), importance, atol=1e-3)
    assert_allclose(gate.fuse(P, X), (gate.importance(P, X) * said).sum(axis=1))
    # Neither the unit of y nor where its zero is matters.
    moved = Predictions(1e3 * said - 7, kind="value")
    again = Gate(alpha=0.01).fit(moved, 1e3 * y - 7, X, weight)
    assert_allclose(again.importance(moved, X), gate.importance(P, X), atol=1e-6)


def test_a_gate_over_frozen_regressors_picks_the_one_that_knows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 2))
    y = np.abs(X[:, 0]) + 0.01 * rng.normal(size=400)
    left = LinearRegression().fit(X[X[:, 0] < 0], y[X[:, 0] < 0])
    right = LinearRegression().fit(X[X[:, 0] > 0], y[X[:, 0] > 0])
    fused = FusionRegressor([("left", left), ("right", right)], "gate", prefit=True).fit(X, y)
    fresh = rng.uniform(-1, 1, (2000, 2))
    errors = [
        np.mean((model.predict(fresh) - np.abs(fresh[:, 0])) ** 2)
        for model in (fused, left, right)
    ]
    # Either line is right on one half of |x| only.
    assert errors[0] < 0.1 * min(errors[1:])
    importance = fused.explain_fusion(X)
    assert importance[X[:, 0] < -0.2, 0].min() > 0.5
    assert importance[X[:, 0] > 0.2, 1].min() > 0.5
    thin = FusionRegressor([("left", left), ("right", right)], "gate", prefit=True)
    thin.fit(sparse.csr_array(X), y)
    assert_allclose(thin.predict(sparse.csr_array(X)), fused.predict(X), atol=1e-6)


def test_out_of_fold_gate_over_any_regressors():
    X, y = load_diabetes(return_X_y=True)
    fused = FusionRegressor([Ridge(0.1), KNeighborsRegressor(20)], Gate(features="quadratic"))
    fused.fit(X[::2], y[::2])
    errors = [
        np.mean((model.predict(X[1::2]) - y[1::2]) ** 2) for model in (fused, *fused.estimators_)
    ]
    assert errors[0] < max(errors[1:]) < np.var(y[1::2])
    flock = SubsetEnsembleRegressor(3, fuser=Gate(), random_state=0).fit(X[::2], y[::2])
    assert_allclose(
        flock.predict(X), (flock.explain_fusion(X) * flock.member_predictions(X)).sum(axis=1)
    )


@pytest.mark.parametrize("loss", ["squared", "huber", "quantile"])
def test_gate_and_regressors_are_refined_together(loss):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 2))
    y = 1e3 * (np.abs(X[:, 0]) + 0.02 * rng.normal(size=300))
    flock = SubsetEnsembleRegressor(4, loss=loss, fuser="gate", random_state=0).fit(X, y)
    fresh = rng.uniform(-1, 1, (1000, 2))
    # Any mean of lines is a line, which explains nothing of |x|.
    assert flock.score(fresh, 1e3 * np.abs(fresh[:, 0])) > 0.95
    values, importance = flock.member_predictions(fresh), flock.explain_fusion(fresh)
    assert_allclose(flock.predict(fresh), (importance * values).sum(axis=1))
    assert not Predictions(values, kind="value").constant_members.any()
    assert not flock.member_coef_.transpose(1, 0, 2)[:, ~flock.support_].any()
    # A penalty without end leaves one number, and says so.
    with pytest.warns(UserWarning, match="4 of 4 members predict the same .* smaller alpha than"):
        SubsetEnsembleRegressor(4, loss=loss, fuser=Gate(alpha=1e9), random_state=0).fit(X, y)


def test_one_regressor_under_a_gate_is_ridge():
    X, y = load_diabetes(return_X_y=True)
    gate = Gate(alpha=0.02, max_iter=2000)
    flock = SubsetEnsembleRegressor(1, flip_probability=0.0, fuser=gate, random_state=0).fit(X, y)
    # Half the square of the common model, and half of that of the distance from it.
    ridge = Ridge(0.01 * len(y)).fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    assert_allclose(flock.member_coef_[0, 0] * X.std(axis=0), ridge.coef_, rtol=1e-3, atol=1e-2)


def test_silence_speaks_neither_for_nor_against_a_number():
    X, y, said = numbers(n_members=1)
    available = np.ones((len(y), 2), dtype=bool)
    available[::3, 1] = available[0] = False
    P = Predictions(np.repeat(said, 2, axis=1), kind="value", available=available)
    gate = Gate().fit(P, y, X)
    importance = gate.importance(P, X)
    assert_allclose(importance[available[:, 1]], 0.5, atol=1e-9)
    assert_allclose(importance[3::3], [[1.0, 0.0]] * len(y[3::3]), atol=1e-12)
    assert_allclose(gate.fuse(P, X), [np.nan, *said[1:, 0]])


def test_numbers_are_not_multiplied_and_gaps_in_x_are_told_first():
    X, y = load_diabetes(return_X_y=True)
    for model in (FusionRegressor([Ridge()]), SubsetEnsembleRegressor()):
        with pytest.raises(ValueError, match="pool='log' multiplies probabilities"):
            model.set_params(fuser=Gate(pool="log")).fit(X, y)

    class Unfittable(Ridge):
        def fit(self, X, y):
            raise AssertionError("Too late.")

    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="Gate .* needs finite numbers"):
        FusionRegressor([Unfittable()], "gate").fit(X, y)


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
    with pytest.raises(ValueError, match="use warm_start=False, or a fuser"):
        gated().set_params(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="Only the product of linear members is itself linear"):
        gated().fit(X, y).collapse()


@pytest.mark.parametrize("fitted_on", [np.asarray, sparse.csr_array])
def test_a_gate_reads_dense_and_sparse_rows_alike(fitted_on):
    X, y = load_wine(return_X_y=True)
    flock = SubsetEnsembleClassifier(
        3, fuser=Gate(features="quadratic", max_iter=30), random_state=0
    ).fit(fitted_on(X), y)
    np.testing.assert_allclose(
        flock.predict_proba(X), flock.predict_proba(sparse.csr_array(X)), atol=1e-9
    )


@pytest.mark.parametrize("pool", ["linear", "log"])
def test_members_that_are_sure_are_never_fused_into_more_than_one(pool):
    # Weights of a softmax may sum to a little more than one; scikit-learn's measures then refuse.
    draw = np.random.default_rng(0)
    X, codes = draw.normal(size=(500, 3)), draw.integers(3, size=500)
    noise = draw.dirichlet(np.ones(3), size=(500, 11))
    gate = Gate(pool=pool, alpha=1e-4).fit(noise, codes, X)
    P = np.repeat(np.eye(3)[codes][:, None], 11, axis=1)
    assert gate.fuse(P, X).max() == 1.0
    assert gate.fuse_log(P, X).max() <= 0.0


def test_a_penalty_is_chosen_on_the_folds_that_are_given():
    X, y = load_wine(return_X_y=True)
    drawn = penalty_folds(y, np.ones(len(y)), 0)

    def fitted(**how):
        gate = Gate(max_iter=30, **how)
        flock = SubsetEnsembleClassifier(1, flip_probability=0.0, fuser=gate, random_state=0)
        return flock.fit(X, y)

    assert fitted(cv=drawn).fuser_.alpha_ == fitted().fuser_.alpha_
    # Where few rows are fitted on, another penalty wins.
    rows = np.random.default_rng(0).permutation(len(y))
    assert fitted(cv=[(rows[:12], rows[12:])]).fuser_.alpha_ < fitted().fuser_.alpha_
    with pytest.raises(ValueError, match="cv must be a list of pairs of arrays of rows, got 3"):
        fitted(cv=3)
