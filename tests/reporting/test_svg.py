import numpy as np

from covey._templates import Markup, escaped
from covey.reporting._svg import tag, ticks


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
