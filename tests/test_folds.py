"""Folds as a search takes them from scikit-learn's splitters, or draws them."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score

from covey import FlockClassifier, FusionClassifier, GroupTimeSplit
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


# -- later rows, of groups that are not trained on ------------------------------------------------


def literal_folds(times, n_splits, groups, n_group_splits):
    """The folds of `GroupTimeSplit`, row by row, as its docstring tells them."""
    ordered, n_rows = sorted(times), len(times)
    # The last time of each part, with 1/(n_splits + 1), 2/(n_splits + 1), ... of all rows.
    shares = [part / (n_splits + 1) for part in range(1, n_splits + 2)]
    ends = {ordered[int((n_rows - 1) * share)] for share in shares}
    folds = []
    for low, high in pairwise(sorted(ends)):
        before = [row for row in range(n_rows) if times[row] <= low]
        inside = [row for row in range(n_rows) if low < times[row] <= high]
        if groups is None:
            folds.append((before, inside))
            continue
        sizes = Counter(groups[row] for row in inside)
        known = {groups[row] for row in before} & set(sizes)
        divisions = [[] for _ in range(min(n_group_splits, len(sizes)) if known else 1)]
        for group in sorted(sizes, key=lambda group: (-sizes[group], group)):
            fewest = min(divisions, key=lambda some: sum(sizes[one] for one in some))
            fewest.append(group)
        for held_out in divisions:
            train = [row for row in before if groups[row] not in held_out]
            if train:
                folds.append((train, [row for row in inside if groups[row] in held_out]))
    return folds


ROWS = st.integers(2, 60).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 20), min_size=n, max_size=n),
        st.none() | st.lists(st.integers(0, 8), min_size=n, max_size=n),
    )
)


@given(ROWS, st.integers(1, 7), st.integers(2, 5))
def test_later_groups_are_held_out_once_and_neither_they_nor_later_rows_are_trained_on(
    rows, n_splits, n_group_splits
):
    times, groups = np.array(rows[0]), None if rows[1] is None else np.array(rows[1])
    splitter = GroupTimeSplit(n_splits, n_group_splits=n_group_splits, time=times)
    wanted = literal_folds(times, n_splits, groups, n_group_splits)
    X = np.zeros((len(times), 1))
    if not wanted:
        with pytest.raises(ValueError, match="No row is later"):
            list(splitter.split(X, groups=groups))
        return
    folds = list(splitter.split(X, groups=groups))
    assert splitter.get_n_splits(X, None, groups) == len(folds) == len(wanted)
    for fold, literal in zip(folds, wanted, strict=True):
        for found, known in zip(fold, literal, strict=True):
            assert_array_equal(found, known)
    held_out = np.concatenate([test for _, test in folds])
    assert len(np.unique(held_out)) == len(held_out)
    for train, test in folds:
        assert times[train].max() < times[test].min()
        if groups is not None:
            assert not set(groups[train]) & set(groups[test])
    if groups is None:
        # Whatever is later than the first part is held out; and rows of one time stay together.
        assert set(held_out) == set(np.flatnonzero(times > times[folds[0][0]].max()))


def test_every_row_after_the_first_part_is_held_out_if_other_groups_are_always_there():
    groups = np.tile(np.arange(6), 20)
    folds = list(GroupTimeSplit(4, n_group_splits=3).split(groups, groups=groups))
    assert len(folds) == 12
    held_out = np.sort(np.concatenate([test for _, test in folds]))
    assert_array_equal(held_out, np.arange(held_out.min(), 120))
    # New groups take one fit for each part of time, which trains on all earlier rows.
    new = np.arange(120) // 5
    folds = list(GroupTimeSplit(3).split(new, groups=new))
    assert len(folds) == 3
    assert all(len(train) == test.min() for train, test in folds)


@pytest.mark.parametrize("way", ["column", "dates", "text", "numbers", "strings"])
def test_times_are_read_from_a_column_dates_text_and_numbers_alike(way):
    pd = pytest.importorskip("pandas")
    days = np.random.default_rng(0).permutation(60)
    dates = pd.Series(pd.Timestamp("2023-12-20") + pd.to_timedelta(days, "D"))
    X = pd.DataFrame({"x": np.zeros(60), "date": dates})
    text = dates.dt.strftime("%Y-%m-%d")
    time = {"column": "date", "dates": dates, "text": text, "numbers": days / 7}.get(way)
    time = text.astype("string") if way == "strings" else time
    folds = list(GroupTimeSplit(time=time).split(X))
    assert len(folds) == 5
    for train, test in folds:
        assert days[train].max() < days[test].min()


@pytest.mark.parametrize(
    ("how", "groups", "message"),
    [
        ({"time": np.zeros(60)}, None, "No row is later"),
        ({}, np.zeros(60), "No row is later"),
        ({"time": "when"}, None, "time is 'when', which is not a column of X"),
        ({"time": np.arange(59)}, None, "time must hold one value for each of the 60 rows"),
        ({"time": ["01/02/2024"] * 60}, None, "time must hold numbers, dates or text written as"),
        ({"time": [None, "2024-01-01"] * 30}, None, "time must hold numbers"),
        ({"time": np.r_[np.nan, np.arange(59)]}, None, "without gaps"),
        ({}, ["a", None] * 30, "groups must hold numbers or strings"),
        ({}, np.arange(59), "groups must hold one entry for each of the 60 rows"),
        ({"n_splits": 0}, None, "n_splits"),
        ({"n_group_splits": 1}, None, "n_group_splits"),
    ],
)
def test_what_cannot_be_split_by_time_is_one_sentence(how, groups, message):
    with pytest.raises(ValueError, match=message):
        list(GroupTimeSplit(**how).split(np.zeros((60, 1)), groups=groups))


def test_more_folds_than_groups_or_times_are_fewer_folds():
    X = np.zeros((60, 1))
    assert GroupTimeSplit(50, time=np.arange(60) // 20).get_n_splits(X) == 2
    assert GroupTimeSplit(1, n_group_splits=9).get_n_splits(X, None, np.arange(60) % 2) == 2
    assert GroupTimeSplit(4).get_n_splits() == 4


def test_scikit_learn_takes_the_splitter_and_nested_folds_are_of_the_same_kind():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(120, 3)), np.tile(np.arange(8), 15)
    y = (X[:, 0] + 0.3 * rng.normal(size=120) > 0).astype(int)
    splitter = GroupTimeSplit(2)
    assert str(clone(splitter, safe=False)) == str(splitter)
    assert repr(splitter) == "GroupTimeSplit(n_group_splits=3, n_splits=2, time=None)"
    line = LogisticRegression()
    assert len(cross_val_score(line, X, y, groups=groups, cv=splitter)) == 6
    search = GridSearchCV(line, {"C": [0.1, 1.0]}, cv=splitter).fit(X, y, groups=groups)
    assert search.n_splits_ == 6
    fused = FusionClassifier([("line", line)], fuser="linear_stacking", cv=splitter)
    with pytest.warns(UserWarning, match="no out-of-fold prediction"):
        fused.fit(X, y, groups=groups)
    assert fused.score(X, y) > 0.8
    # A fold of the outer split is a part of the rows, still in the order of time.
    for train, _ in splitter.split(X, y, groups):
        flock = FlockClassifier(cv=GroupTimeSplit(2), random_state=0, max_terms=4)
        flock.fit(X[train], y[train], groups=groups[train])
        held_out = flock.out_of_fold_.rows
        assert held_out.min() >= len(train) // 3 - 1
        break


def test_a_flock_reads_the_time_from_a_column_of_its_table():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    days = rng.permutation(90)
    X = pd.DataFrame({"x": rng.normal(size=90), "day": days})
    y = (X["x"] > 0).to_numpy()
    flock = FlockClassifier(cv=GroupTimeSplit(2, time="day"), random_state=0, max_terms=4)
    held_out = flock.fit(X, y).out_of_fold_.rows
    assert days[held_out].min() > np.setdiff1d(days, days[held_out]).max()
