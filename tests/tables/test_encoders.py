"""What is kept of a column makes the numbers that skrub's own steps make."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import OneHotEncoder

from covey.tables._encoders import Categories, Dates, Text, encoder_of, zone_of

skrub = pytest.importorskip("skrub")

N_ROWS = 60
MOMENTS = pd.Series(pd.date_range("2020-01-01", periods=N_ROWS, freq="35h"))
COLUMNS = {
    "categories": (["Rome", "Oslo", None, "Bath"] * 15, ["Rome", "Lima", None, "", "Oslo"]),
    "two": (["yes", "no"] * 30, ["no", "yes", "maybe", None]),
    "gaps and one": (["yes", None] * 30, ["no", "yes", None]),
    "text": (
        [f"word {place} of a long text" for place in range(N_ROWS)],
        ["word 3 of a text", "", None, "nothing", "WORD 59"],
    ),
    "dates": (MOMENTS.dt.strftime("%d/%m/%Y"), ["31/12/2021", "n/a", None, "", "2021-12-31"]),
    "times": (MOMENTS.astype(str), ["2021-12-31 23:59:59", "31/12/2021", None]),
    "Greenwich": (
        MOMENTS.dt.strftime("%Y-%m-%dT%H:%M:%SZ"),
        ["2021-12-31T23:59:59Z", "2021-12-31T23:59:59+05:00", "2021-12-31", None],
    ),
    "moments": (MOMENTS, [pd.Timestamp("2031-05-05 05:05:05.5"), None]),
    "Paris": (
        MOMENTS.dt.tz_localize("Europe/Paris"),
        [pd.Timestamp("2031-05-05 05:05:05", tz="Asia/Tokyo"), None],
    ),
    "mixed": (["1/2/2020", "2020-13-13", "3.4"] * 20, ["1/2/2020", "N/A", " ", "2"]),
}


def as_given(values, name):
    values = pd.Series(values, name=name)
    return values.astype("category") if name in ("categories", "two", "gaps and one") else values


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", COLUMNS)
def test_numbers_of_new_values_are_those_of_skrub_to_the_bit(name):
    given, new = (as_given(values, name) for values in COLUMNS[name])
    vectorizer = skrub.TableVectorizer(
        high_cardinality=skrub.StringEncoder(n_components=10, random_state=0)
    )
    vectorizer.fit(given.to_frame())
    steps = vectorizer.all_processing_steps_[name][:-1]
    kept = encoder_of(steps)
    for values in (given, new):
        theirs = values
        for step in steps:
            theirs = step.transform(
                theirs.to_frame() if isinstance(step, OneHotEncoder) else theirs
            )
        theirs = np.array(theirs, dtype=np.float64).reshape(len(values), -1)
        if isinstance(kept, Dates):
            theirs[:, -1] /= 86_400.0
        ours = kept.numbers(values.astype(object) if values.dtype == "category" else values)
        assert ours.shape == (len(values), kept.n_columns)
        np.testing.assert_array_equal(ours, theirs)


def test_each_kind_is_met_above():
    kinds = set()
    for name in COLUMNS:
        vectorizer = skrub.TableVectorizer().fit(as_given(COLUMNS[name][0], name).to_frame())
        kinds.add(type(encoder_of(vectorizer.all_processing_steps_[name][:-1])))
    assert kinds == {Categories, Text, Dates}


def test_zones_have_names_or_offsets_and_no_paths():
    assert zone_of(None) is None
    assert zone_of("UTC+02:30").utcoffset(None).total_seconds() == 9000
    assert zone_of("UTC-02:30").utcoffset(None).total_seconds() == -9000
    assert str(zone_of("Europe/Paris")) == "Europe/Paris"
    for name in ("dateutil//etc/passwd", "../../etc/passwd", "/etc/localtime", "Nowhere"):
        with pytest.raises(ValueError, match="There is no time zone"):
            zone_of(name)
