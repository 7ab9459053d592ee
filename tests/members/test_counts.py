"""Flocks of counts, rates and amounts, whose members predict logarithms of means."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics import d2_tweedie_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from covey import FlockRegressor, SubsetEnsembleRegressor
from covey.inspection import ambiguity, gate_share
from tests._core import literal_regression as literal
from tests.onnx.test_regressors import assert_equal_values
from tests.persistence._helpers import round_trip

rng = np.random.default_rng(0)
X = rng.normal(size=(240, 4))
MEAN = np.exp(0.4 + 0.8 * X[:, 0] - 0.5 * X[:, 1] * (X[:, 2] > 0))
EXPOSURE = rng.uniform(0.1, 2.0, 240)
COUNT = rng.poisson(MEAN * EXPOSURE).astype(float)
AMOUNT = MEAN * rng.gamma(2.0, 0.5, 240)
OF_LOSS = {"poisson": COUNT, "gamma": AMOUNT, "tweedie": np.where(COUNT > 0, AMOUNT, 0.0)}


def flock(loss="poisson", **parameters):
    given = {"n_estimators": 3, "cv": 3, "random_state": 0, **parameters}
    return FlockRegressor(loss=loss, **given)


@pytest.fixture(scope="module")
def fitted():
    return flock().fit(X, COUNT / EXPOSURE, sample_weight=EXPOSURE)


@pytest.mark.parametrize(("loss", "power"), [("poisson", 1), ("gamma", 2), ("tweedie", 1.6)])
def test_a_single_member_is_the_literal_penalized_regression(loss, power):
    y, alpha = OF_LOSS[loss], 0.05
    how = {"effort": "fast", "n_estimators": 1, "alpha": alpha, "averaged": False}
    found = FlockRegressor(loss=loss, power=1.6, random_state=0, **how).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    rate = y / y.mean()

    def objective(at):
        mu = np.exp(Z @ at[1:] + at[0])
        losses = [literal.half_deviance(*one, power) for one in zip(rate, mu, strict=True)]
        return np.mean(losses) + alpha / 2 * at[1:] @ at[1:]

    best = minimize(objective, np.zeros(5), method="BFGS", options={"gtol": 1e-8}).x
    expected = y.mean() * np.exp(Z @ best[1:] + best[0])
    np.testing.assert_allclose(found.predict(X), expected, rtol=1e-3)
    np.testing.assert_allclose(found.member_coef_[0, 0] * X.std(axis=0), best[1:], atol=1e-3)


@pytest.mark.parametrize(("loss", "power"), [("poisson", 1), ("gamma", 2), ("tweedie", 1.5)])
def test_the_deviance_is_lower_than_that_of_squared_errors(loss, power):
    y = OF_LOSS[loss]
    d2 = []
    for one in (loss, "squared"):
        said = flock(one).fit(X[:160], y[:160]).predict(X[160:])
        d2.append(d2_tweedie_score(y[160:], np.maximum(said, 0.05), power=power))
    assert d2[0] > max(d2[1], 0.0)


def test_an_exposure_is_a_rate_with_weights_and_a_unit_changes_nothing(fitted):
    # The likelihood of counts with exposures is that of rates, weighted by these.
    often = flock().fit(X, 32 * COUNT / EXPOSURE, sample_weight=EXPOSURE)
    np.testing.assert_allclose(often.predict(X), 32 * fitted.predict(X), rtol=1e-9)


def test_members_are_fused_by_the_mean_of_their_logarithms(fitted):
    members, weights = fitted.member_predictions(X), fitted.explain_fusion(X)
    assert members.shape == weights.shape
    assert (members > 0).all()
    within = np.clip(np.exp(np.sum(weights * np.log(members), axis=1)), *fitted.y_range_)
    np.testing.assert_allclose(within, fitted.predict(X), rtol=1e-10)
    for place, member in enumerate(fitted.estimators_):
        np.testing.assert_allclose(member.predict(X), members[:, place], rtol=1e-10)
        assert member.formula().startswith("exp(")


def test_explanations_speak_of_the_numbers_that_are_predicted(fitted):
    (one,) = fitted.explain(X[:1])
    pushes = sum(reason["push"] for reason in one["because"] + one["against"]) + one["other"]
    assert one["baseline"] + pushes == pytest.approx(fitted.predict(X[:1])[0])
    assert fitted.importance_.loss.argmax() == 0
    assert 0 <= one["gate_share"] <= 1
    low, high = fitted.predict_interval(X, level=0.8).T
    assert (low >= 0).all()
    assert ((low <= COUNT / EXPOSURE) & (high >= COUNT / EXPOSURE)).mean() > 0.7


def test_files_and_graphs_predict_the_same(fitted, tmp_path):
    np.testing.assert_array_equal(round_trip(fitted, tmp_path).predict(X), fitted.predict(X))
    from covey.onnx import to_onnx

    for dtype in ("float32", "float64"):
        assert_equal_values(to_onnx(fitted, dtype=dtype), fitted, X, dtype)
        member = fitted.estimators_[0]
        assert_equal_values(to_onnx(member, dtype=dtype), member, X, dtype)


def test_other_kinds_of_members_are_weighed_by_the_same_loss(tmp_path):
    mixed = flock(members=["linear", "boosting", "extra_trees"]).fit(X, COUNT)
    assert np.isfinite(mixed.cv_results_["mean_loss"]).all()
    assert mixed.predict(X).min() >= 0
    np.testing.assert_array_equal(round_trip(mixed, tmp_path).predict(X), mixed.predict(X))


def test_rows_far_outside_have_finite_predictions(fitted):
    assert np.isfinite(fitted.predict(np.full((2, 4), 1e12) * [[1], [-1]])).all()


@pytest.mark.parametrize(
    ("parameters", "y", "match"),
    [
        ({}, COUNT - 1, "is for numbers from 0 on, but y holds -1"),
        ({}, 0 * COUNT, "y holds zeros only"),
        ({"loss": "gamma"}, COUNT, "is for numbers above 0, but y holds 0"),
        ({"loss": "tweedie", "power": 2}, COUNT, "power"),
        ({"loss": "tweedie", "power": 0.5}, COUNT, "power"),
        ({"loss": "tweedie", "power": "1.5"}, COUNT, "power"),
        ({"loss": "counts"}, COUNT, "loss must be"),
    ],
)
def test_impossible_targets_are_refused_in_one_sentence(parameters, y, match):
    with pytest.raises((ValueError, TypeError), match=match) as refused:
        flock(**parameters).fit(X, y)
    assert "\n" not in str(refused.value)


def test_algorithm_1_has_no_such_loss():
    with pytest.raises(ValueError, match="is for the search of a FlockRegressor"):
        SubsetEnsembleRegressor(loss="poisson").fit(X, COUNT)


def test_a_mean_of_logarithms_has_no_ambiguity_of_squared_errors(fitted):
    with pytest.raises(ValueError, match="averages the logarithms"):
        ambiguity(fitted, X, COUNT / EXPOSURE)
    assert gate_share(fitted, X, COUNT / EXPOSURE).loss > 0


@parametrize_with_checks(
    [FlockRegressor(loss="gamma", effort="fast", alpha=0.1, random_state=0)],
)
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)
