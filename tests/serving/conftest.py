"""Models to serve, clients of the application, and servers in processes of their own."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient

import covey
from covey import Evaluation, FlockClassifier, FlockRegressor
from covey._intervals import Interval
from covey.evaluation._record import Score
from covey.serving import make_app
from tests.reporting.conftest import browser  # noqa: F401 (a fixture)

NASTY = "<script>window.broken = true</script>"
QUOTES = """a "quoted" 'name' &amp; </script>"""


def make_table(n_rows=240, seed=0):
    """Numbers, gaps, categories, dates, and names in several scripts, some of them hostile."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n_rows).astype(float),
            NASTY: rng.normal(size=n_rows).round(3),
            QUOTES: rng.choice(["<b>bold</b>", "plain", "東京"], n_rows),
            "عمر": rng.choice([True, False], n_rows),
            "seen on": pd.date_range("2021-01-01", periods=n_rows).strftime("%d/%m/%Y"),
        }
    )
    score = (table["age"] - 50) / 15 + table[NASTY] + (table[QUOTES] == "plain")
    table.loc[rng.random(n_rows) < 0.1, "age"] = np.nan
    return table, score.to_numpy()


@pytest.fixture(scope="session")
def table():
    return make_table()[0]


@pytest.fixture(scope="session")
def model(table):
    score = make_table()[1]
    y = np.where(score > 0, "yes & <i>", "no")
    flock = FlockClassifier(effort="fast", random_state=0)
    fitted = flock.fit(table[::2], y[::2])
    fitted.evaluation_ = Evaluation(
        "classes",
        target="ill </title><script>window.broken = true</script>",
        n_rows=120,
        how="5 folds",
        scores=[Score("flock", "own", {"accuracy": Interval(0.9, 0.85, 0.94)})],
    )
    return fitted.calibrate(table[1::2], y[1::2])


@pytest.fixture(scope="session")
def regressor(table):
    score = make_table()[1]
    flock = FlockRegressor(effort="fast", random_state=0)
    return flock.fit(table[::2], 100 + 10 * score[::2])


@pytest.fixture(scope="session")
def app(model):
    return make_app(model)


@pytest.fixture(scope="session")
def client(app):
    with TestClient(app, base_url="http://localhost") as client:
        yield client


def plain_rows(table):
    """Rows as JSON has them."""
    return json.loads(table.to_json(orient="records"))


@pytest.fixture(scope="session")
def rows(table):
    return plain_rows(table)


# -- processes -------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def model_file(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("serving") / "model.covey"
    covey.save(model, path)
    return path


class Serving:
    """A ``covey serve`` in a process of its own."""

    def __init__(self, path, *options):
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "covey", "serve", str(path), *options],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self.first = self.process.stderr.readline()
        if "http://" not in self.first:
            self.first += self.process.stderr.readline()
        self.url = "http://" + self.first.partition("http://")[2].partition("/ ")[0]
        self.port = int(self.url.rpartition(":")[2])

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            return answer.read().decode()

    def end(self, number):
        """Send a signal; the exit status and what was written to stderr."""
        self.process.send_signal(number)
        _, text = self.process.communicate(timeout=60)
        return self.process.returncode, text


@contextmanager
def serving(path, *options):
    server = Serving(path, *options)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
        server.process.communicate()


@pytest.fixture(scope="session")
def server(model_file):
    with serving(model_file, "--port", "0", "--seconds", "2") as server:
        yield server
