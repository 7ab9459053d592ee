"""What a fitted flock predicts by is one object, and its attributes are parts of that."""

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import Bunch

from covey import (
    FlockClassifier,
    FlockRegressor,
    SubsetEnsembleClassifier,
    SubsetEnsembleRegressor,
    load,
    save,
)
from covey._state import equal
from covey.members._mixed_model import MixedModel
from covey.persistence import ModelFileError
from tests.persistence._helpers import changed

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


def patients():
    """A table with gaps, categories and dates, and what is to be predicted of it."""
    place = np.arange(120)
    table = pd.DataFrame(
        {
            "age": np.where(place % 7, place % 50, np.nan),
            "town": np.array(["Rome", "Oslo", "Bath"])[place % 3],
            "seen": pd.date_range("2024-01-01", periods=120, freq="35h"),
        }
    )
    return table, np.where((place % 50 > 20) ^ (place % 3 == 0), "ill", "well")


@pytest.mark.parametrize("members", ["linear", ["linear", GaussianNB()]], ids=str)
def test_a_model_alone_reads_tables_with_gaps_categories_and_dates(members):
    table, y = patients()
    flock = FlockClassifier(members=members, effort="fast", cv=2, **HOW).fit(table, y)
    alone = pickle.loads(pickle.dumps(flock.model_))
    new = table[::-1].iloc[:30].assign(unknown=1.0)
    assert_array_equal(alone.predict(new), flock.predict_proba(new))
    assert_array_equal(alone.importance(new), flock.explain_fusion(new))
    assert_array_equal(alone.members(new).values, flock.member_probabilities(new))
    assert alone.table.feature_names_in_.tolist() == list(table.columns)
    assert alone.describe("flock").splitlines()[0].startswith("flock: ")
    with pytest.raises(ValueError, match="missing:\n- town"):
        alone.predict(table.drop(columns="town"))


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_models_of_linear_members_are_averaged_as_any_others(kind, tmp_path):
    (X, y), of = (IRIS, FlockClassifier) if kind == "classes" else (DIABETES, FlockRegressor)
    flocks = [of(effort="fast", **HOW).fit(X, y, np.arange(len(y)) % 3 != k) for k in range(3)]
    models = {f"fold {k}": replace(one.model_, table=None) for k, one in enumerate(flocks, 1)}
    mean = MixedModel(
        target=flocks[0].model_.target,
        table=flocks[0].model_.table,
        models=Bunch(
            **{name: replace(one, target=flocks[0].model_.target) for name, one in models.items()}
        ),
        weights=np.full(3, 1 / 3),
        candidates={},
        examples=X[:10],
        is_sparse=False,
    )
    parts = [one.predict(X) for one in mean.models.values()]
    assert_allclose(mean.predict(X), np.mean(parts, axis=0), rtol=1e-12)
    flock = flocks[0]
    flock.model_ = mean
    save(flock, tmp_path / "flock.covey")
    again = load(tmp_path / "flock.covey")
    assert equal(again.model_, mean)
    assert_array_equal(again(X), mean.predict(X))
    assert flock.coefficient_sizes_.sum() == pytest.approx(1)
    assert [type(one) for one in flock.estimators_] == [of] * 3
    named = {one["name"].partition(",")[0] for one in flock.explain(X[:20])[0]["members"]}
    assert named == set(models)
    assert all(name in flock.summary() for name in models)


def changed_model(flock, change, path):
    """Load a file of a flock whose model was changed."""
    save(flock, path)
    return load(changed(path, lambda document: change(document["model"]["fitted"]["model"])))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda one: one.update(table={}), "lacks 'n_features_in'"),
        (lambda one: one["target"]["Classes"].update(classes=None), "classes is not an object"),
        (lambda one: one.update(n_terms=-1), "n_terms is not between"),
    ],
)
def test_linear_members_of_a_file_are_checked_as_a_model_is(change, match, tmp_path):
    flock, table = FLOCKS["mixed"]
    path = tmp_path / "flock.covey"
    flock.fit(*table)

    def changed_member(model):
        change(model["MixedModel"]["models"]["models"][0]["data"]["GatedModel"])

    with pytest.raises(ModelFileError, match=match):
        changed_model(flock, changed_member, path)


def test_linear_members_of_another_target_or_table_are_refused(tmp_path):
    flock, (X, y) = FLOCKS["mixed"]
    flock.fit(X, y)
    other = FlockClassifier(effort="fast", **HOW).fit(X, y + 1).model_
    for linear in (replace(other, table=None), replace(other, target=flock.model_.target)):
        models = Bunch(**flock.model_.models, other=linear)
        flock.model_ = replace(
            flock.model_, models=models, weights=np.full(len(models), 1 / len(models))
        )
        with pytest.raises(ValueError, match="linear members of another target"):
            save(flock, tmp_path / "flock.covey")
        flock.model_ = replace(
            flock.model_, models=Bunch(**{"linear": models["linear"]}), weights=np.ones(1)
        )
    flock.model_ = replace(flock.model_, table=None)
    with pytest.raises(ModelFileError, match="table"):
        save(flock, tmp_path / "flock.covey")


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
