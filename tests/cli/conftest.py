"""A table such as people have, and a model of it."""

import json
import shutil
import signal

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from covey.cli._console import Console
from covey.cli._problem import read_problem


def patients(n_rows=90):
    """Mixed types, gaps, an id, quotes and commas in text, a header beyond ASCII, a constant."""
    rng = np.random.default_rng(0)
    age = rng.normal(50, 12, n_rows).round(1)
    town = rng.choice(["Köln", 'Paris, "Rive Gauche"', "Rome"], n_rows)
    risk = (age - 50) / 10 + 1.5 * (town == "Rome") + rng.normal(0, 0.5, n_rows)
    table = pd.DataFrame(
        {
            "patient_id": [f"P{number:04d}" for number in range(n_rows)],
            "Größe": rng.normal(170, 9, n_rows).round(1),
            "age": age,
            "town": town,
            "visited": pd.date_range("2021-01-03", periods=n_rows).strftime("%Y-%m-%d"),
            "clinic": rng.integers(1, 9, n_rows),
            "unit": "cm",
            "outcome": np.where(risk > 0.4, "ill", "well"),
        }
    )
    for column in ("age", "town", "Größe", "outcome"):
        table.loc[rng.choice(n_rows, 4, replace=False), column] = np.nan
    return table


def as_json(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def problem_of(table, **options):
    return read_problem("", "y", Console(quiet=True), table=table, **options)


def some_table(n_rows=60, **columns):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n_rows)
    return pd.DataFrame(
        {"x": x, "z": rng.normal(size=n_rows), "y": np.where(x > 0, "a", "b")} | columns
    )


@pytest.fixture(autouse=True, scope="session")
def _heed_ctrl_c():
    """Tests that run in the background inherit that Ctrl-C is ignored; commands would, too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before or signal.SIG_DFL)


@pytest.fixture(scope="session")
def run():
    """Run a command in this process: ``run("fit", "table.csv", ...)``."""
    import os

    from covey.cli import app

    def invoke(*arguments, cwd, stdin=None):
        before = os.getcwd()
        os.chdir(cwd)
        try:
            return CliRunner().invoke(app, [str(one) for one in arguments], input=stdin)
        finally:
            os.chdir(before)

    return invoke


@pytest.fixture(scope="session")
def fitted_once(tmp_path_factory, run):
    folder = tmp_path_factory.mktemp("fitted")
    patients().to_csv(folder / "patients.csv", index=False)
    result = run(
        *("fit", "patients.csv", "--target", "outcome", "--effort", "fast", "--drop", "visited"),
        cwd=folder,
    )
    assert result.exit_code == 0, result.output
    (folder / "said.txt").write_text(result.stdout + result.stderr)
    return folder


@pytest.fixture
def folder(tmp_path, fitted_once):
    """A folder with ``patients.csv`` and ``flock.covey``, fitted on it without its date."""
    shutil.copytree(fitted_once, tmp_path / "work")
    return tmp_path / "work"
