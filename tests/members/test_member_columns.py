"""What members predict as columns: `transform` and `get_feature_names_out`."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import (
    check_global_output_transform_pandas,
    check_set_output_transform,
    check_set_output_transform_pandas,
    check_transformer_get_feature_names_out,
    check_transformer_get_feature_names_out_pandas,
)

from covey import (
    FusionClassifier,
    FusionRegressor,
    GeneralStackingClassifier,
    GeneralStackingRegressor,
)

CLASSIFIERS = [
    ("bayes", GaussianNB()),
    ("nobody", "drop"),
    ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
]
REGRESSORS = [
    ("ridge", Ridge(0.1)),
    ("nobody", "drop"),
    ("tree", DecisionTreeRegressor(max_depth=3, random_state=0)),
]
FOLDS = KFold(3, shuffle=True, random_state=0)
ALL = [
    FusionClassifier(CLASSIFIERS),
    FusionClassifier([RidgeClassifier(), LogisticRegression()], "majority"),
    FusionRegressor(REGRESSORS),
    GeneralStackingClassifier(CLASSIFIERS, cv=3),
    GeneralStackingClassifier(
        [CLASSIFIERS, [("again", GaussianNB())]],
        outputs="logits",
        passthrough=[1],
        features=StandardScaler(),
        cv=3,
    ),
    GeneralStackingRegressor(REGRESSORS, passthrough=True, cv=3),
]


@pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(
    "check",
    [
        check_transformer_get_feature_names_out,
        check_transformer_get_feature_names_out_pandas,
        check_set_output_transform,
        check_set_output_transform_pandas,
        check_global_output_transform_pandas,
    ],
    ids=lambda check: check.__name__,
)
@pytest.mark.filterwarnings("ignore:X .*feature names")
def test_checks_of_scikit_learn_s_transformers_pass(model, check):
    check(type(model).__name__, model)


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_columns_of_classifiers_are_those_of_voting_and_stacking(load):
    X, y = load(return_X_y=True)
    fused = FusionClassifier(CLASSIFIERS)
    voting = VotingClassifier(CLASSIFIERS, voting="soft")
    assert_allclose(fused.fit_transform(X, y), voting.fit_transform(X, y), atol=1e-12)
    for passthrough in (False, True):
        ours = GeneralStackingClassifier(CLASSIFIERS, passthrough=passthrough, cv=FOLDS)
        theirs = StackingClassifier(CLASSIFIERS, passthrough=passthrough, cv=FOLDS)
        assert_allclose(ours.fit_transform(X, y), theirs.fit_transform(X, y), atol=1e-12)
        assert len(ours.get_feature_names_out()) == len(theirs.get_feature_names_out())


def test_columns_of_regressors_are_those_of_voting_and_stacking():
    X, y = load_diabetes(return_X_y=True)
    ours, theirs = FusionRegressor(REGRESSORS), VotingRegressor(REGRESSORS)
    assert_allclose(ours.fit_transform(X, y), theirs.fit_transform(X, y))
    assert list(ours.get_feature_names_out()) == ["fusionregressor_ridge", "fusionregressor_tree"]
    for passthrough in (False, True):
        ours = GeneralStackingRegressor(REGRESSORS, passthrough=passthrough, cv=FOLDS)
        theirs = StackingRegressor(REGRESSORS, passthrough=passthrough, cv=FOLDS)
        assert_allclose(ours.fit_transform(X, y), theirs.fit_transform(X, y))
        expected = [f"general{name}" for name in theirs.get_feature_names_out()[:2]]
        expected += [f"x{column}" for column in range(10)] if passthrough else []
        assert list(ours.get_feature_names_out()) == expected


def test_names_are_those_of_members_and_classes():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    fused = FusionClassifier(CLASSIFIERS).set_output(transform="pandas").fit(X, names)
    columns = fused.transform(X)
    assert list(columns) == [
        *(f"fusionclassifier_bayes_{name}" for name in ("setosa", "versicolor", "virginica")),
        *(f"fusionclassifier_tree_{name}" for name in ("setosa", "versicolor", "virginica")),
    ]
    tree = fused.named_estimators_.tree.predict_proba(X)
    assert_array_equal(columns["fusionclassifier_tree_virginica"], tree[:, 2])
    assert_array_equal(columns.index, X.index)
    stack = GeneralStackingClassifier(
        [("bayes", GaussianNB())], passthrough=["petal width (cm)"], features=StandardScaler()
    ).set_output(transform="pandas")
    columns = stack.fit(X, names).transform(X)
    assert list(columns) == [
        *(f"generalstackingclassifier_bayes_{name}" for name in stack.classes_),
        "petal width (cm)",
        *(f"features__{name}" for name in X.columns),
    ]
    assert_array_equal(columns["petal width (cm)"], X["petal width (cm)"])
    # Of two classes a stack has one column, without the name of a class.
    stack.fit(X[:100], names[:100])
    assert stack.get_feature_names_out()[0] == "generalstackingclassifier_bayes"
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        stack.get_feature_names_out(list("abcd"))


def test_votes_are_ones_and_zeros():
    X, y = load_iris(return_X_y=True)
    votes = FusionClassifier([RidgeClassifier(), GaussianNB()], "majority").fit(X, y)
    columns = votes.transform(X)
    assert votes.kind_ == "label"
    assert_array_equal(columns[:, :3].argmax(axis=1), votes.estimators_[0].predict(X))
    assert_array_equal(np.unique(columns), [0, 1])


def test_an_ensemble_is_a_step_of_a_pipeline():
    X, y = load_diabetes(return_X_y=True)
    chain = make_pipeline(FusionRegressor(REGRESSORS), LinearRegression()).fit(X, y)
    columns = FusionRegressor(REGRESSORS).fit(X, y).member_predictions(X)
    by_hand = LinearRegression().fit(columns, y).predict(columns)
    assert_allclose(chain.predict(X), by_hand)


def test_columns_made_without_names_are_numbered():
    X, y = load_iris(return_X_y=True)
    nameless = make_pipeline(FunctionTransformer(np.sqrt), StandardScaler())
    stack = GeneralStackingClassifier([GaussianNB()], features=nameless, cv=3).fit(X, y)
    names = stack.get_feature_names_out()
    assert list(names[-4:]) == [f"features__{column}" for column in range(4)]
    assert stack.transform(X).shape == (150, len(names))


def test_sparse_columns_stay_sparse_in_blocks_of_rows(monkeypatch):
    X, y = load_iris(return_X_y=True)
    X = sparse.csr_array(np.where(X > 2, X, 0.0))
    stack = GeneralStackingClassifier([LogisticRegression()], passthrough=True, cv=3).fit(X, y)
    whole = stack.transform(X)
    assert sparse.issparse(whole)
    monkeypatch.setattr("covey._blocks.ROWS_PER_BLOCK", 40)
    assert_allclose(stack.transform(X).toarray(), whole.toarray(), atol=1e-12)


@pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
def test_an_ensemble_that_is_not_fitted_has_no_columns(model):
    with pytest.raises(NotFittedError):
        model.transform(np.zeros((2, 2)))
    with pytest.raises(NotFittedError):
        model.get_feature_names_out()


def test_frames_can_be_the_default():
    X, y = load_iris(return_X_y=True)
    stack = GeneralStackingClassifier([GaussianNB()], features=StandardScaler(), cv=3).fit(X, y)
    plain = stack.predict_proba(X), stack.transform(X)
    with config_context(transform_output="pandas"):
        stack.fit(X, y)
        assert_array_equal(stack.predict_proba(X), plain[0])
        assert_array_equal(stack.transform(X).to_numpy(), plain[1])
