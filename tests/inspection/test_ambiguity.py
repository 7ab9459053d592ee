"""The loss of a fusion is that of its members less their ambiguity, on every row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes, load_wine
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import covey
from covey._core.inspection.fusion_loss import log_losses

X, Y = load_wine(return_X_y=True)
LOGITS = arrays(np.float64, (4, 3, 5), elements=st.floats(-30, 30))
SHARES = arrays(np.float64, (4, 3), elements=st.floats(0.01, 1))


def normalized(logits):
    p = np.exp(logits - logits.max(axis=2, keepdims=True))
    return p / p.sum(axis=2, keepdims=True)


@settings(max_examples=100)
@given(LOGITS, SHARES, arrays(np.int64, 4, elements=st.integers(0, 4)))
def test_eq_10_gains_the_logarithm_of_its_normalizer_whatever_the_label(logits, shares, codes):
    p = np.maximum(normalized(logits), 1e-15)
    p /= p.sum(axis=2, keepdims=True)
    i = shares / shares.sum(axis=1, keepdims=True)
    powers = np.exp(np.einsum("nkc,nk->nc", np.log(p), i))
    z = powers.sum(axis=1)
    assert (z <= 1 + 1e-12).all()
    mean = np.einsum("nk,nk->n", log_losses(p, codes), i)
    fused = log_losses(powers / z[:, None], codes)
    assert_allclose(mean - fused, -np.log(z), atol=1e-9)


@settings(max_examples=100)
@given(LOGITS, SHARES, arrays(np.int64, 4, elements=st.integers(0, 4)))
def test_a_mixture_is_no_worse_than_its_members_on_average(logits, shares, codes):
    p = np.maximum(normalized(logits), 1e-15)
    i = shares / shares.sum(axis=1, keepdims=True)
    mean = np.einsum("nk,nk->n", log_losses(p, codes), i)
    assert (mean - log_losses(np.einsum("nkc,nk->nc", p, i), codes) >= -1e-12).all()


MODELS = [GaussianNB(), LogisticRegression(max_iter=5000), DecisionTreeClassifier(max_depth=2)]
ENSEMBLES = {
    "product": covey.SubsetEnsembleClassifier(
        4, flip_probability=0.3, fuser="product", random_state=0
    ),
    "mean": covey.FusionClassifier(MODELS, "mean"),
    "gate": covey.SubsetEnsembleClassifier(3, fuser=covey.Gate(), random_state=0),
    "log gate": covey.SubsetEnsembleClassifier(3, fuser=covey.Gate(pool="log"), random_state=0),
    "flock": covey.FlockClassifier(n_estimators=2, cv=2, random_state=0),
    "mixed": covey.FlockClassifier(
        members=["linear", *MODELS], effort="fast", n_estimators=2, cv=2, random_state=0
    ),
}


@pytest.mark.parametrize("name", ENSEMBLES)
def test_terms_add_up_to_the_log_loss(name):
    flock = ENSEMBLES[name].fit(X[::2], Y[::2])
    weight = np.linspace(1, 2, len(X[1::2]))
    found = covey.inspection.ambiguity(flock, X[1::2], Y[1::2], sample_weight=weight)
    assert_allclose(found.row_member_loss - found.row_ambiguity, found.row_loss, atol=1e-9)
    assert (found.row_ambiguity >= 0).all()
    assert_allclose(found.member_loss - found.ambiguity, found.loss)
    p = np.maximum(flock.predict_proba(X[1::2]), np.finfo(float).eps)
    true = -np.log(p[np.arange(len(p)), Y[1::2]])
    assert found.loss == pytest.approx(np.average(true, weights=weight), abs=1e-6)
    assert len(found.names) == len(found.loss_of_members) == len(found.importance)


def test_numbers_gain_the_variance_of_their_members():
    X, y = load_diabetes(return_X_y=True)
    for flock in (
        covey.FusionRegressor([Ridge(0.1), DecisionTreeRegressor(max_depth=3)]),
        covey.FlockRegressor(n_estimators=2, cv=2, random_state=0),
    ):
        found = covey.inspection.ambiguity(flock.fit(X, y), X, y)
        assert found.loss == pytest.approx(np.mean((flock.predict(X) - y) ** 2))
        assert_allclose(found.row_member_loss - found.row_ambiguity, found.row_loss, atol=1e-6)
        members, i = flock.member_predictions(X), flock.explain_fusion(X)
        spread = (i * (members - flock.predict(X)[:, None]) ** 2).sum(axis=1)
        assert_allclose(found.row_ambiguity, spread, atol=1e-8)


def test_rules_that_are_no_mean_are_refused():
    fused = covey.FusionClassifier(MODELS, "majority").fit(X, Y)
    with pytest.raises(ValueError, match="Majority is not a mean of its members"):
        covey.inspection.ambiguity(fused, X, Y)


def test_the_picture_shows_the_three_numbers():
    pytest.importorskip("matplotlib").use("Agg")
    flock = ENSEMBLES["product"].fit(X, Y)
    display = covey.inspection.AmbiguityDisplay.from_estimator(flock, X, Y)
    assert f"{display.measured.ambiguity:.3g} ambiguity" in display.ax_.get_xlabel()
    assert len(display.ax_.patches) >= flock.n_estimators_


@pytest.mark.parametrize(("rule", "equal"), [("gate", "product"), ("knora_e", "majority")])
def test_the_gap_closed_is_the_way_from_equal_weights_to_the_oracle(rule, equal):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(3, size=300)
    X[:, 0] += y
    flock = covey.FusionClassifier(MODELS, rule).fit(X[::2], y[::2])
    rows, labels = X[1::2], y[1::2]
    before = flock.staged_score(rows, labels, fuser=equal)[-1]
    oracle, score = flock.oracle_score(rows, labels), flock.score(rows, labels)
    assert flock.gap_closed(rows, labels) == pytest.approx((score - before) / (oracle - before))


def test_equal_weights_close_no_gap():
    flock = covey.SubsetEnsembleClassifier(3, fuser="product", random_state=0).fit(X[::2], Y[::2])
    found = flock.gap_closed(X[1::2], Y[1::2])
    assert found == 0 or np.isnan(found)
