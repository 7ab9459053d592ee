import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import covey
from covey._core.moments import moments
from covey.dask import SubsetEnsembleClassifier, _rows, _worker
from covey.dask._backends import LocalBlocks
from covey.dask._blocks import TableBlock
from covey.dask._collections import delayed_blocks
from covey.dask._table import Table


@pytest.fixture
def table_of():
    """Tables of arrays in blocks, in this process."""
    tables = []

    def make(X, y, weight, length):
        n_features = X.shape[1]
        X = da.from_array(X, (length, n_features)) if isinstance(X, np.ndarray) else X
        parts = delayed_blocks(X, da.from_array(y, length), da.from_array(weight, length))
        tables.append(Table(LocalBlocks(), parts, None, False, False))
        n_classes = y.max() + 1
        tables[-1].prepare(np.arange(n_classes), np.ones(n_classes), n_features)
        return tables[-1]

    yield make
    for table in tables:
        table.close()


def columns_of_all_sizes(rng):
    X = rng.standard_normal((60, 6)) * [1.0, 1e-200, 1e200, 1.0, 1.0, 1e6]
    X[:, 3] = 7.7  # constant
    X[:, 4] = rng.integers(0, 2, 60)  # mostly zeros
    X[:, 5] += 1e9  # far from zero
    return X


@pytest.mark.parametrize("length", [7, 60])
def test_moments_are_those_of_the_whole_table(table_of, length):
    rng = np.random.default_rng(0)
    X, y = columns_of_all_sizes(rng), rng.integers(0, 2, 60)
    weight = rng.choice([0.0, 1.0, 3.0], 60)
    mean, deviation = _rows.moments(table_of(X, y, weight, length))
    expected_mean, expected_deviation = moments(X.T, weight)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-14, atol=1e-210)
    np.testing.assert_allclose(deviation, expected_deviation, rtol=1e-13)
    assert deviation[3] == 0.0


@pytest.mark.parametrize("length", [7, 60])
def test_moments_of_sparse_blocks_are_those_of_the_whole_table(table_of, length):
    rng = np.random.default_rng(0)
    X = sp.random(60, 5, density=0.4, format="csr", random_state=0)
    y, weight = rng.integers(0, 2, 60), rng.choice([0.0, 1.0, 3.0], 60)
    blocks = da.from_array(X.toarray(), (length, 5)).map_blocks(sp.csr_matrix, dtype=float)
    found = _rows.moments(table_of(blocks, y, weight, length))
    for part, expected in zip(found, moments(X.tocsc(), weight), strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-13)


@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.5, 0.99])
def test_rows_held_out_are_those_that_are_held_out_in_memory(table_of, fraction):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2, 3], [3000, 40, 2, 1])[rng.permutation(3043)]
    weight = rng.choice([0.0, 1.0], 3043, p=[0.2, 0.8])
    weight[y > 1] = 1.0
    how = {"select_size": "validation", "validation_fraction": fraction, "fuser": "mean"}
    local = covey.SubsetEnsembleClassifier(**how)
    local.classes_, local._seed = np.arange(4), 5
    expected = local._held_out(y, weight, covey.fusers.make_fuser("mean"))

    table = table_of(np.ones((3043, 1)), y, weight, 100)
    counts = np.bincount(y[weight > 0], minlength=4)
    table.broadcast(TableBlock.hold_out, 5, _rows.highest_draws(table, counts, fraction, 5))
    table.gather(TableBlock.n_rows)
    held_out = []
    for number in range(31):
        block = _worker._STORES[_worker.THIS_PROCESS].buffer.get((table._fit, number))
        rows = np.empty(len(block._order), dtype=bool)
        rows[block._order] = block._held_out_rows
        held_out.append(rows)
    np.testing.assert_array_equal(np.concatenate(held_out), expected)


@pytest.mark.parametrize("limit", [0, 14_000])
def test_a_table_beyond_memory_gives_the_same_flock(wine, spilled, limit):
    X, y = wine
    dX, dy = da.from_array(X, (30, 13)), da.from_array(y, 30)
    how = {"n_estimators": 2, "max_iter": 5, "fuser": "product", "random_state": 0}
    expected = SubsetEnsembleClassifier(**how).fit(dX, dy)
    buffer, n_files, folder = spilled(limit)
    flock = SubsetEnsembleClassifier(**how).fit(dX, dy)
    assert max(n_files) == 6 if limit == 0 else 3 <= max(n_files) < 6
    assert len(buffer) == 0
    assert not [file for file in folder.rglob("*") if file.is_file()]
    np.testing.assert_array_equal(flock.coef_, expected.coef_)


def test_several_threads_of_a_worker_give_the_same_results(table_of, wine):
    X, y = wine
    table = table_of(X, y, np.ones(len(y)), 30)
    expected = table.gather(TableBlock.class_counts)
    calls, blocks = [(TableBlock.class_counts, ())], {_worker.THIS_PROCESS: list(range(6))}
    request = _worker.Request(table._fit, 2, calls, blocks, None)
    store, outcomes = _worker._STORES[_worker.THIS_PROCESS], {}
    for first in range(3):
        outcomes.update(store.reduced(request, range(first, 6, 3)))
    assert sorted(outcomes) == list(range(6))
    for number, (outcome, (counts, total)) in outcomes.items():
        assert outcome == "reduced"
        np.testing.assert_array_equal(counts, expected[number][0])
        assert total == expected[number][1]
