"""Tables as they come: an odd type, or a mistake, gives a right answer or one clear sentence."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from covey import FlockClassifier, FlockRegressor, evaluate, load, save

ROWS = 80
WORDS = np.array(["red fox", "blue dog", "brown hen", "grey cat"])


def table(**columns):
    """Numbers, categories and text, and whatever a test adds."""
    rng = np.random.default_rng(0)
    names = [f"the {WORDS[i % 4]} ran past house {i}" for i in rng.permutation(ROWS)]
    kinds = rng.choice(list("abc"), ROWS)
    return pd.DataFrame({"size": rng.normal(size=ROWS), "kind": kinds, "name": names, **columns})


LABELS = np.where(table()["size"] + (table()["kind"] == "a") > 0.3, "yes", "no")


def fitted(X, y=LABELS, **how):
    """A flock that takes no time."""
    return FlockClassifier(effort="fast", random_state=0, **how).fit(X, y)


def days():
    """Moments without a zone."""
    return pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(ROWS) * 37 % 999, "h"))


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_dates_of_arrow_are_dates(zone):
    plain = days().dt.tz_localize(zone)
    arrow = plain.astype(pd.ArrowDtype(pa.timestamp("us", zone)))
    model = fitted(table(when=arrow))
    expected = fitted(table(when=plain.astype(f"datetime64[us{', ' * bool(zone)}{zone or ''}]")))
    np.testing.assert_array_equal(
        model.predict_proba(table(when=arrow)), expected.predict_proba(table(when=plain))
    )


def test_days_and_durations_of_arrow_are_read(tmp_path):
    day = pd.Series(days().dt.date.tolist(), dtype=pd.ArrowDtype(pa.date32()))
    long = pd.Series(days() - days().min()).astype(pd.ArrowDtype(pa.duration("us")))
    X = table(day=day, long=long)
    model = fitted(X)
    day, long = model.preparation_.reading.encoders[-2:]
    assert type(day).__name__ == "Dates"
    assert type(long).__name__ == "NumberColumn"
    save(model, tmp_path / "model.covey")
    found = load(tmp_path / "model.covey").predict_proba(X)
    np.testing.assert_array_equal(found, model.predict_proba(X))


def test_periods_can_be_explained():
    X = table(month=pd.period_range("2020-01", periods=ROWS, freq="M"))
    assert len(fitted(X).contributions(X[:2]).values) == 2


def test_tables_of_arrow_are_data_frames():
    X = table()
    rows = pa.Table.from_pandas(X)
    model = fitted(rows)
    np.testing.assert_array_equal(model.predict_proba(rows), fitted(X).predict_proba(X))
    assert str(evaluate(model, rows, LABELS)) == str(evaluate(model, X, LABELS))


@pytest.mark.parametrize(
    "names", [[0, 1, 2], pd.MultiIndex.from_product([["a"], ["size", "kind", "name"]])]
)
def test_columns_without_names_are_known_by_their_place(names):
    X = table().set_axis(names, axis=1)
    model = fitted(X)
    expected = fitted(table()).predict_proba(table())
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    assert model.what_if(X[:1], {0: 5.0}).after["prediction"] == "yes"
    assert len(model.explain(X[:2])) == len(model.contributions(X[:2]).values) == 2


def test_flags_that_come_back_as_numbers_are_flags():
    flag = np.arange(ROWS) % 3 == 0
    model = fitted(table(flag=flag), np.where(flag, "yes", "no"))
    expected = model.predict_proba(table(flag=flag))
    for same in (flag.astype(int), flag.astype(float), flag.astype(int).astype(str)):
        np.testing.assert_array_equal(model.predict_proba(table(flag=same)), expected)


def test_a_column_that_is_to_be_kept_is_not_left_out_as_a_name():
    X = table(row_id=np.arange(ROWS))
    assert fitted(X).preparation_.reading.encoders[2:] == (None, None)
    model = fitted(X, always_keep=["name", "row_id"])
    assert None not in model.preparation_.reading.encoders
    assert model.support_[:, 2:].all()


UNLIKE = "y holds labels of several types"


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (np.where(LABELS == "yes", 1, LABELS.astype(object)), UNLIKE),
        (np.where(LABELS == "yes", None, LABELS), UNLIKE),
        (np.where(np.arange(ROWS) == 0, None, LABELS), UNLIKE),
        (pd.Series(LABELS, dtype="string").mask(np.arange(ROWS) == 3), "y has no value in row 3"),
    ],
)
@pytest.mark.parametrize("columns", [["size"], ["size", "name"]])
def test_wrong_labels_are_said(y, said, columns):
    with pytest.raises(ValueError, match=said):
        fitted(table()[columns], y)


SIZES = table()["size"]


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (LABELS, "y must hold numbers, got .*'no'"),
        (days(), "y holds dates or times"),
        (days() - days().min(), "y holds dates or times"),
        (np.where(SIZES > 1, None, SIZES), "y contains NaN"),
        (np.where(SIZES > 1, np.inf, SIZES), "y contains infinity"),
        (SIZES.astype("Float64").mask(np.arange(ROWS) == 3), "y has no value in row 3"),
    ],
)
@pytest.mark.parametrize("columns", [["size"], ["size", "name"]])
def test_wrong_numbers_are_said(y, said, columns):
    with pytest.raises(ValueError, match=said):
        FlockRegressor(effort="fast").fit(table()[columns], y)


@pytest.mark.parametrize(
    ("X", "how", "said"),
    [
        (table()[[]], {}, "X has no columns"),
        (table(far=[np.inf] * ROWS), {}, "infinity in column 'far' .*make it a gap"),
        (table(), {"groups": [1, 2]}, "groups must hold one entry for each"),
        (table(), {"groups": np.where(SIZES > 0, None, "a")}, "groups must hold numbers or str"),
    ],
)
def test_wrong_tables_and_groups_are_said(X, how, said):
    with pytest.raises(ValueError, match=said):
        FlockClassifier().fit(X, LABELS, **how)


def test_days_beyond_the_unit_of_the_training_rows_are_days():
    model = fitted(table(when=days()))
    last = np.full(ROWS, np.datetime64("9999-12-31", "s"))
    assert np.isfinite(model.predict_proba(table(when=last))).all()


def test_lazy_frames_are_to_be_collected():
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"give X\.collect\(\)"):
        fitted(polars.from_pandas(table()).lazy())


def test_a_column_beside_those_of_numbers_is_named():
    model = fitted(table()[["size"]])
    with pytest.raises(ValueError, match="unseen at fit time:\n- when"):
        model.predict(table(when=days())[["size", "when"]])


def test_what_is_no_date_is_no_change():
    X = table(when=days())
    with pytest.raises(ValueError, match="changes has 'tomorrow' for 'when', a column of dates"):
        fitted(X).what_if(X[:1], {"when": "tomorrow"})
