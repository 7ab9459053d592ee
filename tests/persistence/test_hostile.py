"""Files made to do harm are refused, whatever they hold, and nothing of them is run."""

import io
import json
import os
import re
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    StackingClassifier,
)
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.impute import IterativeImputer
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import Bunch
from typer.testing import CliRunner

import covey
from covey.cli import app
from covey.persistence import ModelFileError, load, save
from covey.persistence._archive import write_archive
from covey.persistence._trees import _depth
from tests.persistence._helpers import (
    GOLDEN,
    changed,
    entries_of,
    saved,
    with_array,
    write_entries,
)

ROWS = np.random.default_rng(0).normal(size=(50, 2))
SIDES = ROWS[:, 0] > 0


def calls(thing, method):
    """A stack whose transform is any method of anything, called with the rows."""
    stack = StackingClassifier([("a", DummyClassifier())], DummyClassifier(), cv=2)
    stack.fit([[0], [1]] * 2, [0, 1] * 2)
    stack.estimators_, stack.stack_method_ = [FrozenEstimator(thing)], [method]
    return stack


def bytes_of(text):
    return np.frombuffer(text, np.uint8)


def writes_a_file(path):
    return Pipeline(
        [
            ("rows to a path", calls(bytes_of(os.fsencode(path)), "__deepcopy__")),
            ("array to bytes", FunctionTransformer(np.bytes_)),
            ("bytes to a file", calls(bytes_of(b"print('run')\n"), "tofile")),
        ]
    )


def reads_an_address(path):
    model = DummyClassifier().fit([[0], [1]], [0, 1])
    model.address = Bunch()
    interface = {"data": (0x10, False), "shape": (4,), "typestr": "|u1", "version": 3}
    dict.__setitem__(model.address, "__array_interface__", interface)
    return model


def svc_with_a_ufunc_as_kernel(path):
    model = SVC().fit(ROWS, SIDES)
    model.kernel, model.shape_fit_ = np.exp, (2, 2)
    model.support_ = np.full(len(model.support_), 2**27, dtype=np.int32)
    return model


def boosting_with_features_of_bagging(path):
    model = GradientBoostingClassifier(n_estimators=2, max_depth=2).fit(ROWS, SIDES)
    model.estimators_features_ = [np.zeros(2, int), np.zeros(2_000, np.int8)]
    model.estimators_[1, 0] = DecisionTreeRegressor(max_depth=2).fit(np.ones((50, 9)), SIDES)
    return model


def boosting_of_binned_rows(path):
    model = HistGradientBoostingClassifier(max_iter=2).fit(ROWS, SIDES)
    for stage in model._predictors:
        for predictor in stage:
            predictor.nodes["feature_idx"] = np.where(predictor.nodes["is_leaf"] == 0, 10**6, 0)
    model._in_fit, model.n_features_in_ = True, 10**6 + 1
    return model


def neighbours_with_norms_of_wrong_length(path):
    model = NearestNeighbors(n_neighbors=3, algorithm="brute").fit(ROWS)
    model.effective_metric_params_ = {"Y_norm_squared": np.zeros(1)}
    return model


def fits_when_it_predicts(path):
    stack = StackingClassifier([("a", DummyClassifier())], cv=2).fit([[0], [1]] * 2, [0, 1] * 2)
    flock = covey.SubsetEnsembleClassifier(2, max_iter=10, checkpoint=str(path))
    stack.estimators_ = [IterativeImputer(flock)]
    stack.stack_method_ = ["fit_transform"]
    return stack


GADGETS = [
    writes_a_file,
    reads_an_address,
    svc_with_a_ufunc_as_kernel,
    boosting_with_features_of_bagging,
    neighbours_with_norms_of_wrong_length,
    fits_when_it_predicts,
    lambda path: calls(bytes_of(b"x"), "tofile"),
    lambda path: FunctionTransformer(np.bytes_),
]


@pytest.mark.parametrize("gadget", GADGETS)
def test_gadgets_are_neither_saved_nor_loaded(gadget, tmp_path):
    """Each of these once did harm when it was loaded or predicted."""
    target, path = tmp_path / "written", tmp_path / "model.covey"
    model = gadget(target)
    with pytest.raises(ModelFileError, match="which covey's model files do not hold"):
        save(model, path)
    path.write_bytes(skops.io.dumps(model))
    with pytest.raises(ModelFileError, match="in the format of skops, which can run code"):
        load(path)
    assert not target.exists()


@pytest.mark.parametrize("gadget", GADGETS)
def test_gadgets_cannot_be_put_into_a_file_by_hand(gadget, tmp_path):
    (search,) = (path for path in GOLDEN if path.stem.startswith("search"))
    inner = gadget(tmp_path / "written")

    def put(document):
        document["model"] = {
            "kind": "Pipeline",
            "parameters": {},
            "fitted": {"steps": [{"kind": type(inner).__name__, **_plain_state(inner)}]},
        }

    path = tmp_path / "model.covey"
    path.write_bytes(search.read_bytes())
    with pytest.raises(ModelFileError, match="it is damaged: it.model"):
        load(changed(path, put))


def _plain_state(model):
    return {name: value for name, value in vars(model).items() if isinstance(value, int | str)}


def test_what_a_model_has_beside_its_numbers_is_not_saved(tmp_path):
    """Flags of a fit, and norms that were computed before, are no part of a file."""
    boosting = load(saved(boosting_of_binned_rows(None), tmp_path / "model.covey"))
    assert not hasattr(boosting, "_in_fit")
    with pytest.raises(ValueError, match="X has 2 features, but .* is expecting 1000001"):
        boosting.predict(np.zeros((3, 2), dtype=np.uint8))
    neighbors = KNeighborsClassifier(3, algorithm="brute").fit(ROWS, SIDES)
    neighbors.effective_metric_params_ = {"Y_norm_squared": np.zeros(1)}
    again = load(saved(neighbors, tmp_path / "model.covey"))
    assert again.effective_metric_params_ == {}
    fresh = KNeighborsClassifier(3, algorithm="brute").fit(ROWS, SIDES)
    np.testing.assert_array_equal(again.kneighbors(ROWS)[1], fresh.kneighbors(ROWS)[1])


def test_commands_refuse_gadgets(tmp_path):
    path, table = tmp_path / "model.covey", tmp_path / "table.csv"
    path.write_bytes(skops.io.dumps(writes_a_file(tmp_path / "written")))
    table.write_text("a,b\n1,2\n")
    page, graph = tmp_path / "page.html", tmp_path / "graph.onnx"
    for command in (
        ["predict", path, table],
        ["report", path, table, "--out", page],
        ["export", path, "--onnx", graph],
    ):
        result = CliRunner().invoke(app, list(map(str, command)))
        assert result.exit_code == 2
        assert "in the format of skops, which can run code" in result.stderr
    assert not (tmp_path / "written").exists()


# -- what keeps a reader busy ---------------------------------------------------------------------


def refused_soon(path, match, seconds=5.0, **how):
    started = time.process_time()
    with pytest.raises(ModelFileError, match=match):
        load(path, **how)
    assert time.process_time() - started < seconds


def test_an_entry_is_never_unpacked_twice(tmp_path):
    matrix = io.BytesIO()
    sp.save_npz(matrix, sp.csr_matrix(np.eye(2)))
    nodes = [{"__loader__": "SparseMatrixNode", "file": "big"}] * 20
    schema = {"protocol": 2, "junk": nodes}
    entries = [("schema.json", json.dumps(schema)), ("big", bytes(100 << 20) + matrix.getvalue())]
    refused_soon(write_entries(tmp_path / "model.covey", entries), "in the format of skops")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("[" + "{}," * (5 << 20) + "{}]", "more parts"),
        ("[" * 100_000 + "]" * 100_000, "nested deeper"),
        ('{"a":' * 100 + "1" + "}" * 100, "nested deeper"),
        ('"' + '\\"' * (8 << 20), "more parts"),
        ('""' * (5 << 20), "more parts"),
        # UTF-16, of which limits would count other marks than a parser sees.
        ('{\0"\0a\0"\0:\x001\0}\0', "not a JSON document"),
        ('{"format": ' + "9" * 100_000 + "}", "not a JSON document"),
        ('{"format": 1, "format": 1}', "not a JSON document"),
        ('{"format": NaN}', "not a JSON document"),
        ("[1, 2]", "is not an object"),
        ("", "not a JSON document"),
        ("\udcff", "not a JSON document"),
        (" " * (64 << 20), "longer than that of any model"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else None,
)
def test_documents_that_are_too_much_are_refused_soon(text, match, tmp_path):
    entries = [("model.json", text.encode("utf-8", "surrogateescape"))]
    refused_soon(write_entries(tmp_path / "model.covey", entries), match)


def test_archives_that_are_too_much_are_refused_soon(tmp_path):
    path = tmp_path / "model.covey"
    refused_soon(write_entries(path, [("a", bytes(300 << 20))]), "as no model does")
    refused_soon(path, "more than max_size=1,000", max_size=1_000)
    refused_soon(write_entries(path, ((f"{n}.npy", b"") for n in range(30_000))), "more entries")


@pytest.mark.parametrize("size", [0, 10, 100, 1_000, -1, -22, -30])
def test_parts_of_files_are_refused(size, path):
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ModelFileError, match="not a model file, or only a part"):
        load(path)


def test_what_is_behind_an_archive_is_refused(path):
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(ModelFileError, match="not a model file"):
        load(path)


def test_encrypted_repeated_and_unknown_entries_are_refused(path):
    entries = list(entries_of(path).items())
    with pytest.raises(ModelFileError, match="'evil.npy' belongs to nothing"):
        load(write_entries(path, [*entries, ("evil.npy", b"")]))
    with pytest.warns(UserWarning, match="Duplicate name"):
        write_entries(path, [*entries, entries[-1]])
    with pytest.raises(ModelFileError, match="two entries of one name"):
        load(path)
    with pytest.raises(ModelFileError, match="'0.npy' is missing, or is read twice"):
        load(write_entries(path, [pair for pair in entries if pair[0] != "0.npy"]))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("model.json", "{}")
    with pytest.raises(ModelFileError, match="encrypted or packed otherwise"):
        load(path)


def test_an_array_is_read_once(path):
    def twice(document):
        columns = document["model"]["fitted"]["model"]["scaling"]
        columns["mean"] = columns["scale"]

    with pytest.raises(ModelFileError, match="is missing, or is read twice"):
        load(changed(path, twice))


@pytest.mark.parametrize("name", ["kinds", "stack"])
def test_a_million_classes_are_refused_soon(name, tmp_path):
    """They are a few kilobytes in an archive."""
    (golden,) = (path for path in GOLDEN if path.stem.startswith(name))
    path = tmp_path / "model.covey"
    path.write_bytes(golden.read_bytes())

    def first_member(document):
        return document["model"]["fitted"]["named_estimators"]["models"][0]["fitted"]

    entries = entries_of(path)
    document = json.loads(entries["model.json"])
    number = len(entries) - 1
    classes = io.BytesIO()
    np.save(classes, np.arange(10**6))
    first_member(document)["classes"] = {"type": "int64", "values": number}
    entries |= {"model.json": json.dumps(document), f"{number}.npy": classes.getvalue()}
    refused_soon(write_entries(path, entries.items()), "classes are .*more than 200|has the shape")


def test_neighbors_of_very_wide_sparse_rows_are_refused(tmp_path):
    wide = sp.csr_matrix(([1.0], ([0], [0])), shape=(1, 1 << 25))
    model = KNeighborsRegressor(1).fit(wide, [1.0])
    with pytest.raises(ModelFileError, match="33,554,432 columns"):
        save(model, tmp_path / "model.covey")
    narrow = KNeighborsRegressor(1).fit(wide[:, :4], [1.0])

    def widen(document):
        fitted = document["model"]["fitted"]
        fitted["n_features_in"] = fitted["points"]["n_columns"] = 1 << 29

    path = changed(saved(narrow, tmp_path / "model.covey"), widen)
    refused_soon(path, "n_features_in is more than 16,777,216")


def test_the_depth_of_a_tree_that_is_a_chain_is_known_soon():
    length = 300_000
    nodes = np.zeros(2 * length + 1, dtype=[("left_child", "<i8"), ("right_child", "<i8")])
    inner = np.arange(0, 2 * length, 2)
    for step, side in enumerate(("left_child", "right_child"), start=1):
        nodes[side] = -1
        nodes[side][inner] = inner + step
    started = time.process_time()
    assert _depth(nodes) == length
    assert time.process_time() - started < 0.3


def test_a_million_members_are_refused_soon(path):
    refused_soon(
        with_array(path, theta, lambda values: np.zeros((10**6, *values.shape[1:]))),
        "theta has no members, or too many",
    )


# -- what is no plain data ------------------------------------------------------------------------


def theta(document):
    return document["model"]["fitted"]["grown"]["theta"]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda values: values.astype(object), "not an array of plain numbers"),
        (lambda values: values.astype(">f8"), "not an array of plain numbers"),
        (lambda values: values.astype("c16"), "not an array of plain numbers"),
        (lambda values: values.astype("M8[s]"), "not an array of plain numbers"),
        (lambda values: values.astype(np.float32), "not an array of the kind 'float'"),
        (lambda values: np.asfortranarray(values), "not an array of plain numbers"),
        (lambda values: values[:, :, :2], "theta has the shape"),
        (lambda values: values[0], "theta has the shape"),
        (lambda values: values[:0], "theta has no members"),
        (lambda values: values * np.nan, "theta holds NaN, or a number beyond"),
        (lambda values: values * np.inf, "theta holds NaN, or a number beyond"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_arrays_are_of_the_kind_and_shape_that_the_model_needs(change, match, path):
    with pytest.raises(ModelFileError, match=match):
        load(with_array(path, theta, change))


def test_a_part_of_another_class_is_refused(tmp_path):
    mean = covey.SubsetEnsembleClassifier(2, fuser="mean", max_iter=5, random_state=0)
    entries = entries_of(saved(mean.fit(ROWS, SIDES), tmp_path / "mean.covey"))
    other = json.loads(entries["model.json"])["model"]["fitted"]["model"]["fuser"]
    stack = covey.GeneralStackingClassifier([GaussianNB()], cv=2).fit(ROWS, SIDES)

    def swap(document):
        fitted = document["model"]["fitted"]
        classes = fitted["fuser"]["fitted"]["classes"]
        fitted["fuser"] = {**other, "fitted": {**other["fitted"], "classes": classes}}

    with pytest.raises(ModelFileError, match="fuser is no Stacking"):
        load(changed(saved(stack, tmp_path / "stack.covey"), swap))


def dynamic_selection(part):
    """The fitted DynamicSelection within a part of a document."""
    if isinstance(part, dict) and part.get("kind") == "DynamicSelection" and part["fitted"]:
        return part
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else []
    return next(filter(None, map(dynamic_selection, inner)), None)


@pytest.mark.parametrize("name", ["selection", "potential", "clusters", "behavior"])
@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"method": "oracle"}, "method is none that is known"),
        ({"method": {"list": ["ola"]}}, "method is none that is known"),
        ({"n_neighbors": 0}, "n_neighbors is not a whole number"),
        ({"n_neighbors": True}, "n_neighbors is not a whole number"),
        ({"n_profiles": 3}, "n_profiles is not a whole number"),
        ({"metric": None}, "metric or scale is none that files hold"),
        ({"alpha": 0.5}, "does not fit its members: The rule .* has no parameter 'alpha'"),
        ({"voting": "loud"}, "does not fit its members: voting must be one of"),
    ],
    ids=str,
)
def test_what_dynamic_selection_is_told_must_fit_its_method(name, parameters, match, tmp_path):
    path = tmp_path / "model.covey"
    path.write_bytes(next(one for one in GOLDEN if one.stem.startswith(name)).read_bytes())

    def change(document):
        dynamic_selection(document)["parameters"].update(parameters)

    with pytest.raises(ModelFileError, match=match):
        load(changed(path, change))


@pytest.mark.parametrize("other", ["lca", "knop", "mcb", "rrc", "des_clustering", "meta_des"])
def test_what_one_method_has_learnt_is_refused_by_another(other, tmp_path):
    path = tmp_path / "model.covey"
    path.write_bytes(next(one for one in GOLDEN if one.stem.startswith("potential")).read_bytes())

    def change(document):
        part = dynamic_selection(document)
        part["parameters"]["method"] = other
        if other == "rrc":
            del part["fitted"]["worth"]

    with pytest.raises(ModelFileError, match="damaged|lacks|unknown part|belongs to nothing"):
        load(changed(path, change))


def test_groups_have_the_members_that_there_are(tmp_path):
    model = covey.FlockClassifier(effort="fast", n_estimators=2, random_state=0).fit(ROWS, SIDES)

    def sizes(document):
        return document["model"]["fitted"]["model"]["GatedModel"]["sizes"]

    def one_more(values):
        values[0] += 1

    with pytest.raises(ModelFileError, match="sizes are not those of the groups"):
        load(with_array(saved(model, tmp_path / "groups.covey"), sizes, one_more))


def test_flags_are_true_or_false(path):
    def support(document):
        return document["model"]["fitted"]["grown"]["support"]

    def break_one(values):
        values.view(np.uint8).flat[0] = 2

    with pytest.raises(ModelFileError, match="support holds a flag that is neither"):
        load(with_array(path, support, break_one))


@pytest.mark.parametrize("header", [b"{'descr': __import__('os')}", b"-" * 200, b"{" * 400, b""])
@pytest.mark.parametrize("aligned", [False, True])
def test_headers_of_arrays_are_not_evaluated(header, aligned, path):
    entries = entries_of(path)
    header += b" " * (-(10 + len(header)) % 64 if aligned else 0)
    length = len(header).to_bytes(2, "little")
    entries["0.npy"] = b"\x93NUMPY\x01\x00" + length + header + bytes(64)
    with pytest.raises(ModelFileError, match="not an array"):
        load(write_entries(path, entries.items()))


def test_numbers_that_would_lie_between_the_places_of_numbers_are_refused(path):
    entries = entries_of(path)
    begin, length = entries["0.npy"][:8], int.from_bytes(entries["0.npy"][8:10], "little")
    header, numbers = entries["0.npy"][10 : 10 + length], entries["0.npy"][10 + length :]
    header = header[:-2] + b"\n"
    entries["0.npy"] = begin + len(header).to_bytes(2, "little") + header + numbers
    with pytest.raises(ModelFileError, match="not an array as"):
        load(write_entries(path, entries.items()))


def unfitted():
    return {"kind": "StandardScaler", "parameters": {}, "fitted": None}


def scaling(model):
    """What a document says of how the columns of a flock are standardized."""
    return model["fitted"]["model"]["scaling"]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda model: model.update(kind="SVC "), "kind is none of what it may be"),
        (lambda model: model.update(kind="os.system"), "kind is none of what it may be"),
        (lambda model: model.update(more=1), "unknown part 'more'"),
        (lambda model: model["fitted"].update(_evil=1), "unknown part '_evil'"),
        (lambda model: model["parameters"].update(evil=1), "unknown part 'evil'"),
        (lambda model: model["parameters"].update(checkpoint="/tmp/x"), "unknown part 'check"),
        (lambda model: model["parameters"].update(n_jobs=10**6), "unknown part 'n_jobs'"),
        (lambda model: model["parameters"].update(tol=[1]), "tol is not a value"),
        (lambda model: model["parameters"].update(tol={"call": [1]}), "tol is not a plain value"),
        (
            lambda model: model["parameters"].update(fuser={"model": unfitted()}),
            "fuser is no Fuser",
        ),
        (lambda model: scaling(model).pop("mean") and None, "lacks 'mean'"),
        (lambda model: scaling(model).update(mean=-1), "mean is not between"),
        (lambda model: scaling(model).update(mean=True), "mean is not a whole number"),
        (lambda model: scaling(model).update(mean="../0"), "mean is not a whole number"),
        (
            lambda model: model["fitted"]["model"]["table"].update(n_features_in=10**12),
            "n_features_in is not between",
        ),
        (lambda model: model["fitted"].update(model=None), "model is not an object"),
        (
            lambda model: model["fitted"]["model"]["table"].update(filling=None),
            "filling is not a whole number",
        ),
        (lambda model: model["fitted"]["model"].update(fuser=None), "fuser is not an object"),
    ],
)
def test_documents_say_what_the_reader_expects_and_nothing_else(change, match, path):
    with pytest.raises(ModelFileError, match=match):
        load(changed(path, lambda document: change(document["model"])))


def test_a_loaded_model_writes_no_checkpoint(tmp_path):
    journal = tmp_path / "journal"
    flock = covey.SubsetEnsembleClassifier(2, max_iter=10, checkpoint=str(journal))
    again = load(saved(flock.fit(ROWS, SIDES), tmp_path / "model.covey"))
    journal.unlink(missing_ok=True)
    again.fit(ROWS, SIDES)
    assert not journal.exists()


def test_zones_and_formats_of_dates_are_no_paths_and_no_patterns(tmp_path):
    (table,) = (path for path in GOLDEN if path.stem.startswith("table"))
    path = tmp_path / "model.covey"

    def dates(document):
        (model,) = document["model"]["fitted"]["model"].values()
        parts = model["table"]["preparation"]["reading"]["encoders"]
        return next(part["Dates"] for part in parts if part and "Dates" in part)

    for part, value in (
        ("time_zone", "dateutil//etc/passwd"),
        ("time_zone", "../../../etc/passwd"),
        ("format", "%d%d%d%d%d%d"),
        ("format", "%" * 10),
        ("format", "(a+)+$" * 20),
        ("unit", "D"),
        ("parts", ["__class__"]),
        ("parts", ["year", "year"]),
    ):
        path.write_bytes(table.read_bytes())
        changed(
            path, lambda document, part=part, value=value: dates(document).update({part: value})
        )
        with pytest.raises(ModelFileError, match=f"{part} (is|are) "):
            load(path)


def test_a_long_word_among_times_is_not_parsed(tmp_path):
    table = pd.DataFrame({"x": ROWS[:, 0], "day": pd.date_range("2024-01-05", periods=50)})
    model = covey.SubsetEnsembleClassifier(2, max_iter=10).fit(table, SIDES)

    def lengthen(document):
        seen = document["model"]["fitted"]["model"]["table"]["seen"]
        assert seen["kinds"] == ["number", "time"]
        seen["words"][0] = {"list": ["1 " * 1_000_000]}

    path = changed(saved(model, tmp_path / "model.covey"), lengthen)
    refused_soon(path, "words is not a list of words")


@pytest.mark.parametrize("part", ["typical", "kept"])
def test_a_gap_in_remembered_rows_is_refused_where_the_model_takes_none(part, tmp_path):
    model = covey.FusionClassifier([GaussianNB()]).fit(ROWS, SIDES)
    path = saved(model, tmp_path / "model.covey")
    with_array(
        path,
        lambda document: document["model"]["fitted"]["seen_columns"][part],
        lambda values: np.where(values == values.min(), np.nan, values),
    )
    with pytest.raises(ModelFileError, match="seen_columns has a gap in a column"):
        load(path)


def test_remembered_gaps_of_a_model_that_takes_them_come_back(tmp_path):
    gaps = np.where(np.arange(100).reshape(50, 2) % 3 == 0, np.nan, ROWS)
    gaps[10:40, 1] = np.nan
    filled = Pipeline([("fill", HistGradientBoostingClassifier(max_iter=2))])
    model = covey.FusionClassifier([filled]).fit(gaps, SIDES)
    again = load(saved(model, tmp_path / "model.covey"))
    np.testing.assert_array_equal(
        again.contributions(gaps[:2]).values, model.contributions(gaps[:2]).values
    )


def test_two_columns_of_one_name_are_refused(tmp_path):
    model = covey.SubsetEnsembleClassifier(2, max_iter=10).fit(ROWS, SIDES)
    twice = replace(model.model_.table, feature_names_in_=np.array(["a", "a"], dtype=object))
    model.model_ = replace(model.model_, table=twice)
    with pytest.raises(ValueError, match="feature_names_in holds one name twice"):
        save(model, tmp_path / "model.covey")


def test_numbers_of_a_file_that_lies_about_its_size_are_refused(path):
    buffer = io.BytesIO(write_archive({"format": 1}, [np.zeros(10)]))
    data = bytearray(buffer.getvalue())
    # The size in the list of entries, which comes last.
    place = data.rindex(b"PK\x01\x02") + 24
    data[place : place + 4] = (1 << 20).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match="it "):
        load(path)


@pytest.mark.slow
def test_files_cause_no_event_but_that_they_are_read():
    """In a process of its own, for a hook of Python's reports stays for good."""
    command = [sys.executable, "-m", "tests.persistence.audited", "60"]
    one_thread = os.environ | {"OMP_NUM_THREADS": "1"}  # else joblib parses a "2 * 2" of its own
    run = subprocess.run(
        command,
        cwd=Path(__file__).parents[2],
        env=one_thread,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_every_promise_has_its_tests():
    """SECURITY.md names them."""
    here = Path(__file__).parent
    said = (here.parents[1] / "SECURITY.md").read_text()
    promises = re.findall(r"^\d\. .*?(?=^\d\. |^What is|^## )", said, re.MULTILINE | re.DOTALL)
    written = "".join(path.read_text() for path in here.parent.rglob("test_*.py"))
    assert len(promises) == 16  # of files, of a served model, and what else
    for promise in promises:
        names = re.findall(r"`(test_\w+)`", promise)
        assert names
        assert all(f"def {name}(" in written for name in names)
