"""The site as its readers meet it: on a desk and on a phone, in the light and in the dark."""

import pytest

from tests.site.conftest import SITE, until

PAGES = [
    "index.html",
    "start/five_minutes.html",
    "start/table.html",
    "start/commands.html",
    "guide/index.html",
    "guide/grow.html",
    "guide/fuse.html",
    "guide/explain.html",
    "choosing.html",
    "serve.html",
    "equations.html",
    "paper.html",
    "course.html",
    "quality.html",
    "gallery/index.html",
    "gallery/and_of_lines.html",
    "notebooks/clinical_table.html",
    "api/index.html",
    "api/covey.FlockClassifier.html",
    "api/covey.fusers.DynamicSelection.html",
    "architecture.html",
    "project/changelog.html",
    "benchmarks/accuracy/report.html",
]
SCREENS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
# Scrollbars inside of a table or of code are fine; a page that slides sideways is not.
WIDER = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
LOADED = "return performance.getEntriesByType('resource').map(entry => entry.name)"
BROKEN = (
    "return [...document.images].filter(picture => picture.complete && !picture.naturalWidth)"
    ".map(picture => picture.src)"
)
# Colors that are on their way to others have the contrast of neither.
STILL = """
const style = document.createElement("style");
style.textContent = "* { transition: none !important; animation: none !important; }";
document.head.append(style);
"""
RUN_AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then(
  found => done(found.violations.map(
    v => [v.impact, v.id, v.nodes.length, v.nodes[0].html.slice(0, 200)])),
  error => done([["critical", String(error), 0, ""]]));
"""


def test_the_pages_looked_at_here_are_there():
    assert [page for page in PAGES if not (SITE / page).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_loads_from_its_own_host_alone_and_complains_of_nothing(page, visit, address):
    browser = visit(page)
    loaded = browser.execute_script(LOADED)
    assert [name for name in loaded if not name.startswith((address, "data:"))] == []
    log = browser.get_log("browser")  # the theme says at length which colors it took
    assert [entry for entry in log if entry["level"] in ("WARNING", "SEVERE")] == []
    assert browser.execute_script(BROKEN) == []


def test_the_browser_would_notice_what_is_loaded_from_elsewhere(visit):
    browser = visit("index.html")
    browser.execute_script("new Image().src = 'https://example.org/x.png'")
    until(
        browser,
        lambda: any("Content Security Policy" in e["message"] for e in browser.get_log("browser")),
    )


@pytest.mark.parametrize(("width", "theme"), SCREENS)
@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_nothing_serious_and_the_page_does_not_slide(page, width, theme, visit, axe):
    browser = visit(page, width, theme)
    assert browser.execute_script("return document.documentElement.dataset.theme") == theme
    assert browser.execute_script(WIDER) <= 1
    browser.execute_script(STILL)
    browser.execute_script(axe)
    browser.set_script_timeout(120)
    found = browser.execute_async_script(RUN_AXE)
    assert [violation for violation in found if violation[0] in ("serious", "critical")] == []


@pytest.mark.parametrize("width", [1280, 390])
def test_the_navigation_leads_from_the_start_page_to_the_guide_of_fusing(width, visit):
    browser = visit("index.html", width)
    if width < 960:
        browser.find_element("css selector", "button.primary-toggle").click()
        links = "dialog#pst-primary-sidebar-modal a"
    else:
        links = "header nav a"
    until(browser, lambda: any(link.is_displayed() for link in _links(browser, links, "Guide")))
    next(link for link in _links(browser, links, "Guide") if link.is_displayed()).click()
    until(browser, lambda: browser.current_url.endswith("guide/index.html"))
    next(link for link in _links(browser, "main a", "fuse") if link.is_displayed()).click()
    until(browser, lambda: browser.current_url.endswith("guide/fuse.html"))
    assert browser.find_element("css selector", "h1").text.startswith("Fuse")


def _links(browser, where, text):
    found = browser.find_elements("css selector", where)
    return [link for link in found if link.get_attribute("textContent").strip() == text]


@pytest.mark.parametrize("width", [1280, 390])
def test_searching_for_knora_finds_its_classes(width, visit):
    browser = visit("search.html?q=knora", width)
    until(browser, lambda: "DynamicSelection" in browser.find_element("css selector", "main").text)
    results = browser.find_elements("css selector", "#search-results li a")
    addresses = [result.get_attribute("href") for result in results]
    assert any("covey.fusers.DynamicSelection" in address for address in addresses)
    assert any("covey.fusers.GreedySelection" in address for address in addresses)


@pytest.mark.parametrize("width", [1280, 390])
def test_the_reference_of_a_flock_has_what_a_user_looks_for(width, visit):
    browser = visit("api/covey.FlockClassifier.html", width)
    text = browser.find_element("css selector", "main").text
    for wanted in ("effort", "max_features", "Examples", "predict_proba", "explain", "summary"):
        assert wanted in text
    for method in ("fit", "explain", "predict_set"):
        assert browser.find_elements("id", f"covey.FlockClassifier.{method}")


def test_names_in_the_guide_lead_to_the_reference(visit):
    browser = visit("guide/fuse.html")
    addresses = [
        link.get_attribute("href") for link in browser.find_elements("css selector", "main a")
    ]
    assert any("api/covey.FusionClassifier.html" in (address or "") for address in addresses)
    assert any(
        "api/covey.fusers.DynamicSelection.html" in (address or "") for address in addresses
    )
