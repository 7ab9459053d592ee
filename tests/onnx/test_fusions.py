"""Fusions of given models as ONNX graphs predict the same probabilities."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from covey import FusionClassifier, Gate
from covey.fusers import Majority, Mean
from covey.onnx import to_onnx
from tests.onnx._helpers import CLOSE, X_IRIS, X_WINE, Y_IRIS, Y_WINE, assert_equal_graph, flock

MEMBERS = [
    ("logistic", make_pipeline(StandardScaler(), LogisticRegression())),
    ("discriminant", LinearDiscriminantAnalysis()),
    ("flock", flock(effort="fast", cv=2)),
]


@pytest.mark.parametrize(
    "fuser",
    ["product", "mean", "median", "majority", Mean("log_odds"), Majority([1, 2, 4]), Gate()],
)
def test_a_fusion_predicts_the_same_in_onnx(fuser):
    labels = np.array(["c", "a", "b"])[Y_WINE]
    model = FusionClassifier(MEMBERS, fuser=fuser, cv=2).fit(X_WINE, labels)
    for dtype in CLOSE:
        assert_equal_graph(to_onnx(model, dtype=dtype), model, X_WINE, dtype)


@pytest.mark.parametrize("fuser", ["product", "mean", "median", "majority"])
def test_members_that_have_seen_fewer_classes_are_aligned(fuser):
    known = Y_WINE != 1
    members = [
        LogisticRegression(C=0.01, max_iter=5000).fit(X_WINE[known], Y_WINE[known]),
        LinearDiscriminantAnalysis().fit(X_WINE, Y_WINE),
        flock(fuser="product").fit(X_WINE, Y_WINE),
    ]
    model = FusionClassifier(members, fuser=fuser, prefit=True).fit(X_WINE, Y_WINE)
    assert_equal_graph(to_onnx(model), model, X_WINE)


@pytest.mark.parametrize("fuser", ["product", "median", "mean"])
def test_a_class_that_no_member_has_seen(fuser):
    known = Y_WINE != 2
    members = [
        make_pipeline(StandardScaler(), LogisticRegression()),
        flock(fuser="product"),
    ]
    members = [member.fit(X_WINE[known], Y_WINE[known]) for member in members]
    model = FusionClassifier(members, fuser=fuser, prefit=True).fit(X_WINE, Y_WINE)
    assert_equal_graph(to_onnx(model), model, X_WINE)


def test_vetoes_of_zero_count_as_they_do_in_covey():
    forests = [RandomForestClassifier(3, random_state=seed) for seed in range(10)]
    model = FusionClassifier(forests, fuser="product").fit(X_IRIS, Y_IRIS)
    assert (model.member_probabilities(X_IRIS) == 0).any()
    # The trees' own thresholds are compared in single precision, in both.
    assert_equal_graph(to_onnx(model), model, X_IRIS)


@pytest.mark.parametrize("labels", [np.array([3, 1, 2]), np.array(["x", "z", "y"])])
def test_members_without_probabilities_vote(labels):
    members = [LinearSVC(random_state=0), GaussianNB(), LinearDiscriminantAnalysis()]
    model = FusionClassifier(members, fuser="majority").fit(X_IRIS, labels[Y_IRIS])
    assert_equal_graph(to_onnx(model), model, X_IRIS)


def test_frozen_members_and_fusions_of_fusions_are_exported():
    inner = FusionClassifier([GaussianNB(), LinearDiscriminantAnalysis()], fuser="mean")
    frozen = FrozenEstimator(LinearDiscriminantAnalysis().fit(X_IRIS, Y_IRIS))
    model = FusionClassifier([inner, frozen], fuser="product").fit(X_IRIS, Y_IRIS)
    assert_equal_graph(to_onnx(model), model, X_IRIS)
