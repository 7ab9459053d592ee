import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import precision_score, recall_score

from covey.reporting._class_facts import ClassFacts
from covey.reporting._inputs import check_inputs
from covey.reporting._threshold import counts_of, points_of, threshold


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=2, max_size=60).filter(
        lambda rows: len({row[1] for row in rows}) == 2
    )
)
def test_counts_are_those_of_a_literal_count(rows):
    scores, is_class = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    one = counts_of(scores, is_class, "a")
    for k in range(0, len(one.thresholds), 7):
        called = scores >= one.thresholds[k]
        assert one.found[k] == (called & is_class).sum()
        assert one.false[k] == (called & ~is_class).sum()
    assert one.thresholds[one.start] == 0.5
    assert one.found[0] + one.false[0] == len(rows)
    assert len(one.thresholds) < 160


def test_one_half_is_what_the_model_predicts(loans, loan_model, judged):
    facts = ClassFacts(check_inputs(loan_model, *loans, judged))
    found = threshold(facts)
    one = found["now"]
    assert one.name == "denied"  # the rarer
    truth, called = facts.y == facts.watched, facts.predicted == facts.watched
    k = one.start
    assert one.found[k] / one.n_class == pytest.approx(recall_score(truth, called))
    precision = one.found[k] / (one.found[k] + one.false[k])
    assert precision == pytest.approx(precision_score(truth, called))
    across, up = points_of(one, "pr")
    assert (across[k], up[k]) == pytest.approx((one.found[k] / one.n_class, precision))
    across, up = points_of(one, "roc")
    assert np.all(np.diff(across) <= 0)
    assert np.all(np.diff(up) <= 0)


def test_every_class_can_be_chosen_and_the_page_stays_small(wine, gated):
    _, X, _, y = wine
    facts = ClassFacts(check_inputs(gated, X, y))
    found = threshold(facts)
    assert [one.name for one in found["counted"]] == facts.classes
    data = json.loads(found["data"])
    assert [one["n"] for one in data] == [int((facts.y == c).sum()) for c in range(3)]
    assert len(found["data"]) < 3 * 5_000


def test_rows_of_one_class_leave_nothing_to_choose(wine, gated):
    _, X, _, y = wine
    same = y == y[0]
    assert threshold(ClassFacts(check_inputs(gated, X[same], y[same]))) is None
