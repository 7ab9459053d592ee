"""``covey compare``."""

import re

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covey import SubsetEnsembleClassifier
from covey.cli import _compare
from covey.cli._compare import Size, _really_worse, contestants, size_of
from covey.cli._console import CommandError
from covey.cli._evaluate import Trial, make_splits
from covey.evaluation._held_out import HeldOut, Predicted

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
    assert "Really worse than 'RBF SVR, tuned'" in shown or "'ridge regression, tuned'" in shown


def test_names_with_commas_are_told_from_each_other(tmp_path, run):
    run("demo", "--table", "wine.csv", cwd=tmp_path)
    names = {
        "logistic": "logistic regression, tuned",
        "fast": "covey, fast",
        "SVC": "RBF SVC, tuned",
    }
    models = [word for name in names for word in ("--models", name)]
    shown = run("compare", "wine.csv", "--target", "cultivar", *models, cwd=tmp_path).stdout
    (line,) = re.findall(r"As good, as far as these rows tell: (.*)\.\n", shown)
    assert len(line.split("; ")) == 2
    assert set(line.split("; ")) < set(names.values())


def test_models_that_fail_are_named_with_the_reason(tmp_path, run, monkeypatch):
    class Broken:
        def __init__(self, random_state=None, n_jobs=None):
            pass

        def set_params(self, **params):
            return self

        def get_params(self, deep=True):
            return {}

        def fit(self, X, y):
            raise RuntimeError("no licence\nfor this")

    monkeypatch.setattr("json.BrokenClassifier", Broken, raising=False)
    broken = ("json", "x", "LightGBM", "Broken", {}, "n_jobs")
    monkeypatch.setitem(_compare._PACKAGES, "lightgbm", broken)
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
    assert trial.held_out().correct.mean() > 0.8


def test_a_package_that_nobody_knows_is_refused():
    with pytest.raises(CommandError, match="there are lightgbm, ebm, catboost"):
        contestants(problem_of(some_table(40)), 0, ["gpt"])


def test_a_package_that_is_not_installed_is_named(monkeypatch):
    absent = ("no_such_module.part", "the-package", "EBM", "EBM", {}, "n_jobs")
    monkeypatch.setitem(_compare._PACKAGES, "ebm", absent)
    with pytest.raises(CommandError, match="pip install the-package"):
        contestants(problem_of(some_table(40)), 0, ["ebm"])


def test_differences_by_chance_are_seldom_called_real():
    """Twenty models that are as good as the best: none is really worse in most tables."""
    rng = np.random.default_rng(0)
    y = some_table(200)["y"].to_numpy(str)
    called = 0
    for _ in range(20):
        models = []
        for number in range(20):
            right = rng.random(200) < 0.8
            codes = right == (y == "b")
            predictions = np.where(codes[:, None], [0.3, 0.7], [0.7, 0.3])
            models.append(Predicted(f"{number}", predictions))
        # Against one that was not chosen for its luck.
        held_out = HeldOut(y, models, ["a", "b"])
        called += any(_really_worse(held_out, models, "accuracy").values())
    assert called <= 4


def test_linear_models_have_terms_and_trees_have_bytes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    line = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    assert size_of(line).terms == 4
    flock = SubsetEnsembleClassifier(3, random_state=0).fit(X, y)
    assert size_of(flock).terms == flock.support_.sum()
    forest = size_of(RandomForestClassifier(5, random_state=0).fit(X, y))
    assert forest.terms is None
    assert forest.n_bytes > 1_000


def test_sizes_are_written_as_people_read_them():
    assert str(Size(1, 5)) == "1 term"
    assert str(Size(1_200, 5)) == "1,200 terms"
    assert str(Size(None, 2_345_678)) == "2.3 MB"
    assert str(Size(None, 23_456)) == "23 kB"


def test_a_model_that_cannot_be_pickled_has_no_size_and_does_no_harm():
    assert size_of(lambda row: row).n_bytes == 0
