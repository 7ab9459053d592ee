"""What save writes: whole files, with their versions."""

import json
import os
import sys
import zipfile
from pathlib import Path

import pytest
import skops.io
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import covey
from covey.persistence import ModelFileError, load, save
from tests.persistence._helpers import X, flock, saved, y


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
