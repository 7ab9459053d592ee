import numpy as np
import pytest

from covey._core.basis import Basis, ScaledBasis
from covey._core.search.block import ClassTarget, Kind, SearchBlock
from covey._core.search.cross_fit import Contest
from covey._core.search.plan import Candidate, Family
from covey._core.search.rows import SearchInMemory

FOLDS = np.arange(2)
LINE = Family("features", 1, (1.0,))


@pytest.fixture
def contest():
    """Rows of two classes that the sign of a column tells apart, half of them in each fold."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    block = SearchBlock(X, ClassTarget((X[:, 0] > 0).astype(np.int64), 2), np.ones(200))
    plain = ScaledBasis(Basis.plain(4), np.zeros(4), np.ones(4), np.ones(4, dtype=bool))
    block.standardize("features", plain)
    rows = np.arange(200)
    block.set_folds([(rows[::2], rows[1::2]), (rows[1::2], rows[::2])], 1)
    table = SearchInMemory([block])
    (total,) = table.sum(SearchBlock.run_totals, True, False)
    table.broadcast(SearchBlock.set_totals, True, False, total)
    return Contest(table, 2, ends_early=True)


def walked(contest, steepness, sizes=(4, 3, 2, 1)):
    """How many points of a path are walked, of these features, by lines of this steepness."""
    points = [Candidate(LINE, 1.0, size, size) for size in sizes]
    contest.begin(points)
    theta = np.zeros((2, 1, 2, 4))
    parts = theta, np.zeros((2, 1, 2)), np.zeros((2, 1, 4)), np.zeros((2, 1))
    kind = Kind("features", "features", "linear", folds=True, single=False)
    for place, steep in enumerate(np.broadcast_to(steepness, len(points))):
        theta[:, 0, 1, 0] = steep
        if contest.hold_out(kind, np.full(2, place), FOLDS, parts).all():
            break
    contest.end()
    return place + 1


def test_a_path_ends_that_is_twice_worse_than_another_of_as_many_features(contest):
    assert walked(contest, 5.0) == 4
    assert walked(contest, 1.0) == 2
    # One that is better, or as good, goes on.
    assert walked(contest, 6.0) == 4
    assert walked(contest, 6.0) == 4


def test_a_path_is_compared_with_none_of_more_features(contest):
    assert walked(contest, 5.0, (8, 7, 6, 5)) == 4
    assert walked(contest, 1.0) == 4
    # Once is not enough, and it counts only in a row.
    assert walked(contest, 0.5, (8, 9, 7, 10)) == 4
    assert walked(contest, 0.5, (9, 8, 7, 6)) == 3


def test_a_path_ends_that_is_far_above_its_own_best_point(contest):
    assert walked(contest, [5.0, 4.9, -5.0, 5.0]) == 3
    # It is the best that counts, not the first.
    assert walked(contest, [1.0, 6.0, 1.0, 6.0], (9, 8, 7, 6)) == 3
    assert walked(contest, [1.0, 2.0, 3.0, 2.9], (13, 12, 11, 10)) == 4


def behind(contest, steepness, sizes=(4, 4)):
    """Which of two groups on their way, by lines of this steepness, need not go on."""
    contest.begin([Candidate(LINE, alpha, size, size) for alpha, size in enumerate(sizes)])
    theta = np.zeros((4, 1, 2, 4))
    theta[:, 0, 1, 0] = np.repeat(steepness, 2)
    parts = theta, np.zeros((4, 1, 2)), np.zeros((4, 1, 4)), np.zeros((4, 1))
    kind = Kind("features", "features", "linear", folds=True, single=False)
    found = contest.behind(kind, np.repeat([0, 1], 2), np.tile(FOLDS, 2), parts)
    contest.end()
    return found.tolist()


def test_a_group_on_its_way_ends_that_is_far_behind_another(contest):
    assert behind(contest, [5.0, 1.0]) == [False, False, True, True]
    assert behind(contest, [5.0, 4.9]) == [False] * 4
    # Nothing of those that are on their way is kept.
    assert contest.candidates == []
    assert not contest._rows.blocks[0].predicted
    # One of as many features that was fitted to its end counts, one of more does not.
    assert walked(contest, 9.0, (8,)) == 1
    assert behind(contest, [5.0, 4.9]) == [False] * 4
    assert walked(contest, 9.0) == 4
    assert behind(contest, [5.0, 4.9]) == [True] * 4
    assert len(contest._rows.blocks[0].predicted) == 5


def test_all_paths_are_walked_to_their_end_where_few_terms_are_wanted(contest):
    contest.ends_early = False
    assert walked(contest, 5.0) == 4
    assert walked(contest, 1.0) == 4
