"""What a stack is fitted on: members fitted elsewhere, its columns, and parameters of predict."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import BayesianRidge, LogisticRegression, Ridge
from sklearn.model_selection import StratifiedKFold, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.tests.metadata_routing_common import (
    ConsumingRegressor,
    _Registry,
    check_recorded_metadata,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import covey
from covey import FusionClassifier, FusionRegressor, Stacking
from covey.persistence import ModelFileError
from covey.stacking import GeneralStackingClassifier, GeneralStackingRegressor
from tests.persistence._helpers import changed


def classes():
    X, y = load_iris(return_X_y=True)
    members = [("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=2))]
    return X, y, members


def numbers():
    X, y = load_diabetes(return_X_y=True)
    members = [("ridge", Ridge()), ("nearest", KNeighborsRegressor(9))]
    return X, y, members


BOTH = [
    (GeneralStackingClassifier, StackingClassifier, classes),
    (GeneralStackingRegressor, StackingRegressor, numbers),
]
both_tasks = pytest.mark.parametrize(
    ("ours", "theirs", "data"), BOTH, ids=["classifier", "regressor"]
)


# -- members that are fitted already ---------------------------------------------------------


def fitted(members, X, y):
    return [(name, member.fit(X[::2], y[::2])) for name, member in members]


@both_tasks
@pytest.mark.parametrize("passthrough", [False, True])
def test_fitted_members_are_stacked_as_scikit_learn_does(ours, theirs, data, passthrough):
    X, y, members = data()
    members = fitted(members, X, y)
    rows, truth = X[1::2], y[1::2]
    stack = ours(members, cv="prefit", passthrough=passthrough).fit(rows, truth)
    other = theirs(members, cv="prefit", passthrough=passthrough).fit(rows, truth)
    assert_allclose(stack.predict(X), other.predict(X))
    assert stack.estimators_[0] is members[0][1]
    assert_array_equal(stack.out_of_fold_.rows, np.arange(len(rows)))


@both_tasks
def test_members_that_are_not_fitted_are_named(ours, theirs, data):
    X, y, members = data()
    with pytest.raises(NotFittedError, match=f"member '{members[0][0]}' is not fitted.*cv"):
        ours(members, cv="prefit").fit(X, y)
    with pytest.raises(NotFittedError, match="member 'features' is not fitted"):
        ours(fitted(members, X, y), cv="prefit", features=StandardScaler()).fit(X, y)
    with pytest.raises(ValueError, match="or 'prefit' for members that are fitted"):
        ours(members, cv="postfit").fit(X, y)


def test_fitted_layers_and_features_are_taken_as_they_are():
    X, y, members = numbers()
    features = StandardScaler().fit(X)
    known = {"outputs": "ranks", "features": features}
    before = GeneralStackingRegressor(
        [members, [("tree", DecisionTreeRegressor())]], cv=3, **known
    )
    before.fit(X, y)
    layers = [
        list(zip(("ridge", "nearest"), before.layers_[0], strict=True)),
        [("tree", before.layers_[1][0])],
    ]
    stack = GeneralStackingRegressor(layers, cv="prefit", **known).fit(X, y)
    assert stack.layers_ == before.layers_
    assert stack.features_ is features
    assert stack.transform(X).shape == (len(X), 11)


def test_a_member_fitted_elsewhere_may_know_classes_that_these_rows_lack():
    X, y, members = classes()
    stack = GeneralStackingClassifier(fitted(members, X, y), cv="prefit").fit(X[:100], y[:100])
    assert_array_equal(stack.classes_, [0, 1, 2])
    assert stack.predict_proba(X)[:, 2].max() == 0


@both_tasks
def test_files_hold_stacks_of_fitted_members(ours, theirs, data, tmp_path):
    X, y, _ = data()
    member = LogisticRegression(max_iter=500) if ours is GeneralStackingClassifier else Ridge()
    for members in ([("one", member.fit(X, y))], [[("one", member)]]):
        stack = ours(members, cv="prefit").fit(X, y)
        covey.save(stack, tmp_path / "stack.covey")
        again = covey.load(tmp_path / "stack.covey")
        assert_array_equal(again.predict(X), stack.predict(X))
        assert_array_equal(again.fit(X, y).predict(X), stack.predict(X))


@pytest.mark.parametrize("members", [None, 1, {"list": []}, {"list": [{"tuple": ["one"]}]}])
def test_a_file_whose_members_are_not_those_given_is_refused(members, tmp_path):
    X, y, _ = numbers()
    stack = GeneralStackingRegressor([("one", Ridge().fit(X, y))], cv="prefit").fit(X, y)
    covey.save(stack, tmp_path / "stack.covey")

    def forge(document):
        document["model"]["parameters"]["estimators"] = members

    with pytest.raises(ModelFileError, match="are not those that were given|have no names"):
        covey.load(changed(tmp_path / "stack.covey", forge))


# -- what the model on top was fitted on -----------------------------------------------------


@both_tasks
def test_the_model_on_top_was_fitted_on_the_columns_out_of_fold(ours, theirs, data):
    X, y, members = data()
    stack = ours(members, cv=3, passthrough=[0]).fit(X, y)
    columns, rows = stack.out_of_fold_.columns, stack.out_of_fold_.rows
    assert_array_equal(rows, np.arange(len(y)))
    assert columns.shape == (len(y), len(stack.get_feature_names_out()))
    assert_array_equal(columns[:, -1], X[:, 0])
    again = stack.final_estimator_
    expected = type(again)(**again.get_params()).fit(columns, y).predict(columns)
    assert_allclose(again.predict(columns), expected)


def test_members_predictions_out_of_fold_are_those_of_the_folds():
    X, y, members = classes()
    folds = StratifiedKFold(3)
    model = FusionClassifier(members, "linear_stacking", cv=folds).fit(X, y)
    for train, test in folds.split(X, y):
        alone = GaussianNB().fit(X[train], y[train]).predict_proba(X[test])
        assert_allclose(model.out_of_fold_.members[test, 0], alone)
    assert not hasattr(model.set_params(fuser="mean").fit(X, y), "out_of_fold_")


@pytest.mark.filterwarnings("ignore:.* rows have no out-of-fold prediction")
def test_rows_that_no_fold_holds_out_are_not_among_them():
    X, y, members = numbers()
    model = FusionRegressor(members, Stacking(), cv=TimeSeriesSplit(4)).fit(X, y)
    assert model.out_of_fold_.rows[0] > 0
    assert model.out_of_fold_.members.shape == (len(model.out_of_fold_.rows), 2)


# -- predict, and how far a fit is -----------------------------------------------------------


def test_parameters_of_predict_reach_the_model_on_top():
    X, y, members = numbers()
    stack = GeneralStackingRegressor(members, BayesianRidge(), cv=3).fit(X, y)
    mean, deviation = stack.predict(X, return_std=True)
    assert_allclose(mean, stack.predict(X))
    assert (deviation > 0).all()
    with pytest.raises(TypeError, match="colour"):
        stack.predict(X, colour="red")


def test_metadata_of_predict_reaches_a_model_on_top_that_requests_it():
    X, y, members = numbers()
    weight = np.arange(len(y))
    with config_context(enable_metadata_routing=True):
        final = ConsumingRegressor(_Registry()).set_predict_request(sample_weight=True)
        stack = GeneralStackingRegressor(members, final, cv=2).fit(X, y)
        stack.predict(X, sample_weight=weight)
    (fitted,) = final.registry
    check_recorded_metadata(fitted, "predict", "predict", sample_weight=weight)


def test_verbose_says_what_is_fitted(capfd):
    X, y, members = classes()
    GeneralStackingClassifier(members, cv=2, verbose=1).fit(X, y)
    lines = sorted(line.rpartition(":")[0] for line in capfd.readouterr().out.splitlines())
    places = ["all rows", "fold 1 of 2", "fold 2 of 2"]
    names = [name for name, _ in members]
    assert lines == [
        f"[GeneralStackingClassifier] {name}, {place}" for name in names for place in places
    ]
    FusionClassifier(members).fit(X, y)
    assert capfd.readouterr().out == ""
