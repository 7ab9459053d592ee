"""Folds that a block tells of its own rows, and the cards written out."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import covey._core.search.folds as dealing
from covey._core.random import Purpose, UniformRows
from covey._core.search.block import SearchBlock
from covey._core.search.rows import folds_of_rows
from covey._folds import make_folds
from tests._core.several import Several

LAYOUTS = [[60], [30, 30], [9] * 6 + [6], [3, 50, 7], [20, 0, 40]]


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    codes = rng.choice(4, 60, p=[0.4, 0.3, 0.2, 0.1])
    # A class with one row, in the middle of the others.
    codes = np.where(codes >= 2, codes + 1, codes)
    codes[17] = 2
    weight = rng.uniform(0.5, 1, 60)
    weight[::9] = 0.0
    weight[17] = 1.0
    return codes, weight


def literal(codes, weight, n_folds, seed, n_repeats, most_ranked):
    """Rows of each class in the order of their draws, dealt one after another."""
    folds = []
    for repeat in range(n_repeats):
        draws = UniformRows(seed, Purpose.FOLD, 0, repeat, 1).read(0, len(codes))[:, 0]
        fold, card = {}, 0
        for label in np.unique(codes):
            rows = [row for row in range(len(codes)) if codes[row] == label and weight[row] > 0]
            if len(rows) == 1:
                continue
            for row in sorted(rows, key=lambda row: (draws[row], row)):
                fold[row] = card % n_folds
                if len(rows) > most_ranked:
                    fold[row] = int(draws[row] * n_folds)
                card += 1
        for number in range(n_folds):
            held_out = [row for row in fold if fold[row] == number]
            trained_on = [
                row for row in range(len(codes)) if weight[row] > 0 and fold.get(row, -1) != number
            ]
            folds.append((trained_on, sorted(held_out)))
    return folds


@pytest.mark.filterwarnings("ignore:Class 'c' has one row:UserWarning")
@pytest.mark.parametrize("most_ranked", [100_000, 10, 1])
@pytest.mark.parametrize("sizes", LAYOUTS)
def test_blocks_and_tables_are_dealt_as_written_out(table, sizes, most_ranked, monkeypatch):
    monkeypatch.setattr(dealing, "MOST_RANKED", most_ranked)
    codes, weight = table
    classes = np.array(list("abcde"))
    expected = literal(codes, weight, 4, 3, 2, most_ranked)
    here = make_folds(4, None, codes, weight, classes, groups=None, seed=3, n_repeats=2)
    for (train, test), (trained_on, held_out) in zip(here, expected, strict=True):
        assert_array_equal(train, trained_on)
        assert_array_equal(test, held_out)
    rows = Several(np.zeros((60, 1)), codes, weight, sizes, 5)
    assigned = folds_of_rows(rows, 4, classes, seed=3, n_repeats=2)
    assert len(assigned) == 8
    # Nothing but what is counted comes from classes that are large.
    assert len(assigned.number) == sum(
        count for count in np.bincount(codes[weight > 0]) if 1 < count <= most_ranked
    )
    rows.broadcast(SearchBlock.set_folds, assigned, 1)
    start = 0
    for block, size in zip(rows.blocks, sizes, strict=True):
        for (train, test), (trained_on, held_out) in zip(block._parts, expected, strict=True):
            for found, wanted in ((train, trained_on), (test, held_out)):
                mine = [row for row in wanted if start <= row < start + size]
                assert_array_equal(start + block._order[found], mine)
        assert_array_equal(block.run_weight[-1], block.weight)
        start += size


def test_the_order_in_which_blocks_answer_does_not_matter(table):
    codes, weight = table
    counts = np.bincount(codes[weight > 0])
    ranked = dealing.ranked_classes(counts)
    known = [
        dealing.drawn(
            start, codes[start : start + 20], weight[start : start + 20] > 0, 3, 2, ranked
        )
        for start in (0, 20, 40)
    ]
    one, other = (dealing.assigned_folds(counts, 3, 4, parts) for parts in (known, known[::-1]))
    assert_array_equal(one.number, other.number)
    assert_array_equal(one.fold, other.fold)


def test_a_class_with_one_row_and_too_few_rows_are_said():
    classes = np.array(["a", "b"])
    rows = Several(np.zeros((3, 1)), np.array([0, 1, 1]), np.ones(3), [1, 2], 2)
    with pytest.warns(UserWarning, match="Class 'a' has one row, which no fold can hold out"):
        assigned = folds_of_rows(rows, 5, classes, seed=0, n_repeats=1)
    assert assigned.n_folds == 2
    rows = Several(np.zeros((2, 1)), np.array([0, 1]), np.ones(2), [1, 1], 2)
    with pytest.raises(ValueError, match="No class has two rows"):
        folds_of_rows(rows, 5, classes, seed=0, n_repeats=1)
