"""Regressors as ONNX graphs predict the same values."""

import json

import numpy as np
import pandas as pd
import pytest
import skl2onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from covey import FlockRegressor, FusionRegressor, Gate, SubsetEnsembleRegressor
from covey.fusers import Mean
from covey.members import LinearRegressionMember
from covey.onnx import to_onnx
from covey.stacking import GeneralStackingRegressor
from tests._core.bases import products_of, ramps_of
from tests.onnx._helpers import CLOSE, session_of

X, Y = load_diabetes(return_X_y=True)
X, Y = X[::3], Y[::3]


def assert_equal_values(graph, model, X, dtype="float32"):
    """The graph and the model predict the same values, but for a share of the largest one."""
    X = np.asarray(X).astype(dtype)
    (values,) = session_of(graph).run(None, {"X": X})
    expected = model.predict(X)
    assert values.dtype == dtype
    assert values.shape == (len(X), 1)
    np.testing.assert_allclose(
        values[:, 0], expected, rtol=0, atol=CLOSE[dtype] * np.abs(expected).max()
    )


def flock(**parameters):
    return SubsetEnsembleRegressor(
        **{"n_estimators": 3, "max_iter": 200, "random_state": 0, **parameters}
    )


@pytest.mark.parametrize(
    "fuser", ["mean", "median", Mean("inverse_error"), Mean([1.0, 0.0, 3.0]), Gate()], ids=str
)
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_a_flock_predicts_the_same_values_in_onnx(fuser, loss):
    model = flock(fuser=fuser, loss=loss).fit(X, Y)
    for dtype in CLOSE:
        assert_equal_values(to_onnx(model, dtype=dtype), model, X, dtype)


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_a_search_predicts_the_same_values_far_from_zero_too(shift):
    model = FlockRegressor(n_estimators=3, cv=2, random_state=0).fit(X + 2000.0, Y + shift)
    for dtype in CLOSE:
        assert_equal_values(
            to_onnx(model, dtype=dtype), model, (X + 2000.0).astype(np.float32), dtype
        )


def test_a_single_member_on_ramps_and_products():
    columns = np.ascontiguousarray(X.T)
    products = products_of(columns, columns.mean(axis=1))
    basis = ramps_of(columns, np.ones(len(X)), 3).union(products)
    coef = np.random.default_rng(0).normal(size=basis.n_columns)
    member = LinearRegressionMember(coef, 5.0, basis=basis)
    for dtype in CLOSE:
        assert_equal_values(to_onnx(member, dtype=dtype), member, X, dtype)


@pytest.mark.parametrize("fuser", ["mean", "median", Gate()], ids=str)
def test_a_fusion_of_given_models_predicts_the_same_values(fuser):
    members = [
        make_pipeline(StandardScaler(), Ridge()),
        DecisionTreeRegressor(max_depth=3, random_state=0),
        flock(fuser="mean"),
        FrozenEstimator(LinearRegression().fit(X, Y)),
    ]
    model = FusionRegressor(members, fuser=fuser, cv=2).fit(X.astype(np.float32), Y)
    assert_equal_values(to_onnx(model), model, X)


def test_a_pipeline_is_exported_by_either_and_names_are_in_the_metadata():
    frame = pd.DataFrame(X, columns=[f"column {k}" for k in range(10)])
    model = make_pipeline(StandardScaler(), flock(fuser="mean")).fit(frame, Y)
    graph = to_onnx(model)
    session = session_of(graph)
    assert [(one.name, one.shape) for one in session.get_outputs()] == [("prediction", [None, 1])]
    plain = make_pipeline(StandardScaler(), flock(fuser="mean")).fit(X, Y)
    assert_equal_values(graph, plain, X)
    facts = {fact.key: fact.value for fact in graph.metadata_props}
    assert json.loads(facts["feature_names"]) == list(frame.columns)
    assert "classes" not in facts
    other = skl2onnx.to_onnx(
        plain, initial_types=[("X", FloatTensorType([None, 10]))], target_opset=17
    )
    assert_equal_values(other, plain, X)


def test_a_scikit_learn_regressor_is_exported_too():
    model = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X.astype(np.float32), Y)
    assert_equal_values(to_onnx(model), model, X)


def test_a_fuser_without_a_graph_is_refused_by_name():
    model = flock(fuser="trimmed_mean").fit(X, Y)
    with pytest.raises(ValueError, match="fused by TrimmedMean.*fuse by 'mean', 'median', a Gate"):
        to_onnx(model)


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize(
    "make",
    [
        lambda: FlockRegressor(n_estimators=3, cv=2, random_state=0),
        flock,
        lambda: FusionRegressor([Ridge(0.01), DecisionTreeRegressor(max_depth=2)]),
        lambda: GeneralStackingRegressor([Ridge(0.01), DecisionTreeRegressor(max_depth=2)]),
    ],
    ids=["search", "algorithm 1", "fusion", "stack"],
)
def test_rows_far_outside_of_what_was_seen_predict_the_same_too(make, dtype):
    model = make().fit(X, Y)
    far = X.copy()
    far[::2, 2] *= 1000.0
    far[1::2, 8] -= 3.0
    assert np.isin(model.predict(far), model.y_range_).any()
    assert_equal_values(to_onnx(model, dtype=dtype), model, far, dtype)
