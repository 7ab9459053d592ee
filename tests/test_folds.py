"""Folds as a search takes them from scikit-learn's splitters, or draws them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import TimeSeriesSplit

from covey._folds import make_folds

CLASSES = np.array(["no", "yes"])


def folds_of(cv, n_rows=60, **how):
    codes = np.arange(n_rows) % 2
    how = {"groups": None, "seed": 0, "n_repeats": 1, **how}
    return make_folds(cv, np.zeros((n_rows, 1)), codes, np.ones(n_rows), CLASSES, **how)


def test_later_rows_never_teach_earlier_ones():
    folds = folds_of(TimeSeriesSplit(4))
    assert len(folds) == 4
    for train, test in folds:
        assert train.max() < test.min()


def test_pairs_stay_in_their_order_and_negative_rows_count_from_the_end():
    ((train, test),) = folds_of([([0, 1, 2], [-1, -2])])
    assert_array_equal(train, [0, 1, 2])
    assert_array_equal(test, [59, 58])


def test_masks_are_row_numbers():
    train, test = np.zeros((2, 60), dtype=bool)
    train[:5], test[7:9] = True, True
    ((trained, held_out),) = folds_of([(train, test)])
    assert_array_equal(trained, np.arange(5))
    assert_array_equal(held_out, [7, 8])


def test_drawn_folds_hold_every_row_out_once_and_every_class_evenly():
    folds = folds_of(5)
    held_out = np.concatenate([test for _, test in folds])
    assert_array_equal(np.sort(held_out), np.arange(60))
    for train, test in folds:
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(60))
        assert_array_equal(np.bincount(test % 2), [6, 6])


def test_a_number_of_folds_separates_no_group_whatever_the_target_is():
    groups = np.arange(60) // 4
    numbers = np.random.default_rng(0).normal(size=60)
    folds = make_folds(
        3,
        np.zeros((60, 1)),
        np.zeros(60, dtype=int),
        np.ones(60),
        np.zeros(1),
        groups=groups,
        seed=0,
        n_repeats=1,
        y=numbers,
    )
    assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(60))
    for train, test in folds:
        assert not np.intersect1d(groups[train], groups[test]).size
        assert len(test) == 20


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([([0, 1], [1, 2])], "holds out rows that it also trains on"),
        ([([0, 1], [60])], "names a row beyond the 60 of X"),
        ([([0, 2], [1, 3])], "leaves fold 1 of 1 without class 'yes' to train on"),
        ([([0, 1], [])], "at least one of each"),
        ([], "holds no fold at all"),
    ],
)
def test_folds_that_make_no_sense_are_refused(cv, message):
    with pytest.raises(ValueError, match=message):
        folds_of(cv)
