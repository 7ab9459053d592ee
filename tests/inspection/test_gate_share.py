"""How much of a decision is the gate's, and how much the members'."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB

from covey import (
    FlockClassifier,
    FlockRegressor,
    FusionClassifier,
    Gate,
    SubsetEnsembleClassifier,
    SubsetEnsembleRegressor,
    make_quarter_circle,
)
from covey.inspection import gate_share

LOSSES = ("loss", "loss_without_gate", "loss_without_members", "loss_without_both")


@pytest.fixture(scope="module")
def circle():
    return make_quarter_circle(100, random_state=0)


@pytest.fixture(scope="module")
def flocks(circle):
    X, y = circle
    return {
        "linear": SubsetEnsembleClassifier(4, fuser=Gate(), random_state=0).fit(X, y),
        "log": SubsetEnsembleClassifier(4, fuser=Gate(pool="log"), random_state=0).fit(X, y),
        "groups": FlockClassifier(effort="fast", random_state=0).fit(X, y),
    }


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 2))
    y = np.abs(X[:, 0]) + 0.3 * X[:, 1] + 0.05 * rng.normal(size=200)
    return X, y


def literal_fusion(values, importance, pool):
    """Fused probabilities of values (n, K, C), row by row."""
    fused = []
    for said, weights in zip(values, importance, strict=True):
        if pool == "log":
            fused.append(softmax(sum(w * np.log(p) for w, p in zip(weights, said, strict=True))))
        else:
            fused.append(sum(w * p for w, p in zip(weights, said, strict=True)))
    return np.array(fused)


@pytest.mark.parametrize("pool", ["linear", "log", "groups"])
def test_the_losses_are_those_of_a_loop_over_rows(circle, flocks, pool):
    X, y = circle
    flock = flocks[pool]
    values, importance = flock.member_probabilities(X), flock.explain_fusion(X)
    same_values = np.tile(values.mean(axis=0), (len(X), 1, 1))
    same_importance = np.tile(importance.mean(axis=0), (len(X), 1))
    measured = gate_share(flock, X, y)
    fused = [
        literal_fusion(values, importance, pool),
        literal_fusion(values, same_importance, pool),
        literal_fusion(same_values, importance, pool),
        literal_fusion(same_values, same_importance, pool),
    ]
    assert [getattr(measured, name) for name in LOSSES] == pytest.approx(
        [log_loss(y, one) for one in fused]
    )
    assert measured.loss == pytest.approx(log_loss(y, flock.predict_proba(X)))
    own = flock.predict(X)
    assert measured.agreement_without_gate == np.mean(fused[1].argmax(axis=1) == own)
    assert measured.agreement_without_members == np.mean(fused[2].argmax(axis=1) == own)
    rise = measured.loss_without_both - measured.loss
    assert measured.lost_without_gate == pytest.approx(
        (measured.loss_without_gate - measured.loss) / rise
    )
    assert measured.lost_without_members == pytest.approx(
        (measured.loss_without_members - measured.loss) / rise
    )


def gate_of(flock):
    """Coefficients and intercepts of its gate."""
    gate = flock.fuser_
    return (gate.coef_, gate.intercept_) if isinstance(gate, Gate) else (gate.coef, gate.intercept)


def set_constant_members(flock):
    rng = np.random.default_rng(0)
    flock.member_coef_[:] = 0.0
    flock.member_intercept_[:] = rng.normal(size=flock.member_intercept_.shape)
    for part in gate_of(flock):
        part[:] = rng.normal(size=part.shape)


GATED = {
    "gate": lambda: SubsetEnsembleClassifier(3, fuser="gate", random_state=0),
    "log gate": lambda: SubsetEnsembleClassifier(3, fuser=Gate(pool="log"), random_state=0),
    "flock": lambda: FlockClassifier(effort="fast", alpha=1e-4, random_state=0),
    "numbers": lambda: SubsetEnsembleRegressor(3, fuser="gate", random_state=0),
    "flock of numbers": lambda: FlockRegressor(effort="fast", random_state=0),
}


@pytest.mark.parametrize("name", GATED)
def test_constant_members_leave_all_to_the_gate(circle, numbers, name):
    X, y = numbers if "numbers" in name else circle
    flock = GATED[name]().fit(X, y)
    set_constant_members(flock)
    measured = gate_share(flock, X)  # against its own predictions, of which it knows all
    assert measured.share == pytest.approx(1.0)
    assert measured.lost_without_gate == pytest.approx(1.0)
    assert measured.lost_without_members == pytest.approx(0.0, abs=1e-9)
    if "numbers" not in name:
        assert measured.agreement_without_members == 1.0


@pytest.mark.parametrize("name", GATED)
def test_a_constant_gate_decides_nothing(circle, numbers, name):
    X, y = numbers if "numbers" in name else circle
    flock = GATED[name]().fit(X, y)
    for part in gate_of(flock):
        part[:] = 0.0
    # Members that were left to the gate are constant; these are not.
    flock.member_coef_[:] = np.random.default_rng(0).normal(size=flock.member_coef_.shape)
    flock.member_intercept_[:] = 0.0
    measured = gate_share(flock, X)
    assert measured.share == pytest.approx(0.0, abs=1e-9)
    assert measured.lost_without_gate == pytest.approx(0.0, abs=1e-9)
    assert measured.lost_without_members == pytest.approx(1.0)
    if "numbers" not in name:
        assert measured.agreement_without_gate == 1.0


def test_a_single_member_leaves_nothing_to_a_gate(circle):
    X, y = circle
    measured = gate_share(SubsetEnsembleClassifier(1, fuser="gate", random_state=0).fit(X, y), X)
    assert (measured.share, measured.lost_without_members) == pytest.approx((0.0, 1.0))


def test_without_labels_the_rise_is_the_divergence_from_the_flock(circle, flocks):
    X, _ = circle
    flock = flocks["linear"]
    measured = gate_share(flock, X)
    own = flock.predict_proba(X)
    importance = np.tile(flock.explain_fusion(X).mean(axis=0), (len(X), 1))
    without = literal_fusion(flock.member_probabilities(X), importance, "linear")
    divergence = np.mean(np.sum(own * np.log(own / without), axis=1))
    assert measured.loss_without_gate - measured.loss == pytest.approx(divergence)


def test_numbers_have_squared_errors_and_no_decisions(numbers):
    X, y = numbers
    flock = FlockRegressor(effort="fast", random_state=0).fit(X, y)
    measured = gate_share(flock, X, y)
    values, importance = flock.member_predictions(X), flock.explain_fusion(X)
    expected = [
        np.mean((np.sum(said * weights, axis=1) - y) ** 2)
        for said in (values, values.mean(axis=0, keepdims=True))
        for weights in (importance, importance.mean(axis=0, keepdims=True))
    ]
    loss, without_gate, without_members, without_both = expected
    assert measured.loss == pytest.approx(loss)
    assert measured.loss_without_gate == pytest.approx(without_gate)
    assert measured.loss_without_members == pytest.approx(without_members)
    assert measured.loss_without_both == pytest.approx(without_both)
    assert measured.agreement_without_gate is measured.agreement_without_members is None


def test_weights_are_repetitions_and_sparse_rows_are_taken(circle, flocks):
    X, y = circle
    weight = np.arange(len(X)) % 3
    repeated = gate_share(flocks["log"], np.repeat(X, weight, axis=0), np.repeat(y, weight))
    weighted = gate_share(flocks["log"], sparse.csr_array(X), y, sample_weight=weight)
    assert vars(weighted) == pytest.approx(vars(repeated))


def test_a_gate_over_given_models_is_measured_too():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    fused = FusionClassifier([LogisticRegression(max_iter=500), GaussianNB()], "gate")
    measured = gate_share(fused.fit(X, names), X, names)
    assert measured.share < 0.5
    assert measured.loss == pytest.approx(log_loss(names, fused.predict_proba(X)))


@pytest.mark.parametrize("pool", ["linear", "log", "groups"])
def test_the_share_of_a_row_is_that_of_its_divergences(circle, flocks, pool):
    X, _ = circle
    flock = flocks[pool]
    values, importance = flock.member_probabilities(X), flock.explain_fusion(X)
    same_values = np.tile(values.mean(axis=0), (len(X), 1, 1))
    same_importance = np.tile(importance.mean(axis=0), (len(X), 1))
    own = flock.predict_proba(X)
    gate, members = (
        np.sum(own * np.log(own / literal_fusion(*replaced, pool)), axis=1)
        for replaced in ((values, same_importance), (same_values, importance))
    )
    explained = [record["gate_share"] for record in flock.explain(X)]
    assert explained == pytest.approx(gate / (gate + members), abs=1e-9)
    # All rows together have the share that gate_share measures.
    assert gate.mean() / (gate + members).mean() == pytest.approx(gate_share(flock, X).share)
    # What a row is explained with does not matter.
    assert flock.explain(X[7:8])[0]["gate_share"] == pytest.approx(explained[7])


def test_the_share_of_a_row_of_numbers_is_that_of_squares(numbers):
    X, y = numbers
    weight = np.arange(len(y)) % 3 + 1.0
    flock = SubsetEnsembleRegressor(3, fuser="gate", random_state=0)
    flock.fit(X, y, sample_weight=weight)
    values, importance = flock.member_predictions(X), flock.explain_fusion(X)
    own = flock.predict(X)
    gate = (own - values @ np.average(importance, axis=0, weights=weight)) ** 2
    members = (own - importance @ np.average(values, axis=0, weights=weight)) ** 2
    explained = [record["gate_share"] for record in flock.explain(X)]
    assert explained == pytest.approx(gate / (gate + members))


@pytest.mark.parametrize("name", GATED)
@pytest.mark.parametrize("constant", ["members", "gate"])
def test_a_row_is_all_the_gates_or_none_of_it_where_one_is_constant(
    circle, numbers, name, constant
):
    X, y = numbers if "numbers" in name else circle
    flock = GATED[name]().fit(X, y)
    if constant == "members":
        set_constant_members(flock)
        means = flock._predictions(X[:1]).values[0]
        flock.model_ = replace(flock.model_, means=means)
    else:
        for part in gate_of(flock):
            part[:] = 0.0
        shares = flock.explain_fusion(X).mean(axis=0)
        flock.model_ = replace(flock.model_, shares=shares)
    expected = 1.0 if constant == "members" else 0.0
    shares = [record["gate_share"] for record in flock.explain(X)]
    assert shares == pytest.approx(np.full(len(X), expected), abs=1e-9)


def test_only_a_gate_has_a_share_of_a_row(circle):
    (record,) = SubsetEnsembleClassifier(2, random_state=0).fit(*circle).explain(circle[0][:1])
    assert "gate_share" not in record


def test_flocks_without_a_gate_are_refused():
    X, y = load_diabetes(return_X_y=True)
    flock = SubsetEnsembleRegressor(2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="must be fused by a gate, but it is fused by Mean"):
        gate_share(flock, X, y)
