"""Requests, and the sentences about what is wrong with them."""

import json

import pytest
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from covey.serving._app import refused
from covey.serving._batches import Limits
from covey.serving._columns import Column
from covey.serving._requests import requests_of, sentence_of
from covey.tables import Dates

DATES = Dates(None, None, "us", ("year",))
COLUMNS = [Column("age", "number"), Column("town", "category"), Column("day", "date", dates=DATES)]
GOOD = {"age": 3.5, "town": "Rome", "day": "2024-01-31"}


class BadRequestError(Exception):
    """A sentence about a request."""


def echo(columns, max_rows=5):
    """An application that sends back what it was sent, once it is checked."""
    app = FastAPI()
    Predict, _, WhatIf, _ = requests_of(columns, max_rows)

    @app.post("/predict")
    async def predict(body: Predict):
        return body.rows

    @app.post("/what-if")
    async def what_if(body: WhatIf):
        return body.changes

    @app.exception_handler(RequestValidationError)
    async def wrong(request, error):
        return JSONResponse({"error": sentence_of(error)}, 422)

    @app.exception_handler(HTTPException)
    async def refuse(request, error):
        return refused(error, Limits())

    return TestClient(app)


@pytest.fixture(scope="module")
def requests():
    return echo(COLUMNS)


def asked(client, path, body):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = client.post(path, content=data, headers={"Content-Type": "application/json"})
    if answer.status_code == 200:
        return answer.json()
    assert answer.status_code in (400, 422)
    raise BadRequestError(answer.json()["error"])


def predicted(client, body):
    return asked(client, "/predict", body)


def test_rows_come_through_with_gaps_and_without_other_columns(requests):
    gaps = dict.fromkeys(GOOD)
    found = predicted(requests, {"rows": [GOOD, {**gaps, "other": [1]}]})
    assert found == [{**GOOD, "day": "2024-01-31T00:00:00"}, gaps]


def test_values_of_text_keep_their_kind(requests):
    for value in ("1", 1, 1.5, True):
        (row,) = predicted(requests, {"rows": [{**GOOD, "town": value}]})
        assert row["town"] == value
        assert type(row["town"]) is type(value)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "The body must be a JSON object, got None"),
        (b"\xff", "not JSON"),
        (b"{", "not JSON that can be read: expecting property name"),
        (b"[]", "must be a JSON object, got []"),
        (b"null", "must be a JSON object, got None"),
        ({}, "The body lacks 'rows', a list of rows."),
        ({"row": GOOD, "rows": [GOOD]}, "The body has 'row', which is not known here."),
        ({"rows": []}, "rows: list should have at least 1 item"),
        ({"rows": [GOOD] * 6}, "rows: list should have at most 5 items"),
        ({"rows": GOOD}, "rows: input should be a valid list"),
        ({"rows": [[]]}, "Row 1 must be a JSON object, got []"),
        ({"rows": [GOOD], "level": 1}, "level: input should be less than 1, got 1"),
        ({"rows": [GOOD], "level": "x"}, "level: "),
        ({"rows": [GOOD], "more": 1}, "The body has 'more', which is not known"),
        ({"rows": [GOOD, {"age": 1}]}, "Row 2 lacks 'town'; give null"),
        ({"rows": [{**GOOD, "age": "x"}]}, "Row 1, column 'age': 'x' is not a number"),
        ({"rows": [{**GOOD, "age": ""}]}, "'' is not a number"),
        ({"rows": [{**GOOD, "age": []}]}, "[] is not a number"),
        ({"rows": [{**GOOD, "age": {"a": 1}}]}, "is not a number"),
        ({"rows": [{**GOOD, "age": float("nan")}]}, "nan is not a finite number"),
        ({"rows": [{**GOOD, "age": float("inf")}]}, "inf is not a finite number"),
        ({"rows": [{**GOOD, "age": 10**400}]}, "Row 1, column 'age': 1000"),
        (b'{"rows": [{"age": 1%b}]}' % (b"0" * 5000), "not JSON that can be read"),
        ({"rows": [{**GOOD, "town": 10**400}]}, "column 'town': "),
        ({"rows": [{**GOOD, "town": []}]}, "Row 1, column 'town': [] is not text"),
        (
            {"rows": [{**GOOD, "town": "x" * 10_001}]},
            "should have at most 10000 characters",
        ),
        ({"rows": [{**GOOD, "day": 5}]}, "column 'day': 5 is not a date; give one such as"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence_that_names_it(requests, body, sentence):
    with pytest.raises(BadRequestError) as caught:
        predicted(requests, body)
    told = str(caught.value)
    assert sentence in told
    assert told.endswith(".")
    assert "\n" not in told
    assert len(told) < 300


def test_many_wrong_rows_cost_no_more_than_one():
    """No list of a million things that are wrong."""
    wide = echo([Column(f"x{k}", "number") for k in range(300)], 1000)
    with pytest.raises(BadRequestError, match="Row 1 lacks 'x0'"):
        predicted(wide, {"rows": [{}] * 1000})


@pytest.mark.parametrize("sign", [b"[", b'{"rows":', b'{"rows":[{"age":['])
def test_bodies_of_any_depth_are_refused(requests, sign):
    with pytest.raises(BadRequestError, match=r"\.$"):
        predicted(requests, sign * 30_000)


def test_a_change_names_a_column_that_the_model_has(requests):
    changes = {"age": None, "town": "Oslo"}
    assert asked(requests, "/what-if", {"row": GOOD, "changes": changes}) == changes
    for changes, sentence in (
        ({"x": 1}, "The row has 'x', which is not known here"),
        ({"\ud800": 1}, "The row "),
        ({"age": "old"}, "The row, column 'age': 'old' is not a number"),
        ([], "The row must be a JSON object"),
    ):
        with pytest.raises(BadRequestError, match=sentence):
            asked(requests, "/what-if", {"row": GOOD, "changes": changes})
    with pytest.raises(BadRequestError, match="The body lacks 'row'"):
        asked(requests, "/what-if", {})


@given(
    st.lists(
        st.text(max_size=8).filter(lambda text: text.isprintable()),
        unique=True,
        min_size=1,
        max_size=5,
    )
)
def test_columns_may_have_any_names(names):
    requests = echo([Column(name, "number") for name in names])
    row = {name: float(place) for place, name in enumerate(names)}
    assert predicted(requests, {"rows": [row]}) == [row]
    schema = requests.get("/openapi.json").json()["components"]["schemas"]["Row"]
    assert list(schema["properties"]) == names
    with pytest.raises(BadRequestError, match="Row 1 lacks") as caught:
        predicted(requests, {"rows": [dict(list(row.items())[1:])]})
    assert repr(names[0]) in str(caught.value)


@pytest.mark.parametrize(
    "name", ["rows", "row", "level", "changes", "model_config", "column_1", "__class__", "self"]
)
def test_columns_may_be_named_like_parts_of_requests(name):
    requests = echo([Column(name, "number"), Column("column_0", "text")])
    row = {name: 1.0, "column_0": "x"}
    assert predicted(requests, {"rows": [row]}) == [row]
    with pytest.raises(BadRequestError, match=f"Row 1, column '{name}': 'x' is not a number"):
        predicted(requests, {"rows": [{**row, name: "x"}]})
