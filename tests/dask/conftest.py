import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster
from sklearn.datasets import load_wine

from covey.dask import _worker
from covey.dask._spill import SpillBuffer


@pytest.fixture(scope="session")
def cluster():
    """Two workers, each a process of its own."""
    with (
        # Some time after a worker died, the cluster gives up a worker that is being restarted.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="session")
def client(cluster):
    """Of two workers, and not the current client: many tests want none."""
    with Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="session")
def wine():
    """Shuffled, so that blocks hold all classes."""
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


@pytest.fixture
def spilled(tmp_path, monkeypatch):
    """Lets blocks of this process be spilled: the buffer, how many files it has had, and where."""

    def limit_memory(limit):
        buffer, n_files = SpillBuffer(limit, tmp_path), []
        store = _worker.BlockStore(buffer)
        monkeypatch.setitem(_worker._STORES, _worker.THIS_PROCESS, store)
        reduced = _worker.BlockStore.reduced

        def counted(*args):
            n_files.append(buffer.n_files)
            return reduced(*args)

        monkeypatch.setattr(_worker.BlockStore, "reduced", counted)
        return buffer, n_files, tmp_path

    return limit_memory
