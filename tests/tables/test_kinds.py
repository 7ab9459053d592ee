"""The one inference of kinds: numbers, codes, dates, ids."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from covey.tables._kinds import kind_of_text, look


def looks(**columns):
    return {one.name: one for one in look(pd.DataFrame(columns))}


def test_ids_are_noticed_and_measurements_are_not():
    rng = np.random.default_rng(0)
    found = looks(
        code=[f"X{number}" for number in range(50)],
        count=range(100, 150),
        customer_id=rng.permutation(10**6)[:50],
        rownames=rng.permutation(10**6)[:50],
        caseid=rng.permutation(10**6)[:50],
        paid=rng.permutation(10**6)[:50],
        income=rng.permutation(10**6)[:50],
        height=rng.normal(size=50),
        review=[f"the {number}th time that I liked it" for number in range(50)],
        day=pd.date_range("2024-01-01", periods=50).astype(str),
        seen=pd.date_range("2024-01-01", periods=50),
    )
    dropped = {name for name, one in found.items() if one.drop}
    assert dropped == {"code", "count", "customer_id", "rownames", "caseid"}
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


def test_one_word_among_many_numbers_is_a_gap_and_several_are_text():
    text = pa.array(["1"] * 99 + ["x"])
    found = kind_of_text(text)
    assert found.kind == "number"
    assert found.remark("mass", 100) == (
        "1 of 100 values of mass is not a number ('x'), read as missing"
    )
    assert kind_of_text(pa.array(["1"] * 80 + ["x"] * 20)).kind == "text"


def test_numbers_too_large_are_named():
    (column,) = look(pd.DataFrame({"x": [1.0, 1e300, *range(40)]}))
    assert column.missing == 1
    assert column.note == (
        "1 of 42 values of x is too large to compute with ('1e+300'), read as missing"
    )


def test_ids_that_repeat_are_left_out_and_ranks_and_names_are_not():
    rng = np.random.default_rng(0)
    places = [
        f"{one}{two}"
        for one in ("Nor", "Sud", "Wes", "Ost")
        for two in ("heim", "burg", "stadt", "feld", "au", "dorf", "berg", "hafen", "tal", "bach")
    ]
    found = looks(
        customer_id=rng.integers(1, 30, 40),
        product_key=[f"K{number}" for number in rng.integers(1, 40, 40)],
        ward_id=rng.integers(1, 4, 40),
        rank=range(1, 41),
        year=range(1980, 2020),
        town=places,
        token=[f"{number:08x}" for number in rng.integers(0, 2**31, 40)],
        entered=[1_600_000_000 + 977 * number for number in range(40)],
        shuffled=rng.permutation(10**6)[:40],
    )
    dropped = {name for name, one in found.items() if one.drop}
    assert dropped == {"customer_id", "product_key", "token"}
    assert "--group customer_id" in found["customer_id"].drop
    assert {name for name, one in found.items() if one.note} == {"rank", "year", "entered"}
    assert "--drop entered" in found["entered"].note
    assert "--time entered" in found["entered"].note


def test_long_whole_numbers_are_codes_in_any_form():
    for values in ([10**18 + 1, 10**18 + 2], [2**60, 2**61]):
        kind = "text" if values[0] % 2 else "number"
        for form in (
            pd.Series(values),
            pd.Series(values).astype(str),
            pd.Series([*values, None], dtype="Int64"),
        ):
            assert look(form.to_frame("x"))[0].kind == kind
