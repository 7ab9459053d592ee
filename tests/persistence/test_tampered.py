"""Files that are damaged or tampered with are refused in one sentence."""

import io
import os
import pickle
import sys
import zipfile

import numpy as np
import pytest
import skops.io
from scipy import sparse
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from covey import (
    SubsetEnsembleClassifier,
)
from covey.persistence import ModelFileError, load
from tests.persistence._helpers import X, call, changed, nodes, saved, y


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
