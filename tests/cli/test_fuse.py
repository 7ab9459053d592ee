"""``covey fuse``."""

import numpy as np
import pandas as pd
import pytest

from .conftest import as_json


@pytest.fixture
def saved(tmp_path):
    """Three files of predictions in three forms, and the truth."""
    pd.DataFrame({"id": [1, 2, 3], "cat": [0.8, 0.4, 0.5], "dog": [0.2, 0.6, 0.5]}).to_csv(
        tmp_path / "a.csv", index=False
    )
    pd.DataFrame(
        {"id": [3, 2, 1], "probability_cat": [0.9, 0.1, 0.6], "probability_dog": [0.1, 0.9, 0.4]}
    ).to_csv(tmp_path / "b.csv", index=False)
    pd.DataFrame({"id": [1, 2, 3], "prediction": ["dog", "dog", "cat"]}).to_parquet(
        tmp_path / "c.parquet"
    )
    pd.DataFrame({"animal": ["cat", "dog", "dog"], "id": [1, 2, 3]}).to_csv(
        tmp_path / "truth.csv", index=False
    )
    return tmp_path


def test_fuse_aligns_by_id_and_is_the_mean(saved, run):
    result = run("fuse", "a.csv", "b.csv", "--id", "id", "--out", "out.csv", cwd=saved)
    assert result.exit_code == 0, result.output
    out = pd.read_csv(saved / "out.csv")
    assert out["id"].tolist() == [1, 2, 3]
    assert out["prediction"].tolist() == ["cat", "dog", "cat"]
    np.testing.assert_allclose(out["probability_cat"], [0.7, 0.25, 0.7])


def test_fuse_takes_labels_too_and_says_who_was_right(saved, run):
    said = as_json(
        run(
            *("fuse", "a.csv", "b.csv", "c.parquet", "--rule", "majority", "--id", "id"),
            *("--truth", "truth.csv", "--target", "animal", "--json"),
            cwd=saved,
        )
    )
    assert said["accuracy"] == pytest.approx([2 / 3, 2 / 3, 1 / 3])
    assert said["fused_accuracy"] == pytest.approx(2 / 3)
    assert [one["prediction"] for one in said["predictions"]] == ["cat", "dog", "cat"]


def test_a_rule_that_learns_needs_the_truth_and_is_judged_on_other_rows(tmp_path, run):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 80)
    names = [f"guess {k}.csv" for k in range(6)]
    for name in names:
        right = rng.random(80)
        pd.DataFrame({"0": 1 - right, "1": right}).to_csv(tmp_path / name, index=False)
    pd.DataFrame({"y": truth}).to_csv(tmp_path / "truth.csv", index=False)
    files = ("fuse", *names, "--rule", "single_best")
    result = run(*files, cwd=tmp_path)
    assert result.exit_code == 2
    assert "--truth" in result.stderr
    said = as_json(run(*files, "--truth", "truth.csv", "--target", "y", "--json", cwd=tmp_path))
    # The best of six guesses is as good as it looks on the rows it was picked by only.
    fused = [int(one["prediction"]) for one in said["predictions"]]
    assert np.mean(fused == truth) == max(said["accuracy"])
    assert said["fused_accuracy"] < max(said["accuracy"])


def test_ids_stay_as_they_are(tmp_path, run):
    ids = [str(10**17 + 1 + place) for place in range(4)]
    for name, order in (("a.csv", [0, 1, 2, 3]), ("b.csv", [3, 1, 0, 2])):
        pd.DataFrame(
            {"id": [ids[k] for k in order], "prediction": [["x", "None"][k % 2] for k in order]}
        ).to_csv(tmp_path / name, index=False)
    pd.DataFrame({"id": [int(one) for one in ids], "y": list("xxxx")}).to_parquet(
        tmp_path / "truth.parquet"
    )
    result = run(
        *("fuse", "a.csv", "b.csv", "--id", "id", "--out", "out.csv"),
        *("--truth", "truth.parquet", "--target", "y"),
        cwd=tmp_path,
    )
    assert result.exit_code == 0, result.output
    out = pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False)
    assert out["id"].tolist() == ids
    assert out["prediction"].tolist() == ["x", "None"] * 2
    assert "50 %" in result.stderr


def test_files_that_do_not_match_are_told_apart(saved, run):
    pd.DataFrame({"id": [1, 2], "prediction": ["cat", "dog"]}).to_csv(saved / "d.csv", index=False)
    result = run("fuse", "a.csv", "d.csv", cwd=saved)
    assert result.exit_code == 2
    assert "align them by a column with --id" in result.stderr
    result = run("fuse", "a.csv", "d.csv", "--id", "id", cwd=saved)
    assert result.exit_code == 2
    assert "no row with id 3" in result.stderr


def test_text_among_probabilities_is_named_by_its_file(tmp_path, run):
    (tmp_path / "a.csv").write_text("probability_x,probability_y\n0.5,0.5\n0.1,0.9\n")
    (tmp_path / "b.csv").write_text("probability_x,probability_y\n0.5,0.5\nnine,0.9\n")
    result = run("fuse", "a.csv", "b.csv", cwd=tmp_path)
    assert result.exit_code == 2
    assert "covey: b.csv: probabilities must be numbers" in result.stderr


def test_predictions_that_are_fused_are_not_replaced(saved, run):
    before = (saved / "a.csv").read_bytes()
    result = run("fuse", "a.csv", "b.csv", "--id", "id", "--out", "a.csv", cwd=saved)
    assert result.exit_code == 2
    assert "a.csv is what is read, and would be replaced; choose another." in result.stderr
    assert (saved / "a.csv").read_bytes() == before


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
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


def test_numbers_are_fused_to_one_number_a_row_and_no_probabilities(numbers, run):
    command = ("fuse", "one.csv", "two.csv", "--id", "id", "--out", "out.csv")
    result = run(*command, cwd=numbers)
    assert result.exit_code == 0, result.output
    out = pd.read_csv(numbers / "out.csv")
    assert list(out.columns) == ["id", "prediction"]
    one, two = (pd.read_csv(numbers / name).set_index("id") for name in ("one.csv", "two.csv"))
    mean = (one["prediction"] + two["prediction"]) / 2
    np.testing.assert_allclose(out.set_index("id")["prediction"], mean.loc[out["id"]])


@pytest.mark.parametrize("rule", ["mean", "median", "linear_stacking"])
def test_with_the_truth_files_and_fusion_are_judged(numbers, run, rule):
    truth = ("--truth", "truth.csv", "--target", "price", "--id", "id")
    said = as_json(
        run("fuse", "one.csv", "two.csv", *truth, "--rule", rule, "--json", cwd=numbers)
    )
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
def test_rules_that_do_not_suit_numbers_are_refused(numbers, run, arguments, sentence):
    result = run("fuse", "one.csv", "two.csv", "--id", "id", *arguments, cwd=numbers)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_numbered_classes_stay_classes(tmp_path, run):
    for name, labels in (("a.csv", [1, 2, 2]), ("b.csv", [1, 1, 2])):
        pd.DataFrame({"prediction": labels}).to_csv(tmp_path / name, index=False)
    said = as_json(run("fuse", "a.csv", "b.csv", "--json", cwd=tmp_path))
    assert said["predictions"][0]["probability_1"] == 1.0
    said = as_json(run("fuse", "a.csv", "b.csv", "--task", "numbers", "--json", cwd=tmp_path))
    assert [one["prediction"] for one in said["predictions"]] == [1.0, 1.5, 2.0]
