"""Files of older versions are read."""

import importlib
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

from covey import (
    persistence,
)
from covey.persistence import ModelFileError, load
from tests.persistence._helpers import (
    GOLDEN,
    X,
    assert_predicts_the_same,
    changed,
    flock,
    nodes,
)


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
    assert_predicts_the_same(load(path), model, X)


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
