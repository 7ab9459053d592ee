"""Graphs of flocks that were fitted to gaps and categories."""

import numpy as np
import pandas as pd
import pytest
import skl2onnx
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from covey import FlockRegressor, FusionClassifier, SubsetEnsembleRegressor
from covey.onnx import to_onnx
from tests.onnx._helpers import (
    CLOSE,
    OPSET,
    X_WINE,
    Y_WINE,
    assert_equal_graph,
    flock,
    session_of,
)

TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
RNG = np.random.default_rng(0)
GAPS = np.where(RNG.random(X_WINE.shape) < 0.1, np.nan, X_WINE)
GAPS[:, 3] = X_WINE[:, 3]
PLACE = np.arange(len(X_WINE))
TABLE = pd.DataFrame(GAPS[:, :5], columns=["a", "b", "c", "d", "e=1"]).assign(
    town=np.array(["Rome", "Oslo", None], dtype=object)[(Y_WINE + (PLACE % 7 == 0)) % 3],
    size=pd.Categorical(PLACE % 2),
    code=[f"c{(3 * label + at) % 26}" for label, at in zip(Y_WINE, PLACE, strict=True)],
)


def fed(table, dtype):
    """A table as a graph takes it: numbers, and text with "" for gaps."""
    return {
        name: table[name].to_numpy(dtype)[:, None]
        if table[name].dtype.kind == "f"
        else np.array([["" if word is None else str(word)] for word in table[name].tolist()])
        for name in table
    }


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize(
    "how",
    [{"effort": "fast"}, {"fuser": "product"}, {"fuser": "gate"}, {"fuser": "stacking"}],
    ids=str,
)
def test_gaps_are_numbers_of_a_graph(how, dtype):
    model = flock(**how).fit(GAPS, Y_WINE)
    assert model.preparation_ is not None
    rows = np.vstack([GAPS, np.full((1, 13), np.nan)]).astype(dtype)
    assert_equal_graph(to_onnx(model, dtype=dtype), model, rows, dtype, rows)
    member = model.estimators_[0]
    if how != {"fuser": "stacking"}:
        graph = to_onnx(member, dtype=dtype)
        _, probabilities = session_of(graph).run(None, {"X": rows})
        np.testing.assert_allclose(
            probabilities, member.predict_proba(rows), rtol=0, atol=CLOSE[dtype]
        )


@pytest.mark.parametrize("dtype", CLOSE)
def test_categories_are_columns_of_a_graph(dtype):
    model = flock(effort="fast").fit(TABLE, Y_WINE)
    assert set(model.preparation_.levels) == {5, 6}  # "code" is encoded by the target
    new = pd.concat([TABLE, TABLE[:1].assign(town="Lima", code="", a=np.nan, d=np.nan)])
    new = new.astype(dict.fromkeys("abcd", dtype)).astype({"e=1": dtype})
    graph = to_onnx(model, dtype=dtype)
    label, probabilities = session_of(graph).run(None, fed(new, dtype))
    expected = model.predict_proba(new.assign(code=new["code"].where(new["code"] != "", None)))
    np.testing.assert_allclose(probabilities, expected, rtol=0, atol=CLOSE[dtype])
    assert label.tolist() == model.classes_[expected.argmax(axis=1)].tolist()


def test_members_of_several_kinds_see_the_columns_that_are_made():
    middle = np.median(X_WINE, axis=0)
    bent = (X_WINE[:, 0] > middle[0]) ^ (X_WINE[:, 1] > middle[1])
    score = 2 * bent + (X_WINE[:, 3] - middle[3]) / X_WINE[:, 3].std()
    model = flock(effort="fast", members=["linear", TREE]).fit(TABLE, score > np.median(score))
    assert "linear" in model.named_estimators_
    assert len(model.weights_) > 1
    _, probabilities = session_of(to_onnx(model, dtype="float64")).run(None, fed(TABLE, "float64"))
    np.testing.assert_allclose(probabilities, model.predict_proba(TABLE), rtol=0, atol=1e-6)


def test_numbers_are_predicted_of_gaps_and_categories():
    y = X_WINE[:, 12]
    for model in (FlockRegressor(effort="fast", random_state=0), SubsetEnsembleRegressor(2)):
        model.fit(TABLE, y)
        (predicted,) = session_of(to_onnx(model, dtype="float64")).run(None, fed(TABLE, "float64"))
        np.testing.assert_allclose(predicted[:, 0], model.predict(TABLE), rtol=1e-8)


def test_an_empty_string_may_be_a_category():
    table = TABLE[["a", "town"]].assign(town=np.where(Y_WINE == 0, "", "Rome"))
    model = flock(effort="fast").fit(table, Y_WINE)
    _, probabilities = session_of(to_onnx(model)).run(None, fed(table.astype({"a": "f4"}), "f4"))
    np.testing.assert_allclose(probabilities, model.predict_proba(table), rtol=0, atol=1e-5)


def test_members_with_gaps_are_parts_of_other_graphs_and_those_with_categories_are_not():
    model = FusionClassifier([("flock", flock(effort="fast")), ("other", flock(fuser="mean"))])
    assert_equal_graph(to_onnx(model.fit(GAPS, Y_WINE)), model, GAPS, rows=GAPS.astype("f4"))
    with pytest.raises(ValueError, match="'flock' was fitted to categories, .* by itself"):
        to_onnx(model.fit(TABLE, Y_WINE))
    pipeline = make_pipeline(flock(effort="fast")).fit(TABLE, Y_WINE)
    with pytest.raises(ValueError, match="was fitted to categories, .* export it by itself"):
        to_onnx(pipeline)
    array = flock(effort="fast", categorical_features=[0]).fit(np.round(X_WINE), Y_WINE)
    with pytest.raises(ValueError, match="categories in an array.*fit it to a data frame"):
        to_onnx(array)
    with pytest.raises(RuntimeError, match="is exported by covey.to_onnx"):
        skl2onnx.to_onnx(array, X_WINE.astype(np.float32), target_opset=OPSET)


@pytest.mark.parametrize("name", ["label", "probabilities", "coded/X"])
def test_a_column_of_a_name_that_the_graph_has_is_refused_by_it(name):
    table = TABLE[["a", "town"]].set_axis([name, "town"], axis=1)
    with pytest.raises(ValueError, match=f"Column '{name}' has the name of an output .* rename"):
        to_onnx(flock(effort="fast", n_estimators=1).fit(table, Y_WINE))
    with pytest.raises(ValueError, match="A column of X has no name, .* name it"):
        to_onnx(
            flock(effort="fast", n_estimators=1).fit(table.set_axis(["", "town"], axis=1), Y_WINE)
        )
    odd = table.set_axis(["=cmd|\x1b[31m\n", "town"], axis=1)
    assert to_onnx(flock(effort="fast", n_estimators=1).fit(odd, Y_WINE)).graph.input
