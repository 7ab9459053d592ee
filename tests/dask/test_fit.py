import asyncio
import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, get_task_stream
from sklearn.model_selection import KFold

import covey.dask
from covey import FlockClassifier, SubsetEnsembleClassifier
from covey.dask import _worker
from covey.fusers._base import FUSERS
from covey.fusers._fixed import make_fuser

HOW = {"n_estimators": 2, "max_iter": 5, "fuser": "product", "random_state": 0}


def test_there_is_no_second_estimator_for_dask():
    assert not any(hasattr(one, "fit") for one in vars(covey.dask).values())


def test_the_dashboard_shows_blocks_members_and_candidates(client, wine):
    # Few columns and no gates: few reductions.
    X, y = da.from_array(wine[0][:, :3], chunks=(60, -1)), da.from_array(wine[1], chunks=60)
    with get_task_stream(client) as seen, client.as_current():
        SubsetEnsembleClassifier(**HOW).fit(X, y)
        FlockClassifier(alpha=0.01, cv=2, max_members=1).fit(X, y)
        client.submit(int, 0, pure=False).result()
    names = [str(task["key"]) for task in seen.data]
    for part, least in (("load", 6), ("member", 2), ("candidates", 2)):
        assert sum(name.startswith(f"covey-{part}-") for name in names) >= least, part


def test_a_fitted_flock_holds_nothing_of_the_cluster(client, wine):
    X, y = wine
    dX = da.from_array(X, (100, 13))
    with client.as_current():
        flock = SubsetEnsembleClassifier(**HOW).fit(dX, y)
    again = pickle.loads(pickle.dumps(flock))
    np.testing.assert_array_equal(again.predict_proba(X), flock.predict_proba(X))
    assert not [name for name in vars(flock) if name in ("_table", "_journal", "_rows")]
    without = SubsetEnsembleClassifier(**HOW).fit(dX, y)
    np.testing.assert_array_equal(without.member_coef_, flock.member_coef_)


# -- bad input -----------------------------------------------------------------------------------


def refused(match, X, y, sample_weight=None, kind=ValueError, **how):
    with pytest.raises(kind, match=match):
        SubsetEnsembleClassifier(**{**HOW, **how}).fit(X, y, sample_weight)


def search_refused(match, X, y, **how):
    with pytest.raises(ValueError, match=match):
        FlockClassifier(**how).fit(X, y)


@pytest.fixture
def lazy(wine):
    X, y = wine
    return da.from_array(X, (30, 13)), da.from_array(y, 30)


@pytest.mark.parametrize("fuser", FUSERS)
def test_every_fuser_works_or_is_refused_by_name(wine, fuser):
    X, y = wine[0][:, :3], np.minimum(wine[1], 1)
    X, y = da.from_array(X, (90, 3)), da.from_array(y, 90)
    how = {**HOW, "fuser": fuser}
    if fuser == "gate" or not make_fuser(fuser).learns:
        flock = SubsetEnsembleClassifier(**how).fit(X, y)
        near = X.compute(), y.compute()
        local = SubsetEnsembleClassifier(**how).fit(*near)
        assert flock.score(X, y) == local.score(*near)
        if fuser != "oracle":
            np.testing.assert_allclose(
                flock.predict_proba(near[0]), local.predict_proba(near[0]), atol=1e-6
            )
        return
    for given in (fuser, make_fuser(fuser)):
        name = type(given).__name__ if given is not fuser else repr(fuser)
        refused(f"fuser={name}.* needs all rows in one place.*'gate'", X, y, fuser=given)


def test_what_a_search_cannot_split_is_refused_before_anything_is_loaded(lazy, monkeypatch):
    monkeypatch.setattr("covey.dask._rows.Table", None)
    for cv in (KFold(3), [(np.arange(3), np.arange(3, 6))]):
        search_refused("cv=.* needs all rows in one place", *lazy, cv=cv)
    named = "categorical_features=.0. needs all rows in one place"
    search_refused(named, *lazy, categorical_features=[0])
    search_refused("cv must be an int", *lazy, cv="five")
    refused("pool must be", *lazy, fuser=covey.Gate("both"))
    refused("a gate changes them all", *lazy, fuser="gate", warm_start=True)


def test_lengths_that_differ_are_named(lazy, wine):
    X, y = lazy
    refused("y has 177 entries, but X has 178 rows", X, y[:177])
    refused("y has 177 entries, but X has 178 rows", X, wine[1][:177])
    refused("sample_weight has 2 entries, but X has 178 rows", X, y, [1.0, 2.0])
    frame = dd.from_pandas(pd.DataFrame(wine[0]).rename(columns=str), npartitions=2)
    labels = dd.from_pandas(pd.Series(wine[1]), npartitions=4)
    cut = dd.concat([labels.partitions[:1], labels.partitions[1:].repartition(npartitions=1)])
    refused("Block 0 of X has 89 rows, but that of y has 45", frame, cut)


def test_what_is_not_finite_is_named_with_column_and_block(client, lazy, wine):
    X, y = wine
    X = X.copy()
    X[140, 7] = np.nan
    where = "X holds NaN in column 7 \\(block 4, row 20\\)"
    with client.as_current():
        refused(where, da.from_array(X, (30, 13)), lazy[1])
    # Other blocks may have been loaded before this one was refused.
    assert set(client.run(_worker.n_blocks).values()) == {0}
    frame = dd.from_pandas(pd.DataFrame(X).add_prefix("f"), npartitions=2)
    refused("X holds NaN in column 'f7' \\(block 1, row", frame, y)
    X[140, 7] = np.inf
    refused("X holds infinity in column 7", da.from_array(X, (30, 13)), y)


def test_columns_of_text_are_named(wine):
    X, y = wine
    frame = pd.DataFrame(X).add_prefix("f").assign(city="Rome", day=pd.Timestamp("2020-01-01"))
    frame["city"] = frame["city"].astype("category")
    refused("in column 'city', 'day'; encode", dd.from_pandas(frame, npartitions=2), y)
    text = da.from_array(np.full((178, 2), "x"), (90, 2))
    refused("X must hold numbers, but its dtype is <U1", text, y)
    thing = da.from_array(np.full((178, 2), "x", dtype=object), (90, 2))
    refused("Block 0 of X holds values that are not numbers", thing, y)


def test_labels_that_are_none_are_refused(lazy):
    X, y = lazy
    missing = da.where(da.arange(178, chunks=30) == 100, np.nan, y)
    refused("y has no label in row 10 of block 3", X, missing)
    refused("unknown label type: continuous", X, y + 0.5)
    refused("needs samples of at least 2 classes in y, got 1 class: \\[0\\]", X, y * 0)
    refused("must be 1D, got a collection of 2 dimensions", X, X)
    refused("requires y to be passed", X, None)
    words = pd.Series(np.array(["a", "b"])[np.arange(178) % 2], dtype="string")
    words[100] = None
    frame = dd.from_pandas(pd.DataFrame({"x": np.arange(178.0), "y": words}), npartitions=2)
    refused("y has no label in row 11 of block 1", frame[["x"]], frame["y"])
    mixed = np.array(["a", 1] * 89, dtype=object)
    refused("y must hold numbers or strings, not both", X, mixed)


def test_weights_that_are_none_are_refused(lazy):
    X, y = lazy
    ones = da.ones(178, chunks=30)
    which = da.arange(178, chunks=30)
    refused("row 5 of block 2 has -1", X, y, da.where(which == 65, -1.0, ones))
    refused("row 5 of block 2 has nan", X, y, da.where(which == 65, np.nan, ones))
    refused("sample_weight is all zero", X, y, ones * 0)
    refused("beyond what sums of floats bear", X, y, ones * 1e150)
    refused("at least 2 classes in y whose", X, y, (y == 1) * 1.0)
    refused("class_weight must be 'balanced'", X, y, class_weight="even")


def test_collections_of_the_wrong_kind_are_refused(lazy, wine):
    X, y = lazy
    refused("y is a Dask collection, but X is not", wine[0], y, kind=TypeError)
    refused("two dimensions", X[:, 0], y)
    refused("X has no rows", X[:0], y[:0])
    refused("device='cuda' is one that has all rows", X, y, device="cuda")
    wide = da.ones((178, 2001), chunks=(178, 2001))
    refused("'newton' keeps a matrix", wide, y, learning_rate="newton")
    with pytest.raises(ValueError, match="groups needs all rows in one place"):
        FlockClassifier().fit(X, y, groups=wine[1])


def test_an_asynchronous_client_is_refused(client, lazy):
    async def fit():
        async with Client(client.scheduler.address, asynchronous=True, set_as_default=False) as c:
            with c.as_current():
                refused("current Dask client is asynchronous", *lazy)

    asyncio.run(fit())
