"""Data, flocks and the comparison of a graph with its model."""

import numpy as np
import onnxruntime
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import onnx
from covey import FlockClassifier, SubsetEnsembleClassifier

# How far probabilities may be off. Single precision has seven digits, and sums lose one or two.
CLOSE = {"float32": 1e-5, "float64": 1e-10}

# What the oldest supported runtime reads; skl2onnx's own default is newer.
OPSET = 17

X_WINE, Y_WINE = load_wine(return_X_y=True)
X_WINE, Y_WINE = X_WINE[::2], Y_WINE[::2]
X_IRIS, Y_IRIS = load_iris(return_X_y=True)
X_TWO, Y_TWO = load_breast_cancer(return_X_y=True)
X_TWO, Y_TWO = X_TWO[:120, :8], Y_TWO[:120]


def flock(**parameters):
    if parameters.get("fuser", "search") == "search":
        parameters.pop("fuser", None)
        return FlockClassifier(**{"n_estimators": 3, "cv": 2, "random_state": 0, **parameters})
    return SubsetEnsembleClassifier(
        **{"n_estimators": 3, "max_iter": 20, "random_state": 0, **parameters}
    )


def session_of(graph):
    onnx.checker.check_model(graph, full_check=True)
    return onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )


def assert_equal_graph(graph, model, X, dtype="float32", rows=None):
    """The graph and the model predict the same, of rows as they are in this precision."""
    X = np.asarray(X).astype(dtype)
    label, probabilities = session_of(graph).run(None, {"X": X})
    expected = model.predict_proba(X if rows is None else rows)
    assert probabilities.dtype == dtype
    np.testing.assert_allclose(probabilities, expected, rtol=0, atol=CLOSE[dtype])
    ordered = np.sort(expected, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 2 * CLOSE[dtype]
    assert clear.mean() > 0.5
    assert label[clear].tolist() == model.predict(X if rows is None else rows)[clear].tolist()
