"""How rows are held out, and how good models are on them."""

import numpy as np
import pandas as pd
import pytest

import covey.cli._fitting
from covey.cli._evaluate import evaluate, linear, make_splits, simplest
from covey.cli._fitting import PreparedRows, flock, tuning_folds
from covey.tables import TableClassifier, TablePreparation

from .conftest import as_json, problem_of, some_table


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
    problem = problem_of(some_table(who=np.repeat(range(12), 5)), group="who")
    for train, test in make_splits(problem, 0)[0]:
        assert not set(problem.groups[train]) & set(problem.groups[test])


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
    problem = problem_of(
        some_table(day=pd.Timestamp("2024-01-01") + pd.to_timedelta(days, "D")), time="day"
    )
    splits = make_splits(problem, 0)[0]
    assert len(splits) == 5
    for train, test in splits:
        assert days[train].max() < days[test].min()
    fitted = PreparedRows(problem, np.arange(60)).fit(flock(problem))
    # Folds of rows that are gone would be of no use to another fit.
    assert fitted.estimator_.cv == fitted.estimator.cv == 5


def test_folds_are_stratified_and_large_tables_held_out_once():
    problem = problem_of(some_table())
    splits, how = make_splits(problem, 0)
    assert how == "5-fold cross-validation"
    counts = [np.unique(problem.y[test], return_counts=True)[1] for _, test in splits]
    assert np.ptp(counts, axis=0).max() <= 1
    large = problem_of(some_table(5_000))
    splits, how = make_splits(large, 0)
    assert len(splits) == 1
    assert len(splits[0][1]) == 1_250


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
    problem = problem_of(pd.concat([table, table.iloc[rng.permutation(4_000)[:500]]]))
    (split,) = make_splits(problem, 0)[0]
    assert not set(problem.groups[split[0]]) & set(problem.groups[split[1]])
    assert tuning_folds(problem, split[0])


def test_scores_are_those_of_cross_validation_by_hand():
    problem = problem_of(some_table())
    ((name, estimator),) = linear(problem).items()
    splits, _ = make_splits(problem, 0)
    (score,), first = evaluate({name: estimator}, problem, splits)
    right, loss = [], []
    for train, test in splits:
        model = TableClassifier(estimator, columns=problem.kinds, random_state=0)
        fitted = model.fit(problem.table.iloc[train], problem.y[train])
        right += (fitted.predict(problem.table.iloc[test]) == problem.y[test]).tolist()
        said = pd.DataFrame(
            fitted.predict_proba(problem.table.iloc[test]), columns=fitted.classes_
        )
        loss += [
            -np.log(row[label])
            for (_, row), label in zip(said.iterrows(), problem.y[test], strict=True)
        ]
    assert score.value == pytest.approx(np.mean(right))
    assert score.loss == pytest.approx(np.mean(loss))
    assert first.n_features_in_ == 2
    n_first = len(splits[0][1])
    part = score.on_first(problem, n_first)
    assert part.value == pytest.approx(np.mean(right[:n_first]))
    assert part.loss == pytest.approx(np.mean(loss[:n_first]))
    assert part.low < part.value


def test_a_table_is_prepared_once_a_split_for_all_models(monkeypatch):
    prepared = []

    class Counted(TablePreparation):
        def fit_transform(self, X, y=None, **fit_params):
            prepared.append(len(X))
            return super().fit_transform(X)

    monkeypatch.setattr(covey.cli._fitting, "TablePreparation", Counted)
    problem = problem_of(some_table(town=["Rome", "Oslo", "Bath"] * 20))
    splits, _ = make_splits(problem, 0)
    models = {"flock": flock(problem, effort="fast"), **simplest(problem), **linear(problem)}
    scores, first = evaluate(models, problem, splits)
    assert [one.name for one in scores] == list(models)
    assert prepared == [len(train) for train, _ in splits]
    assert first.estimator_.n_features_in_ == len(first.preparation_.get_feature_names_out())


@pytest.mark.parametrize("numbers", [False, True])
def test_the_linear_baseline_scores_as_well_on_numbers_whose_squares_are_none(numbers):
    y = {"y": np.random.default_rng(1).normal(size=60)} if numbers else {}
    ordinary = some_table(**y)
    far = ordinary.assign(x=1e160 * ordinary["x"])
    found = []
    for table in (ordinary, far):
        problem = problem_of(table)
        (score,), _ = evaluate(linear(problem), problem, make_splits(problem, 0)[0])
        found.append((score.value, score.loss))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-3)


def test_a_model_that_fails_is_left_out_and_the_others_are_scored():
    from sklearn.linear_model import LogisticRegression

    problem = problem_of(some_table())
    splits, _ = make_splits(problem, 0)
    models = {"bad": LogisticRegression(C=-1.0), **simplest(problem)}
    with pytest.raises(ValueError, match="'C' parameter"):
        evaluate(models, problem, splits)
    failures = {}
    scores, _ = evaluate(models, problem, splits, failures=failures)
    assert [one.name for one in scores] == ["commonest class"]
    assert "'C' parameter" in failures["bad"]


def test_scores_of_numbers_are_r2_and_rmse():
    from sklearn.metrics import r2_score, root_mean_squared_error

    problem = problem_of(some_table(y=np.random.default_rng(1).normal(size=60)))
    splits, _ = make_splits(problem, 0)
    ((name, estimator),) = linear(problem).items()
    (score,), _ = evaluate({name: estimator}, problem, splits)
    predicted = np.concatenate(
        [
            PreparedRows(problem, train).fit(estimator).predict(problem.table.iloc[test])
            for train, test in splits
        ]
    )
    truth = problem.y[score.rows]
    assert score.value == pytest.approx(r2_score(truth, predicted))
    assert score.loss == pytest.approx(root_mean_squared_error(truth, predicted))
    assert set(score.as_record(True)) == {"name", "r2", "low", "high", "rmse", "seconds"}
