"""Drawings: what is drawn stands where the numbers of its axes say, in their order."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.testing import assert_allclose

from covey._intervals import Interval
from covey._templates import Markup, escaped
from covey.evaluation._record import Bin, Effect
from covey.reporting import _drawing as draw
from covey.reporting._drawing import Bar, Dot, tag, ticks

WORDS = {"title": "t", "description": "d"}
PIXEL = 0.06  # coordinates are rounded to a tenth


class Drawn:
    """The elements of a drawing, by class, with numbers instead of text."""

    def __init__(self, drawn):
        self.root = ElementTree.fromstring(str(drawn))

    def all(self, name, class_=None):
        return [e for e in self.root.iter(name) if class_ is None or e.get("class") == class_]

    def dots(self, class_):
        found = self.all("circle", class_)
        return np.array([[float(e.get("cx")), float(e.get("cy"))] for e in found])

    def boxes(self, class_):
        sides = ("x", "y", "width", "height")
        return np.array([[float(e.get(s)) for s in sides] for e in self.all("rect", class_)])

    def lines(self, class_):
        ends = ("x1", "y1", "x2", "y2")
        return np.array([[float(e.get(s)) for s in ends] for e in self.all("line", class_)])

    def curve(self, class_):
        (found,) = self.all("polyline", class_)
        return np.array(
            [[float(v) for v in one.split(",")] for one in found.get("points").split()]
        )

    def tips(self, name, class_):
        return [element.findtext("title") for element in self.all(name, class_)]

    def axis(self, across):
        """A function from pixels to the numbers that are written along an axis."""
        anchor, side = ("middle", "y") if across else ("end", "x")
        found = [e for e in self.all("text", "axis") if e.get("text-anchor") == anchor]
        found = [e for e in found if re.fullmatch(r"-?[\d.]+( %)?", e.text)]
        # Numbers of one axis stand on a line; others are names of values.
        found = [e for e in found if e.get(side) == found[0].get(side)]
        shares = [100 if e.text.endswith("%") else 1 for e in found]
        values = [float(e.text.rstrip(" %")) / by for e, by in zip(found, shares, strict=True)]
        # The foot of a number is four pixels below its line.
        at = [float(e.get("x")) if across else float(e.get("y")) - 4 for e in found]
        slope, start = np.polyfit(at, values, 1)
        assert_allclose(slope * np.array(at) + start, values, atol=abs(slope) * 2 * PIXEL)
        return lambda pixels: slope * np.asarray(pixels) + start


def test_what_is_no_markup_is_escaped_wherever_it_goes():
    assert tag("p", "<b>", title='"&') == '<p title="&#34;&amp;">&lt;b&gt;</p>'
    assert tag("p", Markup("<b>x</b>")) == "<p><b>x</b></p>"
    assert tag("p", None, "a") == "<p>a</p>"
    assert escaped("a\x00\ud800b") == "a\ufffd\ufffdb"
    # Text that is added to markup is escaped, too.
    assert escaped(Markup("<i>") + "<") == "<i>&lt;"


def test_ticks_are_round_and_inside():
    assert_allclose(ticks(0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1])
    assert_allclose(ticks(0.61, 0.98, 4), [0.7, 0.8, 0.9])
    for low, high in ((0.003, 0.0041), (0, 0.93), (1, 37)):
        found = ticks(low, high)
        assert 1 <= len(found) <= 7
        assert low - 1e-9 <= found[0]
        assert found[-1] <= high + 1e-9


def an_effect(**more):
    effect = {
        "kind": "number",
        "outcome": None,
        "values": [1.0, 2.0, 5.0],
        "labels": ["1", "2", "5"],
        "model": [0.2, 0.4, 0.9],
        "said": [0.25, 0.45, 0.85],
        "data": [0.5, None, 0.1],
        "rows": [0.6, 0.0, 0.3, 0.1],
        "typical": 0.4,
    }
    return Effect(**{**effect, **more})


def test_a_curve_goes_through_what_the_model_says_beside_what_the_data_say():
    how = {"name": "x", "ends": (0.0, 1.0), "show": lambda v: f"{v:.2f}", **WORDS}
    found = Drawn(draw.value_curve("c", an_effect(missing=0.7), **how))
    up = found.axis(across=False)
    curve, data = found.curve("curve own"), found.dots("limit")
    assert_allclose(up(curve[:, 1]), [0.2, 0.4, 0.9], atol=0.01)
    # The places of values are as far apart as the values are.
    assert_allclose(np.diff(curve[:, 0]) / np.ptp(curve[:, 0]), [0.25, 0.75], atol=0.01)
    assert_allclose(up(data[:, 1]), [0.5, 0.1], atol=0.01)
    assert_allclose(data[:, 0], curve[[0, 2], 0])
    assert_allclose(up(found.curve("level")[:, 1]), [0.4, 0.4], atol=0.01)
    assert_allclose(up(found.dots("own")[:, 1]), [0.7], atol=0.01)
    assert found.dots("own")[0, 0] > curve[-1, 0]
    assert found.tips("circle", "limit") == [
        "in the data, x about 1: 0.50",
        "in the data, x about 5: 0.10",
    ]
    assert found.tips("circle", "hover")[1] == "x about 2: 0.45 is predicted on average"
    bars = found.boxes("bar faint")
    assert_allclose(bars[:, 3], [22, 11, 22 / 6], atol=PIXEL)
    assert_allclose((bars[:, 0] - bars[0, 0]) / (bars[1, 0] - bars[0, 0]), [0, 1, 1.5], atol=0.01)


def test_a_map_is_darker_for_more_and_leaves_out_what_is_not_known():
    values = np.array([[0.5, np.nan, 0.0], [1.0, 0.25, 2.0]])
    how = {"shown": "r{}c{}".format, "tip": "{} and {}".format, "highest": 2.0, **WORDS}
    found = Drawn(draw.heat_map("m", values, ["a", "b"], ["c", "d", "e"], **how))
    assert found.tips("rect", "cell") == ["0 and 0", "0 and 2", "1 and 0", "1 and 1", "1 and 2"]
    shades = [float(e.get("fill-opacity")) for e in found.all("rect", "cell")]
    assert_allclose(shades, [0.05 + 0.95 * v / 2 for v in (0.5, 0, 1, 0.25, 2)], atol=0.005)
    (x0, y0, *_), *rest = found.boxes("cell")
    places = [((x - x0) / 22, (y - y0) / 22) for x, y, *_ in rest]
    assert_allclose(places, [(2, 0), (0, 1), (1, 1), (2, 1)], atol=0.01)
    written = {e.text: e.get("class") for e in found.all("text") if e.text.startswith("r")}
    assert list(written) == ["r0c0", "r0c2", "r1c0", "r1c1", "r1c2"]
    # Letters on a dark cell are light.
    assert [name for name, class_ in written.items() if "over" in class_] == ["r1c2"]
    names = [e.text for e in found.all("text", "axis")]
    assert names == ["c", "d", "e", "a", "b"]


def test_the_legend_of_a_map_goes_from_light_to_dark():
    plain = Drawn(draw.heat_map("m", np.ones((1, 1)), ["a"], ["b"], **WORDS))
    found = Drawn(draw.heat_map("m", np.ones((1, 1)), ["a"], ["b"], legend=("no", "all"), **WORDS))
    shades = [float(e.get("fill-opacity")) for e in found.all("rect", "cell")][1:]
    assert len(plain.all("rect", "cell")) == 1
    assert shades == sorted(shades)
    assert len(set(shades)) == 5
    places = found.boxes("cell")[1:, 0]
    texts = {e.text: float(e.get("x")) for e in found.all("text", "axis")}
    assert texts["no"] < places.min() < places.max() < texts["all"]


def test_a_middle_shade_is_moved_to_where_letters_can_be_read():
    assert [draw.readable(s) for s in (0.0, 0.62, 0.65, 0.75, 0.8, 1.0)] == [
        *(0.0, 0.62, 0.62, 0.8, 0.8, 1.0)
    ]


def test_bars_are_as_long_as_their_values_in_their_order():
    items = [Bar("large", 0.8, "most"), Bar("small", 0.2), Bar("beyond", 1.7)]
    found = Drawn(draw.bars("b", items, show=str, title="t"))
    tracks, bars = found.boxes("track"), found.boxes("bar")
    assert_allclose(bars[:, 2] / tracks[:, 2], [0.8, 0.2, 1.0], atol=0.002)
    assert_allclose(bars[:, 0], 0)
    assert list(np.diff(bars[:, 1])) == [32, 32]
    assert found.tips("rect", "bar") == ["large: 0.8", "small: 0.2", "beyond: 1.7"]
    assert [e.text for e in found.all("text", "label")] == ["large", "small", "beyond"]
    assert found.root.findtext("desc") == "large: 0.8, most; small: 0.2; beyond: 1.7."


def test_bars_below_zero_are_on_the_other_side_and_as_long():
    items = [Bar("up", 0.5), Bar("down", -1.0)]
    found = Drawn(draw.bars("b", items, show=str, ends=(-1.0, 1.0), **WORDS))
    ((start, _, up, _),) = found.boxes("bar")
    ((left, _, down, _),) = found.boxes("bar against")
    assert left == 0
    assert_allclose([left + down, up], [start, down / 2], atol=2 * PIXEL)
    assert_allclose(found.lines("rule")[:, 0], start)


def test_dots_stand_at_their_values_between_the_ends_of_their_intervals():
    dots = [Dot("flock", 0.9, 0.8, 0.95, "own"), Dot("line", 0.7, 0.65, 0.75), Dot("guess", 0.5)]
    found = Drawn(draw.dot_plot("d", dots, show=lambda v: f"{v:.2f}", title="t"))
    across = found.axis(across=True)
    assert_allclose(across(found.dots("own")[:, 0]), [0.9], atol=0.005)
    assert_allclose(across(found.dots("other")[:, 0]), [0.7, 0.5], atol=0.005)
    (own,), (other,) = found.lines("interval own"), found.lines("interval other")
    assert_allclose(across(own[[0, 2]]), [0.8, 0.95], atol=0.005)
    assert_allclose(across(other[[0, 2]]), [0.65, 0.75], atol=0.005)
    down = [*found.dots("own")[:, 1], *found.dots("other")[:, 1]]
    assert down == sorted(down)
    assert found.root.findtext("desc") == "flock: 0.90; line: 0.70; guess: 0.50."


@pytest.mark.parametrize("diagonal", [True, False])
def test_a_scatter_has_a_dot_at_each_pair_and_a_line_where_nothing_is_wrong(diagonal):
    x, y = np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, -1.0])
    names = {"x_name": "said", "y_name": "true", "diagonal": diagonal, "tips": ["a", "b", "c"]}
    found = Drawn(draw.scatter("s", x, y, **names, **WORDS))
    across, up = found.axis(across=True), found.axis(across=False)
    points, level = found.dots("point"), found.curve("level")
    assert_allclose(across(points[:, 0]), x, atol=0.02)
    assert_allclose(up(points[:, 1]), y, atol=0.02)
    assert_allclose(up(level[:, 1]), across(level[:, 0]) if diagonal else [0, 0], atol=0.02)
    assert found.tips("circle", "point") == ["a", "b", "c"]


def test_a_curve_of_shares_has_its_dot_and_its_guess_where_they_are_said():
    x, y = np.array([0.0, 0.25, 1.0]), np.array([0.0, 0.75, 1.0])
    guess, names = ((0.0, 1.0), (0.0, 1.0)), ("alarms", "found")
    drawn = draw.share_curve("s", x, y, (0.25, 0.75), guess, names, "found", **WORDS)
    found = Drawn(drawn)
    across, up = found.axis(across=True), found.axis(across=False)
    curve, (here,) = found.curve("curve own"), found.dots("own halo moves")
    assert_allclose([across(curve[:, 0]), up(curve[:, 1])], [x, y], atol=0.01)
    assert_allclose([across(here[0]), up(here[1])], [0.25, 0.75], atol=0.01)
    ((x1, y1, x2, y2),) = found.lines("level")
    assert_allclose([across(x1), up(y1), across(x2), up(y2)], [0, 0, 1, 1], atol=0.01)


def test_probabilities_stand_beside_how_often_they_came_true_above_how_many_rows():
    bins = [
        Bin(0.5, 0.75, 30, 0.6, Interval(0.55, 0.5, 0.65)),
        Bin(0.75, 1.0, 90, 0.9, Interval(0.95, 0.9, 1.0)),
    ]
    found = Drawn(draw.reliability("r", bins, **WORDS))
    across, up = found.axis(across=True), found.axis(across=False)
    points, bars = found.dots("own"), found.boxes("bar faint")
    assert_allclose(across(points[:, 0]), [0.6, 0.9], atol=0.005)
    assert_allclose(up(points[:, 1]), [0.55, 0.95], atol=0.005)
    errors = found.lines("interval own thin")
    assert_allclose(up(errors[:, [1, 3]]), [[0.5, 0.65], [0.9, 1.0]], atol=0.005)
    assert_allclose(bars[:, 3] / bars[1, 3], [1 / 3, 1], atol=0.005)
    assert_allclose(across(bars[:, 0] - 1), [0.5, 0.75], atol=0.005)
    assert [e.text for e in found.all("text", "axis tiny")] == ["30", "90"]
    level = found.curve("level")
    assert_allclose(across(level[:, 0]), up(level[:, 1]), atol=0.005)


def test_a_histogram_has_a_bar_as_high_as_each_count():
    found = Drawn(draw.histogram("h", [4, 0, 1, 2], title="t"))
    bars = found.boxes("bar faint")
    assert_allclose(bars[:, 3], [20, 5, 10], atol=PIXEL)
    assert_allclose(bars[:, 0], [0, 48, 72], atol=PIXEL)
    assert_allclose(bars[:, 1] + bars[:, 3], 20, atol=PIXEL)
    assert "4, 0, 1, 2" in found.root.findtext("desc")


def test_a_small_line_rises_with_its_shares_and_marks_one():
    found = Drawn(draw.sparkline(np.array([0.0, 0.5, 1.0]), 1))
    assert_allclose(found.curve("curve own"), [[0, 44], [120, 24], [240, 4]])
    assert_allclose(found.lines("level"), [[120, 0, 120, 48]])
