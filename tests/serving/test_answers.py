"""Answers of the model."""

from dataclasses import replace

import numpy as np
import pytest
from fastapi.testclient import TestClient
from starlette.exceptions import HTTPException

from covey import FlockClassifier
from covey.serving import make_app
from covey.serving._answers import Answers
from covey.serving._columns import columns_of, date_of
from tests.serving.conftest import NASTY, QUOTES


def answers_of(model):
    return Answers(model, columns_of(model))


def checked(model, rows):
    """Rows with their dates read."""
    dates = {one.name: one.dates for one in columns_of(model) if one.dates}
    return [
        {name: date_of(v, dates[name]) if name in dates else v for name, v in row.items()}
        for row in rows
    ]


def test_answers_are_those_of_the_model(model, table, rows):
    found = answers_of(model).predict(checked(model, rows), 0.9)
    probabilities = model.predict_proba(table)
    assert [one["prediction"] for one in found] == model.predict(table).tolist()
    assert [list(one["probabilities"].values()) for one in found] == probabilities.tolist()
    assert [one["probability"] for one in found] == probabilities.max(axis=1).tolist()
    sets = [model.classes_[one].tolist() for one in model.predict_set(table, 0.9)]
    assert [one["set"] for one in found] == sets


def test_numbers_are_those_of_the_model(regressor, table, rows):
    found = answers_of(regressor).predict(checked(regressor, rows), None)
    assert [one["prediction"] for one in found] == regressor.predict(table).tolist()
    assert "low" not in found[0]


def test_bounds_that_are_not_known_are_null(table, rows):
    from covey import FlockRegressor

    y = np.arange(len(table)) - 10.0
    flock = FlockRegressor(effort="fast", random_state=0)
    fitted = flock.fit(table, y).calibrate(table[:30], y[:30])
    low, high = fitted.predict_interval(table[:1], 0.5)[0]
    (found,) = answers_of(fitted).predict(checked(fitted, rows[:1]), 0.5)
    assert (found["low"], found["high"]) == (low, high)
    (found,) = answers_of(fitted).predict(checked(fitted, rows[:1]), 0.999)
    assert (found["low"], found["high"]) == (None, None)


def test_an_answer_that_is_not_finite_is_a_refusal(model, rows, monkeypatch):
    monkeypatch.setattr(model, "predict_proba", lambda X: np.full((len(X), 2), np.nan))
    with pytest.raises(HTTPException, match="no finite answer"):
        answers_of(model).predict(checked(model, rows[:1]), None)


# -- rows ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def maker(model):
    return answers_of(model)


def test_gaps_are_gaps(maker, model, table):
    gaps = dict.fromkeys(table.columns)
    frame = maker.frame([gaps])
    assert frame.isna().all(axis=None)
    assert np.isfinite(model.predict_proba(frame)).all()


def test_what_the_model_has_not_seen_is_remarked_on(maker, rows):
    assert maker.remarks(rows[1]) == []
    (said,) = maker.remarks({**rows[1], QUOTES: "{strange} & new"})
    assert "'{strange} & new' is a category that the model has not seen" in said
    (said,) = maker.remarks({**rows[1], "age": 1e300})
    assert "age 1 x 10^300 is outside of what the model has seen (18 to 89)." in said
    (said,) = maker.remarks(dict.fromkeys(rows[1]))
    assert "All values are missing" in said


def test_what_was_declared_to_be_a_gap_is_not_remarked_on(table, rows):
    gaps = {QUOTES: "unknown", "age": 999}
    flock = FlockClassifier(effort="fast", gaps=gaps, random_state=0).fit(table, table["age"] > 50)
    maker = answers_of(flock)
    known, missing = {**rows[1], **gaps}, {**rows[1], **dict.fromkeys(gaps)}
    known, missing = checked(flock, [known, missing])
    assert maker.remarks(known) == []
    assert maker.predict([known]) == maker.predict([missing])


def test_what_the_model_does_not_look_at_is_not_remarked_on(model, rows):
    columns = [replace(one, used=one.name != "age") for one in columns_of(model)]
    assert Answers(model, columns).remarks({**rows[1], "age": 1e300}) == []


def test_categories_that_are_numbers_are_known_with_and_without_a_point(table):
    table = table[[NASTY]].assign(code=np.arange(len(table)) % 3)
    kinds = {NASTY: "number", "code": "text"}
    flock = FlockClassifier(effort="fast", categorical_features=kinds, random_state=0)
    fitted = flock.fit(table, table["code"])
    maker = answers_of(fitted)
    for value in (1, 1.0, "1"):
        assert maker.remarks({NASTY: 0.5, "code": value}) == []
    assert len(maker.remarks({NASTY: 0.5, "code": 4})) == 1


# -- reasons ---------------------------------------------------------------------------------


def total(told):
    pushes = [one["push"] for one in told["because"] + told["against"]]
    return told["baseline"] + sum(pushes) + told["other"]


def test_reasons_add_up_to_the_answer(client, rows):
    for row in rows[:20]:
        told = client.post("/explain", json={"row": row, "level": 0.9}).json()
        assert total(told) == pytest.approx(told["answer"]["probability"], abs=1e-9)
        (answer,) = client.post("/predict", json={"rows": [row], "level": 0.9}).json()[
            "predictions"
        ]
        assert told["answer"]["prediction"] == answer["prediction"]
        assert told["answer"]["probability"] == pytest.approx(answer["probability"], abs=1e-12)
        assert told["answer"]["set"] == answer["set"]
        assert all(one["push"] > 0 for one in told["because"])
        assert all(one["push"] < 0 for one in told["against"])


def test_reasons_of_a_number_add_up_to_it(regressor, rows):
    client = TestClient(make_app(regressor), base_url="http://localhost")
    told = client.post("/explain", json={"row": rows[5]}).json()
    assert total(told) == pytest.approx(told["answer"]["prediction"], rel=1e-9)


def test_a_reason_names_the_users_column_and_its_values(client, rows):
    row = {**rows[0], "age": 20, QUOTES: "plain"}
    told = client.post("/explain", json={"row": row}).json()
    reasons = {one["column"]: one for one in told["because"] + told["against"]}
    assert set(reasons) <= set(row)
    assert reasons["age"]["value"] == 20
    assert 30 < reasons["age"]["typical"] < 80


def test_the_reasons_of_a_typical_row_lead_from_the_average_to_its_answer(client):
    columns = client.get("/model").json()["columns"]
    told = client.post("/explain", json={"row": {one["name"]: one["typical"] for one in columns}})
    assert total(told.json()) == pytest.approx(told.json()["answer"]["probability"])


def test_the_most_reasons_may_be_said(client, rows):
    told = client.post("/explain", json={"row": {**rows[0], "age": 20}, "top": 1}).json()
    assert len(told["because"]) <= 1
    assert len(told["against"]) <= 1
    assert total(told) == pytest.approx(told["answer"]["probability"], abs=1e-9)


@pytest.mark.parametrize("top", [0, 2**31, 2**63, 10**30, "x", [1]])
def test_a_number_of_reasons_that_is_none_is_refused(client, rows, top):
    answer = client.post("/explain", json={"row": rows[0], "top": top})
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("top: ")


def test_who_decided_is_told_with_weights(client, model, rows):
    told = client.post("/explain", json={"row": rows[0]}).json()
    weights = [one["weight"] for one in told["members"]]
    assert weights == sorted(weights, reverse=True)
    assert 8 >= len(weights) >= 1
    assert {one["prediction"] for one in told["members"]} <= set(model.classes_)


# -- what would change it --------------------------------------------------------------------


def test_the_smallest_change_changes_the_answer(client, rows):
    for row in rows[:5]:
        told = client.post("/smallest-change", json={"row": row}).json()
        assert 1 <= len(told["changes"]) <= 2
        changes = {one["column"]: one["to"] for one in told["changes"]}
        after = client.post("/what-if", json={"row": row, "changes": changes}).json()
        assert after["before"]["prediction"] != after["after"]["prediction"] == told["prediction"]
        assert after["after"]["probability"] == pytest.approx(told["probability"], abs=1e-9)
        for one in told["changes"]:
            assert row[one["column"]] == one["value"]


def test_columns_that_cannot_change_do_not(client, rows, table):
    told = client.post("/smallest-change", json={"row": rows[0], "fixed": ["age"]}).json()
    assert "age" not in {one["column"] for one in told["changes"] or []}
    fixed = list(table.columns)
    told = client.post("/smallest-change", json={"row": rows[0], "fixed": fixed}).json()
    assert told["changes"] is None


def test_a_number_is_to_reach_another(regressor, rows):
    client = TestClient(make_app(regressor), base_url="http://localhost")
    before = client.post("/predict", json={"rows": rows[:1]}).json()["predictions"][0]
    wanted = before["prediction"] - 5
    told = client.post("/smallest-change", json={"row": rows[0], "to": wanted}).json()
    assert told["prediction"] <= wanted
    answer = client.post("/smallest-change", json={"row": rows[0]})
    assert answer.status_code == 422
    assert "give the number that the prediction is to reach" in answer.json()["error"]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"fixed": ["x"]}, "fixed: the model has no column 'x'"),
        ({"fixed": "age"}, "fixed: input should be a valid list"),
        ({"fixed": ["age"] * 100}, "fixed: "),
        ({"to": "x" * 9000}, "is not a class of the model"),
    ],
)
def test_what_cannot_be_asked_of_a_change_is_one_sentence(client, rows, asked, sentence):
    answer = client.post("/smallest-change", json={"row": rows[0], **asked})
    assert answer.status_code == 422
    assert sentence in answer.json()["error"]
    assert len(answer.json()["error"]) < 300


def test_classes_that_are_numbers_may_be_wanted_as_text(table, rows):
    y = (table["age"].fillna(50) > 50).astype(int).to_numpy()
    fitted = FlockClassifier(effort="fast", random_state=0).fit(table, y)
    client = TestClient(make_app(fitted), base_url="http://localhost")
    row = {**rows[0], "age": 30}
    for to in (1, "1"):
        told = client.post("/smallest-change", json={"row": row, "to": to}).json()
        assert told["prediction"] == 1
