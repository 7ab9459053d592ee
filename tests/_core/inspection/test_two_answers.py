"""Both answers at once: the rate that is promised, rows and columns beyond the usual."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from covey._core.inspection import two_answers as core


def answers_of(X, codes, unit=None, **options):
    unit = np.arange(X.shape[1]) if unit is None else np.asarray(unit)
    weight = options.pop("weight", np.ones(len(codes)))
    options = {"level": 0.05, "seed": 0, **options}
    return core.two_answers(X, unit, codes, weight, codes, **options)


def blocks(seed, n_rows=150):
    """Eight blocks of five columns (r = 0.8); one column of each of the first two decides."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(n_rows, 8)), 5, axis=1) * 0.8**0.5
    X += rng.normal(size=X.shape) * 0.2**0.5
    odds = 1.5 * X[:, 0] - 1.5 * X[:, 5]
    return X, (rng.random(n_rows) < 1 / (1 + np.exp(-odds))).astype(int)


@pytest.mark.slow
def test_the_false_discovery_rate_is_kept_where_columns_are_correlated():
    false, found = [], []
    for seed in range(12):
        relevant = np.array(answers_of(*blocks(seed), level=0.2).relevant)
        false.append((relevant >= 10).sum() / max(1, len(relevant)))
        found.append((relevant < 10).sum() / 10)
    assert np.mean(false) < 0.2
    assert np.mean(found) > 0.95


def test_the_smallest_answer_is_a_part_of_all_and_its_twins_another():
    found = answers_of(*blocks(1, 400))
    assert_array_equal(np.sort(found.relevant[: found.n_enough]), [0, 5])
    assert set(found.relevant) == set(range(10))
    for group in found.twins:
        assert group[0] in (0, 5)
        assert len({one // 5 for one in group}) == 1


def test_parts_of_wide_tables_are_as_good_as_the_whole(monkeypatch):
    X, codes = blocks(0, 200)
    whole = answers_of(X, codes)
    monkeypatch.setattr(core, "_MOST_FEATURES", 12)
    parts = core._parts(np.arange(40))
    assert_array_equal(np.concatenate(parts), np.arange(40))
    assert len(parts) == 4
    found = answers_of(X, codes)
    assert set(found.relevant) == set(whole.relevant)
    assert_array_equal(np.sort(found.relevant[: found.n_enough]), [0, 5])
    # What a unit is made of stays together.
    unit = np.arange(40) // 8
    assert_array_equal([np.unique(unit[part]).tolist() for part in core._parts(unit)][1], [2])


def test_sparse_columns_and_rows_without_weight():
    X, codes = blocks(0)
    X = np.where(np.abs(X) > 1, X, 0)
    dense, thin = answers_of(X, codes), answers_of(sparse.csr_array(X), codes)
    assert_allclose(dense.log_p, thin.log_p)
    padded = np.vstack([X, np.full((20, 40), 1e300)])
    weight = np.append(np.full(150, 0.1), np.zeros(20))
    padded = answers_of(padded, np.append(codes, np.ones(20, dtype=int)), weight=weight)
    assert_allclose(padded.log_p, dense.log_p)


def test_of_many_rows_some_are_drawn(monkeypatch):
    monkeypatch.setattr(core, "_MOST_ROWS", 100)
    rows = core._drawn_rows(np.append(np.ones(300), 0.0), 0)
    assert len(rows) == 100
    assert (np.diff(rows) > 0).all()
    assert rows.max() < 300
    assert not np.array_equal(rows, core._drawn_rows(np.ones(300), 1))


def test_folds_hold_each_stratum_equally():
    strata = np.repeat([0, 1], [300, 100])
    folds = core._folds(strata, 0)
    assert_array_equal(np.sort(np.concatenate(folds)), np.arange(400))
    assert all(np.bincount(strata[fold]).tolist() == [60, 20] for fold in folds)
    assert len(core._folds(strata[:340], 0)) == 10
    assert len(core._folds(strata[:190], 0)) == 15
    assert core._folds(strata[:9], 0) == []


@pytest.mark.parametrize("n_rows", [1, 2, 6])
def test_next_to_no_rows_say_nothing(n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 3))
    found = answers_of(X, np.arange(n_rows) % 2)
    assert found.relevant == []
    assert np.isfinite(found.log_p).all()
    assert answers_of(X, np.zeros(n_rows, dtype=int), [-1, -1, -1]).relevant == []


def test_features_of_units():
    found = core.UnitAnswers(np.log([0.5, 1e-9, 1e-5]), [2, 1], 1, [[2, 1]])
    unit = np.array([1, 0, 2, 1, -1])
    features = core.FeatureAnswers(found, unit, np.array([False] * 5))
    assert_array_equal(features.masks["all"], [True, False, True, True, False])
    assert_array_equal(features.masks["smallest"], [False, False, True, False, False])
    assert_array_equal(features.order["all"], [0, 3, 2, 1, 4])
    assert_array_equal(features.order["smallest"], [2, 0, 3, 1, 4])
    assert features.twins == [[2, 0, 3]]
    assert_allclose(np.exp(features.log_p), [1e-9, 0.5, 1e-5, 1e-9, 1.0])
    # The first of "all" has two columns: it does not fit into one, but what follows does.
    assert_array_equal(np.flatnonzero(features.first(features.order["all"], 1)), [2])
    assert_array_equal(np.flatnonzero(features.first(features.order["all"], 3)), [0, 2, 3])
    always = core.FeatureAnswers(found, unit, unit == -1)
    assert always.order["all"][0] == 4
    assert always.masks["smallest"][4]
