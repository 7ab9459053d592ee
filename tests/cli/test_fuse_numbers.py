"""``covey fuse`` of what regressors predict."""

import numpy as np
import pandas as pd
import pytest

from .conftest import as_json


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Two files of numbers of the same rows, in other orders, and the truth."""
    folder = tmp_path_factory.mktemp("numbers")
    rng = np.random.default_rng(0)
    truth = rng.normal(100, 20, 60)
    table = pd.DataFrame({"id": np.arange(60), "price": truth})
    table.to_csv(folder / "truth.csv", index=False)
    for name, noise in (("one.csv", 5), ("two.csv", 10)):
        table.assign(prediction=truth + rng.normal(0, noise, 60))[["id", "prediction"]].sample(
            frac=1, random_state=noise
        ).to_csv(folder / name, index=False)
    return folder


def test_numbers_are_fused_to_one_number_a_row_and_no_probabilities(saved, run):
    command = ("fuse", "one.csv", "two.csv", "--id", "id", "--out", "out.csv")
    result = run(*command, cwd=saved)
    assert result.exit_code == 0, result.output
    out = pd.read_csv(saved / "out.csv")
    assert list(out.columns) == ["id", "prediction"]
    one, two = (pd.read_csv(saved / name).set_index("id") for name in ("one.csv", "two.csv"))
    mean = (one["prediction"] + two["prediction"]) / 2
    np.testing.assert_allclose(out.set_index("id")["prediction"], mean.loc[out["id"]])


@pytest.mark.parametrize("rule", ["mean", "median", "linear_stacking"])
def test_with_the_truth_files_and_fusion_are_judged(saved, run, rule):
    truth = ("--truth", "truth.csv", "--target", "price", "--id", "id")
    said = as_json(run("fuse", "one.csv", "two.csv", *truth, "--rule", rule, "--json", cwd=saved))
    assert said["rmse"][0] == pytest.approx(5, abs=1.5)
    assert said["rmse"][1] == pytest.approx(10, abs=2.5)
    assert said["fused_rmse"] < said["rmse"][1]
    assert len(said["predictions"]) == 60
    assert set(said["predictions"][0]) == {"id", "prediction"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--rule", "majority"), "'majority' does not fuse numbers"),
        (("--rule", "linear_stacking"), "learns from true numbers"),
        (("--rule", "nonsense"), "--rule must be one of"),
    ],
)
def test_rules_that_do_not_suit_numbers_are_refused(saved, run, arguments, sentence):
    result = run("fuse", "one.csv", "two.csv", "--id", "id", *arguments, cwd=saved)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_numbered_classes_stay_classes(tmp_path, run):
    for name, labels in (("a.csv", [1, 2, 2]), ("b.csv", [1, 1, 2])):
        pd.DataFrame({"prediction": labels}).to_csv(tmp_path / name, index=False)
    said = as_json(run("fuse", "a.csv", "b.csv", "--json", cwd=tmp_path))
    assert said["predictions"][0]["probability_1"] == 1.0
    said = as_json(run("fuse", "a.csv", "b.csv", "--task", "numbers", "--json", cwd=tmp_path))
    assert [one["prediction"] for one in said["predictions"]] == [1.0, 1.5, 2.0]
