"""The search for gated groups, and a gate that is given, on rows in blocks."""

import warnings

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes

import covey
from covey import (
    FlockClassifier,
    FlockRegressor,
    SubsetEnsembleClassifier,
    SubsetEnsembleRegressor,
)
from covey._core.search import rows as rungs
from covey.dask import _worker
from covey.dask._spill import SpillBuffer
from covey.dask._worker import Table
from covey.members._rows_in_memory import InMemoryRows

HOW = {"n_estimators": 2, "alpha": 0.01, "cv": 3, "random_state": 0}


@pytest.fixture
def double(monkeypatch):
    """A local search compares its candidates in double precision too."""
    monkeypatch.setattr(InMemoryRows, "single", False)


@pytest.fixture(scope="module")
def few(wine):
    """Four columns are enough to search, and one of them has two values."""
    X, y = wine
    X = X[:, [0, 6, 9, 12]].copy()
    X[:, 1] = X[:, 1] > 2.0
    X[:, 3] /= 300.0
    return X, y


def lazy(X, y, lengths):
    return da.from_array(X, (lengths, (X.shape[1],))), da.from_array(y, (lengths,))


def assert_same(flock, local, X):
    assert flock.cv_results_.keys() == local.cv_results_.keys()
    for name, found in flock.cv_results_.items():
        if name == "log_loss":
            # Of candidates that end before their optimum, and let rounding grow on the way.
            np.testing.assert_allclose(found, local.cv_results_[name], atol=2e-2)
        else:
            np.testing.assert_array_equal(found, local.cv_results_[name])
    np.testing.assert_array_equal(flock.group_of_, local.group_of_)
    np.testing.assert_array_equal(flock.support_, local.support_)
    np.testing.assert_allclose(flock.group_weights_, local.group_weights_)
    np.testing.assert_allclose(flock.predict_proba(X), local.predict_proba(X), atol=1e-2)
    np.testing.assert_allclose(flock.coefficient_sizes_, local.coefficient_sizes_, atol=1e-2)
    np.testing.assert_allclose(flock.model_.means, local.model_.means, atol=1e-2)


LAYOUTS = {
    "one": (178,),
    "two": (89, 89),
    "seven": (25, 26, 25, 26, 25, 26, 25),
    "unequal": (3, 0, 120, 1, 54, 0),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_search_finds_the_local_flock_however_rows_are_cut(double, few, layout):
    X, y = few
    local = FlockClassifier(**HOW).fit(X, y)
    assert np.count_nonzero(local.cv_results_["weight"]) > 1
    flock = FlockClassifier(**HOW).fit(*lazy(X, y, LAYOUTS[layout]))
    assert_same(flock, local, X)
    # What is predicted out of fold is known of rows in memory only.
    assert vars(flock).keys() == vars(local).keys() - {"out_of_fold_", "calibration_", "readable_"}


def test_no_block_need_have_all_classes(double, few):
    order = np.argsort(few[1], kind="stable")
    X, y = few[0][order], few[1][order]
    # 59 rows of class 0, 71 of class 1, 48 of class 2.
    flock = FlockClassifier(**HOW).fit(*lazy(X, y, (59, 0, 40, 31, 47, 1)))
    assert_same(flock, FlockClassifier(**HOW).fit(X, y), X)


def test_by_default_a_search_of_all_columns_finds_the_local_flock(double, wine):
    X, y = wine
    local = FlockClassifier(random_state=1).fit(X, y)
    flock = FlockClassifier(random_state=1).fit(*lazy(X, y, (60, 118)))
    assert_same(flock, local, X)


SETTINGS = {
    "fast": {"effort": "fast"},
    "best": {"effort": "best", "members": "linear", "cv": 2},
    "one member": {"n_estimators": 1, "alpha": None, "cv": None},
    "balanced": {"class_weight": "balanced", "alpha": None, "cv": 2},
    "groups": {"feature_groups": [[0, 1]], "always_keep": [2]},
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.filterwarnings("ignore:.*overshoots:sklearn.exceptions.ConvergenceWarning")
def test_every_setting_finds_the_local_flock(double, few, name):
    X, y = few
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], len(y))
    how = {**HOW, **SETTINGS[name]}
    local = FlockClassifier(**how).fit(X, y, weight)
    dX, dy = da.from_array(X, (50, 3)), da.from_array(y, 40)
    flock = FlockClassifier(**how).fit(dX, dy, da.from_array(weight, 178))
    assert_same(flock, local, X)


def test_a_class_of_one_row_is_warned_of_as_by_the_local_class(double, few):
    X, y = few[0], few[1].copy()
    y[100] = 7
    flock, local = FlockClassifier(**HOW), FlockClassifier(**HOW)
    with pytest.warns(UserWarning, match="Class 7 has one row"):
        flock.fit(*lazy(X, y, (90, 88)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(flock, local.fit(X, y), X)


@pytest.mark.filterwarnings("ignore:Dask currently has limited support:UserWarning")
def test_frames_on_a_cluster_are_searched_and_predicted(double, client, few):
    X, y = few
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["label"] = np.array(["low", "mid", "high"], dtype=object)[y]
    data = dd.from_pandas(frame, npartitions=4)
    how = {**HOW, "effort": "fast", "always_keep": ["b"]}
    local = FlockClassifier(**how).fit(frame[list("abcd")], frame["label"])
    flock = FlockClassifier(**how)
    with client.as_current():
        flock.fit(data[list("abcd")], data["label"])
    assert_same(flock, local, frame[list("abcd")])
    said = flock.predict_proba(data[list("abcd")]).compute(scheduler="sync")
    np.testing.assert_allclose(said, local.predict_proba(frame[list("abcd")]), atol=1e-6)
    assert flock.score(data[list("abcd")], data["label"]) == local.score(
        frame[list("abcd")], frame["label"]
    )
    assert set(client.run(_worker.n_blocks).values()) == {0}


@pytest.fixture(scope="module")
def thin():
    """Sparse columns, one of them constant."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((90, 6)) < 0.4, rng.normal(size=(90, 6)) + 1.0, 0.0)
    X[:, 5] = 3.0
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 1)
    return X, y, rng.choice([0.0, 1.0, 2.0], 90)


def thin_blocks(X):
    """The last block is dense: what one of them is, all are made."""

    def cut(rows, block_info=None):
        last = block_info[0]["chunk-location"][0] == 2
        return rows if last else sp.csr_matrix(rows)

    return da.from_array(X, (35, 6)).map_blocks(cut, dtype=float, meta=np.empty((0, 0)))


def test_sparse_blocks_are_searched_as_the_local_class_does(double, thin):
    X, y, weight = thin
    local = FlockClassifier(**HOW).fit(sp.csr_matrix(X), y, weight)
    flock = FlockClassifier(**HOW).fit(thin_blocks(X), y, weight)
    assert_same(flock, local, X)


@pytest.mark.parametrize(
    "how",
    [
        {"effort": "fast"},
        {"alpha": 0.03, "cv": 3},
        {"effort": "fast", "loss": "huber"},
        {"alpha": 0.5, "cv": 2, "loss": "quantile", "quantile": 0.7},
    ],
)
def test_numbers_are_searched_as_in_memory(double, how):
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:180, [2, 3, 8]], y[:180]
    weight = np.random.default_rng(1).choice([0.0, 1.0, 2.0], len(y))
    how = {"n_estimators": 2, "random_state": 0, **how}
    local = FlockRegressor(**how).fit(X, y, weight)
    flock = FlockRegressor(**how).fit(*lazy(X, y, (80, 0, 1, 99)), weight)
    np.testing.assert_array_equal(flock.cv_results_["weight"], local.cv_results_["weight"])
    np.testing.assert_array_equal(flock.support_, local.support_)
    np.testing.assert_allclose(flock.predict(X), local.predict(X), rtol=1e-4)
    np.testing.assert_allclose(flock.model_.means, local.model_.means, rtol=1e-4)


# -- a gate that is given ------------------------------------------------------------------------


def assert_same_gate(flock, local, X):
    np.testing.assert_array_equal(flock.support_, local.support_)
    np.testing.assert_allclose(flock.member_coef_, local.member_coef_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(flock.fuser_.coef_, local.fuser_.coef_, rtol=1e-6, atol=1e-6)
    assert flock.fuser_.n_iter_ == local.fuser_.n_iter_ > 1
    np.testing.assert_allclose(flock.predict_proba(X), local.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(flock.coefficient_sizes_, local.coefficient_sizes_, atol=1e-6)
    np.testing.assert_allclose(flock.model_.means, local.model_.means, atol=1e-6)


@pytest.mark.parametrize("pool", ["linear", "log"])
@pytest.mark.parametrize("features", ["linear", "quadratic"])
@pytest.mark.parametrize("how", [{}, {"fit_intercept": False}, {"scale_features": False}])
@pytest.mark.filterwarnings("ignore:.*overshoots:sklearn.exceptions.ConvergenceWarning")
def test_a_gate_is_refined_as_by_the_local_class(few, pool, features, how):
    X, y = np.hstack([few[0], np.full((178, 1), 7.7)]), few[1]
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], len(y))
    how = {
        "n_estimators": 3,
        "max_iter": 15,
        "fuser": covey.Gate(pool, features, max_iter=25),
        "random_state": 0,
        **how,
    }
    local = SubsetEnsembleClassifier(**how).fit(X, y, weight)
    dX, dy = lazy(X, y, (3, 0, 120, 1, 54))
    flock = SubsetEnsembleClassifier(**how).fit(dX, dy, weight)
    assert_same_gate(flock, local, X)


def test_a_gate_of_numbers_is_refined_as_by_the_local_class(few):
    X, weight = few[0], np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], len(few[1]))
    y = np.abs(X[:, 0] - X[:, 0].mean()) + X[:, 1]
    how = {"n_estimators": 3, "max_iter": 15, "fuser": covey.Gate(max_iter=25), "random_state": 0}
    local = SubsetEnsembleRegressor(**how).fit(X, y, weight)
    dX, dy = lazy(X, y, (3, 0, 120, 1, 54))
    flock = SubsetEnsembleRegressor(**how).fit(dX, dy, weight)
    assert flock.fuser_.alpha_ == pytest.approx(local.fuser_.alpha_)
    np.testing.assert_allclose(flock.fuser_.coef_, local.fuser_.coef_, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(flock.predict(X), local.predict(X), rtol=1e-5)
    how["fuser"] = covey.Gate(alpha=1e9, max_iter=25)
    with pytest.warns(UserWarning, match="3 of 3 members predict the same"):
        SubsetEnsembleRegressor(**how).fit(dX, dy, weight)


@pytest.mark.parametrize("features", ["linear", "quadratic"])
def test_a_gate_sees_sparse_blocks_as_the_local_class_does(thin, features):
    X, y, weight = thin
    how = {"n_estimators": 2, "max_iter": 10, "random_state": 0}
    how["fuser"] = covey.Gate(features=features, max_iter=25)
    local = SubsetEnsembleClassifier(**how).fit(sp.csr_matrix(X), y, weight)
    flock = SubsetEnsembleClassifier(**how).fit(thin_blocks(X), y, weight)
    assert_same_gate(flock, local, sp.csr_matrix(X))


# -- what is lost, and what does not fit -----------------------------------------------------


def watch(monkeypatch, before):
    """Call ``before(table, name)`` before each reduction; the names of all of them."""
    each, names = Table._each, []

    def watched(table, method, *args):
        names.append(method.__name__)
        before(table, names[-1])
        return each(table, method, *args)

    monkeypatch.setattr(Table, "_each", watched)
    return names


def lose(table, number):
    _worker._STORES[_worker.THIS_PROCESS].drop((table._fit, number))


GATED = SubsetEnsembleClassifier(2, fuser=covey.Gate(max_iter=5), max_iter=4, random_state=0)


@pytest.mark.parametrize("flock", [FlockClassifier(**HOW, effort="fast"), GATED])
def test_a_block_lost_before_any_reduction_is_made_again(few, monkeypatch, flock):
    data = lazy(few[0][:, :2], few[1], (60, 60, 58))
    expected = clone(flock).fit(*data)
    names = watch(monkeypatch, lambda table, name: lose(table, 1))
    flock.fit(*data)
    np.testing.assert_array_equal(flock.member_coef_, expected.member_coef_)
    np.testing.assert_array_equal(
        flock.predict_proba(few[0][:, :2]), expected.predict_proba(few[0][:, :2])
    )
    assert {"extent", "value_and_gradient"} <= set(names)


def test_what_candidates_predict_is_predicted_again_by_a_block_that_was_lost(few, monkeypatch):
    data = lazy(few[0], few[1], (60, 60, 58))
    expected = FlockClassifier(**HOW).fit(*data)
    lost = []

    def losing(table, name):
        if name in ("fold_draws", "candidate_losses", "pick_losses", "importance"):
            lost.append(name)
            lose(table, 2)

    watch(monkeypatch, losing)
    flock = FlockClassifier(**HOW).fit(*data)
    assert len(lost) > 25
    np.testing.assert_array_equal(flock.cv_results_["weight"], expected.cv_results_["weight"])
    np.testing.assert_array_equal(flock.member_coef_, expected.member_coef_)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0, 40_000])
def test_a_search_beyond_memory_finds_the_same(few, spilled, monkeypatch, limit):
    data = lazy(few[0], few[1], (60, 60, 58))
    how = {**HOW, "effort": "fast"}
    expected = FlockClassifier(**how).fit(*data)
    buffer, n_files, folder = spilled(limit)
    written = []
    write = SpillBuffer._write
    monkeypatch.setattr(
        SpillBuffer, "_write", lambda *args: written.append(args[1]) or write(*args)
    )
    flock = FlockClassifier(**how).fit(*data)
    np.testing.assert_array_equal(flock.member_coef_, expected.member_coef_)
    # With some memory, blocks go to disk as they grow; what only reduces them writes nothing.
    assert max(n_files) == 3 if limit == 0 else 1 <= max(n_files) <= 3
    assert len(written) < 2 * len(n_files)
    assert len(buffer) == 0
    assert not [file for file in folder.rglob("*") if file.is_file()]


@pytest.mark.parametrize(
    "flock",
    [
        FlockClassifier(**HOW),
        SubsetEnsembleClassifier(2, fuser=covey.Gate(max_iter=30), max_iter=8, random_state=0),
    ],
)
def test_a_fit_that_is_interrupted_goes_on_from_its_checkpoint(few, monkeypatch, tmp_path, flock):
    data = lazy(few[0], few[1], (90, 88))
    names = watch(monkeypatch, lambda table, name: None)
    expected = clone(flock).fit(*data)
    n_reductions = len(names)
    monkeypatch.undo()

    def interrupted(table, name):
        if len(names) == int(0.8 * n_reductions):
            raise KeyboardInterrupt

    names = watch(monkeypatch, interrupted)
    flock.set_params(checkpoint=tmp_path / "fit.npz")
    with pytest.raises(KeyboardInterrupt):
        clone(flock).fit(*data)
    monkeypatch.undo()
    again = watch(monkeypatch, lambda table, name: None)
    found = clone(flock).fit(*data)
    assert len(again) < 0.6 * n_reductions
    np.testing.assert_array_equal(found.member_coef_, expected.member_coef_)
    with pytest.raises(ValueError, match="belongs to a fit of other data"):
        flock.fit(data[0] * 2, data[1])


# -- how it scales -------------------------------------------------------------------------------


def n_bytes(value):
    if isinstance(value, tuple | list):
        return sum(n_bytes(part) for part in value)
    return value.nbytes if isinstance(value, np.ndarray) else 0


@pytest.mark.parametrize("fuser", ["product", covey.Gate(max_iter=1)])
def test_a_step_is_two_round_trips_of_the_size_of_its_coefficients(few, monkeypatch, fuser):
    X, y = few
    each, trips = Table._each, []

    def weighed(table, *args):
        down = n_bytes([call[1] for call in table._queue]) + n_bytes(args)
        up = each(table, *args)
        trips.append((down, max((n_bytes(part) for part in up), default=0)))
        return up

    monkeypatch.setattr(Table, "_each", weighed)
    how = {"n_estimators": 1, "tol": -np.inf, "fuser": fuser, "random_state": 0}
    counts = []
    for n_steps in (10, 30):
        trips.clear()
        SubsetEnsembleClassifier(**how, max_iter=n_steps).fit(*lazy(X, y, (60, 60, 58)))
        counts.append(len(trips))
    assert counts[1] - counts[0] == 2 * 20
    of_a_candidate = 8 * 3 * (4 + 1)
    # Two candidates; beside coefficients there are a few numbers of each.
    middle = trips[20:50]
    assert max(max(trip) for trip in middle) <= 2 * of_a_candidate + 200


# -- long tables -----------------------------------------------------------------------------


@pytest.fixture
def long(monkeypatch):
    """600 rows, of which candidates are fitted on about 100, and then on 250."""
    monkeypatch.setattr(rungs, "_FEWEST", 100)
    monkeypatch.setattr(rungs, "_MOST", 250)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4)) * [1, 10, 1, 1] + [5, 0, 0, 0]
    y = (np.hypot(X[:, 0] - 5, X[:, 2]) + 0.3 * rng.normal(size=600) > 1.18).astype(int)
    y[:7] = 2
    X[:7, 3] += 6.0
    return X, y


@pytest.mark.parametrize("how", [{}, {"effort": "fast"}, {"max_terms": 8}], ids=str)
def test_a_long_table_is_searched_as_by_the_local_class(double, long, how):
    X, y = long
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0], len(y), p=[0.1, 0.3, 0.6])
    how = {"n_estimators": 2, "random_state": 0, **how}
    local = FlockClassifier(**how).fit(X, y, weight)
    sizes = set(local.cv_results_["n_rows"])
    assert max(sizes) < 350
    assert len(sizes) == (1 if "effort" in how else 2)
    dX, dy = lazy(X, y, (3, 297, 0, 300))
    flock = FlockClassifier(**how).fit(dX, dy, da.from_array(weight, 200))
    assert_same(flock, local, X)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_numbers_of_a_long_table_are_searched_as_by_the_local_class(double, long, loss):
    X, _ = long
    y = np.sin(X[:, 0]) + X[:, 2] * X[:, 3]
    how = {"n_estimators": 2, "random_state": 0, "loss": loss}
    local = FlockRegressor(**how).fit(X, y)
    flock = FlockRegressor(**how).fit(*lazy(X, y, (100, 500)))
    assert len(set(local.cv_results_["n_rows"])) == 2
    np.testing.assert_array_equal(flock.cv_results_["n_rows"], local.cv_results_["n_rows"])
    np.testing.assert_allclose(flock.predict(X), local.predict(X), atol=0.05)


def test_a_long_sparse_table_is_searched_as_by_the_local_class(double, long):
    X, y = long
    X = np.where(np.abs(X - X.mean(axis=0)) > X.std(axis=0), X, 0.0)
    how = {"n_estimators": 2, "random_state": 0, "alpha": 0.01}
    local = FlockClassifier(**how).fit(sp.csr_array(X), y)
    dX, dy = lazy(X, y, (200, 400))
    flock = FlockClassifier(**how).fit(dX.map_blocks(sp.csr_array), dy)
    np.testing.assert_array_equal(flock.cv_results_["n_rows"], local.cv_results_["n_rows"])
    np.testing.assert_allclose(
        flock.predict_proba(sp.csr_array(X)), local.predict_proba(X), atol=0.02
    )
