"""``covey select``."""

import numpy as np
import pandas as pd

from covey.evaluation._record import Remark

from .conftest import as_json


def test_select_speaks_of_the_table_s_columns(folder, run):
    said = as_json(run("select", "patients.csv", "--target", "outcome", "--json", cwd=folder))
    names = [one["column"] for one in said["columns"]]
    assert sorted(names) == ["Größe", "age", "clinic", "town", "visited"]
    assert set(names[:2]) == {"age", "town"}
    assert {one["column"] for one in said["columns"] if one["selected"]} >= {"age"}
    assert set(said["pairs"][0]["columns"]) == {"age", "town"}


def test_columns_are_selected_for_numbers_too(tmp_path, run):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(120, 5)), columns=list("abcde")).round(3)
    table["town"] = rng.choice(["Rome", "Oslo"], 120)
    noise = rng.normal(0, 0.3, 120)
    table["price"] = 2 * table["b"] + 3 * (table["town"] == "Rome") + noise
    table.to_csv(tmp_path / "prices.csv", index=False)
    said = as_json(run("select", "prices.csv", "--target", "price", "--json", cwd=tmp_path))
    assert {one["column"] for one in said["columns"] if one["selected"]} == {"b", "town"}
    assert set(said["smallest"]) == {"b", "town"}
    assert set(said["pairs"][0]["columns"]) == {"b", "town"}


def test_both_answers_are_told_and_which_columns_may_stand_in(tmp_path, run):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(150, 5)), columns=list("abcde")).round(3)
    table["copy"] = table["b"] + 100
    table["price"] = table["b"] - table["c"] + rng.normal(0, 0.5, 150)
    table.to_csv(tmp_path / "prices.csv", index=False)
    command = ("select", "prices.csv", "--target", "price", "--level", "0.001", "--resamples", "4")
    said = as_json(run(*command, "--json", cwd=tmp_path))
    assert {one["column"] for one in said["columns"] if one["selected"]} == {"b", "c", "copy"}
    assert len(said["smallest"]) == 2
    assert sorted(said["twins"][0]) == ["b", "copy"]
    shown = run(*command, cwd=tmp_path).stdout
    assert "3 of 6 columns carry something about price" in shown
    assert f"Together these suffice: {', '.join(said['smallest'])}." in shown
    assert "Instead of {}: {}.".format(*said["twins"][0]) in shown


def test_options_that_select_lacks_are_not_advised(tmp_path, run, monkeypatch):
    from covey.cli import _problem

    said = ("when: give --time when for an honest estimate.", "y: --task numbers says otherwise.")
    remarks = [Remark("time", "when", said[0]), Remark("classes", "y", said[1])]
    monkeypatch.setattr(_problem, "guards", lambda problem: remarks)
    pd.DataFrame({"x": range(40), "y": ["a", "b"] * 20, "z": [1.5, 2, 3, 4] * 10}).to_csv(
        tmp_path / "table.csv", index=False
    )
    command = ("select", "table.csv", "--target", "y", "--resamples", "2", "--json")
    said = as_json(run(*command, cwd=tmp_path))
    assert not any("--time" in note for note in said["notes"])
    assert any("--task numbers" in note for note in said["notes"])
