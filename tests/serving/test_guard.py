"""What stands before the application."""

import asyncio
import json

import pytest
from fastapi.testclient import TestClient

from covey.serving import Limits, make_app


@pytest.fixture(scope="module")
def small(model):
    """A client of an application with low limits."""
    limits = Limits(rows=3, bytes=2000, rate=0, seconds=0.2)
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


def test_a_client_that_asks_too_often_is_told_when_to_come_back(model):
    client = TestClient(make_app(model, Limits(rate=5)), base_url="http://localhost")
    answers = [client.get("/health") for _ in range(12)]
    statuses = [answer.status_code for answer in answers]
    assert statuses[:5] == [200] * 5
    assert statuses.count(429) >= 5
    late = next(answer for answer in answers if answer.status_code == 429)
    assert "More than 5 requests a second" in error_of(late, 429)
    assert int(late.headers["retry-after"]) >= 1


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "x"])
def test_a_body_must_say_that_it_is_json(small, kind):
    """Forms of other pages can send everything else without being asked."""
    headers = {} if kind is None else {"Content-Type": kind}
    answer = small.post("/predict", content=b"{}", headers=headers)
    assert "Content-Type: application/json" in error_of(answer, 415)


def test_a_body_must_not_be_compressed(small):
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert "compressed" in error_of(small.post("/predict", content=b"x", headers=headers), 415)


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

    original = model.estimator_.predict_proba
    model.estimator_.predict_proba = broken
    try:
        answer = client.post("/predict", json={"rows": rows[:1]})
    finally:
        del model.estimator_.predict_proba
    assert model.estimator_.predict_proba == original
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
