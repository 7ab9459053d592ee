"""The pages in a real headless browser that reaches no host."""

import base64
import re
import shutil
import subprocess

import pytest

from tests.reporting.conftest import KINDS


@pytest.fixture(scope="session")
def pages(tmp_path_factory, reports, loan_report):
    folder = tmp_path_factory.mktemp("reports")
    return {
        name: report.save(folder / f"{name}.html").as_uri()
        for name, report in {**reports, "loans": loan_report}.items()
    }


@pytest.fixture
def look(browser, pages):
    """Open a page as a reader with such a screen and theme would, with what is for experts."""

    def open_page(name, width=1280, theme="light", experts=True):
        emulate(browser, width, theme)
        browser.get_log("browser")
        browser.get(pages[name])
        if experts:
            browser.execute_script("document.getElementById('experts').open = true")
        return browser

    return open_page


def emulate(browser, width=1280, theme="light", media=""):
    """Give the reader another screen, theme or medium."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": media, "features": [{"name": "prefers-color-scheme", "value": theme}]},
    )


def until(browser, condition):
    """Wait for a condition of the page, however busy the machine is."""
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, 60, poll_frequency=0.05).until(lambda _: condition())


def pixels(browser):
    """A picture of what is on the screen."""
    return base64.b64decode(browser.get_screenshot_as_base64())


def colours(png):
    from io import BytesIO

    from PIL import Image

    return Image.open(BytesIO(png)).convert("RGB").getcolors(1 << 24)


@pytest.mark.parametrize("name", [*KINDS, "loans"])
def test_a_page_loads_nothing_and_complains_of_nothing(name, look):
    browser = look(name)
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.readyState") == "complete"


def test_the_browser_would_notice_what_is_loaded_from_outside(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<img src='https://example.org/x.png'>")
    browser.get(page.as_uri())
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 1
    until(
        browser,
        lambda: any(
            "ERR_NAME_NOT_RESOLVED" in entry["message"] for entry in browser.get_log("browser")
        ),
    )


def test_names_of_columns_are_shown_and_never_run(look):
    browser = look("gated")
    assert browser.execute_script("return window.broken") is None
    assert "<script>window.broken" in browser.find_element("css selector", "#health").text
    assert "</title><script>" in browser.find_element("css selector", "h1").text


@pytest.mark.parametrize("name", [*KINDS, "loans"])
def test_no_page_scrolls_sideways(name, look):
    browser = look(name, 390)
    for width in (390, 320, 768, 1280):
        emulate(browser, width)
        wide, room = browser.execute_script(
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert wide <= room == width


def test_letters_of_charts_stay_readable_on_a_phone(look):
    browser = look("loans", 390)
    smallest = browser.execute_script(
        """
        return Math.min(...[...document.querySelectorAll("svg text")].map((text) =>
          parseFloat(getComputedStyle(text).fontSize)
          * Math.hypot(text.getScreenCTM().a, text.getScreenCTM().b)));
        """
    )
    assert smallest >= 7.5


def test_the_theme_of_the_reader_is_followed(look):
    browser = look("gated")

    def paper():
        return browser.execute_script("return getComputedStyle(document.body).backgroundColor")

    light, light_shot = paper(), pixels(browser)
    assert light == "rgb(255, 255, 255)"
    emulate(browser, theme="dark")
    assert paper() != light
    assert pixels(browser) != light_shot
    # On paper it is light whatever the theme.
    emulate(browser, theme="dark", media="print")
    assert paper() == light


def test_pictures_of_its_parts_can_be_taken(look, tmp_path):
    browser = look("gated")
    for width, theme in ((1280, "light"), (1280, "dark"), (390, "light")):
        emulate(browser, width, theme)
        for key in ("scores", "members"):
            browser.execute_script(f"document.getElementById('{key}').scrollIntoView()")
            shot = pixels(browser)
            (tmp_path / f"{key}-{width}-{theme}.png").write_bytes(shot)
            assert len(colours(shot)) > 50


def test_it_prints_on_a_few_pages(look):
    pdf = look("product", experts=True).execute_cdp_cmd(
        "Page.printToPDF", {"printBackground": True, "paperWidth": 8.27, "paperHeight": 11.69}
    )
    data = base64.b64decode(pdf["data"])
    assert data.startswith(b"%PDF")
    assert 4 <= len(re.findall(rb"/Type\s*/Page\b(?!s)", data)) <= 20


def test_what_is_for_experts_is_not_printed_unless_it_is_open(look):
    pdf = look("loans", experts=False).execute_cdp_cmd(
        "Page.printToPDF", {"printBackground": True, "paperWidth": 8.27, "paperHeight": 11.69}
    )
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", base64.b64decode(pdf["data"]))) <= 4


# -- what anybody reads ----------------------------------------------------------------------


@pytest.mark.parametrize("name", [*KINDS, "loans"])
def test_three_screens_come_before_the_fold_which_is_closed(name, look):
    browser = look(name, 1180, experts=False)
    fold = browser.find_element("css selector", "#experts")
    assert fold.get_attribute("open") is None
    assert fold.location["y"] <= 3 * 900
    emulate(browser, 1280)
    assert fold.location["y"] <= 3 * 900
    # The answers to all five questions begin on the first screen.
    for key in ("how-sure", "looks-at", "when-wrong", "what-changes", "may-i-trust"):
        answer = browser.find_element("id", key)
        assert answer.is_displayed()
        assert answer.location["y"] < 900


def said(browser):
    """The numbers of the sentence below the threshold, by what they are."""
    shown = browser.find_elements("css selector", ".threshold [data-shows]")
    return {one.get_attribute("data-shows"): one.text.replace("\u00a0", " ") for one in shown}


def move(browser, position):
    """Move the threshold as a hand would, and say so to the page."""
    browser.execute_script(
        "const slider = document.getElementById('threshold-at'); slider.value = arguments[0];"
        "slider.dispatchEvent(new Event('input', { bubbles: true }));",
        position,
    )


def test_a_threshold_that_is_moved_moves_the_numbers(look, judged):
    browser = look("loans", experts=False)
    chances = judged.predictions[:, 0]
    denied = judged.y == "denied"
    at = browser.execute_script(
        "return JSON.parse(document.querySelector('.threshold').dataset.counts)[0].at"
    )

    def wanted(threshold):
        called = chances >= threshold
        return int((called & denied).sum()), int((called & ~denied).sum())

    before, dots = said(browser), []
    assert before["at"] == "50 %"
    for position in (at.index(0.5), at.index(0.2), at.index(0.1), 0):
        move(browser, position)
        found, false = wanted(at[position])
        now = said(browser)
        assert (now["found"], now["false"]) == (str(found), str(false))
        assert now["called"] == str(found + false)
        assert now["found-share"].startswith(f"{100 * found / denied.sum():.0f}"[:2])
        dots.append(browser.find_element("css selector", ".curve-roc .moves").get_attribute("cx"))
        slider = browser.find_element("id", "threshold-at")
        assert slider.get_attribute("aria-valuetext").replace("\u00a0", " ") == now["at"]
    assert said(browser)["found-share"] == "100 %"
    assert len(set(dots)) == 4
    # What is there before anything moves is what the script writes.
    move(browser, at.index(0.5))
    assert said(browser) == before


def test_a_threshold_moves_by_the_keyboard(look):
    browser = look("loans", experts=False)
    before = said(browser)["at"]
    slider = browser.find_element("id", "threshold-at")
    slider.send_keys("\ue012")  # arrow left
    assert said(browser)["at"] != before


def test_of_several_classes_each_can_be_asked_for(look):
    from selenium.webdriver.support.ui import Select

    browser = look("fused", experts=False)
    choice = Select(browser.find_element("id", "threshold-class"))
    seen = set()
    for option in [one.text for one in choice.options]:
        choice.select_by_visible_text(option)
        now = said(browser)
        assert now["name"] == option
        assert now["at"] == "50 %"
        points = browser.find_element("css selector", ".curve-pr polyline")
        seen.add((now["n"], points.get_attribute("points")))
    assert len(seen) == 3


def test_a_link_into_what_is_for_experts_opens_it(look):
    browser = look("loans", experts=False)
    assert not browser.find_element("id", "members").is_displayed()
    browser.find_element("css selector", 'nav a[href="#members"]').click()
    until(browser, browser.find_element("id", "members").is_displayed)


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """The rules of axe-core, from the registry of npm; without one the pages are not checked."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is missing, so axe-core's rules were not tried")
    folder = tmp_path_factory.mktemp("axe")
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--no-save"]
    try:
        subprocess.run(
            [*command, "--prefix", str(folder), "axe-core@4"],
            check=True,
            timeout=60,
            capture_output=True,
            cwd=folder,
        )
    except (subprocess.SubprocessError, OSError):
        pytest.skip("axe-core cannot be installed here, so its rules were not tried")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["loans", "fused", "gated values"])
def test_a_page_breaks_no_rule_of_accessibility(name, theme, axe, browser, pages, look):
    browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    try:
        look(name, theme=theme)
        browser.execute_script(axe)
        found = browser.execute_async_script(
            "const done = arguments[0]; axe.run(document).then((found) => done("
            "[found.passes.length, found.violations.map((one) => "
            "[one.id, one.impact, one.nodes[0].html])]));"
        )
    finally:
        browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})
    n_passed, broken = found
    assert n_passed > 20
    assert [one for one in broken if one[1] in ("serious", "critical")] == []


# -- what is for experts ---------------------------------------------------------------------


def column(browser, place):
    return browser.execute_script(
        f"""
        return [...document.querySelectorAll("#scores tbody tr")].map(
          (row) => row.cells[{place}].textContent);
        """
    )


def sort_states(browser):
    return [
        head.get_attribute("aria-sort")
        for head in browser.find_elements("css selector", "#scores thead th")
    ]


def test_a_head_that_is_clicked_sorts_numbers_as_numbers(look):
    browser = look("gated")
    before = column(browser, 1)
    head = browser.find_elements("css selector", "#scores thead th button")[1]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", head)
    assert set(sort_states(browser)) == {"none"}
    head.click()
    values = [float(text.split()[0]) for text in column(browser, 1)]
    assert values == sorted(values, reverse=True)
    assert sort_states(browser) == ["none", "descending", "none", "none", "none"]
    head.click()
    values = [float(text.split()[0]) for text in column(browser, 1)]
    assert values == sorted(values)
    assert sort_states(browser)[1] == "ascending"
    assert sorted(before) == sorted(column(browser, 1))


def test_a_table_sorts_by_the_keyboard(look):
    browser = look("gated")
    head = browser.find_elements("css selector", "#scores thead th button")[0]
    browser.execute_script("arguments[0].focus()", head)
    browser.switch_to.active_element.send_keys("\n")
    names = column(browser, 0)
    assert names == sorted(names, key=lambda name: name.strip("“").lower())
    assert sort_states(browser)[0] == "ascending"
    browser.switch_to.active_element.send_keys(" ")
    assert column(browser, 0) == names[::-1]


def test_pointing_at_a_cell_names_it_at_once(look):
    from selenium.webdriver import ActionChains

    browser = look("product")
    cell = browser.find_elements("css selector", "#members svg rect.cell")[1]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", cell)
    tip = browser.find_element("css selector", "#tip")
    assert not tip.is_displayed()
    # The page reports that it has scrolled at the next frame, and scrolling hides the tip.
    browser.execute_async_script(
        "const done = arguments[0];"
        "requestAnimationFrame(() => requestAnimationFrame(() => done()));"
    )
    ActionChains(browser).move_to_element(cell).perform()
    until(browser, tip.is_displayed)
    assert tip.text.startswith("member 1, ")
    assert "of its weight" in tip.text
    ActionChains(browser).send_keys("\ue00c").perform()  # Escape
    until(browser, lambda: not tip.is_displayed())


def test_charts_keep_their_text_alternative(look):
    browser = look("product")
    named = browser.execute_script(
        """
        return [...document.querySelectorAll("svg[role=img]")].map(
          (svg) => [svg.getAttribute("aria-label"),
                    document.getElementById(svg.getAttribute("aria-describedby")).textContent]);
        """
    )
    assert len(named) > 10
    assert all(label and description for label, description in named)


def test_the_frame_of_a_notebook_works(browser, reports, tmp_path):
    page = tmp_path / "notebook.html"
    page.write_text(f"<!doctype html><meta charset=utf-8>{reports['product']._repr_html_()}")
    browser.get_log("browser")
    browser.get(page.as_uri())
    browser.switch_to.frame(0)
    try:
        until(
            browser,
            lambda: browser.execute_script(
                "return document.readyState === 'complete' && !!document.querySelector('h1')"
            ),
        )
        assert browser.find_element("css selector", "h1").is_displayed()
        # The script has run: it closes the contents where there is little room.
        assert browser.execute_script("return document.querySelectorAll('svg title').length") == 0
    finally:
        browser.switch_to.default_content()
    assert browser.get_log("browser") == []
