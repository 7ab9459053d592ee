"""Models of a problem: whatever is tuned is tuned as it is judged, and limits hold."""

from functools import partialmethod

import numpy as np
import pandas as pd
import pytest

import covey
from covey.cli._compare import contestants
from covey.cli._console import Console
from covey.cli._evaluate import linear
from covey.cli._fitting import PreparedRows, checked_limits, flock
from covey.cli._problem import read_problem

from .conftest import as_json, problem_of, some_table


@pytest.mark.parametrize("way", ["group", "time", "both"])
@pytest.mark.parametrize("numbers", [False, True])
def test_whatever_is_tuned_is_tuned_as_it_is_judged(monkeypatch, way, numbers):
    who = np.random.default_rng(2).permutation(np.repeat(range(12), 5))
    day = np.random.default_rng(4).permutation(60)
    table = some_table(who=who, day=day)
    if numbers:
        table["y"] = np.random.default_rng(3).normal(size=60)
    options = {"group": {"group": "who"}, "time": {"time": "day"}}
    options["both"] = options["group"] | options["time"]
    problem = problem_of(table, **options[way])
    rows = np.arange(3, 58)
    seen = []

    def folds_of(estimator):
        given = estimator.get_params()
        return [given[name] for name in given if name.rpartition("__")[2] == "cv"]

    def spy(self, *given, fit, **more):
        seen.extend(folds_of(self))
        return fit(self, *given, **more)

    names = {"covey", "RBF SVR, tuned", "RBF SVC, tuned", *linear(problem)}
    prepared = PreparedRows(problem, rows)
    for name, estimator in contestants(problem, 0).items():
        if name in names:
            kind = type(estimator)
            with monkeypatch.context() as patched:
                patched.setattr(kind, "fit", partialmethod(spy, fit=kind.fit))
                fitted = prepared.fit(estimator)
            fitted = fitted if isinstance(fitted, kind) else fitted[-1]
            assert str(folds_of(fitted)) == str(folds_of(estimator))
    assert len(seen) == 3
    for folds in seen:
        for train, test in folds:
            if way != "time":
                assert not set(who[rows][train]) & set(who[rows][test])
            if way != "group":
                assert day[rows][train].max() < day[rows][test].min()


def test_copies_and_a_rare_class_do_not_change_how_a_flock_is_searched():
    rng = np.random.default_rng(0)
    table = some_table(y=np.where(rng.random(60) < 0.5, "a", "b"))
    table.loc[0, "y"] = "c"  # a class of one row
    console = Console(quiet=True)
    table = pd.concat([table, table.iloc[5:25]], ignore_index=True)
    problem = read_problem("", "y", console, table=table)
    assert problem.copies
    fitted = PreparedRows(problem, np.arange(80)).fit(flock(problem))
    assert fitted.effort == "balanced"
    assert not any("too few groups" in note for note in console.notes)


def test_few_groups_are_said_and_their_checkpoint_can_be_read_again(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], 90)
    y[:5] = "c"  # a class of one group, which no search can hold out
    table = pd.DataFrame({"x": rng.normal(size=90), "g": np.repeat(range(6), 15), "y": y})
    console = Console(quiet=True)
    problem = read_problem("", "y", console, table=table, group="g")
    prepared, learner = PreparedRows(problem, np.arange(90)), flock(problem)
    path = str(tmp_path / "fit.checkpoint")
    fits = [prepared.fit(learner, path) for _ in range(2)]
    assert sum("--effort fast" in note for note in console.notes) == 1
    np.testing.assert_array_equal(*[one.member_coef_ for one in fits])


def test_numbers_have_checkpoints_too(tmp_path):
    rng = np.random.default_rng(0)
    problem = problem_of(some_table(y=rng.normal(size=60)))
    prepared, learner = PreparedRows(problem, np.arange(60)), flock(problem, effort="fast")
    path = tmp_path / "fit.checkpoint"
    fits = [prepared.fit(learner, str(path)) for _ in range(2)]
    assert path.exists()
    np.testing.assert_array_equal(*[one.predict(problem.table) for one in fits])


@pytest.mark.parametrize("engine", ["plain", "dask"])
def test_limits_reach_the_flock_and_hold(tmp_path, run, engine):
    if engine == "dask":
        pytest.importorskip("dask")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 6)), columns=list("abcdef"))
    table["y"] = np.where(table["a"] + table["b"] * table["c"] > 0, "yes", "no")
    table.to_csv(tmp_path / "table.csv", index=False)
    limits = ("--max-features", "0.5", "--max-members", "4", "--max-terms", "25")
    said = as_json(
        run(
            *("fit", "table.csv", "--target", "y", "--engine", engine, *limits, "--json"),
            cwd=tmp_path,
        )
    )
    flock = covey.load(tmp_path / "flock.covey")
    assert flock.get_params()["max_features"] == 0.5
    assert flock.support_.sum(axis=1).max() <= 3
    assert said["members"] == flock.n_estimators_ <= 4
    assert said["terms"] == flock.n_terms_ <= 25


def test_kinds_of_members_and_the_time_reach_the_flock_and_are_explained(tmp_path, run):
    some_table().to_csv(tmp_path / "table.csv", index=False)
    # In no time one kind is tried, the linear members.
    how = ("--members", "mixed", "--time-limit", "0.01", "--effort", "fast")
    as_json(run("fit", "table.csv", "--target", "y", *how, "--json", cwd=tmp_path))
    flock = covey.load(tmp_path / "flock.covey")
    assert flock.get_params()["time_limit"] == 0.01
    assert flock.cv_results_["member"].tolist() == list(flock.named_estimators_) == ["linear"]
    said = run("predict", "flock.covey", "table.csv", "--explain", cwd=tmp_path)
    assert "linear, member " in said.stdout


def test_a_share_and_a_number_of_features_are_told_apart():
    assert checked_limits("1", None, None) == {"max_features": 1}
    assert checked_limits("1.0", 2, 30) == {"max_features": 1.0, "max_members": 2, "max_terms": 30}
    assert isinstance(checked_limits("1", None, None)["max_features"], int)
    assert isinstance(checked_limits("1.0", None, None)["max_features"], float)
