"""Stacking by any model, on saved predictions."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import covey
from covey import FusionClassifier, Predictions
from covey.fusers import Stacking
from covey.fusers._fixed import make_fuser
from covey.fusers._stacking import encode_outputs, linear_coefficients
from covey.stacking import GeneralStackingClassifier
from covey.utils.estimator_checks import FUSER_CHECKS
from tests.fusers.test_stacked import brier, held_out

EVERY = [
    *(Stacking(outputs=outputs) for outputs in ("probabilities", "one_hot", "logits", "ranks")),
    Stacking(DecisionTreeClassifier(max_depth=4, random_state=0)),
    Stacking(RidgeClassifier()),
    Stacking(keep_certainty=True),
    Stacking(make_pipeline(StandardScaler(), LogisticRegression()), passthrough=True),
]


@pytest.mark.parametrize("check", FUSER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("fuser", EVERY, ids=repr)
def test_fuser_keeps_the_contract(fuser, check):
    check(fuser)


def literal_encoding(values, output, clip):
    """One row after another, one member after another."""
    rows = []
    for row in values:
        columns = []
        for p in row:
            if output == "one_hot":
                z = [float(c == list(p).index(max(p))) for c in range(len(p))]
            elif output == "logits":
                kept = [min(max(q, clip), 1 - clip) for q in p]
                z = [np.log(q / (1 - q)) for q in kept]
            elif output == "ranks":
                below = [sum(q < other for q in p) for other in p]
                ties = [sum(q == other for q in p) - 1 for other in p]
                z = [(b + t / 2) / (len(p) - 1) for b, t in zip(below, ties, strict=True)]
            else:
                z = list(p)
            columns += z[1:] if len(p) == 2 else z
        rows.append(columns)
    return np.array(rows)


@pytest.mark.parametrize("output", ["probabilities", "one_hot", "logits", "ranks"])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_outputs_are_written_down_as_said(output, n_classes):
    rng = np.random.default_rng(0)
    values = rng.dirichlet(np.ones(n_classes), (30, 4)).round(1)  # with ties and zeros
    encoded = encode_outputs(values, [output] * 4, 0.01).reshape(30, -1)
    assert_allclose(encoded, literal_encoding(values, output, 0.01), atol=1e-12)


@pytest.mark.parametrize("output", ["probabilities", "one_hot", "logits", "ranks"])
def test_it_is_the_model_on_those_columns(output):
    P, y = held_out()
    P_new, y_new = held_out(seed=1)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    fuser = Stacking(outputs=output, clip=0.01).fit(P, y, sample_weight=weight)
    model = LogisticRegression().fit(literal_encoding(P, output, 0.01), y, weight)
    expected = model.predict_proba(literal_encoding(P_new, output, 0.01))
    assert_allclose(fuser.fuse(P_new), expected, atol=1e-9)
    # A contrary member speaks for the classes that it speaks against.
    assert brier(fuser.fuse(P_new), y_new) < brier(covey.fusers.Mean().fuse(P_new), y_new) - 0.2


def test_outputs_by_name_and_by_position():
    P, y = held_out()
    named = Predictions(P, names=["a", "b", "c", "d"])
    by_name = Stacking(outputs={"b": "ranks", "d": "one_hot"}).fit(named, y)
    assert by_name.outputs_ == ["probabilities", "ranks", "probabilities", "one_hot"]
    listed = Stacking(outputs=["probabilities", "ranks", "probabilities", "one_hot"]).fit(P, y)
    assert_array_equal(by_name.fuse(named), listed.fuse(P))


def test_labels_and_scores_are_taken_where_they_say_enough():
    P, y = held_out()
    votes = P.argmax(axis=2)
    ones = np.eye(3)[votes]
    for outputs in ("probabilities", "one_hot"):
        fuser = Stacking(outputs=outputs, keep_certainty=False)
        fused = fuser.fit(votes, y).fuse(votes)
        assert_allclose(fused, clone(fuser).fit(ones, y).fuse(ones), atol=1e-12)
    # All who agree on a label are not certain of it, as they would be of a probability of 1.
    agreed = (votes == votes[:, :1]).all(axis=1)
    assert agreed.any()
    assert Stacking().fit(votes, y).fuse(votes)[agreed].max() < 1
    scores = Predictions(np.log(P), kind="score")
    assert_allclose(
        Stacking(outputs="ranks").fit(scores, y).fuse(scores),
        Stacking(outputs="ranks").fit(P, y).fuse(P),
    )
    for given, outputs in ((scores, "probabilities"), (scores, "logits"), (votes, "logits")):
        with pytest.raises(ValueError, match="Stacking fuses predictions of kind probability"):
            Stacking(outputs=outputs).fit(given, y)


def test_certainty_of_all_is_kept_only_if_asked_for():
    P, y = held_out()
    certain = np.eye(3)[np.repeat(y[:, None], 4, axis=1)]
    keeping = Stacking(keep_certainty=True).fit(P, y)
    assert keeping.keeps_certainty
    assert_array_equal(keeping.fuse(certain), np.eye(3)[y])
    assert_allclose(keeping.importance(certain), 1 / 4)
    assert not Stacking().keeps_certainty
    assert Stacking().fit(P, y).fuse(certain).max() < 1


def test_members_that_are_always_certain_go_through_the_model():
    X, y = load_breast_cancer(return_X_y=True)
    trees = [
        (f"tree {k}", DecisionTreeClassifier(max_features=2, random_state=k)) for k in range(3)
    ]
    fused = FusionClassifier(trees, "stacking", cv=3).fit(X[::2], y[::2])
    general = GeneralStackingClassifier(trees, cv=3).fit(X[::2], y[::2])
    said = fused.predict_proba(X[1::2])
    assert_allclose(said, general.predict_proba(X[1::2]), atol=1e-12)
    # Where all of them are wrong, their certainty would cost the most that a row can.
    keeping = FusionClassifier(trees, Stacking(keep_certainty=True), cv=3).fit(X[::2], y[::2])
    assert log_loss(y[1::2], said) < log_loss(y[1::2], keeping.predict_proba(X[1::2])) / 2


def test_features_are_seen_too():
    P, y = held_out()
    rng = np.random.default_rng(0)
    X = np.column_stack([y + 0.1 * rng.normal(size=len(y)), rng.normal(size=len(y))])
    fuser = Stacking(GaussianNB(), passthrough=True).fit(P, y, X)
    expected = GaussianNB().fit(np.hstack([P.reshape(len(y), -1), X]), y)
    fused = expected.predict_proba(np.hstack([P.reshape(len(y), -1), X]))
    assert_allclose(fuser.fuse(P, X), fused, atol=1e-12)
    frame = pd.DataFrame(X, index=rng.normal(size=len(y)))
    assert_allclose(fuser.fuse(P, frame), fused, atol=1e-12)
    linear = Stacking(passthrough=True)
    thin = sparse.csr_array(X)
    assert_allclose(
        clone(linear).fit(P, y, thin).fuse(P, thin), linear.fit(P, y, X).fuse(P, X), atol=1e-3
    )
    missing = np.where(X > 1.5, np.nan, X)
    Stacking(HistGradientBoostingClassifier(max_iter=5), passthrough=True).fit(P, y, missing)
    with pytest.raises(ValueError, match="passthrough=True needs the features X"):
        fuser.fuse(P)
    with pytest.raises(ValueError, match="passthrough=True needs numbers in X"):
        fuser.fit(P, y, np.full(X.shape, "5 cm"))
    # An ensemble shows its fuser the features of the rows that the members are held out from.
    pool = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    unseen = [cross_val_predict(model, X, y, method="predict_proba") for model in pool]
    expected = clone(linear).fit(np.stack(unseen, axis=1), y, X)
    now = np.stack([model.fit(X, y).predict_proba(X) for model in pool], axis=1)
    fused = FusionClassifier(pool, linear).fit(X, y)
    assert_allclose(fused.predict_proba(X), expected.fuse(now, X), atol=1e-9)


# -- who decided ---------------------------------------------------------------------------------


def test_importance_under_a_linear_model_is_the_share_of_contributions():
    P, y = held_out()
    # One-against-rest coefficients do not sum to zero over the classes, as the softmax's do.
    for final in (LinearSVC(random_state=0), LogisticRegression()):
        fuser = Stacking(final, outputs="logits").fit(P, y)
        model, Z = fuser.final_estimator_, literal_encoding(P, "logits", 1e-6)
        decided = model.predict(Z)
        for i in range(20):
            direction = model.coef_[decided[i]] - model.coef_.mean(axis=0)
            moved = (direction * (Z[i] - Z.mean(axis=0))).reshape(4, 3).sum(axis=1)
            expected = np.abs(moved) / np.abs(moved).sum()
            assert_allclose(fuser.importance(P[i : i + 1])[0], expected, atol=1e-9)
    importance = fuser.importance(P).mean(axis=0)
    assert importance.argmax() == 0
    assert importance.argmin() == 3
    # Two classes have one line.
    two, labels = P[:, :, :2] / P[:, :, :2].sum(axis=2, keepdims=True), (y > 0).astype(int)
    fuser = Stacking().fit(two, labels)
    moved = np.abs(fuser.final_estimator_.coef_ * (two[:, :, 1] - two[:, :, 1].mean(axis=0)))
    assert_allclose(fuser.importance(two), moved / moved.sum(axis=1, keepdims=True), atol=1e-9)


def test_importance_under_any_other_model_is_the_change_without_a_member():
    P, y = held_out()
    fuser = Stacking(KNeighborsClassifier(15)).fit(P, y)
    means, fused = P.mean(axis=0), fuser.fuse(P)
    moved = np.empty((len(y), 4))
    for k in range(4):
        without = P.copy()
        without[:, k] = means[k]
        moved[:, k] = np.abs(fuser.fuse(without) - fused).sum(axis=1)
    total = moved.sum(axis=1, keepdims=True)
    expected = np.where(total > 0, moved / np.where(total > 0, total, 1), 1 / 4)
    assert_allclose(fuser.importance(P), expected, atol=1e-12)


def test_coefficients_are_believed_only_if_they_are_the_score():
    P, y = held_out()
    Z = P.reshape(len(y), -1)
    for model in (LogisticRegression(), RidgeClassifier()):
        assert linear_coefficients(model.fit(Z, y), Z).shape == (3, 12)
    # Three classes make three pairs, whose coefficients have the shape of classes'.
    pairs = SVC(kernel="linear").fit(Z, y)
    assert pairs.coef_.shape == (3, 12)
    assert linear_coefficients(pairs, Z) is None
    assert linear_coefficients(DecisionTreeClassifier().fit(Z, y), Z) is None
    assert linear_coefficients(LinearRegression().fit(Z, y), Z).shape == (1, 12)


# -- who has not spoken --------------------------------------------------------------------------


@pytest.mark.parametrize("fuser", EVERY[:6], ids=repr)
def test_members_that_have_not_spoken_say_what_they_say_on_average(fuser):
    P, y = held_out()
    available = np.random.default_rng(0).random((len(y), 4)) > 0.2
    available[0] = False
    fuser = clone(fuser).fit(Predictions(P, available=available), y)
    encoded = encode_outputs(P, fuser.outputs_, 1e-6)
    means = [encoded[available[:, k], k].mean(axis=0) for k in range(4)]
    assert_allclose(fuser.means_, means, atol=1e-12)
    Z = np.where(available[:, :, None], encoded, means).reshape(len(y), -1)[1:]
    expected = clone(fuser.final_estimator_).fit(Z, y[1:])
    assert_array_equal(
        fuser.fuse(Predictions(P, available=available)).argmax(axis=1)[1:], expected.predict(Z)
    )
    assert_allclose(fuser.fuse(Predictions(P, available=available))[0], 1 / 3)
    # Of a sample of weight 0, nothing is learnt.
    loud = np.where(available[:, :, None], P, np.eye(3)[0])
    again = clone(fuser).fit(Predictions(loud, available=available), y)
    assert_allclose(again.means_, fuser.means_)


def test_a_class_that_was_never_held_out_gets_nothing():
    P, y = held_out()
    rows = y < 2
    fuser = Stacking().fit(P[rows], y[rows])
    assert (fuser.fuse(P)[:, 2] == 0).all()
    assert_allclose(fuser.fuse(P).sum(axis=1), 1)


# -- the rest ------------------------------------------------------------------------------------


def test_it_has_a_name_and_survives_pickling():
    P, y = held_out()
    fuser = make_fuser("stacking", outputs="logits", final_estimator=LogisticRegression(C=0.1))
    assert fuser.get_params()["final_estimator__C"] == 0.1
    fuser.fit(P, y)
    assert_array_equal(pickle.loads(pickle.dumps(fuser)).fuse(P), fuser.fuse(P))
    assert_array_equal(covey.fuse(P, fuser), fuser.fuse(P))
    with pytest.raises(ValueError, match="learns how to fuse: fit it on held-out"):
        covey.fuse(P, "stacking")


def test_models_without_weights_learn_where_weights_are_one():
    P, y = held_out()
    Stacking(KNeighborsClassifier()).fit(P, y, sample_weight=np.ones(len(y)))
    with pytest.raises(TypeError, match="'final_estimator' cannot be fitted with sample_weight"):
        Stacking(KNeighborsClassifier()).fit(P, y, sample_weight=np.full(len(y), 2.0))


def test_bad_input_gets_one_sentence():
    P, y = held_out()
    silent = Predictions(P, available=np.zeros((len(y), 4), dtype=bool))
    for fuser, given, labels, message in (
        (Stacking(outputs="odds"), P, y, "outputs must be one of 'probabilities', .* got 'odds'"),
        (Stacking(outputs=7), P, y, "outputs must be one of .* got 7"),
        (Stacking(outputs=["ranks"]), P, y, "outputs has 1 entries for 4 members"),
        (Stacking(outputs=[]), P, y, "outputs has 0 entries for 4 members"),
        (Stacking(outputs={"x": "ranks"}), P, y, "outputs names the member 'x'; the members are"),
        (Stacking(LinearRegression()), P, y, "final_estimator must be a classifier, got Linear"),
        (Stacking(LogisticRegression), P, y, "final_estimator must be a classifier, got <class"),
        (Stacking(clip=0.0), P, y, "clip == 0.0, must be > 0"),
        (Stacking(), P, np.zeros(len(y), dtype=int), "at least 2 classes to learn from"),
        (Stacking(), silent, y, "nothing to learn from: no member is available"),
        (Stacking(), P, None, "Stacking learns how to fuse and needs y"),
    ):
        with pytest.raises(ValueError, match=message):
            fuser.fit(given, labels)
