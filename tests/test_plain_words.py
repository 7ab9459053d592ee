"""Columns and values as people say them."""

import pytest

from covey._core.basis import Basis
from covey._plain_words import plain_words, reason_words, value_words


@pytest.mark.parametrize(
    ("term", "words"),
    [
        ("age", "age"),
        ("ramp(lvr, 0.576, 0.7037)", "lvr between 0.58 and 0.7"),
        ("ramp(year, 2011, 2012)", "year between 2011 and 2012"),
        ("ramp(a, b, -1e-05, 2)", "a, b between -0.00001 and 2"),
        ("ramp(ramp(a, 1, 2), 3, 4)", "a between 1 and 2 between 3 and 4"),
        ("self = yes", "self: yes"),
        ("town is missing", "town is missing"),
        ("town (encoded)", "town"),
        ("town (encoded for yes)", "town (as for yes)"),
        ("when: year", "when: year"),
        ("a*b", "a*b"),
        ("=cmd|' /C calc'!A0", "=cmd|' /C calc'!A0"),
    ],
)
def test_terms_are_said_in_words(term, words):
    assert plain_words(term) == words


def test_all_terms_of_a_basis_are_said_in_words():
    import numpy as np

    basis = Basis.products(np.zeros(2, dtype=bool), np.array([50.2, -3.0]))
    said = [plain_words(name) for name in basis.names(["age", "bmi"])]
    assert said[:2] == ["age", "bmi"]
    assert set(said[2:]) == {
        "age, near the middle or far from it",
        "age together with bmi",
        "bmi, near the middle or far from it",
    }


def test_a_category_that_a_row_lacks_is_denied():
    assert plain_words("self = yes", 0.0) == "self: not yes"
    assert plain_words("self = yes", 1.0) == "self: yes"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.8, "0.8"),
        (3.0, "3"),
        (2021, "2021"),
        (41234.56, "41,235"),
        (123.456, "123.5"),
        (float("nan"), "missing"),
        (True, "yes"),
        ("2020-01-05 00:00:00", "2020-01-05"),
        ("x" * 99, "x" * 39 + "…"),
        (1e300, "1 x 10^300"),
        (-0.00001234, "-0.0000123"),
    ],
)
def test_values_are_short(value, words):
    assert value_words(value) == words


def test_what_is_typical_is_not_said_twice():
    assert reason_words({"column": "age", "value": 3, "typical": 3.0}) == "age 3"
    assert (
        reason_words({"column": "ill", "value": "no", "typical": "yes"}) == "ill: no (typical yes)"
    )
