import json
import pickle
import runpy
import sys

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import skl2onnx
from scipy import sparse
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

import covey
import covey.onnx
from covey import FlockClassifier, FusionClassifier, Gate, SubsetEnsembleClassifier
from covey._core.basis import Basis
from covey.fusers import Majority, Mean, Product
from covey.fusers._gate import GatedGroups
from covey.members import LinearMember
from covey.members._plain import as_logistic_regression
from covey.onnx import register, to_onnx

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


def assert_equal_answers(graph, model, X, dtype="float32", rows=None):
    """The graph says what the model says of the same rows, as they are in this precision."""
    X = np.asarray(X).astype(dtype)
    label, probabilities = session_of(graph).run(None, {"X": X})
    expected = model.predict_proba(X if rows is None else rows)
    assert probabilities.dtype == dtype
    np.testing.assert_allclose(probabilities, expected, rtol=0, atol=CLOSE[dtype])
    ordered = np.sort(expected, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 2 * CLOSE[dtype]
    assert clear.mean() > 0.5
    assert label[clear].tolist() == model.predict(X if rows is None else rows)[clear].tolist()


# -- flocks -------------------------------------------------------------------------------------

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
def test_a_flock_says_the_same_in_onnx(name):
    model = flock(fuser=FUSIONS[name]).fit(X_WINE, Y_WINE)
    for dtype in CLOSE:
        assert_equal_answers(to_onnx(model, dtype=dtype), model, X_WINE, dtype)


@pytest.mark.parametrize("effort", ["fast", "best"])
def test_other_searches_say_the_same(effort):
    model = flock(n_estimators=2, effort=effort, cv=2).fit(X_IRIS[::2], Y_IRIS[::2] > 1)
    for dtype in CLOSE:
        assert_equal_answers(to_onnx(model, dtype=dtype), model, X_IRIS, dtype)


def test_groups_of_either_pool_on_all_kinds_of_columns_say_the_same():
    columns = np.ascontiguousarray(X_IRIS.T)
    bounds = np.array([X_IRIS.min(axis=0), X_IRIS.max(axis=0)])
    products = Basis.products(columns, columns.mean(axis=1), bounds)
    basis = Basis.ramps(columns, np.ones(len(X_IRIS)), 3).union(products)
    rng = np.random.default_rng(0)
    model = flock(fuser="mean").fit(X_IRIS, Y_IRIS)
    # Whatever a search may find.
    model.basis_ = basis
    model.coef_ = rng.normal(size=(3, 3, basis.n_columns))
    model._column_scale = np.ones(basis.n_columns)
    for gated in (basis, Basis.plain(4)):
        gates = rng.normal(size=(3, gated.n_columns))
        model.fuser_ = GatedGroups(
            gated, gates, rng.normal(size=3), [2, 1], ["linear", "log"], [0.7, 0.3], model.classes_
        )
        for dtype in CLOSE:
            assert_equal_answers(to_onnx(model, dtype=dtype), model, X_IRIS, dtype)


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("seen", [None, (X_IRIS.min(axis=0), X_IRIS.max(axis=0))])
def test_every_kind_of_column_is_computed(seen, dtype):
    columns = np.ascontiguousarray(X_IRIS.T)
    weight = np.ones(len(X_IRIS))
    ramps = Basis.ramps(columns, weight, 3)
    products = Basis.products(
        columns, columns.mean(axis=1), None if seen is None else np.array(seen)
    )
    rng = np.random.default_rng(0)
    far = np.concatenate([X_IRIS, 3 * X_IRIS, -X_IRIS])
    for basis in (ramps.union(products), products.union(ramps), products):
        coef = rng.normal(size=(3, basis.n_columns)) / 5
        member = LinearMember(coef, rng.normal(size=3), ["a", "b", "c"], basis=basis)
        assert_equal_answers(to_onnx(member, dtype=dtype), member, far, dtype)


def test_products_are_centred_by_all_digits_of_the_mean():
    X = (X_IRIS + 20_000.0).astype(np.float32)
    columns = np.ascontiguousarray(X.T.astype(float))
    basis = Basis.products(columns, columns.mean(axis=1) + 1e-4)
    coef = np.random.default_rng(0).normal(size=(2, basis.n_columns))
    coef[:, :4] = 0.0
    member = LinearMember(coef, [0.0, 1.0], [0, 1], basis=basis)
    assert_equal_answers(to_onnx(member), member, X)


def test_products_of_anything_stay_numbers():
    columns = np.ascontiguousarray(X_IRIS.T)
    basis = Basis.products(columns, columns.mean(axis=1))
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
    assert_equal_answers(graph, model, X_WINE)
    facts = {fact.key: fact.value for fact in graph.metadata_props}
    assert json.loads(facts["classes"]) == model.classes_.tolist()


def test_truth_values_and_whole_floats_are_numbers():
    for y in (Y_TWO.astype(bool), Y_TWO.astype(float)):
        model = flock(fuser="product").fit(X_TWO, y)
        assert_equal_answers(to_onnx(model), model, X_TWO)


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
    """Without centring first, a year loses its digits; the digits that X itself has remain."""
    X = np.round(X_IRIS, 1) + 2024.0
    model = flock(fuser=fuser).fit(X, Y_IRIS)
    assert_equal_answers(to_onnx(model), model, X)
    assert_equal_answers(to_onnx(model), model, X, rows=X.astype(np.float32).astype(float))


@pytest.mark.parametrize("fuser", ["search", "product", Gate(), Gate(features="quadratic")])
def test_a_flock_of_sparse_rows_says_the_same_of_dense_ones(fuser):
    model = flock(fuser=fuser).fit(sparse.csr_matrix(X_WINE), Y_WINE)
    rows = sparse.csr_matrix(X_WINE.astype(np.float32))
    assert_equal_answers(to_onnx(model), model, X_WINE, rows=rows)


def test_constant_columns_do_no_harm():
    X = np.column_stack([X_WINE, np.full(len(X_WINE), 7.0)])
    for fuser in ("search", Gate(), "product"):
        model = flock(fuser=fuser).fit(X, Y_WINE)
        assert_equal_answers(to_onnx(model), model, X)


def test_a_graph_is_written_whole(tmp_path):
    model = flock(fuser="product").fit(X_WINE, Y_WINE)
    graph = to_onnx(model, tmp_path / "flock.onnx")
    assert onnx.load(tmp_path / "flock.onnx") == graph
    assert [path.name for path in tmp_path.iterdir()] == ["flock.onnx"]


# -- fusion of given models ---------------------------------------------------------------------

MEMBERS = [
    ("logistic", make_pipeline(StandardScaler(), LogisticRegression())),
    ("discriminant", LinearDiscriminantAnalysis()),
    ("flock", flock(effort="fast", cv=2)),
]


@pytest.mark.parametrize(
    "fuser",
    ["product", "mean", "median", "majority", Mean("log_odds"), Majority([1, 2, 4]), Gate()],
)
def test_a_fusion_says_the_same_in_onnx(fuser):
    labels = np.array(["c", "a", "b"])[Y_WINE]
    model = FusionClassifier(MEMBERS, fuser=fuser, cv=2).fit(X_WINE, labels)
    for dtype in CLOSE:
        assert_equal_answers(to_onnx(model, dtype=dtype), model, X_WINE, dtype)


@pytest.mark.parametrize("fuser", ["product", "mean", "median", "majority"])
def test_members_that_have_seen_fewer_classes_are_aligned(fuser):
    known = Y_WINE != 1
    members = [
        LogisticRegression(C=0.01, max_iter=5000).fit(X_WINE[known], Y_WINE[known]),
        LinearDiscriminantAnalysis().fit(X_WINE, Y_WINE),
        flock(fuser="product").fit(X_WINE, Y_WINE),
    ]
    model = FusionClassifier(members, fuser=fuser, prefit=True).fit(X_WINE, Y_WINE)
    assert_equal_answers(to_onnx(model), model, X_WINE)


@pytest.mark.parametrize("fuser", ["product", "median", "mean"])
def test_a_class_that_nobody_has_seen(fuser):
    known = Y_WINE != 2
    members = [
        make_pipeline(StandardScaler(), LogisticRegression()),
        flock(fuser="product"),
    ]
    members = [member.fit(X_WINE[known], Y_WINE[known]) for member in members]
    model = FusionClassifier(members, fuser=fuser, prefit=True).fit(X_WINE, Y_WINE)
    assert_equal_answers(to_onnx(model), model, X_WINE)


def test_vetoes_of_zero_count_as_they_do_in_covey():
    forests = [RandomForestClassifier(3, random_state=seed) for seed in range(10)]
    model = FusionClassifier(forests, fuser="product").fit(X_IRIS, Y_IRIS)
    assert (model.member_probabilities(X_IRIS) == 0).any()
    # The trees' own thresholds are compared in single precision, in both.
    assert_equal_answers(to_onnx(model), model, X_IRIS)


@pytest.mark.parametrize("labels", [np.array([3, 1, 2]), np.array(["x", "z", "y"])])
def test_members_without_probabilities_vote(labels):
    members = [LinearSVC(random_state=0), GaussianNB(), LinearDiscriminantAnalysis()]
    model = FusionClassifier(members, fuser="majority").fit(X_IRIS, labels[Y_IRIS])
    assert_equal_answers(to_onnx(model), model, X_IRIS)


def test_frozen_members_and_fusions_of_fusions_are_exported():
    inner = FusionClassifier([GaussianNB(), LinearDiscriminantAnalysis()], fuser="mean")
    frozen = FrozenEstimator(LinearDiscriminantAnalysis().fit(X_IRIS, Y_IRIS))
    model = FusionClassifier([inner, frozen], fuser="product").fit(X_IRIS, Y_IRIS)
    assert_equal_answers(to_onnx(model), model, X_IRIS)


# -- with skl2onnx ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", CLOSE)
def test_a_pipeline_is_exported_by_either(dtype):
    model = make_pipeline(StandardScaler(), flock(effort="fast")).fit(X_WINE, Y_WINE)
    assert_equal_answers(to_onnx(model, dtype=dtype), model, X_WINE, dtype)
    kind = FloatTensorType if dtype == "float32" else DoubleTensorType
    register()  # once more does no harm
    graph = skl2onnx.to_onnx(
        model,
        initial_types=[("X", kind([None, 13]))],
        options={"zipmap": False},
        target_opset=OPSET,
    )
    assert_equal_answers(graph, model, X_WINE, dtype)


def test_options_and_types_of_skl2onnx_work():
    labels = np.array(["c", "a", "b"])[Y_WINE]
    model = flock(fuser="mean").fit(np.round(X_WINE), labels)
    rows = np.round(X_WINE).astype(np.int64)
    graph = skl2onnx.convert_sklearn(
        model, initial_types=[("X", Int64TensorType([None, 13]))], target_opset=OPSET
    )
    label, maps = session_of(graph).run(None, {"X": rows})
    assert label.tolist() == model.predict(rows).tolist()
    assert set(maps[0]) == {"a", "b", "c"}
    graph = skl2onnx.to_onnx(
        model,
        rows.astype(np.float32),
        options={id(model): {"zipmap": False, "nocl": True}},
        target_opset=OPSET,
    )
    label, _ = session_of(graph).run(None, {"X": rows.astype(np.float32)})
    assert model.classes_[label].tolist() == model.predict(rows).tolist()


def test_an_old_opset_is_refused():
    model = flock(fuser="mean").fit(X_WINE, Y_WINE)
    with pytest.raises(RuntimeError, match="need opset 13 or newer, got target_opset=12"):
        skl2onnx.to_onnx(model, X_WINE.astype(np.float32), target_opset=12)


# -- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (flock(fuser="borda"), "This SubsetEnsembleClassifier is fused by Borda.*fuse by 'product'"),
        (flock(fuser="trimmed_mean"), "fused by TrimmedMean"),
        (FusionClassifier([GaussianNB()], fuser="knora_e", cv=2), "is fused by KnoraEliminate"),
        (
            covey.LinearStackingClassifier([GaussianNB(), LinearDiscriminantAnalysis()], cv=2),
            "is a LinearStackingClassifier, which has no ONNX form",
        ),
        (
            FusionClassifier([("code", covey.CodeBookClassifier(GaussianNB(), random_state=0))]),
            "The member 'code' is a CodeBookClassifier, which has no ONNX form",
        ),
        (
            make_pipeline(StandardScaler(), flock(fuser="max")),
            "The step 'subsetensembleclassifier' is fused by Max",
        ),
        (StandardScaler(), "is neither a classifier nor a regressor"),
    ],
)
def test_what_has_no_onnx_form_is_refused_by_name(model, sentence):
    with pytest.raises(ValueError, match=sentence):
        to_onnx(model.fit(X_WINE, Y_WINE))


class Odd(GaussianNB):
    """Nobody has taught skl2onnx about it."""


def test_what_skl2onnx_does_not_know_is_refused_by_name():
    model = FusionClassifier([("odd", Odd())], fuser="mean").fit(X_WINE, Y_WINE)
    with pytest.raises(ValueError, match="The member 'odd' is a Odd, which skl2onnx cannot"):
        to_onnx(model)
    pipeline = make_pipeline(FunctionTransformer(np.log1p), GaussianNB()).fit(X_WINE, Y_WINE)
    with pytest.raises(ValueError, match="skl2onnx cannot convert this Pipeline"):
        to_onnx(pipeline)


def test_bad_parameters_are_refused():
    with pytest.raises(NotFittedError):
        to_onnx(flock())
    with pytest.raises(ValueError, match="dtype must be one of 'float32', 'float64', got 'half'"):
        to_onnx(flock(fuser="mean").fit(X_WINE, Y_WINE), dtype="half")


@pytest.mark.parametrize("missing", ["onnx", "skl2onnx"])
def test_without_a_package_one_sentence_names_the_extra(missing, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError) as caught:
        runpy.run_path(covey.onnx.__file__)
    assert str(caught.value).startswith(f"ONNX graphs need {missing}; install")
    assert str(caught.value).endswith('pip install "covey[onnx]".')


# -- plain models -------------------------------------------------------------------------------


@pytest.mark.parametrize(("X", "y"), [(X_WINE, Y_WINE), (X_TWO, np.array(["no", "yes"])[Y_TWO])])
@pytest.mark.parametrize("fuser", ["product", Product("accuracy")])
def test_a_collapsed_flock_is_a_logistic_regression(X, y, fuser):
    frame = pd.DataFrame(X, columns=[f"column {k}" for k in range(X.shape[1])])
    model = flock(fuser=fuser).fit(frame, y)
    plain = as_logistic_regression(model)
    assert type(plain) is LogisticRegression
    np.testing.assert_allclose(
        plain.predict_proba(frame), model.predict_proba(frame), rtol=0, atol=1e-12
    )
    assert plain.predict(frame).tolist() == model.predict(frame).tolist()
    assert list(plain.feature_names_in_) == list(frame.columns)
    assert plain.coef_.shape == (1 if len(plain.classes_) == 2 else 3, X.shape[1])
    with pytest.raises(ValueError, match="feature names"):
        plain.predict(frame[frame.columns[::-1]])
    plain.coef_[:] = 0
    assert model.coef_.any()


def test_a_plain_model_needs_no_covey(tmp_path):
    plain = as_logistic_regression(flock(fuser="product").fit(X_WINE, Y_WINE))
    (tmp_path / "plain.pickle").write_bytes(pickle.dumps(plain))
    assert b"covey" not in (tmp_path / "plain.pickle").read_bytes()


def test_only_a_product_is_plain():
    with pytest.raises(ValueError, match="fuser='mean' cannot collapse"):
        as_logistic_regression(flock(fuser="mean").fit(X_WINE, Y_WINE))


def test_a_plain_model_of_unnamed_columns_has_no_names():
    plain = as_logistic_regression(flock(fuser="product", fit_intercept=False).fit(X_WINE, Y_WINE))
    assert not hasattr(plain, "feature_names_in_")
    assert not plain.intercept_.any()
