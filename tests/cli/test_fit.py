"""``covey fit``: one model, judged once, whatever shows it."""

import re

import numpy as np
import pytest

import covey

from .conftest import as_json, some_table


@pytest.fixture(scope="module", params=["classes", "numbers"])
def session(request, tmp_path_factory, run):
    """A fit with a page, of a table with a row without target: folder, JSON and text."""
    pytest.importorskip("jinja2")
    folder = tmp_path_factory.mktemp(request.param)
    rng = np.random.default_rng(3)
    table = some_table(90, w=rng.normal(size=90))
    noise = rng.normal(size=90)
    if request.param == "numbers":
        table["y"] = 2 * table["x"] + table["z"] + noise
    else:
        table["y"] = np.where(table["x"] + 0.5 * table["z"] + 0.5 * noise > 0, "ill", "well")
    table.loc[4, "y"] = None
    table.to_csv(folder / "table.csv", index=False)
    command = ("fit", "table.csv", "--target", "y", "--report", "page.html")
    said = as_json(run(*command, "--json", cwd=folder))
    shown = run(*command, "--model", "again.covey", cwd=folder)
    return folder, said, shown.stdout


def test_terminal_page_and_file_agree(session):
    folder, said, shown = session
    model = covey.load(folder / "flock.covey")
    page = (folder / "page.html").read_text()
    assert model.about_["scores"] == said["scores"]
    assert model.about_["held_out"] == said["held_out"] == "5-fold cross-validation"
    assert said["members"] == model.estimator_.n_estimators_
    own = said["scores"][0]
    if "accuracy" in own:
        numbers = [f"{100 * own[key]:.1f}" for key in ("accuracy", "low", "high")]
        assert "{} % ({} to {})".format(*numbers) in shown
        # What is counted by class in the file is what the accuracy is of.
        by_class = model.about_["judged"]["by_class"]
        right = sum(one["right"] for one in by_class)
        assert right / model.about_["judged"]["rows"] == pytest.approx(own["accuracy"])
    else:
        numbers = [f"{own[key]:.3f}" for key in ("r2", "low", "high")]
        assert "{} ({} to {})".format(*numbers) in shown
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    assert numbers[0] in text
    assert "Judged on 89 rows, each by a model that had not seen it" in text


def test_a_judgement_is_of_all_rows(session):
    _, said, _ = session
    assert said["rows"] == 89
