"""Samples of rows: by draws of their own, some to fit on and as many held out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from covey._core.search import folds as sampling
from covey._core.search.folds import sampled_rows

N = 20_000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    codes = rng.choice(4, N, p=[0.6, 0.35, 0.04, 0.01])
    return codes, rng.random(N) < 0.9


def counts_of(codes, used):
    return np.bincount(codes[used], minlength=4)


def sides(sample):
    return sample.rows[: sample.n_fitted], sample.rows[sample.n_fitted :]


def whole(table, n_fitted, seed=0):
    codes, used = table
    return sampled_rows(n_fitted, counts_of(codes, used), seed, 0, codes, used)


def test_a_sample_is_part_of_a_larger_one_and_its_sides_share_no_row(table):
    few, many = whole(table, 1_000), whole(table, 4_000)
    for small, large in zip(sides(few), sides(many), strict=True):
        assert set(small) < set(large)
    fitted, held_out = sides(many)
    assert not set(fitted) & set(held_out)
    assert len(set(many.rows)) == len(many.rows)


def test_half_of_a_table_leaves_the_other_half(table):
    fitted, held_out = sides(whole(table, counts_of(*table).sum() // 2))
    assert abs(len(fitted) - len(held_out)) < 500
    assert not set(fitted) & set(held_out)


def test_every_class_has_its_share_and_rare_ones_more(table, monkeypatch):
    codes, used = table
    monkeypatch.setattr(sampling, "_LEAST_OF_CLASS", 60)
    counts = counts_of(codes, used)
    expected = np.array([counts[0] / 18, counts[1] / 18, 60, 60])
    assert expected[2] > counts[2] / 18
    for side in sides(whole(table, counts.sum() // 18)):
        found = np.bincount(codes[side], minlength=4)
        assert (np.abs(found - expected) < 4 * np.sqrt(expected)).all()


def test_sums_over_a_sample_are_unbiased(table):
    codes, used = table
    values = np.where(codes == 3, 50.0, np.arange(N) % 7)
    sums = []
    for seed in range(200):
        sample = whole(table, 1_000, seed)
        for part in (slice(0, sample.n_fitted), slice(sample.n_fitted, None)):
            rows = sample.rows[part]
            sums.append([sample.factor[part] @ (codes[rows] == label) for label in range(4)])
            sums[-1].append(sample.factor[part] @ values[rows])
    share = 1_000 / used.sum()
    exact = [*counts_of(codes, used), values[used].sum()]
    error = np.std(sums, axis=0) / np.sqrt(len(sums))
    assert (np.abs(np.mean(sums, axis=0) - share * np.array(exact)) < 4 * error).all()
    # Without their factors, rows of the rarest class would count several times as much.
    rare = codes[sample.rows] == 3
    assert sample.factor[rare].max() < 0.7


@pytest.mark.parametrize("sizes", [[N], [N // 2, N // 2], [1, 0, 7_000, N - 7_001]])
def test_blocks_sample_what_the_table_does(table, sizes):
    codes, used = table
    expected, counts = whole(table, 1_000), counts_of(*table)
    found, start = ([], [], []), 0
    for size in sizes:
        part = slice(start, start + size)
        sample = sampled_rows(1_000, counts, 0, start, codes[part], used[part])
        for side, rows in zip(found, sides(sample), strict=False):
            side.append(start + rows)
        found[2].append(sample.factor[: sample.n_fitted])
        start += size
    fitted, held_out, factor = (np.concatenate(side) for side in found)
    assert_array_equal(fitted, sides(expected)[0])
    assert_array_equal(held_out, sides(expected)[1])
    assert_array_equal(factor, expected.factor[: expected.n_fitted])


def test_rows_without_a_weight_are_not_sampled(table):
    _, used = table
    assert used[whole(table, 4_000).rows].all()


def test_other_seeds_sample_other_rows(table):
    assert set(sides(whole(table, 1_000))[0]) != set(sides(whole(table, 1_000, seed=1))[0])


def test_a_class_of_five_rows_is_on_both_sides_or_one_but_never_twice():
    codes = np.zeros(N, dtype=np.int64)
    codes[::4_000] = 1
    used = np.ones(N, dtype=bool)
    for seed in range(20):
        sample = sampled_rows(1_000, np.array([N - 5, 5]), seed, 0, codes, used)
        rare = sample.rows[codes[sample.rows] == 1]
        assert_array_equal(np.sort(rare), np.arange(0, N, 4_000))
        assert_allclose(sample.factor[codes[sample.rows] == 1], 2 * 1_000 / N)


def test_the_only_row_of_a_class_is_fitted_on_and_never_held_out():
    codes = np.zeros(N, dtype=np.int64)
    codes[17] = 1
    used = np.ones(N, dtype=bool)
    for seed in range(8):
        sample = sampled_rows(1_000, np.array([N - 1, 1]), seed, 0, codes, used)
        fitted, held_out = sides(sample)
        assert 17 in fitted
        assert 17 not in held_out
        assert sample.factor[codes[sample.rows] == 1] == 1_000 / N
