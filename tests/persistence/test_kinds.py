"""Trees, boosting, machines and neighbours lead nowhere that they should not."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.svm import SVC

from covey.members._members_of import BaggedClassifier
from covey.persistence import ModelFileError, load, save
from tests.persistence._helpers import X, changed, saved, with_array, y


def part(name):
    return lambda document: document["model"]["fitted"][name]


def odd(place, value):
    def change(values):
        values.flat[place] = value

    return change


FOREST = ExtraTreesClassifier(3, random_state=0)
BOOSTING = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5)
MACHINE = SVC()
NEIGHBORS = KNeighborsClassifier(3)


@pytest.mark.parametrize(
    ("model", "array", "change", "match"),
    [
        (FOREST, "left_child", odd(0, 10**6), "children lead out of their tree"),
        (FOREST, "left_child", odd(0, -7), "children lead out of their tree"),
        (FOREST, "right_child", odd(0, 1), "children do not make a tree"),
        (FOREST, "left_child", odd(0, 0), "children lead out of their tree"),
        (FOREST, "feature", odd(0, 4), "feature is none of the table's"),
        (FOREST, "feature", odd(0, -1), "feature is none of the table's"),
        (FOREST, "threshold", odd(0, np.nan), "threshold holds NaN, or a number beyond"),
        (FOREST, "values", odd(0, 7.0), "values are not probabilities"),
        (FOREST, "sizes", odd(0, 1), "sizes are not those of the nodes"),
        (FOREST, "weighted_n_node_samples", odd(0, 0.0), "a number that is not above 0"),
        (BOOSTING, "left", odd(0, 10**6), "children lead out of their tree"),
        (BOOSTING, "left", odd(0, 0), "children lead out of their tree"),
        (BOOSTING, "feature_idx", odd(0, 4), "feature_idx holds a number above"),
        (BOOSTING, "feature_idx", odd(0, -1), "feature_idx holds a number below"),
        (BOOSTING, "is_leaf", odd(0, 2), "is_leaf holds a number above"),
        (BOOSTING, "value", odd(1, np.inf), "value holds NaN, or a number beyond"),
        (BOOSTING, "baseline", lambda values: values[:, :2], "baseline has the shape"),
        (MACHINE, "n_support", odd(0, 10**6), "n_support holds a number above"),
        (MACHINE, "n_support", odd(0, 0), "n_support are not those of the vectors"),
        (MACHINE, "dual_coef", lambda values: values[:1], "dual_coef has the shape"),
        (MACHINE, "vectors", lambda values: values[:-1], "support has the shape|n_support"),
        (MACHINE, "vectors", lambda values: values[:, :2], "vectors has the shape"),
        (MACHINE, "intercept", lambda values: values[:1], "intercept has the shape"),
        (MACHINE, "support", odd(0, 2**27), "support holds a number above"),
        (NEIGHBORS, "codes", odd(0, 3), "codes holds a number above"),
        (NEIGHBORS, "codes", lambda values: values[:-1], "codes has the shape"),
        (NEIGHBORS, "codes", lambda values: values * 0, "codes lack a class"),
    ],
)
def test_what_compiled_code_would_follow_is_in_range(model, array, change, match, tmp_path):
    path = saved(model.fit(X, y), tmp_path / "model.covey")
    with pytest.raises(ModelFileError, match=match):
        load(with_array(path, part(array), change))


def bagged(labels):
    """A member of bagging, fitted to such labels, which it takes for positions of classes."""
    model = GaussianNB().fit(X[:, [3, 0]], np.resize(labels, len(X)))
    member = BaggedClassifier(model, [3, 0], ["a", "b", "c"])
    member.n_features_in_ = X.shape[1]
    return member


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda d: d.update(estimator={"kind": "Mean"}), "lacks"),
        (
            lambda d: d["estimator"].update(fitted=None),
            "is not a fitted model of this kind",
        ),
        (lambda d: d.update(classes=None), "classes"),
        (lambda d: d.update(n_features_in=3), "columns holds a number above 2"),
        (lambda d: d.update(kind="BaggedRegressor"), "not a fitted model of this kind"),
    ],
)
def test_a_member_of_bagging_takes_columns_that_are_there(change, match, tmp_path):
    member = bagged([0, 1, 2])
    path = saved(member, tmp_path / "model.covey")
    assert load(path).predict(X).tolist() == member.predict(X).tolist()
    with pytest.raises(ModelFileError, match="classes are not those of the estimator"):
        saved(bagged([0, 1, 7]), tmp_path / "other.covey")
    with pytest.raises(ModelFileError, match=match):
        load(changed(path, lambda document: change(document["model"])))


@pytest.mark.parametrize(
    ("model", "parameters", "match"),
    [
        (MACHINE, {"kernel": "precomputed"}, "parameters are those of a SVC of another"),
        (MACHINE, {"kernel": {"model": None}}, "kernel is not a plain value"),
        (MACHINE, {"cache_size": 1e9}, "parameters has an unknown part .cache_size."),
        (NEIGHBORS, {"metric": "haversine"}, "KNeighborsClassifier with metric=.haversine."),
        (NEIGHBORS, {"metric_params": {"dict": [["Y_norm_squared", 1]]}}, "with metric_params="),
        (NEIGHBORS, {"n_neighbors": 10**9}, "n_neighbors is more than there are rows"),
        (NEIGHBORS, {"leaf_size": 0}, "cannot be searched"),
        (FOREST, {"n_jobs": -1}, "unknown part 'n_jobs'"),
        (BOOSTING, {"loss": "unknown"}, "cannot be made"),
        (BOOSTING, {"_in_fit": True}, "unknown part '_in_fit'"),
    ],
)
def test_parameters_are_those_of_the_kind(model, parameters, match, tmp_path):
    path = saved(model.fit(X, y), tmp_path / "model.covey")

    def change(document):
        document["model"]["parameters"].update(parameters)

    with pytest.raises(ModelFileError, match=match):
        load(changed(path, change))


@pytest.mark.parametrize(
    "model",
    [
        SVC(kernel="linear"),
        SVC(kernel=lambda one, other: one @ other.T),
        CalibratedClassifierCV(SVC(), method="isotonic", cv=2),
        KNeighborsClassifier(metric=lambda one, other: 0.0),
        HistGradientBoostingClassifier(max_iter=2, categorical_features=[0], max_bins=60),
        GradientBoostingClassifier(n_estimators=2),
        NearestNeighbors(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_what_is_not_checked_is_not_held(model, tmp_path):
    rows = np.column_stack([np.arange(len(X)) % 5, X[:, 2]])
    with pytest.raises(ModelFileError, match="which covey's model files do not hold"):
        save(model.fit(rows, y), tmp_path / "model.covey")


def test_a_narrow_file_says_that_it_is_narrow(tmp_path):
    """A table of two billion columns is not believed without an array of that length."""
    path = saved(FOREST.fit(X, y), tmp_path / "model.covey")

    def widen(document):
        document["model"]["fitted"]["n_features_in"] = 2**31

    with pytest.raises(ModelFileError, match="used has the shape"):
        load(changed(path, widen))
