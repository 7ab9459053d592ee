"""Attacks that have been tried."""

import io
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import (
    BaggingClassifier,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from covey.persistence import ModelFileError, load
from covey.tables import TableClassifier
from tests.persistence._helpers import X, call, changed, flock, nodes, number, saved, y


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
