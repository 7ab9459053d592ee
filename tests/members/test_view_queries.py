"""Asking for labels where views disagree, and for views until the flock is sure."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from covey import MultiviewClassifier
from covey._core.fusion.views import contention_points

X, Y = load_breast_cancer(return_X_y=True)
VIEWS = {"mean": slice(0, 10), "error": slice(10, 20), "worst": slice(20, 30)}
COST = {"mean": 1.0, "error": 2.0, "worst": 10.0}


@pytest.fixture(scope="module")
def fused():
    return MultiviewClassifier(VIEWS, random_state=0).fit(X[:60], Y[:60])


@pytest.fixture(scope="module")
def frugal():
    return MultiviewClassifier(VIEWS, view_cost=COST, confidence=0.9).fit(X[:200], Y[:200])


def labels(model, rows):
    """What each view says, one after another, spelt out."""
    return np.array(
        [
            [
                model.named_estimators_[view].predict(rows[[row]][:, columns])[0]
                for view, columns in VIEWS.items()
            ]
            for row in range(len(rows))
        ]
    )


# -- labels ----------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["aggressive", "conservative", "naive"])
def test_rows_on_which_views_disagree_come_first(fused, strategy):
    rows = X[60:260]
    every = fused.query(rows, 200, strategy=strategy, random_state=0)
    assert sorted(every) == list(range(200))
    said = labels(fused, rows)
    disagree = (said != said[:, :1]).any(axis=1)
    assert disagree[every[: disagree.sum()]].all()
    assert_array_equal(every[:7], fused.query(rows, 7, strategy=strategy, random_state=0))


def test_aggressive_asks_where_the_least_sure_view_is_surest_and_conservative_where_all_are_alike(
    fused,
):
    rows = X[60:260]
    said = labels(fused, rows)
    sure = np.stack(
        [
            fused.named_estimators_[view].predict_proba(rows[:, columns]).max(axis=1)
            for view, columns in VIEWS.items()
        ],
        axis=1,
    )
    points = np.flatnonzero((said != said[:, :1]).any(axis=1))
    first = fused.query(rows, 1, strategy="aggressive")[0]
    assert sure[first].min() == sure[points].min(axis=1).max()
    first = fused.query(rows, 1)[0]
    assert np.ptp(sure[first]) == pytest.approx(np.ptp(sure[points], axis=1).min())


def test_where_views_agree_the_least_sure_rows_are_asked(fused):
    rows = X[60:260]
    said = labels(fused, rows)
    agree = (said == said[:, :1]).all(axis=1)
    order = fused.query(rows[agree], 5)
    margin = np.abs(np.diff(fused.predict_proba(rows[agree]), axis=1))[:, 0]
    assert_array_equal(order, np.argsort(margin, kind="stable")[:5])


def test_a_view_that_a_row_lacks_disagrees_with_none(fused):
    rows = X[60:160].copy()
    rows[:, 10:] = np.nan
    points = contention_points(*fused._by_view(fused._check_rows(rows)))
    assert not points.any()
    assert len(fused.query(rows, 3)) == 3
    rows[:] = np.nan
    assert_array_equal(fused.query(rows, 3), [0, 1, 2])


PROBABILITIES = arrays(np.float64, (5, 3, 2), elements=st.floats(0.01, 1))


@settings(max_examples=60)
@given(PROBABILITIES, arrays(np.bool_, (5, 3)))
def test_contention_is_two_present_views_with_different_classes(values, present):
    p = values / values.sum(axis=2, keepdims=True)
    points = contention_points(p, present)
    for row in range(5):
        said = {int(p[row, view].argmax()) for view in range(3) if present[row, view]}
        assert points[row] == (len(said) > 1)


def test_members_without_probabilities_and_several_members_of_a_view_are_asked_too():
    several = MultiviewClassifier(
        {"mean": slice(0, 10), "worst": slice(20, 30)},
        estimator={
            "mean": [GaussianNB(), LogisticRegression(max_iter=5000)],
            "worst": GaussianNB(),
        },
    ).fit(X[:60], Y[:60])
    assert len(several.query(X[60:], 4)) == 4


@pytest.mark.parametrize(
    ("how", "message"),
    [({"n": 0}, "n == 0"), ({"strategy": "bold"}, "strategy")],
)
def test_odd_queries_are_refused_by_name(fused, how, message):
    with pytest.raises(ValueError, match=message):
        fused.query(X[60:], **how)


def test_one_view_has_nobody_to_disagree_with():
    alone = MultiviewClassifier({"all": slice(0, 30)}).fit(X[:60], Y[:60])
    with pytest.raises(ValueError, match="one view only"):
        alone.query(X[60:])


# -- views that cost --------------------------------------------------------------------------


def literal(model, row, confidence):
    """One row, one view after the other."""
    asked, total = [], np.zeros(2)
    for view in sorted(VIEWS, key=COST.get):
        if np.isnan(row[VIEWS[view]]).all():
            continue
        asked.append(view)
        total += model.named_estimators_[view].predict_proba(row[None, VIEWS[view]])[0]
        if (total / len(asked)).max() >= confidence:
            break
    return asked, total / len(asked)


def test_cheap_views_are_asked_first_and_no_more_once_the_flock_is_sure(frugal):
    rows = X[200:280].copy()
    rows[::7, :10] = np.nan
    asked, p = frugal.views_asked(rows), frugal.predict_proba(rows)
    for number, row in enumerate(rows):
        views, expected = literal(frugal, row, 0.9)
        assert [name for name, one in zip(VIEWS, asked[number], strict=True) if one] == views
        np.testing.assert_allclose(p[number], expected, atol=1e-12)
    assert 0 < asked[:, 2].mean() < 1


def test_what_is_not_asked_does_not_count(frugal):
    rows = X[200:280]
    asked = frugal.views_asked(rows)
    changed = rows.copy()
    changed[:, 20:][~asked[:, 2]] = 1e6
    assert_array_equal(frugal.predict_proba(rows), frugal.predict_proba(changed))
    importance = frugal.explain_fusion(rows)
    assert not importance[~asked].any()


def test_the_curve_goes_from_the_cheapest_view_to_all(frugal):
    curve = frugal.cost_curve(X[200:], Y[200:])
    assert curve.cost[0] == COST["mean"]
    assert curve.cost[-1] == pytest.approx(sum(COST.values()), rel=0.2)
    assert (np.diff(curve.cost) >= 0).all()
    cheap = frugal.named_estimators_["mean"].score(X[200:, :10], Y[200:])
    assert curve.accuracy[0] == cheap
    assert curve.accuracy.max() > curve.accuracy[0]


def test_a_model_that_is_not_frugal_asks_for_all_views_that_a_row_has(fused):
    rows = X[60:70].copy()
    rows[3, 10:20] = np.nan
    expected = np.ones((10, 3), dtype=bool)
    expected[3, 1] = False
    assert_array_equal(fused.views_asked(rows), expected)
    with pytest.raises(ValueError, match="give view_cost"):
        fused.cost_curve(rows, Y[60:70])


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ({"mean": 1}, "no cost of the view 'error'"),
        ({**COST, "smell": 1}, "the view 'smell'"),
        ([1, 2], "each of the 3 views"),
        ([1, 2, -3], "from 0 on"),
        ([1, 2, np.nan], "from 0 on"),
        ("cheap", "from 0 on"),
    ],
)
def test_odd_costs_are_refused_by_name(cost, message):
    with pytest.raises(ValueError, match=message):
        MultiviewClassifier(VIEWS, view_cost=cost).fit(X[:60], Y[:60])


def test_a_gate_can_be_frugal_too():
    gated = MultiviewClassifier(VIEWS, fuser="gate", view_cost=[3, 1, 2], random_state=0)
    gated.fit(X[:200], Y[:200])
    assert gated.score(X[200:], Y[200:]) > 0.9
    assert gated.views_asked(X[200:])[:, 1].all()
