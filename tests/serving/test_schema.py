"""Requests and the sentences about them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.serving._fields import Field
from covey.serving._schema import BadRequestError, Requests

FIELDS = [Field("age", "number"), Field("town", "category"), Field("day", "date")]
GOOD = {"age": 3.5, "town": "Rome", "day": "2024-01-31"}


@pytest.fixture(scope="module")
def requests():
    return Requests(FIELDS, 5)


def predicted(requests, body):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    asked = requests.parse(requests.predict, data)
    return [requests.values(row) for row in asked.rows]


def test_rows_come_through_with_gaps_and_without_other_columns(requests):
    gaps = dict.fromkeys(GOOD)
    assert predicted(requests, {"rows": [GOOD, {**gaps, "other": [1]}]}) == [GOOD, gaps]


def test_values_of_text_keep_their_kind(requests):
    for value in ("1", 1, 1.5, True):
        (row,) = predicted(requests, {"rows": [{**GOOD, "town": value}]})
        assert row["town"] == value
        assert type(row["town"]) is type(value)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "The body is not JSON that can be read: EOF"),
        (b"\xff", "not JSON"),
        (b"[" * 10_000, "not JSON that can be read: recursion limit"),
        (b"[]", "must be a JSON object, got []"),
        (b"null", "must be a JSON object, got None"),
        ({}, "The body lacks 'rows'"),
        ({"rows": []}, "has 0 rows; give 1 to 5"),
        ({"rows": [GOOD] * 6}, "has 6 rows; give 1 to 5"),
        ({"rows": GOOD}, "rows: input should be a valid array"),
        ({"rows": [[]]}, "Row 1 must be an object of columns and values"),
        ({"rows": [GOOD], "level": 1}, "level: input should be less than 1, got 1"),
        ({"rows": [GOOD], "level": "x"}, "level: "),
        ({"rows": [GOOD], "more": 1}, "has 'more', which is not known"),
        ({"rows": [GOOD, {"age": 1}]}, "Row 2 lacks the column 'town'; give null"),
        ({"rows": [{**GOOD, "age": "x"}]}, "Row 1, column 'age': 'x' is not a number"),
        ({"rows": [{**GOOD, "age": ""}]}, "'' is not a number"),
        ({"rows": [{**GOOD, "age": []}]}, "[] is not a number"),
        ({"rows": [{**GOOD, "age": {"a": 1}}]}, "is not a number"),
        ({"rows": [{**GOOD, "age": float("nan")}]}, "nan is not a finite number"),
        ({"rows": [{**GOOD, "age": float("inf")}]}, "inf is not a finite number"),
        ({"rows": [{**GOOD, "age": 10**400}]}, "00... is not a "),
        (b'{"rows": [{"age": 1%b}]}' % (b"0" * 5000), "not JSON that can be read: number out of"),
        ({"rows": [{**GOOD, "town": 10**400}]}, "column 'town': "),
        ({"rows": [{**GOOD, "town": []}]}, "Row 1, column 'town': [] is not text"),
        ({"rows": [{**GOOD, "town": "x" * 10_001}]}, "text of 10,001 characters; the most is"),
        ({"rows": [{**GOOD, "day": 5}]}, "column 'day': 5 is not a date"),
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
    assert caught.value.status == 422


def test_many_wrong_rows_cost_no_more_than_one():
    """No list of a million things that are wrong."""
    wide = Requests([Field(f"x{k}", "number") for k in range(300)], 1000)
    body = json.dumps({"rows": [{}] * 1000}).encode()
    with pytest.raises(BadRequestError, match="Row 1 lacks the column 'x0'"):
        wide.parse(wide.predict, body)


def test_a_change_names_a_column_that_the_model_has(requests):
    body = json.dumps({"row": GOOD, "changes": {"age": None, "town": "Oslo"}}).encode()
    asked = requests.parse(requests.what_if, body)
    assert requests.given(asked.changes) == {"age": None, "town": "Oslo"}
    for changes, sentence in (
        ({"x": 1}, "has no column 'x'"),
        ({"age": "old"}, "The row, column 'age': 'old' is not a number"),
    ):
        body = json.dumps({"row": GOOD, "changes": changes}).encode()
        with pytest.raises(BadRequestError, match=sentence):
            requests.parse(requests.what_if, body)


@given(
    st.lists(
        st.text(max_size=8).filter(lambda text: text.isprintable()),
        unique=True,
        min_size=1,
        max_size=5,
    )
)
def test_columns_may_have_any_names(names):
    requests = Requests([Field(name, "number") for name in names], 3)
    row = {name: float(place) for place, name in enumerate(names)}
    assert predicted(requests, {"rows": [row]}) == [row]
    schema = requests.row.model_json_schema()
    assert list(schema["properties"]) == names
    with pytest.raises(BadRequestError, match="Row 1 lacks the column") as caught:
        predicted(requests, {"rows": [dict(list(row.items())[1:])]})
    assert repr(names[0]) in str(caught.value)


@pytest.mark.parametrize(
    "name", ["rows", "row", "level", "changes", "model_config", "column_1", "__class__", "self"]
)
def test_columns_may_be_named_like_parts_of_requests(name):
    requests = Requests([Field(name, "number"), Field("column_0", "text")], 3)
    row = {name: 1.0, "column_0": "x"}
    assert predicted(requests, {"rows": [row]}) == [row]
    with pytest.raises(BadRequestError, match=f"Row 1, column '{name}': 'x' is not a number"):
        predicted(requests, {"rows": [{**row, name: "x"}]})
