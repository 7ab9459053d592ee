import os

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster
from sklearn.datasets import load_wine


@pytest.fixture(scope="session")
def client():
    """Two workers, each a process of its own. Not the default client: many tests want none."""
    with (
        # Some time after a worker died, the cluster gives up whoever is just being restarted.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def wine():
    """Shuffled, so that blocks hold all classes."""
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def worker_pids(client):
    return list(client.run(os.getpid).values())
