"""MultiTargetClassifier and MultiTargetRegressor: several targets on the same folds."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_iris, make_multilabel_classification, make_regression
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from covey import (
    FlockClassifier,
    FusionClassifier,
    FusionRegressor,
    GeneralStackingClassifier,
    MultiTargetClassifier,
    MultiTargetRegressor,
)
from covey._core.search.folds import jointly_stratified

MEMBERS = [GaussianNB(), DecisionTreeClassifier(max_depth=3, random_state=0)]


@pytest.fixture(scope="module")
def labels():
    return make_multilabel_classification(120, n_classes=4, random_state=0)


def learnt(cv=5):
    """A classifier that learns something out of fold."""
    return FusionClassifier(MEMBERS, "linear_stacking", cv=cv)


@parametrize_with_checks(
    [
        MultiTargetClassifier(FusionClassifier(MEMBERS)),
        MultiTargetRegressor(FusionRegressor([Ridge(), LinearRegression()], "median")),
    ]
)
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)


# -- folds -----------------------------------------------------------------------------------


def test_all_targets_share_their_folds(labels):
    X, Y = labels
    model = MultiTargetClassifier(learnt(), cv=3, random_state=0).fit(X, Y)
    folds = model.estimators_[0].cv
    assert len(folds) == 3
    for target, fitted in zip(Y.T, model.estimators_, strict=True):
        alone = learnt(folds).fit(X, target)
        assert_array_equal(fitted.predict_proba(X), alone.predict_proba(X))
        assert_array_equal(fitted.out_of_fold_.rows, np.arange(120))
    # Not the folds that each would draw by itself.
    by_itself = MultiTargetClassifier(learnt(), cv=None).fit(X, Y)
    assert by_itself.estimators_[0].cv == 5


def test_folds_keep_the_frequencies_of_all_classes():
    rng = np.random.default_rng(0)
    codes = (rng.random((400, 6)) < [0.02, 0.05, 0.1, 0.3, 0.5, 0.9]).astype(int)
    fold = jointly_stratified(codes, np.ones(400, dtype=bool), 5, 0)
    counts = np.array([codes[fold == one].sum(axis=0) for one in range(5)])
    assert np.ptp(np.bincount(fold)) <= 4
    assert np.ptp(counts, axis=0).max() <= 3
    # At random, by contrast:
    drawn = rng.permutation(400) % 5
    at_random = np.array([codes[drawn == one].sum(axis=0) for one in range(5)])
    assert np.ptp(at_random, axis=0).max() > 5


def test_the_only_row_of_a_class_that_counts_is_held_out_by_none():
    codes = np.zeros((20, 2), dtype=int)
    codes[[3, 7], 1] = 1
    codes[::2, 0] = 1
    used = np.arange(20) != 7
    fold = jointly_stratified(codes, used, 4, 0)
    assert_array_equal(np.flatnonzero(fold < 0), [3])
    of_ones = np.bincount(fold[used & (codes[:, 0] == 1)], minlength=4)
    assert set(of_ones) == {2, 3}


def test_groups_stay_whole_and_splitters_are_taken(labels):
    X, Y = labels
    groups = np.arange(120) % 10
    model = MultiTargetClassifier(learnt(), cv=3).fit(X, Y, groups=groups)
    for train, test in model.estimators_[2].cv:
        assert not set(groups[train]) & set(groups[test])
    given = MultiTargetClassifier(learnt(), cv=GroupKFold(3)).fit(X, Y, groups=groups)
    assert len(given.estimators_[0].cv) == 3
    given = MultiTargetClassifier(learnt(), cv=KFold(2)).fit(X, Y)
    assert_array_equal(given.estimators_[0].cv[0][1], np.arange(60))


# -- what is predicted -----------------------------------------------------------------------


def test_a_flock_and_a_stack_for_each_label(labels):
    X, Y = labels
    for estimator in (
        FlockClassifier(effort="fast", n_estimators=2, random_state=0),
        GeneralStackingClassifier(MEMBERS),
    ):
        model = MultiTargetClassifier(estimator, random_state=0).fit(X, Y)
        probabilities = model.predict_proba(X)
        assert [part.shape for part in probabilities] == [(120, 2)] * 4
        decided = np.stack([part.argmax(axis=1) for part in probabilities], axis=1)
        assert_array_equal(model.predict(X), decided)
        assert model.score(X, Y) == (decided == Y).all(axis=1).mean() > 0.4
    flocks = MultiTargetClassifier(FlockClassifier(effort="fast", n_estimators=2), random_state=0)
    assert_allclose(flocks.fit(X, Y).feature_importances_.sum(), 1)


def test_targets_may_be_of_any_classes_and_have_names():
    X, y = load_iris(return_X_y=True)
    table = pd.DataFrame(
        {"kind": np.array(["a", "b", "c"])[y], "large": (X[:, 2] > 4).astype(int)}
    )
    model = MultiTargetClassifier(learnt(), random_state=0).fit(X, table)
    assert model.target_names_.tolist() == ["kind", "large"]
    assert [part.tolist() for part in model.classes_] == [["a", "b", "c"], [0, 1]]
    predicted = model.predict(X[:1])
    assert predicted.tolist() == [["a", 0]]
    assert model.score(X, table) > 0.9


def test_numbers_of_several_targets():
    X, Y = make_regression(150, 5, n_targets=3, random_state=0)
    model = MultiTargetRegressor(FusionRegressor([Ridge(), KNeighborsRegressor()], "gate"))
    assert model.fit(X, Y).predict(X).shape == (150, 3)
    assert model.score(X, Y) > 0.9
    assert len(model.estimators_[0].cv) == 5


def test_one_axis_is_one_target(labels):
    X, Y = labels
    one = MultiTargetClassifier(learnt(), random_state=0).fit(X, Y[:, 0])
    column = MultiTargetClassifier(learnt(), random_state=0).fit(X, Y[:, :1])
    assert_array_equal(one.predict(X), column.predict(X)[:, 0])
    assert_array_equal(one.predict_proba(X), column.predict_proba(X)[0])
    assert one.score(X, Y[:, 0]) == column.score(X, Y[:, :1])
    assert_array_equal(one.classes_, column.classes_[0])


def test_sparse_labels_are_labels(labels):
    X, Y = labels
    model = MultiTargetClassifier(learnt(3), random_state=0)
    dense = model.fit(X, Y).predict(X)
    assert_array_equal(
        model.fit(sparse.csr_array(X).toarray(), sparse.csr_array(Y)).predict(X), dense
    )


def test_a_target_of_one_class_is_predicted_with_a_warning(labels):
    X, Y = labels
    Y = np.column_stack([Y[:, 0], np.ones(120, dtype=int)])
    with pytest.warns(UserWarning, match="Target 1 is .*1.* in every row"):
        model = MultiTargetClassifier(learnt(3)).fit(X, Y, sample_weight=np.ones(120))
    assert isinstance(model.estimators_[1], DummyClassifier)
    assert (model.predict(X)[:, 1] == 1).all()


# -- with the rest of scikit-learn -----------------------------------------------------------


def test_searches_and_scores_see_several_targets(labels):
    X, Y = labels
    model = MultiTargetClassifier(FusionClassifier(MEMBERS))
    tags = get_tags(model)
    assert tags.target_tags.multi_output
    assert cross_val_score(model, X, Y, cv=3, scoring="f1_micro").min() > 0.5
    search = GridSearchCV(model, {"estimator__fuser": ["mean", "product"]}, cv=2).fit(X, Y)
    assert search.best_score_ > 0.2
    assert not hasattr(MultiTargetClassifier(LinearSVC()), "predict_proba")


def test_weights_reach_the_models_that_request_them(labels):
    X, Y = labels
    weight = (np.arange(120) < 60).astype(float)
    plain = MultiTargetClassifier(LogisticRegression()).fit(X, Y, sample_weight=weight)
    half = MultiTargetClassifier(LogisticRegression()).fit(X[:60], Y[:60])
    assert_allclose(plain.predict_proba(X), half.predict_proba(X), atol=1e-4)
    with config_context(enable_metadata_routing=True):
        asking = LogisticRegression().set_fit_request(sample_weight=True)
        routed = MultiTargetClassifier(asking).fit(X, Y, sample_weight=weight)
    assert_allclose(routed.predict_proba(X), plain.predict_proba(X))


def test_bad_input_gets_one_sentence(labels):
    X, Y = labels
    with pytest.raises(ValueError, match="one axis for the rows and one for the targets"):
        MultiTargetClassifier(learnt()).fit(X, Y[:, :, None])
    with pytest.raises(ValueError, match="estimator must be a classifier, got Ridge"):
        MultiTargetClassifier(Ridge()).fit(X, Y)
    with pytest.raises(ValueError, match="estimator must be a regressor"):
        MultiTargetRegressor(GaussianNB()).fit(X, Y)
    with pytest.raises(ValueError, match="y has 2 columns, but there are 4 targets"):
        MultiTargetClassifier(FusionClassifier(MEMBERS)).fit(X, Y).score(X, Y[:, :2])
    with pytest.raises(ValueError, match="X has no rows; give at least one"):
        MultiTargetClassifier(learnt()).fit(X[:0], Y[:0])
    for one in (FlockClassifier(), learnt(), FusionRegressor([Ridge()])):
        with pytest.raises(ValueError, match="wrap the estimator in covey.MultiTarget"):
            one.fit(X, Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MultiTargetClassifier(learnt()).fit(X, Y[:100])
    with pytest.raises(ValueError, match="cv must be an int"):
        MultiTargetClassifier(learnt(), cv="five").fit(X, Y)
    with pytest.raises(ValueError, match="y must have as many targets in every row"):
        MultiTargetClassifier(learnt()).fit(X, [[1], [1, 0]] * 60)
