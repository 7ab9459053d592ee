"""Members by name: given or derived names, members that are dropped, parameters."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import Bunch

import covey
from covey import (
    FusionClassifier,
    FusionRegressor,
    GeneralStackingClassifier,
    GeneralStackingRegressor,
)
from covey.fusers import Majority, Mean, Stacking
from covey.persistence import load, save

CLASSIFIERS = [
    ("logistic", LogisticRegression(max_iter=500)),
    ("bayes", GaussianNB()),
    ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
]
REGRESSORS = [
    ("ridge", Ridge(0.1)),
    ("bayes", LinearRegression()),
    ("tree", DecisionTreeRegressor(max_depth=3, random_state=0)),
]
ENSEMBLES = [
    FusionClassifier,
    FusionRegressor,
    GeneralStackingClassifier,
    GeneralStackingRegressor,
]


def members_of(make):
    return clone(CLASSIFIERS if make.__name__.endswith("Classifier") else REGRESSORS, safe=False)


def rows_for(make):
    load_rows = load_iris if make.__name__.endswith("Classifier") else load_diabetes
    X, y = load_rows(return_X_y=True)
    return X[::2], y[::2]


# -- dropped -------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", ENSEMBLES)
def test_a_dropped_member_is_left_out(make):
    X, y = rows_for(make)
    without = make([pair for pair in members_of(make) if pair[0] != "bayes"], cv=3).fit(X, y)
    entries = [(name, "drop" if name == "bayes" else one) for name, one in members_of(make)]
    for dropped in (make(entries, cv=3), make(members_of(make), cv=3).set_params(bayes="drop")):
        assert dropped.get_params()["bayes"] == "drop"
        assert dropped.named_estimators.bayes == "drop"
        dropped.fit(X, y)
        assert_array_equal(dropped.predict(X), without.predict(X))
        assert_array_equal(dropped.explain_fusion(X), without.explain_fusion(X))
        assert [name for name, _ in dropped.estimators] == [name for name, _ in entries]
        assert len(dropped.estimators_) == 2
        assert list(dropped.named_estimators_) == [name for name, _ in entries]
        assert dropped.named_estimators_["bayes"] == "drop"
        assert "bayes" not in dropped.explain_fusion(X, as_frame=True)
        assert_array_equal(clone(dropped).fit(X, y).predict(X), without.predict(X))


@pytest.mark.parametrize("make", ENSEMBLES)
def test_what_was_dropped_can_be_put_back(make):
    X, y = rows_for(make)
    whole = make(members_of(make), cv=3).fit(X, y)
    one = whole.get_params()["bayes"]
    again = clone(whole).set_params(bayes="drop").fit(X, y).set_params(bayes=one).fit(X, y)
    assert_array_equal(again.predict(X), whole.predict(X))


@pytest.mark.parametrize("make", ENSEMBLES)
def test_a_search_may_drop_members(make):
    X, y = rows_for(make)
    tree = dict(members_of(make))["tree"]
    model, folds = make(members_of(make), cv=2), KFold(2, shuffle=True, random_state=0)
    by = "neg_log_loss" if hasattr(model, "predict_proba") else "r2"
    found = GridSearchCV(model, {"tree": [tree, "drop"]}, scoring=by, cv=folds).fit(X, y)
    expected = [
        cross_val_score(make(members, cv=2), X, y, scoring=by, cv=folds).mean()
        for members in (members_of(make), members_of(make)[:2])
    ]
    assert_array_equal(found.cv_results_["mean_test_score"], expected)
    assert expected[0] != expected[1]


@pytest.mark.parametrize("make", ENSEMBLES)
def test_dropping_all_is_refused_in_one_sentence(make):
    X, y = rows_for(make)
    with pytest.raises(ValueError, match="^All estimators are dropped; at least one must be left"):
        make([("a", "drop"), ("b", "drop")]).fit(X, y)
    with pytest.raises(ValueError, match="needs its name: give .name, 'drop'."):
        make([members_of(make)[0], "drop"]).fit(X, y)
    with pytest.raises(
        ValueError, match="tree__max_depth cannot be set: the member 'tree' is dro"
    ):
        make(members_of(make)).set_params(tree="drop", tree__max_depth=2)


def test_all_of_a_layer_cannot_be_dropped():
    X, y = rows_for(GeneralStackingClassifier)
    stack = GeneralStackingClassifier([CLASSIFIERS[:2], CLASSIFIERS[2:]], cv=3)
    with pytest.raises(ValueError, match="All members of layer 2 are dropped; at least one of"):
        stack.set_params(tree="drop").fit(X, y)


def test_layers_may_lack_members():
    X, y = rows_for(GeneralStackingClassifier)
    second = [("again", LogisticRegression()), ("nearest", KNeighborsClassifier())]
    stack = GeneralStackingClassifier(
        [CLASSIFIERS, second],
        outputs=["ranks", "one_hot", "logits", "ranks", "probabilities"],
        cv=3,
    ).set_params(bayes="drop", again="drop")
    without = GeneralStackingClassifier(
        [[CLASSIFIERS[0], CLASSIFIERS[2]], second[1:]],
        outputs=["ranks", "logits", "probabilities"],
        cv=3,
    )
    assert_array_equal(stack.fit(X, y).predict_proba(X), without.fit(X, y).predict_proba(X))
    assert list(stack.named_estimators_) == ["logistic", "bayes", "tree", "again", "nearest"]
    assert list(stack.explain_fusion(X, as_frame=True)) == ["nearest"]
    assert [len(layer) for layer in stack.layers_] == [2, 1]


def test_weights_are_given_for_all_members_as_in_scikit_learn():
    X, y = rows_for(FusionClassifier)
    ours = FusionClassifier(CLASSIFIERS, Majority([2, 5, 1])).set_params(bayes="drop").fit(X, y)
    theirs = VotingClassifier(CLASSIFIERS, weights=[2, 5, 1]).set_params(bayes="drop").fit(X, y)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.fuser.weights == [2, 5, 1]
    X, y = rows_for(FusionRegressor)
    ours = FusionRegressor(REGRESSORS, Mean([2, 5, 1])).set_params(ridge="drop").fit(X, y)
    theirs = VotingRegressor(REGRESSORS, weights=[2, 5, 1]).set_params(ridge="drop").fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))
    with pytest.raises(ValueError, match="one number for each of the 3 members, dropped ones inc"):
        FusionRegressor(REGRESSORS, Mean([2, 5])).set_params(ridge="drop").fit(X, y)


@pytest.mark.parametrize(
    "outputs", [["ranks", "one_hot", "logits"], {"bayes": "ranks", "tree": "logits"}]
)
def test_outputs_are_given_for_all_members(outputs):
    X, y = rows_for(FusionClassifier)
    fused = FusionClassifier(CLASSIFIERS, Stacking(outputs=outputs), cv=3)
    fused.set_params(bayes="drop").fit(X, y)
    first = "ranks" if isinstance(outputs, list) else "probabilities"
    assert fused.fuser_.outputs_ == [first, "logits"]
    stack = GeneralStackingClassifier(CLASSIFIERS, outputs=outputs, cv=3)
    stack.set_params(bayes="drop").fit(X, y)
    np.testing.assert_allclose(stack.predict_proba(X), fused.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("make", [FusionClassifier, GeneralStackingRegressor])
def test_models_with_dropped_members_are_saved_and_pickled(make, tmp_path):
    X, y = rows_for(make)
    model = make(members_of(make), cv=3).set_params(bayes="drop").fit(X, y)
    save(model, tmp_path / "model.covey")
    for again in (load(tmp_path / "model.covey"), pickle.loads(pickle.dumps(model))):
        assert type(again.named_estimators_) is Bunch
        assert_array_equal(again.predict(X), model.predict(X))
        assert again._names() == model._names()


def test_dropped_members_have_no_part_in_a_graph():
    X, y = rows_for(FusionClassifier)
    model = FusionClassifier(CLASSIFIERS).set_params(bayes="drop").fit(X, y)
    assert b"bayes" not in covey.to_onnx(model).SerializeToString()


# -- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", ENSEMBLES)
def test_fitted_members_are_reached_by_attribute_and_by_item(make):
    X, y = rows_for(make)
    model = make(members_of(make), cv=3).fit(X, y)
    assert isinstance(model.named_estimators_, Bunch)
    assert model.named_estimators_.tree is model.named_estimators_["tree"]
    assert model.named_estimators_.tree is model.estimators_[2]
    assert model.named_estimators.tree is model.estimators[2][1]


@pytest.mark.parametrize("make", ENSEMBLES)
def test_members_without_a_name_have_parameters(make):
    members = [member for _, member in members_of(make)]
    model = make(members)
    named = make([(name, member) for name, member in model.named_estimators.items()])
    one, other = model.get_params(), named.get_params()
    assert {key: value for key, value in one.items() if key != "estimators"} == {
        key: value for key, value in other.items() if key != "estimators"
    }
    tree = type(members[2]).__name__.lower()
    model.set_params(**{f"{tree}__max_depth": 7, "cv": 4})
    assert (members[2].max_depth, model.cv) == (7, 4)
    assert model.estimators is members  # nothing was replaced
    assert clone(model).get_params()[f"{tree}__max_depth"] == 7


@pytest.mark.parametrize("make", ENSEMBLES)
def test_a_search_reaches_members_without_a_name(make):
    X, y = rows_for(make)
    nearest = KNeighborsClassifier if make.__name__.endswith("Classifier") else KNeighborsRegressor
    given = [members_of(make)[0][1], nearest()]
    before = [repr(member.get_params()) for member in given]
    name = nearest.__name__.lower()
    folds = KFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(make(given, cv=2), {f"{name}__n_neighbors": [1, 9]}, cv=folds)
    found = search.fit(X, y).cv_results_["mean_test_score"]
    for k, score in zip((1, 9), found, strict=True):
        by_hand = make([members_of(make)[0], ("nearest", nearest(k))], cv=2)
        assert score == cross_val_score(by_hand, X, y, cv=folds).mean()
    assert found[0] != found[1]
    # The user's own models are as they were, and none is fitted.
    assert [repr(member.get_params()) for member in given] == before
    assert not any(hasattr(member, "n_features_in_") for member in given)


def test_a_member_that_replaces_one_without_a_name_keeps_its_name():
    X, y = rows_for(FusionClassifier)
    model = FusionClassifier([GaussianNB(), GaussianNB(), DecisionTreeClassifier()])
    model.set_params(**{"gaussiannb-2": LogisticRegression(max_iter=500)})
    model.set_params(**{"gaussiannb-2__C": 3, "gaussiannb": KNeighborsClassifier()})
    model.fit(X, y)
    names = ["gaussiannb", "gaussiannb-2", "decisiontreeclassifier"]
    assert list(model.named_estimators_) == names
    assert model.named_estimators_["gaussiannb-2"].C == 3
    assert isinstance(model.named_estimators_.gaussiannb, KNeighborsClassifier)


def test_a_member_and_its_steps_can_be_set_at_once():
    model = FusionClassifier([make_pipeline(StandardScaler(), GaussianNB())])
    model.set_params(pipeline__standardscaler__clip=True, pipeline__standardscaler=MinMaxScaler())
    assert model.estimators[0][0].clip is True


def test_members_of_layers_without_a_name_have_parameters():
    X, y = rows_for(GeneralStackingClassifier)
    layers = [[GaussianNB()], [GaussianNB(), DecisionTreeClassifier(random_state=0)]]
    stack = GeneralStackingClassifier(layers, cv=3)
    stack.set_params(**{"gaussiannb-2__var_smoothing": 0.1, "decisiontreeclassifier": "drop"}).fit(
        X, y
    )
    assert layers[1][0].var_smoothing == stack.layers_[1][0].var_smoothing == 0.1
    assert stack.estimators[1][1] == ("decisiontreeclassifier", "drop")
    assert isinstance(layers[1][1], DecisionTreeClassifier)
    assert len(stack.estimators_) == 1


def test_parameters_can_be_read_of_what_fit_refuses():
    for given in (None, "members", [GaussianNB], [("cv", GaussianNB())], [3], [[GaussianNB()], 3]):
        for make in (FusionClassifier, GeneralStackingClassifier):
            model = make(given)
            assert model.get_params()["estimators"] is given
            assert model.get_params()["cv"] == 5
            assert model.set_params(cv=3).cv == 3
            clone(model)


@pytest.mark.parametrize(
    "model",
    [
        FusionClassifier([DummyClassifier()], "linear_stacking"),
        GeneralStackingClassifier([DummyClassifier()]),
    ],
)
def test_no_rows_and_folds_that_are_none_get_one_sentence(model):
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    with pytest.raises(ValueError, match="X has no rows; give at least one"):
        model.fit(X, y).predict(X[:0])
    for cv in (b"x", "five"):
        with pytest.raises(ValueError, match="cv must be an int, a splitter"):
            clone(model).set_params(cv=cv).fit(X, y)
