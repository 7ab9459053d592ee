"""What a fitted flock predicts by is one object, and its attributes are parts of that."""

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_diabetes, load_iris
from sklearn.naive_bayes import GaussianNB

from covey import (
    FlockClassifier,
    FlockRegressor,
    SubsetEnsembleClassifier,
    SubsetEnsembleRegressor,
    load,
    save,
)
from covey._state import equal

IRIS, DIABETES = load_iris(return_X_y=True), load_diabetes(return_X_y=True)
HOW = {"n_estimators": 2, "random_state": 0}
FLOCKS = {
    "searched": (FlockClassifier(effort="fast", **HOW), IRIS),
    "searched numbers": (FlockRegressor(effort="fast", **HOW), DIABETES),
    "grown": (SubsetEnsembleClassifier(**HOW), IRIS),
    "grown numbers": (SubsetEnsembleRegressor(**HOW), DIABETES),
    "mixed": (FlockClassifier(members=["linear", GaussianNB()], cv=2, **HOW), IRIS),
}


@pytest.fixture(params=FLOCKS)
def fitted(request):
    flock, table = FLOCKS[request.param]
    return flock.fit(*table), table


def test_what_is_known_of_members_is_a_part_of_the_model_and_cannot_be_set(fitted):
    flock, _ = fitted
    assert flock.n_estimators_ == flock.model_.n_members == len(flock.estimators_)
    assert not {"n_estimators_", "member_coef_", "support_", "weights_"} & vars(flock).keys()
    with pytest.raises(AttributeError, match="n_estimators_ is a part of model_"):
        flock.n_estimators_ = 3
    with pytest.raises(FrozenInstanceError):
        flock.model_.candidates = {}


def test_a_model_is_in_a_file_as_it_is(fitted, tmp_path):
    flock, (X, _) = fitted
    save(flock, tmp_path / "flock.covey")
    again = load(tmp_path / "flock.covey")
    assert equal(again.model_, flock.model_)
    assert_array_equal(again.predict(X), flock.predict(X))


def test_a_model_alone_predicts_what_its_flock_predicts(fitted):
    flock, (X, _) = fitted
    alone = pickle.loads(pickle.dumps(flock.model_))
    assert_array_equal(alone.predict(X), flock(X))


def test_a_model_is_replaced_as_a_whole():
    flock = SubsetEnsembleClassifier(**HOW).fit(*IRIS)
    flock.model_ = replace(flock.model_, coef=np.zeros_like(flock.member_coef_))
    assert_array_equal(flock.member_coef_, 0.0)
    assert np.ptp(flock.predict_proba(IRIS[0]), axis=0).max() < 1e-12


@pytest.mark.parametrize("flock", [FlockClassifier(), SubsetEnsembleRegressor()], ids=repr)
def test_a_flock_that_is_not_fitted_has_no_members(flock):
    assert not any(map(flock.__dir__().__contains__, ("model_", "fuser_")))
    assert not hasattr(flock, "n_estimators_")
    assert not hasattr(flock, "coef_")


@pytest.mark.parametrize("name", FLOCKS)
def test_every_flock_can_be_calibrated(name, tmp_path):
    flock, (X, y) = FLOCKS[name]
    flock.fit(X[::2], y[::2]).calibrate(X[1::2], y[1::2])
    save(flock, tmp_path / "flock.covey")
    again = load(tmp_path / "flock.covey")
    if hasattr(flock, "predict_set"):
        sets = again.predict_set(X, level=0.8)
        assert sets[np.arange(len(y)), y].mean() > 0.75
        assert not hasattr(flock, "predict_interval")
        return
    low, high = again.predict_interval(X, level=0.8).T
    assert ((low < y) & (y < high)).mean() > 0.75
    assert not hasattr(flock, "predict_set")
