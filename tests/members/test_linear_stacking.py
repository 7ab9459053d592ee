"""Linear stacking: any models fused by weights that are learnt out of fold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
)
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    TimeSeriesSplit,
    cross_val_predict,
    train_test_split,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from covey import FusionClassifier, FusionRegressor, LinearStacking
from covey._core.fusion.stacking_weights import squared_weights
from covey.utils.estimator_checks import FUSED_CLASSIFIER_CHECKS


def stacked_classifiers(members, cv=5, **how):
    return FusionClassifier(members, LinearStacking(**how), cv=cv)


def stacked_regressors(members, cv=5, **how):
    return FusionRegressor(members, LinearStacking(**how), cv=cv)


class Contrary(ClassifierMixin, BaseEstimator):
    """Gives the class before it what a sensible classifier gives a class."""

    def fit(self, X, y):
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        return np.roll(self.inner_.predict_proba(X), 1, axis=1)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Nothing(KFold):
    """A splitter that holds no row out."""

    def split(self, X, y=None, groups=None):
        for train, _ in super().split(X, y, groups):
            yield train, train[:0]


def classifiers():
    return [
        ("logistic", make_pipeline(StandardScaler(), LogisticRegression(C=0.1))),
        ("neighbours", make_pipeline(StandardScaler(), KNeighborsClassifier(10))),
        ("tree", DecisionTreeClassifier(max_depth=4, min_samples_leaf=5, random_state=0)),
        ("contrary", Contrary()),
    ]


def regressors():
    return [
        ("ridge", Ridge(0.1)),
        ("neighbours", KNeighborsRegressor(15)),
        ("tree", DecisionTreeRegressor(random_state=0)),
    ]


def brier(fused, y):
    return ((fused - np.eye(fused.shape[1])[y]) ** 2).sum(axis=1).mean()


@pytest.mark.slow
@parametrize_with_checks(
    [
        stacked_classifiers([("logistic", LogisticRegression()), ("bayes", GaussianNB())]),
        stacked_classifiers([LogisticRegression(), GaussianNB()], loss="log", cv=3),
        stacked_regressors([("ridge", Ridge()), ("linear", LinearRegression())]),
        stacked_regressors([Ridge(), DummyRegressor()], nonnegative=False, sum_to_one=False, cv=3),
    ],
)
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", FUSED_CLASSIFIER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "parameters", [{}, {"loss": "log"}, {"nonnegative": False, "sum_to_one": False}], ids=str
)
def test_fused_classifier_keeps_the_contract(parameters, check):
    check(stacked_classifiers([LogisticRegression(), GaussianNB()], **parameters))


# -- why it is there ---------------------------------------------------------------------------


@pytest.mark.slow
def test_stacking_survives_a_bad_member_on_real_data():
    """Brier scores on held-out halves, of four sets.

    Where one member is best everywhere (wine, breast cancer) nothing can be gained over it;
    the weights must then cost next to nothing.
    """
    beats_chosen = {}
    for load in (load_wine, load_breast_cancer, load_digits, load_iris):
        X, y = load(return_X_y=True)
        scores = []
        for seed in range(4):
            X_train, X_test, y_train, y_test = train_test_split(
                X, y, test_size=0.5, stratify=y, random_state=seed
            )
            stacked = stacked_classifiers(classifiers()).fit(X_train, y_train)
            chosen = FusionClassifier(classifiers(), "single_best").fit(X_train, y_train)
            said = stacked.member_probabilities(X_test)
            fused = [stacked.predict_proba(X_test), chosen.predict_proba(X_test)]
            fused += [said.mean(axis=1), *said.transpose(1, 0, 2)]
            scores.append([brier(one, y_test) for one in fused])
            assert stacked.fuser_.weights_[3] < 0.02
        stack, best_by_folds, mean, *alone = np.mean(scores, axis=0)
        assert stack < 0.5 * mean
        assert stack < 1.05 * min(alone)
        beats_chosen[load.__name__] = stack < best_by_folds
        if load is load_digits:
            # Two members that err on different images.
            assert stack < 0.9 * min(alone)
    assert sum(beats_chosen.values()) >= 2


@pytest.mark.parametrize("loss", ["squared", "log"])
def test_weights_learnt_in_sample_fall_for_a_member_that_memorises(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = (X[:, 0] + rng.normal(size=600) > 0).astype(int)
    X_train, y_train, X_test, y_test = X[:300], y[:300], X[300:], y[300:]
    members = [("logistic", LogisticRegression()), ("nearest", KNeighborsClassifier(1))]
    naive = FusionClassifier(
        [(name, clone(member).fit(X_train, y_train)) for name, member in members],
        LinearStacking(loss),
        prefit=True,
    ).fit(X_train, y_train)
    stacked = stacked_classifiers(members, loss=loss).fit(X_train, y_train)
    assert naive.fuser_.weights_[1] > 0.99
    assert stacked.fuser_.weights_[1] < 0.2
    assert brier(stacked.predict_proba(X_test), y_test) < 0.75 * brier(
        naive.predict_proba(X_test), y_test
    )


def test_weights_learnt_in_sample_fall_for_a_deep_tree():
    X, y = load_diabetes(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    stacked = stacked_regressors(regressors()).fit(X_train, y_train)
    naive = squared_weights(stacked.member_predictions(X_train), y_train, np.ones(len(y_train)))
    assert_allclose(naive, [0, 0, 1], atol=1e-9)
    assert stacked.fuser_.weights_[2] < 0.2

    def error(weights):
        return ((stacked.member_predictions(X_test) @ weights - y_test) ** 2).mean()

    assert error(stacked.fuser_.weights_) < 0.7 * error(naive)
    assert error(stacked.fuser_.weights_) < error(np.full(3, 1 / 3))


# -- what it is --------------------------------------------------------------------------------


def test_the_name_stands_for_the_fuser_without_options():
    X, y = load_wine(return_X_y=True)
    named = FusionClassifier(classifiers(), "linear_stacking", cv=3).fit(X, y)
    given = FusionClassifier(classifiers(), LinearStacking(), cv=3).fit(X, y)
    assert_array_equal(named.fuser_.weights_, given.fuser_.weights_)
    assert_array_equal(named.predict_proba(X), given.predict_proba(X))
    assert_allclose(named.explain_fusion(X[:1])[0], named.fuser_.weights_)


@pytest.mark.parametrize("loss", ["squared", "log"])
def test_the_classifier_weighs_out_of_fold_probabilities(loss):
    X, y = load_wine(return_X_y=True)
    fused = stacked_classifiers(classifiers(), cv=3, loss=loss, uniform_penalty=0.1).fit(X, y)
    P = {
        name: cross_val_predict(member, X, y, cv=3, method="predict_proba")
        for name, member in classifiers()
    }
    expected = LinearStacking(loss, uniform_penalty=0.1).fit(P, y).weights_
    assert_allclose(fused.fuser_.weights_, expected, atol=1e-12)


def test_the_regressor_weighs_out_of_fold_predictions():
    X, y = load_diabetes(return_X_y=True)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    for constraints in ({}, {"nonnegative": False}, {"sum_to_one": False}):
        stacked = stacked_regressors(
            [Ridge(0.1), KNeighborsRegressor(15)], cv=4, uniform_penalty=0.02, **constraints
        )
        stacked.fit(X, y)
        said = np.column_stack(
            [cross_val_predict(m, X, y, cv=4) for m in (Ridge(0.1), KNeighborsRegressor(15))]
        )
        unit = y.std()
        expected = squared_weights(said / unit, y / unit, np.ones(len(y)), 0.02, **constraints)
        assert_allclose(stacked.fuser_.weights_, expected, atol=1e-12)
        refitted = np.column_stack(
            [Ridge(0.1).fit(X, y).predict(X), KNeighborsRegressor(15).fit(X, y).predict(X)]
        )
        assert_allclose(stacked.member_predictions(X), refitted)
        assert_allclose(stacked.predict(X), refitted @ expected)
    weighted = stacked_regressors([Ridge(), DummyRegressor()]).fit(X, y, weight)
    assert_allclose(weighted.estimators_[0].coef_, Ridge().fit(X, y, sample_weight=weight).coef_)
    assert list(weighted.named_estimators_) == ["ridge", "dummyregressor"]


def test_the_regressor_does_not_depend_on_the_unit_of_y():
    X, y = load_diabetes(return_X_y=True)
    stacked = stacked_regressors(regressors(), uniform_penalty=0.05)
    expected = clone(stacked).fit(X, y).fuser_.weights_
    assert_allclose(clone(stacked).fit(X, 1000 * y).fuser_.weights_, expected, atol=1e-8)


def test_the_regressor_draws_weights_to_the_mean():
    X, y = load_diabetes(return_X_y=True)
    stacked = stacked_regressors(regressors(), uniform_penalty=1e9).fit(X, y)
    assert_allclose(stacked.predict(X), stacked.member_predictions(X).mean(axis=1), rtol=1e-6)


def test_a_constant_target_is_predicted():
    X, _ = load_diabetes(return_X_y=True)
    stacked = stacked_regressors(regressors()).fit(X, np.full(len(X), 7.0))
    assert_allclose(stacked.predict(X), 7.0)


def test_any_splitter_works():
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(UserWarning, match="77 of 442 rows have no out-of-fold prediction"):
        stacked_regressors(regressors(), cv=TimeSeriesSplit(5)).fit(X, y)
    groups = np.arange(len(y)) % 7
    grouped = stacked_regressors(regressors(), cv=GroupKFold(7)).fit(X, y, groups=groups)
    given = [(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(7)]
    listed = stacked_regressors(regressors(), cv=given).fit(X, y)
    assert_allclose(grouped.fuser_.weights_, listed.fuser_.weights_, atol=1e-12)
    once = stacked_regressors(regressors(), cv=iter(given)).fit(X, y)
    assert_allclose(once.fuser_.weights_, listed.fuser_.weights_, atol=1e-12)
    twice = stacked_regressors(regressors(), cv=[*given, *given]).fit(X, y)
    assert_allclose(twice.fuser_.weights_, listed.fuser_.weights_, atol=1e-12)
    X, y = load_iris(return_X_y=True)
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    listed = stacked_classifiers(classifiers(), cv=folds).fit(X, y)
    once = stacked_classifiers(classifiers(), cv=iter(folds)).fit(X, y)
    assert_array_equal(once.fuser_.weights_, listed.fuser_.weights_)


def test_frames_and_sparse_matrices_pass_through():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    stacked = stacked_regressors([Ridge(), KNeighborsRegressor()]).fit(X, y)
    assert list(stacked.feature_names_in_) == list(X.columns)
    thin = stacked_regressors([Ridge(), KNeighborsRegressor()])
    thin.fit(sparse.csr_array(X.to_numpy()), y)
    assert_allclose(thin.fuser_.weights_, stacked.fuser_.weights_, atol=1e-3)


def test_parameters_of_members_can_be_searched():
    X, y = load_diabetes(return_X_y=True)
    stacked = stacked_regressors(regressors(), cv=3)
    search = GridSearchCV(
        stacked, {"ridge__alpha": [0.1, 100], "fuser__uniform_penalty": [0, 0.1]}, cv=2
    )
    assert search.fit(X, y).best_params_["ridge__alpha"] == 0.1
    assert isinstance(clone(stacked).set_params(tree=Ridge()).estimators[2][1], Ridge)
    X, y = load_iris(return_X_y=True)
    stacked = stacked_classifiers(classifiers()[:3], cv=3)
    search = GridSearchCV(
        stacked, {"tree__max_depth": [1, 3], "fuser__loss": ["squared", "log"]}, cv=2
    )
    search.fit(X, y)
    best = search.best_params_
    assert best["tree__max_depth"] == 3
    assert search.best_estimator_.fuser.loss == best["fuser__loss"]
    # Members without a name, even those that are lists of steps, have parameters by their class.
    pipes = [make_pipeline(StandardScaler(), Ridge()), make_pipeline(StandardScaler(), Ridge())]
    unnamed = stacked_regressors(pipes)
    assert set(unnamed.get_params()) == {
        *stacked_regressors(regressors()).get_params(deep=False),
        *(f"fuser__{name}" for name in LinearStacking().get_params()),
        *("pipeline", "pipeline-2"),
        *(
            f"{name}__{key}"
            for name in ("pipeline", "pipeline-2")
            for key in pipes[0].get_params()
        ),
    }
    assert clone(unnamed).set_params(cv=2).fit(X, y).n_features_in_ == 4
    assert list(clone(unnamed).fit(X, y).named_estimators_) == ["pipeline", "pipeline-2"]


# -- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [stacked_classifiers, stacked_regressors])
def test_bad_input_gets_one_sentence(make):
    X, y = load_iris(return_X_y=True)
    classifier = make is stacked_classifiers
    good = [GaussianNB(), LogisticRegression(max_iter=500)] if classifier else [Ridge()]
    wrong = Ridge() if classifier else RidgeClassifier()
    kind = "classifier" if classifier else "regressor"
    for members, parameters, message in (
        (good, {"uniform_penalty": -0.5}, "uniform_penalty == -0.5, must be >= 0"),
        (good, {"loss": "hinge"}, "loss must be one of 'squared'"),
        (good, {"cv": Nothing(3)}, "yields no out-of-fold row to learn from; give a splitter"),
        (good, {"cv": []}, "The given cv yields no out-of-fold row"),
        (good, {"cv": 1000}, "cv=1000 cannot split these rows"),
        ([("odd", wrong)], {}, f"The member 'odd' is not a {kind}: "),
        ([("odd", type(good[0]))], {}, f"The member 'odd' is not a {kind}: "),
        ([], {}, "estimators must be a non-empty list"),
        ([("a", good[0]), ("a", good[0])], {}, "names must differ, but 'a' is repeated"),
        ([("cv", good[0])], {}, "The member name 'cv' must not contain '__'"),
    ):
        with pytest.raises(ValueError, match=message):
            make(members, **parameters).fit(X, y)


def test_log_loss_needs_a_mixture():
    X, y = load_iris(return_X_y=True)
    members = [GaussianNB(), DummyClassifier()]
    for parameters in ({"nonnegative": False}, {"sum_to_one": False}):
        with pytest.raises(ValueError, match="needs nonnegative=True and sum_to_one=True"):
            stacked_classifiers(members, loss="log", **parameters).fit(X, y)
    with pytest.raises(ValueError, match="loss='log' is for probabilities"):
        stacked_regressors([Ridge()], loss="log").fit(X, y)


def test_a_regressor_of_several_targets_is_refused_by_name():
    class Pair(DummyRegressor):
        def predict(self, X):
            return np.zeros((len(X), 2))

    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match=r"'pair' predicts an array of shape \(89, 2\)"):
        stacked_regressors([Pair()]).fit(X, y)
