"""The page about one row, in a real browser that reaches no host."""

import numpy as np
import pandas as pd
import pytest

from covey import FlockClassifier
from covey.inspection import row_card
from covey.reporting import build_row_page
from tests.reporting.test_browser import emulate, until

ODD = "</script><script>window.broken = 1</script> a name that is so long that no line holds it"


@pytest.fixture(scope="module")
def card():
    rng = np.random.default_rng(0)
    n = 150
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n),
            ODD: rng.choice(["Rome", "Oslo", "Bath"], n),
            "weight": rng.normal(70, 10, n).round(1),
        }
    )
    ill = np.where((table["age"] > 50) ^ (table[ODD] == "Rome"), "yes", "no")
    model = FlockClassifier(effort="fast", random_state=0).fit(table, ill)
    return row_card(model, table.iloc[0])


@pytest.fixture
def page(card, browser, tmp_path):
    path = build_row_page(card, title="Row 1").save(tmp_path / "card.html")

    def look(width=1280, theme="light"):
        emulate(browser, width, theme)
        browser.get_log("browser")
        browser.get(path.as_uri())
        return browser

    return look


def test_the_card_loads_nothing_complains_of_nothing_and_runs_no_names(page):
    browser = page()
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.get_log("browser") == []
    assert browser.execute_script("return window.broken") is None
    assert "</script><script>" in browser.find_element("css selector", "main").text


def test_the_card_does_not_scroll_sideways_on_any_screen(page):
    browser = page(390)
    for width in (390, 320, 768, 1280):
        emulate(browser, width)
        wide, room = browser.execute_script(
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert wide <= room == width


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_stand_out_from_the_paper(page, theme):
    browser = page(390, theme)
    ink, paper = browser.execute_script(
        "const one = getComputedStyle(document.body); return [one.color, one.backgroundColor]"
    )
    levels = [
        sum(int(part) for part in colour.strip("rgba()").split(",")[:3]) for colour in (ink, paper)
    ]
    assert abs(levels[0] - levels[1]) > 450
    assert (levels[1] < 150) == (theme == "dark")


def test_a_slider_shows_the_models_answers(page, card):
    browser = page(390)
    boxes = browser.find_elements("css selector", "[data-try]")
    assert len(boxes) == len(card.curves)
    for box, curve in zip(boxes, card.curves, strict=True):
        for at, answer in enumerate(curve.answers):
            browser.execute_script(
                """
                const control = arguments[0].querySelector("input, select");
                control.value = arguments[1];
                control.dispatchEvent(new Event("input", {bubbles: true}));
                """,
                box,
                at,
            )
            wanted = f"{100 * answer.max():.0f} % {card.classes[answer.argmax()]}"
            output = box.find_element("css selector", "output")
            until(browser, lambda output=output, wanted=wanted: output.text == wanted)


def test_bars_are_on_one_scale(page, card):
    browser = page()
    widths = browser.execute_script(
        "return [...document.querySelectorAll('rect.bar')].map((bar) => bar.getBBox().width)"
    )
    pushes = [abs(one["push"]) for one in card.record["because"] + card.record["against"]]
    pushes = sorted(pushes, reverse=True)
    for width, push in zip(widths, pushes, strict=False):
        assert abs(width / widths[0] - push / pushes[0]) < 0.03
