"""Numbers as people write them, in the format of their column."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covey.tables._kinds import kind_of_text
from covey.tables._numbers import NumberFormat, are_codes, as_numbers, read_numbers

WRITTEN = {
    "money": (["$41,000", "$1,200.50", "$ 7"], [41_000, 1200.5, 7]),
    "thousands": (["3,040", "1,250", "900"], [3040, 1250, 900]),
    "shares": (["86.5%", "12 %", "3%"], [86.5, 12, 3]),
    "points for thousands": (["€ 1.200,50", "€ 3,5", "€ 7"], [1200.5, 3.5, 7]),
    "money behind": (["1.200 €", "3,5 €", "7 €"], [1200, 3.5, 7]),
    "parentheses": (["(1,234.50)", "12.5", "-3"], [-1234.5, 12.5, -3]),
    "signs": (["-$5", "$-5", "($5)", "+$5", "−5"], [-5, -5, -5, 5, -5]),  # noqa: RUF001
    "units": (["12 kg", "13kg", "7.5 kg"], [12, 13, 7.5]),
    "apostrophes": (["1'234.50", "2’000", "3"], [1234.5, 2000, 3]),  # noqa: RUF001
    "blanks": (["1 234,5", "3", "4,25"], [1234.5, 3, 4.25]),
    "blanks that do not break": (["1\u00a0234,5", "2\u202f000"], [1234.5, 2000]),
    "lakhs": (["12,34,567", "1,00,000", "3"], [1_234_567, 100_000, 3]),
    "powers": (["1e5 m", "2 m"], [1e5, 2]),
    "codes": (["12A", "13B", "14A"], [None] * 3),
    "letters before": (["A12", "B13"], [None] * 2),
    "two currencies": (["10.5 $", "€4", "5"], [None, 4, 5]),
    "two signs": (["--5", "-(5)", "(-5)", "-$-5", "5"], [None, None, None, None, 5]),
    "as many of each mark": (["1.25", "2,5", "7"], [1.25, None, 7]),
    "half a parenthesis": (["((5)", "(5", "5)"], [None] * 3),
    "dates and ranges": (["12.05.2020", "4-5", "12:30", "1/2"], [None] * 4),
    "lists": (["1,2,3", "4;5"], [None] * 2),
    "a few letters among numbers": (["1", "2", "3", "4a"], [1, 2, 3, None]),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_written_numbers_are_read(name):
    written, wanted = WRITTEN[name]
    reading = read_numbers(pa.array(written))
    assert reading.numbers.to_pylist() == wanted
    # What the format has learnt, it reads row by row, too, and with gaps.
    if reading.form is not None:
        for text, number in zip(written, wanted, strict=True):
            assert reading.form.numbers(pa.array([text, None])).to_pylist() == [number, None]


@settings(max_examples=40)
@given(
    st.lists(st.integers(-(10**9), 10**9).map(lambda cents: cents / 100), min_size=3, max_size=20),
    st.sampled_from([("", ""), ("$", ""), ("", " €"), ("", "%"), ("CHF ", ""), ("", " kg")]),
    st.booleans(),
)
def test_any_column_of_cents_is_read_in_either_convention(values, unit, comma):
    before, after = unit
    # One value shows the decimal mark; whole thousands alone may be read in two ways.
    texts = [f"{before}{value:,.2f}{after}" for value in [*values, 0.25]]
    if comma:
        texts = [text.translate(str.maketrans(",.", ".,")) for text in texts]
    assert read_numbers(pa.array(texts)).numbers.to_pylist() == [*values, 0.25]


def test_what_may_be_read_in_two_ways_goes_by_the_other_columns():
    unclear = pa.array(["3,147", "4,035"])
    assert read_numbers(unclear).ambiguous
    assert read_numbers(unclear).numbers.to_pylist() == [3147, 4035]
    assert read_numbers(unclear, ",").numbers.to_pylist() == [3.147, 4.035]
    assert read_numbers(pa.array(["1.200", "12.500"]), ",").numbers.to_pylist() == [1200, 12_500]
    assert read_numbers(pa.array(["1.200", "12.5"]), ",").numbers.to_pylist() == [1.2, 12.5]
    assert read_numbers(pa.array(["1.5", "2"])).marks == {"."}
    assert read_numbers(pa.array(["1.5", "2"])).marks == {"."}


def test_a_format_of_decimal_commas_reads_points_unless_they_set_thousands_apart():
    row = pa.array(["3.125", "3,125", "x", None])
    assert NumberFormat(",").numbers(row).to_pylist() == [3.125, 3.125, None, None]
    assert NumberFormat(",", grouped=True).numbers(row).to_pylist() == [3125, 3.125, None, None]


def test_codes_are_no_numbers_even_with_a_unit():
    assert are_codes(pa.array(["007 kg", "1 kg"]))
    assert kind_of_text(pa.array(["007 kg", "1 kg"])).kind == "text"
    assert kind_of_text(pa.array(["2019-01", "2019-02"])).kind == "text"


def test_what_is_no_number_is_null():
    numbers = as_numbers(pa.array([" 1.5", "x", None, "-inf", "1,5"]))
    assert numbers.to_pylist() == [1.5, None, None, -float("inf"), None]
