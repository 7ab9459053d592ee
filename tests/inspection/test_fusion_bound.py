"""Limits of a loss and an error: they hold on every row, and for new rows as often as said."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes

import covey
from covey._core.inspection.bounds import highest_mean


@pytest.fixture(scope="module")
def circles():
    X, y = covey.make_quarter_circle(4000, random_state=0)
    fits = {
        "product": covey.SubsetEnsembleClassifier(4, flip_probability=0.3, random_state=0),
        "gate": covey.SubsetEnsembleClassifier(3, fuser=covey.Gate(alpha=1e-3), random_state=0),
        "log gate": covey.SubsetEnsembleClassifier(
            3, fuser=covey.Gate(pool="log", alpha=1e-3), random_state=0
        ),
    }
    return {name: flock.fit(X[:200], y[:200]) for name, flock in fits.items()}, X[200:], y[200:]


@pytest.mark.parametrize("name", ["product", "gate", "log gate"])
def test_the_terms_are_ordered_and_an_error_costs_at_least_the_logarithm_of_two(circles, name):
    flocks, X, y = circles
    bound = covey.inspection.fusion_bound(flocks[name], X[:500], y[:500])
    assert bound.loss == pytest.approx(bound.member_loss - bound.ambiguity)
    assert bound.error <= bound.loss / np.log(2) <= bound.error_by_loss
    assert bound.loss <= bound.member_loss <= bound.member_guarantee
    assert bound.error < bound.error_guarantee
    assert not bound.vacuous
    rows = covey.inspection.ambiguity(flocks[name], X[:500], y[:500])
    wrong = flocks[name].predict(X[:500]) != y[:500]
    assert (rows.row_loss[wrong] >= np.log(2) - 1e-12).all()


def test_limits_hold_for_new_rows_as_often_as_they_promise(circles):
    flocks, X, y = circles
    flock = flocks["gate"]
    losses = np.minimum(covey.inspection.ambiguity(flock, X, y).row_loss, 5.0)
    draw = np.random.default_rng(0)
    limits = [highest_mean(draw.choice(losses, size=100), 5.0, delta=0.1) for _ in range(2000)]
    assert np.mean(np.array(limits) < losses.mean()) <= 0.1


@settings(max_examples=50)
@given(
    st.lists(st.floats(0, 3), min_size=1, max_size=50),
    st.floats(0.001, 0.5),
)
def test_the_limit_is_between_the_mean_and_the_largest_loss(losses, delta):
    limit = highest_mean(np.array(losses), 3.0, delta)
    assert np.mean(losses) - 1e-12 <= limit <= 3.0
    assert limit >= highest_mean(np.array(losses), 3.0, min(1.5 * delta, 0.9))


def test_more_rows_and_less_spread_bring_the_limit_nearer():
    few, many = np.tile([0.1, 0.5], 20), np.tile([0.1, 0.5], 2000)
    assert highest_mean(many, 5.0, 0.05) < highest_mean(few, 5.0, 0.05)
    assert highest_mean(np.full(4000, 0.3), 5.0, 0.05) < highest_mean(many, 5.0, 0.05)
    assert highest_mean(np.array([0.2]), 5.0, 0.05) == 5.0


@pytest.mark.parametrize(
    ("given", "message"),
    [({"confidence": 1.0}, "confidence"), ({"largest_loss": 0.5}, "largest_loss")],
)
def test_what_is_no_bound_is_refused_by_name(circles, given, message):
    flocks, X, y = circles
    with pytest.raises(ValueError, match=message):
        covey.inspection.fusion_bound(flocks["gate"], X[:50], y[:50], **given)


def test_other_fusions_and_regressors_are_refused_in_one_sentence(circles):
    _, X, y = circles
    vote = covey.SubsetEnsembleClassifier(3, fuser="majority", random_state=0).fit(X[:99], y[:99])
    with pytest.raises(ValueError, match="Majority is not a mean of its members"):
        covey.inspection.fusion_bound(vote, X[:50], y[:50])
    Z, values = load_diabetes(return_X_y=True)
    regressor = covey.SubsetEnsembleRegressor(2, random_state=0).fit(Z, values)
    with pytest.raises(ValueError, match="fusion_bound is for classifiers"):
        covey.inspection.fusion_bound(regressor, Z, values)
