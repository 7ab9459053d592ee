import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes

from covey import SubsetEnsembleClassifier, SubsetEnsembleRegressor
from covey.dask import _worker
from covey.fusers._base import FUSERS
from covey.fusers._fixed import make_fuser

FIXED = [name for name in FUSERS if not make_fuser(name).learns]


def assert_same(flock, local):
    np.testing.assert_array_equal(flock.classes_, local.classes_)
    np.testing.assert_array_equal(flock.support_, local.support_)
    np.testing.assert_array_equal(flock.n_iter_, local.n_iter_)
    np.testing.assert_allclose(flock.mean_, local.mean_, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(flock.scale_, local.scale_, rtol=1e-13)
    scale = np.abs(local.member_coef_).max()
    np.testing.assert_allclose(
        flock.member_coef_, local.member_coef_, rtol=1e-8, atol=1e-8 * scale
    )
    np.testing.assert_allclose(
        flock.member_intercept_, local.member_intercept_, rtol=1e-8, atol=1e-8
    )


def blocks(n, count):
    """As many blocks as asked for, of different lengths."""
    ends = np.linspace(0, n, count + 1).astype(int) + np.r_[0, np.arange(1, count) % 5, 0]
    return tuple(int(length) for length in np.diff(ends))


@pytest.mark.parametrize("count", [1, 2, 7])
def test_on_a_cluster_the_paper_s_flock_is_the_local_one(client, wine, count):
    X, y = wine
    lengths = blocks(len(y), count)
    local = SubsetEnsembleClassifier.paper(n_estimators=3, max_iter=40, random_state=1)
    flock = SubsetEnsembleClassifier.paper(n_estimators=3, max_iter=40, random_state=1)
    # One block is on one of two workers: the other one has no data.
    with client.as_current():
        flock.fit(da.from_array(X, (lengths, (13,))), da.from_array(y, (lengths,)))
    assert_same(flock, local.fit(X, y))
    assert set(client.run(_worker.n_blocks).values()) == {0}


SETTINGS = {
    "defaults": {},
    "select_size": {"select_size": "train", "tol": -0.002, "n_iter_no_change": None},
    "validation": {"select_size": "validation", "validation_fraction": 0.23},
    "adaboost": {"reweighting": "adaboost", "loss": "exponential"},
    "divergence": {"reweighting": "divergence", "loss": "focal", "subset_penalty": 0.002},
    "none": {"reweighting": None, "acceptance": "metropolis", "flip_probability": 0.2},
    "balanced": {"class_weight": "balanced"},
    "dict": {"class_weight": {0: 3.0, 1: 1.0, 2: 0.5}, "learning_rate": "constant"},
    "newton": {"learning_rate": "newton"},
    "no intercept": {"fit_intercept": False},
    "unscaled": {"scale_features": False, "learning_rate": 1e-8, "flip_probability": 0.1},
    "groups": {"feature_groups": [[0, 1, 2], [3, 4]], "always_keep": [5]},
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.filterwarnings("ignore:.*overshoots:sklearn.exceptions.ConvergenceWarning")
def test_every_setting_gives_the_local_flock(wine, name):
    X, y = wine
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], len(y))
    how = {"n_estimators": 3, "max_iter": 30, "fuser": "mean", "random_state": 0}
    local = SubsetEnsembleClassifier(**{**how, **SETTINGS[name]}).fit(X, y, weight)
    flock = SubsetEnsembleClassifier(**{**how, **SETTINGS[name]}).fit(
        da.from_array(X, (50, 4)), da.from_array(y, 40), da.from_array(weight, 178)
    )
    assert_same(flock, local)
    np.testing.assert_allclose(flock.predict_proba(X), local.predict_proba(X), atol=1e-10)


@pytest.mark.parametrize("name", FIXED)
def test_every_fixed_rule_fuses(wine, name):
    X, y = wine[0], (wine[1] == 1).astype(int)
    how = {"n_estimators": 3, "max_iter": 5, "fuser": name, "random_state": 0}
    local = SubsetEnsembleClassifier(**how).fit(X, y)
    dX, dy = da.from_array(X, (60, 13)), da.from_array(y, 60)
    flock = SubsetEnsembleClassifier(**how).fit(dX, dy)
    assert_same(flock, local)
    assert flock.score(dX, dy) == pytest.approx(local.score(X, y), abs=1e-12)


def test_empty_blocks_and_blocks_without_a_class_change_nothing(client, wine):
    X, y = wine
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    # 59 rows of class 0, 71 of class 1, 48 of class 2: no block has all of them.
    lengths = (59, 0, 40, 31, 0, 47, 1)
    how = {"n_estimators": 2, "max_iter": 20, "fuser": "product", "random_state": 0}
    local = SubsetEnsembleClassifier(**how, reweighting="adaboost").fit(X, y)
    flock = SubsetEnsembleClassifier(**how, reweighting="adaboost")
    with client.as_current():
        flock.fit(da.from_array(X, (lengths, (13,))), da.from_array(y, 178))
    assert_same(flock, local)


def test_a_block_that_is_held_out_whole_changes_nothing(wine):
    X, y = wine
    how = {
        "n_estimators": 2,
        "max_iter": 10,
        "fuser": "mean",
        "select_size": "validation",
        "validation_fraction": 0.5,
        "random_state": 0,
    }
    local = SubsetEnsembleClassifier(**how).fit(X, y)
    lengths = (1,) * 20 + (158,)
    flock = SubsetEnsembleClassifier(**how)
    assert_same(flock.fit(da.from_array(X, (lengths, (13,))), da.from_array(y, (lengths,))), local)


@pytest.mark.filterwarnings("ignore:Dask currently has limited support:UserWarning")
def test_frames_keep_their_names_and_need_no_known_lengths(client, wine):
    X, y = wine
    frame = pd.DataFrame(X, columns=[f"f{place}" for place in range(13)])
    frame["label"] = np.array(["low", "mid", "high"], dtype=object)[y]
    frame["weight"] = np.linspace(0.5, 1.5, len(y))
    data = dd.from_pandas(frame, npartitions=4)
    names = list(frame.columns[:13])
    how = {
        "n_estimators": 2,
        "max_iter": 20,
        "fuser": "product",
        "random_state": 0,
        "always_keep": ["f3"],
    }
    local = SubsetEnsembleClassifier(**how)
    local.fit(frame[names], frame["label"], frame["weight"])
    flock = SubsetEnsembleClassifier(**how)
    with client.as_current():
        flock.fit(data[names], data["label"], data["weight"])
        assert_same(flock, local)
        assert list(flock.feature_names_in_) == names
        # Labels and weights of other blocks, and of none.
        flock.fit(data[names], da.from_array(frame["label"].to_numpy(), 100), frame["weight"])
        assert_same(flock, local)
    # An array of blocks whose lengths are not known.
    how["always_keep"] = [3]
    flock = SubsetEnsembleClassifier(**how).fit(data[names].values, data["label"].values)
    assert_same(flock, SubsetEnsembleClassifier(**how).fit(X, frame["label"]))


def test_sparse_blocks_stay_sparse_and_give_the_local_flock(wine):
    rng = np.random.default_rng(0)
    X = sp.random(90, 8, density=0.3, format="csr", random_state=0) + sp.csr_matrix(
        rng.integers(0, 2, (90, 1)) @ np.eye(1, 8)
    )
    y, weight = rng.integers(0, 3, 90), rng.choice([0.0, 1.0, 2.0], 90)
    how = {
        "n_estimators": 2,
        "max_iter": 20,
        "fuser": "mean",
        "select_size": "train",
        "random_state": 0,
    }
    local = SubsetEnsembleClassifier(**how).fit(X.tocsr(), y, weight)
    dense = da.from_array(X.toarray(), (40, 8))
    flock = SubsetEnsembleClassifier(**how).fit(
        dense.map_blocks(sp.csr_matrix, dtype=float), da.from_array(y, 40), weight
    )
    assert_same(flock, local)


def test_a_warm_start_is_one_fit(wine):
    X, y = wine
    dX, dy = da.from_array(X, (70, 13)), da.from_array(y, 70)
    how = {"max_iter": 10, "fuser": "product", "random_state": 0}
    warm = SubsetEnsembleClassifier(1, **how, warm_start=True).fit(dX, dy)
    warm.set_params(n_estimators=3).fit(dX, dy)
    assert_same(warm, SubsetEnsembleClassifier(3, **how).fit(X, y))


def test_the_same_seed_gives_the_same_bits(client, wine):
    X, y = wine
    dX, dy = da.from_array(X, (30, 13)), da.from_array(y, 30)
    how = {"n_estimators": 2, "max_iter": 10, "fuser": "product", "random_state": 0}
    with client.as_current():
        first = SubsetEnsembleClassifier(**how).fit(dX, dy)
    np.testing.assert_array_equal(
        first.member_coef_, SubsetEnsembleClassifier(**how).fit(dX, dy).member_coef_
    )


def test_the_current_client_is_used(client, wine, monkeypatch):
    X, y = wine
    monkeypatch.setattr("covey.dask._worker.LocalBlocks.load", None)
    with client.as_current():
        SubsetEnsembleClassifier(1, max_iter=2, fuser="product").fit(da.from_array(X, (90, 13)), y)


def test_verbose_reports_each_member(wine, capsys):
    X, y = wine
    SubsetEnsembleClassifier(2, max_iter=3, fuser="product", verbose=1).fit(
        da.from_array(X, (90, 13)), y
    )
    assert capsys.readouterr().out.count("[SubsetEnsembleClassifier] member ") == 2


VALUE_SETTINGS = {
    "defaults": {},
    "huber": {"loss": "huber"},
    "quantile": {"loss": "quantile", "quantile": 0.8},
    "penalties": {"alpha": 0.01, "subset_penalty": 0.002, "acceptance": "metropolis"},
    "median": {"fuser": "median", "always_keep": [2]},
}


@pytest.mark.parametrize("name", VALUE_SETTINGS)
@pytest.mark.filterwarnings("ignore:.*converge:sklearn.exceptions.ConvergenceWarning")
def test_every_setting_gives_the_local_regressors(name):
    X, y = load_diabetes(return_X_y=True)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], len(y))
    how = {"n_estimators": 2, "max_iter": 20, "random_state": 0, **VALUE_SETTINGS[name]}
    local = SubsetEnsembleRegressor(**how).fit(X, y, weight)
    flock = SubsetEnsembleRegressor(**how)
    flock.fit(da.from_array(X, (150, 4)), da.from_array(y, 150), da.from_array(weight, 442))
    np.testing.assert_array_equal(flock.support_, local.support_)
    np.testing.assert_allclose(flock.y_center_, local.y_center_, rtol=1e-12)
    np.testing.assert_allclose(flock.y_scale_, local.y_scale_, rtol=1e-12)
    # The optimizer ends where its gradient is small: nobody knows the optimum better than that.
    np.testing.assert_allclose(
        flock.predict(X), local.predict(X), rtol=0, atol=5e-5 * local.y_scale_
    )


def test_regressors_on_a_cluster_score_and_predict_lazily(client):
    X, y = load_diabetes(return_X_y=True)
    dX, dy = da.from_array(X, (150, 10)), da.from_array(y, 150)
    with client.as_current():
        flock = SubsetEnsembleRegressor(2, random_state=0).fit(dX, dy)
        assert flock.score(dX, dy) == pytest.approx(flock.score(X, y), abs=1e-12)
        lazy = flock.predict(dX), flock.member_predictions(dX), flock.explain_fusion(dX)
        expected = flock.predict(X), flock.member_predictions(X), flock.explain_fusion(X)
        for one, other in zip(lazy, expected, strict=True):
            assert isinstance(one, da.Array)
            np.testing.assert_allclose(one.compute(), other, rtol=1e-12)
    assert set(client.run(_worker.n_blocks).values()) == {0}
