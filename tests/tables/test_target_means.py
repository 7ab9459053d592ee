"""Categories encoded by their target."""

import numpy as np
import pytest

from covey.tables._target_means import TargetMeans, folds

RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 30, 300)
Y = (RNG.random(300) < np.where(CODES < 15, 0.8, 0.2)).astype(int)
ONES = np.ones(300)
CLASSES = np.array(["no", "yes"])


def test_the_encoding_of_a_row_does_not_know_its_own_target():
    before = TargetMeans(Y, CLASSES, ONES, 0).out_of_fold(CODES, 30)
    turned = Y.copy()
    other = np.argmax(1 - Y[7] == Y)
    turned[[7, other]] = Y[[other, 7]]  # so that the mean of all rows stays
    after = TargetMeans(turned, CLASSES, ONES, 0).out_of_fold(CODES, 30)
    # How far means are drawn to that of all rows is all that can change.
    assert abs(after[7] - before[7]) < 0.05
    own = TargetMeans(Y, CLASSES, ONES, 0).table(CODES, 30)[CODES[7]]
    changed = TargetMeans(turned, CLASSES, ONES, 0).table(CODES, 30)[CODES[7]]
    assert abs(own - changed) > 0.2


def test_categories_that_know_nothing_are_all_the_same():
    noise = RNG.integers(0, 100, 300)
    means = TargetMeans(np.tile([0, 1], 150), CLASSES, ONES, 0)
    assert np.ptp(means.table(np.arange(300), 300)) == 0
    assert np.ptp(means.out_of_fold(np.arange(300), 300)) == 0
    assert np.ptp(means.table(noise, 100)) < 1


def test_a_category_that_nobody_has_seen_is_as_all_rows_are():
    table = TargetMeans(Y, CLASSES, ONES, 0).table(CODES, 30)
    assert table.shape == (31, 1)
    assert table[30, 0] == pytest.approx(np.log(Y.mean() / (1 - Y.mean())))
    assert table[:15].mean() > 0.5 > -0.5 > table[15:30].mean()


def test_a_weight_of_two_is_a_row_given_twice():
    weight = RNG.integers(0, 3, 300)
    once = TargetMeans(Y, CLASSES, weight.astype(float), 0).table(CODES, 30)
    twice = TargetMeans(np.repeat(Y, weight), CLASSES, np.ones(weight.sum()), 0)
    np.testing.assert_allclose(once, twice.table(np.repeat(CODES, weight), 30))


def test_folds_keep_groups_together_and_numbers_of_any_size_are_encoded():
    groups = np.arange(300) // 6
    fold = folds(300, 3, groups)
    assert all(len(set(fold[groups == group])) == 1 for group in range(50))
    assert np.bincount(fold).tolist() == [30] * 10
    table = TargetMeans(1e149 * Y - 3e148, None, ONES, 0).table(CODES, 30)
    assert np.isfinite(table).all()
    assert table[:15].mean() > table[15:30].mean()
