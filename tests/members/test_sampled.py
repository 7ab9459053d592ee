"""Bagging, random subspaces and forests as sources of members."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, Perceptron
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from covey import FusionClassifier
from covey.fusers import (
    FUSERS,
    Gate,
    LinearStacking,
    Majority,
    Mean,
    Predictions,
    make_fuser,
)
from covey.inspection import diversity, vote_bound
from covey.members._fused import FusedClassifier
from covey.members._sampled import (
    SampledFusionClassifier,
    SampledFusionRegressor,
    from_bagging,
    from_forest,
)
from covey.members._sampled_sources import SampledClassifiers
from covey.utils.estimator_checks import FUSED_CLASSIFIER_CHECKS

# Enough members that each row is outside of some bag.
ENOUGH = 20


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X[::2], X[1::2], y[::2], y[1::2]


@pytest.fixture(scope="module")
def trees(wine):
    X, _, y, _ = wine
    return from_forest(RandomForestClassifier(ENOUGH, random_state=0), X, y)


def subspaces(**how):
    return BaggingClassifier(
        **{"estimator": GaussianNB(), "n_estimators": 10, "max_features": 0.5, **how},
        random_state=0,
    )


# -- what the ensemble itself says -------------------------------------------------------------


@pytest.mark.parametrize(
    "ensemble",
    [
        subspaces(bootstrap=False),
        subspaces(),
        subspaces(max_samples=0.5, bootstrap=False),
        subspaces(bootstrap_features=True),
        subspaces(estimator=KNeighborsClassifier(3), max_samples=8),
        subspaces(estimator=Perceptron()),
        subspaces(estimator=DecisionTreeClassifier(max_depth=2), n_estimators=7),
    ],
    ids=["subspaces", "patches", "pasting", "features twice", "few classes", "votes", "trees"],
)
def test_mean_of_bagging_is_the_ensembles_own_to_the_bit(wine, ensemble):
    X, X_test, y, _ = wine
    fused = from_bagging(ensemble, X, y).fuse("mean")
    theirs = clone(ensemble).fit(X, y)
    assert_array_equal(fused.predict_proba(X_test), theirs.predict_proba(X_test))
    assert_array_equal(fused.predict(X_test), theirs.predict(X_test))


@pytest.mark.parametrize("make", [RandomForestClassifier, ExtraTreesClassifier])
def test_mean_of_a_forest_is_the_forests_own_to_the_bit(wine, make):
    X, X_test, y, _ = wine
    forest = make(11, max_depth=3, random_state=0).fit(X, y)
    fused = from_forest(forest, X, y).fuse("mean")
    assert_array_equal(fused.predict_proba(X_test), forest.predict_proba(X_test))
    assert_allclose(np.exp(fused.predict_log_proba(X_test)), forest.predict_proba(X_test))
    assert fused.ensemble_ is forest


def test_majority_is_the_count_of_votes_by_hand(wine, trees):
    _, X_test, _, _ = wine
    fused = trees.fuse("majority").predict_proba(X_test)
    for row, shares in zip(X_test, fused, strict=True):
        votes = [tree.predict(row[None])[0] for tree in trees.ensemble.estimators_]
        assert_allclose(shares, [votes.count(label) / ENOUGH for label in (0, 1, 2)])


# -- out of bag --------------------------------------------------------------------------------


def literal_out_of_bag(ensemble, X, votes=False):
    """Row by row: the mean of the members whose bag lacks it."""
    bags = [set(bag.tolist()) for bag in ensemble.estimators_samples_]
    features = getattr(ensemble, "estimators_features_", [slice(None)] * len(bags))
    n_classes = len(ensemble.classes_)
    said = []
    for member, mine in zip(ensemble.estimators_, features, strict=True):
        one = np.zeros((len(X), n_classes))
        if votes:
            one = np.eye(n_classes)[member.predict(X[:, mine]).astype(int)]
        else:
            one[:, member.classes_.astype(int)] = member.predict_proba(X[:, mine])
        said.append(one)
    decision = []
    for row in range(len(X)):
        heard = [said[k][row] for k in range(len(bags)) if row not in bags[k]]
        decision.append(np.mean(heard, axis=0) if heard else np.full(n_classes, np.nan))
    return np.array(decision)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("make", "ensemble"),
    [
        (from_forest, RandomForestClassifier(ENOUGH, oob_score=True, random_state=0)),
        (
            from_forest,
            ExtraTreesClassifier(30, bootstrap=True, oob_score=True, random_state=0),
        ),
        (from_bagging, subspaces(n_estimators=30, oob_score=True)),
        (
            from_bagging,
            subspaces(estimator=DecisionTreeClassifier(), n_estimators=30, oob_score=True),
        ),
    ],
    ids=["forest", "extra trees", "bayes", "bagged trees"],
)
def test_out_of_bag_is_what_scikit_learn_finds(wine, make, ensemble, weighted):
    X, _, y, _ = wine
    weight = np.where(np.arange(len(y)) % 3, 1.0, 2.0) if weighted else None
    members = make(ensemble, X, y, sample_weight=weight)
    theirs = clone(ensemble).fit(X, y, sample_weight=weight)
    assert_allclose(
        members.out_of_bag_decision(), theirs.oob_decision_function_, rtol=0, atol=1e-12
    )
    assert members.out_of_bag_score() == pytest.approx(theirs.oob_score_, abs=1e-12)
    assert_allclose(members.out_of_bag_decision(), literal_out_of_bag(theirs, X), atol=1e-12)
    votes = literal_out_of_bag(theirs, X, votes=True)
    assert_allclose(members.out_of_bag_decision(by="majority"), votes, atol=1e-12)
    assert members.out_of_bag_score(by="majority") == np.mean(votes.argmax(axis=1) == y)


def test_out_of_bag_predictions_say_where_members_speak(wine, trees):
    X, _, y, _ = wine
    P = trees.out_of_bag_predictions()
    assert isinstance(P, Predictions)
    for k, bag in enumerate(trees.bootstrap_rows):
        assert_array_equal(P.available[:, k], ~np.isin(np.arange(len(y)), bag))
        outside = np.flatnonzero(trees.out_of_bag[:, k])
        assert_array_equal(
            P.values[outside, k], trees.ensemble.estimators_[k].predict_proba(X[outside])
        )


def test_out_of_bag_score_weighs_rows(wine, trees):
    _, _, y, _ = wine
    weight = np.linspace(0, 1, len(y))
    decided = trees.out_of_bag_decision().argmax(axis=1)
    expected = accuracy_score(y, decided, sample_weight=weight)
    assert trees.out_of_bag_score(sample_weight=weight) == pytest.approx(expected)


def test_rows_in_every_bag_are_marked_and_left_out(wine):
    X, _, y, _ = wine
    members = from_bagging(subspaces(n_estimators=2), X, y)
    silent = ~members.out_of_bag.any(axis=1)
    assert silent.any()
    with pytest.warns(UserWarning, match=f"{silent.sum()} of 89 rows are in every member's bag"):
        decision = members.out_of_bag_decision()
    assert_array_equal(np.isnan(decision).all(axis=1), silent)
    assert_array_equal(np.isnan(decision).any(axis=1), silent)
    with pytest.warns(UserWarning, match="left out of the score"):
        score = members.out_of_bag_score()
    assert score == np.mean(decision[~silent].argmax(axis=1) == y[~silent])
    with pytest.warns(UserWarning, match="teach the fuser nothing"):
        assert members.fuse(Mean("accuracy")).fuser_.weights_.shape == (2,)


def test_pasting_leaves_rows_out_too(wine):
    X, _, y, _ = wine
    ensemble = subspaces(bootstrap=False, max_samples=0.5, n_estimators=30)
    members = from_bagging(ensemble, X, y)
    assert_allclose(
        members.out_of_bag_decision(), literal_out_of_bag(clone(ensemble).fit(X, y), X)
    )


# -- regressors --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "ensemble"),
    [
        (from_forest, RandomForestRegressor(30, oob_score=True, random_state=0)),
        (
            from_bagging,
            BaggingRegressor(
                LinearRegression(), 30, max_features=0.6, oob_score=True, random_state=0
            ),
        ),
    ],
)
def test_out_of_bag_of_regressors(make, ensemble):
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:150], y[:150]
    members = make(ensemble, X, y)
    theirs = clone(ensemble).fit(X, y)
    assert_allclose(members.out_of_bag_decision(), theirs.oob_prediction_, rtol=1e-12)
    assert members.out_of_bag_score() == pytest.approx(theirs.oob_score_, abs=1e-12)
    features = getattr(theirs, "estimators_features_", [slice(None)] * 30)
    said = [m.predict(X[:, f]) for m, f in zip(theirs.estimators_, features, strict=True)]
    said = np.stack(said, axis=1)
    P = members.predictions(X)
    assert P.kind == "value"
    assert_allclose(P.values[:, :, 0], said, rtol=1e-12)
    medians = np.nanmedian(np.where(members.out_of_bag, said, np.nan), axis=1)
    assert_allclose(members.out_of_bag_decision(by="median"), medians, rtol=1e-12)
    assert members.out_of_bag_score(by="median") == pytest.approx(r2_score(y, medians))
    assert_allclose(
        np.stack([member.predict(X) for member in members.estimators], axis=1), said, rtol=1e-12
    )
    assert_allclose(members.fuse("mean").predict(X), theirs.predict(X), rtol=1e-12)
    assert_allclose(members.fuse("median").predict(X), np.median(said, axis=1), rtol=1e-12)
    stacked = members.fuse("linear_stacking")
    outside = np.where(members.out_of_bag, said, np.nan)
    by_hand = LinearStacking().fit(Predictions(outside, kind="value"), y)
    assert_allclose(stacked.fuser_.weights_, by_hand.weights_, atol=1e-8)
    assert_allclose(stacked.predict(X), said @ by_hand.weights_, rtol=1e-6)
    with pytest.raises(ValueError, match="fuses what classifiers predict"):
        members.fuse("majority")


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X[:200], X[200:], y[:200], y[200:]


@pytest.mark.parametrize(
    ("make", "ensemble"),
    [
        (from_forest, RandomForestRegressor(13, random_state=0)),
        (from_forest, ExtraTreesRegressor(13, random_state=0)),
        (from_bagging, BaggingRegressor(DecisionTreeRegressor(), 13, random_state=0)),
        (from_bagging, BaggingRegressor(LinearRegression(), 13, max_features=4, random_state=0)),
    ],
    ids=["forest", "extra trees", "bagging", "patches"],
)
def test_mean_of_regressors_is_the_ensembles_own_to_the_bit(diabetes, make, ensemble):
    X, X_test, y, _ = diabetes
    theirs = clone(ensemble).fit(X, y).predict(X_test)
    assert_array_equal(make(ensemble, X, y).fuse("mean").predict(X_test), theirs)
    assert_array_equal(SampledFusionRegressor(ensemble).fit(X, y).predict(X_test), theirs)


@pytest.mark.filterwarnings("ignore:.*in every member's bag")
def test_a_fused_regressor_is_grown_anew_on_the_rows_of_a_fold(diabetes):
    X, X_test, y, y_test = diabetes
    bagging = BaggingRegressor(DecisionTreeRegressor(), ENOUGH, random_state=0)
    fused = from_bagging(bagging, X, y, random_state=0).fuse("linear_stacking")
    assert isinstance(fused, SampledFusionRegressor)
    again = clone(fused).fit(X_test, y_test)
    direct = from_bagging(bagging, X_test, y_test, random_state=0).fuse("linear_stacking")
    assert_array_equal(again.predict(X), direct.predict(X))
    folds = list(KFold(2).split(X))
    expected = [
        from_bagging(bagging, X[train], y[train], random_state=0)
        .fuse("linear_stacking")
        .score(X[test], y[test])
        for train, test in folds
    ]
    assert_array_equal(cross_val_score(fused, X, y, cv=folds), expected)


@pytest.mark.parametrize(
    ("make", "ensemble"),
    [
        (from_forest, ExtraTreesRegressor(8, random_state=0)),
        (
            from_bagging,
            BaggingRegressor(LinearRegression(), 8, max_features=4, bootstrap=False),
        ),
    ],
    ids=["extra trees", "subspaces"],
)
@pytest.mark.parametrize("rule", ["linear_stacking", "gate", Mean("inverse_error")], ids=str)
def test_without_bags_regressors_are_taught_by_rows_held_out(diabetes, make, ensemble, rule):
    X, X_test, y, _ = diabetes
    seeds = {"validation_fraction": 0.3, "random_state": 3}
    members = make(ensemble, X, y, **seeds)
    fused = members.fuse(rule)
    others, held_out = members._holding_out.split(None, None, len(y))
    assert len(held_out) == round(0.3 * len(y))
    theirs = members._unfitted.fit(X[others], y[others])
    fuser = make_fuser(rule)
    P = make(theirs, X[others], y[others]).predictions(X[held_out])
    now = make(theirs, X[others], y[others]).predictions(X_test)
    fuser.fit(P, y[held_out], X[held_out])
    assert_allclose(fused.predict(X_test), fuser.fuse(now, X_test), rtol=1e-12)
    alone = SampledFusionRegressor(ensemble, rule, **seeds).fit(X, y)
    assert_array_equal(alone.predict(X_test), fused.predict(X_test))
    fitted = make(clone(ensemble).fit(X, y), X, y)
    with pytest.raises(ValueError, match="use FusionRegressor"):
        fitted.fuse(rule)


@pytest.mark.filterwarnings("ignore:.*in every member's bag")
def test_a_gate_over_regressors_learns_out_of_bag(diabetes):
    X, X_test, y, _ = diabetes
    members = from_forest(RandomForestRegressor(ENOUGH, random_state=0), X, y)
    heard = members.out_of_bag.any(axis=1)
    P = members.out_of_bag_predictions().rows(heard)
    by_hand = Gate().fit(P, y[heard], X[heard])
    fused = members.fuse("gate")
    assert_allclose(fused.fuser_.coef_, by_hand.coef_, atol=1e-4)
    now = members.predictions(X_test)
    assert_allclose(fused.predict(X_test), by_hand.fuse(now, X_test), rtol=1e-4)
    importance = fused.explain_fusion(X_test, as_frame=True)
    assert list(importance.columns) == members.names
    assert_allclose((importance * now.values[:, :, 0]).sum(axis=1), fused.predict(X_test))


def test_weights_of_rows_reach_the_fuser_of_regressors(diabetes):
    X, _, y, _ = diabetes
    weight = np.where(np.arange(len(y)) < 100, 1.0, 0.0)
    bagging = BaggingRegressor(LinearRegression(), ENOUGH, max_features=3, random_state=0)
    bagging.fit(X, y)
    fused = from_bagging(bagging, X, y, sample_weight=weight).fuse("linear_stacking")
    P = from_bagging(bagging, X, y).out_of_bag_predictions().rows(np.arange(100))
    assert_allclose(fused.fuser_.weights_, LinearStacking().fit(P, y[:100]).weights_, atol=1e-8)


# -- members -----------------------------------------------------------------------------------


def test_members_look_only_at_their_columns(wine):
    X, X_test, y, _ = wine
    members = from_bagging(subspaces(bootstrap_features=True), X, y)
    assert members.feature_mask.shape == (10, X.shape[1])
    rng = np.random.default_rng(0)
    for member, mask, features in zip(
        members.estimators,
        members.feature_mask,
        members.ensemble.estimators_features_,
        strict=True,
    ):
        assert_array_equal(np.flatnonzero(mask), np.unique(features))
        other = np.where(mask, X_test, rng.normal(size=X_test.shape))
        assert_array_equal(member.predict_proba(X_test), member.predict_proba(other))


def test_trees_split_on_the_columns_of_their_mask(wine, trees):
    _, X_test, _, _ = wine
    assert not trees.feature_mask.all()
    rng = np.random.default_rng(0)
    for k, tree in enumerate(trees.ensemble.estimators_):
        used = {int(f) for f in tree.tree_.feature if f >= 0}
        assert set(np.flatnonzero(trees.feature_mask[k])) == used
        other = np.where(trees.feature_mask[k], X_test, rng.normal(size=X_test.shape))
        assert_array_equal(trees.estimators[k].predict(X_test), trees.estimators[k].predict(other))


def test_members_serve_in_a_fusion_classifier(wine):
    X, X_test, y, y_test = wine
    names = np.array(["red", "rosé", "white"])
    forest = RandomForestClassifier(5, random_state=0)
    members = from_forest(forest, X, names[y])
    fused = FusionClassifier(members.estimators, prefit=True).fit(X_test, names[y_test])
    expected = members.ensemble.predict_proba(X_test)
    assert_allclose(fused.predict_proba(X_test), expected, atol=1e-12)
    # Copies have the same fitted trees, and fit none of their own.
    for again in (clone(fused), FusionClassifier(members.estimators)):
        again.fit(X_test[::7], names[y_test[::7]])
        assert_allclose(again.predict_proba(X_test), expected, atol=1e-12)


def test_members_that_saw_fewer_classes_are_aligned():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    ensemble = BaggingClassifier(KNeighborsClassifier(1), 40, max_samples=3, random_state=0)
    members = from_bagging(ensemble, X, names)
    P = members.predictions(X)
    known = np.array([np.isin(["a", "b", "c"], member.classes_) for member in members.estimators])
    assert not known.all()
    assert_array_equal(P.seen, known)
    assert not P.values[:, ~known].any()
    assert_array_equal(members.out_of_bag_predictions().seen, known)
    assert_allclose(members.fuse("product").predict_proba(X).sum(axis=1), 1)


# -- tables of any make ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "ensemble"),
    [
        (from_forest, RandomForestClassifier(ENOUGH, random_state=0)),
        (from_bagging, subspaces(n_estimators=30, estimator=DecisionTreeClassifier())),
    ],
)
def test_frames_and_sparse_matrices_give_what_arrays_give(wine, make, ensemble):
    X, X_test, y, _ = wine
    names = np.array(["red", "rosé", "white"])[y]
    plain = make(ensemble, X, names)
    assert plain.fuse("knora_e").predict(X_test).dtype.kind == "U"
    columns = [f"c{i}" for i in range(X.shape[1])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in (
            lambda rows: pd.DataFrame(rows, columns=columns, index=np.arange(len(rows)) + 7),
            sparse.csr_array,
            sparse.csc_matrix,
        ):
            other = make(ensemble, kind(X), names)
            assert_array_equal(other.out_of_bag_decision(), plain.out_of_bag_decision())
            assert_array_equal(
                other.predictions(kind(X_test)).values, plain.predictions(X_test).values
            )
            for rule in ("mean", "knora_e"):
                fused = other.fuse(rule)
                assert_array_equal(
                    fused.predict_proba(kind(X_test)), plain.fuse(rule).predict_proba(X_test)
                )
            member = other.estimators[0]
            assert_array_equal(member.predict(kind(X_test)), plain.estimators[0].predict(X_test))
    frame = pd.DataFrame(X, columns=columns)
    fused = make(ensemble, frame, names).fuse("mean")
    assert list(fused.feature_names_in_) == columns
    assert list(fused.explain_fusion(frame[:3], as_frame=True).columns) == plain.names
    shuffled = frame[columns[::-1]]
    for said in (fused.predict, make(ensemble, frame, names).estimators[0].predict):
        with pytest.raises(ValueError, match="feature names"):
            said(shuffled)


# -- fusers that learn -------------------------------------------------------------------------

LEARN = [name for name, make in FUSERS.items() if make().learns]
EVERY_LEARNER = [*LEARN, Mean("accuracy"), Majority("log_odds")]


def test_the_learning_rules_are_the_known_ones():
    expected = {"gate", "linear_stacking", "greedy_selection", "single_best", "meta_des", "knop"}
    assert expected | {"des_knn", "des_p", "knora_e", "knora_u", "lca", "ola"} <= set(LEARN)


@pytest.mark.parametrize("rule", EVERY_LEARNER, ids=str)
def test_every_learning_rule_learns_out_of_bag(wine, trees, rule):
    X, X_test, y, _ = wine
    fused = trees.fuse(rule)
    assert isinstance(fused, FusedClassifier)
    assert fused.ensemble_ is trees.ensemble  # nothing was grown anew
    # By hand: what each rule was given.
    P = trees.out_of_bag_predictions()
    spoken = P.available
    if rule in ("gate", "knop", "meta_des"):
        values = np.array(P.values)
        for row in range(len(y)):
            values[row, ~spoken[row]] = P.values[row, spoken[row]].mean(axis=0)
        P = Predictions(values, P.classes, P.names)
    fuser = make_fuser(rule)
    if fuser.kinds[0] == "label":
        P = Predictions(P.labels, P.classes, P.names, available=spoken)
    fuser.fit(P, y, X)
    now = trees.predictions(X_test)
    if fuser.kinds[0] == "label":
        now = Predictions(now.labels, now.classes, now.names)
    assert_allclose(fused.predict_proba(X_test), fuser.fuse(now, X_test), atol=1e-6)


def test_what_members_say_of_their_own_bags_teaches_nothing(wine, trees):
    """Deep trees know their bags by heart; a rule that listened there would see no error."""
    X, _, y, _ = wine
    wrong = (trees.predictions(X).labels != y[:, None]) & ~trees.out_of_bag
    assert wrong.mean() < 0.01
    outside = trees.out_of_bag_predictions().labels != y[:, None]
    errors = (outside & trees.out_of_bag).sum(axis=0) / trees.out_of_bag.sum(axis=0)
    assert errors.mean() > 0.05
    accuracy = 1 - errors
    weights = trees.fuse(Mean("accuracy")).fuser_.weights_
    assert_allclose(weights, accuracy / accuracy.sum())
    assert trees.fuse("single_best").fuser_.best_ == np.argmax(accuracy)


@pytest.mark.parametrize(
    ("make", "ensemble"),
    [
        (from_forest, ExtraTreesClassifier(8, random_state=0)),
        (from_bagging, subspaces(bootstrap=False)),
    ],
    ids=["extra trees", "subspaces"],
)
@pytest.mark.parametrize("rule", ["knora_e", "linear_stacking", Mean("accuracy")], ids=str)
def test_without_bags_a_rule_learns_from_rows_held_out(wine, make, ensemble, rule):
    X, X_test, y, _ = wine
    weight = np.linspace(0.5, 1.5, len(y))
    seeds = {"validation_fraction": 0.3, "random_state": 3}
    members = make(ensemble, X, y, **seeds)
    assert not members.out_of_bag.any()
    fused = members.fuse(rule)
    others, held_out = members._holding_out.split(y, None, len(y))
    assert len(held_out) == sum(round(0.3 * count) for count in np.bincount(y))
    theirs = clone(ensemble).fit(X[others], y[others])
    assert_array_equal(fused.ensemble_.predict_proba(X_test), theirs.predict_proba(X_test))
    fuser = make_fuser(rule)
    P = make(theirs, X[others], y[others]).predictions(X[held_out])
    now = make(theirs, X[others], y[others]).predictions(X_test)
    fuser.fit(P, y[held_out], X[held_out])
    assert_allclose(fused.predict_proba(X_test), fuser.fuse(now, X_test), atol=1e-12)
    # The estimator does the same, and fits once.
    alone = SampledFusionClassifier(ensemble, rule, **seeds).fit(X, y)
    assert_array_equal(alone.predict_proba(X_test), fused.predict_proba(X_test))
    assert_array_equal(clone(fused).fit(X, y).predict_proba(X_test), fused.predict_proba(X_test))
    weighted = make(ensemble, X, y, sample_weight=weight, **seeds).fuse(rule)
    assert_allclose(weighted.predict_proba(X_test).sum(axis=1), 1)


def test_weights_reach_the_fuser(wine):
    X, _, y, _ = wine
    weight = np.where(y == 0, 1.0, 1e-9)
    forest = RandomForestClassifier(ENOUGH, max_depth=1, random_state=0).fit(X, y)
    fused = from_forest(forest, X, y, sample_weight=weight).fuse(Mean("accuracy"))
    members = from_forest(forest, X, y)
    right = members.out_of_bag_predictions().labels[y == 0] == 0
    outside = members.out_of_bag[y == 0]
    accuracy = (right & outside).sum(axis=0) / outside.sum(axis=0)
    assert_allclose(fused.fuser_.weights_, accuracy / accuracy.sum(), atol=1e-6)


# -- measures ----------------------------------------------------------------------------------


def test_members_go_straight_into_the_measures(wine, trees):
    _, X_test, _, y_test = wine
    P = trees.predictions(X_test)
    found = diversity(P, y_test)
    right = P.labels == y_test[:, None]
    pairs = [
        np.mean(~right[:, i] & ~right[:, j]) for i in range(ENOUGH) for j in range(i + 1, ENOUGH)
    ]
    assert found["double_fault"] == pytest.approx(np.mean(pairs))
    bound = vote_bound(P, y_test)
    assert bound.gibbs == pytest.approx(1 - right.mean())
    # Four times the chance that two trees, drawn with replacement, are both wrong.
    assert bound.value == pytest.approx(4 * ((~right).mean(axis=1) ** 2).mean())
    fused = trees.fuse("mean")
    assert fused.oracle_score(X_test, y_test) == right.any(axis=1).mean()
    assert fused.oracle_score(X_test, y_test) >= fused.score(X_test, y_test)
    with pytest.raises(ValueError, match="P lacks the prediction of 'tree"):
        diversity(trees.out_of_bag_predictions())


# -- the estimator -----------------------------------------------------------------------------

_SAMPLES = "rows are drawn by position, so a weight of 2 and a row given twice are not the same"


def expected_failures(estimator):
    return {
        "check_sample_weight_equivalence_on_dense_data": _SAMPLES,
        "check_sample_weight_equivalence_on_sparse_data": _SAMPLES,
    }


@parametrize_with_checks(
    [
        SampledFusionClassifier(RandomForestClassifier(8)),
        SampledFusionClassifier(
            BaggingClassifier(GaussianNB(), 8), Mean("accuracy"), validation_fraction=0.3
        ),
        SampledFusionClassifier(ExtraTreesClassifier(5), "knora_e"),
        SampledFusionRegressor(RandomForestRegressor(8)),
        SampledFusionRegressor(BaggingRegressor(LinearRegression(), 8), "linear_stacking"),
        SampledFusionRegressor(ExtraTreesRegressor(5), "gate"),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learns_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*in every member's bag.*")
        check(estimator)


@pytest.mark.parametrize("check", FUSED_CLASSIFIER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("rule", ["mean", "majority", "greedy_selection"])
def test_our_contract(check, rule):
    check(SampledFusionClassifier(RandomForestClassifier(ENOUGH), rule, random_state=0))


@pytest.mark.parametrize("bootstrap", [True, False])
def test_random_state_decides_everything(wine, bootstrap):
    X, X_test, y, _ = wine
    forest = RandomForestClassifier(ENOUGH, bootstrap=bootstrap)
    once, again, other = (
        from_forest(forest, X, y, random_state=seed).fuse(Mean("log_odds")).predict_proba(X_test)
        for seed in (1, 1, 2)
    )
    assert_array_equal(once, again)
    assert not np.array_equal(once, other)


def test_fused_members_can_be_pickled_and_do_not_carry_the_rows(wine, trees):
    X, X_test, _, _ = wine
    for rule in ("mean", "single_best"):
        fused = trees.fuse(rule)
        again = pickle.loads(pickle.dumps(fused))
        assert_array_equal(again.predict_proba(X_test), fused.predict_proba(X_test))
        assert not any(value is X for value in vars(fused).values())
    again = pickle.loads(pickle.dumps(trees))
    assert_array_equal(again.out_of_bag_decision(), trees.out_of_bag_decision())


# -- what is refused ---------------------------------------------------------------------------


def test_other_ensembles_are_refused(wine):
    X, _, y, _ = wine
    with pytest.raises(TypeError, match="ensemble must be one of BaggingClassifier, BaggingReg"):
        from_bagging(RandomForestClassifier(), X, y)
    with pytest.raises(TypeError, match="ensemble must be one of RandomForestClassifier"):
        from_forest(AdaBoostClassifier(), X, y)
    with pytest.raises(TypeError, match="ensemble must be one of RandomForestClassifier"):
        from_forest(RandomForestClassifier, X, y)
    with pytest.raises(TypeError, match="must grow classifiers, but ExtraTreesRegressor grows"):
        SampledFusionClassifier(ExtraTreesRegressor()).fit(X, y)
    with pytest.raises(TypeError, match="must grow regressors, but ExtraTreesClassifier grows"):
        SampledFusionRegressor(ExtraTreesClassifier()).fit(X, y)
    with pytest.raises(TypeError, match="ensemble must be one of"):
        SampledFusionClassifier(GaussianNB()).fit(X, y)


@pytest.mark.parametrize("fraction", [0, 1, -0.5, 1.5, np.nan])
def test_a_fraction_out_of_range_is_refused_before_anything_is_grown(wine, fraction):
    X, _, y, _ = wine
    forest = RandomForestClassifier(max_depth="deep")  # growing it would complain of this
    with pytest.raises(ValueError, match="validation_fraction"):
        from_forest(forest, X, y, validation_fraction=fraction)
    with pytest.raises(ValueError, match="validation_fraction"):
        SampledFusionClassifier(forest, validation_fraction=fraction).fit(X, y)


@pytest.mark.parametrize(
    ("make", "ensemble"),
    [
        (from_forest, RandomForestClassifier(3)),
        (from_forest, ExtraTreesClassifier(3)),
        (from_bagging, BaggingClassifier(n_estimators=3)),
        (from_bagging, BaggingClassifier(n_estimators=3, bootstrap=False)),
    ],
)
def test_other_rows_than_those_it_was_fitted_on_are_refused(wine, make, ensemble):
    X, _, y, _ = wine
    fitted = clone(ensemble).fit(X, y)
    make(fitted, X, y)
    for rows in (slice(80), slice(1)):
        with pytest.raises(ValueError, match="fitted on 89 rows, but X has|at least 2 classes"):
            make(fitted, X[rows], y[rows])
    with pytest.raises(ValueError, match="fitted on 89 rows, but X has 178"):
        make(fitted, np.vstack([X, X]), np.tile(y, 2))
    with pytest.raises(ValueError, match="features"):
        make(fitted, X[:, 1:], y)
    with pytest.raises(ValueError, match="y holds the label 7"):
        make(fitted, X, np.where(y == 0, 7, y))
    with pytest.raises(ValueError, match="inconsistent numbers"):
        make(fitted, X, y[1:])


def test_of_fewer_draws_too_few_rows_are_noticed(wine):
    X, _, y, _ = wine
    fitted = BaggingClassifier(GaussianNB(), 9, max_samples=0.5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="fitted on 8. or more rows, but X has 80"):
        from_bagging(fitted, X[:80], y[:80])


def test_out_of_bag_rows_without_weight_teach_nothing(wine):
    X, _, y, _ = wine
    weight = np.zeros(len(y))
    weight[[0, -1]] = 1.0
    fused = SampledFusionClassifier(BaggingClassifier(GaussianNB(), 8), "gate", random_state=0)
    with pytest.raises(ValueError, match="out-of-bag rows, but all those of each class have"):
        fused.fit(X, y, weight)


def test_an_ensemble_grown_in_steps_is_refused(wine):
    X, _, y, _ = wine
    ensemble = BaggingClassifier(GaussianNB(), 3, warm_start=True, random_state=0).fit(X, y)
    ensemble.set_params(n_estimators=5).fit(X, y)
    with pytest.raises(ValueError, match="knows the rows of 2 of its 5 members"):
        from_bagging(ensemble, X, y)


def test_a_fitted_ensemble_without_bags_cannot_teach(wine):
    X, _, y, _ = wine
    members = from_forest(ExtraTreesClassifier(3, random_state=0).fit(X, y), X, y)
    with pytest.raises(ValueError, match="DynamicSelection learns, but every member"):
        members.fuse("knora_e")
    for said in (
        members.out_of_bag_predictions,
        members.out_of_bag_decision,
        members.out_of_bag_score,
    ):
        with pytest.raises(ValueError, match="Every member has seen every row"):
            said()
    assert members.fuse("median").score(X, y) == 1


def test_bad_words_are_refused(wine, trees):
    X, _, y, _ = wine
    with pytest.raises(ValueError, match="by must be one of 'mean', 'majority'"):
        trees.out_of_bag_decision(by="median")
    with pytest.raises(ValueError, match="by must be one of 'mean', 'majority'"):
        trees.out_of_bag_score(by="vote")
    with pytest.raises(ValueError, match="fuser must be one of"):
        trees.fuse("magic")
    with pytest.raises(ValueError, match="X has 3 columns, but this member was fitted where"):
        trees.estimators[0].predict(X[:, :3])
    with pytest.raises(ValueError, match="fuses predictions of kind probability"):
        from_bagging(subspaces(estimator=Perceptron()), X, y).fuse("product")
    with pytest.raises(ValueError, match="at least 2 classes"):
        from_forest(RandomForestClassifier(3), X, np.zeros(len(y)))
    both = RandomForestClassifier(3).fit(X, np.stack([y, y], axis=1))
    with pytest.raises(ValueError, match="fitted to 2 outputs"):
        from_forest(both, X, y)
    every = subspaces(bootstrap=False, max_samples=len(y))
    with pytest.raises(
        ValueError, match="max_samples"
    ):  # fewer rows are left when some are held out
        SampledFusionClassifier(every, "knora_e").fit(X, y)
    with pytest.raises(ValueError, match="No class has two rows"):
        SampledFusionClassifier(ExtraTreesClassifier(2), "knora_e").fit(X[:3], [0, 1, 2])
    with pytest.raises(ValueError, match="Of n_samples=1 fewer than two count"):
        SampledFusionRegressor(ExtraTreesRegressor(2), "linear_stacking").fit(X[:1], [1.0])
    with pytest.raises(ValueError, match="fuses what classifiers predict"):
        SampledFusionRegressor(ExtraTreesRegressor(2), "majority").fit(X, y)


def test_gaps_in_x_are_for_trees_and_not_for_distances(wine):
    X, _, y, _ = wine
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    forest = RandomForestClassifier(ENOUGH, random_state=0)
    members = from_forest(forest, X, y)
    theirs = clone(forest).fit(X, y)
    assert_allclose(members.fuse("mean").predict_proba(X), theirs.predict_proba(X), atol=1e-12)
    greedy = make_fuser("greedy_selection").fit(members.out_of_bag_predictions(), y)
    predicted = [tree.predict_proba(X) for tree in theirs.estimators_]
    assert_allclose(
        members.fuse("greedy_selection").predict_proba(X),
        np.einsum("k,knc->nc", greedy.weights_, predicted),
        atol=1e-12,
    )
    with pytest.raises(ValueError, match=r"DynamicSelection\('knora_e'\) .* needs finite numbers"):
        members.fuse("knora_e")
    with pytest.raises(ValueError, match=r"DynamicSelection\('knora_e'\) .* needs finite numbers"):
        SampledFusionClassifier(forest.set_params(max_depth="deep"), "knora_e").fit(X, y)


def test_it_says_what_it_is(trees):
    assert isinstance(trees, SampledClassifiers)
    assert trees.n_members == ENOUGH
    assert repr(trees).startswith(f"SampledClassifiers({ENOUGH} members of RandomForest")
