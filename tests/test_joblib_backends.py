"""What takes ``n_jobs`` works on a Dask cluster through joblib, with the same result."""

import joblib
import numpy as np
import pytest
from distributed import Client, LocalCluster
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import scale
from sklearn.tree import DecisionTreeRegressor

import covey

X, Y = load_wine(return_X_y=True)
X = scale(X)
# More rows than are predicted at once.
MANY = np.tile(X, (100, 1))
MEMBERS = [("linear", LogisticRegression()), ("bayes", GaussianNB())]
VALUE_MEMBERS = [("ridge", Ridge()), ("tree", DecisionTreeRegressor(max_depth=2, random_state=0))]


def fusion():
    return covey.FusionClassifier(MEMBERS, fuser="linear_stacking", n_jobs=2).fit(X, Y)


def fusion_regressor():
    return covey.FusionRegressor(VALUE_MEMBERS, n_jobs=2).fit(X[:, 1:], X[:, 0])


def general_stacking():
    return covey.GeneralStackingClassifier(MEMBERS, LogisticRegression(), cv=2, n_jobs=2).fit(X, Y)


def general_stacking_regressor():
    return covey.GeneralStackingRegressor(VALUE_MEMBERS, Ridge(), cv=2, n_jobs=2).fit(
        X[:, 1:], X[:, 0]
    )


def multiview():
    return covey.MultiviewClassifier(random_state=0, n_jobs=2).fit(X, Y)


def code_book():
    return covey.CodeBookClassifier(LogisticRegression(), random_state=0, n_jobs=2).fit(X, Y)


def clusters():
    return covey.ConsensusClustering(3, n_partitions=6, random_state=0, n_jobs=2).fit(X).labels_


def bias_variance():
    from covey.inspection import bias_variance

    found = bias_variance(GaussianNB(), X, Y, n_runs=4, random_state=0, n_jobs=2)
    return found.predictions


def flock():
    return covey.SubsetEnsembleClassifier.paper(n_estimators=2, random_state=0, n_jobs=2).fit(X, Y)


def value_flock():
    return covey.SubsetEnsembleRegressor(2, fuser="mean", random_state=0, n_jobs=2).fit(
        X[:, 1:], X[:, 0]
    )


FITS = [
    fusion,
    fusion_regressor,
    general_stacking,
    general_stacking_regressor,
    multiview,
    code_book,
    clusters,
    bias_variance,
]
# They are fitted by one process, and predict many rows by several.
PREDICTS = [flock, value_flock]


@pytest.fixture(scope="module")
def client():
    with (
        # Workers of one process, which starts quickly; all the same what they get is pickled.
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            protocol="tcp",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def said(made, rows):
    if isinstance(made, np.ndarray):
        return made
    rows = rows[:, : made.n_features_in_] if rows.shape[1] > made.n_features_in_ else rows
    return made.predict_proba(rows) if hasattr(made, "predict_proba") else made.predict(rows)


def n_tasks(client):
    return client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)


@pytest.mark.parametrize("make", FITS)
def test_fits_on_a_cluster_are_those_of_one_process(client, make):
    before = n_tasks(client)
    with joblib.parallel_config("dask"):
        there = make()
    assert n_tasks(client) > before
    # Arrays may come back in another memory order, and BLAS then rounds otherwise.
    np.testing.assert_allclose(said(there, X), said(make(), X), rtol=1e-12)


@pytest.mark.parametrize("make", PREDICTS)
def test_rows_predicted_on_a_cluster_are_those_of_one_process(client, make):
    made = make()
    before = n_tasks(client)
    with joblib.parallel_config("dask"):
        there = said(made, MANY)
    assert n_tasks(client) > before
    # Blocks come to other processes in another memory order, and BLAS then rounds otherwise.
    np.testing.assert_allclose(there, said(made, MANY), rtol=1e-12, atol=1e-14)


def test_kinds_of_members_are_compared_where_processes_are_asked_for():
    how = {"members": ["linear", "neighbors"], "effort": "fast", "random_state": 0}
    alone = covey.FlockClassifier(**how).fit(X, Y).predict_proba(X)
    with joblib.parallel_backend("loky", n_jobs=2):
        found = covey.FlockClassifier(n_jobs=2, **how).fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(found, alone)
