import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

import covey
from covey import SubsetEnsembleClassifier
from covey.members import LinearMember, LinearRegressionMember


def test_a_member_with_the_coefficients_of_logistic_regression_is_logistic_regression():
    X, y = load_iris(return_X_y=True)
    reference = LogisticRegression(max_iter=1000).fit(X, y)
    member = LinearMember(reference.coef_, reference.intercept_, reference.classes_)
    check_is_fitted(member)
    assert_allclose(member.predict_proba(X), reference.predict_proba(X))
    assert_allclose(member.decision_function(X), reference.decision_function(X))
    assert_array_equal(member.predict(sparse.csr_array(X)), reference.predict(X))
    assert member.support_.all()


def test_one_row_may_stand_for_two_classes():
    X, y = load_breast_cancer(return_X_y=True)
    reference = LogisticRegression(max_iter=10_000).fit(X, y)
    member = LinearMember(reference.coef_, reference.intercept_, reference.classes_)
    assert member.coef_.shape == (2, 30)
    assert_allclose(member.predict_proba(X), reference.predict_proba(X), atol=1e-12)
    assert_array_equal(member.fit(X, y, sample_weight=None).predict(X), reference.predict(X))


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="one row for each of the 3 classes"):
        LinearMember(np.eye(2), [0.0, 0.0], [0, 1, 2]).predict([[1.0, 2.0]])
    with pytest.raises(ValueError, match="one number for each row of coef"):
        LinearMember(np.eye(2), [0.0], [0, 1]).predict([[1.0, 2.0]])


def test_two_classes_decide_by_one_number():
    member = LinearMember([[0.0], [2.0]], [0.0, -1.0], [0, 1])
    assert_allclose(member.decision_function([[1.0], [0.0]]), [1.0, -1.0])


def test_log_probabilities_do_not_underflow():
    member = LinearMember([[0.0], [1.0]], [0.0, 0.0], [0, 1])
    assert_allclose(member.predict_log_proba([[-2000.0]]), [[0.0, -2000.0]])


def test_wrong_number_of_columns_is_refused():
    with pytest.raises(ValueError, match="features"):
        LinearMember([[0.0], [1.0]], [0.0, 0.0], [0, 1]).predict(np.ones((2, 3)))


def test_a_formula_shows_what_moves_the_prediction_whatever_the_units(tmp_path):
    named = {"feature_names": ["grams", "tonnes"]}
    member = LinearRegressionMember([1e-6, 1.0], 0.0, scale=[5e6, 1.0], **named)
    assert member.formula(top=1) == "0 + 1e-06 grams + 1 smaller terms"
    covey.save(member, tmp_path / "member.covey")
    assert covey.load(tmp_path / "member.covey").formula(top=1) == member.formula(top=1)


def test_members_of_a_flock_know_how_far_their_columns_vary():
    X, y = load_iris(return_X_y=True)
    flock = SubsetEnsembleClassifier(1, flip_probability=0.0, random_state=0)
    flock.fit(X * [1, 1, 1e6, 1], y)
    assert "x2" in flock.estimators_[0].formula(top=1)
