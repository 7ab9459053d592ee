"""Models of tables as ONNX graphs that take the table's own columns."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB

from covey import (
    CodeBookClassifier,
    FlockRegressor,
    GeneralStackingRegressor,
    TableClassifier,
    TableRegressor,
)
from covey.onnx._table_columns import table_to_onnx

pytest.importorskip("skl2onnx")
runtime = pytest.importorskip("onnxruntime")


def table(n_rows=120):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": np.where(np.arange(n_rows) % 9, rng.normal(size=n_rows), np.nan),
            "age": rng.normal(50, 9, n_rows),
            "town": rng.choice(["Rome", "Oslo", "Bath"], n_rows),
        }
    )


def outputs_of(model, X):
    graph = table_to_onnx(model, dtype="float64").SerializeToString()
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    feed = {name: X[[name]].to_numpy(float) for name in ("size", "age")}
    feed["town"] = X[["town"]].to_numpy(dtype=object)
    found = session.run(None, feed)
    return dict(zip([one.name for one in session.get_outputs()], found, strict=True))


@pytest.mark.parametrize(
    "inner",
    [
        FlockRegressor(effort="fast", n_estimators=2, random_state=0),
        GeneralStackingRegressor([Ridge(), Ridge(10.0)], passthrough=[0], cv=2),
        Ridge(),
    ],
    ids=lambda inner: type(inner).__name__,
)
def test_numbers_of_a_table_are_predicted_the_same(inner):
    X = table()
    y = X["age"] / 10 + (X["town"] == "Rome") + X["size"].fillna(1.0)
    model = TableRegressor(inner).fit(X, y)
    (found,) = outputs_of(model, X).values()
    assert list(outputs_of(model, X)) == ["prediction"]
    np.testing.assert_allclose(found[:, 0], model.predict(X), rtol=1e-9)


def test_a_code_book_of_a_table_is_predicted_the_same():
    X = table()
    y = np.where(X["age"] > 50, X["town"], "elsewhere")
    model = TableClassifier(CodeBookClassifier(LogisticRegression(max_iter=500), random_state=0))
    found = outputs_of(model.fit(X, y), X)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-9)
    assert found["label"].tolist() == model.predict(X).tolist()


def test_to_onnx_says_which_function_takes_a_table():
    from covey.onnx import to_onnx

    model = TableClassifier(GaussianNB()).fit(table(), table()["town"])
    with pytest.raises(ValueError, match="is a TableClassifier.* covey export"):
        to_onnx(model)
