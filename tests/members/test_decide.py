"""Thresholds and costs: what is predicted of probabilities, wherever it is told."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    TunedThresholdClassifierCV,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import covey
from covey import FlockClassifier, FusionClassifier, SubsetEnsembleClassifier
from covey._decisions import asked_decision
from covey._intervals import Interval
from covey.inspection import row_card, smallest_change, what_if
from covey.persistence import ModelFileError
from covey.stacking import GeneralStackingClassifier
from tests.persistence._helpers import changed as changed_file

X, CODES = make_classification(
    400, 6, n_informative=4, n_classes=3, weights=[0.6, 0.3, 0.1], random_state=0
)
Y = np.array(["no", "maybe", "yes"])[CODES]
MEMBERS = [LogisticRegression(), GaussianNB()]
MODELS = {
    "flock": FlockClassifier(effort="fast", n_estimators=2, random_state=0),
    "mixed": FlockClassifier(members=MEMBERS, cv=3, random_state=0),
    "subsets": SubsetEnsembleClassifier(2, random_state=0),
    "fusion": FusionClassifier(MEMBERS),
    "stack": GeneralStackingClassifier(MEMBERS, cv=3),
    "table": FlockClassifier(effort="fast", n_estimators=2, random_state=0),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    return MODELS[request.param].fit(X[::2], Y[::2])


@pytest.fixture
def model(fitted):
    yield fitted
    fitted.decide()


@pytest.fixture(scope="module")
def searched():
    return FlockClassifier(n_estimators=2, cv=3, random_state=0).fit(X, Y)


TWO = np.where(CODES == 2, "yes", "no")
TABLE = [[0, 1], [10, 0]]


@pytest.mark.parametrize(
    "costs",
    [
        {"yes": 10},
        {"miss": 10},
        {"miss": 20, "false alarm": 2},
        {"yes": {"no": 10}},
        {"no": {"yes": 2}, "yes": {"no": 20}},
        pd.DataFrame(TABLE, ["no", "yes"], ["no", "yes"]),
        pd.DataFrame(TABLE, ["no", "yes"], ["no", "yes"]).loc[::-1, ::-1],
        TABLE,
    ],
)
def test_all_ways_to_give_costs_and_the_parameter_decide_the_same(costs):
    told = FlockClassifier(effort="fast", n_estimators=2, random_state=0, costs=costs).fit(X, TWO)
    assert told.decision_.label == "yes"
    assert told.threshold_ == pytest.approx(1 / 11)
    plain = FlockClassifier(effort="fast", n_estimators=2, random_state=0).fit(X, TWO)
    assert np.array_equal(told.predict_proba(X), plain.predict_proba(X))
    by_costs = plain.decide(X, TWO, costs=costs).predict(X)
    assert np.array_equal(told.predict(X), by_costs)
    fused = FusionClassifier(MEMBERS, costs=costs).fit(X, TWO)
    assert fused.threshold_ == pytest.approx(1 / 11)


def test_a_clone_in_a_search_decides_by_the_costs():
    flock = FlockClassifier(effort="fast", n_estimators=2, random_state=0, costs={"miss": 10})
    calls = cross_val_predict(make_pipeline(StandardScaler(), flock), X, TWO, cv=3) == "yes"
    chances = cross_val_predict(flock, X, TWO, cv=3, method="predict_proba")[:, 1]
    assert calls.sum() > (chances >= 0.5).sum() * 1.2
    assert np.mean(calls == (chances >= 1 / 11)) > 0.97


def test_costs_of_the_parameter_are_refused_before_members_are_fitted():
    class Slow(GaussianNB):
        def fit(self, *args, **how):
            raise AssertionError("fitted")

    for model in (FlockClassifier(members=[Slow()], costs={"x": 3}), FusionClassifier([Slow()])):
        model.set_params(costs={"x": 3})
        with pytest.raises(ValueError, match="costs: 'x' is not a class of the model"):
            model.fit(X, Y)


@pytest.mark.parametrize(
    ("costs", "sentence"),
    [
        ({}, "costs is empty; name a class"),
        ({"miss": 3}, "'miss' and 'false alarm' are errors about the rarer of two classes"),
        ({"yes": -1}, "costs['yes'] == -1, must be >= 0"),
        ({"yes": {"no": -1}}, "costs['yes']['no'] == -1, must be >= 0"),
        ({"yes": {"x": 1}}, "costs['yes']: 'x' is not a class"),
        ({"miss": 1, "yes": 3}, "costs: 'miss' is not a class"),
        (pd.DataFrame(np.eye(3)), "costs: 0 is not a class"),
    ],
)
def test_costs_that_make_no_sense_get_one_sentence(costs, sentence, fitted):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        fitted.decide(X, Y, costs=costs)


@pytest.fixture(scope="module")
def of_two():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6000, 3))
    y = np.where(rng.random(6000) < 1 / (1 + np.exp(3 - 2 * rows[:, 0] - rows[:, 1])), 1, 0)
    flock = FlockClassifier(effort="fast", n_estimators=2, random_state=0)
    return flock.fit(rows[:2000], y[:2000]), rows[2000:], y[2000:]


def test_a_threshold_is_that_of_fixed_threshold_classifier(of_two):
    flock, rows, y = of_two
    for label, at in ((1, 0.2), (0, 0.7)):
        theirs = FixedThresholdClassifier(FrozenEstimator(flock), threshold=at, pos_label=label)
        said = theirs.fit(rows, y).predict(rows)
        assert np.array_equal(flock.decide(threshold={label: at}).predict(rows), said)
    flock.decide()


def cost_of(y, said):
    return np.select([(y == 1) & (said == 0), (y == 0) & (said == 1)], [10, 1], 0).mean()


def test_costs_agree_with_a_tuned_threshold(of_two):
    """The tuned threshold is best on the rows themselves; that of the chances is hardly worse."""
    flock, rows, y = of_two
    score = make_scorer(cost_of, greater_is_better=False)
    tuned = TunedThresholdClassifierCV(
        FrozenEstimator(flock), scoring=score, cv="prefit", refit=False, thresholds=200
    ).fit(rows, y)
    least = cost_of(y, tuned.predict(rows))
    flock.decide(rows, y, costs={1: 10})
    own = cost_of(y, flock.predict(rows))
    assert own == pytest.approx(flock.decision_.cost.value)
    assert least <= own < 1.1 * least
    assert flock.decision_.cost.low < least
    assert abs(tuned.best_threshold_ - flock.threshold_) < 0.05
    flock.decide()


def test_a_share_to_find_is_that_of_a_tuned_threshold(of_two):
    """Of all thresholds that find the share, both take the one with the fewest alarms."""
    flock, rows, y = of_two

    def fewest_alarms(y, said):
        found = said[y == 1].mean()
        return -said.mean() if found >= 0.8 else -2 + found

    at = np.unique(flock.predict_proba(rows)[:, 1])
    tuned = TunedThresholdClassifierCV(
        FrozenEstimator(flock), scoring=make_scorer(fewest_alarms), cv="prefit", refit=False,
        thresholds=at,
    ).fit(rows, y)  # fmt: skip
    theirs = tuned.predict(rows)
    assert np.array_equal(flock.decide(rows, y, find={1: 0.8}).predict(rows), theirs)
    flock.decide()


def test_models_can_be_tuned_by_folds(of_two):
    _, rows, y = of_two
    flock = FlockClassifier(effort="fast", n_estimators=2, random_state=0)
    score = make_scorer(cost_of, greater_is_better=False)
    tuned = TunedThresholdClassifierCV(flock, scoring=score, cv=3, thresholds=50)
    tuned.fit(rows[:1500], y[:1500])
    assert 0.02 < tuned.best_threshold_ < 0.25
    assert cost_of(y[1500:], tuned.predict(rows[1500:])) < cost_of(
        y[1500:], tuned.estimator_.predict(rows[1500:])
    )


def by_threshold(classes, probabilities, label, threshold):
    """One row after another."""
    for row in probabilities:
        of_class = dict(zip(classes.tolist(), row, strict=True))
        own = of_class.pop(label)
        yield label if own >= threshold else max(of_class, key=of_class.get)


# -- what is predicted ----------------------------------------------------------------------------


def test_every_ensemble_decides_by_a_threshold_and_by_costs(model):
    before = model.predict_proba(X)
    assert model.decide(threshold={"yes": 0.1}) is model
    np.testing.assert_array_equal(model.predict_proba(X), before)
    wanted = list(by_threshold(model.classes_, before, "yes", 0.1))
    assert model.predict(X).tolist() == wanted
    assert wanted.count("yes") > (before.argmax(axis=1) == 2).sum()
    costs = np.array([[0, 2, 1], [1, 0, 5], [30, 9, 0.0]])
    model.decide(costs=costs)
    expected = [min(range(3), key=lambda k: row @ costs[:, k]) for row in before]
    assert model.predict(X).tolist() == model.classes_[expected].tolist()
    model.decide()
    assert model.decision_ is None
    np.testing.assert_array_equal(model.predict(X), model.classes_[before.argmax(axis=1)])


@settings(max_examples=50)
@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=9),
    st.tuples(*[st.floats(0.01, 100)] * 2),
    st.floats(-5, 5),
)
def test_costs_of_two_classes_are_a_threshold(chances, costs, same):
    p = np.array(chances)
    probabilities = np.column_stack([1 - p, p])
    table = np.array([[0, costs[0]], [costs[1], 0]]) + same
    decision = asked_decision(np.array([False, True]), costs=table)
    expected = probabilities @ table
    unequal = np.abs(np.diff(expected)[:, 0]) > 1e-9
    codes = decision.codes(probabilities)
    np.testing.assert_array_equal(codes[unequal], expected.argmin(axis=1)[unequal])
    assert decision.label is (costs[1] >= costs[0])


def test_costs_of_missing_a_class_are_a_table():
    one = asked_decision(np.array(["a", "b", "c"]), costs={"c": 20})
    assert one.asked == ((0, 1, 1), (1, 0, 1), (20, 20, 0))


def test_what_explains_a_row_tells_of_the_class_that_is_predicted(model):
    p = model.predict_proba(X)[:, 2]
    row = int(np.flatnonzero((p > 0.1) & (p < 0.4))[0])
    model.decide(threshold={"yes": 0.999 * float(p[row])})
    one = X[row : row + 1]
    reasons = model.explain(one) if hasattr(model, "explain") else []
    before = what_if(model, one[0], {next(iter(columns(model))): 0.0}).before
    for told in [*reasons, before]:
        assert told["prediction"] == "yes"
        assert told["probability"] == pytest.approx(p[row])
    found = smallest_change(model, one[0], background=X)
    assert found.before["prediction"] == "yes"
    assert found.after["prediction"] != "yes"
    if isinstance(model, FlockClassifier):
        assert row_card(model, one, background=X).record["prediction"] == "yes"


def columns(model):
    return getattr(model, "feature_names_in_", range(X.shape[1]))


def test_the_explanation_begins_with_the_decided_class_of_flocks(searched):
    searched.decide(threshold={"yes": 0.0})
    assert {record["prediction"] for record in searched.explain(X[:5])} == {"yes"}
    assert searched.predict_set(X, 0.5)[:, 2].all()
    assert set(searched.predict(X, reject=0.1).compressed()) == {"yes"}
    assert searched.rejection(0.0).accuracy == pytest.approx(np.mean(Y == "yes"), abs=0.02)
    searched.decide()


def test_a_new_fit_forgets_a_decision():
    model = MODELS["flock"].fit(X, Y).decide(threshold={"yes": 0.1})
    assert model.threshold_ == 0.1
    assert model.fit(X, Y).decision_ is None
    assert model.threshold_ is None


# -- what is said of rows held out ----------------------------------------------------------------


def test_a_threshold_that_finds_a_share_does_so_on_the_rows_held_out(searched):
    known = searched.calibration_
    of_class = known.label == 2
    for share in (0.5, 0.8, 1.0):
        searched.decide(find={"yes": share})
        at = searched.threshold_
        p = known.probabilities[:, 2]

        def found(threshold, p=p):
            return np.average(p[of_class] >= threshold, weights=known.weight[of_class])

        above = known.probabilities[:, 2][known.probabilities[:, 2] > at].min()
        assert found(at) >= share - 1e-9 > found(np.nextafter(above, 2)) - 1e-6
        alarms = searched.decision_.alarms
        assert alarms.found.value == pytest.approx(found(at))
        assert alarms.found.low < alarms.found.value <= alarms.found.high
    assert searched.decision_.source == "out of fold"
    searched.decide()


def test_given_rows_are_those_that_are_counted():
    model = MODELS["subsets"].fit(X[::2], Y[::2])
    model.decide(X[1::2], Y[1::2], find={"yes": 0.7})
    called, right = model.predict(X[1::2]) == "yes", Y[1::2] == "yes"
    alarms = model.decision_.alarms
    assert (alarms.n_alarms, alarms.n_found) == (called.sum(), (called & right).sum())
    assert alarms.n_found >= 0.7 * right.sum()
    assert "'yes' is predicted from a probability of" in model.decision_.sentence()


def test_costs_of_rows_held_out_are_those_of_a_loop():
    model, costs = MODELS["subsets"].fit(X[::2], Y[::2]), {"yes": 9}
    new, labels = X[1::2], Y[1::2]

    def mean_cost():
        pairs = zip(labels, model.predict(new), strict=True)
        return np.mean([(1 + 8 * (true == "yes")) * (true != said) for true, said in pairs])

    without = mean_cost()
    model.decide(new, labels, costs=costs)
    assert model.decision_.cost_without.value == pytest.approx(without)
    assert model.decision_.cost.value == pytest.approx(mean_cost())
    assert mean_cost() < without


# -- kept, and refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{"find": {"yes": 0.8}}, {"costs": {"yes": 20}}])
def test_a_file_keeps_the_decision(searched, tmp_path, how):
    searched.decide(**how)
    covey.save(searched, tmp_path / "model.covey")
    again = covey.load(tmp_path / "model.covey")
    assert again.decision_ == searched.decision_
    np.testing.assert_array_equal(again.predict(X), searched.predict(X))
    searched.decide()


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"kind": "guess"}, "kind is none of what it may be"),
        ({"asked": 7.0}, "asked is none"),
        ({"asked": {"list": []}}, "asked is none"),
        ({"code": 3}, "code is not between 0 and 2"),
        ({"code": None}, "asked is none"),
        ({"threshold": None}, "threshold is another"),
        ({"threshold": 1.5}, "threshold is not between 0 and 1"),
        ({"cost": [1.0]}, "cost is not a list, or one of another length"),
        ({"source": "hearsay"}, "source is none of what it may be"),
        ({"alarms": {}}, "alarms lacks 'threshold'"),
    ],
)
def test_a_file_of_another_decision_is_refused(searched, tmp_path, changed, match):
    searched.decide(find={"yes": 0.8})
    covey.save(searched, tmp_path / "model.covey")
    searched.decide()

    def change(document):
        document["model"]["fitted"]["decision"].update(changed)

    with pytest.raises(ModelFileError, match=match):
        covey.load(changed_file(tmp_path / "model.covey", change))


@pytest.mark.parametrize("how", [{"threshold": {"yes": 0.1}}, {"costs": {"yes": 20}}])
def test_a_graph_labels_rows_as_the_model_does(searched, how):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    from covey.onnx import to_onnx

    searched.decide(**how)
    graph = to_onnx(searched, dtype="float64").SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(None, {"X": X})[0], searched.predict(X))
    searched.decide()


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"threshold": {"yes": 0.1}, "find": {"yes": 0.8}}, "one of threshold"),
        ({"threshold": 0.1}, "threshold must be a dict"),
        (
            {"threshold": {"perhaps": 0.1}},
            "'perhaps' is not a class of the model \\('maybe', 'no'",
        ),
        ({"threshold": {"yes": 1.5}}, "threshold"),
        ({"find": {"yes": 0.0}}, "find"),
        ({"costs": [[0, 1], [1, 0]]}, "3 rows"),
        ({"costs": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}, "smallest on the diagonal"),
        ({"costs": {"yes": -1}}, "costs\\['yes'\\]"),
        ({"X": X, "threshold": {"yes": 0.1}}, "X and y together"),
        ({"X": X, "y": np.full(400, "never"), "find": {"yes": 0.1}}, "y: 'never' is not a class"),
    ],
)
def test_what_makes_no_decision_is_refused(searched, how, match):
    with pytest.raises(ValueError, match=match):
        searched.decide(**how)
    assert searched.decision_ is None


def test_without_rows_held_out_there_is_no_share_to_find():
    model = MODELS["flock"].fit(X, Y)
    with pytest.raises(ValueError, match="give decide rows"):
        model.decide(find={"yes": 0.8})


def test_a_decision_is_told_in_numbers_and_labels_as_people_write_them():
    rare = asked_decision(np.array([0, 1]), threshold={1: 0.056})
    assert rare.sentence() == "'1' is predicted from a probability of 5.6 % on."
    costs = asked_decision(np.array([0, 1]), costs={1: 20_000})
    costs = replace(costs, cost=Interval(2648.0, 0, 1), cost_without=Interval(12_600.0, 0, 1))
    assert "costs 2,650 on average, and 12,600 if" in costs.sentence()


def test_a_calibrated_ensemble_that_was_told_is_read_again(tmp_path):
    X, y = load_iris(return_X_y=True)
    flock = SubsetEnsembleClassifier(2, random_state=0).fit(X, y).calibrate(X, y)
    flock.decide(threshold={1: 0.2})
    covey.save(flock, tmp_path / "model.covey")
    assert covey.load(tmp_path / "model.covey").decision_ == flock.decision_


def test_costs_whose_sum_is_beyond_floating_point_are_refused():
    with pytest.raises(ValueError, match="with a finite sum"):
        asked_decision(np.array(["a", "b"]), costs={"a": 1e308, "b": 1e308})
