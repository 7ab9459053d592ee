import numpy as np
import pytest

from covey._core.basis import Basis
from covey._core.search.block import Kind, SearchBlock
from covey._core.search.candidates import Candidate
from covey._core.search.contest import Contest
from covey._core.search.families import Family
from covey._core.search.rows import SearchInMemory
from covey._core.search.targets import ClassTarget

FOLDS = np.arange(2)
LINE = Family("features", 1, (1.0,))
SIZES = (4, 3, 2, 1)


@pytest.fixture
def contest():
    """Rows of two classes that the sign of a column tells apart, half of them in each fold."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    block = SearchBlock(X, ClassTarget((X[:, 0] > 0).astype(np.int64), 2), np.ones(200))
    block.standardize("features", Basis.plain(4), np.zeros(4), np.ones(4), np.ones(4, dtype=bool))
    rows = np.arange(200)
    block.set_folds([(rows[::2], rows[1::2]), (rows[1::2], rows[::2])], 1)
    table = SearchInMemory([block])
    (total,) = table.sum(SearchBlock.run_totals, True, False)
    table.broadcast(SearchBlock.set_totals, True, False, total)
    return Contest(table, 2, ends_early=True)


def walked(contest, steepness, n_terms):
    """How many points of a path of so many terms each are walked, by lines of a steepness."""
    points = [Candidate(LINE, 1.0, one, terms) for one, terms in zip(SIZES, n_terms, strict=True)]
    contest.begin(points)
    theta = np.zeros((2, 1, 2, 4))
    theta[:, 0, 1, 0] = steepness
    parts = theta, np.zeros((2, 1, 2)), np.zeros((2, 1, 4)), np.zeros((2, 1))
    kind = Kind("features", "features", "linear", folds=True, single=False)
    for place in range(len(points)):
        if contest.hold_out(kind, np.full(2, place), FOLDS, parts).all():
            break
    contest.end()
    return place + 1


def test_a_path_ends_that_is_twice_worse_than_what_has_no_more_terms(contest):
    assert walked(contest, 5.0, (4, 3, 2, 1)) == 4
    assert walked(contest, 1.0, (40, 30, 20, 10)) == 2
    # One that is better, or as good, goes on, however many terms it has.
    assert walked(contest, 6.0, (40, 30, 20, 10)) == 4
    assert walked(contest, 6.0, (40, 30, 20, 10)) == 4


def test_a_path_of_fewer_terms_than_all_others_goes_on(contest):
    assert walked(contest, 5.0, (40, 30, 20, 10)) == 4
    assert walked(contest, 1.0, (9, 8, 7, 6)) == 4
    # Fewer terms may be worse, up to where the others have as few.
    assert walked(contest, 0.5, (12, 11, 10, 9)) == 2


def test_all_paths_are_walked_to_their_end_where_few_terms_are_wanted(contest):
    contest._ends_early = False
    assert walked(contest, 5.0, (4, 3, 2, 1)) == 4
    assert walked(contest, 1.0, (40, 30, 20, 10)) == 4
