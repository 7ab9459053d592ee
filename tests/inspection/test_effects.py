"""Effects of a column are what the model adds, asked only where the data have rows."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from covey.inspection import column_effect


class Formula:
    """A regressor that predicts a formula of the columns, and keeps the rows that it is asked."""

    def __init__(self, formula):
        self.formula, self.asked = formula, []

    def predict(self, X):
        self.asked.append(X)
        return np.asarray(self.formula(X), dtype=np.float64)


def pairs(n=1500, seed=0):
    """Two columns that go together, and a category that goes along with both."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n).round(2)
    b = (a + 0.4 * rng.normal(size=n)).round(2)
    kind = np.array(["low", "middle", "high"])[np.digitize(a + 0.3 * rng.normal(size=n), [-1, 1])]
    return pd.DataFrame({"a": a, "b": b, "kind": kind})


def literal_effects(predict, table, name, middles, bin_of):
    """Accumulated local effects by a loop over bins and rows."""
    found = [0.0]
    for k, (low, high) in enumerate(pairwise(middles)):
        sides = []
        for side in (k, k + 1):
            changes = []
            for row in np.flatnonzero(bin_of == side):
                if low <= table[name].iloc[row] <= high:
                    one = table.iloc[[row]]
                    moved = predict(one.assign(**{name: high})) - predict(
                        one.assign(**{name: low})
                    )
                    changes.append(float(moved.iloc[0]))
            sides.append(np.mean(changes))
        found.append(found[-1] + np.mean(sides))
    found = np.array(found)
    return found - found[bin_of].mean()


def test_effects_of_numbers_equal_a_literal_loop():
    table = pairs(120)

    def formula(X):
        return X["a"] * X["b"] + np.sin(X["a"])

    effect = column_effect(Formula(formula), table, "a", bins=6)
    lows = [point.low for point in effect.points]
    bin_of = np.searchsorted(lows, table["a"], side="right") - 1
    assert [point.rows for point in effect.points] == np.bincount(bin_of).tolist()
    middles = [point.value for point in effect.points]
    wanted = literal_effects(formula, table, "a", middles, bin_of)
    assert_allclose([point.effect[0] for point in effect.points], wanted, atol=1e-12)


def test_bins_have_about_equally_many_rows_and_every_value_of_a_few():
    table = pairs()
    rows = column_effect(Formula(lambda X: X["a"]), table, "a", bins=10).rows
    assert rows.sum() == len(table)
    assert np.ptp(rows) < 0.02 * len(table)
    few = table.assign(a=np.arange(len(table)) % 5)
    effect = column_effect(Formula(lambda X: X["a"]), few, "a")
    assert [point.label for point in effect.points] == ["0", "1", "2", "3", "4"]


def test_a_sum_gives_back_its_parts_however_columns_go_together():
    table = pairs()
    sizes = {"low": 5.0, "middle": -1.0, "high": 2.0}
    model = Formula(lambda X: 2 * X["a"] - 3 * X["b"] + X["kind"].map(sizes))
    for name, part in (("a", lambda v: 2 * v), ("b", lambda v: -3 * v), ("kind", sizes.get)):
        effect = column_effect(model, table, name)
        wanted = np.array([part(point.value) for point in effect.points])
        wanted -= effect.rows @ wanted / effect.rows.sum()
        assert_allclose([point.effect[0] for point in effect.points], wanted, atol=1e-9)


def test_a_column_that_the_model_ignores_has_no_effect_whatever_the_data_do():
    table = pairs()
    y = table["a"]
    for name in ("b", "kind"):
        effect = column_effect(Formula(lambda X: X["a"]), table, name, y)
        assert_allclose(effect.spread, 0.0, atol=1e-12)
        assert np.ptp(effect.rates) > 1
        assert not effect.differs()


def test_rates_and_predictions_are_means_over_the_rows_of_a_point():
    table = pairs(400)
    y = table["a"] + table["b"]
    model = Formula(lambda X: 2 * X["a"])
    for name in ("a", "kind"):
        effect = column_effect(model, table, name, y, predicted=model.predict(table))
        for point in effect.points:
            there = (
                table["kind"] == point.value
                if name == "kind"
                else table["a"].between(point.low, point.high)
            )
            assert point.rows == there.sum()
            assert point.rate[0] == pytest.approx(y[there].mean())
            assert point.prediction[0] == pytest.approx(2 * table["a"][there].mean())


def strokes(n=3000, seed=0):
    """Age decides who has a stroke, and children are young; other work hardly counts."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(0, 82, n).round()
    u = rng.random(n)
    work = np.where(u < 0.6, "Private", np.where(u < 0.8, "Government", "Self-employed"))
    work = np.where(age < 13, "children", np.where((age < 20) & (u > 0.5), "children", work))
    logit = -7 + 0.075 * age + 1.0 * (work == "children") - 0.4 * (work == "Self-employed")
    ill = rng.random(n) < 1 / (1 + np.exp(-logit))
    return pd.DataFrame({"age": age, "work": work}), np.where(ill, "stroke", "none")


def test_children_are_told_their_own_chance_of_a_stroke():
    table, y = strokes()
    encode = make_column_transformer((OneHotEncoder(), ["work"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression(max_iter=5000, C=100.0)).fit(table, y)
    alone = model.predict_proba(table.assign(work="children"))[:, 1].mean()
    assert alone > 0.1  # what moving one column of all rows says
    effect = column_effect(model, table, "work", y)
    (children,) = (point for point in effect.points if point.value == "children")
    assert children.rate[1] < 0.01
    assert children.prediction[1] < 0.01
    assert abs(children.effect[1]) < 0.02


def test_rows_are_only_asked_where_data_are():
    table, _ = strokes()
    model = Formula(lambda X: X["age"])
    column_effect(model, table, "work")
    asked = pd.concat(model.asked)
    assert asked.loc[asked["work"] == "children", "age"].max() < 25
    assert len(asked) <= 7 * 1000
    model.asked.clear()
    column_effect(model, table, "age")
    asked = pd.concat(model.asked)
    assert set(asked["age"]) <= set(table["age"])
    assert asked.loc[asked["work"] == "children", "age"].max() < 30
    assert len(asked) <= 3 * 1000


def test_curve_and_rates_in_different_directions_differ():
    table = pairs()
    y = 3 * table["b"] - table["a"]
    model = LinearRegression().fit(table[["a", "b"]], y)
    effect = column_effect(model, table[["a", "b"]], "a", y)
    assert effect.differs()
    change, rate, _ = effect.trend()
    assert change < 0 < rate
    assert not column_effect(model, table[["a", "b"]], "b", y).differs()


def test_shares_of_two_classes_differ_alike():
    rng = np.random.default_rng(0)
    a = rng.normal(size=3000)
    b = a + 0.5 * rng.normal(size=3000)
    table = pd.DataFrame({"a": a, "b": b})
    y = np.where(rng.random(3000) < 1 / (1 + np.exp(2 * a - 3 * b)), "yes", "no")
    model = LogisticRegression().fit(table, y)
    effect = column_effect(model, table, "a", y)
    assert effect.differs(1)
    assert effect.differs(0)  # of two classes one is the other turned round


@pytest.mark.parametrize(
    ("numbers", "codes"),
    [
        ([*range(90), 999, 999, 999], [999]),
        ([*range(14), 96, 98, 96, 98, 96, 98], [96, 98]),
        ([*range(14), 1e6, 1e6, 1e6], [1e6]),
        ([*np.linspace(1e4, 5e5, 40), 1e6, 1e6, 1e6], []),
        ([*range(18, 70), -1, -1, -1], [-1]),
        ([*range(60, 100), 0, 0, 0], [0]),
        ([*range(120), 99, 99, 99], []),
        ([*range(95), 96, 96, 96, 97, 98, 98, 98], []),
        ([*range(90), 999], []),
        ([0, 0, 0, *range(1, 9)], []),
        ([0, 0, 0, 1, 1, 1], []),
        ([-1, -1, -1, 1, 1, 1, -2, 2], []),
        ([0, 0, 0, 99, 99, 99], []),
    ],
)
def test_codes_far_from_the_rest_look_like_gaps(numbers, codes):
    table = pd.DataFrame({"x": np.array(numbers, dtype=float), "z": np.arange(len(numbers))})
    effect = column_effect(Formula(lambda X: X["x"]), table, "x", table["z"])
    assert list(effect.codes) == codes
    assert [point.value for point in effect.apart] == codes
    assert not {point.value for point in effect.points} & set(codes)


def test_gaps_are_compared_with_the_values_of_rows_alike():
    table = pairs()
    old = table["b"] > 0.5
    table.loc[old & (np.arange(len(table)) % 2 == 0), "a"] = np.nan
    table.loc[table.index % 10 == 3, "kind"] = None
    own = {"low": 0.0, "middle": 1.0, "high": 2.0}
    model = Formula(lambda X: X["a"].fillna(-5.0) + 9 * X["b"] + X["kind"].map(own).fillna(4.0))
    effect = column_effect(model, table, "a", table["b"])
    (gap,) = effect.apart
    assert (gap.value, gap.rows) == (None, table["a"].isna().sum())
    assert gap.rate[0] == pytest.approx(table["b"][table["a"].isna()].mean())
    level = np.average([point.value for point in effect.points], weights=effect.rows)
    assert gap.effect[0] == pytest.approx(-5.0 - level, abs=0.1)
    effect = column_effect(model, table, "kind")
    (gap,) = effect.apart
    level = np.average([own[point.value] for point in effect.points], weights=effect.rows)
    assert gap.effect[0] == pytest.approx(4.0 - level)


def test_dates_flags_and_arrays_are_columns_too():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 200), "D")
    table = pd.DataFrame({"day": days, "flag": rng.random(200) < 0.3, "x": rng.normal(size=200)})
    model = Formula(lambda X: X["day"].dt.dayofyear + 4.0 * X["flag"])
    effect = column_effect(model, table, "day", bins=4)
    assert (effect.kind, effect.points[0].label[:5]) == ("date", "2024-")
    steps = np.diff([point.value for point in effect.points])
    assert_allclose(np.diff(effect.curve[:, 0]), steps)
    effect = column_effect(model, table, 1)
    assert [point.label for point in effect.points] == ["False", "True"]
    assert_allclose(np.diff(effect.curve[:, 0]), 4.0)
    X = rng.normal(size=(200, 2))
    effect = column_effect(Formula(lambda X: X[:, 0]), X, 0)
    assert_allclose(effect.spread, effect.points[-1].value - effect.points[0].value)
    json.dumps(effect.to_dict())


def test_columns_without_two_values_that_come_again_have_no_effect_to_show():
    n = 300
    words = [f"note {row}" for row in range(n)]
    table = pd.DataFrame({"one": 1.0, "note": words, "same": "a", "none": np.nan})
    for name in table:
        assert column_effect(Formula(lambda X: np.zeros(len(X))), table, name) is None
    with pytest.raises(ValueError, match="'other', which the table does not have"):
        column_effect(Formula(len), table, "other")


def test_categories_beyond_the_most_frequent_are_counted():
    table = pairs().assign(town=[f"t{row % 30}" for row in range(1500)])
    effect = column_effect(Formula(lambda X: X["a"]), table, "town", categories=4)
    assert (len(effect.points), effect.n_left) == (4, 26)
