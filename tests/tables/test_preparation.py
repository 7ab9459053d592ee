"""Gaps and categories as columns of numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.naive_bayes import GaussianNB

from covey import FlockClassifier, FusionClassifier, SubsetSelector
from covey.tables import Categories, NumberColumn, TableReader
from covey.tables._preparation import frequent_categories, needs_target, prepare
from covey.tables._target_means import TargetMeans

NAN = np.nan
# A number with gaps, one without, three categories with gaps, two without.
X = np.array([[1.0, 5, 0, 0], [NAN, 6, 1, 1], [3.0, 7, 2, 0], [5.0, 8, NAN, 0]])
READING = TableReader(
    (NumberColumn(), NumberColumn(), Categories(("a", "b", "c")), Categories(("u", "v")))
)


def prepared(weight=(1.0, 1, 1, 1)):
    return prepare(X, READING, np.array(weight), None)


def test_gaps_are_filled_by_the_median_and_marked_and_categories_have_a_column_each():
    preparation, made = prepared()
    names = ["p", "q", "p is missing", "r = a", "r = b", "r = c", "r is missing", "s = v"]
    assert preparation.names("pqrs") == names
    assert preparation.column_of.tolist() == [0, 1, 0, 2, 2, 2, 2, 3]
    np.testing.assert_array_equal(made[1], [3, 6, 1, 0, 1, 0, 0, 1])
    np.testing.assert_array_equal(made[3], [5, 8, 0, 0, 0, 0, 1, 0])


def test_rows_without_weight_are_not_learnt_from():
    preparation, made = prepared(weight=(1.0, 0, 1, 0))
    assert preparation.names("pqrs") == ["p", "q", "r = c", "s = u"]
    np.testing.assert_array_equal(made[1], [1, 6, 0.5, 1])
    assert preparation.fill[0] == 1


def test_what_no_training_row_had_is_an_average_row():
    preparation, _ = prepared()
    (row,) = preparation.transform(np.array([[2.0, NAN, -1, NAN]]))
    np.testing.assert_array_equal(row, [2, 6, 0, 0.25, 0.25, 0.25, 0.25, 0.25])


def many_categories(n_categories, n_rows=400):
    """Rows of a number and of a column of categories, which say much about two classes."""
    rng = np.random.default_rng(0)
    codes = np.append(np.arange(n_categories), rng.integers(0, n_categories, n_rows))
    y = (rng.random(len(codes)) < np.where(codes % 2, 0.9, 0.1)).astype(int)
    rows = np.column_stack([rng.normal(size=len(codes)), codes])
    words = tuple(f"c{code:02}" for code in range(n_categories))
    return rows, TableReader((NumberColumn(), Categories(words))), y


def test_training_rows_are_encoded_by_the_target_of_others():
    rows, reading, y = many_categories(30)
    target = TargetMeans(y, np.array(["no", "yes"]), np.ones(len(y)), 0)
    preparation, made = prepare(rows, reading, np.ones(len(y)), target)
    codes = rows[:, 1].astype(int)
    np.testing.assert_array_equal(made[:, 1:], target.out_of_fold(codes, 31))
    np.testing.assert_array_equal(
        preparation.transform(rows)[:, 1:], target.table(codes, 31)[codes]
    )
    assert np.abs(made - preparation.transform(rows))[:, 1].min() > 0


def test_up_to_twenty_categories_gaps_included_have_a_column_each():
    rows, reading, y = many_categories(20)
    target = TargetMeans(y, np.array(["no", "yes"]), np.ones(len(y)), 0)
    preparation, _ = prepare(rows, reading, np.ones(len(y)), None)
    assert len(preparation.levels[1]) == 20
    # With gaps there would be one more; who has no target may have no more words than 19.
    assert needs_target(reading)
    assert not needs_target(many_categories(19)[1])
    rows[::9, 1] = NAN
    preparation, made = prepare(rows, reading, np.ones(len(y)), target)
    assert not preparation.levels
    assert made.shape[1] == 2


def test_tests_see_categories_of_five_rows_and_no_column_of_the_target():
    rows, reading, y = many_categories(30)
    rows = np.vstack([rows[rows[:, 1] > 1], [[0.0, 0.0]] * 4, [[0.0, 1.0]] * 5])
    target = TargetMeans(y[: len(rows)], np.array(["no", "yes"]), np.ones(len(rows)), 0)
    preparation, _ = prepare(rows, reading, np.ones(len(rows)), target)
    free, made, made_of = frequent_categories(preparation, rows)
    assert free.tolist() == [0]
    assert (made_of == 1).all()
    counts = np.bincount(rows[:, 1].astype(int))
    assert counts[:2].tolist() == [4, 5]
    assert made.sum(axis=0).tolist() == np.sort(counts[counts >= 5])[::-1].tolist()


def test_features_are_in_use_with_any_of_their_columns():
    preparation, _ = prepared()
    used = np.array([False, True, True, False, False, False, False, False])
    assert preparation.on_features(used).tolist() == [True, True, False, False]
    assert preparation.first_of_each(used).tolist() == used.tolist()
    assert preparation.shares().sum(axis=0).tolist() == [2, 1, 4, 1]


def test_sparse_rows_stay_sparse_and_their_gaps_are_zero():
    rows = sparse.csr_array(np.array([[0.0, NAN], [2.0, 0.0], [0.0, 3.0]]))
    preparation, made = prepare(rows, None, np.ones(3), None)
    assert sparse.issparse(made)
    np.testing.assert_array_equal(made.toarray(), [[0, 0, 1], [2, 0, 0], [0, 3, 0]])
    dense = preparation.transform(rows.toarray())
    np.testing.assert_array_equal(dense, made.toarray())


# -- columns that are neither ---------------------------------------------------------------------

ROWS = pd.DataFrame({"a": np.arange(40.0) % 7, "b": np.arange(40.0) % 3})
SIDES = np.arange(40) % 2
NEITHER = {
    "bytes": ([b"a", b"b"] * 20, "Column 'c' of X holds neither numbers nor categories"),
    "lists": ([[1], [2]] * 20, "Column 'c' of X holds neither numbers nor categories"),
    "complex": (np.arange(40) + 1j, "Column 'c' of X .*Complex data not supported"),
}


@pytest.mark.parametrize("what", NEITHER)
def test_a_column_that_is_neither_numbers_nor_categories_is_refused_by_its_name(what):
    values, sentence = NEITHER[what]
    fitted = FlockClassifier(effort="fast", n_estimators=1).fit(ROWS.assign(c=1.0), SIDES)
    for refused in (
        lambda: FlockClassifier(effort="fast").fit(ROWS.assign(c=values), SIDES),
        lambda: FlockClassifier(effort="fast").fit(ROWS.assign(c=values, d="x"), SIDES),
        lambda: SubsetSelector(n_resamples=2).fit(ROWS.assign(c=values), SIDES),
        lambda: fitted.predict(ROWS.assign(c=values)),
    ):
        with pytest.raises(ValueError, match=sentence) as found:
            refused()
        assert "\n" not in str(found.value)


DATES = {
    "dates": pd.date_range("2020", periods=40),
    "lengths of time": pd.to_timedelta(np.arange(40), unit="h"),
    "periods": pd.period_range("2020", periods=40),
}


@pytest.mark.parametrize("what", DATES)
def test_dates_are_refused_where_a_model_was_fitted_to_numbers(what):
    dates = ROWS.assign(c=DATES[what])
    named = FlockClassifier(effort="fast", n_estimators=1, categorical_features=["a"])
    fitted = FlockClassifier(effort="fast", n_estimators=1).fit(ROWS.assign(c=1.0), SIDES)
    for refused in (lambda: named.fit(dates, SIDES), lambda: fitted.predict(dates)):
        with pytest.raises(ValueError, match="Column 'c' of X holds dates or times"):
            refused()


@pytest.mark.parametrize("what", DATES)
def test_dates_are_numbers_of_their_own(what):
    later = np.arange(40) >= 20
    table = pd.DataFrame({"c": DATES[what]})
    flock = FlockClassifier(effort="fast", random_state=0).fit(table, later)
    assert flock.n_features_in_ == 1
    assert flock.score(table, later) > 0.9
    if what == "dates":
        same = FlockClassifier(effort="fast", random_state=0).fit(pl.from_pandas(table), later)
        np.testing.assert_array_equal(
            same.predict_proba(pl.from_pandas(table)), flock.predict_proba(table)
        )


def test_two_columns_of_one_name_are_refused_by_it():
    twice = pd.concat([ROWS, ROWS[["a"]]], axis=1)
    for model in (
        FlockClassifier(effort="fast"),
        SubsetSelector(n_resamples=2),
        FusionClassifier([GaussianNB()]),
    ):
        with pytest.raises(ValueError, match="X has several columns named 'a'; give each a name"):
            model.fit(twice, SIDES)
        with pytest.raises(ValueError, match="X has several columns named 'a'; give each a name"):
            model.fit(twice.assign(t="x"), SIDES)
