"""Stacks as ONNX graphs predict the same, whatever the model on top sees."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from covey import (
    FusionClassifier,
    FusionRegressor,
    GeneralStackingClassifier,
    GeneralStackingRegressor,
)
from covey.fusers import Stacking
from covey.onnx import to_onnx
from tests.onnx._helpers import (
    CLOSE,
    X_TWO,
    X_WINE,
    Y_TWO,
    Y_WINE,
    assert_equal_graph,
    flock,
    session_of,
)
from tests.onnx.test_regressors import assert_equal_values

X_SCALED = StandardScaler().fit_transform(X_WINE).astype(np.float32).astype(np.float64)
TEXT = np.array(["a", "b", "c"])[Y_WINE]
X_NUMBERS, Y_NUMBERS = (part[:150].astype(np.float32) for part in load_diabetes(return_X_y=True))


def members():
    return [
        ("bayes", GaussianNB()),
        ("gone", "drop"),
        ("line", LogisticRegression(C=0.1)),
    ]


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"outputs": {"bayes": "one_hot"}, "passthrough": [0, 3]},
        {"features": MinMaxScaler(), "passthrough": True},
        {"final_estimator": flock(fuser="mean"), "outputs": ["probabilities", "auto", "one_hot"]},
    ],
    ids=["plain", "one_hot", "features", "flock"],
)
def test_a_stack_predicts_the_same_in_onnx(how):
    model = GeneralStackingClassifier(members(), cv=2, **how).fit(X_SCALED, TEXT)
    for dtype in CLOSE if not how else ["float64"]:
        assert_equal_graph(to_onnx(model, dtype=dtype), model, X_SCALED, dtype)


def test_logits_of_two_classes_and_layers():
    rows = StandardScaler().fit_transform(X_TWO)
    layers = [members(), [LogisticRegression(), ("other", flock(fuser="mean"))]]
    outputs = {"line": "logits", "logisticregression": "logits"}
    model = GeneralStackingClassifier(layers, outputs=outputs, passthrough=[1], cv=2)
    model.fit(rows, Y_TWO)
    assert_equal_graph(to_onnx(model, dtype="float64"), model, rows, "float64")


def test_a_model_on_top_without_probabilities_gives_ones_and_zeros():
    model = GeneralStackingClassifier(members(), RidgeClassifier(), cv=2).fit(X_SCALED, TEXT)
    session = session_of(to_onnx(model))
    found, votes = session.run(None, {"X": X_SCALED.astype(np.float32)})
    assert found.tolist() == model.predict(X_SCALED).tolist()
    assert set(np.unique(votes)) == {0.0, 1.0}


@pytest.mark.parametrize("dtype", CLOSE)
def test_numbers_are_stacked_in_layers(dtype):
    layers = [
        [Ridge(), KNeighborsRegressor(5)],
        [LinearRegression()],
    ]
    model = GeneralStackingRegressor(layers, passthrough=[2], cv=2).fit(X_NUMBERS, Y_NUMBERS)
    assert_equal_values(to_onnx(model, dtype=dtype), model, X_NUMBERS, dtype)


def test_a_fusion_by_stacking_predicts_the_same():
    fuser = Stacking(outputs=["probabilities", "one_hot"], passthrough=True)
    kept = [members()[0], members()[2]]
    model = FusionClassifier(kept, fuser, cv=2).fit(X_SCALED, Y_WINE)
    assert_equal_graph(to_onnx(model, dtype="float64"), model, X_SCALED, "float64")
    model = flock(fuser=Stacking(outputs="logits")).fit(X_SCALED, TEXT)
    assert_equal_graph(to_onnx(model, dtype="float64"), model, X_SCALED, "float64")
    numbers = FusionRegressor([Ridge(), DecisionTreeRegressor(max_depth=2)], "stacking", cv=2)
    numbers.fit(X_NUMBERS, Y_NUMBERS)
    assert_equal_values(to_onnx(numbers), numbers, X_NUMBERS)


class Odd(LogisticRegression):
    """A class that skl2onnx has no converter for."""


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (
            GeneralStackingClassifier(members(), outputs={"bayes": "ranks"}, cv=2),
            "This GeneralStackingClassifier reads outputs='ranks' .* use outputs='probabilities'",
        ),
        (
            FusionClassifier(members(), Stacking(keep_certainty=True), cv=2),
            "Stacking.keep_certainty=True., which has no ONNX form",
        ),
        (
            GeneralStackingClassifier(members(), Odd(), cv=2),
            "The model on top of this GeneralStackingClassifier is a Odd, which skl2onnx cannot",
        ),
    ],
)
def test_what_a_stack_cannot_be_exported_with_is_named(model, sentence):
    with pytest.raises(ValueError, match=sentence):
        to_onnx(model.fit(X_SCALED, TEXT))
