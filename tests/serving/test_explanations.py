"""Why, as the endpoint says it."""

import pytest
from fastapi.testclient import TestClient

from covey.serving import make_app
from tests.serving.conftest import QUOTES


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


def test_a_typical_row_has_no_reasons(client):
    columns = client.get("/model").json()["columns"]
    told = client.post("/explain", json={"row": {one["name"]: one["typical"] for one in columns}})
    assert told.json()["because"] == told.json()["against"] == []
    assert told.json()["answer"]["probability"] == pytest.approx(told.json()["baseline"])


def test_the_most_reasons_may_be_said(client, rows):
    told = client.post("/explain", json={"row": {**rows[0], "age": 20}, "top": 1}).json()
    assert len(told["because"]) <= 1
    assert len(told["against"]) <= 1
    assert total(told) == pytest.approx(told["answer"]["probability"], abs=1e-9)


def test_who_decided_is_told_with_weights(client, model, rows):
    told = client.post("/explain", json={"row": rows[0]}).json()
    weights = [one["weight"] for one in told["members"]]
    assert weights == sorted(weights, reverse=True)
    assert told["n_members"] >= len(weights) >= 1
    assert {one["prediction"] for one in told["members"]} <= set(model.classes_)


def test_a_model_of_an_older_file_is_served_without_reasons(model, rows, monkeypatch):
    monkeypatch.setattr(model.preparation_, "_seen_columns", None)
    client = TestClient(make_app(model), base_url="http://localhost")
    told = client.post("/explain", json={"row": rows[0]}).json()
    assert told["baseline"] is None
    assert told["because"] == told["against"] == []
    assert told["answer"]["prediction"] in model.classes_
    answer = client.post("/smallest-change", json={"row": rows[0]})
    assert "fit the model again" in answer.json()["error"]
    age = client.get("/model").json()["columns"][0]
    assert age["low"] is None
    assert 30 < age["typical"] < 80


def test_a_model_that_is_no_flock_is_explained_without_members(table, rows):
    from sklearn.linear_model import LogisticRegression

    from covey.tables import TableClassifier

    y = (table["age"].fillna(50) > 50).to_numpy()
    fitted = TableClassifier(LogisticRegression(max_iter=5000)).fit(table, y)
    client = TestClient(make_app(fitted), base_url="http://localhost")
    told = client.post("/explain", json={"row": rows[0]}).json()
    assert told["members"] == []
    assert told["answer"]["prediction"] in (True, False)
    assert total(told) == pytest.approx(told["answer"]["probability"], abs=1e-9)


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
            assert one["column"] in told["sentence"]
            assert row[one["column"]] == one["value"]


def test_columns_that_cannot_change_do_not(client, rows, table):
    told = client.post("/smallest-change", json={"row": rows[0], "fixed": ["age"]}).json()
    assert "age" not in {one["column"] for one in told["changes"] or []}
    fixed = list(table.columns)
    told = client.post("/smallest-change", json={"row": rows[0], "fixed": fixed}).json()
    assert told["changes"] is None
    assert "No change of one or two columns" in told["sentence"]


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
        ({"fixed": "age"}, "fixed: input should be a valid array"),
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
    from sklearn.linear_model import LogisticRegression

    from covey.tables import TableClassifier

    y = (table["age"].fillna(50) > 50).astype(int).to_numpy()
    fitted = TableClassifier(LogisticRegression(max_iter=5000)).fit(table, y)
    client = TestClient(make_app(fitted), base_url="http://localhost")
    row = {**rows[0], "age": 30}
    for to in (1, "1"):
        told = client.post("/smallest-change", json={"row": row, "to": to}).json()
        assert told["prediction"] == 1
