"""Flocks to report on, and a real browser to look at the pages with."""

import os
import shutil

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from covey import FusionClassifier, SubsetEnsembleClassifier
from covey.reporting import build_report

# With COVEY_BROWSER=required a browser that is missing fails the tests that need one.
REQUIRED = os.environ.get("COVEY_BROWSER") == "required"

NASTY_NAME = "<script>window.broken = true</script>"

NO_BROWSER = "NO BROWSER"


@pytest.fixture(scope="session")
def wine():
    """Training and test rows of a frame, one of whose columns has a hostile name."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X.rename(columns={"ash": NASTY_NAME})
    labels = np.array(["first", "second", "third & last"])[y]
    train = np.arange(len(X)) % 3 > 0
    return X[train], X[~train], labels[train], labels[~train]


@pytest.fixture(scope="session")
def product(wine):
    X, _, y, _ = wine
    return SubsetEnsembleClassifier(
        5, fuser="product", flip_probability=0.2, max_iter=40, random_state=0
    ).fit(X, y)


@pytest.fixture(scope="session")
def gated(wine):
    X, _, y, _ = wine
    return SubsetEnsembleClassifier(4, effort="fast", random_state=0).fit(X, y)


@pytest.fixture(scope="session")
def fused(wine):
    X, _, y, _ = wine
    # Weak ones, so that some rows are wrong.
    members = [
        make_pipeline(StandardScaler(), LogisticRegression(C=1e-4)),
        GaussianNB(var_smoothing=0.1),
        DecisionTreeClassifier(max_depth=1, random_state=0),
    ]
    return FusionClassifier(members, fuser="ola").fit(X, y)


@pytest.fixture(scope="session")
def reports(wine, product, gated, fused):
    """One report of each kind of flock, by name."""
    _, X, _, y = wine
    asked = {
        "title": "Which wine? </title><script>window.broken = true</script>",
        "target": "cultivar <b>",
        "task": "Which of three?",
        "command": "covey train 'a & b.csv'",
        "baselines": [
            {"name": "forest <i>", "accuracy": 0.95, "low": 0.9, "high": 0.98, "seconds": 2.5},
            {"name": "logistic", "accuracy": 0.9, "log_loss": 0.3},
        ],
    }
    return {
        "gated": build_report(gated, X, y, **asked),
        "product": build_report(product, X, y),
        "fused": build_report(fused, X, y),
    }


# -- a browser -------------------------------------------------------------------------------


def _absent(what):
    """Say loudly that the pages were not looked at, or fail."""
    reason = (
        f"{NO_BROWSER}: {what} is missing, so no report was opened in one. Install chromium, "
        "chromium-driver and selenium; COVEY_BROWSER=required makes this a failure."
    )
    if REQUIRED:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium that reaches no host."""
    try:
        from selenium import webdriver
    except ImportError:
        _absent("selenium")
    found = [shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")]
    program = next((path for path in found if path), None)
    if program is None:
        _absent("chromium")
    driver = shutil.which("chromedriver")
    if driver is None:
        _absent("chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (
        "--headless=new",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ):
        options.add_argument(argument)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium refuses to run as root within one
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield browser
    browser.quit()


def pytest_terminal_summary(terminalreporter):
    skipped = [report.longrepr[2] for report in terminalreporter.stats.get("skipped", ())]
    reasons = [reason.removeprefix("Skipped: ") for reason in skipped if NO_BROWSER in reason]
    if reasons:
        terminalreporter.section("reports were not looked at", sep="!", red=True, bold=True)
        terminalreporter.write_line(f"{len(reasons)} tests SKIPPED. {reasons[0]}")
