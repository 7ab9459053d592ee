"""Rows to predict that are strange to a model are said by number."""

import numpy as np
import pandas as pd

from .conftest import some_table


def test_rows_that_are_empty_or_far_outside_are_named(folder, run):
    table = pd.read_csv(folder / "patients.csv", dtype=str)
    table.loc[2, "age"] = "430"
    table.loc[4, "Größe"] = "-1e6"
    table.loc[[6, 7], :] = None
    table.to_csv(folder / "odd.csv", index=False)
    result = run("predict", "flock.covey", "odd.csv", cwd=folder)
    assert result.exit_code == 0, result.output
    assert "row 3: age = 430 is far outside of what the model has seen (" in result.stderr
    assert "row 5: Größe = -1e+06 is far outside of what the model has seen (" in result.stderr
    assert (
        "rows 7, 8 have no value in any column that the model needs; what is predicted is for a "
        "typical row." in result.stderr
    )


def test_of_many_rows_a_few_are_named(folder, run):
    table = pd.read_csv(folder / "patients.csv", dtype=str)
    table["age"] = "1000"
    table.to_csv(folder / "odd.csv", index=False)
    said = run("predict", "flock.covey", "odd.csv", cwd=folder).stderr.splitlines()
    assert [line.partition(":")[0] for line in said] == [f"row {row}" for row in range(1, 6)]
    assert said[-1].endswith("; so are 85 more values.")


def test_dates_that_are_written_otherwise_are_said(tmp_path, run):
    table = some_table(60)
    days = pd.Timestamp("2021-01-03") + pd.to_timedelta(np.arange(60) * 7 % 300, "D")
    table["seen"] = days.strftime("%d.%m.%Y")
    table.to_csv(tmp_path / "old.csv", index=False)
    table["seen"] = days.strftime("%Y-%m-%d")
    table.to_csv(tmp_path / "new.csv", index=False)
    assert run("fit", "old.csv", "--target", "y", "--effort", "fast", cwd=tmp_path).exit_code == 0
    assert run("predict", "flock.covey", "old.csv", cwd=tmp_path).stderr == ""
    said = run("predict", "flock.covey", "new.csv", cwd=tmp_path).stderr
    assert (
        said in run("report", "flock.covey", "new.csv", "--out", "page.html", cwd=tmp_path).stderr
    )
    assert said == (
        "60 of 60 values of seen are unknown to the model ('2021-01-03'; at the fit dates such as "
        "31.01.2026) and count as missing.\n"
    )


def test_ordinary_rows_are_not_remarked_on(folder, run):
    assert run("predict", "flock.covey", "patients.csv", cwd=folder).stderr == ""
