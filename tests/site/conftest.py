"""The built site behind a server of its own, a real browser that reaches no other, and axe."""

import os
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

BUILD = Path(__file__).parents[2] / "docs" / "_build"
SITE = BUILD / "html"
AXE = BUILD / "axe" / "node_modules" / "axe-core" / "axe.min.js"

# What the browser is told to refuse: everything that is not on the page's own host.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:"
)


class Handler(SimpleHTTPRequestHandler):
    """Serves files under a policy that forbids other hosts, and prints nothing."""

    def end_headers(self):
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, *args):
        pass


def emulate(browser, width, theme):
    """Give the reader another screen and theme."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": theme}]},
    )


def until(browser, condition):
    """Wait for a condition of the page, however busy the machine is."""
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, 60, poll_frequency=0.05).until(lambda _: condition())


@pytest.fixture(scope="session")
def address():
    if not (SITE / "index.html").exists():
        pytest.fail("There is no site in docs/_build/html; run: make docs.", pytrace=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium that reaches this machine alone."""
    from selenium import webdriver

    programs = [shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")]
    program = next((path for path in programs if path), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.fail("These tests need chromium and chromedriver.", pytrace=False)
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (
        "--headless=new",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--no-first-run",
        "--disable-background-networking",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ):
        options.add_argument(argument)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium refuses to run as root within one
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield browser
    browser.quit()


@pytest.fixture
def visit(browser, address):
    """Open a page as a reader with such a screen and theme would."""

    def open_page(page, width=1280, theme="light"):
        emulate(browser, width, theme)
        browser.get("about:blank")
        browser.get_log("browser")
        browser.get(f"{address}/{page}")
        return browser

    return open_page


@pytest.fixture(scope="session")
def axe():
    if not AXE.exists():
        pytest.fail(f"{AXE} is missing; make test-docs installs it by npm.", pytrace=False)
    return AXE.read_text(encoding="utf-8")
