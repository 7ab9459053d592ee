"""Members of boosting: AdaBoost's models and the stages of gradient boosting."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import Perceptron
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from covey import (
    BoostedFusionClassifier,
    BoostedFusionRegressor,
    FusionClassifier,
    diversity,
    from_boosting,
)
from covey.fusers import LastStage, Majority, WeightedMedian
from covey.utils.estimator_checks import FUSED_CLASSIFIER_CHECKS

CLASSIFIERS = [
    AdaBoostClassifier(n_estimators=12, random_state=0),
    GradientBoostingClassifier(n_estimators=12, random_state=0),
    HistGradientBoostingClassifier(max_iter=12, min_samples_leaf=5, random_state=0),
]
REGRESSORS = [
    AdaBoostRegressor(n_estimators=12, random_state=0),
    GradientBoostingRegressor(n_estimators=12, random_state=0),
    HistGradientBoostingRegressor(max_iter=12, random_state=0),
]
STAGED = [*CLASSIFIERS[1:], *REGRESSORS[1:]]


def name_of(ensemble):
    return type(ensemble).__name__


def rows_for(ensemble):
    load_rows = load_wine if name_of(ensemble).endswith("Classifier") else load_diabetes
    return load_rows(return_X_y=True)


_DRAWS = "scikit-learn's own boosting takes no weight of 2 for a row given twice"


@parametrize_with_checks(
    [
        BoostedFusionClassifier(AdaBoostClassifier(n_estimators=4)),
        BoostedFusionClassifier(GradientBoostingClassifier(n_estimators=4), "majority"),
        BoostedFusionRegressor(AdaBoostRegressor(n_estimators=4)),
        BoostedFusionRegressor(
            GradientBoostingRegressor(n_estimators=4, learning_rate=0.7), "mean", n_stages=2
        ),
        BoostedFusionRegressor(
            GradientBoostingRegressor(n_estimators=4, learning_rate=0.7), "gate"
        ),
    ],
    expected_failed_checks=lambda model: {
        f"check_sample_weight_equivalence_on_{kind}_data": _DRAWS
        for kind in ("dense", "sparse")
        if isinstance(model, BoostedFusionRegressor)
    },
)
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", FUSED_CLASSIFIER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("ensemble", CLASSIFIERS, ids=name_of)
def test_fused_classifier_keeps_the_contract(ensemble, check):
    check(BoostedFusionClassifier(ensemble))
    check(BoostedFusionClassifier(ensemble, "linear_stacking", random_state=0))


# -- as the ensemble itself ----------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ensemble", [*CLASSIFIERS, *REGRESSORS], ids=name_of)
def test_the_default_decides_as_the_ensemble_does(ensemble, weighted):
    X, y = rows_for(ensemble)
    weight = np.linspace(0.5, 2, len(y)) if weighted else None
    plain = clone(ensemble).fit(X, y, sample_weight=weight)
    fused = from_boosting(ensemble, X, y, sample_weight=weight).fuse()
    assert_array_equal(fused.predict(X), plain.predict(X))
    again = from_boosting(plain, X, y, sample_weight=weight)
    assert again.ensemble is plain
    assert_array_equal(again.fuse().predict(X), plain.predict(X))
    # The members are fused so by the rule, not only by the ensemble.
    P = again.predictions(X) if isinstance(fused.fuser_, LastStage | WeightedMedian) else None
    if P is not None and P.kind == "value":
        assert_allclose(fused.fuser_.fuse(P), plain.predict(X))
    elif P is not None:
        assert_allclose(fused.fuser_.fuse(P), plain.predict_proba(X), atol=1e-12)
    else:
        assert isinstance(fused.fuser_, Majority)


@pytest.mark.parametrize("ensemble", [*CLASSIFIERS, *REGRESSORS], ids=name_of)
def test_staged_scores_are_those_of_the_ensemble(ensemble):
    X, y = rows_for(ensemble)
    fused = from_boosting(ensemble, X[::2], y[::2]).fuse()
    staged = fused.ensemble_.staged_predict(X[1::2])
    score = r2_score if hasattr(fused, "member_predictions") else lambda y, p: (p == y).mean()
    expected = [score(y[1::2], predicted) for predicted in staged]
    assert_allclose(fused.staged_score(X[1::2], y[1::2]), expected)
    assert len(expected) == len(fused.estimators_) == 12


def test_labels_may_be_words_and_members_may_only_decide():
    X, y = load_breast_cancer(return_X_y=True)
    y = np.array(["malignant", "benign"])[y]
    ensemble = AdaBoostClassifier(Perceptron(), n_estimators=5, random_state=0)
    members = from_boosting(ensemble, X, y)
    assert members.kind == "label"
    assert_array_equal(members.fuse().predict(X), members.ensemble.predict(X))
    stages = from_boosting(CLASSIFIERS[1], X, y)
    assert list(stages.classes) == ["benign", "malignant"]
    votes = stages.fuse("majority")
    cast = [stage.predict(X[:30]) for stage in stages.estimators]
    shares = (np.stack(cast, axis=1)[:, :, None] == stages.classes).mean(axis=1)
    assert_allclose(votes.predict_proba(X[:30]), shares)
    assert_array_equal(votes.predict(X[:1]), votes.predict(X[:30])[:1])  # a single row


# -- members -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_stages", [None, 1, 5, 100])
@pytest.mark.parametrize("ensemble", STAGED, ids=name_of)
def test_stages_are_members(ensemble, n_stages):
    X, y = rows_for(ensemble)
    members = from_boosting(ensemble, X, y, n_stages=n_stages)
    expected = {None: range(1, 13), 1: [12], 5: [2, 5, 7, 10, 12], 100: range(1, 13)}[n_stages]
    assert_array_equal(members.stages, list(expected))
    assert members.names == [f"stage {stage}" for stage in expected]
    method = "predict_proba" if hasattr(ensemble, "predict_proba") else "predict"
    every = np.stack(list(getattr(members.ensemble, f"staged_{method}")(X)), axis=1)
    every = every[:, members.stages - 1]
    assert_array_equal(members.predictions(X).values.reshape(every.shape), every)
    for k, stage in enumerate(members.estimators):
        assert_array_equal(getattr(stage, method)(X), every[:, k])
        assert stage.fit(X[:5], y[:5]) is clone(stage) is stage


def test_models_of_adaboost_are_members_as_they_are():
    X, y = load_wine(return_X_y=True)
    members = from_boosting(CLASSIFIERS[0], X, y)
    assert all(
        one is other
        for one, other in zip(members.estimators, members.ensemble.estimators_, strict=True)
    )
    assert_array_equal(members.weights, members.ensemble.estimator_weights_)
    assert_array_equal(members.fuse().fuser_.weights, members.weights)
    assert 0.2 < diversity(members.predictions(X), y)["disagreement"] < 0.8
    given = FusionClassifier(members.estimators, Majority(members.weights), prefit=True).fit(X, y)
    assert_array_equal(given.predict(X), members.ensemble.predict(X))


def test_a_fit_that_stops_early_has_fewer_members():
    X, y = load_breast_cancer(return_X_y=True)
    perfect = AdaBoostClassifier(DecisionTreeClassifier(random_state=0), random_state=0)
    members = from_boosting(perfect, X, y)
    assert members.n_members == len(members.weights) == 1
    assert members.fuse().score(X, y) == 1
    stopped = GradientBoostingClassifier(n_iter_no_change=2, random_state=0)
    stages = from_boosting(stopped, X, y)
    assert 1 < stages.n_members == stages.ensemble.n_estimators_ < 100
    stopped = HistGradientBoostingClassifier(early_stopping=True, n_iter_no_change=2)
    stages = from_boosting(stopped, X, y, random_state=0)
    assert 1 < stages.n_members == stages.ensemble.n_iter_ < 100
    assert_array_equal(stages.fuse().predict(X), stages.ensemble.predict(X))


@pytest.mark.parametrize("ensemble", STAGED, ids=name_of)
def test_importance_is_the_share_of_the_way_from_what_is_known_without_features(ensemble):
    X, y = rows_for(ensemble)
    weight = np.linspace(0.5, 2, len(y))
    members = from_boosting(ensemble, X, y, sample_weight=weight)
    if members.classes is None:
        start = np.average(y, weights=weight)
    else:
        start = [weight[y == label].sum() / weight.sum() for label in members.classes]
    path = members.predictions(X).values
    path = np.concatenate([np.broadcast_to(start, (len(y), 1, path.shape[2])), path], axis=1)
    moved = np.abs(np.diff(path, axis=1)).sum(axis=2)
    expected = moved / moved.sum(axis=1, keepdims=True)
    frame = members.fuse().explain_fusion(X, as_frame=True)
    assert list(frame) == members.names
    assert_allclose(frame, expected, atol=1e-9)


def test_frames_with_categories_and_missing_values():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=200), "colour": rng.choice(["red", "blue"], 200)})
    y = (X["size"] > 0) ^ (X["colour"] == "red")
    X.loc[::7, "size"] = np.nan
    X["colour"] = X["colour"].astype("category")
    ensemble = HistGradientBoostingClassifier(max_iter=20, categorical_features="from_dtype")
    fused = BoostedFusionClassifier(ensemble, "mean", n_stages=4).fit(X, y)
    assert fused.score(X, y) > 0.85
    assert list(fused.explain_fusion(X, as_frame=True)) == [f"stage {k}" for k in (5, 10, 15, 20)]


# -- other rules ---------------------------------------------------------------------------------


def test_a_rule_that_learns_gets_rows_that_no_member_has_seen():
    X, y = load_breast_cancer(return_X_y=True)
    ensemble = GradientBoostingClassifier(n_estimators=10, random_state=0)
    members = from_boosting(ensemble, X, y, n_stages=5, random_state=0)
    learnt = members.fuse("linear_stacking")
    again = BoostedFusionClassifier(ensemble, "linear_stacking", n_stages=5, random_state=0)
    again.fit(X, y)
    assert_array_equal(learnt.fuser_.weights_, again.fuser_.weights_)
    grown_on = learnt.ensemble_.estimators_[0, 0].tree_.n_node_samples[0]
    assert grown_on == pytest.approx(0.8 * len(y), abs=2)
    with pytest.raises(ValueError, match="every member of the fitted ensemble has seen every row"):
        from_boosting(members.ensemble, X, y).fuse("linear_stacking")


def test_the_mean_of_stages_shrinks_boosting_that_has_gone_too_far():
    X, y = load_diabetes(return_X_y=True)
    ensemble = GradientBoostingRegressor(random_state=0)
    members = from_boosting(ensemble, X[::2], y[::2])
    mean, last = (members.fuse(rule).score(X[1::2], y[1::2]) for rule in ("mean", None))
    assert mean > last + 0.03


def test_fused_boosting_is_fitted_anew_searched_and_pickled():
    X, y = load_wine(return_X_y=True)
    fused = from_boosting(CLASSIFIERS[1], X[::2], y[::2], n_stages=3).fuse()
    again = clone(fused).fit(X[1::2], y[1::2])
    plain = clone(CLASSIFIERS[1]).fit(X[1::2], y[1::2])
    assert_array_equal(again.predict_proba(X), plain.predict_proba(X))
    assert_array_equal(again.stages_, [4, 8, 12])
    grid = {"ensemble__n_estimators": [1, 10], "fuser": [None, "mean"]}
    found = GridSearchCV(fused, grid, cv=3).fit(X, y)
    assert found.best_params_["ensemble__n_estimators"] == 10
    for model in (fused, from_boosting(CLASSIFIERS[0], X, y).fuse()):
        loaded = pickle.loads(pickle.dumps(model))
        assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        assert_array_equal(loaded.explain_fusion(X), model.explain_fusion(X))


def test_given_weights_of_the_first_members_are_used_in_stages():
    X, y = load_wine(return_X_y=True)
    members = from_boosting(CLASSIFIERS[0], X, y)
    weights = [0, 0, *range(1, 11)]
    scores = members.fuse(Majority(weights)).staged_score(X, y)
    cast = np.stack([member.predict(X) for member in members.estimators], axis=1)
    votes = cast[:, :, None] == np.arange(3)
    assert_allclose(scores[1], (votes[:, :2].mean(axis=1).argmax(axis=1) == y).mean())
    weighted = np.einsum("nkc,k->nc", votes[:, :6], weights[:6])
    assert_allclose(scores[5], (weighted.argmax(axis=1) == y).mean())


# -- bad input -----------------------------------------------------------------------------------


def test_bad_input_gets_one_sentence():
    X, y = load_wine(return_X_y=True)
    with pytest.raises(
        TypeError, match="ensemble must be one of AdaBoostClassifier, .*, got Rand"
    ):
        from_boosting(RandomForestClassifier(), X, y)
    with pytest.raises(
        ValueError, match="members of AdaBoostClassifier are its models; leave n_s"
    ):
        from_boosting(AdaBoostClassifier(), X, y, n_stages=3)
    with pytest.raises(ValueError, match="n_stages == 0, must be >= 1"):
        from_boosting(GradientBoostingClassifier(), X, y, n_stages=0)
    with pytest.raises(
        TypeError, match="ensemble must grow classifiers, but AdaBoostRegressor gr"
    ):
        BoostedFusionClassifier(AdaBoostRegressor()).fit(X, y)
    with pytest.raises(ValueError, match="members of AdaBoostClassifier are its models"):
        BoostedFusionClassifier(AdaBoostClassifier(), n_stages=3).fit(X, y)
    with pytest.raises(ValueError, match="fuser must be one of 'a_posteriori'"):
        BoostedFusionClassifier(AdaBoostClassifier(), "best").fit(X, y)
