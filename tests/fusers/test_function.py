"""Functions of users as fusers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import covey
from covey import FusionClassifier, FusionRegressor, Predictions
from covey.fusers import FunctionRule
from covey.fusers._fixed import make_fuser
from covey.utils.estimator_checks import check_fuser


def quadratic(values):
    return np.sqrt(np.nanmean(values**2, axis=1))


def mean(values):
    return np.nanmean(values, axis=1)


def middle(values):
    return np.nanmedian(values, axis=1)


def test_a_function_keeps_the_contract_of_fusers():
    check_fuser(FunctionRule(quadratic))


def test_a_function_that_is_a_rule_fuses_as_the_rule():
    rng = np.random.default_rng(0)
    P = rng.dirichlet([1, 1, 1], (50, 4))
    P[rng.random((50, 4)) < 0.3] = np.nan
    P[7] = np.nan  # nobody knows this sample
    assert_allclose(covey.fuse(P, mean), covey.fuse(P, "mean"))
    numbers = Predictions(np.where(np.isnan(P[:, :, 0]), np.nan, 9 * P[:, :, 1]), kind="value")
    assert_allclose(covey.fuse(numbers, middle), covey.fuse(numbers, "median"))
    # Blocks change nothing, and what a function does to its numbers stays with it.
    many = rng.dirichlet([1, 1, 1], (9000, 4))
    before = many.copy()
    fused = covey.fuse(many, lambda p: np.multiply(p, 2, out=p).sum(axis=1))
    assert_allclose(fused, many.mean(axis=1))
    assert_array_equal(many, before)


def test_estimators_take_functions():
    X, y = load_iris(return_X_y=True)
    members = [GaussianNB(), DecisionTreeClassifier(max_depth=2)]
    fused = clone(FusionClassifier(members, mean)).fit(X, y)
    plain = FusionClassifier(members, "mean").fit(X, y)
    assert_allclose(fused.predict_proba(X), plain.predict_proba(X))
    assert_allclose(fused.staged_score(X, y), plain.staged_score(X, y))
    assert_allclose(fused.explain_fusion(X).sum(axis=1), 1.0)
    flock = covey.SubsetEnsembleClassifier(2, fuser=quadratic, max_iter=5, random_state=0)
    assert flock.fit(X, y).predict_proba(X).shape == (150, 3)
    votes = FusionClassifier([RidgeClassifier(), GaussianNB()], mean).fit(X, y)
    assert set(np.unique(votes.predict_proba(X))) <= {0.0, 0.5, 1.0}
    X, y = load_diabetes(return_X_y=True)
    numbers = FusionRegressor([Ridge(), LinearRegression()], middle).fit(X, y)
    assert_allclose(numbers.predict(X), numbers.member_predictions(X).mean(axis=1))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda p: p, "must turn an array of shape .4, 2, 3. into one of shape .4, 3., got"),
        (lambda p: -p.mean(axis=1), "numbers that are not negative"),
        (lambda p: 0 * p.mean(axis=1), "not all zero for any sample"),
        (lambda p: p.mean(axis=1) / 0, "gives NaN or infinity"),
        (lambda p, q: p, "cannot fuse an array of shape .4, 2, 3.: .* missing 1"),
        (covey.fusers.Mean, r"must be an object and not a class; write Mean\(...\)"),
    ],
)
def test_bad_functions_get_one_sentence(function, message):
    with pytest.raises(ValueError, match=message):
        covey.fuse(np.full((4, 2, 3), 1 / 3), function)


def test_what_does_not_go_with_a_function_gets_one_sentence(tmp_path):
    with pytest.raises(ValueError, match="weights cannot be set on a function"):
        covey.fuse(np.full((4, 2, 3), 1 / 3), mean, weights=[1, 2])
    with pytest.raises(ValueError, match="function must be callable, got 3"):
        covey.fuse(np.full((4, 2, 3), 1 / 3), FunctionRule(3))
    with pytest.raises(ValueError, match="a Fuser or a function, got 3"):
        make_fuser(3)
    X, y = load_iris(return_X_y=True)
    for model in (FusionClassifier([GaussianNB()], mean), FusionClassifier([GaussianNB()], "ola")):
        if model.fuser == "ola":
            model.set_params(fuser=make_fuser("ola", metric=lambda u, v: abs(u - v).sum()))
        for one in (model, clone(model).fit(X, y)):
            with pytest.raises(Exception, match="is a function"):
                covey.save(one, tmp_path / "model.covey")
