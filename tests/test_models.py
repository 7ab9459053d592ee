"""Models of any make, wherever one is given."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import (
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covey import (
    CodeBookClassifier,
    FusionClassifier,
    FusionRegressor,
    GeneralStackingClassifier,
    GeneralStackingRegressor,
    MultiviewClassifier,
)
from covey.fusers import Stacking
from covey.inspection import bias_variance
from covey.rivals import DecorateClassifier, SubsetSearchClassifier
from covey.tables import TablePreparation


class SilentBayes(GaussianNB):
    """A model whose ``fit`` returns nothing, as some from elsewhere do."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)


class SilentRidge(Ridge):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)


class SilentScaler(StandardScaler):
    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)


# Everything that is given a classifier, as a function of it.
WITH_CLASSIFIER = {
    "fusion": lambda one: FusionClassifier([one, LogisticRegression(max_iter=500)]),
    "fusion that learns": lambda one: FusionClassifier([one], "knora_e"),
    "fusion by stacking": lambda one: FusionClassifier([GaussianNB()], Stacking(one)),
    "stacking": lambda one: GeneralStackingClassifier([one]),
    "later layer": lambda one: GeneralStackingClassifier([[GaussianNB()], [one]]),
    "model on top": lambda one: GeneralStackingClassifier([GaussianNB()], one, passthrough=True),
    "views": lambda one: MultiviewClassifier(2, one, random_state=0),
    "views of pipelines": lambda one: MultiviewClassifier(
        2, make_pipeline(StandardScaler(), one), random_state=0
    ),
    "codes": lambda one: CodeBookClassifier(one, random_state=0),
    "decorate": lambda one: DecorateClassifier(one, 2, max_iter=2, random_state=0),
    "subset search": lambda one: SubsetSearchClassifier(
        one, 2, cv=2, max_passes=1, max_fits=8, random_state=0
    ),
    "table": lambda one: make_pipeline(TablePreparation(), one),
}


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X[::3], y[::3]


def given(name, X):
    return X if name == "table" else X.to_numpy()


def weighted(name):
    """The keyword arguments of a fit with weights, where it takes them."""
    return {} if name == "table" else {"sample_weight": np.linspace(0.5, 2, 50)}


@pytest.mark.parametrize("name", WITH_CLASSIFIER)
def test_a_classifier_whose_fit_returns_nothing_is_as_good_as_one_that_returns_itself(name, iris):
    X, y = given(name, iris[0]), iris[1]
    make, weight = WITH_CLASSIFIER[name], weighted(name)
    silent, plain = (make(one).fit(X, y, **weight) for one in (SilentBayes(), GaussianNB()))
    assert_array_equal(silent.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("weight", [None, np.linspace(0.5, 2, 442)])
def test_regressors_and_transformers_may_return_nothing_too(weight):
    X, y = load_diabetes(return_X_y=True)
    for make in (
        lambda ridge, _: FusionRegressor([ridge], "linear_stacking"),
        lambda ridge, scaler: GeneralStackingRegressor([ridge], ridge, features=scaler),
    ):
        silent, plain = (
            make(*models).fit(X, y, sample_weight=weight)
            for models in ((SilentRidge(), SilentScaler()), (Ridge(), StandardScaler()))
        )
        assert_array_equal(silent.predict(X), plain.predict(X))


def test_what_is_fitted_many_times_over_may_return_nothing(iris):
    X, y = iris[0].to_numpy(), iris[1].to_numpy()
    silent, plain = (
        bias_variance(one, X, y, n_runs=3, random_state=0) for one in (SilentBayes(), GaussianNB())
    )
    assert silent.expected_loss == plain.expected_loss


@pytest.mark.parametrize("name", WITH_CLASSIFIER)
def test_a_forest_which_has_a_length_once_fitted_can_be_given(name, iris):
    """An unfitted forest is neither true nor false: asking it raises an error."""
    forest = RandomForestClassifier(2, random_state=0)
    with pytest.raises((TypeError, AttributeError)):
        bool(forest)
    X, y = given(name, iris[0]), iris[1]
    model = WITH_CLASSIFIER[name](forest)
    assert hasattr(model, "predict_proba")
    assert model.fit(X, y).score(X, y) > 0.8


def test_forests_of_regressors_can_be_given():
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(2, random_state=0)
    model = GeneralStackingRegressor(
        [ExtraTreesRegressor(2, random_state=0), forest],
        forest,
        passthrough=True,
        cv=2,
    )
    assert model.fit(X, y).predict(X).shape == y.shape
