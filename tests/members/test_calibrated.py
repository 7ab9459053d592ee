"""Sets of classes, intervals and rows for a person: they are right as often as they say."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import NotFittedError

from covey import FlockClassifier, FlockRegressor
from covey._state import equal
from covey.members._calibrated import IntervalCalibration, SetCalibration


def classes(n_rows, seed, **how):
    """Draws from one population with classes that overlap; the seed draws rows only."""
    how = {"n_classes": 3, "weights": [0.5, 0.3, 0.2], "flip_y": 0.1, **how}
    X, y = make_classification(6_000, 6, n_informative=4, random_state=0, **how)
    rows = np.random.default_rng(seed).choice(6_000, n_rows, replace=False)
    return X[rows], np.array(["a", "b", "c"])[y[rows]]


def values(n_rows, seed):
    """Draws of numbers whose errors are skewed."""
    X, y = make_regression(4_000, 5, random_state=0)
    y = y + 20 * np.random.default_rng(1).exponential(size=4_000)
    rows = np.random.default_rng(seed).choice(4_000, n_rows, replace=False)
    return X[rows], y[rows]


def fast(**how):
    return FlockClassifier(effort="fast", n_estimators=2, random_state=0, **how)


def covered(flock, sets, y):
    return sets[np.arange(len(y)), np.searchsorted(flock.classes_, y)]


@pytest.fixture(scope="module")
def searched():
    X, y = classes(300, 1)
    return FlockClassifier(n_estimators=2, cv=3, random_state=0).fit(X, y)


# -- coverage -----------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.8, 0.9])
def test_after_calibrate_sets_hold_the_class_as_often_as_the_level_says(level):
    flock = fast().fit(*classes(100, 0))
    X_test, y_test = classes(3_000, 99)
    shares, least = [], []
    for seed in range(30):
        flock.calibrate(*classes(99, seed))
        shares.append(
            covered(flock, flock.predict_set(X_test, level, by_class=False), y_test).mean()
        )
        sets = flock.predict_set(X_test, level)
        within = covered(flock, sets, y_test)
        least.append([within[y_test == label].mean() for label in flock.classes_])
    # The mean over draws of the rows is the level, up to 1 / (n + 1); its error is below .01.
    assert level - 0.02 < np.mean(shares) < level + 0.03
    assert np.min(np.mean(least, axis=0)) > level - 0.03


def test_sets_of_a_search_hold_the_class_about_as_often_as_the_level_says(searched):
    X, y = classes(3_000, 99)
    shares = {level: covered(searched, searched.predict_set(X, level), y) for level in (0.8, 0.9)}
    assert searched.score(X, y) < 0.79
    assert all(level - 0.05 < within.mean() < level + 0.05 for level, within in shares.items())


def test_sets_are_nested_and_never_empty_and_hold_what_is_predicted(searched):
    X, _ = classes(500, 98)
    smaller, larger = searched.predict_set(X, 0.5), searched.predict_set(X, 0.95)
    assert (smaller <= larger).all()
    assert (smaller.sum(axis=1) >= 1).all()
    assert covered(searched, smaller, searched.predict(X)).all()
    assert larger.sum(axis=1).mean() > smaller.sum(axis=1).mean() + 0.3


def test_intervals_hold_the_number_as_often_as_the_level_says():
    X_test, y_test = values(2_000, 99)
    flock = FlockRegressor(effort="fast", n_estimators=2, random_state=0).fit(*values(100, 0))
    shares = []
    for seed in range(30):
        low, high = flock.calibrate(*values(99, seed)).predict_interval(X_test, 0.8).T
        shares.append([(y_test < low).mean(), (y_test > high).mean()])
    assert np.all(np.abs(np.mean(shares, axis=0) - 0.1) < 0.02)  # as much on either side
    searched = FlockRegressor(n_estimators=2, cv=3, random_state=0).fit(*values(150, 1))
    low, high = searched.predict_interval(X_test, level=0.9).T
    assert 0.84 < ((low <= y_test) & (y_test <= high)).mean() < 0.96


def test_a_quantile_is_no_middle_and_its_interval_holds_as_much():
    X, y = values(150, 0)
    flock = FlockRegressor(effort="fast", loss="quantile", quantile=0.9, random_state=0)
    flock.fit(X, y).calibrate(*values(400, 1))
    X, y = values(1_000, 99)
    low, high = flock.predict_interval(X, 0.8).T
    assert 0.74 < ((low <= y) & (y <= high)).mean() < 0.86
    assert (flock.predict(X) - low).mean() > 2 * (high - flock.predict(X)).mean()


def test_costs_of_classes_do_not_change_what_is_promised_of_rows():
    X, y = classes(240, 3, weights=[0.8, 0.1, 0.1])
    flock = FlockClassifier(n_estimators=2, cv=3, class_weight={"a": 1, "b": 40, "c": 40})
    flock.set_params(random_state=0).fit(X, y)
    np.testing.assert_allclose(flock.calibration_.weight, flock.calibration_.weight[0])
    X, y = classes(3_000, 99, weights=[0.8, 0.1, 0.1])
    assert 0.82 < covered(flock, flock.predict_set(X, 0.9), y).mean() < 0.97


def test_rows_that_are_held_out_several_times_count_once():
    X, y = classes(120, 4)
    flock = FlockClassifier(n_estimators=2, cv=2, random_state=0).fit(X, y)
    assert len(flock.calibration_.weight) == 3 * 120  # folds are drawn three times
    np.testing.assert_allclose(flock.calibration_.weight.sum(), 120)
    with pytest.warns(UserWarning, match="needs 999 rows"):
        assert flock.predict_set(X[:1], 0.999).all()  # which 120 rows do not bear


def test_a_mixed_flock_is_calibrated_by_what_it_predicts_itself():
    X, y = classes(200, 5)
    flock = FlockClassifier(
        members=["linear", "extra_trees"], n_estimators=2, cv=2, random_state=0
    ).fit(X, y)
    found = flock.out_of_fold_
    codes = np.searchsorted(flock.classes_, y[found.rows])
    own = found.predictions[np.arange(len(codes)), codes]
    # Folds are drawn twice, so that scores are those of two halves of the mean.
    known = flock.calibration_
    of_truth = known.probabilities[np.arange(len(known.label)), known.label]
    means = of_truth @ flock.calibration_.weight / 200
    np.testing.assert_allclose(means, own.mean())
    X, y = classes(2_000, 99)
    assert 0.85 < covered(flock, flock.predict_set(X, 0.9), y).mean() < 0.97


# -- a person is asked --------------------------------------------------------------------------


def test_the_share_that_is_left_and_the_accuracy_of_the_rest_are_as_said(searched):
    X, y = classes(3_000, 99)
    before = 0.0
    for share in (0.0, 0.1, 0.3, 0.6):
        said, answers = searched.rejection(share), searched.predict(X, reject=share)
        assert said.reject <= share
        assert abs(answers.mask.mean() - share) < 0.06
        assert abs((answers == y).mean() - said.accuracy) < 0.06
        assert before <= said.accuracy
        assert said.low < said.accuracy
        before = said.accuracy
    assert before > searched.score(X, y) + 0.1


def test_the_share_that_is_left_does_not_depend_on_the_unit_of_weights():
    """Three of ten weights of 0.1 are more than 0.3 of their sum in floats."""
    codes, sure = np.zeros(10, dtype=int), 0.5 + np.arange(10) / 20
    found = [
        SetCalibration.of("out of fold", codes, np.stack([sure, 1 - sure], axis=1), weight)
        .rejection(codes, 0.3, None, 0.95)
        .threshold
        for weight in (np.ones(10), np.full(10, 0.1))
    ]
    assert found == [sure[3]] * 2


def test_what_is_kept_does_not_tell_in_which_order_rows_came():
    rng = np.random.default_rng(0)
    codes, predicted = rng.integers(0, 3, 40), rng.dirichlet(np.ones(3), 40).round(1)
    y, weight, order = rng.normal(size=40).round(1), rng.integers(1, 3, 40), rng.permutation(40)
    for cls, rows in (
        (SetCalibration, (codes, predicted, weight)),
        (IntervalCalibration, (y, predicted[:, 0], weight)),
    ):
        one, other = cls.of("given rows", *rows), cls.of("given rows", *(r[order] for r in rows))
        assert equal(one, other)


def test_classes_of_too_few_rows_are_told_with_how_many_it_takes():
    """0.9 over 0.1 is more than 9 in floats."""
    codes = np.repeat([0, 1], [9, 8])
    kept = SetCalibration.of("given rows", codes, np.eye(2)[codes], np.ones(17))
    said = kept.always_in_sets(0.9, np.array(["a", "b"]))
    assert said == (
        "A level of 0.9 needs 9 rows held out of a class; 'b' has 8, so every set holds it."
    )
    assert kept.always_in_sets(0.8, np.array(["a", "b"])) is None


def test_without_rejection_labels_are_those_of_predict(searched):
    X, _ = classes(200, 98)
    answers = searched.predict(X, reject=0)
    assert not answers.mask.any()
    assert answers.data.tolist() == searched.predict(X).tolist()
    least_sure = searched.predict_proba(X).max(axis=1).argsort()[:10]
    left = searched.predict(X, reject=0.3)
    assert left.mask[least_sure].all()
    assert (left.filled("ask")[least_sure] == "ask").all()


def test_an_accuracy_that_is_promised_is_kept():
    flock = fast().fit(*classes(150, 0))
    X_test, y_test = classes(4_000, 99)
    kept, shares = [], []
    for seed in range(20):
        found = flock.calibrate(*classes(400, seed)).rejection(accuracy=0.68)
        kept.append((flock.predict(X_test, reject=found.reject) == y_test).mean() >= 0.68)
        shares.append(found.reject)
    assert np.mean(kept) >= 0.9  # 95 % of such promises hold
    assert 0.05 < np.mean(shares) < 0.9
    with pytest.raises(ValueError, match=r"accuracy=0.999 cannot be promised.*the most is 0\.\d+"):
        flock.rejection(accuracy=0.999)


# -- what comes in ------------------------------------------------------------------------------


def test_a_fit_without_folds_is_refused_until_it_is_calibrated():
    X, y = classes(60, 0)
    flock = fast().fit(X, y)
    for ask in (flock.predict_set, lambda X: flock.predict(X, reject=0.1)):
        with pytest.raises(ValueError, match="fitted without folds .* call calibrate"):
            ask(X)
    assert flock.calibrate(*classes(60, 1)) is flock
    assert flock.calibration_.source == "given rows"
    flock.predict_set(X)
    flock.fit(X, y)  # another fit forgets
    with pytest.raises(ValueError, match="fitted without folds"):
        flock.predict_set(X)
    with pytest.raises(NotFittedError):
        fast().calibrate(X, y)
    with pytest.raises(NotFittedError):
        fast().predict_set(X)


@pytest.mark.parametrize("level", [0, 1, -0.5, 90, np.nan, True, "high"])
def test_a_level_that_is_no_share_is_refused_by_name(searched, level):
    with pytest.raises((TypeError, ValueError), match="level"):
        searched.predict_set(classes(5, 0)[0], level)


def test_shares_and_accuracies_that_make_no_sense_are_refused(searched):
    for how in ({"reject": 1}, {"reject": -0.1}, {"accuracy": 1.0}, {"accuracy": 0}):
        with pytest.raises(ValueError, match=next(iter(how))):
            searched.rejection(**how)
    for how in ({}, {"reject": 0.1, "accuracy": 0.9}):
        with pytest.raises(ValueError, match="one of the two"):
            searched.rejection(**how)
    with pytest.raises(ValueError, match="confidence"):
        searched.rejection(0.1, confidence=95)


def test_rows_to_calibrate_by_are_checked():
    X, y = classes(60, 0)
    flock = fast().fit(X, y)
    with pytest.raises(ValueError, match="y holds the label 'd', .* none of the classes a, b, c"):
        flock.calibrate(X, np.where(y == "c", "d", y))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        flock.calibrate(X, y[1:])
    with pytest.raises(ValueError, match="infinity"):
        flock.calibrate(np.where(X > 1, np.inf, X), y)
    weight = np.r_[np.ones(40), np.zeros(20)]
    some = flock.calibrate(X, y, weight).calibration_
    assert len(some.weight) == 40
    for name, found in vars(flock.calibrate(X[:40], y[:40]).calibration_).items():
        np.testing.assert_array_equal(found, getattr(some, name))


def test_every_kind_of_table_is_taken(searched):
    X, y = classes(50, 2)
    wanted = searched.predict_set(X, 0.8)
    np.testing.assert_array_equal(searched.predict_set(sparse.csr_matrix(X), 0.8), wanted)
    frame = pd.DataFrame(X, columns=list("uvwxyz"))
    named = fast().fit(frame, y).calibrate(frame, pd.Series(y))
    assert named.predict_set(frame, 0.8).shape == (50, 3)
    far = searched.predict_set(np.full((2, 6), 1e300), 0.8)
    assert far.any(axis=1).all()


def test_blocks_of_a_cluster_give_the_same():
    dask = pytest.importorskip("dask.array")
    X, y = classes(60, 0)
    flock = fast().fit(X, y).calibrate(*classes(60, 1))
    rows = dask.from_array(X, chunks=(25, 6))
    np.testing.assert_array_equal(
        flock.predict_set(rows, 0.8).compute(), flock.predict_set(X, 0.8)
    )
    answers = flock.predict(rows, reject=0.3).compute()
    np.testing.assert_array_equal(answers.mask, flock.predict(X, reject=0.3).mask)
    with pytest.raises(TypeError, match="calibrate takes rows in memory; give X.compute"):
        flock.calibrate(rows, y)


def test_rows_that_others_held_out_can_take_the_place_of_the_search_s():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.where(X[:, 0] > 0, "b", "a")
    flock = FlockClassifier(effort="fast", random_state=0).fit(X, y)
    predicted = rng.dirichlet([1, 1], 90)
    flock._calibrate_out_of_fold(y, predicted)
    right = flock.classes_[predicted.argmax(axis=1)] == y
    assert flock.rejection(0.0).accuracy == pytest.approx(right.mean())
    numbers = FlockRegressor(effort="fast", random_state=0).fit(X, X[:, 0])
    numbers._calibrate_out_of_fold(X[:, 0], X[:, 0] + 2.0)
    bounds = numbers.predict_interval(X, 0.8) - numbers.predict(X)[:, None]
    np.testing.assert_allclose(bounds, -2.0)
