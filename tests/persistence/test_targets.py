"""scikit-learn's models of several targets, around models of ours, and in files."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import LinearSVC

from covey import FlockClassifier, FusionClassifier, FusionRegressor
from covey.persistence import ModelFileError, load
from tests.persistence._helpers import (
    FRAME,
    X_NUMBERS,
    Y_NUMBERS,
    X,
    changed,
    described,
    flock,
    round_trip,
    saved,
    y,
)
from tests.persistence.test_round_trips import assert_same_state

Y = np.column_stack([y, np.where(X[:, 2] > 4, "large", "small")])
VALUES = np.column_stack([Y_NUMBERS, -(Y_NUMBERS**2)])


@pytest.fixture(scope="module")
def classifier():
    members = [GaussianNB(), LogisticRegression(max_iter=1000)]
    return MultiOutputClassifier(FusionClassifier(members, "gate", cv=3)).fit(FRAME, Y)


def assert_the_same(model, again, rows):
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    assert described(again) == described(model)
    assert_same_state(model, again)
    if hasattr(model, "predict_proba"):
        for one, other in zip(again.predict_proba(rows), model.predict_proba(rows), strict=True):
            np.testing.assert_array_equal(one, other)


def test_classifiers_of_several_targets_come_back(classifier, tmp_path):
    assert_the_same(classifier, round_trip(classifier, tmp_path), FRAME)
    assert classifier.score(FRAME, Y) > 0.9


def test_a_flock_for_each_target_comes_back(tmp_path):
    model = MultiOutputClassifier(flock(effort="fast")).fit(X, X[:, 2:] > [4, 1])
    again = round_trip(model, tmp_path)
    assert_the_same(model, again, X)
    assert [part.tolist() for part in again.classes_] == [[False, True]] * 2
    assert isinstance(again.estimators_[1], FlockClassifier)


def test_regressors_of_several_targets_come_back(tmp_path):
    fusion = FusionRegressor([Ridge(), KNeighborsRegressor()], "linear_stacking")
    model = MultiOutputRegressor(fusion)
    assert described(round_trip(model, tmp_path)) == described(model)
    assert_the_same(model.fit(X_NUMBERS, VALUES), round_trip(model, tmp_path), X_NUMBERS)


def test_a_model_that_files_do_not_hold_is_refused_by_its_name(tmp_path):
    model = MultiOutputClassifier(LinearSVC()).fit(X, Y)
    with pytest.raises(ModelFileError, match="holds a LinearSVC, which covey's model files"):
        saved(model, tmp_path / "model.covey")


def test_several_targets_of_one_model_are_refused_with_what_takes_them():
    for one in (FlockClassifier(), FusionClassifier([GaussianNB()]), FusionRegressor([Ridge()])):
        with pytest.raises(ValueError, match="wrap the estimator in scikit-learn's MultiOutput"):
            one.fit(X, Y)


def _fitted(document):
    return document["model"]["fitted"]


def _other_width(document):
    _fitted(document)["estimators"][0]["fitted"]["n_features_in"] = 3


CHANGES = [
    (lambda d: _fitted(d)["estimators"].clear(), "estimators are missing"),
    (lambda d: _fitted(d)["estimators"].__setitem__(0, None), "estimators is not an object"),
    (lambda d: _fitted(d)["estimators"][0].clear(), "lacks 'kind'"),
    (lambda d: _fitted(d)["estimators"][0].update(more=1), "unknown part 'more'"),
    (
        lambda d: _fitted(d)["estimators"][0].update(fitted=None),
        "are not models of the same columns",
    ),
    (lambda d: d["model"].update(kind="MultiOutputRegressor"), "not models of the same columns"),
    (lambda d: d["model"]["parameters"].update(estimator={"model": {"kind": "Mean"}}), "lacks"),
    (_other_width, "is damaged"),
]


@pytest.mark.parametrize(("change", "match"), CHANGES)
def test_parts_that_do_not_belong_together_are_refused(change, match, classifier, tmp_path):
    path = changed(saved(classifier, tmp_path / "model.covey"), change)
    with pytest.raises(ModelFileError, match=match):
        load(path)
