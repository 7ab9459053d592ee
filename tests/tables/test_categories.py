"""Which columns hold categories, and their values as codes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from covey.tables import Categories, NumberColumn
from covey.tables._categories import categorical_columns, places, words_of
from covey.tables._table_reader import learn_reading

FRAME = pd.DataFrame(
    {
        "number": [1.0, None, 3.0],
        "text": ["b", None, "a"],
        "kind": pd.Categorical(["x", "y", None]),
        "string": pd.array(["u", "v", pd.NA], dtype="string"),
        "numbers as objects": pd.Series([1, 2.5, None], dtype=object),
        "flag": [True, False, True],
    }
)


def test_columns_of_text_and_categories_are_found_by_their_type():
    found = [type(one) for one in learn_reading(FRAME, "from_dtype").encoders]
    words, number = Categories, NumberColumn
    assert found == [number, words, words, words, number, words]
    polars = pl.DataFrame(
        {"number": [1.0, None], "text": ["b", None], "flag": [True, False]}
    ).with_columns(pl.Series("enum", ["x", "y"], dtype=pl.Enum(["x", "y"])))
    found = [type(one) for one in learn_reading(polars, "from_dtype").encoders]
    assert found == [number, words, words, words]
    assert learn_reading(FRAME.to_numpy(), "from_dtype") is None
    assert categorical_columns(FRAME, None, None) == []


def test_columns_are_named_numbered_or_masked():
    assert categorical_columns(FRAME, ["kind", "number"], list(FRAME.columns)) == [0, 2]
    assert categorical_columns(FRAME, [True, False, False, False, False, True], None) == [0, 5]
    assert categorical_columns(FRAME, slice("number", "kind"), list(FRAME.columns)) == [0, 1, 2]
    assert categorical_columns(FRAME, [-1], None) == [5]
    with pytest.raises(ValueError, match="categorical_features names the column 9"):
        categorical_columns(FRAME, [9], None)
    with pytest.raises(ValueError, match="categorical_features is a mask of 1 columns"):
        categorical_columns(FRAME, [True], None)


def test_a_whole_number_is_the_same_category_with_and_without_a_point():
    assert words_of(np.array([1.0, np.nan, 2.5])) == ["1", None, "2.5"]
    assert words_of(pd.Series([1, pd.NA, 2], dtype="Int64")) == ["1", None, "2"]


def test_a_word_that_is_not_known_has_no_place():
    assert places(["b", "z", None], ["a", "b", None]).tolist() == [1, -1, 2]


def test_a_column_of_other_things_is_named():
    with pytest.raises(ValueError, match="Column 'odd' of X holds neither numbers nor categories"):
        learn_reading(FRAME.assign(odd=[{}, {}, {}]), "from_dtype")
    with pytest.raises(ValueError, match="Column 'odd' of X holds neither numbers nor categories"):
        learn_reading(FRAME, [1, 2, 3]).read(
            FRAME.assign(number=[{}, {}, {}]).rename(columns={"number": "odd"})
        )


def test_gaps_are_nan_and_unseen_categories_minus_one():
    reading = learn_reading(FRAME.iloc[:, :2], "from_dtype")
    assert reading.words == {1: ("a", "b")}
    np.testing.assert_array_equal(
        reading.read(FRAME.iloc[:, :2]), [[1, 1], [np.nan, np.nan], [3, 0]]
    )
    new = pd.DataFrame({"number": [0.0, 1.0], "text": ["z", "a"]})
    np.testing.assert_array_equal(reading.read(new), [[0, -1], [1, 0]])
