"""What select, compare and fuse find, and how rows are held out."""

import json

import numpy as np
import pandas as pd
import pytest

from covey.cli import _evaluate as evaluate
from covey.cli._compare import contestants
from covey.cli._console import CommandError, Console
from covey.cli._fitting import fit_rows, flock, table_model, tuning_folds
from covey.cli._question import ask


def as_json(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def asked(table, **options):
    return ask("", "y", Console(quiet=True), table=table, **options)


def some_table(n_rows=60, **columns):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n_rows)
    return pd.DataFrame(
        {"x": x, "z": rng.normal(size=n_rows), "y": np.where(x > 0, "a", "b")} | columns
    )


# -- how rows are held out ---------------------------------------------------------------------


def test_groups_are_held_out_together(folder, run):
    said = as_json(
        run(
            *("fit", "patients.csv", "--target", "outcome", "--effort", "fast", "--json"),
            *("--group", "clinic"),
            cwd=folder,
        )
    )
    assert "groups kept together" in said["held_out"]
    assert "clinic" not in [one["column"] for one in said["columns"]]
    question = asked(some_table(who=np.repeat(range(12), 5)), group="who")
    for train, test in evaluate.make_splits(question, 0)[0]:
        assert not set(question.groups[train]) & set(question.groups[test])
    fitted = fit_rows(table_model(question, flock(question)), question, np.arange(60))
    assert fitted.score(question.table, question.y) > 0.8


def test_later_rows_are_held_out(folder, run):
    said = as_json(
        run(
            *("fit", "patients.csv", "--target", "outcome", "--effort", "fast", "--json"),
            *("--time", "visited"),
            cwd=folder,
        )
    )
    assert "forward in time" in said["held_out"]
    days = np.random.default_rng(1).permutation(60)
    question = asked(
        some_table(day=pd.Timestamp("2024-01-01") + pd.to_timedelta(days, "D")), time="day"
    )
    splits = evaluate.make_splits(question, 0)[0]
    assert len(splits) == 5
    for train, test in splits:
        assert days[train].max() < days[test].min()
    fitted = fit_rows(table_model(question, flock(question)), question, np.arange(60))
    # Folds of rows that are gone would be of no use to whoever fits it again.
    assert fitted.estimator_.cv == fitted.estimator.cv == 5


def test_folds_are_stratified_and_large_tables_held_out_once():
    question = asked(some_table())
    splits, how = evaluate.make_splits(question, 0)
    assert how == "5-fold cross-validation"
    counts = [np.unique(question.y[test], return_counts=True)[1] for _, test in splits]
    assert np.ptp(counts, axis=0).max() <= 1
    large = asked(some_table(5_000))
    splits, how = evaluate.make_splits(large, 0)
    assert len(splits) == 1
    assert len(splits[0][1]) == 1_250


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
    assert not asked(twenty).numbers
    assert asked(twenty, task="numbers").numbers


def test_whole_numbers_are_classes_and_stay_whole():
    question = asked(some_table(y=np.repeat([3.0, 1.0], 30)))
    assert question.y.dtype == np.int64
    assert not question.numbers
    with pytest.raises(CommandError, match="one value"):
        asked(some_table(y=1.0))


def test_copies_of_rows_are_held_out_together(tmp_path, run):
    rng = np.random.default_rng(0)
    once = pd.DataFrame(rng.normal(size=(40, 6))).add_prefix("x")
    once["y"] = rng.integers(0, 2, 40)
    often = pd.concat([once] * 6).sample(frac=1, random_state=0)
    often.to_csv(tmp_path / "often.csv", index=False)
    arguments = ("often.csv", "--target", "y", "--json")
    said = as_json(run("fit", *arguments, "--effort", "fast", cwd=tmp_path))
    assert any("200 of 240 rows repeat another one" in note for note in said["notes"])
    assert "repeated rows kept together" in said["held_out"]
    # The target is a coin.
    assert all(one["accuracy"] < 0.75 for one in said["scores"])
    assert said["scores"][0]["high"] - said["scores"][0]["low"] > 0.2
    said = as_json(run("compare", *arguments, "--models", "forest", cwd=tmp_path))
    assert said["scores"][0]["accuracy"] < 0.75
    said = as_json(run("select", *arguments, "--resamples", "2", cwd=tmp_path))
    assert any("200 of 240 rows" in note for note in said["notes"])


def test_large_tables_with_copies_are_held_out_once():
    rng = np.random.default_rng(0)
    table = some_table(4_000)
    question = asked(pd.concat([table, table.iloc[rng.permutation(4_000)[:500]]]))
    (split,) = evaluate.make_splits(question, 0)[0]
    assert not set(question.groups[split[0]]) & set(question.groups[split[1]])
    assert tuning_folds(question, split[0])


def test_rows_of_few_categories_are_alike_by_chance():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.choice(["a", "b", "c"], 200) for name in ("u", "v", "w")})
    question = asked(table.assign(y=rng.choice(["no", "yes"], 200)))
    assert question.groups is None


@pytest.mark.parametrize("way", ["group", "time"])
@pytest.mark.parametrize("numbers", [False, True])
def test_whatever_is_tuned_is_tuned_as_it_is_judged(monkeypatch, way, numbers):
    who = np.random.default_rng(2).permutation(np.repeat(range(12), 5))
    table = some_table(who=who)
    if numbers:
        table["y"] = np.random.default_rng(3).normal(size=60)
    question = asked(table, **{way: "who"})
    rows = np.arange(3, 58)
    seen = []

    def spy(self, X, y, groups=None):
        given = self.estimator.get_params()
        seen.extend(given[name] for name in given if name.rpartition("__")[2] == "cv")
        return fit(self, X, y)

    kind = type(table_model(question, None))
    fit = kind.fit
    monkeypatch.setattr(kind, "fit", spy)
    names = {"covey", "RBF SVR, tuned", "RBF SVC, tuned", evaluate.linear(question, 0)[0]}
    for name, estimator in contestants(question, 0).items():
        if name in names:
            before = str(estimator)
            fitted = fit_rows(table_model(question, estimator), question, rows)
            assert str(fitted.estimator) == before
    assert len(seen) == 3
    for folds in seen:
        for train, test in folds:
            if way == "group":
                assert not set(who[rows][train]) & set(who[rows][test])
            else:
                assert who[rows][train].max() < who[rows][test].min()


def test_few_groups_are_said_and_their_checkpoint_can_be_read_again(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], 90)
    y[:5] = "c"  # a class of one group, which no search can hold out
    table = pd.DataFrame({"x": rng.normal(size=90), "g": np.repeat(range(6), 15), "y": y})
    console = Console(quiet=True)
    question = ask("", "y", console, table=table, group="g")
    model = table_model(question, flock(question))
    path = str(tmp_path / "fit.checkpoint")
    fits = [fit_rows(model, question, np.arange(90), path) for _ in range(2)]
    assert sum("--effort fast" in note for note in console.notes) == 1
    np.testing.assert_array_equal(*[one.estimator_.coef_ for one in fits])


@pytest.mark.parametrize(
    "written", ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y %H:%M", "%Y/%m/%d", "%d %b %Y"]
)
def test_dates_are_read_in_one_way(written):
    days = pd.date_range("2023-12-20", periods=60).strftime(written)
    question = asked(some_table(day=days), time="day")
    assert question.times.tolist() == list(range(1, 61))


def test_dates_that_may_be_read_in_two_ways_are_refused():
    days = pd.to_datetime([f"2024-{1 + k % 12:02d}-{1 + k // 12:02d}" for k in range(60)])
    with pytest.raises(CommandError, match="the day or with the month; write dates as"):
        asked(some_table(day=days.strftime("%d/%m/%Y")), time="day")
    assert asked(some_table(day=days.strftime("%d.%m.%Y")), time="day").times.max() == 60
    mixed = [*days[:59].strftime("%Y-%m-%d"), "13/02/2024"]
    with pytest.raises(CommandError, match="'13/02/2024' in column 'day'"):
        asked(some_table(day=mixed), time="day")


# -- how good it is ------------------------------------------------------------------------------


def test_interval_of_accuracy_is_wilsons():
    # Newcombe (1998), table I: 81 of 263, and 0 of 20.
    accuracy, low, high = evaluate.accuracy_interval(np.repeat([1.0, 0.0], [81, 182]))
    assert (round(accuracy, 4), round(low, 4), round(high, 4)) == (0.308, 0.2553, 0.3662)
    assert np.round(evaluate.accuracy_interval(np.zeros(20)), 4).tolist() == [0, 0, 0.1611]


def test_interval_over_groups_does_not_shrink_when_rows_are_repeated():
    rng = np.random.default_rng(0)
    right = (rng.random(20) < 0.7).astype(float)
    once = evaluate.accuracy_interval(right, np.arange(20))
    often = evaluate.accuracy_interval(np.repeat(right, 50), np.repeat(np.arange(20), 50))
    np.testing.assert_allclose(once, often)
    assert np.ptp(evaluate.accuracy_interval(np.repeat(right, 50))[1:]) < np.ptp(often[1:]) / 4


def test_interval_over_groups_that_are_all_right_is_that_of_so_many_rows():
    once = evaluate.accuracy_interval(np.ones(20))
    assert evaluate.accuracy_interval(np.ones(60), np.repeat(np.arange(20), 3)) == once
    assert once[1] < 0.9


def test_r2_and_its_interval():
    from sklearn.metrics import r2_score

    rng = np.random.default_rng(0)
    y = rng.normal(1000.0, 1.0, 300)
    said = y + rng.normal(0, 0.5, 300)
    value, low, high = evaluate.r2_interval(y, (said - y) ** 2)
    assert value == pytest.approx(r2_score(y, said))
    assert low < value < high < low + 0.2


def test_scores_are_those_of_cross_validation_by_hand():
    question = asked(some_table())
    name, model = evaluate.linear(question, 0)
    splits, _ = evaluate.make_splits(question, 0)
    score, first = evaluate.score(name, model, question, splits)
    right, loss = [], []
    for train, test in splits:
        fitted = fit_rows(model, question, train)
        right += (fitted.predict(question.table.iloc[test]) == question.y[test]).tolist()
        said = pd.DataFrame(
            fitted.predict_proba(question.table.iloc[test]), columns=fitted.classes_
        )
        loss += [
            -np.log(row[label])
            for (_, row), label in zip(said.iterrows(), question.y[test], strict=True)
        ]
    assert score.value == pytest.approx(np.mean(right))
    assert score.loss == pytest.approx(np.mean(loss))
    assert first.n_features_in_ == 2
    n_first = len(splits[0][1])
    part = score.on_first(n_first)
    assert part.value == pytest.approx(np.mean(right[:n_first]))
    assert part.loss == pytest.approx(np.mean(loss[:n_first]))
    assert part.low < part.value


def test_compare_is_a_table_on_the_same_rows(folder, run):
    said = as_json(
        run(
            *("compare", "patients.csv", "--target", "outcome", "--json", "--models", "fast"),
            *("--models", "commonest", "--models", "SVC"),
            cwd=folder,
        )
    )
    names = [one["name"] for one in said["scores"]]
    assert set(names) == {"covey, fast", "commonest class", "RBF SVC, tuned"}
    assert names[-1] == "commonest class"
    # It has no probabilities, and JSON has no NaN.
    assert {one["name"]: one["log_loss"] for one in said["scores"]}["RBF SVC, tuned"] is None
    assert said["scores"][0]["difference_from_best"] == [0, 0, 0]
    values = [one["accuracy"] for one in said["scores"]]
    assert values == sorted(values, reverse=True)


# -- select --------------------------------------------------------------------------------------


def test_select_speaks_of_the_table_s_columns(folder, run):
    said = as_json(run("select", "patients.csv", "--target", "outcome", "--json", cwd=folder))
    names = [one["column"] for one in said["columns"]]
    assert sorted(names) == ["Größe", "age", "clinic", "town", "visited"]
    assert set(names[:2]) == {"age", "town"}
    assert {one["column"] for one in said["columns"] if one["selected"]} >= {"age"}
    assert set(said["pairs"][0]["columns"]) == {"age", "town"}


# -- fuse ----------------------------------------------------------------------------------------


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
    good = np.where(truth == 1, 0.8, 0.2)
    for name, right in (("good", good), ("bad", rng.random(80))):
        pd.DataFrame({"0": 1 - right, "1": right}).to_csv(tmp_path / f"{name}.csv", index=False)
    pd.DataFrame({"y": truth}).to_csv(tmp_path / "truth.csv", index=False)
    files = ("fuse", "bad.csv", "good.csv", "--rule", "linear_stacking")
    result = run(*files, cwd=tmp_path)
    assert result.exit_code == 2
    assert "--truth" in result.stderr
    said = as_json(run(*files, "--truth", "truth.csv", "--target", "y", "--json", cwd=tmp_path))
    assert said["fused_accuracy"] > 0.95
    assert said["accuracy"][1] == 1


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
    assert "50.0 %" in result.stderr


def test_files_that_do_not_match_are_told_apart(saved, run):
    pd.DataFrame({"id": [1, 2], "prediction": ["cat", "dog"]}).to_csv(saved / "d.csv", index=False)
    result = run("fuse", "a.csv", "d.csv", cwd=saved)
    assert result.exit_code == 2
    assert "align them by a column with --id" in result.stderr
    result = run("fuse", "a.csv", "d.csv", "--id", "id", cwd=saved)
    assert result.exit_code == 2
    assert "no row with id 3" in result.stderr
