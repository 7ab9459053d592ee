import re

import numpy as np

from covey._templates import Markup, escaped
from covey.evaluation._record import Effect
from covey.reporting._drawing import Bar, bars, heat_map, tag, ticks, value_curve


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


def test_a_curve_shows_the_data_beside_it_where_there_are_rows():
    effect = Effect(
        "number",
        None,
        [1.0, 2.0, 3.0],
        ["1", "2", "3"],
        [0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0],
        [0.5, None, 0.5],
        [1.0, 0.0],
        0.0,
    )
    how = {"name": "x", "ends": (0.0, 1.0), "show": str, "title": "t", "description": "d"}
    drawn = value_curve("c", effect, **how)
    assert "nan" not in drawn
    assert drawn.count('class="limit"') == 2
    assert drawn.count('class="bar faint"') == 1


def test_a_map_leaves_out_what_is_not_known():
    values = np.array([[0.5, np.nan], [1.0, 0.0]])
    drawn = heat_map("m", values, ["a", "b"], ["c", "d"], title="t", description="d")
    assert drawn.count('class="cell"') == 3


def test_bars_below_zero_are_on_the_other_side():
    items = [Bar("up", 1.0), Bar("down", -1.0)]
    drawn = bars("b", items, show=str, ends=(-1.0, 1.0), title="t", description="d")
    up, down = re.findall(r'x="([0-9.]+)"[^>]*class="bar', drawn)
    assert float(down) == 0.0 < float(up)
