"""Tables become numbers: text, gaps, categories."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from covey.tables import TablePreparation


def test_columns_are_named_by_what_they_are_made_of():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "town": rng.choice(["Rome", "Oslo", "Bath"], 80),
            "sex": rng.choice(["m", "f"], 80),
            "note": [f"word{number % 60} and more {number % 7}" for number in range(80)],
            "day": pd.date_range("2024-01-01", periods=80).astype(str),
        }
    )
    made = TablePreparation(random_state=0).fit_transform(table)
    assert list(made.columns) == [
        *(f"note: {place}" for place in range(10)),
        *("day: month", "day: day", "day: weekday", "day: days"),
        *("town = Bath", "town = Oslo", "town = Rome", "sex = m"),
    ]


def test_numbers_are_read_as_they_are_written_and_at_prediction_too():
    table = pd.DataFrame(
        {
            "price": ["$1,200.50", "$7", "$41,000", "(3)"] * 5,
            "share": ["86.5%", "3 %", "n/a", "12%"] * 5,
            "mass": [*(["1.200,5 kg", "3,25 kg"] * 9), "lost", "7"],
        }
    )
    table["share"] = table["share"].where(table["share"] != "n/a")
    preparation = TablePreparation().fit(table)
    assert preparation.kinds_ == dict.fromkeys(table, "number")
    made = preparation.transform(table)
    assert made["price"].tolist()[:4] == [1200.5, 7, 41_000, -3]
    assert made["share"].tolist()[:2] == [86.5, 3]
    assert made["mass"].tolist()[:2] == [1200.5, 3.25]
    assert made["mass is missing"].tolist() == [0] * 18 + [1, 0]
    # One row by itself would tell nothing of its decimal mark; numbers are numbers.
    row = pd.DataFrame({"price": ["3,040"], "share": [12.5], "mass": ["1.234"]})
    assert preparation.transform(row)[["price", "share", "mass"]].to_numpy().tolist() == [
        [3040, 12.5, 1234]
    ]


def test_numbers_too_large_to_compute_with_are_gaps():
    table = pd.DataFrame({"a": [1.0, 1e300, 3.0, -np.inf], "b": [1.0, 2.0, 3.0, 4.0]})
    made = TablePreparation().fit_transform(table)
    assert made["a"].tolist() == [1, 1, 3, 1]
    assert made["a is missing"].tolist() == [0, 1, 0, 1]


def test_gaps_are_filled_by_medians_and_said():
    table = pd.DataFrame({"a": [1.0, np.nan, 5.0, 100.0], "b": [1.0, 2.0, 3.0, np.inf]})
    preparation = TablePreparation().fit(table)
    made = preparation.transform(pd.DataFrame({"b": [np.nan, 1.0], "a": [np.nan, 2.0]}))
    assert list(made.columns) == ["a", "b", "a is missing", "b is missing"]
    assert made.to_numpy().tolist() == [[5, 2, 1, 1], [2, 1, 0, 0]]


def test_a_category_is_the_same_as_a_whole_number_of_any_type():
    table = pd.DataFrame({"code": ["1", "2", "x", None] * 8, "a": np.arange(32) % 7})
    preparation = TablePreparation().fit(table)
    wanted = preparation.transform(table.assign(code="1"))
    assert wanted["code = 1"].all()
    for code in (1, 1.0, np.float32(1), pd.Series([1.0] * 32, dtype=object)):
        pd.testing.assert_frame_equal(preparation.transform(table.assign(code=code)), wanted)
    average = preparation.transform(table.assign(code=1.5)).filter(like="code").to_numpy()
    assert (average == 0.25).all()


@pytest.mark.slow
def test_thousands_of_numbers_are_prepared_at_once():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(20, 3000))).add_prefix("x")
    table.iloc[3, ::7] = np.nan
    table.iloc[4, ::5] = np.inf
    kinds = dict.fromkeys(table.columns, "number")
    other = table.astype({"x0": object})
    wanted = TablePreparation(columns=kinds).fit_transform(other)
    quick = TablePreparation(columns=kinds).fit(table)
    pd.testing.assert_frame_equal(quick.transform(table), wanted)


@pytest.mark.parametrize("columns", [0.5, ["a"], "a", [1, 2]])
def test_kinds_of_columns_are_a_mapping(columns):
    with pytest.raises(TypeError, match="columns must be a mapping from the names of columns"):
        TablePreparation(columns=columns).fit(pd.DataFrame({"a": [1.0, 2.0]}))


@parametrize_with_checks([TablePreparation()])
def test_scikit_learns_contract(estimator, check):
    check(estimator)
