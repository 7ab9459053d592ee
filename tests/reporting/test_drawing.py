import re

import numpy as np

from covey._templates import Markup, escaped
from covey.reporting._drawing import Bar, Curve, apart, bars, heat_map, line_chart, tag, ticks


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


def test_flat_curves_can_be_drawn():
    for values in ([1.0], [0.5, 0.5], [0.0, 0.0]):
        curve = Curve("c", list(range(1, len(values) + 1)), values, "own")
        assert "nan" not in line_chart("l", [curve], x_name="K", title="t", description="d")


def test_a_map_leaves_out_what_is_not_known():
    values = np.array([[0.5, np.nan], [1.0, 0.0]])
    drawn = heat_map("m", values, ["a", "b"], ["c", "d"], title="t", description="d")
    assert drawn.count('class="cell"') == 3


def test_bars_below_zero_are_on_the_other_side():
    items = [Bar("up", 1.0), Bar("down", -1.0)]
    drawn = bars("b", items, show=str, ends=(-1.0, 1.0), title="t", description="d")
    up, down = re.findall(r'x="([0-9.]+)"[^>]*class="bar', drawn)
    assert float(down) == 0.0 < float(up)
