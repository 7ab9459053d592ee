"""Fused regressors, and the fusers of numbers under them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import load_diabetes
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import VotingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import covey
from covey.fusers import LinearStacking, Mean, Median, TrimmedMean
from covey.members._fusion import FusionRegressor


def members():
    return [
        ("ridge", Ridge(0.1)),
        ("neighbours", KNeighborsRegressor(15)),
        ("tree", DecisionTreeRegressor(max_depth=3, random_state=0)),
    ]


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


class Silent(RegressorMixin, BaseEstimator):
    """Predicts nothing where the first column is above zero."""

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return np.where(np.asarray(X)[:, 0] > 0, np.nan, 200.0)


class Wide(Silent):
    def predict(self, X):
        return np.zeros((len(X), 2))


class Endless(Silent):
    def predict(self, X):
        return np.full(len(X), -np.inf)


# -- fusers of numbers -------------------------------------------------------------------------


def numbers(n_rows=40, n_members=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_members))


def test_the_rules_on_numbers_are_those_of_numpy():
    P = numbers()
    assert_allclose(covey.fuse(P, kind="value"), P.mean(axis=1))
    assert_allclose(covey.fuse(P, "median", kind="value"), np.median(P, axis=1))
    trimmed = np.sort(P, axis=1)[:, 1:-1].mean(axis=1)
    assert_allclose(covey.fuse(P, "trimmed_mean", proportion=0.2, kind="value"), trimmed)
    w = np.array([1.0, 2.0, 0.0, 3.0, 4.0])
    assert_allclose(covey.fuse(P, weights=w, kind="value"), P @ w / 10)


@pytest.mark.parametrize("fuser", [Mean(), Mean([1, 2, 3, 4, 0]), Median(), TrimmedMean(0.25)])
@pytest.mark.parametrize("holes", [False, True])
def test_numbers_times_importances_are_the_fused_number(fuser, holes):
    P = numbers(n_rows=200)
    if holes:
        P[np.random.default_rng(1).random(P.shape) < 0.2] = np.nan
        P[0] = [1.0, np.nan, np.nan, np.nan, np.nan]
    P = covey.Predictions(P, kind="value")
    importance = fuser.importance(P)
    assert_allclose(importance.sum(axis=1), 1)
    assert importance.min() >= 0
    assert_allclose((importance * P.values[:, :, 0]).sum(axis=1), fuser.fuse(P), atol=1e-12)


def test_members_that_say_the_same_share_the_importance_of_a_median():
    assert_allclose(
        Median().importance(covey.Predictions([[1.0, 1, 5]], kind="value")), [[0.5, 0.5, 0]]
    )
    even = Median().importance(covey.Predictions([[4.0, 1, 2, 3]], kind="value"))
    assert_allclose(even, [[0, 0, 0.5, 0.5]])


def test_where_nobody_has_spoken_the_number_is_nan():
    P = covey.Predictions([[np.nan, np.nan], [1.0, 3.0]], kind="value")
    for fuser in (Mean(), Median(), TrimmedMean()):
        assert_array_equal(fuser.fuse(P), [np.nan, 2.0])
        assert_allclose(fuser.importance(P), 0.5)


def test_numbers_come_as_frames_mappings_and_lists():
    table = {"a": [1.0, 2.0], "b": [3.0, 8.0]}
    for P in (table, pd.DataFrame(table), list(table.values()), np.array([[1, 3], [2, 8]])):
        assert_allclose(covey.fuse(P, kind="value"), [2, 5])


def test_inverse_errors_are_the_weights_that_are_asked_for():
    y = np.zeros(4)
    P = np.column_stack([np.full(4, 1.0), np.full(4, 2.0), np.full(4, np.nan)])
    assert_allclose(
        Mean("inverse_error").fit(covey.Predictions(P, kind="value"), y).weights_, [0.8, 0.2, 0]
    )
    P[:, 1] = 0.0
    assert_allclose(
        Mean("inverse_error").fit(covey.Predictions(P, kind="value"), y).weights_, [0, 1, 0]
    )


def test_linear_stacking_of_numbers_finds_the_weights_they_were_made_with():
    P = numbers(200, 3)
    y = P @ [0.2, 0.0, 0.8]
    fuser = LinearStacking().fit(covey.Predictions(P, kind="value"), y)
    assert_allclose(fuser.weights_, [0.2, 0.0, 0.8], atol=1e-8)
    assert_allclose(covey.fuse(P, fuser, kind="value"), y, atol=1e-8)


def test_in_linear_stacking_the_silent_say_what_the_others_say_on_average():
    P = numbers(200, 3)
    fuser = LinearStacking(nonnegative=False, sum_to_one=False)
    fuser.fit(covey.Predictions(P, kind="value"), P @ [2.0, -1.0, 0.5])
    holed = P.copy()
    holed[0, 1] = np.nan
    filled = P.copy()
    filled[0, 1] = (P[0, 0] + P[0, 2]) / 2
    fused = fuser.fuse(covey.Predictions(holed, kind="value"))
    assert_allclose(fused, filled @ fuser.weights_)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: covey.fuse([[[0.1, 0.9]]], kind="value"), "one number for each sample"),
        (lambda: covey.fuse([["a"], ["b"]], kind="value"), "must hold numbers"),
        (lambda: covey.fuse([[1.0], [2.0]], "product", kind="value"), "got value"),
        (lambda: covey.fuse([[1.0], [2.0]], "max", kind="value"), "got value"),
        (lambda: Mean().fuse_log(covey.Predictions([[1.0]], kind="value")), "fuse_log"),
        (
            lambda: Mean("accuracy").fit(covey.Predictions([[1.0]], kind="value"), [1.0]),
            "'inverse_error'",
        ),
        (lambda: Mean("inverse_error").fit([[[1.0, 0.0]]], [0]), "'accuracy', 'log_odds'"),
        (
            lambda: LinearStacking("log").fit(covey.Predictions([[1.0]], kind="value"), [1.0]),
            "loss='log' is for probabilities",
        ),
        (
            lambda: LinearStacking().fit(covey.Predictions([[1.0]], kind="value"), [np.nan]),
            "finite numbers",
        ),
        (
            lambda: LinearStacking().fit(covey.Predictions([[1.0]], kind="value"), [1.0, 2.0]),
            "one number for each of the 1 samples",
        ),
    ],
)
def test_what_numbers_cannot_be_fused_by_is_told(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# -- the estimator -----------------------------------------------------------------------------


@parametrize_with_checks(
    [
        FusionRegressor([("ridge", Ridge()), ("tree", DecisionTreeRegressor(max_depth=3))]),
        FusionRegressor([("ridge", Ridge()), ("linear", LinearRegression())], "median"),
        FusionRegressor(
            [("ridge", Ridge()), ("linear", LinearRegression())], LinearStacking(), cv=3
        ),
        FusionRegressor([("ridge", Ridge()), ("linear", LinearRegression())], "gate", cv=3),
        FusionRegressor([("ridge", Ridge()), ("linear", LinearRegression())], "knora_e", cv=3),
    ]
)
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)


def test_the_mean_is_scikit_learns_voting(diabetes):
    X, y = diabetes
    weights = [1.0, 2.0, 0.5]
    ours = FusionRegressor(members(), Mean(weights)).fit(X, y).predict(X)
    assert_allclose(ours, VotingRegressor(members(), weights=weights).fit(X, y).predict(X))
    assert_allclose(
        FusionRegressor(members()).fit(X, y).predict(X),
        VotingRegressor(members()).fit(X, y).predict(X),
    )


def test_the_median_is_numpys(diabetes):
    X, y = diabetes
    fused = FusionRegressor(members(), "median").fit(X, y)
    table = fused.member_predictions(X)
    assert table.shape == (len(y), 3)
    assert_allclose(table[:, 0], Ridge(0.1).fit(X, y).predict(X))
    assert_allclose(fused.predict(X), np.median(table, axis=1))


def test_learnt_weights_come_from_rows_held_out(diabetes):
    X, y = diabetes
    folds = KFold(4, shuffle=True, random_state=0)
    fused = FusionRegressor(members(), Mean("inverse_error"), cv=folds).fit(X, y)
    errors = [((cross_val_predict(m, X, y, cv=folds) - y) ** 2).mean() for _, m in members()]
    expected = 1 / np.array(errors)
    assert_allclose(fused.fuser_.weights_, expected / expected.sum())


def test_learnt_fusion_is_no_worse_than_its_best_member_out_of_sample(diabetes):
    X, y = diabetes
    train, test = np.arange(0, 442, 2), np.arange(1, 442, 2)
    pool = [*members(), ("nothing", DummyRegressor())]
    fused = FusionRegressor(pool, "linear_stacking").fit(X[train], y[train])
    alone = r2_score(y[test], fused.member_predictions(X[test])[:, 0])
    assert fused.score(X[test], y[test]) > alone - 0.01
    assert fused.fuser_.weights_[3] < 0.1


def test_explain_fusion_names_the_members_and_sums_to_one(diabetes):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    for fuser in ("mean", "median", "trimmed_mean", "linear_stacking"):
        fused = FusionRegressor(members(), fuser).fit(X, y)
        frame = fused.explain_fusion(X.iloc[:9], as_frame=True)
        assert list(frame.columns) == ["ridge", "neighbours", "tree"]
        assert list(frame.index) == list(X.index[:9])
        assert_allclose(frame.sum(axis=1), 1)
    assert_array_equal(fused.feature_names_in_, X.columns)


def test_prefit_members_are_used_as_they_are(diabetes):
    X, y = diabetes
    fitted = [(name, member.fit(X[:300], y[:300])) for name, member in members()]
    fused = FusionRegressor(fitted, "linear_stacking", prefit=True).fit(X[300:], y[300:])
    assert fused.estimators_[0] is fitted[0][1]
    again = LinearStacking().fit(
        covey.Predictions(fused.member_predictions(X[300:]), kind="value"), y[300:]
    )
    assert_allclose(fused.fuser_.weights_, again.weights_)
    with pytest.raises(NotFittedError, match="'ridge' is not fitted"):
        FusionRegressor(members(), prefit=True).fit(X, y)


def test_a_member_that_predicts_nan_has_not_spoken(diabetes):
    X, y = diabetes
    fused = FusionRegressor([("ridge", Ridge()), ("silent", Silent())]).fit(X, y)
    silent = X[:, 0] > 0
    ridge = fused.member_predictions(X)[:, 0]
    assert_allclose(fused.predict(X)[silent], ridge[silent])
    assert_allclose(fused.predict(X)[~silent], (ridge[~silent] + 200) / 2)
    assert_allclose(fused.explain_fusion(X)[silent, 0], 1)


def test_where_the_only_member_with_weight_is_silent_the_others_decide(diabetes):
    X, y = diabetes
    pool = [("ridge", Ridge(0.1)), ("silent", Silent())]
    fused = FusionRegressor(pool, Mean(weights=[0, 1])).fit(X, y)
    silent = X[:, 0] > 0
    assert_array_equal(fused.predict(X)[silent], fused.member_predictions(X)[silent, 0])
    assert_array_equal(fused.explain_fusion(X), np.where(silent[:, None], [[1, 0]], [[0, 1]]))


def test_a_number_of_folds_divides_no_group(diabetes):
    X, y = diabetes
    groups = np.arange(len(y)) // 13
    fused, by_group, plain = (
        FusionRegressor(members(), "linear_stacking", cv=cv).fit(X, y, groups=given)
        for cv, given in ((3, groups), (GroupKFold(3), groups), (3, None))
    )
    assert_array_equal(fused.fuser_.weights_, by_group.fuser_.weights_)
    assert not np.array_equal(fused.fuser_.weights_, plain.fuser_.weights_)
    with pytest.raises(ValueError, match="cv=50 cannot split these rows"):
        FusionRegressor(members(), "linear_stacking", cv=50).fit(X, y, groups=groups)


def test_staged_scores_end_with_the_score(diabetes):
    X, y = diabetes
    fused = FusionRegressor(members(), "median").fit(X, y)
    stages = fused.staged_score(X, y)
    assert_allclose(stages[0], r2_score(y, fused.member_predictions(X)[:, 0]))
    assert_allclose(stages[-1], fused.score(X, y))
    assert len(fused.staged_score(X, y, fuser="mean")) == 3
    weighted = FusionRegressor(members(), Mean([1, 2, 3])).fit(X, y)
    values = weighted.member_predictions(X)
    first_two = values[:, :2] @ [1 / 3, 2 / 3]
    expected = [r2_score(y, values[:, 0]), r2_score(y, first_two), weighted.score(X, y)]
    assert_allclose(weighted.staged_score(X, y), expected)


def test_sparse_rows_pass_through(diabetes):
    X, y = diabetes
    pool = [
        ("ridge", Ridge(solver="lsqr", tol=1e-10)),
        ("tree", DecisionTreeRegressor(max_depth=2)),
    ]
    dense = FusionRegressor(pool, "linear_stacking").fit(X, y)
    thin = FusionRegressor(pool, "linear_stacking").fit(sparse.csr_array(X), y)
    assert_allclose(dense.predict(X), thin.predict(sparse.csr_array(X)), rtol=1e-6)


def test_rows_without_a_prediction_out_of_fold_are_left_out(diabetes):
    X, y = diabetes
    with pytest.warns(UserWarning, match="rows have no out-of-fold prediction"):
        FusionRegressor(members(), "linear_stacking", cv=TimeSeriesSplit(3)).fit(X, y)


def test_it_clones_pickles_and_takes_parameters_of_members(diabetes):
    X, y = diabetes
    fused = clone(FusionRegressor(members(), "median")).set_params(ridge__alpha=7.0).fit(X, y)
    assert fused.get_params()["ridge__alpha"] == 7.0
    assert_array_equal(pickle.loads(pickle.dumps(fused)).predict(X), fused.predict(X))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FusionRegressor([]), "non-empty list"),
        (lambda: FusionRegressor([("a", covey.fusers.Majority())]), "'a' is not a regressor"),
        (lambda: FusionRegressor(members(), "majority"), "fuser='majority' fuses what classif"),
        (lambda: FusionRegressor(members(), "average"), "fuser must be one of"),
        (lambda: FusionRegressor(members(), Mean([1, 2])), "one number for each of the 3 members"),
        (lambda: FusionRegressor(members(), Mean("accuracy")), "'inverse_error'"),
        (lambda: FusionRegressor(members(), TrimmedMean(0.7)), "proportion"),
        (lambda: FusionRegressor([("wide", Wide())]), "'wide' predicts an array of shape"),
        (
            lambda: FusionRegressor([("ridge", Ridge()), ("endless", Endless())]),
            "'endless' predicts infinity for row 0 of the 1",
        ),
        (
            lambda: FusionRegressor([("endless", Endless())], "linear_stacking", cv=2),
            "'endless' predicts infinity for row 0 of the 221",
        ),
    ],
)
def test_what_cannot_work_is_told_in_one_sentence(diabetes, make, message):
    X, y = diabetes
    with pytest.raises(ValueError, match=message):
        make().fit(X, y)


@pytest.mark.parametrize("rule", ["ola", "knora_e", "knora_u", "des_p"])
def test_dynamic_selection_takes_the_regressor_that_is_good_near_a_row(rule):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 2))
    y = np.where(X[:, 0] > 0, 3 * X[:, 1], -5 * X[:, 1])

    class Half(RegressorMixin, BaseEstimator):
        """Knows one of the two slopes."""

        def __init__(self, slope=0.0):
            self.slope = slope

        def fit(self, X, y):
            self.n_features_in_ = X.shape[1]
            return self

        def predict(self, X):
            return self.slope * X[:, 1]

    fused = FusionRegressor([Half(3.0), Half(-5.0), Half(4.0)], rule, cv=3).fit(X, y)
    equal = FusionRegressor([Half(3.0), Half(-5.0), Half(4.0)], "mean").fit(X, y)
    new = rng.uniform(-1, 1, (200, 2))
    truth = np.where(new[:, 0] > 0, 3 * new[:, 1], -5 * new[:, 1])
    assert fused.score(new, truth) > max(0.6, equal.score(new, truth))
    assert fused.explain_fusion(new[new[:, 0] < -0.2])[:, 1].mean() > 0.6
