"""Columns of noise: copies of true columns that tell nothing."""

import numpy as np
import pandas as pd

from benchmarks.noise import report, tables

X = np.arange(24.0).reshape(8, 3)


def test_noise_adds_so_many_times_the_columns():
    assert tables.with_noise(X, 5).shape == (8, 18)


def test_every_column_of_noise_is_a_permutation_of_a_true_one():
    noisy = tables.with_noise(X, 4)
    values = np.sort(noisy, axis=0)
    for column in X.T:
        assert (values == column[:, None]).all(axis=0).sum() == 5


def test_true_columns_are_kept_and_copies_of_a_row_are_torn_apart():
    noisy = tables.with_noise(X, 20)
    kept = [(noisy == column[:, None]).all(axis=0).sum() for column in X.T]
    assert kept == [1, 1, 1]


def test_columns_are_permuted_independently_of_each_other():
    same = np.column_stack([np.arange(50.0)] * 2)
    noisy = tables.with_noise(same, 1, seed=3)
    distinct = {tuple(column) for column in noisy.T}
    assert len(distinct) == 3  # the true column twice, and two orders of it


def test_noise_is_a_function_of_the_seed():
    np.testing.assert_array_equal(tables.with_noise(X, 2, seed=7), tables.with_noise(X, 2, seed=7))
    assert (tables.with_noise(X, 2, seed=7) != tables.with_noise(X, 2, seed=8)).any()


def test_a_split_with_noise_has_the_rows_of_the_split_without():
    _, plain, _, y = tables.split("wine", 0, 1)
    _, noisy, _, noisy_y = tables.split("wine", 5, 1)
    np.testing.assert_array_equal(y, noisy_y)
    assert noisy.shape == (len(plain), 6 * plain.shape[1])
    for column in plain.T:
        assert (noisy == column[:, None]).all(axis=0).any()


def fitted(problem, rival, times, log_loss, error=None):
    return {
        "problem": problem,
        "rival": rival,
        "times": times,
        "split": 0,
        "accuracy": 1 - log_loss,
        "log_loss": log_loss,
        "fit_seconds": 1.0,
        "error": error,
    }


def test_what_noise_costs_is_the_mean_difference_to_the_same_table_without():
    lines = [fitted("a", "trees", 0, 0.2), fitted("a", "trees", 5, 0.4)]
    lines += [fitted("b", "trees", 0, 0.3), fitted("b", "trees", 5, 0.4)]
    without, noisy = report.losses(pd.DataFrame(lines))
    assert without["log-loss gained"] == (0, 0)
    np.testing.assert_allclose(noisy["log-loss gained"][0], 0.15)
    np.testing.assert_allclose(noisy["points lost"][0], 15)
    np.testing.assert_allclose(noisy["ratio"], 0.4 / 0.25)


def test_a_table_that_one_rival_lacks_or_fails_is_left_out():
    lines = [fitted(name, rival, 0, 0.2) for name in "abc" for rival in ("trees", "lines")]
    lines[3]["error"] = "ValueError: no"
    assert set(report.complete(pd.DataFrame(lines[:5]))["problem"]) == {"a"}
