"""Thresholds, shares to find and costs at the command line."""

import numpy as np
import pandas as pd
import pytest

import covey
from covey._number_words import rough

from .conftest import as_json


@pytest.fixture(scope="module")
def rare(tmp_path_factory, run):
    """A table with a rare class, and a model that finds 80 % of it."""
    folder = tmp_path_factory.mktemp("rare")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    yes = x[:, 0] + rng.normal(size=300) > 1.9
    table = pd.DataFrame({"x": x[:, 0], "z": x[:, 1], "y": np.where(yes, "yes", "no")})
    table.to_csv(folder / "rare.csv", index=False)
    fit = ("fit", "rare.csv", "--target", "y", "--effort", "fast", "--find", "80%")
    said = as_json(run(*fit, "--json", cwd=folder))
    return folder, said


def predicted(run, folder, *options):
    result = run("predict", "flock.covey", "rare.csv", *options, "--out", "a.csv", cwd=folder)
    assert result.exit_code == 0, result.output
    return pd.read_csv(folder / "a.csv"), " ".join(result.stderr.split())


def test_fit_says_what_the_threshold_finds_and_the_file_keeps_it(rare):
    folder, said = rare
    model = covey.load(folder / "flock.covey")
    decision = model.decision_
    assert (decision.kind, decision.asked, decision.label) == ("find", 0.8, "yes")
    assert decision.sentence() in said["notes"]
    wrong = said["answers"]["When is it wrong?"]
    assert wrong.startswith(f"Called from a chance of {rough(decision.threshold)} on, it misses")
    counts = said["evaluation"]["thresholds"][0]
    assert counts["found"][counts["chosen"]] == decision.alarms.n_found
    known = model.calibration_
    p, of_class = known.probabilities[:, 1], known.label == 1
    assert decision.alarms.n_found == (p[of_class] >= decision.threshold).sum()
    assert 0.8 <= decision.alarms.found.value < 0.8 + 1.01 / of_class.sum()


def test_predict_and_its_reasons_use_the_threshold(rare, run):
    folder, _ = rare
    model = covey.load(folder / "flock.covey")
    made, _ = predicted(run, folder, "--proba", "--explain")
    called = made["prediction"] == "yes"
    assert (called == (made["probability_yes"] >= model.decision_.threshold)).all()
    assert made["probability_yes"][called].min() < 0.5
    row = int(np.flatnonzero(called & (made["probability_yes"] < 0.5))[0])
    result = run("explain", "flock.covey", "rare.csv", "--row", row + 1, "--json", cwd=folder)
    assert as_json(result)["prediction"] == "yes"


@pytest.mark.parametrize("options", [["--threshold", "0.3"], ["--costs", "yes=20"]])
def test_predict_may_decide_otherwise(rare, run, options):
    made, told = predicted(run, rare[0], *options, "--proba")
    threshold = 0.3 if options[0] == "--threshold" else 1 / 21
    assert ((made["prediction"] == "yes") == (made["probability_yes"] >= threshold)).all()
    assert "'yes' is predicted from a probability of" in told


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--find", "x"], "--find: 'x' is not a share; write 80% or 0.8."),
        (["--find", "800%"], "--find must be between 0 and 1, got 800%."),
        (["--costs", "yes"], "--costs: 'yes' is not a cost; write a class and what a miss costs"),
        (
            ["--costs", "perhaps=3"],
            "--costs: 'perhaps' is not a class of the target ('no', 'yes').",
        ),
        (["--threshold", "0.1", "--find", "80%"], "--threshold and --find: give one of them."),
        (["--threshold", "0.1", "--class", "perhaps"], "--class: 'perhaps' is not a class"),
        (["--class", "yes"], "--class: it is for --threshold or --find"),
        (["--threshold", "7"], "--threshold must be between 0 and 1, got 7"),
    ],
)
def test_what_makes_no_decision_is_refused_in_a_sentence(rare, run, options, sentence):
    folder, _ = rare
    for command in (("predict", "flock.covey", "rare.csv"), ("fit", "rare.csv", "--target", "y")):
        result = run(*command, *options, cwd=folder)
        assert result.exit_code == 2
        assert sentence in " ".join(result.stderr.split())


def test_fits_that_cannot_decide_say_so(rare, run):
    folder, _ = rare
    for options, sentence in (
        (["--target", "x"], "--find: the target 'x' is a number, not a class."),
        (["--target", "y", "--linear"], "--find: it is for flocks"),
    ):
        result = run("fit", "rare.csv", *options, "--find", "0.8", cwd=folder)
        assert result.exit_code == 2
        assert sentence in " ".join(result.stderr.split())


def test_a_class_that_is_in_every_set_is_named(rare, run):
    made, told = predicted(run, rare[0], "--level", "0.99")
    assert "A level of 0.99 needs 99 rows held out of a class; 'yes' has" in told
    assert made["set"].str.contains("yes").all()
