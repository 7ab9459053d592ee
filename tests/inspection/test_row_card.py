"""A card for one row: what is predicted, why, how sure, who decided, what would change it."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression

from covey import FlockClassifier, FlockRegressor
from covey.cli._console import as_json
from covey.inspection import row_card


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 300
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n),
            "town": rng.choice(["Rome", "Oslo", "Bath"], n),
            "weight": rng.normal(70, 10, n).round(1),
        }
    )
    ill = np.where((table["age"] > 50) & (table["town"] != "Rome"), "yes", "no")
    flock = FlockClassifier(n_estimators=2, effort="balanced", max_terms=20, random_state=0)
    return table, flock.fit(table, ill)


@pytest.fixture(scope="module")
def card(people):
    _, model = people
    return row_card(model, {"age": 30, "town": "Rome", "weight": 61.5})


def test_a_sentence_says_what_is_predicted_and_why(card):
    # No chance is said to be all there is.
    assert card.record["probability"] > 0.9995
    assert card.sentence.startswith("99.9 % no: mainly ")
    assert "(typical" in card.sentence


def test_lines_lead_from_a_typical_row_to_this_one(card):
    lines = card.text()
    parts = [line for line in lines if line.startswith("  ")]
    assert parts[0].split() == ["on", "average", f"{100 * card.record['baseline']:.0f}", "%"]
    assert parts[-1].startswith("  this row")
    total = sum(float(part.split()[-1]) for part in parts[1:-1])
    moved = 100 * (card.record["probability"] - card.record["baseline"])
    assert_allclose(total, moved, atol=0.05 * len(parts))


def test_rows_held_out_say_how_sure_it_is(card):
    scores = card.sure
    assert scores["rows"] >= 20
    assert 0.5 < scores["right"] <= 1
    assert f"of {scores['rows']} rows held out" in card.how_sure


def test_who_decided_and_what_would_change_it_are_named(people, card):
    _, model = people
    assert card.asked.startswith("member ")
    changed = {"age": 30, "town": "Rome", "weight": 61.5}
    changed |= {one["column"]: one["to"] for one in card.change.changes}
    assert model.predict(pd.DataFrame([changed]))[0] == "yes"
    assert card.would_change.endswith("% yes")


def test_values_unlike_all_that_were_seen_are_noted(people):
    table, model = people
    card = row_card(model, {"age": 300, "town": "Paris", "weight": None})
    assert len(card.unusual) == 2
    assert card.unusual[0].startswith("age 300 is outside of what the model has seen (20 to 79")
    assert "town: 'Paris' is a category that the model has not seen" in card.unusual
    assert row_card(model, table.iloc[0]).unusual == []


def test_a_card_of_a_number_has_bounds_and_needs_a_goal_for_a_change():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    flock = FlockRegressor(n_estimators=2, max_terms=20, random_state=0).fit(X, y)
    card = row_card(flock, X.iloc[0])
    low, high = card.sure["interval"]
    assert low < card.record["prediction"] < high
    assert "with 90 % it is between" in card.how_sure
    assert card.would_change == ""
    assert not any(line.startswith("What would") for line in card.text())
    lower = row_card(flock, X.iloc[0], to=card.record["prediction"] - 60, fixed=["sex"])
    assert lower.change.after["prediction"] < card.record["prediction"] - 59


def test_any_model_has_a_card_given_a_background(people):
    table, _ = people
    model = LogisticRegression().fit(table[["age", "weight"]], table["town"])
    card = row_card(model, table[["age", "weight"]].iloc[0], background=table[["age", "weight"]])
    assert card.asked == card.how_sure == ""
    assert len(card.text()) > 4


def test_a_card_is_plain_data(card):
    data = json.loads(as_json(card.as_dict()))
    assert data["prediction"] == "no"
    assert len(data["what_if"]) == len(card.curves)
    assert data["change"]["changes"][0]["column"] in ("age", "town", "weight")
