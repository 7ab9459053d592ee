"""``covey check``, ``refit`` and ``show``: changes, a new model beside the old, a history."""

import json

import numpy as np
import pytest

import covey
from covey.cli._events import remembered
from covey.evaluation._life import MOST_EVENTS, Event, Life
from tests.cli.conftest import patients


def newer(folder, **changes):
    """Another 90 patients, some of whose columns are changed."""
    table = patients(180).iloc[90:]
    table.assign(**changes).to_csv(folder / "new.csv", index=False)
    return table


def test_the_exit_status_says_whether_something_has_changed(folder, run):
    table = newer(folder)
    result = run("check", "flock.covey", "new.csv", cwd=folder)
    assert result.exit_code == 0, result.output
    assert "None of 4 columns has changed beyond chance. Expect" in result.stdout
    newer(folder, age=table["age"] * 10)
    result = run("check", "flock.covey", "new.csv", cwd=folder)
    assert result.exit_code == 3, result.output
    assert "age is in other units: its values are about 10 times those seen." in result.stdout
    assert "Measured on" in result.stdout


def test_a_table_without_the_target_is_checked_without_it(folder, run):
    newer(folder).drop(columns="outcome").to_csv(folder / "new.csv", index=False)
    result = run("check", "flock.covey", "new.csv", "--json", cwd=folder)
    record = json.loads(result.stdout)
    assert record["measured"] is None
    assert record["holds"]
    assert 0 < record["expected"][0] < 1
    assert record["notes"] == []


def test_a_check_on_a_page_loads_nothing_and_says_the_same(folder, run):
    table = newer(folder)
    newer(folder, age=table["age"] * 10, town="<b>Bern</b>")
    result = run("check", "flock.covey", "new.csv", "--report", "page.html", cwd=folder)
    page = (folder / "page.html").read_text("utf-8")
    assert "age is in other units" in page
    assert "Something has changed" in page
    assert "&lt;b&gt;Bern" in page
    assert "<b>Bern" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert "Wrote page.html." in result.stdout


def test_numbers_for_prometheus_are_lines_of_a_name_and_a_number(folder, run):
    newer(folder)
    lines = run("check", "flock.covey", "new.csv", "--prometheus", cwd=folder).stdout.splitlines()
    assert lines[0] == "covey_check_holds 1"
    assert all(float(line.rpartition(" ")[2]) >= 0 for line in lines)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("empty.csv", "age,town\n", "has a header but no rows"),
        ("nothing.csv", "", "empty"),
        ("other.csv", "x,y\n1,2\n", "has none of the 4 columns that the model needs"),
        ("few.csv", "age,town\n3,Rome\n", "lacks the columns"),
        ("gone.csv", None, "there is no file"),
    ],
)
def test_what_cannot_be_checked_is_one_sentence(folder, run, name, text, said):
    if text is not None:
        (folder / name).write_text(text)
    for command in ("check", "refit"):
        result = run(command, "flock.covey", name, cwd=folder)
        assert result.exit_code == 2, result.output
        assert said in result.stderr
        assert "Traceback" not in result.output


def test_columns_of_gaps_and_of_text_are_changes(folder, run):
    newer(folder, age="", town="much longer text than a town")
    result = run("check", "flock.covey", "new.csv", cwd=folder)
    assert result.exit_code == 3
    assert "100 % of its values are missing" in result.stdout
    said = " ".join(result.stdout.split())
    assert "never seen, such as 'much longer text than a town'" in said
    newer(folder, age="old", outcome="perhaps")
    result = run("check", "flock.covey", "new.csv", cwd=folder)
    assert result.exit_code == 3
    assert "cannot be read, such as 'old'" in " ".join(result.stdout.split())


def test_one_row_is_checked(folder, run):
    newer(folder).head(1).to_csv(folder / "new.csv", index=False)
    result = run("check", "flock.covey", "new.csv", cwd=folder)
    assert result.exit_code == 0, result.output
    assert "1 row: only large changes show." in result.stdout


# -- refit ---------------------------------------------------------------------------------------


def test_a_refit_writes_nothing_unless_it_is_told_to(folder, run):
    newer(folder)
    before = (folder / "flock.covey").read_bytes()
    result = run("refit", "flock.covey", "new.csv", cwd=folder)
    assert result.exit_code == 0, result.output
    assert "Nothing was saved" in result.stdout
    assert (folder / "flock.covey").read_bytes() == before


def test_a_refit_follows_the_plan_and_remembers_its_life(folder, run):
    newer(folder)
    result = run(
        *("refit", "flock.covey", "new.csv", "--with", "patients.csv", "--out", "b.covey"),
        "--json",
        cwd=folder,
    )
    record = json.loads(result.stdout)
    assert record["saved"] == "b.covey"
    old, new = (covey.load(folder / name) for name in ("flock.covey", "b.covey"))
    assert new.feature_names_in_.tolist() == old.feature_names_in_.tolist()
    assert new.get_params()["effort"] == old.get_params()["effort"] == "fast"
    names = [score["name"] for score in record["evaluation"]["scores"]]
    assert names == ["renewed model", "commonest class", "the old model"]
    # New rows alone judge both models, and old ones are learned from, too.
    assert record["evaluation"]["n_held_out"] < 90 < record["evaluation"]["n_rows"]
    assert [event.kind for event in new.life_.events] == ["fit", "refit"]
    assert new.life_.plan == {"drop": ["visited"]}


def test_a_better_model_replaces_the_old_one_and_a_worse_one_does_not(folder, run):
    table = newer(folder)
    old = covey.load(folder / "flock.covey")
    # What was ill is well: the old model is wrong more often than not.
    turned = table["outcome"].map({"ill": "well", "well": "ill"})
    newer(folder, outcome=turned)
    before = (folder / "flock.covey").read_bytes()
    result = run("refit", "flock.covey", "new.csv", "--if-better", cwd=folder)
    assert result.exit_code == 0, result.output
    assert "the new model is better" in result.stdout
    assert (folder / "flock.covey").read_bytes() != before
    newer(folder)
    covey.save(old, folder / "flock.covey")
    before = (folder / "flock.covey").read_bytes()
    result = run("refit", "flock.covey", "new.csv", "--if-better", cwd=folder)
    assert result.exit_code == 3, result.output
    assert (folder / "flock.covey").read_bytes() == before


@pytest.mark.slow
def test_costs_decide_which_of_two_models_is_better(tmp_path, run):
    patients(240).dropna(subset="outcome").to_csv(tmp_path / "table.csv", index=False)
    fit = ("fit", "table.csv", "--target", "outcome", "--effort", "fast", "--costs", "ill=9")
    assert run(*fit, cwd=tmp_path).exit_code == 0
    result = run("refit", "flock.covey", "table.csv", "--json", cwd=tmp_path)
    record = json.loads(result.stdout)
    (old,) = (one for one in record["evaluation"]["differences"] if one["name"] == "the old model")
    assert "it costs" in record["said"]
    assert record["better"] == (old["measures"]["cost"][2] < 0)


@pytest.mark.slow
def test_later_rows_judge_both_models_if_the_plan_says_so(tmp_path, run):
    table = patients(240).dropna(subset="outcome")
    table.iloc[:120].to_csv(tmp_path / "old.csv", index=False)
    table.iloc[120:].to_csv(tmp_path / "new.csv", index=False)
    fit = ("fit", "old.csv", "--target", "outcome", "--effort", "fast", "--time", "visited")
    assert run(*fit, cwd=tmp_path).exit_code == 0
    result = run("refit", "flock.covey", "new.csv", "--with", "old.csv", "--json", cwd=tmp_path)
    record = json.loads(result.stdout)
    assert record["evaluation"]["split"] == "time"
    assert "forward in time" in record["evaluation"]["how"]
    result = run("refit", "flock.covey", "new.csv", "--replace", "--out", "c.covey", cwd=tmp_path)
    assert result.exit_code == 2
    table.drop(columns="visited").iloc[120:].to_csv(tmp_path / "new.csv", index=False)
    result = run("refit", "flock.covey", "new.csv", cwd=tmp_path)
    assert result.exit_code == 2
    assert "visited" in result.stderr


@pytest.mark.slow
def test_numbers_are_refitted(tmp_path, run):
    table = patients(200).drop(columns="outcome").assign(cost=lambda X: X["clinic"] * 3.7)
    table["cost"] += np.random.default_rng(1).normal(size=200)
    table.iloc[:100].to_csv(tmp_path / "old.csv", index=False)
    table.iloc[100:].to_csv(tmp_path / "new.csv", index=False)
    fit = ("fit", "old.csv", "--target", "cost", "--effort", "fast")
    assert run(*fit, cwd=tmp_path).exit_code == 0
    result = run("check", "flock.covey", "new.csv", "--json", cwd=tmp_path)
    record = json.loads(result.stdout)
    assert record["expected"][1] < record["measured"][0] < record["expected"][2]
    result = run("refit", "flock.covey", "new.csv", "--with", "old.csv", "--replace", cwd=tmp_path)
    assert result.exit_code == 0, result.output
    assert "off on average, the old one" in result.stdout


@pytest.mark.slow
def test_old_rows_that_are_new_ones_teach_nothing_about_those_held_out(tmp_path, run):
    rng = np.random.default_rng(0)
    table = patients(120).assign(outcome=rng.choice(["ill", "well"], 120))
    table.to_csv(tmp_path / "old.csv", index=False)
    fit = ("fit", "old.csv", "--target", "outcome", "--effort", "fast", "--drop", "visited")
    assert run(*fit, cwd=tmp_path).exit_code == 0
    result = run("refit", "flock.covey", "old.csv", "--with", "old.csv", "--json", cwd=tmp_path)
    assert result.exit_code == 0, result.output
    scores = json.loads(result.stdout)["evaluation"]["scores"]
    assert scores[0]["measures"]["accuracy"][0] < 0.65  # the labels are drawn


def test_a_model_of_counts_by_exposure_is_refitted(tmp_path, run):
    rng = np.random.default_rng(0)
    table = patients(200).drop(columns=["outcome", "visited"])
    table = table.assign(years=rng.uniform(0.5, 2, 200), claims=rng.poisson(2, 200))
    table.to_csv(tmp_path / "old.csv", index=False)
    fit = ("fit", "old.csv", "--target", "claims", "--exposure", "years", "--effort", "fast")
    assert run(*fit, cwd=tmp_path).exit_code == 0
    result = run("refit", "flock.covey", "old.csv", "--out", "new.covey", cwd=tmp_path)
    assert result.exit_code == 0, result.output
    life = covey.load(tmp_path / "new.covey").life_
    assert life.plan["exposure"] == ["years"]


def test_a_target_without_any_class_is_refused(folder, run):
    newer(folder)
    result = run("check", "flock.covey", "new.csv", "--target", "age", cwd=folder)
    assert result.exit_code == 2
    assert "holds none of the classes" in result.stderr


# -- life ----------------------------------------------------------------------------------------


def test_show_tells_what_a_model_is_and_its_history(folder, run):
    newer(folder)
    run("check", "flock.covey", "new.csv", "--remember", cwd=folder)
    said = run("show", "flock.covey", cwd=folder).stdout
    assert "FlockClassifier(effort='fast', random_state=0)" in said
    assert "Its table was read with --drop visited." in said
    assert "fit on patients.csv (86 rows), SHA-256" in said
    assert "check on new.csv (90 rows), SHA-256" in said
    assert said.rstrip().endswith(": nothing has changed")
    record = json.loads(run("show", "flock.covey", "--json", cwd=folder).stdout)
    assert [one["kind"] for one in record["life"]["events"]] == ["fit", "check"]
    assert len(record["life"]["events"][0]["sha256"]) == 64
    card = covey.load(folder / "flock.covey").model_card()
    assert "## History\n\n- " in card
    assert "check on new.csv" in card


def test_a_remembered_check_changes_no_prediction(folder, run):
    before = run("predict", "flock.covey", "patients.csv", cwd=folder).stdout
    run("check", "flock.covey", "patients.csv", "--remember", cwd=folder)
    assert run("predict", "flock.covey", "patients.csv", cwd=folder).stdout == before


def test_a_life_keeps_its_first_event_and_the_last_ones(tmp_path):
    life = Life()
    for number in range(3 * MOST_EVENTS):
        life = life.and_then(Event("check", rows=number))
    assert len(life.events) == MOST_EVENTS
    assert [life.events[place].rows for place in (0, -1)] == [0, 3 * MOST_EVENTS - 1]
    assert Life.from_json(life.to_json()) == life
    with pytest.raises(ValueError, match="not as an evaluation has it"):
        Life.from_json('{"events": [{"kind": 3}]}')
    stdin = remembered(object(), "check", "-", 3).events[0]
    assert (stdin.table, stdin.sha256) == ("standard input", None)


def test_a_model_of_python_has_no_history_to_show(folder, run):
    model = covey.load(folder / "flock.covey")
    del model.life_, model.evaluation_
    covey.save(model, folder / "plain.covey")
    result = run("show", "plain.covey", cwd=folder)
    assert result.exit_code == 0, result.output
    assert "not known" in result.stdout
    result = run("refit", "plain.covey", "patients.csv", cwd=folder)
    assert result.exit_code == 2
    assert "does not know its target" in result.stderr
