"""Members of imbalanced-learn's forests and bagging: bags are balanced samples."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer

from covey import SampledFusionClassifier
from covey.inspection import diversity
from covey.members import from_bagging, from_boosting, from_forest

ensembles = pytest.importorskip("imblearn.ensemble")


@pytest.fixture(scope="module")
def rare():
    """Sixty malignant rows among all benign ones."""
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.r_[np.flatnonzero(y == 1), np.flatnonzero(y == 0)[:60]]
    rows = np.random.default_rng(0).permutation(rows)
    return X[rows], np.array(["malignant", "benign"])[y[rows]]


def forest(**how):
    return ensembles.BalancedRandomForestClassifier(25, random_state=0, **how)


@pytest.mark.parametrize("how", [{}, {"bootstrap": True}, {"replacement": False}], ids=str)
def test_trees_of_a_balanced_forest_are_members(rare, how):
    X, y = rare
    trees = from_forest(forest(**how), X, y)
    assert_array_equal(trees.fuse().predict_proba(X), trees.ensemble.predict_proba(X))
    for bag, sampler in zip(trees.bootstrap_rows, trees.ensemble.samplers_, strict=True):
        assert_array_equal(bag, sampler.sample_indices_)
        # As many rows of each class.
        assert_array_equal(np.unique(y[bag], return_counts=True)[1], [60, 60])
    assert_array_equal(
        trees.out_of_bag[:, 3], ~np.isin(np.arange(len(y)), trees.bootstrap_rows[3])
    )
    assert 0 < diversity(trees.predictions(X), y)["disagreement"] < 0.5


def test_trees_know_nothing_of_rows_outside_their_bags(rare):
    """Labels that are noise: of rows outside a bag no tree knows more than chance."""
    X, _ = rare
    y = np.random.default_rng(1).integers(0, 2, len(X))
    trees = from_forest(forest(), X, y)
    labels = trees.predictions(X).labels
    right = labels == y[:, None]
    assert abs(right[trees.out_of_bag].mean() - 0.5) < 0.05
    assert right[~trees.out_of_bag].mean() > 0.95


def test_a_rule_learns_from_rows_outside_balanced_samples(rare):
    X, y = rare
    trees = from_forest(forest(), X[::2], y[::2])
    learnt = trees.fuse("linear_stacking")
    P = trees.out_of_bag_predictions()
    rows = np.flatnonzero(P.available.any(axis=1))
    fuser = type(learnt.fuser_)().fit(P.rows(rows), y[::2][rows])
    assert_array_equal(learnt.fuser_.weights_, fuser.weights_)
    fused = SampledFusionClassifier(forest(), "linear_stacking").fit(X[::2], y[::2])
    assert_array_equal(fused.fuser_.weights_, fuser.weights_)
    assert fused.score(X[1::2], y[1::2]) > 0.85


def test_members_of_balanced_bagging(rare):
    X, y = rare
    bagging = ensembles.BalancedBaggingClassifier(n_estimators=10, random_state=0)
    members = from_bagging(bagging, X, y)
    assert_array_equal(members.fuse().predict_proba(X), members.ensemble.predict_proba(X))
    drawn = members.ensemble.estimators_samples_
    for bag, rows in zip(members.bootstrap_rows, drawn, strict=True):
        assert np.isin(bag, rows).all()
        counts = np.unique(y[bag], return_counts=True)[1]
        assert counts[0] == counts[1]
    assert members.fuse("knora_e").score(X, y) > 0.9


@pytest.mark.parametrize(
    ("make", "ensemble"),
    [
        (from_bagging, ensembles.EasyEnsembleClassifier(4, random_state=0)),
        (from_forest, forest(replacement=False, sampling_strategy="majority")),
    ],
)
def test_rows_are_held_out_where_every_sample_holds_the_rare_class_whole(rare, make, ensemble):
    X, y = rare
    members = make(ensemble, X, y, random_state=0)
    outside = y[members.out_of_bag.any(axis=1)]
    assert set(outside) == {"benign"}
    learnt = members.fuse("linear_stacking")
    again = SampledFusionClassifier(ensemble, "linear_stacking", random_state=0).fit(X, y)
    assert_array_equal(learnt.fuser_.weights_, again.fuser_.weights_)
    with pytest.raises(
        ValueError, match="fitted ensemble has seen every row of a class; give the"
    ):
        make(members.ensemble, X, y).fuse("linear_stacking")


def test_rows_that_a_balanced_forest_cannot_have_seen_are_refused(rare):
    X, y = rare
    fitted = forest().fit(X, y)
    with pytest.raises(ValueError, match="was fitted on .* or more rows, but X has 100"):
        from_forest(fitted, X[:100], y[:100])


def test_models_of_balanced_boosting_are_members(rare):
    X, y = rare
    boosting = ensembles.RUSBoostClassifier(n_estimators=8, random_state=0)
    members = from_boosting(boosting, X, y)
    assert_array_equal(members.fuse().predict(X), members.ensemble.predict(X))
    assert members.n_members == 8
