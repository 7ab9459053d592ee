import numpy as np
import pytest

from covey.reporting._words import (
    counted,
    fitted,
    interval,
    listed,
    name,
    number,
    percent,
    shortened,
    width_of,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (-0.0, "0"),
        (1 / 3, "0.333"),
        (0.99961, "1"),
        (0.0123456, "0.0123"),
        (0.000123456, "0.000123"),
        (0.0000123456, "1.23 \u00d7 10⁻⁵"),
        (12, "12"),
        (12.3456, "12.3"),
        (999.6, "1,000"),
        (12345, "12,300"),
        (123456789, "1.23 \u00d7 10⁸"),
        (-2.5, "\u22122.5"),
        (float("nan"), "\u2013"),
        (None, "\u2013"),
        (np.float64(7.0), "7"),
    ],
)
def test_numbers_have_three_digits(value, shown):
    assert number(value) == shown


def test_percentages_do_not_pretend():
    assert percent(1) == "100\u00a0%"
    assert percent(0.9999) == "99.9\u00a0%"
    assert percent(0.00001) == "<\u00a00.1\u00a0%"
    assert percent(0) == "0\u00a0%"
    assert interval((0.88, 0.991)) == "88 to 99.1\u00a0%"


def test_names_are_shortened_in_the_middle_and_whole_on_hover():
    assert shortened("short") == "short"
    assert shortened("a name that is far too long", 12) == "a name t…ong"
    assert shortened("two\nlines") == "two lines"
    assert 'title="a name that is &lt;far&gt;"' in name("a name that is <far>", 9)
    assert "title" not in name("short")


def test_fitted_text_fits():
    long = "a column with a very long name indeed"
    for width in (30, 60, 120):
        assert width_of(fitted(long, width)) <= width
    assert fitted(long, 1e6) == long


def test_words_of_sentences():
    assert counted(1, "class", "classes") == "1\u00a0class"
    assert counted(1200, "row") == "1,200\u00a0rows"
    assert listed(["a", "<b>", "c"]) == "a, &lt;b&gt; and c"
