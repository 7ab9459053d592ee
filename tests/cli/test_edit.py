"""``covey edit``: corrections of a model in a file, their price, and what it refuses."""

import json

import numpy as np
import pandas as pd
import pytest

import covey
from covey.inspection import monotone_certificate
from tests.cli.conftest import patients


@pytest.fixture
def work(folder):
    patients(200).tail(110).to_csv(folder / "new.csv", index=False)
    return folder


def test_a_corrected_model_is_another_file_with_its_record(work, run):
    before = (work / "flock.covey").read_bytes()
    how = ("--drop", "clinic", "--merge", "town=Köln,Rome", "--effect", "age=40:-0.1,60:0.1")
    result = run(
        *("edit", "flock.covey", *how, "--table", "new.csv", "--out", "better.covey"), cwd=work
    )
    assert result.exit_code == 0, result.output
    assert "clinic is not looked at: it counts as" in result.stdout
    assert "town: 'Rome' stands for 'Köln', too" in result.stdout
    assert "goes through 40: -0.1 and 60: +0.1" in result.stdout
    assert result.stdout.count("% right instead of") == 3
    assert (work / "flock.covey").read_bytes() == before
    made = covey.load(work / "better.covey")
    assert [one.what for one in made.corrections_] == [
        *("without", "merge_categories", "with_effect")
    ]
    assert made.evaluation_.target == "outcome"
    patients(200).drop(columns="clinic").to_csv(work / "rest.csv", index=False)
    assert run("predict", "better.covey", "rest.csv", cwd=work).exit_code == 0
    told = run("explain", "better.covey", "rest.csv", "--row", 3, cwd=work)
    assert "The model was corrected: clinic is not looked at" in told.stderr
    page = run("report", "better.covey", "rest.csv", "--out", "page.html", cwd=work)
    assert "The model was corrected: town" in page.stderr
    assert "clinic is not looked at" in (work / "page.html").read_text()


def test_without_rows_the_price_is_not_known(work, run):
    result = run("edit", "flock.covey", "--drop", "age", "--out", "b.covey", "--json", cwd=work)
    found = json.loads(result.stdout)
    assert found["corrections"][0]["price"] == {}
    assert "not known" in found["corrections"][0]["said"]


def test_rows_that_the_model_was_fitted_on_are_noted(work, run):
    how = ("--drop", "age", "--table", "patients.csv", "--out", "b.covey")
    result = run("edit", "flock.covey", *how, cwd=work)
    assert "rows were fitted on: the price is not that on new rows" in result.stderr


def test_a_refit_is_fitted_to_a_part_of_the_rows_and_measured_on_the_others(work, run):
    how = ("--drop", "town", "--refit", "--table", "new.csv", "--out", "b.covey")
    result = run("edit", "flock.covey", *how, cwd=work)
    assert result.exit_code == 0, result.output
    assert "measured on the others" in result.stderr
    (one,) = covey.load(work / "b.covey").corrections_
    assert one.refitted
    assert 0 < one.n_rows < 40


def test_a_refit_makes_predictions_rise_and_fall(work, run):
    how = ("--rising", "age", "--drop", "town", "--refit", "--table", "new.csv")
    result = run("edit", "flock.covey", *how, "--out", "b.covey", cwd=work)
    assert result.exit_code == 0, result.output
    made = covey.load(work / "b.covey")
    assert [one.what for one in made.corrections_] == ["without", "with_monotone"]
    assert made.monotone == {"age": 1}
    assert monotone_certificate(made, "age", 1).holds
    assert "never falls with it" in result.stdout
    assert "fit on patients.csv" in run("show", "b.covey", cwd=work).stdout


def test_points_may_be_in_a_file(work, run):
    pd.DataFrame({"age": [40.0, 60.0], "effect": [0.0, 0.1]}).to_csv(
        work / "points.csv", index=False
    )
    how = ("--effect", "age=points.csv", "--class", "well", "--table", "new.csv")
    result = run("edit", "flock.covey", *how, "--out", "b.covey", cwd=work)
    assert result.exit_code == 0, result.output
    (one,) = covey.load(work / "b.covey").corrections_
    assert one.arguments["points"] == [[40.0, 0.0], [60.0, 0.1]]
    assert one.arguments["label"] == "well"


def test_categories_with_commas_and_quotes_are_quoted_as_in_a_table(work, run):
    paris = '"Paris, ""Rive Gauche"""'
    how = ("--merge", f"town={paris},Rome", "--effect", f"town={paris}:0.1")
    result = run("edit", "flock.covey", *how, "--table", "new.csv", "--out", "b.covey", cwd=work)
    assert result.exit_code == 0, result.output
    merge, effect = covey.load(work / "b.covey").corrections_
    assert merge.arguments == {"categories": ['Paris, "Rive Gauche"'], "into": "Rome"}
    assert {word for word, _ in effect.arguments["points"]} == {'Paris, "Rive Gauche"', "Rome"}


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ([], "give --drop, --merge, --effect, --rising or --falling"),
        (["--drop", "nobody"], "--drop: the model has no column 'nobody'"),
        (["--merge", "town"], "--merge: 'town' is none; give it as job=maid,cook"),
        (["--merge", "town=Köln,Atlantis"], "town has no category 'Atlantis'"),
        (["--merge", "age=1,2"], "age is not a column of categories"),
        (["--effect", "age=40"], "2 to 100 values of age, got 1"),
        (["--effect", "age=40:x,60:y"], "points must map values of age"),
        (["--effect", "age=40:0.1,60:inf"], "points must be finite"),
        (["--effect", "age=40:0.1,900:0.2"], "values of age from"),
        (["--effect", "age=nowhere.csv"], "nowhere.csv"),
        (["--effect", "age=patients.csv"], "must have two columns"),
        (["--effect", "age=40:0,60:0.1", "--class", "x"], "--class: 'x' is not a class"),
        (["--drop", "age", "--refit"], "--refit takes rows"),
        (["--rising", "age"], "fit the members again: give --refit, too"),
        (["--rising", "age", "--falling", "age"], "--rising and --falling both name 'age'"),
        (["--rising", "nobody", "--refit", "--table", "new.csv"], "--rising: the model has no"),
        (["--falling", "town", "--refit", "--table", "new.csv"], "not read as numbers"),
    ],
)
def test_mistakes_are_one_sentence_and_write_nothing(work, run, how, said):
    result = run("edit", "flock.covey", *how, "--out", "b.covey", cwd=work)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert sum(line.startswith("covey: ") for line in result.stderr.splitlines()) == 1
    assert "Traceback" not in result.stderr
    assert not (work / "b.covey").exists()


def test_the_model_itself_is_never_replaced(work, run):
    result = run("edit", "flock.covey", "--drop", "age", "--out", "flock.covey", cwd=work)
    assert result.exit_code == 2
    assert "would be replaced" in result.stderr
    assert np.all(covey.load(work / "flock.covey").feature_names_in_ != "")
