import dask.array as da
import numpy as np
import pytest

from covey import SubsetEnsembleClassifier
from covey.dask import _worker
from covey.dask._blocks import TableBlock
from covey.dask._loading import delayed_blocks
from covey.dask._worker import LocalBlocks, Table


@pytest.mark.parametrize("limit", [pytest.param(0, marks=pytest.mark.slow), 14_000])
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
    np.testing.assert_array_equal(flock.member_coef_, expected.member_coef_)


def test_several_threads_of_a_worker_give_the_same_results(wine):
    X, y = wine
    parts = delayed_blocks(da.from_array(X, (30, 13)), da.from_array(y, 30), None)
    table = Table(LocalBlocks(), parts, None, False, False)
    table.prepare(np.arange(3), np.ones(3), 13)
    expected = table.gather(TableBlock.class_counts)
    calls, blocks = [(TableBlock.class_counts, ())], {_worker.THIS_PROCESS: list(range(6))}
    request = _worker.Request(table._fit, 2, calls, blocks, None)
    store, outcomes = _worker._STORES[_worker.THIS_PROCESS], {}
    for first in range(3):
        outcomes.update(store.reduced(request, range(first, 6, 3)))
    assert sorted(outcomes) == list(range(6))
    for number, (outcome, (counts,)) in outcomes.items():
        assert outcome == "reduced"
        np.testing.assert_array_equal(counts, expected[number][0])
    table.close()
