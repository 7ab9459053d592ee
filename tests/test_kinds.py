"""The one inference of kinds: numbers, codes, dates, ids."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from covey._kinds import kind_of_text, look
from covey._numbers import as_numbers


def looks(**columns):
    return {one.name: one for one in look(pd.DataFrame(columns))}


def test_ids_are_noticed_and_measurements_are_not():
    rng = np.random.default_rng(0)
    found = looks(
        code=[f"X{number}" for number in range(50)],
        count=range(100, 150),
        customer_id=rng.permutation(10**6)[:50],
        income=rng.permutation(10**6)[:50],
        height=rng.normal(size=50),
        review=[f"the {number}th time that I liked it" for number in range(50)],
        day=pd.date_range("2024-01-01", periods=50).astype(str),
        seen=pd.date_range("2024-01-01", periods=50),
    )
    assert {name for name, one in found.items() if one.drop} == {"code", "count", "customer_id"}
    assert {found[name].kind for name in ("day", "seen")} == {"date"}
    assert not look(pd.DataFrame({"code": list("abcdefghijklmn")}), keep=["code"])[0].drop


def test_kinds_of_columns():
    found = looks(
        flag=[True, False] * 20,
        zip=["01234", "99999"] * 20,
        category=pd.Categorical(["a", "b"] * 20),
        nested=[[1], [2]] * 20,
        empty=[None] * 40,
        constant=[1] * 40,
        sometimes=[1, None] * 20,
        mostly=["1", "2"] * 19 + ["3", "unknown"],
    )
    assert {name: one.kind for name, one in found.items()} == {
        "flag": "text",
        "zip": "text",
        "category": "text",
        "nested": "nested",
        "empty": "empty",
        "constant": "number",
        "sometimes": "number",
        "mostly": "number",
    }
    assert {name for name, one in found.items() if one.drop} == {"nested", "empty", "constant"}
    assert found["mostly"].missing == 1
    assert "'unknown'" in found["mostly"].note


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2.5e3", " 3 ", "+4", ".5", "6.", "inf"], "number"),
        (["1"] * 19 + ["x"], "number"),
        (["1"] * 18 + ["x"] * 2, "number"),
        (["1"] * 17 + ["x"] * 3, "text"),
        (["1", "nan"], "text"),
        (["01234", "99999"], "text"),
        (["0", "0.5"], "number"),
        ([str(10**18 + 1), str(10**18 + 2)], "text"),
        ([str(2**60), "7"], "number"),
        (["2024-01-31", "31.1.2024"], "date"),
        (["0x1A", "1_000"], "text"),
    ],
)
def test_kinds_of_text(values, kind):
    assert kind_of_text(pa.array(values)).kind == kind
    assert look(pd.DataFrame({"x": values}))[0].kind == kind


def test_one_word_among_numbers_is_text_where_all_must_be_numbers():
    text = pa.array(["1"] * 99 + ["x"])
    found = kind_of_text(text)
    assert found.kind == "number"
    assert found.remark("mass", 100) == (
        "1 of 100 values of mass is not a number ('x'), read as missing"
    )
    assert kind_of_text(text, enough=1.0).kind == "text"


def test_what_is_no_number_is_null():
    numbers = as_numbers(pa.array([" 1.5", "x", None, "-inf", "1,5"]))
    assert numbers.to_pylist() == [1.5, None, None, -np.inf, None]


def test_long_whole_numbers_are_codes_in_any_form():
    for values in ([10**18 + 1, 10**18 + 2], [2**60, 2**61]):
        kind = "text" if values[0] % 2 else "number"
        for form in (
            pd.Series(values),
            pd.Series(values).astype(str),
            pd.Series([*values, None], dtype="Int64"),
        ):
            assert look(form.to_frame("x"))[0].kind == kind
