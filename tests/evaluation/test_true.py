"""What is told of columns is true of the data, whoever wrote the sentence."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covey import FlockClassifier, evaluate
from covey._intervals import Interval
from covey.evaluation import Evaluation
from covey.evaluation import _sentences as sentences
from covey.evaluation._held_out import HeldOut, Predicted
from covey.evaluation._record import Column, Score
from covey.evaluation._sentences import answers


@pytest.fixture(scope="module")
def ill():
    """Old people are ill, young ones go to school, where they are ill more often than others."""
    rng = np.random.default_rng(0)
    n = 5000
    age = rng.integers(1, 90, n).astype(float)
    visits = np.minimum(rng.poisson(1.0, n), 6).astype(float)
    table = pd.DataFrame(
        {"age": age, "school": ((age < 30) & (rng.random(n) < 0.6)) * 1.0, "visits": visits}
    )
    table["noise"] = rng.normal(size=n)
    chance = 1 / (1 + np.exp(5.5 - 0.08 * age - 2.5 * table["school"] - 0.4 * visits))
    y = np.where(rng.random(n) < chance, "ill", "well")
    half = np.arange(n) % 2 == 0
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(table[half], y[half])
    return evaluate(model, table[~half], y[~half], target="state"), table[~half], y[~half], model


def lines_of(one):
    return dict(answers(one))[sentences.LOOKS_AT]


def test_what_is_said_at_a_value_is_near_the_share_of_the_rows_there(ill):
    one, table, y, _ = ill
    told = 0
    for line in lines_of(one):
        name = re.match(r"[<\d. %]+ ([a-z]+):", line)
        for share, value in re.findall(r"([\d.]+) % at ([\d.]+)", line):
            column = table[name[1]].to_numpy()
            near = np.argsort(np.abs(column - float(value)), kind="stable")[:30]
            rate = (y[near] == "ill").mean()
            assert abs(float(share) / 100 - rate) < 3 * np.sqrt(0.25 / 30)
            told += 1
    assert told >= 4


def test_no_value_that_few_rows_have_is_told_of(ill):
    one, table, _, _ = ill
    (line,) = [line for line in lines_of(one) if " visits: " in line]
    counts = table["visits"].value_counts()
    for value in re.findall(r"at (\d+)", line):
        assert counts[float(value)] >= 10
    assert counts.min() < 10


def test_columns_that_may_be_chance_are_counted_and_not_told_of(ill):
    one, *_ = ill
    by_name = {column.name: column for column in one.columns}
    noise = by_name["noise"].loss
    assert noise.value < (noise.high - noise.value) / 1.96
    assert not any(" noise: " in line for line in lines_of(one))


def test_a_large_share_is_told_of_however_unsure_and_a_single_other_column_is_named(ill):
    shares = dict(zip(("smokes", "visits", "height"), (0.5, 0.45, 0.05), strict=True))
    columns = [
        Column(name, "number", share=share, loss=Interval(0.01, -0.01, 0.1))
        for name, share in shares.items()
    ]
    told = lines_of(replace(ill[0], columns=columns))
    assert [line.split(":")[0] for line in told] == ["50 % smokes", "45 % visits", "5 % height."]


def test_an_area_that_rounds_to_one_is_told_with_three_digits():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=1000)})
    y = (table["x"] + rng.normal(0, 0.08, 1000) > 1.7).astype(int).to_numpy()
    model = LogisticRegression(C=100).fit(table, y)
    said = dict(answers(evaluate(model, table, y, target="ill")))["How right is it?"][0]
    assert re.search(
        r"in 99\.\d of 100 cases \(area under the curve 0\.99\d, likely 0\.99\d", said
    )


@pytest.mark.parametrize("slope", [0.0, 0.4])
def test_what_a_gap_tells_is_said(slope):
    rng = np.random.default_rng(0)
    x, gone = rng.normal(size=4000), rng.random(4000) < 0.3
    chance = 1 / (1 + np.exp(-np.where(gone, 3.0, slope * x)))
    y = np.where(rng.random(4000) < chance, "ill", "well")
    table = pd.DataFrame({"x": np.where(gone, np.nan, x)})
    model = FlockClassifier(effort="fast", random_state=0).fit(table[::2], y[::2])
    (line,) = lines_of(evaluate(model, table[1::2], y[1::2], target="state"))
    (said,) = re.findall(r"([\d.]+) % where it is missing", line)
    assert abs(float(said) - 100 * np.mean(y[1::2][gone[1::2]] == "well")) < 4
    known = re.findall(r"'well': ([\d.]+) % where it is known", line)
    assert bool(known) == (slope == 0.0)
    assert all(abs(float(one) - 50) < 5 for one in known)


def test_where_alike_rows_go_the_other_way_it_is_said_with_its_size(ill):
    one, table, _, model = ill
    (line,) = [line for line in lines_of(one) if " school: " in line]
    assert "falls from" in line
    by = float(re.search(r"among rows alike otherwise it rises, by ([\d.]+) points", line)[1])
    schools = table[table["school"] == 1.0]
    chances = [model.predict_proba(schools.assign(school=to))[:, 0].mean() for to in (0.0, 1.0)]
    assert by == pytest.approx(100 * (chances[1] - chances[0]), abs=6)


def test_the_change_that_is_told_is_no_larger_than_rows_are_apart():
    rng = np.random.default_rng(0)
    way = rng.uniform(100, 2000, 800)
    table = pd.DataFrame({"way": way, "time": way / 8 + rng.normal(0, 4, 800)})
    table["late"] = rng.gamma(1, 20, 800)
    y = table["late"] + 2 * (table["time"] - way / 8) + rng.normal(0, 2, 800)
    model = LinearRegression().fit(table[:400], y[:400])
    one = evaluate(model, table[400:], y[400:], target="delay")
    said = dict(answers(one))["What would change it?"][0]
    # The way and the time cannot change by themselves as far as they go.
    assert "With late" in said
    by = float(re.search(r"the prediction is ([\d.]+) higher", said)[1])
    assert by <= 1.1 * np.ptp(y)


def test_of_columns_that_stand_in_for_each_other_one_is_said_to_change_it():
    rng = np.random.default_rng(0)
    a = rng.normal(size=900)
    table = pd.DataFrame({"a": a, "b": a + rng.normal(0, 0.02, 900), "c": rng.normal(size=900)})
    y = 2 * a + table["c"] + rng.normal(0, 0.3, 900)
    model = LinearRegression().fit(table[:300], y[:300])
    model.coef_ = np.array([1.0, 1.0, 1.0])
    one = evaluate(model, table[300:], y[300:])
    said = dict(answers(one))["What would change it?"][0]
    assert re.match(r"Mostly (a|b) and c\. With c", said)
    for line in lines_of(one)[:2]:
        assert "(either it or" in line
        assert "among rows alike" not in line


def test_a_model_that_misses_no_column_is_not_said_to_be_constant():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = LinearRegression().fit(X[["bmi"]].assign(again=X["bmi"]), y)
    one = evaluate(model, X[["bmi"]].assign(again=X["bmi"]))
    assert "the same for every row" not in " ".join(lines_of(one))


def test_differences_that_do_not_show_are_none():
    rng = np.random.default_rng(0)
    y = rng.normal(0, 10, 500)
    off = rng.normal(0, 0.5, 500)
    flock, linear = y + off, y + 0.9999 * off
    models = [
        Predicted("flock", flock, "own"),
        Predicted("the mean", np.full(500, y.mean()), "simplest"),
        Predicted("ridge", linear, "linear"),
    ]
    table = pd.DataFrame({"x": y + rng.normal(0, 1, 500)})
    model = LinearRegression().fit(table, y)
    one = evaluate(model, table, held_out=HeldOut(y, models))
    assert one.verdict == "as linear"
    assert "A linear model does as well." in dict(answers(one))["How right is it?"]


def test_columns_that_tell_nothing_are_not_said_to_move_anything():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"x": rng.normal(size=300), "z": rng.normal(size=300)})
    y = rng.normal(size=300)
    model = LinearRegression().fit(table[:40], y[:40])
    one = evaluate(model, table[40:], y[40:], target="luck")
    assert one.verdict == "useless"
    (line,) = lines_of(one)
    assert line.startswith("At nothing that helps; mostly at ")


def test_ends_of_a_narrow_column_are_told_from_each_other():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"day": 2012.5 + rng.random(400), "one or two": rng.integers(1, 3, 400)})
    y = 40 * table["day"] + np.where(table["one or two"] == 2, 9, 1) * rng.normal(size=400)
    model = LinearRegression().fit(table[:200], y[:200])
    one = evaluate(model, table[200:], y[200:], target="price")
    (line,) = [line for line in lines_of(one) if " day: " in line]
    low, high = re.search(r"at (2012\.[\d]+) to [\d,.]+ at (2013\.[\d]+)\.", line).groups()
    assert float(high) - float(low) > 0.8
    assert "where one or two is 2:" in " ".join(dict(answers(one))["When is it wrong?"])


@pytest.mark.parametrize("labels", [[1, 2], ["0", "1"], ["no", "yes"]])
def test_of_two_classes_only_a_yes_beside_a_no_is_the_target_itself(labels):
    one = Evaluation("classes", target="ill", classes=labels)
    named = [sentences.subject(one, label) for label in labels]
    event = f"ill = {labels[1]}" if labels == [1, 2] else "ill"
    assert named == [f"ill = {labels[0]}", event]


@pytest.mark.parametrize(
    ("main", "loss", "verdict", "said"),
    [
        ((0.1, -0.02, 0.2), (-0.1, -0.2, 0.1), "as linear", "A linear model may do as well (+10"),
        ((0.0, -0.01, 0.01), (0.0, -0.1, 0.1), "as linear", "A linear model does as well (+0.0 p"),
        ((0.1, -0.1, 0.3), (-0.2, -0.3, -0.1), "better", "Its percentages are closer to the tru"),
        ((-0.1, -0.3, 0.1), (0.2, 0.1, 0.3), "linear is better", "A linear model is better: its"),
        ((0.1, 0.05, 0.2), (-0.2, -0.3, -0.1), "better", "It is better than a linear model (+1"),
    ],
)
def test_nothing_is_better_beside_an_interval_that_says_otherwise(main, loss, verdict, said):
    gap = Score("ridge", "linear", {"accuracy": Interval(*main), "log_loss": Interval(*loss)})
    one = Evaluation("classes", verdict=verdict, differences=[gap])
    (line,) = sentences._comparison(one)
    assert line.startswith(said)
    assert ("(" in line) == (verdict == "as linear" or main[1] > 0)


def test_ends_of_a_short_table_are_those_of_the_column():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"dose": rng.gamma(2, 1, 150).round(1)})
    y = np.where(rng.random(150) < 1 / (1 + np.exp(4 - 1.5 * table["dose"])), "ill", "well")
    model = LogisticRegression().fit(table, y)
    line = lines_of(evaluate(model, table, y, target="state"))[0]
    assert "'ill' rises from " in line
    low, high = map(float, re.findall(r" at (\d+\.?\d*)", line))
    assert low < table["dose"].quantile(0.2)
    assert high > table["dose"].quantile(0.8)
