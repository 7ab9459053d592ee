"""Tables become numbers: text, gaps, categories."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.impute import SimpleImputer

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
        *("town = Bath", "town = Oslo", "town = Rome", "sex = m"),
        *(f"note: {place}" for place in range(10)),
        *("day: month", "day: day", "day: weekday", "day: days"),
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
    assert preparation.ranges_ == {
        "price": (-3, 41_000),
        "share": (3, 86.5),
        "mass": (3.25, 1200.5),
    }
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
    assert made["a"].tolist() == [1, 2, 3, 2]
    assert made["a is missing"].tolist() == [0, 1, 0, 1]


def test_gaps_are_filled_by_medians_and_said():
    table = pd.DataFrame({"a": [1.0, np.nan, 5.0, 100.0], "b": [1.0, 2.0, 3.0, np.inf]})
    preparation = TablePreparation().fit(table)
    made = preparation.transform(pd.DataFrame({"b": [np.nan, 1.0], "a": [np.nan, 2.0]}))
    assert list(made.columns) == ["a", "a is missing", "b", "b is missing"]
    assert made.to_numpy().tolist() == [[5, 1, 2, 1], [2, 0, 1, 0]]
    # So that a search may still make products.
    assert preparation.feature_groups_ == {}


def test_a_category_is_the_same_as_a_whole_number_of_any_type():
    table = pd.DataFrame({"code": ["1", "2", "x", None] * 8, "a": np.arange(32) % 7})
    preparation = TablePreparation().fit(table)
    assert preparation.categories()["code"][:3] == ["1", "2", "x"]
    wanted = preparation.transform(table.assign(code="1"))
    assert wanted["code = 1"].all()
    for code in (1, 1.0, np.float32(1), pd.Series([1.0] * 32, dtype=object)):
        pd.testing.assert_frame_equal(preparation.transform(table.assign(code=code)), wanted)
    half = preparation.transform(table.assign(code=1.5))
    assert not half.filter(like="code").to_numpy().any()


@pytest.mark.slow
def test_thousands_of_numbers_are_prepared_at_once(monkeypatch):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(20, 3000))).add_prefix("x")
    table.iloc[3, ::7] = np.nan
    table.iloc[4, ::5] = np.inf
    kinds = dict.fromkeys(table.columns, "number")
    # With one that has to be looked at, all are taken one by one.
    other = table.astype({"x0": object})
    slow = TablePreparation(columns=kinds).fit(other)
    wanted = slow.transform(other)
    monkeypatch.setattr("covey.tables._table_preparation.as_kind", None)
    quick = TablePreparation(columns=kinds).fit(table)
    np.testing.assert_array_equal(quick.imputer_.statistics_, slow.imputer_.statistics_)
    pd.testing.assert_frame_equal(quick.transform(table), wanted)


@pytest.mark.parametrize("columns", [0.5, ["a"], "a", [1, 2]])
def test_kinds_of_columns_are_a_mapping(columns):
    with pytest.raises(TypeError, match="columns must be a mapping from the names of columns"):
        TablePreparation(columns=columns).fit(pd.DataFrame({"a": [1.0, 2.0]}))


def test_gaps_are_filled_as_by_scikit_learn():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(40, 4))
    numbers[rng.random((40, 4)) < [0.3, 0.0, 0.1, 1.0]] = np.nan
    table = pd.DataFrame(numbers, columns=list("abcd"))
    preparation = TablePreparation(columns=dict.fromkeys("abcd", "number"))
    made = preparation.fit_transform(table)
    imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    expected = imputer.fit_transform(numbers)
    assert_array_equal(np.sort(made, axis=1), np.sort(expected, axis=1))
    assert_array_equal(made[list("abcd")], expected[:, :4])
    new = table.iloc[::-1].reset_index(drop=True)
    assert_array_equal(preparation.transform(new)[list("abcd")], imputer.transform(new)[:, :4])
