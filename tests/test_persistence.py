import importlib
import inspect
import io
import json
import os
import pickle
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM
from sklearn.tree import DecisionTreeClassifier

import covey
from covey import (
    CodeBookClassifier,
    ConsensusClustering,
    FlockClassifier,
    FlockRegressor,
    FusionClassifier,
    Gate,
    SubsetEnsembleClassifier,
    SubsetEnsembleRegressor,
    SubsetSelector,
    persistence,
)
from covey.fusers import FUSERS
from covey.members._fusion_regression import FusionRegressor
from covey.members._member import LinearRegressionMember
from covey.members._multiview import MultiviewClassifier
from covey.members._sampled import SampledFusionClassifier, SampledFusionRegressor
from covey.persistence import ModelFileError, load, save
from covey.persistence._names import plain_class, strangers
from covey.rivals._decorate import DecorateClassifier
from covey.rivals._diverse_maxent import DiverseMaxEntClassifier
from covey.rivals._subset_search import SubsetSearchClassifier
from covey.stacking import (
    GeneralStackingClassifier,
    GeneralStackingRegressor,
    LinearStackingClassifier,
    LinearStackingRegressor,
)
from covey.tables import TableClassifier, TableRegressor

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.covey"))

X, y = load_iris(return_X_y=True)
X, y = X[::3], np.array(["setosa", "versicolor", "virginica"])[y[::3]]
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])
X_NUMBERS, Y_NUMBERS = (part[:60] for part in load_diabetes(return_X_y=True))


def members():
    return [LogisticRegression(), GaussianNB(), DecisionTreeClassifier(max_depth=3)]


def flock(**parameters):
    if "fuser" in parameters:
        return SubsetEnsembleClassifier(
            **{"n_estimators": 2, "max_iter": 10, "random_state": 0, **parameters}
        )
    return FlockClassifier(**{"n_estimators": 2, "random_state": 0, **parameters})


def linear():
    return [LinearRegression(), Ridge()]


CLASSIFIERS = {
    "search": flock(),
    "fast": flock(effort="fast"),
    "product": flock(fuser="product", warm_start=True),
    "gate": flock(fuser=Gate(pool="log", features="quadratic")),
    "random state": flock(fuser="mean", random_state=np.random.RandomState(3)),
    "splitter": flock(cv=StratifiedKFold(2)),
    "code book": CodeBookClassifier(LogisticRegression(), random_state=0),
    "linear stacking": LinearStackingClassifier(members(), cv=3),
    "general stacking": GeneralStackingClassifier(members(), cv=3),
    "max-ent": DiverseMaxEntClassifier(n_estimators=2, random_state=0),
    "decorate": DecorateClassifier(n_estimators=2, random_state=0),
    "subset search": SubsetSearchClassifier(n_estimators=2, random_state=0),
    "views": MultiviewClassifier({"sepal": slice(0, 2), "petal": slice(2, 4)}),
    "sampled": SampledFusionClassifier(RandomForestClassifier(4, random_state=0)),
    "pipeline": make_pipeline(StandardScaler(), flock(effort="fast")),
    "grid": GridSearchCV(flock(fuser="product"), {"n_estimators": [1, 2]}, cv=2),
    "voting": VotingClassifier([("nb", GaussianNB()), ("flock", flock(fuser="mean"))]),
    **{
        f"fused by {rule}": FusionClassifier(members(), fuser=rule, cv=3)
        for rule in FUSERS
        if rule != "oracle"
    },
    **{
        f"scikit-learn's {type(model).__name__}": FusionClassifier(
            [model, GaussianNB()], "majority"
        )
        for model in (
            BaggingClassifier(n_estimators=2, max_features=0.5, random_state=0),
            ExtraTreesClassifier(3, random_state=0),
            GradientBoostingClassifier(n_estimators=2),
            HistGradientBoostingClassifier(max_iter=2),
            KNeighborsClassifier(),
            RandomForestClassifier(3, random_state=0),
            SVC(),
        )
    },
    "ball tree": KNeighborsClassifier(algorithm="ball_tree", metric="manhattan"),
    "brute neighbours": KNeighborsClassifier(algorithm="brute"),
    "calibrated": CalibratedClassifierCV(GaussianNB(), method="isotonic", cv=2),
    "processes": GaussianProcessClassifier(),
    "network": MLPClassifier((3,), max_iter=3, random_state=0),
    "zero start": GradientBoostingClassifier(n_estimators=2, init="zero"),
    "log": make_pipeline(FunctionTransformer(np.log1p), GaussianNB()),
    "table": TableClassifier(flock(effort="fast")),
}
OTHERS = {
    "selector": SubsetSelector(random_state=0),
    "consensus": ConsensusClustering(n_clusters=3, random_state=0),
    "isolation": IsolationForest(n_estimators=3, random_state=0),
    "k-means": KMeans(3, n_init=1, random_state=0),
    "one class": OneClassSVM(),
}
REGRESSORS = {
    "flock": FlockRegressor(n_estimators=2, effort="fast", random_state=0),
    "fusion": FusionRegressor(linear()),
    "linear stacking": LinearStackingRegressor(linear(), cv=3),
    "general stacking": GeneralStackingRegressor(linear(), cv=3),
    "sampled": SampledFusionRegressor(BaggingRegressor(Ridge(), 3, random_state=0)),
    "flock by product": SubsetEnsembleRegressor(2, max_iter=10, random_state=0),
    "table": TableRegressor(FlockRegressor(n_estimators=2, effort="fast", random_state=0)),
    "support vectors": SVR(),
    "boosting": GradientBoostingRegressor(n_estimators=2, loss="huber"),
}


def saved(model, path):
    save(model, path)
    return path


def round_trip(model, tmp_path):
    return load(saved(model, tmp_path / "model.covey"))


def assert_says_the_same(one, other, X):
    for method in ("predict", "predict_proba", "decision_function", "transform", "explain_fusion"):
        if hasattr(one, method) and not isinstance(one, ConsensusClustering):
            np.testing.assert_array_equal(getattr(one, method)(X), getattr(other, method)(X))
    assert described(one) == described(other)


def described(model):
    return re.sub("0x[0-9A-F]+", "", repr(model))


# -- round trips ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_come_back_equal_to_the_bit(name, tmp_path):
    model = CLASSIFIERS[name].fit(X, y)
    again = round_trip(model, tmp_path)
    assert type(again) is type(model)
    assert_says_the_same(model, again, X)


@pytest.mark.filterwarnings("ignore:No features were selected")
@pytest.mark.parametrize("name", OTHERS)
def test_selectors_and_clusterings_come_back(name, tmp_path):
    model = OTHERS[name].fit(X, y)
    again = round_trip(model, tmp_path)
    assert_says_the_same(model, again, X)
    if name == "consensus":
        np.testing.assert_array_equal(model.labels_, again.labels_)


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_come_back_equal_to_the_bit(name, tmp_path):
    model = REGRESSORS[name].fit(X_NUMBERS, Y_NUMBERS)
    assert_says_the_same(model, round_trip(model, tmp_path), X_NUMBERS)


def test_a_collapsed_member_a_fuser_and_an_unfitted_model_come_back(tmp_path):
    member = flock(fuser="product").fit(FRAME, y).collapse()
    again = round_trip(member, tmp_path)
    assert_says_the_same(member, again, FRAME)
    assert again.formula() == member.formula()
    assert repr(round_trip(covey.fusers.Mean([1.0, 2.0]), tmp_path)) == repr(
        covey.fusers.Mean([1.0, 2.0])
    )
    assert repr(round_trip(flock(), tmp_path)) == repr(flock())


def test_names_explanations_and_histories_come_back(tmp_path):
    model = flock(effort="fast").fit(FRAME, y)
    again = round_trip(model, tmp_path)
    assert list(again.feature_names_in_) == list(FRAME.columns)
    assert again.explain(FRAME[:3]) == model.explain(FRAME[:3])
    assert again.cv_results_.keys() == model.cv_results_.keys()
    for old, new in zip(model.history_, again.history_, strict=True):
        np.testing.assert_equal(new, old)


def test_a_warm_start_goes_on_after_loading(tmp_path):
    short = flock(fuser="product", n_estimators=1, warm_start=True).fit(X, y)
    again = round_trip(short, tmp_path).set_params(n_estimators=3).fit(X, y)
    whole = flock(fuser="product", n_estimators=3).fit(X, y)
    np.testing.assert_array_equal(again.coef_, whole.coef_)


def test_sparse_training_rows_come_back(tmp_path):
    model = KNeighborsClassifier(algorithm="brute").fit(sparse.csr_matrix(X), y)
    assert_says_the_same(model, round_trip(model, tmp_path), sparse.csr_matrix(X))


def public_estimators():
    classes = [getattr(covey, name) for name in covey.__all__]
    return {kind for kind in classes if inspect.isclass(kind) and hasattr(kind, "get_params")}


def test_every_public_class_can_be_made_without_running_its_code():
    classes = public_estimators()
    assert len(classes) > 20
    assert all(plain_class(kind.__module__, kind.__name__) for kind in classes)


def test_every_estimator_of_covey_is_saved_fitted_by_some_test():
    # One that is added to covey must be added to the round trips above, where what it keeps, and
    # the list of what is admitted, may turn out not to agree.
    met = {type(model) for model in [*CLASSIFIERS.values(), *OTHERS.values()]}
    met |= {type(model) for model in REGRESSORS.values()} | set(FUSERS.values())
    # These are only bases, or have a test of their own below, or cannot be fitted in a flock.
    met |= {covey.Fuser, covey.fusers.DynamicSelection, covey.members.GrownClassifier}
    met |= {covey.members.LinearMember, covey.fusers.Oracle}
    assert public_estimators() <= met


def test_a_table_of_every_kind_of_column_comes_back(tmp_path):
    pytest.importorskip("skrub")
    n_rows = 60
    table = pd.DataFrame(
        {
            "size": np.where(np.arange(n_rows) % 7, np.arange(n_rows) ** 1.5, np.nan),
            "town": ["Rome", "Oslo", None, "Bath"] * 15,
            "note": [f"word {place} of a long text" for place in range(n_rows)],
            "when": pd.date_range("2020-01-01", periods=n_rows, freq="17h").astype(str),
            "seen": pd.date_range("2020-01-01", periods=n_rows, freq="35h"),
        }
    )
    model = TableClassifier(LogisticRegression(max_iter=5000)).fit(table, ["a", "b"] * 30)
    kept = {type(step).__name__ for steps in model.preparation_._steps.values() for step in steps}
    assert {"OneHotEncoder", "StringEncoder", "DatetimeEncoder", "ToDatetime"} <= kept
    assert_says_the_same(model, round_trip(model, tmp_path), table)


def test_a_member_for_numbers_comes_back(tmp_path):
    member = REGRESSORS["flock"].fit(X_NUMBERS, Y_NUMBERS).estimators_[0]
    assert isinstance(member, LinearRegressionMember)
    assert_says_the_same(member, round_trip(member, tmp_path), X_NUMBERS)


# -- files ------------------------------------------------------------------------------------


def test_a_file_says_who_wrote_it(tmp_path):
    path = saved(GaussianNB().fit(X, y), tmp_path / "model.covey")
    with zipfile.ZipFile(path) as archive:
        info = json.loads(archive.read("covey.json"))
    assert info["format"] == 1
    assert info["covey"] == covey.__version__
    assert info["estimator"] == "GaussianNB"
    assert {"scikit-learn", "numpy"} < set(info)
    # And skops itself reads it.
    assert isinstance(skops.io.load(path), GaussianNB)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("disk full")])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_save_that_is_interrupted_leaves_the_old_file_and_nothing_else(
    step, error, tmp_path, monkeypatch
):
    path = saved(flock(), tmp_path / "model.covey")
    before = path.read_bytes()

    def fails(*args):
        raise error

    monkeypatch.setattr(os, step, fails)
    with pytest.raises(type(error) if isinstance(error, Exception) else error):
        save(GaussianNB(), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.covey"]


def test_the_bytes_are_on_disk_before_the_file_is_moved_into_place(tmp_path, monkeypatch):
    order = []
    sync, move = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (order.append("fsync"), sync(file)))
    monkeypatch.setattr(os, "replace", lambda *ends: (order.append(ends), move(*ends)))
    save(flock(), tmp_path / "model.covey")
    assert order[0] == "fsync"
    source, target = order[1]
    assert Path(source).parent == tmp_path == Path(target).parent


def test_what_cannot_be_read_again_is_not_saved(tmp_path):
    model = make_pipeline(FunctionTransformer(lambda X: X), GaussianNB())
    with pytest.raises(ModelFileError, match="This Pipeline cannot be saved"):
        save(model, tmp_path / "model.covey")
    with pytest.raises(TypeError, match="save takes an estimator, got 3"):
        save(3, tmp_path / "model.covey")
    with pytest.raises(FileNotFoundError, match="no folder .*nowhere"):
        save(flock(), tmp_path / "nowhere" / "model.covey")
    assert not os.listdir(tmp_path)


def test_without_skops_one_sentence_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    monkeypatch.setitem(sys.modules, "skops", None)
    for use in (lambda: save(flock(), tmp_path / "m"), lambda: load(tmp_path / "m")):
        with pytest.raises(ImportError, match=r'pip install "covey\[io\]"'):
            use()


# -- types ------------------------------------------------------------------------------------


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
    assert_says_the_same(model, load(path, trusted), X)


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
        ("covey._core.journal", "Journal"),
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


# -- tampered files -----------------------------------------------------------------------------


def changed(path, **entries):
    """The archive with some entries changed by functions of their parsed JSON."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(buffer, "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            change = entries.get(entry.filename.removesuffix(".json"))
            if change is not None:
                parsed = json.loads(content)
                content = json.dumps(change(parsed) or parsed)
            new.writestr(entry.filename, content)
    path.write_bytes(buffer.getvalue())
    return path


def nodes(schema):
    if isinstance(schema, dict):
        if "__loader__" in schema:
            yield schema
        for part in schema.values():
            yield from nodes(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from nodes(part)


@pytest.fixture
def path(tmp_path):
    return saved(flock(fuser="mean").fit(X, y), tmp_path / "model.covey")


class Payload:
    """A pickle of it would create a file when loaded."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (self.marker,)


def test_a_pickle_under_another_name_is_not_run(tmp_path):
    marker = str(tmp_path / "was here")
    path = tmp_path / "model.covey"
    path.write_bytes(pickle.dumps(Payload(marker)))
    with pytest.raises(ModelFileError, match="is not a model file.*no pickles"):
        load(path)
    assert not os.path.exists(marker)
    pickle.loads(path.read_bytes())  # the payload works, where it is let
    assert os.path.exists(marker)


def number(value):
    """What a file says for a number or text."""
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
    }


def call(module, name, argument, loader="ConstructorFromReduceNode"):
    """What a file says to have something called with an argument."""
    return {
        "__class__": name,
        "__module__": module,
        "__loader__": loader,
        "content": {
            "__class__": "tuple",
            "__module__": "builtins",
            "__loader__": "TupleNode",
            "content": [number(argument)],
        },
    }


@pytest.mark.parametrize(
    ("module", "name"),
    [("posix", "mkdir"), ("os", "mkdir"), ("covey.persistence.os", "mkdir")],
)
def test_a_call_hidden_in_a_file_is_refused_by_name_and_not_made(module, name, path, tmp_path):
    marker = str(tmp_path / "was here")
    tampered = call(module, name, marker)

    def add(schema):
        schema["content"]["content"]["fuser"] = tampered

    with pytest.raises(ModelFileError, match=f"types .*: {module}.{name};"):
        load(changed(path, schema=add))
    assert not os.path.exists(marker)


def test_a_class_of_covey_is_filled_and_never_called(path):
    def add(schema):
        schema["content"]["content"]["fuser"] = call("covey.fusers._fixed", "Mean", [1.0])

    with pytest.raises(ModelFileError, match="types .*: covey.fusers._fixed.Mean;"):
        load(changed(path, schema=add))


def test_a_name_cannot_cover_another_kind_of_object(path):
    def hide(schema):
        for node in nodes(schema):
            if node["__class__"] == "Mean":
                node.update(call("covey.fusers._fixed", "Mean", 1, loader="PartialNode"))

    with pytest.raises(ModelFileError):
        load(changed(path, schema=hide))


def test_an_older_protocol_of_skops_is_refused(path):
    with pytest.raises(ModelFileError, match="its schema is none that covey.save writes"):
        load(changed(path, schema=lambda schema: {**schema, "protocol": 0}))


@pytest.mark.parametrize("length", [0, 1, 10, 500, -1, -30])
def test_an_empty_or_truncated_file_is_no_model_file(length, path):
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ModelFileError, match="is not a model file, or only a part of one"):
        load(path)


def test_random_bytes_are_no_model_file(path):
    path.write_bytes(np.random.default_rng(0).bytes(2_000))
    with pytest.raises(ModelFileError, match="is not a model file"):
        load(path)


def test_every_flipped_byte_gives_a_model_or_one_sentence(tmp_path):
    path = saved(GaussianNB().fit(X, y), tmp_path / "model.covey")
    whole = path.read_bytes()
    said = []
    for at in range(0, len(whole), 37):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
        try:
            load(path)
        except ModelFileError as error:
            said.append(str(error))
    assert len(said) > 20
    assert not any("\n" in sentence for sentence in said)


def test_any_other_archive_is_no_model_file(tmp_path):
    path = tmp_path / "model.covey"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(ModelFileError, match="is an archive, but not a model file"):
        load(path)
    path.write_bytes(skops.io.dumps(GaussianNB()))
    with pytest.raises(ModelFileError, match="is an archive, but not a model file"):
        load(path)


def test_a_file_of_the_future_is_refused_by_versions(path):
    def later(info):
        return {**info, "format": 2, "covey": "7.0"}

    with pytest.raises(ModelFileError, match="format 2, written by covey 7.0.*; update covey"):
        load(changed(path, covey=later))


@pytest.mark.parametrize("number", [0, -1, True, "1", None])
def test_a_file_without_a_format_is_damaged(number, path):
    with pytest.raises(ModelFileError, match="names no format"):
        load(changed(path, covey=lambda info: {**info, "format": number}))


def test_a_bomb_is_refused_before_it_unfolds(path, monkeypatch):
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.npy", bytes(1_000))
        archive.filelist[-1].file_size = 500_000_000
    with monkeypatch.context() as patched:
        patched.setattr(zipfile.ZipFile, "read", lambda *args: pytest.fail("it unfolds"))
        with pytest.raises(
            ModelFileError, match="unfolds to 500,[0-9,]+ bytes .*as no model does"
        ):
            load(path)
        with pytest.raises(ModelFileError, match="more than max_size=10,000,000"):
            load(path, max_size=10_000_000)
        with pytest.raises(ModelFileError, match="more than max_size=10"):
            load(path, max_size=10)
        with pytest.raises(ValueError, match="max_size"):
            load(path, max_size=-1)
    assert isinstance(load(path, max_size=10**9), SubsetEnsembleClassifier)


def test_more_than_four_gigabytes_are_refused(path):
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("zeros.npy", b"x")
        archive.filelist[-1].file_size = 5 * 2**30
    with pytest.raises(ModelFileError, match="more than max_size=4,294,967,296"):
        load(path)


def test_a_bomb_in_a_sparse_matrix_is_refused(tmp_path):
    model = KNeighborsClassifier(algorithm="brute").fit(sparse.csr_matrix(X), y)
    path = saved(model, tmp_path / "model.covey")
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.npy", bytes(1_000))
        archive.filelist[-1].file_size = 500_000_000
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(buffer, "w") as new:
        for entry in old.infolist():
            inner = entry.filename.endswith(".npz")
            new.writestr(entry.filename, bomb.getvalue() if inner else old.read(entry))
    path.write_bytes(buffer.getvalue())
    with pytest.raises(ModelFileError, match="unfolds to 500,000,000 bytes"):
        load(path)


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "folder/evil", "c:\\evil"])
def test_paths_in_an_archive_are_refused(name, path):
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, "x")
    with pytest.raises(ModelFileError, match="points to a folder"):
        load(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_odd_archives_are_refused(path):
    whole = path.read_bytes()
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("covey.json", "{}")
    with pytest.raises(ModelFileError, match="two entries of one name"):
        load(path)
    path.write_bytes(whole)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_LZMA) as archive:
        archive.writestr("more.npy", "x")
    with pytest.raises(ModelFileError, match="encrypted or packed"):
        load(path)


def test_endless_nesting_is_one_sentence(path):
    def nest(schema):
        inner = schema["content"]
        for _ in range(5_000):
            inner = {**call("builtins", "list", 1, "ListNode"), "content": [inner]}
        return {**schema, "content": inner}

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)  # for the making
    try:
        changed(path, schema=nest)
    finally:
        sys.setrecursionlimit(limit)
    with pytest.raises(ModelFileError, match="is damaged"):
        load(path)


def with_array(path, change, *, fields=()):
    """The archive with its first array of these fields changed in place."""
    buffer = io.BytesIO()
    done = False
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(buffer, "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename.endswith(".npy") and not done:
                array = np.load(io.BytesIO(content))
                if set(fields) <= set(array.dtype.names or ()) and (
                    fields or not array.dtype.names
                ):
                    done = change(array) is None
                    out = io.BytesIO()
                    np.save(out, array)
                    content = out.getvalue()
            new.writestr(entry.filename, content)
    assert done
    path.write_bytes(buffer.getvalue())
    return path


# -- attacks that have been tried -----------------------------------------------------------------


def expression(marker):
    """An expression of skrub that makes a folder as soon as anybody looks at it."""
    ops = pytest.importorskip("skrub._data_ops._data_ops")

    def node(kind, *arguments):
        made = kind(*arguments)
        made._creation_stack, made.uuid = None, str(id(made))
        return ops.DataOp(made)

    with pytest.importorskip("skrub").config_context(eager_data_ops=False):
        found = node(ops.GetAttr, node(ops.Value, flock()), "fit")
        found = node(ops.GetItem, node(ops.GetAttr, found, "__globals__"), "__builtins__")
        found = node(
            ops.CallMethod, node(ops.GetItem, found, "__import__"), "__call__", ("os",), {}
        )
        return node(ops.CallMethod, found, "mkdir", (marker,), {})


@pytest.mark.parametrize("attribute", ["estimators_", "estimator_"])
def test_an_expression_of_skrub_is_refused_and_not_evaluated(attribute, tmp_path):
    marker = tmp_path / "was here"
    # The first is asked for its length while it is checked, the second when it predicts.
    model = BaggingClassifier() if attribute == "estimators_" else TableClassifier()
    model.n_features_in_ = 3
    vars(model)[attribute] = expression(str(marker))
    path = saved(model, tmp_path / "model.covey")
    with pytest.raises(ModelFileError, match=r"types .*skrub\._data_ops\._data_ops\.CallMethod"):
        load(path)
    assert not marker.exists()
    names = skops.io.get_untrusted_types(file=path)
    vars(skops.io.load(path, trusted=names))[attribute].skb.eval()
    assert marker.exists()  # the payload works, where it is let


def alias(schema):
    """Keys of a dict that skops takes from elsewhere, since their number is that of another."""
    keys = schema["content"]["key_types"]
    decoy = {**call("builtins", "list", 1, "ListNode"), "__id__": 77}
    decoy["content"] = [call("sklearn.naive_bayes", "GaussianNB", 1, "ObjectNode")]
    decoy["content"][0]["content"] = number(None)
    schema["content"]["content"] = {"decoy": decoy, **schema["content"]["content"]}
    keys["content"].insert(0, keys["content"][0])
    for node in nodes(schema):
        if "key_types" in node:
            node["key_types"]["__id__"] = 77


def object_for_keys(schema):
    schema["content"]["key_types"] = call("sklearn.naive_bayes", "GaussianNB", 1, "ObjectNode")
    schema["content"]["key_types"]["content"] = number(None)


def object_for_attributes(schema):
    schema["content"].update(__module__="sklearn.utils._bunch", __class__="Bunch")


def object_for_mask(schema):
    schema["content"]["content"]["fuser"] = {
        "__module__": "numpy.ma",
        "__class__": "MaskedArray",
        "__loader__": "MaskedArrayNode",
        "content": {"data": number(1), "mask": number(2)},
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (alias, "two objects have one number"),
        (object_for_keys, "a part of an object"),
        (object_for_attributes, "a part of an object"),
        (object_for_mask, "a part of an object"),
    ],
)
def test_parts_of_objects_are_what_skops_writes_there(change, said, path):
    with pytest.raises(ModelFileError, match=f"is damaged: {said}.* tampered with"):
        load(changed(path, schema=change))


@pytest.mark.parametrize("name", ["predict", "__reduce_ex__", "__sklearn_tags__"])
def test_an_attribute_that_hides_a_method_is_refused(name, tmp_path):
    model = GaussianNB().fit(X, y)
    vars(model)[name] = np.float64  # a type, which can be called
    with pytest.raises(ModelFileError, match=f"the attribute '{name}' of GaussianNB"):
        load(saved(model, tmp_path / "model.covey"))


def test_what_reads_files_or_pickles_is_refused_unless_it_is_trusted(tmp_path):
    words = TfidfVectorizer(input="filename")
    path = saved(make_pipeline(words, GaussianNB()), tmp_path / "words.covey")
    with pytest.raises(ModelFileError, match="TfidfVectorizer takes text for the names of files"):
        load(path)
    assert load(path, [TfidfVectorizer])[0].input == "filename"
    cached = Pipeline([("nb", GaussianNB())], memory=str(tmp_path / "cache"))
    path = saved(cached, tmp_path / "cached.covey")
    with pytest.raises(ModelFileError, match="Pipeline keeps results in a folder .*trusted="):
        load(path)
    assert load(path, [Pipeline]).memory


def test_an_array_that_is_an_archive_is_refused(tmp_path):
    path = saved(GaussianNB().fit(X, y), tmp_path / "model.covey")
    inner, buffer = io.BytesIO(), io.BytesIO()
    np.savez(inner, a=np.zeros(2))
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(buffer, "w") as new:
        for entry in old.infolist():
            array = entry.filename.endswith(".npy")
            new.writestr(entry.filename, inner.getvalue() if array else old.read(entry))
    path.write_bytes(buffer.getvalue())
    with pytest.raises(ModelFileError, match="is damaged"):
        load(path)


def test_one_entry_is_not_read_many_times(tmp_path):
    model = StandardScaler()
    model.zeros = np.zeros(1_000)
    path = saved(model, tmp_path / "model.covey")
    load(path)

    def repeat(schema):
        attributes, keys = schema["content"]["content"], schema["content"]["key_types"]["content"]
        for place in range(50):
            attributes[f"a{place}"] = {**attributes["zeros"], "__id__": place + 1}
            keys.append(keys[0])

    with pytest.raises(ModelFileError, match="two objects are read from one entry"):
        load(changed(path, schema=repeat))


def tiled(model):
    model.estimators_ = np.tile(model.estimators_, (1, 40))


def narrow_start(model):
    model.init_.class_prior_ = model.init_.class_prior_[:1]


def other_start(model):
    model.init_ = GaussianNB().fit(X, y)


def other_loss(model):
    model._loss = GradientBoostingRegressor(n_estimators=1).fit(X_NUMBERS, Y_NUMBERS)._loss


def no_width(model):
    del model.n_features_in_


def a_step_before(model):
    model._preprocessor = StandardScaler()


def strange_class(model):
    model._y[0] = 1_000_000


def fewer_rows(model):
    model._fit_X = model._fit_X[:, :1]


def fewer_vectors(model):
    model.support_vectors_ = model.support_vectors_[:, :1]


def fewer_coefficients(model):
    model._dual_coef_ = model._dual_coef_[:, :1]


def probabilities(model):
    model.probability = model._effective_probability = True


def other_machine(model):
    model._impl = "one_class"


def narrow_centers(model):
    model.cluster_centers_ = model.cluster_centers_[:, :1]


def listed_tree(model):
    model.tree_ = [model.tree_]


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (GradientBoostingClassifier(n_estimators=2, max_depth=1), tiled),
        (GradientBoostingClassifier(n_estimators=2, max_depth=1), narrow_start),
        (GradientBoostingClassifier(n_estimators=2, max_depth=1), other_start),
        (GradientBoostingClassifier(n_estimators=2, max_depth=1), other_loss),
        (DecisionTreeClassifier(), no_width),
        (DecisionTreeClassifier(), listed_tree),
        (HistGradientBoostingClassifier(max_iter=1), no_width),
        (HistGradientBoostingClassifier(max_iter=1), a_step_before),
        (KNeighborsClassifier(algorithm="brute"), strange_class),
        (KNeighborsClassifier(algorithm="brute"), fewer_rows),
        (SVC(), fewer_vectors),
        (SVC(), fewer_coefficients),
        (SVC(), other_machine),
        (SVC(), probabilities),
        (KMeans(3, n_init=1), narrow_centers),
    ],
    ids=lambda part: getattr(part, "__name__", type(part).__name__),
)
def test_compiled_models_that_do_not_fit_together_are_refused(model, change, tmp_path):
    model.fit(X, y)
    load(saved(model, tmp_path / "model.covey"))
    change(model)
    with pytest.raises(ModelFileError, match="is damaged: .*(tampered with|if you trust whoever)"):
        load(saved(model, tmp_path / "model.covey"))


def test_a_tree_outside_of_an_estimator_of_trees_is_refused(tmp_path):
    model = GaussianNB().fit(X, y)
    model.tree_ = DecisionTreeClassifier().fit(X, y).tree_
    with pytest.raises(ModelFileError, match="a decision tree leads out of it"):
        load(saved(model, tmp_path / "model.covey"))


@pytest.mark.parametrize(
    ("field", "value"), [("left_child", -20_000_000), ("left_child", -2), ("right_child", 0)]
)
def test_a_leaf_has_no_children_of_any_number(field, value, tmp_path):
    path = saved(TREES["tree"].fit(X, y), tmp_path / "model.covey")

    def change(nodes):
        nodes[field][np.flatnonzero(nodes["left_child"] == -1)[0]] = value

    with_array(path, change, fields=TREE_FIELDS["tree"])
    with pytest.raises(ModelFileError, match="a node of a decision tree leads out of it"):
        load(path)


def test_a_tree_is_as_deep_as_it_says(tmp_path):
    model = TREES["tree"].fit(X, y)
    state = model.tree_.__getstate__()
    model.tree_.__setstate__({**state, "max_depth": 1})
    with pytest.raises(ModelFileError, match="the depth of a decision tree"):
        load(saved(model, tmp_path / "model.covey"))


TREE_FIELDS = {
    "tree": ("left_child", "right_child", "feature"),
    "forest": ("left_child", "right_child", "feature"),
    "boosting": ("left", "right", "feature_idx"),
    "neighbours": ("idx_start", "idx_end", "is_leaf"),
}
TREES = {
    "tree": DecisionTreeClassifier(max_depth=3),
    "forest": RandomForestClassifier(2, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=5),
    "neighbours": KNeighborsClassifier(algorithm="kd_tree", leaf_size=5),
}


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        (kind, field, 0 if field == "is_leaf" else 1_000_000)
        for kind, fields in TREE_FIELDS.items()
        for field in fields
    ]
    + [("tree", "left_child", 0), ("boosting", "left", 0)],  # a circle
)
def test_a_tree_that_leads_out_of_itself_is_refused(kind, field, value, tmp_path):
    path = saved(TREES[kind].fit(X, y), tmp_path / "model.covey")
    load(path)

    def change(nodes):
        nodes[field][-1 if field == "is_leaf" else 0] = value

    with_array(path, change, fields=TREE_FIELDS[kind])
    with pytest.raises(ModelFileError, match="is damaged: .* tampered with"):
        load(path)


@pytest.mark.parametrize("owner", ["DecisionTreeClassifier", "RandomForestClassifier"])
def test_a_tree_as_wide_as_its_owner_is_not_is_refused(owner, tmp_path):
    path = saved(TREES["forest"].fit(X, y), tmp_path / "model.covey")

    def narrow(schema):
        for node in nodes(schema):
            if node["__class__"] == owner and "n_features_in_" in node["content"]["content"]:
                node["content"]["content"]["n_features_in_"] = number(1)

    with pytest.raises(ModelFileError, match="tree.* tampered with"):
        load(changed(path, schema=narrow))


def test_a_random_state_that_points_elsewhere_is_refused(tmp_path):
    path = saved(flock(random_state=np.random.RandomState(0)), tmp_path / "model.covey")
    load(path)

    def point(schema):
        for node in nodes(schema):
            content = node.get("content")
            if isinstance(content, dict) and "pos" in content:
                content["pos"] = number(100_000)

    with pytest.raises(ModelFileError, match="a random state leads out of it"):
        load(changed(path, schema=point))


def test_a_sparse_matrix_that_points_elsewhere_is_refused(tmp_path):
    model = KNeighborsClassifier(algorithm="brute").fit(sparse.csr_matrix(X), y)
    model._fit_X.indices[0] = 99
    with pytest.raises(ModelFileError, match="is damaged"):
        load(saved(model, tmp_path / "model.covey"))


def test_boosting_on_categories_needs_trust(tmp_path):
    codes = np.arange(150)[:, None] % 7
    model = HistGradientBoostingClassifier(
        max_iter=2, min_samples_leaf=2, categorical_features=[0]
    ).fit(codes, codes[:, 0] > 3)
    path = saved(model, tmp_path / "model.covey")
    predictor = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
    functions = ["functools.partial", "sklearn.utils.validation.check_array"]
    with pytest.raises(ModelFileError, match=", ".join(functions)):
        load(path)
    with pytest.raises(ModelFileError, match=f"categories.*{predictor}"):
        load(path, functions)
    assert_says_the_same(model, load(path, [*functions, predictor]), codes)


# -- older files --------------------------------------------------------------------------------


def test_there_are_golden_files():
    assert len(GOLDEN) >= 5
    assert all(path.stat().st_size < 100_000 for path in GOLDEN)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_models_of_older_versions_say_what_they_said(path):
    said = json.loads(path.with_suffix(".json").read_text())
    rows = pd.DataFrame(said["rows"], columns=said["columns"])
    model = load(path)
    assert model.predict(rows).tolist() == said["labels"]
    # Not to the bit: another processor or library may add numbers up in another order.
    np.testing.assert_allclose(
        model.predict_proba(rows), said["probabilities"], rtol=1e-9, atol=1e-12
    )
    assert model.get_params()


def test_a_model_of_before_a_parameter_was_added_gets_its_default(path):
    def forget(schema):
        for node in nodes(schema):
            if node["__class__"] == "SubsetEnsembleClassifier":
                del node["content"]["content"]["focal_gamma"]
                del node["content"]["key_types"]["content"][-1]

    def keys_of(schema):
        # Keys are all strings, so that any of their types may go.
        return {kind["__class__"] for kind in schema["content"]["key_types"]["content"]}

    with zipfile.ZipFile(path) as archive:
        assert keys_of(json.loads(archive.read("schema.json"))) == {"str"}
    again = load(changed(path, schema=forget))
    assert again.focal_gamma == 2.0
    assert repr(again) == repr(flock(fuser="mean"))


def test_a_class_that_has_moved_is_found(path, monkeypatch):
    model = load(path)

    def old(schema):
        for node in nodes(schema):
            if node["__class__"] == "Mean":
                node.update(__module__="covey.before", __class__="Average")

    changed(path, schema=old)
    with pytest.raises(ModelFileError, match="types .*: covey.before.Average;"):
        load(path)
    monkeypatch.setitem(persistence._MOVED, "covey.before.Average", "covey.fusers._fixed.Mean")
    assert_says_the_same(load(path), model, X)


def test_golden_files_can_be_made_again(tmp_path, monkeypatch):
    make = importlib.import_module("tests.golden.make")
    monkeypatch.setattr(make, "HERE", tmp_path)
    monkeypatch.setattr(make, "models", lambda: {"nb": GaussianNB()})
    make.main()
    (one,) = tmp_path.glob("*.covey")
    before = one.read_bytes()
    make.main()
    assert one.read_bytes() == before
    assert isinstance(load(one), GaussianNB)
