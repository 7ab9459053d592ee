from covey import SubsetEnsembleClassifier
from covey.reporting import build_report
from tests.reporting.conftest import NASTY_NAME


def test_what_users_wrote_is_text_and_nothing_else(reports, outlines):
    page = outlines["gated"]
    # One script of our own, and nothing that a name or a title brought along.
    assert page.counts["script"] == 1
    assert page.counts["b"] == page.counts["i"] == 0
    words = "".join(page.text)
    for written in (NASTY_NAME, "third & last", "forest <i>", "cultivar <b>", "'a & b.csv'"):
        assert written in words
    assert "</title><script>" in words
    assert "broken = true</script>" not in reports["gated"].html


def test_signs_that_no_page_may_hold_are_replaced(wine):
    X, X_new, y, y_new = wine
    odd = {"alcohol": "al\x00co\ud800hol", "hue": "$style", "proline": "x" * 400}
    flock = SubsetEnsembleClassifier(2, fuser="product", random_state=0)
    flock.fit(X.rename(columns=odd), y)
    html = build_report(flock, X_new.rename(columns=odd), y_new, title="$script").html
    html.encode()
    assert "\x00" not in html
    assert "$style" in html
    assert "<h1>$script</h1>" in html
