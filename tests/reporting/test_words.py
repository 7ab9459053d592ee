import numpy as np
import pytest

from covey._templates import Markup, escaped
from covey.reporting._charts import Curve, apart, line_chart
from covey.reporting._maps import heat_map
from covey.reporting._svg import tag, ticks
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


def test_what_is_no_markup_is_escaped_wherever_it_goes():
    assert tag("p", "<b>", title='"&') == '<p title="&#34;&amp;">&lt;b&gt;</p>'
    assert tag("p", Markup("<b>x</b>")) == "<p><b>x</b></p>"
    assert tag("p", None, "a") == "<p>a</p>"
    assert escaped("a\x00\ud800b") == "a\ufffd\ufffdb"
    # Text that is added to markup is escaped, too.
    assert escaped(Markup("<i>") + "<") == "<i>&lt;"


def test_ticks_are_round_and_inside():
    np.testing.assert_allclose(ticks(0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1])
    np.testing.assert_allclose(ticks(0.61, 0.98, 4), [0.7, 0.8, 0.9])
    for low, high in ((0.003, 0.0041), (0, 0.93), (1, 37)):
        found = ticks(low, high)
        assert 1 <= len(found) <= 7
        assert low - 1e-9 <= found[0]
        assert found[-1] <= high + 1e-9


def test_labels_are_moved_apart_and_keep_their_order():
    moved = apart([10.0, 11.0, 90.0, 10.5], least=15)
    assert moved[0] < moved[3] < moved[1] < moved[2]
    assert min(np.diff(sorted(moved))) >= 15 - 1e-5
    assert apart([0.0, 100.0]) == [0.0, 100.0]


def test_a_map_leaves_out_what_is_not_known():
    values = np.array([[0.5, np.nan], [1.0, 0.0]])
    drawn = heat_map("m", values, ["a", "b"], ["c", "d"], title="t", description="d")
    assert drawn.count('class="cell"') == 3


def test_flat_curves_can_be_drawn():
    for values in ([1.0], [0.5, 0.5], [0.0, 0.0]):
        drawn = line_chart(
            "l", [Curve("c", values, "own")], x_name="K", title="t", description="d"
        )
        assert "nan" not in drawn
