"""Diverse maximum-entropy members: their limits, their diversity, and what they refuse."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from covey.inspection import diversity
from covey.members import LinearMember
from covey.rivals import DiverseMaxEntClassifier
from covey.utils.estimator_checks import FUSED_CLASSIFIER_CHECKS

X, y = load_wine(return_X_y=True)
WEIGHTS = {"kl": [0.0, 0.3, 0.5, 1.0, 3.0], "cross_correlation": [0.0, 0.5, 1.0, 2.0, 4.0]}


@parametrize_with_checks(
    [
        DiverseMaxEntClassifier(n_estimators=2),
        # What the gradient lacks to zero is far more in the coefficients, divided by alpha.
        DiverseMaxEntClassifier(n_estimators=2, diversity="kl", diversity_weight=0.5, tol=1e-10),
    ]
)
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", FUSED_CLASSIFIER_CHECKS, ids=lambda check: check.__name__)
def test_our_own_contract_is_kept(check):
    check(DiverseMaxEntClassifier(n_estimators=3))


@pytest.mark.parametrize("measure", WEIGHTS)
@pytest.mark.parametrize(
    ("data", "n_vectors"), [((X, y), 1), (load_breast_cancer(return_X_y=True), 2)]
)
def test_without_weight_every_member_is_logistic_regression(measure, data, n_vectors):
    X, y = data
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    flock = DiverseMaxEntClassifier(
        n_estimators=3, diversity=measure, diversity_weight=0, alpha=0.02, tol=1e-10
    ).fit(X, y, weight)
    np.testing.assert_allclose(flock.coef_[1:], flock.coef_[:1].repeat(2, axis=0), atol=1e-6)
    scaled = StandardScaler().fit(X, sample_weight=weight)
    # Of two classes scikit-learn has the difference alone: half of its squares are ours.
    alone = LogisticRegression(C=n_vectors / (0.02 * weight.sum()), tol=1e-10, max_iter=10_000)
    alone.fit(scaled.transform(X), y, weight)
    expected = alone.predict_proba(scaled.transform(X))
    for member in flock.estimators_:
        assert isinstance(member, LinearMember)
        np.testing.assert_allclose(member.predict_proba(X), expected, atol=1e-5)
    np.testing.assert_allclose(flock.predict_proba(X), expected, atol=1e-5)


@pytest.mark.parametrize("measure", WEIGHTS)
def test_diversity_rises_with_its_weight(measure):
    flocks = [
        DiverseMaxEntClassifier(n_estimators=2, diversity=measure, diversity_weight=w).fit(X, y)
        for w in WEIGHTS[measure]
    ]
    own = [flock.diversity_[1] for flock in flocks]
    assert (np.diff(own) > 0).all()
    likelihood = [flock.log_likelihood_[1] for flock in flocks]
    assert (np.diff(likelihood) < 0).all()
    measured = [diversity(flock.member_probabilities(X), y) for flock in flocks]
    apart = [m["kl_divergence"] for m in measured]
    alike = [m["posterior_cross_correlation"] for m in measured]
    disagree = [m["disagreement"] for m in measured]
    assert (np.diff(apart) > 0).all()
    assert (np.diff(alike) < 0).all()
    assert (np.diff(disagree) >= 0).all()
    assert disagree[0] == 0 < disagree[-1]


def test_diversity_trace_is_what_the_members_say():
    for measure, w in (("kl", 0.5), ("cross_correlation", 3.0)):
        weight = np.random.default_rng(0).random(len(y))
        flock = DiverseMaxEntClassifier(4, diversity=measure, diversity_weight=w)
        P = flock.fit(X, y, weight).member_probabilities(X)
        assert np.isnan(flock.diversity_[0])
        for k in range(1, 4):
            p, earlier = P[:, k, None], P[:, :k]
            term = p * np.log(p / earlier) if measure == "kl" else -p * earlier
            expected = weight @ term.sum(axis=2).mean(axis=1) / weight.sum()
            assert flock.diversity_[k] == pytest.approx(expected, rel=1e-9)
        own = np.log(P[np.arange(len(y)), :, y])
        np.testing.assert_allclose(flock.log_likelihood_, weight @ own / weight.sum(), rtol=1e-9)


@pytest.mark.parametrize("measure", WEIGHTS)
def test_sparse_equals_dense(measure):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((90, 5)) * (rng.random((90, 5)) < 0.4)
    labels = (Z[:, 0] + Z[:, 1] + 0.3 * rng.standard_normal(90) > 0).astype(int)
    flock = DiverseMaxEntClassifier(3, diversity=measure, diversity_weight=0.4)
    dense = flock.fit(Z, labels).predict_proba(Z)
    sparse = flock.fit(csr_array(Z), labels).predict_proba(csr_array(Z))
    np.testing.assert_allclose(sparse, dense, atol=1e-6)


def test_the_same_fit_gives_the_same_result_and_a_weight_of_zero_is_no_row():
    flock = DiverseMaxEntClassifier(3, fuser="linear_stacking", random_state=5)
    first = flock.fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(flock.fit(X, y).predict_proba(X), first)
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    flock = DiverseMaxEntClassifier(3)
    kept = flock.fit(X[weight > 0], y[weight > 0]).coef_
    np.testing.assert_array_equal(flock.fit(X, y, weight).coef_, kept)


def test_names_of_columns_reach_the_members():
    frame, labels = load_wine(return_X_y=True, as_frame=True)
    flock = DiverseMaxEntClassifier(2).fit(frame, labels)
    assert "alcohol" in flock.estimators_[0].formula(top=13)
    np.testing.assert_allclose(flock.predict_proba(frame), flock.predict_proba(frame))


def test_constant_columns_get_no_coefficient():
    Z = np.column_stack([X, np.full(len(y), 7.0)])
    flock = DiverseMaxEntClassifier(2).fit(Z, y)
    assert not flock.coef_[:, :, -1].any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"diversity_weight": -0.1}, "diversity_weight == -0.1, must be >= 0"),
        ({"diversity": "variance"}, "diversity must be one of 'cross_correlation', 'kl'"),
        ({"alpha": 0}, "alpha == 0, must be > 0"),
        ({"n_estimators": 0}, "n_estimators == 0, must be >= 1"),
        ({"max_iter": 0}, "max_iter == 0, must be >= 1"),
        ({"tol": 0.0}, "tol == 0.0, must be > 0"),
        ({"fuser": "nonsense"}, "nonsense"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        DiverseMaxEntClassifier(**parameters).fit(X, y)


def test_bad_data_is_refused():
    with pytest.raises(ValueError, match="at least 2 classes in y, got 1 class"):
        DiverseMaxEntClassifier().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="leave groups out"):
        DiverseMaxEntClassifier().fit(X, y, groups=y)
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        DiverseMaxEntClassifier().fit(X, y, -np.ones(len(y)))


def test_too_few_iterations_warn():
    with pytest.warns(ConvergenceWarning, match="2 of 2 members were not trained to the end"):
        DiverseMaxEntClassifier(2, max_iter=2).fit(X, y)
