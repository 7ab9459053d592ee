"""Rows far outside of what was seen: they change no other row, and their own prediction little."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor

from covey import (
    FlockClassifier,
    FlockRegressor,
    FusionClassifier,
    FusionRegressor,
    Gate,
    SubsetEnsembleClassifier,
    SubsetEnsembleRegressor,
)
from covey.stacking import GeneralStackingClassifier, GeneralStackingRegressor

SIZE = {"n_estimators": 2, "cv": 2, "random_state": 0}
REGRESSORS = {
    "flock": lambda: FlockRegressor(**SIZE),
    "huber": lambda: FlockRegressor(loss="huber", **SIZE),
    "quantile": lambda: FlockRegressor(loss="quantile", quantile=0.8, **SIZE),
    "mixed": lambda: FlockRegressor(members=["linear", KNeighborsRegressor(9)], **SIZE),
    "subsets": lambda: SubsetEnsembleRegressor(3, random_state=0),
    "gate": lambda: SubsetEnsembleRegressor(3, fuser=Gate(alpha=0.1), random_state=0),
    "one member": lambda: SubsetEnsembleRegressor(
        1, flip_probability=0.0, fuser=Gate(alpha=1.0), random_state=0
    ),
    "fusion": lambda: FusionRegressor([LinearRegression(), KNeighborsRegressor(9)]),
    "learnt fusion": lambda: FusionRegressor(
        [LinearRegression(), KNeighborsRegressor(9)], "linear_stacking"
    ),
    "stack": lambda: GeneralStackingRegressor([LinearRegression(), KNeighborsRegressor(9)]),
}
CLASSIFIERS = {
    "flock": lambda: FlockClassifier(**SIZE),
    "subsets": lambda: SubsetEnsembleClassifier(3, random_state=0),
    "gate": lambda: SubsetEnsembleClassifier(3, fuser=Gate(alpha=0.1), random_state=0),
    "fusion": lambda: FusionClassifier([LogisticRegression(max_iter=2000), GaussianNB()]),
    "stack": lambda: GeneralStackingClassifier([LogisticRegression(max_iter=2000), GaussianNB()]),
}
FAR = 1000.0


def table(load):
    X, y = load(return_X_y=True)
    X = X[:, :8]
    return X[:300], y[:300], X[300:], y[300:]


def far_out(X, column=2):
    """X in which a column of one row in a hundred is a thousand times as large; these rows."""
    rows = np.arange(0, len(X), 100)
    X = X.copy()
    X[rows, column] *= FAR
    return X, rows


@pytest.fixture(scope="module")
def fitted():
    """Models by kind and name, each with what it is tested on; a fit serves all tests."""
    X, y, new, _ = table(load_diabetes)
    models = {("number", name): (make().fit(X, y), new) for name, make in REGRESSORS.items()}
    X, y, new, _ = table(load_breast_cancer)
    return models | {
        ("class", name): (make().fit(X, y), new) for name, make in CLASSIFIERS.items()
    }


def answers(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)[:, None]


EVERY = [*(("number", name) for name in REGRESSORS), *(("class", name) for name in CLASSIFIERS)]


@pytest.mark.parametrize("which", EVERY, ids=" ".join)
def test_far_rows_change_no_other_row_and_are_bounded_themselves(fitted, which):
    model, new = fitted[which]
    X, rows = far_out(new)
    others = np.setdiff1d(np.arange(len(new)), rows)
    found, before = answers(model, X), answers(model, new)
    np.testing.assert_allclose(found[others], before[others], rtol=1e-12, atol=1e-12)
    assert np.isfinite(found).all()
    if which[0] == "number":
        low, high = model.y_range_
        assert (found >= low).all()
        assert (found <= high).all()


@pytest.mark.parametrize("which", EVERY, ids=" ".join)
def test_a_fit_with_far_rows_stays_sane(fitted, which):
    kind, name = which
    load, models = (load_diabetes, REGRESSORS) if kind == "number" else (None, CLASSIFIERS)
    X, y, new, truth = table(load or load_breast_cancer)
    model = models[name]().fit(far_out(X)[0], y)
    clean, _ = fitted[which]
    if kind == "class":
        assert model.score(new, truth) > clean.score(new, truth) - 0.05
        return
    errors = [np.abs(one.predict(new) - truth).mean() for one in (model, clean)]
    assert errors[0] < 1.15 * errors[1]


@pytest.mark.parametrize("name", ["flock", "subsets"])
def test_flocks_take_what_is_beyond_reach_for_the_end_of_reach(fitted, name):
    for kind in ("number", "class"):
        model, new = fitted[kind, name]
        X = table(load_diabetes if kind == "number" else load_breast_cancer)[0]
        low, high = X.min(axis=0), X.max(axis=0)
        length = high - low
        far = new.copy()
        far[::2, 1] += 50 * length[1]
        far[1::2, 3] -= 50 * length[3]
        at_end = np.clip(far, low - length, high + length)
        assert (at_end != far).any()
        np.testing.assert_allclose(answers(model, far), answers(model, at_end), rtol=1e-12)
        for k, member in enumerate(model.estimators_):
            own = np.asarray(model._member_values(far))[:, k]
            alone = answers(member, far)
            np.testing.assert_allclose(alone, own.reshape(alone.shape), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            answers(model, sparse.csr_array(far)), answers(model, far), rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("n_rows", [40, 200, 5000])
def test_the_range_of_predictions_is_that_of_training_and_a_margin(n_rows):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n_rows, 2))
    y = 10 + 30 * X[:, 0]
    model = SubsetEnsembleRegressor(1, flip_probability=0.0, random_state=0).fit(X, y)
    margin = np.ptp(y) * max(0.05, min(1.0, 50 / n_rows))
    np.testing.assert_allclose(
        model.y_range_, [max(0.0, y.min() - margin), y.max() + margin], rtol=1e-12
    )
    assert model.predict([[1e6, 0.0]])[0] <= model.y_range_[1]


@pytest.mark.parametrize("name", ["flock", "subsets", "fusion", "stack", "mixed"])
def test_what_is_never_negative_is_never_predicted_or_bounded_below_zero(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = np.maximum(0.0, 3 * X[:, 0] + rng.normal(size=150))
    model = REGRESSORS[name]().fit(X, y)
    new = 3 * rng.normal(size=(300, 3))
    assert model.predict(new).min() == 0.0
    if hasattr(model, "calibration_"):
        assert model.predict_interval(new).min() == 0.0
    shifted = REGRESSORS[name]().fit(X, y - 1.0)
    assert shifted.predict(new).min() < -1.0


def test_a_warm_start_keeps_to_all_that_was_seen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + rng.normal(size=80)
    model = SubsetEnsembleRegressor(1, warm_start=True, random_state=0).fit(X, y)
    before, range_before = model.basis_.seen, model.y_range_
    model.set_params(n_estimators=2).fit(X / 2 + 3, y / 2 + 9)
    np.testing.assert_allclose(model.basis_.seen[0], before[0])
    assert (model.basis_.seen[1] > before[1]).all()
    assert model.y_range_[0] == range_before[0]
    assert model.y_range_[1] > range_before[1]
