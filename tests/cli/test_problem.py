"""What to predict is found in the table: classes or numbers, groups, times, copies."""

import numpy as np
import pandas as pd
import pytest

import covey
from covey.cli._console import CommandError
from covey.cli._problem import row_hashes
from covey.tables import TablePreparation
from covey.tables._known_columns import kinds_of

from .conftest import as_json, problem_of, some_table


def test_a_number_of_many_values_is_regression_unless_said_otherwise(folder, run):
    said = as_json(
        run(
            *("fit", "patients.csv", "--target", "age", "--effort", "fast", "--json", "-q"),
            *("--model", "age.covey"),
            cwd=folder,
        )
    )
    assert said["task"] == "numbers"
    assert any("look like a quantity" in note for note in said["notes"])
    assert [one["name"] for one in said["scores"]][1:] == ["the mean", "ridge regression, tuned"]
    assert said["scores"][0]["low"] < said["scores"][0]["r2"] < said["scores"][0]["high"]
    result = run("predict", "age.covey", "patients.csv", "--explain", cwd=folder)
    assert result.exit_code == 0
    assert "member" in result.stdout
    assert run("predict", "age.covey", "patients.csv", "--proba", cwd=folder).exit_code == 2
    twenty = some_table(y=np.arange(60) % 15)
    assert not problem_of(twenty).regression
    assert problem_of(twenty, task="numbers").regression


def test_whole_numbers_are_classes_and_stay_whole():
    problem = problem_of(some_table(y=np.repeat([3.0, 1.0], 30)))
    assert problem.y.dtype == np.int64
    assert not problem.regression
    with pytest.raises(CommandError, match="one value"):
        problem_of(some_table(y=1.0))


def test_rows_of_few_categories_are_alike_by_chance():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.choice(["a", "b", "c"], 200) for name in ("u", "v", "w")})
    problem = problem_of(table.assign(y=rng.choice(["no", "yes"], 200)))
    assert problem.groups is None


@pytest.mark.parametrize(
    "written", ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y %H:%M", "%Y/%m/%d", "%d %b %Y"]
)
def test_dates_are_read_in_one_way(written):
    days = pd.date_range("2023-12-20", periods=60).strftime(written)
    problem = problem_of(some_table(day=days), time="day")
    assert problem.times.tolist() == list(range(1, 61))


def test_dates_that_may_be_read_in_two_ways_are_refused():
    days = pd.to_datetime([f"2024-{1 + k % 12:02d}-{1 + k // 12:02d}" for k in range(60)])
    with pytest.raises(CommandError, match="the day or with the month; write dates as"):
        problem_of(some_table(day=days.strftime("%d/%m/%Y")), time="day")
    assert problem_of(some_table(day=days.strftime("%d.%m.%Y")), time="day").times.max() == 60
    mixed = [*days[:59].strftime("%Y-%m-%d"), "13/02/2024"]
    with pytest.raises(CommandError, match="'13/02/2024' in column 'day'"):
        problem_of(some_table(day=mixed), time="day")


def test_words_that_no_file_of_a_model_keeps_are_refused_before_the_fit():
    long = "q" * 70_000
    for table, what in (
        (some_table(town=[long, *["Rome"] * 59]), "a value of 'town' has 70,000 characters"),
        (some_table(y=[long, *["a", "b"] * 29, "a"]), "a class of 'y' has 70,000 characters"),
        (some_table(**{long: range(0, 120, 2)}), "a name of a column has 70,000 characters"),
    ):
        with pytest.raises(CommandError, match=what):
            problem_of(table)


def test_hashes_of_rows_are_those_of_pandas():
    table = some_table(town=["Rome", None, "Oslo"] * 20, day=["2024-01-05"] * 60)
    kinds = {"x": "number", "town": "text", "z": "number", "day": "date"}
    written = table.assign(town=table["town"].astype(object).where(table["town"].notna(), None))
    wanted = pd.util.hash_pandas_object(
        written[list(kinds)].astype({"town": str, "day": str}), index=False
    )
    assert row_hashes(table, kinds).tolist() == wanted.tolist()


def test_of_the_time_only_what_comes_again_is_learned():
    when = pd.Series(pd.date_range("2022-01-01", periods=60, freq="13D"))
    dated = some_table(when=when.astype(str))
    problem = problem_of(dated, time="when")
    assert problem.kinds == {"x": "number", "z": "number", "when": "season"}
    made = TablePreparation(columns=problem.kinds).fit_transform(problem.table)
    assert {"when: month", "when: weekday"} == {name for name in made if name.startswith("when")}
    # A few days show no season, and a number of a row is no date.
    days = some_table(when=pd.date_range("2022-01-01", periods=60, freq="20min"), step=range(60))
    assert problem_of(days, time="when").kinds == {"x": "number", "z": "number"}
    assert "step" not in problem_of(days, time="step", drop=["when"]).kinds
    assert "when" not in problem_of(dated, time="when", drop=["when"]).kinds


def zoned(form):
    moments = pd.Series(pd.date_range("2023-03-01", periods=60, freq="29h", tz="Europe/Berlin"))
    table = some_table(when=moments)
    if form == "parquet":
        return table.assign(when=moments.dt.tz_convert("UTC"))
    written = moments.dt.tz_convert("UTC").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    return table.assign(when=written if form == "Z" else [one.isoformat() for one in moments])


@pytest.mark.parametrize(
    "form", ["Z", *(pytest.param(form, marks=pytest.mark.slow) for form in ("offset", "parquet"))]
)
def test_times_with_a_zone_are_saved_and_predicted_the_same(form, tmp_path, run):
    table = zoned(form)
    name = "t.parquet" if form == "parquet" else "t.csv"
    if form == "parquet":
        table.to_parquet(tmp_path / name)
    else:
        table.to_csv(tmp_path / name, index=False)
    result = run("fit", name, "--target", "y", "--effort", "fast", cwd=tmp_path)
    assert result.exit_code == 0, result.output
    model = covey.load(tmp_path / "flock.covey")
    assert kinds_of(model)["when"] == "date"
    said = as_json(run("predict", "flock.covey", name, "--proba", "--json", cwd=tmp_path))
    probabilities = [row["probability_a"] for row in said["predictions"]]
    np.testing.assert_allclose(probabilities, model.predict_proba(table)[:, 0], rtol=1e-12)
    # The same moments, however they are given.
    np.testing.assert_allclose(
        model.predict_proba(zoned("parquet")), model.predict_proba(zoned("Z")), rtol=1e-12
    )


def test_a_model_that_does_not_predict_again_leaves_the_old_file(tmp_path, run, monkeypatch):
    some_table().to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "flock.covey").write_text("precious")
    answers = iter([np.zeros((1, 2)), np.ones((1, 2))])
    monkeypatch.setattr("covey.cli._models.predictions_of", lambda *_: next(answers))
    result = run("fit", "t.csv", "--target", "y", "--effort", "fast", cwd=tmp_path)
    assert result.exit_code == 1
    assert "flock.covey was not written" in result.stderr
    assert (tmp_path / "flock.covey").read_text() == "precious"
    assert {path.name for path in tmp_path.iterdir()} == {"t.csv", "flock.covey"}


FIRST = ["Nord", "West", "Alt", "Neu", "Ober", "Unter", "Klein", "Gross", "Sankt", "Bad"]
MIDDLE = ["Lind", "Eich", "Birk", "Wald", "Stein", "Fisch", "Kirch", "Königs"]


def named(informs, n_rows=240):
    """Names of places, the end of which goes with the class, or does not."""
    rng = np.random.default_rng(0)
    y = rng.choice(["lake", "hill"], n_rows)
    ends = np.where(y == "lake", "see", "berg")
    if not informs:
        ends = rng.permutation(ends)
    names = [
        f"{FIRST[k % 10]} {MIDDLE[k // 10 % 8]}{k // 80 * 'er'}{end}" for k, end in enumerate(ends)
    ]
    return pd.DataFrame({"x": rng.normal(size=n_rows), "name": names, "y": y})


def test_names_that_tell_the_target_are_used():
    assert problem_of(named(True)).kinds == {"x": "number", "name": "text"}


def test_names_that_do_not_are_left_out_unless_they_are_to_be_kept():
    problem = problem_of(named(False))
    assert problem.kinds == {"x": "number"}
    (left_out,) = (column for column in problem.columns if column.drop)
    assert left_out.drop == "its words do not help to predict y (on rows held out)"
    assert "name" in problem_of(named(False), keep=["name"]).kinds
