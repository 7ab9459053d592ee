"""How rows are held out, and how good models are on them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import covey.cli._fitting
from covey.cli._console import CommandError
from covey.cli._evaluate import (
    Trial,
    first_look,
    judged_by_search,
    linear,
    make_splits,
    pretended_by,
    simplest,
)
from covey.cli._fitting import PreparedRows, flock, tuning_folds
from covey.tables import TablePreparation

from .conftest import as_json, problem_of, some_table


def held_out_of(estimators, problem, splits, **how):
    trial = Trial(problem, splits, **how)
    trial.run(estimators)
    return trial.held_out()


def scores_of(estimators, problem, splits, **how):
    held_out = held_out_of(estimators, problem, splits, **how)
    return [held_out.score(one) for one in held_out.models]


def test_groups_are_held_out_together(folder, run):
    said = as_json(
        run(
            *("fit", "patients.csv", "--target", "outcome", "--effort", "fast", "--json"),
            *("--group", "clinic"),
            cwd=folder,
        )
    )
    assert "groups kept together" in said["held_out"]
    assert "clinic" not in [one["name"] for one in said["evaluation"]["columns"]]
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
    assert fitted.cv == 5


def test_later_rows_of_groups_that_were_not_fitted_on_are_held_out_together(folder, run):
    who, days = np.repeat(range(12), 10), np.random.default_rng(1).permutation(120)
    table = some_table(120, who=who, day=days)
    problem = problem_of(table, group="who", time="day")
    assert problem.split == "groups and time"
    assert problem.unlike == "later rows with a new who"
    splits, how = make_splits(problem, 0)
    assert how == "9 times later rows with a new who, forward in time"
    held_out = np.concatenate([test for _, test in splits])
    assert len(np.unique(held_out)) == len(held_out) == 90
    for train, test in splits:
        assert days[train].max() < days[test].min()
        assert not set(who[train]) & set(who[test])
        inner = tuning_folds(problem, train)
        assert inner
        for fitted, chosen_by in inner:
            assert days[train][fitted].max() < days[train][chosen_by].min()
            assert not set(who[train][fitted]) & set(who[train][chosen_by])
    # A patient of each clinic comes again and again.
    said = as_json(
        run(
            *("fit", "patients.csv", "--target", "outcome", "--effort", "fast", "--json"),
            *("--time", "visited", "--group", "clinic"),
            cwd=folder,
        )
    )
    assert said["evaluation"]["split"] == "groups and time"
    assert said["evaluation"]["pretended"]["name"] == "later rows with a new clinic"
    assert "later rows with a new clinic show" in said["answers"]["How right is it?"]


@pytest.mark.parametrize("when", ["day", "never"])
@pytest.mark.parametrize("given", [{}, {"group": "who"}])
def test_where_earlier_rows_have_one_class_or_none_one_sentence_says_so(given, when):
    table = some_table(40, who=["one", "two"] * 20, day=np.arange(40), never=1)
    table["y"] = np.where(np.arange(40) < 39, "a", "b")
    with pytest.raises(CommandError, match="--time: no row is later than rows"):
        make_splits(problem_of(table, time=when, **given), 0)


@pytest.mark.parametrize("numbers", [False, True])
def test_what_rows_at_random_pretend_is_the_difference_on_the_same_rows(numbers):
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(80), 5)
    own = rng.normal(size=(80, 3))
    X = own[who] + 0.1 * rng.normal(size=(400, 3))
    table = pd.DataFrame(X, columns=list("abc")).assign(who=who)
    value = rng.normal(size=80)[who]
    table["y"] = value if numbers else np.where(value > 0, "a", "b")
    problem = problem_of(table, group="who")
    splits, _ = make_splits(problem, 0)
    learner = (DecisionTreeRegressor if numbers else DecisionTreeClassifier)(random_state=0)
    trial = Trial(problem, splits)
    trial.run({"tree": learner})
    found = pretended_by(trial, "tree", learner)
    assert (found.name, found.kind) == ("rows with a new who", "random")
    # Literally: as many rows at random as the folds have on average, and all others.
    sizes = [len(test) for _, test in splits]
    n_train = round(np.average([len(train) for train, _ in splits], weights=sizes))
    order = np.random.default_rng(0).permutation(400)
    train, test = np.sort(order[:n_train]), np.sort(order[n_train:])
    fitted = PreparedRows(replace(problem, groups=None), train).fit(learner)
    again = fitted.predict(problem.take(test))
    apart = np.empty(400, dtype=again.dtype)
    for (_, rows), part in zip(splits, trial.found["tree"], strict=True):
        said = part.predictions
        apart[rows] = said if numbers else np.array(["a", "b"])[said.argmax(axis=1)]
    y = problem.y[test]
    if numbers:
        gap = np.mean((apart[test] - y) ** 2 - (again - y) ** 2) / y.var()
        assert np.isclose(found.get("r2").value, gap)
    else:
        gap = np.mean(again == y) - np.mean(apart[test] == y)
        assert np.isclose(found.get("accuracy").value, gap)
    # Subjects are known again, and their values tell nothing of others.
    assert found.main.low > 0.1


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


@pytest.mark.slow
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
    held_out = held_out_of({name: estimator}, problem, splits)
    score = held_out.score(held_out.models[0])
    right, loss = [], []
    for train, test in splits:
        model = make_pipeline(TablePreparation(columns=problem.kinds), estimator)
        fitted = model.fit(problem.table.iloc[train], problem.y[train])
        right += (fitted.predict(problem.table.iloc[test]) == problem.y[test]).tolist()
        said = pd.DataFrame(
            fitted.predict_proba(problem.table.iloc[test]), columns=fitted.classes_
        )
        loss += [
            -np.log(row[label])
            for (_, row), label in zip(said.iterrows(), problem.y[test], strict=True)
        ]
    assert score.main.value == pytest.approx(np.mean(right))
    assert score.get("log_loss").value == pytest.approx(np.mean(loss))
    # All rows are judged, in the order of the table.
    assert held_out.rows.tolist() == list(range(60))
    part = held_out.on(splits[0][1])
    some, n_first = part.score(part.models[0]), len(splits[0][1])
    assert some.main.value == pytest.approx(np.mean(right[:n_first]))
    assert some.get("log_loss").value == pytest.approx(np.mean(loss[:n_first]))
    assert some.main.low < some.main.value


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
    models |= {"tree": DecisionTreeClassifier(), "bayes": GaussianNB()}
    trial = Trial(problem, splits)
    flocks = {"flock": models.pop("flock")}
    # Simple models first, which who waits can read.
    trial.run(models)
    assert [one.name for one in trial.held_out().models] == list(models)
    trial.run(flocks)
    assert prepared == [len(train) for train, _ in splits]
    assert {len(one.predictions) for one in trial.held_out().models} == {60}
    assert trial.held_out("flock").models[0].kind == "own"


@pytest.mark.parametrize("numbers", [False, True])
def test_the_linear_baseline_scores_as_well_on_numbers_whose_squares_are_none(numbers):
    y = {"y": np.random.default_rng(1).normal(size=60)} if numbers else {}
    ordinary = some_table(**y)
    far = ordinary.assign(x=1e160 * ordinary["x"])
    found = []
    for table in (ordinary, far):
        problem = problem_of(table)
        (score,) = scores_of(linear(problem), problem, make_splits(problem, 0)[0])
        found.append((score.main.value, score.get("log_loss" if not numbers else "rmse").value))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-3)


def test_a_model_that_fails_is_left_out_and_the_others_are_scored():
    from sklearn.linear_model import LogisticRegression

    problem = problem_of(some_table())
    splits, _ = make_splits(problem, 0)
    models = {"bad": LogisticRegression(C=-1.0), **simplest(problem)}
    with pytest.raises(ValueError, match="'C' parameter"):
        scores_of(models, problem, splits)
    failures = {}
    scores = scores_of(models, problem, splits, failures=failures)
    assert [one.name for one in scores] == ["commonest class"]
    assert "'C' parameter" in failures["bad"]


def test_scores_of_numbers_are_r2_and_rmse():
    from sklearn.metrics import r2_score, root_mean_squared_error

    problem = problem_of(some_table(y=np.random.default_rng(1).normal(size=60)))
    splits, _ = make_splits(problem, 0)
    ((name, estimator),) = linear(problem).items()
    (score,) = scores_of({name: estimator}, problem, splits)
    predicted = np.zeros(60)
    for train, test in splits:
        fitted = PreparedRows(problem, train).fit(estimator)
        predicted[test] = fitted.predict(problem.table.iloc[test])
    truth = problem.y
    assert score.main.value == pytest.approx(r2_score(truth, predicted))
    assert score.get("rmse").value == pytest.approx(root_mean_squared_error(truth, predicted))


def test_rows_held_out_have_their_numbers_in_the_file():
    table = some_table()
    table.loc[[0, 7], "y"] = None
    problem = problem_of(table)
    held_out = held_out_of(linear(problem), problem, make_splits(problem, 0)[0])
    # Rows 1 and 8 of the file have no target.
    assert list(held_out.names) == [n for n in range(1, 61) if n not in (1, 8)]
    assert held_out.y.tolist() == table["y"].dropna().tolist()


def test_a_class_that_a_part_lacks_has_no_probability_there():
    table = some_table(90)
    table["y"] = np.where(np.arange(90) < 2, "rare", table["y"])
    problem = problem_of(table)
    splits = [(np.arange(2, 60), np.arange(60, 90)), (np.arange(30, 90), np.arange(30))]
    held_out = held_out_of(simplest(problem), problem, splits)
    assert held_out.predictions.shape == (60, 3)
    np.testing.assert_allclose(held_out.predictions.sum(axis=1), 1.0)
    assert (held_out.predictions[:, 2] == 0).all()
    assert held_out.parts(held_out.models[0])["log_loss"][:2].min() > 30
    assert held_out.correct[:2].sum() == 0


def test_what_is_finished_is_kept_when_a_trial_is_stopped():
    from sklearn.dummy import DummyClassifier

    class Stopped(DummyClassifier):
        fits = 0

        def fit(self, X, y):
            Stopped.fits += 1
            if Stopped.fits > 2:
                raise KeyboardInterrupt
            return super().fit(X, y)

    problem = problem_of(some_table())
    splits, _ = make_splits(problem, 0)
    trial = Trial(problem, splits)
    trial.run(simplest(problem))
    with pytest.raises(KeyboardInterrupt):
        trial.run({"flock": Stopped()})
    expected = np.sort(np.concatenate([test for _, test in splits[:2]]))
    held_out = trial.held_out()
    assert held_out.rows.tolist() == expected.tolist()
    assert len(held_out.models) == 2


def test_the_search_itself_says_how_good_a_flock_is_that_is_not_judged_by_others():
    problem = problem_of(some_table(80))
    splits, _ = make_splits(problem, 0)
    rivals = held_out_of(simplest(problem), problem, splits)
    rows = PreparedRows(problem, np.arange(80))
    found = judged_by_search(problem, "flock", rows.fit(flock(problem)), rivals, "by it")
    assert found.rows.tolist() == list(range(80))
    own, other = (found.score(one).main.value for one in found.models)
    assert own > other == rivals.score(rivals.models[0]).main.value
    fast = rows.fit(flock(problem, effort="fast"))
    assert judged_by_search(problem, "flock", fast, rivals, "") is None


def test_a_first_look_at_a_long_table_takes_some_rows_of_it():
    problem = problem_of(some_table(6_000))
    held_out = first_look(problem, linear(problem), 0)
    assert len(held_out.y) == 800
    assert held_out.correct.mean() > 0.95


def test_a_linear_model_of_a_long_table_is_compared_by_some_of_its_rows(monkeypatch):
    problem = problem_of(some_table(6_000, y=np.random.default_rng(1).integers(0, 2, 6_000)))
    fit, sizes = PreparedRows.fit, []

    def counted(rows, *how):
        sizes.append(len(rows.rows))
        assert len(rows.table) == len(rows.rows)
        return fit(rows, *how)

    monkeypatch.setattr(PreparedRows, "fit", counted)
    monkeypatch.setattr("covey.cli._evaluate._MOST_ROWS_TO_COMPARE", 500)
    splits, line = make_splits(problem, 0)[0], linear(problem)
    trial = Trial(problem, splits, few=line)
    trial.run({**simplest(problem), **line})
    assert sizes == [4_500, 500]
    assert [one.predictions.shape for one in trial.held_out().models] == [(1_500, 2)] * 2
    # Folds by groups are of all rows.
    problem.groups = np.arange(6_000) // 2
    Trial(problem, splits, few=line).run(line)
    assert sizes[2] == 4_500
