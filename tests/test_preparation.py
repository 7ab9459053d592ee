"""Gaps and categories as columns of numbers."""

import numpy as np
from scipy import sparse

from covey._preparation import prepare

NAN = np.nan
# A number with gaps, one without, three categories with gaps, two without.
X = np.array([[1.0, 5, 0, 0], [NAN, 6, 1, 1], [3.0, 7, 2, 0], [5.0, 8, NAN, 0]])
WORDS = {2: ("a", "b", "c"), 3: ("u", "v")}


def prepared(weight=(1.0, 1, 1, 1)):
    return prepare(X, WORDS, np.array(weight), None)


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


def test_features_are_in_use_with_any_of_their_columns():
    preparation, _ = prepared()
    used = np.array([False, True, True, False, False, False, False, False])
    assert preparation.on_features(used).tolist() == [True, True, False, False]
    assert preparation.first_of_each(used).tolist() == used.tolist()
    assert preparation.shares().sum(axis=0).tolist() == [2, 1, 4, 1]


def test_sparse_rows_stay_sparse_and_their_gaps_are_zero():
    rows = sparse.csr_array(np.array([[0.0, NAN], [2.0, 0.0], [0.0, 3.0]]))
    preparation, made = prepare(rows, {}, np.ones(3), None)
    assert sparse.issparse(made)
    np.testing.assert_array_equal(made.toarray(), [[0, 0, 1], [2, 0, 0], [0, 3, 0]])
    dense = preparation.transform(rows.toarray())
    np.testing.assert_array_equal(dense, made.toarray())
