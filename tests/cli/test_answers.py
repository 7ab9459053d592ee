"""What a reader asks of a model, as numbers."""

import numpy as np
import pandas as pd
import pytest

from covey._judgement import Judgement
from covey.cli import _answers as answers
from covey.cli._evaluate import linear
from covey.cli._fitting import PreparedRows

from .conftest import problem_of


def judgement_of_classes(y, predictions, classes=("a", "b")):
    rows = np.arange(len(y))
    return Judgement(rows, rows + 1, np.array(y), np.array(predictions), np.array(classes), "")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=200), "gone": rng.normal(size=200)})
    table["town"] = rng.choice(["Rome", "Oslo"], 200)
    table["when"] = pd.date_range("2021-01-01", periods=200).strftime("%Y-%m-%d")
    table.loc[:20, "gone"] = np.nan
    table["y"] = 3 * table["x"] + 5 * (table["town"] == "Rome") + rng.normal(size=200)
    problem = problem_of(table)
    ((_, estimator),) = linear(problem).items()
    return problem, PreparedRows(problem, np.arange(200)).fit(estimator.estimator)


def test_effects_are_mean_predictions_with_a_column_set_to_values_of_its_own(fitted):
    problem, model = fitted
    found = {one.column: one for one in answers.effects(model, problem, problem.table)}
    x, town = found["x"], found["town"]
    assert x.direction == "more"
    assert x.outcome == "y"
    assert found["town"].direction == "category"
    assert (town.at_low, town.at_high) == ("Oslo", "Rome")
    assert town.high - town.low == pytest.approx(5, abs=1)
    slope = (x.high - x.low) / (float(x.at_high) - float(x.at_low))
    assert slope == pytest.approx(3, abs=0.4)
    changed = problem.table.assign(town="Rome")
    assert town.high == pytest.approx(model.predict(changed).mean(), abs=1e-9)
    assert sum(one.share for one in found.values()) <= 1 + 1e-9


def test_a_curve_that_turns_is_told_by_its_turn():
    class Turning:
        feature_names_in_ = np.array(["x"], dtype=object)
        feature_importances_ = np.array([1.0])

        def predict(self, table):
            return -(table["x"].to_numpy() ** 2)

    table = pd.DataFrame({"x": np.linspace(-1, 1, 101), "y": np.linspace(0, 1, 101)})
    problem = problem_of(table)
    (effect,) = answers.effects(Turning(), problem, problem.table)
    assert effect.direction == "between"
    assert effect.high > effect.low


def test_sureness_splits_rows_by_what_is_said():
    said = [[0.95, 0.05], [0.95, 0.05], [0.6, 0.4], [0.4, 0.6]]
    sure = answers.sureness(judgement_of_classes(["a", "a", "b", "b"], said))
    assert (sure.level, sure.share_sure) == (0.9, 0.5)
    assert (sure.right_sure, sure.right_unsure) == (1.0, 0.5)
    rows = np.arange(3)
    numbers = Judgement(rows, rows, np.array([0.0, 0.0, 9.0]), np.array([1.0, 2.0, 9.0]), None, "")
    assert answers.sureness(numbers).half == 1.0


def test_the_worst_class_is_that_of_which_most_is_missed():
    y = ["a"] * 10 + ["b"] * 5
    said = [[0.9, 0.1]] * 12 + [[0.1, 0.9]] * 3
    found = answers.worst_class(judgement_of_classes(y, said))
    assert found == {"class": "b", "rows": 5, "right": 3, "said": 3, "taken_for": "a"}
    right = np.array([[1.0, 0.0]] * 10 + [[0.0, 1.0]] * 5)
    assert answers.worst_class(judgement_of_classes(y, right)) is None


@pytest.mark.parametrize("column", ["x", "town", "gaps"])
def test_the_part_with_the_most_errors_is_found_and_chance_is_not(column):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"x": rng.normal(size=400), "town": rng.choice(["Rome", "Oslo", "Bath"], 400)}
    )
    table["gaps"] = np.where(rng.random(400) < 0.2, np.nan, rng.normal(size=400))
    inside = {
        "x": table["x"] > np.quantile(table["x"], 0.75),
        "town": table["town"] == "Oslo",
        "gaps": table["gaps"].isna(),
    }[column].to_numpy()
    table["y"] = rng.choice(["a", "b"], 400)
    problem = problem_of(table)
    wrong = rng.random(400) < np.where(inside, 0.5, 0.05)
    right = np.where(problem.y == "a", 0, 1) ^ wrong
    names = ["x", "town", "gaps"]
    judgement = judgement_of_classes(problem.y, np.eye(2)[right])
    part = answers.worst_part(judgement, problem, names, problem.table)
    assert part.words.startswith(f"{column} is")
    assert part.rows == inside.sum()
    assert part.error == pytest.approx(wrong[inside].mean())
    assert part.elsewhere == pytest.approx(wrong[~inside].mean())
    by_chance = np.where(problem.y == "a", 0, 1) ^ (rng.random(400) < 0.2)
    judgement = judgement_of_classes(problem.y, np.eye(2)[by_chance])
    assert answers.worst_part(judgement, problem, names, problem.table) is None
