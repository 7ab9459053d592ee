"""Text makes the numbers that skrub makes; dates make their parts."""

import numpy as np
import pandas as pd
import pytest

from covey.tables._encoders import Categories, Dates, Text, zone_of
from covey.tables._learning import date_format, learn_encoder, learn_text

N_ROWS = 60
MOMENTS = pd.Series(pd.date_range("2020-01-01", periods=N_ROWS, freq="35h"))


@pytest.mark.filterwarnings("ignore")
def test_text_makes_the_numbers_of_skrub():
    skrub = pytest.importorskip("skrub")
    given = [f"word {place} of a long text" for place in range(N_ROWS)]
    new = ["word 3 of a text", "", None, "nothing", "WORD 59"]
    learnt = learn_encoder(pd.Series(given), "text")
    assert isinstance(learnt, Text)
    theirs = skrub.StringEncoder(n_components=10, random_state=0)
    theirs.fit(pd.Series(given, name="x"))
    for values in (given, new):
        values = pd.Series(values, name="x", dtype=object)
        ours = learnt.numbers(values)
        assert ours.shape == (len(values), learnt.n_columns)
        assert learnt.n_columns == len(learnt.names("x"))
        wanted = np.array(theirs.transform(values), dtype=np.float64)
        np.testing.assert_allclose(ours, wanted, rtol=1e-5, atol=1e-6)


def test_what_repeats_is_a_category_and_prose_is_not():
    few = [f"place {row % 25}" for row in range(N_ROWS)]
    assert learn_encoder(few, "text") == Categories(tuple(sorted(set(few))))
    assert isinstance(learn_encoder(few, "text", has_target=False), Text)
    prose = [f"a house {row % 25} by the river" for row in range(N_ROWS)]
    assert isinstance(learn_encoder(prose, "text"), Text)
    assert isinstance(learn_encoder(prose, "category"), Categories)
    assert learn_encoder(["b", "a", None, " "] * 9, "text").known == ("a", "b")


def test_without_a_target_more_than_twenty_categories_are_text():
    words = [f"place {number:02} of many" for number in range(21)]
    assert isinstance(learn_encoder(words[:20] * 5, "text", has_target=False), Categories)
    assert isinstance(learn_encoder(words * 5, "text", has_target=False), Text)


def test_text_of_a_few_words_has_no_more_directions_than_words():
    learnt = learn_text(["a long word of no use", "another one", "something else"] * 20)
    assert learnt.n_columns == len(learnt.directions) == 3
    numbers = learnt.numbers(["a long word of no use", "another one", "something else"] * 20)
    assert numbers.shape == (60, 3)
    np.testing.assert_allclose(numbers.var(axis=0).sum(), 1.0, rtol=1e-5)


DATES = {
    "day first": (MOMENTS.dt.strftime("%d/%m/%Y"), "%d/%m/%Y", None),
    "points": (MOMENTS.dt.strftime("%d.%m.%Y"), "%d.%m.%Y", None),
    "seconds": (MOMENTS.astype(str), "%Y-%m-%d %H:%M:%S", None),
    "Greenwich": (MOMENTS.dt.strftime("%Y-%m-%dT%H:%M:%SZ"), "%Y-%m-%dT%H:%M:%S%z", "UTC"),
    "east": (MOMENTS.dt.strftime("%Y-%m-%dT%H:%M:%S+02:00"), "%Y-%m-%dT%H:%M:%S%z", "UTC+02:00"),
    "summer and winter": (
        (MOMENTS.dt.tz_localize("Europe/Berlin") + pd.Timedelta(days=60)).map(
            lambda moment: moment.isoformat()
        ),
        "%Y-%m-%dT%H:%M:%S%z",
        "UTC",
    ),
    "moments": (MOMENTS, None, None),
    "moments of Greenwich": (MOMENTS.dt.tz_localize("UTC"), None, "UTC"),
    "moments of Paris": (MOMENTS.dt.tz_localize("Europe/Paris"), None, "Europe/Paris"),
    "more or fewer parts": (
        pd.Series(["2024-01-31", "2024-02-01T10:00", "2025-03-01 10:00:05.5"] * 20),
        "ISO8601",
        None,
    ),
}


@pytest.mark.parametrize("name", DATES)
def test_dates_make_their_parts_in_their_own_zone(name):
    values, form, zone = DATES[name]
    learnt = learn_encoder(values, "date")
    assert isinstance(learnt, Dates)
    assert (learnt.format, learnt.time_zone) == (form, zone)
    moments = [pd.Timestamp(value) for value in values]
    if form in ("%d/%m/%Y", "%d.%m.%Y"):
        moments = list(MOMENTS)
    if zone is not None:
        moments = [moment.tz_convert(zone_of(zone)) for moment in moments]
    made = dict(zip(learnt.parts, learnt.numbers(values).T, strict=True))
    for part in ("month", "day"):
        assert made[part].tolist() == [getattr(moment, part) for moment in moments]
    assert made["weekday"].tolist() == [moment.isoweekday() for moment in moments]
    if "hour" in made:
        assert made["hour"].tolist() == [moment.hour for moment in moments]
    # What is no date is missing in all parts.
    new = pd.Series([None, "nothing"]) if form else pd.Series([pd.NaT, pd.NaT], dtype=values.dtype)
    assert np.isnan(learnt.numbers(new)).all()


def test_dates_of_another_zone_are_the_same_moments():
    learnt = learn_encoder(DATES["Greenwich"][0], "date")
    same = pd.Series(["2021-12-31T23:59:59Z", "2022-01-01T04:59:59+05:00"])
    first, second = learnt.numbers(same)
    assert first.tolist() == second.tolist()


def test_a_season_has_what_comes_again_and_no_year():
    def parts(moments):
        return learn_encoder(pd.Series(moments), "season")

    years = parts(pd.date_range("2020-01-01", periods=400, freq="37h"))
    assert years.parts == ("month", "weekday", "hour")
    months = parts(pd.date_range("2020-01-01", periods=100, freq="D"))
    assert months.parts == ("weekday",)
    assert parts(pd.date_range("2020-01-01", periods=5, freq="D")) is None


def test_dates_of_several_kinds_are_words():
    mixed = pd.Series(["1/2/2020", "2020-13-13", "3.4"] * 20)
    assert date_format(mixed) is None
    assert isinstance(learn_encoder(mixed, "date"), Categories)


def test_a_column_without_values_makes_nothing():
    assert learn_encoder(pd.Series([None, None], dtype=object), "text") is None
    assert learn_encoder(pd.Series(["", " "]), "text") is None
    assert learn_encoder(pd.Series([pd.NaT, pd.NaT]), "date") is None
    # Letters that stand alone have n-grams with the blanks around them; signs too.
    assert learn_text(list("ab")).n_columns == 2


def test_zones_have_names_or_offsets_and_no_paths():
    assert zone_of(None) is None
    assert zone_of("UTC+02:30").utcoffset(None).total_seconds() == 9000
    assert zone_of("UTC-02:30").utcoffset(None).total_seconds() == -9000
    assert str(zone_of("Europe/Paris")) == "Europe/Paris"
    for name in ("dateutil//etc/passwd", "../../etc/passwd", "/etc/localtime", "Nowhere"):
        with pytest.raises(ValueError, match="There is no time zone"):
            zone_of(name)
