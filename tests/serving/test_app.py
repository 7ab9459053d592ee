"""The endpoints, as programs use them."""

import asyncio
import gzip
import importlib
import json
import math
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from covey import SubsetEnsembleClassifier
from covey.serving import Limits, _requests, make_app
from tests.reporting.conftest import Outline
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
    assert "It is right on 90 %" in facts["answers"][0]["said"][0]
    assert [one["name"] for one in facts["columns"]] == model.feature_names_in_.tolist()


@pytest.mark.parametrize("kept", [None, [], {"target": "x"}])
def test_what_is_no_evaluation_is_not_shown(model, kept, monkeypatch):
    monkeypatch.setattr(model, "evaluation_", kept)
    client = TestClient(make_app(model), base_url="http://localhost")
    facts = client.get("/model").json()
    assert facts["answers"] == []
    assert facts["rows"] is None
    assert client.get("/").status_code == 200


def test_names_of_a_kept_evaluation_are_shortened(model, monkeypatch):
    long = replace(model.evaluation_, target="x" * 100_000, n_rows=-1)
    monkeypatch.setattr(model, "evaluation_", long)
    facts = TestClient(make_app(model), base_url="http://localhost").get("/model").json()
    assert len(facts["predicts"]) <= 200
    assert facts["rows"] is None
    assert max(len(line) for one in facts["answers"] for line in one["said"]) <= 1_000


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


def test_answers_are_as_they_are_described(client, regressor, rows):
    numbers = TestClient(make_app(regressor), base_url="http://localhost")
    for each, to in ((client, None), (numbers, 0)):
        for path, body, kind in (
            ("/predict", {"rows": rows[:3]}, _requests.Predictions),
            ("/explain", {"row": rows[0]}, _requests.Explanation),
            ("/what-if", {"row": rows[0], "changes": {"age": 20}}, _requests.Comparison),
            ("/smallest-change", {"row": rows[0], "to": to}, _requests.SmallestChange),
        ):
            told = each.post(path, json=body).json()
            assert kind.model_validate(told).model_dump(exclude_unset=True, mode="json") == told


def test_the_pages_that_load_scripts_of_other_hosts_are_not_there(client):
    for path in ("/docs", "/redoc", "/docs/oauth2-redirect"):
        assert client.get(path).status_code == 404


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    for name in [name for name in sys.modules if name.startswith("covey.serving")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r'pip install "covey\[serve\]"'):
        importlib.import_module("covey.serving")


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
        assert answer.status_code in (400, 422)
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


@pytest.mark.slow
def test_a_wide_model_is_served(table):
    import pandas as pd

    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 1000)).round(3)).add_prefix("x")
    fitted = SubsetEnsembleClassifier(1, max_iter=5, random_state=0).fit(X, [0, 1] * 10)
    client = TestClient(make_app(fitted), base_url="http://localhost")
    row = {f"x{k}": 0.5 for k in range(1000)}
    assert client.post("/predict", json={"rows": [row] * 20}).status_code == 200
    assert client.get("/").status_code == 200


# -- the page -----------------------------------------------------------------------------


def test_the_page_is_one_file_that_names_no_other_host(client):
    html = client.get("/").text
    assert not re.findall(r"https?://", html)
    sources = re.findall(r"(?:src|href)=\"([^\"]*)\"", html)
    assert set(sources) == {"data:,", "#answer", "openapi.json", "model"}


def test_names_and_labels_are_text_wherever_they_stand(client):
    outline = Outline(client.get("/").text)
    assert outline.counts["script"] == 2
    assert outline.counts["title"] == 1


def test_facts_within_the_page_are_those_of_the_model(client):
    html = client.get("/").text
    held = re.search(r'id="facts">(.*?)</script>', html, re.DOTALL)[1]
    assert "<" not in held
    facts = json.loads(held)
    assert facts == client.get("/model").json()
    assert [one["name"] for one in facts["columns"]][1:3] == [NASTY, QUOTES]


def test_the_policy_allows_the_pages_own_script_and_nothing_else(client):
    policy = client.get("/").headers["content-security-policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["frame-ancestors"] == "'none'"
    assert rules["connect-src"] == "'self'"
    assert re.fullmatch(r"'sha256-[\w+/]{43}='", rules["script-src"])
    assert "unsafe" not in policy


# -- what stands before the application ---------------------------------------------------


@pytest.fixture(scope="module")
def small(model):
    """A client of an application with low limits."""
    limits = Limits(rows=3, bytes=2000, seconds=0.2)
    with TestClient(make_app(model, limits), base_url="http://127.0.0.1:99") as client:
        yield client


def error_of(answer, status):
    assert answer.status_code == status
    told = answer.json()
    assert list(told) == ["error"]
    assert told["error"].endswith(".")
    return told["error"]


@pytest.mark.parametrize("host", ["evil.org", "127.0.0.1.evil.org", "[::2]:80", "", "localhost@x"])
def test_a_host_that_is_not_this_machine_is_refused(small, host):
    """Else a page whose name points to 127.0.0.1 could read what the server answers."""
    answer = small.get("/model", headers={"Host": host})
    assert "not this machine's" in error_of(answer, 421)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8000", "[::1]:8000"])
def test_this_machine_has_several_names(small, host):
    assert small.get("/health", headers={"Host": host}).status_code == 200


def test_any_host_may_be_allowed(model):
    client = TestClient(make_app(model, hosts=None), base_url="http://models.example")
    assert client.get("/health").status_code == 200


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "x"])
def test_a_body_must_say_that_it_is_json(small, kind):
    """Forms of other pages can send everything else without being asked."""
    headers = {} if kind is None else {"Content-Type": kind}
    answer = small.post("/predict", content=b"{}", headers=headers)
    assert "Content-Type: application/json" in error_of(answer, 415)


def test_a_compressed_body_is_not_unpacked(small):
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    answer = small.post("/predict", content=gzip.compress(b"{}"), headers=headers)
    assert "not JSON" in error_of(answer, 400)


def test_a_long_head_is_refused_though_it_comes_at_once(small):
    assert "longer than 32,768" in error_of(small.get("/", headers={"X": "x" * 55_000}), 431)
    assert "longer than 32,768" in error_of(small.get("/health?" + "x" * 55_000), 431)


def test_a_long_body_is_refused_whether_or_not_it_tells_its_length(small):
    headers = {"Content-Type": "application/json"}
    answer = small.post("/predict", content=b" " * 2001, headers=headers)
    assert "longer than 2,000 bytes" in error_of(answer, 413)
    answer = small.post("/predict", content=iter([b" " * 1500] * 2), headers=headers)
    assert "longer than 2,000 bytes" in error_of(answer, 413)
    assert answer.headers["connection"] == "close"


def run(app, scope, receive):
    """What an application sends."""
    sent = []

    async def send(message):
        sent.append(message)

    base = {"type": "http", "method": "POST", "path": "/predict", "query_string": b""}
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    asyncio.run(app({**base, "headers": headers, **scope}, receive, send))
    return sent


def test_a_body_that_comes_too_slowly_is_refused(model):
    async def receive():
        await asyncio.sleep(0.05)
        return {"type": "http.request", "body": b" ", "more_body": True}

    sent = run(make_app(model, Limits(seconds=0.3)), {}, receive)
    assert sent[0]["status"] == 408
    assert "longer than 0.3 seconds" in json.loads(sent[1]["body"])["error"]


def test_a_client_that_goes_is_no_failure(model, capsys):
    async def receive():
        return {"type": "http.disconnect"}

    assert run(make_app(model), {}, receive)[0]["status"] == 400
    assert capsys.readouterr().err == ""


def test_a_failure_inside_is_a_sentence_and_a_line_for_the_terminal(model, rows, capsys):
    app = make_app(model)
    client = TestClient(app, base_url="http://localhost", raise_server_exceptions=False)

    def broken(X):
        raise RuntimeError("secret \x1b[2J of /home")

    original = model.predict_proba
    model.predict_proba = broken
    try:
        answer = client.post("/predict", json={"rows": rows[:1]})
    finally:
        del model.predict_proba
    assert model.predict_proba == original
    told = error_of(answer, 500)
    assert "secret" not in told
    line = capsys.readouterr().err
    assert "RuntimeError" in line
    assert "\x1b" not in line
    assert line.count("\n") == 1


def test_every_answer_tells_browsers_to_be_careful(client, rows):
    answers = [
        client.get("/"),
        client.get("/nowhere"),
        client.post("/predict", json={"rows": rows[:1]}),
        client.post("/predict", json={}),
        client.post("/predict"),
    ]
    assert [answer.status_code for answer in answers] == [200, 404, 200, 422, 415]
    for answer in answers:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers


def test_rows_that_were_predicted_are_checked_and_not_kept(model, rows):
    app = make_app(model)
    client = TestClient(app, base_url="http://localhost")
    assert "No row was predicted yet" in error_of(client.get("/check"), 503)
    client.post("/what-if", json={"row": rows[0], "changes": {}})
    assert client.get("/check").status_code == 503  # what might be is not counted
    client.post("/predict", json={"rows": rows})
    found = checked(client, len(rows))
    assert found["n_rows"] == len(rows)
    assert found["holds"]
    client.post("/predict", json={"rows": [{**row, "age": 10_000.0} for row in rows]})
    found = checked(client, 2 * len(rows))
    assert "age" in found["changed"]
    assert 0 < found["expected"][0] < 1
    assert "seen, such as" not in " ".join(found["sentences"])


def checked(client, n_rows):
    """The check of a server once it has counted so many rows: it counts after it has answered."""
    for _ in range(200):
        answer = client.get("/check")
        if answer.status_code == 200 and answer.json()["n_rows"] >= n_rows:
            return answer.json()
    raise AssertionError("the rows were not counted")


def test_counts_of_rows_begin_anew_before_they_are_too_old(model, rows, monkeypatch):
    answers = importlib.import_module("covey.serving._answers")
    monkeypatch.setattr(answers, "_ROWS_COUNTED", 100)
    client = TestClient(make_app(model), base_url="http://localhost")
    for number in range(1, 5):
        client.post("/predict", json={"rows": rows[:60]})
        seen = checked(client, 60)["n_rows"]
        assert seen <= 160, number
