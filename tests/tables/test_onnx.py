"""Flocks of tables as ONNX graphs that take the table's own columns."""

import json

import numpy as np
import pandas as pd
import pytest

from covey import FlockClassifier, FlockRegressor, SubsetEnsembleClassifier
from covey.onnx import to_onnx

pytest.importorskip("skl2onnx")
runtime = pytest.importorskip("onnxruntime")


def table(n_rows=120):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "key": [f"k{row:05}" for row in range(n_rows)],
            "size": np.where(np.arange(n_rows) % 9, rng.normal(size=n_rows), np.nan),
            "age": rng.normal(50, 9, n_rows),
            "town": rng.choice(["Rome", "Oslo", "Bath"], n_rows),
        }
    )


def outputs_of(model, X, **how):
    graph = to_onnx(model, dtype="float64", **how)
    session = runtime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    feed = {
        one.name: X[[one.name]].to_numpy(object if one.type == "tensor(string)" else float)
        for one in session.get_inputs()
    }
    found = session.run(None, feed)
    return dict(zip([one.name for one in session.get_outputs()], found, strict=True))


def test_numbers_of_a_table_are_predicted_the_same():
    X = table()
    y = X["age"] / 10 + (X["town"] == "Rome") + X["size"].fillna(1.0)
    model = FlockRegressor(effort="fast", n_estimators=2, random_state=0).fit(X, y)
    (found,) = outputs_of(model, X).values()  # nothing asks for the names of the rows
    np.testing.assert_allclose(found[:, 0], model.predict(X), rtol=1e-9)


def test_classes_of_a_table_are_predicted_the_same():
    X = table()
    model = SubsetEnsembleClassifier(2, random_state=0).fit(X, X["age"] > 50)
    found = outputs_of(model, X)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-9)


def test_a_table_of_numbers_has_an_input_for_each_column_if_asked():
    X = table()[["age", "size"]].fillna(0.0)
    model = FlockClassifier(effort="fast", random_state=0).fit(X, X["age"] > 50)
    X.loc[3, "age"], X.loc[4, "age"] = np.nan, np.inf
    found = outputs_of(model, X, by_column=True)
    X.loc[4, "age"] = np.nan
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-9)
    graph = to_onnx(model, by_column=True)
    assert [one.name for one in graph.graph.input] == ["age", "size"]
    facts = {one.key: one.value for one in graph.metadata_props}
    assert json.loads(facts["feature_names"]) == ["age", "size"]


def test_dates_and_text_have_no_form():
    X = table().assign(seen=pd.date_range("2024-01-01", periods=120))
    model = FlockClassifier(effort="fast", random_state=0).fit(X, X["age"] > 50)
    with pytest.raises(ValueError, match="Column 'seen' is a date, which has no ONNX form"):
        to_onnx(model)
