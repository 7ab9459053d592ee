"""Answers of the model."""

import numpy as np
import pytest

from covey.serving._answers import Answers, in_words
from covey.serving._fields import fields_of
from covey.serving._rows import Rows
from covey.serving._schema import BadRequestError


def answers_of(model):
    return Answers(model, Rows(model, fields_of(model)))


def checked(model, rows):
    made = [dict(row) for row in rows]
    Rows(model, fields_of(model)).check(made)
    return made


def test_answers_are_those_of_the_model(model, table, rows):
    found = answers_of(model).predict(checked(model, rows), 0.9)
    probabilities = model.predict_proba(table)
    assert [one["prediction"] for one in found] == model.predict(table).tolist()
    assert [list(one["probabilities"].values()) for one in found] == probabilities.tolist()
    assert [one["probability"] for one in found] == probabilities.max(axis=1).tolist()
    sets = [model.classes_[one].tolist() for one in model.predict_set(table, 0.9)]
    assert [one["set"] for one in found] == sets


def test_numbers_are_those_of_the_model(regressor, table, rows):
    found = answers_of(regressor).predict(checked(regressor, rows), None)
    assert [one["prediction"] for one in found] == regressor.predict(table).tolist()
    assert "low" not in found[0]


def test_bounds_that_are_not_known_are_null(table, rows):
    from covey import FlockRegressor
    from covey.tables import TableRegressor

    y = np.arange(len(table), dtype=float)
    flock = FlockRegressor(effort="fast", random_state=0)
    fitted = TableRegressor(flock, random_state=0).fit(table, y).calibrate(table[:30], y[:30])
    low, high = fitted.predict_interval(table[:1], 0.5)[0]
    (found,) = answers_of(fitted).predict(checked(fitted, rows[:1]), 0.5)
    assert (found["low"], found["high"]) == (low, high)
    (found,) = answers_of(fitted).predict(checked(fitted, rows[:1]), 0.999)
    assert (found["low"], found["high"]) == (None, None)


def test_words_say_how_sure_the_model_is():
    told = [in_words("{yes} {}", share) for share in (0.995, 0.95, 0.8, 0.65, 0.4)]
    assert told == [
        "almost certainly {yes} {}",
        "very likely {yes} {}",
        "likely {yes} {}",
        "rather {yes} {}",
        "a close call, {yes} {} by a little",
    ]


def test_an_answer_that_is_not_finite_is_a_refusal(model, rows, monkeypatch):
    monkeypatch.setattr(model.estimator_, "predict_proba", lambda X: np.full((len(X), 2), np.nan))
    with pytest.raises(BadRequestError, match="no finite answer"):
        answers_of(model).predict(checked(model, rows[:1]), None)
