"""Code books as ONNX graphs decode bits as they do."""

import numpy as np
import pytest
import skl2onnx
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from covey import CodeBookClassifier, FusionClassifier
from covey.onnx import to_onnx
from tests.onnx._helpers import X_TWO, X_WINE, Y_TWO, Y_WINE, assert_equal_graph, session_of

X = StandardScaler().fit_transform(X_WINE).astype(np.float32).astype(np.float64)
TEXT = np.array(["a", "b", "c"])[Y_WINE]


@pytest.mark.parametrize(
    ("decoding", "code", "dtype"),
    [
        ("absolute", "max_distance", "float32"),
        ("hamming", "one_vs_one", "float64"),
        ("log_loss", "one_vs_all", "float64"),
    ],
)
def test_words_are_read_as_in_python(decoding, code, dtype):
    model = CodeBookClassifier(LogisticRegression(), code=code, decoding=decoding, random_state=0)
    model.fit(X[:, :4], TEXT)
    assert_equal_graph(to_onnx(model, dtype=dtype), model, X[:, :4], dtype)


def test_ties_are_the_first_class():
    # No bit sets all classes apart, and learners that know nothing leave ties.
    model = CodeBookClassifier(LogisticRegression(C=1e-9), code="one_vs_one", decoding="hamming")
    model.fit(X, TEXT)
    label, _ = session_of(to_onnx(model)).run(None, {"X": X.astype(np.float32)})
    assert label.tolist() == model.predict(X).tolist()


def test_two_classes_a_later_opset_and_a_member_of_a_fusion():
    rows = StandardScaler().fit_transform(X_TWO).astype(np.float32)
    model = CodeBookClassifier(GaussianNB(), random_state=0).fit(rows, Y_TWO)
    graph = skl2onnx.to_onnx(model, rows, options={"zipmap": False}, target_opset=20)
    assert_equal_graph(graph, model, rows)
    fused = FusionClassifier([("code", CodeBookClassifier(GaussianNB())), GaussianNB()])
    assert_equal_graph(to_onnx(fused.fit(X, TEXT)), fused, X)


def test_bits_that_nobody_has_learnt_yet_are_open():
    learner = SGDClassifier(loss="log_loss", random_state=0)
    model = CodeBookClassifier(learner, code="one_vs_one", random_state=0)
    model.partial_fit(X[TEXT == "a"], TEXT[TEXT == "a"], classes=["a", "b", "c"])
    _, probabilities = session_of(to_onnx(model, dtype="float64")).run(None, {"X": X})
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-10)


def test_learners_without_probabilities_are_refused():
    model = CodeBookClassifier(RidgeClassifier(), random_state=0).fit(X, TEXT)
    with pytest.raises(ValueError, match=r"without predict_proba .RidgeClassifier., whose bits"):
        to_onnx(model)
