import os
import signal
import subprocess
import sys
import time

import dask.array as da
import numpy as np
import pytest
from distributed import Client
from sklearn.base import clone

from covey import FlockClassifier, Gate, SubsetEnsembleClassifier
from covey._core.search.block import SearchBlock
from covey.dask import _worker
from covey.dask._blocks import table_block
from covey.dask._worker import Table

HOW = {
    "n_estimators": 3,
    "max_iter": 25,
    "fuser": "product",
    "flip_probability": 0.1,
    "random_state": 0,
}

CLUSTER = """
import sys
from distributed import LocalCluster
with LocalCluster(
    n_workers=1, threads_per_worker=2, processes=False, protocol="tcp", dashboard_address=":0"
) as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def data(wine):
    X, y = wine
    return da.from_array(X, (40, 13)), da.from_array(y, 40)


@pytest.fixture
def clusters():
    """Starts clusters, each a process of its own, by their address."""
    started = []

    def start():
        process = subprocess.Popen(
            [sys.executable, "-c", CLUSTER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        started.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in started:
        process.kill()
        process.communicate()


def before_reductions(monkeypatch, faults):
    """Let faults happen before the reductions of these numbers; the list of reductions."""
    each, reductions = Table._each, []

    def interrupted(table, method, *args):
        # Where members are grown, the method of the rows on which they are.
        grown = method is SearchBlock.grown
        reductions.append((args[1] if grown else method).__name__)
        fault = faults.get(len(reductions))
        if fault is not None:
            fault(table)
        return each(table, method, *args)

    monkeypatch.setattr(Table, "_each", interrupted)
    return reductions


@pytest.mark.parametrize(
    "how", [{}, {"reweighting": "adaboost", "loss": "exponential", "select_size": "validation"}]
)
def test_workers_that_die_in_mid_fit_change_nothing(client, data, monkeypatch, how):
    expected = SubsetEnsembleClassifier(**HOW, **how).fit(*data)
    killed = []

    def kill(table):
        pids = client.run(os.getpid)
        address = table._owners[0]
        killed.append(pids[address])
        os.kill(pids[address], signal.SIGKILL)

    def kill_and_wait(table):
        address = table._owners[0]
        kill(table)
        while address in client.nthreads():
            time.sleep(0.01)

    # In the midst of the first member, and of the last.
    reductions = before_reductions(monkeypatch, {30: kill, 90: kill_and_wait})
    with client.as_current():
        flock = SubsetEnsembleClassifier(**HOW, **how).fit(*data)
    assert len(set(killed)) == 2
    assert len(reductions) > 100
    np.testing.assert_array_equal(flock.support_, expected.support_)
    np.testing.assert_allclose(flock.member_coef_, expected.member_coef_, rtol=1e-8, atol=1e-10)
    client.wait_for_workers(2)
    assert set(client.run(_worker.n_blocks).values()) == {0}


@pytest.mark.parametrize(
    "flock",
    [
        FlockClassifier(n_estimators=2, cv=2, alpha=0.01, feature_groups=[[0, 1]], random_state=0),
        SubsetEnsembleClassifier(2, fuser=Gate(max_iter=40), max_iter=8, random_state=0),
    ],
)
def test_a_worker_that_dies_in_mid_search_changes_nothing(client, wine, monkeypatch, flock):
    X, y = wine[0][:, :2], wine[1]
    data = da.from_array(X, (60, 2)), da.from_array(y, 60)
    expected = clone(flock).fit(*data)
    client.wait_for_workers(2)
    killed = []

    def kill(table):
        pids = client.run(os.getpid)
        address = table._owners[0]
        killed.append(pids[address])
        os.kill(pids[address], signal.SIGKILL)

    # While members are grown, and while the gate is refined.
    reductions = before_reductions(monkeypatch, {30: kill, 70: kill})
    with client.as_current():
        flock.fit(*data)
    assert len(reductions) > 75
    assert len(set(killed)) == 2
    np.testing.assert_array_equal(flock.support_, expected.support_)
    np.testing.assert_allclose(flock.predict_proba(X), expected.predict_proba(X), atol=1e-6)
    if hasattr(expected, "cv_results_"):
        weight = expected.cv_results_["weight"]
        np.testing.assert_array_equal(flock.cv_results_["weight"], weight)
    client.wait_for_workers(2)
    assert set(client.run(_worker.n_blocks).values()) == {0}


def test_calls_are_replayed_by_a_block_that_is_lost_before_any_reduction(data, monkeypatch):
    how = {**HOW, "reweighting": "adaboost", "loss": "exponential", "max_iter": 4}
    expected = SubsetEnsembleClassifier(**how).fit(*data)

    def lose(table):
        _worker._STORES[_worker.THIS_PROCESS].drop((table._fit, 1))

    reductions = before_reductions(monkeypatch, {})
    SubsetEnsembleClassifier(**how).fit(*data)
    monkeypatch.undo()
    before_reductions(monkeypatch, dict.fromkeys(range(1, len(reductions) + 1), lose))
    flock = SubsetEnsembleClassifier(**how).fit(*data)
    np.testing.assert_array_equal(flock.member_coef_, expected.member_coef_)
    assert {"steepest", "errors", "spread", "evaluate"} <= set(reductions)


def test_a_request_that_comes_twice_is_carried_out_once(data, monkeypatch):
    expected = SubsetEnsembleClassifier(**HOW).fit(*data)
    reduced = _worker.BlockStore.reduced

    def twice(store, request, numbers):
        first = reduced(store, request, numbers)
        again = reduced(store, request, numbers)
        assert all(first[number][1] is again[number][1] for number in first)
        return again

    monkeypatch.setattr(_worker.BlockStore, "reduced", twice)
    np.testing.assert_array_equal(
        SubsetEnsembleClassifier(**HOW).fit(*data).member_coef_, expected.member_coef_
    )


def test_a_block_that_missed_a_request_is_lost(wine):
    X, y = wine
    _worker.load(X, y, None, "late", 0, None, False, False, _worker.THIS_PROCESS)
    try:
        calls = [(table_block, (np.arange(3), np.ones(3), np.zeros(1), False))]
        blocks = {_worker.THIS_PROCESS: [0, 1]}
        late = _worker.Request("late", 2, calls, blocks, None)
        outcomes = _worker.LocalBlocks().reduce(late)
        assert outcomes == {0: ("lost", None), 1: ("lost", None)}
        outcomes = _worker.LocalBlocks().reduce(late._replace(number=1))
        assert outcomes == {0: ("reduced", None), 1: ("lost", None)}
    finally:
        _worker.finish("late")


def test_blocks_that_are_lost_again_and_again_end_the_fit(data, monkeypatch):
    monkeypatch.setattr(_worker.LocalBlocks, "reduce", lambda self, request: {})
    with pytest.raises(RuntimeError, match="Block 0 of X was lost 10 times"):
        SubsetEnsembleClassifier(**HOW).fit(*data)


def test_when_the_scheduler_dies_a_checkpoint_goes_on(clusters, data, monkeypatch, tmp_path):
    expected = SubsetEnsembleClassifier(**HOW).fit(*data)
    process, address = clusters()
    reductions = before_reductions(monkeypatch, {100: lambda table: process.kill()})
    how = {**HOW, "checkpoint": tmp_path / "fit.npz"}
    lost = "connection to the Dask scheduler tcp:.* is lost"
    with (
        Client(address, timeout=3.0, set_as_default=False) as client,
        client.as_current(),
        pytest.raises(RuntimeError, match=lost),
    ):
        SubsetEnsembleClassifier(**how).fit(*data)
    reductions.clear()
    _, address = clusters()
    with Client(address, set_as_default=False) as client, client.as_current():
        flock = SubsetEnsembleClassifier(**how).fit(*data)
    assert len(reductions) < 130
    np.testing.assert_allclose(flock.member_coef_, expected.member_coef_, rtol=1e-8, atol=1e-10)
    # Other data is not taken for the same.
    with pytest.raises(ValueError, match="belongs to a fit of other data"):
        SubsetEnsembleClassifier(**how).fit(data[0] * 2, data[1])


def test_a_fit_that_fails_leaves_nothing_on_the_workers(client, data, monkeypatch):
    def interrupt(table):
        raise KeyboardInterrupt

    before_reductions(monkeypatch, {20: interrupt})
    with client.as_current(), pytest.raises(KeyboardInterrupt):
        SubsetEnsembleClassifier(**HOW).fit(*data)
    assert set(client.run(_worker.n_blocks).values()) == {0}


def test_blocks_of_a_fit_without_requests_for_an_hour_are_dropped(wine, monkeypatch):
    X, y = wine
    _worker.load(X, y, None, "dead", 0, None, False, False, _worker.THIS_PROCESS)
    monkeypatch.setattr(_worker, "_PATIENCE", -1.0)
    _worker.load(X, y, None, "new", 0, None, False, False, _worker.THIS_PROCESS)
    assert list(_worker._STORES[_worker.THIS_PROCESS]._entries) == [("new", 0)]
    _worker.finish("new")
    assert _worker.n_blocks() == 0


def test_a_block_that_comes_after_its_fit_is_not_kept(wine):
    X, y = wine
    _worker.finish("over")
    _worker.load(X, y, None, "over", 0, None, False, False, _worker.THIS_PROCESS)
    assert _worker.n_blocks() == 0


def test_what_goes_wrong_on_a_worker_is_raised_here(client, data):
    # k is for more members than there are: the first to notice is a block.
    from covey.fusers import KOfN

    flock = SubsetEnsembleClassifier(**{**HOW, "fuser": KOfN(k=2), "select_size": "train"})
    with client.as_current(), pytest.raises(ValueError, match="has k for all members"):
        flock.fit(*data)
