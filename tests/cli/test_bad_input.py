"""Whatever is wrong is one sentence that says what to do, with exit status 2."""

import numpy as np
import pandas as pd
import pytest

FIT = ("fit", "patients.csv", "--effort", "fast", "--target")


@pytest.fixture
def bad(folder):
    """Tables and models with which something is wrong."""
    table = pd.read_csv(folder / "patients.csv")
    table.drop(columns=["age", "town"]).to_csv(folder / "fewer.csv", index=False)
    pd.DataFrame({"x": [1, 2], "z": [3, 4]}).to_csv(folder / "other.csv", index=False)
    table.assign(outcome="ill").to_csv(folder / "one_value.csv", index=False)
    table.head(5).to_csv(folder / "short.csv", index=False)
    table[["unit", "patient_id", "outcome"]].to_csv(folder / "nothing.csv", index=False)
    table[["outcome"]].to_csv(folder / "alone.csv", index=False)
    table.assign(age=table["age"].replace(table["age"].max(), np.inf)).to_csv(
        folder / "endless.csv", index=False
    )
    (folder / "empty.csv").write_text("")
    (folder / "notes.docx").write_text("a,b\n1,2\n")
    (folder / "broken.covey").write_text("no model")
    (folder / "half.covey").write_bytes((folder / "flock.covey").read_bytes()[:3000])
    return folder


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*FIT, "outcom"), "did you mean 'outcome'?"),
        ((*FIT, "AGE"), "did you mean 'age'?"),
        ((*FIT, "zzz"), "it has 'patient_id'"),
        ((*FIT, "unit"), "has the one value 'cm'"),
        ((*FIT, "patient_id"), "names rows rather than classes"),
        ((*FIT, "outcome", "--drop", "twon"), "did you mean 'town'?"),
        ((*FIT, "outcome", "--drop", "outcome"), "is the target"),
        ((*FIT, "outcome", "--by", "twon"), "--by: the table has no column 'twon'; did you"),
        (
            (*FIT, "Größe", "--by", "patient_id", "--by", "town"),
            "--by: 'patient_id' has lists, or",
        ),
        ((*FIT, "outcome", "--time", "town"), "neither a number nor a date"),
        ((*FIT, "outcome", "--group", "unit"), "all rows have the same 'unit'"),
        ((*FIT, "outcome", "--fuser", "gaet"), "--fuser must be one of"),
        ((*FIT, "outcome", "--fuser", "oracle"), "cannot predict"),
        ((*FIT, "age", "--fuser", "majority"), "fuses classes, and the target is a quantity"),
        ((*FIT, "outcome", "--max-features", "0"), "'0' is neither a whole number from 1 on"),
        ((*FIT, "outcome", "--max-features", "1.5"), "nor a share of all features up to 1.0"),
        ((*FIT, "outcome", "--max-features", "few"), "'few' is neither a whole number"),
        ((*FIT, "outcome", "--max-members", "0"), "--max-members: 0 is below 1"),
        (
            (*FIT, "outcome", "--seed", "-1"),
            "'--seed': Input should be greater than or equal to 0",
        ),
        (
            ("compare", "patients.csv", "--target", "outcome", "--models", "zzz"),
            "there are 'covey', 'covey, fast'",
        ),
        ((*FIT, "outcome", "--members", "trees"), "'trees' is not one of 'linear', 'mixed'"),
        ((*FIT, "outcome", "--time-limit", "0"), "--time-limit: 0 is not a time to search in"),
        ((*FIT, "outcome", "--max-members", "two"), "'--max-members': Input should be"),
        ((*FIT, "outcome", "--max-terms", "-3"), "--max-terms: -3 is below 1"),
        (
            (*FIT, "outcome", "--max-terms", "30", "--fuser", "product"),
            "--max-terms: it is for the search, which --fuser replaces by Algorithm 1",
        ),
        ((*FIT, "outcome", "--engine", "spark"), "'spark' is not one of 'plain', 'dask'"),
        (
            (*FIT, "outcome", "--effort", "great"),
            "'--effort': 'great' is not one of 'fast', 'balanced', 'best'.",
        ),
        ((*FIT, "outcome", "--task", "numbers"), "not made of numbers"),
        ((*FIT, "outcome", "--model", "no/such/flock.covey"), "no folder"),
        ((*FIT, "outcome", "--model", "flock.pkl"), "ending"),
        ((*FIT, "outcome", "--report", "report.pdf"), "ending"),
        ((*FIT, "outcome", "--checkpoint", "patients.csv"), "is what is read, and would be"),
        ((*FIT, "outcome", "--model", "flock.covey", "--checkpoint", "flock.covey"), "replaced"),
        ((*FIT, "outcome", "--model", "a.covey", "--checkpoint", "./a.covey"), "written twice"),
        (("fit", "one_value.csv", "--target", "outcome"), "has the one value 'ill'"),
        (("fit", "short.csv", "--target", "outcome"), "too few"),
        (("fit", "nothing.csv", "--target", "outcome"), "no column is left"),
        (("fit", "alone.csv", "--target", "outcome"), "no column besides the target"),
        (("fit", "endless.csv", "--target", "age"), "the target 'age' holds inf"),
        (("fit", "empty.csv", "--target", "outcome"), "is empty"),
        (("fit", "none.csv", "--target", "outcome"), "there is no file none.csv"),
        (("fit", "notes.docx", "--target", "outcome"), "ending that covey does not know"),
        (("fit", ".", "--target", "outcome"), ". is a folder; name a table in it"),
        (("predict", "flock.covey", "fewer.csv"), "lacks the columns 'age', 'town'"),
        (("predict", "flock.covey", "other.csv"), "another table's model"),
        (("predict", "flock.covey", "empty.csv"), "is empty"),
        (("predict", "broken.covey", "patients.csv"), "not a model file"),
        (("predict", "half.covey", "patients.csv"), "not a model file"),
        (("predict", "patients.csv", "flock.covey"), "not a model file"),
        (("predict", "none.covey", "patients.csv"), "there is no file"),
        (("predict", "flock.covey", "patients.csv", "--out", "a.xlsx"), "ending"),
        (("predict", "flock.covey", "patients.csv", "--copy", "agee"), "did you mean 'age'?"),
        (
            ("report", "flock.covey", "patients.csv", "--out", "a.html", "--target", "unit"),
            "class",
        ),
        (("report", "flock.covey", "fewer.csv", "--out", "a.html"), "lacks the columns"),
        (("export", "flock.covey", "--onnx", "flock.txt"), "ending"),
        (
            ("compare", "patients.csv", "--target", "outcome", "--models", "xgb"),
            "no model is called",
        ),
        (("fuse", "patients.csv"), "two files"),
        (("fuse", "patients.csv", "patients.csv"), "not clear which columns"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_lost(bad, run, arguments, said):
    if "report" in arguments:
        pytest.importorskip("jinja2")
    before = {path.name: path.read_bytes() for path in bad.iterdir()}
    result = run(*arguments, cwd=bad)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert "Traceback" not in result.output
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("covey: ")
    assert {path.name: path.read_bytes() for path in bad.iterdir()} == before


def test_an_unwritable_folder_is_known_before_the_work(folder, run, monkeypatch):
    # Root may write everywhere, so the system's answer is made up.
    monkeypatch.setattr("covey.cli._writing.os.access", lambda path, mode: False)
    result = run(*FIT, "outcome", "--model", "new.covey", cwd=folder)
    assert result.exit_code == 2
    assert "may not be written" in result.stderr


def test_missing_arguments_are_told_with_status_2(folder, run):
    assert run("fit", "patients.csv", cwd=folder).exit_code == 2
    assert run("fitt", cwd=folder).exit_code == 2


def test_errors_are_json_too(folder, run):
    import json

    result = run("predict", "none.covey", "patients.csv", "--json", cwd=folder)
    assert "there is no file" in json.loads(result.stdout)["error"]


def test_strange_values_at_prediction_count_as_missing_and_are_said(folder, run):
    table = pd.read_csv(folder / "patients.csv", dtype=str)
    table.loc[:1, "age"] = "old"
    table.loc[2, "town"] = "Atlantis"
    table.to_csv(folder / "strange.csv", index=False)
    gaps = table.copy()
    gaps.loc[:1, "age"] = np.nan
    gaps.to_csv(folder / "gaps.csv", index=False)
    result = run("predict", "flock.covey", "strange.csv", "--proba", cwd=folder)
    assert result.exit_code == 0
    said = (
        "2 of 86 values of age are unknown to the model ('old'; at the fit numbers such as 1234.5)"
    )
    assert said in result.stderr
    assert result.stdout == run("predict", "flock.covey", "gaps.csv", "--proba", cwd=folder).stdout


def test_categories_that_were_never_seen_are_said(folder, run):
    table = pd.read_csv(folder / "patients.csv")
    table.loc[:8, "town"] = "Atlantis"
    table.to_csv(folder / "strange.csv", index=False)
    result = run("predict", "flock.covey", "strange.csv", cwd=folder)
    said = "9 of 86 values of town are unknown to the model ('Atlantis'; at the fit 'Köln',"
    assert said in result.stderr
