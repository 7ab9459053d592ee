from types import SimpleNamespace

import numpy as np
from numpy.testing import assert_allclose

from covey._core.search.block import ClassTarget, SearchBlock
from covey._core.search.selection import loss_sums

PARTS = [(np.array([0, 1]), np.array([2, 3])), (np.array([2, 3]), np.array([1]))]
WEIGHT = np.array([1.0, 2.0, 0.5, 1.0])


def block_of(codes, weight, parts):
    """A block whose candidates predict what they are given as parameters."""
    block = SearchBlock(np.zeros((len(codes), 1)), ClassTarget(codes, 2), weight)
    block.set_folds(parts, 0)
    block._gated_rows = lambda kind: SimpleNamespace(predictions=lambda parts, runs: parts)
    return block


def predictions():
    """Two candidates, each of which two folds have fitted, of four rows."""
    found = block_of(np.array([0, 0, 1, 1]), WEIGHT, PARTS)
    true = np.random.default_rng(0).uniform(0.1, 0.9, (4, 4))
    found.predict_held_out(None, np.array([7, 7, 9, 9]), np.array([0, 1, 0, 1]), true)
    return found, true


def test_rows_stand_fold_after_fold_by_the_candidate_that_held_them_out():
    found, true = predictions()
    library, rows, weight = found.held_out()
    assert rows.tolist() == [2, 3, 1]
    assert_allclose(weight, WEIGHT[rows])
    assert_allclose(library, [[*true[0, [2, 3]], true[1, 1]], [*true[2, [2, 3]], true[3, 1]]])
    losses, total = found.candidate_losses()
    assert_allclose(losses, -np.log(library) @ weight)
    assert_allclose(total, [3.5])


def test_losses_on_a_fold_are_less_those_of_a_rival():
    found, true = predictions()
    rows = PARTS[0][1]
    apart = -np.log(true[2, rows]) + np.log(true[0, rows])
    (sums,) = found.held_out_losses(np.array([9]), np.array([0]), 7)
    assert_allclose(sums, loss_sums(apart, WEIGHT[rows]))


def test_what_is_dropped_is_not_selected_from():
    found, true = predictions()
    found.library()
    found.keep_candidates([9])
    assert len(found.predicted) == 1
    found.predict_held_out(None, np.array([9]), np.array([1]), true[:1])
    assert_allclose(found.held_out()[0][0, 2], true[0, 1])
    assert_allclose(found.library().pick_losses([], np.ones(1, dtype=bool), 3.5)[0].shape, [1])


def test_a_block_without_rows_held_out_predicts_nothing():
    nobody = np.zeros(0, dtype=np.int64)
    found = block_of(nobody, np.zeros(0), [(nobody, nobody)])
    found.predict_held_out(None, np.array([3]), np.array([0]), None)
    assert found.held_out()[0].shape == (1, 0)
