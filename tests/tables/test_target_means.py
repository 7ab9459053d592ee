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


def literal(codes, values, weight, n_levels):
    """Means of categories drawn to that of all rows, by the variance within over that between."""
    mean = np.average(values, weights=weight)
    counts = np.bincount(codes, weight, n_levels)
    known = [level for level in range(n_levels) if counts[level] > 0]
    means = {
        level: np.average(values[codes == level], weights=weight[codes == level])
        for level in known
    }
    n_rows = counts.sum()
    within = sum(
        weight[codes == level] @ (values[codes == level] - means[level]) ** 2 for level in known
    ) / (n_rows - len(known))
    between = sum(counts[level] * (means[level] - mean) ** 2 for level in known)
    between -= (len(known) - 1) * within
    between /= n_rows - (counts**2).sum() / n_rows
    strength = max(within / between, 1.0) if between > 0 else np.inf
    drawn = [mean + counts[k] / (counts[k] + strength) * (means[k] - mean) for k in known]
    found = np.full(n_levels + 1, mean)
    found[known] = drawn
    return found


@pytest.mark.parametrize("spread", [0.3, 30.0])
def test_means_are_drawn_by_how_little_categories_know(spread):
    rng = np.random.default_rng(1)
    codes, weight = rng.integers(0, 8, 60), rng.integers(0, 3, 60).astype(float)
    y = spread * codes + rng.normal(size=60)
    used = weight > 0
    centered = y - np.average(y, weights=weight)
    centered /= np.sqrt(np.average(centered**2, weights=weight))
    # A weight of values has no unit: they sum to the number of rows that have one.
    expected = literal(codes, centered, weight * (used.sum() / weight.sum()), 9)
    for unit in (1.0, 1e-7):
        found = TargetMeans(1e3 + 10 * y, None, unit * weight, 0).table(codes, 9)
        np.testing.assert_allclose(found[:, 0], expected, atol=1e-9)
    shares = literal(CODES, Y.astype(float), ONES, 30)
    table = TargetMeans(Y, CLASSES, ONES, 0).table(CODES, 30)
    np.testing.assert_allclose(1 / (1 + np.exp(-table[:, 0])), shares)


def test_rows_without_weight_change_nothing():
    weight = (np.arange(300) % 3 > 0).astype(float)
    used = weight > 0
    encoded = TargetMeans(Y, CLASSES, weight, 0).out_of_fold(CODES, 30)
    without = TargetMeans(Y[used], CLASSES, ONES[used], 0).out_of_fold(CODES[used], 30)
    np.testing.assert_allclose(encoded[used], without)


def test_the_encoding_of_a_row_does_not_know_the_targets_of_its_group():
    groups, codes = np.arange(300) // 6, CODES.copy()
    codes[:6] = 0
    turned = Y.copy()
    turned[1:6] = 1 - Y[1:6]
    # So that the mean of all rows stays.
    others = np.flatnonzero((codes == 20) | (codes == 21) | (codes == 22))
    excess = int(turned.sum() - Y.sum())
    back = others[turned[others] == (excess > 0)][: abs(excess)]
    turned[back] = 1 - turned[back]
    assert turned.sum() == Y.sum()

    def changed(groups):
        one, other = (
            TargetMeans(y, CLASSES, ONES, 0, groups).out_of_fold(codes, 30)[0] for y in (Y, turned)
        )
        return abs(one - other).max()

    assert changed(groups) < 0.05 < 0.2 < changed(None)
