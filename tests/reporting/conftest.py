"""Flocks to report on, and a real browser to look at the pages with."""

import os
import re
import shutil
from collections import Counter
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from covey import (
    FlockClassifier,
    FlockRegressor,
    FusionClassifier,
    FusionRegressor,
    SubsetEnsembleClassifier,
    SubsetEnsembleRegressor,
)
from covey.evaluation._held_out import HeldOut, Predicted
from covey.reporting import build_report

# With COVEY_BROWSER=required a browser that is missing fails the tests that need one.
REQUIRED = os.environ.get("COVEY_BROWSER") == "required"

NASTY_NAME = "<script>window.broken = true</script>"

NO_BROWSER = "NO BROWSER"

KINDS = ["gated", "product", "fused", "gated values", "mean values", "fused values"]


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
    return FlockClassifier(n_estimators=4, effort="fast", random_state=0).fit(X, y)


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
def diabetes():
    """Training and test rows of a frame whose target is a number."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X = X.rename(columns={"bp": NASTY_NAME})
    train = np.arange(len(X)) % 3 > 0
    return X[train], X[~train], y[train].to_numpy(), y[~train].to_numpy()


@pytest.fixture(scope="session")
def gated_values(diabetes):
    X, _, y, _ = diabetes
    return FlockRegressor(n_estimators=4, effort="fast", random_state=0).fit(X, y)


@pytest.fixture(scope="session")
def mean_values(diabetes):
    X, _, y, _ = diabetes
    return SubsetEnsembleRegressor(
        5, fuser="mean", flip_probability=0.2, max_iter=40, random_state=0
    ).fit(X, y)


@pytest.fixture(scope="session")
def fused_values(diabetes):
    X, _, y, _ = diabetes
    members = [
        Ridge(0.1),
        KNeighborsRegressor(15),
        DecisionTreeRegressor(max_depth=3, random_state=0),
    ]
    return FusionRegressor(members, fuser="gate").fit(X, y)


@pytest.fixture(scope="session")
def reports(wine, product, gated, fused, diabetes, gated_values, mean_values, fused_values):
    """One report of each kind of flock, by name."""
    _, X, _, y = wine
    asked = {
        "title": "Which wine? </title><script>window.broken = true</script>",
        "target": "cultivar <b>",
        "command": "covey train 'a & b.csv'",
        "rivals": {
            "forest <i>": {"accuracy": (0.95, 0.9, 0.98), "seconds": 2.5},
            "logistic": {"accuracy": 0.9, "log_loss": 0.3},
        },
    }
    _, rows, _, values = diabetes
    numbers = {**asked, "rivals": {"forest <i>": {"r2": 0.4, "rmse": 60.0}}}
    return {
        "gated": build_report(gated, X, y, **asked),
        "product": build_report(product, X, y),
        "fused": build_report(fused, X, y),
        "gated values": build_report(gated_values, rows, values, **numbers),
        "mean values": build_report(mean_values, rows, values),
        "fused values": build_report(fused_values, rows, values),
    }


@pytest.fixture(scope="session")
def loans():
    """A table with gaps, categories and dates, and labels of which one is rare."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 420
    debt = rng.gamma(4.0, 0.09, n).round(3)
    work = rng.choice(["employed", "self-employed <1>", "none"], n, p=[0.7, 0.2, 0.1])
    risk = 7 * (debt - 0.45) + 1.6 * (work == "none") + rng.logistic(0, 0.6, n)
    table = pd.DataFrame(
        {
            "debt": np.where(rng.random(n) < 0.05, np.nan, debt),
            "work": work,
            "asked on": pd.date_range("2021-01-01", periods=n, freq="D").strftime("%Y-%m-%d"),
            "rooms": rng.integers(1, 5, n),
            "noise": rng.normal(size=n).round(3),
        }
    )
    return table, np.where(risk > 0.9, "denied", "granted")


@pytest.fixture(scope="session")
def loan_model(loans):
    """A model of all rows of the table."""
    pytest.importorskip("skrub")

    return FlockClassifier(effort="fast", random_state=0).fit(*loans)


@pytest.fixture(scope="session")
def judged(loans, loan_model):
    """What models without a row predict of it."""
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    table, y = loans
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    chances = cross_val_predict(
        clone(loan_model), table, y, cv=folds, method="predict_proba", n_jobs=1
    )
    models = [
        Predicted("flock", chances, "own"),
        Predicted(
            "commonest class",
            np.tile((y == loan_model.classes_[:, None]).mean(axis=1), (len(y), 1)),
            "simplest",
        ),
    ]
    return HeldOut(y, models, loan_model.classes_, how="3-fold cross-validation")


@pytest.fixture(scope="session")
def loan_report(loans, loan_model, judged):
    """The page of the model of all rows, judged by models without them."""
    return build_report(loan_model, loans[0], target="loan", held_out=judged)


def words_of(html, part=None):
    """The words of a page, or of an element by its identifier, with plain spaces."""
    if part is not None:
        tag, inside = re.search(f'<([a-z0-9]+) id="{part}"[^>]*>(.*)', html, re.DOTALL).groups()
        html = inside.split(f"</{tag}>")[0]
    return " ".join(unescape(re.sub("<[^>]*>", " ", html)).split())


EMPTY = {"meta", "link", "br", "input"}


class Outline(HTMLParser):
    """The elements of a page: those that are open, their text, and the order of headings."""

    def __init__(self, html):
        super().__init__()
        self.open, self.ids, self.headings, self.sections = [], [], [], []
        self.counts, self.svgs, self.text, self.attributes = Counter(), [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.counts[tag] += 1
        self.attributes += attrs.items()
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "section":
            self.sections.append(attrs["id"])
        if tag == "svg":
            self.svgs.append({"attrs": attrs, "title": "", "desc": ""})
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("title", "desc") and self.open[-2] == "svg":
            self.svgs[-1][self.open[-1]] += data
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)


@pytest.fixture(scope="session")
def outlines(reports):
    return {name: Outline(report.html) for name, report in reports.items()}


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
    """A headless Chromium that reaches no host but this one."""
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
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
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
