import pickle
import subprocess
import sys

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from covey import SubsetEnsembleClassifier

METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "member_probabilities",
    "explain_fusion",
)
HOW = {"n_estimators": 3, "max_iter": 5, "fuser": "product", "random_state": 0}


@pytest.fixture(scope="module", params=[2, 3])
def flock(request, wine):
    X, y = wine
    y = np.minimum(y, request.param - 1)
    labels = np.array(["a", "b", "c"])[y]
    return SubsetEnsembleClassifier(**HOW).fit(da.from_array(X, (100, 13)), labels)


@pytest.mark.parametrize("method", METHODS)
def test_arrays_are_predicted_lazily_by_block(flock, wine, method):
    X, _ = wine
    touched = []

    def touch(block):
        touched.append(len(block))
        return block

    lazy = da.from_array(X, ((70, 0, 108), (6, 7))).map_blocks(touch, meta=np.empty((0, 0)))
    touched.clear()
    said = getattr(flock, method)(lazy)
    assert isinstance(said, da.Array)
    assert not touched
    expected = getattr(flock, method)(X)
    assert said.shape == expected.shape
    assert said.dtype == expected.dtype
    assert said.chunks[0] == (70, 0, 108)
    got = said.compute(scheduler="sync")
    assert touched
    if method == "predict":
        np.testing.assert_array_equal(got, expected)
    else:
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("method", METHODS)
def test_frames_are_predicted_lazily_by_partition(wine, method):
    X, y = wine
    order = np.argsort(X[:, 0])
    frame = pd.DataFrame(X[order], columns=[f"f{place}" for place in range(13)])
    lazy = dd.from_pandas(frame, npartitions=3)
    flock = SubsetEnsembleClassifier(**HOW).fit(lazy, y[order])
    # A filter leaves a partition empty, and nobody knows how long the others are.
    some = lazy[lazy["f0"] > 13]
    said = getattr(flock, method)(some)
    assert isinstance(said, da.Array)
    expected = getattr(flock, method)(frame[frame["f0"] > 13])
    assert said.ndim == expected.ndim
    got = said.compute(scheduler="sync")
    if method == "predict":
        np.testing.assert_array_equal(got, expected)
    else:
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-300)


def test_importances_as_a_frame_have_names_and_the_index(wine):
    X, y = wine
    frame = pd.DataFrame(X, columns=[f"f{place}" for place in range(13)])
    frame.index = frame.index + 1000
    lazy = dd.from_pandas(frame, npartitions=3)
    flock = SubsetEnsembleClassifier(**HOW).fit(lazy, y)
    said = flock.explain_fusion(lazy, as_frame=True)
    assert list(said.columns) == ["member 1", "member 2", "member 3"]
    pd.testing.assert_frame_equal(
        said.compute(scheduler="sync"), flock.explain_fusion(frame, as_frame=True)
    )
    flock.fit(da.from_array(X, (100, 13)), y)
    said = flock.explain_fusion(da.from_array(X, (100, 13)), as_frame=True)
    assert list(said.columns) == ["member 1", "member 2", "member 3"]
    np.testing.assert_allclose(said.compute(scheduler="sync"), flock.explain_fusion(X))


def test_the_score_is_that_of_all_rows(client, wine):
    X, y = wine
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(y))
    weight[:50] = 0.0  # a block of no weight
    dX, dy = da.from_array(X, (50, 13)), da.from_array(y, 60)
    for fuser in ("product", "oracle"):
        flock = SubsetEnsembleClassifier(2, max_iter=2, fuser=fuser, random_state=0)
        flock.fit(dX, dy)
        with client.as_current():
            assert flock.score(dX, dy) == pytest.approx(flock.score(X, y), abs=1e-12)
        expected = flock.score(X, y, weight)
        assert flock.score(dX, dy, weight) == pytest.approx(expected, abs=1e-12)


def test_the_oracle_knows_from_all_blocks_which_members_are_constant(wine):
    X, y = wine
    # Sorted by class: in each of these blocks most members are constant.
    X, y = X[np.argsort(y)], np.sort(y)
    dX, dy = da.from_array(X, (50, 13)), da.from_array(y, 50)
    flock = SubsetEnsembleClassifier(5, max_iter=1, fuser="oracle", random_state=0).fit(dX, dy)
    for member, label in enumerate((0, 1, 2)):
        flock.member_coef_[member] = 0.0
        flock.member_intercept_[member] = np.eye(3)[label]
    right = flock.member_probabilities(X)[:, 3:].argmax(axis=2) == y[:, None]
    assert right.any(axis=1).mean() < 1.0
    assert flock.score(dX, dy) == pytest.approx(right.any(axis=1).mean())
    assert flock.score(dX, dy) == pytest.approx(flock.oracle_score(X, y))


def test_other_columns_are_refused_before_anything_is_computed(flock, wine):
    X, y = wine
    with pytest.raises(ValueError, match="X has 12 features"):
        flock.predict(da.from_array(X[:, :12], (50, 12)))
    frame = pd.DataFrame(X, columns=[f"f{place}" for place in range(13)])
    named = SubsetEnsembleClassifier(**HOW).fit(dd.from_pandas(frame, npartitions=2), y)
    other = dd.from_pandas(frame.rename(columns={"f0": "g"}), npartitions=2)
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(other)


@pytest.mark.slow
def test_a_flock_that_was_fitted_on_dask_needs_none_to_predict(wine, tmp_path):
    X, y = wine
    flock = SubsetEnsembleClassifier(**HOW).fit(da.from_array(X, (100, 13)), y)
    (tmp_path / "flock.pkl").write_bytes(pickle.dumps(flock))
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "expected.npy", flock.predict_proba(X))
    script = """
import pickle, sys
sys.modules["dask"] = sys.modules["distributed"] = None
import numpy as np
with open("flock.pkl", "rb") as file:
    flock = pickle.load(file)
assert (flock.predict_proba(np.load("X.npy")) == np.load("expected.npy")).all()
assert not [name for name in sys.modules if name.startswith("covey.dask")]
try:
    import covey.dask
except ImportError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert 'pip install "covey[dask]"' in done.stdout
