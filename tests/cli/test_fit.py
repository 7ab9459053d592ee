"""``covey fit``: one model, judged once, whatever shows it."""

import re

import numpy as np
import pytest

import covey
from covey._number_words import number, percent, rough
from covey.evaluation import Evaluation

from .conftest import as_json, some_table


@pytest.fixture(
    scope="module", params=["classes", pytest.param("numbers", marks=pytest.mark.slow)]
)
def session(request, tmp_path_factory, run):
    """A fit with a page, of a table with a row without target: folder, JSON and text."""
    pytest.importorskip("jinja2")
    folder = tmp_path_factory.mktemp(request.param)
    rng = np.random.default_rng(3)
    table = some_table(90, w=rng.normal(size=90))
    noise = rng.normal(size=90)
    if request.param == "numbers":
        table["y"] = 2 * table["x"] + table["z"] + noise
    else:
        table["y"] = np.where(table["x"] + 0.5 * table["z"] + 0.5 * noise > 0, "ill", "well")
    table.loc[4, "y"] = None
    table.to_csv(folder / "table.csv", index=False)
    command = ("fit", "table.csv", "--target", "y", "--effort", "fast", "--report", "page.html")
    said = as_json(run(*command, "--json", cwd=folder))
    shown = run(*command, "--model", "again.covey", cwd=folder)
    return folder, said, shown.stdout


def test_terminal_page_and_file_agree(session):
    folder, said, shown = session
    model = covey.load(folder / "flock.covey")
    page = (folder / "page.html").read_text()
    assert model.evaluation_.as_dict() == said["evaluation"]
    assert model.evaluation_.how == said["held_out"] == "5-fold cross-validation"
    assert said["members"] == model.n_estimators_
    own = said["scores"][0]
    if "accuracy" in own:
        numbers = [f"{100 * own[key]:.1f}" for key in ("accuracy", "low", "high")]
        assert "{} % ({} to {})".format(*numbers) in shown
        # What is counted by class in the file is what the accuracy is of.
        right = sum(one.right for one in model.evaluation_.by_class)
        assert right / model.evaluation_.n_held_out == pytest.approx(own["accuracy"])
    else:
        numbers = [f"{100 * own[key]:.1f}" for key in ("r2", "low", "high")]
        assert "{} % ({} to {})".format(*numbers) in shown
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    assert numbers[0].removesuffix(".0") in text
    assert "Judged on 89 rows, each by a model that had not seen it" in text


def test_a_judgement_is_of_all_rows(session):
    folder, said, _ = session
    model = covey.load(folder / "flock.covey")
    assert said["rows"] == model.evaluation_.n_held_out == 89


def test_sets_bounds_and_sureness_are_by_the_rows_that_it_is_judged_by(session):
    folder, said, _ = session
    known = covey.load(folder / "flock.covey").calibration_
    assert len(known.weight) == 89
    own = said["scores"][0]
    if "accuracy" in own:
        right = known.probabilities.argmax(axis=1) == known.label
        assert right.mean() == pytest.approx(own["accuracy"])
        of_truth = known.probabilities[np.arange(89), known.label]
        assert -np.log(of_truth).mean() == pytest.approx(own["log_loss"])
    else:
        assert np.sqrt(np.mean(known.error**2)) == pytest.approx(own["rmse"])


def test_a_fast_fit_has_sets_of_classes_too(tmp_path, run):
    some_table(90).to_csv(tmp_path / "table.csv", index=False)
    as_json(run("fit", "table.csv", "--target", "y", "--effort", "fast", "--json", cwd=tmp_path))
    result = run("predict", "flock.covey", "table.csv", "--level", "0.9", cwd=tmp_path)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("prediction,set")


QUESTIONS = (
    "How right is it?",
    "How sure is it?",
    "What does it look at?",
    "When is it wrong?",
    "What would change it?",
    "May I trust it?",
)
EXPERT_WORDS = re.compile(
    r"R2|RMSE|log-loss|cross-validation|folds?|accuracy|kappa|oracle|gate|interval|recall|variance",
    re.IGNORECASE,
)


def test_the_first_screen_answers_what_readers_ask_without_an_expert_s_word(session):
    _, said, shown = session
    screen = shown.splitlines()[:28]
    for question in QUESTIONS:
        (line,) = [one for one in screen if one.startswith(question)]
        assert len(line.removeprefix(question).strip()) > 20
        assert not EXPERT_WORDS.search(said["answers"][question])
    answers, evaluation = said["answers"], Evaluation.from_dict(said["evaluation"])
    own, simplest = said["scores"][:2]
    if "accuracy" in own:
        assert percent(own["accuracy"]) in answers["How right is it?"]
        assert percent(simplest["accuracy"]) in answers["How right is it?"]
        low, high = (round(100 * own[key]) for key in ("low", "high"))
        assert f"{low} to {high} of 100 right" in answers["May I trust it?"]
        worst = max(evaluation.by_class, key=lambda one: 1 - one.right / one.rows)
        assert f"'{worst.label}'" in answers["When is it wrong?"]
        assert rough(evaluation.sureness.right_sure) in answers["How sure is it?"]
    else:
        assert f"explains {rough(own['r2'])}" in answers["How right is it?"]
        assert number(evaluation.sureness.nine_of_ten) in answers["How sure is it?"]
    assert "x: " in answers["What does it look at?"]
    assert (
        "rises" in answers["What does it look at?"] or "falls" in answers["What does it look at?"]
    )
    assert "x" in answers["What would change it?"]


def test_what_to_do_next_is_a_line_each_that_can_be_typed(session):
    _, _, shown = session
    lines = shown[shown.index("Next:") :].splitlines()[1:]
    commands = [line.strip().split("  ")[0] for line in lines]
    assert "covey predict again.covey new.csv" in commands
    assert all(command.startswith("covey ") for command in commands)


def test_the_linear_model_can_be_taken_saved_and_explained(session, run):
    folder, said, _ = session
    command = ("fit", "table.csv", "--target", "y", "--linear", "--json")
    taken = as_json(run(*command, cwd=folder))
    own = next(one for one in said["scores"] if one["name"] == taken["scores"][0]["name"])
    for key in set(own) - {"name", "seconds"}:
        assert taken["scores"][0][key] == pytest.approx(own[key])
    assert taken["members"] == 1
    result = run("predict", "flock.covey", "table.csv", "--explain", cwd=folder)
    assert result.exit_code == 0, result.output


@pytest.fixture(scope="module")
def coin(tmp_path_factory):
    folder = tmp_path_factory.mktemp("coin")
    rng = np.random.default_rng(0)
    table = some_table(80, y=rng.choice(["heads", "tails"], 80))
    table.to_csv(folder / "coin.csv", index=False)
    return folder


def test_a_model_that_is_no_better_than_the_commonest_class_says_so(coin, run):
    said = as_json(run("fit", "coin.csv", "--target", "y", "--effort", "fast", "--json", cwd=coin))
    assert said["verdict"] in ("useless", "perhaps useless")
    assert "a guess that looks at no column" in said["answers"]["How right is it?"]


@pytest.mark.parametrize("engine", ["plain", "dask"])
def test_declared_gaps_are_gaps_in_all_commands(tmp_path, run, engine):
    rng = np.random.default_rng(0)
    table = some_table(150, job=rng.choice(["cook", "pilot", "unknown"], 150))
    table["x"] = np.where(rng.random(150) < 0.2, 999.0, table["x"].round(2))
    clean = table.assign(x=table["x"].mask(table["x"] == 999.0))
    clean["job"] = clean["job"].mask(clean["job"] == "unknown")
    table.to_csv(tmp_path / "codes.csv", index=False)
    clean.to_csv(tmp_path / "clean.csv", index=False)
    command = ("--target", "y", "--effort", "fast", "--engine", engine)
    if engine == "plain":  # of few rows held out by the other one it cannot be told
        told = run("fit", "codes.csv", *command, cwd=tmp_path).stderr
        assert "x: 999 is far from the rest" in told
        assert "then give --gap x=999." in told
    gaps = ("--gap", "x=999,77", "--gap", "job=unknown")
    shown = run("fit", "codes.csv", *command, *gaps, cwd=tmp_path)
    assert "may stand for a gap" not in shown.stderr
    assert "--gap: x never is '77' here; in new rows it will be a gap." in shown.stderr
    wanted = run("fit", "clean.csv", *command, "--model", "clean.covey", cwd=tmp_path)
    answers = shown.stdout.partition("Saved")[0]
    assert answers
    assert answers == wanted.stdout.partition("Saved")[0]
    for what in ("predict", "explain"):
        more = ("--proba",) if what == "predict" else ("--row", np.argmax(table["x"]) + 1)
        found = [
            run(what, *files, *more, "--json", cwd=tmp_path).stdout.replace("codes", "clean")
            for files in (("flock.covey", "codes.csv"), ("clean.covey", "clean.csv"))
        ]
        assert found[0] == found[1]
        assert '"notes": []' in found[0]


def test_a_model_without_rows_is_used_as_any_other(coin, run):
    command = ("fit", "coin.csv", "--target", "y", "--no-rows")
    result = run(*command, "--effort", "fast", "--model", "bare.covey", cwd=coin)
    assert result.exit_code == 0, result.output
    model = covey.load(coin / "bare.covey")
    assert model._seen_columns.kept == ()
    assert not hasattr(model, "seen_")
    assert run("explain", "bare.covey", "coin.csv", "--row", 3, cwd=coin).exit_code == 0
    refused = run(*command, "--members", "mixed", cwd=coin)
    assert refused.exit_code == 2
    assert "--no-rows: kernel machines, neighbors and dynamic selection" in refused.stderr


@pytest.mark.parametrize(
    ("gap", "said"),
    [
        ("z", "--gap: 'z' names no column and value; give it as age=96,98 or job=unknown."),
        ("zz=1", "--gap: the table has no column 'zz'; did you mean 'z'?"),
        ("y=a", "--gap: 'y' is the target."),
    ],
)
def test_gaps_of_no_column_are_refused(coin, run, gap, said):
    result = run("fit", "coin.csv", "--target", "y", "--gap", gap, cwd=coin)
    assert result.exit_code == 2
    assert said in result.stderr


def test_simple_limits_the_flock_and_tells_its_price(coin, run):
    command = ("fit", "coin.csv", "--target", "y", "--effort", "fast", "--simple")
    result = run(*command, cwd=coin)
    assert result.exit_code == 0, result.output
    assert "The price of being simple" in " ".join(result.stdout.split())
    flock = covey.load(coin / "flock.covey")
    assert flock.n_estimators_ <= 3
    assert flock.get_params()["max_features"] == 5


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--linear", "--simple"), "--simple"),
        (("--linear", "--effort", "fast"), "--effort"),
        (("--linear", "--max-members", "2"), "--max-members"),
        (("--linear", "--checkpoint", "kept"), "--checkpoint"),
        (("--simple", "--fuser", "mean"), "--simple"),
        (("--simple", "--engine", "dask"), "--simple"),
    ],
)
def test_options_that_say_nothing_together_are_refused_by_name(coin, run, options, named):
    result = run("fit", "coin.csv", "--target", "y", *options, cwd=coin)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"covey: {named}: it is for")


def test_rows_that_belong_together_tune_the_linear_model_too(coin, run):
    said = as_json(
        run("fit", "coin.csv", "--target", "y", "--linear", "--group", "z", "--json", cwd=coin)
    )
    assert said["members"] == 1
    assert "group" in said["answers"]["May I trust it?"]


@pytest.mark.parametrize("n_rows", [80, 4_400])
def test_who_presses_ctrl_c_in_the_search_has_the_best_flock_of_it(
    tmp_path, run, monkeypatch, n_rows
):
    from covey._core.search.cross_fit import CrossFit

    some_table(n_rows).to_csv(tmp_path / "table.csv", index=False)
    hold_out, calls = CrossFit.hold_out, []

    def stop(self, family):
        calls.append(family)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return hold_out(self, family)

    monkeypatch.setattr(CrossFit, "hold_out", stop)
    result = run("fit", "table.csv", "--target", "y", cwd=tmp_path)
    assert result.exit_code == 130, result.output
    model = covey.load(tmp_path / "flock.covey")
    assert "search itself held out" in model.evaluation_.how
    assert "How right is it?        It is right on " in result.stdout
    # It says that the numbers are not what they would have been.
    assert "Stopped: the model is the best that was found by then" in result.stderr
