import numpy as np
import pytest

from covey._number_words import counted, listed, number, percent, quoted, rough, span
from covey.reporting._words import fitted, name, shortened, width_of


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (-0.0, "0"),
        (1 / 3, "0.333"),
        (0.99961, "1"),
        (0.0123456, "0.0123"),
        (0.0000123456, "0.0000123"),
        (12, "12"),
        (12.3456, "12.3"),
        (999.6, "1,000"),
        (2650.4, "2,650"),
        (999_999, "1 million"),
        (1_121_000, "1.12 million"),
        (123456789, "123 million"),
        (2e12, "2 trillion"),
        (1.5e18, "1.5 x 10^18"),
        (-1.59e-12, "-1.59 x 10^-12"),
        (-2.5, "-2.5"),
        (float("nan"), "-"),
        (None, "-"),
        (np.float64(7.0), "7"),
    ],
)
def test_numbers_are_written_as_people_write_them(value, shown):
    assert number(value) == shown


def test_percentages_do_not_pretend():
    assert percent(1) == "100 %"
    assert percent(0.9999) == "99.9 %"
    assert percent(0.00001) == "< 0.1 %"
    assert percent(0) == rough(0) == "0 %"
    assert span(0.88, 0.991) == "88 to 99 %"
    # Both ends of a range are told apart.
    assert span(0.0, 0.004) == "0 to 0.4 %"


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
    assert counted(1, "class", "classes") == "1 class"
    assert counted(1200, "row") == "1,200 rows"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["a"]) == "a"
    assert quoted("Self-employed") == "'Self-employed'"
