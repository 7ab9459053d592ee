"""Values that a user declares to be gaps are gaps, wherever rows are read."""

import numpy as np
import pandas as pd
import pytest

from covey import (
    FlockClassifier,
    FlockRegressor,
    SubsetEnsembleClassifier,
    SubsetSelector,
    evaluate,
    load,
    save,
)
from covey.inspection import row_card
from covey.tables import TablePreparation

ROWS = 150
GAPS = {"age": [96, 98], "job": "unknown", "mass": ["refused", 999], "seen": ["9999-12-31"]}


def two_tables():
    """A table with codes for gaps, the same with gaps, and labels."""
    rng = np.random.default_rng(0)
    age = rng.normal(50, 9, ROWS).round()
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, ROWS), "D")
    clean = pd.DataFrame(
        {
            "age": age,
            "job": rng.choice(["cook", "nurse", "pilot"], ROWS),
            "mass": [f"{one:.1f} kg" for one in rng.normal(70, 9, ROWS)],
            "seen": days.astype("datetime64[s]"),
            "size": rng.normal(size=ROWS),
        }
    )
    coded, y = clean.copy(), np.where(age + 3 * (clean["job"] == "cook") > 50, "old", "young")
    for column, codes in (
        *(("age", [96.0, 98.0]), ("job", ["unknown", " unknown "])),
        *(("mass", ["refused", "999 kg"]), ("seen", [pd.Timestamp("9999-12-31")])),
    ):
        for code in codes:
            rows = rng.choice(ROWS, 9, replace=False)
            coded.loc[rows, column] = code
            clean.loc[rows, column] = None
    return coded, clean, y


@pytest.mark.parametrize("members", ["linear", "mixed"])
def test_a_flock_of_codes_is_that_of_a_table_with_gaps(members, tmp_path):
    coded, clean, y = two_tables()
    how = {"effort": "fast", "members": members, "random_state": 0}
    flock = FlockClassifier(gaps=GAPS, **how).fit(coded, y)
    wanted = FlockClassifier(**how).fit(clean, y).predict_proba(clean)
    save(flock, tmp_path / "flock.covey")
    for model in (flock, load(tmp_path / "flock.covey")):
        assert np.array_equal(model.predict_proba(coded), wanted)
        assert np.array_equal(model.predict_proba(clean), wanted)


def test_explanations_and_evaluations_call_them_missing():
    coded, clean, y = two_tables()
    flock = FlockRegressor(effort="fast", gaps=GAPS, random_state=0).fit(coded, y == "old")
    code = np.flatnonzero(coded["age"] > 90)[:1]
    told = str(flock.explain(coded.iloc[code], top=9))
    assert "age: missing" in told
    assert "9" not in told.partition("age: missing")[2][:2]
    plain = FlockRegressor(effort="fast", random_state=0).fit(clean, y == "old")
    assert told == str(plain.explain(clean.iloc[code], top=9))
    assert flock._seen_columns.typical() == plain._seen_columns.typical()
    assert not evaluate(flock, coded, y == "old").remarks


def test_columns_of_arrays_are_named_by_number():
    coded, clean, y = two_tables()
    coded, clean = (X[["age", "size"]].to_numpy() for X in (coded, clean))
    flock = SubsetEnsembleClassifier(2, gaps={0: [96, 98.0]}, random_state=0).fit(coded, y)
    plain = SubsetEnsembleClassifier(2, random_state=0).fit(clean, y)
    assert np.array_equal(flock.predict_proba(coded), plain.predict_proba(clean))


def test_columns_of_polars_are_read_alike():
    polars = pytest.importorskip("polars")
    coded, _, y = two_tables()
    coded = coded.drop(columns="seen")
    flock = FlockClassifier(effort="fast", gaps={"age": 96, "job": "unknown"}, random_state=0).fit(
        polars.from_pandas(coded), y
    )
    assert flock.preparation_.words[1] == ("cook", "nurse", "pilot")
    given = flock.predict_proba(polars.from_pandas(coded))
    assert np.array_equal(given, flock.predict_proba(coded))


def test_a_preparation_of_tables_takes_them_too():
    coded, clean, _ = two_tables()
    made = TablePreparation(gaps=GAPS).fit(coded)
    wanted = TablePreparation().fit_transform(clean)
    pd.testing.assert_frame_equal(made.transform(coded), wanted)


def test_a_selector_takes_those_of_its_estimator():
    coded, clean, y = two_tables()

    def scores(X, **gaps):
        recipe = SubsetEnsembleClassifier(1, random_state=0, **gaps)
        return SubsetSelector(recipe, n_resamples=2, random_state=0).fit(X, y).scores_

    assert np.array_equal(scores(coded, gaps=GAPS), scores(clean))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_graph_takes_them_for_gaps(dtype):
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    from covey.onnx import to_onnx

    coded, _, y = two_tables()
    coded = coded[["age", "job", "size"]]
    gaps = {"age": [96, 98], "job": "unknown", "size": -1}
    flock = FlockClassifier(effort="fast", gaps=gaps, random_state=0).fit(coded, y)
    graph = to_onnx(flock, dtype=dtype).SerializeToString()
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    kinds = {"tensor(string)": object, "tensor(float)": np.float32, "tensor(double)": float}
    feed = {
        one.name: coded[[one.name]].apply(lambda x: x.str.strip() if x.dtype == object else x)
        for one in session.get_inputs()
    }
    feed = {one.name: feed[one.name].to_numpy(kinds[one.type]) for one in session.get_inputs()}
    found = session.run(["probabilities"], feed)[0]
    np.testing.assert_allclose(found, flock.predict_proba(coded), atol=1e-5)


def test_blocks_and_graphs_of_arrays_take_them_too():
    da = pytest.importorskip("dask.array")
    coded, _, y = two_tables()
    coded = coded[["age", "size"]].to_numpy()
    flock = FlockClassifier(effort="fast", gaps={0: [96, 98]}, random_state=0).fit(coded, y)
    wanted = flock.predict_proba(coded)
    blocks = flock.predict_proba(da.from_array(coded, chunks=(40, 2)))
    assert np.array_equal(blocks.compute(), wanted)
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    from covey.onnx import to_onnx

    graph = to_onnx(flock, dtype="float64").SerializeToString()
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(["probabilities"], {"X": coded})[0], wanted, atol=1e-9)


@pytest.mark.parametrize(
    ("gaps", "said"),
    [
        ({"aeg": 96}, "gaps names the column 'aeg', which X does not have; the nearest are 'age'"),
        ({9: 96}, "gaps names the column 9, but X has columns 0 to 4"),
        (["age"], "gaps must be a mapping from columns to the values"),
    ],
)
def test_what_names_no_column_is_refused(gaps, said):
    coded, _, y = two_tables()
    with pytest.raises((ValueError, TypeError), match=said):
        FlockClassifier(gaps=gaps).fit(coded, y)


def test_blocks_of_rows_refuse_them():
    da = pytest.importorskip("dask.array")
    X, y = da.ones((20, 2), chunks=5), da.ones(20, chunks=5)
    with pytest.raises(ValueError, match="gaps needs all rows in one place"):
        FlockRegressor(gaps={0: 1}).fit(X, y)


def test_explanations_of_arrays_show_declared_gaps_as_gaps():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(20, 80, 120).astype(float), rng.normal(size=120)])
    y = X[:, 0] > 50
    X[:20, 0] = 99
    flock = FlockClassifier(effort="fast", gaps={0: [99]}, random_state=0).fit(X, y)
    (record,) = flock.explain(X[:1])
    values = {one["column"]: one["value"] for one in record["because"] + record["against"]}
    assert values["x0"] is None
    card = row_card(flock, X[0])
    assert "x0: missing" in "\n".join(card.text())
    assert card.unusual == []
    assert X[0, 0] == 99
