import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import covey
from covey._core.moments import moments
from covey.dask import SubsetEnsembleClassifier, _worker
from covey.dask._backends import LocalBlocks
from covey.dask._blocks import Block
from covey.dask._estimator import SubsetEnsembleClassifier as Estimator
from covey.dask._spill import SpillBuffer
from covey.dask._table import Table, delayed_blocks


@pytest.fixture
def table_of():
    """Tables of arrays in blocks, here."""
    tables = []

    def make(X, y, weight, length):
        X = da.from_array(X, (length, X.shape[1])) if isinstance(X, np.ndarray) else X
        parts = delayed_blocks(X, da.from_array(y, length), da.from_array(weight, length))
        tables.append(Table(LocalBlocks(), parts, None, False))
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
    flock = Estimator()
    flock._table = table_of(X, y, weight, length)
    flock._table.broadcast(Block.sort, np.arange(2), np.ones(2), None)
    mean, deviation = flock._moments()
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
    flock = Estimator()
    flock._table = table_of(blocks, y, weight, length)
    flock._table.broadcast(Block.sort, np.arange(2), np.ones(2), None)
    for part, expected in zip(flock._moments(), moments(X.tocsc(), weight), strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-13)


@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.5, 0.99])
def test_rows_held_out_are_those_that_the_local_class_holds_out(table_of, fraction):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2, 3], [3000, 40, 2, 1])[rng.permutation(3043)]
    weight = rng.choice([0.0, 1.0], 3043, p=[0.2, 0.8])
    weight[y > 1] = 1.0
    how = {"select_size": "validation", "validation_fraction": fraction, "fuser": "mean"}
    local = covey.SubsetEnsembleClassifier(**how)
    local.classes_, local._seed = np.arange(4), 5
    fuser = covey.fusers.make_fuser("mean")
    expected = local._held_out(y, weight, fuser)

    flock = Estimator(**how)
    flock._table, flock._seed = table_of(np.ones((3043, 1)), y, weight, 100), 5
    flock._set_classes(flock._table.loaded, continued=False)
    seed, starts, highest = flock._highest_draws()
    held_out = []
    for number, known in enumerate(flock._table.loaded):
        block = _worker._ENTRIES[known.address, flock._table._fit, number].block
        block.data = _worker._SHELVES[known.address].get(
            (known.address, flock._table._fit, number)
        )
        codes, used, draws = block._draws(flock.classes_, np.ones(4), seed, starts)
        held_out.append(used & (draws <= highest[codes]))
        block.data = None
    np.testing.assert_array_equal(np.concatenate(held_out), expected)


def test_a_shelf_keeps_what_fits_and_writes_the_rest(tmp_path):
    shelf = SpillBuffer(1000, tmp_path)
    for key in "abc":
        shelf.put(key, (np.full(50, ord(key) * 1.0), None))
    assert (len(shelf), shelf.n_files, len(list(tmp_path.iterdir()))) == (3, 1, 1)
    for key in "abc":
        assert shelf.get(key)[0][0] == ord(key)
    assert not shelf.put("d", (np.zeros(50),), beside=300)
    shelf.drop("d")
    shelf.drop("a")
    assert shelf.put("d", (np.zeros(50),), beside=300)
    assert shelf.n_files == 2
    shelf.drop("d")
    shelf.put("c", (np.zeros(50),))
    assert (len(shelf), shelf.n_files) == (2, 0)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("limit", [0, 10_000, 14_000])
def test_a_table_beyond_memory_gives_the_same_flock(wine, tmp_path, monkeypatch, limit):
    X, y = wine
    dX, dy = da.from_array(X, (30, 13)), da.from_array(y, 30)
    how = {"n_estimators": 2, "max_iter": 5, "fuser": "product", "random_state": 0}
    expected = SubsetEnsembleClassifier(**how).fit(dX, dy)
    shelf = SpillBuffer(limit, tmp_path)
    monkeypatch.setitem(_worker._SHELVES, _worker.HERE, shelf)
    on_disk = []
    answers = _worker.answers
    monkeypatch.setattr(
        _worker, "answers", lambda *args: on_disk.append(shelf.n_files) or answers(*args)
    )
    flock = SubsetEnsembleClassifier(**how).fit(dX, dy)
    # Rows of six blocks; without memory, also what is known of them.
    assert max(on_disk) == 12 if limit == 0 else 3 <= max(on_disk) < 12
    assert len(shelf) == 0
    assert not list(tmp_path.iterdir())
    np.testing.assert_array_equal(flock.coef_, expected.coef_)


def test_several_threads_of_a_worker_give_the_same_answers(table_of, wine):
    X, y = wine
    table = table_of(X, y, np.ones(len(y)), 30)
    table.broadcast(Block.sort, np.arange(3), np.ones(3), None)
    expected = table.gather(Block.extremes)
    message = _worker.Message(
        table._fit, 2, [("extremes", ())], {_worker.HERE: list(range(6))}, None
    )
    said = {}
    for first in range(3):
        said.update(_worker.answers(message, _worker.HERE, slice(first, None, 3)))
    assert sorted(said) == list(range(6))
    for number, (kind, (extremes, total)) in said.items():
        assert kind == "said"
        np.testing.assert_array_equal(extremes, expected[number][0])
        assert total == expected[number][1]
