"""Selection by frequencies: halves, shadows, what chance does, by hand and by definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats

from covey._core.inspection import frequencies as core


def test_two_resamples_halve_every_stratum():
    strata = np.array([0] * 6 + [1] * 4 + [2] * 3)
    weight = np.ones(13)
    weight[0] = 0.0
    weights = core.halves(strata, weight, 4, seed=0)
    assert not weights[:, 0].any()
    for first, second in (weights[:2], weights[2:]):
        used = (first > 0).astype(int) + (second > 0)
        for stratum, n_rows in ((0, 5), (1, 4), (2, 3)):
            rows = (strata == stratum) & (weight > 0)
            assert (first[rows] > 0).sum() == (second[rows] > 0).sum() == -(-n_rows // 2)
            # An odd row is in both halves, every other row in one of them.
            assert used[rows].sum() == 2 * -(-n_rows // 2)
            assert used[rows].min() == 1
    assert not np.array_equal(weights[0], weights[2])


def test_strata_of_values_are_tenths_in_their_order():
    y = np.random.default_rng(0).permutation(100.0 + np.arange(100))
    strata = core.strata_of_values(y)
    assert_array_equal(np.bincount(strata), np.full(10, 10))
    assert (np.diff(strata[np.argsort(y)]) >= 0).all()
    assert len(np.unique(core.strata_of_values(np.full(7, 3.0)))) == 1


def test_shadows_are_shuffled_columns_dense_and_sparse():
    X = np.random.default_rng(0).normal(size=(20, 4)) * (np.arange(20) % 3 > 0)[:, None]
    dense = core.columns_and_shadows(X, 5, np.arange(X.shape[1]), X.shape[1])[0]
    thin = core.columns_and_shadows(sparse.csr_array(X), 5, np.arange(X.shape[1]), X.shape[1])[0]
    assert_array_equal(dense[:4], X.T)
    for columns in (dense[4:], thin.toarray().T[4:]):
        own = {tuple(np.sort(column)) for column in X.T}
        assert {tuple(np.sort(column)) for column in columns} == own
        assert not any(np.array_equal(one, other) for one in columns for other in X.T)
    assert core.columns_and_shadows(np.ones((3, 100)), 0, np.arange(100), 100)[0].shape == (130, 3)


def test_null_probability_is_that_of_one_more_shadow():
    shadows = np.array([0.1, 0.2, 0.3])
    found = core.null_probabilities(np.array([0.2, 0.5]), shadows, 0.01)
    distance = 0.3 / (0.1 * np.sqrt(4 / 3))
    assert_allclose(found, [0.5, stats.t.sf(distance, 2)])
    # Shadows that are all alike are not taken for more certain than the frequencies' grain.
    even = core.null_probabilities(np.array([0.5]), np.full(3, 0.2), 0.1)
    assert even[0] == pytest.approx(stats.t.sf(0.3 / (0.1 * np.sqrt(4 / 3)), 2))
    assert np.isnan(core.null_probabilities(np.array([0.5]), shadows[:1], 0.1)).all()


def test_step_up_is_benjamini_and_hochbergs():
    rng = np.random.default_rng(0)
    for level in (0.05, 0.3):
        p = np.concatenate([rng.uniform(size=20), rng.uniform(0, 0.01, 5)])
        rejected = (stats.false_discovery_control(p) <= level).sum()
        assert core.number_rejected(p, level) == rejected
    assert core.number_rejected(np.ones(3), 0.05) == 0


def test_a_threshold_leaves_just_the_wanted_number():
    falling = np.array([0.9, 0.5, 0.1])
    assert core.threshold_below(falling, 1) == pytest.approx(0.7)
    assert core.threshold_below(falling, 0) == 0.9
    assert core.threshold_below(falling, 3) == 0.0


def test_stability_is_one_in_agreement_and_about_zero_by_chance():
    same = np.tile([1.0, 0.9, 0.1, 0.0], (6, 1))
    assert core.stability(same, np.zeros(4), 2) == pytest.approx(1.0)
    random = np.random.default_rng(0).random((500, 10))
    assert abs(core.stability(random, np.zeros(10), 4)) < 0.02
    assert np.isnan(core.stability(same, np.zeros(4), 0))
    assert np.isnan(core.stability(same, np.zeros(4), 4))


def test_intervals_are_students():
    by_resample = np.random.default_rng(0).uniform(0.3, 0.7, (8, 3))
    expected = stats.t.interval(0.95, 7, by_resample.mean(axis=0), stats.sem(by_resample, axis=0))
    assert_allclose(core.frequency_intervals(by_resample), np.stack(expected, axis=1))


def test_a_shadow_has_all_columns_of_a_variable_with_the_same_rows():
    kind = np.arange(40) % 3
    X = np.column_stack([kind == 0, kind == 1, kind == 2, np.arange(40)]).astype(float)
    columns, feature_of = core.columns_and_shadows(X, 0, np.array([0, 0, 0, 1]), 2)
    assert len(columns) == len(feature_of) == 8
    three = [place for place in range(4, 8) if np.sum(feature_of == feature_of[place]) == 3]
    assert (columns[three].sum(axis=0) == 1).all()
    features, first = core.first_columns(feature_of, np.array([False, True] + [True] * 6))
    assert features[0] == 0
    assert first[0] == 1
