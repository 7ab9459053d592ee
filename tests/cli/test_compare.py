"""``covey compare``."""

import numpy as np
import pytest

from covey.cli import _contestants
from covey.cli._compare import _really_worse
from covey.cli._console import CommandError
from covey.cli._contestants import contestants
from covey.cli._evaluate import Score, Trial, make_splits

from .conftest import as_json, problem_of, some_table


def test_compare_is_a_table_on_the_same_rows(folder, run):
    said = as_json(
        run(
            *("compare", "patients.csv", "--target", "outcome", "--json", "--models", "fast"),
            *("--models", "commonest", "--models", "SVC"),
            cwd=folder,
        )
    )
    names = [one["name"] for one in said["scores"]]
    assert set(names) == {"covey, fast", "commonest class", "RBF SVC, tuned"}
    assert names[-1] == "commonest class"
    # It has no probabilities, and JSON has no NaN.
    by_name = {one["name"]: one for one in said["scores"]}
    assert by_name["RBF SVC, tuned"]["log_loss"] is None
    assert said["scores"][0]["difference_from_best"] == [0, 0, 0]
    values = [one["accuracy"] for one in said["scores"]]
    assert values == sorted(values, reverse=True)
    assert by_name["commonest class"]["really_worse_in"] == ["accuracy", "log-loss"]
    assert said["scores"][0]["really_worse_in"] == []
    assert by_name["covey, fast"]["size"]["terms"] > 0
    assert by_name["RBF SVC, tuned"]["size"]["terms"] is None


def test_numbers_are_compared_with_intervals_too(tmp_path, run):
    rng = np.random.default_rng(0)
    table = some_table(80)
    # In units in which a margin of 0.1 is all: an unscaled machine would predict the mean.
    table["y"] = 1e-3 * (table["x"] + 0.1 * rng.normal(size=80))
    table.to_csv(tmp_path / "table.csv", index=False)
    models = ("--models", "SVR", "--models", "ridge", "--models", "mean")
    command = ("compare", "table.csv", "--target", "y", *models)
    said = as_json(run(*command, "--json", cwd=tmp_path))
    by_name = {one["name"]: one for one in said["scores"]}
    assert by_name["RBF SVR, tuned"]["r2"] > 0.9
    gap, low, high = by_name["the mean"]["difference_from_best"]
    assert low < gap < high < 0
    assert by_name["the mean"]["really_worse_in"] == ["squared error"]
    shown = run(*command, cwd=tmp_path).stdout
    assert "Really worse than" in shown


def test_models_that_fail_are_named_with_the_reason(tmp_path, run, monkeypatch):
    class Broken:
        def __init__(self):
            pass

        def get_params(self, deep=True):
            return {}

        def fit(self, X, y):
            raise RuntimeError("no licence\nfor this")

    monkeypatch.setitem(
        _contestants._PACKAGES, "lightgbm", ("json", "x", "LightGBM", lambda *how: Broken())
    )
    some_table(40).to_csv(tmp_path / "table.csv", index=False)
    models = ("--models", "Light", "--models", "commonest")
    said = as_json(run("compare", "table.csv", "--target", "y", *models, "--json", cwd=tmp_path))
    assert [one["name"] for one in said["scores"]] == ["commonest class"]
    assert said["failed"] == [{"name": "LightGBM", "reason": "no licence"}]
    assert any("no licence" in note for note in said["notes"])


@pytest.mark.parametrize(
    ("module", "name", "shown"),
    [("lightgbm", "lightgbm", "LightGBM"), ("catboost", "catboost", "CatBoost")],
)
def test_models_of_other_packages_are_there_if_they_are_installed(module, name, shown):
    pytest.importorskip(module)
    # LightGBM refuses such signs in names.
    problem = problem_of(some_table(150, **{'a "b": {c}': np.arange(150) % 7}))
    model = contestants(problem, 0, [name])[shown]
    if name == "catboost":
        model.steps[-1][1].set_params(iterations=5)
    trial = Trial(problem, make_splits(problem, 0)[0][:1])
    trial.run({shown: model})
    assert trial.scores()[0].value > 0.8


def test_a_package_that_nobody_knows_is_refused():
    with pytest.raises(CommandError, match="there are lightgbm, ebm, catboost"):
        contestants(problem_of(some_table(40)), 0, ["gpt"])


def test_a_package_that_is_not_installed_is_named(monkeypatch):
    absent = ("no_such_module", "the-package", "EBM", lambda *how: None)
    monkeypatch.setitem(_contestants._PACKAGES, "ebm", absent)
    with pytest.raises(CommandError, match="pip install the-package"):
        contestants(problem_of(some_table(40)), 0, ["ebm"])


def test_differences_by_chance_are_seldom_called_real():
    """Twenty models that are as good as the best: none is really worse in most tables."""
    rng = np.random.default_rng(0)
    problem = problem_of(some_table(200))
    called = 0
    for _ in range(20):
        scores = []
        for number in range(20):
            right = rng.random(200) < 0.8
            codes = np.where(right, problem.y, np.where(problem.y == "a", "b", "a")) == "b"
            predictions = np.where(codes[:, None], [0.3, 0.7], [0.7, 0.3])
            scores.append(Score.of(f"{number}", problem, np.arange(200), predictions))
        # Against one that was not chosen for its luck.
        called += any(_really_worse(scores, problem).values())
    assert called <= 4
