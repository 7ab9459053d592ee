"""to_onnx and skl2onnx: pipelines, options, and what is refused by name."""

import runpy
import sys

import numpy as np
import pytest
import skl2onnx
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import covey
import covey.onnx
from covey import FusionClassifier
from covey.onnx import register, to_onnx
from tests.onnx._helpers import CLOSE, OPSET, X_WINE, Y_WINE, assert_equal_graph, flock, session_of


@pytest.mark.parametrize("dtype", CLOSE)
def test_a_pipeline_is_exported_by_either(dtype):
    model = make_pipeline(StandardScaler(), flock(effort="fast")).fit(X_WINE, Y_WINE)
    assert_equal_graph(to_onnx(model, dtype=dtype), model, X_WINE, dtype)
    kind = FloatTensorType if dtype == "float32" else DoubleTensorType
    register()  # once more does no harm
    graph = skl2onnx.to_onnx(
        model,
        initial_types=[("X", kind([None, 13]))],
        options={"zipmap": False},
        target_opset=OPSET,
    )
    assert_equal_graph(graph, model, X_WINE, dtype)


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
        (
            flock(fuser="borda"),
            "This SubsetEnsembleClassifier is fused by Borda.*fuse by 'pro",
        ),
        (flock(fuser="trimmed_mean"), "fused by TrimmedMean"),
        (
            flock(fuser="mean", categorical_features=[0]),
            "This SubsetEnsembleClassifier was fitted to categories in an array",
        ),
        (
            FusionClassifier([GaussianNB()], fuser="knora_e", cv=2),
            r"is fused by DynamicSelection\('knora_e'\)",
        ),
        (
            FusionClassifier([("views", covey.MultiviewClassifier(views=[[0, 1], [2, 3]]))]),
            "The member 'views' is a MultiviewClassifier, which has no ONNX form",
        ),
        (
            make_pipeline(StandardScaler(), flock(fuser="max")),
            "The step 'subsetensembleclassifier' of this Pipeline is fused by Max",
        ),
        (StandardScaler(), "is neither a classifier nor a regressor"),
    ],
)
def test_what_has_no_onnx_form_is_refused_by_name(model, sentence):
    with pytest.raises(ValueError, match=sentence):
        to_onnx(model.fit(X_WINE, Y_WINE))


class Odd(GaussianNB):
    """A class that skl2onnx has no converter for."""


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
