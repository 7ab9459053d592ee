"""Where a fit is computed: tensors, devices that are not there, memory that does not suffice."""

import gc
import pickle
import threading
import time

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import load_wine

from covey import FlockClassifier, SubsetEnsembleClassifier, SubsetSelector

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


def paper(**changes):
    return SubsetEnsembleClassifier.paper(n_estimators=3, max_iter=20, random_state=0, **changes)


def test_tensors_give_what_arrays_give(wine):
    X, y = wine
    here = paper().fit(X, y)
    there = paper().fit(torch.asarray(X), torch.asarray(y))
    np.testing.assert_array_equal(here.support_, there.support_)
    np.testing.assert_allclose(here.member_coef_, there.member_coef_, atol=1e-10)
    assert isinstance(there.member_coef_, np.ndarray)
    assert there.score(torch.asarray(X), torch.asarray(y)) == here.score(X, y)
    pickle.loads(pickle.dumps(there))


def test_warm_starts_go_on_elsewhere(wine):
    X, y = wine
    whole = paper(select_size=None).fit(X, y)
    grown = paper(select_size=None, warm_start=True).set_params(n_estimators=2)
    grown.fit(torch.asarray(X), y).set_params(n_estimators=3).fit(torch.asarray(X), y)
    np.testing.assert_allclose(whole.member_coef_, grown.member_coef_, atol=1e-10)


def test_tensors_come_back_where_scikit_learn_dispatches(wine):
    pytest.importorskip("scipy", minversion="1.14")  # or scikit-learn does not dispatch
    X, y = wine
    flock = paper().fit(X, y)
    rows = torch.asarray(X[:5])
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        assert isinstance(getattr(flock, method)(rows), np.ndarray)
        with config_context(array_api_dispatch=True):
            found = getattr(flock, method)(rows)
        assert isinstance(found, torch.Tensor)
        np.testing.assert_array_equal(found.numpy(), getattr(flock, method)(X[:5]))
    words = paper().fit(X, np.array(["a", "b", "c"])[y])
    with config_context(array_api_dispatch=True):
        assert words.predict(rows).tolist() == ["a"] * 5


def test_tensors_of_the_cpu_can_be_searched(wine):
    X, y = wine
    how = {"effort": "fast", "random_state": 0}
    here = FlockClassifier(**how).fit(X, y)
    there = FlockClassifier(**how).fit(torch.asarray(X), torch.asarray(y))
    np.testing.assert_array_equal(here.support_, there.support_)
    np.testing.assert_allclose(here.predict_proba(X), there.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize(
    ("device", "message"),
    [
        pytest.param(
            "cuda",
            "device='cuda' is not available",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="it is there"),
        ),
        ("cuda:99", "device='cuda:99' is not available"),
        ("gpu", "the name of a device of PyTorch such as 'cuda' or 'cuda:1', got 'gpu'"),
        (["cuda"], "the name of a device of PyTorch"),
        ("meta", "device must be 'cpu' or 'cuda', got 'meta'"),
    ],
)
def test_devices_that_are_not_there_are_refused(wine, device, message):
    with pytest.raises(ValueError, match=message):
        paper(device=device).fit(*wine)


def test_tensors_on_several_devices_are_refused(wine):
    X, y = wine
    with pytest.raises(ValueError, match=r"X lies on meta and y on cpu; move them to one device"):
        paper().fit(torch.asarray(X).to("meta"), torch.asarray(y))
    with pytest.raises(ValueError, match=r"X lies on meta, but device='cpu'; leave device out"):
        paper(device="cpu").fit(torch.asarray(X).to("meta"), y)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64"])
def test_numbers_that_cannot_be_used_are_refused(wine, dtype):
    X, y = wine
    with pytest.raises(ValueError, match=f"X has dtype {dtype}, .*; give float32 or float64"):
        paper().fit(torch.asarray(X).to(getattr(torch, dtype)), y)


def test_tensors_that_cannot_be_read_are_refused(wine):
    X, y = wine
    with pytest.raises(ValueError, match="X is a sparse tensor; give a matrix of scipy.sparse"):
        paper().fit(torch.asarray(X).to_sparse(), y)
    with pytest.raises(ValueError, match="sample_weight has dtype bfloat16"):
        paper().fit(torch.asarray(X), y, torch.ones(len(y), dtype=torch.bfloat16))
    with pytest.raises(ValueError, match="X lies on meta, where nothing can be computed"):
        paper().fit(torch.asarray(X).to("meta"), y)
    flock = paper(device="cpu:0").fit(torch.asarray(X), y)
    with pytest.raises(ValueError, match="X has dtype bfloat16"):
        flock.predict(torch.asarray(X).to(torch.bfloat16))


def test_a_rate_that_diverges_is_noticed_elsewhere_too(wine):
    X, y = wine
    for tol in (-np.inf, 0.0):
        with pytest.raises(ValueError, match="learning_rate=1e.200 lets the training"):
            paper(learning_rate=1e200, tol=tol).fit(torch.asarray(X), y)


def test_fits_elsewhere_leave_nothing_behind(wine):
    X, y = wine
    gc.disable()
    try:
        before = threading.active_count()
        for _ in range(20):
            paper(tol=-np.inf).fit(torch.asarray(X), y)
        for _ in range(50):
            if threading.active_count() <= before + 4:
                break
            time.sleep(0.1)
        assert threading.active_count() <= before + 4, "threads of fits long over"
    finally:
        gc.enable()


def test_too_little_memory_is_noticed_before_the_fit_starts(wine, monkeypatch):
    X, y = wine
    monkeypatch.setattr("covey._devices._host_bytes", lambda: 30_000)
    with pytest.raises(MemoryError, match=r"178 x 13 with 3 classes needs about .* GB are free;"):
        paper().fit(X, y)
    monkeypatch.setattr("covey._devices._host_bytes", lambda: None)
    paper().fit(X, y)


def test_newton_is_for_a_moderate_number_of_features(wine):
    y = wine[1]
    X = np.random.default_rng(0).standard_normal((len(y), 2001))
    for fuser in ("product", "gate"):
        with pytest.raises(ValueError, match="X has 2001 of them, more than 2000; use 'auto'"):
            SubsetEnsembleClassifier(learning_rate="newton", fuser=fuser).fit(X, y)
    selector = SubsetSelector(SubsetEnsembleClassifier(learning_rate="newton", fuser="product"))
    with pytest.raises(ValueError, match="X has 2002 of them, more than 2000; use 'auto'"):
        selector.fit(X[:, :1001], y)
