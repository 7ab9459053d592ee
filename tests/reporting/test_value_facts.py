import numpy as np
import pytest
from sklearn import metrics
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge

from covey import FusionRegressor
from covey.reporting._inputs import check_inputs
from covey.reporting._value_facts import Errors, ValueFacts
from tests.reporting.test_rows import card_of


@pytest.fixture(scope="module")
def facts(diabetes, gated_values):
    _, X, _, y = diabetes
    return ValueFacts(check_inputs(gated_values, X, y))


def test_errors_are_those_of_the_model(facts, diabetes, gated_values):
    _, X, _, y = diabetes
    predicted = gated_values.predict(X)
    assert facts.r2.value == pytest.approx(gated_values.score(X, y))
    assert facts.rmse.value == pytest.approx(metrics.root_mean_squared_error(y, predicted))
    assert facts.errors.mae.value == pytest.approx(metrics.mean_absolute_error(y, predicted))
    assert facts.constant_errors.r2.value == pytest.approx(0)
    for found in (facts.r2, facts.rmse, facts.errors.mae):
        assert found.low < found.value < found.high


def test_members_are_judged_as_a_loop_would(facts, diabetes, gated_values):
    _, X, _, y = diabetes
    members = gated_values.member_predictions(X)
    for k in range(members.shape[1]):
        errors = members[:, k] - y
        assert facts.member_score[k] == pytest.approx(np.sqrt(np.mean(errors**2)))
        low = y < np.quantile(y, 0.25)
        assert facts.member_parts[k, 0] == pytest.approx(np.sqrt(np.mean(errors[low] ** 2)))
    closest = np.abs(members - y[:, None]).min(axis=1)
    assert facts.staged_oracle()[-1] == pytest.approx(np.sqrt(np.mean(closest**2)))


def test_constant_members_are_none_that_the_oracle_takes(diabetes):
    X_train, X, y_train, y = diabetes
    levels = [DummyRegressor(strategy="quantile", quantile=q) for q in np.linspace(0, 1, 21)]
    model = FusionRegressor([*levels, Ridge(0.01)]).fit(X_train, y_train)
    facts = ValueFacts(check_inputs(model, X, y))
    assert facts.constant.tolist() == [True] * 21 + [False]
    ridge = np.sqrt(np.mean((model.estimators_[-1].predict(X) - y) ** 2))
    assert facts.staged_oracle()[-1] == pytest.approx(ridge)
    alone = [np.sqrt(np.mean((one.predict(X) - y) ** 2)) for one in model.estimators_[:3]]
    assert facts.staged_oracle()[:3] == pytest.approx(np.minimum.accumulate(alone))


def test_the_ridge_predicts_no_row_that_it_was_fitted_on(facts):
    # Noise that a fit could remember and a cross-fit cannot.
    rng = np.random.default_rng(0)
    facts = ValueFacts(facts.inputs)
    facts.truth = rng.normal(size=len(facts.truth))
    assert facts.ridge_errors.r2.value < 0.05


def test_values_that_do_not_vary_have_no_r2():
    assert np.isnan(Errors(np.ones(5), np.zeros(5)).r2.value)
    assert Errors(np.ones(5), np.zeros(5)).rmse.value == 1


def test_rows_with_the_largest_errors_are_shown(facts, diabetes, gated_values, reports):
    _, X, _, y = diabetes
    worst = int(np.argmax(np.abs(gated_values.predict(X) - y)))
    assert facts.telling_rows()[0] == (worst, "largest errors")
    card = card_of(reports["gated values"].html, X.index[worst])
    assert "verdict wrong" in card
