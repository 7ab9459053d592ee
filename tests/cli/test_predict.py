"""``covey predict``: rows of every make, in order, however many."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

from covey import load, save
from covey.cli._predict import _reason


def test_every_format_gives_the_same_predictions(folder, run):
    table = pd.read_csv(folder / "patients.csv")
    table.to_parquet(folder / "a.parquet", row_group_size=20)
    table.to_csv(folder / "b.tsv", sep="\t", index=False)
    table.to_csv(folder / "c.csv.gz", index=False)
    table.to_csv(folder / "d.csv", sep=";", decimal=",", index=False, encoding="utf-8-sig")
    wanted = run("predict", "flock.covey", "patients.csv", cwd=folder).stdout
    assert len(wanted.splitlines()) == 91
    for name in ("a.parquet", "b.tsv", "c.csv.gz", "d.csv"):
        assert run("predict", "flock.covey", name, cwd=folder).stdout == wanted, name
        stdin = (folder / name).read_bytes()
        assert run("predict", "flock.covey", "-", cwd=folder, stdin=stdin).stdout == wanted, name


def test_columns_are_reordered_and_others_ignored(folder, run):
    table = pd.read_csv(folder / "patients.csv")
    table.iloc[:, ::-1].assign(other=1).to_csv(folder / "moved.csv", index=False)
    moved = run("predict", "flock.covey", "moved.csv", cwd=folder).stdout
    assert moved == run("predict", "flock.covey", "patients.csv", cwd=folder).stdout


def long_table(folder, n_rows=30_000):
    """More than a block of patients, with a column that is empty until the end."""
    table = pd.read_csv(folder / "patients.csv", dtype=str)
    table = table.iloc[np.arange(n_rows) % len(table)].reset_index(drop=True)
    table["note"] = ""
    table.loc[n_rows - 5 :, "note"] = "hello"
    table.loc[n_rows - 2, "age"] = "oops"
    return table


def test_copied_columns_may_change_far_into_the_table(folder, run):
    table = long_table(folder)
    table.to_csv(folder / "long.csv", index=False)
    arguments = ("predict", "flock.covey", "--copy", "note", "--copy", "age", "--out", "a.parquet")
    result = run(*arguments, "long.csv", cwd=folder)
    assert result.exit_code == 0, result.output
    made = pd.read_parquet(folder / "a.parquet")
    assert made["note"].tolist()[-6:] == [None] + ["hello"] * 5
    assert made["age"].tolist()[-2] == "oops"
    # Whole numbers stay whole, with a gap in a later piece too.
    clinic = table["clinic"].astype("Int64")
    clinic.iloc[-1] = pd.NA
    table.assign(age=pd.to_numeric(table["age"], errors="coerce"), clinic=clinic).to_parquet(
        folder / "long.parquet"
    )
    arguments = ("predict", "flock.covey", "--copy", "clinic", "--out", "a.parquet")
    assert run(*arguments, "long.parquet", cwd=folder).exit_code == 0
    assert parquet.read_table(folder / "a.parquet")["clinic"].to_pylist() == [
        *clinic.tolist()[:-1],
        None,
    ]


def test_a_copied_column_is_not_replaced_by_what_is_predicted(folder, run):
    table = pd.read_csv(folder / "patients.csv", dtype=str).assign(prediction="old")
    table.to_csv(folder / "named.csv", index=False)
    arguments = ("predict", "flock.covey", "named.csv", "--copy", "prediction", "--out", "n.csv")
    result = run(*arguments, cwd=folder)
    assert result.exit_code == 2
    assert "--copy: what is predicted has a column 'prediction', too" in result.output
    assert not (folder / "n.csv").exists()


def test_json_is_whole_whatever_happens(folder, run):
    text = long_table(folder).to_csv(index=False)
    (folder / "ragged.csv").write_text(text + "1,2\n")
    result = run("predict", "flock.covey", "ragged.csv", "--json", cwd=folder)
    assert result.exit_code == 2
    said = json.loads(result.stdout)
    assert len(said["predictions"]) > 1_000
    assert "has 2 fields" in said["error"]
    table = pd.read_csv(folder / "patients.csv").head(3)
    table["when"] = [pd.Timestamp("2020-01-01"), None, pd.Timestamp("2020-01-03 12:00")]
    table["far"] = [np.inf, 1.5, None]
    table.to_parquet(folder / "odd.parquet")
    arguments = ("odd.parquet", "--copy", "when", "--copy", "far", "--json")
    result = run("predict", "flock.covey", *arguments, cwd=folder)
    said = json.loads(result.stdout, parse_constant=pytest.fail)["predictions"]
    assert [one["when"] for one in said] == ["2020-01-01 00:00:00", None, "2020-01-03 12:00:00"]
    assert [one["far"] for one in said] == [None, 1.5, None]


def test_an_input_is_not_replaced(folder, run):
    table, model = (folder / "patients.csv").read_bytes(), (folder / "flock.covey").read_bytes()
    (folder / "link.csv").symlink_to("patients.csv")
    for out in ("patients.csv", "./patients.csv", "link.csv"):
        result = run("predict", "flock.covey", "patients.csv", "--out", out, cwd=folder)
        assert result.exit_code == 2
        assert "is what is read, and would be replaced; choose another." in result.stderr
    assert (folder / "patients.csv").read_bytes() == table
    assert (folder / "flock.covey").read_bytes() == model


def test_times_of_greenwich_are_saved_and_predicted(folder, run):
    table = pd.read_csv(folder / "patients.csv")
    table["seen"] = table["visited"] + "T10:30:00Z"
    table.to_csv(folder / "zoned.csv", index=False)
    fit = ("fit", "zoned.csv", "--target", "outcome", "--effort", "fast", "--model", "z.covey")
    result = run(*fit, cwd=folder)
    assert result.exit_code == 0, result.output
    result = run("predict", "z.covey", "zoned.csv", cwd=folder)
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 91


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_terminal_that_is_closed_leaves_nothing_half_written(folder, number):
    before = set(os.listdir(folder))
    command = [sys.executable, "-m", "covey", "predict", "flock.covey", "-", "--out", "o.csv"]
    child = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Under nohup it would ignore the signal, as it should.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    while not any(".part" in name for name in os.listdir(folder)):
        assert child.poll() is None
        time.sleep(0.05)
    child.send_signal(number)
    # Its input stays open until it has ended, or it would read an empty table.
    child.wait(timeout=60)
    assert child.communicate()[1] == "covey: stopped; no file was changed.\n"
    assert child.returncode == 128 + number
    assert set(os.listdir(folder)) == before


def test_sets_and_rows_for_a_person(folder, run):
    fit = (
        "fit",
        "patients.csv",
        "--target",
        "outcome",
        "--drop",
        "visited",
        "--effort",
        "fast",
        "--model",
        "s.covey",
    )
    assert run(*fit, cwd=folder).exit_code == 0
    arguments = ("predict", "s.covey", "patients.csv", "--level", "0.9", "--reject", "0.3")
    result = run(*arguments, "--proba", "--out", "a.csv", cwd=folder)
    assert result.exit_code == 0, result.output
    assert re.search(r"Of rows held out \d+\.\d% are left to a person; \d+\.\d% of", result.stderr)
    made = pd.read_csv(folder / "a.csv")
    model = load(folder / "s.covey")
    left = made["prediction"].isna()
    top = made[["probability_ill", "probability_well"]].max(axis=1)
    assert 0 < left.mean() < 0.7
    assert top[left].max() < model.rejection(0.3).threshold <= top[~left].min()
    assert set(made["set"]) <= {"ill", "well", "ill; well"}
    table = pd.read_csv(folder / "patients.csv")
    sets = model.predict_set(table[model.feature_names_in_], 0.9)
    assert ((made["set"] == "ill; well") == sets.all(axis=1)).all()


def test_promises_that_cannot_be_kept_are_refused_by_name(folder, run):
    model = load(folder / "flock.covey")
    del model.calibration_  # as of a flock that was fitted without folds in Python
    save(model, folder / "flock.covey")
    for option, share, sentence in (
        ("--level", 0.9, "--level: the model was fitted without rows held out"),
        ("--reject", 0.1, "--reject: the model was fitted without rows held out"),
        ("--level", 90, "--level must be a share between 0 and 1, got 90"),
        ("--reject", 1, "--reject must be a share between 0 and 1, got 1"),
    ):
        result = run("predict", "flock.covey", "patients.csv", option, share, cwd=folder)
        assert result.exit_code == 2
        assert sentence in " ".join(result.stderr.split())


def test_bounds_of_numbers(folder, run):
    fit = (
        "fit",
        "patients.csv",
        "--target",
        "age",
        "--drop",
        "visited",
        "--effort",
        "fast",
        "--model",
        "n.covey",
    )
    assert run(*fit, cwd=folder).exit_code == 0
    result = run("predict", "n.covey", "patients.csv", "--level", "0.8", "--json", cwd=folder)
    said = json.loads(result.stdout)["predictions"]
    assert all(one["low"] < one["prediction"] < one["high"] for one in said)
    result = run("predict", "n.covey", "patients.csv", "--reject", "0.1", cwd=folder)
    assert "--reject: the model predicts numbers; use --level" in " ".join(result.stderr.split())


def test_reasons_in_a_table_have_no_power_of_ten():
    reason = {"column": "smoker", "value": "yes", "typical": "no", "push": 17_234.0}
    assert _reason(reason) == "smoker = yes (typical no, +17,000)"
    assert _reason({**reason, "push": -0.0321}) == "smoker = yes (typical no, -0.032)"
