"""Numbers that are too many, too large or too few: a right answer or one clear sentence."""

import threading

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import covey
from covey._checkpoint import JournalError
from covey.stacking import GeneralStackingRegressor


@pytest.fixture(scope="module")
def wide():
    X = np.random.default_rng(0).normal(size=(60, 1024))
    return X, X[:, 0] > 0


@pytest.mark.parametrize(
    "rule", ["knora_e", "knora_u", "ola", "lca", "des_p", "des_knn", "meta_des", "knop"]
)
def test_dynamic_selection_takes_more_columns_than_a_power_of_two_can_count(wide, rule):
    X, y = wide
    members = [GaussianNB(), DecisionTreeClassifier(random_state=0)]
    fused = covey.FusionClassifier(members, rule).fit(X, y)
    assert np.isfinite(fused.predict_proba(X)).all()


def test_meta_des_takes_many_classes_and_members():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 3)), np.arange(1500) % 400
    members = [GaussianNB(), GaussianNB(var_smoothing=1e-3), GaussianNB(var_smoothing=1e-1)]
    fused = covey.FusionClassifier(members, "meta_des", cv=2).fit(X, y)
    assert np.isfinite(fused.predict_proba(X[:5])).all()


@pytest.mark.parametrize(
    "members",
    [[Ridge(), DummyRegressor(), DecisionTreeRegressor(max_depth=2)], [DummyRegressor()]],
)
def test_a_target_beyond_all_squares_is_refused(members):
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = X[:, 0].copy()
    y[0] = 1e200
    for ensemble in (GeneralStackingRegressor(members, cv=2), covey.FusionRegressor(members)):
        with pytest.raises(ValueError, match=r"y holds a number of size 1e\+200"):
            ensemble.fit(X, y)


@pytest.mark.parametrize("features", ["linear", "quadratic"])
@pytest.mark.parametrize("size", [1e155, 1e160, 1e308])
def test_rows_far_out_have_probabilities(features, size):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] * X[:, 1] > 0) + (X[:, 2] > 0).astype(int)
    gate = covey.Gate(features=features)
    flock = covey.SubsetEnsembleClassifier(3, fuser=gate, random_state=0).fit(X, y)
    rows = size * np.array([[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 1.0, -1.0]])
    found = flock.predict_proba(rows)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_a_selector_names_the_classes_that_count():
    X = np.random.default_rng(0).normal(size=(40, 3))
    weight = np.zeros(40)
    weight[0] = 1
    with pytest.raises(ValueError, match="whose sample_weight is above 0, got 1 class"):
        covey.SubsetSelector(n_resamples=2).fit(X, X[:, 0] > 0, sample_weight=weight)


def _without(arrays, name):
    return {key: x for key, x in arrays.items() if key != name}


def _flipped(arrays, name):
    x = arrays[name].copy()
    x.view(np.uint8).flat[0] ^= 1
    return {**arrays, name: x}


@pytest.mark.parametrize(
    "change",
    [
        lambda a: {**a, "format": np.arange(3)},
        lambda a: {**a, "format": np.array(1)},
        lambda a: {**a, "n_results": np.array(0)},
        lambda a: {**a, "n_results": np.array(10**9)},
        lambda a: _without(a, "key"),
        lambda a: _without(a, "seed"),
        lambda a: _without(a, "digest"),
        lambda a: _without(a, next(name for name in a if name.startswith("result/"))),
        lambda a: _flipped(a, next(name for name in a if name.startswith("result/"))),
        lambda a: {**a, "result/0/more": np.zeros(3)},
        lambda a: {"format": a["format"]},
        lambda a: {},
    ],
)
def test_a_damaged_checkpoint_is_always_a_journal_error(tmp_path, change):
    X = np.random.default_rng(0).normal(size=(40, 3))
    path = tmp_path / "fit.npz"
    flock = covey.SubsetEnsembleClassifier(2, random_state=0, checkpoint=path)
    flock.fit(X, X[:, 0] > 0)
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **change(arrays))
    with pytest.raises(JournalError):
        covey.SubsetEnsembleClassifier(2, random_state=0, checkpoint=path).fit(X, X[:, 0] > 0)


def test_one_object_is_fitted_by_one_thread_at_a_time():
    X, y = load_wine(return_X_y=True)
    flock = covey.SubsetEnsembleClassifier(3, fuser="product", random_state=0)
    right = flock.fit(X, y).predict_proba(X)
    refused = []

    def fit():
        try:
            flock.fit(X, y)
        except RuntimeError as error:
            refused.append(str(error))

    for _ in range(3):
        threads = [threading.Thread(target=fit) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert flock.n_estimators_ == 3
        np.testing.assert_array_equal(flock.predict_proba(X), right)
    assert all("being fitted by another thread" in text for text in refused)


@pytest.mark.parametrize(
    "call",
    [
        lambda: covey.Predictions(np.zeros((5, 1, 0))),
        lambda: covey.fuse(np.zeros((0, 7, 0)), "borda"),
        lambda: covey.fuse(np.zeros((0, 2), int), "borda"),
        lambda: covey.fuse(np.zeros((0, 2), int), "majority"),
    ],
)
def test_no_class_is_refused(call):
    with pytest.raises(ValueError, match="no class"):
        call()


def test_features_beyond_floating_point_are_named_as_the_cause():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((30, 3)) < 0.5, -1, 1) * np.finfo(float).max
    with pytest.raises(ValueError, match="rescale") as raised:
        covey.SubsetEnsembleRegressor(2, loss="huber", random_state=0).fit(X, rng.normal(size=30))
    assert "scale_features" not in str(raised.value)
    assert "learning_rate" not in str(raised.value)


@pytest.mark.parametrize(
    "flock",
    [
        covey.FlockClassifier(n_estimators=2, cv=2, random_state=0),
        covey.SubsetEnsembleClassifier(2, random_state=0),
        covey.SubsetEnsembleClassifier(2, fuser="gate", random_state=0),
        covey.FusionClassifier([GaussianNB(), DecisionTreeClassifier()], "product"),
    ],
)
def test_underflow_is_no_error_whatever_numpy_is_told(flock):
    X, y = load_wine(return_X_y=True)
    X = X * 1.0
    expected = flock.fit(X, y).predict_proba(X)
    with np.errstate(all="raise"):
        ours = not isinstance(flock, covey.FusionClassifier)
        again = flock.fit(X, y) if ours else flock
        np.testing.assert_array_equal(again.predict_proba(X), expected)
