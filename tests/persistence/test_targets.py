"""Models of several targets in files."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import LinearSVC

from covey import FusionClassifier, FusionRegressor, MultiTargetClassifier, MultiTargetRegressor
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

Y = pd.DataFrame({"kind": y, "large": X[:, 2] > 4, "same": "only"})
VALUES = np.column_stack([Y_NUMBERS, -(Y_NUMBERS**2)])


def fused(cv=3):
    return FusionClassifier([GaussianNB(), LogisticRegression(max_iter=1000)], "gate", cv=cv)


def fitted(model, rows, targets):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(rows, targets)


@pytest.fixture(scope="module")
def classifier():
    return fitted(MultiTargetClassifier(fused(), random_state=0), FRAME, Y)


def assert_the_same(model, again, rows):
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    assert again.predict(rows).dtype == model.predict(rows).dtype
    assert described(again) == described(model)
    assert_same_state(model, again)
    if hasattr(model, "predict_proba"):
        for one, other in zip(again.predict_proba(rows), model.predict_proba(rows), strict=True):
            np.testing.assert_array_equal(one, other)


def test_classifiers_of_several_targets_come_back(classifier, tmp_path):
    again = round_trip(classifier, tmp_path)
    assert_the_same(classifier, again, FRAME)
    assert again.target_names_.tolist() == ["kind", "large", "same"]
    assert [part.tolist() for part in again.classes_][1:] == [[False, True], ["only"]]


def test_a_flock_for_each_target_comes_back_and_may_be_one(tmp_path):
    model = MultiTargetClassifier(flock(effort="fast"), random_state=0)
    for targets in (X[:, 2:] > [4, 1], y):
        again = round_trip(model.fit(X, targets), tmp_path)
        assert_the_same(model, again, X)
        np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)


def test_regressors_of_several_targets_come_back(tmp_path):
    model = MultiTargetRegressor(
        FusionRegressor([Ridge(), KNeighborsRegressor()], "linear_stacking"), cv=3, random_state=0
    )
    assert_the_same(model.fit(X_NUMBERS, VALUES), round_trip(model, tmp_path), X_NUMBERS)
    assert described(round_trip(MultiTargetRegressor(cv=2), tmp_path)) == described(
        MultiTargetRegressor(cv=2)
    )


@pytest.mark.parametrize("names", [[3, 1], ["a", 1], [("a", "b"), ("a", "c")]])
def test_names_of_targets_come_back_as_they_are(names, tmp_path):
    columns = pd.Index(names, dtype=object, tupleize_cols=False)
    targets = pd.DataFrame(VALUES, columns=columns)
    model = MultiTargetRegressor(Ridge()).fit(X_NUMBERS, targets)
    again = round_trip(model, tmp_path)
    assert again.target_names_.tolist() == model.target_names_.tolist() == names


def test_names_that_are_no_plain_values_are_refused(tmp_path):
    targets = pd.DataFrame(VALUES, columns=pd.to_datetime(["2020-01-01", "2020-01-02"]))
    model = MultiTargetRegressor(Ridge()).fit(X_NUMBERS, targets)
    with pytest.raises(ModelFileError, match="holds a Timestamp, which covey's model files"):
        saved(model, tmp_path / "model.covey")


def test_a_model_that_files_do_not_hold_is_refused_by_its_name(tmp_path):
    model = fitted(MultiTargetClassifier(LinearSVC()), X, Y)
    with pytest.raises(ModelFileError, match="holds a LinearSVC, which covey's model files"):
        saved(model, tmp_path / "model.covey")


def test_folds_that_are_lists_of_rows_are_left_out(classifier, tmp_path):
    path = saved(classifier, tmp_path / "model.covey")
    assert load(path).estimators_[0].cv == 5
    few = path.stat().st_size
    longer = pd.concat([FRAME] * 20), pd.concat([Y] * 20)
    model = fitted(MultiTargetClassifier(fused(), random_state=0), *longer)
    assert len(model.estimators_[0].cv[0][0]) > 600
    assert saved(model, path).stat().st_size < few + 500


def _fitted(document):
    return document["model"]["fitted"]


def _other_width(document):
    other = _fitted(document)["targets"][0]["model"]["fitted"]
    other["n_features"] = 3


CHANGES = [
    (lambda d: _fitted(d)["targets"].clear(), "targets are missing"),
    (lambda d: _fitted(d).update(single=True), "targets are missing, or too many"),
    (lambda d: _fitted(d)["targets"].__setitem__(0, None), "targets are missing"),
    (lambda d: _fitted(d)["targets"][0].clear(), "lacks 'model'"),
    (lambda d: _fitted(d)["targets"][0].update(more=1), "unknown part 'more'"),
    (lambda d: _fitted(d).update(target_names={"list": ["a"]}), "is no list of names"),
    (lambda d: _fitted(d).update(target_names={"list": [{"list": []}] * 3}), "no list of names"),
    (lambda d: _fitted(d)["targets"][0]["model"].update(fitted=None), "no classifier of these"),
    (lambda d: d["model"].update(kind="MultiTargetRegressor"), "no regressor of these columns"),
    (lambda d: d["model"]["parameters"].update(estimator={"model": {"kind": "Mean"}}), "lacks"),
    (_other_width, "is damaged"),
]


@pytest.mark.parametrize(("change", "match"), CHANGES)
def test_parts_that_do_not_belong_together_are_refused(change, match, classifier, tmp_path):
    path = changed(saved(classifier, tmp_path / "model.covey"), change)
    with pytest.raises(ModelFileError, match=match):
        load(path)


def test_a_class_is_no_answer_of_a_regressor(tmp_path):
    model = fitted(MultiTargetClassifier(GaussianNB()), X, Y[["same", "large"]])
    path = saved(model, tmp_path / "model.covey")

    def regress(document):
        document["model"]["kind"] = "MultiTargetRegressor"

    with pytest.raises(ModelFileError, match="is a class, and numbers have none"):
        load(changed(path, regress))
