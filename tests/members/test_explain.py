"""Why a member predicts what it does: never without a reason, and never with many."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from covey import FlockRegressor, SubsetEnsembleClassifier


def test_every_member_that_matters_has_up_to_three_reasons(flock_of_table):
    flock, X = flock_of_table
    names = [f"x{k}" for k in range(X.shape[1])]
    for record in flock.explain(X):
        for member in record["members"]:
            own = [names[k] for k in np.flatnonzero(flock.support_[member["member"] - 1])]
            assert 1 <= len(member["because"]) <= 3
            reasons = [name for name, _ in member["because"]]
            assert set(reasons) <= set(own or ["(constant)"])
            assert len(set(reasons)) == len(reasons)


def test_what_speaks_for_a_class_is_named_before_what_speaks_against_it(flock_of_table):
    flock, X = flock_of_table
    for record in flock.explain(X, top=30):
        for member in record["members"]:
            pushes = np.array([push for _, push in member["because"]])
            # Either all speak for it, the strongest first, or nothing does.
            assert hasattr(flock, "y_scale_") or (pushes > 0).all() or (pushes <= 0).all()
            assert (np.diff(np.abs(pushes)) <= 0).all()


@pytest.fixture
def two_members():
    X, y = load_iris(return_X_y=True)
    return SubsetEnsembleClassifier(2, flip_probability=0.0, random_state=0).fit(X, y), X


def test_a_constant_member_says_so(two_members):
    flock, X = two_members
    flock.member_coef_[1] = 0.0
    flock.support_[1] = False
    for record in flock.explain(X[:5]):
        (constant,) = [one for one in record["members"] if one["member"] == 2]
        assert constant["because"] == [("(constant)", 0.0)]


def test_a_class_that_nothing_speaks_for_is_predicted_in_spite_of_what_is_named(two_members):
    flock, _ = two_members
    # Class 0 by its intercept, whatever the features say; and they all speak against it.
    flock.member_intercept_[0] = [1e3, 0.0, 0.0]
    contrast = flock.member_coef_[0, 0] - flock.member_coef_[0].mean(axis=0)
    row = flock.mean_ - np.sign(contrast) * [0.1, 0.2, 0.3, 0.4]
    (member,) = [one for one in flock.explain(row[None])[0]["members"] if one["member"] == 1]
    assert member["prediction"] == 0
    pushes = np.sort(contrast * (row - flock.mean_))
    assert_allclose([push for _, push in member["because"]], pushes[:3])


def test_an_average_row_has_the_strongest_feature_and_no_push(two_members):
    flock, _ = two_members
    (record,) = flock.explain(flock.mean_[None])
    contrast = flock.member_coef_ - flock.member_coef_.mean(axis=1, keepdims=True)
    size = np.abs(contrast * flock.scale_).mean(axis=1)
    for member in record["members"]:
        strongest = size[member["member"] - 1].argmax()
        assert member["because"] == [(f"x{strongest}", 0.0)]


def test_ramps_and_products_are_folded_into_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] * X[:, 1] + np.abs(X[:, 2])
    flock = FlockRegressor(random_state=0).fit(X, y)
    assert not flock.basis_.is_plain
    (record,) = flock.explain(X[:1], top=100)
    columns = flock.basis_.rows(X[:1])[0] - flock.model_.column_mean
    for member in record["members"]:
        moved = flock.member_coef_[member["member"] - 1, 0] * columns
        by_feature = flock.basis_.on_features(moved)
        for name, push in member["because"]:
            assert_allclose(push, by_feature[int(name[1:])], atol=1e-9)
        named = sum(push for _, push in member["because"])
        assert_allclose(named, moved.sum(), atol=1e-6)
