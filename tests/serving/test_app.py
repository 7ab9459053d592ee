"""The endpoints, as programs use them."""

import json
import math

import numpy as np
import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from covey.serving import Limits, make_app
from tests.serving.conftest import NASTY, QUOTES


def test_rows_are_predicted_in_their_order(client, model, table, rows):
    told = client.post("/predict", json={"rows": rows, "level": 0.8}).json()
    assert told["level"] == 0.8
    found = told["predictions"]
    assert [one["prediction"] for one in found] == model.predict(table).tolist()
    expected = model.predict_proba(table).max(axis=1)
    assert np.allclose([one["probability"] for one in found], expected, rtol=0, atol=1e-12)


def test_columns_may_come_in_any_order_and_with_others(client, rows):
    row = dict(reversed(rows[0].items()))
    one = client.post("/predict", json={"rows": [rows[0]]}).json()
    assert client.post("/predict", json={"rows": [{**row, "id": 7}]}).json() == one


def test_a_level_needs_a_model_that_knows_how_far_off_it_is(regressor, rows):
    client = TestClient(make_app(regressor), base_url="http://localhost")
    assert client.post("/predict", json={"rows": rows[:1]}).status_code == 200
    answer = client.post("/predict", json={"rows": rows[:1], "level": 0.9})
    assert answer.status_code == 422
    assert "does not know how far off it is" in answer.json()["error"]
    assert not client.get("/model").json()["levels"]


def test_what_if_gives_the_answers_before_and_after(client, rows):
    changes = {"age": 80, NASTY: 3.0}
    told = client.post("/what-if", json={"row": rows[0], "changes": changes}).json()
    asked = {"rows": [rows[0], {**rows[0], **changes}]}
    before, after = client.post("/predict", json=asked).json()["predictions"]
    assert told == {"before": before, "after": after}
    assert after["probabilities"]["yes & <i>"] > before["probabilities"]["yes & <i>"]


def test_the_facts_of_the_model_are_told(client, model):
    facts = client.get("/model").json()
    assert facts["classes"] == model.classes_.tolist()
    assert facts["rows"] == 120
    assert facts["quality"]["accuracy"] == 0.9
    assert [one["name"] for one in facts["columns"]] == model.feature_names_in_.tolist()


@pytest.mark.parametrize(
    "about",
    [
        None,
        [],
        {"target": 3, "n_rows": "x", "scores": {}, "held_out": 5},
        {"target": "x" * 100_000, "n_rows": -1, "scores": [[]]},
        {"scores": [{"accuracy": math.inf, "low": None, "high": "x"}]},
        {"scores": [{"accuracy": "<script>", "low": 0, "high": 1}]},
    ],
)
def test_what_the_maker_of_a_file_has_noted_is_not_trusted(model, about, monkeypatch):
    monkeypatch.setattr(model, "about_", about)
    client = TestClient(make_app(model), base_url="http://localhost")
    facts = client.get("/model").json()
    assert facts["quality"] is None
    assert facts["rows"] is None
    assert len(facts["predicts"]) <= 200
    assert client.get("/").status_code == 200


def test_the_description_names_every_column_and_every_endpoint(client, table):
    described = client.get("/openapi.json").json()
    row = described["components"]["schemas"]["Row"]
    assert list(row["properties"]) == row["required"] == list(table.columns)
    assert row["properties"][QUOTES]["examples"] == ["<b>bold</b>", "plain", "東京"]
    posts = [path for path, how in described["paths"].items() if "post" in how]
    assert {"/predict", "/explain", "/what-if", "/smallest-change"} == set(posts)
    for path in posts:
        body = described["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        name = body["schema"]["$ref"].rpartition("/")[2]
        assert name in described["components"]["schemas"]
    references = set(_references(described))
    assert references <= {
        f"#/components/schemas/{name}" for name in described["components"]["schemas"]
    }
    assert client.get("/openapi.json").json() == described


def _references(part):
    if isinstance(part, dict):
        for name, value in part.items():
            if name == "$ref":
                yield value
            else:
                yield from _references(value)
    elif isinstance(part, list):
        for value in part:
            yield from _references(value)


def test_the_pages_that_load_scripts_of_other_hosts_are_not_there(client):
    for path in ("/docs", "/redoc", "/docs/oauth2-redirect"):
        assert client.get(path).status_code == 404


def test_counts_are_kept(model, rows):
    client = TestClient(make_app(model), base_url="http://localhost")
    client.post("/predict", json={"rows": rows[:7]})
    client.post("/predict", json={})
    client.get("/strange%1b%22path")
    text = client.get("/metrics").text
    assert 'covey_requests_total{path="/predict",status="200"} 1\n' in text
    assert 'covey_requests_total{path="/predict",status="422"} 1\n' in text
    assert 'covey_requests_total{path="other",status="404"} 1\n' in text
    assert "covey_rows_total 7\n" in text


def test_a_missing_extra_is_named(model, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "fastapi", None)
    with pytest.raises(ImportError, match=r'pip install "covey\[serve\]"'):
        make_app(model)


# -- anything at all -------------------------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([1e300, -1e300, 1e308, 5e-324, 10**25, "NaN", "2021-02-03", "plain"])
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def bodies(draw, names):
    """Requests, more or less right."""
    row = {name: draw(JSON) for name in names if draw(st.integers(0, 30))}
    if draw(st.booleans()):
        row = dict.fromkeys(names) | {draw(st.sampled_from(names)): draw(JSON)}
    body = draw(
        st.sampled_from(
            [{"rows": [row]}, {"row": row}, {"row": row, "changes": row}, {"rows": [row] * 30}]
        )
    )
    if draw(st.integers(0, 3)) == 0:
        body = {
            **body,
            draw(st.sampled_from(["level", "top", "rows", "x", "to", "fixed"])): draw(JSON),
        }
    return body


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_every_request_gets_an_answer_or_one_sentence(data, client, table):
    path = data.draw(st.sampled_from(["/predict", "/explain", "/what-if", "/smallest-change"]))
    raw = data.draw(
        bodies(list(table.columns)).map(lambda body: json.dumps(body).encode())
        | JSON.map(lambda body: json.dumps(body).encode())
        | st.binary(max_size=60)
    )
    answer = client.post(path, content=raw, headers={"Content-Type": "application/json"})
    told = json.loads(answer.text, parse_constant=lambda name: pytest.fail(name))
    if answer.status_code == 200:
        assert "error" not in told
    else:
        assert answer.status_code == 422
        assert list(told) == ["error"]
        assert told["error"].endswith(".")
        assert "\n" not in told["error"]
        assert len(told["error"]) < 500


@pytest.mark.parametrize("size", [1e300, -1e300, 1e308, 5e-324, 1e15])
def test_numbers_of_any_size_are_answered_finitely(client, table, size):
    row = dict.fromkeys(table.columns) | {"age": size, NASTY: size}
    answer = client.post("/predict", json={"rows": [row]})
    assert answer.status_code == 200
    assert math.isclose(sum(answer.json()["predictions"][0]["probabilities"].values()), 1)


def test_a_wide_model_is_served(table):
    import pandas as pd
    from sklearn.dummy import DummyClassifier

    from covey.tables import TableClassifier

    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 1000)).round(3))
    fitted = TableClassifier(DummyClassifier()).fit(X, [0, 1] * 10)
    client = TestClient(make_app(fitted, Limits(rate=0)), base_url="http://localhost")
    row = {str(k): 0.5 for k in range(1000)}
    assert client.post("/predict", json={"rows": [row] * 20}).status_code == 200
    assert client.get("/").status_code == 200
