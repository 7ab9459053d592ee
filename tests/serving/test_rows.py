"""Rows as data frames."""

from dataclasses import replace

import numpy as np
import pytest

from covey.serving._fields import fields_of
from covey.serving._rows import Rows
from covey.serving._schema import BadRequestError
from tests.serving.conftest import NASTY, QUOTES


@pytest.fixture(scope="module")
def maker(model):
    return Rows(model, fields_of(model))


def test_the_model_predicts_of_rows_what_it_does_of_the_table(maker, model, table, rows):
    made = [dict(row) for row in rows]
    maker.check(made)
    assert np.array_equal(model.predict_proba(maker.frame(made)), model.predict_proba(table))


def test_gaps_are_gaps(maker, model, table):
    gaps = dict.fromkeys(table.columns)
    maker.check([gaps])
    frame = maker.frame([gaps])
    assert frame.isna().all(axis=None)
    assert np.isfinite(model.predict_proba(frame)).all()


def test_a_date_in_another_format_is_the_same_date(maker, model, rows):
    own, other = dict(rows[40]), dict(rows[40])
    day, month, year = own["seen on"].split("/")
    other["seen on"] = f"{year}-{month}-{day}T00:00:00"
    maker.check([own, other])
    assert own == other


def test_what_is_no_date_is_refused_by_row_and_column(maker, rows):
    with pytest.raises(BadRequestError, match="Row 2, column 'seen on': 'x' is not a date"):
        maker.check([dict(rows[0]), {**rows[0], "seen on": "x"}])


def test_what_the_model_has_not_seen_is_remarked_on(maker, rows):
    assert maker.remarks(rows[1]) == []
    (said,) = maker.remarks({**rows[1], QUOTES: "{strange} & new"})
    assert "'{strange} & new' is a category that the model has not seen" in said
    (said,) = maker.remarks({**rows[1], "age": 1e300})
    assert "age: 1e+300 is outside what the model has seen (18 to 89)." in said
    (said,) = maker.remarks(dict.fromkeys(rows[1]))
    assert "All values are missing" in said


def test_what_the_model_does_not_look_at_is_not_remarked_on(model, rows):
    fields = [replace(one, used=one.name != "age") for one in fields_of(model)]
    assert Rows(model, fields).remarks({**rows[1], "age": 1e300}) == []


def test_categories_that_are_numbers_are_known_with_and_without_a_point(table):
    from sklearn.dummy import DummyClassifier

    from covey.tables import TableClassifier

    table = table[[NASTY]].assign(code=np.arange(len(table)) % 3)
    kinds = {NASTY: "number", "code": "text"}
    fitted = TableClassifier(DummyClassifier(), columns=kinds).fit(table, table["code"])
    maker = Rows(fitted, fields_of(fitted))
    for value in (1, 1.0, "1"):
        assert maker.remarks({NASTY: 0.5, "code": value}) == []
    assert len(maker.remarks({NASTY: 0.5, "code": 4})) == 1
