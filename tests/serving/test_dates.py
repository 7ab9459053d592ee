"""Dates as they are written."""

from datetime import datetime

import pytest

from covey.serving._dates import date_of
from covey.tables import Dates

DAYS = Dates("%d/%m/%Y", None, "us", ("year", "month", "day"))
NANOSECONDS = Dates(None, None, "ns", ("year",))
ZONED = Dates(None, "UTC+02:00", "us", ("year", "hour"))


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


@pytest.mark.parametrize("text", ["", "x", "13/13/2021", "2021-02-30", "20210203T99", "now", "\0"])
def test_what_is_no_date_is_refused_in_a_sentence(text):
    with pytest.raises(ValueError, match="is not a date; give one such as"):
        date_of(text, DAYS)


@pytest.mark.parametrize(
    ("text", "encoder"),
    [
        ("1500-01-01", NANOSECONDS),
        ("2500-01-01", NANOSECONDS),
        ("0001-01-01", DAYS),
        ("9999-12-31T23:59:59", DAYS),
        ("0001-01-01T00:00+14:00", DAYS),
        ("9999-12-31T23:59-14:00", ZONED),
    ],
)
def test_dates_beyond_what_a_column_holds_are_refused(text, encoder):
    with pytest.raises(ValueError, match="out of range"):
        date_of(text, encoder)
