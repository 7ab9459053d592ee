"""The members of forests, bagging and boosting, fused by their own rule and by others."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Perceptron, Ridge
from sklearn.metrics import r2_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import covey
from covey import FusionClassifier, FusionRegressor, Predictions, members_of, out_of_bag
from covey.fusers import Gate, LastStage, LinearStacking, Majority, Mean, WeightedMedian
from covey.fusers._base import FUSERS
from covey.fusers._fixed import make_fuser
from covey.inspection import diversity, vote_bound
from covey.utils.estimator_checks import FUSED_CLASSIFIER_CHECKS

# Enough members that each row is outside of some bag.
ENOUGH = 20
STAGED = [
    GradientBoostingClassifier(n_estimators=12, random_state=0),
    HistGradientBoostingClassifier(max_iter=12, min_samples_leaf=5, random_state=0),
    GradientBoostingRegressor(n_estimators=12, random_state=0),
    HistGradientBoostingRegressor(max_iter=12, random_state=0),
]
ADABOOST = AdaBoostClassifier(n_estimators=12, random_state=0)


def patches(**how):
    return BaggingClassifier(
        **{"estimator": GaussianNB(), "n_estimators": 10, "max_features": 0.5, **how},
        random_state=0,
    )


def name_of(ensemble):
    return type(ensemble).__name__


def fused_by(ensemble, rule, X, y, **more):
    kind = FusionClassifier if is_classifier(ensemble) else FusionRegressor
    return kind(members_of(ensemble), rule, prefit=True).fit(X, y, **more)


def predicted(model, X):
    return getattr(model, "predict_proba", model.predict)(X)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X[::2], X[1::2], y[::2], y[1::2]


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X[:200], X[200:], y[:200], y[200:]


@pytest.fixture(scope="module")
def forest(wine):
    X, _, y, _ = wine
    return RandomForestClassifier(ENOUGH, oob_score=True, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def rare():
    """Sixty malignant rows among all benign ones."""
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.r_[np.flatnonzero(y == 1), np.flatnonzero(y == 0)[:60]]
    rows = np.random.default_rng(0).permutation(rows)
    return X[rows], np.array(["malignant", "benign"])[y[rows]]


# -- fused by the ensemble's own rule ------------------------------------------------------------


@pytest.mark.parametrize("words", [False, True], ids=["numbers", "words"])
@pytest.mark.parametrize(
    "ensemble",
    [
        RandomForestClassifier(11, max_depth=3, random_state=0),
        ExtraTreesClassifier(11, max_depth=3, random_state=0),
        patches(bootstrap=False),
        patches(),
        patches(max_samples=0.5, bootstrap=False),
        patches(bootstrap_features=True),
        patches(estimator=KNeighborsClassifier(3), max_samples=8),
        patches(estimator=KNeighborsClassifier(3), max_features=1.0),
        patches(estimator=Perceptron()),
        patches(estimator=DecisionTreeClassifier(max_depth=2), n_estimators=7),
        patches(estimator=DecisionTreeClassifier(max_depth=2), max_features=1.0, max_samples=3),
    ],
    ids=lambda ensemble: name_of(getattr(ensemble, "estimator", ensemble)),
)
def test_the_mean_of_forests_and_bagging_is_the_ensembles_own(wine, ensemble, words):
    X, X_test, y, _ = wine
    y = np.array(["red", "rosé", "white"])[y] if words else y
    ensemble = clone(ensemble).fit(X, y)
    fused = fused_by(ensemble, "mean", X, y)
    theirs = ensemble.predict_proba(X_test)
    assert_allclose(fused.predict_proba(X_test), theirs, rtol=0, atol=1e-14)
    # Classes that are equally probable differ in the last bit of a sum.
    second, first = np.sort(theirs, axis=1)[:, -2:].T
    sure = first > second + 1e-12
    assert_array_equal(fused.predict(X_test)[sure], ensemble.predict(X_test)[sure])
    for _, member in members_of(ensemble):
        assert np.isin(member.classes_, ensemble.classes_).all()


@pytest.mark.parametrize(
    "ensemble",
    [
        RandomForestRegressor(13, random_state=0),
        ExtraTreesRegressor(13, random_state=0),
        BaggingRegressor(DecisionTreeRegressor(), 13, random_state=0),
        BaggingRegressor(LinearRegression(), 13, max_features=4, random_state=0),
    ],
    ids=name_of,
)
def test_the_mean_of_regressors_is_the_ensembles_own(diabetes, ensemble):
    X, X_test, y, _ = diabetes
    ensemble = clone(ensemble).fit(X, y)
    fused = fused_by(ensemble, "mean", X, y)
    assert_allclose(fused.predict(X_test), ensemble.predict(X_test), rtol=1e-13)


@pytest.mark.parametrize("estimator", [None, Perceptron()], ids=["stumps", "votes"])
def test_the_weighted_vote_of_adaboost_is_its_own(wine, estimator):
    X, X_test, y, _ = wine
    ensemble = clone(ADABOOST).set_params(estimator=estimator).fit(X, y)
    members = members_of(ensemble)
    weights = ensemble.estimator_weights_[: len(members)]
    fused = fused_by(ensemble, Majority(weights), X, y)
    assert_array_equal(fused.predict(X_test), ensemble.predict(X_test))


def test_the_weighted_median_of_adaboost_is_its_own(diabetes):
    X, X_test, y, _ = diabetes
    ensemble = AdaBoostRegressor(n_estimators=12, random_state=0).fit(X, y)
    fused = fused_by(ensemble, WeightedMedian(ensemble.estimator_weights_), X, y)
    assert_array_equal(fused.predict(X_test), ensemble.predict(X_test))


@pytest.mark.parametrize("ensemble", STAGED, ids=name_of)
def test_stages_are_members_and_the_last_one_is_the_ensemble(ensemble):
    X, y = (load_wine if is_classifier(ensemble) else load_diabetes)(return_X_y=True)
    ensemble = clone(ensemble).fit(X[::2], y[::2])
    method = "predict_proba" if is_classifier(ensemble) else "predict"
    members = members_of(ensemble)
    assert [name for name, _ in members] == [f"stage {k}" for k in range(1, 13)]
    for (_, member), stage in zip(members, getattr(ensemble, f"staged_{method}")(X), strict=True):
        assert_array_equal(getattr(member, method)(X), stage)
    fused = fused_by(ensemble, LastStage(), X, y)
    assert_array_equal(predicted(fused, X), predicted(ensemble, X))
    score = (lambda y, p: (p == y).mean()) if is_classifier(ensemble) else r2_score
    expected = [score(y[1::2], said) for said in ensemble.staged_predict(X[1::2])]
    assert_allclose(fused.staged_score(X[1::2], y[1::2]), expected)


def test_a_fit_that_stops_early_has_fewer_members():
    X, y = load_breast_cancer(return_X_y=True)
    perfect = AdaBoostClassifier(DecisionTreeClassifier(random_state=0), random_state=0).fit(X, y)
    assert len(members_of(perfect)) == 1
    stopped = GradientBoostingClassifier(n_iter_no_change=2, random_state=0).fit(X, y)
    assert 1 < len(members_of(stopped)) == stopped.n_estimators_ < 100
    stopped = HistGradientBoostingClassifier(
        early_stopping=True, n_iter_no_change=2, random_state=0
    ).fit(X, y)
    assert 1 < len(members_of(stopped)) == stopped.n_iter_ < 100


def test_importance_of_stages_is_the_share_of_the_way():
    X, y = load_diabetes(return_X_y=True)
    boosting = clone(STAGED[2]).fit(X, y)
    path = np.stack([np.full(len(y), y.mean()), *boosting.staged_predict(X)], axis=1)
    moved = np.abs(np.diff(path, axis=1))
    frame = fused_by(boosting, LastStage(y.mean()), X, y).explain_fusion(X, as_frame=True)
    assert list(frame) == [name for name, _ in members_of(boosting)]
    assert_allclose(frame, moved / moved.sum(axis=1, keepdims=True), atol=1e-9)


def test_some_stages_and_another_rule():
    X, y = load_diabetes(return_X_y=True)
    boosting = GradientBoostingRegressor(random_state=0).fit(X[::2], y[::2])
    members = members_of(boosting)[9::10]
    mean = FusionRegressor(members, "mean", prefit=True).fit(X[::2], y[::2])
    stages = np.stack(list(boosting.staged_predict(X)))[9::10]
    assert_allclose(mean.predict(X), stages.mean(axis=0))
    # The mean of stages shrinks boosting that has gone too far.
    assert mean.score(X[1::2], y[1::2]) > boosting.score(X[1::2], y[1::2]) + 0.03


# -- members -------------------------------------------------------------------------------------


def test_members_look_only_at_their_columns(wine):
    X, X_test, y, _ = wine
    ensemble = patches(bootstrap_features=True).fit(X, y)
    rng = np.random.default_rng(0)
    for (_, member), used in zip(members_of(ensemble), ensemble.estimators_features_, strict=True):
        mask = np.isin(np.arange(X.shape[1]), used)
        other = np.where(mask, X_test, rng.normal(size=X_test.shape))
        assert_array_equal(member.predict_proba(X_test), member.predict_proba(other))


def test_members_that_saw_fewer_classes_are_aligned():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    ensemble = BaggingClassifier(KNeighborsClassifier(1), 40, max_samples=3, random_state=0)
    ensemble.fit(X, names)
    known = np.array([np.isin(["a", "b", "c"], one.classes_) for _, one in members_of(ensemble)])
    assert not known.all()
    fused = fused_by(ensemble, "product", X, names)
    assert not fused.member_probabilities(X)[:, ~known].any()
    assert_allclose(fused.predict_proba(X).sum(axis=1), 1)


def test_a_member_with_only_scores_keeps_them(wine):
    X, X_test, y, _ = wine
    ensemble = patches(estimator=Perceptron()).fit(X, y)
    (_, member), *_ = members_of(ensemble)
    assert not hasattr(member, "predict_proba")
    assert member.decision_function(X_test).shape == (len(X_test), 3)
    with pytest.raises(ValueError, match="fuses predictions of kind probability"):
        fused_by(ensemble, "product", X, y)


@pytest.mark.parametrize(
    "ensemble",
    [
        RandomForestClassifier(ENOUGH, random_state=0),
        patches(n_estimators=30, estimator=DecisionTreeClassifier()),
        patches(n_estimators=30, estimator=DecisionTreeClassifier(), max_features=1.0),
    ],
    ids=["forest", "patches", "bagging"],
)
def test_frames_and_sparse_matrices_give_what_arrays_give(wine, ensemble):
    X, X_test, y, _ = wine
    names = np.array(["red", "rosé", "white"])[y]
    plain = fused_by(clone(ensemble).fit(X, names), "mean", X, names)
    columns = [f"c{i}" for i in range(X.shape[1])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in (
            lambda rows: pd.DataFrame(rows, columns=columns, index=np.arange(len(rows)) + 7),
            sparse.csr_array,
            sparse.csc_matrix,
        ):
            fused = fused_by(clone(ensemble).fit(kind(X), names), "mean", kind(X), names)
            assert_array_equal(fused.predict_proba(kind(X_test)), plain.predict_proba(X_test))
    frame = pd.DataFrame(X, columns=columns)
    ensemble = clone(ensemble).fit(frame, names)
    fused = fused_by(ensemble, "mean", frame, names)
    for said in (fused.predict, members_of(ensemble)[0][1].predict):
        with pytest.raises(ValueError, match="feature names"):
            said(frame[columns[::-1]])


def test_frames_with_categories_and_missing_values():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=200), "colour": rng.choice(["red", "blue"], 200)})
    y = (X["size"] > 0) ^ (X["colour"] == "red")
    X.loc[::7, "size"] = np.nan
    X["colour"] = X["colour"].astype("category")
    boosting = HistGradientBoostingClassifier(max_iter=20, categorical_features="from_dtype")
    assert fused_by(boosting.fit(X, y), "mean", X, y).score(X, y) > 0.85


def test_copies_keep_the_members_and_files_hold_them(wine, forest, tmp_path):
    X, X_test, y, y_test = wine
    fused = fused_by(forest, Majority("log_odds"), X, y, unseen=out_of_bag(forest, len(X)))
    for again in (
        pickle.loads(pickle.dumps(fused)),
        clone(fused).fit(X, y, unseen=out_of_bag(forest, len(X))),
    ):
        assert_array_equal(again.predict_proba(X_test), fused.predict_proba(X_test))
    assert clone(fused).fit(X_test, y_test).score(X_test, y_test) > 0.9
    boosting = clone(STAGED[1]).fit(X, y)
    words = np.array(["red", "rosé", "white"])[y]
    bags = patches().fit(X, words), BaggingRegressor(Ridge(), 4, max_features=3).fit(X, y)
    for model in (
        fused,
        fused_by(boosting, LastStage(), X, y),
        fused_by(bags[0], "mean", X, words),
        fused_by(bags[1], WeightedMedian(), X, y),
    ):
        covey.save(model, tmp_path / "model.covey")
        again = covey.load(tmp_path / "model.covey")
        assert_array_equal(predicted(again, X_test), predicted(model, X_test))
        assert_array_equal(again.explain_fusion(X_test), model.explain_fusion(X_test))


@pytest.mark.parametrize("check", FUSED_CLASSIFIER_CHECKS, ids=lambda check: check.__name__)
def test_fused_trees_keep_the_contract(check):
    class Grown(FusionClassifier):
        """A forest is grown on whatever table the check has."""

        def fit(self, X, y, *args, **how):
            trees = RandomForestClassifier(ENOUGH, random_state=0).fit(X, y)
            self.estimators = members_of(trees)
            return super().fit(X, y, *args, **how)

    check(Grown([GaussianNB()], "majority", prefit=True))


def test_members_go_straight_into_the_measures(wine, forest):
    _, X_test, _, y_test = wine
    fused = fused_by(forest, "mean", X_test, y_test)
    P = fused._predictions(X_test)
    right = P.labels == y_test[:, None]
    pairs = [
        np.mean(~right[:, i] & ~right[:, j]) for i in range(ENOUGH) for j in range(i + 1, ENOUGH)
    ]
    found = diversity(fused.member_probabilities(X_test), y_test)
    assert found["double_fault"] == pytest.approx(np.mean(pairs))
    bound = vote_bound(P, y_test)
    assert bound.gibbs == pytest.approx(1 - right.mean())
    # Four times the chance that two trees, drawn with replacement, are both wrong.
    assert bound.value == pytest.approx(4 * ((~right).mean(axis=1) ** 2).mean())
    assert fused.oracle_score(X_test, y_test) == right.any(axis=1).mean()


# -- out of bag ----------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "ensemble",
    [
        RandomForestClassifier(ENOUGH, oob_score=True, random_state=0),
        ExtraTreesClassifier(30, bootstrap=True, oob_score=True, random_state=0),
        patches(n_estimators=30, oob_score=True),
        patches(estimator=DecisionTreeClassifier(), n_estimators=30, oob_score=True),
        RandomForestRegressor(30, oob_score=True, random_state=0),
        BaggingRegressor(Ridge(), 30, max_features=0.6, oob_score=True, random_state=0),
    ],
    ids=lambda ensemble: name_of(getattr(ensemble, "estimator", ensemble)),
)
def test_the_mean_out_of_bag_is_what_scikit_learn_finds(wine, diabetes, ensemble, weighted):
    X, _, y, _ = wine if is_classifier(ensemble) else diabetes
    weight = np.where(np.arange(len(y)) % 3, 1.0, 2.0) if weighted else None
    ensemble = clone(ensemble).fit(X, y, sample_weight=weight)
    unseen = out_of_bag(ensemble, len(X))
    for k, bag in enumerate(ensemble.estimators_samples_):
        assert_array_equal(unseen[:, k], ~np.isin(np.arange(len(y)), bag))
    fused = fused_by(ensemble, "mean", X, y)
    decided = Mean().fuse(fused._predictions(X).where(unseen))
    theirs = getattr(ensemble, "oob_decision_function_", getattr(ensemble, "oob_prediction_", 0))
    assert_allclose(decided, theirs, rtol=1e-12, atol=1e-12)


def test_pasting_leaves_rows_out_too(wine):
    X, _, y, _ = wine
    ensemble = patches(bootstrap=False, max_samples=0.5).fit(X, y)
    assert (~out_of_bag(ensemble, len(X))).sum(axis=0).tolist() == [len(X) // 2] * 10
    for all_seen in (patches(bootstrap=False), ExtraTreesClassifier(3)):
        assert not out_of_bag(all_seen.fit(X, y), len(X)).any()


LEARN = [name for name, make in FUSERS.items() if make().learns]


def test_the_learning_rules_are_the_known_ones():
    expected = {"gate", "linear_stacking", "greedy_selection", "single_best", "meta_des", "knop"}
    assert expected | {"des_knn", "des_p", "knora_e", "knora_u", "lca", "ola"} <= set(LEARN)


@pytest.mark.parametrize("rule", [*LEARN, Mean("accuracy"), Majority("log_odds")], ids=str)
def test_every_learning_rule_learns_out_of_bag(wine, forest, rule):
    X, X_test, y, _ = wine
    unseen = out_of_bag(forest, len(X))
    fused = fused_by(forest, rule, X, y, unseen=unseen)
    # By hand: what each rule was given.
    said = np.stack([tree.predict_proba(X) for tree in forest.estimators_], axis=1)
    if rule in ("gate", "knop", "meta_des"):
        for row in range(len(y)):
            said[row, ~unseen[row]] = said[row, unseen[row]].mean(axis=0)
        P = Predictions(said)
    else:
        P = Predictions(said, available=unseen)
    fuser = make_fuser(rule)
    now = fused._predictions(X_test)
    if fuser.kinds[0] == "label":
        P = Predictions(P.labels, P.classes, P.names, available=unseen)
    fuser.fit(P, y, X)
    assert_allclose(fused.predict_proba(X_test), fuser.fuse(now, X_test), atol=1e-6)


def test_what_members_say_of_their_own_bags_teaches_nothing(wine, forest):
    """Deep trees know their bags by heart; a rule that read that would see no error."""
    X, _, y, _ = wine
    unseen = out_of_bag(forest, len(X))
    right = np.stack([tree.predict(X) == y for tree in forest.estimators_], axis=1)
    assert right[~unseen].mean() > 0.99
    accuracy = (right & unseen).sum(axis=0) / unseen.sum(axis=0)
    assert accuracy.mean() < 0.95
    weights = fused_by(forest, Mean("accuracy"), X, y, unseen=unseen).fuser_.weights_
    assert_allclose(weights, accuracy / accuracy.sum())
    best = fused_by(forest, "single_best", X, y, unseen=unseen)
    assert best.fuser_.best_ == np.argmax(accuracy)
    weight = np.where(y == 0, 1.0, 1e-9)
    weighted = fused_by(forest, Mean("accuracy"), X, y, unseen=unseen, sample_weight=weight)
    of_first = (right & unseen)[y == 0].sum(axis=0) / unseen[y == 0].sum(axis=0)
    assert_allclose(weighted.fuser_.weights_, of_first / of_first.sum(), atol=1e-6)


def test_rules_of_numbers_learn_out_of_bag(diabetes):
    X, X_test, y, _ = diabetes
    forest = RandomForestRegressor(ENOUGH, random_state=0).fit(X, y)
    unseen = out_of_bag(forest, len(X))
    rows = unseen.any(axis=1)
    said = np.stack([tree.predict(X) for tree in forest.estimators_], axis=1)
    P = Predictions(np.where(unseen, said, np.nan), kind="value").rows(rows)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*were seen by every member")
        stacked = fused_by(forest, "linear_stacking", X, y, unseen=unseen)
        gated = fused_by(forest, "gate", X, y, unseen=unseen)
    weights = LinearStacking().fit(P, y[rows]).weights_
    assert_allclose(stacked.fuser_.weights_, weights, atol=1e-8)
    assert_allclose(gated.fuser_.coef_, Gate().fit(P, y[rows], X[rows]).coef_, atol=1e-4)
    importance = gated.explain_fusion(X_test)
    now = gated.member_predictions(X_test)
    assert_allclose((importance * now).sum(axis=1), gated.predict(X_test))


def test_gaps_in_x_are_for_trees_and_not_for_distances(wine):
    X, _, y, _ = wine
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    forest = RandomForestClassifier(ENOUGH, random_state=0).fit(X, y)
    unseen = out_of_bag(forest, len(X))
    fused = fused_by(forest, "greedy_selection", X, y, unseen=unseen)
    said = np.stack([tree.predict_proba(X) for tree in forest.estimators_])
    assert_allclose(
        fused.predict_proba(X), np.einsum("k,knc->nc", fused.fuser_.weights_, said), atol=1e-12
    )
    with pytest.raises(ValueError, match=r"DynamicSelection\('knora_e'\) .* needs finite numbers"):
        fused_by(forest, "knora_e", X, y, unseen=unseen)


# -- imbalanced-learn ----------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{}, {"bootstrap": True}, {"replacement": False}], ids=str)
def test_trees_of_a_balanced_forest_are_members(rare, how):
    imblearn = pytest.importorskip("imblearn.ensemble")
    X, y = rare
    forest = imblearn.BalancedRandomForestClassifier(25, random_state=0, **how).fit(X, y)
    fused = fused_by(forest, "mean", X, y)
    assert_allclose(fused.predict_proba(X), forest.predict_proba(X), atol=1e-14)
    unseen = out_of_bag(forest, len(X))
    for k, sampler in enumerate(forest.samplers_):
        assert_array_equal(unseen[:, k], ~np.isin(np.arange(len(y)), sampler.sample_indices_))


def test_trees_know_nothing_of_rows_outside_their_balanced_bags(rare):
    """Labels that are noise: of rows outside a bag no tree knows more than chance."""
    imblearn = pytest.importorskip("imblearn.ensemble")
    X, _ = rare
    y = np.random.default_rng(1).integers(0, 2, len(X))
    forest = imblearn.BalancedRandomForestClassifier(25, random_state=0).fit(X, y)
    right = np.stack([tree.predict(X) == y for _, tree in members_of(forest)], axis=1)
    unseen = out_of_bag(forest, len(X))
    assert abs(right[unseen].mean() - 0.5) < 0.05
    assert right[~unseen].mean() > 0.95


def test_members_of_balanced_bagging(rare):
    imblearn = pytest.importorskip("imblearn.ensemble")
    X, y = rare
    bagging = imblearn.BalancedBaggingClassifier(n_estimators=10, random_state=0).fit(X, y)
    unseen = out_of_bag(bagging, len(X))
    fused = fused_by(bagging, "mean", X, y)
    assert_allclose(fused.predict_proba(X), bagging.predict_proba(X), atol=1e-14)
    for k, rows in enumerate(bagging.estimators_samples_):
        drawn = np.flatnonzero(~unseen[:, k])
        assert np.isin(drawn, rows).all()
        assert len(drawn) < len(np.unique(rows))
    assert fused_by(bagging, "knora_e", X, y, unseen=unseen).score(X, y) > 0.9


@pytest.mark.filterwarnings("ignore:.*were seen by every member")
def test_samples_that_all_hold_the_rare_class_whole_teach_nothing(rare):
    imblearn = pytest.importorskip("imblearn.ensemble")
    X, y = rare
    easy = imblearn.EasyEnsembleClassifier(4, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="every member has seen every row of the class 'malig"):
        fused_by(easy, "linear_stacking", X, y, unseen=out_of_bag(easy, len(X)))


def test_models_of_balanced_boosting_are_members(rare):
    imblearn = pytest.importorskip("imblearn.ensemble")
    X, y = rare
    boosting = imblearn.RUSBoostClassifier(n_estimators=8, random_state=0).fit(X, y)
    fused = fused_by(boosting, Majority(boosting.estimator_weights_), X, y)
    assert_array_equal(fused.predict(X), boosting.predict(X))


# -- what is refused -----------------------------------------------------------------------------


def test_what_has_no_members_is_refused(wine):
    X, _, y, _ = wine
    with pytest.raises(TypeError, match="ensemble must be one of RandomForestClassifier, .* got"):
        members_of(GaussianNB())
    with pytest.raises(TypeError, match="ensemble must be one of RandomForestClassifier"):
        members_of(RandomForestClassifier)
    with pytest.raises(TypeError, match="ensemble must be one of RandomForestClassifier"):
        out_of_bag(clone(ADABOOST).fit(X, y), len(X))
    with pytest.raises(NotFittedError):
        members_of(RandomForestClassifier())
    both = RandomForestClassifier(3).fit(X, np.stack([y, y], axis=1))
    with pytest.raises(ValueError, match="fitted to 2 outputs"):
        members_of(both)


@pytest.mark.parametrize(
    "ensemble",
    [
        RandomForestClassifier(3),
        ExtraTreesClassifier(3),
        BaggingClassifier(n_estimators=3),
        BaggingClassifier(n_estimators=3, bootstrap=False),
        BaggingClassifier(n_estimators=3, max_samples=0.5),
    ],
)
def test_other_rows_than_those_it_was_fitted_on_are_refused(wine, ensemble):
    X, _, y, _ = wine
    ensemble = clone(ensemble).fit(X, y)
    for n_rows in (1, 80, 178):
        with pytest.raises(ValueError, match=f"n_samples={n_rows} is not the number of rows"):
            out_of_bag(ensemble, n_rows)


def test_an_ensemble_grown_in_steps_has_no_bags(wine):
    X, _, y, _ = wine
    ensemble = BaggingClassifier(GaussianNB(), 3, warm_start=True, random_state=0).fit(X, y)
    ensemble.set_params(n_estimators=5).fit(X, y)
    with pytest.raises(ValueError, match="knows the rows of 2 of its 5 members"):
        out_of_bag(ensemble, len(X))
    assert len(members_of(ensemble)) == 5


def test_unseen_that_does_not_fit_is_refused(wine, forest):
    X, _, y, _ = wine
    unseen = out_of_bag(forest, len(X))
    with pytest.raises(ValueError, match="available must hold one bool for each of the 89 samp"):
        fused_by(forest, "knora_e", X, y, unseen=unseen[:, 1:])
    with (
        pytest.warns(UserWarning, match="89 of 89 rows were seen by every member"),
        pytest.raises(
            ValueError,
            match=r"DynamicSelection\('knora_e'\) learns, but every member",
        ),
    ):
        fused_by(forest, "knora_e", X, y, unseen=np.zeros_like(unseen))
    with pytest.raises(ValueError, match="unseen tells .* set prefit=True, or leave unseen out"):
        FusionClassifier([GaussianNB()], "gate").fit(X, y, unseen=unseen[:, :1])
    few = unseen.copy()
    few[:7] = False
    with pytest.warns(UserWarning, match="7 of 89 rows were seen by every member"):
        fused_by(forest, "knora_e", X, y, unseen=few)
