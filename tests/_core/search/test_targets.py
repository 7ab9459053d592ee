"""What differs between classes and numbers in a search."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from covey._core.basis import Basis, ScaledBasis
from covey._core.gating.paths import FeatureColumns
from covey._core.losses import ValueLoss
from covey._core.search.block import ClassTarget, SearchBlock, ValueTarget
from covey._core.search.cross_fit import CrossFit, Stage
from covey._core.search.plan import REGRESSION, Family, SearchPlan
from covey._core.search.rows import Rung, SearchInMemory


def test_classes_are_sorted_and_compared_by_their_log_loss():
    target = ClassTarget(np.array([2, 0, 2, 1]), 4)
    assert_array_equal(target.order, [1, 3, 0, 2])
    assert_array_equal(target.codes, [0, 1, 2, 2])
    assert target.likelihood.n_outputs == 4
    rows = np.array([0, 2])
    possible = target.comparable(np.array([[0.5, np.nan]]))
    assert_allclose(target.row_losses(rows)(possible), -np.log([[0.5, 1e-6]]))
    assert_array_equal(target.constants(rows), [0, 0])


@pytest.mark.parametrize("name", ["squared", "huber", "quantile"])
def test_numbers_are_compared_by_what_they_gain_on_a_constant(name):
    values, loss = np.array([1.0, -2.0, 30.0]), ValueLoss(name)
    target = ValueTarget(values, loss)
    rows, guess = np.array([2, 0]), np.array([[3.0, 1.0]])
    losses = target.row_losses(rows)(guess) + target.constants(rows)
    assert_allclose(losses, loss.value(values[rows] - guess))
    # An outlier that a robust loss keeps from mattering would be lost in single precision.
    assert target.needs_double == (name != "squared")
    assert not ValueTarget(values[:2], loss).needs_double


def test_held_out_rows_are_predicted_without_them():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    y = np.where(X[:, 0] > 0, X[:, 1], -X[:, 1]) + 0.2 * rng.standard_normal(60)
    rows = np.arange(len(y))
    parts = [(rows[rows % 3 != fold], rows[rows % 3 == fold]) for fold in range(3)]
    block = SearchBlock(X, ValueTarget(y, ValueLoss("squared")), np.ones(len(y)))
    nothing = np.zeros(5), np.ones(5), np.ones(5, dtype=bool)
    block.standardize("features", ScaledBasis(Basis.plain(5), *nothing))
    block.set_folds(parts, 1)
    fits = CrossFit(
        Stage(Rung.whole(SearchInMemory([block]), parts, 60), 1, 200, 20, [5]),
        {"features": FeatureColumns(Basis.plain(5), np.arange(5), np.ones(5, dtype=bool))},
        SearchPlan(REGRESSION, [], 0, most_features=5, most_terms=100),
    )
    fits.hold_out(Family("features", 1, (0.01, 1.0), "log"))
    found, _, _ = block.held_out()
    for place, alpha in enumerate((0.01, 1.0)):
        expected = []
        for train, test in parts:
            centre, level = X[train].mean(axis=0), y[train].mean()
            Z = X[train] - centre
            gram = Z.T @ Z / len(train) + alpha * np.eye(5)
            theta = np.linalg.solve(gram, Z.T @ (y[train] - level) / len(train))
            expected.append((X[test] - centre) @ theta + level)
        # Folds are fitted in single precision.
        assert_allclose(found[place], np.concatenate(expected), atol=2e-3)
