"""What ``explain`` gives is a list of records, and text for a person."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_wine

from covey import FlockClassifier, FlockRegressor
from covey._explanations import Explanations
from covey.inspection import row_card
from covey.inspection._row_card import RowCard


@pytest.fixture(scope="module", params=["classes", "numbers"])
def explained(request):
    load, kind = {
        "classes": (load_wine, FlockClassifier),
        "numbers": (load_diabetes, FlockRegressor),
    }[request.param]
    X, y = load(return_X_y=True, as_frame=True)
    return kind(effort="fast", random_state=0).fit(X, y).explain(X[:30])


def test_it_is_a_list_of_records(explained):
    assert isinstance(explained, list)
    assert json.loads(json.dumps(explained))[0]["because"] == explained[0]["because"]
    assert pickle.loads(pickle.dumps(explained)) == explained


def test_printed_it_names_the_columns_and_no_brackets_of_code(explained):
    text = str(explained)
    assert not set("{}[]'") & set(text)
    first, *_ = text.split("\n\n")
    for side in ("because", "against"):
        assert all(one["column"] in first for one in explained[0][side])
    assert max(map(len, text.splitlines())) < 200
    assert text.endswith("and 10 more rows")
    assert "Row 1: " in explained._repr_html_()


def test_names_of_columns_are_escaped_on_a_page():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = pd.DataFrame({"<b>": X["proline"], "hue": X["hue"]})
    found = FlockClassifier(effort="fast", random_state=0).fit(X, y).explain(X[:1])
    assert "&lt;b&gt;" in found._repr_html_()
    assert "<b>" not in found._repr_html_()


@pytest.mark.parametrize("is_far", [False, True])
def test_what_members_say_beyond_all_that_was_seen_is_no_answer_of_theirs(is_far):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    flock = FlockRegressor(effort="fast", random_state=0).fit(X, y)
    (record,) = flock.explain(X[:1])
    says = [one["prediction"] for one in record["members"]]
    assert min(says) < max(says)
    within = np.array([min(says), np.median(says) if is_far else max(says)])
    flock.model_ = replace(flock.model_, target=replace(flock.model_.target, range=within))
    (record,) = found = flock.explain(X[:1])
    assert record["cancelling"] == is_far
    for text in (str(found).splitlines()[-1], row_card(flock, X[:1]).asked):
        assert "(" in text
        assert ("says" not in text) == ("cancels out" in text) == is_far


def test_what_is_lost_by_rounding_is_not_told():
    push = {"column": "age", "value": 3.0, "typical": 9.0, "push": -4.0}
    record = {"prediction": 5.0, "baseline": 9.0, "because": [push], "against": [], "members": []}
    for other, lines in ((-1.6e-12, 2), (0.5, 3)):
        assert len(str(Explanations([{**record, "other": other}])).splitlines()) == lines
        card = RowCard({**record, "other": other}, {}, None, [], [])
        assert any("all other columns" in line for line in card.text()) == (lines == 3)
