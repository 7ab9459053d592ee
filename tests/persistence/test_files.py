"""What save writes: whole files of plain data, with their permissions."""

import io
import json
import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

import covey
from covey.persistence import FORMAT, ModelFileError, load, save
from covey.persistence._archive import write_archive
from tests.persistence._helpers import (
    GOLDEN,
    X,
    assert_predicts_the_same,
    entries_of,
    flock,
    saved,
    y,
)


def test_a_file_is_one_document_and_plain_arrays(path):
    entries = entries_of(path)
    document = json.loads(entries.pop("model.json"))
    assert document["format"] == FORMAT
    assert document["covey"] == covey.__version__
    assert document["model"]["kind"] == "SubsetEnsembleClassifier"
    assert {"scikit-learn", "numpy"} < set(document)
    assert set(entries) == {f"{number}.npy" for number in range(len(entries))}
    with zipfile.ZipFile(path) as archive:
        for name in entries:
            with archive.open(name) as entry:
                assert np.load(entry, allow_pickle=False).dtype.kind in "fiub"


@pytest.mark.parametrize(
    "values",
    [np.arange(3), np.zeros((200, 7), bool), np.ones(9_999), np.zeros((0, 2)), np.eye(60)],
)
def test_arrays_are_packed_as_numpy_reads_them(values):
    noise = np.random.default_rng(0).normal(size=500)
    with zipfile.ZipFile(io.BytesIO(write_archive({}, [values, noise]))) as archive:
        found = np.load(io.BytesIO(archive.read("0.npy")))
        shrunk, kept = (archive.getinfo(f"{k}.npy").compress_size for k in (0, 1))
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, values)
    # What is large is packed if that makes it smaller; numbers take their time and hardly do.
    assert shrunk <= max(300, values.nbytes // 4)
    assert kept == noise.nbytes + 128


def test_the_same_model_makes_the_same_file(path, tmp_path):
    again = saved(flock(fuser="mean").fit(X, y), tmp_path / "again.covey")
    assert again.read_bytes() == path.read_bytes()


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
        save(flock(effort="fast"), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.covey"]


def test_file_and_folder_are_on_disk_in_this_order(tmp_path, monkeypatch):
    order = []
    sync, move = os.fsync, os.replace

    def synced(file):
        order.append(stat.S_ISDIR(os.fstat(file).st_mode))
        sync(file)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", lambda *ends: (order.append(ends), move(*ends)))
    save(flock(), tmp_path / "model.covey")
    assert order[0] is False
    source, target = order[1]
    assert order[2] is True
    assert Path(source).parent == tmp_path == Path(target).parent


def test_a_file_that_is_saved_again_keeps_its_permissions(tmp_path):
    path = saved(flock(), tmp_path / "model.covey")
    for mode in (0o600, 0o640, 0o644):
        path.chmod(mode)
        assert stat.S_IMODE(saved(flock(), path).stat().st_mode) == mode


def test_a_link_is_followed(tmp_path):
    (tmp_path / "models").mkdir()
    link = tmp_path / "link.covey"
    link.symlink_to(Path("models") / "real.covey")
    save(flock(), link)
    assert link.is_symlink()
    assert (tmp_path / "models" / "real.covey").is_file()
    assert repr(load(link)) == repr(flock())


def test_folders_pipes_and_devices_are_refused_at_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, what in ((pipe, "pipe"), (tmp_path, "folder"), (Path("/dev/null"), "device")):
        with pytest.raises(ModelFileError, match=f"{what}.*ordinary file|is a folder; name"):
            load(path)
        with pytest.raises(ModelFileError, match="name an ordinary file"):
            save(flock(), path)


def test_what_cannot_be_held_is_not_saved(tmp_path):
    model = make_pipeline(FunctionTransformer(lambda X: X), BernoulliNB())
    with pytest.raises(ModelFileError, match=r"holds a .*, which .* trusted=True"):
        save(model, tmp_path / "model.covey")
    with pytest.raises(ModelFileError, match="This Pipeline cannot be saved, since something"):
        save(model, tmp_path / "model.covey", trusted=True)
    with pytest.raises(TypeError, match="save takes an estimator, got 3"):
        save(3, tmp_path / "model.covey")
    with pytest.raises(FileNotFoundError, match="no folder .*nowhere"):
        save(flock(), tmp_path / "nowhere" / "model.covey")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("model", "scale", "match"),
    [
        (
            flock(),
            1e-210,
            r"scaling\.scale holds a number below 1e-200; rescale the columns",
        ),
        (
            flock(),
            1e210,
            r"typical holds NaN, or a number beyond 1e\+200; rescale",
        ),
        (GaussianNB(), 1e-170, "var holds a number below 1e-90; rescale the columns or the"),
        (GaussianNB(), 1e160, "one of its numbers is NaN or infinite; rescale the columns or the"),
    ],
)
def test_a_model_of_numbers_that_files_do_not_hold_is_refused_in_one_sentence(
    model, scale, match, tmp_path
):
    with np.errstate(over="ignore"), pytest.raises(ModelFileError, match=match) as raised:
        save(clone(model).fit(X * scale, y), tmp_path / "model.covey")
    assert "cannot be saved" in str(raised.value)
    assert "damaged" not in str(raised.value)
    assert not list(tmp_path.iterdir())


def test_other_people_s_models_are_loaded_if_their_maker_is_trusted(tmp_path):
    model = make_pipeline(FunctionTransformer(np.log1p), BernoulliNB()).fit(X, y)
    path = saved(model, tmp_path / "model.covey", trusted=True)
    with pytest.raises(ModelFileError, match="can run code; if you trust whoever made it"):
        load(path)
    with pytest.raises(TypeError, match="trusted must be a list"):
        load(path, trusted="numpy.log1p")
    assert_predicts_the_same(model, load(path, trusted=[]), X)


@pytest.mark.parametrize("module", ["skops", "skops.io"])
def test_without_skops_one_sentence_names_the_extra(module, tmp_path, monkeypatch):
    path = saved(BernoulliNB(), tmp_path / "m", trusted=True)
    monkeypatch.setitem(sys.modules, module, None)
    uses = (lambda: save(BernoulliNB(), path, trusted=True), lambda: load(path, trusted=[]))
    for use in uses:
        with pytest.raises(ImportError, match=r'pip install "covey\[io\]"'):
            use()
    # And covey's own files need none.
    assert repr(load(saved(flock(), tmp_path / "n"))) == repr(flock())


@pytest.mark.slow
def test_loading_imports_neither_skops_nor_skrub_nor_torch():
    (table,) = (path for path in GOLDEN if path.stem.startswith("table"))
    code = (
        "import sys, covey; covey.load(sys.argv[1]); "
        "print(*{'skops', 'skrub', 'torch'}.intersection(sys.modules))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, str(table)], capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == []


def test_a_file_without_rows_has_typical_values_alone(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = covey.FlockClassifier(effort="fast", random_state=0).fit(X, y)
    model.seen_ = np.arange(5, dtype=np.uint64)
    path = tmp_path / "flock.covey"
    save(model, path, rows=False)
    assert "rows" not in json.loads(entries_of(path)["model.json"])["model"]
    again = load(path)
    assert again._seen_columns.kept == ()
    assert not hasattr(again, "seen_")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    typical = pd.DataFrame([model._seen_columns.typical()])
    (record,) = again.explain(X[:1])
    class_of = again.classes_.tolist().index(record["prediction"])
    assert record["baseline"] == pytest.approx(again.predict_proba(typical)[0, class_of])
    (of_rows,) = model.explain(X[:1])
    assert of_rows["baseline"] != pytest.approx(record["baseline"])


def test_members_of_other_kinds_are_tried_out_on_the_typical_row_if_there_are_no_rows(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = covey.FlockClassifier(members=["linear", GaussianNB()], cv=2, random_state=0).fit(X, y)
    save(model, tmp_path / "flock.covey", rows=False)
    again = load(tmp_path / "flock.covey")
    assert again.model_.examples.shape == (0, 4)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.explain(X[:1])[0]["members"]
    assert np.isfinite(again.coefficient_sizes_).all()


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (KNeighborsClassifier(), "A KNeighborsClassifier predicts by rows of its training"),
        (
            covey.FusionClassifier([SVC(), GaussianNB()], "majority"),
            "A SVC predicts by rows of its training",
        ),
        (
            covey.FusionClassifier([GaussianNB()], "knora_e"),
            "A DynamicSelection predicts by rows of its training",
        ),
    ],
)
def test_what_predicts_by_rows_is_not_saved_without_them(tmp_path, model, said):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ModelFileError, match=said):
        save(model.fit(X, y), tmp_path / "model.covey", rows=False)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="rows=False is not for trusted=True"):
        save(model, tmp_path / "model.covey", rows=False, trusted=True)
