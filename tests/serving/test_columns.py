"""Columns as a form needs them, and dates as they are written."""

from dataclasses import replace
from datetime import datetime

import pytest

from covey.serving._columns import columns_of, date_of
from covey.tables import Dates
from covey.tables._seen_columns import SeenColumns
from tests.serving.conftest import QUOTES

DAYS = Dates("%d/%m/%Y", None, "us", ("year", "month", "day"))
NANOSECONDS = Dates(None, None, "ns", ("year",))
ZONED = Dates(None, "UTC+02:00", "us", ("year", "hour"))


def test_kinds_and_categories_come_from_the_model(model, table):
    fields = {one.name: one for one in columns_of(model)}
    assert list(fields) == list(table.columns)
    assert [one.kind for one in fields.values()] == [
        "number", "number", "category", "category", "date",
    ]  # fmt: skip
    assert fields[QUOTES].categories == ("<b>bold</b>", "plain", "東京")
    assert not fields["seen on"].clock


def test_typical_values_are_values_that_a_row_may_have(model, table):
    fields = {one.name: one for one in columns_of(model)}
    assert 30 < fields["age"].typical < 80
    assert "2021-01-01" < fields["seen on"].typical < "2021-12-31"


def test_shares_are_those_of_the_model(model):
    shares = [one.share for one in columns_of(model)]
    assert shares == model.feature_importances_.tolist()


def test_what_the_model_does_not_look_at_is_known(model, table):
    used = {one.name for one in columns_of(model) if one.used}
    for name in table.columns:
        changed = table.assign(**{name: table[name].sample(frac=1, random_state=0).to_numpy()})
        same = (model.predict_proba(changed) == model.predict_proba(table)).all()
        assert same == (name not in used)


def test_a_model_that_does_not_know_what_is_usual_is_not_served(model, monkeypatch):
    unseen = replace(model.model_, table=replace(model.model_.table, seen=None))
    monkeypatch.setattr(model, "model_", unseen)
    with pytest.raises(ValueError, match="fit the model again"):
        columns_of(model)


def test_values_that_no_column_has_are_not_shown(model, monkeypatch):
    """Files come from anyone: words where numbers should be, and dates that are none."""
    seen = model._seen_columns
    strange = [replace(one, typical="x", values=(True, None, "x")) for one in seen.columns]
    odd = replace(model.model_.table, seen=SeenColumns(tuple(strange)))
    monkeypatch.setattr(model, "model_", replace(model.model_, table=odd))
    age, *_, day = columns_of(model)
    assert (age.typical, age.high, day.typical, day.low, day.high) == (None,) * 5


# -- dates -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("03/02/2021", datetime(2021, 2, 3)),  # the model's own format
        ("2021-02-03", datetime(2021, 2, 3)),
        (" 2021-02-03T10:30 ", datetime(2021, 2, 3, 10, 30)),
        ("2021-02-03T10:30:00Z", datetime(2021, 2, 3, 10, 30)),
        ("2021-02-03T01:30:00+02:00", datetime(2021, 2, 2, 23, 30)),
        ("2021-02-03T01:30:00.123456789", datetime(2021, 2, 3, 1, 30, 0, 123456)),
    ],
)
def test_a_date_is_read_in_the_models_format_or_in_that_of_programs(text, found):
    assert date_of(text, DAYS) == found


NO_DATES = ["", "x", "13/13/2021", "2021-02-30", "20210203T99", "now", "0001-01-01T00:00+14:00"]


@pytest.mark.parametrize("text", [*NO_DATES, "\0", 5, True, [], {"a": 1}])
def test_what_is_no_date_is_refused_in_a_sentence(text):
    with pytest.raises(ValueError, match="is not a date; give one such as"):
        date_of(text, DAYS)


@pytest.mark.parametrize(
    ("text", "encoder"),
    [
        ("1500-01-01", NANOSECONDS),
        ("2500-01-01", NANOSECONDS),
        ("0001-01-01", DAYS),
        ("9999-12-31T23:59:59", ZONED),
    ],
)
def test_dates_beyond_what_a_column_holds_are_refused(text, encoder):
    with pytest.raises(ValueError, match="out of range"):
        date_of(text, encoder)
