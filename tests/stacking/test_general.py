"""General stacking: any model on top, any outputs, any splitter, several layers."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin, clone
from sklearn.compose import make_column_selector
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    RidgeCV,
)
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from covey import FusionClassifier
from covey.fusers import Predictions, Stacking
from covey.stacking import GeneralStackingClassifier, GeneralStackingRegressor
from covey.utils.estimator_checks import FUSED_CLASSIFIER_CHECKS

CLASSIFIERS = [("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=2))]


def classifiers():
    return [
        ("bayes", GaussianNB()),
        ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
        ("nearest", KNeighborsClassifier(7)),
    ]


def regressors():
    return [
        ("ridge", Ridge(0.1)),
        ("nearest", KNeighborsRegressor(9)),
        ("tree", DecisionTreeRegressor(max_depth=3, random_state=0)),
    ]


def exact():
    """A model whose result rounding of its input does not change."""
    return LogisticRegression(solver="newton-cholesky", tol=1e-10)


def shuffled(n_splits=3):
    return KFold(n_splits, shuffle=True, random_state=0)


@parametrize_with_checks(
    [
        GeneralStackingClassifier([LogisticRegression(), GaussianNB()], cv=3),
        GeneralStackingClassifier(
            [[("bayes", GaussianNB())], [("logistic", LogisticRegression())]],
            outputs=["ranks", "logits"],
            passthrough=[0],
            features=StandardScaler(),
            cv=3,
        ),
        GeneralStackingClassifier([LogisticRegression(), GaussianNB()], RidgeClassifier(), cv=3),
        GeneralStackingRegressor([Ridge(), LinearRegression()], cv=3),
        GeneralStackingRegressor(
            [[("ridge", Ridge())], [("second", Ridge(solver="sparse_cg", tol=1e-14))]],
            Ridge(solver="sparse_cg", tol=1e-14),
            outputs={"ridge": "ranks"},
            passthrough=True,
            cv=3,
        ),
    ]
)
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", FUSED_CLASSIFIER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"outputs": "ranks", "passthrough": True},
        {"final_estimator": DecisionTreeClassifier(max_depth=3, random_state=0)},
        {"final_estimator": RidgeClassifier(), "outputs": "one_hot"},
    ],
    ids=str,
)
def test_fused_classifier_keeps_the_contract(parameters, check):
    check(GeneralStackingClassifier(classifiers(), cv=3, **parameters))
    check(GeneralStackingClassifier([classifiers()[:2], [GaussianNB()]], cv=3, **parameters))


# -- against scikit-learn's ----------------------------------------------------------------------


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
@pytest.mark.parametrize("passthrough", [False, True])
@pytest.mark.parametrize("final", [None, DecisionTreeClassifier(max_depth=3, random_state=0)])
def test_one_layer_of_probabilities_is_the_stacking_of_scikit_learn(load, passthrough, final):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    members = classifiers()[:2]
    ours = GeneralStackingClassifier(members, final, passthrough=passthrough, cv=shuffled())
    theirs = StackingClassifier(members, final, passthrough=passthrough, cv=shuffled())
    ours.fit(X, y), theirs.fit(X, y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    if final is not None:  # scikit-learn's passes weights by routing only
        return
    learnt = ours.fit(X, y, sample_weight=weight).final_estimator_.coef_
    said = [
        cross_val_predict(m, X, y, cv=shuffled(), method="predict_proba", params=p)
        for (_, m), p in zip(members, [{"sample_weight": weight}] * 2, strict=True)
    ]
    said = np.hstack([p[:, 1:] if p.shape[1] == 2 else p for p in said])
    Z = np.hstack([said, X]) if passthrough else said
    assert_allclose(learnt, LogisticRegression().fit(Z, y, weight).coef_, atol=1e-8)


@pytest.mark.parametrize("passthrough", [False, True])
@pytest.mark.parametrize("final", [None, LinearRegression()])
def test_one_layer_of_values_is_the_stacking_regressor_of_scikit_learn(passthrough, final):
    X, y = load_diabetes(return_X_y=True)
    ours = GeneralStackingRegressor(regressors(), final, passthrough=passthrough, cv=shuffled())
    theirs = StackingRegressor(regressors(), final, passthrough=passthrough, cv=shuffled())
    assert_allclose(ours.fit(X, y).predict(X), theirs.fit(X, y).predict(X), rtol=1e-10)
    assert isinstance(ours.final_estimator_, RidgeCV if final is None else LinearRegression)


def test_layers_are_nested_stacking_of_scikit_learn():
    X, y = load_wine(return_X_y=True)
    second = [("logistic", LogisticRegression()), ("nearest2", KNeighborsClassifier(9))]
    ours = GeneralStackingClassifier([classifiers(), second], cv=shuffled()).fit(X, y)
    nested = StackingClassifier(second, cv=shuffled())
    theirs = StackingClassifier(classifiers(), nested, cv=shuffled()).fit(X, y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    assert [len(layer) for layer in ours.layers_] == [3, 2]
    assert ours.layers_[1] is ours.estimators_
    assert list(ours.named_estimators_) == ["bayes", "tree", "nearest", "logistic", "nearest2"]
    assert ours.member_probabilities(X).shape == (len(y), 2, 3)
    assert list(ours.explain_fusion(X, as_frame=True)) == ["logistic", "nearest2"]


def test_logits_are_a_transformer_before_the_final_model_of_scikit_learn():
    X, y = load_wine(return_X_y=True)

    def logits(p):
        p = np.clip(p, 1e-3, 1 - 1e-3)
        return np.log(p / (1 - p))

    final = make_pipeline(FunctionTransformer(logits), exact())
    theirs = StackingClassifier(classifiers(), final, cv=shuffled()).fit(X, y)
    ours = GeneralStackingClassifier(
        classifiers(), final[-1], outputs="logits", clip=1e-3, cv=shuffled()
    )
    assert_allclose(ours.fit(X, y).predict_proba(X), theirs.predict_proba(X), atol=1e-8)


# -- against a literal version -------------------------------------------------------------------


def literal_two_layers(first, second, final, folds, X, y, X_new, columns, transformer):
    """Two layers of regressors under folds that may overlap or leave rows out, row by row."""

    def out_of_fold(model, table, rows, outcome):
        """For each row the mean over all folds that hold it out; None if none does."""
        said = {}
        for train, test in folds:
            train = [i for i in train if i in rows]
            test = [i for i in test if i in rows]
            if not train or not test:
                continue
            fitted = clone(model).fit(np.array([table[i] for i in train]), y[train])
            for i in test:
                said.setdefault(i, []).append(getattr(fitted, outcome)(table[i][None])[0])
        return {i: np.mean(outputs, axis=0) for i, outputs in said.items()}

    everyone = dict(enumerate(X))
    made = out_of_fold(transformer, everyone, everyone, "transform")
    one = [out_of_fold(model, everyone, everyone, "predict") for model in first]
    beside = {i: [*X[i, columns], *made[i]] for i in made}
    table = {i: np.array([*(said[i] for said in one), *beside[i]]) for i in one[0]}
    two = [out_of_fold(model, table, table, "predict") for model in second]
    rows = sorted(two[0])
    Z = np.array([[*(said[i] for said in two), *beside[i]] for i in rows])
    final = clone(final).fit(Z, y[rows])

    known = sorted(table)
    first = [clone(model).fit(X, y) for model in first]
    second = [clone(model).fit(np.array([table[i] for i in known]), y[known]) for model in second]
    made_new = clone(transformer).fit(X, y).transform(X_new)
    new = np.hstack([np.column_stack([m.predict(X_new) for m in first]), X_new[:, columns]])
    new = np.hstack([new, made_new])
    Z_new = np.column_stack([m.predict(new) for m in second])
    return final.predict(np.hstack([Z_new, X_new[:, columns], made_new])), len(known), len(rows)


@pytest.mark.parametrize(
    ("cv", "lost"),
    [
        (KFold(3), (0, 0)),
        (TimeSeriesSplit(4), (16, 16)),
        (RepeatedKFold(n_splits=2, n_repeats=2, random_state=0), (0, 0)),
        (ShuffleSplit(3, test_size=0.4, random_state=0), (17, 0)),
    ],
    ids=["KFold", "TimeSeriesSplit", "RepeatedKFold", "ShuffleSplit"],
)
@pytest.mark.filterwarnings("ignore:.*rows have no out-of-fold prediction")
def test_two_layers_equal_the_literal_version_under_any_splitter(cv, lost):
    X, y = load_diabetes(return_X_y=True)
    X, y, X_new = X[:80], y[:80], X[80:100]
    first = [Ridge(0.1), KNeighborsRegressor(5)]
    second = [LinearRegression(), DecisionTreeRegressor(max_depth=2, random_state=0)]
    expected, in_second, in_final = literal_two_layers(
        first,
        second,
        Ridge(0.01),
        list(cv.split(X)),
        X,
        y,
        X_new,
        [2, 8],
        SelectKBest(_covariance, k=1),
    )
    stack = GeneralStackingRegressor(
        [first, second],
        Ridge(0.01),
        passthrough=[2, 8],
        features=SelectKBest(_covariance, k=1),
        cv=cv,
    ).fit(X, y)
    assert_allclose(stack.predict(X_new), expected, rtol=1e-9)
    assert (len(y) - in_second, in_second - in_final) == lost
    assert stack.layers_[1][0].n_features_in_ == stack.final_estimator_.n_features_in_ == 5


def _covariance(X, y):
    return np.abs((X - X.mean(axis=0)).T @ (y - y.mean()))


# -- what it is for ------------------------------------------------------------------------------


class Memory(ClassifierMixin, BaseEstimator):
    """Knows the labels of the rows it was fitted on, and guesses the others'."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.known_ = {row.tobytes(): label for row, label in zip(np.asarray(X), y, strict=True)}
        return self

    def predict(self, X):
        guess = self.classes_[0]
        return np.array([self.known_.get(row.tobytes(), guess) for row in np.asarray(X)])

    def predict_proba(self, X):
        known = np.array([row.tobytes() in self.known_ for row in np.asarray(X)])
        certain = (self.predict(X)[:, None] == self.classes_).astype(float)
        return np.where(known[:, None], certain, 1 / len(self.classes_))


class MemoryOfNumbers(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        self.known_ = {row.tobytes(): value for row, value in zip(np.asarray(X), y, strict=True)}
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.array([self.known_.get(row.tobytes(), self.mean_) for row in np.asarray(X)])


def signal(n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    return X, (X[:, 0] + rng.normal(size=n_rows) > 0).astype(int), rng


@pytest.mark.parametrize("outputs", ["probabilities", "one_hot", "logits", "ranks"])
def test_a_model_learnt_in_sample_falls_for_a_member_that_memorises(outputs):
    X, y, _ = signal(600)
    X_train, y_train, X_test, y_test = X[:300], y[:300], X[300:], y[300:]
    members = [("logistic", LogisticRegression()), ("nearest", KNeighborsClassifier(1))]
    naive = FusionClassifier(
        [(name, clone(member).fit(X_train, y_train)) for name, member in members],
        Stacking(outputs=outputs, keep_certainty=False),
        prefit=True,
    ).fit(X_train, y_train)
    stacked = GeneralStackingClassifier(members, outputs=outputs).fit(X_train, y_train)
    alone = LogisticRegression().fit(X_train, y_train).score(X_test, y_test)
    assert naive.score(X_train, y_train) == 1
    assert naive.explain_fusion(X_test)[:, 1].mean() > 0.75
    assert naive.score(X_test, y_test) < alone - 0.05
    assert stacked.explain_fusion(X_test)[:, 1].mean() < 0.3
    assert stacked.score(X_test, y_test) > alone - 0.02


def test_a_regression_learnt_in_sample_falls_for_a_member_that_memorises():
    X, y = load_diabetes(return_X_y=True)
    members = [("ridge", Ridge(0.1)), ("memory", MemoryOfNumbers())]
    stacked = GeneralStackingRegressor(members).fit(X[:300], y[:300])
    naive = LinearRegression().fit(stacked.member_predictions(X[:300]), y[:300])
    assert_allclose(naive.coef_, [0, 1], atol=1e-9)
    errors = [
        ((said - y[300:]) ** 2).mean()
        for said in (stacked.predict(X[300:]), naive.predict(stacked.member_predictions(X[300:])))
    ]
    assert errors[0] < 0.6 * errors[1]


class Told(TransformerMixin, BaseEstimator):
    """Makes a column of what a memory knows."""

    def fit(self, X, y):
        self.memory_ = Memory().fit(X, y)
        return self

    def transform(self, X):
        return self.memory_.predict_proba(X)[:, 1:]


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("features", [None, Told()])
def test_nothing_leaks_from_noise(layers, features):
    """Labels that are pure noise: out of fold, not even a memory can tell them."""

    class Spy(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            self.learnt_from_ = X, y
            return super().fit(X, y, sample_weight)

    members = [("memory", Memory()), ("nearest", KNeighborsClassifier(1))]
    second = [("memory2", Memory()), ("nearest2", KNeighborsClassifier(1))]
    learnt, fresh = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
        stack = GeneralStackingClassifier(
            [members, second][:layers], Spy(), features=features, cv=shuffled(5)
        ).fit(X, y)
        learnt.append(stack.final_estimator_.score(*stack.final_estimator_.learnt_from_))
        fresh.append(stack.score(rng.normal(size=(300, 3)), rng.integers(0, 2, 300)))
        # In sample the same final model would know everything.
        told = np.column_stack([clone(m).fit(X, y).predict_proba(X)[:, 1] for _, m in members])
        assert LogisticRegression().fit(told, y).score(told, y) == 1
    # Few columns fit a little noise even so.
    assert np.mean(learnt) < 0.57
    assert abs(np.mean(fresh) - 0.5) < 0.04


def test_supervised_features_do_not_leak():
    """A target encoding of a column without repetitions is the label itself, in sample."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"noise": rng.normal(size=200), "id": [f"row {i}" for i in range(200)]})
    y = rng.integers(0, 2, 200)
    only = FunctionTransformer(lambda X: X[["noise"]])
    stack = GeneralStackingClassifier(
        [("bayes", make_pipeline(only, GaussianNB()))],
        features=make_pipeline(
            FunctionTransformer(lambda X: X[["id"]]), TargetEncoder(smooth=1e-9)
        ),
    ).fit(X, y)
    # In sample, as the rows stand, it would be right everywhere.
    assert abs(stack.final_estimator_.coef_[0, 1]) < 1
    assert stack.score(X, y) < 0.65


@pytest.mark.parametrize("outputs", ["probabilities", "one_hot", "logits", "ranks"])
def test_each_output_is_worth_having(outputs):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    stack = GeneralStackingClassifier(classifiers(), outputs=outputs, cv=shuffled())
    stack.fit(X[::2], y[::2])
    alone = [member.score(X[1::2], y[1::2]) for member in stack.estimators_]
    assert stack.score(X[1::2], y[1::2]) > np.mean(alone)
    assert stack.score(X[1::2], y[1::2]) > max(alone) - 0.025  # two rows of 89


# -- outputs -------------------------------------------------------------------------------------


def test_outputs_for_each_member():
    X, y = load_iris(return_X_y=True)
    members = [("bayes", GaussianNB()), ("svc", LinearSVC()), ("ridge", RidgeClassifier())]
    by_name = {"svc": "ranks", "ridge": "one_hot"}
    stack = GeneralStackingClassifier(members, outputs=by_name, cv=shuffled()).fit(X, y)
    assert stack.outputs_ == [["probabilities", "ranks", "one_hot"]]
    said = stack.member_probabilities(X)
    assert_allclose(said[:, 0], GaussianNB().fit(X, y).predict_proba(X))
    order = stack.estimators_[1].decision_function(X).argsort().argsort()
    assert_allclose(said[:, 1], order / 3)
    assert_array_equal(said[:, 2], np.eye(3)[stack.estimators_[2].predict(X)])
    listed = GeneralStackingClassifier(
        members, outputs=["probabilities", "ranks", "one_hot"], cv=shuffled()
    )
    assert_array_equal(listed.fit(X, y).predict_proba(X), stack.predict_proba(X))
    Z = np.hstack([said[:, 0], order / 2, said[:, 2]])
    assert_allclose(stack.final_estimator_.predict_proba(Z), stack.predict_proba(X), atol=1e-12)


def test_ranks_of_a_regressor_are_shares_of_its_out_of_fold_predictions():
    X, y = load_diabetes(return_X_y=True)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    members = [("ridge", Ridge(0.1)), ("tree", DecisionTreeRegressor(max_depth=3))]
    stack = GeneralStackingRegressor(members, LinearRegression(), outputs={"tree": "ranks"}, cv=3)
    stack.set_params(tree__random_state=0).fit(X, y, sample_weight=weight)
    said = np.column_stack(
        [
            cross_val_predict(m, X, y, cv=KFold(3), params={"sample_weight": weight})
            for _, m in stack.estimators
        ]
    )
    # A tree says the same of many rows: ties count by half.
    ranks = [
        (weight @ (said[:, 1] < one) + weight @ (said[:, 1] == one) / 2) / weight.sum()
        for one in said[:, 1]
    ]
    Z = np.column_stack([said[:, 0], ranks])
    expected = LinearRegression().fit(Z, y, weight)
    assert_allclose(stack.final_estimator_.coef_, expected.coef_)
    # A wild prediction is the highest one, and no more.
    wild = Predictions([[0, 1e9], [0, -1e9]], kind="value")
    assert_array_equal(stack.fuser_._encode(wild)[:, 1, 0], [1, 0])


# -- columns beside the outputs ------------------------------------------------------------------


def test_columns_are_passed_through_by_name_position_mask_and_selector():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X.iloc[:, :4].assign(kind=np.where(X["hue"] > 1, "a", "b"))
    numbers = make_pipeline(FunctionTransformer(lambda X: X.iloc[:, :4]), GaussianNB())
    first = ["alcohol", "malic_acid"]
    expected = None
    for passthrough in (
        first,
        [0, 1],
        np.array([True, True, False, False, False]),
        slice(0, 2),
        make_column_selector("^alcohol|^malic"),
    ):
        stack = GeneralStackingClassifier(
            [("bayes", numbers)],
            make_pipeline(StandardScaler(with_mean=False), LogisticRegression()),
            passthrough=passthrough,
            features=make_pipeline(
                FunctionTransformer(lambda X: X[["kind"]]), OneHotEncoder(drop="first")
            ),
            cv=shuffled(),
        )
        fused = stack.fit(X, y).predict_proba(X)
        assert stack.final_estimator_.n_features_in_ == 3 + 2 + 1
        expected = fused if expected is None else expected
        assert_array_equal(fused, expected)
    with pytest.raises(ValueError, match="passthrough takes columns of numbers"):
        stack.set_params(passthrough=["kind"]).fit(X, y)


def test_frames_polars_and_sparse_matrices_pass_through():
    X, y = load_wine(return_X_y=True, as_frame=True)
    members = [("logistic", make_pipeline(StandardScaler(with_mean=False), exact()))]
    final = make_pipeline(StandardScaler(with_mean=False), exact())
    for passthrough in (False, [0, 5], True):
        stack = GeneralStackingClassifier(members, final, passthrough=passthrough, cv=shuffled())
        expected = clone(stack).fit(X.to_numpy(), y).predict_proba(X.to_numpy())
        framed = clone(stack).fit(X, y)
        assert list(framed.feature_names_in_) == list(X.columns)
        assert_allclose(framed.predict_proba(X), expected, atol=1e-8)
        other = pl.from_pandas(X)
        assert_allclose(clone(stack).fit(other, y).predict_proba(other), expected, atol=1e-8)
        for make in (sparse.csr_array, sparse.csr_matrix, sparse.coo_array):
            thin = make(X.to_numpy())
            assert_allclose(clone(stack).fit(thin, y).predict_proba(thin), expected, atol=1e-8)
    X, y = load_diabetes(return_X_y=True)
    ridge = Ridge(solver="sparse_cg", tol=1e-12)
    stack = GeneralStackingRegressor([ridge], ridge, passthrough=True, cv=shuffled())
    expected = clone(stack).fit(X, y).predict(X)
    thin = sparse.csr_array(X)
    assert_allclose(clone(stack).fit(thin, y).predict(thin), expected, rtol=1e-6)
    importance = clone(stack).fit(thin, y).explain_fusion(thin)
    assert_allclose(importance, 1)


# -- folds ---------------------------------------------------------------------------------------


def test_rows_without_an_out_of_fold_output_are_left_out_with_a_warning():
    X, y = load_diabetes(return_X_y=True)
    stack = GeneralStackingRegressor(regressors(), cv=TimeSeriesSplit(5))
    with pytest.warns(UserWarning, match="77 of 442 rows have no out-of-fold") as told:
        stack.fit(X, y)
    assert told[0].filename == __file__
    # The final model has learnt from the others.
    said = np.full((442, 3), np.nan)
    for train, test in TimeSeriesSplit(5).split(X):
        for k, (_, member) in enumerate(regressors()):
            said[test, k] = member.fit(X[train], y[train]).predict(X[test])
    final = clone(stack.final_estimator_).fit(said[77:], y[77:])
    assert_allclose(stack.final_estimator_.coef_, final.coef_)
    X, y, _ = signal(200)
    stack = GeneralStackingClassifier([classifiers(), [GaussianNB()]], cv=TimeSeriesSplit(4))
    with pytest.warns(UserWarning, match="40 of 160 rows have no out-of-fold"):
        stack.fit(X, y)
    # The second layer has learnt from all rows but the first block, and counts them.
    assert_array_equal(stack.estimators_[0].class_count_, np.bincount(y[40:]))


@pytest.mark.parametrize(
    ("make", "splitter"),
    [
        (lambda cv: GeneralStackingClassifier(classifiers(), cv=cv), StratifiedGroupKFold(3)),
        (lambda cv: GeneralStackingRegressor(regressors(), cv=cv), GroupKFold(3)),
    ],
    ids=["classifier", "regressor"],
)
def test_a_number_of_folds_divides_no_group(make, splitter):
    X, y = load_wine(return_X_y=True)
    groups = np.arange(len(y)) // 5
    fitted, by_group, plain = (
        make(cv).fit(X, y, groups=given).final_estimator_
        for cv, given in ((3, groups), (splitter, groups), (3, None))
    )
    assert_array_equal(fitted.coef_, by_group.coef_)
    assert not np.array_equal(fitted.coef_, plain.coef_)


def test_a_slice_of_names_ends_with_its_end():
    X, y = load_diabetes(return_X_y=True, as_frame=True)

    def columns(passthrough):
        stack = GeneralStackingRegressor([("ridge", Ridge())], passthrough=passthrough)
        return stack.fit(X[:60], y[:60])._columns.tolist()

    assert columns(slice("bmi", "s1")) == [2, 3, 4]
    assert columns(slice("s5", None)) == [8, 9]
    assert columns(slice(None, "age")) == [0]
    assert columns(slice("age", "s1", 2)) == [0, 2, 4]
    assert columns(slice(-2, None)) == [8, 9]
    with pytest.raises(ValueError, match="passthrough names the column 'bim'"):
        columns(slice("bim", "s1"))


@pytest.mark.parametrize(
    "nothing",
    [[], slice(0, 0), np.zeros(10, dtype=bool), make_column_selector("nothing like it")],
    ids=["list", "slice", "mask", "selector"],
)
def test_no_column_passed_through_is_none(nothing):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    members = [("ridge", Ridge()), ("tree", DecisionTreeRegressor(max_depth=2, random_state=0))]
    stack = GeneralStackingRegressor(members, passthrough=nothing).fit(X, y)
    assert_array_equal(stack.predict(X), GeneralStackingRegressor(members).fit(X, y).predict(X))


# -- models on top without probabilities -------------------------------------------------------


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_without_probabilities_on_top_there_are_scores_as_in_scikit_learn(load):
    X, y = load(return_X_y=True)
    ours = GeneralStackingClassifier(classifiers(), LinearSVC(random_state=0))
    theirs = StackingClassifier(classifiers(), LinearSVC(random_state=0))
    for stack in (ours, clone(ours).fit(X, y)):
        assert not hasattr(stack, "predict_proba")
        assert not hasattr(stack, "predict_log_proba")
    ours.fit(X, y)
    theirs.fit(X, y)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-6)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.explain_fusion(X).sum(axis=1), 1)
    with pytest.raises(ValueError, match="'stack' does not have"):
        GeneralStackingClassifier([("stack", ours)], outputs="probabilities").fit(X, y)
    nested = GeneralStackingClassifier([("stack", ours)], cv=2).fit(X, y)
    assert nested.outputs_ == [["scores"]]


def test_a_model_on_top_that_only_decides_gives_no_scores():
    class Decides(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            return self.classes_[(X[:, 0] > 0.5).astype(int)]

    X, y = load_breast_cancer(return_X_y=True)
    stack = GeneralStackingClassifier(classifiers(), Decides()).fit(X, y)
    assert not hasattr(stack, "predict_proba")
    assert not hasattr(stack, "decision_function")
    # The first column is what the first member predicts of the second class.
    assert_array_equal(stack.predict(X), GaussianNB().fit(X, y).predict_proba(X)[:, 1] > 0.5)


def test_a_class_that_the_model_on_top_never_saw_scores_lowest():
    X, y = load_iris(return_X_y=True)
    # The last class is in the first block only, of which nothing is said out of fold.
    order = np.r_[100:150, np.arange(100).reshape(2, 50).T.ravel()]
    X, y = X[order], y[order]
    folds = [(np.r_[0:100], np.r_[100:150])]
    stack = GeneralStackingClassifier(classifiers(), LinearSVC(), cv=folds)
    with pytest.warns(UserWarning, match="no out-of-fold prediction"):
        stack.fit(X, y)
    scores = stack.decision_function(X)
    assert scores.shape == (150, 3)
    assert np.isfinite(scores).all()
    assert (scores.argmin(axis=1) == 2).all()
    assert_array_equal(stack.predict(X), scores.argmax(axis=1))


def test_groups_and_given_folds():
    X, y = load_iris(return_X_y=True)
    groups = np.arange(len(y)) % 5
    given = [(groups != g, np.flatnonzero(groups == g)) for g in range(5)]
    by_groups = GeneralStackingClassifier(classifiers(), cv=GroupKFold(5)).fit(X, y, groups=groups)
    for cv in (given, iter(given), [*given, *given]):
        listed = GeneralStackingClassifier(classifiers(), cv=cv).fit(X, y)
        assert_allclose(listed.final_estimator_.coef_, by_groups.final_estimator_.coef_, atol=1e-6)


def test_a_class_that_a_fold_lacks():
    """The rare class is in one fold only: members fitted without that fold do not know it."""
    X, y = load_iris(return_X_y=True)
    names = np.array(["low", "mid", "top"], dtype=object)[y]
    rows = np.r_[0:100, 100:104]
    X, names = X[rows], names[rows]
    folds = [(np.r_[0:40, 50:90, 100:104], np.r_[40:50, 90:100]), (np.r_[20:50, 70:100], rows)]
    for outputs in ("probabilities", "one_hot", "logits", "ranks"):
        stack = GeneralStackingClassifier(
            classifiers(), LogisticRegression(max_iter=1000), outputs=outputs, cv=folds
        ).fit(X, names)
        assert list(stack.classes_) == ["low", "mid", "top"]
        assert set(stack.predict(X)) <= {"low", "mid", "top"}
        assert_allclose(stack.predict_proba(X).sum(axis=1), 1)
    # The final model itself has never heard of the rare class.
    with pytest.warns(UserWarning, match="rows have no out-of-fold"):
        stack = GeneralStackingClassifier(classifiers(), cv=folds[:1]).fit(X, names)
    assert (stack.predict_proba(X)[:, 2] == 0).all()


def test_weights_reach_members_and_the_final_model():
    X, y = load_diabetes(return_X_y=True)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    stack = GeneralStackingRegressor([[Ridge()], [Ridge(2)]], LinearRegression(), cv=shuffled())
    stack.fit(X, y, sample_weight=weight)
    folds = list(shuffled().split(X))

    def out_of_fold(model, table):
        said = np.empty(len(y))
        for train, test in folds:
            said[test] = model.fit(table[train], y[train], weight[train]).predict(table[test])
        return said[:, None]

    one = out_of_fold(Ridge(), X)
    two = out_of_fold(Ridge(2), one)
    assert_allclose(stack.layers_[1][0].coef_, Ridge(2).fit(one, y, weight).coef_)
    final = LinearRegression().fit(two, y, weight)
    assert_allclose(stack.final_estimator_.coef_, final.coef_)
    with pytest.raises(TypeError, match="'nearest' cannot be fitted with sample_weight"):
        GeneralStackingRegressor(regressors()).fit(X, y, sample_weight=weight)
    with pytest.raises(TypeError, match="'final_estimator' cannot be fitted with sample_weight"):
        GeneralStackingRegressor([Ridge()], KNeighborsRegressor()).fit(X, y, weight)


def test_frozen_members_stay_as_they_are():
    X, y = load_iris(return_X_y=True)
    frozen = FrozenEstimator(GaussianNB().fit(X[::2], y[::2]))
    stack = GeneralStackingClassifier([("frozen", frozen), *CLASSIFIERS[1:]], cv=3)
    stack.fit(X[1::2], y[1::2])
    assert_array_equal(stack.member_probabilities(X)[:, 0], frozen.predict_proba(X))


# -- who decided ---------------------------------------------------------------------------------


def test_importance_under_a_linear_regressor_is_the_share_of_contributions():
    X, y = load_diabetes(return_X_y=True)
    stack = GeneralStackingRegressor(regressors(), LinearRegression(), passthrough=[2]).fit(X, y)
    said = np.column_stack([cross_val_predict(m, X, y, cv=5) for _, m in regressors()])
    coefficients = stack.final_estimator_.coef_[:3]
    moved = np.abs(coefficients * (stack.member_predictions(X) - said.mean(axis=0)))
    expected = moved / moved.sum(axis=1, keepdims=True)
    assert_allclose(stack.explain_fusion(X), expected)
    frame = stack.explain_fusion(pd.DataFrame(X), as_frame=True)
    assert list(frame) == ["ridge", "nearest", "tree"]


def test_importance_under_any_other_regressor_is_the_change_without_a_member():
    X, y = load_diabetes(return_X_y=True)
    said = np.column_stack([cross_val_predict(m, X, y, cv=5) for _, m in regressors()])
    # The coefficients of a Poisson regression are no slopes of what it predicts.
    for final in (KNeighborsRegressor(20), PoissonRegressor(alpha=1e-3)):
        stack = GeneralStackingRegressor(
            regressors(), make_pipeline(StandardScaler(), final), passthrough=[2]
        ).fit(X, y)
        Z = np.column_stack([stack.member_predictions(X), X[:, 2]])
        moved = np.empty((len(y), 3))
        for k in range(3):
            without = Z.copy()
            without[:, k] = said[:, k].mean()
            change = stack.final_estimator_.predict(without) - stack.predict(X)
            moved[:, k] = np.abs(change)
        total = moved.sum(axis=1, keepdims=True)
        expected = np.where(total > 0, moved / np.where(total > 0, total, 1), 1 / 3)
        assert_allclose(stack.explain_fusion(X), expected, atol=1e-12)


def test_a_member_that_says_nothing_decides_nothing():
    X, y = load_iris(return_X_y=True)
    members = [("bayes", GaussianNB()), ("dummy", DummyClassifier())]
    for final in (None, KNeighborsClassifier(9)):
        stack = GeneralStackingClassifier(members, final, passthrough=[0]).fit(X, y)
        assert stack.explain_fusion(X)[:, 1].mean() < 0.05
    X, y = load_diabetes(return_X_y=True)
    members = [("ridge", Ridge(0.1)), ("dummy", DummyRegressor())]
    # A tree has rows that no member moves, where both share alike.
    for final in (None, DecisionTreeRegressor(max_depth=3)):
        stack = GeneralStackingRegressor(members, final).fit(X, y)
        assert stack.explain_fusion(X)[:, 1].mean() < 0.1


# -- parameters ----------------------------------------------------------------------------------


def test_members_of_all_layers_have_parameters_by_name():
    X, y = load_iris(return_X_y=True)
    layers = [classifiers(), [("logistic", LogisticRegression()), ("second", GaussianNB())]]
    stack = GeneralStackingClassifier(layers, LogisticRegression(), cv=3)
    params = stack.get_params()
    assert params["tree__max_depth"] == 3
    assert params["logistic__C"] == 1
    assert params["final_estimator__C"] == 1
    assert params["estimators"] is layers
    stack.set_params(tree__max_depth=1, logistic__C=5, final_estimator__C=2, cv=4)
    assert stack.estimators[0][1][1].max_depth == 1
    assert stack.estimators[1][0][1].C == 5
    assert (stack.final_estimator.C, stack.cv) == (2, 4)
    stack.set_params(second=KNeighborsClassifier())
    assert isinstance(stack.estimators[1][1][1], KNeighborsClassifier)
    assert isinstance(layers[1][1][1], GaussianNB)
    with pytest.raises(ValueError, match="Invalid parameter 'nobody'"):
        stack.set_params(nobody__C=1)
    copy = clone(stack)
    assert copy.get_params()["logistic__C"] == 5
    assert copy.estimators[1][0][1] is not stack.estimators[1][0][1]
    grid = [{"tree__max_depth": [depth], "logistic__C": [C]} for depth, C in ((1, 1e-6), (3, 1))]
    search = GridSearchCV(stack, grid, scoring="neg_log_loss", cv=2)
    found = search.fit(X, y).cv_results_
    for given, score in zip(found["params"], found["mean_test_score"], strict=True):
        bayes, _, nearest = classifiers()
        tree = DecisionTreeClassifier(max_depth=given["tree__max_depth"], random_state=0)
        layers = [
            [bayes, ("tree", tree), nearest],
            [
                ("logistic", LogisticRegression(C=given["logistic__C"])),
                ("second", KNeighborsClassifier()),
            ],
        ]
        by_hand = GeneralStackingClassifier(layers, LogisticRegression(C=2), cv=4)
        assert score == cross_val_score(by_hand, X, y, scoring="neg_log_loss", cv=2).mean()
    assert len(set(found["mean_test_score"])) == 2
    # Members without a name are told apart across layers.
    unnamed = GeneralStackingClassifier([[GaussianNB()], [GaussianNB()]]).fit(X, y)
    assert list(unnamed.named_estimators_) == ["gaussiannb", "gaussiannb-2"]
    assert unnamed.get_params()["gaussiannb-2"] is unnamed.estimators[1][0]
    flat = stack.set_params(estimators=classifiers()).set_params(nearest__n_neighbors=3)
    assert flat.estimators[2][1].n_neighbors == 3


@pytest.mark.parametrize("layers", [1, 2])
def test_fits_are_equal_to_the_bit_and_survive_pickling(layers):
    X, y = load_iris(return_X_y=True)
    both = [classifiers(), [("logistic", LogisticRegression())]][:layers]
    stack = GeneralStackingClassifier(both, passthrough=[0], features=StandardScaler())
    once = clone(stack).fit(X, y)
    with parallel_config("threading"):
        again = pickle.loads(pickle.dumps(clone(stack).set_params(n_jobs=2).fit(X, y)))
    assert_array_equal(once.predict_proba(X), again.predict_proba(X))
    assert_array_equal(once.explain_fusion(X), again.explain_fusion(X))
    X, y = load_diabetes(return_X_y=True)
    stack = GeneralStackingRegressor([regressors(), [Ridge()]][:layers], outputs="ranks")
    once = clone(stack).fit(X, y)
    again = pickle.loads(pickle.dumps(once))
    assert_array_equal(once.predict(X), again.predict(X))


# -- bad input -----------------------------------------------------------------------------------


class Nothing(KFold):
    """A splitter that holds no row out."""

    def split(self, X, y=None, groups=None):
        for train, _ in super().split(X, y, groups):
            yield train, train[:0]


@pytest.mark.parametrize("make", [GeneralStackingClassifier, GeneralStackingRegressor])
def test_bad_input_gets_one_sentence(make):
    X, y = load_iris(return_X_y=True)
    classifier = make is GeneralStackingClassifier
    good = GaussianNB() if classifier else Ridge()
    wrong = Ridge() if classifier else RidgeClassifier()
    kind = "classifier" if classifier else "regressor"
    named = [("a", good)]
    for members, parameters, message in (
        ([("odd", wrong)], {}, f"The member 'odd' is not a {kind}: "),
        ([named, [("odd", wrong)]], {}, f"The member 'odd' is not a {kind}: "),
        ([("odd", type(good))], {}, f"The member 'odd' is not a {kind}: "),
        ([], {}, "estimators must be a non-empty list"),
        ([named, []], {}, r"non-empty lists of them, but layer 2 is \[\]"),
        ([named, ("b", good)], {}, "non-empty lists of them, but layer 2 is"),
        ([[], []], {}, r"but layer 1 is \[\]"),
        ([("a", good), ("a", good)], {}, "names must differ, but 'a' is repeated"),
        ([named, named], {}, "names must differ, but 'a' is repeated"),
        ([("cv", good)], {}, "The member name 'cv' must not contain '__'"),
        (named, {"cv": Nothing(3)}, "yields no out-of-fold row to learn from"),
        (named, {"cv": 1000}, "cv=1000 cannot split these rows"),
        ([named, [("b", good)]], {"cv": [(range(99), [110])]}, "to learn layer 2 from"),
        (named, {"outputs": "odds"}, "outputs must be one of '.*', got 'odds'"),
        (named, {"outputs": 3}, "outputs must be one of '.*', got 3"),
        (named, {"outputs": {"b": "ranks"}}, "outputs names the member 'b'; the members are a"),
        (named, {"outputs": ["ranks"] * 2}, "outputs has 2 entries for 1 members"),
        (named, {"final_estimator": wrong}, f"final_estimator must be a {kind}, got"),
        (named, {"passthrough": ["alcohol"]}, "names the column 'alcohol', but X has no column"),
        (named, {"passthrough": [7]}, "names the column 7, but X has columns 0 to 3"),
        (named, {"passthrough": [True, False]}, "a mask of 2 columns, but X has 4"),
    ):
        with pytest.raises(ValueError, match=message):
            make(members, **parameters).fit(X, y)
    frame = load_iris(as_frame=True).data
    with pytest.raises(ValueError, match="names the column 'alcohol', which X does not have"):
        make(named, passthrough="alcohol").fit(frame, y)
    with pytest.raises(TypeError, match="features must be a transformer, got"):
        make(named, features=wrong).fit(X, y)
    with pytest.raises(TypeError, match="passthrough must be columns by name, number"):
        make(named, passthrough=2.5).fit(X, y)


def test_members_that_cannot_say_what_is_asked_are_named():
    X, y = load_iris(return_X_y=True)
    members = [("bayes", GaussianNB()), ("svc", SVC())]
    for outputs in ("probabilities", "logits"):
        with pytest.raises(ValueError, match="the predict_proba of each member, which 'svc'"):
            GeneralStackingClassifier(members, outputs=outputs).fit(X, y)

    class Voter(ClassifierMixin, BaseEstimator):
        fit, predict = GaussianNB.fit, GaussianNB.predict

    with pytest.raises(ValueError, match="predict_proba or decision_function of each member"):
        GeneralStackingClassifier([("voter", Voter())], outputs="ranks").fit(X, y)
    with pytest.raises(ValueError, match="clip == 0.5, must be < 0.5"):
        GeneralStackingClassifier(members[:1], clip=0.5).fit(X, y)


def test_members_without_probabilities_give_scores_as_in_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    members = [("bayes", GaussianNB()), ("svc", LinearSVC()), ("ridge", RidgeClassifier())]
    ours = GeneralStackingClassifier(members, cv=shuffled()).fit(X, y)
    theirs = StackingClassifier(members, cv=shuffled()).fit(X, y)
    assert ours.outputs_ == [["probabilities", "scores", "scores"]]
    assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-10)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    # Of more classes they are centred.
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    ours = GeneralStackingClassifier(members[1:], cv=shuffled()).fit(X, y)
    scores = ours.named_estimators_.svc.decision_function(X)
    centred = scores - scores.mean(axis=1, keepdims=True)
    assert_allclose(ours.transform(X)[:, :3], centred, atol=1e-10)
    assert_array_equal(ours.member_probabilities(X)[:, 0].argmax(axis=1), scores.argmax(axis=1))
    assert ours.score(X, y) > 0.95


def test_each_member_gives_the_most_that_it_can():
    X, y = load_iris(return_X_y=True)

    class Voter(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.tree_ = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
            self.classes_ = self.tree_.classes_
            return self

        def predict(self, X):
            return self.tree_.predict(X)

    members = [("svc", SVC()), ("voter", Voter()), ("bayes", GaussianNB()), ("tree", GaussianNB())]
    stack = GeneralStackingClassifier(members, outputs={"tree": "ranks"}, cv=3).fit(X, y)
    assert stack.outputs_ == [["scores", "one_hot", "probabilities", "ranks"]]
    assert stack.score(X, y) > 0.9


def test_scores_far_apart_and_classes_unseen_stay_finite():
    X, y = load_iris(return_X_y=True)
    stack = GeneralStackingClassifier([RidgeClassifier()], cv=3).fit(X, y)
    assert np.ptp(stack.estimators_[0].decision_function(1e4 * X), axis=1).min() > 1e3
    assert np.isfinite(stack.transform(1e4 * X)).all()
    # The first fold lacks the third class, which counts as the last of those seen.
    folds = [(np.arange(100), np.arange(100, 150)), (np.arange(50, 150), np.arange(100))]
    stack = GeneralStackingClassifier([RidgeClassifier()], cv=folds).fit(X, y)
    assert stack.predict_proba(X).shape == (150, 3)


def test_features_that_change_their_width_are_refused():
    class Distinct(TransformerMixin, BaseEstimator):
        def fit(self, X, y=None):
            self.width_ = len(np.unique(y))
            return self

        def transform(self, X):
            return np.zeros((len(X), self.width_))

    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="features makes 2 columns in one fold and 3 in another"):
        GeneralStackingClassifier(
            [("nearest", KNeighborsClassifier())],
            features=Distinct(),
            cv=[(np.arange(100), np.arange(100, 150)), (np.arange(30, 150), np.arange(30))],
        ).fit(X, y)
