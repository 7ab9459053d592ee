"""Flocks and their members as ONNX graphs predict the same probabilities."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier

import covey
import covey.onnx
import onnx
from covey import FlockClassifier, FlockRegressor, Gate
from covey._core.basis import Basis
from covey.fusers import Majority, Mean, Product
from covey.fusers._gate import GatedGroups
from covey.members import LinearMember
from covey.onnx import to_onnx
from tests._core.bases import products_of, ramps_of
from tests.onnx._helpers import (
    CLOSE,
    X_IRIS,
    X_TWO,
    X_WINE,
    Y_IRIS,
    Y_TWO,
    Y_WINE,
    assert_equal_graph,
    flock,
    session_of,
)

FUSIONS = {
    "search": "search",
    "product": "product",
    "weighted product": Product([1.0, 0.0, 3.0]),
    "mean": "mean",
    "learnt mean": Mean("accuracy"),
    "median": "median",
    "majority": "majority",
    "weighted majority": Majority([3.0, 1.0, 1.0]),
    "gate": Gate(),
    "quadratic log gate": Gate(pool="log", features="quadratic"),
}


@pytest.mark.parametrize("name", FUSIONS)
def test_a_flock_predicts_the_same_in_onnx(name):
    model = flock(fuser=FUSIONS[name]).fit(X_WINE, Y_WINE)
    for dtype in CLOSE:
        assert_equal_graph(to_onnx(model, dtype=dtype), model, X_WINE, dtype)


@pytest.mark.parametrize("effort", ["fast", "best"])
def test_other_searches_predict_the_same(effort):
    how = {"n_estimators": 2, "effort": effort, "members": "linear", "cv": 2}
    model = flock(**how).fit(X_IRIS[::2], Y_IRIS[::2] > 1)
    for dtype in CLOSE:
        assert_equal_graph(to_onnx(model, dtype=dtype), model, X_IRIS, dtype)


@pytest.mark.parametrize(
    "kind", ["extra_trees", "svm", pytest.param("boosting", marks=pytest.mark.slow)]
)
def test_members_of_several_kinds_predict_the_same(kind):
    how = {"effort": "fast", "n_estimators": 2, "cv": 2, "random_state": 0}
    model = FlockClassifier(members=["linear", kind], **how).fit(X_IRIS, Y_IRIS)
    alone = FlockClassifier(members=[kind], **how).fit(X_IRIS, Y_IRIS)
    for one in (model, alone):
        _, probabilities = session_of(to_onnx(one, dtype="float64")).run(None, {"X": X_IRIS})
        # skl2onnx keeps what trees and machines have learnt in single precision.
        np.testing.assert_allclose(probabilities, one.predict_proba(X_IRIS), atol=1e-5)


@pytest.mark.parametrize("dtype", CLOSE)
def test_rows_at_a_threshold_of_boosting_go_the_same_way(dtype):
    # Of more values than bins, thresholds are values of training rows.
    X = np.random.default_rng(0).normal(size=(300, 3))
    members = [HistGradientBoostingClassifier(max_iter=10, max_leaf_nodes=4)]
    how = {"members": members, "effort": "fast", "cv": 2, "random_state": 0}
    model = FlockClassifier(**how).fit(X, X[:, 0] > X[:, 1])
    _, probabilities = session_of(to_onnx(model, dtype=dtype)).run(None, {"X": X.astype(dtype)})
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("kind", ["boosting", "svm"])
def test_numbers_of_several_kinds_are_the_same_in_single_precision(kind):
    how = {"effort": "fast", "n_estimators": 2, "cv": 2, "random_state": 0}
    model = FlockRegressor(members=["linear", kind], **how).fit(X_IRIS[:, 1:], X_IRIS[:, 0])
    X = X_IRIS[:, 1:].astype(np.float32)
    (values,) = session_of(to_onnx(model)).run(None, {"X": X})
    np.testing.assert_allclose(values[:, 0], model.predict(X), atol=1e-4)


def test_numbers_of_support_vector_machines_have_no_double_precision():
    model = FlockRegressor(members=["svm"], effort="fast", cv=2).fit(X_IRIS[:, 1:], X_IRIS[:, 0])
    with pytest.raises(ValueError, match="'svr' of the member 'svm' is a SVR, which.*single"):
        to_onnx(model, dtype="float64")


def test_neighbors_by_distance_are_refused():
    # skl2onnx counts all neighbors alike.
    model = FlockClassifier(members=["neighbors"], effort="fast", cv=2).fit(X_IRIS, Y_IRIS)
    with pytest.raises(ValueError, match="of the member 'neighbors' weighs neighbors by their"):
        to_onnx(model)


def test_groups_of_either_pool_on_all_kinds_of_columns_predict_the_same():
    columns = np.ascontiguousarray(X_IRIS.T)
    bounds = np.array([X_IRIS.min(axis=0), X_IRIS.max(axis=0)])
    products = products_of(columns, columns.mean(axis=1), bounds)
    basis = ramps_of(columns, np.ones(len(X_IRIS)), 3).union(products)
    rng = np.random.default_rng(0)
    model = flock(fuser="mean").fit(X_IRIS, Y_IRIS)
    # Whatever a search may find: members and gates see the columns of one basis.
    for both in (basis, Basis.plain(4)):
        coef = rng.normal(size=(3, 3, both.n_columns))
        scale = np.ones(both.n_columns)
        model.model_ = replace(model.model_, basis=both, coef=coef, column_scale=scale)
        gates = rng.normal(size=(3, both.n_columns))
        fuser = GatedGroups(
            both, gates, rng.normal(size=3), [2, 1], ["linear", "log"], [0.7, 0.3], model.classes_
        )
        model.model_ = replace(model.model_, fuser=fuser)
        for dtype in CLOSE:
            assert_equal_graph(to_onnx(model, dtype=dtype), model, X_IRIS, dtype)


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("seen", [None, (X_IRIS.min(axis=0), X_IRIS.max(axis=0))])
def test_every_kind_of_column_is_computed(seen, dtype):
    columns = np.ascontiguousarray(X_IRIS.T)
    weight = np.ones(len(X_IRIS))
    ramps = ramps_of(columns, weight, 3)
    products = products_of(columns, columns.mean(axis=1), None if seen is None else np.array(seen))
    rng = np.random.default_rng(0)
    far = np.concatenate([X_IRIS, 3 * X_IRIS, -X_IRIS])
    for basis in (ramps.union(products), products.union(ramps), products):
        coef = rng.normal(size=(3, basis.n_columns)) / 5
        member = LinearMember(coef, rng.normal(size=3), ["a", "b", "c"], basis=basis)
        assert_equal_graph(to_onnx(member, dtype=dtype), member, far, dtype)


def test_products_are_centered_by_all_digits_of_the_mean():
    X = (X_IRIS + 20_000.0).astype(np.float32)
    columns = np.ascontiguousarray(X.T.astype(float))
    basis = products_of(columns, columns.mean(axis=1) + 1e-4)
    coef = np.random.default_rng(0).normal(size=(2, basis.n_columns))
    coef[:, :4] = 0.0
    member = LinearMember(coef, [0.0, 1.0], [0, 1], basis=basis)
    assert_equal_graph(to_onnx(member), member, X)


def test_products_of_anything_stay_numbers():
    columns = np.ascontiguousarray(X_IRIS.T)
    basis = products_of(columns, columns.mean(axis=1))
    member = LinearMember(np.ones((2, basis.n_columns)), [0.0, 1.0], [0, 1], basis=basis)
    session = session_of(to_onnx(member))
    _, probabilities = session.run(None, {"X": np.full((1, 4), 1e25, dtype=np.float32)})
    assert np.isfinite(probabilities).all()


@pytest.mark.parametrize(
    "labels",
    [
        np.array([5, -3, 2]),
        np.array(["rot", "weiß", "rosé"]),
        np.array(["a", "b", "c"], dtype=object),
    ],
    ids=["whole numbers", "text", "objects"],
)
@pytest.mark.parametrize("fuser", ["product", "majority"])
def test_labels_come_out_as_they_are(labels, fuser):
    model = flock(fuser=fuser).fit(X_WINE, labels[Y_WINE])
    graph = to_onnx(model)
    assert_equal_graph(graph, model, X_WINE)
    facts = {fact.key: fact.value for fact in graph.metadata_props}
    assert json.loads(facts["classes"]) == model.classes_.tolist()


def test_truth_values_and_whole_floats_are_numbers():
    for y in (Y_TWO.astype(bool), Y_TWO.astype(float)):
        model = flock(fuser="product").fit(X_TWO, y)
        assert_equal_graph(to_onnx(model), model, X_TWO)


def test_other_labels_are_refused():
    member = LinearMember([[1.0, 2.0]], [0.0], [0.5, 1.5])
    with pytest.raises(ValueError, match=r"\[0.5, 1.5\]; in ONNX labels are whole numbers"):
        to_onnx(member)


def test_a_product_becomes_one_matrix_product():
    graph = to_onnx(flock(fuser="product").fit(X_WINE, Y_WINE))
    kinds = [node.op_type for node in graph.graph.node]
    assert kinds.count("Gemm") == 1
    assert "Reshape" not in kinds


@pytest.mark.parametrize("fuser", ["mean", "median", "majority", "product", Gate()])
def test_any_number_of_rows_is_taken_and_names_are_as_documented(fuser):
    model = flock(fuser=fuser).fit(X_WINE, Y_WINE)
    session = session_of(to_onnx(model))
    assert [(one.name, one.shape) for one in session.get_inputs()] == [("X", [None, 13])]
    assert [one.name for one in session.get_outputs()] == ["label", "probabilities"]
    assert [one.shape for one in session.get_outputs()] == [[None], [None, 3]]
    rows = X_WINE.astype(np.float32)
    whole = session.run(None, {"X": rows})[1]
    for size in (1, 2, 50):
        part = session.run(None, {"X": rows[:size]})[1]
        assert part.shape == (size, 3)
        np.testing.assert_allclose(part, whole[:size], atol=1e-6)


def test_column_names_are_in_the_metadata():
    frame = pd.DataFrame(X_TWO, columns=[f"column {k}" for k in range(8)])
    model = flock(fuser="product").fit(frame, Y_TWO)
    facts = {fact.key: fact.value for fact in to_onnx(model).metadata_props}
    assert json.loads(facts["feature_names"]) == list(frame.columns)
    assert facts["covey"] == covey.__version__


@pytest.mark.parametrize("fuser", ["search", "product", Gate(features="quadratic")])
def test_single_precision_bears_columns_far_from_zero(fuser):
    """Without centering first, a year loses its digits; the digits that X itself has remain."""
    X = np.round(X_IRIS, 1) + 2024.0
    model = flock(fuser=fuser).fit(X, Y_IRIS)
    assert_equal_graph(to_onnx(model), model, X)
    assert_equal_graph(to_onnx(model), model, X, rows=X.astype(np.float32).astype(float))


@pytest.mark.parametrize("fuser", ["search", "product", Gate(), Gate(features="quadratic")])
def test_a_flock_of_sparse_rows_predicts_the_same_for_dense_ones(fuser):
    model = flock(fuser=fuser).fit(sparse.csr_matrix(X_WINE), Y_WINE)
    rows = sparse.csr_matrix(X_WINE.astype(np.float32))
    assert_equal_graph(to_onnx(model), model, X_WINE, rows=rows)


def test_constant_columns_do_no_harm():
    X = np.column_stack([X_WINE, np.full(len(X_WINE), 7.0)])
    for fuser in ("search", Gate(), "product"):
        model = flock(fuser=fuser).fit(X, Y_WINE)
        assert_equal_graph(to_onnx(model), model, X)


def test_a_graph_is_written_whole(tmp_path):
    model = flock(fuser="product").fit(X_WINE, Y_WINE)
    graph = to_onnx(model, tmp_path / "flock.onnx")
    assert onnx.load(tmp_path / "flock.onnx") == graph
    assert [path.name for path in tmp_path.iterdir()] == ["flock.onnx"]


@pytest.mark.parametrize("fuser", ["search", "product", "mean"])
def test_rows_far_outside_of_what_was_seen_predict_the_same_too(fuser):
    model = flock(fuser=fuser).fit(X_WINE, Y_WINE)
    far = X_WINE.copy()
    far[::2, 12] *= 1000.0
    far[1::2, 9] -= 1000.0
    assert_equal_graph(to_onnx(model), model, far)
