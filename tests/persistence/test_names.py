"""Which types load takes, by name."""

import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import covey
from covey.persistence import ModelFileError, load
from covey.persistence._names import plain_class, strangers
from tests.persistence._helpers import X, assert_predicts_the_same, flock, saved, y


class Doubled(TransformerMixin, BaseEstimator):
    """A step that covey does not know."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return 2 * X


@pytest.mark.parametrize("trusted", [[f"{__name__}.Doubled"], [Doubled]])
def test_a_stranger_is_refused_by_name_and_admitted_if_trusted(trusted, tmp_path):
    model = make_pipeline(Doubled(), flock(fuser="mean")).fit(X, y)
    path = saved(model, tmp_path / "model.covey")
    with pytest.raises(ModelFileError, match=rf"model\.covey holds types.*{__name__}\.Doubled;"):
        load(path)
    assert_predicts_the_same(model, load(path, trusted), X)


def test_functions_are_not_trusted_without_being_named(tmp_path):
    path = saved(FunctionTransformer(covey.fuse), tmp_path / "model.covey")
    with pytest.raises(ModelFileError, match="covey.fusers._fuse.fuse"):
        load(path)
    assert load(path, ["covey.fusers._fuse.fuse"]).func is covey.fuse


@pytest.mark.parametrize("trusted", ["covey.fusers.Mean", True, [3]])
def test_trusted_must_be_a_list_of_types(trusted, tmp_path):
    path = saved(flock(), tmp_path / "model.covey")
    with pytest.raises(TypeError):
        load(path, trusted)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("covey.os", "system"),
        ("covey.persistence", "os"),
        ("covey.persistence", "Path"),  # imported there, not defined
        ("covey.persistence", "load"),
        ("covey.fusers", "Mean"),  # defined elsewhere
        ("covey.reproduce.__main__", "main"),
        ("covey._core.random", "Purpose"),  # an enumeration makes its members itself
        ("covey.persistence", "ModelFileError"),
        ("coveys", "Mean"),
        ("covey..fusers", "Mean"),
        ("os", "system"),
        ("builtins", "eval"),
        ("sklearn.tests.test_base", "MyEstimator"),
        ("sklearn.tree._tree", "Tree"),
        ("sklearn.utils._mocking", "CheckingClassifier"),
        ("sklearn.utils._testing", "MinimalClassifier"),
        ("sklearn.utils.parallel", "Parallel"),
        ("sklearn.externals._packaging.version", "Version"),
        ("sklearn.compose._column_transformer", "make_column_selector"),
        ("sklearn.metrics._scorer", "_Scorer"),
        ("sklearn.model_selection._search", "ParameterGrid"),
        ("skrub._data_ops._data_ops", "CallMethod"),
        ("skrub._data_ops._data_ops", "DataOp"),
        ("skrub._data_ops._caching", "Memory"),
        ("skrub._llm_encoder", "LLMEncoder"),
        ("skrub._table_vectorizer", "TableVectorizer"),
        ("skrub._no_such_module", "X"),
        ("covey._checkpoint", "Journal"),
        ("covey.cli._console", "Console"),
        (None, None),
    ],
)
def test_only_plain_classes_are_harmless(module, name):
    assert not plain_class(module, name)


def test_names_are_known_only_as_what_they_are():
    name = {"__module__": "skrub._to_str", "__class__": "ToStr"}
    assert not strangers([{**name, "__loader__": "ObjectNode"}])
    for loader in ("FunctionNode", "ConstructorFromReduceNode", "TypeNode", "DictNode"):
        assert strangers([{**name, "__loader__": loader}]) == {"skrub._to_str.ToStr"}
        assert strangers([{**name, "__loader__": one} for one in ("ObjectNode", loader)])


@pytest.mark.parametrize(
    ("module", "name", "loader"),
    [
        ("builtins", "map", "TypeNode"),
        ("builtins", "bytearray", "BytearrayNode"),
        ("builtins", "len", "FunctionNode"),
        ("collections", "defaultdict", "DefaultDictNode"),
        ("functools", "partial", "PartialNode"),
        ("numpy", "frompyfunc", "FunctionNode"),
        ("numpy", "void", "NdArrayNode"),
        ("operator", "methodcaller", "OperatorFuncNode"),
        ("skrub._dataframe._common", "is_numeric", "FunctionNode"),
        ("sklearn.naive_bayes", "GaussianNB", "MethodNode"),
        ("os", "system", "JsonNode"),
    ],
)
def test_what_skops_could_make_and_no_model_needs_is_a_stranger(module, name, loader):
    node = {"__module__": module, "__class__": name, "__loader__": loader}
    assert strangers([node]) == {f"{module}.{name}"}
    assert not strangers([node], {f"{module}.{name}"})
