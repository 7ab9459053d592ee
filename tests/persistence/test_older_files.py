"""Files that were written before are read, and those in another format are refused as such."""

import importlib
import json

import numpy as np
import pandas as pd
import pytest

from covey.persistence import FORMAT, ModelFileError, load
from tests.persistence._helpers import GOLDEN, changed, flock


def test_there_are_golden_files():
    assert len(GOLDEN) >= 5
    assert all(path.stat().st_size < 100_000 for path in GOLDEN)


def rows_and_said(path):
    said = json.loads(path.with_suffix(".json").read_text())
    return pd.DataFrame(said["rows"], columns=said["columns"]), said


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_models_of_older_versions_predict_what_they_did(path):
    rows, said = rows_and_said(path)
    model = load(path)
    # Not to the bit: another processor or library may add numbers up in another order.
    if not hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict(rows), said["labels"], rtol=1e-9)
        return
    assert model.predict(rows).tolist() == said["labels"]
    for found, wanted in zip(model.predict_proba(rows), said["probabilities"], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    assert model.get_params()


def test_a_model_of_before_a_parameter_was_added_gets_its_default(path):
    def forget(document):
        del document["model"]["parameters"]["focal_gamma"]

    again = load(changed(path, forget))
    assert again.focal_gamma == 2.0
    assert repr(again) == repr(flock(fuser="mean"))


@pytest.mark.parametrize(
    ("other", "advice"), [(FORMAT + 1, "update covey"), (1, "fit the model again, and save it")]
)
def test_a_file_of_another_format_is_refused_by_its_version_and_not_as_damaged(
    path, other, advice
):
    def rewritten(document):
        document.update(format=other, covey="9.9", new="part")
        del document["model"]["parameters"]["focal_gamma"]

    wanted = rf"written by another version of covey \(9\.9\), in format {other}, .*; {advice}\.$"
    with pytest.raises(ModelFileError, match=wanted) as refused:
        load(changed(path, rewritten))
    assert "damaged" not in str(refused.value)


def test_golden_files_can_be_made_again(tmp_path, monkeypatch):
    make = importlib.import_module("tests.golden.make")
    monkeypatch.setattr(make, "HERE", tmp_path)
    monkeypatch.setattr(make, "models", lambda: {"one": flock(fuser="mean")})
    make.main()
    (one,) = tmp_path.glob("*.covey")
    before = one.read_bytes()
    make.main()
    assert one.read_bytes() == before
    assert type(load(one)) is type(flock(fuser="mean"))


def test_a_loaded_model_of_a_table_explains_itself():
    (path,) = (path for path in GOLDEN if path.stem.startswith("table"))
    rows, _ = rows_and_said(path)
    (record,) = load(path).explain(rows[:1])
    assert record["because"]
