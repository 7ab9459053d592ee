"""The page in a real browser, asking a real server."""

import json
import re

import numpy as np
import pytest

import covey
from covey import FlockClassifier
from tests.reporting.test_browser import emulate, pixels, until
from tests.serving.conftest import NASTY, QUOTES, make_table, serving


@pytest.fixture
def page(browser, server):
    """Open the page as a reader with such a screen and theme would, and wait for an answer."""

    def open_page(width=1280, theme="light"):
        emulate(browser, width, theme)
        browser.get_log("browser")
        browser.get(server.url + "/")
        until(browser, lambda: text(browser, "#verdict"))
        return browser

    return open_page


def text(browser, selector):
    """The text that is shown, in one step: the page replaces its elements at any time."""
    return browser.execute_script(
        "return document.querySelector(arguments[0]).innerText.trim()", selector
    )


def click(browser, selector):
    """Click on an element as soon as it is shown."""
    until(browser, lambda: browser.find_element("css selector", selector).is_displayed())
    browser.execute_script("document.querySelector(arguments[0]).click()", selector)


def field(browser, name):
    """The control whose label has this text."""
    return browser.execute_script(
        "return document.getElementById([...document.querySelectorAll('label')]"
        ".find((label) => label.textContent === arguments[0]).htmlFor)",
        name,
    )


def set_value(browser, name, value):
    browser.execute_script(
        "arguments[0].value = arguments[1];"
        "arguments[0].dispatchEvent(new Event('input', {bubbles: true}))",
        field(browser, name),
        value,
    )


def row_of(browser):
    """The row that the page has asked about, from what it shows for programs."""
    shown = browser.execute_script("return document.getElementById('curl').textContent")
    body = shown.partition("-d '")[2].rpartition("'")[0].replace("'\\''", "'")
    return json.loads(body)["rows"][0]


def test_the_page_asks_its_own_server_alone_and_complains_of_nothing(page, server):
    browser = page()
    asked = browser.execute_script(
        "return performance.getEntriesByType('resource').map((one) => one.name)"
    )
    assert set(asked) == {f"{server.url}/explain"}
    assert browser.get_log("browser") == []


def test_names_and_labels_are_shown_and_never_run(page):
    browser = page()
    assert browser.execute_script("return window.broken") is None
    labels = browser.execute_script(
        "return [...document.querySelectorAll('form label')].map((one) => one.textContent)"
    )
    assert {NASTY, QUOTES, "عمر"} <= set(labels)
    assert "<script>window.broken" in browser.title
    options = [
        one.get_attribute("textContent")
        for one in field(browser, QUOTES).find_elements("css selector", "option")
    ]
    assert options == ["not known", "<b>bold</b>", "plain", "東京"]
    # What runs by an attribute or a second script is refused by the policy.
    browser.execute_script(
        "const made = document.createElement('div'); made.innerHTML ="
        "'<img src=x onerror=\"window.broken = true\">'; document.body.append(made)"
    )
    until(
        browser,
        lambda: any("Content Security" in e["message"] for e in browser.get_log("browser")),
    )
    assert browser.execute_script("return window.broken") is None


def test_the_answer_is_that_of_the_model(page, model):
    import pandas as pd

    browser = page()
    row = pd.DataFrame([row_of(browser)])[list(model.feature_names_in_)]
    row["seen on"] = pd.to_datetime(row["seen on"])
    assert text(browser, "#verdict .what") == model.predict(row)[0]
    said = text(browser, "#verdict .sure")
    assert re.search(r"%: (almost certainly |very likely |likely |rather |a close call, )", said)
    shown = float(said.split()[0])
    assert shown == pytest.approx(100 * model.predict_proba(row).max(), abs=0.06)


def test_an_answer_that_is_not_the_most_probable_class_is_called_so(browser, table, tmp_path):
    y = np.where(make_table()[1] > 0, "ill", "well")
    flock = FlockClassifier(effort="fast", random_state=0).fit(table, y)
    covey.save(flock.decide(threshold={"ill": 0.0}), tmp_path / "told.covey")
    with serving(tmp_path / "told.covey", "--port", "0") as server:
        emulate(browser, 1280, "light")
        browser.get(server.url + "/")
        until(browser, lambda: text(browser, "#verdict"))
        set_value(browser, "age", "18")
        set_value(browser, NASTY, "-2")
        until(browser, lambda: "not the most probable" in text(browser, "#verdict .sure"))
        assert text(browser, "#verdict .what") == "ill"
        assert "ill is what it was told to say" in text(browser, "#verdict .sure")


def test_changing_a_field_changes_the_answer_and_says_what_it_was(page):
    browser = page()
    compared = browser.find_element("css selector", "#compared")
    assert not compared.is_displayed()
    set_value(browser, "age", "20")
    until(browser, compared.is_displayed)
    young = text(browser, "#verdict .sure")
    set_value(browser, "age", "88")
    until(browser, lambda: text(browser, "#verdict .sure") != young)
    assert row_of(browser)["age"] == 88
    assert "Before the change:" in text(browser, "#compared")
    click(browser, "#reset")
    until(browser, lambda: not compared.is_displayed())


def test_reasons_are_bars_on_one_scale_with_their_numbers(page):
    browser = page()
    assert text(browser, "#why-note").startswith("On average the probability")
    set_value(browser, "age", "20")
    until(browser, lambda: "20 (typical: " in text(browser, "#why"))
    lines = browser.find_elements("css selector", "#why li")
    shown = [
        (float(line.text.rpartition("\n")[2].split()[0].replace("\u2212", "-")), line)
        for line in lines
    ]
    sizes = [line.find_element("css selector", ".track span").size["width"] for _, line in shown]
    assert len(sizes) > 1
    most = max(abs(number) for number, _ in shown)
    for size, (number, _) in zip(sizes, shown, strict=True):
        assert size == pytest.approx(max(sizes) * abs(number) / most, abs=4)


def test_the_smallest_change_is_found_and_can_be_tried(page):
    browser = page()
    before = text(browser, "#verdict .what")
    click(browser, "#find")
    until(browser, lambda: "the answer would be" in text(browser, "#smallest"))
    sentence = text(browser, "#smallest")
    click(browser, "#smallest button")
    until(browser, lambda: text(browser, "#verdict .what") != before)
    assert text(browser, "#verdict .what") in sentence
    click(browser, "#reset")
    until(browser, lambda: text(browser, "#verdict .what") == before)


def test_where_reasons_take_too_long_the_answer_is_shown_without(page, server):
    browser = page()
    # As a wide model's server would answer.
    browser.execute_script(
        """
        const real = window.fetch;
        window.fetch = (path, how) => path === "explain"
          ? Promise.resolve(new Response('{"error": "It takes longer."}', {status: 503}))
          : real(path, how);
        """
    )
    before = text(browser, "#verdict .sure")
    set_value(browser, "age", "20")
    until(browser, lambda: text(browser, "#verdict .sure") != before)
    assert text(browser, "#why-note") == "It takes longer."
    assert not browser.find_elements("css selector", "#why li")


def test_an_empty_field_is_a_gap_and_what_is_no_number_is_told(page):
    browser = page()
    set_value(browser, "age", "")
    until(browser, lambda: row_of(browser)["age"] is None)
    field(browser, "age").send_keys("1e")
    until(browser, lambda: "cannot be read" in text(browser, "#trouble"))
    assert text(browser, "#fields .wrong:not([hidden])")
    field(browser, "age").send_keys("1")
    until(browser, lambda: row_of(browser)["age"] == 10)
    assert not text(browser, "#trouble")


def test_every_control_has_a_name_for_those_who_do_not_see_it(page):
    browser = page()
    nameless = browser.execute_script(
        """
        return [...document.querySelectorAll("input, select, textarea, button")].filter(
          (one) => !(one.labels && one.labels.length && one.labels[0].textContent.trim())
            && !one.getAttribute("aria-label") && !one.textContent.trim())
          .map((one) => one.outerHTML);
        """
    )
    assert nameless == []
    assert browser.find_element("css selector", "#verdict").get_attribute("aria-live") == "polite"


def test_the_page_fits_screens_of_all_sizes_and_themes(page, tmp_path):
    browser = page(390)
    browser.execute_script(
        "document.querySelectorAll('details').forEach((one) => one.open = true)"
    )
    shots = set()
    for width, theme in (
        (320, "light"),
        (390, "dark"),
        (768, "light"),
        (1280, "light"),
        (1280, "dark"),
    ):
        emulate(browser, width, theme)
        wide, room = browser.execute_script(
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert wide <= room == width
        shot = pixels(browser)
        (tmp_path / f"{width}-{theme}.png").write_bytes(shot)
        shots.add(shot)
    assert len(shots) == 5
