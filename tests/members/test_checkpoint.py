"""Fits that are killed, and go on."""

import multiprocessing
import os
import signal
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold

from covey import FlockClassifier, Gate, SubsetEnsembleClassifier
from covey._checkpoint import Journal

WINE = load_wine(return_X_y=True)
SMALL = {"n_estimators": 3, "effort": "fast"}


def flock(**parameters):
    kind = SubsetEnsembleClassifier if "fuser" in parameters else FlockClassifier
    return kind(**{"random_state": 0, **parameters})


def assert_same(one, other):
    assert_array_equal(one.member_coef_, other.member_coef_)
    assert_array_equal(one.support_, other.support_)
    assert_array_equal(one.n_iter_, other.n_iter_)
    assert_array_equal(one.predict_proba(WINE[0]), other.predict_proba(WINE[0]))
    histories = (getattr(flock, "history_", []) for flock in (one, other))
    for past, other_past in zip(*histories, strict=True):
        assert past.keys() == other_past.keys()
        for name in past:
            assert_array_equal(past[name], other_past[name])


class KilledError(Exception):
    pass


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_estimators": 2, "cv": 2, "alpha": 0.01},
        {"effort": "fast"},
        {"n_estimators": 4, "fuser": "product", "flip_probability": 0.1},
        {"n_estimators": 3, "fuser": "product", "loss": "focal", "reweighting": "adaboost"},
        {"n_estimators": 3, "fuser": Gate(max_iter=30)},
        {
            "n_estimators": 3,
            "fuser": "product",
            "learning_rate": "newton",
            "flip_probability": 0.1,
            "max_iter": 15,
        },
    ],
)
def test_every_way_of_fitting_goes_on_to_the_same_bits(tmp_path, monkeypatch, parameters):
    whole = flock(**parameters).fit(*WINE)
    path = tmp_path / "fit.checkpoint"
    assert_same(flock(**parameters, checkpoint=path).fit(*WINE), whole)
    n_steps = int(np.load(path)["n_steps"])
    count = Journal.count
    for share in (0.1, 0.9):
        path.unlink()

        def dying(self, snapshot, last=share * n_steps):
            count(self, snapshot)
            if self.n_steps >= last:
                raise KilledError

        with monkeypatch.context() as patch:
            patch.setattr(Journal, "count", dying)
            with pytest.raises(KilledError):
                flock(**parameters, checkpoint=path).fit(*WINE)
        assert_same(flock(**parameters, checkpoint=path).fit(*WINE), whole)


def _fit_and_count(path, n_done):
    count = Journal.count

    def counting(self, snapshot):
        count(self, snapshot)
        n_done.value = self.n_steps

    Journal.count = counting
    flock(**SMALL, checkpoint=path).fit(*WINE)


@pytest.mark.slow
def test_twenty_kills_at_random_moments(tmp_path):
    """kill -9 at any moment: the file is whole, little is repeated, the result is the same."""
    path = tmp_path / "fit.checkpoint"
    started = time.perf_counter()
    whole = flock(**SMALL, checkpoint=path).fit(*WINE)
    seconds = time.perf_counter() - started
    rng = np.random.default_rng(0)
    processes = multiprocessing.get_context("fork")
    for _ in range(20):
        path.unlink(missing_ok=True)
        n_done = processes.Value("q", 0, lock=False)
        child = processes.Process(target=_fit_and_count, args=(path, n_done))
        child.start()
        time.sleep(rng.uniform(0.1, 0.9) * seconds)
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        if path.exists():
            kept = int(np.load(path)["n_steps"])
            # The step under way when the process died has not been counted.
            assert n_done.value - kept <= 0.1 * n_done.value + 1
        assert_same(flock(**SMALL, checkpoint=path).fit(*WINE), whole)


def test_without_a_seed_the_resumed_fit_has_that_of_the_first(tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    parameters = {"n_estimators": 2, "fuser": "product", "random_state": None}
    first = flock(**parameters, checkpoint=path).fit(*WINE)
    assert_same(flock(**parameters, checkpoint=path).fit(*WINE), first)


def test_a_splitter_that_draws_anew_is_asked_once(tmp_path):
    path = tmp_path / "fit.checkpoint"
    parameters = {"n_estimators": 2, "alpha": 0.01, "cv": StratifiedKFold(3, shuffle=True)}
    first = flock(**parameters, checkpoint=path).fit(*WINE)
    assert_same(flock(**parameters, checkpoint=path).fit(*WINE), first)


def test_a_checkpoint_of_other_data_or_parameters_is_refused(tmp_path):
    path = tmp_path / "fit.checkpoint"
    X, y = WINE
    parameters = {"n_estimators": 2, "fuser": "product", "checkpoint": path}
    flock(**parameters).fit(X, y)
    changed = X.copy()
    changed[3, 2] += 1e-9
    for other, data, weight in (
        (flock(**parameters), (changed, y), None),
        (flock(**parameters), (X, (y + 1) % 3), None),
        (flock(**parameters), (X, y), np.arange(1, len(y) + 1)),
        (flock(**{**parameters, "n_estimators": 3}), (X, y), None),
        (flock(**{**parameters, "random_state": 1}), (X, y), None),
    ):
        with pytest.raises(ValueError, match="other data, with other parameters"):
            other.fit(*data, sample_weight=weight)
    # What cannot change the result may differ.
    flock(**parameters, n_jobs=2, verbose=0).fit(X, y)
    with pytest.raises(ValueError, match="use one of them"):
        flock(**parameters, warm_start=True).fit(X, y)


def test_a_fitted_flock_holds_no_journal(tmp_path):
    fitted = flock(n_estimators=2, fuser="product", checkpoint=tmp_path / "x").fit(*WINE)
    assert not any(isinstance(value, Journal) for value in vars(fitted).values())
