"""MAPIE's conformal predictions around a flock."""

import numpy as np
import pytest

from tests.integrations.conftest import small

classification = pytest.importorskip("mapie.classification")
regression = pytest.importorskip("mapie.regression")


def test_sets_of_a_fitted_flock_are_those_of_its_own(classes):
    X, y = (part.to_numpy() for part in classes)
    flock = small().fit(X[::2], y[::2])
    outer = classification.SplitConformalClassifier(flock, confidence_level=0.9, prefit=True)
    outer.conformalize(X[1::2], y[1::2])
    labels, sets = outer.predict_set(X)
    assert labels.tolist() == flock.predict(X).tolist()
    own = flock.calibrate(X[1::2], y[1::2]).predict_set(X, level=0.9, by_class=False)
    theirs = sets[:, :, 0].copy()
    # Ours always hold what is predicted.
    theirs[np.arange(len(X)), np.searchsorted(flock.classes_, labels)] = True
    np.testing.assert_array_equal(own, theirs)


def test_folds_of_mapie_fit_flocks(classes, values, regressor):
    X, y = (part.to_numpy() for part in classes)
    outer = classification.CrossConformalClassifier(small(), confidence_level=0.9, cv=2)
    _, sets = outer.fit_conformalize(X, y).predict_set(X[:5])
    assert sets.shape == (5, 2, 1)
    X, y = (part.to_numpy() for part in values)
    outer = regression.SplitConformalRegressor(
        regressor.__class__(effort="fast", n_estimators=2, random_state=0),
        confidence_level=0.8,
        prefit=False,
    )
    outer.fit(X[:100], y[:100]).conformalize(X[100:], y[100:])
    _, bounds = outer.predict_interval(X[100:])
    within = (bounds[:, 0, 0] <= y[100:]) & (y[100:] <= bounds[:, 1, 0])
    assert within.mean() >= 0.8
