"""A flock that nobody reads is the average of what all rows and each fold have made of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_friedman1

import covey
from covey import FlockClassifier, FlockRegressor


@pytest.fixture(scope="module")
def table():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:400, :8], y[:400]


@pytest.fixture(scope="module")
def one(table):
    return FlockClassifier(averaged=False, cv=3, random_state=0).fit(*table)


@pytest.fixture(scope="module")
def averaged(table):
    return FlockClassifier(averaged=True, cv=3, random_state=0).fit(*table)


def test_it_predicts_the_mean_of_the_flocks_of_the_folds_and_of_all_rows(table, one, averaged):
    X, _ = table
    numbers, held_out = one.out_of_fold_["rows"], one.out_of_fold_["predictions"]
    mean = 4 * averaged.predict_proba(X[numbers]) - one.predict_proba(X[numbers])
    # Less what the fold without a row predicts of it, two folds with it are left.
    of_two = (mean - held_out) / 2
    # But for members that hardly matter, of which one flock alone keeps fewer.
    assert (of_two > -0.01).all()
    assert_allclose(of_two.sum(axis=1), 1.0, atol=1e-9)
    assert len(averaged.group_weights_) == 4 * len(one.group_weights_)
    assert_allclose(averaged.out_of_fold_["predictions"], held_out)


def test_a_file_keeps_it(table, averaged, tmp_path):
    X, _ = table
    covey.save(averaged, tmp_path / "flock.covey")
    again = covey.load(tmp_path / "flock.covey")
    np.testing.assert_array_equal(again.predict_proba(X), averaged.predict_proba(X))
    assert again.averaged is True


def test_numbers_are_the_mean_of_numbers():
    X, y = load_diabetes(return_X_y=True)
    how = {"n_estimators": 2, "alpha": 0.1, "cv": 2, "random_state": 0}
    one, averaged = (FlockRegressor(averaged=which, **how).fit(X, y) for which in (False, True))
    rows = one.out_of_fold_["rows"]
    twice = 3 * averaged.predict(X[rows]) - one.predict(X[rows])
    other = twice - one.out_of_fold_["predictions"]
    # What is left is the flock of the fold that had the row: nearer to it than the one without.
    errors = [np.mean((found - y[rows]) ** 2) for found in (other, twice - other)]
    assert errors[0] < errors[1]


def test_what_can_be_read_stays_one_flock():
    X, y = load_iris(return_X_y=True)
    found = FlockClassifier(random_state=0).fit(X, y)
    alone = FlockClassifier(averaged=False, random_state=0).fit(X, y)
    assert found.n_terms_ == alone.n_terms_ <= 150
    limited = FlockRegressor(max_features=3, random_state=0).fit(X[:, :3], X[:, 3])
    alone = FlockRegressor(max_features=3, averaged=False, random_state=0).fit(X[:, :3], X[:, 3])
    assert limited.n_terms_ == alone.n_terms_


@pytest.mark.parametrize(
    ("kind", "n_rows", "averages"),
    [(FlockClassifier, 240, True), (FlockRegressor, 199, False), (FlockRegressor, 240, True)],
)
def test_by_default_flocks_of_enough_rows_are_averaged(kind, n_rows, averages):
    X, y = make_friedman1(240, 20, random_state=0)
    if kind is FlockClassifier:
        y = y > np.median(y)
    X, y = X[:n_rows], y[:n_rows]
    how = {"n_estimators": 2, "alpha": 1e-4, "cv": 2, "random_state": 0}
    found, one = (kind(averaged=which, **how).fit(X, y) for which in ("auto", False))
    assert one.n_terms_ > 150
    assert (found.n_estimators_ > one.n_estimators_) == averages


@pytest.mark.parametrize("name", ["max_terms", "max_members"])
def test_a_limit_and_an_average_contradict_each_other(table, name):
    with pytest.raises(ValueError, match=f"{name}=9 bounds one flock, and averaged=True"):
        FlockClassifier(averaged=True, **{name: 9}).fit(*table)


def test_other_words_are_refused(table):
    with pytest.raises(ValueError, match="averaged must be 'auto', True or False, got 'yes'"):
        FlockClassifier(averaged="yes").fit(*table)
